use crate::crash::scene::Mount;
use crate::workbench::{Bench, failure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const DAY: i64 = 86_400;
const NOW: i64 = 1_700_000_000;

/// Lines of `pages` pages with unrelated texts, from number `from` on.
fn pages(from: u64, pages: u64) -> String {
    let mut lines = String::new();
    for page in from..from + pages {
        let words: Vec<String> =
            (0..20u64).map(|w| format!("w{}", (page * 7919 + w * 104_729) % 1_000_003)).collect();
        writeln!(lines, "{{\"url\":\"http://a.example/{page}\",\"text\":\"{}\"}}", words.join(" "))
            .expect("a string");
    }
    lines
}

/// A bench that reads the folder `in`.
fn bench(more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), more);
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

fn at(now: i64) -> [String; 2] {
    ["--now".to_owned(), now.to_string()]
}

/// Runs as of `now` with more arguments, and returns exit code, stdout and the error.
fn run(bench: &Bench, now: i64, more: &[&str]) -> (Option<i32>, String, String) {
    let now = at(now);
    let arguments: Vec<&str> = now.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let output = bench.run(&arguments);
    (
        output.status.code(),
        String::from_utf8(output.stdout).expect("UTF-8"),
        failure(&output.stderr),
    )
}

/// Without input an epoch is due on the day on which pages expire and not before; a clock that is
/// set back expires nothing.
#[test]
fn expiry_makes_an_epoch_due() {
    let bench = bench("[pages]\nretain_days = 10\n");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    std::fs::write(bench.at("in/2.jsonl"), pages(3, 5)).expect("written");
    assert_eq!(run(&bench, NOW + 5 * DAY, &[]).0, Some(0));
    assert_eq!(bench.lines("members").len(), 8);
    for (now, epoch, left) in [
        (NOW + 10 * DAY, 2, 8),
        (NOW + 10 * DAY + 1, 3, 5),
        (NOW, 3, 5),
        (NOW + 15 * DAY, 3, 5),
        (NOW + 99 * DAY, 4, 0),
    ] {
        assert_eq!(run(&bench, now, &[]).0, Some(0));
        assert_eq!(
            (bench.head().manifest.epoch, bench.lines("members").len()),
            (epoch, left),
            "at {now}"
        );
    }
    assert_eq!(bench.summary()["counters"]["pages_expired"], 5);
}

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
    let told: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&told["guard"], &told["exit_code"]), (&"missing".into(), &65.into()));
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

/// A write that failed left a complete snapshot of one file without a byte, and all pages went.
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

/// `rollback` refuses to return to damaged bytes and names `verify --full`, which said that nothing
/// was wrong, as it read the files of the head alone.
#[test]
fn verify_reads_what_a_rollback_needs() {
    let bench = bench("");
    for epoch in 0..6 {
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), pages(epoch * 5, 5))
            .expect("written");
        bench.run_well(&[]);
    }
    let head = bench.head().manifest;
    let table = &head.tables["pages"];
    let of_head: Vec<_> =
        table.segments().map(|segment| format!("{}.arrow", segment.digest)).collect();
    let files = std::fs::read_dir(bench.at("store/data/pages")).expect("listed");
    let earlier = files
        .map(|file| file.expect("listed"))
        .find(|file| !of_head.contains(&file.file_name().to_string_lossy().into_owned()));
    let earlier = earlier.expect("runs were merged").path();
    let mut bytes = std::fs::read(&earlier).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&earlier, bytes).expect("written");
    assert!(bench.pagefold("verify", &[]).status.success());
    let output = bench.pagefold("verify", &["--full"]);
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    let name = earlier.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(String::from_utf8_lossy(&output.stdout).contains(&name), "{output:?}");
}

