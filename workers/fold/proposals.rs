//! Joins stored pairs with the changes of their proposals.

use crate::error::{Error, Result};
use crate::fold::resolve::Candidate;
use crate::id::Id;
use crate::judge::PairToDecide;
use crate::tables::PairRow;

/// Which pairs are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decide {
    /// All, also those that are stored.
    All,
    /// Those that are not stored. The others keep their verdicts.
    New,
}

/// A pair that is to be decided.
#[derive(Debug, PartialEq, Eq)]
pub struct DuePair {
    /// The pair.
    pub pair: PairToDecide,
    /// The stored pair, if there is one.
    pub before: Option<Box<PairRow>>,
    /// The proposals after the epoch, as in [`PairRow`].
    pub proposals: u64,
}

/// What becomes of pairs, each list ascending.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JoinedProposals {
    /// Stored pairs that keep their verdicts, and their new proposals.
    pub kept: Vec<(PairRow, u64)>,
    /// Pairs that are to be decided.
    pub due: Vec<DuePair>,
    /// Stored pairs that no signature proposes any more, or with a content that disappeared.
    pub gone: Vec<PairRow>,
}

/// Joins `stored` pairs with `candidates` and with the `deleted` pairs, which go whatever proposes
/// them. All ascend by both contents. A stored pair without a change is left out, unless all pairs
/// are decided.
///
/// # Errors
///
/// The proposals of a pair do not add up.
pub fn join_proposals(
    stored: impl Iterator<Item = PairRow>,
    candidates: &[Candidate],
    deleted: impl Iterator<Item = (Id, Id)>,
    decide: Decide,
) -> Result<JoinedProposals> {
    let mut joined = JoinedProposals::default();
    let mut stored = stored.peekable();
    let pair = |candidates: &[Candidate]| (candidates[0].content, candidates[0].other);
    let same = |a: &Candidate, b: &Candidate| (a.content, a.other) == (b.content, b.other);
    let mut candidates = candidates.chunk_by(same).peekable();
    let mut deleted = deleted.peekable();
    loop {
        let next = [
            stored.peek().map(|row| (row.content, row.other)),
            candidates.peek().map(|one| pair(one)),
            deleted.peek().copied(),
        ];
        let Some(key) = next.into_iter().flatten().min() else { return Ok(joined) };
        let before = stored.next_if(|row| (row.content, row.other) == key);
        let changes = candidates.next_if(|one| pair(one) == key).unwrap_or_default();
        // A pair comes twice if both contents disappeared.
        let mut is_deleted = false;
        while deleted.next_if_eq(&key).is_some() {
            is_deleted = true;
        }
        let proposed = before.as_ref().map_or(0, |row| row.proposals);
        let after = if is_deleted { Some(0) } else { proposals(proposed, changes) };
        let proposals = after.ok_or_else(|| {
            Error::internal(format!(
                "pair {} {}: {proposed:016x} and {changes:?} do not add up",
                key.0, key.1
            ))
        })?;
        match (before, decide) {
            (before, _) if proposals == 0 => joined.gone.extend(before),
            (Some(_), Decide::New) if proposals == proposed => {}
            (Some(row), Decide::New) => joined.kept.push((row, proposals)),
            (before, _) => {
                let known = || changes.iter().find_map(|candidate| candidate.distance.get());
                let distance = before.as_ref().map(|row| row.distance.into()).or_else(known);
                let pair = PairToDecide { a: key.0, b: key.1, distance };
                joined.due.push(DuePair { pair, before: before.map(Box::new), proposals });
            }
        }
    }
}

