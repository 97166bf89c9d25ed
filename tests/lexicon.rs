use crate::random::Random;
use crate::workbench::{Bench, demo_inputs, failure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use workers::id::Id;
use workers::text::features::{self, Featurizer};
use workers::text::letters::Letters;
use workers::text::normalize::{self, normalize};
use workers::text::signatures::{self, Shinglings, SignatureKind, Signer, Text};

/// Chinese and English articles of made-up sentences, each with copies in which a few stop words or
/// content words differ.
fn crawl(random: &mut Random) -> BTreeMap<String, String> {
    let english = "minister budget speech house spring river market school engine winter harvest library station doctor village";
    let chinese: Vec<char> =
        "会议北京举行经济发展气候变化学校图书医院城市工农业科技教育文音乐历史世界企政府社环境能源交通铁路"
            .chars()
            .collect();
    let english: Vec<&str> = english.split_whitespace().collect();
    let anchors = [["the", "in the", "of a", "is to", "and the"], ["的", "在", "了", "对", "将"]];
    let mut pages = BTreeMap::new();
    for article in 0..150 {
        let script = article % 2;
        let anchor = |random: &mut Random| anchors[script][random.below(5) as usize].to_owned();
        let word = |random: &mut Random| match script {
            0 => format!(
                "{}{}",
                english[random.below(english.len() as u64) as usize],
                random.below(25)
            ),
            _ => (0..2).map(|_| chinese[random.below(chinese.len() as u64) as usize]).collect(),
        };
        let length = 30 + random.below(40);
        let original: Vec<[String; 3]> =
            (0..length).map(|_| [anchor(random), word(random), word(random)]).collect();
        for copy in 0..3 {
            let mut phrases = original.clone();
            for _ in 0..copy * random.below(3) {
                let at = random.below(length) as usize;
                match random.below(4) {
                    place @ 0..2 => phrases[at][place as usize + 1] = word(random),
                    _ => phrases[at][0] = anchor(random),
                }
            }
            let (space, stop) = if script == 0 { (" ", ". ") } else { ("", "。") };
            let sentences: Vec<String> =
                phrases.chunks(10).map(|phrases| phrases.concat().join(space)).collect();
            pages.insert(format!("http://h{copy}.example/{article}"), sentences.join(stop));
        }
    }
    pages
}

fn write_crawl<'a>(path: &Path, pages: impl Iterator<Item = (&'a String, &'a String)>) {
    let mut lines = String::new();
    for (url, text) in pages {
        writeln!(lines, "{}", serde_json::json!({ "url": url, "text": text })).expect("a string");
    }
    std::fs::write(path, lines).expect("written");
}

/// A bench whose job reads a made-up crawl, and that crawl.
fn made_up(seed: u64) -> (Bench, BTreeMap<String, String>) {
    println!("seed {seed}");
    let pages = crawl(&mut Random(seed));
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    write_crawl(&bench.at("in/all.jsonl"), pages.iter());
    (bench, pages)
}

