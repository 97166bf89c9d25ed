//! The job file's `[serve]`: what a server inserts.

use crate::job::pattern;
use crate::job::read::Read;
use crate::read::PageKey;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The job file's `[serve]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Serve {
    /// The folder for the records that `pagefold serve` inserts. Its files are inputs of the job.
    /// Default: none, so that nothing can be inserted.
    pub inbox: Option<PathBuf>,
}

/// The files of `inbox` that runs read.
pub(super) fn sealed(inbox: &Path) -> PathBuf {
    pattern::literally(inbox).join("*.jsonl")
}

impl Serve {
    /// Fails with the reason if the job has an inbox and reads in a way that allows none.
    pub(super) fn check(&self, read: &Read) -> Result<(), String> {
        let why = if self.inbox.is_none() {
            return Ok(());
        } else if read.complete {
            "not with `[read] complete = true`: the next snapshot would remove what was inserted"
        } else if read.records_max.is_some() {
            "not with [read] records_max: a sample would leave out what was inserted"
        } else if read.key == PageKey::Row {
            "not with `[read] key = \"row\"`: a row has no key by which it can be replaced or removed; name a field"
        } else {
            return Ok(());
        };
        Err(why.into())
    }
}