/// One flipped byte in a manifest of the past stopped every rollback and every `gc`, and `verify`
/// called all manifests before a missing one sound. A damaged manifest stops only what needs it.
#[test]
fn a_damaged_old_manifest_stops_nothing_else() {
    let bench = bench("");
    for epoch in 0..4 {
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), pages(epoch * 5, 5))
            .expect("written");
        bench.run_well(&[]);
    }
    let manifest = |version: u64| workers::store::manifest::path(&bench.at("store"), version);
    let flip = |path: &Path| {
        let mut bytes = std::fs::read(path).expect("readable");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).expect("written");
    };
    let told = |name: &str, more: &[&str]| {
        let output = bench.pagefold(name, more);
        let out = String::from_utf8(output.stdout).expect("UTF-8");
        (output.status.code(), out, failure(&output.stderr))
    };
    flip(&manifest(1));
    assert_eq!(told("rollback", &["3"]).0, Some(0));
    let (code, _, err) = told("rollback", &["1"]);
    assert!(code == Some(74) && err.contains("there are 2, 3, 4, 5"), "{err}");
    assert_eq!(told("gc", &[]).0, Some(0));
    assert!(manifest(1).exists(), "without --delete nothing is deleted");
    // What `verify` finds: a missing manifest, and the damage before it.
    let third = std::fs::read(manifest(3)).expect("readable");
    std::fs::remove_file(manifest(3)).expect("removed");
    let (code, out, _) = told("verify", &[]);
    let name = |version| manifest(version).file_name().expect("a name").display().to_string();
    assert_eq!(code, Some(74), "{out}");
    assert!(out.contains(&name(3)) && out.contains(&name(1)) && !out.contains(&name(2)), "{out}");
    std::fs::write(manifest(3), third).expect("written");
    assert_eq!(told("gc", &["--delete"]).0, Some(0));
    assert!(!manifest(1).exists() && manifest(2).exists());
    assert_eq!(told("verify", &[]).0, Some(0));
    // One in the range that is kept stops it.
    flip(&manifest(3));
    let (code, _, err) = told("gc", &["--delete"]);
    assert!(code == Some(74) && err.contains("nothing is deleted"), "{err}");
}

/// Who rolled back because the head was damaged could export nothing: `changes` read the damaged
/// epoch, and the message advised to roll back.
#[test]
fn a_damaged_epoch_that_was_undone_ends_no_export() {
    let bench = bench("");
    for epoch in 0..2 {
        let lines = pages(epoch * 5, 5);
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), lines).expect("written");
        bench.run_well(&[]);
    }
    let table = &bench.head().manifest.tables["pages"];
    let newest = table.runs.last().expect("a run").segments[0].clone();
    let path = newest.path(&bench.at("store/data/pages"));
    let sound = std::fs::read(&path).expect("readable");
    let damaged: Vec<u8> = sound.iter().map(|byte| byte ^ 1).collect();
    std::fs::write(&path, damaged).expect("written");
    let output = bench.pagefold("rollback", &["1"]);
    assert!(output.status.success(), "{output:?}");
    let output = bench.pagefold("export", &[]);
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success() && err.contains("take all of `members` once"), "{err}");
    assert_eq!((bench.lines("members").len(), bench.lines("changes").len()), (5, 0));
    // With sound bytes it tells what went.
    std::fs::write(&path, sound).expect("written");
    assert!(bench.pagefold("export", &[]).status.success());
    assert_eq!(bench.lines("changes").len(), 5);
}

/// `verify --full` did not read the list of rejected records of an earlier epoch, for which a
/// rollback refused. It names the list, and the rollback does without it.
#[test]
fn a_damaged_list_of_rejects_stops_no_rollback() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5) + "no record\n").expect("written");
    bench.run_well(&["--set", "read.rejects_max=1.0"]);
    std::fs::write(bench.at("in/2.jsonl"), pages(5, 5)).expect("written");
    bench.run_well(&[]);
    let mut lists = std::fs::read_dir(bench.at("store/data/rejects")).expect("listed");
    let list = lists.next().expect("one list").expect("listed").path();
    std::fs::write(&list, "{}").expect("written");
    let output = bench.pagefold("verify", &["--full"]);
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let name = list.file_name().expect("a name").display().to_string();
    assert!(output.status.code() == Some(74) && out.contains(&name), "{out}");
    assert!(bench.pagefold("rollback", &["1"]).status.success());
    assert_eq!(bench.head().manifest.rejects, None);
}

