//! Applies the visits of an epoch to the live pages.
//!
//! Of several visits to a URL one wins, by a rule that does not depend on their order. Pages that
//! were last seen too long ago, or that a complete snapshot of their source lacks, are deleted.
//! Each worker reads its range of DocIds directly from all finished splits, in passes of bounded
//! memory, so visits are never sent over the network. Only pages that gain or lose a content are
//! emitted.

use crate::document::{FUTURE_SECONDS_MAX, Id};
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::splits::SplitVisits;
use crate::store::table::{Row, consolidate};
use crate::tables::pages::{LapseRule, has_expired};
use crate::tables::visits::{PAGE, REMOVED, SEEN};
use crate::tables::{PageRow, UrlRow, Visit};

/// A page that gained (+1) or lost (-1) a content, sent to the content's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PageContent {
    /// The content.
    pub content: Id,
    /// The page.
    pub doc: Id,
    /// The content's fingerprint; 0 if the page lost it.
    pub fingerprint: u64,
    /// The content's length in characters; 0 if the page lost it.
    pub chars: u32,
    /// The content's flags; 0 if the page lost it.
    pub flags: u16,
    /// +1 or -1.
    pub diff: i16,
}

/// The visit that decides what a URL is now; none if the page was only seen.
///
/// Of the `visits` to one URL the greatest wins, by date, removal over page, digest, and then the
/// other columns.
pub fn winner(visits: &[Visit], logical_time: i64) -> Option<&Visit> {
    let latest = logical_time.saturating_add(FUTURE_SECONDS_MAX);
    let rank = |visit: &&Visit| (visit.date.min(latest), visit.kind, visit.content, (*visit).clone());
    visits.iter().filter(|visit| visit.kind != SEEN).max_by_key(rank)
}

/// The epoch that applies visits.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Its number.
    pub epoch: u32,
    /// Its logical time in seconds since 1970.
    pub time: i64,
    /// The number of the source that it reads.
    pub source: u16,
}

/// The page after `visits`, if it is live.
pub fn fold(before: Option<&PageRow>, visits: &[Visit], now: Now) -> Option<PageRow> {
    let Now { epoch, time, source } = now;
    let seen_now = |page: &PageRow| PageRow { last_epoch: epoch, last_time: time, source, ..page.clone() };
    match winner(visits, time) {
        None => before.map(seen_now),
        Some(visit) if visit.kind == REMOVED => None,
        Some(visit) => {
            debug_assert_eq!(visit.kind, PAGE);
            Some(PageRow {
                doc: visit.doc,
                content: visit.content,
                date: visit.date,
                host: visit.host,
                https: visit.https,
                url_bytes: visit.url.len() as u32,
                first_epoch: before.map_or(epoch, |page| page.first_epoch),
                last_epoch: epoch,
                last_time: time,
                source,
                diff: 1,
            })
        }
    }
}

/// Visits that a worker has in memory at once.
const PASS_ROWS: u64 = 1 << 19;

