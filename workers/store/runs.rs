//! A table as it stands: the segments of all its runs. Rows that one run added and a later one took back cancel here, and nowhere else. The
//! difference of two states is a table too, whose rows say what was added and what was taken back.

use crate::error::Result;
use crate::store::manifest::TableState;
use crate::store::segment::Segment;
use crate::store::table::{Row, consolidate};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A table's segments, mapped.
pub struct Table<R: Row> {
    segments: Vec<Segment<R>>,
    /// Segments whose rows count with the opposite sign; a table as it stands has none.
    taken: Vec<Segment<R>>,
    /// Rows that were read out of it.
    rows_read: Arc<AtomicU64>,
}

impl<R: Row> Default for Table<R> {
    fn default() -> Self {
        Table { segments: Vec::new(), taken: Vec::new(), rows_read: Arc::default() }
    }
}

impl<R: Row> Table<R> {
    /// Maps the segments that `state` names in the table's `folder`.
    pub fn open(folder: &Path, state: Option<&TableState>) -> Result<Table<R>> {
        let segments = state.into_iter().flat_map(TableState::segments);
        let segments = segments.map(|segment| Segment::open(folder, segment)).collect::<Result<_>>()?;
        Ok(Table { segments, ..Table::default() })
    }

    /// The same table, which adds the rows that are read out of it to `rows_read`.
    pub fn counted(self, rows_read: Arc<AtomicU64>) -> Table<R> {
        Table { rows_read, ..self }
    }

    /// What turns `before` into `after`: a row of +1 for each that is live only after, of -1 for each that is live only before.
    /// Segments of both cancel unread, so that an epoch's difference costs what it changed, whatever was merged before it.
    pub fn difference(folder: &Path, before: Option<&TableState>, after: Option<&TableState>) -> Result<Table<R>> {
        let only = |one: Option<&TableState>, other: Option<&TableState>| -> Result<Vec<Segment<R>>> {
            // One file may stand in several runs: what was added, taken back and added again is the same bytes twice.
            let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
            for segment in other.into_iter().flat_map(TableState::segments) {
                *shared.entry(&segment.digest).or_default() += 1;
            }
            let segments = one.into_iter().flat_map(TableState::segments);
            let own = segments.filter(|segment| match shared.get_mut(segment.digest.as_str()) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    false
                }
                _ => true,
            });
            own.map(|segment| Segment::open(folder, segment)).collect()
        };
        Ok(Table { segments: only(after, before)?, taken: only(before, after)?, ..Table::default() })
    }

    /// Adds a segment that was just written.
    pub fn push(&mut self, segment: Segment<R>) {
        self.segments.push(segment);
    }

    /// The mapped segments whose rows count as they are.
    pub fn segments(&self) -> &[Segment<R>] {
        &self.segments
    }

    /// Rows of all runs, those that cancel counted too.
    pub fn rows(&self) -> usize {
        self.segments.iter().map(Segment::len).sum()
    }

    /// Whether no run has ever written a row.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.taken.is_empty()
    }

    /// All segments and the sign by which their rows count.
    fn signed(&self) -> impl Iterator<Item = (&Segment<R>, i8)> {
        self.segments.iter().map(|segment| (segment, 1)).chain(self.taken.iter().map(|segment| (segment, -1)))
    }

    /// The live rows with one of `keys`, which ascend. Each segment is galloped through once.
    pub fn matching(&self, keys: &[R::Key]) -> Vec<R> {
        let mut rows = Vec::new();
        for (segment, sign) in self.signed() {
            let mut position = 0;
            for &key in keys {
                position = segment.seek(key, position);
                if position == segment.len() {
                    break;
                }
                while position < segment.len() && segment.key(position) == key {
                    rows.push(signed(segment.row(position), sign));
                    position += 1;
                }
            }
        }
        self.rows_read.fetch_add(rows.len() as u64, Ordering::Relaxed);
        consolidate(rows)
    }

    /// The live rows with keys in `[from, to)`; no `to` is the end.
    pub fn range(&self, from: R::Key, to: Option<R::Key>) -> Vec<R> {
        let mut rows = Vec::new();
        for (segment, sign) in self.signed() {
            let start = segment.seek(from, 0);
            let end = to.map_or(segment.len(), |to| segment.seek(to, start));
            rows.extend((start..end).map(|position| signed(segment.row(position), sign)));
        }
        self.rows_read.fetch_add(rows.len() as u64, Ordering::Relaxed);
        consolidate(rows)
    }

    /// All live rows, in portions of about `rows` a segment, so that memory does not grow with the table.
    pub fn portions(&self, rows: usize) -> impl Iterator<Item = Vec<R>> {
        let segments = self.signed().filter(|(segment, _)| !segment.is_empty());
        let first = segments.map(|(segment, _)| segment.key(0)).min();
        first.into_iter().flat_map(move |first| self.portions_in(first, None, rows))
    }

    /// The live rows with keys in `[from, to)`, likewise.
    pub fn portions_in(&self, from: R::Key, to: Option<R::Key>, rows: usize) -> impl Iterator<Item = Vec<R>> {
        let mut cuts: Vec<R::Key> = Vec::new();
        for (segment, _) in self.signed() {
            let start = segment.seek(from, 0);
            let end = to.map_or(segment.len(), |to| segment.seek(to, start));
            cuts.extend((start..end).step_by(rows).map(|position| segment.key(position)));
        }
        cuts.sort_unstable();
        cuts.dedup();
        // Every segment brings its own cuts; one in as many as there are segments keeps the portions at their size.
        let step = self.signed().count().max(1);
        let cuts: Vec<R::Key> = cuts.into_iter().step_by(step).collect();
        (0..cuts.len()).map(move |i| self.range(cuts[i], cuts.get(i + 1).copied().or(to)))
    }
}

