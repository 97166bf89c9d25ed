use crate::texts::text;
use crate::workbench::{Bench, demo_inputs, failure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).expect("JSON")
}

fn explain(bench: &Bench, urls: &[&str]) -> Value {
    json(&bench.pagefold("explain", &[urls, &["--json"]].concat()))
}

/// Runs `query` with `input` on stdin.
pub fn query(bench: &Bench, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(crate::workbench::pagefold());
    command.arg("query").arg("job.toml").args(arguments).current_dir(bench.at(""));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    // A thread, because answers come while questions are still written.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("ended");
    writer.join().expect("no panic").expect("written");
    output
}

fn deliver(bench: &Bench, name: &str, rows: &[(String, String)]) {
    std::fs::create_dir_all(bench.at("in")).expect("made");
    std::fs::write(bench.at("in").join(name), lines(rows)).expect("written");
}

fn lines(rows: &[(String, String)]) -> String {
    rows.iter()
        .map(|(url, text)| format!("{}\n", serde_json::json!({ "url": url, "text": text })))
        .collect()
}

/// A bench whose texts have numbered words, so that numbers refuse nothing.
fn bench(more: &str) -> Bench {
    Bench::new(Path::new("in"), &format!("[confirm]\nfacts = \"off\"\n{more}"))
}

/// Every kind of pair of the demo is explained as it is stored: the rule and the similarity are
/// those of `pairs`, and whether the pages are together is what `members` says.
#[test]
fn every_kind_of_pair_is_explained() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let mut kinds: BTreeMap<String, Value> = BTreeMap::new();
    for pair in bench.lines("pairs") {
        let kind = format!("{} {}", pair["reason"], pair["accepted"]);
        kinds.entry(kind).or_insert(pair);
    }
    assert!(kinds.len() >= 5, "{:?}", kinds.keys());
    let clusters: BTreeMap<String, Value> = bench
        .lines("members")
        .into_iter()
        .map(|row| (row["url"].as_str().expect("a URL").to_owned(), row["cluster"].clone()))
        .collect();
    for (kind, pair) in kinds {
        let [a, b] = ["a_url", "b_url"].map(|key| pair[key].as_str().expect("a URL"));
        let explained = explain(&bench, &[a, b]);
        let rule = &explained["verdict"];
        assert_eq!(rule["reason"], pair["reason"], "{kind}: {explained}");
        assert_eq!(rule["similarity"], pair["similarity"], "{kind}: {explained}");
        assert_eq!(rule["accepted"], pair["accepted"], "{kind}: {explained}");
        assert_eq!(explained["proposed_by"], pair["signature"], "{kind}: {explained}");
        assert_eq!(explained["together"], clusters[a] == clusters[b], "{kind}: {explained}");
        assert_eq!(explained["simhash"]["distance"], pair["distance"], "{kind}: {explained}");
        let kinds: Vec<&str> = explained["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["kind"].as_str())
            .collect();
        match pair["reason"].as_str() {
            Some("numerals") => assert!(kinds.contains(&"number"), "{explained}"),
            Some("names") => assert!(kinds.contains(&"name"), "{explained}"),
            Some("words") => assert!(kinds.contains(&"word"), "{explained}"),
            _ => {}
        }
        // The same as text, without colours off a terminal and with them if they are asked for.
        let text = out(&bench.pagefold("explain", &[a, b]));
        let verdict = if pair["accepted"] == true { "accepted by" } else { "refused by" };
        assert!(text.contains(verdict) && !text.contains('\x1b'), "{text}");
        assert!(
            text.contains(a)
                && text.contains(b)
                && text.lines().any(|line| line.starts_with("simhash")),
            "{text}"
        );
        assert!(out(&bench.pagefold("explain", &[a, b, "--color", "always"])).contains("\x1b["));
    }
}

