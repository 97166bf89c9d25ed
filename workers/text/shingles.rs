//! Makes the shingles of a normalised text: the hashes of every q consecutive letters or digits.
//!
//! The similarity of two texts is the similarity of their sets of shingles (Broder: "On the
//! resemblance and containment of documents", SEQUENCES 1997). We differ by taking characters in
//! place of words, so that no text needs to be segmented and the language need not be known. White
//! space and punctuation do not count. The multiset form distinguishes the occurrences of a q-gram
//! by numbers, as in section 2 of the paper, because short texts have too few distinct q-grams.

use crate::text::letters::Letters;
use crate::text::tally::{self, Buffers};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// The longest q-gram, in characters. A larger q is cut to it.
pub const Q_MAX: usize = 16;

/// A text of fewer letters has short shingles.
pub const SHORT_LETTERS: usize = 128;
/// A text of this many letters or more has long shingles. Texts of 64 to 127 letters have both, so
/// that two texts on either side of a limit can be compared.
pub const LONG_LETTERS: usize = 64;

/// The two kinds of shingles by which texts are compared.
///
/// A change needs new versions of the sketches and of MinHash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShingleKind {
    /// The multiset of 2-grams, for short texts.
    Short,
    /// The set of 5-grams, for long texts.
    Long,
}

impl ShingleKind {
    /// Whether a text of `letters` letters has shingles of this kind.
    pub fn is_for(self, letters: usize) -> bool {
        match self {
            ShingleKind::Short => letters < SHORT_LETTERS,
            ShingleKind::Long => letters >= LONG_LETTERS,
        }
    }

    /// The length of a shingle in letters.
    pub fn q(self) -> usize {
        match self {
            ShingleKind::Short => 2,
            ShingleKind::Long => 5,
        }
    }

    /// Makes the shingles of this kind of a text of any length.
    pub fn shingles(self, letters: &Letters, out: &mut Shingles) {
        match self {
            ShingleKind::Short => out.multiset(letters, self.q()),
            ShingleKind::Long => out.set(letters, self.q()),
        }
    }
}

/// The shingles of a text, in memory that is reused from text to text.
///
/// ```
/// use workers::text::letters::Letters;
/// use workers::text::shingles::{Shingles, jaccard};
///
/// let shingles = |normal: &str| {
///     let mut shingles = Shingles::default();
///     shingles.set(&Letters::of(normal), 5);
///     shingles.hashes
/// };
/// // 8 and 7 letters have 4 and 3 distinct 5-grams.
/// let (a, b) = (shingles("abcd efgh"), shingles("abcdefg"));
/// assert_eq!((a.len(), b.len()), (4, 3));
/// // The Jaccard similarity 3 / 4, in 1/10,000.
/// assert_eq!(jaccard(&a, &b), 7_500);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shingles {
    /// Distinct hashes; ascending, except after [`Shingles::unordered_set`].
    pub hashes: Vec<u64>,
    /// Buffer for multisets: each q-gram and its place, and the places of repeated q-grams.
    found: Vec<(u64, u32)>,
    again: Vec<(u32, u64)>,
}

impl Shingles {
    /// Makes the set of q-grams of a text: a q-gram's hash is xxh3 of its UTF-8.
    ///
    /// A text of 1 to q - 1 letters is one q-gram. A text without letters has none.
    pub fn set(&mut self, letters: &Letters, q: usize) {
        self.hash(letters, q);
        distinct(&mut self.hashes);
    }

    /// Makes the set of q-grams as [`Shingles::set`] does, but in no order, for sketches and
    /// minima. Sorting would take several times as long.
    ///
    /// `buffers` are memory for reuse.
    pub fn unordered_set(&mut self, letters: &Letters, q: usize, buffers: &mut Buffers) {
        self.hash(letters, q);
        tally::distinct(&mut self.hashes, buffers);
    }

    /// Makes the multiset of q-grams: occurrence n of a q-gram, counted from 0, is xxh3 seeded with
    /// n.
    pub fn multiset(&mut self, letters: &Letters, q: usize) {
        self.numbered(|| grams(letters, q));
    }

