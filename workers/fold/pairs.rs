//! Decides and stores the pairs of contents that signatures propose.
//!
//! All proposals of a pair go to the owner of one of its contents ([`decided_at`]). This worker
//! adds up which signatures propose the pair ([`confirm`]) and decides it once
//! ([`crate::judge`]). A pair is kept while some signature proposes it, and is deleted with
//! either content. It is stored under both contents, so that the owner of each can read its pairs
//! ([`pairs`]).

use crate::distinct::distinct;
use crate::error::Result;
use crate::fold::accepted::{AcceptedChange, AcceptedChanges};
use crate::fold::contents::ContentChange;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::evidence;
use crate::fold::proposals::{Decide, DuePair, JoinedProposals, join_proposals};
use crate::fold::resolve::{Candidate, decided_at};
use crate::id::Id;
use crate::judge::Judge;
use crate::store::segment::SegmentRef;
use crate::store::table::replacement;
use crate::tables::PairRow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A stored pair that is added (+1) or retracted (-1), sent to the owner of `content`. Ordered like
/// [`PairRow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PairChange {
    /// The content under which the pair is stored.
    pub content: Id,
    other: Id,
    proposals: u64,
    similarity: u16,
    distance: u8,
    reason: u8,
    accepted: u8,
    diff: i8,
    /// Fills the row to a whole number of words.
    unused: [u8; 2],
}

impl Ord for PairChange {
    fn cmp(&self, other: &PairChange) -> Ordering {
        self.row().cmp(&other.row())
    }
}

impl PartialOrd for PairChange {
    fn partial_cmp(&self, other: &PairChange) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PairChange {
    fn new(row: &PairRow) -> PairChange {
        PairChange {
            content: row.content,
            other: row.other,
            proposals: row.proposals,
            similarity: row.similarity,
            distance: row.distance,
            reason: row.reason,
            accepted: row.accepted,
            diff: row.diff,
            unused: [0; 2],
        }
    }

    fn mirrored(self) -> PairChange {
        PairChange { content: self.other, other: self.content, ..self }
    }

    fn accepted(&self) -> AcceptedChange {
        let diff = if self.accepted == 1 { self.diff.into() } else { 0 };
        let similarity = self.similarity;
        AcceptedChange { content: self.content, other: self.other, diff, similarity }
    }

    fn row(&self) -> PairRow {
        PairRow {
            content: self.content,
            other: self.other,
            distance: self.distance,
            similarity: self.similarity,
            reason: self.reason,
            accepted: self.accepted,
            proposals: self.proposals,
            diff: self.diff,
        }
    }
}

/// A stored pair with a content that disappeared, sent to the worker that decides the pair. It is
/// deleted, whatever proposes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct DeletedPair {
    /// The content whose owner decides the pair: [`decided_at`].
    pub content: Id,
    other: Id,
}

/// Emits the stored pairs of contents that disappeared.
pub fn deleted(
    epoch: &Epoch,
    changes: &[ContentChange],
    emit: &mut dyn FnMut(DeletedPair),
) -> Result<()> {
    let mut contents: Vec<Id> =
        changes.iter().filter(|change| change.diff < 0).map(|change| change.content).collect();
    if contents.is_empty() {
        return Ok(());
    }
    contents.sort_unstable();
    for row in epoch.before::<PairRow>()?.matching(&contents) {
        let (content, other) = decided_at(row.content, row.other);
        emit(DeletedPair { content, other });
    }
    Ok(())
}

/// Progress is recorded once for this many decided pairs.
const ADVANCED_PAIRS: usize = 1 << 6;

/// Candidates and stored pairs that are joined at once.
const MERGED_ROWS: usize = 1 << 16;

/// The changes of some pairs, ascending.
#[derive(Clone, Copy)]
struct Changes<'a> {
    candidates: &'a [Candidate],
    deleted: &'a [DeletedPair],
}

impl<'a> Changes<'a> {
    /// Splits off the changes of the contents up to `last`.
    fn take(&mut self, last: Id) -> Changes<'a> {
        let (candidates, later_candidates) =
            self.candidates.split_at(self.candidates.partition_point(|row| row.content <= last));
        let (deleted, later_deleted) =
            self.deleted.split_at(self.deleted.partition_point(|row| row.content <= last));
        *self = Changes { candidates: later_candidates, deleted: later_deleted };
        Changes { candidates, deleted }
    }

    /// The last content of the next portion. The portion has all that is left unless that is too
    /// much. `None` if nothing is left.
    fn last(&self) -> Option<Id> {
        let candidate = |row: &Candidate| row.content;
        let deleted = |row: &DeletedPair| row.content;
        let full = [
            self.candidates.get(MERGED_ROWS - 1).map(candidate),
            self.deleted.get(MERGED_ROWS - 1).map(deleted),
        ];
        let ends = [self.candidates.last().map(candidate), self.deleted.last().map(deleted)];
        full.into_iter().flatten().min().or_else(|| ends.into_iter().flatten().max())
    }

    /// The contents under which the pairs are stored, ascending.
    fn contents(&self) -> Vec<Id> {
        let deleted = self.deleted.iter().map(|row| row.content);
        distinct(self.candidates.iter().map(|row| row.content).chain(deleted))
    }
}

