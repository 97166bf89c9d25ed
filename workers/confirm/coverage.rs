//! Measures how much of the longer of two texts both have in common, in the same order.
//!
//! Coverage is the length of the longest common subsequence (LCS) of the characters, without white
//! space, over the number of characters of the longer text. A headline in front of one text may be
//! left out. Words and meaning do not matter.
//!
//! The LCS is computed by bit-parallel arithmetic (Crochemore, Iliopoulos, Pinzon, Reid: "A fast
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
//! band that the wanted coverage allows are visited (Ukkonen: "Algorithms for approximate string
//! matching", Information and Control 64, 1985). And the computation stops after a strip when the
//! wanted LCS cannot be reached any more. Matches outside the band are ignored, so an LCS that
//! reaches the wanted length is exact, and any other is refused.

use crate::text::characters::is_han;
use std::cell::RefCell;

/// Texts with more characters, white space not counted, are not aligned. At this length a pair
/// takes about 50 ms at a coverage of 0.92.
pub const CHARACTERS_MAX: usize = 1 << 17;

/// When two texts cover each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The least coverage, in 1/10,000.
    pub coverage_min: u16,
    /// The most tokens that may precede one of the texts. A token is a Chinese or Japanese
    /// character, or a word. They may have at most half as many characters as the text after them:
    /// a headline, not another text.
    pub leading_tokens_max: usize,
}

/// Whether two texts cover each other. Coverages are in 1/10,000, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The whole texts do.
    Whole {
        /// LCS / longer.
        coverage: u16,
    },
    /// They do without some tokens in front of one of them.
    Rest {
        /// LCS / longer, of the rest.
        coverage: u16,
    },
    /// They do not.
    No,
    /// One text is longer than [`CHARACTERS_MAX`].
    TooLong,
}

/// Whether two normalised texts cover each other. Symmetric. Two empty texts do not.
///
/// ```
/// use workers::confirm::coverage::{Fit, Limits, fit};
///
/// // Coverage in 1/10,000; up to 60 words or Chinese characters in front may be left out.
/// let limits = Limits { coverage_min: 9_200, leading_tokens_max: 60 };
/// let text = "the budget is to grow by half in spring, said the minister";
/// assert_eq!(fit(text, &text.replace("half", "help"), &limits), Fit::Whole { coverage: 9_574 });
/// let with_headline = format!("breaking news: {text}");
/// assert_eq!(fit(text, &with_headline, &limits), Fit::Rest { coverage: 10_000 });
/// assert_eq!(fit(text, "snow is expected in the north tonight", &limits), Fit::No);
/// ```
pub fn fit(a: &str, b: &str, limits: &Limits) -> Fit {
    let (Some(x), Some(y)) = (characters(a), characters(b)) else { return Fit::TooLong };
    let min = usize::from(limits.coverage_min.min(10_000));
    let longer = x.len().max(y.len());
    if longer == 0 {
        return Fit::No;
    }
    if let Some(lcs) = lcs(&x, &y, (longer * min).div_ceil(10_000)) {
        return Fit::Whole { coverage: (lcs * 10_000 / longer) as u16 };
    }
    let behind = [(a, &x, &y), (b, &y, &x)].map(|(text, long, other)| {
        let cuts = cuts(text, long.len(), limits.leading_tokens_max);
        rest(long, other, &cuts, min)
    });
    match behind.into_iter().flatten().max() {
        Some(coverage) => Fit::Rest { coverage },
        None => Fit::No,
    }
}

/// The characters of a text without white space; `None` if there are more than [`CHARACTERS_MAX`].
pub fn characters(normal: &str) -> Option<Vec<char>> {
    let found: Vec<char> = normal.chars().filter(|c| !c.is_whitespace()).take(CHARACTERS_MAX + 1).collect();
    (found.len() <= CHARACTERS_MAX).then_some(found)
}

/// The positions after 1, 2 ... `tokens_max` tokens, up to the first third of the text.
///
/// Positions and the text's `length` are in characters without white space.
fn cuts(normal: &str, length: usize, tokens_max: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let (mut at, mut tokens, mut in_word) = (0, 0, false);
    for c in normal.chars() {
        let alone = is_han(c) || matches!(c, '\u{3040}'..='\u{30ff}');
        let word = !alone && (c.is_alphanumeric() || in_word && matches!(c, '\'' | '’' | '.' | ','));
        if alone || word && !in_word {
            if tokens > tokens_max || 3 * at > length {
                break;
            }
            if tokens > 0 {
                cuts.push(at);
            }
            tokens += 1;
        }
        in_word = word;
        at += usize::from(!c.is_whitespace());
    }
    cuts
}

