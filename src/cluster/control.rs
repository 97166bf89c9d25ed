//! What the launcher says to a worker process over its stdin, and what it hears over its stdout: JSON lines. The key travels here, never on a
//! command line nor in the environment. The talk:
//!
//! ```text
//! worker    hello: the digest of its own binary       nothing is told to another build, not even the key
//! launcher  task, or probe
//! worker    listening: the address it has bound
//! launcher  peers: where each process listens          the mesh starts over the listeners that are open
//! both      a line at least each second: how far the worker is; that the launcher lives
//! worker    done, or failed
//! ```
//!
//! A worker whose stdin closes, or says nothing for the silence limit, has lost its launcher and ends.

use crate::cluster::probe::{Finding, Probe};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use workers::error::{Error, Kind};
use workers::fold::epoch::Receipt;
use workers::job::Job;
use workers::mesh::Key;
use workers::store::digest;

/// How often each side says something.
pub const SEND_INTERVAL: Duration = Duration::from_millis(500);

/// How long the launcher hears the rest after a process complained about another: two notice the same silence up to a beat apart, and a fifth of the
/// limit is a beat between processes.
pub fn settle(silence: Duration) -> Duration {
    silence / 5 + SEND_INTERVAL
}

/// A process's place among the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// This process.
    pub process: usize,
    /// All processes.
    pub processes: usize,
    /// What the others dial.
    pub address: String,
    /// What it listens on, if not that.
    pub bind: Option<IpAddr>,
    /// The port, 0 for any.
    pub port: u16,
    /// The folder it works in, against which the job's relative paths are taken.
    pub folder: PathBuf,
    /// Whether it is the launcher's child and is to die with it.
    pub is_child: bool,
    /// The attempt's secret.
    pub key: Key,
    /// Whether data is encrypted on its way.
    pub encrypt: bool,
    /// Whether it need not be, beyond loopback.
    pub plaintext: bool,
    /// Until all must have found each other.
    pub start_timeout: Duration,
    /// Silence after which a process is lost.
    pub silence_timeout: Duration,
}

/// One process's part of an epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The job.
    pub job: Job,
    /// Folder of the frozen plan.
    pub attempt: PathBuf,
    /// Worker threads of each process.
    pub threads: usize,
}

/// What the launcher says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Work.
    Task(Box<(Assignment, Task)>),
    /// Try what working would need.
    Probe(Box<(Assignment, Probe)>),
    /// Where each process listens, in order.
    Peers(Vec<String>),
    /// The launcher lives.
    Beat,
}

/// What a worker process tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// It has started. The first line of every version.
    Hello {
        /// blake3 of its binary, in hex.
        digest: String,
        /// Its process id.
        pid: u32,
    },
    /// Its socket is open.
    Listening {
        /// Address and port that it has bound.
        address: SocketAddr,
    },
    /// How far it is.
    Progress {
        /// Bytes of input consumed.
        bytes: u64,
        /// Records read.
        records: u64,
        /// The stage.
        stage: u64,
        /// Its greatest resident memory, in bytes.
        memory_bytes: u64,
        /// How often each worker has come back from its operators.
        turns: Vec<(usize, u64)>,
        /// In how many turns some worker had something to do.
        busy_turns: u64,
    },
    /// It has tried.
    Probed {
        /// What it found.
        findings: Vec<Finding>,
    },
    /// It is done.
    Done {
        /// Its workers' receipts.
        receipts: Vec<Receipt>,
        /// Its greatest resident memory.
        memory_bytes: u64,
        /// Splits that it finished.
        splits_done: u64,
        /// Splits that it found finished.
        splits_resumed: u64,
        /// Connections that it refused at its start, by reason.
        refused: BTreeMap<String, u64>,
    },
    /// It failed.
    Failed {
        /// Exit code of the failure.
        code: u8,
        /// The failure in one line.
        line: String,
        /// The process that it blames, if another.
        peer: Option<usize>,
        /// Whether another attempt may mend it: a process was lost, a port was taken.
        mends: bool,
    },
}

impl Message {
    /// The message of `error`; it `mends` by itself if so, or if it is a peer's loss.
    pub fn failed(error: &Error, mends: bool) -> Message {
        let (code, line, peer) = (error.kind().exit_code(), error.to_string(), error.peer());
        Message::Failed { code, line, peer, mends: error.kind() == Kind::TryAgain && (mends || peer.is_some()) }
    }
}

/// The kind of failure that a process's exit code tells.
pub fn kind_of(code: u8) -> Kind {
    Kind::ALL.into_iter().find(|kind| kind.exit_code() == code).unwrap_or(Kind::Internal)
}

/// Greatest resident memory of this process so far, in bytes; 0 where the system does not say.
pub fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// blake3 of the binary that runs, in hex; not of another that has taken its place meanwhile.
pub fn own_digest() -> workers::error::Result<String> {
    let running = std::path::Path::new("/proc/self/exe");
    if running.exists() {
        return digest::of_file(running);
    }
    let path = std::env::current_exe().map_err(|e| Error::internal("cannot tell where pagefold lies").caused_by(e))?;
    digest::of_file(&path)
}