/// A chain of five texts is shown step by step; each step is a stored accepted pair. With a radius
/// the ends are apart, and the chain is still shown.
#[test]
fn a_chain_of_five() {
    let bench = bench("[clusters]\nradius = 0\n");
    let url = |n: u64| format!("http://h{n}.example/{n}");
    let editions: Vec<u64> = (0..5).map(|n| 3 * n).collect();
    let rows: Vec<(String, String)> = editions.iter().map(|n| (url(*n), text(7, *n))).collect();
    deliver(&bench, "1.jsonl", &rows);
    bench.run_well(&[]);
    let accepted: BTreeSet<(String, String)> = bench
        .lines("pairs")
        .into_iter()
        .filter(|pair| pair["accepted"] == true)
        .flat_map(|pair| {
            let [a, b] =
                ["a_url", "b_url"].map(|key| pair[key].as_str().expect("a URL").to_owned());
            [(a.clone(), b.clone()), (b, a)]
        })
        .collect();
    let explained = explain(&bench, &[&url(0), &url(12)]);
    assert_eq!(
        (explained["together"].as_bool(), explained["relation"].as_str()),
        (Some(true), Some("chain")),
        "{explained}"
    );
    let chain = explained["chain"].as_array().expect("a chain");
    assert_eq!(chain.len(), 4, "{explained}");
    let mut at = url(0);
    for link in chain {
        assert_eq!(link["from"], at.as_str());
        let to = link["to"].as_str().expect("a URL").to_owned();
        assert!(accepted.contains(&(at, to.clone())), "{link}");
        at = to;
    }
    assert_eq!(at, url(12));
    bench.run_well(&["--set", "clusters.radius=1"]);
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("readable");
    std::fs::write(bench.at("job.toml"), job.replace("radius = 0", "radius = 1")).expect("written");
    let explained = explain(&bench, &[&url(0), &url(12)]);
    assert_eq!(
        (explained["together"].as_bool(), explained["relation"].as_str()),
        (Some(false), Some("apart")),
        "{explained}"
    );
    assert!(!explained["chain"].as_array().expect("a chain").is_empty());
}

/// The words of an article with three of them replaced for each of `blocks`. Here texts that differ
/// in one block are near, and others are not.
fn with_blocks(blocks: &[usize]) -> String {
    let article = text(7, 0);
    let mut words: Vec<String> = article.split(' ').map(str::to_owned).collect();
    for change in blocks.iter().flat_map(|block| 3 * block..3 * block + 3) {
        let at = (7 + 7 * change) % words.len();
        words[at] = format!("change{change}");
    }
    words.join(" ")
}

/// With a radius of 2 the chain between two texts of a cluster led through a text of another, and
/// was shorter than the diameter said. And a representative that leads its cluster, but is near a
/// part of it, was said to be near every text.
#[test]
fn a_cluster_that_is_not_near_its_leader() {
    let bench = bench("[clusters]\nradius = 2\n");
    // Six texts in a ring, and five behind one of them, whose leader takes it from the ring.
    let ring: [(&str, &[usize]); 6] = [
        ("http://one.example/", &[]),
        ("https://taken.example/", &[0]),
        ("http://other.example/", &[0, 1]),
        ("http://next.example/", &[0, 1, 3]),
        ("https://leads.example/", &[1, 3]),
        ("http://last.example/", &[3]),
    ];
    let behind: [(&str, &[usize]); 5] = [
        ("http://between.example/", &[0, 2]),
        ("http://most.example/", &[0, 2, 4]),
        ("http://leaf.example/5", &[0, 2, 4, 5]),
        ("http://leaf.example/6", &[0, 2, 4, 6]),
        ("http://leaf.example/7", &[0, 2, 4, 7]),
    ];
    let rows: Vec<(String, String)> = ring
        .iter()
        .chain(&behind)
        .map(|(url, blocks)| ((*url).to_owned(), with_blocks(blocks)))
        .collect();
    deliver(&bench, "1.jsonl", &rows);
    bench.run_well(&[]);
    let accepted = bench.lines("pairs").iter().filter(|pair| pair["accepted"] == true).count();
    assert_eq!((accepted, bench.lines("clusters").len()), (11, 2));

    let explained = explain(&bench, &[ring[0].0, ring[2].0]);
    let chain = explained["chain"].as_array().expect("a chain");
    let through: Vec<&str> = chain.iter().filter_map(|link| link["to"].as_str()).collect();
    assert_eq!(through, [ring[5].0, ring[4].0, ring[3].0, ring[2].0], "{explained}");
    assert_eq!(explained["a"]["cluster"]["diameter"], 4, "{explained}");

    let explained = explain(&bench, &[behind[1].0]);
    let kept = ["by", "against"].map(|name| &explained["kept"][name]);
    assert_eq!(kept, ["leads", ring[1].0], "{explained}");
}

