use crate::workbench::{Bench, failure};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use workers::store::manifest::{self, Manifest};

/// A bench that has read the file `in/0.jsonl`.
fn bench() -> Bench {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    deliver(&bench, 0, "");
    bench.run_well(&[]);
    bench
}

/// Writes an input of one page and `more` lines.
fn deliver(bench: &Bench, night: u32, more: &str) {
    let line = format!(
        "{{\"url\":\"http://a.example/{night}\",\"text\":\"the text of night {night}\"}}\n"
    );
    std::fs::write(bench.at(&format!("in/{night}.jsonl")), line + more).expect("written");
}

/// Exit code, stdout and error of a command.
fn outcome(bench: &Bench, name: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = bench.pagefold(name, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), failure(output.stderr))
}

fn attempts(bench: &Bench) -> usize {
    std::fs::read_dir(bench.at("store/attempt")).map_or(0, Iterator::count)
}

/// Each refused run left its finished splits, `gc` kept them, and `status` said that the next run
/// would resume them. Now only the last refused work is kept, and `gc` deletes it.
#[test]
fn refused_work_does_not_pile_up() {
    let bench = bench();
    for night in 1..=3 {
        deliver(&bench, night, "no record\nno record\n");
        assert_eq!(outcome(&bench, "run", &[]).0, Some(65));
        assert_eq!(attempts(&bench), 1, "night {night}");
    }
    let (code, out, _) = outcome(&bench, "status", &[]);
    assert!(code == Some(0) && !out.contains("unfinished"), "{out}");
    let (code, out, _) = outcome(&bench, "gc", &["--delete"]);
    assert!(code == Some(0) && out.contains("1 attempt"), "{out}");
    assert_eq!(attempts(&bench), 0);
}

/// A store whose file FORMAT is gone is named so by every command, with what to do: most only said
/// that the file cannot be read. No command makes another store over its manifests.
#[test]
fn a_lost_format_is_named() {
    let bench = bench();
    std::fs::rename(bench.at("store/FORMAT"), bench.at("FORMAT")).expect("moved");
    for name in ["run", "export", "verify", "status", "gc", "rebuild"] {
        let (code, _, err) = outcome(&bench, name, &[]);
        let says = err.contains("FORMAT is lost") && err.contains("put the file back from a copy");
        assert!(code == Some(74) && says, "{name}: {code:?} {err}");
    }
    assert!(!bench.at("store/FORMAT").exists());
    std::fs::rename(bench.at("FORMAT"), bench.at("store/FORMAT")).expect("moved back");
    assert_eq!(outcome(&bench, "verify", &[]).0, Some(0));
}

/// A store whose manifests were lost was taken for a new one: a run forgot all pages whose inputs
/// were gone, and wrote that over the results.
#[test]
fn lost_manifests_are_no_new_store() {
    let bench = bench();
    std::fs::rename(bench.at("store/manifest"), bench.at("manifest")).expect("moved");
    std::fs::create_dir(bench.at("store/manifest")).expect("made");
    for name in ["run", "export", "verify", "status", "rebuild"] {
        let (code, out, err) = outcome(&bench, name, &[]);
        let said = out + &err;
        let says = said.contains("its manifests are lost") && said.contains("back from a copy");
        assert!(code == Some(74) && says, "{name}: {code:?} {said}");
    }
    std::fs::remove_dir(bench.at("store/manifest")).expect("empty");
    std::fs::rename(bench.at("manifest"), bench.at("store/manifest")).expect("moved back");
    assert_eq!(outcome(&bench, "verify", &[]).0, Some(0));
}

/// For a newest manifest that was cut short the only remedy was `verify`, which named itself.
/// Moving the manifest away mends the store: the next run reads later inputs again.
#[test]
fn a_damaged_head_is_moved_away() {
    let bench = bench();
    deliver(&bench, 1, "");
    bench.run_well(&[]);
    let of_head = manifest::path(&bench.at("store"), bench.head().manifest.version);
    std::fs::write(&of_head, "").expect("cut");
    for name in ["run", "verify", "rebuild", "status"] {
        let (code, out, err) = outcome(&bench, name, &[]);
        let said = out + &err;
        assert!(code == Some(74) && said.contains("or move it away"), "{name}: {said}");
    }
    std::fs::rename(&of_head, bench.at("damaged.json")).expect("moved");
    bench.run_well(&[]);
    assert_eq!((bench.head().manifest.epoch, bench.lines("members").len()), (2, 2));
    assert_eq!(outcome(&bench, "verify", &["--deep"]).0, Some(0));
}

