//! What the launcher says to a worker process over its stdin, and what it hears over its stdout: JSON lines. The key travels here, never on a
//! command line. A worker whose stdin closes has lost its launcher and ends.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use workers::epoch::Receipt;
use workers::error::{Error, Kind};
use workers::job::Job;

/// One process's part of an epoch.
#[derive(Serialize, Deserialize)]
pub struct Task {
    /// The job.
    pub job: Job,
    /// Folder of the frozen plan.
    pub attempt: PathBuf,
    /// This process.
    pub process: usize,
    /// Worker threads of each process.
    pub threads: usize,
    /// Where each process listens.
    pub addresses: Vec<String>,
    /// The attempt's secret, in hex.
    pub key: String,
    /// Seconds until all must have found each other.
    pub start_timeout_s: u64,
    /// Seconds of silence after which a process is lost.
    pub silence_timeout_s: u64,
}

/// What a worker process tells.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// How far it is.
    Progress {
        /// Bytes of input consumed.
        bytes: u64,
        /// Records read.
        records: u64,
        /// The stage.
        stage: u64,
    },
    /// It is done.
    Done {
        /// Its workers' receipts.
        receipts: Vec<Receipt>,
        /// Its greatest resident memory.
        memory_bytes: u64,
    },
    /// It failed.
    Failed {
        /// Exit code of the failure.
        code: u8,
        /// The failure in one line.
        line: String,
    },
}

impl Message {
    /// The message of `error`.
    pub fn failed(error: &Error) -> Message {
        Message::Failed { code: error.kind().exit_code(), line: error.to_string() }
    }
}

/// The kind of failure that a process's exit code tells.
pub fn kind_of(code: u8) -> Kind {
    let kinds = [
        Kind::Usage,
        Kind::Data,
        Kind::NoInput,
        Kind::Output,
        Kind::Io,
        Kind::TryAgain,
        Kind::Protocol,
        Kind::Permission,
        Kind::Config,
    ];
    kinds.into_iter().find(|kind| kind.exit_code() == code).unwrap_or(Kind::Internal)
}

/// Greatest resident memory of this process so far, in bytes; 0 where the system does not say.
pub fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
