use crate::texts::text;
use crate::workbench::{Bench, number, skip};
use crate::world::{CONFIRM, FAMILIES, GONE_DAYS, VARIANTS, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use workers::id::Id;
use workers::store::runs::Table;
use workers::tables::{GoneRow, SuccessorRow};

fn word(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap_or_default().to_owned()
}

/// Where pages that are gone lead to, by their URL.
fn dead_links(bench: &Bench) -> BTreeMap<String, String> {
    let rows = bench.lines("redirects").into_iter().filter(|row| row["relation"] == "gone");
    rows.map(|row| (word(&row, "url"), word(&row, "representative"))).collect()
}

/// A live page: its content, its cluster, and who represents it.
type Member = (String, String, String);

/// The content in which a content lives on, itself while it is live, perhaps none, and when the
/// last page went whose link leads to it.
type Successor = (String, i64);

/// The successor of a content that has none.
fn none() -> String {
    Id::NONE.to_string()
}

/// The similarity of pairs of contents, in both directions.
type Pairs = BTreeMap<(String, String), u64>;

/// The accepted pairs that `bench` exports and `is_meant` takes.
fn accepted(bench: &Bench, is_meant: impl Fn(&Value) -> bool) -> Pairs {
    let mut pairs = BTreeMap::new();
    for row in bench.lines("pairs").iter().filter(|row| row["accepted"] == true && is_meant(row)) {
        let similarity = (row["similarity"].as_f64().expect("a number") * 10_000.0).round() as u64;
        let (a, b) = (word(row, "a"), word(row, "b"));
        pairs.insert((a.clone(), b.clone()), similarity);
        pairs.insert((b, a), similarity);
    }
    pairs
}

/// What verdicts with these settings say of all texts of a world that share a key, by a store that
/// has a page of each.
fn all_texts(settings: &[String]) -> Pairs {
    let bench = Bench::new(Path::new("in"), CONFIRM);
    let pages: Vec<(String, Option<String>)> = (0..FAMILIES)
        .flat_map(|family| (0..VARIANTS).map(move |variant| (family, variant)))
        .map(|(family, variant)| {
            (format!("http://h.example/{family}/{variant}"), Some(text(family, variant)))
        })
        .collect();
    let pages: Vec<(&str, Option<String>)> =
        pages.iter().map(|(url, text)| (&**url, text.clone())).collect();
    deliver(&bench, "1.jsonl", &pages);
    bench.run_well(&settings.iter().flat_map(|set| ["--set", set]).collect::<Vec<&str>>());
    accepted(&bench, |row| row["signature"] != "simhash")
}

/// What the rule says of a history, from what each epoch exports.
#[derive(Clone, Default)]
struct Model {
    members: BTreeMap<String, Member>,
    /// The accepted pairs of live contents.
    pairs: Pairs,
    successors: BTreeMap<String, Successor>,
}

impl Model {
    fn contents(&self) -> BTreeSet<&String> {
        self.members.values().map(|(content, ..)| content).collect()
    }

    /// The model after an epoch at `time`, of which `bench` has the export. `gone` are the pages
    /// that are gone then, and `all` the accepted pairs of all texts.
    fn after(&self, bench: &Bench, time: i64, gone: &[GoneRow], all: &Pairs) -> Model {
        let of =
            |row: &Value| (word(row, "content"), word(row, "cluster"), word(row, "representative"));
        let members: BTreeMap<String, Member> =
            bench.lines("members").iter().map(|row| (word(row, "url"), of(row))).collect();
        let pairs = accepted(bench, |_| true);
        let mut model = Model { members, pairs, successors: self.successors.clone() };
        let (before, live): (BTreeSet<String>, BTreeSet<String>) = (
            self.contents().into_iter().cloned().collect(),
            model.contents().into_iter().cloned().collect(),
        );
        let gone_min = time - GONE_DAYS * 86_400;
        model.successors.retain(|_, (_, since)| *since >= gone_min);
        for (content, (successor, _)) in &mut model.successors {
            if live.contains(content) {
                successor.clone_from(content);
            }
        }
        let went: BTreeSet<String> = gone
            .iter()
            .filter(|row| row.last_time == time && !row.content.is_none())
            .map(|row| row.content.to_string())
            .collect();
        let clusters: BTreeMap<&String, &String> =
            self.members.values().map(|(content, cluster, _)| (content, cluster)).collect();
        let mut noted: Vec<(String, i64)> =
            went.intersection(&live).map(|content| (content.clone(), time)).collect();
        for died in before.difference(&live) {
            let remembered = model.successors.get(died).map(|(_, since)| *since);
            let Some(since) = went.contains(died).then_some(time).or(remembered) else { continue };
            let pair = |other: &String| (died.clone(), other.clone());
            let in_cluster =
                before.intersection(&live).filter(|other| clusters[other] == clusters[died]);
            let of_cluster = in_cluster.map(|other| (self.pairs.get(&pair(other)), other));
            let new = live.difference(&before);
            let new = new.filter_map(|other| Some((Some(all.get(&pair(other))?), other)));
            // The most similar, of equal ones the least; those without a pair come last.
            let best = of_cluster
                .chain(new)
                .min_by_key(|(similarity, other)| (std::cmp::Reverse(*similarity), *other));
            let best = best.map(|(_, best)| best.clone());
            noted.extend(best.iter().map(|best| (best.clone(), since)));
            model.successors.insert(died.clone(), (best.unwrap_or_else(none), since));
        }
        for (content, since) in noted {
            let before = model.successors.get(&content).map_or(since, |(_, before)| *before);
            model.successors.insert(content.clone(), (content, since.max(before)));
        }
        model
    }

    /// The live page that a page leads to whose last text was `content`.
    fn target(&self, content: &str) -> Option<String> {
        let mut end = content;
        while let Some((next, _)) = self.successors.get(end)
            && next != end
            && *next != none()
        {
            end = next;
        }
        self.members.values().find(|(content, ..)| content == end).map(|(.., shown)| shown.clone())
    }
}

fn table<R: workers::store::table::Row>(bench: &Bench) -> Table<R> {
    let head = bench.head().manifest;
    Table::open(&bench.at("store/data").join(R::NAME), head.tables.get(R::NAME)).expect("mapped")
}

/// A dead link followed through ten random histories always ends at a live page: the page that
/// represents today the text that it had or, if that died, the one in which a model that reads
/// nothing but the exports of each epoch says that it lives on. It has a target exactly if the
/// model has one, and the store has the rows of the model.
///
/// Histories are those of `epochs.rs`, with changed decisions and radii, rollbacks, expiry, merged
/// runs and other numbers of workers, but without rebuilds, which decide all epochs again by the
/// settings of today. `PAGEFOLD_HISTORIES` is their number.
#[test]
fn dead_links_end_at_live_pages() {
    let (mut seen, mut followed, mut renewed, mut lost) = (0, 0, 0, 0);
    let mut decided: BTreeMap<Vec<String>, Pairs> = BTreeMap::new();
    for history in 0..number("PAGEFOLD_HISTORIES", 10) {
        let mut world = World::new(4 * history + 1);
        let (mut model, mut models) = (Model::default(), BTreeMap::from([(0, Model::default())]));
        let mut epoch = 0;
        for step in 1..=9 {
            let kind = world.step();
            let head = world.bench.head().manifest;
            println!("step {step}: {kind}, epoch {}, {} pages", head.epoch, world.pages());
            assert!(!kind.contains("rebuild"), "inputs are not kept");
            if let Some(restored) = world.restored {
                model = models[&restored].clone();
            } else if head.epoch != epoch {
                assert_eq!(head.epoch, epoch + 1, "one epoch a step");
                let gone: Vec<GoneRow> = table(&world.bench).portions(1000).flatten().collect();
                let settings = world.verdict_settings();
                let all = decided.entry(settings).or_insert_with_key(|set| all_texts(set));
                let after = model.after(&world.bench, head.logical_time, &gone, all);
                let before = model.contents();
                let is_new = |(content, (next, at)): (&String, &Successor)| {
                    *at == head.logical_time && content != next && !before.contains(next)
                };
                renewed += after.successors.iter().filter(|one| is_new(*one)).count();
                model = after;
            }
            epoch = head.epoch;
            models.insert(epoch, model.clone());

            let gone: Vec<GoneRow> = table(&world.bench).portions(1000).flatten().collect();
            let expected: BTreeMap<String, String> = gone
                .iter()
                .filter_map(|row| {
                    let url = String::from_utf8(row.url.to_vec()).expect("UTF-8");
                    Some((url, model.target(&row.content.to_string())?))
                })
                .collect();
            let found = dead_links(&world.bench);
            assert_eq!(found, expected, "seed {}, step {step}, {kind}", 4 * history + 1);
            for (url, target) in &found {
                assert!(!model.members.contains_key(url), "{url} is live");
                assert_eq!(model.members[target].2, *target, "{target} represents its cluster");
            }
            let stored: Vec<SuccessorRow> = table(&world.bench).portions(1000).flatten().collect();
            let stored: BTreeMap<String, Successor> = stored
                .iter()
                .map(|row| (row.content.to_string(), (row.successor.to_string(), row.last_time)))
                .collect();
            assert_eq!(stored, model.successors, "seed {}, step {step}, {kind}", 4 * history + 1);
            assert_eq!(
                world.bench.summary()["dead_links"].as_u64().unwrap_or(0),
                found.len() as u64
            );
            seen += found.len();
            followed += gone
                .iter()
                .filter(|row| {
                    let content = row.content.to_string();
                    model.successors.get(&content).is_some_and(|(next, _)| *next != content)
                })
                .count();
            lost += gone.len() - found.len();
        }
        world.assert_sound();
    }
    println!(
        "{seen} dead links, {followed} of texts with a successor, {renewed} times a new text, \
         {lost} without a target"
    );
    assert!(seen > 500 && followed > 50 && renewed > 0 && lost > 0, "there is something to follow");
}

fn deliver(bench: &Bench, name: &str, pages: &[(&str, Option<String>)]) {
    let line = |(url, text): &(&str, Option<String>)| match text {
        Some(text) => format!("{}\n", json!({ "url": url, "text": text })),
        None => format!("{}\n", json!({ "url": url, "deleted": true })),
    };
    std::fs::create_dir_all(bench.at("in")).expect("made");
    std::fs::write(bench.at("in").join(name), pages.iter().map(line).collect::<String>())
        .expect("written");
}

/// A dead link followed its text only while another page had it, and was lost with it. It leads to
/// the live page of the cluster from one death to the next, is there again when a text is back, and
/// is forgotten in time. A text that says too little leads nowhere. The maps for nginx and
/// for a search engine have what the page of recipes says.
#[test]
fn a_dead_link_follows_its_text() {
    let bench =
        Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n[pages]\ngone_days = 30\n");
    let [a, b, c, d] =
        ["a?x=$1\\", "b", "c?y=$2\\", "d"].map(|page| format!("http://h.example/{page}"));
    let (first, near) = (text(3, 0), text(3, 1));
    let [one, two] = ["http://e.example/1", "http://e.example/2"];
    let little = Some("Not found".to_owned());
    let day = |day: i64| (1_700_000_000 + 86_400 * day).to_string();
    let run = |number: i64, at: i64, pages: &[(&str, Option<String>)]| {
        deliver(&bench, &format!("{number}.jsonl"), pages);
        bench.run_well(&["--now", &day(at)]);
        dead_links(&bench)
    };
    let links = |links: &[(&String, &String)]| {
        links.iter().map(|(a, b)| ((*a).clone(), (*b).clone())).collect()
    };
    let have = [(&*a, Some(first.clone())), (&*b, Some(first)), (&*c, Some(near.clone()))];
    run(1, 0, &[&have[..], &[(one, little.clone()), (two, little)]].concat());
    let found = run(2, 1, &[(&*a, None), (one, None)]);
    let shown = |url: &str| {
        word(
            bench.lines("members").iter().find(|row| row["url"] == url).expect("live"),
            "representative",
        )
    };
    assert_eq!(found, BTreeMap::from([(a.clone(), shown(&b))]), "b has its text");
    assert_eq!(
        run(3, 2, &[(&*b, None)]),
        links(&[(&a, &c), (&b, &c)]),
        "c is near, and was in its cluster"
    );
    let explained = bench.pagefold("explain", &[&a, "--json"]).stdout;
    let explained: Value = serde_json::from_slice(&explained).expect("JSON");
    assert_eq!(
        (&explained["text"]["pages"], &explained["cluster"]["representative"]),
        (&json!(0), &json!(c))
    );
    // In the map of nginx a backslash is two, or the last one would hide the end of its URL.
    let from = "http://h.example/a?x=$1\\\\";
    let into = "http://h.example/c?y=%242\\\\";
    maps(&bench, "select '\"'", &format!("\"{from}\" \"{into}\";\n\"{b}\" \"{into}\";\n"));
    let folds = |url: &str, into: Option<&str>| {
        let (update, doc) =
            (json!({ "update": { "_id": url } }), json!({ "doc": { "folds_into": into } }));
        format!("{update}\n{doc}\n")
    };
    let live = |url: &str| folds(url, Some(shown(url)).filter(|into| into != url).as_deref());
    let bulk = [live(two), folds(&a, Some(&c)), folds(&b, Some(&c)), live(&c)];
    maps(&bench, "with map", &bulk.concat());

    assert_eq!(
        run(4, 3, &[(&*c, None), (&*d, Some(text(9, 0)))]),
        links(&[]),
        "nothing of the cluster is left"
    );
    let back = run(5, 4, &[(&*c, Some(near))]);
    assert_eq!(back, links(&[(&a, &c), (&b, &c)]), "the text of c is back");
    assert_eq!(table::<SuccessorRow>(&bench).portions(10).flatten().count(), 3);
    let sound = bench.pagefold("verify", &["--deep"]);
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stdout));
    let rows = bench.lines("redirects");
    assert!(
        rows.iter().all(|row| (&row["reason"], &row["similarity"]) == (&json!(""), &Value::Null)),
        "{rows:?}"
    );
    assert_eq!(run(6, 60, &[(&*d, Some(text(9, 1)))]), links(&[]), "forgotten");
    assert_eq!(table::<SuccessorRow>(&bench).portions(10).flatten().count(), 0);
}

