//! A cursor over the live keys of a table, by ascending ranges.
//!
//! The cursor moves forward over ascending ranges of keys, without creating rows. [`Table::range`]
//! is the plain form, and the oracle of the tests.
//!
//! The diffs of a row sum to 0 or 1 over all runs. So the diffs of all rows of a key sum to the
//! number of its live rows, and other columns need not be read.

use crate::store::runs::Table;
use crate::store::segment::Segment;
use crate::store::table::Row;
use std::ops::{Range, RangeInclusive};

/// The live keys of a table by ascending ranges.
pub struct Keys<'a, R: Row<Key = u64>> {
    /// Each segment, and the positions of the last range in it.
    segments: Vec<(&'a Segment<R>, Range<usize>)>,
    /// The rows of a range, of all segments.
    rows: Vec<(u64, i8)>,
}

impl<'a, R: Row<Key = u64>> Keys<'a, R> {
    /// A cursor before the first key of `table`.
    pub fn new(table: &'a Table<R>) -> Keys<'a, R> {
        let segments = table.segments().iter().map(|segment| (segment.as_ref(), 0..0)).collect();
        Keys { segments, rows: Vec::new() }
    }

    /// Appends the live keys in `range`, which strictly ascend. Each range must begin after the end
    /// of the one before it.
    pub fn live(&mut self, range: RangeInclusive<u64>, live: &mut Vec<u64>) {
        for (segment, rows) in &mut self.segments {
            rows.start = segment.seek(*range.start(), rows.end);
            rows.end = end(segment, *range.end(), rows.start);
        }
        let from = live.len();
        let adds = |(segment, rows): &(&Segment<R>, Range<usize>)| {
            segment.sum_of_diffs(rows.clone()) == rows.len() as i64
        };
        // Stable sorts are fast for a few sorted parts one after the other.
        if self.segments.iter().all(adds) {
            for (segment, rows) in &self.segments {
                slices(segment, rows.clone()).for_each(|(keys, _)| live.extend_from_slice(keys));
            }
            live[from..].sort();
            live.dedup();
        } else {
            self.rows.clear();
            for (segment, rows) in &self.segments {
                for (keys, diffs) in slices(segment, rows.clone()) {
                    self.rows.extend(keys.iter().copied().zip(diffs.iter().copied()));
                }
            }
            self.rows.sort_by_key(|(key, _)| *key);
            let is_live = |rows: &&[(u64, i8)]| {
                rows.iter().map(|(_, diff)| i64::from(*diff)).sum::<i64>() > 0
            };
            live.extend(
                self.rows.chunk_by(|a, b| a.0 == b.0).filter(is_live).map(|rows| rows[0].0),
            );
        }
        debug_assert!(live[from..].is_sorted_by(|a, b| a < b));
    }
}

/// The first position at or after `from` with a key greater than `last`.
fn end<R: Row<Key = u64>>(segment: &Segment<R>, last: u64, from: usize) -> usize {
    last.checked_add(1).map_or(segment.len(), |next| segment.seek(next, from))
}

/// The keys and diffs of `segment` at `positions`, batch by batch.
fn slices<R: Row<Key = u64>>(
    segment: &Segment<R>,
    positions: Range<usize>,
) -> impl Iterator<Item = (&[u64], &[i8])> {
    let mut start = positions.start;
    std::iter::from_fn(move || {
        let rows = start % R::BATCH_ROWS
            ..R::BATCH_ROWS.min(start % R::BATCH_ROWS + (positions.end - start));
        if rows.is_empty() {
            return None;
        }
        let columns = segment.batch(start / R::BATCH_ROWS);
        start += rows.len();
        Some((&R::keys(columns).values()[rows.clone()], &R::diffs(columns)[rows]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::random::Random;
    use crate::store::segment::write;
    use crate::store::table::BATCH_ROWS;
    use crate::store::testing::{NumberIdRow, NumberRow};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Writes a run of this many rows for each of `changes`, in up to three segments: rows that are
    /// not live are added, others are retracted. A row has a key and a content below `contents`.
    /// There are `keys` keys, from 0 to the greatest.
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
                    key => {
                        ((key as u64 - 1) * (u64::MAX / keys as u64), random.below(contents) as u64)
                    }
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
                if let Some(written) = write(folder, "test", rows.drain(..share)).expect("written")
                {
                    table.push(Segment::open(folder, &written).expect("opened"));
                }
            }
        }
        table
    }

    /// Compares ranges of all widths with [`Table::range`].
    fn check<R: Row<Key = u64>>(table: &Table<R>, random: &mut Random) {
        let plain: Vec<u64> = table.range(0, None).iter().map(Row::key).collect();
        let mut cursor = Keys::new(table);
        let mut from = Some(0);
        while let Some(first) =
            from.map(|from: u64| from.saturating_add(random.next() >> 56 >> random.below(9)))
        {
            let last = first.saturating_add(random.next() >> random.below(64));
            from = last.checked_add(1);
            let mut found = Vec::new();
            cursor.live(first..=last, &mut found);
            let mut expected = plain[plain.partition_point(|key| *key < first)..].to_vec();
            expected.truncate(expected.partition_point(|key| *key <= last));
            expected.dedup();
            assert!(
                found == expected,
                "{first}..={last}: {} keys, not {}",
                found.len(),
                expected.len()
            );
        }
    }

    fn check_both(keys: usize, changes: &[usize], seed: u64) {
        let random = &mut Random(seed);
        let folder = tempfile::tempdir().expect("a folder");
        check(
            &table(folder.path(), (keys, 1), changes, random, |key, _, diff| NumberRow {
                key,
                diff,
            }),
            random,
        );
        let group = |key, low, diff| NumberIdRow { key, id: Id { high: 0, low }, diff };
        check(&table(folder.path(), (keys, 3), changes, random, group), random);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// The cursor finds the same live keys as [`Table::range`], after any additions and
        /// retractions.
        #[test]
        fn keys_equal_the_plain_form(
            keys in 1usize..300,
            changes in prop::collection::vec(0usize..300, 0..6),
            seed in any::<u64>(),
        ) {
            check_both(keys, &changes, seed);
        }
    }

    /// The same across the borders of batches: in a single run, and in runs that retract little or
    /// most.
    #[test]
    fn keys_cross_borders_of_batches() {
        println!("seeds 1, 2, 3");
        check_both(10 * BATCH_ROWS, &[3 * BATCH_ROWS], 1);
        check_both(3 * BATCH_ROWS, &[3 * BATCH_ROWS, 20, 3000], 2);
        check_both(2 * BATCH_ROWS, &[3 * BATCH_ROWS, 3 * BATCH_ROWS, 3 * BATCH_ROWS], 3);
    }
}
