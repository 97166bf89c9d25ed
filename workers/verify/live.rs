//! Reads the live rows of a table in order, one at a time, merged from all its segments.
//!
//! Memory holds one row of each segment, however large the table is. Rows whose diffs do not sum to
//! 0 or 1 are allowed, so that damaged tables can be checked; [`Table`]'s own lookups end the
//! reading on them.

use crate::store::runs::Table;
use crate::store::segment::Segment;
use crate::store::table::Row;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::iter;
use std::sync::Arc;

/// The greatest number of rows or keys that a check holds, each of at most 96 bytes. It is small in
/// tests, so that they need several portions.
pub const PORTION_ROWS: usize = if cfg!(test) { 64 } else { 1 << 16 };

/// The live rows of a table from some position on.
pub struct Live<'a, R: Row> {
    segments: &'a [Arc<Segment<R>>],
    /// The next row of each segment, and the segment's index.
    heads: BinaryHeap<Reverse<(R, usize)>>,
    /// The position of that row in each segment.
    positions: Vec<usize>,
}

impl<'a, R: Row> Live<'a, R> {
    /// All live rows of `table`.
    pub fn of(table: &'a Table<R>) -> Live<'a, R> {
        let segments = table.segments();
        let mut live =
            Live { segments, heads: BinaryHeap::new(), positions: vec![0; segments.len()] };
        (0..segments.len()).for_each(|segment| live.place(segment, 0));
        live
    }

    fn place(&mut self, segment: usize, position: usize) {
        self.positions[segment] = position;
        if position < self.segments[segment].len() {
            self.heads.push(Reverse((self.segments[segment].row(position), segment)));
        }
    }

    /// The next row with diff +1, and the sum of its diffs.
    pub fn next_sum(&mut self) -> Option<(R, i64)> {
        let mut sum = 0;
        let mut first: Option<R> = None;
        while let Some(Reverse((head, _))) = self.heads.peek() {
            let (row, diff) = (head.clone().with_diff(1), head.diff());
            if first.as_ref().is_some_and(|first| *first != row) {
                break;
            }
            first = Some(row);
            sum += i64::from(diff);
            if let Some(Reverse((_, segment))) = self.heads.pop() {
                self.place(segment, self.positions[segment] + 1);
            }
        }
        first.map(|row| (row, sum))
    }

    /// Skips all rows that `order` calls `Less`.
    pub fn seek(&mut self, order: impl Fn(&R) -> Ordering) {
        while self.heads.peek().is_some_and(|Reverse((head, _))| order(head) == Ordering::Less) {
            let Some(Reverse((_, segment))) = self.heads.pop() else { return };
            let rows = &self.segments[segment];
            let from = self.positions[segment] + 1;
            let position =
                rows.seek_by(from, |position| order(&rows.row(position)) == Ordering::Less);
            self.place(segment, position);
        }
    }

    /// The next live row if `order` calls it `Equal`.
    pub fn next_if(&mut self, order: impl Fn(&R) -> Ordering) -> Option<R> {
        while self.heads.peek().is_some_and(|Reverse((head, _))| order(head) == Ordering::Equal) {
            if let Some((row, 1..)) = self.next_sum() {
                return Some(row);
            }
        }
        None
    }

    /// The first live row that `order` calls `Equal`. Rows must be searched for in ascending order.
    pub fn find(&mut self, order: impl Fn(&R) -> Ordering) -> Option<R> {
        self.seek(&order);
        self.next_if(&order)
    }
}

impl<R: Row> Iterator for Live<'_, R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        self.next_if(|_| Ordering::Equal)
    }
}

/// Calls `found` for each of `keys` without a row in `table`. A repeated key needs as many rows.
pub fn missing<R: Row, K: Ord>(
    table: &Table<R>,
    keys: impl Iterator<Item = K>,
    key_of: impl Fn(&R) -> K,
    mut found: impl FnMut(K),
) {
    for portion in portions(keys) {
        let mut rows = Live::of(table);
        for key in portion {
            if rows.find(|row| key_of(row).cmp(&key)).is_none() {
                found(key);
            }
        }
    }
}

