use crate::crash::scene::{Mount, Scene, stderr_of};
use crate::random::Random;
use crate::workbench::{Bench, number, skip};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Mounts the ext4 image of a bench as its store. The image holds what a disk would hold when the
/// power fails: without what was not written through. It commits nothing by itself while a test
/// runs.
fn mount_image(bench: &Bench) -> Option<Mount> {
    let image = bench.at("disk.img");
    Mount::new(bench.at("store"), &["-o", "loop,commit=600", image.to_str().expect("UTF-8")])
}

/// A bench with a disk image that holds the store of the first epoch.
fn first_disk(scene: &Scene) -> Option<Bench> {
    let bench = scene.empty_bench();
    let file = std::fs::File::create(bench.at("disk.img")).expect("created");
    file.set_len(16 << 20).expect("cut");
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(bench.at("disk.img")).status();
    if !made.is_ok_and(|status| status.success()) {
        skip("mkfs.ext4 is missing");
        return None;
    }
    let mount = mount_image(&bench)?;
    scene.fill(&bench);
    drop(mount);
    Some(bench)
}

/// Stops process `id` and waits until all of its threads have stopped between two system calls, or
/// it has ended.
fn stop(id: u32) {
    let sent = Command::new("kill").args(["-STOP", &id.to_string()]).stderr(Stdio::null()).status();
    sent.expect("started");
    let is_still = |stat: std::io::Result<String>| {
        let state = stat.ok().and_then(|stat| stat.rsplit_once(") ")?.1.chars().next());
        state.is_none_or(|state| "TtZX".contains(state))
    };
    let threads = || std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    while !threads().all(|thread| is_still(std::fs::read_to_string(thread.path().join("stat")))) {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// After a power cut the disk holds the epoch before or the new one, complete, and the new one if
/// it was acknowledged; the next run gives the bytes of an undisturbed one.
///
/// Cuts come after an acknowledged epoch or at a random moment of it. Needs root, and Linux with
/// loop devices. More: `PAGEFOLD_POWER_CUTS=20 cargo test --release power_cuts -- --nocapture`.
#[test]
fn power_cuts() {
    let cuts: u64 = number("PAGEFOLD_POWER_CUTS", 4);
    let scene = Scene::new();
    let mut random = Random::seeded();
    let Some(first) = first_disk(&scene) else { return };
    let (mut left, mut run_us) = ([0; 3], 0);
    for cut in 0..cuts {
        let bench = scene.empty_bench();
        let after = scene.empty_bench();
        let copy = |from: &Path, to: &Path| std::fs::copy(from, to).expect("copied");
        copy(&first.at("disk.img"), &bench.at("disk.img"));
        let mount = mount_image(&bench).expect("mounted as before");
        let what = if cut % 2 == 0 {
            let started = Instant::now();
            let output = bench.run(&["--threads", "2"]);
            assert!(output.status.success(), "{}", stderr_of(&output));
            run_us = started.elapsed().as_micros() as u64;
            copy(&bench.at("disk.img"), &after.at("disk.img"));
            format!("cut {cut}, after the exit")
        } else {
            let delay_us = random.below(run_us);
            let mut command = bench.command(&["--threads", "2"]);
            let mut child =
                command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
            std::thread::sleep(Duration::from_micros(delay_us));
            stop(child.id());
            copy(&bench.at("disk.img"), &after.at("disk.img"));
            child.kill().expect("killed");
            child.wait().expect("waited");
            format!("cut {cut}, after {delay_us} us")
        };
        drop(mount);
        let _mount = mount_image(&after).expect("mounted as before");
        let epoch = scene.epoch(&after, &what);
        assert!(cut % 2 == 1 || epoch == 2, "{what}: an acknowledged epoch is lost");
        left[epoch] += 1;
        scene.run_again(&after, &what);
    }
    println!("{cuts} power cuts: {} left the epoch before, {} the new one", left[1], left[2]);
}
