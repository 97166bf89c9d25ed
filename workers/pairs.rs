//! Pairs: in come candidates and contents that are gone, out go the stored pairs. A pair is stored under both its contents, so that each
//! finds its own; components begin with what this epoch wrote here.

use crate::confirm::{Options, SIMHASH, decide};
use crate::contents::Birth;
use crate::document::Id;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::resolve::Candidate;
use crate::store::segment::SegmentWriter;
use crate::store::table::table;

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
                /// A bit for each signature that proposes the pair.
                signatures: u8 }
        history { }
    }
}

/// Stored pairs that are held in memory at once where all are decided again, for each segment.
const PORTION_ROWS: usize = 1 << 17;

/// A gone content takes its stored pairs with it: tells both ends of each. `births` are this worker's own.
pub fn gone(epoch: &Epoch, births: &[Birth], give: &mut dyn FnMut(Candidate)) -> Result<()> {
    let mut contents: Vec<Id> = births.iter().filter(|birth| birth.diff < 0).map(|birth| birth.content).collect();
    contents.sort_unstable();
    for row in epoch.before::<PairRow>("pairs")?.matching(&contents) {
        let pair = Candidate { content: row.content, other: row.other, diff: -1, distance: u32::from(row.distance) };
        give(pair);
        give(pair.mirrored());
    }
    Ok(())
}

/// The row of a pair, decided.
pub(crate) fn decided(content: Id, other: Id, distance: u32, options: &Options) -> PairRow {
    let verdict = decide(distance, options);
    PairRow {
        content,
        other,
        distance: distance as u8,
        similarity: verdict.similarity,
        reason: verdict.reason as u8,
        accepted: u8::from(verdict.accepted),
        signatures: SIMHASH,
        diff: 1,
    }
}

/// Decides and stores pairs; `candidates` are sorted and this worker's own. Where the decision changed, every stored pair is decided again.
pub fn pairs(epoch: &Epoch, candidates: &[Candidate]) -> Result<()> {
    let options = &epoch.job.confirm;
    let table = epoch.before::<PairRow>("pairs")?;
    let mut contents: Vec<Id> = candidates.iter().map(|candidate| candidate.content).collect();
    contents.dedup();
    let mut writer = SegmentWriter::<PairRow>::create(&epoch.data.join("pairs"), &epoch.tag())?;
    let mut candidates = candidates.chunk_by(|a, b| (a.content, a.other) == (b.content, b.other)).peekable();
    let mut put = |before: Option<PairRow>, after: Option<PairRow>| -> Result<()> {
        if let Some(row) = before.as_ref().or(after.as_ref()).filter(|row| row.content < row.other) {
            debug_assert!(row.diff == 1);
            match (&before, &after) {
                (None, Some(_)) => epoch.count("pairs_new", 1),
                (Some(_), None) => epoch.count("pairs_gone", 1),
                (Some(before), Some(after)) if before != after => epoch.count("pairs_redecided", 1),
                _ => {}
            }
        }
        if before == after {
            return Ok(());
        }
        let mut changes: Vec<PairRow> = before.into_iter().map(|row| PairRow { diff: -1, ..row }).collect();
        changes.extend(after);
        changes.sort_unstable();
        changes.into_iter().try_for_each(|row| writer.push(row))
    };
    // What `told`, all of one pair seen from one end, makes of it.
    let after = |told: &[Candidate]| {
        let stays = told.iter().find(|candidate| candidate.diff > 0)?;
        Some(decided(stays.content, stays.other, stays.distance, options))
    };
    let again = epoch.plan.decision_changed;
    let stored: Box<dyn Iterator<Item = Vec<PairRow>>> = if again {
        let (from, to) = epoch.id_range();
        Box::new(table.portions_in(from, to, PORTION_ROWS))
    } else {
        Box::new(std::iter::once(table.matching(&contents)))
    };
    for row in stored.flatten() {
        let pair = (row.content, row.other);
        while let Some(told) = candidates.next_if(|told| (told[0].content, told[0].other) < pair) {
            put(None, after(told))?;
        }
        match candidates.next_if(|told| (told[0].content, told[0].other) == pair) {
            Some(told) => put(Some(row), after(told))?,
            None if again => {
                let decided = decided(row.content, row.other, u32::from(row.distance), options);
                put(Some(row), Some(decided))?;
            }
            None => {}
        }
    }
    for told in candidates {
        put(None, after(told))?;
    }
    epoch.record("pairs", writer.finish()?);
    Ok(())
}
