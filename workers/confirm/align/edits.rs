//! Computes a shortest edit script of two lists of token codes, by bits.
//!
//! Each row of the table of common subsequences is kept as bits, with a zero where the length
//! grows, so that one addition advances 64 columns ([`lcs`](super::lcs) has the papers). All rows
//! are kept, and the script is read from the last corner back to the first (Hyyro: "A note on
//! bit-parallel alignment computation", Prague Stringology Conference 2004). The time does not
//! depend on how much differs.

use crate::confirm::align::lcs::common;
use crate::text::hash::BuildSeeded;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

/// The most words of all rows: 16 MiB.
const WORDS_MAX: usize = 1 << 21;

/// Whether the rows of two lists of these lengths may be kept.
pub fn has_room(a: usize, b: usize) -> bool {
    a.div_ceil(64).saturating_mul(b + 1) <= WORDS_MAX
}

/// Buffers, kept for each thread. No call depends on what another left in them.
#[derive(Default)]
struct Work {
    /// The number of each code of the columns, from 1.
    numbers: HashMap<u64, u32, BuildSeeded>,
    /// For each number the columns that have it, as bits. Number 0 is a code that no column has.
    masks: Vec<u64>,
    /// All rows. The first row is the one before any code of `b`. Behind the last there are rows of
    /// earlier calls.
    rows: Vec<u64>,
}

thread_local! {
    static WORK: RefCell<Work> = RefCell::default();
}

/// Tokens of one text that stand in place of tokens of the other text. One of the ranges may be
/// empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Token numbers of the first text.
    pub a: Range<usize>,
    /// Token numbers of the second text.
    pub b: Range<usize>,
}

/// The equal parts of two texts with these numbers of tokens: before the first of the ascending
/// `spans`, between neighbours, and behind the last. Both sides of a part have as many tokens,
/// perhaps none.
pub fn equal_parts(spans: &[Span], [a, b]: [usize; 2]) -> impl Iterator<Item = Span> + '_ {
    let starts = spans.iter().map(|span| [span.a.start, span.b.start]).chain([[a, b]]);
    let ends = [[0, 0]].into_iter().chain(spans.iter().map(|span| [span.a.end, span.b.end]));
    ends.zip(starts).map(|(from, to)| Span { a: from[0]..to[0], b: from[1]..to[1] })
}

/// The spans in which `a` and `b` differ, ascending; `None` if more than `edits_max` codes are
/// deleted and inserted. Both have room ([`has_room`]).
///
/// ```
/// use workers::confirm::align::edits::{Span, spans};
///
/// // The code 7 stands in place of 2, and 9 is added at the end.
/// let expected = vec![Span { a: 1..2, b: 1..2 }, Span { a: 3..3, b: 3..4 }];
/// assert_eq!(spans(&[1, 2, 3], &[1, 7, 3, 9], 3), Some(expected));
/// assert_eq!(spans(&[1, 2, 3], &[1, 7, 3, 9], 2), None);
/// ```
pub fn spans(a: &[u64], b: &[u64], edits_max: usize) -> Option<Vec<Span>> {
    let prefix = common(a.iter(), b.iter());
    let (x, y) = (&a[prefix..], &b[prefix..]);
    let suffix = common(x.iter().rev(), y.iter().rev());
    let (x, y) = (&x[..x.len() - suffix], &y[..y.len() - suffix]);
    let mut spans = WORK.with_borrow_mut(|work| {
        work.fill(x, y);
        work.script(x, y, edits_max)
    })?;
    compact(x, y, &mut spans);
    for side in spans.iter_mut().flat_map(|span| [&mut span.a, &mut span.b]) {
        *side = side.start + prefix..side.end + prefix;
    }
    Some(spans)
}

impl Work {
    /// Computes all rows.
    fn fill(&mut self, a: &[u64], b: &[u64]) {
        let words = a.len().div_ceil(64);
        self.numbers.clear();
        self.masks.clear();
        self.masks.resize(words, 0);
        for (at, code) in a.iter().enumerate() {
            let next = self.numbers.len() as u32 + 1;
            let number = *self.numbers.entry(*code).or_insert(next) as usize;
            if number == next as usize {
                self.masks.resize((number + 1) * words, 0);
            }
            self.masks[number * words + at / 64] |= 1 << (at % 64);
        }
        self.rows.resize(self.rows.len().max((b.len() + 1) * words), 0);
        self.rows[..words].fill(u64::MAX);
        for (row, code) in b.iter().enumerate() {
            let number = self.numbers.get(code).map_or(0, |number| *number as usize);
            let mask = &self.masks[number * words..][..words];
            let (before, after) = self.rows[row * words..][..2 * words].split_at_mut(words);
            let mut carry = false;
            for ((before, after), mask) in before.iter().zip(after).zip(mask) {
                let matched = before & mask;
                let (sum, over) = before.overflowing_add(matched);
                let (sum, again) = sum.overflowing_add(u64::from(carry));
                carry = over | again;
                *after = sum | (before & !mask);
            }
        }
    }

