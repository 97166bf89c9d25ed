//! Decides which live pages are removed unless the epoch sees them, and how long they are
//! remembered as gone.
//!
//! The epoch removes pages that were last seen too long ago, and pages of a source whose complete
//! snapshot it reads.

use crate::id::Id;
use crate::keep::Facts;
use crate::store::column::KeyRange;
use crate::store::consumed::Retention;
use crate::store::runs::Table;
use crate::store::segment::Segment;
use crate::store::table::Row;
use crate::tables::{
    GoneColumns, GoneRow, PageColumns, PageRow, SuccessorColumns, SuccessorRow, Visit, visits,
};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// `cause` of a gone page: a record said that it was removed.
pub const CAUSE_REMOVED: u8 = 1;
/// `cause` of a gone page: the complete snapshot of its source lacked it.
pub const CAUSE_MISSING: u8 = 2;
/// `cause` of a gone page: it was last seen too long ago.
pub const CAUSE_EXPIRED: u8 = 3;

/// A bit of `gathered` of a page: its text was gathered from the whole page, see
/// [`visits::GATHERED`].
pub const PAGE_GATHERED: u8 = 1;
/// A bit of `gathered` of a page: its text is a conversion, see [`visits::CONVERSION`].
pub const PAGE_CONVERSION: u8 = 2;

impl PageRow {
    /// `gathered` of the page that `visit` decides.
    pub fn gathered_of(visit: &Visit) -> u8 {
        let bit = |flag: u8, bit: u8| if visit.flags & flag != 0 { bit } else { 0 };
        bit(visits::GATHERED, PAGE_GATHERED) | bit(visits::CONVERSION, PAGE_CONVERSION)
    }

    /// Whether its text was gathered from the whole page.
    pub fn is_gathered(&self) -> bool {
        self.gathered & PAGE_GATHERED != 0
    }

    /// Whether its text is a conversion of the crawl's record.
    pub fn is_conversion(&self) -> bool {
        self.gathered & PAGE_CONVERSION != 0
    }

    /// The facts for the keep rule. The page's text has `chars` characters; its `url` may be empty
    /// if the rule does not read it.
    pub fn facts<'a>(&self, chars: u32, url: &'a str) -> Facts<'a> {
        let PageRow { host, https, url_bytes, date, score, first_epoch, source, .. } = *self;
        Facts { host, url, https: https == 1, url_bytes, date, score, first_epoch, source, chars }
    }
}

impl PageColumns {
    /// The source, the host and the diff of each row.
    pub fn origins(&self) -> impl Iterator<Item = (u16, u64, i8)> + '_ {
        let places = self.source.values().iter().zip(self.host.values());
        places.zip(self.diff.values()).map(|((source, host), diff)| (*source, *host, *diff))
    }

    /// The input and the diff of each row.
    pub fn inputs(&self) -> impl Iterator<Item = (u64, i8)> + '_ {
        self.input.values().iter().zip(self.diff.values()).map(|(input, diff)| (*input, *diff))
    }
}

/// Whether `page` was last seen too long ago.
pub fn has_expired(page: &PageRow, retention: Retention) -> bool {
    is_expired(page.last_epoch, page.last_time, retention)
}

fn is_expired(last_epoch: u32, last_time: i64, retention: Retention) -> bool {
    last_epoch < retention.epoch_min || last_time < retention.time_min
}

/// Selects the pages that an epoch removes unless it sees them, and those that it corrects.
#[derive(Clone, Copy, Debug)]
pub struct LapseRule {
    /// The bounds for the last visit of all other pages.
    pub retention: Retention,
    /// The source of which a complete snapshot is read.
    pub complete: Option<u16>,
    /// Pages that were seen later than this were seen while the clock was wrong. They do not go,
    /// but are corrected.
    pub seen_max: i64,
}

impl LapseRule {
    /// Whether the rule can select no page.
    pub fn is_never(self) -> bool {
        self.retention == Retention::default()
            && self.complete.is_none()
            && self.seen_max == i64::MAX
    }

    /// The rows of selected pages in `segment` with keys in `range`. Rows are tested by their
    /// mapped columns, because most do not match.
    pub fn rows(
        self,
        segment: &Segment<PageRow>,
        range: KeyRange,
    ) -> impl Iterator<Item = PageRow> + '_ {
        let within = segment.within_range(range);
        segment.scan(within.clone()).flat_map(move |(batch, columns)| {
            let at = |position: usize| {
                position.saturating_sub(batch * PageRow::BATCH_ROWS).min(columns.diff.len())
            };
            (at(within.start)..at(within.end))
                .filter(move |&row| self.selects(columns, row))
                .map(|row| PageRow::row(columns, row))
        })
    }

    /// Whether `page` goes.
    pub fn removes(self, page: &PageRow) -> bool {
        self.removes_seen(page.last_epoch, page.last_time, page.source)
    }

    /// Whether a page of `source` goes that was last seen then.
    fn removes_seen(self, last_epoch: u32, last_time: i64, source: u16) -> bool {
        is_expired(last_epoch, last_time, self.retention) || Some(source) == self.complete
    }

    /// Whether a page goes or is corrected.
    fn selects(self, columns: &PageColumns, row: usize) -> bool {
        let last_time = columns.last_time.value(row);
        let (last_epoch, source) = (columns.last_epoch.value(row), columns.source.value(row));
        self.removes_seen(last_epoch, last_time, source) || last_time > self.seen_max
    }
}

