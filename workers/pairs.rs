//! Pairs: in come candidates and contents that are gone, out go the stored pairs. A pair is stored under both its contents, so that each
//! finds its own; components begin with what this epoch wrote here.

use crate::confirm::{SIMHASH, decide};
use crate::contents::Birth;
use crate::document::Id;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::resolve::Candidate;
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

/// What `told`, all of one pair seen from one end, makes of the row that was stored.
fn fold(before: Option<&PairRow>, told: &[Candidate]) -> Option<PairRow> {
    let stays = told.iter().find(|candidate| candidate.diff > 0)?;
    let verdict = decide(stays.distance);
    let row = PairRow {
        content: stays.content,
        other: stays.other,
        distance: stays.distance as u8,
        similarity: verdict.similarity,
        reason: verdict.reason as u8,
        accepted: u8::from(verdict.accepted),
        signatures: SIMHASH,
        diff: 1,
    };
    debug_assert!(before.is_none_or(|before| *before == row), "a verdict is decided once");
    Some(row)
}

/// Decides and stores pairs; `candidates` are sorted and this worker's own.
pub fn pairs(epoch: &Epoch, candidates: &[Candidate]) -> Result<()> {
    let mut contents: Vec<Id> = candidates.iter().map(|candidate| candidate.content).collect();
    contents.dedup();
    let mut old = epoch.before::<PairRow>("pairs")?.matching(&contents).into_iter().peekable();
    let mut rows = Vec::new();
    for told in candidates.chunk_by(|a, b| (a.content, a.other) == (b.content, b.other)) {
        let pair = (told[0].content, told[0].other);
        while old.next_if(|row| (row.content, row.other) < pair).is_some() {}
        let before = old.next_if(|row| (row.content, row.other) == pair);
        let after = fold(before.as_ref(), told);
        if pair.0 < pair.1 && before.is_none() != after.is_none() {
            epoch.count(if after.is_some() { "pairs_new" } else { "pairs_gone" }, 1);
        }
        if before != after {
            let mut changes: Vec<PairRow> = before.into_iter().map(|row| PairRow { diff: -1, ..row }).collect();
            changes.extend(after);
            changes.sort_unstable();
            rows.extend(changes);
        }
    }
    epoch.write("pairs", rows)
}
