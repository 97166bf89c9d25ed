//! Guards refuse an epoch that takes or folds too much, until it is allowed.

use super::{DAY, NOW, bench, pages, run};
use crate::crash::scene::Mount;
use crate::workbench::failure;
use std::fmt::Write as _;

/// A complete snapshot that lacks many known pages stops before the commit, reports that to people
/// and scripts, and passes with `--allow`. The next run plans anew, so that late files are read and
/// the refusal is not repeated.
#[test]
fn a_snapshot_that_lacks_much_is_refused() {
    let bench = bench("");
    let complete = ["--set", "read.complete=true", "--json"];
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 2000)).expect("written");
    assert_eq!(run(&bench, NOW, &complete).0, Some(0));
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 1000)).expect("written");
    let (code, out, err) = run(&bench, NOW + DAY, &complete);
    assert_eq!(code, Some(65), "{err}");
    assert!(
        err.contains("lacks 1,000 of 2,000 known pages (50.0 %)")
            && err.contains("--allow missing"),
        "{err}"
    );
    let refused: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&refused["guard"], &refused["exit_code"]), (&"missing".into(), &65.into()));
    assert_eq!(bench.head().manifest.epoch, 1);
    // The rest of the snapshot arrives late.
    std::fs::write(bench.at("in/2.jsonl"), pages(1000, 900)).expect("written");
    assert_eq!(run(&bench, NOW + DAY, &complete).0, Some(0));
    assert_eq!((bench.head().manifest.epoch, bench.lines("members").len()), (2, 1900));
    assert_eq!(bench.summary()["counters"]["pages_missing"], 100);
    // The same bytes under other names are not a new snapshot.
    std::fs::rename(bench.at("in/2.jsonl"), bench.at("in/3.jsonl")).expect("renamed");
    assert_eq!(run(&bench, NOW + DAY, &complete).0, Some(0));
    assert_eq!(bench.head().manifest.epoch, 2);
    std::fs::remove_file(bench.at("in/1.jsonl")).expect("removed");
    assert_eq!(run(&bench, NOW + DAY, &complete).0, Some(65));
    let (code, out, _) =
        run(&bench, NOW + DAY, &["--set", "read.complete=true", "--allow", "missing"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("gone       1,000    pages: 1,000 lacked by the snapshot"), "{out}");
    assert_eq!((bench.head().manifest.epoch, bench.lines("members").len()), (3, 900));
}

/// After a failed write a complete snapshot was one empty file, and all pages were removed.
#[test]
fn a_snapshot_without_a_byte_is_refused() {
    let bench = bench("");
    let complete = ["--set", "read.complete=true"];
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 9)).expect("written");
    assert_eq!(run(&bench, NOW, &complete).0, Some(0));
    std::fs::write(bench.at("in/1.jsonl"), "").expect("written");
    let (code, _, err) = run(&bench, NOW + DAY, &complete);
    assert_eq!(code, Some(66), "{err}");
    assert!(err.contains("not one byte") && err.contains("all its pages would go"), "{err}");
    assert_eq!((bench.head().manifest.epoch, bench.lines("members").len()), (1, 9));
}