/// Stores the changed pages and URLs of this worker, and emits the pages that gained or lost a
/// content.
pub fn pages(epoch: &Epoch, emit: &mut dyn FnMut(PageContent)) -> Result<()> {
    let plan = &epoch.shared.plan;
    let visits = epoch.split_visits()?;
    let before = epoch.before::<PageRow>()?;
    let known_urls = epoch.before::<UrlRow>()?;
    let now = Now { epoch: plan.epoch, time: plan.logical_time, source: plan.source };
    let going = LapseRule { retention: plan.retention, complete: plan.complete.then_some(plan.source) };
    let mut pages = epoch.writer::<PageRow>()?;
    let mut urls = epoch.writer::<UrlRow>()?;
    let rows = visits.segments().iter().map(|segment| segment.rows);
    // Every known page may have to be deleted.
    let total = rows.sum::<u64>() + if going.is_never() { 0 } else { before.rows() as u64 };
    for (from, to) in passes(epoch, total.div_ceil(PASS_ROWS * epoch.peers as u64)) {
        let mut rows = in_range(&visits, from, to)?;
        rows.sort_unstable();
        let mut lapsed = Vec::new();
        if !going.is_never() {
            before.segments().iter().for_each(|segment| lapsed.extend(going.rows(segment, from, to)));
            lapsed = consolidate(lapsed);
            epoch.count(
                Counter::PagesKnown,
                lapsed.iter().filter(|page| Some(page.source) == going.complete).count() as u64,
            );
        }
        let mut docs: Vec<Id> = rows.iter().map(|visit| visit.doc).collect();
        docs.dedup();
        lapsed.retain(|page| docs.binary_search(&page.doc).is_err());
        let lapsed_docs: Vec<Id> = lapsed.iter().map(|page| page.doc).collect();
        let lapsed_urls = known_urls.matching(&lapsed_docs);
        assert_eq!(lapsed_urls.len(), lapsed_docs.len(), "each page has its URL");
        let mut lapsed = lapsed.into_iter().zip(lapsed_urls).peekable();
        let mut old = before.matching(&docs).into_iter().peekable();
        for visits in rows.chunk_by(|a, b| a.doc == b.doc) {
            let doc = visits[0].doc;
            while let Some((page, url)) = lapsed.next_if(|(page, _)| page.doc < doc) {
                emit_lapsed(epoch, &page, emit);
                urls.push(url.with_diff(-1))?;
                pages.push(page.with_diff(-1))?;
            }
            let old = old.next_if(|page| page.doc == doc);
            let new = fold(old.as_ref(), visits, now);
            count(epoch, old.as_ref(), new.as_ref(), visits);
            emit_changes(doc, old.as_ref(), new.as_ref(), visits, emit);
            let url = || visits[0].url.clone();
            match (&old, &new) {
                (None, Some(_)) => urls.push(UrlRow { doc, url: url(), diff: 1 })?,
                (Some(_), None) => urls.push(UrlRow { doc, url: url(), diff: -1 })?,
                _ => {}
            }
            if old != new {
                let mut changes: Vec<PageRow> = old.into_iter().map(|page| PageRow { diff: -1, ..page }).collect();
                changes.extend(new);
                changes.sort_unstable();
                changes.into_iter().try_for_each(|row| pages.push(row))?;
            }
        }
        for (page, url) in lapsed {
            emit_lapsed(epoch, &page, emit);
            urls.push(url.with_diff(-1))?;
            pages.push(page.with_diff(-1))?;
        }
    }
    epoch.finish(pages)?;
    epoch.finish(urls)?;
    Ok(())
}

/// Divides this worker's range of leading bits into `n` equal passes.
fn passes(epoch: &Epoch, n: u64) -> Vec<(u64, Option<u64>)> {
    let (from, to) = epoch.range();
    let n = n.max(1);
    let width = (to.map_or(1 << 64, u128::from) - u128::from(from)) / u128::from(n);
    let cut = |i: u64| from + (width * u128::from(i)) as u64;
    (0..n).map(|i| (cut(i), if i + 1 < n { Some(cut(i + 1)) } else { to })).collect()
}

/// The visits in a range of leading bits. One segment is open at a time.
fn in_range(visits: &SplitVisits, from: u64, to: Option<u64>) -> Result<Vec<Visit>> {
    let first = Id { high: from, low: 0 };
    let mut rows = Vec::new();
    for number in 0..visits.segments().len() {
        let segment = visits.get(number)?;
        let start = segment.seek(first, 0);
        let end = to.map_or(segment.len(), |to| segment.seek(Id { high: to, low: 0 }, start));
        rows.extend((start..end).map(|position| segment.row(position)));
    }
    Ok(rows)
}

/// Counts and emits the deletion of a page that no visit of this epoch concerns.
fn emit_lapsed(epoch: &Epoch, page: &PageRow, emit: &mut dyn FnMut(PageContent)) {
    epoch.count(
        if has_expired(page, epoch.shared.plan.retention) { Counter::PagesExpired } else { Counter::PagesMissing },
        1,
    );
    emit_changes(page.doc, Some(page), None, &[], emit);
}

