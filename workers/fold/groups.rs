//! Groups: in come contents born and gone, out goes what that means for the buckets. Contents of one fingerprint form a group, and rank in it
//! by digest; which of them are held against each other, and against those of near fingerprints, the pivot rule says ([`crate::candidates::pivots`]).

use crate::candidates::bands::Bands;
use crate::candidates::pivots::{PIVOTS, examined_before, examined_between};
use crate::document::Id;
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

impl Member {
    /// Whether it is or was among the first, which alone meet other groups.
    pub fn was_or_is_pivot(&self) -> bool {
        [self.before, self.after].into_iter().flatten().any(|rank| rank < PIVOTS)
    }

    /// Whether it lives, and in another rank than before.
    fn has_moved(&self) -> bool {
        self.after.is_some() && self.before != self.after
    }
}

/// +1 for a pair that is examined after the epoch but not before, -1 for the reverse while both live: a content that is gone takes its
/// pairs with it, and the group need not.
fn change(a: &Member, b: &Member, examined: impl Fn(usize, usize) -> bool) -> i32 {
    let before = a.before.zip(b.before).is_some_and(|(a, b)| examined(a, b));
    let Some((a, b)) = a.after.zip(b.after) else { return 0 };
    i32::from(examined(a, b)) - i32::from(before)
}

/// Calls `found` with every pair of a group's or bucket's `members`, which ascend, whose examination changes, the lesser content first. Looks at
/// members alone whose rank, or the first contents before them, changed.
pub fn changes_within(members: &[Member], mut found: impl FnMut(Id, Id, i32)) {
    let pivots: Vec<&Member> = members.iter().filter(|member| member.was_or_is_pivot()).collect();
    // Of the first contents so many are the same, and in the same ranks.
    let settled = pivots.iter().take_while(|pivot| !pivot.has_moved() && pivot.after.is_some()).count();
    for member in members {
        let Some(after) = member.after else { continue };
        let partners = examined_before(after);
        if partners <= settled && member.before.map(examined_before) == Some(partners) {
            continue;
        }
        for pivot in pivots.iter().take_while(|pivot| pivot.content < member.content) {
            match change(pivot, member, |lesser, greater| lesser < examined_before(greater)) {
                0 => {}
                diff => found(pivot.content, member.content, diff),
            }
        }
    }
}

