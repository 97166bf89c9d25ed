//! Keeps the contents that pages have, and their evidence.
//!
//! A content is live while at least one page has it, and comparable unless it is too short or was
//! gathered from the whole page on each of its pages. One page on which extraction found the text
//! as main text makes the content comparable. So the live pages alone decide which contents are
//! compared. When a content becomes comparable, its evidence is copied from the finished splits to
//! the store. When it ceases to be comparable, its evidence is deleted.

use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::pages::PageContent;
use crate::id::Id;
use crate::store::lookup::Lookup;
use crate::store::table::replacement;
use crate::tables::evidence::StoredEvidence;
use crate::tables::visits::GATHERED;
use crate::tables::{ContentPageRow, ContentRow, EvidenceRow};

/// A comparable content that appeared (+1) or disappeared (-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ContentChange {
    /// Its fingerprint.
    pub fingerprint: u64,
    /// The content.
    pub content: Id,
    /// +1 or -1.
    pub diff: i64,
}

/// The net changes of the pages of one content. `changes` ascend by page.
pub fn net(changes: &[PageContent]) -> impl Iterator<Item = ContentPageRow> + '_ {
    changes.chunk_by(|a, b| a.doc == b.doc).filter_map(|of_page| {
        let sum: i32 = of_page.iter().map(|change| change.diff).sum();
        let (content, doc) = (of_page[0].content, of_page[0].doc);
        (sum != 0).then_some(ContentPageRow { content, doc, diff: sum as i8 })
    })
}

/// The row of a content after the `changes` of its pages. It was `old` before, and has `pages`
/// pages now. `None` if it is not live.
fn after(old: Option<&ContentRow>, changes: &[PageContent], pages: i64) -> Option<ContentRow> {
    let gathered = |change: &&PageContent| change.flags & u32::from(GATHERED) != 0;
    let gathered: i32 = changes.iter().filter(gathered).map(|change| change.diff).sum();
    let row = match (old, changes.iter().find(|change| change.diff > 0)) {
        _ if pages == 0 => return None,
        (Some(row), _) => row.clone(),
        (None, Some(&PageContent { content, fingerprint, chars, letters, flags, .. })) => {
            ContentRow {
                content,
                fingerprint,
                chars,
                letters,
                gathered_pages: 0,
                flags: flags as u8,
                diff: 1,
            }
        }
        (None, None) => return None,
    };
    let gathered_pages = row.gathered_pages.saturating_add_signed(gathered);
    let flag = if i64::from(gathered_pages) == pages { GATHERED } else { 0 };
    Some(ContentRow { gathered_pages, flags: row.flags & !GATHERED | flag, ..row })
}

/// Stores the changed pages of contents, and the contents that changed, with their evidence.
/// Returns the comparable contents that appeared or disappeared, in order.
pub fn contents(epoch: &Epoch, changes: &[PageContent]) -> Result<Vec<ContentChange>> {
    let mut touched: Vec<Id> = changes.iter().map(|change| change.content).collect();
    touched.dedup();
    // A text may be on very many pages. They can be counted without being read.
    let old_pages = epoch.before::<ContentPageRow>()?.counts(&touched);
    let old_contents = epoch.before::<ContentRow>()?.matching(&touched);
    let mut old_contents = old_contents.into_iter().peekable();
    let mut page_rows = Vec::new();
    let mut content_rows = Vec::new();
    let mut changed = Vec::new();
    for (changes, before) in changes.chunk_by(|a, b| a.content == b.content).zip(old_pages) {
        let content = changes[0].content;
        let old = old_contents.next_if(|row| row.content == content);
        let from = page_rows.len();
        page_rows.extend(net(changes));
        let pages =
            before as i64 + page_rows[from..].iter().map(|row| i64::from(row.diff)).sum::<i64>();
        let new = after(old.as_ref(), changes, pages);
        match (&old, &new) {
            (None, Some(_)) => epoch.count(Counter::ContentsNew, 1),
            (Some(_), None) => epoch.count(Counter::ContentsGone, 1),
            _ => {}
        }
        let fingerprint = |row: &ContentRow| row.is_comparable().then_some(row.fingerprint);
        match (old.as_ref().and_then(fingerprint), new.as_ref().and_then(fingerprint)) {
            (None, Some(fingerprint)) => {
                changed.push(ContentChange { fingerprint, content, diff: 1 })
            }
            (Some(fingerprint), None) => {
                changed.push(ContentChange { fingerprint, content, diff: -1 })
            }
            _ => {}
        }
        content_rows.extend(replacement(old, new));
    }
    epoch.write(page_rows)?;
    epoch.write(content_rows)?;
    evidence(epoch, &changed)?;
    Ok(changed)
}

/// Content changes whose evidence is looked up at once.
const PORTION_CHANGES: usize = 1 << 16;

/// Copies the evidence of comparable contents that appeared from the splits, and deletes the
/// evidence of those that disappeared. One row is in memory at a time, and only rows of changed
/// contents are read.
fn evidence(epoch: &Epoch, changed: &[ContentChange]) -> Result<()> {
    if changed.is_empty() || !epoch.shared.job.contents.evidence {
        return Ok(());
    }
    let of = |changed: &[ContentChange], diff: i64| -> Vec<Id> {
        changed.iter().filter(|change| change.diff == diff).map(|change| change.content).collect()
    };
    let read = epoch.split_evidence()?;
    let stored = match changed.iter().any(|change| change.diff < 0) {
        true => StoredEvidence::new(epoch.lookup()?),
        false => StoredEvidence::new(Lookup::default()),
    };
    let mut writer = epoch.writer::<EvidenceRow>()?;
    for changed in changed.chunks(PORTION_CHANGES) {
        let mut created = read.places(&of(changed, 1))?.into_iter();
        let mut deleted = stored.places(&of(changed, -1))?.into_iter();
        for change in changed {
            epoch.record_progress();
            // `places` returned one place for each change.
            let row = match change.diff > 0 {
                true => created.next().map(|place| read.row(place)),
                false => deleted.next().map(|place| stored.row(place)),
            };
            if let Some(row) = row {
                writer.push(EvidenceRow { diff: change.diff as i8, ..row? })?;
            }
        }
    }
    epoch.finish(writer)?;
    Ok(())
}
