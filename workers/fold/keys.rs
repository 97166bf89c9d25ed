//! Finds the pairs of contents that equal signature keys begin or cease to propose.
//!
//! Contents that share a key of a signature are a bucket. As in groups of equal fingerprints, the
//! pivot rule ([`crate::candidates::pivots`]) decides which contents of a bucket are compared. A
//! pair is emitted once for each key that proposes it, and the proposals are added up in
//! [`crate::fold::pairs`].

use crate::candidates::pivots::PIVOTS;
use crate::candidates::ranks::{changes_within, members};
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::resolve::{Candidate, Distance};
use crate::id::Id;
use crate::store::table::consolidate;
use crate::tables::evidence::row_keys;
use crate::tables::{EvidenceRow, KeyRow};
use std::cmp::Ordering;

/// A key of a content that appeared (+1) or disappeared (-1), sent to the key's owner. Ordered like
/// [`KeyRow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct KeyTouch {
    /// The key.
    pub key: u64,
    /// The signature's number.
    pub signature: u32,
    /// +1 or -1.
    pub diff: i32,
    /// The content.
    pub content: Id,
}

impl Ord for KeyTouch {
    fn cmp(&self, other: &KeyTouch) -> Ordering {
        self.row().cmp(&other.row())
    }
}

impl PartialOrd for KeyTouch {
    fn partial_cmp(&self, other: &KeyTouch) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl KeyTouch {
    fn row(&self) -> KeyRow {
        KeyRow {
            key: self.key,
            kind: self.signature as u8,
            content: self.content,
            diff: self.diff as i8,
        }
    }
}

/// Emits the keys of contents that appeared or disappeared. Of the new evidence only these columns
/// are read.
pub fn touched(epoch: &Epoch, emit: &mut dyn FnMut(KeyTouch)) -> Result<()> {
    let Some(fresh) = epoch.fresh::<EvidenceRow>()? else { return Ok(()) };
    for position in 0..fresh.len() {
        let (columns, row) = fresh.place(position);
        let (content, diff, keys) = row_keys(columns, row);
        for (signature, key) in keys {
            let (signature, diff) = (u32::from(signature), i32::from(diff));
            emit(KeyTouch { key, content, signature, diff });
        }
    }
    Ok(())
}

/// Stores the changed keys, and emits the pairs of their buckets that begin or cease to be
/// proposed.
pub fn keys(epoch: &Epoch, touched: &[KeyTouch], emit: &mut dyn FnMut(Candidate)) -> Result<()> {
    let mut keys: Vec<u64> = touched.iter().map(|touch| touch.key).collect();
    keys.dedup();
    let before = epoch.before::<KeyRow>()?.matching(&keys);
    drop(keys);
    let (mut added, mut dropped) = (0, 0);
    let mut before = before.chunk_by(|a, b| (a.key, a.kind) == (b.key, b.kind)).peekable();
    for changes in touched.chunk_by(|a, b| (a.key, a.signature) == (b.key, b.signature)) {
        epoch.record_progress();
        let bucket = (changes[0].key, changes[0].signature as u8);
        // Skips buckets of the same key but other signatures, which were not touched.
        while before.next_if(|rows| (rows[0].key, rows[0].kind) < bucket).is_some() {}
        let old = before.next_if(|rows| (rows[0].key, rows[0].kind) == bucket).unwrap_or_default();
        // Most keys belong to a single content.
        if old.is_empty() && matches!(changes, [touch] if touch.diff > 0) {
            continue;
        }
        let changes = changes.iter().map(KeyTouch::row);
        let new = consolidate(old.iter().cloned().chain(changes).collect());
        let signature = u16::from(bucket.1);
        changes_within(&members(old, &new, |row: &KeyRow| row.content), |content, other, diff| {
            emit(Candidate::new(content, other, diff, signature, Distance::UNKNOWN));
            *(if diff > 0 { &mut added } else { &mut dropped }) += 1;
        });
        epoch.count_bucket(bucket.1, old.len(), new.len());
        if new.len() > PIVOTS {
            epoch.count(Counter::BucketsOverPivots, 1);
        }
    }
    epoch.count_any(Counter::KeyCandidatesNew, added);
    epoch.count_any(Counter::KeyCandidatesDropped, dropped);
    epoch.write(touched.iter().map(KeyTouch::row))
}