    /// Reads the script back from the last corner. Codes are matched wherever that is possible, so
    /// that matches follow each other.
    fn script(&self, a: &[u64], b: &[u64], edits_max: usize) -> Option<Vec<Span>> {
        let (columns, rows) = (a.len(), b.len());
        let words = columns.div_ceil(64);
        let grows = |row: usize, column: usize| {
            self.rows[row * words + column / 64] >> (column % 64) & 1 == 0
        };
        let length = (0..columns).filter(|column| grows(rows, *column)).count();
        if columns + rows - 2 * length > edits_max {
            return None;
        }
        let mut spans: Vec<Span> = Vec::new();
        let mut edit = |column: Range<usize>, row: Range<usize>| match spans.last_mut() {
            Some(next) if next.a.start == column.end && next.b.start == row.end => {
                (next.a.start, next.b.start) = (column.start, row.start);
            }
            _ => spans.push(Span { a: column, b: row }),
        };
        let (mut column, mut row) = (columns, rows);
        while column > 0 && row > 0 {
            if a[column - 1] == b[row - 1] {
                (column, row) = (column - 1, row - 1);
            } else if !grows(row, column - 1) {
                column -= 1;
                edit(column..column + 1, row..row);
            } else {
                row -= 1;
                edit(column..column, row..row + 1);
            }
        }
        if column > 0 || row > 0 {
            edit(0..column, 0..row);
        }
        spans.reverse();
        Some(spans)
    }
}

/// Joins a passage that is on one side alone with the next such passage, if the codes between the
/// two also stand at the beginning of the first: `x [y z x] y [z]` is `x y [z x y z]`. Otherwise a
/// code that is equal by chance would part a passage that was put in.
fn compact(a: &[u64], b: &[u64], spans: &mut Vec<Span>) {
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for next in spans.drain(..) {
        let Some(last) = joined.last_mut() else {
            joined.push(next);
            continue;
        };
        let between = next.a.start - last.a.end;
        let slides = |codes: &[u64], own: &Range<usize>, other: &Range<usize>| {
            other.is_empty()
                && codes[own.start..own.start + between] == codes[own.end..own.end + between]
        };
        match slides(a, &last.a, &last.b) || slides(b, &last.b, &last.a) {
            true => {
                (last.a.start, last.b.start) = (last.a.start + between, last.b.start + between);
                (last.a.end, last.b.end) = (next.a.end, next.b.end);
            }
            false => joined.push(next),
        }
    }
    *spans = joined;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::align::lcs;
    use proptest::prelude::*;

    proptest! {
        /// What is left between the spans is equal, nothing shorter would do, and the limit refuses
        /// exactly what is above it.
        #[test]
        fn shortest(
            a in proptest::collection::vec(0u32..40, 0..300),
            b in proptest::collection::vec(0u32..40, 0..300),
            same in 0usize..200,
        ) {
            // Half of the codes are characters, half are words.
            let code = |n: &u32| if n.is_multiple_of(2) { u64::from(*n) } else { 1 << 63 | u64::from(n / 6) };
            let list = |own: &[u32]| own.iter().chain(&a[..same.min(a.len())]).map(code).collect::<Vec<u64>>();
            let (x, y) = (list(&a), list(&b));
            let found = spans(&x, &y, usize::MAX).expect("no limit");
            let chars = |codes: &[u64]| -> Vec<char> {
                codes.iter().filter_map(|code| char::from_u32((*code as u32) << 1 | (code >> 63) as u32)).collect()
            };
            let edits: usize = found.iter().map(|span| span.a.len() + span.b.len()).sum();
            prop_assert_eq!(edits, x.len() + y.len() - 2 * lcs::length(&chars(&x), &chars(&y)));
            let (mut i, mut j) = (0, 0);
            let last = Span { a: x.len()..x.len(), b: y.len()..y.len() };
            for span in found.iter().chain([&last]) {
                prop_assert_eq!(&x[i..span.a.start], &y[j..span.b.start]);
                (i, j) = (span.a.end, span.b.end);
            }
            prop_assert_eq!(spans(&x, &y, edits), Some(found));
            prop_assert!(edits == 0 || spans(&x, &y, edits - 1).is_none());
        }
    }

    /// A passage that was put in, left out or moved over an end is one span, although some of its
    /// codes are equal to others by chance.
    #[test]
    fn passages_stay_whole() {
        let words = |range: Range<u64>| -> Vec<u64> {
            range.flat_map(|n| [1000, n / 100, n / 10 % 10, n % 10]).collect()
        };
        let count = |a: &[u64], b: &[u64]| {
            (spans(a, b, 1000).expect("near").len(), spans(b, a, 1000).expect("near").len())
        };
        assert_eq!(count(&words(100..300), &words(117..317)), (2, 2));
        assert_eq!(count(&words(100..300), &words(100..317)), (1, 1));
        assert_eq!(count(&words(100..300), &words(117..300)), (1, 1));
        let moved = [words(100..200), words(500..540), words(200..300)].concat();
        assert_eq!(count(&words(100..300), &moved), (1, 1));
    }

    /// Lists that would take too much memory have no room.
    #[test]
    fn large_lists_have_no_room() {
        assert!(has_room(10_000, 10_000));
        assert!(!has_room(1 << 15, 1 << 15));
    }
}
