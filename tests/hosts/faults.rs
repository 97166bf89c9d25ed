use super::lan::Lan;
use super::scene::{FILES, GENEROUS, Run, Scene};
use crate::random::Random;
use crate::workbench::{number, signal};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A fault of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Its process is killed.
    Killed,
    /// Its process is stopped by SIGSTOP.
    Frozen,
    /// Its cable is unplugged.
    Unplugged,
    /// Packets are dropped in both directions.
    Dropped,
    /// Incoming packets are dropped; outgoing ones still arrive.
    Deaf,
    /// Every incoming TCP segment is answered with a reset.
    Reset,
    /// The launcher is killed; it does not run on any of the hosts.
    Orphaned,
}

use Fault::{Deaf, Dropped, Frozen, Killed, Orphaned, Reset, Unplugged};

/// Each fault once, and a kill of each process.
const FAULTS: [(Fault, Option<usize>); 9] = [
    (Killed, Some(0)),
    (Frozen, None),
    (Unplugged, None),
    (Killed, Some(1)),
    (Dropped, None),
    (Reset, None),
    (Orphaned, None),
    (Killed, Some(2)),
    (Deaf, None),
];

impl Fault {
    /// The longest time from the fault to the launcher's log line about it. During the start
    /// handshakes are tried again first.
    fn detected_within(self) -> Duration {
        if self == Killed { Duration::from_secs(5) } else { 2 * GENEROUS }
    }

    /// The reason of the failed attempt contains one of these.
    fn reasons(self) -> &'static [&'static str] {
        match self {
            Killed => &["was killed by signal 9"],
            Frozen => &["silent for", "missing after"],
            _ => &["lost process", "lost a peer", "missing after", "left during the start"],
        }
    }

    /// Whether the faulty host is certain. When two hosts lose each other, either may be blamed,
    /// and a reset reaches both ends.
    fn is_certain(self) -> bool {
        matches!(self, Killed | Frozen | Unplugged | Dropped)
    }

    /// Whether the connection is lost silently and in both directions.
    fn is_cut(self) -> bool {
        matches!(self, Unplugged | Dropped)
    }

    fn strike(self, lan: &Lan, host: usize, run: &mut Run) {
        let worker =
            |name: &str| lan.workers(host).iter().for_each(|id| signal(name, &id.to_string()));
        match self {
            Killed => worker("KILL"),
            Frozen => worker("STOP"),
            Unplugged => lan.plug(host, false),
            Dropped => lan.filter(host, &[("input", "drop"), ("output", "drop")]),
            Deaf => lan.filter(host, &[("input", "drop")]),
            Reset => lan.filter(host, &[("input", "meta l4proto tcp reject with tcp reset")]),
            Orphaned => run.child.kill().expect("killed"),
        }
    }
}

/// How many faults to try. More: `PAGEFOLD_HOST_FAULTS=50 cargo test --test suite hosts --
/// --nocapture`; `PAGEFOLD_HOST_FAULT=Unplugged` chooses one kind.
fn faults() -> usize {
    number("PAGEFOLD_HOST_FAULTS", FAULTS.len() as u64) as usize
}

/// Makes the hosts' heartbeats drift apart, as they do in a long run. Which host misses which first
/// is then random, and the host that is cut off may complain first.
fn drift(lan: &Lan, random: &mut Random) {
    for host in 0..3 {
        let worker =
            |name: &str| lan.workers(host).iter().for_each(|id| signal(name, &id.to_string()));
        worker("STOP");
        std::thread::sleep(Duration::from_millis(100 + random.below(700)));
        worker("CONT");
    }
}

/// Returns how long the launcher took to notice the fault, and its reason; none if the run ended
/// before the fault mattered.
fn trial(
    lan: &Lan,
    (fault, host): (Fault, usize),
    random: &mut Random,
    splits: u64,
    delay: Duration,
    what: &str,
) -> Option<(Duration, String)> {
    // A host that is struck before its process calls is noticed by the timeout of the start.
    let scene = Scene::new(lan, None, "attempts_max = 4\nstart_timeout_s = 15");
    let mut run = scene.start();
    let at_work = scene.at_work(host, splits, &mut run);
    std::thread::sleep(delay);
    at_work?;
    if fault.is_cut() {
        drift(lan, random);
    }
    let struck = Instant::now();
    fault.strike(lan, host, &mut run);
    if fault == Orphaned {
        run.ended();
        lan.no_worker_left(GENEROUS, what);
        let took = struck.elapsed();
        scene.start().succeeded(&scene, 1);
        return Some((took, "no host was left".into()));
    }
    let noticed = run.says("an attempt failed", fault.detected_within());
    lan.heal(host);
    let status = run.ended();
    assert!(status.success(), "{what}: {status}: {}", run.log());
    scene.same_bytes(what);
    lan.no_worker_left(GENEROUS, what);
    let ended = scene.run_json();
    let attempts = ended["attempts"].as_array().expect("a list");
    if attempts.len() == 1 {
        return None;
    }
    let at = noticed.unwrap_or_else(|| panic!("{what}: noticed late: {}", run.log()));
    let failure = attempts[0]["failure"].as_str().unwrap_or_default();
    assert!(fault.reasons().iter().any(|reason| failure.contains(reason)), "{what}: {ended}");
    assert!(
        attempts.len() == 2,
        "{what}: one fault cost {} attempts: {ended}\n{}",
        attempts.len(),
        run.log()
    );
    if fault.is_certain() {
        assert_eq!(attempts[0]["blamed"], lan.address(host), "{what}: {ended}\n{}", run.log());
    }
    Some((at - struck, failure.to_owned()))
}

