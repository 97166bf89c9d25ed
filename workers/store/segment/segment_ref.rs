//! How a manifest names a segment.

use crate::store::column::KeyRange;
use crate::store::table::MultisetHash;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A segment as a manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// The blake3 of the file, in hex. The file is `data/<table>/<digest>.arrow`.
    pub digest: String,
    /// The size of the file.
    pub bytes: u64,
    /// The number of rows.
    pub rows: u64,
    /// The sum of the rows' diffs, which is the number of live rows that the segment adds.
    pub live: i64,
    /// The multiset hash of the rows.
    pub multiset: MultisetHash,
    /// The leading bits of the first row's key.
    pub first: u64,
    /// The leading bits of the last row's key.
    pub last: u64,
}

impl SegmentRef {
    /// The path of the file in the table's `folder`.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.arrow", self.digest))
    }

    /// Whether it may have keys in `range`.
    pub fn overlaps(&self, range: KeyRange) -> bool {
        range.from <= self.last && range.to.is_none_or(|to| self.first < to)
    }
}
