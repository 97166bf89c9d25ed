use crate::random::Random;
use crate::texts::text;
use crate::workbench::{Bench, skip};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use workers::id::Id;
use workers::page_url::canonical_url;
use workers::text::features::{self, Featurizer};
use workers::text::letters::Letters;
use workers::text::normalize::{self, normalize};
use workers::text::simhash::simhash;

fn page(url: &str, text: &str) -> String {
    json!({"url": url, "text": text}).to_string() + "\n"
}

fn removed(url: &str) -> String {
    json!({"url": url, "deleted": true}).to_string() + "\n"
}

/// A bench that reads the folder `in` and joins texts by fingerprints alone, by which the editions
/// were chosen.
fn bench() -> Bench {
    let bench = Bench::new(Path::new("in"), "[confirm]\nby = \"fingerprint\"\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

/// Runs an epoch over `lines` and returns the rows of `changes`.
fn epoch(bench: &Bench, number: u64, lines: &str, arguments: &[&str]) -> Vec<Value> {
    std::fs::write(bench.at(&format!("in/{number:02}.jsonl")), lines).expect("written");
    bench.run_well(arguments);
    bench.lines("changes")
}

/// A live page as `members` shows it.
#[derive(Clone)]
struct Member {
    url: String,
    content: Option<String>,
    cluster: String,
    representative: String,
    alone: bool,
}

/// The exported state, to which the definitions refer.
#[derive(Clone, Default)]
struct State {
    pages: BTreeMap<String, Member>,
    /// ClusterId to representative and pages.
    clusters: BTreeMap<String, (String, BTreeSet<String>)>,
}

impl State {
    fn of(bench: &Bench) -> State {
        let text = |row: &Value, name: &str| row[name].as_str().expect("text").to_owned();
        let mut state = State::default();
        for row in bench.lines("clusters") {
            let cluster = (text(&row, "representative"), BTreeSet::new());
            state.clusters.insert(text(&row, "cluster"), cluster);
        }
        for row in bench.lines("members") {
            let doc = text(&row, "doc");
            let (url, cluster, representative) =
                (text(&row, "url"), text(&row, "cluster"), text(&row, "representative"));
            let content = row["content"].as_str().map(str::to_owned);
            let alone = row["cluster_size"] == 1;
            if !alone {
                state.clusters.get_mut(&cluster).expect("a cluster").1.insert(doc.clone());
            }
            state.pages.insert(doc, Member { url, content, cluster, representative, alone });
        }
        state
    }

    /// The ClusterId of a page, if it is in a cluster.
    fn home(&self, doc: &str) -> Option<&String> {
        self.pages.get(doc).filter(|page| !page.alone).map(|page| &page.cluster)
    }
}

/// The rows of `changes` by definition: every cluster before is compared with every cluster after,
/// page by page.
fn plain(before: &State, after: &State, (since, epoch): (u64, u64)) -> Vec<Value> {
    let shared =
        |b: &String, a: &String| before.clusters[b].1.intersection(&after.clusters[a].1).count();
    let sharers_after =
        |b: &String| after.clusters.keys().filter(|a| shared(b, a) > 0).collect::<Vec<_>>();
    let sharers_before =
        |a: &String| before.clusters.keys().filter(|b| shared(b, a) > 0).collect::<Vec<_>>();
    // `max_by_key` takes the last of equals, and the clusters ascend.
    let heir_of = |b: &String| sharers_after(b).into_iter().rev().max_by_key(|a| shared(b, a));
    let origin_of = |a: &String| sharers_before(a).into_iter().rev().max_by_key(|b| shared(b, a));
    let heirs = |b: &String, a: &String| heir_of(b) == Some(a) && origin_of(a) == Some(b);

    let mut events: Vec<(Option<String>, Option<String>, &str)> = Vec::new();
    for b in before.clusters.keys() {
        match sharers_after(b).as_slice() {
            [] => events.push((Some(b.clone()), None, "died")),
            [_] => {}
            several => {
                events.extend(several.iter().map(|&a| (Some(b.clone()), Some(a.clone()), "split")))
            }
        }
    }
    for a in after.clusters.keys() {
        match sharers_before(a).as_slice() {
            [] => events.push((None, Some(a.clone()), "born")),
            [_] => {}
            several => {
                events.extend(several.iter().map(|&b| (Some(b.clone()), Some(a.clone()), "merged")))
            }
        }
        if let Some(b) = origin_of(a).filter(|b| heirs(b, a)) {
            if b != a {
                events.push((Some(b.clone()), Some(a.clone()), "renamed"));
            }
            if before.clusters[b].0 != after.clusters[a].0 {
                events.push((Some(b.clone()), Some(a.clone()), "representative"));
            }
        }
    }
    events.sort();
    let mut rows: Vec<Value> = Vec::new();
    for (b, a, change) in events {
        rows.push(json!({
            "since": since, "epoch": epoch, "kind": "cluster", "change": change, "url": null, "doc": null, "cluster_before": b, "cluster_after": a,
            "representative_before": b.map(|b| &before.clusters[&b].0),
            "representative_after": a.map(|a| &after.clusters[&a].0),
        }));
    }
    for doc in before.pages.keys().chain(after.pages.keys()).collect::<BTreeSet<_>>() {
        let (old, new) = (before.pages.get(doc), after.pages.get(doc));
        let moved = || match (before.home(doc), after.home(doc)) {
            (None, None) => false,
            (Some(b), Some(a)) => !heirs(b, a),
            _ => true,
        };
        let change = match (old, new) {
            (None, _) => "new",
            (_, None) => "removed",
            (Some(old), Some(new)) if old.content != new.content => "changed",
            _ if moved() => "moved",
            _ => continue,
        };
        rows.push(json!({
            "since": since, "epoch": epoch, "kind": "page", "change": change, "url": new.or(old).map(|page| &page.url), "doc": doc,
            "cluster_before": old.map(|page| &page.cluster), "cluster_after": new.map(|page| &page.cluster),
            "representative_before": old.map(|page| &page.representative),
            "representative_after": new.map(|page| &page.representative),
        }));
    }
    rows
}

/// Kind and change of each row.
fn names(rows: &[Value]) -> Vec<String> {
    let name = |row: &Value| {
        format!("{} {}", row["kind"].as_str().expect("text"), row["change"].as_str().expect("text"))
    };
    rows.iter().map(name).collect()
}

/// One night's records over a small crawl: texts appear, change, are copied, are joined by editions
/// between them, and disappear.
fn night(random: &mut Random, size: u64) -> String {
    let mut lines = String::new();
    for _ in 0..size {
        let url = format!("http://h{}.example/{}", random.below(3), random.below(40));
        lines.push_str(&match random.below(10) {
            0..3 => removed(&url),
            3 => page(&url, ""),
            _ => page(&url, &text(random.below(4), random.below(12))),
        });
    }
    lines
}

/// The radius of an epoch: none, one, two, or another in each epoch.
fn radius(seed: u64, number: u64) -> &'static [&'static str] {
    match if seed < 7 { seed.div_ceil(2) } else { number % 3 + 1 } {
        1 => &["--set", "clusters.radius=0"],
        2 => &["--set", "clusters.radius=1"],
        _ => &["--set", "clusters.radius=2"],
    }
}

/// After any history of epochs, with any number of workers and any radius, `changes` has the rows
/// that its definitions give for the members and clusters before and after. The histories contain
/// every kind of change but expiry.
#[test]
fn histories_equal_the_definitions() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 1..=8u64 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let (bench, other) = (bench(), self::bench());
        let mut before = State::default();
        for number in 1..=8 {
            let size = [60, 5, 20, 1][random.below(4) as usize];
            let lines = night(&mut random, size);
            let threads = (1 + random.below(4)).to_string();
            let rule = if number == 5 {
                "keep.by=[\"longest_text\"]"
            } else {
                "keep.by=[\"shortest_url\"]"
            };
            let sets = [&["--set", rule][..], radius(seed, number)].concat();
            let rows =
                epoch(&bench, number, &lines, &[&["--threads", &threads][..], &sets].concat());
            let after = State::of(&bench);
            for name in names(&rows) {
                *seen.entry(name).or_default() += 1;
            }
            let expected = plain(&before, &after, (number - 1, number));
            for (row, expected) in rows.iter().zip(&expected) {
                assert_eq!(row, expected, "seed {seed}, epoch {number}");
            }
            assert_eq!(rows.len(), expected.len(), "seed {seed}, epoch {number}");
            before = after;
            if seed % 4 == 1 {
                epoch(&other, number, &lines, &[&["--threads", "3"][..], &sets].concat());
                assert!(
                    bench.changes() == other.changes(),
                    "epoch {number}: other workers, other bytes"
                );
            }
        }
    }
    println!("{seen:?}");
    let clusters = ["born", "died", "merged", "renamed", "representative", "split"]
        .map(|name| format!("cluster {name}"));
    let pages = ["changed", "moved", "new", "removed"].map(|name| format!("page {name}"));
    assert!(
        clusters.iter().chain(&pages).all(|name| seen.contains_key(name)),
        "never seen: one of them"
    );
}