/// What a person puts beside the attempts went with the next commit.
#[test]
fn a_commit_deletes_attempts_alone() {
    let bench = bench("");
    std::fs::create_dir_all(bench.at("store/attempt/notes")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    bench.run_well(&[]);
    let left = std::fs::read_dir(bench.at("store/attempt")).expect("listed");
    let left: Vec<_> = left.map(|entry| entry.expect("listed").file_name()).collect();
    assert_eq!(left, ["notes"]);
}

/// An epoch whose inputs were all useless counted as one that read, so that pages expired of which
/// nothing newer was known.
#[test]
fn an_epoch_that_read_nothing_expires_nothing() {
    let bench = bench("[pages]\nretain_epochs = 1\n");
    let reads = ["--set", "read.rejects_max=1.0"];
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    assert_eq!(run(&bench, NOW, &reads).0, Some(0));
    std::fs::write(bench.at("in/2.jsonl"), "garbage\n").expect("written");
    assert_eq!(run(&bench, NOW, &reads).0, Some(0));
    assert_eq!(bench.lines("members").len(), 5);
    std::fs::write(bench.at("in/3.jsonl"), pages(5, 2)).expect("written");
    let (code, _, err) = run(&bench, NOW, &[&reads[..], &["--allow", "expired"]].concat());
    assert_eq!((code, bench.lines("members").len()), (Some(0), 2), "{err}");
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
/// to do, and does not come again once it was let pass; mirrors, which fold wholly, are not
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

/// Another identity is refused by `run` and obeyed by `rebuild`, whose store equals one that was
/// built with it epoch by epoch; the old store is kept.
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

/// A rebuild replayed only epochs that read, all lines of their lists, and nothing that was undone:
/// pages came back that had expired or that a rollback had taken back, and a copy that had not been
/// read won. The pages and the epoch are the same afterwards, and nothing is due.
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

/// An interrupted rebuild went on from a number of epochs, whatever these were: after a rollback of
/// the store it brought pages back. It goes on from what it replayed if that is still to be
/// replayed, and begins anew if not. Epochs whose last ones were undone keep their number.
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
    [2, 3].into_iter().for_each(from_format);
}

/// Format 3 had other segments, and format 2 said less of what epochs took.
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

/// `gc` names what no kept epoch needs without touching it, deletes it with `--delete`, and never
/// prevents a rollback to a kept epoch.
#[test]
fn garbage_is_named_then_deleted() {
    let bench = bench("");
    for night in 0..9 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 10, 20))
            .expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    std::fs::write(bench.at("store/data/pages/stray.txt"), "not ours").expect("written");
    let gc = |more: &[&str]| {
        let output = bench.pagefold(
            "gc",
            &[&["--keep-days", "0", "--keep-epochs", "2", "--json"], more].concat(),
        );
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let versions = || workers::store::manifest::versions(&bench.at("store")).expect("listed").len();
    let before = versions();
    let named = gc(&[]);
    assert_eq!(versions(), before);
    let deleted = gc(&["--delete"]);
    assert_eq!((&named["commits"], &named["files"]), (&deleted["commits"], &deleted["files"]));
    assert!(versions() < before && deleted["files"].as_u64() > Some(0));
    assert_eq!(gc(&[])["files"], 0);
    assert!(bench.at("store/data/pages/stray.txt").exists());
    assert!(bench.pagefold("verify", &["--full"]).status.success());
    let tables = bench.tables();
    assert!(bench.pagefold("rollback", &["8"]).status.success());
    assert_eq!(bench.lines("members").len(), 90);
    assert!(bench.pagefold("rollback", &["9"]).status.success());
    assert!(bench.tables() == tables);
    let output = bench.pagefold("rollback", &["2"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(failure(&output.stderr).contains("no epoch 2 to go back to; there are 8, 9, 10, 11"));
}

/// `gc` deleted the manifest before a rollback, which its `changes` are made from, and no export
/// succeeded any more. It is kept; and where it is gone all the same, `changes` is empty.
#[test]
fn a_rollback_can_always_be_exported() {
    let bench = bench("");
    for night in 0..4 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 5, 5))
            .expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    let succeeds = |name: &str, more: &[&str]| {
        let output = bench.pagefold(name, more);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    };
    succeeds("rollback", &["2"]);
    let changes = bench.changes();
    assert_eq!(bench.lines("changes").len(), 10);
    succeeds("gc", &["--delete", "--keep-epochs", "1", "--keep-days", "0"]);
    succeeds("export", &[]);
    assert!(bench.changes() == changes);
    let version = bench.head().manifest.version;
    std::fs::remove_file(workers::store::manifest::path(&bench.at("store"), version - 1))
        .expect("removed");
    succeeds("export", &[]);
    assert_eq!((bench.lines("changes").len(), bench.lines("members").len()), (0, 10));
}

