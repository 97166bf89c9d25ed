//! The protocol between the launcher and a worker process: JSON lines over stdin and stdout.
//!
//! The mesh key travels here, never on a command line or in the environment.
//!
//! ```text
//! launcher  a sign of life, with the silence limit
//! worker    hello: the digest of its own binary   another build gets no task, and not the key
//! launcher  task, or probe
//! worker    listening: the address it has bound
//! launcher  peers: where each process listens     the mesh starts over the open listeners
//! both      a line at least each second: progress, or a sign of life
//! worker    done, probed or failed
//! ```
//!
//! A worker has lost its launcher, and ends, when its stdin closes or is silent for the silence
//! limit.

use crate::cluster::probe::{Finding, Probe};
use crate::processes::ObservedProcess;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use workers::error::{Error, Kind};
use workers::fold::receipt::Receipt;
use workers::job::Job;
use workers::locks::lock;
use workers::mesh::{Key, Protection};

/// How often each side sends a line.
pub const SEND_INTERVAL: Duration = Duration::from_millis(500);

/// How long the launcher waits for further reports after one process has reported another as lost.
/// Two processes notice the same silence up to one heartbeat apart, and the heartbeat interval is a
/// fifth of the limit.
pub fn settle(silence: Duration) -> Duration {
    silence / 5 + SEND_INTERVAL
}

/// What the launcher assigns to one process: its place among the others, and how it reaches them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The index of this process.
    pub process: usize,
    /// The number of processes.
    pub processes: usize,
    /// The address that the others dial.
    pub address: String,
    /// The address to listen on, if it is not `address`.
    pub bind: Option<IpAddr>,
    /// The port to listen on, 0 for any.
    pub port: u16,
    /// The working folder, to which the job's relative paths refer.
    pub folder: PathBuf,
    /// Whether the process is the launcher's child and must die with it.
    pub is_child: bool,
    /// The key of this attempt's mesh.
    pub key: Key,
    /// How data is protected between processes.
    pub protection: Protection,
    /// Limit for all processes to connect.
    pub start_timeout: Duration,
    /// Silence after which a process is lost.
    pub silence_timeout: Duration,
}

/// The work of one process in an epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The job.
    pub job: Job,
    /// The folder of the frozen plan.
    pub attempt: PathBuf,
    /// Worker threads of each process.
    pub threads: usize,
}

/// What the launcher sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Do this task.
    Task(Box<(Assignment, Task)>),
    /// Run this probe.
    Probe(Box<(Assignment, Probe)>),
    /// The addresses on which the processes listen, in order of index.
    Peers(Vec<String>),
    /// The launcher is alive. It may be silent for so long.
    Beat {
        /// [`Assignment::silence_timeout`], for a process that has no assignment yet.
        silence_timeout: Duration,
    },
}

/// What a process says of its task at the end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// Its workers' receipts.
    pub receipts: Vec<Receipt>,
    /// Its greatest resident memory.
    pub memory_bytes: u64,
    /// Splits that it finished.
    pub splits_done: u64,
    /// Splits that were finished before.
    pub splits_resumed: u64,
    /// Connections that it refused while it started, by reason.
    pub refused: BTreeMap<String, u64>,
}

impl Done {
    /// Records its figures in `observed`.
    pub fn record(&self, observed: &ObservedProcess) {
        observed.memory_bytes.fetch_max(self.memory_bytes, Ordering::Relaxed);
        observed.progress.splits_done.store(self.splits_done, Ordering::Relaxed);
        observed.progress.splits_resumed.store(self.splits_resumed, Ordering::Relaxed);
        *lock(&observed.refused) = self.refused.clone();
    }
}

/// What a worker process sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// It has started. This is the first line in every version of the protocol.
    Hello {
        /// blake3 of its binary, in hex.
        digest: String,
        /// Its process id.
        pid: u32,
    },
    /// Its listener is open.
    Listening {
        /// The address and port that it has bound.
        address: SocketAddr,
    },
    /// Its progress.
    Progress {
        /// Bytes of input that it has read.
        bytes: u64,
        /// Records that it has read.
        records: u64,
        /// The index of its current stage.
        stage: u64,
        /// Its greatest resident memory.
        memory_bytes: u64,
        /// The portions of work that each worker has finished.
        turns: Vec<(usize, u64)>,
        /// The number of turns in which some worker had something to do.
        busy_turns: u64,
    },
    /// The probe is finished.
    Probed {
        /// What the probe found.
        findings: Vec<Finding>,
    },
    /// The task is finished.
    Done(Done),
    /// The task failed.
    Failed {
        /// Exit code of the failure.
        code: u8,
        /// The failure in one line.
        line: String,
        /// The process that it blames, if it is another one.
        peer: Option<usize>,
        /// Whether another attempt may succeed: a process was lost, or a port was taken.
        mends: bool,
    },
}

impl Message {
    /// The message for `error`. Another attempt may succeed if `mends` says so or a peer was lost.
    pub fn failed(error: &Error, mends: bool) -> Message {
        let (code, line, peer) = (error.kind().exit_code(), error.to_string(), error.peer());
        Message::Failed {
            code,
            line,
            peer,
            mends: error.kind() == Kind::TryAgain && (mends || peer.is_some()),
        }
    }
}

/// The kind of failure with this exit code.
pub fn kind_of(code: u8) -> Kind {
    Kind::ALL.into_iter().find(|kind| kind.exit_code() == code).unwrap_or(Kind::Internal)
}