/// Of two near fingerprints with nine texts each the pivot rule leaves three pairs out. They were
/// said to be left out because very many texts share what they share.
#[test]
fn near_groups_are_named() {
    let sets = ["minhash=false", "sentences=false", "confirm.by=\"fingerprint\""];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let article = |n: u64| (format!("http://{}.example/{}", n / 12, n % 12), text(n / 12, n % 12));
    let articles: BTreeMap<String, String> = (0..120).map(article).collect();
    let scout = Bench::new(Path::new("in"), "");
    deliver(&scout, "1.jsonl", &Vec::from_iter(articles.clone()));
    scout.run_well(&sets);
    let near = scout.lines("pairs").into_iter().find(|pair| pair["distance"].as_u64() > Some(0));
    let near = near.expect("two near fingerprints");

    let bench = Bench::new(Path::new("in"), "");
    // The order of the words does not matter to a fingerprint.
    let orders = ["a_url", "b_url"].into_iter().flat_map(|side| {
        let words: Vec<&str> = articles[near[side].as_str().expect("a URL")].split(' ').collect();
        (0..9).map(move |order| {
            let mut words = words.clone();
            words.rotate_left(6 * order);
            (format!("http://{order}.example/{side}"), words.join(" "))
        })
    });
    let rows: Vec<(String, String)> = orders.collect();
    deliver(&bench, "1.jsonl", &rows);
    bench.run_well(&sets);
    let mut left_out: BTreeSet<[&str; 2]> = BTreeSet::new();
    for (at, (a, _)) in rows.iter().enumerate() {
        left_out.extend(rows[..at].iter().map(|(b, _)| [a.as_str().min(b), a.as_str().max(b)]));
    }
    let pairs = bench.lines("pairs");
    for pair in &pairs {
        let [a, b] = ["a_url", "b_url"].map(|side| pair[side].as_str().expect("a URL"));
        assert!(left_out.remove(&[a.min(b), a.max(b)]), "{pair}");
    }
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    for [a, b] in left_out {
        let explained = explain(&bench, &[&[a, b], &sets[..]].concat());
        let why = [&explained["not_compared"], &explained["simhash"]["left_out_by"]];
        assert_eq!(why, ["near_groups"; 2], "{explained}");
        let said = out(&bench.pagefold("explain", &[&[a, b], &sets[..]].concat()));
        assert!(said.contains("several texts have each of the two fingerprints"), "{said}");
    }
}

/// For a removed page the answer says when and why it was removed, and where its text lives on. For
/// a URL that the store lacks the answer is about its nearest spelling, or the exit code is 66.
#[test]
fn pages_that_are_gone_or_spelled_otherwise() {
    let bench = bench("");
    let both = text(3, 0);
    deliver(
        &bench,
        "1.jsonl",
        &[
            ("http://a.example/x".into(), both.clone()),
            ("https://www.b.example/y/".into(), both.clone()),
        ],
    );
    bench.run_well(&["--now", "1700000000"]);
    std::fs::write(bench.at("in/2.jsonl"), "{\"url\":\"http://a.example/x\",\"deleted\":true}\n")
        .expect("written");
    bench.run_well(&["--now", "1700086400"]);
    let explained = explain(&bench, &["http://a.example/x"]);
    assert_eq!(
        (explained["is_live"].as_bool(), explained["gone"]["cause"].as_str()),
        (Some(false), Some("removed")),
        "{explained}"
    );
    assert_eq!(
        (explained["gone"]["epoch"].as_u64(), explained["gone"]["time"].as_str()),
        (Some(2), Some("2023-11-15T22:13:20Z"))
    );
    assert_eq!(explained["cluster"]["representative"], "https://www.b.example/y/", "{explained}");
    let steps: Vec<&str> = explained["history"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["what"].as_str())
        .collect();
    assert_eq!(steps, ["new", "gone"], "{explained}");
    let text = out(&bench.pagefold("explain", &["http://a.example/x"]));
    assert!(
        text.contains(
            "gone since epoch 2, 2023-11-15T22:13:20Z: a record said that it was removed"
        ),
        "{text}"
    );
    let explained = explain(&bench, &["http://b.example/y"]);
    assert_eq!(explained["url"], "https://www.b.example/y/");
    assert_eq!(
        explained["differs_by"],
        serde_json::json!(["http or https", "www.", "a slash at the end"])
    );
    let output = bench.pagefold("explain", &["http://c.example/"]);
    assert_eq!(output.status.code(), Some(66));
    let said = failure(&output.stderr);
    assert!(
        said.contains("http://c.example/: the store has no such page; http and https"),
        "{said}"
    );
    let output = bench.pagefold("explain", &["http://a.example/x", "https://www.b.example/y/"]);
    assert_eq!(output.status.code(), Some(66));
}