/// A dead link was lost when its target was edited, and when its page moved and was edited in one
/// epoch. It leads to the new text while that is near the old one. Pages that are edited and that
/// no link leads to leave nothing in the store.
#[test]
fn a_dead_link_follows_edits() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    let [a, b, moved, new, alone] =
        ["a", "b", "moved", "new", "alone"].map(|page| format!("http://h.example/{page}"));
    let run = |epoch: u64, pages: &[(&str, Option<String>)]| {
        deliver(&bench, &format!("{epoch}.jsonl"), pages);
        bench.run_well(&[]);
        let rows = table::<SuccessorRow>(&bench).portions(10).flatten().count();
        (dead_links(&bench), rows)
    };
    let links = |links: &[(&String, &String)]| -> BTreeMap<String, String> {
        links.iter().map(|(a, b)| ((*a).clone(), (*b).clone())).collect()
    };
    let first = |page| (page, Some(text(3, 0)));
    run(1, &[first(&*a), first(&*b), (&*moved, Some(text(5, 0))), (&*alone, Some(text(7, 0)))]);
    assert_eq!(run(2, &[(&*a, None)]), (links(&[(&a, &b)]), 1), "b has its text");
    let edited = [(&*b, Some(text(3, 1))), (&*alone, Some(text(7, 1)))];
    assert_eq!(run(3, &edited), (links(&[(&a, &b)]), 2), "b was edited");
    assert_eq!(run(4, &[(&*b, Some(text(3, 2)))]), (links(&[(&a, &b)]), 3), "and again");
    let found = run(5, &[(&*moved, None), (&*new, Some(text(5, 1)))]);
    assert_eq!(found, (links(&[(&a, &b), (&moved, &new)]), 5), "it moved and was edited");
    let found = run(6, &[(&*b, Some(text(9, 0)))]);
    assert_eq!(found, (links(&[(&moved, &new)]), 5), "b has another article");
    let sound = bench.pagefold("verify", &["--deep"]);
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stdout));
}

