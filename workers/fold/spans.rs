//! Measures what each operator of an epoch does on each worker: when, how many rows, how many
//! bytes.
//!
//! A worker runs one operator at a time, so its spans follow each other and never overlap. Between
//! two spans a worker sends, waits for other workers, or propagates labels. To measure costs two
//! readings of the clock for each operator and one addition for each row, so it is always done.

use serde::{Deserialize, Serialize};

/// The rows and bytes that an operator received and wrote on one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Rows that it received; records that `ingest` read.
    pub rows_in: u64,
    /// Rows that it sent on.
    pub rows_out: u64,
    /// The bytes of the rows that it received. For `ingest`, the bytes of the inputs on disk.
    pub bytes_in: u64,
    /// The bytes of the segments that it wrote.
    pub bytes_written: u64,
}

impl Volume {
    /// Adds another volume.
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
    /// When it was done, in microseconds after the worker began.
    pub ended_us: u64,
    /// The rows and bytes that it received and wrote.
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