    /// Makes the multiset of grams that say about as much as two Chinese characters
    /// ([`Letters::weighed_grams`]), hashed as [`Shingles::multiset`] does. Of Chinese letters
    /// alone these are its 2-grams.
    pub fn weighed(&mut self, letters: &Letters) {
        self.numbered(|| letters.weighed_grams().map(str::as_bytes));
    }

    fn numbered<'a, G: Iterator<Item = &'a [u8]>>(&mut self, grams: impl Fn() -> G) {
        let Shingles { hashes, found, again } = self;
        found.clear();
        again.clear();
        hashes.clear();
        // A q-gram's position counts letters only. With it the few repeated q-grams are found
        // again.
        found.extend(grams().zip(0..).map(|(gram, at)| (xxh3_64(gram), at)));
        found.sort_unstable();
        for equal in found.chunk_by(|a, b| a.0 == b.0) {
            hashes.push(equal[0].0);
            again.extend((1..).zip(&equal[1..]).map(|(n, &(_, at))| (at, n)));
        }
        if !again.is_empty() {
            again.sort_unstable();
            let mut next = again.iter().peekable();
            for (gram, at) in grams().zip(0..) {
                if let Some((_, n)) = next.next_if(|(place, _)| *place == at) {
                    hashes.push(xxh3_64_with_seed(gram, *n));
                }
            }
        }
        distinct(hashes);
    }

    /// Hashes every q-gram, in order.
    fn hash(&mut self, letters: &Letters, q: usize) {
        self.hashes.clear();
        self.hashes.extend(grams(letters, q).map(xxh3_64));
    }
}

/// The UTF-8 of every q-gram, in order.
fn grams(letters: &Letters, q: usize) -> impl Iterator<Item = &[u8]> {
    letters.grams(q.min(Q_MAX)).map(str::as_bytes)
}

/// Fewer hashes than this are sorted by comparison.
const SPREAD_MIN: usize = 64;
/// The most buckets of [`distinct`], as a power of two: their ends fit the first-level cache.
const PLACE_BITS_MAX: u32 = 11;

/// Sorts hashes and removes duplicates.
pub(crate) fn distinct(hashes: &mut Vec<u64>) {
    sort(hashes);
    hashes.dedup();
}

/// Sorts hashes: `sort_unstable`, faster.
///
/// Hashes are uniform, so one pass of bucket sort by their top bits leaves few in a bucket.
pub(crate) fn sort(hashes: &mut Vec<u64>) {
    let n = hashes.len();
    if n < SPREAD_MIN || n > u32::MAX as usize {
        hashes.sort_unstable();
        return;
    }
    let bits = (n.ilog2() + 1).min(PLACE_BITS_MAX);
    let place = |hash: u64| (hash >> (64 - bits)) as usize;
    let mut ends = [0u32; 1 << PLACE_BITS_MAX];
    hashes.iter().for_each(|hash| ends[place(*hash)] += 1);
    let mut sum = 0;
    for end in &mut ends[..1 << bits] {
        sum += std::mem::replace(end, sum);
    }
    // The second half of the vector holds the buckets; the sorted hashes are written to the first.
    hashes.resize(2 * n, 0);
    let (from, to) = hashes.split_at_mut(n);
    for hash in &*from {
        let end = &mut ends[place(*hash)];
        to[*end as usize] = *hash;
        *end += 1;
    }
    let mut start = 0;
    for end in &ends[..1 << bits] {
        sort_few(&mut to[start..*end as usize]);
        start = *end as usize;
    }
    from.copy_from_slice(to);
    hashes.truncate(n);
}

/// Sorts hashes that are most often none, one or two.
#[inline]
fn sort_few(hashes: &mut [u64]) {
    match hashes {
        [] | [_] => {}
        [a, b] => (*a, *b) = (*a.min(b), *a.max(b)),
        _ => hashes.sort_unstable(),
    }
}

/// The number of hashes that two ascending sets share.
pub fn shared(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        shared += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    shared
}