/// `row` as it counts in a segment of `sign`.
fn signed<R: Row>(row: R, sign: i8) -> R {
    let diff = row.diff() * sign;
    row.with_diff(diff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Id;
    use crate::store::manifest::Run;
    use crate::store::segment;
    use crate::tables::ContentPageRow;

    fn row(n: u64, diff: i8) -> ContentPageRow {
        ContentPageRow { content: Id { high: n / 2, low: 0 }, doc: Id { high: n, low: 0 }, diff }
    }

    fn state(folder: &Path, runs: &[(u64, &[ContentPageRow])]) -> TableState {
        let mut state = TableState::default();
        for (epoch, rows) in runs {
            let segment = segment::write(folder, "test", rows.to_vec()).expect("written");
            state.append(Run { epoch: *epoch, segments: segment.into_iter().collect() }).expect("appended");
        }
        state
    }

    /// A difference is what is live after and not before, and the reverse with the opposite sign, whether the two share runs, one had its
    /// older runs merged, or they go back in time; in whole, in portions, by range and by key.
    #[test]
    fn differences() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let first: Vec<_> = (0..9).map(|n| row(n, 1)).collect();
        let second = [row(3, -1), row(20, 1)];
        let third = [row(3, 1), row(5, -1), row(20, -1), row(30, 1)];
        let merged: Vec<_> = [0, 1, 2, 4, 5, 6, 7, 8, 20].map(|n| row(n, 1)).to_vec();
        let old = state(folder, &[(1, &first), (2, &second)]);
        let new = state(folder, &[(1, &first), (2, &second), (3, &third)]);
        let short = state(folder, &[(2, &merged), (3, &third)]);
        assert_eq!(new.before(3).expect("sums"), old);
        let back = [row(3, -1), row(5, 1), row(20, 1), row(30, -1)];
        let cases: [(&TableState, &TableState, &[ContentPageRow]); 6] = [
            (&old, &new, &third),
            (&old, &short, &third),
            (&short.before(3).expect("sums"), &short, &third),
            (&new, &short, &[]),
            (&new, &old, &back),
            (&short, &old, &back),
        ];
        for (n, (before, after, expected)) in cases.into_iter().enumerate() {
            let table = Table::<ContentPageRow>::difference(folder, Some(before), Some(after)).expect("opened");
            assert_eq!(table.range(Id::NONE, None), expected, "case {n}");
            for rows in [1, 2, 100] {
                assert_eq!(table.portions(rows).flatten().collect::<Vec<_>>(), expected, "case {n}");
            }
            let keys: Vec<Id> = (1..16).map(|high| Id { high, low: 0 }).collect();
            let matching: Vec<_> = expected.iter().filter(|row| row.content.high < 16).cloned().collect();
            assert_eq!(table.matching(&keys), matching, "case {n}");
        }
        // Added, taken back and added again: one file in two runs.
        let (added, taken) = ([row(40, 1)], [row(40, -1)]);
        let again = state(folder, &[(1, &first), (2, &added), (3, &taken), (4, &added)]);
        let gone = again.before(4).expect("sums");
        let table = Table::<ContentPageRow>::difference(folder, Some(&gone), Some(&again)).expect("opened");
        assert_eq!(table.range(Id::NONE, None), added);
        let none = Table::<ContentPageRow>::difference(folder, Some(&new), Some(&new)).expect("opened");
        assert!(none.is_empty());
        let all = Table::<ContentPageRow>::difference(folder, None, Some(&old)).expect("opened");
        assert_eq!(all.range(Id::NONE, None), merged);
    }
}
