//! Sorts the rows that arrived at a worker.
//!
//! Most rows begin with a digest or a hash, so their first bits are spread evenly. Rows are divided
//! by these bits in place, as a most significant digit radix sort does ("American flag sort",
//! McIlroy, Bostic, McIlroy 1993), and only the few rows of each part are compared. Where the bits
//! are not even, as in a column of small numbers, the parts are large and comparison does the work.

use crate::fold::wire::WireRow;

/// The most bits by which rows are divided at once.
const DIGIT_BITS_MAX: u32 = 8;
/// About as many rows as a part should have.
const PART_ROWS: usize = 48;
/// Up to this many rows are sorted by comparison, without being divided.
const COMPARED_ROWS: usize = 4 * PART_ROWS;

/// Sorts `rows`. The order of a row must begin with its first eight bytes, as a number.
pub fn sort<R: WireRow>(rows: &mut [R]) {
    sort_from(rows);
    debug_assert!(rows.is_sorted(), "the order of a row begins with its first eight bytes");
}

fn sort_from<R: WireRow>(rows: &mut [R]) {
    if rows.len() < COMPARED_ROWS {
        return rows.sort_unstable();
    }
    let (least, greatest) =
        rows.iter().map(leading).fold((u64::MAX, 0), |(a, b), it| (a.min(it), b.max(it)));
    if least == greatest {
        return rows.sort_unstable();
    }
    let spread_bits = u64::BITS - (greatest - least).leading_zeros();
    let digit_bits = (rows.len() / PART_ROWS).ilog2().min(DIGIT_BITS_MAX).min(spread_bits);
    let shift = spread_bits - digit_bits;
    let digit = |row: &R| ((leading(row) - least) >> shift) as usize;

    let mut ends = [0; 1 << DIGIT_BITS_MAX];
    rows.iter().for_each(|row| ends[digit(row)] += 1);
    let (mut next, mut sum) = ([0; 1 << DIGIT_BITS_MAX], 0);
    for (next, end) in next.iter_mut().zip(&mut ends) {
        *next = sum;
        sum += *end;
        *end = sum;
    }
    for part in 0..1 << digit_bits {
        while next[part] < ends[part] {
            let of = digit(&rows[next[part]]);
            if of != part {
                rows.swap(next[part], next[of]);
            }
            next[of] += 1;
        }
    }
    let mut start = 0;
    for end in &ends[..1 << digit_bits] {
        sort_from(&mut rows[start..*end]);
        start = *end;
    }
}

/// The first eight bytes of a row.
fn leading<R: WireRow>(row: &R) -> u64 {
    bytemuck::pod_read_unaligned(&bytemuck::bytes_of(row)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use proptest::prelude::*;

    proptest! {
        /// Rows are sorted as the standard library sorts them, whether their first bits are even,
        /// few, close together or equal.
        #[test]
        fn as_the_standard_library(
            rows in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..3_000),
            kept in prop::sample::select(vec![u64::MAX, 0xff, 0xf000_0000_0000_000f, 1, 0]),
            added in any::<u64>(),
        ) {
            let id = |&(high, low): &(u64, u64)| Id { high: (high & kept).saturating_add(added), low };
            let mut rows: Vec<Id> = rows.iter().map(id).collect();
            let mut expected = rows.clone();
            expected.sort_unstable();
            sort(&mut rows);
            prop_assert_eq!(rows, expected);
        }
    }
}