/// Calls `each` for each of `items`, a key and a value, with the row of `table` that has the key.
pub fn look_up<R: Row, K: Copy + Ord, V: Copy + Ord>(
    table: &Table<R>,
    items: impl Iterator<Item = (K, V)>,
    key_of: impl Fn(&R) -> K,
    mut each: impl FnMut(K, V, Option<&R>),
) {
    for portion in portions(items) {
        let mut rows = Live::of(table);
        for items in portion.chunk_by(|a, b| a.0 == b.0) {
            let row = rows.find(|row| key_of(row).cmp(&items[0].0));
            items.iter().for_each(|&(key, value)| each(key, value, row.as_ref()));
        }
    }
}

/// `items` in portions of [`PORTION_ROWS`], each sorted.
pub fn portions<T: Ord>(mut items: impl Iterator<Item = T>) -> impl Iterator<Item = Vec<T>> {
    iter::from_fn(move || {
        let mut portion: Vec<T> = items.by_ref().take(PORTION_ROWS).collect();
        portion.sort_unstable();
        (!portion.is_empty()).then_some(portion)
    })
}

/// The distinct items of `items`, which ascend.
pub fn distinct<T: Copy + PartialEq>(items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let mut last = None;
    items.filter(move |item| last.replace(*item) != Some(*item))
}

/// The items of both sides by key. Keys ascend on each side and occur once.
pub fn joined<A, B, K: Ord>(
    left: impl Iterator<Item = A>,
    right: impl Iterator<Item = B>,
    left_key: impl Fn(&A) -> K,
    right_key: impl Fn(&B) -> K,
) -> impl Iterator<Item = (Option<A>, Option<B>)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => left_key(a).cmp(&right_key(b)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let a = if order.is_le() { left.next() } else { None };
        let b = if order.is_ge() { right.next() } else { None };
        Some((a, b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::store::segment;
    use crate::tables::ContentPageRow;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn row(n: u64, diff: i8) -> ContentPageRow {
        ContentPageRow { content: Id { high: n / 4, low: 0 }, doc: Id { high: n, low: 0 }, diff }
    }

    fn table(folder: &Path, runs: &[BTreeMap<u64, i8>]) -> Table<ContentPageRow> {
        let mut table = Table::default();
        for run in runs {
            let rows = run.iter().map(|(n, diff)| row(*n, *diff));
            if let Some(written) = segment::write(folder, "test", rows).expect("written") {
                table.push(Segment::open(folder, &written).expect("opened"));
            }
        }
        table
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// For any runs: the sums are those of a map, the live rows are those with a positive sum,
        /// and a search in ascending order finds exactly the live rows.
        #[test]
        fn equals_a_map(runs in prop::collection::vec(
            prop::collection::btree_map(0u64..60, prop_oneof![Just(1i8), Just(-1i8)], 0..40), 0..5,
        )) {
            let folder = tempfile::tempdir().expect("a folder");
            let table = table(folder.path(), &runs);
            let mut sums: BTreeMap<u64, i64> = BTreeMap::new();
            runs.iter().flatten().for_each(|(n, diff)| *sums.entry(*n).or_default() += i64::from(*diff));
            let mut live = Live::of(&table);
            let found: Vec<(u64, i64)> = iter::from_fn(|| live.next_sum()).map(|(row, sum)| (row.doc.high, sum)).collect();
            prop_assert_eq!(found, sums.clone().into_iter().collect::<Vec<_>>());
            sums.retain(|_, sum| *sum > 0);
            let all: Vec<u64> = Live::of(&table).map(|row| row.doc.high).collect();
            prop_assert_eq!(&all, &sums.keys().copied().collect::<Vec<_>>());
            let mut live = Live::of(&table);
            for n in (0..60).step_by(3) {
                let found = live.find(|row| row.doc.high.cmp(&n)).map(|row| row.doc.high);
                prop_assert_eq!(found, sums.contains_key(&n).then_some(n));
            }
        }
    }

    /// The items of both sides come in order, each once, whether one or both sides have the key.
    #[test]
    fn joined_pairs_both_sides() {
        let found: Vec<(Option<i32>, Option<i32>)> =
            joined([1, 2, 5].into_iter(), [2, 3, 5, 6].into_iter(), |a| *a, |b| *b).collect();
        let both = |n| (Some(n), Some(n));
        assert_eq!(found, [(Some(1), None), both(2), (None, Some(3)), both(5), (None, Some(6))]);
        assert_eq!(distinct([1, 1, 2, 2, 2, 5].into_iter()).collect::<Vec<i32>>(), [1, 2, 5]);
    }
}
