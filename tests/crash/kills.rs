use crate::crash::scene::{Scene, has_acknowledged};
use crate::random::Random;
use crate::workbench::number;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many kills; more: `PAGEFOLD_KILLS=1000 cargo test --release killed`.
fn kills() -> u64 {
    number("PAGEFOLD_KILLS", 25)
}

/// A run that is killed at any moment leaves the epoch before or the new one, complete.
///
/// Runs in one process and launchers with two workers are killed by SIGKILL at random moments, up
/// to three times in a row on one store. An acknowledged epoch is never lost, and the next run
/// gives the bytes of an undisturbed one.
#[test]
fn killed_at_any_moment() {
    let scene = Scene::new();
    let mut random = Random::seeded();
    let arguments = |way: u64, cluster: &str| match way {
        0 => ["--cluster".to_owned(), cluster.to_owned()],
        threads => ["--threads".to_owned(), threads.to_string()],
    };
    // How long each way takes undisturbed: kills come within this time.
    let undisturbed_us = [0, 1, 2].map(|way| {
        let bench = scene.bench();
        let arguments = arguments(way, &bench.cluster(2, 1));
        let started = Instant::now();
        bench.run_well(&arguments.each_ref().map(String::as_str));
        started.elapsed().as_micros() as u64
    });
    let (mut left, mut acknowledged, mut killed) = ([0; 3], 0, 0);
    while killed < kills() {
        let bench = scene.bench();
        let cluster = bench.cluster(2, 1);
        for _ in 0..=random.below(3) {
            let way = killed % 3;
            let delay_us = random.below(undisturbed_us[way as usize] * 12 / 10);
            let what = format!("kill {killed}, way {way}, after {delay_us} us");
            let mut command =
                bench.command(&arguments(way, &cluster).each_ref().map(String::as_str));
            let stderr = File::create(bench.at("stderr")).expect("created");
            let mut child = command.stdout(Stdio::null()).stderr(stderr).spawn().expect("started");
            std::thread::sleep(Duration::from_micros(delay_us));
            // A process that has ended already is not killed.
            let _ = child.kill();
            let code = child.wait().expect("waited").code();
            killed += 1;
            let stderr = std::fs::read_to_string(bench.at("stderr")).expect("readable");
            assert!(code.is_none_or(|code| code == 0), "{what}: {stderr}");
            let epoch = scene.epoch(&bench, &what);
            left[epoch] += 1;
            if has_acknowledged(code, &stderr) {
                acknowledged += 1;
                assert_eq!(epoch, 2, "{what}: an acknowledged epoch is lost");
            }
        }
        scene.run_again(&bench, &format!("up to kill {killed}"));
    }
    assert!(left[1] > 0, "no kill came before a commit");
    println!(
        "{killed} kills: {} left the epoch before, {} the new one, {acknowledged} of those acknowledged, 0 lost",
        left[1], left[2]
    );
}

/// The children of process `id` that run a program of their own. Before its exec a child still
/// holds the launcher's lock on the store, and must not be stopped.
fn children(id: u32) -> Vec<u32> {
    let program = |id: u32| std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let children =
        std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.filter(|child| program(*child) != program(id)).collect()
}

/// Stopped processes. Dropping this continues them and waits until they have ended.
struct Stopped(Vec<u32>);

impl Stopped {
    /// Stops the children of process `id`.
    fn children_of(id: u32) -> Stopped {
        let stopped = Stopped(children(id));
        stopped.signal("-STOP");
        stopped
    }

    fn signal(&self, signal: &str) {
        for id in &self.0 {
            // A process that has ended needs no signal.
            let _ =
                Command::new("kill").args([signal, &id.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.signal("-CONT");
        let is_gone = |id: &u32| match std::fs::read_to_string(format!("/proc/{id}/stat")) {
            Ok(stat) => stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X'])),
            Err(_) => true,
        };
        let began = Instant::now();
        while !self.0.iter().all(is_gone) {
            if began.elapsed() > Duration::from_secs(120) {
                self.signal("-KILL");
                // A second panic would hide the first one.
                assert!(std::thread::panicking(), "workers {:?} do not end", self.0);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Workers that outlive their killed launcher write into no file of later runs, whether they
/// continue during the next run or after it. They once wrote to temporary files of the same names.
#[test]
fn workers_left_behind() {
    let scene = Scene::new();
    let mut random = Random::seeded();
    let mut left_behind = 0;
    for round in 0..8 {
        let bench = scene.bench();
        // Started as if on other hosts, because the launcher's own child processes would end with
        // it.
        let cluster = bench.hosts();
        let mut command = bench.command(&["--cluster", &cluster]);
        let mut launcher =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        let began = Instant::now();
        while children(launcher.id()).is_empty() && launcher.try_wait().expect("asked").is_none() {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "round {round}: the launcher starts no worker"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(random.below(40)));
        let stopped = Stopped::children_of(launcher.id());
        launcher.kill().expect("killed");
        launcher.wait().expect("waited");
        left_behind += stopped.0.len();
        let what = format!("round {round}");
        if round % 2 == 0 {
            stopped.signal("-CONT");
        }
        scene.run_again(&bench, &what);
        drop(stopped);
        scene.check_done(&bench, &what);
        scene.run_again(&bench, &what);
    }
    println!("{left_behind} workers left behind");
    assert!(left_behind > 0, "no worker was left behind in any round");
}

/// A run that was killed between commit and export has exported nothing; the next run exports the
/// epoch.
#[test]
fn export_is_made_up_for() {
    let scene = Scene::new();
    let bench = scene.bench();
    bench.run_well(&["--set", "output.export=on-demand"]);
    assert!(!bench.at("out/members.jsonl").exists());
    scene.run_again(&bench, "no export");
}