/// Emits the content that a page lost and the content that it gained, unless they are the same.
fn emit_changes(
    doc: Id,
    old: Option<&PageRow>,
    new: Option<&PageRow>,
    visits: &[Visit],
    emit: &mut dyn FnMut(PageContent),
) {
    let (before, after) = (old.map(|page| page.content), new.map(|page| page.content));
    if before == after {
        return;
    }
    if let Some(content) = before.filter(|content| !content.is_none()) {
        emit(PageContent { content, doc, fingerprint: 0, chars: 0, flags: 0, diff: -1 });
    }
    if let Some(content) = after.filter(|content| !content.is_none())
        && let Some(visit) = visits.iter().find(|visit| visit.kind == PAGE && visit.content == content)
    {
        let (fingerprint, chars, flags) = (visit.fingerprint, visit.chars, u16::from(visit.flags));
        emit(PageContent { content, doc, fingerprint, chars, flags, diff: 1 });
    }
}

fn count(epoch: &Epoch, old: Option<&PageRow>, new: Option<&PageRow>, visits: &[Visit]) {
    let counter = match (old, new) {
        (None, None) => Counter::PagesUnknown,
        (None, Some(_)) => Counter::PagesNew,
        (Some(old), None) if has_expired(old, epoch.shared.plan.retention) => Counter::PagesExpired,
        (Some(_), None) => Counter::PagesRemoved,
        (Some(old), Some(new)) if old.content != new.content => Counter::PagesChanged,
        _ => Counter::PagesSeen,
    };
    epoch.count(counter, 1);
    let superseded = visits.iter().filter(|visit| visit.kind != SEEN).count().saturating_sub(1);
    if superseded > 0 {
        epoch.count(Counter::VisitsSuperseded, superseded as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::NO_DATE;

    const NOW: i64 = 1_000_000_000;

    fn visit(date: i64, kind: u8, content: u64) -> Visit {
        Visit {
            doc: Id { high: 1, low: 1 },
            date,
            kind,
            content: Id { high: content, low: 0 },
            fingerprint: content,
            chars: 1,
            flags: 0,
            host: 0,
            https: 0,
            url: b"http://a.example/".as_slice().into(),
            diff: 1,
        }
    }

    /// The latest valid date wins, then a removal over a page, then the digest. The order of visits
    /// does not matter.
    #[test]
    fn the_winner_of_a_url() {
        let cases = [
            (vec![visit(5, PAGE, 1), visit(NO_DATE, PAGE, 9)], (5, PAGE, 1)),
            (vec![visit(5, PAGE, 9), visit(5, REMOVED, 0)], (5, REMOVED, 0)),
            (vec![visit(5, PAGE, 1), visit(5, PAGE, 2)], (5, PAGE, 2)),
            (vec![visit(NOW * 2, PAGE, 1), visit(NOW * 3, PAGE, 0)], (NOW * 2, PAGE, 1)),
        ];
        for (mut visits, (date, kind, content)) in cases {
            for _ in 0..visits.len() {
                visits.rotate_left(1);
                let winner = winner(&visits, NOW).expect("not only seen");
                assert_eq!((winner.date, winner.kind, winner.content.high), (date, kind, content));
            }
        }
        assert!(winner(&[visit(5, SEEN, 0)], NOW).is_none());
    }

    /// A page that was only seen keeps everything except when it was last seen. An unknown URL that
    /// was only seen does not become a page.
    #[test]
    fn a_seen_page_is_kept() {
        let now = |epoch: u32| Now { epoch, time: NOW + i64::from(epoch), source: epoch as u16 };
        let page = fold(None, &[visit(5, PAGE, 1)], now(1)).expect("a page");
        let seen = fold(Some(&page), &[visit(9, SEEN, 0)], now(2)).expect("still a page");
        assert_eq!(seen, PageRow { last_epoch: 2, last_time: NOW + 2, source: 2, ..page.clone() });
        assert_eq!(fold(None, &[visit(9, SEEN, 0)], now(2)), None);
        assert_eq!(fold(Some(&page), &[visit(9, REMOVED, 0)], now(2)), None);
    }
}
