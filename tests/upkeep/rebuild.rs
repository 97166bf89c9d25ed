//! A rebuild replays the history of a store under another identity or format.

use super::{DAY, NOW, bench, pages, run};
use crate::workbench::{Bench, failure};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A job with another identity is refused by `run`, and `rebuild` builds a store for it that equals
/// one built epoch by epoch; the old store is kept.
#[test]
fn rebuild_obeys_another_identity() {
    let (changed, fresh) = (bench(""), bench(""));
    let identity = ["--set", "simhash.k=2"];
    for (night, (from, n)) in [(0, 40), (20, 40), (50, 30)].into_iter().enumerate() {
        for bench in [&changed, &fresh] {
            std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(from, n))
                .expect("written");
        }
        assert_eq!(run(&changed, NOW + night as i64, &[]).0, Some(0));
        assert_eq!(run(&fresh, NOW + night as i64, &identity).0, Some(0));
    }
    let (code, _, err) = run(&changed, NOW, &identity);
    assert_eq!(code, Some(78));
    assert!(err.contains("simhash.k") && err.contains("rebuild"), "{err}");
    let output = changed.pagefold("rebuild", &identity);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    changed.assert_same_tables(&fresh, "rebuilt");
    assert_eq!(changed.multisets(), fresh.multisets());
    assert!(changed.at("store.before-rebuild/FORMAT").exists());
    assert!(run(&changed, NOW, &identity).1.contains("nothing due"));
}

/// `rebuild` read all inputs again before it found a `run.json` of somebody else where its results
/// go.
#[test]
fn rebuild_looks_at_the_place_of_results_first() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 3)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    std::fs::create_dir(bench.at("theirs")).expect("made");
    std::fs::write(bench.at("theirs/run.json"), "{\"runs\":[1]}").expect("written");
    for export in ["always", "on-demand"] {
        let export = format!("output.export={export}");
        let (code, err) = rebuild(&bench, &["--set", "output.dir=theirs", "--set", &export]);
        assert!(code == Some(73) && err.contains("run.json"), "{err}");
        assert!(!bench.at("store.rebuild").exists() && !bench.at("store.before-rebuild").exists());
    }
}

/// The content of each live page.
fn contents(bench: &Bench) -> BTreeMap<String, String> {
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    bench.lines("members").iter().map(|row| (text(&row["url"]), text(&row["content"]))).collect()
}

/// Another identity, under which the same pages have the same contents.
const IDENTITY: [&str; 2] = ["--set", "features.features_min=7"];

