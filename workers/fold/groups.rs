//! Groups: in come contents born and gone, out goes what that means for the buckets. Contents of one fingerprint form a group, and rank in it
//! by digest; which of them are held against each other, and against those of near fingerprints, the pivot rule says ([`crate::candidates::pivots`]).

use crate::candidates::bands::Bands;
use crate::candidates::pivots::PIVOTS;
use crate::candidates::ranks::{GroupChange, members};
use crate::error::Result;
use crate::fold::contents::ContentChange;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::tables::GroupRow;

/// A fingerprint that concerns a band's bucket; on its way to the bucket's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Touched {
    /// The band.
    pub band: u64,
    /// The fingerprint as that band's sort key.
    pub key: u64,
    /// [`BORN`], [`GONE`], [`PROBE`], [`INSIDE`].
    pub bits: u64,
}

/// The fingerprint had no content before.
pub const BORN: u64 = 1;
/// The fingerprint has no content any more.
pub const GONE: u64 = 2;
/// The group must be held against the bucket: its first contents are others, or in other ranks.
pub const PROBE: u64 = 4;
/// And against itself, as it has more than one content.
pub const INSIDE: u64 = 8;

/// The flags of a group's change.
pub fn bits(change: GroupChange) -> u64 {
    let bit = |holds: bool, bit: u64| if holds { bit } else { 0 };
    bit(change.created, BORN)
        | bit(change.deleted, GONE)
        | bit(change.pivots_moved, PROBE)
        | bit(change.members_moved, INSIDE)
}

/// Groups contents by fingerprint; `births` are this worker's own. Those too short to have a fingerprint stay outside.
pub fn groups(epoch: &Epoch, bands: &Bands, births: &[ContentChange], give: &mut dyn FnMut(Touched)) -> Result<()> {
    let mut rows: Vec<GroupRow> = births
        .iter()
        .filter(|birth| birth.too_short == 0)
        .map(|birth| GroupRow { key: bands.key(0, birth.fingerprint), content: birth.content, diff: birth.diff as i8 })
        .collect();
    rows.sort_unstable();
    let mut keys: Vec<u64> = rows.iter().map(|row| row.key).collect();
    keys.dedup();
    let table = epoch.before::<GroupRow>()?;
    let before = table.matching(&keys);
    let mut before = before.chunk_by(|a, b| a.key == b.key).peekable();
    for changes in rows.chunk_by(|a, b| a.key == b.key) {
        let key = changes[0].key;
        let old = before.next_if(|rows| rows[0].key == key).unwrap_or_default();
        let new = crate::store::table::consolidate([old, changes].concat());
        let bits = bits(GroupChange::of(&members(old, &new, |row: &GroupRow| row.content)));
        // What changes inside alone is for band 0, whose key is the group's.
        let concerned = if bits & !INSIDE != 0 { bands.count() } else { usize::from(bits != 0) };
        let fingerprint = bands.unkey(0, key);
        for band in 0..concerned {
            give(Touched { band: band as u64, key: bands.key(band, fingerprint), bits });
        }
        epoch.count_bucket(0, old.len(), new.len());
        if new.len() > PIVOTS {
            epoch.count(Counter::GroupsOverPivots, 1);
        }
    }
    epoch.write(rows)
}