/// A page with a key of its own was looked up by the canonical URL of that key, so it was not
/// found, or the answer was about the page of another key. A key is looked up as it is.
#[test]
fn keys_are_looked_up_as_they_are() {
    let bench = bench("");
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("readable");
    let job = job.replace("[read]\n", "[read]\nkey = \"id\"\n");
    std::fs::write(bench.at("job.toml"), job).expect("written");
    let ids = [
        "http://example.com",
        "https://Example.com/A#b",
        "s3://bk/key#3",
        " padded ",
        "plain-7",
        "HTTP://B.example/",
        "http://b.example/",
    ];
    let row = |(n, id): (u64, &&str)| {
        format!("{}\n", serde_json::json!({ "id": id, "text": text(100 + n, 0) }))
    };
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let rows: String = (0..).zip(&ids).map(row).collect();
    std::fs::write(bench.at("in/1.jsonl"), rows).expect("written");
    bench.run_well(&[]);
    for id in ids {
        let explained = explain(&bench, &[id]);
        assert_eq!(
            (&explained["url"], &explained["asked"]),
            (&id.into(), &id.into()),
            "{explained}"
        );
        assert_eq!(explained["differs_by"], serde_json::json!([]), "{explained}");
        let explained = json(&bench.pagefold("query", &["--url", id, "--json"]));
        assert_eq!(explained["url"], id, "{explained}");
    }
    let output = bench.pagefold("explain", &["https://example.com/"]);
    assert_eq!(output.status.code(), Some(66));
    let said = failure(&output.stderr);
    assert!(said.contains("the store has no such page; a key is looked up as it is"), "{said}");
}

/// What `query` says of 1,000 texts is what an epoch with the same texts decides: whether a
/// text is identical, near or new, and with which stored texts it is accepted, by which rule.
#[test]
fn answers_are_those_of_the_next_epoch() {
    let bench = bench("");
    let stored: Vec<(String, String)> = (0..720)
        .map(|n| (format!("http://h{}.example/{n}", n % 5), text(n / 4, 3 * (n % 4))))
        .collect();
    deliver(&bench, "1.jsonl", &stored);
    bench.run_well(&[]);
    let asked: Vec<(String, String)> = (0..1000)
        .map(|n| {
            (
                format!("http://new.example/{n}"),
                text(n / 4, if n % 8 == 0 { 3 } else { 2 * (n % 7) + 1 }),
            )
        })
        .collect();
    let output = query(&bench, &["--json"], &lines(&asked));
    let answers: Vec<Value> =
        out(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), asked.len());
    let before: BTreeSet<String> =
        bench.lines("members").into_iter().map(|row| content(&row)).collect();
    deliver(&bench, "2.jsonl", &asked);
    bench.run_well(&[]);
    let members: BTreeMap<String, String> = bench
        .lines("members")
        .into_iter()
        .map(|row| (row["url"].as_str().expect("a URL").to_owned(), content(&row)))
        .collect();
    let mut decided: BTreeMap<String, BTreeSet<(String, String, String)>> = BTreeMap::new();
    for pair in bench.lines("pairs").into_iter().filter(|pair| pair["accepted"] == true) {
        let [a, b] = ["a", "b"].map(|key| pair[key].as_str().expect("an id").to_owned());
        for (one, other) in [(&a, &b), (&b, &a)] {
            if before.contains(other) {
                let verdict =
                    (other.clone(), pair["reason"].to_string(), pair["similarity"].to_string());
                decided.entry(one.clone()).or_default().insert(verdict);
            }
        }
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (answer, (url, _)) in answers.iter().zip(&asked) {
        assert_eq!(answer["url"], url.as_str());
        assert_eq!(answer["content"], members[url].as_str());
        let verdict = answer["verdict"].as_str().expect("a verdict");
        *seen.entry(verdict.to_owned()).or_default() += 1;
        if before.contains(&members[url]) {
            assert_eq!(verdict, "identical", "{answer}");
            continue;
        }
        let matches: BTreeSet<(String, String, String)> = answer["matches"]
            .as_array()
            .expect("matches")
            .iter()
            .map(|one| {
                let id = one["content"].as_str().expect("an id").to_owned();
                (id, one["reason"].to_string(), one["similarity"].to_string())
            })
            .collect();
        assert_eq!(matches, decided.get(&members[url]).cloned().unwrap_or_default(), "{answer}");
        assert_eq!(verdict, if matches.is_empty() { "new" } else { "near" }, "{answer}");
    }
    println!("{seen:?}");
    assert!(
        ["identical", "near", "new"]
            .iter()
            .all(|verdict| seen.get(*verdict).is_some_and(|n| *n >= 60)),
        "{seen:?}"
    );
}

