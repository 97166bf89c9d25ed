//! The cluster file: in comes a path, out goes the topology: which processes there are, on which hosts, how they are started, and how long each
//! may take or be silent. Every mistake is one line with file, line and key. It holds no secret, and nothing in it ever passes through a
//! shell of this machine; what a remote shell will see is made of characters that none of them knows.

use serde::Deserialize;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How processes are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launch {
    /// All on this machine, exchanging over loopback sockets.
    Local,
    /// One on each host, by `ssh` or what stands in its place.
    Ssh,
}

/// Where one process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What it is called in messages and blamed by.
    pub name: String,
    /// IP or name that the others dial.
    pub address: String,
    /// What it listens on; none is the address itself.
    pub bind: Option<IpAddr>,
    /// Port that it listens on; 0 is whichever is free.
    pub port: u16,
    /// Command and arguments that start it.
    pub command: Vec<String>,
    /// The folder it works in; none is where it is started.
    pub folder: Option<PathBuf>,
}

/// Where a job runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// How processes are started.
    pub launch: Launch,
    /// A process each.
    pub hosts: Vec<Host>,
    /// Worker threads of each.
    pub workers: usize,
    /// Hosts that must be left when others have failed twice.
    pub hosts_min: usize,
    /// Times that the work is begun.
    pub attempts_max: u32,
    /// Before the second attempt; 5 times as long before the third, 25 times before the fourth.
    pub backoff: Duration,
    /// Until all processes must have found each other.
    pub start_timeout: Duration,
    /// For which a process may be silent before it is lost.
    pub silence_timeout: Duration,
    /// For which a worker may stay in one operator, and all workers may have nothing to do, before they count as stuck.
    pub progress_timeout: Duration,
    /// Whether data is encrypted on its way.
    pub encrypt: bool,
    /// Whether it need not be, beyond loopback.
    pub plaintext: bool,
}

/// Processes of a job.
pub const PROCESSES_MAX: usize = 256;
/// Worker threads of a process.
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
            encrypt: false,
            plaintext: false,
        }
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

    /// Whether what others dial and what it listens on is loopback for certain; a name may be anything.
    pub fn is_loopback(&self) -> bool {
        let loopback = |ip: IpAddr| ip.is_loopback();
        self.address.parse().is_ok_and(loopback) && self.bind.is_none_or(loopback)
    }
}