/// Rebuilds under [`IDENTITY`] with more arguments, and returns exit code and stderr.
fn rebuild(bench: &Bench, more: &[&str]) -> (Option<i32>, String) {
    let output = bench.pagefold("rebuild", &[&IDENTITY, more].concat());
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

/// A rebuild replayed only epochs that read, with all lines of their lists, and no rollbacks: pages
/// came back that had expired or that a rollback had undone, and a copy that had not been read
/// decided. The pages and the epoch are the same afterwards, and nothing is due.
#[test]
fn rebuild_takes_again_what_was_taken() {
    let bench = bench("[pages]\nretain_days = 30\n");
    let at = |name: &str| bench.at(&format!("in/{name}"));
    let dated = |date: u64, from: u64| {
        pages(from, 1).replace("\"text\"", &format!("\"date\":{date},\"text\""))
    };
    std::fs::write(at("1.jsonl"), dated(2_000_000, 7).replace("/7\"", "/p\"") + &pages(0, 2))
        .expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    // The copy is dated later than what comes with it.
    std::fs::copy(at("1.jsonl"), at("9.jsonl")).expect("copied");
    std::fs::write(at("2.jsonl"), dated(1_000_000, 8).replace("/8\"", "/p\"")).expect("written");
    assert_eq!(run(&bench, NOW + DAY, &[]).0, Some(0));
    // These are undone and stay consumed.
    std::fs::write(at("3.jsonl"), pages(50, 3)).expect("written");
    assert_eq!(run(&bench, NOW + 2 * DAY, &[]).0, Some(0));
    assert!(bench.pagefold("rollback", &["2"]).status.success());
    // All pages expire. Then one of them is seen, which does not bring it back.
    assert_eq!(run(&bench, NOW + 35 * DAY, &[]).0, Some(0));
    let http = "HTTP/1.1 304 Not Modified\r\n\r\n";
    let archive = format!(
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/0\r\nContent-Type: \
         application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    );
    std::fs::write(at("4.warc"), archive).expect("written");
    std::fs::write(at("5.jsonl"), dated(1_000_000, 9)).expect("written");
    assert_eq!(run(&bench, NOW + 41 * DAY, &[]).0, Some(0));
    let (before, epoch) = (contents(&bench), bench.head().manifest.epoch);
    assert_eq!((before.len(), epoch), (1, 6));
    assert_eq!(rebuild(&bench, &[]).0, Some(0));
    assert_eq!((contents(&bench), bench.head().manifest.epoch), (before, epoch));
    assert!(run(&bench, NOW + 41 * DAY, &IDENTITY).1.contains("nothing due"));
    // In the middle of the history it was so, too.
    assert!(bench.pagefold("rollback", &[&IDENTITY[..], &["2"]].concat()).status.success());
    assert_eq!(bench.lines("members").len(), 3);
}

/// A rebuild with the fields of one job rejected all rows of a source that has others, after it had
/// read what came before, and advised fields that the first source lacks. It refuses before it
/// reads, unless the job has the fields of both.
#[test]
fn a_rebuild_refuses_the_fields_of_another_source() {
    let bench = bench("");
    std::fs::create_dir(bench.at("b")).expect("made");
    let both = pages(0, 3).replace('{', "{\"body\":\"words that each of its pages has\",");
    std::fs::write(bench.at("in/1.jsonl"), both).expect("written");
    std::fs::write(bench.at("b/1.jsonl"), pages(5, 4).replace("\"text\"", "\"body\""))
        .expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    let body = ["--set", "read.fields.text=\"body\""];
    let b = [&body[..], &["--set", "read.source=\"b\"", "--set", "read.inputs=[\"b\"]"]].concat();
    let (code, _, err) = run(&bench, NOW, &b);
    assert_eq!(code, Some(0), "{err}");
    for (job, other) in [(&[][..], "epoch 2 read rows of the source `b`"), (&b[..], "epoch 1 read")]
    {
        let (code, err) = rebuild(&bench, job);
        assert!(
            code == Some(78) && err.contains(other) && err.contains("--allow rejects"),
            "{err}"
        );
        assert!(!bench.at("store.rebuild").exists());
    }
    let (code, err) = rebuild(&bench, &[&body[..], &["--allow", "rejects"]].concat());
    assert_eq!((code, contents(&bench).len()), (Some(0), 7), "{err}");
}

/// An interrupted rebuild continued after a number of epochs without comparing them: after a
/// rollback of the store it brought pages back. Now it continues if the replayed epochs must still
/// be replayed, and begins again if not. Epochs keep their number even if the last ones were
/// undone.
#[test]
fn rebuild_goes_on_only_from_the_same() {
    let bench = bench("");
    for night in 1..=4 {
        let bad = if night == 3 { "{broken\n".repeat(6) } else { String::new() };
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 10, 5) + &bad)
            .expect("written");
        assert_eq!(run(&bench, NOW, &["--allow", "rejects"]).0, Some(0));
    }
    let replayed = |err: &str| -> Vec<u64> {
        let lines =
            err.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines
            .filter(|line| line["message"] == "replaying")
            .filter_map(|line| line["epoch"].as_u64())
            .collect()
    };
    let (code, err) = rebuild(&bench, &[]);
    assert_eq!((code, replayed(&err)), (Some(65), vec![1, 2, 3]), "{err}");
    let (code, err) = rebuild(&bench, &[]);
    assert_eq!((code, replayed(&err)), (Some(65), vec![3]), "{err}");
    assert!(bench.pagefold("rollback", &["1"]).status.success());
    let before = contents(&bench);
    let (code, err) = rebuild(&bench, &[]);
    assert_eq!((code, replayed(&err)), (Some(0), vec![1]), "{err}");
    assert_eq!(
        (contents(&bench), bench.head().manifest.epoch, before.len()),
        (before.clone(), 5, 5)
    );
    assert!(run(&bench, NOW, &IDENTITY).1.contains("nothing due"));
    assert!(bench.pagefold("verify", &[&IDENTITY[..], &["--deep"]].concat()).status.success());
    let kept: String = rebuild(&bench, &[]).1;
    assert!(kept.contains("store.before-rebuild"), "{kept}");
}