/// `verify` named the damage but no remedy. The commands at the end of its output mend the store.
#[test]
fn verify_says_what_helps() {
    let bench = bench();
    deliver(&bench, 1, "");
    bench.run_well(&[]);
    let newest = |name: &str| {
        let head = bench.head();
        let run = head.manifest.tables[name].runs.last().expect("a run").clone();
        run.segments[0].path(&bench.at("store/data").join(name))
    };
    for helps in ["rollback", "rebuild"] {
        std::fs::remove_file(newest("pages")).expect("removed");
        let (code, out, _) = outcome(&bench, "verify", &[]);
        assert!(code == Some(74) && out.contains("`pagefold rebuild job.toml`"), "{out}");
        let line = out.lines().find(|line| line.contains("`pagefold rollback job.toml "));
        let named = line.and_then(|line| line.split("job.toml ").last()?.split('`').next());
        let arguments: Vec<&str> = match helps {
            "rollback" => named.unwrap_or_else(|| panic!("{out}")).split(' ').collect(),
            _ => Vec::new(),
        };
        let (code, _, err) = outcome(&bench, helps, &arguments);
        assert_eq!(code, Some(0), "{helps}: {err}");
        assert_eq!(outcome(&bench, "verify", &[]).0, Some(0), "{helps}");
        deliver(&bench, 2, "");
        bench.run_well(&[]);
    }
}

/// A rebuild named one missing input at a time, and no remedy.
#[test]
fn a_rebuild_counts_what_it_lacks() {
    let bench = bench();
    (1..=2).for_each(|night| deliver(&bench, night, ""));
    bench.run_well(&[]);
    (1..=2).for_each(|night| {
        std::fs::remove_file(bench.at(&format!("in/{night}.jsonl"))).expect("removed");
    });
    let (code, _, err) = outcome(&bench, "rebuild", &[]);
    let says = err.contains("2 of 3 inputs") && err.contains("move the store away");
    assert!(code == Some(66) && says, "{code:?} {err}");
}

/// A run whose store was a folder with other things deleted a file there that ended as its own do.
#[test]
fn only_own_temporary_files_are_cleared_away() {
    let bench = bench();
    let is_there = |name: &str| bench.at(&format!("store/{name}")).exists();
    for name in ["notes.writing", "FORMAT.77.writing"] {
        std::fs::write(bench.at(&format!("store/{name}")), "").expect("written");
    }
    bench.run_well(&[]);
    assert!(is_there("notes.writing") && !is_there("FORMAT.77.writing"));
}

/// A file that is not ours in the folder of attempts made every run fail.
#[test]
fn a_stray_file_among_attempts_is_passed_by() {
    let bench = bench();
    std::fs::create_dir_all(bench.at("store/attempt/000009-notes")).expect("made");
    std::fs::write(bench.at("store/attempt/.nfs0001"), "stray").expect("written");
    deliver(&bench, 1, "");
    bench.run_well(&[]);
    assert_eq!(bench.lines("members").len(), 2);
}

/// Every user could open the lock for reading, hold it, and so block every run.
#[test]
fn the_lock_is_its_owners() {
    let mode = bench().at("store/LOCK").metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// A list of consumed inputs that was cut was read as an empty one, so that all inputs were read
/// again as another epoch.
#[test]
fn a_cut_list_of_inputs_is_no_empty_one() {
    let bench = bench();
    let file = bench.head().manifest.consumed[0].file.digest.clone();
    std::fs::write(bench.at(&format!("store/data/consumed/{file}.jsonl")), "").expect("written");
    let (code, _, err) = outcome(&bench, "run", &[]);
    assert_eq!(code, Some(74), "{err}");
    assert!(err.contains(&file) && err.contains("verify"), "{err}");
    assert_eq!(bench.head().manifest.epoch, 1);
}

/// After one run with a clock that was far ahead no page expired, and `status --max-age` was
/// content for years. Such a time is refused on the command line, noticed by `status`, and left
/// behind by the next run.
#[test]
fn a_wrong_clock_does_not_last() {
    let bench = bench();
    let (code, _, err) = outcome(&bench, "run", &["--now", "9000000000"]);
    assert!(code == Some(64) && err.contains("48 h"), "{err}");
    let head = bench.head();
    let real = head.manifest.logical_time;
    let wrong = Manifest {
        version: head.manifest.version + 1,
        epoch: 2,
        previous: head.digest,
        plan: "of a wrong clock".into(),
        logical_time: 9_000_000_000,
        ..head.manifest
    };
    manifest::commit(&bench.at("store"), &wrong).expect("committed");
    let (code, _, err) = outcome(&bench, "status", &["--max-age", "1h"]);
    assert!(code == Some(65) && err.contains("ahead of the clock"), "{err}");
    bench.run_well(&[]);
    let head = bench.head().manifest;
    assert!(
        head.epoch == 3 && (real..real + 3600).contains(&head.logical_time),
        "{}",
        head.logical_time
    );
    assert_eq!(outcome(&bench, "status", &["--max-age", "1h"]).0, Some(0));
    assert!(bench.run_well(&[]).contains("nothing due"));
}