/// An archive that was cut to 0 bytes, or to zeros, or within its dictionary, was read as one
/// without a record, so that a complete snapshot removed its pages. An empty file of JSON lines is
/// whole, and an empty archive stops no run. That pages stay was said only in the report, which a
/// quiet run does not print.
#[test]
fn an_empty_archive_removes_nothing() {
    let complete = ["--set", "read.complete=true"];
    let dictionary = b"\x5d\x2a\x4d\x18\xff\0\0\0cut";
    for (name, bytes, left) in [
        ("2.warc.gz", &b""[..], 9),
        ("2.jsonl.zst", b"", 9),
        ("2.warc", &[0; 9000], 9),
        ("2.warc.zst", dictionary, 9),
        ("2.jsonl", b"", 5),
    ] {
        let bench = bench("");
        std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
        std::fs::write(bench.at("in/2.jsonl"), pages(5, 4)).expect("written");
        assert_eq!(run(&bench, NOW, &complete).0, Some(0));
        std::fs::remove_file(bench.at("in/2.jsonl")).expect("removed");
        std::fs::write(bench.at("in").join(name), bytes).expect("written");
        let now = (NOW + DAY).to_string();
        let output = bench.run(&[&["--now", now.as_str()], &complete[..]].concat());
        let [out, err] =
            [output.stdout, output.stderr].map(|said| String::from_utf8(said).expect("UTF-8"));
        assert!(output.status.success(), "{name}: {err}");
        assert_eq!(bench.lines("members").len(), left, "{name}");
        for said in [out, err] {
            assert_eq!(
                said.contains("4 pages that the snapshot lacks"),
                left == 9,
                "{name}: {said}"
            );
        }
    }
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    std::fs::write(bench.at("in/2.warc.gz"), "").expect("written");
    let (code, out, err) = run(&bench, NOW + DAY, &[]);
    assert!(code == Some(0) && out.contains("empty_file 1"), "{out}{err}");
}

/// Half of the pages are lacking, half of these have expired besides. The guard saw a quarter.
#[test]
fn the_guard_sees_expired_pages_that_a_snapshot_lacks() {
    let bench = bench("[pages]\nretain_days = 15\n");
    let complete = ["--set", "read.complete=true"];
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 2000)).expect("written");
    assert_eq!(run(&bench, NOW, &complete).0, Some(0));
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 1500)).expect("written");
    assert_eq!(run(&bench, NOW + 10 * DAY, &[]).0, Some(0));
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 1000)).expect("written");
    let (code, _, err) = run(&bench, NOW + 16 * DAY, &complete);
    assert_eq!(code, Some(65), "{err}");
    assert!(err.contains("of 2,000 known pages (50.0 %)"), "{err}");
}

/// A jump of the share of folded pages stops before the commit, and passes with `--allow`.
#[test]
fn a_jump_of_folds_is_refused() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 1500)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    // An error page under every address.
    let broken = pages(0, 1500).lines().enumerate().fold(String::new(), |mut lines, (page, _)| {
        let text = "we are sorry but this page cannot be shown at the moment please try again";
        writeln!(lines, "{{\"url\":\"http://a.example/{page}\",\"text\":\"{text}\"}}")
            .expect("a string");
        lines
    });
    std::fs::write(bench.at("in/2.jsonl"), broken).expect("written");
    let (code, _, err) = run(&bench, NOW, &[]);
    assert_eq!(code, Some(65), "{err}");
    assert!(err.contains("from 0.0 % to 99.9 %") && err.contains("--allow folds"), "{err}");
    assert_eq!(run(&bench, NOW, &["--allow", "folds", "--allow", "source_folded"]).0, Some(0));
    assert_eq!(bench.lines("clusters").len(), 1);
}

/// Lines of `pages` pages of `host`, numbered from `from` on: one form, filled in otherwise on each
/// page, so that each has a text of its own and the texts are alike.
fn filled(host: &str, from: u64, pages: u64) -> String {
    let form: Vec<String> = (0..200).map(|word| format!("form{word}")).collect();
    let line = |page: u64| {
        let text =
            format!("{} slot{} {}", form[..100].join(" "), page * 7919, form[100..].join(" "));
        format!("{{\"url\":\"http://{host}/{page}\",\"text\":\"{text}\"}}\n")
    };
    (from..from + pages).map(line).collect()
}

