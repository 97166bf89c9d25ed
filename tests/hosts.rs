//! Hosts of their own on a network of their own: namespaces of the kernel, each with one interface and one address, that meet at a bridge. What goes
//! wrong there is what goes wrong between machines: cables, silence, resets, strangers. As root on Linux with iproute2 and nftables; elsewhere
//! these tests say that they are skipped, or fail if `PAGEFOLD_HOSTS=required`.

use crate::workbench::{Bench, demo_inputs};

/// A process, a thread, a cable, a network or a launcher fails at any moment.
mod faults;
/// The network.
mod lan;
/// What is not finished when a run is stopped, and nothing more, is done by the next.
mod resume;
/// A run on the network: its cluster file, its log as it comes, and what must hold when it is over.
mod scene;
/// Real ssh and sshd.
mod ssh;
/// Connections of others during the start.
mod strangers;

use lan::Lan;
use scene::Scene;

/// Three hosts of one process each give the bytes of one process alone, of the demo crawl and of a larger one, and all of them took part.
#[test]
fn three_hosts_are_one() {
    let Some(lan) = Lan::new(3) else { return };
    for inputs in [Some(demo_inputs()), None] {
        let scene = Scene::new(&lan, inputs, "");
        let run = scene.start();
        run.succeeded(&scene, 1);
        let told = scene.told();
        let shares = told["process"].as_array().expect("a list");
        let records: Vec<u64> = shares.iter().filter_map(|share| share["records"].as_u64()).collect();
        assert!(records.len() == 3 && records.iter().all(|n| *n > 0), "{told}");
        assert_eq!(told["refused"], 0, "{told}");
        assert_eq!((&told["splits_done"], &told["splits_resumed"]), (&told["inputs"], &0.into()), "{told}");
    }
}

/// A bench of one process is what all others are held against.
fn alone(inputs: &std::path::Path) -> Bench {
    let bench = Bench::new(inputs, scene::JOB);
    bench.run_well(&["--threads", "1", "--quiet"]);
    bench
}
