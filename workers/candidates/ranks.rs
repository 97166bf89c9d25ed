//! Finds the pairs of contents that the pivot rule starts or stops comparing when ranks change.
//!
//! The contents of a group or bucket are ranked by digest, and [`crate::candidates::pivots`]
//! decides from two ranks alone whether the pair is compared. A content that appears or disappears
//! moves the ranks of all contents after it, so a pair can change although neither of its contents
//! did. The functions here report exactly the difference between the rule's pairs before and after,
//! and look only at members whose rank changed, or before which a pivot changed.

use crate::candidates::pivots::{PIVOTS, examined_before, examined_between};
use crate::id::Id;

/// The rank of one content in its group or bucket before and after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The content.
    pub content: Id,
    /// Its rank by digest before, if it was live.
    pub before: Option<usize>,
    /// Its rank by digest after, if it is live.
    pub after: Option<usize>,
}

impl Member {
    /// Whether it is or was a pivot. Only pivots are compared with other groups.
    pub fn was_or_is_pivot(&self) -> bool {
        self.was_or_is_below(PIVOTS)
    }

    /// Whether its rank is or was below `rank_end`.
    pub fn was_or_is_below(&self, rank_end: usize) -> bool {
        [self.before, self.after].into_iter().flatten().any(|rank| rank < rank_end)
    }

    /// Whether it is live and its rank changed.
    fn has_moved(&self) -> bool {
        self.after.is_some() && self.before != self.after
    }
}