fn content(row: &Value) -> String {
    row["content"].as_str().unwrap_or_default().to_owned()
}

/// A question may be a text, HTML, the URL of a stored page, or rows; a bad row is reported, and
/// the others are answered.
#[test]
fn forms_of_a_question() {
    let bench = bench("");
    let known = text(1, 0);
    deliver(
        &bench,
        "1.jsonl",
        &[("http://a.example/x".into(), known.clone()), ("http://a.example/y".into(), text(1, 1))],
    );
    bench.run_well(&[]);
    let explained =
        |arguments: &[&str], input: &str| -> Value { json(&query(&bench, arguments, input)) };
    let same = explained(&["--json"], &known);
    assert_eq!(
        (same["verdict"].as_str(), same["pages"].as_u64()),
        (Some("identical"), Some(1)),
        "{same}"
    );
    assert_eq!(
        (same["urls"][0].as_str(), same["cluster_pages"].as_u64()),
        (Some("http://a.example/x"), Some(2))
    );
    let page = format!("<!doctype html><html><body><p>{known}</p></body></html>");
    assert_eq!(explained(&["--json"], &page)["verdict"], "identical");
    std::fs::write(bench.at("page.txt"), text(1, 2)).expect("written");
    let near = explained(&["--json", "--all", "page.txt"], "");
    assert_eq!(
        (near["verdict"].as_str(), near["provisional"].as_bool()),
        (Some("near"), Some(true)),
        "{near}"
    );
    assert_eq!(near["because"], serde_json::json!(["radius"]), "a new text may change who leads");
    assert_eq!(
        explained(
            &["--json"],
            "nothing like it at all stands in the store of this test, as far as one can see"
        )["verdict"],
        "new"
    );
    let stored = explained(&["--json", "--url", "http://a.example/y"], "");
    assert_eq!(
        (stored["verdict"].as_str(), stored["matches"][0]["url"].as_str()),
        (Some("identical"), Some("http://a.example/x"))
    );
    let text = out(&query(&bench, &[], &known));
    assert!(text.starts_with("identical  ") && text.contains("1 page has the same text"), "{text}");
    let rows = format!(
        "{}\n{{\"text\":\"no url\"}}\n",
        serde_json::json!({ "url": "http://a.example/x", "text": "changed" })
    );
    let output = query(&bench, &["--json"], &rows);
    assert_eq!(output.status.code(), Some(65));
    let lines: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["because"], serde_json::json!(["replaces"]), "{}", lines[0]);
    assert_eq!(
        (lines[1]["verdict"].as_str(), lines[1]["reason"].as_str()),
        (Some("rejected"), Some("no_url"))
    );
    for text in [&output.stdout, &query(&bench, &["--json", "--all", "page.txt"], "").stdout] {
        // A key that stands twice is lost to most readers.
        for line in String::from_utf8_lossy(text).lines() {
            let value: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(value.to_string().len(), line.len(), "{line}");
        }
    }
    std::fs::write(bench.at("x.warc"), "WARC/1.1\r\n").expect("written");
    let output = bench.pagefold("query", &["x.warc"]);
    assert_eq!(output.status.code(), Some(65));
    assert!(failure(&output.stderr).contains("x.warc: a WARC file; query takes a text"));
    // A compressed file was refused without the command that asks about its rows.
    std::fs::write(bench.at("a b.jsonl.gz"), [0x1f, 0x8b, 8, 0]).expect("written");
    let output = bench.pagefold("query", &["a b.jsonl.gz"]);
    assert_eq!(output.status.code(), Some(65));
    let said = failure(&output.stderr);
    assert!(
        said.contains("`gzip -dc < 'a b.jsonl.gz' | pagefold query ") && said.contains(" --json`"),
        "{said}"
    );
}

