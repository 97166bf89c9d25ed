//! Reads the live rows of a table from the segments of all its runs.
//!
//! A row that one run added and a later run retracted cancels here, and nowhere else. The
//! difference between two states of a table is a table, too: its rows have diff +1 where they were
//! added and -1 where they were retracted.

use crate::error::Result;
use crate::store::column::{Key, KeyRange};
use crate::store::manifest::TableState;
use crate::store::map::Access;
use crate::store::open::OpenSegments;
use crate::store::segment::{Segment, SegmentRef};
use crate::store::table::{Row, consolidate};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The number of keys whose lookup counts as one portion.
const PORTION_KEYS: usize = 1 << 10;

/// Filters are asked before batches are read if there are fewer keys than this for each batch.
const SPARSE_KEYS: usize = 4;

/// A table's segments, mapped.
pub struct Table<R: Row> {
    segments: Vec<Arc<Segment<R>>>,
    /// Segments whose rows count with the opposite sign. Only differences have any.
    negated: Vec<Arc<Segment<R>>>,
    /// The number of rows that were read.
    rows_read: Arc<AtomicU64>,
    /// The portions of keys that were looked up.
    portions_read: Arc<AtomicU64>,
}

impl<R: Row> Default for Table<R> {
    fn default() -> Self {
        Table {
            segments: Vec::new(),
            negated: Vec::new(),
            rows_read: Arc::default(),
            portions_read: Arc::default(),
        }
    }
}

impl<R: Row> Table<R> {
    /// Maps the segments that `state` names in the table's `folder`.
    pub fn open(folder: &Path, state: Option<&TableState>) -> Result<Table<R>> {
        let segments = state.into_iter().flat_map(TableState::segments);
        let few = |segment| Segment::open_for(folder, segment, Access::Few).map(Arc::new);
        Ok(Table { segments: segments.map(few).collect::<Result<_>>()?, ..Table::default() })
    }

    /// As [`Table::open`], for the segments that may have keys in `range`; `open` shares them with
    /// other workers.
    pub fn open_range(
        open: &OpenSegments,
        folder: &Path,
        state: Option<&TableState>,
        range: KeyRange,
    ) -> Result<Table<R>> {
        let segments = state
            .into_iter()
            .flat_map(TableState::segments)
            .filter(|segment| segment.overlaps(range));
        let few = |segment: &SegmentRef| Segment::open_for(folder, segment, Access::Few);
        let open = |segment: &SegmentRef| open.get(folder, segment, || few(segment));
        Ok(Table { segments: segments.map(open).collect::<Result<_>>()?, ..Table::default() })
    }

    /// The same table, which adds the number of rows that are read from it to `rows_read`, and adds
    /// to `portions_read` now and then while a long lookup goes on.
    pub fn counted(self, rows_read: Arc<AtomicU64>, portions_read: Arc<AtomicU64>) -> Table<R> {
        Table { rows_read, portions_read, ..self }
    }

    /// The change from `before` to `after`: a row with +1 for each that is live only after, with -1
    /// for each that is live only before.
    ///
    /// Segments that both states have cancel unread. So the difference that an epoch made costs
    /// only as much as the epoch changed, even if older runs were merged before it.
    pub fn difference(
        folder: &Path,
        before: Option<&TableState>,
        after: Option<&TableState>,
    ) -> Result<Table<R>> {
        let only = |one: Option<&TableState>,
                    other: Option<&TableState>|
         -> Result<Vec<Arc<Segment<R>>>> {
            // Several runs may name one file: rows that were added, retracted and added again give
            // the same bytes twice.
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
            own.map(|segment| Segment::open(folder, segment).map(Arc::new)).collect()
        };
        Ok(Table {
            segments: only(after, before)?,
            negated: only(before, after)?,
            ..Table::default()
        })
    }

    /// Adds a segment.
    pub fn push(&mut self, segment: impl Into<Arc<Segment<R>>>) {
        self.segments.push(segment.into());
    }

    /// The segments whose rows count with their own sign.
    pub fn segments(&self) -> &[Arc<Segment<R>>] {
        &self.segments
    }