/// The most redirects, one behind the other, that a link to a page that is gone follows.
pub const REDIRECTS_MAX: usize = 5;

/// A row about what is gone, which is remembered for a while.
pub trait Remembered: Row<Key = Id> {
    /// The time from which this while is counted, seconds since 1970.
    fn last_time(columns: &Self::Columns, row: usize) -> i64;
}

impl Remembered for GoneRow {
    fn last_time(columns: &GoneColumns, row: usize) -> i64 {
        columns.last_time.value(row)
    }
}

impl Remembered for SuccessorRow {
    fn last_time(columns: &SuccessorColumns, row: usize) -> i64 {
        columns.last_time.value(row)
    }
}

/// The rows of `segment` with keys in `range` whose time is before `times`, which are forgotten, or
/// after them, when the clock was wrong.
pub fn out_of_time<R: Remembered>(
    segment: &Segment<R>,
    range: KeyRange,
    times: RangeInclusive<i64>,
) -> impl Iterator<Item = R> + '_ {
    let is_old = move |position: &usize| {
        let (columns, row) = segment.place(*position);
        !times.contains(&R::last_time(columns, row))
    };
    segment.within_range(range).filter(is_old).map(|position| segment.row(position))
}

/// The number of live pages whose records are in inputs with keys that `is_counted` takes. The
/// diffs of a row sum to 0 or 1, so the diffs of all such rows sum to this number.
pub fn of_inputs(pages: &Table<PageRow>, is_counted: impl Fn(u64) -> bool) -> u64 {
    let mut sum = 0;
    for segment in pages.segments() {
        for (_, columns) in segment.scan(0..segment.len()) {
            let rows = columns.inputs().filter(|(input, _)| is_counted(*input));
            sum += rows.map(|(_, diff)| i64::from(diff)).sum::<i64>();
        }
    }
    sum.max(0) as u64
}

/// Whether some page of the table has expired, of `source` or, if that is `None`, of any source.
/// The diffs of all matching rows sum to the number of live rows.
pub fn any_expired(pages: &Table<PageRow>, retention: Retention, source: Option<u16>) -> bool {
    let rule = LapseRule { retention, complete: None, seen_max: i64::MAX };
    if rule.is_never() {
        return false;
    }
    let live = |segment: &Arc<Segment<PageRow>>| {
        let rows = rule.rows(segment, KeyRange::ALL);
        let rows = rows.filter(|row| source.is_none_or(|source| row.source == source));
        rows.map(|row| i64::from(row.diff)).sum::<i64>()
    };
    pages.segments().iter().map(live).sum::<i64>() > 0
}

/// The number of live pages by the epoch and the time that saw them last. Only both columns and the
/// diffs are read: the diffs of a row sum to 0 or 1, so the diffs of all rows with the same epoch
/// and time sum to the number of such pages.
pub fn seen(pages: &Table<PageRow>) -> BTreeMap<(u32, i64), u64> {
    let mut sums: BTreeMap<(u32, i64), i64> = BTreeMap::new();
    for segment in pages.segments() {
        for (_, columns) in segment.scan(0..segment.len()) {
            let values = columns.last_epoch.values().iter().zip(columns.last_time.values());
            for (seen, diff) in values.zip(columns.diff.values()) {
                *sums.entry((*seen.0, *seen.1)).or_default() += i64::from(*diff);
            }
        }
    }
    sums.into_iter()
        .filter(|(_, pages)| *pages > 0)
        .map(|(seen, pages)| (seen, pages as u64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::absent::NO_SCORE;
    use crate::job::pages::Options;

    const NOW: i64 = 1_000_000_000;

    /// A page expires after this many days since it was seen, or after this many epochs that read
    /// input and did not see it. Epochs that read nothing do not count.
    #[test]
    fn pages_expire_by_days_and_by_epochs() {
        let doc = Id { high: 1, low: 1 };
        let (content, date, host, https, url_bytes) = (doc, 5, 0, 0, 9);
        let page = PageRow {
            doc,
            content,
            date,
            host,
            https,
            url_bytes,
            gathered: 0,
            score: NO_SCORE,
            first_epoch: 1,
            last_epoch: 3,
            last_time: NOW,
            source: 0,
            as_of: 5,
            input: 0,
            position: 0,
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