/// A file of rows was taken for one text, with exit code 0: one that begins with a byte order mark
/// or with a broken line, an array, and nothing at all for `--json`. Advice lacked the `--set`.
#[test]
fn rows_are_no_text() {
    let bench = bench("");
    let known = text(1, 0);
    let row = lines(&[("http://a.example/x".into(), known.clone())]);
    deliver(&bench, "1.jsonl", &[("http://a.example/x".into(), known)]);
    bench.run_well(&[]);
    let asked = |name: &str, bytes: &str| {
        std::fs::write(bench.at(name), bytes).expect("written");
        let output = query(&bench, &["--set", "store=store", name], "");
        let said = String::from_utf8(output.stdout).expect("UTF-8") + &failure(&output.stderr);
        (output.status.code(), said)
    };
    let (code, said) = asked("marked.jsonl", &format!("\u{feff}{row}"));
    assert!(code == Some(0) && said.starts_with("identical "), "{said}");
    let (code, said) = asked("broken.jsonl", &format!("no row\n{row}"));
    assert!(code == Some(65) && said.starts_with("rejected   line 1: bad_json"), "{said}");
    assert!(said.contains("\nidentical "), "{said}");
    for array in [format!("[{row}]"), format!("[\n{row}]")] {
        let (code, said) = asked("rows.json", &array);
        let command = "jq -c '.[]' < rows.json | pagefold query job.toml --set store=store --json";
        assert!(code == Some(65) && said.contains(&format!("`{command}`")), "{said}");
    }
    let output = query(&bench, &["--json"], "");
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

/// A page with a stored text may change which text leads its cluster, even if another page
/// represents the cluster: the leader is the text whose best page the keep rule prefers. Such an
/// answer is provisional, and an answer about a page that changes nothing is not.
#[test]
fn another_page_changes_who_leads() {
    // Each text shares most words with the next. The second and the third are near two others each.
    let window = |from: usize| (from..from + 40).map(|n| format!("w{n} ")).collect::<String>();
    let [a, b, c, d] = [0, 5, 9, 12].map(window);
    let url = |length: usize| format!("{:x<length$}", "http://a.example/");
    let more = "similarity_min = 7500\n[keep]\nby = [\"shortest_url\"]\n";
    for (length, changes) in [(22, true), (45, false)] {
        let bench = bench(more);
        let stored = [
            (url(41), a.clone()),
            (url(25), b.clone()),
            (url(40), c.clone()),
            (url(20), d.clone()),
        ];
        deliver(&bench, "1.jsonl", &stored);
        bench.run_well(&[]);
        let new = (url(length), c.clone());
        let answer = json(&query(&bench, &["--json"], &lines(std::slice::from_ref(&new))));
        assert_eq!(
            (answer["verdict"].as_str(), answer["representative"].as_str()),
            (Some("identical"), Some(&*url(20)))
        );
        assert_eq!(
            answer["because"],
            if changes { serde_json::json!(["radius"]) } else { serde_json::json!([]) }
        );
        deliver(&bench, "2.jsonl", &[new]);
        bench.run_well(&[]);
        let members = bench.lines("members");
        let page = members.iter().find(|row| row["url"] == url(length)).expect("a page");
        assert_eq!(page["representative"] != answer["representative"], changes, "{page}");
    }
}

/// Files beside the crawl that a run passes by were listed as waiting for ever.
#[test]
fn what_a_run_passes_by_does_not_wait() {
    let bench = bench("");
    deliver(&bench, "1.jsonl", &[("http://a.example/x".into(), text(1, 0))]);
    std::fs::write(bench.at("in/index.cdxj"), "org,example)/ 20240101000000 {}\n")
        .expect("written");
    std::fs::write(bench.at("in/readme.txt"), "a crawl of 2024\n").expect("written");
    let state = || json(&bench.pagefold("status", &["--json"]))["state"]["inputs"].clone();
    bench.run_well(&[]);
    assert_eq!((state()["files"].as_u64(), state()["waiting"].as_u64()), (Some(1), Some(0)));
    deliver(&bench, "2.jsonl", &[("http://a.example/y".into(), text(2, 0))]);
    assert_eq!((state()["files"].as_u64(), state()["waiting"].as_u64()), (Some(2), Some(1)));
    // A run reads no file that was renamed, so it does not wait.
    std::fs::rename(bench.at("in/1.jsonl"), bench.at("in/old.jsonl")).expect("renamed");
    assert_eq!((state()["files"].as_u64(), state()["waiting"].as_u64()), (Some(2), Some(1)));
    std::fs::copy(bench.at("in/old.jsonl"), bench.at("in/copy.jsonl")).expect("copied");
    assert_eq!((state()["files"].as_u64(), state()["waiting"].as_u64()), (Some(3), Some(2)));
}

/// Asking leaves no trace: neither `explain`, `query`, `status` nor `run --dry-run` changes a file
/// of the store or of the results, nor makes one.
#[test]
fn asking_leaves_no_trace() {
    let bench = bench("[pages]\nretain_days = 9\nretain_epochs = 2\n");
    deliver(&bench, "1.jsonl", &[("http://a.example/x".into(), text(1, 0))]);
    let dry = json(&bench.run(&["--dry-run", "--json"]));
    assert_eq!(
        (dry["due"].as_bool(), dry["inputs"].as_u64(), dry["epoch"].as_u64()),
        (Some(true), Some(1), Some(1))
    );
    assert!(!bench.at("store").exists() && !bench.at("out").exists());
    bench.run_well(&[]);
    deliver(&bench, "2.jsonl", &[("http://a.example/y".into(), text(1, 1))]);
    std::fs::copy(bench.at("in/2.jsonl"), bench.at("in/3.jsonl")).expect("copied");
    let before = trace(&bench.at(""));
    let dry = json(&bench.run(&["--dry-run", "--json"]));
    assert_eq!(
        (dry["inputs"].as_u64(), dry["same_bytes"].as_u64(), dry["splits"].as_u64()),
        (Some(1), Some(1), Some(1)),
        "{dry}"
    );
    let text = out(&bench.run(&["--dry-run"]));
    assert!(
        text.starts_with("run        would make epoch 2\n") && text.contains("in/2.jsonl"),
        "{text}"
    );
    let state = json(&bench.pagefold("status", &["--json"]))["state"].clone();
    assert_eq!(
        (state["pages"].as_u64(), state["inputs"]["waiting"].as_u64()),
        (Some(1), Some(2)),
        "{state}"
    );
    assert_eq!(state["expiry"]["next_pages"], 1, "{state}");
    let text = out(&bench.pagefold("status", &[]));
    assert!(text.contains("waiting    2 of 3 inputs") && !text.contains("band_1"), "{text}");
    assert!(out(&bench.pagefold("status", &["--tables"])).contains("band_1"));
    explain(&bench, &["http://a.example/x"]);
    out(&query(&bench, &[], "some text"));
    assert!(trace(&bench.at("")) == before, "a file was changed or made");
    bench.run_well(&[]);
    assert_eq!(json(&bench.run(&["--dry-run", "--json"]))["due"], false);
}

/// All files below a folder with their bytes and times.
fn trace(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(trace(&path));
        } else {
            let modified = path.metadata().and_then(|metadata| metadata.modified()).expect("there");
            files.insert(
                path.display().to_string(),
                (std::fs::read(&path).expect("readable"), modified),
            );
        }
    }
    files
}

