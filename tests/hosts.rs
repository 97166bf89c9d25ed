//! Tests of runs on several hosts, and of what fails between machines.
//!
//! A host is a network namespace of the kernel with one interface and one address; a bridge
//! connects the hosts. So the tests can pull cables, drop packets, reset connections and connect as
//! strangers. They need root and Linux with iproute2 and nftables.

use crate::workbench::{Bench, demo_inputs};

/// A process, a thread, a cable, a network or a launcher fails at any moment.
mod faults;
/// The network.
mod lan;
/// A stopped run is continued without repeating finished work.
mod resume;
/// A run on the network: its cluster file, its log as it is written, and what must hold at its end.
mod scene;
/// Real ssh and sshd.
mod ssh;
/// Strangers connect during the start.
mod strangers;

use lan::Lan;
use scene::Scene;

/// Three hosts of one process each give the bytes of one process, for the demo crawl, whose small
/// files make fewer splits than hosts, and for a larger one, in which every host took part.
#[test]
fn three_hosts_are_one() {
    let Some(lan) = Lan::new(3) else { return };
    for inputs in [Some(demo_inputs()), None] {
        let is_larger = inputs.is_none();
        let scene = Scene::new(&lan, inputs, "");
        let run = scene.start();
        run.succeeded(&scene, 1);
        let ended = scene.run_json();
        let shares = ended["process"].as_array().expect("a list");
        let records: Vec<u64> =
            shares.iter().filter_map(|share| share["records"].as_u64()).collect();
        assert!(records.len() == 3 && records.iter().all(|n| *n > 0 || !is_larger), "{ended}");
        assert_eq!(
            (&ended["refused"], &ended["splits_resumed"]),
            (&0.into(), &0.into()),
            "{ended}"
        );
        assert!(ended["splits_done"] == ended["inputs"] || !is_larger, "{ended}");
    }
}

/// Runs the job in one process: the reference for all runs on several hosts.
fn alone(inputs: &std::path::Path) -> Bench {
    let bench = Bench::new(inputs, scene::JOB);
    bench.run_well(&["--threads", "1", "--quiet"]);
    bench
}
