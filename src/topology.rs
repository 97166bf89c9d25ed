//! The topology of a job: which processes run on which hosts, how they are started, and their
//! timeouts.

use serde::Deserialize;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use workers::mesh::Protection;

/// How processes are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launch {
    /// All on this machine, connected over loopback.
    Local,
    /// One process on each host, started by `ssh` or a replacement for it.
    Ssh,
}

/// A host and the process on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name in messages.
    pub name: String,
    /// The IP address or name that the other processes dial.
    pub address: String,
    /// The address to listen on, if it is not `address`.
    pub bind: Option<IpAddr>,
    /// The port to listen on; 0 for any free port.
    pub port: u16,
    /// The command that starts the process, with its arguments.
    pub command: Vec<String>,
    /// The working folder, if it is not the one in which the process starts.
    pub folder: Option<PathBuf>,
}

/// Where a job runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// How processes are started.
    pub launch: Launch,
    /// The hosts, each with one process.
    pub hosts: Vec<Host>,
    /// Worker threads of each process.
    pub workers: usize,
    /// How many hosts must remain when others are left out after two failures.
    pub hosts_min: usize,
    /// The number of attempts.
    pub attempts_max: u32,
    /// The pause before the second attempt; 5 times as long before the third, 25 times before the
    /// fourth.
    pub backoff: Duration,
    /// Limit for all processes to connect.
    pub start_timeout: Duration,
    /// Silence after which a process is lost.
    pub silence_timeout: Duration,
    /// Limit for a worker to finish a portion of its work, and for all workers to be idle.
    pub progress_timeout: Duration,
    /// How data is protected between processes.
    pub protection: Protection,
}

/// The most worker threads of a process.
pub const WORKERS_MAX: u64 = 1024;
/// The longest timeout.
pub const SECONDS_MAX: u64 = 86_400;

impl Topology {
    /// One process with `workers` threads.
    pub fn single(workers: usize) -> Topology {
        let hosts = vec![Host::local(0, 0, String::new())];
        let second = Duration::from_secs(1);
        Topology {
            launch: Launch::Local,
            hosts,
            workers,
            hosts_min: 1,
            attempts_max: 1,
            backoff: second,
            start_timeout: 60 * second,
            silence_timeout: 10 * second,
            progress_timeout: 600 * second,
            protection: Protection::PlainOnLoopback,
        }
    }

    /// Worker threads of all processes.
    pub fn peers(&self) -> usize {
        self.hosts.len() * self.workers
    }
}

impl Host {
    /// A process on this machine, which runs `binary`.
    pub fn local(process: usize, port: u16, binary: String) -> Host {
        Host {
            name: format!("process {process}"),
            address: "127.0.0.1".into(),
            bind: None,
            port,
            command: vec![binary, "worker".into()],
            folder: None,
        }
    }

    /// Whether both the address to dial and the address to listen on are certainly loopback; a name
    /// may resolve to any address.
    pub fn is_loopback(&self) -> bool {
        let loopback = |ip: IpAddr| ip.is_loopback();
        self.address.parse().is_ok_and(loopback) && self.bind.is_none_or(loopback)
    }
}