/// A rollback to an epoch that an earlier one had forgotten gave its pages to another source, whose
/// next complete snapshot removed them. Its inputs are consumed again, too.
#[test]
fn sources_come_back_with_their_pages() {
    let bench = bench("");
    let read = |source: &str, from: u64, more: &[&str]| {
        std::fs::write(bench.at(&format!("in/{source}.jsonl")), pages(from, 3)).expect("written");
        let sets =
            [format!("read.source=\"{source}\""), format!("read.inputs=[\"in/{source}.jsonl\"]")];
        let sets: Vec<&str> =
            sets.iter().flat_map(|set| ["--set", set]).chain(more.iter().copied()).collect();
        let (code, out, err) = run(&bench, NOW, &sets);
        assert_eq!(code, Some(0), "{err}");
        (out.contains("nothing due"), bench.lines("members").len())
    };
    let back = |more: &[&str]| assert!(bench.pagefold("rollback", more).status.success());
    assert_eq!((read("a", 0, &[]), read("b", 10, &[])), ((false, 3), (false, 6)));
    back(&["1", "--forget-inputs"]);
    assert_eq!(read("c", 20, &[]), (false, 6));
    back(&["2"]);
    let names: Vec<String> =
        bench.head().manifest.sources.into_iter().map(|source| source.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    for source in ["a", "b", "c"] {
        let from = if source == "a" {
            0
        } else if source == "b" {
            10
        } else {
            20
        };
        assert_eq!(read(source, from, &[]), (true, 6), "{source} is consumed");
    }
    assert_eq!(read("c", 21, &["--set", "read.complete=true"]), (false, 9));
}

/// A rollback keeps inputs consumed; with `--forget-inputs` the next run reads the later ones
/// again.
#[test]
fn forgotten_inputs_are_read_again() {
    let bench = bench("");
    for night in 0..2 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 10, 10))
            .expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    for (more, left) in [(vec!["1"], 10), (vec!["1", "--forget-inputs"], 20)] {
        assert!(bench.pagefold("rollback", &more).status.success());
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
        assert_eq!(bench.lines("members").len(), left);
    }
}

/// An unfinished plan is finished first, as it was planned; newer inputs are the next epoch of the
/// same run.
#[test]
fn the_unfinished_comes_first() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 10)).expect("written");
    let job: workers::job::Job = serde_json::from_value(serde_json::json!({
        "store": bench.at("store"), "read": { "inputs": [bench.at("in")] }, "output": { "dir": bench.at("out") },
    }))
    .expect("a job");
    let store =
        workers::store::Store::open_or_create(&job.store, &job.identity().expect("an identity"))
            .expect("made");
    let plan =
        workers::plan::plan(&job, &store, None, NOW).expect("planned").expect("something new");
    let plan = plan.freeze(&job.store, 1).expect("frozen");
    std::fs::write(bench.at("in/2.jsonl"), pages(5, 10)).expect("written");
    let (code, out, err) = run(&bench, NOW + DAY, &["--json"]);
    assert_eq!(code, Some(0), "{err}");
    let epochs: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = epochs.iter().map(|epoch| (&epoch["epoch"], &epoch["pages"])).collect();
    assert_eq!(told, [(&1.into(), &10.into()), (&2.into(), &15.into())]);
    // A plan that cannot be carried out any more is given up.
    let other =
        workers::plan::Plan { digest: "0000000000000000".into(), previous: "gone".into(), ..plan };
    other.freeze(&job.store, 1).expect("frozen");
    assert!(run(&bench, NOW + DAY, &[]).1.contains("nothing due"));
    assert!(
        std::fs::read_dir(bench.at("store/attempt"))
            .is_ok_and(|mut attempts| attempts.next().is_none())
    );
}

/// What an epoch read counts again for retention after a rollback to it that undoes an earlier
/// rollback.
#[test]
fn a_rollback_forward_redoes() {
    let bench = bench("[pages]\nretain_epochs = 2\n");
    for night in 1..=2 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night, 1)).expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    for epoch in ["1", "2"] {
        let output = bench.pagefold("rollback", &[epoch]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::write(bench.at("in/3.jsonl"), pages(3, 1)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    let urls: Vec<String> =
        bench.lines("members").iter().map(|row| row["url"].to_string()).collect();
    assert_eq!(urls.len(), 2, "two epochs have read since the first page was seen: {urls:?}");
}
