use crate::crash::scene::{Mount, Scene, stderr_of};
use crate::texts::crawl;
use crate::workbench::{Bench, failure, skip};
use std::collections::BTreeSet;
use std::path::Path;

/// More space than a run needs.
const PLENTY: &str = "size=64m,nr_inodes=10000";

/// The use of the file system at `folder`: KiB, and files.
fn used(folder: &Path) -> [u64; 2] {
    let of = |column: &str| {
        let output = std::process::Command::new("df")
            .args(["-k", &format!("--output={column}")])
            .arg(folder)
            .output();
        let text = String::from_utf8(output.expect("started").stdout).expect("UTF-8");
        text.lines().last().and_then(|number| number.trim().parse().ok()).expect("a number")
    };
    [of("used"), of("iused")]
}

/// Runs the second epoch while `folder` has room for a little more, then for more than that, until
/// all fits.
///
/// Asserts that each failure exits with `code` and one line that names a file in `folder`, and says
/// whether the epoch is committed, which it is only if it `may_stand`; and that the next run with
/// enough room succeeds. Returns how many different files found no room.
fn filled(scene: &Scene, folder: &str, code: i32, may_stand: bool) -> Option<usize> {
    let mut files = BTreeSet::new();
    for (what, limit, step) in [(0, "size", 4), (1, "nr_inodes", 1)] {
        for room in 0.. {
            let bench = scene.empty_bench();
            let mount =
                Mount::new(bench.at(folder), &["-t", "tmpfs", "-o", PLENTY, "pagefold-test"])?;
            scene.fill(&bench);
            let limited = used(&bench.at(folder))[what] + room * step;
            let unit = if what == 0 { "k" } else { "" };
            mount.change(&format!("{limit}={limited}{unit}"));
            // The space guard is off, because it would stop most of these runs before they write
            // anything.
            let output = bench.run(&["--threads", "2", "--allow", "space"]);
            if output.status.success() {
                scene.check_done(&bench, "all fits");
                break;
            }
            let stderr = stderr_of(&output);
            let what = format!("{folder} with {limit}={limited}{unit}: {stderr}");
            assert_eq!(output.status.code(), Some(code), "{what}");
            let line = failure(stderr);
            assert!(line.lines().count() == 1, "{what}");
            let stands = line.starts_with("epoch 2 is committed");
            assert!(
                (stands || line.starts_with("cannot ")) && line.contains("No space left on device"),
                "{what}"
            );
            let named = line.split([' ', ':']).find(|word| word.starts_with(&format!("{folder}/")));
            let named = named.unwrap_or_else(|| panic!("no file is named: {what}"));
            // Some names contain the process's id.
            files.insert(
                named.split('.').filter(|part| part.parse::<u32>().is_err()).collect::<String>(),
            );
            assert_eq!(scene.epoch(&bench, &what), 1 + usize::from(stands), "{what}");
            assert!(may_stand || !stands, "{what}");
            mount.change(PLENTY);
            scene.run_again(&bench, &what);
        }
    }
    println!("{folder}: no room for any of {} files", files.len());
    Some(files.len())
}

/// A full disk under the store ends the run with 74 and one line that names the file, whichever
/// file it is; the head stays as it was, and once there is room the next run gives the bytes of an
/// undisturbed one.
#[test]
fn full_store() {
    if let Some(files) = filled(&Scene::new(), "store", 74, false) {
        assert!(files > 10, "only {files} files found no room");
    }
}

/// A full disk under the results ends the run with 73 and one line that names the file, before the
/// work if nothing can be written; an epoch that is committed stays, and once there is room the
/// next run exports it.
#[test]
fn full_results() {
    if let Some(files) = filled(&Scene::new(), "out", 73, true) {
        assert!(files > 4, "only {files} files found no room");
    }
}