/// What an index holds of a page: URL, ClusterId and representative, by DocId.
type Index = BTreeMap<String, [String; 3]>;

fn index(state: &State) -> Index {
    let row = |page: &Member| [&page.url, &page.cluster, &page.representative].map(String::clone);
    state.pages.iter().map(|(doc, page)| (doc.clone(), row(page))).collect()
}

/// Applies changes to an index, as the page about exports says.
fn applied(mut index: Index, changes: &[Value]) -> Index {
    let text = |row: &Value, name: &str| row[name].as_str().expect("text").to_owned();
    let heirs = changes
        .iter()
        .filter(|row| row["change"] == "renamed" || row["change"] == "representative");
    let heirs: BTreeMap<String, [String; 2]> = heirs
        .map(|row| {
            (
                text(row, "cluster_before"),
                ["cluster_after", "representative_after"].map(|name| text(row, name)),
            )
        })
        .collect();
    for page in index.values_mut() {
        if let Some([cluster, representative]) = heirs.get(&page[1]) {
            (page[1], page[2]) = (cluster.clone(), representative.clone());
        }
    }
    for row in changes.iter().filter(|row| row["kind"] == "page") {
        index.remove(&text(row, "doc"));
        if !row["cluster_after"].is_null() {
            let page = ["url", "cluster_after", "representative_after"].map(|name| text(row, name));
            index.insert(text(row, "doc"), page);
        }
    }
    index
}