    /// The number of rows of all runs, including those that cancel.
    pub fn rows(&self) -> usize {
        self.segments.iter().map(|segment| segment.len()).sum()
    }

    /// Whether it has no segments. A table with segments may still have no live rows.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.negated.is_empty()
    }

    /// Reads and checks batches that were not read yet, until `until`. Returns whether none is
    /// left.
    pub fn warm(&self, until: Instant) -> bool {
        self.segments.iter().all(|segment| segment.warm(until))
    }

    /// All segments, each with the sign that its rows count with.
    fn signed(&self) -> impl Iterator<Item = (&Segment<R>, i8)> {
        let own = self.segments.iter().map(|segment| (segment.as_ref(), 1));
        own.chain(self.negated.iter().map(|segment| (segment.as_ref(), -1)))
    }

    /// The live rows with one of the ascending `keys`. One galloping pass over each segment.
    pub fn matching(&self, keys: &[R::Key]) -> Vec<R> {
        let mut rows = Vec::new();
        for (segment, sign) in self.signed() {
            let mut position = 0;
            let (first, last) = segment.leading();
            let keys = &keys[keys.partition_point(|key| key.leading() < first)..];
            let keys = &keys[..keys.partition_point(|key| key.leading() <= last)];
            // Otherwise most batches have some of the keys and are read anyway.
            let is_sparse = keys.len() < SPARSE_KEYS * segment.batches();
            for (at, &key) in keys.iter().enumerate() {
                if at % PORTION_KEYS == 0 {
                    self.portions_read.fetch_add(1, Ordering::Relaxed);
                }
                if is_sparse {
                    let Some(start) = segment.start_of(key, position) else { continue };
                    position = start;
                }
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

    /// The first live rows with `key`, at most `rows_max`, in order. The other rows, of which a key
    /// may have millions, are not read.
    pub fn first(&self, key: R::Key, rows_max: usize) -> Vec<R> {
        let mut heads: Vec<(&Segment<R>, i8, usize, R)> = Vec::new();
        let read = |segment: &Segment<R>, position: usize| {
            let is_there = position < segment.len() && segment.key(position) == key;
            is_there.then(|| segment.row(position))
        };
        for (segment, sign) in self.signed() {
            let Some(start) = segment.start_of(key, 0) else { continue };
            let position = segment.seek(key, start);
            heads.extend(read(segment, position).map(|row| (segment, sign, position, row)));
        }
        let (mut rows, mut sum) = (Vec::new(), 0);
        let mut current: Option<R> = None;
        loop {
            let least = (0..heads.len()).map(|at| (heads[at].3.clone().with_diff(1), at)).min();
            let next = least.as_ref().map(|(row, _)| row);
            if current.as_ref() != next {
                rows.extend(current.filter(|_| sum > 0));
                (current, sum) = (next.cloned(), 0);
            }
            let Some((_, at)) = least.filter(|_| rows.len() < rows_max) else { break };
            let (segment, sign, position, row) = &mut heads[at];
            sum += i32::from(row.diff() * *sign);
            *position += 1;
            match read(segment, *position) {
                Some(next) => *row = next,
                None => drop(heads.swap_remove(at)),
            }
        }
        self.rows_read.fetch_add(rows.len() as u64, Ordering::Relaxed);
        rows
    }

    /// The number of live rows of each of the ascending `keys`, without reading the rows. The diffs
    /// of a row sum to 0 or 1 over all runs, so the diffs of all rows of a key sum to this number.
    pub fn counts(&self, keys: &[R::Key]) -> Vec<u64> {
        let mut sums = vec![0i64; keys.len()];
        for (segment, sign) in self.signed() {
            let from = keys.partition_point(|key| key.leading() < segment.leading().0);
            let mut position = 0;
            for (sum, &key) in sums[from..].iter_mut().zip(&keys[from..]) {
                position = segment.seek(key, position);
                if position == segment.len() {
                    break;
                }
                let end = segment.seek_past(key, position);
                *sum += i64::from(sign) * segment.sum_of_diffs(position..end);
                position = end;
            }
        }
        self.portions_read.fetch_add(1, Ordering::Relaxed);
        sums.into_iter().map(|sum| sum.max(0) as u64).collect()
    }

    /// The live rows with keys in `[from, to)`, or from `from` on if there is no `to`.
    pub fn range(&self, from: R::Key, to: Option<R::Key>) -> Vec<R> {
        let mut rows = Vec::new();
        for (segment, sign) in self.signed() {
            let within = segment.within(from, to);
            segment.prefetch(within.clone());
            rows.extend(within.map(|position| signed(segment.row(position), sign)));
            self.portions_read.fetch_add(1, Ordering::Relaxed);
        }
        self.rows_read.fetch_add(rows.len() as u64, Ordering::Relaxed);
        consolidate(rows)
    }

    /// All live rows, in portions of about `rows` rows of each segment that may have rows of one
    /// key. So memory grows with the number of runs, not with the table or its segments.
    pub fn portions(&self, rows: usize) -> impl Iterator<Item = Vec<R>> {
        let segments = self.signed().filter(|(segment, _)| !segment.is_empty());
        let first = segments.map(|(segment, _)| segment.key(0)).min();
        first.into_iter().flat_map(move |first| self.portions_in(first, None, rows))
    }

    /// The live rows with keys in `[from, to)`, in portions as in [`Table::portions`].
    pub fn portions_in(
        &self,
        from: R::Key,
        to: Option<R::Key>,
        rows: usize,
    ) -> impl Iterator<Item = Vec<R>> {
        let (mut cuts, mut ranges): (Vec<R::Key>, Vec<(u64, u64)>) = (Vec::new(), Vec::new());
        for (segment, _) in self.signed() {
            let start = segment.seek(from, 0);
            let end = to.map_or(segment.len(), |to| segment.seek(to, start));
            cuts.extend(segment.cuts(start..end, rows));
            ranges.extend((start < end).then(|| segment.leading()));
        }
        cuts.sort_unstable();
        // Each segment contributes cuts. If at most n segments may have rows of one key, every n-th
        // cut keeps the portions at their size. The segments of one run are disjoint.
        let mut cuts: Vec<R::Key> = cuts.into_iter().step_by(overlapping_max(&ranges)).collect();
        cuts.dedup();
        (0..cuts.len()).map(move |i| self.range(cuts[i], cuts.get(i + 1).copied().or(to)))
    }
}

/// The greatest number of `ranges`, each from its first to its last number, that have a number in
/// common; 1 if there are none.
fn overlapping_max(ranges: &[(u64, u64)]) -> usize {
    // A range that begins where another ends has that number in common with it.
    let (begins, ends) = (false, true);
    let mut turns: Vec<(u64, bool)> =
        ranges.iter().flat_map(|&(first, last)| [(first, begins), (last, ends)]).collect();
    turns.sort_unstable();
    let (mut open, mut open_max) = (0usize, 1);
    for (_, ends) in turns {
        open = if ends { open - 1 } else { open + 1 };
        open_max = open_max.max(open);
    }
    open_max
}

/// `row` with its diff multiplied by `sign`.
fn signed<R: Row>(row: R, sign: i8) -> R {
    let diff = row.diff() * sign;
    row.with_diff(diff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::store::manifest::Run;
    use crate::store::segment;
    use crate::store::testing::IdsRow;

    fn row(n: u64, diff: i8) -> IdsRow {
        IdsRow { id: Id { high: n / 2, low: 0 }, other: Id { high: n, low: 0 }, diff }
    }

    fn state(folder: &Path, runs: &[(u64, &[IdsRow])]) -> TableState {
        let mut state = TableState::default();
        for (epoch, rows) in runs {
            let segment = segment::write(folder, "test", rows.to_vec()).expect("written");
            state
                .append(Run { epoch: *epoch, segments: segment.into_iter().collect() })
                .expect("appended");
        }
        state
    }

    /// A difference has exactly the rows that are live on one side only, with the right signs: if
    /// the states share runs, if older runs of one were merged, and if `after` is the older state.
    /// All ways to read it agree.
    #[test]
    fn differences_have_what_changed() {
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
        let cases: [(&TableState, &TableState, &[IdsRow]); 6] = [
            (&old, &new, &third),
            (&old, &short, &third),
            (&short.before(3).expect("sums"), &short, &third),
            (&new, &short, &[]),
            (&new, &old, &back),
            (&short, &old, &back),
        ];
        for (n, (before, after, expected)) in cases.into_iter().enumerate() {
            let table =
                Table::<IdsRow>::difference(folder, Some(before), Some(after)).expect("opened");
            assert_eq!(table.range(Id::NONE, None), expected, "case {n}");
            for rows in [1, 2, 100] {
                assert_eq!(
                    table.portions(rows).flatten().collect::<Vec<_>>(),
                    expected,
                    "case {n}"
                );
            }
            let keys: Vec<Id> = (1..16).map(|high| Id { high, low: 0 }).collect();
            let matching: Vec<_> =
                expected.iter().filter(|row| row.id.high < 16).cloned().collect();
            assert_eq!(table.matching(&keys), matching, "case {n}");
            let sum = |key: &Id| {
                matching
                    .iter()
                    .filter(|row| row.id == *key)
                    .map(|row| i64::from(row.diff))
                    .sum::<i64>()
            };
            let sums: Vec<u64> = keys.iter().map(|key| sum(key).max(0) as u64).collect();
            assert_eq!(table.counts(&keys), sums, "case {n}");
            for (key, rows_max) in
                keys.iter().flat_map(|key| (0..4).map(move |rows_max| (key, rows_max)))
            {
                let added = matching.iter().filter(|row| row.id == *key && row.diff > 0);
                let added: Vec<_> = added.take(rows_max).cloned().collect();
                assert_eq!(table.first(*key, rows_max), added, "case {n}, {key}, {rows_max}");
            }
        }
        // Added, retracted and added again: two runs name the same file.
        let (added, retracted) = ([row(40, 1)], [row(40, -1)]);
        let after = state(folder, &[(1, &first), (2, &added), (3, &retracted), (4, &added)]);
        let before = after.before(4).expect("sums");
        let table =
            Table::<IdsRow>::difference(folder, Some(&before), Some(&after)).expect("opened");
        assert_eq!(table.range(Id::NONE, None), added);
        let none = Table::<IdsRow>::difference(folder, Some(&new), Some(&new)).expect("opened");
        assert!(none.is_empty());
        let all = Table::<IdsRow>::difference(folder, None, Some(&old)).expect("opened");
        assert_eq!(all.range(Id::NONE, None), merged);
    }

    /// The portions grew with the number of segments, though the segments of a run are disjoint: a
    /// merge of a few runs of many workers had the whole table in memory. They grow with the number
    /// of runs.
    #[test]
    fn portions_do_not_grow_with_the_segments() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let (runs, segments, segment_rows) = (4, 32, 100);
        let mut table = Table::<IdsRow>::default();
        for run in 0..runs {
            for segment in 0..segments {
                let rows: Vec<IdsRow> = (segment * segment_rows..(segment + 1) * segment_rows)
                    .map(|n| IdsRow {
                        id: Id { high: n, low: 0 },
                        other: Id { high: run, low: 0 },
                        diff: 1,
                    })
                    .collect();
                let written = segment::write(folder, "test", rows).expect("written").expect("rows");
                table.push(Segment::<IdsRow>::open(folder, &written).expect("opened"));
            }
        }
        let portions: Vec<Vec<IdsRow>> = table.portions(10).collect();
        let largest = portions.iter().map(Vec::len).max();
        assert!(largest <= Some(2 * 10 * runs as usize), "{largest:?} rows");
        assert_eq!(portions.concat(), table.range(Id::NONE, None));
    }

    /// Ranges that touch overlap, and ranges that are apart do not.
    #[test]
    fn ranges_that_overlap_are_counted() {
        let cases: [(&[(u64, u64)], usize); 5] = [
            (&[], 1),
            (&[(0, 4), (5, 9), (10, u64::MAX)], 1),
            (&[(0, 5), (5, 9)], 2),
            (&[(3, 3), (3, 3), (4, 4)], 2),
            (&[(0, 9), (1, 2), (3, 4), (4, 8), (9, 9)], 3),
        ];
        for (ranges, expected) in cases {
            assert_eq!(overlapping_max(ranges), expected, "{ranges:?}");
        }
    }
}