/// A report is one page that asks for nothing: no script, link, image or style sheet, though the
/// crawl is full of markup. It names the hosts, the clusters with what differs, and the rejects.
#[test]
fn a_report_is_one_page() {
    let demo = Bench::new(&demo_inputs(), "");
    demo.run_well(&[]);
    assert!(out(&demo.pagefold("report", &[])).starts_with("report of epoch 1: "));
    let page = std::fs::read_to_string(demo.at("out/report.html")).expect("written");
    for part in [
        "mirror.example",
        "<del>",
        "<ins>",
        "bad_json",
        "The most chained clusters",
        "2 to 3",
        "389",
        "66.1 %",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let hostile = bench("");
    let markup =
        "<script>alert(1)</script> <img src=x onerror=alert(2)> <a href='javascript:alert(3)'>";
    let rows: Vec<(String, String)> = (0..4)
        .map(|n| {
            (
                format!("http://h.example/<script>{n}"),
                format!("{markup} {} edition {n}", text(1, 0)),
            )
        })
        .chain([("\"><script>alert(4)</script>".to_owned(), format!("{markup} {}", text(1, 1)))])
        .collect();
    deliver(&hostile, "1.jsonl", &rows);
    hostile.run_well(&[]);
    let explained = json(&hostile.pagefold("report", &["--out", "own.html", "--json"]));
    let injected = std::fs::read_to_string(hostile.at("own.html")).expect("written");
    assert_eq!(explained["bytes"].as_u64(), Some(injected.len() as u64));
    assert!(injected.contains("alert(1)"), "the text is shown");
    for page in [&page, &injected] {
        for bad in ["<script", "<img", "<link", "<iframe", "onerror=alert(2)>", "@import", "url("] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert_eq!(
            page.matches("href=\"").count(),
            page.matches("href=\"#").count(),
            "a link leaves the page"
        );
        assert!(page.contains("Content-Security-Policy"));
    }
}

/// Completions and manual pages name the commands and their options, and nothing that is hidden.
#[test]
fn completions_and_manual_pages() {
    let print = |words: &[&str]| {
        out(&Command::new(crate::workbench::pagefold()).args(words).output().expect("started"))
    };
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = print(&["completions", shell]);
        assert!(
            script.contains("explain")
                && script.contains("dry-run")
                && !script.contains("worker JOB"),
            "{shell}"
        );
    }
    let page = print(&["man"]);
    assert!(
        page.contains(".TH pagefold") && page.contains("explain") && page.contains("Exit codes"),
        "{page}"
    );
    let page = print(&["man", "run"]);
    assert!(page.contains("dry\\-run") && page.contains("pagefold run crawl.toml"), "{page}");
    let output =
        Command::new(crate::workbench::pagefold()).args(["man", "fold"]).output().expect("started");
    assert_eq!(output.status.code(), Some(64));
}

