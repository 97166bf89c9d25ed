use crate::workbench::{Bench, demo_inputs};
use std::process::Stdio;
use std::time::Duration;

/// Kills; more by `PAGEFOLD_KILLS=1000 cargo test --release crash`.
fn kills() -> u32 {
    std::env::var("PAGEFOLD_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(25)
}

/// Kill -9 at random moments of a run, in one process and in two: whatever was killed, the store holds no epoch or the whole one, and the next run gives the
/// bytes of an undisturbed one.
#[test]
fn killed_at_any_moment() {
    let undisturbed = Bench::new(&demo_inputs(), "");
    let started = std::time::Instant::now();
    undisturbed.run_well(&["--threads", "2"]);
    let run_us = started.elapsed().as_micros() as u64;
    let (tables, multisets) = (undisturbed.tables(), undisturbed.multisets());
    let seed = std::process::id().into();
    println!("seed {seed}");
    let mut random: u64 = seed;
    let mut bench = Bench::new(&demo_inputs(), "");
    let (mut committed, mut in_a_row) = (0, 0);
    for kill in 0..kills() {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let delay = Duration::from_micros((random >> 33) % (run_us * 12 / 10));
        let cluster = bench.cluster(2, 1);
        let arguments = if kill % 3 == 2 { ["--cluster", cluster.as_str()] } else { ["--threads", "2"] };
        let mut command = bench.command(&arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        std::thread::sleep(delay);
        // One that has ended already is not killed.
        let _ = child.kill();
        child.wait().expect("waited");
        in_a_row += 1;
        let head = workers::store::manifest::head(&bench.at("store")).expect("a readable head");
        if let Some(head) = &head {
            assert_eq!(head.manifest.version, 1, "seed {seed}: one epoch or none");
            committed += 1;
        }
        // Several kills in a row on one store, then let it finish.
        if head.is_some() || in_a_row == 4 {
            run_until_free(&bench);
            assert!(bench.tables() == tables, "seed {seed}, kill {kill}: exports differ");
            assert_eq!(bench.multisets(), multisets, "seed {seed}, kill {kill}");
            bench = Bench::new(&demo_inputs(), "");
            in_a_row = 0;
        }
    }
    println!("{committed} of {} killed runs had committed", kills());
}

/// Runs to the end. Worker processes of a killed launcher notice at once, but the lock is the launcher's alone and free.
fn run_until_free(bench: &Bench) {
    bench.run_well(&["--threads", "2"]);
}

/// A run that was killed between commit and export left results behind; the next run notices and exports.
#[test]
fn export_is_made_up_for() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&["--set", "output.export=on-demand"]);
    assert!(!bench.at("out/members.jsonl").exists());
    bench.run_well(&[]);
    let whole = Bench::new(&demo_inputs(), "");
    whole.run_well(&[]);
    assert!(bench.tables() == whole.tables());
}
