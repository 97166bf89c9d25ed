//! Keeps the groups of contents with equal fingerprints, and says what a change of one means for
//! the buckets.
//!
//! The contents of a group are ranked by digest. The pivot rule ([`crate::candidates::pivots`])
//! decides from the ranks which of them are compared with each other and with the contents of near
//! fingerprints. So a content that appears or disappears concerns the buckets only if it moves
//! ranks that the rule looks at.

use crate::candidates::bands::Bands;
use crate::candidates::pivots::PIVOTS;
use crate::candidates::ranks::{GroupChange, members};
use crate::error::Result;
use crate::fold::contents::ContentChange;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::tables::GroupRow;

/// A changed fingerprint, sent to the owner of its bucket in one band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Touched {
    /// The band.
    pub band: u64,
    /// The fingerprint as that band's sort key.
    pub key: u64,
    /// [`CREATED`], [`DELETED`], [`PROBE`], [`INSIDE`].
    pub bits: u64,
}

/// The fingerprint had no content before.
pub const CREATED: u64 = 1;
/// The fingerprint has no content any more.
pub const DELETED: u64 = 2;
/// The group's pivots changed, so it must be compared with its bucket.
pub const PROBE: u64 = 4;
/// The group's ranks changed and it has several contents, so it must be examined inside.
pub const INSIDE: u64 = 8;

/// The flags of a group's change.
pub fn bits(change: GroupChange) -> u64 {
    let bit = |holds: bool, bit: u64| if holds { bit } else { 0 };
    bit(change.created, CREATED)
        | bit(change.deleted, DELETED)
        | bit(change.pivots_moved, PROBE)
        | bit(change.members_moved, INSIDE)
}

/// Stores the changed members of groups, and emits each changed group to the bands that it
/// concerns. Contents that are not comparable are in no group.
pub fn groups(
    epoch: &Epoch,
    bands: &Bands,
    changes: &[ContentChange],
    emit: &mut dyn FnMut(Touched),
) -> Result<()> {
    let row = |change: &ContentChange| GroupRow {
        key: bands.key(0, change.fingerprint),
        content: change.content,
        diff: change.diff as i8,
    };
    let mut rows: Vec<GroupRow> = changes.iter().map(row).collect();
    rows.sort_unstable();
    let mut keys: Vec<u64> = rows.iter().map(|row| row.key).collect();
    keys.dedup();
    let table = epoch.before::<GroupRow>()?;
    let before = table.matching(&keys);
    let mut before = before.chunk_by(|a, b| a.key == b.key).peekable();
    for changes in rows.chunk_by(|a, b| a.key == b.key) {
        epoch.advanced();
        let key = changes[0].key;
        let old = before.next_if(|rows| rows[0].key == key).unwrap_or_default();
        let new = crate::store::table::consolidate([old, changes].concat());
        let bits = bits(GroupChange::of(&members(old, &new, |row: &GroupRow| row.content)));
        // A change inside the group concerns band 0 only, whose key is the group's.
        let concerned = if bits & !INSIDE != 0 { bands.count() } else { usize::from(bits != 0) };
        let fingerprint = bands.unkey(0, key);
        for band in 0..concerned {
            emit(Touched { band: band as u64, key: bands.key(band, fingerprint), bits });
        }
        epoch.count_bucket(0, old.len(), new.len());
        if new.len() > PIVOTS {
            epoch.count(Counter::GroupsOverPivots, 1);
        }
    }
    epoch.write(rows)
}