/// The proposals of a pair after `changes`: a count in one byte for each signature. `None` if a
/// count is out of range.
fn proposals(before: u64, changes: &[Candidate]) -> Option<u64> {
    let mut sums = before.to_le_bytes().map(i64::from);
    for candidate in changes {
        *sums.get_mut(usize::from(candidate.signature))? += i64::from(candidate.diff);
    }
    let mut bytes = [0; 8];
    for (byte, sum) in bytes.iter_mut().zip(sums) {
        *byte = u8::try_from(sum).ok()?;
    }
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::resolve::Distance;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn id(n: u64) -> Id {
        Id { high: n, low: 0 }
    }

    fn row(content: Id, other: Id, proposals: u64) -> PairRow {
        let (similarity, reason, accepted, diff) = (9000, 3, 1, 1);
        PairRow { content, other, distance: 2, similarity, reason, accepted, proposals, diff }
    }

    proptest! {
        /// The result for each pair does not depend on the other pairs.
        #[test]
        fn pairs_are_joined_one_by_one(
            stored in prop::collection::btree_map((0u64..5, 0u64..5), 1u64..4, 0..16),
            changes in prop::collection::btree_map((0u64..5, 0u64..5, 0u16..2), prop_oneof![1 => Just(-1i32), 9 => 0i32..3], 0..16),
            deleted in prop::collection::vec((0u64..5, 0u64..5), 0..6),
            decide in prop_oneof![Just(Decide::All), Just(Decide::New)],
        ) {
            let candidate = |(&(a, b, signature), &diff): (&(u64, u64, u16), &i32)| Candidate {
                content: id(a),
                other: id(b),
                diff,
                signature,
                distance: if signature == 0 { Distance::of(1) } else { Distance::UNKNOWN },
            };
            let mut candidates: Vec<Candidate> = changes.iter().map(candidate).collect();
            candidates.sort_unstable();
            let mut twice = deleted.clone();
            twice.sort_unstable();
            let rows = stored.iter().map(|(&(a, b), &proposals)| row(id(a), id(b), proposals));
            let found = join_proposals(rows, &candidates, twice.iter().map(|&(a, b)| (id(a), id(b))), decide);

            let deleted = BTreeSet::from_iter(deleted);
            let of_changes = changes.keys().map(|&(a, b, _)| (a, b));
            let keys: BTreeSet<(u64, u64)> = stored.keys().copied().chain(of_changes).collect();
            let (mut expected, mut adds_up) = (JoinedProposals::default(), true);
            for (a, b) in keys {
                let before = stored.get(&(a, b)).copied();
                let by = |signature| changes.get(&(a, b, signature)).copied();
                // SimHash counts ones, and the other signature 256s.
                let sums = [before.unwrap_or(0) as i32 + by(0).unwrap_or(0), by(1).unwrap_or(0)];
                let is_deleted = deleted.contains(&(a, b));
                adds_up &= is_deleted || sums.iter().all(|sum| *sum >= 0);
                let proposals = if is_deleted { 0 } else { (sums[0] + 256 * sums[1]) as u64 };
                let old = before.map(|proposals| row(id(a), id(b), proposals));
                match (old, proposals) {
                    (old, 0) => expected.gone.extend(old),
                    (Some(old), _) if decide == Decide::New => {
                        if old.proposals != proposals {
                            expected.kept.push((old, proposals));
                        }
                    }
                    (old, _) => {
                        let distance = old.as_ref().map(|_| 2).or(by(0).map(|_| 1));
                        let pair = PairToDecide { a: id(a), b: id(b), distance };
                        expected.due.push(DuePair { pair, before: old.map(Box::new), proposals });
                    }
                }
            }
            prop_assert_eq!(found.is_ok(), adds_up);
            if let Ok(found) = found {
                prop_assert_eq!(found, expected);
            }
        }
    }

    fn candidate(signature: u16, diff: i32) -> Candidate {
        Candidate {
            content: Id::NONE,
            other: Id::MAX,
            diff,
            signature,
            distance: Distance::UNKNOWN,
        }
    }

    /// Proposals are counted for each signature apart, and a count out of range is an error.
    #[test]
    fn proposals_add_up() {
        assert_eq!(
            proposals(0, &[candidate(0, 1), candidate(1, 1), candidate(1, 1)]),
            Some(0x0201)
        );
        assert_eq!(
            proposals(0x0201, &[candidate(1, -1), candidate(3, 1), candidate(0, -1)]),
            Some(0x0100_0100)
        );
        assert_eq!(
            proposals(0x0201, &[candidate(0, -1), candidate(1, -1), candidate(1, -1)]),
            Some(0)
        );
        assert_eq!(proposals(0x0201, &[]), Some(0x0201));
        assert_eq!(proposals(0x0100, &[candidate(0, -1)]), None);
        assert_eq!(proposals(0xff00, &[candidate(1, 1)]), None);
        assert_eq!(proposals(0, &[candidate(8, 1)]), None);
    }
}
