//! Odd sketches: a few bytes of each content, from which the similarity of two is estimated.
//!
//! Each shingle flips one bit of the sketch. The XOR of two sketches is therefore the sketch of the
//! symmetric difference of the two sets, and its popcount z estimates the size m of that difference
//! (Mitzenmacher, Pagh, Pham: "Efficient estimation for high similarities using odd sketches", WWW
//! 2014, section 3.2):
//!
//! ```text
//! m = -(B / 2) ln(1 - 2 z / B)                        B bits in a sketch
//! J = (S - m) / (S + m)                               the Jaccard similarity, S the sum of sizes
//! Var z = B / 4 (1 - (1 - 2 z / B)^2 (1 + 4 m / B))
//! ```
//!
//! With 2,048 shingles on each side, B = 1,024 and J = 0.8 the standard error of J is 0.011.
//!
//! We differ from the paper in two points. A sketch is made of the shingles themselves, not of
//! their MinHashes, so that low similarities are estimated as well and the number of bits follows
//! the number of shingles. And sketches of different sizes can be compared: the larger one is
//! folded by XOR of its halves. All arithmetic is on integers: the last digit of a library's
//! logarithm may differ between machines, but a verdict must not.
//!
//! Short texts have a sketch of short shingles and long texts one of long shingles: see
//! [`ShingleKind`].

use crate::text::hash::half_finish;
use crate::text::log2::log2;
use crate::text::number_set;
use crate::text::shingles::ShingleKind;
use crate::text::signatures::Text;
use std::sync::OnceLock;

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// Bits of a short sketch.
pub const SHORT_BITS: usize = 256;
/// The fewest bits of a long sketch.
pub const LONG_BITS_MIN: usize = 1 << 10;
/// The most bits of a long sketch. With more than about 100,000 shingles on a side it says little,
/// and its bounds are wide.
pub const LONG_BITS_MAX: usize = 1 << 14;

/// A borrowed sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SketchRef<'a> {
    /// The number of distinct shingles in it.
    pub shingles: u32,
    /// The parity bits: 32 to 2,048 bytes, a power of two.
    pub bits: &'a [u8],
}

/// The sketches of a content as the store keeps them.
///
/// The bytes, little endian: `short shingles u32 | long shingles u32 | numerals u128 | 32 bytes if
/// short > 0 | 128 to 2,048 bytes if long > 0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sketches<'a> {
    /// The sketch of a short text.
    pub short: Option<SketchRef<'a>>,
    /// The sketch of a longer text.
    pub long: Option<SketchRef<'a>>,
    /// The text's numbers, see [`number_set::bits`].
    pub numerals: u128,
}

impl<'a> Sketches<'a> {
    /// Parses what [`write()`] wrote; `None` for bytes of another length. Empty bytes are no
    /// sketches, as in a store that keeps none.
    pub fn parse(bytes: &'a [u8]) -> Option<Sketches<'a>> {
        if bytes.is_empty() {
            return Some(Sketches::default());
        }
        let (short, rest) = bytes.split_first_chunk::<4>()?;
        let (long, rest) = rest.split_first_chunk::<4>()?;
        let (numerals, rest) = rest.split_first_chunk::<16>()?;
        let (short, long) = (u32::from_le_bytes(*short), u32::from_le_bytes(*long));
        let sizes = [
            if short > 0 { SHORT_BITS / 8 } else { 0 },
            if long > 0 { long_bits(long) / 8 } else { 0 },
        ];
        if rest.len() != sizes[0] + sizes[1] {
            return None;
        }
        let (short_bits, long_bits) = rest.split_at(sizes[0]);
        let sketch = |shingles, bits| (shingles > 0).then_some(SketchRef { shingles, bits });
        Some(Sketches {
            short: sketch(short, short_bits),
            long: sketch(long, long_bits),
            numerals: u128::from_le_bytes(*numerals),
        })
    }
}

/// The similarity of two contents, estimated from their sketches, in 1/10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The estimate of the Jaccard similarity.
    pub similarity: u16,
    /// The lower bound, [`SIGMAS`] standard errors below.
    pub low: u16,
    /// The upper bound, [`SIGMAS`] standard errors above.
    pub high: u16,
}