/// The Jaccard similarity of two ascending sets in 1/10,000, rounded; 0 for two empty sets.
pub fn jaccard(a: &[u64], b: &[u64]) -> u16 {
    let both = shared(a, b);
    jaccard_of(both, a.len() + b.len() - both)
}

/// The Jaccard similarity from the number of hashes in both sets and in either set.
pub fn jaccard_of(both: usize, either: usize) -> u16 {
    let (both, either) = (both as u64, either as u64);
    if either == 0 { 0 } else { ((both * 20_000 + either) / (2 * either)) as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The q-grams by their definition.
    fn plain(normal: &str, q: usize) -> Vec<String> {
        let letters: Vec<char> = normal.chars().filter(|c| c.is_alphanumeric()).collect();
        match letters.len() {
            0 => Vec::new(),
            n if n < q => vec![letters.iter().collect()],
            _ => letters.windows(q).map(|gram| gram.iter().collect()).collect(),
        }
    }

    fn of(fill: impl FnOnce(&mut Shingles)) -> Vec<u64> {
        let mut shingles = Shingles { hashes: vec![7; 3], ..Shingles::default() };
        fill(&mut shingles);
        shingles.hashes
    }

    fn check(text: &str, q: usize) {
        let letters = Letters::of(text);
        let set: BTreeSet<u64> =
            plain(text, q).iter().map(|gram| xxh3_64(gram.as_bytes())).collect();
        assert_eq!(of(|shingles| shingles.set(&letters, q)), Vec::from_iter(set));
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        let mut buffers = Buffers::default();
        let mut unordered = of(|shingles| shingles.unordered_set(&letters, q, &mut buffers));
        unordered.sort_unstable();
        assert_eq!(unordered, of(|shingles| shingles.set(&letters, q)));
        let multiset: BTreeSet<u64> = (plain(text, q).into_iter())
            .map(|gram| {
                let n = seen.entry(gram.clone()).or_default();
                *n += 1;
                xxh3_64_with_seed(gram.as_bytes(), *n - 1)
            })
            .collect();
        assert_eq!(of(|shingles| shingles.multiset(&letters, q)), Vec::from_iter(multiset));
    }

    proptest! {
        /// The bucket sort and the table equal the definition, also where q-grams repeat.
        #[test]
        fn shingles_are_plain(text in "[a-c1 ,。一-三ⅷ²é\u{1d7d8}\u{20000}]{0,80}", q in 1usize..8, times in 1usize..60) {
            check(&text, q);
            check(&text.repeat(times), q);
        }

        /// Shingles equal the definition on any text.
        #[test]
        fn shingles_are_plain_anywhere(text in "\\PC{0,400}", q in 1usize..8) {
            check(&text, q);
        }

        /// Counting by a merge equals the intersection of sets.
        #[test]
        fn shared_is_intersection(
            a in proptest::collection::btree_set(0u64..60, 0..40),
            b in proptest::collection::btree_set(0u64..60, 0..40),
        ) {
            let (x, y) = (Vec::from_iter(a.iter().copied()), Vec::from_iter(b.iter().copied()));
            prop_assert_eq!(shared(&x, &y), a.intersection(&b).count());
            prop_assert_eq!(jaccard(&x, &y), jaccard(&y, &x));
        }
    }

    /// Punctuation and white space do not count; the order of letters does.
    #[test]
    fn only_letters_count() {
        let set = |text: &str, q: usize| of(|shingles| shingles.set(&Letters::of(text), q));
        assert_eq!(set("春眠 不觉晓，处处", 5), set("春眠不觉晓处处", 5));
        assert_ne!(set("春眠不觉晓", 2), set("晓觉不眠春", 2));
        assert_eq!(set("!? 。", 5), [0; 0]);
        assert_eq!(set("春", 5), [xxh3_64("春".as_bytes())]);
    }

    /// A repetitive text has few q-grams in its set and many in its multiset.
    #[test]
    fn occurrences() {
        let letters = Letters::of(&"好".repeat(100));
        assert_eq!(of(|shingles| shingles.set(&letters, 2)).len(), 1);
        assert_eq!(of(|shingles| shingles.multiset(&letters, 2)).len(), 99);
    }
}
