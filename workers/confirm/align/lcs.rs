//! The length of the longest common subsequence (LCS) of two lists of characters.
//!
//! The length is computed by bit-parallel arithmetic (Crochemore, Iliopoulos, Pinzon, Reid: "A fast
//! and practical bit-vector algorithm for the longest common subsequence problem", Information
//! Processing Letters 80(6), 2001; Hyyro: "Bit-parallel LCS-length computation revisited", AWOCA
//! 2004). Differences between columns are bits, with a zero where the LCS grows, so that a row
//! costs one addition for every 64 columns:
//!
//! ```text
//! V = all ones
//! for each character c of the rows:  U = V & M[c];  V = (V + U) | (V & !M[c])
//! LCS = number of zeros in V
//! ```
//!
//! We differ in one point. We process columns in strips, each over all rows, so that the masks of a
//! strip fit the cache. Between strips there is one carry for each row.

use std::cell::RefCell;

/// The length of the longest common subsequence. Symmetric.
pub fn length(a: &[char], b: &[char]) -> usize {
    let prefix = common(a.iter(), b.iter());
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = common(a.iter().rev(), b.iter().rev());
    let (a, b) = (&a[..a.len() - suffix], &b[..b.len() - suffix]);
    let between = WORK.with_borrow_mut(|work| {
        work.fill(a.iter().copied(), b.iter().copied());
        work.zeros()
    });
    prefix + between + suffix
}

/// The length of the common prefix.
pub(in crate::confirm) fn common<'a, T: PartialEq + 'a>(
    a: impl Iterator<Item = &'a T>,
    b: impl Iterator<Item = &'a T>,
) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// Words of 64 columns in a strip. Four additions with carry take little more time than one.
const STRIP: usize = 4;
/// Columns in a strip.
const STRIP_COLUMNS: usize = 64 * STRIP;

/// Buffers, kept for each thread. No call depends on what another left in them.
struct Work {
    /// The number of each character's mask, 0 if it is in no column. All zero between calls.
    numbers: Vec<u32>,
    columns: Vec<u32>,
    rows: Vec<u32>,
    /// The mask of each character for the current strip. All zero between strips.
    masks: Vec<[u64; STRIP]>,
    /// For each row the carry out of the strip before.
    carries: Vec<u8>,
}

thread_local! {
    static WORK: RefCell<Work> = const {
        RefCell::new(Work {
            numbers: Vec::new(),
            columns: Vec::new(),
            rows: Vec::new(),
            masks: Vec::new(),
            carries: Vec::new(),
        })
    };
}

impl Work {
    /// Numbers the characters of both sides.
    fn fill(
        &mut self,
        columns: impl Iterator<Item = char> + Clone,
        rows: impl Iterator<Item = char>,
    ) {
        if self.numbers.is_empty() {
            self.numbers = vec![0; char::MAX as usize + 1];
        }
        self.columns.clear();
        self.rows.clear();
        let mut count = 0;
        for c in columns.clone() {
            let number = &mut self.numbers[c as usize];
            if *number == 0 {
                count += 1;
                *number = count;
            }
            self.columns.push(*number);
        }
        self.rows.extend(rows.map(|c| self.numbers[c as usize]));
        columns.for_each(|c| self.numbers[c as usize] = 0);
        self.masks.resize(self.masks.len().max(count as usize + 1), [0; STRIP]);
    }

    /// The number of zeros in V of all strips. A bit behind the last column stays one, since no
    /// mask has it.
    fn zeros(&mut self) -> usize {
        self.carries.clear();
        self.carries.resize(self.rows.len(), 0);
        let mut zeros = 0;
        for columns in self.columns.chunks(STRIP_COLUMNS) {
            for (at, number) in columns.iter().enumerate() {
                self.masks[*number as usize][at / 64] |= 1 << (at % 64);
            }
            let bits = strip(&self.rows, &mut self.carries, &self.masks);
            columns.iter().for_each(|number| self.masks[*number as usize] = [0; STRIP]);
            zeros += bits.iter().map(|word| word.count_zeros() as usize).sum::<usize>();
        }
        zeros
    }
}

/// One strip over its rows: the recurrence at the top of this file, with the addition's carry in
/// `carries`.
fn strip(rows: &[u32], carries: &mut [u8], masks: &[[u64; STRIP]]) -> [u64; STRIP] {
    let mut v = [u64::MAX; STRIP];
    for (number, carry) in rows.iter().zip(carries) {
        let mask = &masks[*number as usize];
        let mut over = *carry != 0;
        for (v, mask) in v.iter_mut().zip(mask) {
            let (sum, first) = v.overflowing_add(*v & mask);
            let (sum, second) = sum.overflowing_add(u64::from(over));
            over = first | second;
            *v = sum | (*v & !mask);
        }
        *carry = u8::from(over);
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The LCS by the quadratic table.
    fn plain(a: &[char], b: &[char]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut corner = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { corner + 1 } else { above.max(row[j]) };
                corner = above;
            }
        }
        row[b.len()]
    }

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    proptest! {
        /// Bits, strips and removed common ends equal the quadratic table.
        #[test]
        fn length_is_plain(a in "[a-d]{0,600}", b in "[a-d]{0,600}") {
            let (x, y) = (chars(&a), chars(&b));
            let expected = plain(&x, &y);
            prop_assert_eq!(length(&x, &y), expected);
            prop_assert_eq!(length(&y, &x), expected);
        }

        /// So do they for texts near each other.
        #[test]
        fn near_texts_are_plain(
            text in "[a-z一-三 ]{0,600}",
            edits in proptest::collection::vec((0usize..700, "[x-z八九]{0,24}"), 0..6),
        ) {
            let mut other = chars(&text);
            for (at, put) in &edits {
                let at = at % (other.len() + 1);
                other.splice(at..(at + put.len() / 2).min(other.len()), put.chars());
            }
            let text = chars(&text);
            prop_assert_eq!(length(&text, &other), plain(&text, &other));
        }
    }
}
