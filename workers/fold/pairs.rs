//! Decides and stores the pairs of contents that signatures propose.
//!
//! All proposals of a pair go to the owner of one of its contents ([`decided_at`]). It adds up
//! which signatures propose the pair and decides it once, from the evidence of both contents
//! ([`confirm`]). A pair is kept while some signature proposes it, and is deleted with either
//! content. It is stored under both contents, so that the owner of each can read its pairs
//! ([`pairs`]).

use crate::confirm::prepared::{Prepared, PreparedTexts};
use crate::confirm::{By, Evidence, Options, Verdict, by_fingerprint, decide, decide_unread};
use crate::document::Id;
use crate::error::{Error, Result};
use crate::fold::accepted::{AcceptedChange, AcceptedChanges};
use crate::fold::contents::ContentChange;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::evidence;
use crate::fold::resolve::{Candidate, decided_at};
use crate::graph::walk;
use crate::store::segment::SegmentRef;
use crate::tables::PairRow;
use crate::tables::evidence::{Archive, Content, Sketched, damaged};
use crate::text::hash::BuildSeeded;
use crate::text::{simhash, sketch::Sketches};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

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
    /// Rows have whole words.
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
    fn new(row: &PairRow, diff: i8) -> PairChange {
        PairChange {
            content: row.content,
            other: row.other,
            proposals: row.proposals,
            similarity: row.similarity,
            distance: row.distance,
            reason: row.reason,
            accepted: row.accepted,
            diff,
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

/// A stored pair of which a content disappeared, sent to the owner that decides it: the pair is
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

/// The proposals of a pair after `changes`: a count in one byte for each signature. None if a count
/// is out of range.
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

/// What is known of a pair that is to be decided, besides its contents.
struct Due {
    /// The stored pair, if there is one.
    before: Option<Box<PairRow>>,
    /// As in [`PairRow`].
    proposals: u64,
}

/// The pairs of which the contents are looked up at once.
const PAIRS_AT_ONCE: usize = 1 << 15;
/// The bytes of what a worker keeps of contents without their texts, before it begins again.
const SKETCHED_BYTES_MAX: usize = 1 << 26;

/// What was read of contents without their texts.
#[derive(Default)]
struct SketchedContents {
    of: HashMap<Id, Sketched, BuildSeeded>,
    bytes: usize,
}

/// Decides pairs by the evidence of both contents. The archive is opened when it is first needed.
pub struct Judge<'a> {
    options: Options,
    archive: OnceCell<Archive>,
    sketched: RefCell<SketchedContents>,
    texts: RefCell<PreparedTexts>,
    open: Box<dyn Fn() -> Result<Archive> + 'a>,
}

impl<'a> Judge<'a> {
    /// A judge that decides by `options`, in which every default is filled in, from the evidence
    /// that `open` opens.
    pub fn new(options: Options, open: impl Fn() -> Result<Archive> + 'a) -> Judge<'a> {
        let (archive, sketched, texts) = (OnceCell::new(), RefCell::default(), RefCell::default());
        Judge { options, archive, sketched, texts, open: Box::new(open) }
    }

    fn archive(&self) -> Result<&Archive> {
        match self.archive.get() {
            Some(archive) => Ok(archive),
            None => {
                let archive = (self.open)()?;
                Ok(self.archive.get_or_init(|| archive))
            }
        }
    }

    /// Calls `found` with the position, the distance and the verdict of each of `pairs`, in any
    /// order. If only fingerprints decide and the distance is known, no evidence is read.
    pub fn verdicts(
        &self,
        pairs: &[(Id, Id, Option<u32>)],
        mut found: impl FnMut(usize, u32, Verdict) -> Result<()>,
    ) -> Result<()> {
        let mut open = Vec::new();
        for (start, pairs) in (0..).step_by(PAIRS_AT_ONCE).zip(pairs.chunks(PAIRS_AT_ONCE)) {
            self.by_sketches(start, pairs, &mut open, &mut found)?;
        }
        self.by_texts(pairs, &open, found)
    }

    /// Decides pairs, of which the first is at `start`, by what is known without their texts, and
    /// adds the positions of others to `open`. Most pairs of texts made to collide end here.
    fn by_sketches(
        &self,
        start: usize,
        pairs: &[(Id, Id, Option<u32>)],
        open: &mut Vec<usize>,
        found: &mut impl FnMut(usize, u32, Verdict) -> Result<()>,
    ) -> Result<()> {
        let by_distance =
            |pair: &(Id, Id, Option<u32>)| pair.2.filter(|_| self.options.by == By::Fingerprint);
        let looked_up = pairs.iter().filter(|pair| by_distance(pair).is_none());
        let mut known = self.sketched.borrow_mut();
        self.sketch(
            &mut known,
            looked_up.clone().map(|pair| pair.0).chain(looked_up.map(|pair| pair.1)),
        )?;
        let of = |content: &Id| {
            let lost = || Error::internal("a pair of a content without evidence");
            known.of.get(content).ok_or_else(lost)
        };
        // Pairs are in the order of their first contents.
        let mut first = None;
        for (at, pair) in (start..).zip(pairs) {
            if let Some(distance) = by_distance(pair) {
                found(at, distance, by_fingerprint(distance, &self.options))?;
                continue;
            }
            let a = match first {
                Some((content, sketched)) if content == pair.0 => sketched,
                _ => of(&pair.0)?,
            };
            first = Some((pair.0, a));
            let b = of(&pair.1)?;
            let distance = simhash::distance(a.fingerprint, b.fingerprint);
            match decide_unread(a, b, distance, &self.options) {
                Some(verdict) => found(at, distance, verdict)?,
                None => open.push(at),
            }
        }
        Ok(())
    }

    /// Makes `contents` known. A content of many pairs is read once for all of them.
    fn sketch(
        &self,
        known: &mut SketchedContents,
        contents: impl Iterator<Item = Id>,
    ) -> Result<()> {
        if known.bytes > SKETCHED_BYTES_MAX {
            *known = SketchedContents::default();
        }
        let mut last = Id::NONE;
        let is_next = |content: &Id| std::mem::replace(&mut last, *content) != *content;
        let contents = contents.filter(is_next);
        let mut missing: Vec<Id> =
            contents.filter(|content| !known.of.contains_key(content)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        missing.sort_unstable();
        missing.dedup();
        let archive = self.archive()?;
        for (content, place) in missing.iter().zip(archive.places(&missing)?) {
            let sketched = archive.read(*content, place)?.sketched();
            known.bytes += size_of::<(Id, Sketched)>() + sketched.sketches.len();
            known.of.insert(*content, sketched);
        }
        Ok(())
    }

    /// Decides those of `pairs` whose positions are `open`.
    fn by_texts(
        &self,
        pairs: &[(Id, Id, Option<u32>)],
        open: &[usize],
        mut found: impl FnMut(usize, u32, Verdict) -> Result<()>,
    ) -> Result<()> {
        if open.is_empty() {
            return Ok(());
        }
        let mut contents: Vec<Id> =
            open.iter().flat_map(|at| [pairs[*at].0, pairs[*at].1]).collect();
        contents.sort_unstable();
        contents.dedup();
        let archive = self.archive()?;
        let places = archive.places(&contents)?;
        let is_read = vec![Cell::new(false); contents.len()];
        let read = |number: u32| -> Result<Content<'_>> {
            let at = number as usize;
            match is_read[at].replace(true) {
                true => archive.read_again(contents[at], places[at]),
                false => archive.read(contents[at], places[at]),
            }
        };
        let number = |content: &Id| contents.binary_search(content).unwrap_or_default() as u32;
        let edges: Vec<(u32, u32)> =
            open.iter().map(|at| (number(&pairs[*at].0), number(&pairs[*at].1))).collect();
        // Pairs of texts that are alike follow each other, so that few texts have to be prepared
        // again. Pairs with the same later text do so directly.
        let mut later: Option<Compared<'_>> = None;
        for edge in walk::order(contents.len(), &edges) {
            let (at, (one, other)) = (open[edge.at], edge.nodes);
            let (a, b) = (contents[one as usize], contents[other as usize]);
            if later.as_ref().is_none_or(|known| known.id != b) {
                later = Some(Compared { id: b, content: read(other)?, texts: &self.texts });
            }
            let Some(other) = &later else { continue };
            let one = Compared { id: a, content: read(one)?, texts: &self.texts };
            let distance = simhash::distance(one.content.fingerprint, other.content.fingerprint);
            let verdict = decide(&one, other, distance, &self.options);
            for known in [&one, other] {
                if known.content.is_damaged() {
                    return Err(damaged(known.id, "is damaged"));
                }
            }
            found(at, distance, verdict)?;
        }
        Ok(())
    }
}

/// The evidence of a content whose text stays prepared for other pairs.
struct Compared<'a> {
    id: Id,
    content: Content<'a>,
    texts: &'a RefCell<PreparedTexts>,
}

impl Evidence for Compared<'_> {
    fn chars(&self) -> u32 {
        self.content.chars()
    }

    fn sketches(&self) -> Sketches<'_> {
        self.content.sketches()
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.content.text()
    }

    fn prepared(&self) -> Option<Rc<Prepared>> {
        self.texts.borrow_mut().get(self.id, || self.content.text().map(Cow::into_owned))
    }
}