/// A link was lost if its text was away for one epoch, came back at another page, and was edited
/// there. The rows of a page that is edited again and again went on when the link was forgotten.
#[test]
fn a_dead_link_follows_a_text_that_came_back() {
    let bench =
        Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n[pages]\ngone_days = 30\n");
    let [a, b] = ["a", "b"].map(|page| format!("http://h.example/{page}"));
    let run = |day: i64, pages: &[(&str, Option<String>)]| {
        deliver(&bench, &format!("{day}.jsonl"), pages);
        bench.run_well(&["--now", &(1_700_000_000 + 86_400 * day).to_string()]);
        let rows = table::<SuccessorRow>(&bench).portions(10).flatten().count();
        (dead_links(&bench), rows)
    };
    let link = BTreeMap::from([(a.clone(), b.clone())]);
    run(0, &[(&*a, Some(text(3, 0)))]);
    assert_eq!(run(1, &[(&*a, None)]), (BTreeMap::new(), 1), "nothing is near");
    assert_eq!(run(2, &[(&*b, Some(text(3, 0)))]), (link.clone(), 1), "the text is back");
    for edition in 1..4 {
        let found = run(2 + edition, &[(&*b, Some(text(3, edition as u64)))]);
        assert_eq!(found, (link.clone(), 1 + edition as usize), "edition {edition}");
    }
    assert!(bench.pagefold("verify", &["--deep"]).status.success());
    for edition in 4..6 {
        let found = run(28 + edition, &[(&*b, Some(text(3, edition as u64)))]);
        assert_eq!(found, (BTreeMap::new(), 0), "forgotten, edition {edition}");
    }
}