/// Calls `found` with every pair of contents of two groups whose examination changes.
pub fn changes_between(group: &[Member], other: &[Member], mut found: impl FnMut(Id, Id, i32)) {
    let others: Vec<&Member> = other.iter().filter(|member| member.was_or_is_pivot()).collect();
    for a in group.iter().filter(|member| member.was_or_is_pivot()) {
        for b in &others {
            match change(a, b, examined_between) {
                0 => {}
                diff => found(a.content.min(b.content), a.content.max(b.content), diff),
            }
        }
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
    let moved = || members.iter().filter(|member| member.has_moved());
    let bit = |holds: bool, bit: u64| if holds { bit } else { 0 };
    bit(before == 0 && after > 0, BORN)
        | bit(before > 0 && after == 0, GONE)
        | bit(moved().any(Member::was_or_is_pivot), PROBE)
        | bit(moved().next().is_some() && after > 1, INSIDE)
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
        let members = members(&ids(old), &ids(&new));
        let bits = bits(&members);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn rows(contents: &BTreeSet<u64>) -> Vec<Id> {
        contents.iter().map(|&high| Id { high, low: 0 }).collect()
    }

    type Pairs = BTreeSet<(u64, u64)>;

    /// The pairs that the pivot rule examines within a group, by its definition.
    fn within(group: &BTreeSet<u64>) -> Pairs {
        let list: Vec<u64> = group.iter().copied().collect();
        let examined = |i: usize, j: usize| i < 4 || (i + 1) * (j + 1) <= 64 * 64;
        let pairs = (0..list.len()).flat_map(|i| (i + 1..list.len()).map(move |j| (i, j)));
        pairs.filter(|&(i, j)| examined(i, j)).map(|(i, j)| (list[i], list[j])).collect()
    }

    /// Those between two groups.
    fn between(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> Pairs {
        let pairs = a.iter().enumerate().flat_map(|x| b.iter().enumerate().map(move |y| (x, y)));
        let pairs = pairs.filter(|((i, _), (j, _))| (i + 1) * (j + 1) <= 64);
        pairs.map(|((_, &a), (_, &b))| (a.min(b), a.max(b))).collect()
    }

    /// Goes from the pairs examined before, less those of contents gone, by what is told.
    fn follow(mut pairs: Pairs, lives: impl Fn(u64) -> bool, told: &[(Id, Id, i32)]) -> Pairs {
        pairs.retain(|&(a, b)| lives(a) && lives(b));
        for (a, b, diff) in told {
            let pair = (a.high, b.high);
            assert!(a < b && if *diff > 0 { pairs.insert(pair) } else { pairs.remove(&pair) }, "{pair:?}");
        }
        pairs
    }

    fn some(most: usize) -> impl Strategy<Value = BTreeSet<u64>> {
        prop::collection::btree_set(0u64..2000, 0..most)
    }

    /// `set` after some came and went, as few of a large group do in an epoch.
    fn edited(set: &BTreeSet<u64>, edits: &BTreeSet<u64>) -> BTreeSet<u64> {
        set.symmetric_difference(edits).copied().collect()
    }

    proptest! {
        /// Whatever is born and gone, the changes told lead from the pairs examined before, less those of contents gone, to those of the
        /// rule's definition; and a group that has changes asks for what finds them.
        #[test]
        fn changes_follow_the_rule(
            (a, b) in prop_oneof![(some(1500), some(1500)), (some(80), some(80)), (some(12), some(12))],
            (x, y) in prop_oneof![(some(1500), some(1500)), (some(4), some(4)), (some(2), some(1))],
        ) {
            // Two groups have no content in common.
            let a: BTreeSet<u64> = a.into_iter().map(|n| n * 2).collect();
            let b: BTreeSet<u64> = b.into_iter().map(|n| n * 2 + 1).collect();
            let after_a = edited(&a, &x.into_iter().map(|n| n * 2).collect());
            let after_b = edited(&b, &y.into_iter().map(|n| n * 2 + 1).collect());
            let (group, other) = (members(&rows(&a), &rows(&after_a)), members(&rows(&b), &rows(&after_b)));
            let lives = |n: u64| after_a.contains(&n) || after_b.contains(&n);
            let mut told = Vec::new();
            changes_within(&group, |a, b, diff| told.push((a, b, diff)));
            prop_assert_eq!(follow(within(&a), lives, &told), within(&after_a));
            prop_assert!(told.is_empty() || bits(&group) & INSIDE != 0);
            told.clear();
            changes_between(&group, &other, |a, b, diff| told.push((a, b, diff)));
            prop_assert_eq!(follow(between(&a, &b), lives, &told), between(&after_a, &after_b));
            prop_assert!(told.is_empty() || (bits(&group) | bits(&other)) & PROBE != 0);
            prop_assert_eq!(bits(&group) & BORN != 0, a.is_empty() && !after_a.is_empty());
            prop_assert_eq!(bits(&group) & GONE != 0, !a.is_empty() && after_a.is_empty());
        }
    }

    /// Groups up to 64 contents, and pairs of groups with up to 64 pairs, are exhaustive; what a large one costs grows with its contents,
    /// and what two cost has a bound.
    #[test]
    fn costs() {
        let group = |contents: u64| (0..contents).collect::<BTreeSet<u64>>();
        let far = |contents: u64| (0..contents).map(|n| n + 1_000_000).collect::<BTreeSet<u64>>();
        assert_eq!(within(&group(64)).len(), 64 * 63 / 2);
        for (a, b) in [(1, 64), (2, 32), (8, 8), (64, 1)] {
            assert_eq!(between(&group(a), &far(b)).len() as u64, a * b);
        }
        let pairs: Vec<usize> = (0..100_000).map(examined_before).collect();
        assert!(pairs[1024..].iter().all(|&partners| partners == 4));
        assert_eq!(pairs[..1000].iter().sum::<usize>(), within(&group(1000)).len());
        assert_eq!(between(&group(1000), &far(1000)).len(), 280);
    }
}