/// Of so many decided pairs one shows the progress.
const ADVANCED_PAIRS: usize = 1 << 6;

/// Candidates and stored pairs that are merged at once.
const MERGED_ROWS: usize = 1 << 16;

/// What changes some pairs, ascending.
#[derive(Clone, Copy)]
struct Changes<'a> {
    candidates: &'a [Candidate],
    deleted: &'a [DeletedPair],
}

impl<'a> Changes<'a> {
    /// Takes off those of the contents up to `last`.
    fn take(&mut self, last: Id) -> Changes<'a> {
        let (candidates, later_candidates) =
            self.candidates.split_at(self.candidates.partition_point(|row| row.content <= last));
        let (deleted, later_deleted) =
            self.deleted.split_at(self.deleted.partition_point(|row| row.content <= last));
        *self = Changes { candidates: later_candidates, deleted: later_deleted };
        Changes { candidates, deleted }
    }

    /// The last content of the next portion, which has all that is left unless that is too much;
    /// none if nothing is left.
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
        let mut contents: Vec<Id> = self.candidates.iter().map(|row| row.content).collect();
        contents.extend(self.deleted.iter().map(|row| row.content));
        contents.sort_unstable();
        contents.dedup();
        contents
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
    let judge = Judge::new(epoch.shared.job.verdicts()?, || evidence::archive(epoch, segments));
    let table = epoch.before::<PairRow>()?;
    let mut rest = Changes { candidates, deleted };
    if epoch.shared.plan.decision_changed {
        let (from, to) = epoch.id_range();
        for stored in table.portions_in(from, to, MERGED_ROWS) {
            let Some(last) = stored.last().map(|row| row.content) else { continue };
            portion(epoch, &judge, stored, rest.take(last), true, emit)?;
        }
    }
    while let Some(last) = rest.last() {
        let changes = rest.take(last);
        // If all were decided again above, the remaining candidates have no stored pair.
        let stored = match epoch.shared.plan.decision_changed {
            true => Vec::new(),
            false => table.matching(&changes.contents()),
        };
        portion(epoch, &judge, stored, changes, false, emit)?;
    }
    Ok(())
}