/// Workers that owned no text before the epoch found no new text for one that died, though they
/// owned its keys.
#[test]
fn many_workers_find_few_texts() {
    for family in 0..6 {
        let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
        let run = |epoch: u64, pages: &[(&str, Option<String>)]| {
            deliver(&bench, &format!("{epoch}.jsonl"), pages);
            bench.run_well(&["--threads", "16"]);
        };
        run(1, &[("http://h.example/a", Some(text(family, 0)))]);
        run(2, &[("http://h.example/a", None), ("http://h.example/b", Some(text(family, 1)))]);
        let links = BTreeMap::from([("http://h.example/a".into(), "http://h.example/b".into())]);
        assert_eq!(dead_links(&bench), links, "family {family}");
    }
}

/// A new text that says too little was the successor of a text that died, so that its link led
/// nowhere, though another text near it lives on.
#[test]
fn a_text_that_says_too_little_takes_no_link() {
    let long = format!("{} and", text(3, 0));
    let short = long.trim_end_matches(" and");
    // Two letters for each word.
    let letters_min = 2 * long.split_whitespace().count();
    let bench = Bench::new(
        Path::new("in"),
        &format!("[confirm]\nfacts = \"off\"\n[clusters]\nletters_min = {letters_min}\n"),
    );
    let [a, b, c] = ["a", "b", "c"].map(|page| format!("http://h.example/{page}"));
    let near = Some(format!("{} and", text(3, 1)));
    deliver(&bench, "1.jsonl", &[(&*a, Some(long.clone())), (&*b, near)]);
    bench.run_well(&[]);
    deliver(&bench, "2.jsonl", &[(&*a, None), (&*c, Some(short.to_owned()))]);
    bench.run_well(&[]);
    assert_eq!(dead_links(&bench), BTreeMap::from([(a, b)]));
}