/// Adds up the proposals of pairs, decides new pairs, deletes those that are `deleted`, and emits
/// every changed pair under both contents. If the configuration of decisions changed, every stored
/// pair is decided again from the evidence alone.
pub fn confirm(
    epoch: &Epoch,
    segments: &[SegmentRef],
    candidates: &[Candidate],
    deleted: &[DeletedPair],
    emit: &mut dyn FnMut(PairChange),
) -> Result<()> {
    let judge = Judge::new(epoch.shared.job.verdicts()?, || evidence::stored(epoch, segments));
    let table = epoch.before::<PairRow>()?;
    let mut rest = Changes { candidates, deleted };
    if epoch.shared.plan.decision_changed {
        let (from, to) = epoch.range().ids();
        for stored in table.portions_in(from, to, MERGED_ROWS) {
            let Some(last) = stored.last().map(|row| row.content) else { continue };
            portion(epoch, &judge, stored, rest.take(last), Decide::All, emit)?;
        }
    }
    while let Some(last) = rest.last() {
        let changes = rest.take(last);
        // If all were decided again above, the remaining candidates have no stored pair.
        let stored = match epoch.shared.plan.decision_changed {
            true => Vec::new(),
            false => table.matching(&changes.contents()),
        };
        portion(epoch, &judge, stored, changes, Decide::New, emit)?;
    }
    Ok(())
}

/// Applies the changes of some contents to their stored pairs; both are sorted.
fn portion(
    epoch: &Epoch,
    judge: &Judge<'_>,
    stored: Vec<PairRow>,
    changes: Changes<'_>,
    decide: Decide,
    emit: &mut dyn FnMut(PairChange),
) -> Result<()> {
    let mut counts: BTreeMap<Counter, u64> = BTreeMap::new();
    let mut put = |before: Option<PairRow>, after: Option<PairRow>| {
        if before == after {
            return;
        }
        let counter = match (&before, &after) {
            (None, _) => Counter::PairsNew,
            (_, None) => Counter::PairsGone,
            (Some(before), Some(after)) if before.proposals == after.proposals => {
                Counter::PairsRedecided
            }
            _ => Counter::PairsReproposed,
        };
        *counts.entry(counter).or_default() += 1;
        for row in replacement(before, after) {
            let change = PairChange::new(&row);
            emit(change);
            emit(change.mirrored());
        }
    };
    let is_here = |row: &PairRow| decided_at(row.content, row.other).0 == row.content;
    let stored = stored.into_iter().filter(is_here);
    let deleted = changes.deleted.iter().map(|row| (row.content, row.other));
    let JoinedProposals { kept, due, gone } =
        join_proposals(stored, changes.candidates, deleted, decide)?;
    gone.into_iter().for_each(|row| put(Some(row), None));
    for (row, proposals) in kept {
        let after = PairRow { proposals, ..row.clone() };
        put(Some(row), Some(after));
    }
    let pairs: Vec<_> = due.iter().map(|due| due.pair).collect();
    judge.verdicts(&pairs, |at, distance, verdict| {
        if at % ADVANCED_PAIRS == 0 {
            epoch.record_progress();
        }
        let DuePair { pair, before, proposals } = &due[at];
        let after = PairRow {
            content: pair.a,
            other: pair.b,
            distance: distance as u8,
            similarity: verdict.similarity,
            reason: verdict.reason as u8,
            accepted: verdict.accepted.into(),
            proposals: *proposals,
            diff: 1,
        };
        put(before.as_deref().cloned(), Some(after));
        Ok(())
    })?;
    counts.into_iter().for_each(|(counter, n)| epoch.count(counter, n));
    Ok(())
}

/// Stores the changed pairs of contents that this worker owns, and keeps what they change in
/// accepted pairs for later stages.
pub fn pairs(epoch: &Epoch, changes: &[PairChange]) -> Result<()> {
    epoch.set_accepted(AcceptedChanges::of(changes.iter().map(PairChange::accepted)))?;
    epoch.write(changes.iter().map(PairChange::row))
}