/// A store of an older format could only be deleted. Every command but `rebuild` refuses it and
/// names `rebuild`; that reads its lists, even if the store is a link, which stays.
#[test]
fn rebuild_is_the_way_up_from_older_formats() {
    [2, 3, 4].into_iter().for_each(from_format);
}

/// Formats 3 and 4 had other segments and rows, and format 2 said less of what epochs took.
fn from_format(older: u32) {
    let bench = bench("");
    for night in 1..=2 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 10, 5))
            .expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    let before = contents(&bench);
    let store = bench.at("store");
    std::fs::create_dir(bench.at("disk")).expect("made");
    std::fs::rename(&store, bench.at("disk/real")).expect("renamed");
    std::os::unix::fs::symlink(bench.at("disk/real"), &store).expect("linked");
    let mut format: serde_json::Value =
        json(&std::fs::read(store.join("FORMAT")).expect("readable"));
    format["format"] = older.into();
    std::fs::write(store.join("FORMAT"), format.to_string()).expect("written");
    for version in workers::store::manifest::versions(&store).expect("listed") {
        let path = workers::store::manifest::path(&store, version);
        let mut manifest = json(&std::fs::read(&path).expect("readable"))["manifest"].take();
        manifest["format"] = older.into();
        let consumed = manifest["consumed"].as_array_mut().expect("a list");
        for consumed in consumed.iter_mut().filter(|_| older == 2) {
            let consumed = consumed.as_object_mut().expect("an object");
            for key in ["read", "barren", "retention", "gone_min"] {
                assert!(consumed.remove(key).is_some(), "{key}");
            }
            let list = |digest: &str| store.join(format!("data/consumed/{digest}.jsonl"));
            let text =
                std::fs::read_to_string(list(consumed["file"]["digest"].as_str().expect("text")));
            let mut lines = String::new();
            for line in text.expect("readable").lines() {
                let mut line = json(line.as_bytes());
                let of = line.as_object_mut().expect("an object");
                assert!(of.remove("taken").is_some() && of.remove("reading").is_some());
                writeln!(lines, "{line}").expect("a string");
            }
            let digest = workers::store::digest::of_bytes(lines.as_bytes());
            std::fs::write(list(&digest), &lines).expect("written");
            (consumed["file"]["digest"], consumed["file"]["bytes"]) =
                (digest.into(), lines.len().into());
        }
        let body = manifest.to_string();
        let digest = workers::store::digest::of_bytes(body.as_bytes());
        std::fs::write(&path, format!("{{\"digest\":\"{digest}\",\"manifest\":{body}}}"))
            .expect("written");
    }
    for name in ["run", "export", "verify", "status", "gc"] {
        let output = bench.pagefold(name, &[]);
        let err = failure(&output.stderr);
        assert!(
            output.status.code() == Some(78) && err.contains("`pagefold rebuild job.toml`"),
            "{name}: {err}"
        );
    }
    let output = bench.pagefold("rebuild", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(contents(&bench), before);
    assert!(store.is_symlink() && bench.at("disk/real.before-rebuild/FORMAT").exists());
    assert!(run(&bench, NOW, &[]).1.contains("nothing due"));
}

fn json(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).expect("JSON")
}
