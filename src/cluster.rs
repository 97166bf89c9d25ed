//! The cluster file: in comes a path, out goes the topology: how many processes with how many workers, and how they find each other.

use crate::jobs::{located, text_of};
use serde::Deserialize;
use std::path::Path;
use workers::error::{Error, Result};

/// How processes are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launch {
    /// All on this machine, exchanging over loopback sockets.
    Local,
}

/// Where a job runs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// How processes are started.
    pub launch: Launch,
    /// Processes.
    pub processes: usize,
    /// Worker threads of each.
    pub workers: usize,
    /// Port of the first process; the others take the next ones. 0: whichever are free.
    #[serde(default)]
    pub port: u16,
    /// Seconds until all processes must have found each other.
    #[serde(default = "start_timeout_s")]
    pub start_timeout_s: u64,
    /// Seconds for which a process may be silent before it is lost.
    #[serde(default = "silence_timeout_s")]
    pub silence_timeout_s: u64,
}

fn start_timeout_s() -> u64 {
    60
}

fn silence_timeout_s() -> u64 {
    10
}

impl Topology {
    /// One process with `workers` threads.
    pub fn single(workers: usize) -> Topology {
        let (start_timeout_s, silence_timeout_s) = (start_timeout_s(), silence_timeout_s());
        Topology { launch: Launch::Local, processes: 1, workers, port: 0, start_timeout_s, silence_timeout_s }
    }

    /// All workers of all processes.
    pub fn peers(&self) -> usize {
        self.processes * self.workers
    }
}

/// Reads the cluster file at `path`.
pub fn read(path: &Path) -> Result<Topology> {
    let text = text_of(path)?;
    let topology: Topology = toml::from_str(&text).map_err(|e| located(path, &text, &e))?;
    let limits = [
        ("processes", topology.processes as u64, 256),
        ("workers", topology.workers as u64, 1024),
        ("start_timeout_s", topology.start_timeout_s, 3600),
        ("silence_timeout_s", topology.silence_timeout_s, 3600),
    ];
    for (key, value, max) in limits {
        if !(1..=max).contains(&value) {
            return Err(Error::config(path, format!("{key}: {value} is not within 1 to {max}")));
        }
    }
    if topology.port > 0 && usize::from(topology.port) + topology.processes > 65_536 {
        return Err(Error::config(path, format!("port: {} leaves no port for each process", topology.port)));
    }
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every mistake is one line that names file and key.
    #[test]
    fn mistakes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cluster.toml");
        let good = "launch = \"local\"\nprocesses = 2\nworkers = 1\n";
        std::fs::write(&path, good).expect("written");
        assert_eq!(read(&path).expect("a topology").peers(), 2);
        for (from, to, expected) in [
            ("processes", "proceses", "cluster.toml:2: unknown field `proceses`"),
            ("= 2", "= 0", "processes: 0"),
            ("local", "mars", "cluster.toml:1: unknown variant `mars`"),
            ("= 1", "= 1\nport = 65535", "port: 65535"),
        ] {
            std::fs::write(&path, good.replace(from, to)).expect("written");
            let line = read(&path).expect_err(expected).to_string();
            assert!(line.contains(expected) && !line.contains('\n'), "{line}");
        }
    }
}