/// A source or a host whose pages come into a few clusters at once is refused before the commit.
/// The refusal is the same from any number of workers, names the host, the largest cluster and what
/// to do, and is not repeated after it was allowed; mirrors, all of whose pages fold, are not
/// refused.
#[test]
fn a_host_that_folds_into_few_clusters_is_refused() {
    let bench = bench("[confirm]\nfacts = \"off\"\n");
    let mirror = |page: String| page.replace("a.example", "mirror.example");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 1500) + &mirror(pages(0, 1500)))
        .expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0), "the pages of a mirror fold each with its twin");
    std::fs::write(bench.at("in/2.jsonl"), filled("shop.example", 0, 1100)).expect("written");
    let refusals = ["1", "3"].map(|threads| run(&bench, NOW, &["--threads", threads]));
    for (code, _, err) in &refusals {
        assert_eq!(*code, Some(65), "{err}");
        for part in [
            "of 1,100 pages of host `shop.example`",
            "represented by http://shop.example/",
            "raise [confirm] similarity_min",
            "nothing was committed",
            "--allow source_folded, or raise [guards] source_folded_max = 0.9",
        ] {
            assert!(err.contains(part), "{part}: {err}");
        }
    }
    assert_eq!(refusals[0].2, refusals[1].2);
    assert_eq!(bench.head().manifest.epoch, 1);
    let set = ["--set", "guards.source_folded_max=1", "--threads", "2"];
    assert_eq!(run(&bench, NOW, &set).0, Some(0));
    // What was let pass is not new when the cluster grows.
    std::fs::write(bench.at("in/3.jsonl"), filled("shop.example", 1100, 50)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    assert_eq!(bench.head().manifest.epoch, 3);
}

/// A store that was not updated for long does not silently lose most of its pages at once.
#[test]
fn many_that_expire_are_refused() {
    let bench = bench("[pages]\nretain_days = 10\n");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 1500)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    let (code, _, err) = run(&bench, NOW + 99 * DAY, &[]);
    assert_eq!(code, Some(65), "{err}");
    assert!(
        err.contains("1,500 of 1,500 pages would expire at once")
            && err.contains("--allow expired"),
        "{err}"
    );
    assert_eq!(run(&bench, NOW + 99 * DAY, &["--allow", "expired"]).0, Some(0));
    assert_eq!(bench.lines("members").len(), 0);
}

/// An epoch that a guard refused and that is let pass weeks later has the time of the run that
/// commits it. By the time of the refusal the next run would expire the pages that it has just
/// taken.
#[test]
fn a_refused_epoch_counts_from_its_commit() {
    let bench = bench("[pages]\nretain_days = 10\n");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 1500)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    std::fs::write(bench.at("in/2.jsonl"), pages(1500, 100)).expect("written");
    assert_eq!(run(&bench, NOW + 20 * DAY, &[]).0, Some(65));
    let (code, report, err) = run(&bench, NOW + 99 * DAY, &["--allow", "expired"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (bench.head().manifest.logical_time, bench.lines("members").len()),
        (NOW + 99 * DAY, 100),
        "{report}"
    );
    assert_eq!(run(&bench, NOW + 99 * DAY, &[]).0, Some(0));
    assert_eq!((bench.head().manifest.epoch, bench.lines("members").len()), (2, 100));
}

/// A disk with too little space for an epoch stops the run before it begins, with the figures,
/// unless `--allow space` is given. Needs the right to mount.
#[test]
fn a_small_disk_is_refused() {
    let bench = bench("");
    let Some(_mount) =
        Mount::new(bench.at("store"), &["-t", "tmpfs", "-o", "size=200k", "pagefold-test"])
    else {
        return;
    };
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 3000)).expect("written");
    let (code, _, err) = run(&bench, NOW, &[]);
    assert_eq!(code, Some(74), "{err}");
    assert!(
        err.contains("0.2 MB are free, this epoch may need ") && err.contains("--allow space"),
        "{err}"
    );
    assert!(!bench.at("store/attempt").exists() && !bench.at("store/data").exists());
    let (code, _, err) = run(&bench, NOW, &["--allow", "space"]);
    assert_eq!(code, Some(74), "{err}");
    assert!(err.contains("No space left on device"), "{err}");
}

