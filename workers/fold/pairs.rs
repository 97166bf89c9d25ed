//! Pairs: in come candidates of all signatures and contents that are gone, out go the stored pairs. All that is said of a
//! pair meets at the owner of its lesser content, which adds up who proposes it and decides it once, from the evidence of
//! both (`confirm`); a pair is stored under both its contents, so that each finds its own (`pairs`). It stands while a
//! signature proposes it and goes with either content. Components begin with what this epoch wrote here.

use crate::confirm::{By, Options, Verdict, by_fingerprint, decide};
use crate::document::Id;
use crate::error::{Error, Result};
use crate::fold::contents::Birth;
use crate::fold::epoch::Epoch;
use crate::fold::evidence::{self, Archive, Content};
use crate::fold::resolve::{Candidate, GONE, NO_DISTANCE};
use crate::store::table::table;
use crate::text::signatures::SignatureKind;
use std::cell::OnceCell;

table! {
    /// A decided pair, as one of its contents sees it.
    pub struct PairRow in "pairs", columns PairColumns {
        key { /// The content.
              content: Id,
              /// The other.
              other: Id }
        value { /// Bits in which the fingerprints differ.
                distance: u8,
                /// How alike the texts are, in 1/10,000.
                similarity: u16,
                /// The rule that decided, a [`crate::confirm::Reason`].
                reason: u8,
                /// 1 if the pair joins its contents.
                accepted: u8,
                /// Who proposes the pair: byte 0, the lowest, is 1 if SimHash does; byte n is the number of keys by which the
                /// signature of that number does, see [`proposed_by`].
                proposals: u64 }
        history { }
    }
}

/// How often the signature of that number, 0 for SimHash, proposes a pair.
pub fn proposed_by(proposals: u64, signature: u8) -> u8 {
    proposals.to_le_bytes().get(usize::from(signature)).copied().unwrap_or(0)
}

/// The names of the signatures that propose a pair, joined by `+`.
pub fn names(proposals: u64) -> String {
    let equal = SignatureKind::ALL.into_iter().map(|kind| (kind.number(), kind.name()));
    let names = [(0, "simhash")].into_iter().chain(equal);
    let named: Vec<&str> =
        names.filter(|(number, _)| proposed_by(proposals, *number) > 0).map(|(_, name)| name).collect();
    named.join("+")
}

/// A row that was added (+1) or taken back (-1), on its way to the owner of the content that it stands under. Ordered as
/// rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PairChange {
    /// The content.
    pub content: Id,
    other: Id,
    distance: u16,
    similarity: u16,
    reason: u16,
    accepted: u16,
    proposals: u64,
    diff: i64,
}

impl PairChange {
    fn new(row: &PairRow, diff: i64) -> PairChange {
        PairChange {
            content: row.content,
            other: row.other,
            distance: row.distance.into(),
            similarity: row.similarity,
            reason: row.reason.into(),
            accepted: row.accepted.into(),
            proposals: row.proposals,
            diff,
        }
    }

    fn mirrored(self) -> PairChange {
        PairChange { content: self.other, other: self.content, ..self }
    }

    fn row(&self) -> PairRow {
        PairRow {
            content: self.content,
            other: self.other,
            distance: self.distance as u8,
            similarity: self.similarity,
            reason: self.reason as u8,
            accepted: self.accepted as u8,
            proposals: self.proposals,
            diff: self.diff as i8,
        }
    }
}

/// A gone content takes its stored pairs with it: tells the owner of the lesser content of each. `births` are this worker's
/// own.
pub fn gone(epoch: &Epoch, births: &[Birth], give: &mut dyn FnMut(Candidate)) -> Result<()> {
    let mut contents: Vec<Id> = births.iter().filter(|birth| birth.diff < 0).map(|birth| birth.content).collect();
    if contents.is_empty() {
        return Ok(());
    }
    contents.sort_unstable();
    for row in epoch.before::<PairRow>("pairs")?.matching(&contents) {
        let (content, other) = (row.content.min(row.other), row.content.max(row.other));
        give(Candidate { content, other, diff: -1, signature: GONE, distance: NO_DISTANCE });
    }
    Ok(())
}

/// Who proposes a pair after all that `told` says of it was added to what was stored; 0 if a content is gone. None if
/// the sums are not such as they can be.
fn proposals(before: u64, told: &[Candidate]) -> Option<u64> {
    if told.iter().any(|candidate| candidate.signature == GONE) {
        return Some(0);
    }
    let mut sums = before.to_le_bytes().map(i64::from);
    for candidate in told {
        *sums.get_mut(usize::from(candidate.signature))? += i64::from(candidate.diff);
    }
    let mut bytes = [0; 8];
    for (byte, sum) in bytes.iter_mut().zip(sums) {
        *byte = u8::try_from(sum).ok()?;
    }
    Some(u64::from_le_bytes(bytes))
}

