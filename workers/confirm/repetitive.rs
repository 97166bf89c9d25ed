//! Tells copies from texts that only have the same few symbols.
//!
//! A set of 5-grams says what a text is as long as most of its 5-grams stand there once. A sequence
//! of DNA, a list of results or a table of numbers has nearly all 5-grams that its symbols can
//! make, so any two of them have the same set, whatever their lengths. Copies share long passages
//! as well, however often they repeat themselves.

use crate::text::letters::Letters;
use crate::text::shingles::jaccard;
use crate::text::sketch::Sketches;
use xxhash_rust::xxh3::xxh3_64;

/// A text with so many characters for each distinct 5-gram repeats itself. This is so of long
/// English texts, too; for them it only means a closer look.
const CHARS_PER_SHINGLE: u32 = 2;

/// The letters of a passage. Where every twentieth letter is replaced, 0.3 of the passages are
/// left.
const PASSAGE_LETTERS: usize = 24;
/// One of so many passages is compared; its hash decides which.
const SAMPLED: u64 = 8;
/// With fewer compared passages nothing can be said.
const PASSAGES_MIN: usize = 16;
/// Two copies share at least this part of their passages, in 1/10,000.
const SHARED_MIN: u16 = 500;

/// Whether the 5-grams of a text of `chars` characters say too little of it.
pub fn repeats_itself(chars: u32, sketches: &Sketches<'_>) -> bool {
    let shingles = sketches.long.map(|long| long.shingles);
    shingles.is_some_and(|shingles| chars >= shingles.saturating_mul(CHARS_PER_SHINGLE))
}

/// The hashes of passages of a text, ascending, each once.
pub fn passages(letters: &Letters) -> Vec<u64> {
    let hashes = letters.grams(PASSAGE_LETTERS).map(|passage| xxh3_64(passage.as_bytes()));
    let mut sampled: Vec<u64> = hashes.filter(|hash| hash % SAMPLED == 0).collect();
    sampled.sort_unstable();
    sampled.dedup();
    sampled
}

/// The similarity of two texts by their [`passages`], in 1/10,000, if it is so low that the texts
/// only have the same symbols; otherwise `None`. Symmetric.
pub fn unlike(a: &[u64], b: &[u64]) -> Option<u16> {
    let enough = a.len().min(b.len()) >= PASSAGES_MIN;
    Some(jaccard(a, b)).filter(|similarity| enough && *similarity < SHARED_MIN)
}
