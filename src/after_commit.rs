//! What a command does after it has committed an epoch, and how an error says that the epoch is
//! there.

use workers::error::{Error, Kind, Result};
use workers::export::{self, Exported};
use workers::job::Job;
use workers::store::Store;
use workers::store::manifest::Head;

/// Exports the epoch that a command has just committed. An error says that the epoch is valid.
pub fn export_committed(job: &Job, store: &Store, head: &Head) -> Result<Exported> {
    export::export(job, store, head).map_err(|error| {
        let left = match error.kind() {
            // A file of the store is damaged or missing, and its error says what helps.
            Kind::Io => "its results are not written",
            _ => "its results are not written; `pagefold export JOB` writes them",
        };
        committed_but(head, left, error)
    })
}

/// `error`, which left something undone when the epoch of `head` was committed.
pub fn committed_but(head: &Head, left: &str, error: Error) -> Error {
    let line = format!("epoch {} is committed, and only {left}", head.manifest.epoch);
    Error::new(error.kind(), line).caused_by(error)
}