/// The changes that `export --since` writes.
fn since(bench: &Bench, epoch: usize, sets: &[&str]) -> Vec<Value> {
    let output = bench.pagefold("export", &[&["--since", &epoch.to_string()][..], sets].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bench.lines("changes_since")
}

/// The changes after any epoch of any history, with rollbacks, merges and other radii in it,
/// applied to what an index had of that epoch give the members of the last. The SQL of the page
/// about exports does the same. An epoch that is not kept is refused.
#[test]
fn an_index_is_kept_in_step() {
    for seed in 1..=4u64 {
        println!("seed {seed}");
        let mut random = Random(seed + 100);
        let bench = bench();
        let mut states = vec![State::default()];
        let mut rules: Vec<&[&str]> = vec![&[]];
        for number in 1..=10 {
            let sets = radius(seed + 4, number);
            rules.push(sets);
            if number % 4 == 0 {
                let back = 1 + random.below(states.len() as u64 - 2);
                let output = bench.pagefold("rollback", &[&back.to_string()]);
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                rules[number as usize] = rules[back as usize];
                let output = bench.pagefold("export", rules[number as usize]);
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            } else {
                let size = [60, 5, 20][random.below(3) as usize];
                epoch(&bench, number, &night(&mut random, size), sets);
            }
            states.push(State::of(&bench));
            let earlier = random.below(states.len() as u64) as usize;
            for earlier in [earlier, states.len() - 1] {
                let changes = since(&bench, earlier, sets);
                assert!(
                    changes.iter().all(|row| row["since"] == earlier && row["epoch"] == number)
                );
                let found = applied(index(&states[earlier]), &changes);
                assert_eq!(
                    found,
                    index(&states[number as usize]),
                    "seed {seed}, {earlier} to {number}"
                );
            }
        }
        assert!(!since(&bench, 3, radius(seed + 4, 10)).is_empty());
        in_sql(&bench, &index(&states[3]), &index(&states[10]));
    }
    let bench = bench();
    epoch(&bench, 1, &page("http://a.example/", &text(1, 1)), &[]);
    let refused = bench.pagefold("export", &["--since", "2"]);
    assert_eq!(refused.status.code(), Some(64));
}

/// An index of an epoch that is not kept was told to apply `--since 0`, which names no page that
/// is gone, so such pages stayed in it for ever. It is told to begin with an empty index.
#[test]
fn an_index_that_missed_too_much_begins_empty() {
    let bench = bench();
    for number in 1..=3 {
        let name = format!("http://{number}.example/");
        let now = (1_700_000_000 + 86_400 * number).to_string();
        epoch(&bench, number, &page(&name, &text(number, 1)), &["--now", &now]);
    }
    let gc = bench.pagefold("gc", &["--keep-epochs", "1", "--keep-days", "0", "--delete"]);
    assert!(gc.status.success(), "{}", String::from_utf8_lossy(&gc.stderr));
    let refused = bench.pagefold("export", &["--since", "1"]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(64), "{message}");
    assert!(message.contains("empty your index, then --since 0"), "{message}");
}

/// `--since` found by the bounds of the last epoch whether a page that is gone had expired: a page
/// that was removed was `expired` when it would have expired since, and a page that had expired was
/// `removed` when pages did not expire any more. The store remembers why each page went.
#[test]
fn pages_that_are_gone_say_why_they_went() {
    let bench = bench();
    let urls = ["removed", "stale", "seen"].map(|name| format!("http://{name}.example/"));
    let [gone, stale, seen] = &urls;
    let day = |day: i64| (1_700_000_000 + 86_400 * day).to_string();
    let nights = [
        (0, [gone, stale, seen].map(|url| page(url, &text(1, 1))).concat(), None),
        (1, removed(gone) + &page(seen, &text(1, 1)), None),
        (10, page(seen, &text(1, 1)), Some("pages.retain_days=5")),
        (11, page(seen, &text(1, 1)), None),
    ];
    for (number, (at, lines, set)) in (1..).zip(nights) {
        let day = day(at);
        let set = set.map_or(vec![], |set| vec!["--set", set]);
        epoch(&bench, number, &lines, &[&["--now", &day], &set[..]].concat());
        if number > 2 {
            let changes = since(&bench, 1, &set);
            let pages = changes.iter().filter(|row| row["kind"] == "page");
            let gone: BTreeMap<&str, &str> = pages
                .filter(|row| row["cluster_after"].is_null())
                .map(|row| {
                    (row["url"].as_str().expect("text"), row["change"].as_str().expect("text"))
                })
                .collect();
            let expected = [(urls[0].as_str(), "removed"), (urls[1].as_str(), "expired")];
            assert_eq!(gone, BTreeMap::from(expected), "epoch {number}");
        }
    }
}

/// A rebuild does not make an epoch again that a rollback undid. `changes` then said that nothing
/// had changed since that epoch, so an index of it kept its pages for ever. The summary names the
/// epoch that was compared, and an index of the undone epoch is told to start again.
#[test]
fn an_undone_epoch_is_gone_after_a_rebuild() {
    let bench = bench();
    for number in 1..=3 {
        let name = format!("http://{number}.example/");
        epoch(&bench, number, &page(&name, &text(number, 1)), &[]);
    }
    assert!(bench.pagefold("rollback", &["2"]).status.success());
    assert!(bench.pagefold("export", &[]).status.success());
    assert_eq!((bench.summary()["since"].as_u64(), bench.lines("changes").len()), (Some(3), 1));
    assert!(bench.pagefold("rebuild", &[]).status.success());
    assert_eq!(bench.summary()["epoch"], 4);
    assert_eq!((bench.summary()["since"].as_u64(), bench.lines("changes").len()), (Some(2), 0));
    let refused = bench.pagefold("export", &["--since", "3"]);
    assert_eq!(refused.status.code(), Some(64));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("take `members` afresh"), "{message}");
    for (since, rows) in [(1, 1), (2, 0), (4, 0)] {
        assert_eq!(self::since(&bench, since, &[]).len(), rows, "since {since}");
    }
    // A table of another form would be taken for one of this step.
    let parquet = ["--since", "1", "--set", "output.formats=[\"parquet\"]"];
    assert!(bench.pagefold("export", &parquet).status.success());
    assert!(!bench.at("out/changes_since.jsonl").exists());
}

