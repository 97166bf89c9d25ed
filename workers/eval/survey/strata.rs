//! Divides pairs into strata, and chooses the stratum of the next question.
//!
//! Pairs are in one cell if they are alike in what the store knows of them: verdict, similarity,
//! rule, size of the cluster, number of signatures. Neighbouring cells are joined until there are
//! few enough for the answers; an accepted and a refused pair are never in one stratum.
//!
//! Precision needs answers about accepted pairs and recall about refused ones, so each side has
//! half of them. Within a side the next question comes from the stratum where it reduces the
//! variance most, by the doubt (standard deviation) that is expected of its pairs: Wright (2012),
//! whose priorities give Neyman's allocation in whole numbers. Doubts only choose questions; a
//! wrong doubt makes intervals wider but no estimate wrong.

use crate::eval::survey::estimate::Tally;
use crate::id::Id;
use crate::tables::PairRow;
use std::collections::{BTreeMap, BTreeSet};

/// Answers for each stratum, on average, at least.
const ANSWERS_PER_STRATUM: u32 = 8;
/// The greatest number of strata.
const STRATA_MAX: usize = 32;
/// The answers that each stratum has before any has more.
const ANSWERS_FIRST: u64 = 2;
/// The similarities at which classes end, in 1/10,000.
const SIMILARITY_ENDS: [u16; 7] = [5000, 6500, 7500, 8000, 8500, 9000, 9500];
/// By class of similarity, 100 times the standard deviation that is expected of an answer.
const DOUBT_ACCEPTED: [u64; 8] = [50, 50, 50, 50, 45, 30, 20, 15];
const DOUBT_REFUSED: [u64; 8] = [10, 20, 30, 45, 50, 50, 50, 50];

/// What the store knows of a pair. Neighbours in this order are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    accepted: bool,
    /// The class of its similarity.
    similarity: u8,
    /// The rule that decided, a [`crate::confirm::Reason`].
    reason: u8,
    /// The class of the number of pages of its cluster.
    size: u8,
    /// How many signatures propose it, at most 3.
    proposers: u8,
}

impl Cell {
    /// The cell of a pair whose lesser content is in a cluster of `pages`.
    pub fn of(row: &PairRow, pages: u32, proposers: usize) -> Cell {
        Cell {
            accepted: row.is_accepted(),
            similarity: SIMILARITY_ENDS.partition_point(|end| *end <= row.similarity) as u8,
            reason: row.reason,
            size: [3, 10, 100, 1000].partition_point(|end| *end <= pages) as u8,
            proposers: proposers.min(3) as u8,
        }
    }

    fn doubt(self) -> u64 {
        let doubts = if self.accepted { DOUBT_ACCEPTED } else { DOUBT_REFUSED };
        doubts[usize::from(self.similarity)]
    }
}

/// The pairs of a cell, and the first of them in a random order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    pairs: u64,
    similarity: Option<(u16, u16)>,
    first: BTreeSet<(u64, Id, Id)>,
}

impl Drawn {
    /// Adds a pair by its `rank`, and keeps at most `first_max`.
    pub fn add(&mut self, rank: u64, row: &PairRow, first_max: usize) {
        self.pairs += 1;
        let (least, greatest) = self.similarity.unwrap_or((row.similarity, row.similarity));
        self.similarity = Some((least.min(row.similarity), greatest.max(row.similarity)));
        self.first.insert((rank, row.content, row.other));
        if self.first.len() > first_max {
            self.first.pop_last();
        }
    }
}

/// Pairs that are all equally likely to be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stratum {
    /// Whether the store accepted the pairs.
    pub accepted: bool,
    /// The number of pairs.
    pub pairs: u64,
    /// The least and the greatest of their similarities, in 1/10,000.
    pub similarity: (u16, u16),
    /// The first pairs in a random order: rank and contents.
    pub first: Vec<(u64, Id, Id)>,
    /// The sum of the doubts of all pairs.
    doubt: u64,
}

impl Stratum {
    fn join(&mut self, other: Stratum) {
        self.pairs += other.pairs;
        self.doubt += other.doubt;
        self.similarity =
            (self.similarity.0.min(other.similarity.0), self.similarity.1.max(other.similarity.1));
        self.first.extend(other.first);
    }
}

/// The strata of `cells` for this many answers.
pub fn strata(cells: BTreeMap<Cell, Drawn>, answers_max: u32) -> Vec<Stratum> {
    let stratum = |(cell, drawn): (Cell, Drawn)| Stratum {
        accepted: cell.accepted,
        pairs: drawn.pairs,
        similarity: drawn.similarity.unwrap_or_default(),
        first: drawn.first.into_iter().collect(),
        doubt: drawn.pairs * cell.doubt(),
    };
    let mut strata: Vec<Stratum> = cells.into_iter().map(stratum).collect();
    let most = ((answers_max / ANSWERS_PER_STRATUM) as usize).clamp(1, STRATA_MAX);
    while strata.len() > most {
        let neighbours =
            (1..strata.len()).filter(|at| strata[at - 1].accepted == strata[*at].accepted);
        let Some(at) = neighbours.min_by_key(|at| strata[at - 1].doubt + strata[*at].doubt) else {
            break;
        };
        let other = strata.remove(at);
        strata[at - 1].join(other);
    }
    // The first of a union are among the first of its parts.
    strata.iter_mut().for_each(|stratum| stratum.first.sort_unstable());
    strata
}