/// A run that filled the disk left it full: what it had begun to write stayed, the next run found
/// no room to begin, and no command took back what the epoch had read. A run that fails, and one
/// that begins, deletes what no run needs, and the error names the command for the rest.
#[test]
fn a_disk_that_a_run_filled_is_freed() {
    let scene = Scene::new();
    let mut freed = 0;
    for room in [16, 32, 64, 96, 128] {
        let bench = scene.empty_bench();
        let store = bench.at("store");
        let Some(mount) =
            Mount::new(store.clone(), &["-t", "tmpfs", "-o", PLENTY, "pagefold-test"])
        else {
            return;
        };
        scene.fill(&bench);
        let before = used(&store)[0];
        mount.change(&format!("size={}k", before + room));
        let output = bench.run(&["--threads", "2", "--allow", "space"]);
        if output.status.success() {
            break;
        }
        let line = failure(stderr_of(&output));
        assert_eq!(output.status.code(), Some(74), "{room} KiB: {line}");
        if !store.join("attempt").exists() {
            continue;
        }
        let remedy = "`pagefold gc job.toml --unfinished --delete`";
        assert!(line.contains(remedy), "{room} KiB: {line}");
        assert_eq!(unfinished(&store), [""; 0], "{room} KiB");
        // What a killed run leaves: a file that it was writing, and one that no commit names.
        let stray = store.join(format!("data/pages/{}.arrow", "0".repeat(64)));
        let begun = store.join("data/pages/aaaa.1.writing");
        for path in [&stray, &begun] {
            std::fs::write(path, b"").expect("written");
        }
        assert_eq!(bench.run(&["--threads", "2", "--allow", "space"]).status.code(), Some(74));
        assert!(!stray.exists() && !begun.exists(), "{room} KiB");
        let gc = bench.pagefold("gc", &["--unfinished", "--delete", "--keep-epochs", "9"]);
        assert!(gc.status.success(), "{}", stderr_of(&gc));
        let attempts = store.join("attempt").read_dir().map_or(0, |entries| entries.count());
        assert_eq!(attempts, 0, "{room} KiB");
        assert!(used(&store)[0] <= before + 8, "{room} KiB: {} of {before}", used(&store)[0]);
        mount.change(PLENTY);
        scene.run_again(&bench, &format!("{room} KiB"));
        freed += 1;
    }
    assert!(freed > 0, "no run came so far");
}

/// The files below `folder` that are not finished.
fn unfinished(folder: &Path) -> Vec<String> {
    let output =
        std::process::Command::new("find").arg(folder).args(["-name", "*.writing"]).output();
    let names = String::from_utf8(output.expect("started").stdout).expect("UTF-8");
    names.lines().map(str::to_owned).collect()
}

/// A log on a full disk does no harm: a run goes on, and a failure keeps its exit code. It once
/// ended the run with 101 between commit and export.
#[test]
fn full_log() {
    let full = || std::fs::File::options().write(true).open("/dev/full");
    if full().is_err() {
        return skip("/dev/full does not exist");
    }
    let scene = Scene::new();
    let bench = scene.bench();
    let status = |arguments: &[&str]| {
        bench
            .command(arguments)
            .stdout(std::process::Stdio::null())
            .stderr(full().expect("opened"))
            .status()
            .expect("started")
    };
    assert!(status(&[]).success());
    scene.check_done(&bench, "with a full log");
    assert_eq!(status(&["--set", "read.inputs=[\"gone.warc\"]"]).code(), Some(66));
    assert_eq!(status(&["--cluster", "gone.toml"]).code(), Some(78));
}

/// The guard `space` took half a byte of disk for each byte of input for enough, so runs began that
/// had to fail in the middle. A run that it allows has room to its end.
#[test]
fn a_disk_that_is_too_full_stops_a_run_before_it_begins() {
    let inputs = crawl(4, 200, 120);
    let mut stopped = 0;
    for room in (1..).map(|step| step * 256) {
        let bench = Bench::in_memory(inputs.path(), "");
        let Some(_mount) = Mount::new(
            bench.at("store"),
            &["-t", "tmpfs", "-o", &format!("size={room}k"), "pagefold-test"],
        ) else {
            return;
        };
        let output = bench.run(&[]);
        if output.status.success() {
            break;
        }
        let line = failure(stderr_of(&output));
        assert!(line.contains("make room there") && line.contains("--allow space"), "{line}");
        assert!(!bench.at("store/attempt").exists(), "{room} KiB: it had begun");
        stopped += 1;
    }
    assert!(stopped > 0, "no disk was too full");
}