/// Standard errors between an estimate and its bounds: about 1 of 1,000 similarities lies outside
/// on either side.
pub const SIGMAS: u64 = 3;

/// How an estimate relates to a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// The lower bound reaches the threshold.
    Clear,
    /// The threshold lies between the bounds.
    Borderline,
    /// The upper bound is below the threshold.
    No,
}

impl Alike {
    /// How the similarity relates to the threshold `min`, in 1/10,000.
    pub fn band(&self, min: u16) -> Band {
        match () {
            () if self.low >= min => Band::Clear,
            () if self.high < min => Band::No,
            () => Band::Borderline,
        }
    }
}

/// The number of bits of a long sketch: half a bit for each shingle, as a power of two.
fn long_bits(shingles: u32) -> usize {
    (shingles as usize / 2).next_power_of_two().clamp(LONG_BITS_MIN, LONG_BITS_MAX)
}

/// Writes the sketches of a text to `out`, which is cleared first.
///
/// `text` caches the shingles, which signatures use too.
///
/// ```
/// use workers::text::signatures::{Shinglings, Text};
/// use workers::text::sketch::{Band, Sketches, compare, write};
///
/// let mut shinglings = Shinglings::default();
/// let mut sketch = |normal: &str| {
///     let mut bytes = Vec::new();
///     write(&mut Text::new(normal, &[], &mut shinglings), &mut bytes);
///     bytes
/// };
/// let text: String = ('\u{4e00}'..'\u{5200}').collect();
/// let (whole, most) = (sketch(&text), sketch(&text[300..]));
/// // 24 bytes of counts and numbers, and 1,024 bits for up to 2,048 shingles.
/// assert_eq!(whole.len(), 24 + 128);
/// let long = |bytes| Sketches::parse(bytes).and_then(|sketches| sketches.long).unwrap();
/// let alike = compare(long(&whole), long(&most));
/// // 920 of 1,020 shingles are shared: a similarity of 0.90, estimated in 1/10,000.
/// assert!(alike.low <= 9_020 && 9_020 <= alike.high);
/// assert_eq!(alike.band(8_000), Band::Clear);
/// ```
pub fn write(text: &mut Text<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.extend([0; 8]);
    out.extend(number_set::bits(text.normal).to_le_bytes());
    let letters = text.letters.count();
    for (kind, count_at) in [(ShingleKind::Short, 0), (ShingleKind::Long, 4)] {
        if !kind.is_for(letters) {
            continue;
        }
        let hashes = text.shingles(kind);
        let count = hashes.len() as u32;
        out[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
        if count > 0 {
            let bits = match kind {
                ShingleKind::Short => SHORT_BITS,
                ShingleKind::Long => long_bits(count),
            };
            let start = out.len();
            out.resize(start + bits / 8, 0);
            flip(hashes, &mut out[start..]);
        }
    }
}

/// Flips the bit of every hash. The hash is mixed first, so that sketches do not depend on the bits
/// that MinHash reads of the same hashes.
fn flip(hashes: &[u64], bits: &mut [u8]) {
    let mask = bits.len() * 8 - 1;
    for hash in hashes {
        let bit = half_finish(*hash) as usize & mask;
        bits[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Estimates the similarity of two contents from their sketches of one kind. Symmetric.
pub fn compare(a: SketchRef<'_>, b: SketchRef<'_>) -> Alike {
    let (larger, smaller) =
        if a.bits.len() >= b.bits.len() { (a.bits, b.bits) } else { (b.bits, a.bits) };
    let odd = difference(larger, smaller);
    let sum = u64::from(a.shingles) + u64::from(b.shingles);
    // The symmetric difference is at least this.
    let least = u64::from(a.shingles.abs_diff(b.shingles)).max(odd);
    let bits = smaller.len().clamp(1, LONG_BITS_MAX / 8) as u64 * 8;
    let [low, middle, high] =
        known_estimates(odd, bits).map(|m| similarity(m.max(least << FRACTION), sum << FRACTION));
    Alike { similarity: middle, low: high, high: low }
}

/// The popcount of the XOR of two sketches, the larger folded to the size of the smaller.
fn difference(larger: &[u8], smaller: &[u8]) -> u64 {
    if larger.len() == smaller.len() {
        return ones(larger, smaller);
    }
    let mut folded = [0u8; LONG_BITS_MAX / 8];
    let folded = &mut folded[..smaller.len().min(LONG_BITS_MAX / 8)];
    for part in larger.chunks_exact(folded.len().max(1)) {
        folded.iter_mut().zip(part).for_each(|(to, from)| *to ^= from);
    }
    ones(folded, smaller)
}

/// The popcount of `a` XOR `b`, which have the same length.
fn ones(a: &[u8], b: &[u8]) -> u64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let words = a.iter().zip(b).map(|(a, b)| u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b));
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| u64::from(a ^ b));
    words.chain(rest).map(|word| u64::from(word.count_ones())).sum()
}

/// [`estimates`], computed once for each number of ones. The logarithms take several times as long
/// as to count the ones, and little else is done for a pair that sketches refuse.
fn known_estimates(odd: u64, bits: u64) -> [u64; 3] {
    type Known = OnceLock<Box<[OnceLock<[u64; 3]>]>>;
    /// By the logarithm of the bits, then by the ones.
    static KNOWN: [Known; LONG_BITS_MAX.ilog2() as usize + 1] =
        [const { OnceLock::new() }; LONG_BITS_MAX.ilog2() as usize + 1];
    let Some(known) = KNOWN.get(bits.ilog2() as usize).filter(|_| bits.is_power_of_two()) else {
        return estimates(odd, bits);
    };
    let known = known.get_or_init(|| (0..=bits).map(|_| OnceLock::new()).collect());
    match known.get(odd as usize) {
        Some(known) => *known.get_or_init(|| estimates(odd, bits)),
        None => estimates(odd, bits),
    }
}

/// The binary digits after the point of a symmetric difference, which is in units of 1/256.
const FRACTION: u32 = 8;
/// A symmetric difference without an upper bound.
const FULL: u64 = u64::MAX >> 1;

/// The Jaccard similarity, in 1/10,000, of two sets whose sizes sum to `sum` and whose symmetric
/// difference is `m`, both in 1/256.
fn similarity(m: u64, sum: u64) -> u16 {
    let m = m.min(sum);
    if sum == 0 { 0 } else { (((sum - m) * 20_000 + (sum + m)) / (2 * (sum + m))) as u16 }
}

/// The symmetric difference, in 1/256, of a sketch with `odd` ones in `bits` bits: the lower bound,
/// the estimate and the upper bound. [`FULL`] where there are too many ones for an estimate.
fn estimates(odd: u64, bits: u64) -> [u64; 3] {
    let middle = estimate(odd << 4, bits);
    let left = bits.saturating_sub(2 * odd);
    // 16 standard deviations of z: the square root of 256 Var z.
    let whole = bits.pow(3) << FRACTION;
    let sure = left * left * ((bits << FRACTION) + 4 * middle.min(bits << (FRACTION + 4)));
    let deviation = (whole.saturating_sub(sure) / (4 * bits * bits)).isqrt();
    let margin = SIGMAS * deviation;
    [estimate((odd << 4).saturating_sub(margin), bits), middle, estimate((odd << 4) + margin, bits)]
}

/// m = -(B / 2) ln(1 - 2 z / B) in units of 1/256, for z in units of 1/16.
fn estimate(odd_16: u64, bits: u64) -> u64 {
    /// ln 2 in units of 2^-20.
    const LN_2: u64 = 726_817;
    let left = (16 * bits).saturating_sub(2 * odd_16);
    if left == 0 {
        return FULL;
    }
    (bits / 2 * (log2::<20>(16 * bits) - log2::<20>(left)) * LN_2) >> (40 - FRACTION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::characters::is_letter;
    use crate::text::letters::Letters;
    use crate::text::shingles::{LONG_LETTERS, SHORT_LETTERS, Shingles, jaccard};
    use crate::text::signatures::Shinglings;
    use proptest::prelude::*;

    /// Uniform hashes, the same for the same numbers.
    fn hashes(range: std::ops::Range<u64>) -> Vec<u64> {
        range.map(|n| xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes())).collect()
    }

    fn sketch(hashes: &[u64], bits: usize) -> Vec<u8> {
        let mut out = vec![0; bits / 8];
        flip(hashes, &mut out);
        out
    }

    fn of(range: std::ops::Range<u64>, bits: &[u8]) -> SketchRef<'_> {
        SketchRef { shingles: (range.end - range.start) as u32, bits }
    }

    /// The integers equal the formula within 1/10 of a shingle and 1/1,000 of the difference, for
    /// every size and every number of ones.
    #[test]
    fn integers_are_the_formula() {
        for bits in [256u64, 1024, 2048, 4096, 8192, 16384] {
            let b = bits as f64;
            for odd in 0..bits / 2 - 1 {
                let z = odd as f64;
                let m = |z: f64| {
                    if 2.0 * z < b { -b / 2.0 * (1.0 - 2.0 * z / b).ln() } else { f64::INFINITY }
                };
                let variance =
                    b / 4.0 * (1.0 - (1.0 - 2.0 * z / b).powi(2) * (1.0 + 4.0 * m(z) / b));
                // The integer deviation is rounded down to a sixteenth, which moves the bounds by
                // less than 0.4 ones.
                let sigma = variance.max(0.0).sqrt();
                let [low, middle, high] = estimates(odd, bits)
                    .map(|m| if m == FULL { f64::INFINITY } else { m as f64 / 256.0 });
                assert!(
                    (middle - m(z)).abs() <= 0.1 + m(z) / 1000.0,
                    "{middle} for {}, {odd} of {bits}",
                    m(z)
                );
                let close = |ours: f64, z: f64| {
                    let (least, most) = (m((z - 0.4).max(0.0)), m(z + 0.4));
                    ours >= least * 0.999 - 0.1
                        && (most.is_infinite() || ours <= most * 1.001 + 0.1)
                };
                assert!(close(low, (z - 3.0 * sigma).max(0.0)), "low {low}, {odd} of {bits}");
                assert!(close(high, z + 3.0 * sigma), "high {high}, {odd} of {bits}");
            }
        }
    }

    /// Kept estimates equal computed ones, for every number of ones.
    #[test]
    fn kept_estimates_are_the_computed_ones() {
        for bits in [SHORT_BITS, LONG_BITS_MIN, 24, 2 * LONG_BITS_MAX].map(|bits| bits as u64) {
            for odd in (0..=bits).chain([7, bits]) {
                assert_eq!(known_estimates(odd, bits), estimates(odd, bits), "{odd} of {bits}");
            }
        }
    }

    /// Almost no similarity lies outside its bounds, and near a threshold the error is as small as
    /// in the paper. The hashes are fixed, so the test does not depend on chance.
    #[test]
    fn bounds_hold() {
        let (mut outside, mut total, mut squares) = (0, 0, 0.0);
        for n in [100u64, 700, 2048, 5000, 20_000] {
            for other in [20, 9, 5, 3, 2] {
                for round in 0..8 {
                    let base = round * 1_000_000_000 + n * 10_000;
                    let (a, b) = (base..base + n, base + n / other..base + n + n / other);
                    let (mut x, mut y) = (hashes(a.clone()), hashes(b.clone()));
                    x.sort_unstable();
                    y.sort_unstable();
                    let truth = jaccard(&x, &y);
                    let (p, q) = (sketch(&x, long_bits(n as u32)), sketch(&y, long_bits(n as u32)));
                    let alike = compare(of(a, &p), of(b, &q));
                    assert!(alike.low <= alike.similarity && alike.similarity <= alike.high);
                    outside += u32::from(!(alike.low..=alike.high).contains(&truth));
                    if truth >= 7500 {
                        total += 1;
                        squares += (f64::from(alike.similarity) - f64::from(truth)).powi(2);
                    }
                }
            }
        }
        assert!(outside <= 2, "{outside} of 200");
        let rmse = (squares / f64::from(total)).sqrt();
        assert!(rmse < 150.0, "{rmse}");
    }

    proptest! {
        /// The comparison is symmetric. A larger sketch is compared as if it had been made with
        /// fewer bits.
        #[test]
        fn symmetric_and_folded(n in 1u64..3000, m in 1u64..3000, start in 0u64..2000, up in 0u32..4, down in 0u32..4) {
            let (a, b) = (0..n, start..start + m);
            let (p, q) = (sketch(&hashes(a.clone()), 1024 << up), sketch(&hashes(b.clone()), 1024 << down));
            let alike = compare(of(a.clone(), &p), of(b.clone(), &q));
            prop_assert_eq!(alike, compare(of(b.clone(), &q), of(a.clone(), &p)));
            let least = 1024 << up.min(down);
            let (p, q) = (sketch(&hashes(a.clone()), least), sketch(&hashes(b.clone()), least));
            prop_assert_eq!(alike, compare(of(a, &p), of(b, &q)));
        }

        /// Sketches parse as they were written, and bytes of another length do not parse.
        #[test]
        fn round_trip(text in "[a-c一-十 ]{0,300}", cut in 1usize..40) {
            let (mut shinglings, mut bytes) = (Shinglings::default(), Vec::new());
            write(&mut Text::new(&text, &[], &mut shinglings), &mut bytes);
            let sketches = Sketches::parse(&bytes).expect("just written");
            let letters = text.chars().filter(|c| is_letter(*c)).count();
            prop_assert_eq!(sketches.short.is_some(), (1..SHORT_LETTERS).contains(&letters));
            prop_assert_eq!(sketches.long.is_some(), letters >= LONG_LETTERS);
            let cut = bytes.len() - cut.min(bytes.len());
            prop_assert_eq!(Sketches::parse(&bytes[..cut]), (cut == 0).then(Sketches::default));
            prop_assert_eq!(sketches.numerals, number_set::bits(&text));
            for (kind, sketch) in [(ShingleKind::Short, sketches.short), (ShingleKind::Long, sketches.long)] {
                let Some(sketch) = sketch else { continue };
                let mut shingles = Shingles::default();
                kind.shingles(&Letters::of(&text), &mut shingles);
                prop_assert_eq!(sketch.shingles as usize, shingles.hashes.len());
                prop_assert_eq!(compare(sketch, sketch).low, 10_000);
            }
        }

        /// No bytes make it panic.
        #[test]
        fn hostile_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let sketches = Sketches::parse(&bytes).unwrap_or_default();
            for sketch in [sketches.short, sketches.long].into_iter().flatten() {
                compare(sketch, sketch);
            }
            compare(SketchRef { shingles: 1, bits: &bytes }, SketchRef { shingles: 1, bits: &[] });
        }
    }

    /// A full sketch leaves any similarity possible, but the sizes of the sets bound it.
    #[test]
    fn full_and_lopsided() {
        let (a, b) = (sketch(&hashes(0..400_000), 1024), sketch(&hashes(400_000..800_000), 1024));
        let alike = compare(of(0..400_000, &a), of(400_000..800_000, &b));
        assert_eq!(alike.low, 0);
        assert_eq!(alike.band(8000), Band::Borderline);
        let one = sketch(&hashes(0..10), 1024);
        let alike = compare(of(0..10, &one), of(0..400_000, &a));
        assert_eq!(alike.band(8000), Band::No);
    }
}