/// The greatest coverage of `other` and the rest of `long` after one of the `cuts`, in 1/10,000, if
/// it reaches `min`.
fn rest(long: &[char], other: &[char], cuts: &[usize], min: usize) -> Option<u16> {
    let (m, n) = (long.len(), other.len());
    // The lengths rule out most cuts.
    let may = |cut: &&usize| (m - **cut).min(n) * 10_000 >= (m - **cut).max(n) * min;
    let (first, last) = (cuts.iter().find(may)?, cuts.iter().rfind(may)?);
    let [longest, shortest] = [first, last].map(|cut| (m - cut).max(n));
    let suffix = common(long.iter().rev(), other.iter().rev());
    let (columns, rows) = (&long[..m - suffix], &other[..n - suffix]);
    WORK.with_borrow_mut(|work| {
        // Backwards, so that the zeros of the first columns count the LCS of the rest after a cut.
        work.fill(columns.iter().rev().copied(), rows.iter().rev().copied());
        // The coverage bounds the number of unmatched characters on either side.
        let spare = longest * (10_000 - min) / 10_000;
        work.run(spare, spare, (shortest * min).div_ceil(10_000).saturating_sub(suffix))?;
        let coverage = |cut: usize| {
            let left = m - cut;
            let lcs = if left <= suffix { left } else { suffix + work.zeros(left - suffix) };
            lcs * 10_000 / left.max(n)
        };
        cuts.iter().filter(may).map(|cut| coverage(*cut)).max().filter(|coverage| *coverage >= min).map(|c| c as u16)
    })
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
fn common<'a>(a: impl Iterator<Item = &'a char>, b: impl Iterator<Item = &'a char>) -> usize {
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
    fn fill(&mut self, columns: impl Iterator<Item = char> + Clone, rows: impl Iterator<Item = char>) {
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

    /// The definition of [`fit`], with every cut computed separately.
    fn fit_plainly(a: &str, b: &str, limits: &Limits) -> Fit {
        let (x, y) = (chars(a), chars(b));
        let min = usize::from(limits.coverage_min);
        let coverage = |x: &[char], y: &[char]| {
            let longer = x.len().max(y.len());
            let lcs = plain(x, y);
            (longer > 0 && lcs * 10_000 >= longer * min).then(|| (lcs * 10_000 / longer) as u16)
        };
        if let Some(coverage) = coverage(&x, &y) {
            return Fit::Whole { coverage };
        }
        let of = |text: &str, long: &[char], other: &[char]| -> Option<u16> {
            let cuts = cuts(text, long.len(), limits.leading_tokens_max);
            cuts.into_iter().filter_map(|cut| coverage(&long[cut..], other)).max()
        };
        match of(a, &x, &y).max(of(b, &y, &x)) {
            Some(coverage) => Fit::Rest { coverage },
            None => Fit::No,
        }
    }

    /// `text` with `front` put in front and characters replaced at some places.
    fn edited(text: &str, front: &str, edits: &[(usize, String)]) -> String {
        let mut other: Vec<char> = text.chars().collect();
        for (at, put) in edits {
            let at = at % (other.len() + 1);
            let end = (at + put.len() / 2).min(other.len());
            other.splice(at..end, put.chars());
        }
        front.chars().chain(other).collect()
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

        /// The band and the early stop miss nothing, for any wanted coverage and for texts near it,
        /// with and without a headline.
        #[test]
        fn fit_is_plain(
            text in "[a-z一-三 ]{0,600}",
            front in "([a-c]{1,6} |[四五六七]{0,20}){0,6}",
            edits in proptest::collection::vec((0usize..700, "[x-z八九]{0,24}"), 0..6),
            coverage_min in 5000u16..=10_000,
            leading_tokens_max in 0usize..80,
        ) {
            let other = edited(&text, &front, &edits);
            let limits = Limits { coverage_min, leading_tokens_max };
            let found = fit(&text, &other, &limits);
            prop_assert_eq!(found, fit(&other, &text, &limits));
            prop_assert_eq!(found, fit_plainly(&text, &other, &limits));
        }

        /// Any texts are compared as by the definition.
        #[test]
        fn any_text(a in "\\PC{0,60}", b in "\\PC{0,60}") {
            let limits = Limits { coverage_min: 9200, leading_tokens_max: 60 };
            prop_assert_eq!(fit(&a, &b, &limits), fit_plainly(&a, &b, &limits));
        }
    }

    /// A headline in front of one text is left out. One longer than the text after it is not, nor
    /// is an addition at the end.
    #[test]
    fn headline() {
        let limits = Limits { coverage_min: 9200, leading_tokens_max: 60 };
        let body = "记者从水利部了解到，入汛以来全国主要江河汛情平稳，水库蓄水较常年同期偏多一成";
        let head = format!("水利部：主要江河汛情平稳 {body}");
        assert_eq!(fit(body, &head, &limits), Fit::Rest { coverage: 10_000 });
        assert_eq!(fit(body, &format!("{body}。{head}"), &limits), Fit::No);
        assert_eq!(fit(body, &format!("{body}，水利部：主要江河汛情平稳"), &limits), Fit::No);
        assert_eq!(fit("", "", &limits), Fit::No);
    }

    /// A word is one token, and so is a Chinese character.
    #[test]
    fn tokens() {
        assert_eq!(cuts("one two's 3.5, four five six seven", 28, 3), [3, 8]);
        assert_eq!(cuts("one two's 3.5, four five six seven", 90, 3), [3, 8, 12]);
        assert_eq!(cuts("一二 三四，五六七", 8, 9), [1, 2]);
        assert_eq!(cuts("", 0, 9), [0; 0]);
    }

    /// Texts of the greatest length are aligned, and longer ones are reported as too long.
    #[test]
    fn too_long() {
        let limits = Limits { coverage_min: 9200, leading_tokens_max: 60 };
        let text = "好".repeat(CHARACTERS_MAX);
        assert_eq!(fit(&text, &text, &limits), Fit::Whole { coverage: 10_000 });
        assert_eq!(fit(&text, &format!("{text}好"), &limits), Fit::TooLong);
        let other: String = (0..CHARACTERS_MAX as u32).filter_map(|n| char::from_u32(0x4e00 + n % 5000)).collect();
        assert_eq!(fit(&text, &other, &limits), Fit::No);
    }
}