/// Any fault at any moment of the work, on any of three hosts, is noticed in time, costs one
/// attempt and leaves no process behind; the results are the bytes of an undisturbed run.
#[test]
fn faults_at_any_moment() {
    let Some(lan) = Lan::new(3) else { return };
    let mut random = Random::seeded();
    let (mut struck, mut late) = (0, 0);
    let only = std::env::var("PAGEFOLD_HOST_FAULT").ok();
    let chosen = FAULTS
        .into_iter()
        .filter(|(fault, _)| only.as_ref().is_none_or(|name| *name == format!("{fault:?}")));
    for (n, (fault, host)) in chosen.cycle().take(faults()).enumerate() {
        let host = host.unwrap_or(random.below(3) as usize);
        let (splits, delay) = (random.below(FILES - 4), Duration::from_millis(random.below(200)));
        let what = format!("{n}: {fault:?}, host {host}, {delay:?} after {splits} splits");
        match trial(&lan, (fault, host), &mut random, splits, delay, &what) {
            Some((took, reason)) => {
                struck += 1;
                println!("{what}: noticed after {:.1} s: {reason}", took.as_secs_f64());
            }
            None => {
                late += 1;
                println!("{what}: too late to matter");
            }
        }
    }
    println!("{struck} faults, {late} too late");
    assert!(struck > late, "{late} of {} faults came too late", struck + late);
}

/// A host that never comes back is left out after two failures, and the others finish with the same
/// bytes.
#[test]
fn a_host_that_never_comes_back() {
    let Some(lan) = Lan::new(3) else { return };
    let scene = Scene::new(&lan, None, "attempts_max = 6\nhosts_min = 2\nstart_timeout_s = 5");
    let mut run = scene.start();
    scene.at_work(1, 6, &mut run).expect("at work");
    lan.plug(1, false);
    let status = run.ended();
    assert!(status.success(), "{status}: {}", run.log());
    let ended = scene.run_json();
    let attempts = ended["attempts"].as_array().expect("a list");
    let last = attempts.last().expect("an attempt");
    assert_eq!(last["hosts"], serde_json::json!([lan.address(0), lan.address(2)]), "{ended}");
    assert_eq!(attempts.len(), 3, "{ended}");
    scene.same_bytes("without the host");
    lan.no_worker_left(GENEROUS, "without the host");
}

/// A worker that hangs in an operator, while its process is alive and sends heartbeats, is noticed
/// by its lack of progress, named and cut off. strace holds one thread at its next system call; the
/// other threads of the process run on.
#[test]
fn a_wedged_worker() {
    let Some(lan) = Lan::new(3) else { return };
    if !crate::crash::strace::is_allowed() {
        return;
    }
    let scene = Scene::new(&lan, None, "progress_timeout_s = 4");
    let mut run = scene.start();
    let process = scene.at_work(1, 4, &mut run).expect("at work");
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("alive").flatten();
    let is_worker = |thread: &std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("comm"))
            .is_ok_and(|name| name.starts_with("timely:work"))
    };
    let thread = threads.into_iter().find(is_worker).expect("a worker's thread").file_name();
    let mut strace = Command::new("strace");
    strace
        .args(["-qqq", "-o", "/dev/null", "-e", "inject=all:delay_enter=100000000", "-p"])
        .arg(thread);
    let began = Instant::now();
    let mut strace = strace.stderr(Stdio::null()).spawn().expect("started");
    let noticed = run.says("an attempt failed", Duration::from_secs(4) + GENEROUS);
    strace.kill().expect("killed");
    strace.wait().expect("waited");
    let noticed = noticed.unwrap_or_else(|| panic!("not noticed: {}", run.log()));
    let ended = run.succeeded(&scene, 2);
    let attempt = &ended["attempts"][0];
    assert_eq!(attempt["blamed"], lan.address(1), "{ended}");
    assert!(
        attempt["failure"].as_str().is_some_and(|line| line.contains("stuck: worker 1 ")),
        "{ended}"
    );
    println!("noticed after {:.1} s: {}", (noticed - began).as_secs_f64(), attempt["failure"]);
}
