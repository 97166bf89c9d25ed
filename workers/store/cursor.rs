//! A cursor over the keys of a table: in come ranges of keys, each after the one before, out go the keys of the rows in each, as
//! slices of the mapped file itself; whether one of them lives is told to who asks. It only goes forward, galloping from
//! where it stands, makes no rows and merges nothing: who looks for few keys among many asks only about those it found.
//! [`Table::range`] is its plain twin.
//!
//! A row's diffs sum to 0 or 1 over all runs, hence the diffs of a key's rows sum to the number of its live rows, and a key
//! lives while that is not 0; what else the rows hold need not be read.

use crate::store::runs::Table;
use crate::store::segment::Segment;
use crate::store::table::Row;
use std::ops::{Range, RangeInclusive};

/// The keys of a table by ascending ranges.
pub struct Keys<'a, R: Row<Key = u64>> {
    /// Each segment, and where the last range lies in it.
    segments: Vec<(&'a Segment<R>, Range<usize>)>,
    /// Whether a row is nothing but its key, so that a segment has each once.
    alone: bool,
    distinct: Vec<u64>,
}

impl<'a, R: Row<Key = u64>> Keys<'a, R> {
    /// A cursor before the first key of `table`.
    pub fn new(table: &'a Table<R>) -> Keys<'a, R> {
        let segments = table.segments().iter().map(|segment| (segment, 0..0)).collect();
        // Beside the key a schema has the diff.
        Keys { segments, alone: R::schema().fields().len() == 2, distinct: Vec::new() }
    }

    /// Calls `visit` with the keys of the rows in `range`, as slices that strictly ascend. Every live key is among them, and a key
    /// may be in several slices, or live no more: see [`Keys::lives`]. Ranges ascend and are disjoint; the cursor has left
    /// behind what lies before the end of an earlier one.
    pub fn range(&mut self, range: RangeInclusive<u64>, mut visit: impl FnMut(&[u64])) {
        for (segment, rows) in &mut self.segments {
            rows.start = segment.seek(*range.start(), rows.end);
            rows.end = end(segment, *range.end(), rows.start);
            for (keys, _) in slices(segment, rows.clone()) {
                if self.alone || keys.is_sorted_by(|a, b| a < b) {
                    visit(keys);
                } else {
                    self.distinct.clear();
                    self.distinct.extend_from_slice(keys);
                    self.distinct.dedup();
                    visit(&self.distinct);
                }
            }
        }
    }

    /// Whether `key`, which lies in the last range, lives.
    pub fn lives(&self, key: u64) -> bool {
        let sum = |(segment, rows): &(&Segment<R>, Range<usize>)| {
            let first = segment.seek(key, rows.start);
            let rows = first..end(segment, key, first);
            match segment.takes_back() {
                false => rows.len() as i64,
                true => slices(segment, rows).flat_map(|(_, diffs)| diffs).map(|&diff| i64::from(diff)).sum(),
            }
        };
        self.segments.iter().map(sum).sum::<i64>() > 0
    }
}

/// The position behind the last row with a key up to `last`, at or after `from`.
fn end<R: Row<Key = u64>>(segment: &Segment<R>, last: u64, from: usize) -> usize {
    last.checked_add(1).map_or(segment.len(), |next| segment.seek(next, from))
}

/// The keys and diffs of `segment` at `positions`, batch by batch.
fn slices<R: Row<Key = u64>>(segment: &Segment<R>, positions: Range<usize>) -> impl Iterator<Item = (&[u64], &[i8])> {
    let mut start = positions.start;
    std::iter::from_fn(move || {
        let rows = start % R::BATCH_ROWS..R::BATCH_ROWS.min(start % R::BATCH_ROWS + (positions.end - start));
        let columns = segment.batches().get(start / R::BATCH_ROWS).filter(|_| !rows.is_empty())?;
        start += rows.len();
        Some((&R::keys(columns).values()[rows.clone()], &R::diffs(columns)[rows]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Id;
    use crate::fold::buckets::BandRow;
    use crate::fold::groups::GroupRow;
    use crate::random::Random;
    use crate::store::segment::write;
    use crate::store::table::BATCH_ROWS;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Writes runs of `changes` rows each to `folder`: rows that do not live are added, others taken back, and a run is cut into up to three
    /// segments. Rows are made of a key and a content below `contents`; keys are `keys` from 0 to the greatest.
    fn table<R: Row<Key = u64>>(
        folder: &Path,
        (keys, contents): (usize, usize),
        changes: &[usize],
        random: &mut Random,
        row: impl Fn(u64, u64, i8) -> R,
    ) -> Table<R> {
        let mut table = Table::default();
        let mut live = BTreeSet::new();
        for &changes in changes {
            let changed: BTreeSet<(u64, u64)> = (0..changes)
                .map(|_| match random.below(keys) {
                    0 => (u64::MAX, random.below(contents) as u64),
                    key => ((key as u64 - 1) * (u64::MAX / keys as u64), random.below(contents) as u64),
                })
                .collect();
            let change = |at: (u64, u64)| {
                let diff = if live.remove(&at) { -1 } else { i8::from(live.insert(at)) };
                row(at.0, at.1, diff)
            };
            let mut rows: Vec<R> = changed.into_iter().map(change).collect();
            rows.sort();
            for left in (0..3).rev() {
                let share = if left == 0 { rows.len() } else { random.below(rows.len() + 1) };
                if let Some(written) = write(folder, "test", rows.drain(..share)).expect("written") {
                    table.push(Segment::open(folder, &written).expect("opened"));
                }
            }
        }
        table
    }

    /// Goes through `table` in ranges of all widths and compares each with the plain twin.
    fn check<R: Row<Key = u64>>(table: &Table<R>, random: &mut Random) {
        let plain: Vec<u64> = table.range(0, None).iter().map(Row::key).collect();
        let mut cursor = Keys::new(table);
        let mut from = Some(0);
        while let Some(first) = from.map(|from: u64| from.saturating_add(random.next() >> 56 >> random.below(9))) {
            let last = first.saturating_add(random.next() >> random.below(64));
            from = last.checked_add(1);
            let mut found = Vec::new();
            cursor.range(first..=last, |keys| {
                assert!(keys.is_sorted_by(|a, b| a < b), "ascending");
                found.extend_from_slice(keys);
            });
            found.retain(|key| cursor.lives(*key));
            found.sort_unstable();
            found.dedup();
            let mut expected = plain[plain.partition_point(|key| *key < first)..].to_vec();
            expected.truncate(expected.partition_point(|key| *key <= last));
            expected.dedup();
            assert!(found == expected, "{first}..={last}: {} keys, not {}", found.len(), expected.len());
        }
    }

    fn check_both(keys: usize, changes: &[usize], seed: u64) {
        let random = &mut Random(seed);
        let folder = tempfile::tempdir().expect("a folder");
        check(&table(folder.path(), (keys, 1), changes, random, |key, _, diff| BandRow { key, diff }), random);
        let group = |key, low, diff| GroupRow { key, content: Id { high: 0, low }, diff };
        check(&table(folder.path(), (keys, 3), changes, random, group), random);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// The keys that the cursor gives and says to live are those that `Table::range` gives, whatever runs added and took back.
        #[test]
        fn keys_are_those_of_the_plain_twin(
            keys in 1usize..300,
            changes in prop::collection::vec(0usize..300, 0..6),
            seed in any::<u64>(),
        ) {
            check_both(keys, &changes, seed);
        }
    }

    /// The same over borders of batches, in runs that are alone, take back little, and take back most.
    #[test]
    fn keys_go_over_borders_of_batches() {
        println!("seeds 1, 2, 3");
        check_both(10 * BATCH_ROWS, &[3 * BATCH_ROWS], 1);
        check_both(3 * BATCH_ROWS, &[3 * BATCH_ROWS, 20, 3000], 2);
        check_both(2 * BATCH_ROWS, &[3 * BATCH_ROWS, 3 * BATCH_ROWS, 3 * BATCH_ROWS], 3);
    }
}