/// Runs the SQL of the page of recipes over `changes_since`, from the index `before`.
fn in_sql(bench: &Bench, before: &Index, after: &Index) {
    let page = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/export/RECIPES.md"),
    );
    let page = page.expect("a page");
    let sql = page
        .split("```sql\n")
        .find(|block| block.starts_with("update members"))
        .expect("the recipe");
    let sql = sql.split("```").next().expect("an end");
    let script = r#"
import json, sqlite3
base = sqlite3.connect(":memory:")
base.execute("create table members (url, doc, cluster, representative)")
rows = json.load(open("before.json"))
base.executemany("insert into members values (?, ?, ?, ?)", [(r[0], doc, r[1], r[2]) for doc, r in rows.items()])
names = "since epoch kind change url doc cluster_before cluster_after representative_before representative_after".split()
base.execute("create table changes (" + ", ".join(names) + ")")
rows = [json.loads(line) for line in open("out/changes_since.jsonl")]
base.executemany("insert into changes values (?,?,?,?,?,?,?,?,?,?)", [[row[name] for name in names] for row in rows])
base.executescript(open("recipe.sql").read())
print(json.dumps({doc: [url, c, r] for url, doc, c, r in base.execute("select url, doc, cluster, representative from members")}))
"#;
    std::fs::write(bench.at("recipe.sql"), sql).expect("written");
    std::fs::write(bench.at("before.json"), json!(before).to_string()).expect("written");
    let python = std::process::Command::new("python3")
        .args(["-c", script])
        .current_dir(bench.at(""))
        .output();
    let Ok(output) = python else { return skip("python3 with sqlite3") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Index = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found, *after);
}

