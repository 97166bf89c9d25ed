//! Live pages: the tables `pages` and `urls`, and which of their rows have to go: pages that nobody saw for too long, and those of a source of which
//! everything was read and they were not there.

use crate::document::Id;
use crate::graph::keep::Facts;
use crate::store::manifest::Retention;
use crate::store::runs::Table;
use crate::store::segment::Segment;
use crate::store::table::Row;
use crate::tables::{PageColumns, PageRow};

impl PageRow {
    /// What the keep rule asks of the page, whose text has `chars` characters.
    pub fn facts(&self, chars: u32) -> Facts {
        Facts { host: self.host, https: self.https == 1, url_bytes: self.url_bytes, date: self.date, chars }
    }
}

/// Whether nobody saw `page` for too long.
pub fn has_expired(page: &PageRow, retention: Retention) -> bool {
    page.last_epoch < retention.epoch_min || page.last_time < retention.time_min
}

/// Which pages go unless the epoch sees them.
#[derive(Clone, Copy, Debug)]
pub struct Going {
    /// What the others must have been seen by.
    pub retention: Retention,
    /// The source of which everything is read.
    pub complete: Option<u16>,
}

impl Going {
    /// Nothing goes, whatever the pages are.
    pub fn is_never(self) -> bool {
        self.retention == Retention::default() && self.complete.is_none()
    }

    /// The rows of `segment` with keys in `[from, to)` that tell of such pages, by their columns, most rows being others.
    pub fn rows(self, segment: &Segment<PageRow>, from: u64, to: Option<u64>) -> impl Iterator<Item = PageRow> + '_ {
        let start = segment.seek(Id { high: from, low: 0 }, 0);
        let end = to.map_or(segment.len(), |to| segment.seek(Id { high: to, low: 0 }, start));
        segment.batches().iter().enumerate().flat_map(move |(batch, columns)| {
            let at = |position: usize| position.saturating_sub(batch * PageRow::BATCH_ROWS).min(columns.diff.len());
            (at(start)..at(end)).filter(move |&row| self.takes(columns, row)).map(|row| PageRow::row(columns, row))
        })
    }

    fn takes(self, columns: &PageColumns, row: usize) -> bool {
        columns.last_epoch.value(row) < self.retention.epoch_min
            || columns.last_time.value(row) < self.retention.time_min
            || Some(columns.source.value(row)) == self.complete
    }
}

/// Whether some page of the table has expired. Both rows of a page that was seen again are counted, so that the sum of diffs is that of
/// the live ones.
pub fn any_expired(pages: &Table<PageRow>, retention: Retention) -> bool {
    let going = Going { retention, complete: None };
    if going.is_never() {
        return false;
    }
    let live = |segment| going.rows(segment, 0, None).map(|row| i64::from(row.diff)).sum::<i64>();
    pages.segments().iter().map(live).sum::<i64>() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::pages::Options;

    const NOW: i64 = 1_000_000_000;

    /// A page expires by days when that many have passed since it was seen, and by epochs when that many in a row have read something without
    /// seeing it, whatever epochs read nothing in between.
    #[test]
    fn what_expires() {
        let doc = Id { high: 1, low: 1 };
        let (content, date, host, https, url_bytes) = (doc, 5, 0, 0, 9);
        let page = PageRow {
            doc,
            content,
            date,
            host,
            https,
            url_bytes,
            first_epoch: 1,
            last_epoch: 3,
            last_time: NOW,
            source: 0,
            diff: 1,
        };
        let by_days = Options { retain_days: Some(2), ..Options::default() };
        assert!(!has_expired(&page, by_days.retention(&[3, 9], NOW + 2 * 86_400)));
        assert!(has_expired(&page, by_days.retention(&[3, 9], NOW + 2 * 86_400 + 1)));
        let by_epochs = Options { retain_epochs: Some(2), ..Options::default() };
        assert!(!has_expired(&page, by_epochs.retention(&[3], NOW)));
        assert!(!has_expired(&page, by_epochs.retention(&[1, 3, 7], NOW)));
        assert!(has_expired(&page, by_epochs.retention(&[1, 3, 7, 9], NOW)));
        assert!(!has_expired(&page, Options::default().retention(&[1, 3, 7, 9], i64::MAX)));
    }
}