/// No command showed the text that a run takes of a page, so nobody could see why pages fold whose
/// menus were taken for their texts.
#[test]
fn the_text_of_a_page_is_shown() {
    let bench = bench("");
    let article = text(1, 0);
    let page = format!(
        "<html><body><ul><li><a href=/1>One</a><li><a href=/2>Two</a></ul><article><h1>Title</h1>\
         <p>{article}</p><p>{}</p></article></body></html>",
        text(2, 0)
    );
    std::fs::write(bench.at("page.html"), &page).expect("written");
    let shown = out(&bench.pagefold("query", &["page.html", "--text"]));
    assert!(shown.contains(&article) && !shown.contains("Two"), "{shown}");
    assert!(!bench.at("store").exists(), "no store is needed");
    let rows = serde_json::json!({ "url": "http://a.example/1", "html": page }).to_string();
    let row = json(&query(&bench, &["--json", "--text"], &rows));
    assert_eq!(row["url"], "http://a.example/1");
    assert_eq!(row["text"].as_str().expect("a text"), shown.trim_end_matches('\n'));
    deliver(&bench, "1.jsonl", &[("http://a.example/1".into(), format!("{article} ABC"))]);
    bench.run_well(&[]);
    let kept = out(&bench.pagefold("query", &["--url", "http://a.example/1", "--text"]));
    assert!(kept.trim_end().ends_with(" abc"), "normalised: {kept}");
    let output = bench.pagefold("query", &["--url", "http://a.example/2", "--text"]);
    assert_eq!(output.status.code(), Some(66));
}
