//! Measures what each operator of an epoch does on each worker: when, how many rows, how many
//! bytes.
//!
//! A worker runs one operator at a time, so its spans follow each other and never overlap. What is
//! between two spans is sending, waiting for other workers, and propagation. To measure takes two
//! looks at the clock for an operator and a sum for a row, so it is always done.

use serde::{Deserialize, Serialize};

/// What an operator took in and gave out on one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Rows that it received; records that `ingest` read.
    pub rows_in: u64,
    /// Rows that it sent on.
    pub rows_out: u64,
    /// The bytes of the rows that it received; of `ingest`, of the inputs as they lie on disk.
    pub bytes_in: u64,
    /// The bytes of the segments that it wrote.
    pub bytes_written: u64,
}

impl Volume {
    /// Adds another one.
    pub fn add(&mut self, other: Volume) {
        self.rows_in += other.rows_in;
        self.rows_out += other.rows_out;
        self.bytes_in += other.bytes_in;
        self.bytes_written += other.bytes_written;
    }
}

/// One operator on one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorSpan {
    /// One of [`crate::fold::operators::OPERATORS`].
    pub operator: String,
    /// When it had all its rows, in microseconds after the worker began.
    pub began_us: u64,
    /// When it was done, likewise.
    pub ended_us: u64,
    /// What it took in and gave out.
    pub volume: Volume,
}

impl OperatorSpan {
    /// The stage of the operator, which is a file of this folder.
    pub fn stage(&self) -> &str {
        self.operator.split('.').next().unwrap_or_default()
    }

    /// How long it took, in microseconds.
    pub fn us(&self) -> u64 {
        self.ended_us.saturating_sub(self.began_us)
    }
}
