//! Keeps the contents that pages have, and their evidence.
//!
//! A content is live while at least one page has it. When a content appears, its evidence is copied
//! from the finished splits to the store; when it disappears, its evidence is deleted.

use crate::document::Id;
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::pages::PageContent;
use crate::store::lookup::Lookup;
use crate::tables::evidence::Archive;
use crate::tables::visits::TOO_SHORT;
use crate::tables::{ContentPageRow, ContentRow, EvidenceRow};

/// A content that appeared (+1) or disappeared (-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ContentChange {
    /// Its fingerprint.
    pub fingerprint: u64,
    /// The content.
    pub content: Id,
    /// +1 or -1.
    pub diff: i32,
    /// 1 if it is too short to be compared by its fingerprint.
    pub too_short: u32,
}

/// The net changes of one content's pages. `changes` ascend by page.
pub fn net(changes: &[PageContent]) -> impl Iterator<Item = ContentPageRow> + '_ {
    changes.chunk_by(|a, b| a.doc == b.doc).filter_map(|of_page| {
        let sum: i16 = of_page.iter().map(|change| change.diff).sum();
        let (content, doc) = (of_page[0].content, of_page[0].doc);
        (sum != 0).then_some(ContentPageRow { content, doc, diff: sum as i8 })
    })
}

/// Stores the changed pages of contents, and the contents that appeared or disappeared with their
/// evidence. Returns those contents, in order.
pub fn contents(epoch: &Epoch, changes: &[PageContent]) -> Result<Vec<ContentChange>> {
    let mut touched: Vec<Id> = changes.iter().map(|change| change.content).collect();
    touched.dedup();
    // A text may be on very many pages, which need not be read to be counted.
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
        let after = before as i64 + page_rows[from..].iter().map(|row| i64::from(row.diff)).sum::<i64>();
        let change = |row: &ContentRow, diff: i8| ContentChange {
            fingerprint: row.fingerprint,
            content,
            diff: i32::from(diff),
            too_short: u32::from(row.flags & TOO_SHORT != 0),
        };
        match (old, after > 0) {
            (None, true) => {
                if let Some(facts) = changes.iter().find(|change| change.diff > 0) {
                    let (fingerprint, chars, flags) = (facts.fingerprint, facts.chars, facts.flags as u8);
                    let row = ContentRow { content, fingerprint, chars, flags, diff: 1 };
                    changed.push(change(&row, 1));
                    content_rows.push(row);
                    epoch.count(Counter::ContentsNew, 1);
                }
            }
            (Some(row), false) => {
                changed.push(change(&row, -1));
                content_rows.push(ContentRow { diff: -1, ..row });
                epoch.count(Counter::ContentsGone, 1);
            }
            _ => {}
        }
    }
    epoch.write(page_rows)?;
    epoch.write(content_rows)?;
    evidence(epoch, &changed)?;
    Ok(changed)
}

/// Content changes whose evidence is looked up at once.
const PORTION_CHANGES: usize = 1 << 16;

/// Copies the evidence of contents that appeared from the splits, and deletes that of contents that
/// disappeared. One row is in memory at a time, and only rows of changed contents are read.
fn evidence(epoch: &Epoch, changed: &[ContentChange]) -> Result<()> {
    let changed: Vec<&ContentChange> = changed.iter().filter(|change| change.too_short == 0).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let of = |changed: &[&ContentChange], diff: i32| -> Vec<Id> {
        changed.iter().filter(|change| change.diff == diff).map(|change| change.content).collect()
    };
    let read = epoch.split_evidence()?;
    let stored = match changed.iter().any(|change| change.diff < 0) {
        true => Archive::new(epoch.lookup()?),
        false => Archive::new(Lookup::default()),
    };
    let mut writer = epoch.writer::<EvidenceRow>()?;
    for changed in changed.chunks(PORTION_CHANGES) {
        let mut created = read.places(&of(changed, 1))?.into_iter();
        let mut deleted = stored.places(&of(changed, -1))?.into_iter();
        for change in changed {
            epoch.advanced();
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
