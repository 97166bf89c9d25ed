//! Keeps the groups of contents with equal fingerprints, and says what the change of a group means
//! for the buckets.
//!
//! The contents of a group are ranked by digest. The pivot rule ([`crate::candidates::pivots`])
//! decides from the ranks which of them are compared with each other and with the contents of near
//! fingerprints. So a content that appears or disappears concerns the buckets only if it moves
//! ranks that the rule reads.

use crate::candidates::bands::Bands;
use crate::candidates::pivots::PIVOTS;
use crate::candidates::ranks::{GroupChange, members};
use crate::error::Result;
use crate::fold::contents::ContentChange;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::store::table::consolidate;
use crate::tables::GroupRow;
use std::ops::BitOr;

/// A changed fingerprint, sent to the owner of its bucket in one band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct TouchedFingerprint {
    /// The band.
    pub band: u64,
    /// The fingerprint as that band's sort key.
    pub key: u64,
    /// What happened to the group of the fingerprint.
    pub group: GroupTouch,
}

/// What happened to the group of a fingerprint: a set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct GroupTouch(u64);

impl GroupTouch {
    /// No change that concerns a bucket.
    pub const NONE: GroupTouch = GroupTouch(0);
    /// The fingerprint had no content before.
    pub const CREATED: GroupTouch = GroupTouch(1);
    /// The fingerprint has no content any more.
    pub const DELETED: GroupTouch = GroupTouch(2);
    /// The group's pivots changed, so it must be compared with its bucket.
    pub const PROBE: GroupTouch = GroupTouch(4);
    /// The group's ranks changed and it has several contents, so it must be examined inside.
    pub const INSIDE: GroupTouch = GroupTouch(8);

    /// The flags of a group's change.
    fn of(change: GroupChange) -> GroupTouch {
        let flag = |holds: bool, flag: GroupTouch| if holds { flag } else { GroupTouch::NONE };
        flag(change.created, GroupTouch::CREATED)
            | flag(change.deleted, GroupTouch::DELETED)
            | flag(change.pivots_moved, GroupTouch::PROBE)
            | flag(change.members_moved, GroupTouch::INSIDE)
    }

    /// Whether at least one of these `flags` is set.
    pub fn has(self, flags: GroupTouch) -> bool {
        self.0 & flags.0 != 0
    }

    /// Whether the fingerprint had no content before.
    pub fn is_created(self) -> bool {
        self.has(GroupTouch::CREATED)
    }

    /// Whether the fingerprint has no content any more.
    pub fn is_deleted(self) -> bool {
        self.has(GroupTouch::DELETED)
    }

    /// Whether the fingerprint is live and is compared with all others of its bucket.
    pub fn is_probing(self) -> bool {
        self.has(GroupTouch::PROBE) && !self.is_deleted()
    }

    /// Whether pairs with other fingerprints of the bucket may change.
    pub fn concerns_buckets(self) -> bool {
        self.has(GroupTouch::PROBE | GroupTouch::DELETED)
    }

    /// Whether the group must be examined inside.
    pub fn is_inside(self) -> bool {
        self.has(GroupTouch::INSIDE)
    }
}

impl BitOr for GroupTouch {
    type Output = GroupTouch;

    fn bitor(self, other: GroupTouch) -> GroupTouch {
        GroupTouch(self.0 | other.0)
    }
}

/// Stores the changed members of groups, and emits each changed group to the bands that it
/// concerns. Contents that are not comparable are in no group.
pub fn groups(
    epoch: &Epoch,
    bands: &Bands,
    changes: &[ContentChange],
    emit: &mut dyn FnMut(TouchedFingerprint),
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
        epoch.record_progress();
        let key = changes[0].key;
        let old = before.next_if(|rows| rows[0].key == key).unwrap_or_default();
        let new = consolidate([old, changes].concat());
        let members = members(old, &new, |row: &GroupRow| row.content);
        let group = GroupTouch::of(GroupChange::of(&members));
        // A change inside the group concerns band 0 only, because the key of a group is its key in
        // band 0.
        let concerned = match group {
            GroupTouch::NONE => 0,
            GroupTouch::INSIDE => 1,
            _ => bands.count(),
        };
        let fingerprint = bands.unkey(0, key);
        for band in 0..concerned {
            emit(TouchedFingerprint {
                band: band as u64,
                key: bands.key(band, fingerprint),
                group,
            });
        }
        epoch.count_bucket(0, old.len(), new.len());
        if new.len() > PIVOTS {
            epoch.count(Counter::GroupsOverPivots, 1);
        }
    }
    epoch.write(rows)
}