/// `rebuild` began on a disk without room for a second store, and failed after all that it had
/// read. It is refused before it begins, unless `--allow space` is given. Needs the right to mount.
#[test]
fn a_rebuild_needs_room_for_two_stores() {
    let bench = bench("");
    let Some(_mount) =
        Mount::new(bench.at("disk"), &["-t", "tmpfs", "-o", "size=32m", "pagefold-test"])
    else {
        return;
    };
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 200)).expect("written");
    let store = ["--set", "store=disk/store"];
    assert_eq!(run(&bench, NOW, &store).0, Some(0));
    let free = || {
        let disk = rustix::fs::statvfs(bench.at("disk")).expect("a disk");
        disk.f_bavail * disk.f_frsize
    };
    let full = bench.at("disk/full");
    std::fs::write(&full, vec![0; free() as usize - 8192]).expect("written");
    let rebuilt = |more: &[&str]| {
        let output = bench.pagefold("rebuild", &[&store[..], more].concat());
        (output.status.code(), failure(&output.stderr))
    };
    let (code, err) = rebuilt(&[]);
    assert!(code == Some(74) && err.contains("the new store may need "), "{err}");
    assert!(err.contains("--allow space") && !bench.at("disk/store.rebuild").exists(), "{err}");
    let (code, err) = rebuilt(&["--allow", "space"]);
    assert!(code == Some(74) && err.contains("No space left on device"), "{err}");
    std::fs::remove_file(&full).expect("removed");
    assert_eq!(rebuilt(&[]).0, Some(0));
    // No folder can take the place of a mounted disk, which a rebuild found out after its work.
    std::fs::rename(bench.at("disk/store"), bench.at("disk/former")).expect("renamed");
    let disk = ["--set", "store=disk", "--set", "output.dir=other"];
    assert_eq!(run(&bench, NOW, &disk).0, Some(0));
    let output = bench.pagefold("rebuild", &disk);
    assert_eq!(output.status.code(), Some(73), "{output:?}");
    assert!(failure(&output.stderr).contains("a disk is mounted here"), "{output:?}");
    assert!(!bench.at("disk.rebuild").exists());
}

/// The disk of a store was not mounted, so a run made another store of the newest input alone, and
/// its results replaced those of the whole crawl. A server took inserts into such a store. A store
/// that begins anew with all its inputs is not refused.
#[test]
fn a_store_that_is_gone_is_missed() {
    let bench = bench("[serve]\ninbox = \"inbox\"\n");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 2000)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    let results = bench.results();
    std::fs::rename(bench.at("store"), bench.at("unmounted")).expect("renamed");
    let served = bench.pagefold("serve", &["--bind", "127.0.0.1:0"]);
    assert_eq!(served.status.code(), Some(66), "{served:?}");
    let said = failure(&served.stderr);
    assert!(said.contains("out/summary.json has the results of its epoch 1"), "{said}");
    assert!(!bench.at("store").exists());
    let all = std::fs::read(bench.at("in/1.jsonl")).expect("there");
    std::fs::write(bench.at("in/1.jsonl"), pages(2000, 100)).expect("written");
    let (code, _, err) = run(&bench, NOW + DAY, &[]);
    assert_eq!(code, Some(65), "{err}");
    for part in ["2,000 pages of epoch 1", "new store has 100", "mount it", "--allow store"] {
        assert!(err.contains(part), "{part} in {err}");
    }
    assert!(bench.results() == results);
    std::fs::remove_dir_all(bench.at("store")).expect("removed");
    std::fs::write(bench.at("in/1.jsonl"), all).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    assert_eq!(bench.lines("members").len(), 2000);
    std::fs::remove_dir_all(bench.at("store")).expect("removed");
    std::fs::write(bench.at("in/1.jsonl"), pages(2000, 100)).expect("written");
    assert_eq!(run(&bench, NOW + DAY, &["--allow", "store"]).0, Some(0));
    assert_eq!(bench.lines("members").len(), 100);
}
