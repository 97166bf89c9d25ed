//! The length of the longest common subsequence (LCS) of two lists of characters.
//!
//! It is computed by bit-parallel arithmetic (Crochemore, Iliopoulos, Pinzon, Reid: "A fast
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
//! We differ in three points. Columns are processed in strips, each over all its rows, with one
//! carry for each row between strips, so that the masks of a strip fit the cache. Only rows in the
//! band that the wanted length allows are visited (Ukkonen: "Algorithms for approximate string
//! matching", Information and Control 64, 1985). And the computation stops after a strip when the
//! wanted LCS cannot be reached any more. Matches outside the band are ignored, so an LCS that
//! reaches the wanted length is exact, and any other is refused.

use std::cell::RefCell;

/// Texts with more characters, white space not counted, are not aligned. At this length a pair
/// takes about 50 ms if 0.92 of it is wanted.
pub const CHARACTERS_MAX: usize = 1 << 17;

/// The characters of a text without white space; `None` if there are more than [`CHARACTERS_MAX`].
pub fn characters(normal: &str) -> Option<Vec<char>> {
    let found: Vec<char> =
        normal.chars().filter(|c| !c.is_whitespace()).take(CHARACTERS_MAX + 1).collect();
    (found.len() <= CHARACTERS_MAX).then_some(found)
}

/// The length of the longest common subsequence. Symmetric.
pub fn length(a: &[char], b: &[char]) -> usize {
    lcs(a, b, 0).unwrap_or(0)
}

/// The length of the longest common subsequence, if it is `least` or more. Symmetric.
pub fn lcs(a: &[char], b: &[char], least: usize) -> Option<usize> {
    if a.len().min(b.len()) < least {
        return None;
    }
    let prefix = common(a.iter(), b.iter());
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = common(a.iter().rev(), b.iter().rev());
    let (a, b) = (&a[..a.len() - suffix], &b[..b.len() - suffix]);
    let least = least.saturating_sub(prefix + suffix);
    WORK.with_borrow_mut(|work| {
        work.fill(a.iter().copied(), b.iter().copied());
        work.run(a.len() - least, b.len() - least, least)?;
        Some(work.zeros(a.len())).filter(|lcs| *lcs >= least)
    })
    .map(|lcs| lcs + prefix + suffix)
}

/// The length of the common prefix.
pub(super) fn common<'a, T: PartialEq + 'a>(
    a: impl Iterator<Item = &'a T>,
    b: impl Iterator<Item = &'a T>,
) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// Words of 64 columns in a strip. Four additions with carry take little longer than one.
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
    /// For each row the carry of the strip before.
    carries: Vec<u8>,
    /// V of all strips so far.
    bits: Vec<[u64; STRIP]>,
}

thread_local! {
    static WORK: RefCell<Work> = const {
        RefCell::new(Work {
            numbers: Vec::new(),
            columns: Vec::new(),
            rows: Vec::new(),
            masks: Vec::new(),
            carries: Vec::new(),
            bits: Vec::new(),
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

    /// Processes the strips. Matches of column i and row j count where i - j <= `ahead` and
    /// j - i <= `behind`. `None` as soon as fewer than `least` matches are possible.
    fn run(&mut self, ahead: usize, behind: usize, least: usize) -> Option<()> {
        self.bits.clear();
        self.carries.clear();
        self.carries.resize(self.rows.len(), 0);
        let (mut zeros, mut from) = (0, 0usize);
        for columns in self.columns.chunks(STRIP_COLUMNS) {
            for (at, number) in columns.iter().enumerate() {
                self.masks[*number as usize][at / 64] |= 1 << (at % 64);
            }
            let first = from.saturating_sub(ahead).min(self.rows.len());
            let last = (from + columns.len() + behind).min(self.rows.len()).max(first);
            let bits = strip(&self.rows[first..last], &mut self.carries[first..last], &self.masks);
            columns.iter().for_each(|number| self.masks[*number as usize] = [0; STRIP]);
            self.bits.push(bits);
            zeros += bits.iter().map(|word| word.count_zeros() as usize).sum::<usize>();
            from += columns.len();
            if zeros + (self.columns.len() - from) < least {
                return None;
            }
        }
        Some(())
    }

    /// The number of zeros in the first `columns` bits of V.
    fn zeros(&self, columns: usize) -> usize {
        let mut left = columns;
        let mut zeros = 0;
        for word in self.bits.iter().flatten() {
            let here = left.min(64);
            let below = if here == 64 { u64::MAX } else { (1 << here) - 1 };
            zeros += (!word & below).count_ones() as usize;
            left -= here;
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
        characters(text).expect("short")
    }

    proptest! {
        /// Bits, strips and removed common ends equal the quadratic table, and too short an LCS is
        /// refused.
        #[test]
        fn lcs_is_plain(a in "[a-d]{0,400}", b in "[a-d]{0,400}", least in 0usize..400) {
            let (x, y) = (chars(&a), chars(&b));
            let length = plain(&x, &y);
            prop_assert_eq!(lcs(&x, &y, 0), Some(length));
            prop_assert_eq!(lcs(&x, &y, length), Some(length));
            prop_assert_eq!(lcs(&x, &y, length + 1), None);
            prop_assert_eq!(lcs(&x, &y, least), (length >= least).then_some(length));
            prop_assert_eq!(lcs(&y, &x, least), (length >= least).then_some(length));
        }

        /// Texts near each other, where the band and the early stop decide, equal the table, too.
        #[test]
        fn near_texts_are_plain(
            text in "[a-z一-三 ]{0,600}",
            edits in proptest::collection::vec((0usize..700, "[x-z八九]{0,24}"), 0..6),
            least in 0usize..600,
        ) {
            let mut other: Vec<char> = text.chars().collect();
            for (at, put) in &edits {
                let at = at % (other.len() + 1);
                other.splice(at..(at + put.len() / 2).min(other.len()), put.chars());
            }
            let (x, y) = (chars(&text), chars(&other.into_iter().collect::<String>()));
            let length = plain(&x, &y);
            prop_assert_eq!(lcs(&x, &y, least), (length >= least).then_some(length));
        }
    }

    /// Texts of the greatest length have characters to align, and longer ones have none.
    #[test]
    fn too_long() {
        let text = "好".repeat(CHARACTERS_MAX);
        let same = chars(&text);
        assert_eq!(lcs(&same, &same, 0), Some(CHARACTERS_MAX));
        assert_eq!(characters(&format!("{text}好")), None);
        let other: Vec<char> =
            (0..CHARACTERS_MAX as u32).filter_map(|n| char::from_u32(0x4e00 + n % 5000)).collect();
        assert_eq!(lcs(&same, &other, CHARACTERS_MAX / 2), None);
    }
}
