//! Groups: in come contents born and gone, out goes what that means for the buckets. Contents of one fingerprint form a group; its first
//! [`PIVOTS`] contents by digest are pivots, and two contents are examined only if one of them is a pivot (their
//! fingerprints being within k). Groups up to that size are examined exhaustively; a template with a million variants costs 64 million
//! comparisons, not half a trillion. The rule reads nothing but the live set.

use crate::bands::Bands;
use crate::contents::Birth;
use crate::document::Id;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::store::table::table;

/// Pivots of a group.
pub const PIVOTS: usize = 64;

table! {
    /// A content under its fingerprint; band 0 of the bands too, so the key is that band's.
    pub struct GroupRow in "fingerprint_contents", columns GroupColumns {
        key { /// The fingerprint as band 0's sort key.
              key: u64,
              /// The content.
              content: Id }
        value { }
        history { }
    }
}

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
/// Something in the group must be held against the bucket: a new content, or one that became or ceased to be a pivot.
pub const PROBE: u64 = 4;
/// And against the group itself, which has more than one content.
pub const INSIDE: u64 = 8;

/// One content's standing in its group before and after the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The content.
    pub content: Id,
    /// Its rank by digest before, if it was alive.
    pub before: Option<usize>,
    /// Its rank by digest after, if it is alive.
    pub after: Option<usize>,
}

fn is_pivot(rank: Option<usize>) -> bool {
    rank.is_some_and(|rank| rank < PIVOTS)
}

impl Member {
    /// Whether it is or was a pivot.
    pub fn was_or_is_pivot(&self) -> bool {
        is_pivot(self.before) || is_pivot(self.after)
    }

    /// Whether it must be held against others again.
    pub fn has_changed(&self) -> bool {
        self.after.is_some() && (self.before.is_none() || is_pivot(self.before) != is_pivot(self.after))
    }
}

/// Whether the pivot rule examines a pair of contents within k after the epoch but not before: +1; the reverse while both
/// live: -1; else 0.
pub fn change(a: &Member, b: &Member) -> i32 {
    let alive = |x: Option<usize>, y: Option<usize>| x.is_some() && y.is_some();
    let before = alive(a.before, b.before) && (is_pivot(a.before) || is_pivot(b.before));
    let after = alive(a.after, b.after) && (is_pivot(a.after) || is_pivot(b.after));
    match (before, after) {
        (false, true) => 1,
        // A content that is gone takes its pairs with it; the group need not.
        (true, false) if alive(a.after, b.after) => -1,
        _ => 0,
    }
}

/// The members of a group or bucket, of those before and those after, both in order of digest.
pub fn members(before: &[Id], after: &[Id]) -> Vec<Member> {
    let mut members = Vec::with_capacity(after.len());
    let (mut i, mut j) = (0, 0);
    while i < before.len() || j < after.len() {
        let old = before.get(i).copied();
        let new = after.get(j).copied();
        let content = match (old, new) {
            (Some(old), Some(new)) => old.min(new),
            (old, new) => old.or(new).unwrap_or(Id::NONE),
        };
        let before = (old == Some(content)).then_some(i);
        let after = (new == Some(content)).then_some(j);
        members.push(Member { content, before, after });
        i += usize::from(before.is_some());
        j += usize::from(after.is_some());
    }
    members
}

/// The contents of a group.
pub fn ids(rows: &[GroupRow]) -> Vec<Id> {
    rows.iter().map(|row| row.content).collect()
}

/// What a group's change means for the buckets.
pub fn bits(members: &[Member]) -> u64 {
    let live = |rank: fn(&Member) -> Option<usize>| members.iter().filter(|m| rank(m).is_some()).count();
    let (before, after) = (live(|m| m.before), live(|m| m.after));
    let probe = members.iter().any(Member::has_changed);
    let bit = |holds: bool, bit: u64| if holds { bit } else { 0 };
    bit(before == 0 && after > 0, BORN)
        | bit(before > 0 && after == 0, GONE)
        | bit(probe, PROBE)
        | bit(probe && after > 1, INSIDE)
}

/// Groups contents by fingerprint; `births` are this worker's own. Those too short to have a fingerprint stay outside.
pub fn groups(epoch: &Epoch, bands: &Bands, births: &[Birth], give: &mut dyn FnMut(Touched)) -> Result<()> {
    let mut rows: Vec<GroupRow> = births
        .iter()
        .filter(|birth| birth.too_short == 0)
        .map(|birth| GroupRow { key: bands.key(0, birth.fingerprint), content: birth.content, diff: birth.diff as i8 })
        .collect();
    rows.sort_unstable();
    let mut keys: Vec<u64> = rows.iter().map(|row| row.key).collect();
    keys.dedup();
    let table = epoch.before::<GroupRow>("fingerprint_contents")?;
    let before = table.matching(&keys);
    let mut before = before.chunk_by(|a, b| a.key == b.key).peekable();
    for changes in rows.chunk_by(|a, b| a.key == b.key) {
        let key = changes[0].key;
        let old = before.next_if(|rows| rows[0].key == key).unwrap_or_default();
        let new = crate::store::table::consolidate([old, changes].concat());
        let members = members(&ids(old), &ids(&new));
        let bits = bits(&members);
        if bits & !INSIDE != 0 {
            let fingerprint = bands.unkey(0, key);
            for band in 0..bands.count() {
                give(Touched { band: band as u64, key: bands.key(band, fingerprint), bits });
            }
        }
        if new.len() > PIVOTS {
            epoch.count("groups_over_pivots", 1);
        }
    }
    epoch.write("fingerprint_contents", rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn rows(contents: &BTreeSet<u64>) -> Vec<Id> {
        contents.iter().map(|&high| Id { high, low: 0 }).collect()
    }

    /// The pairs that the pivot rule examines within a group, by its definition.
    fn examined(group: &BTreeSet<u64>) -> BTreeSet<(u64, u64)> {
        let list: Vec<u64> = group.iter().copied().collect();
        let pair = |(i, j): (usize, usize)| (i.min(j) < PIVOTS).then_some((list[i], list[j]));
        (0..list.len()).flat_map(|i| (i + 1..list.len()).map(move |j| (i, j))).filter_map(pair).collect()
    }

    proptest! {
        /// Whatever is born and gone, the changes told lead from the pairs examined before, less those of contents gone, to those of the
        /// rule's definition; and a group that has changes asks to be probed.
        #[test]
        fn changes_follow_the_rule(
            before in prop::collection::btree_set(0u64..200, 0..150),
            after in prop::collection::btree_set(0u64..200, 0..150),
        ) {
            let members = members(&rows(&before), &rows(&after));
            let mut pairs = examined(&before);
            pairs.retain(|(a, b)| after.contains(a) && after.contains(b));
            let mut told = false;
            for (i, a) in members.iter().enumerate() {
                for b in &members[i + 1..] {
                    let pair = (a.content.high, b.content.high);
                    match change(a, b) {
                        1 => prop_assert!(pairs.insert(pair)),
                        -1 => prop_assert!(pairs.remove(&pair)),
                        _ => continue,
                    }
                    told = true;
                }
            }
            prop_assert_eq!(pairs, examined(&after));
            prop_assert!(!told || bits(&members) & INSIDE != 0);
            prop_assert_eq!(bits(&members) & BORN != 0, before.is_empty() && !after.is_empty());
            prop_assert_eq!(bits(&members) & GONE != 0, !before.is_empty() && after.is_empty());
        }
    }
}