/// Merges the stored pairs of some contents with the changes of their proposals; both are sorted.
/// If `again`, stored pairs are decided again.
fn portion(
    epoch: &Epoch,
    judge: &Judge<'_>,
    stored: Vec<PairRow>,
    changes: Changes<'_>,
    again: bool,
    emit: &mut dyn FnMut(PairChange),
) -> Result<()> {
    let mut counts: BTreeMap<Counter, u64> = BTreeMap::new();
    let mut put = |before: Option<&PairRow>, after: Option<&PairRow>| {
        if before == after {
            return;
        }
        let counter = match (before, after) {
            (None, _) => Counter::PairsNew,
            (_, None) => Counter::PairsGone,
            (Some(before), Some(after)) if before.proposals == after.proposals => {
                Counter::PairsRedecided
            }
            _ => Counter::PairsReproposed,
        };
        *counts.entry(counter).or_default() += 1;
        let changes = before.map(|row| PairChange::new(row, -1)).into_iter();
        for change in changes.chain(after.map(|row| PairChange::new(row, 1))) {
            emit(change);
            emit(change.mirrored());
        }
    };
    let (mut due, mut pairs) = (Vec::new(), Vec::new());
    let is_here = |row: &PairRow| decided_at(row.content, row.other).0 == row.content;
    let mut stored = stored.into_iter().filter(is_here).peekable();
    let pair = |candidates: &[Candidate]| (candidates[0].content, candidates[0].other);
    let same = |a: &Candidate, b: &Candidate| (a.content, a.other) == (b.content, b.other);
    let mut candidates = changes.candidates.chunk_by(same).peekable();
    let deleted = changes.deleted.iter().map(|row| (row.content, row.other));
    let mut deleted = deleted.peekable();
    loop {
        let next = [
            stored.peek().map(|row| (row.content, row.other)),
            candidates.peek().map(|one| pair(one)),
            deleted.peek().copied(),
        ];
        let Some(key) = next.into_iter().flatten().min() else { break };
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
        match &before {
            _ if proposals == 0 => put(before.as_ref(), None),
            Some(row) if !again => {
                put(before.as_ref(), Some(&PairRow { proposals, ..row.clone() }))
            }
            _ => {
                let known = || changes.iter().find_map(|candidate| candidate.distance.get());
                let distance = before.as_ref().map(|row| row.distance.into()).or_else(known);
                pairs.push((key.0, key.1, distance));
                due.push(Due { before: before.map(Box::new), proposals });
            }
        }
    }
    judge.verdicts(&pairs, |at, distance, verdict| {
        if at % ADVANCED_PAIRS == 0 {
            epoch.advanced();
        }
        let ((content, other, _), Due { before, proposals }) = (pairs[at], &due[at]);
        let after = PairRow {
            content,
            other,
            distance: distance as u8,
            similarity: verdict.similarity,
            reason: verdict.reason as u8,
            accepted: verdict.accepted.into(),
            proposals: *proposals,
            diff: 1,
        };
        put(before.as_deref(), Some(&after));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::resolve::Distance;

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
