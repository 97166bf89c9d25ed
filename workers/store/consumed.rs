//! Describes what one epoch took: an entry of the manifest.

use crate::store::lists::FileRef;
use serde::{Deserialize, Serialize};

/// What one epoch took: the inputs that it consumed, and the bounds by which it let pages expire.
///
/// `rebuild` reads the same again, so the entry has everything that a plan does not find in the job
/// and the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumed {
    /// The epoch.
    pub epoch: u64,
    /// The time of its plan, seconds since 1970.
    pub logical_time: i64,
    /// The index of the source in [`Manifest::sources`](crate::store::manifest::Manifest::sources).
    pub source: u16,
    /// Whether the inputs were a complete snapshot of the source.
    pub complete: bool,
    /// The inputs, one on each line. There are none if the epoch only let pages expire.
    pub file: FileRef,
    /// The number of lines at its beginning whose inputs were read. The bytes of the others were
    /// known already.
    pub read: u64,
    /// The number of lines after them whose inputs gave rejected records and no accepted one.
    pub barren: u64,
    /// Whether no record of the inputs was accepted. The epoch then does not count as one that read
    /// something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// When pages expired.
    pub retention: Retention,
    /// Pages that had been gone since before this time were forgotten; seconds since 1970.
    pub gone_min: i64,
    /// Whether a rollback undid the epoch.
    pub undone: bool,
}

/// When pages expire: a page stays if its last visit satisfies both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// The least epoch of the last visit.
    pub epoch_min: u32,
    /// The least time of the last visit, seconds since 1970.
    pub time_min: i64,
}

impl Default for Retention {
    /// No page expires.
    fn default() -> Retention {
        Retention { epoch_min: 0, time_min: i64::MIN }
    }
}