/// Computes digest and fingerprint of texts.
struct Digester(Featurizer);

impl Digester {
    fn new() -> Digester {
        let (options, normal) = (features::Options::default(), normalize::Options::default());
        Digester(Featurizer::new(&options, &normal).expect("a featurizer"))
    }

    fn digest(&mut self, text: &str) -> (Id, u64) {
        let (mut normal, mut features) = (String::new(), Vec::new());
        normalize(text, &normalize::Options::default(), &mut normal);
        self.0.features(&normal, &Letters::of(&normal), &mut features);
        (Id::of(normal.as_bytes()), simhash(&features))
    }
}

/// Three editions of an article in the order of their digests, the second near both others; the
/// others are near each other or not. The least digest names their component.
fn editions(near_ends: bool) -> [(Id, String); 3] {
    let mut digester = Digester::new();
    for n in 0..50 {
        let texts: Vec<String> = (0..12).map(|edition| text(n, edition)).collect();
        let facts: Vec<(Id, u64)> = texts.iter().map(|text| digester.digest(text)).collect();
        let near = |a: usize, b: usize| (facts[a].1 ^ facts[b].1).count_ones() <= 3;
        let threes = (0..12)
            .flat_map(|a| (a + 1..12).flat_map(move |b| (b + 1..12).map(move |c| [a, b, c])));
        let mut found =
            threes.filter(|&[a, b, c]| near(a, b) && near(b, c) && near(a, c) == near_ends);
        if let Some(three) = found.next() {
            return three.map(|edition| (facts[edition].0, texts[edition].clone()));
        }
    }
    panic!("no article has such editions");
}

fn doc(url: &str) -> String {
    canonical_url(url).doc.to_string()
}