/// A pair to be decided.
struct Due {
    content: Id,
    other: Id,
    /// As it is stored, if it is.
    before: Option<PairRow>,
    /// Who proposes it now.
    proposals: u64,
    /// Bits in which the fingerprints differ, if they were at hand.
    distance: Option<u32>,
}

impl Due {
    fn decided(&self, distance: u32, verdict: Verdict) -> PairRow {
        PairRow {
            content: self.content,
            other: self.other,
            distance: distance as u8,
            similarity: verdict.similarity,
            reason: verdict.reason as u8,
            accepted: verdict.accepted.into(),
            proposals: self.proposals,
            diff: 1,
        }
    }
}

/// Decides pairs by the evidence of both contents. The archive is opened when a verdict first needs it.
pub struct Judge<'a> {
    options: Options,
    archive: OnceCell<Archive>,
    open: Box<dyn Fn() -> Result<Archive> + 'a>,
}

impl<'a> Judge<'a> {
    /// A judge by `options`, in which every default is filled in, over the evidence that `open` opens.
    pub fn new(options: Options, open: impl Fn() -> Result<Archive> + 'a) -> Judge<'a> {
        Judge { options, archive: OnceCell::new(), open: Box::new(open) }
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

    /// The distance and the verdict of each of `pairs`, which ascend, given in that order. A distance that is known is not
    /// looked up where fingerprints alone decide.
    pub fn verdicts(
        &self,
        pairs: &[(Id, Id, Option<u32>)],
        mut found: impl FnMut(usize, u32, Verdict) -> Result<()>,
    ) -> Result<()> {
        let by_distance = |pair: &(Id, Id, Option<u32>)| pair.2.filter(|_| self.options.by == By::Fingerprint);
        let looked_up = pairs.iter().filter(|pair| by_distance(pair).is_none());
        let mut contents: Vec<Id> = looked_up.flat_map(|(a, b, _)| [*a, *b]).collect();
        contents.sort_unstable();
        contents.dedup();
        let places = if contents.is_empty() { Vec::new() } else { self.archive()?.places(&contents)? };
        let read = |content: Id| -> Result<Content<'_>> {
            let at = contents.binary_search(&content).map_err(|_| evidence::damaged(content, "is missing"))?;
            self.archive()?.read(content, places[at])
        };
        // Pairs of one content follow one another, so that its text is unpacked once.
        let mut first: Option<(Id, Content<'_>)> = None;
        for (at, pair) in pairs.iter().enumerate() {
            if let Some(distance) = by_distance(pair) {
                found(at, distance, by_fingerprint(distance, &self.options))?;
                continue;
            }
            let (a, b) = (pair.0, pair.1);
            if first.as_ref().is_none_or(|(content, _)| *content != a) {
                first = Some((a, read(a)?));
            }
            let Some((_, one)) = &first else { continue };
            let other = read(b)?;
            let distance = (one.fingerprint ^ other.fingerprint).count_ones();
            let verdict = decide(one, &other, distance, &self.options);
            for (content, known) in [(a, one), (b, &other)] {
                if known.is_damaged() {
                    return Err(evidence::damaged(content, "is damaged"));
                }
            }
            found(at, distance, verdict)?;
        }
        Ok(())
    }
}

/// Candidates and stored pairs that are held against each other at once.
const PORTION_ROWS: usize = 1 << 16;

/// Adds up who proposes pairs and decides those that are new; `candidates` are sorted and this worker's own. Where the
/// decision changed, every stored pair is decided again, from evidence alone. Tells the owners of both contents.
pub fn confirm(epoch: &Epoch, candidates: &[Candidate], give: &mut dyn FnMut(PairChange)) -> Result<()> {
    let judge = Judge::new(epoch.job.verdicts(), || evidence::archive(epoch));
    let table = epoch.before::<PairRow>("pairs")?;
    let mut rest = candidates;
    if epoch.plan.decision_changed {
        let (from, to) = epoch.id_range();
        for stored in table.portions_in(from, to, PORTION_ROWS) {
            let Some(last) = stored.last().map(|row| row.content) else { continue };
            let (told, later) = rest.split_at(rest.partition_point(|candidate| candidate.content <= last));
            rest = later;
            portion(epoch, &judge, stored, told, true, give)?;
        }
    }
    while let Some(last) = rest.get(PORTION_ROWS.min(rest.len()).wrapping_sub(1)) {
        let (told, later) = rest.split_at(rest.partition_point(|candidate| candidate.content <= last.content));
        rest = later;
        let mut contents: Vec<Id> = told.iter().map(|candidate| candidate.content).collect();
        contents.dedup();
        // What is left where all are decided again has no stored pair.
        let stored = if epoch.plan.decision_changed { Vec::new() } else { table.matching(&contents) };
        portion(epoch, &judge, stored, told, false, give)?;
    }
    Ok(())
}

/// Holds the stored pairs of some contents against what is told of pairs with them; both are sorted. `again` decides all.
fn portion(
    epoch: &Epoch,
    judge: &Judge<'_>,
    stored: Vec<PairRow>,
    told: &[Candidate],
    again: bool,
    give: &mut dyn FnMut(PairChange),
) -> Result<()> {
    let mut put = |before: Option<&PairRow>, after: Option<&PairRow>| {
        if before == after {
            return;
        }
        let name = match (before, after) {
            (None, _) => "pairs_new",
            (_, None) => "pairs_gone",
            (Some(before), Some(after)) if before.proposals == after.proposals => "pairs_redecided",
            _ => "pairs_reproposed",
        };
        epoch.count(name, 1);
        let changes = before.map(|row| PairChange::new(row, -1)).into_iter();
        for change in changes.chain(after.map(|row| PairChange::new(row, 1))) {
            give(change);
            give(change.mirrored());
        }
    };
    let mut due = Vec::new();
    let mut stored = stored.into_iter().filter(|row| row.content < row.other).peekable();
    let mut told = told.chunk_by(|a, b| (a.content, a.other) == (b.content, b.other)).peekable();
    loop {
        let pair = |told: &[Candidate]| (told[0].content, told[0].other);
        let key = match (stored.peek().map(|row| (row.content, row.other)), told.peek().map(|told| pair(told))) {
            (Some(a), Some(b)) => a.min(b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => break,
        };
        let before = stored.next_if(|row| (row.content, row.other) == key);
        let told = told.next_if(|told| pair(told) == key).unwrap_or_default();
        let proposed = before.as_ref().map_or(0, |row| row.proposals);
        let proposals = proposals(proposed, told).ok_or_else(|| {
            Error::internal(format!("pair {} {}: {proposed:016x} and {told:?} do not add up", key.0, key.1))
        })?;
        match &before {
            _ if proposals == 0 => put(before.as_ref(), None),
            Some(row) if !again => put(before.as_ref(), Some(&PairRow { proposals, ..row.clone() })),
            _ => {
                let known = told.iter().map(|candidate| candidate.distance).find(|distance| *distance != NO_DISTANCE);
                let distance = before.as_ref().map(|row| row.distance.into()).or(known).map(u32::from);
                due.push(Due { content: key.0, other: key.1, before, proposals, distance });
            }
        }
    }
    let pairs: Vec<(Id, Id, Option<u32>)> = due.iter().map(|due| (due.content, due.other, due.distance)).collect();
    judge.verdicts(&pairs, |at, distance, verdict| {
        put(due[at].before.as_ref(), Some(&due[at].decided(distance, verdict)));
        Ok(())
    })
}

/// Stores pairs; `changes` are sorted and this worker's own.
pub fn pairs(epoch: &Epoch, changes: &[PairChange]) -> Result<()> {
    epoch.write("pairs", changes.iter().map(PairChange::row))
}

/// The pairs that this epoch began to accept (+1) or accepts no longer (-1), as this worker's contents see them: content,
/// other, diff. Another verdict of the same outcome, or another who proposes, is no change.
pub fn accepted(epoch: &Epoch) -> Result<Vec<(Id, Id, i8)>> {
    let Some(fresh) = epoch.fresh::<PairRow>("pairs")? else { return Ok(Vec::new()) };
    let mut changes: Vec<(Id, Id, i8)> = Vec::new();
    for row in (0..fresh.len()).map(|at| fresh.row(at)).filter(|row| row.accepted == 1) {
        match changes.last_mut() {
            Some(last) if (last.0, last.1) == (row.content, row.other) => last.2 += row.diff,
            _ => changes.push((row.content, row.other, row.diff)),
        }
    }
    changes.retain(|change| change.2 != 0);
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(signature: u16, diff: i32) -> Candidate {
        Candidate { content: Id::NONE, other: Id::MAX, diff, signature, distance: NO_DISTANCE }
    }

    /// Each signature's proposals add up by themselves, a gone content ends them all, and sums that cannot be are refused.
    #[test]
    fn proposals_add_up() {
        assert_eq!(proposals(0, &[told(0, 1), told(1, 1), told(1, 1)]), Some(0x0201));
        assert_eq!(proposals(0x0201, &[told(1, -1), told(3, 1), told(0, -1)]), Some(0x0100_0100));
        assert_eq!(proposals(0x0201, &[told(0, -1), told(1, -1), told(1, -1)]), Some(0));
        assert_eq!(proposals(0x0201, &[told(1, 1), told(GONE, -1)]), Some(0));
        assert_eq!(proposals(0x0201, &[]), Some(0x0201));
        assert_eq!(proposals(0x0100, &[told(0, -1)]), None);
        assert_eq!(proposals(0xff00, &[told(1, 1)]), None);
        assert_eq!(proposals(0, &[told(8, 1)]), None);
    }

    /// Who proposes a pair is named in the order of numbers.
    #[test]
    fn names_are_joined() {
        assert_eq!(names(0x0001), "simhash");
        assert_eq!(names(0x0601), "simhash+minhash");
        assert_eq!(names(0x0000_0001_0200_4000), "minhash+i_match+spotsigs");
        assert_eq!(names(0), "");
    }
}