/// Merges the rows of a group or bucket before and after a change, both in order of digest.
pub fn members<R>(before: &[R], after: &[R], content: impl Fn(&R) -> Id) -> Vec<Member> {
    let mut members = Vec::with_capacity(after.len());
    let (mut i, mut j) = (0, 0);
    while i < before.len() || j < after.len() {
        let old = before.get(i).map(&content);
        let new = after.get(j).map(&content);
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

/// The number of first `members` among which are all that are or were pivots. Pairs with other
/// groups need no more of a large group.
pub fn pivots_end(members: &[Member]) -> usize {
    members.iter().rposition(Member::was_or_is_pivot).map_or(0, |last| last + 1)
}

/// What the change of a group means for the searches that concern it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupChange {
    /// The group had no content before.
    pub created: bool,
    /// The group has no content any more.
    pub deleted: bool,
    /// Pivots changed, so pairs with other groups may change.
    pub pivots_moved: bool,
    /// Ranks changed and there is more than one content, so pairs within the group may change.
    pub members_moved: bool,
}

impl GroupChange {
    /// The change of the group of `members`.
    pub fn of(members: &[Member]) -> GroupChange {
        let live = |rank: fn(&Member) -> Option<usize>| {
            members.iter().filter(|m| rank(m).is_some()).count()
        };
        let (before, after) = (live(|m| m.before), live(|m| m.after));
        let moved = || members.iter().filter(|member| member.has_moved());
        GroupChange {
            created: before == 0 && after > 0,
            deleted: before > 0 && after == 0,
            pivots_moved: moved().any(Member::was_or_is_pivot),
            members_moved: moved().next().is_some() && after > 1,
        }
    }
}

/// +1 for a pair that is compared after but not before, -1 for the reverse while both are live.
/// `examined` is the rule for two ranks before (0) or after (1).
///
/// A pair with a content that disappeared is not reported: it is deleted with the content.
fn change(a: &Member, b: &Member, examined: impl Fn(usize, usize, usize) -> bool) -> i32 {
    let before = a.before.zip(b.before).is_some_and(|(a, b)| examined(0, a, b));
    let Some((a, b)) = a.after.zip(b.after) else { return 0 };
    i32::from(examined(1, a, b)) - i32::from(before)
}

/// Calls `found` with every pair of one group or bucket whose comparison starts (+1) or stops (-1).
///
/// `members` ascend. The lesser content comes first.
///
/// ```
/// use workers::candidates::ranks::{changes_within, members};
/// use workers::id::Id;
///
/// let [a, b, c] = [1, 2, 3].map(|high| Id { high, low: 0 });
/// // Content b appears between two others.
/// let members = members(&[a, c], &[a, b, c], |id| *id);
/// let mut changes = Vec::new();
/// changes_within(&members, |lesser, greater, diff| changes.push((lesser, greater, diff)));
/// assert_eq!(changes, [(a, b, 1), (b, c, 1)]);
/// ```
pub fn changes_within(members: &[Member], mut found: impl FnMut(Id, Id, i32)) {
    let pivots: Vec<&Member> = members.iter().filter(|member| member.was_or_is_pivot()).collect();
    // The length of the prefix of pivots that are live and kept their ranks.
    let settled =
        pivots.iter().take_while(|pivot| !pivot.has_moved() && pivot.after.is_some()).count();
    for member in members {
        let Some(after) = member.after else { continue };
        let partners = examined_before(after);
        if partners <= settled && member.before.map(examined_before) == Some(partners) {
            continue;
        }
        for pivot in pivots.iter().take_while(|pivot| pivot.content < member.content) {
            match change(pivot, member, |_, lesser, greater| lesser < examined_before(greater)) {
                0 => {}
                diff => found(pivot.content, member.content, diff),
            }
        }
    }
}

/// As [`changes_within`], for the pairs between two groups of near fingerprints. `product_max` is
/// what the near rule says of the two fingerprints, before and after.
pub fn changes_between(
    group: &[Member],
    other: &[Member],
    product_max: [usize; 2],
    mut found: impl FnMut(Id, Id, i32),
) {
    let rank_end = product_max[0].max(product_max[1]);
    let others: Vec<&Member> =
        other.iter().filter(|member| member.was_or_is_below(rank_end)).collect();
    for a in group.iter().filter(|member| member.was_or_is_below(rank_end)) {
        for b in &others {
            match change(a, b, |time, a, b| examined_between(a, b, product_max[time])) {
                0 => {}
                diff => found(a.content.min(b.content), a.content.max(b.content), diff),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type Group = BTreeSet<u64>;
    type Pairs = BTreeSet<(u64, u64)>;

    fn ranked(before: &Group, after: &Group) -> Vec<Member> {
        let ids = |group: &Group| group.iter().map(|&high| Id { high, low: 0 }).collect::<Vec<_>>();
        members(&ids(before), &ids(after), |id| *id)
    }

    /// The pairs that the pivot rule compares within a group, by its definition.
    fn within(group: &Group) -> Pairs {
        let list: Vec<u64> = group.iter().copied().collect();
        let examined = |i: usize, j: usize| i < 4 || (i + 1) * (j + 1) <= 64 * 64;
        let pairs = (0..list.len()).flat_map(|i| (i + 1..list.len()).map(move |j| (i, j)));
        pairs.filter(|&(i, j)| examined(i, j)).map(|(i, j)| (list[i], list[j])).collect()
    }

    /// The pairs that the pivot rule compares between two groups, by its definition.
    fn between(a: &Group, b: &Group, product_max: usize) -> Pairs {
        // No rank beyond 64 can be part of such a product.
        let first = |group: &Group| group.iter().copied().take(64).enumerate().collect::<Vec<_>>();
        let (a, b) = (first(a), first(b));
        let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
        let pairs = pairs.filter(|((i, _), (j, _))| (i + 1) * (j + 1) <= product_max);
        pairs.map(|((_, a), (_, b))| (*a.min(b), *a.max(b))).collect()
    }

    /// Applies `changes` to `pairs`, from which the pairs of deleted contents are removed first.
    fn apply(mut pairs: Pairs, lives: impl Fn(u64) -> bool, changes: &[(Id, Id, i32)]) -> Pairs {
        pairs.retain(|&(a, b)| lives(a) && lives(b));
        for (a, b, diff) in changes {
            let pair = (a.high, b.high);
            assert!(
                a < b && if *diff > 0 { pairs.insert(pair) } else { pairs.remove(&pair) },
                "{pair:?}"
            );
        }
        pairs
    }

    fn some(most: usize) -> impl Strategy<Value = Group> {
        prop::collection::btree_set(0u64..2000, 0..most)
    }

    /// `group` with every content of `edits` added or, if it was there, removed.
    fn edited(group: &Group, edits: &Group) -> Group {
        group.symmetric_difference(edits).copied().collect()
    }

    proptest! {
        /// The changes lead from the rule's pairs before to its pairs after, for any edits. A group
        /// with changes asks for the search that finds them.
        #[test]
        fn changes_follow_the_rule(
            (a, b) in prop_oneof![(some(1500), some(1500)), (some(80), some(80)), (some(12), some(12))],
            (x, y) in prop_oneof![(some(1500), some(1500)), (some(4), some(4)), (some(2), some(1))],
        ) {
            // Two groups have no content in common.
            let a: Group = a.into_iter().map(|n| n * 2).collect();
            let b: Group = b.into_iter().map(|n| n * 2 + 1).collect();
            let after_a = edited(&a, &x.into_iter().map(|n| n * 2).collect());
            let after_b = edited(&b, &y.into_iter().map(|n| n * 2 + 1).collect());
            let (group, other) = (ranked(&a, &after_a), ranked(&b, &after_b));
            let lives = |n: u64| after_a.contains(&n) || after_b.contains(&n);
            let mut changes = Vec::new();
            changes_within(&group, |a, b, diff| changes.push((a, b, diff)));
            prop_assert_eq!(apply(within(&a), lives, &changes), within(&after_a));
            let of_group = GroupChange::of(&group);
            prop_assert!(changes.is_empty() || of_group.members_moved);
            for product_max in [[64, 0], [0, 64], [0, 0], [2, 16], [32, 8], [64, 64]] {
                let [old, new] = [between(&a, &b, product_max[0]), between(&after_a, &after_b, product_max[1])];
                changes.clear();
                let [group, other] = [&group, &other].map(|group| &group[..pivots_end(group)]);
                changes_between(group, other, product_max, |a, b, diff| changes.push((a, b, diff)));
                prop_assert_eq!(apply(old, lives, &changes), new);
            }
            prop_assert!(changes.is_empty() || of_group.pivots_moved || GroupChange::of(&other).pivots_moved);
            prop_assert_eq!(of_group.created, a.is_empty() && !after_a.is_empty());
            prop_assert_eq!(of_group.deleted, !a.is_empty() && after_a.is_empty());
        }
    }

    /// Each pair of near fingerprints walked both groups whole, though only their first members can
    /// be compared.
    #[test]
    fn near_groups_need_few_members() {
        let group: Group = (0..100_000).collect();
        for (after, end) in [(group.clone(), 64), ((3..90_000).collect(), 67)] {
            assert_eq!(pivots_end(&ranked(&group, &after)), end);
        }
        assert_eq!((pivots_end(&ranked(&group, &Group::new())), pivots_end(&[])), (64, 0));
    }

    /// Groups of up to 64 contents, and pairs of groups with up to 64 pairs, are compared
    /// completely. The cost of a large group is linear in its contents, and the cost of two groups
    /// is bounded.
    #[test]
    fn a_large_group_costs_no_square() {
        let group = |contents: u64| (0..contents).collect::<Group>();
        let far = |contents: u64| (0..contents).map(|n| n + 1_000_000).collect::<Group>();
        assert_eq!(within(&group(64)).len(), 64 * 63 / 2);
        for (a, b) in [(1, 64), (2, 32), (8, 8), (64, 1)] {
            assert_eq!(between(&group(a), &far(b), 64).len() as u64, a * b);
        }
        let pairs: Vec<usize> = (0..100_000).map(examined_before).collect();
        assert!(pairs[1024..].iter().all(|&partners| partners == 4));
        assert_eq!(pairs[..1000].iter().sum::<usize>(), within(&group(1000)).len());
        assert_eq!(between(&group(1000), &far(1000), 64).len(), 280);
    }
}
