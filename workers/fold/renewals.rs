//! Finds the new texts that are near a text which no page has any more.
//!
//! Most pages that change are edited a little. The old text dies, and dead links that led to it
//! should lead to the new one. The same holds if a page moves and is edited in one epoch. A content
//! that died was not compared with contents that the epoch made live, so this is done here: the two
//! meet in a bucket of a key, as candidates do, and a verdict decides. Contents without keys meet
//! none.

use crate::candidates::pivots::{PIVOTS, examined_between};
use crate::distinct::distinct;
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::evidence;
use crate::fold::successors::{Linked, Succession, may_be_due};
use crate::id::Id;
use crate::judge::{Judge, PairToDecide};
use crate::store::segment::SegmentRef;
use crate::tables::{ContentRow, KeyRow};

/// A content that died and one that the epoch made live, which share a key. Sent to the owner of
/// the content that died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Renewal {
    /// The content that died.
    pub content: Id,
    /// The new content.
    pub new: Id,
}

/// Emits the contents that died and the new ones that share a key of this worker. Of a large bucket
/// only those are compared that would be compared in two groups of near fingerprints.
pub fn candidates(epoch: &Epoch, emit: &mut dyn FnMut(Renewal)) -> Result<()> {
    let fresh = epoch.fresh::<KeyRow>()?.filter(|_| may_be_due(epoch));
    let Some(fresh) = fresh else { return Ok(()) };
    let mut rows = fresh.all_rows().peekable();
    let (mut died, mut new) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next() {
        let bucket = (row.key, row.kind);
        if row.diff < 0 { &mut died } else { &mut new }.push(row.content);
        if rows.peek().is_some_and(|next| (next.key, next.kind) == bucket) {
            continue;
        }
        for (rank, &content) in died.iter().enumerate().take(PIVOTS) {
            let compared = new.iter().enumerate();
            let compared = compared.take_while(|(at, _)| examined_between(rank, *at, PIVOTS));
            compared.for_each(|(_, &new)| emit(Renewal { content, new }));
        }
        died.clear();
        new.clear();
    }
    Ok(())
}

/// Emits, for each content that died and is due, those of its `candidates` that are accepted.
/// `segments` are the evidence that all workers wrote. All are sorted.
pub fn decide(
    epoch: &Epoch,
    segments: &[SegmentRef],
    linked: &Linked,
    candidates: &[Renewal],
    emit: &mut dyn FnMut(Succession),
) -> Result<()> {
    let mut pairs: Vec<PairToDecide> = candidates
        .chunk_by(|a, b| a == b)
        .filter(|same| linked.is_due(same[0].content))
        .map(|same| PairToDecide { a: same[0].content, b: same[0].new, distance: None })
        .collect();
    if pairs.is_empty() {
        return Ok(());
    }
    let mut contents: Vec<Id> = pairs.iter().map(|pair| pair.a).collect();
    contents.dedup();
    let rows = epoch.before::<ContentRow>()?.matching(&contents);
    let says_much = ContentRow::telling(&rows, &epoch.shared.job.clusters);
    pairs.retain(|pair| says_much.binary_search(&pair.a).is_ok());
    let judge = Judge::new(epoch.shared.job.verdicts()?, || evidence::stored(epoch, segments));
    judge.verdicts(&pairs, |at, _, verdict| {
        if verdict.accepted {
            let PairToDecide { a: content, b: successor, .. } = pairs[at];
            emit(Succession { content, successor, similarity: verdict.similarity.into() });
        }
        epoch.record_progress();
        Ok(())
    })
}

/// Emits those of the successions that were `found` whose new content does not say too little: no
/// link leads to such a content.
pub fn meant(epoch: &Epoch, found: &[Succession], emit: &mut dyn FnMut(Succession)) -> Result<()> {
    let contents = distinct(found.iter().map(|one| one.successor));
    let rows = epoch.after::<ContentRow>()?.matching(&contents);
    let says_much = ContentRow::telling(&rows, &epoch.shared.job.clusters);
    let is_meant = |one: &&Succession| says_much.binary_search(&one.successor).is_ok();
    found.iter().filter(is_meant).for_each(|one| emit(*one));
    Ok(())
}