/// An article that moves and is edited in the same night led nowhere, although the crawl met the
/// redirect. A link follows redirects, one behind the other, to a live page. Its own text on a live
/// page comes first. A front page is no target, nor is a page that is gone.
#[test]
fn a_dead_link_follows_redirects() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let url = |page: &str| format!("http://h.example/{page}");
    let run = |night: u32, answers: &[(&str, String)]| {
        let records: String = answers
            .iter()
            .map(|(page, http)| {
                format!(
                    "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {}\r\n\
                     WARC-Date: 2024-01-0{night}T00:00:00Z\r\nContent-Type: application/http\r\n\
                     Content-Length: {}\r\n\r\n{http}\r\n\r\n",
                    url(page),
                    http.len()
                )
            })
            .collect();
        std::fs::write(bench.at(&format!("in/{night}.warc")), records).expect("written");
        bench.run_well(&[]);
        bench
            .lines("redirects")
            .iter()
            .filter(|row| row["relation"] == "gone")
            .map(|row| {
                let path = |name| word(row, name).replace("http://h.example/", "");
                (path("url"), path("representative"), word(row, "reason"))
            })
            .collect::<BTreeSet<_>>()
    };
    let page = |n| format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{}", text(n, 0));
    let to = |location: &str| format!("HTTP/1.1 301 Moved\r\nLocation: {location}\r\n\r\n");
    let missing = "HTTP/1.1 404 Not Found\r\n\r\n".to_owned();
    let rows = |rows: &[(&str, &str, &str)]| {
        let own = |(a, b, c): &(&str, &str, &str)| ((*a).into(), (*b).into(), (*c).into());
        rows.iter().map(own).collect::<BTreeSet<(String, String, String)>>()
    };
    let first = [("moved", 1), ("front", 2), ("copied", 3), ("mirror", 3), ("short", 4)];
    assert!(run(1, &first.map(|(at, n)| (at, page(n)))).is_empty());
    let second = [
        ("moved", to("step")),
        ("step", to("https://h.example/step")),
        ("front", to("/")),
        ("copied", to("new")),
        ("short", to("/gone?x=1")),
        ("never", to("new")),
    ];
    let secure = ("new", page(7));
    let found = run(2, &[&second[..], &[secure]].concat());
    assert_eq!(
        found,
        rows(&[("copied", "mirror", "")]),
        "the redirect of `moved` leads nowhere yet"
    );
    let found = run(3, &[("step", to("new")), ("gone?x=1", to("new"))]);
    let all = rows(&[
        ("copied", "mirror", ""),
        ("moved", "new", "redirect"),
        ("short", "new", "redirect"),
    ]);
    assert_eq!(found, all);
    let explained = bench.pagefold("explain", &[&url("moved"), "--json"]).stdout;
    let explained: Value = serde_json::from_slice(&explained).expect("JSON");
    let new = json!(url("new"));
    assert_eq!(
        (&explained["gone"]["moved_to"], &explained["cluster"]["representative"]),
        (&new, &new)
    );
    let found = run(4, &[("mirror", missing.clone())]);
    assert!(found.contains(&("copied".into(), "new".into(), "redirect".into())), "{found:?}");
    assert!(run(5, &[("new", missing)]).is_empty(), "a page that is gone is no target");
    assert!(bench.pagefold("verify", &["--deep"]).status.success());
}

/// Runs the SQL of the page of recipes that writes a map of where pages lead to, and begins so.
fn maps(bench: &Bench, begins: &str, expected: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/export/RECIPES.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let sql = page.split("```sql\n").find(|block| block.starts_with(begins)).expect("the recipe");
    let script = r#"
import json, sqlite3, sys
base = sqlite3.connect(":memory:")
for table, names in [("redirects", "url representative relation"), ("members", "url representative is_representative")]:
    names = names.split()
    base.execute(f"create table {table} ({','.join(names)})")
    rows = [json.loads(line) for line in open(f"out/{table}.jsonl")]
    base.executemany(f"insert into {table} values (?,?,?)", [[row[name] for name in names] for row in rows])
for row in base.execute(sys.argv[1]):
    print(row[0])
"#;
    let sql = sql.split("```").next().expect("an end");
    let python = std::process::Command::new("python3")
        .args(["-c", script, sql])
        .current_dir(bench.at(""))
        .output();
    let Ok(output) = python else { return skip("python3 with sqlite3") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
