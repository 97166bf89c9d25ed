use crate::crash::scene::{Scene, has_acknowledged};
use crate::crash::strace::{self, Call, STDERR, STDOUT};
use crate::random::Random;
use crate::workbench::failure;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

/// Strikes of the default test outside the window before the commit.
const STRIDED: usize = 60;

/// A fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    BadDisk,
    FullDisk,
    Killed,
}

impl Fault {
    fn injected(self) -> &'static str {
        match self {
            Fault::BadDisk => "error=EIO",
            Fault::FullDisk => "error=ENOSPC",
            Fault::Killed => "signal=SIGKILL",
        }
    }
}

fn is_of(call: &Call, names: &[&str]) -> bool {
    names.iter().any(|name| call.name.starts_with(name))
}

/// The possible faults of a call: calls that remove something need no space.
fn faults(call: &Call) -> Vec<Fault> {
    match is_of(call, &["unlink", "rmdir"]) {
        true => vec![Fault::BadDisk, Fault::Killed],
        false => vec![Fault::BadDisk, Fault::FullDisk, Fault::Killed],
    }
}

/// The exit code of a run in which `call` fails. Calls that only clean up or write a log fail
/// without harm. The note that results are current has to go before they are replaced.
fn code(call: &Call) -> i32 {
    match () {
        () if call.path.starts_with("{folder}/store/exported/") => 74,
        () if is_of(call, &["unlink", "rmdir"]) || call.path.ends_with(STDERR) => 0,
        () if call.path.ends_with(STDOUT) || call.path.starts_with("{folder}/out") => 73,
        // The folder of results is created in it.
        () if call.path == "{folder}" => 73,
        () => 74,
    }
}

/// Strikes one call of the second epoch, checks the store, and runs again. Returns the epoch that
/// was left.
fn strike(scene: &Scene, call: &Call, fault: Fault) -> usize {
    let what = format!("{} of {} no. {}, {}", call.name, call.aim, call.nth, fault.injected());
    let bench = scene.bench();
    let status = strace::struck(&bench, call, fault.injected());
    let stderr = std::fs::read_to_string(bench.at(STDERR)).expect("readable");
    assert!(!stderr.contains("panicked"), "{what}: {stderr}");
    let epoch = scene.epoch(&bench, &what);
    let expected = if fault == Fault::Killed { (None, Some(9)) } else { (Some(code(call)), None) };
    assert_eq!((status.code(), status.signal()), expected, "{what}: {stderr}");
    if has_acknowledged(status.code(), &stderr) {
        assert_eq!(epoch, 2, "{what}: an acknowledged epoch is lost");
    }
    if status.success() {
        scene.check_done(&bench, &what);
    } else if fault != Fault::Killed && !call.path.ends_with(STDOUT) {
        let line = failure(&stderr);
        let is_reported = ["Input/output error", "No space left on device"];
        let is_reported = is_reported.iter().any(|why| line.contains(why));
        assert!(line.lines().count() == 1 && is_reported, "{what}: {stderr}");
    }
    scene.run_again(&bench, &what);
    epoch
}

/// Every system call of an epoch that changes the file system may fail, or be the last.
///
/// It fails with an I/O error, fails for lack of space, or the process is killed there. The store
/// then holds the epoch before or the new one, complete; an acknowledged one is there; an error has
/// its exit code and one line; and the next run gives the bytes of an undisturbed one. By default
/// the test strikes the calls that make names durable before the commit, and some others;
/// `PAGEFOLD_SYSCALLS=all cargo test --release syscalls -- --nocapture` strikes all and prints a
/// table.
#[test]
fn syscalls_fail() {
    if !strace::is_allowed() {
        return;
    }
    let scene = Scene::new();
    let calls = strace::calls(&scene.bench(), &[]);
    let committed = calls
        .iter()
        .position(|call| call.name.starts_with("link") && call.to.contains("/manifest/"));
    let first = calls.iter().position(|call| call.path.starts_with("{folder}/store/data/"));
    let window = first.expect("segments")..=committed.expect("a commit");
    let sites = calls.iter().enumerate().filter(|(_, call)| !call.is_hidden);
    let all =
        sites.flat_map(|(at, call)| faults(call).into_iter().map(move |fault| (at, call, fault)));
    let is_first = |(at, call, fault): &(usize, &Call, Fault)| {
        window.contains(at)
            && is_of(call, &["fsync", "fdatasync", "link", "rename"])
            && *fault != Fault::FullDisk
    };
    let (mut strikes, others): (Vec<_>, Vec<_>) = all.partition(is_first);
    let strikes_all = match std::env::var("PAGEFOLD_SYSCALLS").as_deref() {
        Err(_) => false,
        Ok("all") => true,
        Ok(other) => panic!("PAGEFOLD_SYSCALLS={other}: only `all` is known"),
    };
    let stride = if strikes_all { 1 } else { others.len().div_ceil(STRIDED).max(1) };
    let offset = Random::seeded().below(stride as u64) as usize;
    strikes.extend(others.into_iter().skip(offset).step_by(stride));
    let queue = Mutex::new(strikes.iter());
    let left: Mutex<BTreeMap<(&str, Fault), [u64; 4]>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into).min(4) {
            scope.spawn(|| {
                while let Some((_, call, fault)) = { queue.lock().expect("no panic").next() } {
                    // A strike that goes wrong reports it and is counted below; the others go on.
                    let struck = catch_unwind(AssertUnwindSafe(|| strike(&scene, call, *fault)));
                    let mut left = left.lock().expect("no panic");
                    let row = left.entry((&call.name, *fault)).or_default();
                    row[0] += 1;
                    match struck {
                        Ok(epoch) => row[epoch] += 1,
                        Err(_) => row[3] += 1,
                    }
                }
            });
        }
    });
    println!("{} calls, {} strikes", calls.len(), strikes.len());
    println!(
        "{:10} {:8} {:>5} {:>6} {:>5} {:>5}",
        "call", "fault", "runs", "before", "after", "wrong"
    );
    let left = left.into_inner().expect("no panic");
    for ((name, fault), [runs, before, after, wrong]) in &left {
        println!("{name:10} {:8} {runs:5} {before:6} {after:5} {wrong:5}", format!("{fault:?}"));
    }
    let sum = |column: usize| left.values().map(|row| row[column]).sum::<u64>();
    assert_eq!(sum(3), 0, "strikes that went wrong, see above");
    assert!(sum(1) > 0 && sum(2) > 0, "no strike before, or none after the commit");
}