/// Runs `pagefold lexicon` with `arguments`, which must succeed, and returns its summary.
fn lexicon(bench: &Bench, arguments: &[&str]) -> Value {
    let output = bench.pagefold("lexicon", &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The lexicon counts in how many distinct texts each word is, as a plain count does.
///
/// It needs and makes no store. Threads, order and names of inputs, repeated pages and sampling by
/// size change no byte.
#[test]
fn counts_distinct_texts() {
    let (bench, pages) = made_up(1);
    let summary = lexicon(&bench, &["--out", "new/one.tsv", "--kind", "idf", "--threads", "1"]);
    assert!(!bench.at("store").exists() && !bench.at("out").exists());

    let mut featurizer =
        Featurizer::new(&features::Options::default(), &normalize::Options::default())
            .expect("no files to read");
    let mut normals = BTreeSet::new();
    for text in pages.values() {
        let mut normal = String::new();
        normalize(text, &normalize::Options::default(), &mut normal);
        normals.insert(normal);
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for normal in &normals {
        let mut words = BTreeSet::new();
        featurizer.each_word(normal, |word| {
            words.insert(word.to_owned());
        });
        words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    counts.retain(|_, texts| *texts >= 2);
    let mut expected = format!("documents\t{}\n", normals.len());
    counts
        .iter()
        .for_each(|(word, texts)| writeln!(expected, "{word}\t{texts}").expect("a string"));
    let one = std::fs::read_to_string(bench.at("new/one.tsv")).expect("written");
    let (head, rest): (Vec<&str>, Vec<&str>) = one.lines().partition(|line| line.starts_with('#'));
    assert_eq!(rest.join("\n") + "\n", expected);
    assert!(head.len() == 3 && head[0].starts_with("# pagefold lexicon 1: "), "{head:?}");
    assert_eq!(
        (summary["texts"].as_u64(), summary["words"].as_u64()),
        (Some(normals.len() as u64), Some(counts.len() as u64))
    );
    assert_eq!((&summary["one_in"], &summary["docs_min"]), (&1.into(), &2.into()));
    assert_eq!(summary["records"]["read"].as_u64(), Some(pages.len() as u64));

    // The same texts in another order and in other files, some of them twice.
    std::fs::create_dir(bench.at("other")).expect("made");
    for part in 0..3 {
        let some = pages.iter().rev().enumerate().filter(|(at, _)| at % 3 == part || at % 7 == 0);
        write_crawl(&bench.at(&format!("other/{part}.jsonl")), some.map(|(_, page)| page));
    }
    for (kind, sample) in [("idf", None), ("i-match", Some("50")), ("stop-words", None)] {
        let more: &[&str] = &sample.map_or(vec![], |sample| vec!["--sample", sample]);
        let first =
            lexicon(&bench, &[&["--out", "a", "--kind", kind, "--threads", "1"], more].concat());
        let other =
            ["--out", "b", "--kind", kind, "--threads", "5", "--set", "read.inputs=[\"other\"]"];
        let second = lexicon(&bench, &[&other[..], more].concat());
        let (a, b) = (
            std::fs::read(bench.at("a")).expect("written"),
            std::fs::read(bench.at("b")).expect("written"),
        );
        assert!(a == b, "{kind}: other bytes");
        assert_eq!(first["digest"], second["digest"]);
        if sample.is_some() {
            let (texts, one_in) = (
                first["texts"].as_u64().expect("a count"),
                first["one_in"].as_u64().expect("a number"),
            );
            assert!(texts <= 50 && texts > 0 && one_in > 1, "{first}");
        }
    }
    assert!(!bench.at("store").exists());
}

/// Every mistake gives one line with the file and the remedy, and no file; I-Match without a
/// lexicon names the command.
#[test]
fn mistakes() {
    let (bench, _) = made_up(2);
    let fails = |command: &str, arguments: &[&str], code: i32, expected: &[&str]| {
        let output = bench.pagefold(command, arguments);
        let stderr = failure(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(
            expected.iter().all(|what| stderr.contains(what)),
            "{stderr} lacks one of {expected:?}"
        );
        assert!(!bench.at("x.tsv").exists());
    };
    let lexicon = "`pagefold lexicon OTHER_JOB --out FILE` makes one";
    fails("run", &["--set", "signatures=[{kind=\"i_match\"}]"], 78, &["i_match: lexicon", lexicon]);
    // The advice named a file of another kind, which was accepted although it had no meaning there.
    for (set, kind) in [
        ("signatures=[{kind=\"i_match\",lexicon=\"gone.tsv\"}]", "i-match"),
        ("features.idf=\"gone.tsv\"", "idf"),
        ("features.stop_words=\"gone.tsv\"", "stop-words"),
        ("extract.furniture=\"gone.tsv\"", "furniture"),
    ] {
        let advice = format!("`pagefold lexicon OTHER_JOB --kind {kind} --out FILE` makes one");
        fails("run", &["--set", set], 66, &["gone.tsv", &advice]);
    }
    fails("lexicon", &[], 64, &["--out"]);
    fails("lexicon", &["--out", "x.tsv", "--sample", "0"], 64, &["--sample"]);
    fails("lexicon", &["--out", "in"], 64, &["--out in", "folder"]);
    fails("lexicon", &["--out", "job.toml/x.tsv"], 73, &["job.toml"]);
    fails("lexicon", &["--out", "x.tsv", "--docs-min", "1000000"], 65, &["lower --docs-min"]);
    // With 1 each line of each article was named.
    let furniture = ["--kind", "furniture", "--out", "x.tsv", "--docs-min"];
    fails("lexicon", &[&furniture[..], &["1"]].concat(), 64, &["--docs-min 1", "least is 2"]);
    let remedy = ["three longest lines", "lower --docs-min, but not below 2"];
    fails("lexicon", &[&furniture[..], &["1000000"]].concat(), 65, &remedy);
    fails(
        "lexicon",
        &["--out", "x.tsv", "--set", "read.inputs=[\"gone.warc\"]"],
        66,
        &["gone.warc"],
    );
    std::fs::write(bench.at("bad.jsonl"), "{broken\n{broken\n").expect("written");
    fails(
        "lexicon",
        &["--out", "x.tsv", "--set", "read.inputs=[\"bad.jsonl\"]"],
        65,
        &["bad_json 2", "rejects_max"],
    );
    std::fs::write(bench.at("none.jsonl"), "{\"url\":\"http://a.example/\",\"deleted\":true}\n")
        .expect("written");
    fails(
        "lexicon",
        &["--out", "x.tsv", "--set", "read.inputs=[\"none.jsonl\"]"],
        65,
        &["job.toml", "no text"],
    );
    // A job that names a lexicon which does not exist yet can make it.
    self::lexicon(
        &bench,
        &["--out", "gone.tsv", "--set", "signatures=[{kind=\"i_match\",lexicon=\"gone.tsv\"}]"],
    );
    bench.run_well(&["--set", "signatures=[{kind=\"i_match\",lexicon=\"gone.tsv\"}]"]);
}

/// A lexicon was refused for a few bad records that a run of the same inputs lets pass.
#[test]
fn few_bad_records_are_allowed_as_in_a_run() {
    let (bench, _) = made_up(2);
    std::fs::write(bench.at("in/bad.jsonl"), "{broken\n".repeat(3)).expect("written");
    let strict = ["--set", "read.rejects_max=0.00001"];
    bench.run_well(&strict);
    let summary = lexicon(&bench, &[&["--out", "words.tsv"][..], &strict].concat());
    assert_eq!(summary["records"]["rejected"]["bad_json"], 3, "{summary}");
}

/// The pairs that share a key, by brute force over all texts.
fn by_keys(
    pages: &BTreeMap<String, String>,
    list: &[signatures::Options],
    kind: SignatureKind,
) -> BTreeSet<(Id, Id)> {
    let normal_options = normalize::Options::default();
    let mut signer = Signer::new(list, &normal_options).expect("read");
    let mut featurizer =
        Featurizer::new(&features::Options::default(), &normal_options).expect("no files to read");
    let mut signed: BTreeMap<Id, BTreeSet<u64>> = BTreeMap::new();
    let (mut words, mut made, mut shinglings) = (Vec::new(), Vec::new(), Shinglings::default());
    for text in pages.values() {
        let mut normal = String::new();
        normalize(text, &normal_options, &mut normal);
        featurizer.words_and_features(&normal, &Letters::of(&normal), &mut words, &mut made);
        assert!(!featurizer.is_too_short(&made));
        let mut keys = Vec::new();
        signer.sign(&mut Text::new(&normal, &words, &mut shinglings), &mut keys);
        let mine = keys.iter().filter(|key| key.kind == kind).map(|key| key.key).collect();
        signed.insert(Id::of(normal.as_bytes()), mine);
    }
    let mut pairs = BTreeSet::new();
    let mut largest: BTreeMap<u64, usize> = BTreeMap::new();
    signed.values().flatten().for_each(|key| *largest.entry(*key).or_default() += 1);
    assert!(
        largest.values().all(|contents| *contents <= 64),
        "all are pivots, so that every pair is examined"
    );
    for (a, keys) in &signed {
        pairs.extend(
            signed
                .iter()
                .filter(|(b, others)| a < b && !keys.is_disjoint(others))
                .map(|(b, _)| (*a, *b)),
        );
    }
    pairs
}

/// Each signature alone proposes just the pairs whose texts share a key, and its store passes
/// `verify --deep`. I-Match uses eleven lexicons and a file that `pagefold lexicon` made.
#[test]
fn each_signature_alone() {
    let (bench, pages) = made_up(3);
    lexicon(&bench, &["--out", "words.tsv"]);
    let path = bench.at("words.tsv");
    for kind in SignatureKind::ALL {
        let more = match kind {
            SignatureKind::IMatch => format!(",lexicon={path:?},lexicons=11"),
            _ => String::new(),
        };
        let set = format!("signatures=[{{kind={:?}{more}}}]", kind.name());
        let [minhash, sentences] = [SignatureKind::MinHash, SignatureKind::Sentences]
            .map(|default| format!("{}={}", default.name(), kind == default));
        let job = ["--set", &set, "--set", &minhash, "--set", &sentences];
        // The settings that the job reads.
        let table: Value = match kind {
            SignatureKind::IMatch => {
                serde_json::json!({ "kind": "i_match", "lexicon": path, "lexicons": 11 })
            }
            _ => serde_json::json!({ "kind": kind.name() }),
        };
        let list: Vec<signatures::Options> = vec![serde_json::from_value(table).expect("options")];
        let expected = by_keys(&pages, &list, kind);
        for folder in ["store", "out"] {
            // Nothing comes before the first signature.
            let _ = std::fs::remove_dir_all(bench.at(folder));
        }
        bench.run_well(&[&job[..], &["--threads", "2"]].concat());
        let mut found = BTreeSet::new();
        for pair in bench.lines("pairs") {
            let field = |name: &str| pair[name].as_str().expect("a string").to_owned();
            let id = |name: &str| {
                let n = u128::from_str_radix(&field(name), 16).expect("hex");
                Id::from_bytes(n.to_be_bytes())
            };
            if field("signature").split('+').any(|name| name == kind.name()) {
                found.insert((id("a").min(id("b")), id("a").max(id("b"))));
            }
        }
        println!("{}: {} pairs", kind.name(), found.len());
        assert!(found.len() >= 40, "{}: {} pairs try little", kind.name(), found.len());
        assert!(
            found == expected,
            "{}: {} pairs, brute force {}",
            kind.name(),
            found.len(),
            expected.len()
        );
        let output = bench.pagefold("verify", &[&job[..], &["--deep"]].concat());
        assert!(
            output.status.success(),
            "{}: {}",
            kind.name(),
            String::from_utf8_lossy(&output.stdout)
        );
    }
}

/// `jobs/fast.toml` folds the demo crawl: it keeps every page, its store is sound, and it finds
/// most of the near folds that the defaults find.
#[test]
fn the_fast_job_runs() {
    let bench = Bench::new(&demo_inputs(), "");
    let job = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs/fast.toml"))
        .expect("readable");
    std::fs::write(bench.at("job.toml"), job).expect("written");
    let inputs = format!("read.inputs=[{:?}]", demo_inputs());
    let sets = [
        "--set",
        "store=store",
        "--set",
        "output.dir=out",
        "--set",
        &inputs,
        "--set",
        "output.export=always",
    ];
    let all_forms = [&sets[..], &["--set", "output.formats=[\"jsonl\"]"]].concat();
    bench.run_well(&all_forms);
    let output = bench.pagefold("verify", &[&all_forms[..], &["--deep"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let defaults = Bench::new(&demo_inputs(), "");
    defaults.run_well(&[]);
    let count = |bench: &Bench, name: &str| bench.summary()[name].as_u64().expect("a count");
    assert_eq!(count(&bench, "pages"), count(&defaults, "pages"));
    let (fast, full) = (count(&bench, "folded_near"), count(&defaults, "folded_near"));
    println!("{fast} near folds, {full} by the defaults");
    assert!(fast * 10 >= full * 8, "{fast} of {full}");
}

/// The page's lines for I-Match add a signature to the default: on the demo crawl the recall is at
/// least as high with them as without. Once the same lines replaced MinHash and lost a third.
#[test]
fn the_pages_i_match_loses_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = root.join("workers/lexicon/README.md");
    let page = std::fs::read_to_string(page).expect("readable");
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.into_iter().find(|block| block.contains("i_match")).expect("an example");
    let truth = root.join("tests/data/demo_truth.jsonl");
    let right = |more: &str| {
        let bench = Bench::new(&demo_inputs(), more);
        if !more.is_empty() {
            lexicon(&bench, &["--out", "words.tsv"]);
        }
        let report = bench.run_well(&[]);
        assert!(!report.contains("alone proposes pairs"), "{report}");
        let output =
            bench.pagefold("eval", &["--labels", truth.to_str().expect("UTF-8"), "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let pair = &report["all"]["pair"];
        assert_eq!(pair["precision"], 1.0);
        pair["right"].as_u64().expect("a count")
    };
    let (without, with) = (right(""), right(lines));
    println!("{without} pairs, {with} with I-Match");
    assert!(with >= without && without > 0);
    // What leaves a signature out is words, and each run says so.
    let bench = Bench::new(&demo_inputs(), "");
    for _ in 0..2 {
        let without = ["--set", "minhash=false", "--set", "sentences=false"];
        assert!(bench.run_well(&without).contains("simhash alone proposes pairs"));
    }
}

/// `check` reads each frozen file as a run does: a run was the first to say that one is broken.
#[test]
fn check_reads_frozen_files() {
    let (bench, _) = made_up(3);
    std::fs::write(bench.at("bad.tsv"), "a\tb\n").expect("written");
    let signature = "signatures=[{kind=\"i_match\",lexicon=\"bad.tsv\"}]";
    for set in [signature, "features.idf=bad.tsv", "extract.furniture=bad.tsv"] {
        let check = bench.pagefold("check", &["--set", set]);
        let run = bench.run(&["--set", set]);
        let [message, expected] = [&check, &run].map(|output| failure(&output.stderr));
        assert_eq!(
            (check.status.code(), run.status.code()),
            (Some(78), Some(78)),
            "{set}: {message}"
        );
        assert!(message.contains("bad.tsv: line 1: not `"), "{set}: {message}");
        assert!(message.ends_with(&expected), "{message} is not {expected}");
    }
}