/// The stratum of the next question, among those that have pairs left; `shown` is the number of
/// pairs of each stratum that were asked about.
pub fn next(strata: &[Stratum], tallies: &[Tally], shown: &[usize]) -> Option<usize> {
    let is_left = |at: &usize| shown[*at] < strata[*at].first.len();
    let left: Vec<usize> = (0..strata.len()).filter(is_left).collect();
    let answers = |accepted: bool| -> u64 {
        tallies.iter().filter(|of| of.accepted == accepted).map(Tally::answers).sum()
    };
    // The side with fewer answers is next.
    let accepted_next = answers(true) <= answers(false);
    let first = left.iter().copied().filter(|at| tallies[*at].answers() < ANSWERS_FIRST);
    if let Some(at) = first.min_by_key(|at| (tallies[*at].answers(), *at)) {
        return Some(at);
    }
    let has_next = left.iter().any(|at| strata[*at].accepted == accepted_next);
    let side = if has_next { accepted_next } else { !accepted_next };
    let of_side = left.into_iter().filter(|at| strata[*at].accepted == side);
    // The square of Wright's priority, with the answers so far.
    let priority = |at: usize| {
        let n = u128::from(tallies[at].answers());
        u128::from(strata[at].doubt).pow(2) / (n * (n + 1)).max(1)
    };
    of_side.max_by_key(|at| (priority(*at), usize::MAX - at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64, similarity: u16, accepted: u8) -> PairRow {
        let id = |high| Id { high, low: 0 };
        let (content, other) = (id(n), id(n + 1));
        PairRow {
            content,
            other,
            distance: 0,
            similarity,
            reason: 1,
            accepted,
            proposals: 1,
            diff: 1,
        }
    }

    fn cells(rows: impl Iterator<Item = PairRow>) -> BTreeMap<Cell, Drawn> {
        let mut cells: BTreeMap<Cell, Drawn> = BTreeMap::new();
        for row in rows {
            let rank = row.content.high.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            cells.entry(Cell::of(&row, 2, 1)).or_default().add(rank, &row, 400);
        }
        cells
    }

    /// The strata have every pair once, no stratum has both accepted and refused pairs, and there
    /// are few enough for the answers.
    #[test]
    fn strata_have_every_pair() {
        let rows = (0..5000).map(|n| row(n, (n * 2) as u16, u8::from(n % 3 == 0)));
        for answers in [1, 16, 40, 200] {
            let strata = strata(cells(rows.clone()), answers);
            assert!(strata.len() <= ((answers / ANSWERS_PER_STRATUM) as usize).max(2), "{answers}");
            assert_eq!(strata.iter().map(|of| of.pairs).sum::<u64>(), 5000);
            assert_eq!(
                strata.iter().filter(|of| of.accepted).map(|of| of.pairs).sum::<u64>(),
                1667
            );
        }
    }

    /// Each side has half of the answers, each stratum some, and strata near the threshold more
    /// than their share. If one side has no pairs left, the other gets its answers.
    #[test]
    fn questions_are_spread() {
        let rows = (0..9000).map(|n| row(n, (1000 + n) as u16, u8::from(n >= 7000)));
        let strata = strata(cells(rows), 100);
        let mut tallies: Vec<Tally> = strata
            .iter()
            .map(|of| Tally { accepted: of.accepted, pairs: of.pairs, yes: 0, no: 0 })
            .collect();
        let mut shown = vec![0; strata.len()];
        for _ in 0..100 {
            let at = next(&strata, &tallies, &shown).expect("pairs are left");
            shown[at] += 1;
            tallies[at].yes += 1;
        }
        let of_side = |side: bool| {
            tallies.iter().filter(|of| of.accepted == side).map(Tally::answers).sum::<u64>()
        };
        assert_eq!((of_side(true), of_side(false)), (50, 50));
        assert!(tallies.iter().all(|of| of.answers() >= ANSWERS_FIRST));
        let share = |at: usize| tallies[at].answers() as f64 / tallies[at].pairs as f64;
        let refused: Vec<usize> = (0..strata.len()).filter(|at| !strata[*at].accepted).collect();
        assert!(share(refused[refused.len() - 1]) > share(refused[0]), "{tallies:?}");
        let few = strata_of(&[row(1, 9000, 1), row(2, 4000, 0), row(3, 4100, 0)]);
        let tallies: Vec<Tally> = few
            .iter()
            .map(|of| Tally { accepted: of.accepted, pairs: of.pairs, yes: 1, no: 0 })
            .collect();
        let shown: Vec<usize> = vec![1; few.len()];
        let at = next(&few, &tallies, &shown).expect("a refused pair is left");
        assert!(!few[at].accepted);
    }

    fn strata_of(rows: &[PairRow]) -> Vec<Stratum> {
        strata(cells(rows.iter().cloned()), 100)
    }
}