/// When the page between two halves of a cluster is removed the cluster splits: the smaller half
/// moves, the larger does not. When the page returns they merge, and again only the smaller half
/// moves.
#[test]
fn a_bridge_goes_and_comes() {
    let [left, middle, right] = editions(false).map(|(_, text)| text);
    let bench = bench();
    let url = |n: u64| format!("http://a.example/{n}");
    let mut lines = page(&url(0), &middle);
    (1..=3).for_each(|n| lines.push_str(&page(&url(n), &left)));
    (4..=5).for_each(|n| lines.push_str(&page(&url(n), &right)));
    let first = names(&epoch(&bench, 1, &lines, &[]));
    assert_eq!(
        first,
        ["cluster born", "page new", "page new", "page new", "page new", "page new", "page new"]
    );
    let moved = |rows: &[Value]| -> BTreeSet<String> {
        let moved = rows.iter().filter(|row| row["change"] == "moved");
        moved.map(|row| row["url"].as_str().expect("a URL").to_owned()).collect()
    };
    let smaller: BTreeSet<String> = [url(4), url(5)].into();
    for (number, line, page, change) in
        [(2, removed(&url(0)), "removed", "split"), (3, page(&url(0), &middle), "new", "merged")]
    {
        let rows = epoch(&bench, number, &line, &[]);
        assert_eq!(rows.iter().filter(|row| row["change"] == change).count(), 2, "{rows:#?}");
        assert_eq!(moved(&rows), smaller, "{rows:#?}");
        let others: Vec<&Value> =
            rows.iter().filter(|row| row["kind"] == "page" && row["change"] != "moved").collect();
        assert_eq!(others.len(), 1, "{rows:#?}");
        assert_eq!(
            (&others[0]["change"], &others[0]["url"]),
            (&json!(page), &json!(url(0))),
            "{rows:#?}"
        );
    }
}

/// When its representative is removed a cluster gets another one, and no other page has a row. When
/// one of two pages is removed the cluster is deleted, and the last page moves out of it.
#[test]
fn a_representative_vanishes() {
    let bench = bench();
    // The shortest URL represents; another page has the least DocId, so the ClusterId stays.
    let shown = (0..)
        .map(|n| format!("http://a.example/{n}"))
        .find(|url| doc(url) > doc("http://long.example/x"));
    let shown = shown.expect("some URL");
    let urls = ["http://long.example/x", "http://longest.example/y", &shown];
    let lines: String = urls.iter().map(|url| page(url, &text(1, 0))).collect();
    epoch(&bench, 1, &lines, &[]);
    let rows = epoch(&bench, 2, &removed(&shown), &[]);
    assert_eq!(names(&rows), ["cluster representative", "page removed"]);
    assert_eq!(rows[0]["representative_before"], json!(shown));
    assert_eq!(rows[0]["representative_after"], json!(urls[0]));
    assert_eq!(rows[0]["cluster_before"], rows[0]["cluster_after"]);
    assert_eq!((&rows[1]["url"], &rows[1]["cluster_after"]), (&json!(shown), &Value::Null));
    let rows = epoch(&bench, 3, &removed(urls[1]), &[]);
    let mut changes = names(&rows);
    changes.sort();
    assert_eq!(changes, ["cluster died", "page moved", "page removed"]);
}

/// A new page with the least DocId and the least content renames its cluster once, though every
/// content is now in another component; only the new page has a row. The same pages seen again have
/// none.
#[test]
fn a_new_least_page_renames_once() {
    let bench = bench();
    let mut editions = editions(true);
    editions.sort();
    let [least, a, b] = editions.map(|(_, text)| text);
    let urls: Vec<String> = (1..=4).map(|n| format!("http://a.example/{n}")).collect();
    let lines: String =
        urls.iter().zip([&a, &b, &a, &b]).map(|(url, text)| page(url, text)).collect();
    epoch(&bench, 1, &lines, &[]);
    let first = urls.iter().map(|url| doc(url)).min().expect("four");
    let new =
        (0..).map(|n| format!("http://a.example/a-longer-name-{n}")).find(|url| doc(url) < first);
    let new = new.expect("some URL");
    let rows = epoch(&bench, 2, &page(&new, &least), &[]);
    assert_eq!(names(&rows), ["cluster renamed", "page new"], "{rows:#?}");
    assert_eq!(
        (&rows[0]["cluster_before"], &rows[0]["cluster_after"]),
        (&json!(first), &json!(doc(&new)))
    );
    assert_eq!((&rows[1]["url"], &rows[1]["cluster_before"]), (&json!(new), &Value::Null));
    assert!(epoch(&bench, 3, &(lines + &page(&new, &least)), &["--threads", "2"]).is_empty());
}
