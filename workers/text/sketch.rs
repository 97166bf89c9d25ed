//! Odd sketches: in come a content's shingles, out go a few bytes from which the similarity of two contents is
//! estimated. Each shingle flips one bit, so that the XOR of two sketches is the sketch of what only one of them has,
//! and its popcount z tells how many those are (Mitzenmacher, Pagh, Pham: Efficient estimation for high similarities
//! using odd sketches, WWW 2014, section 3.2):
//!
//! ```text
//! m = -(B / 2) ln(1 - 2 z / B)                        the symmetric difference, of B bits
//! J = (S - m) / (S + m)                               the Jaccard similarity, S the sum of both sizes
//! Var z = B / 4 (1 - (1 - 2 z / B)^2 (1 + 4 m / B))   2,048 shingles a side, B = 1,024, J = .8: standard error .011
//! ```
//!
//! Where we differ: the shingles themselves go in, not their MinHashes, so that the number of bits follows the number
//! of shingles and J near 0 is estimated, too; and sketches of different sizes are compared, the larger folded by XOR
//! of its halves. Integers only: a library's logarithm may differ in its last digit, and a verdict may not.

use crate::text::numerals;
use crate::text::shingles::{Shingles, is_letter};
use crate::text::signatures::Text;

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// A text of fewer letters has a short sketch: of the multiset of its 2-grams.
pub const SHORT_LETTERS: usize = 128;
/// A text of as many letters or more has a long sketch: of the set of its 5-grams. Texts in between have both.
pub const LONG_LETTERS: usize = 64;
/// Bits of a short sketch.
pub const SHORT_BITS: usize = 256;
/// The fewest bits of a long sketch.
pub const LONG_BITS_MIN: usize = 1 << 10;
/// The most bits of a long sketch. With more than about 100,000 shingles a side it says little, and says so by wide
/// bounds.
pub const LONG_BITS_MAX: usize = 1 << 14;

/// A sketch where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SketchRef<'a> {
    /// How many distinct shingles went in.
    pub shingles: u32,
    /// The parity bits, a power of two of bytes, 32 to 2,048.
    pub bits: &'a [u8],
}

/// What the store keeps of a content, little endian: `short shingles u32 | long shingles u32 | numerals u128 | 32 bytes
/// if short > 0 | 128 to 2,048 bytes if long > 0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sketches<'a> {
    /// That of a short text.
    pub short: Option<SketchRef<'a>>,
    /// That of a longer one.
    pub long: Option<SketchRef<'a>>,
    /// The bits of its numbers, see [`numerals::bits`].
    pub numerals: u128,
}

impl<'a> Sketches<'a> {
    /// Reads what [`write()`] wrote; none if the bytes are anything else.
    pub fn parse(bytes: &'a [u8]) -> Option<Sketches<'a>> {
        let (short, rest) = bytes.split_first_chunk::<4>()?;
        let (long, rest) = rest.split_first_chunk::<4>()?;
        let (numerals, rest) = rest.split_first_chunk::<16>()?;
        let (short, long) = (u32::from_le_bytes(*short), u32::from_le_bytes(*long));
        let sizes = [if short > 0 { SHORT_BITS / 8 } else { 0 }, if long > 0 { long_bits(long) / 8 } else { 0 }];
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

/// Which shingles a sketch is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The multiset of 2-grams.
    Short,
    /// The set of 5-grams.
    Long,
}

impl Kind {
    /// The shingles of a text that sketches of this kind are made of.
    pub fn shingles(self, normal: &str, out: &mut Shingles) {
        match self {
            Kind::Short => out.multiset(normal, 2),
            Kind::Long => out.set(normal, 5),
        }
    }
}

/// How alike two contents are by their sketches, in 1/10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The estimate of the Jaccard similarity.
    pub similarity: u16,
    /// It is hardly less than this: [`SIGMAS`] standard errors below.
    pub low: u16,
    /// It is hardly more than this: [`SIGMAS`] standard errors above.
    pub high: u16,
}

/// Standard errors between an estimate and its bounds: 1 in 1,000 lies outside on either side.
pub const SIGMAS: u64 = 3;

/// What a sketch says of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// The similarity reaches it.
    Clear,
    /// It may or may not.
    Borderline,
    /// It does not.
    No,
}

impl Alike {
    /// Whether the similarity reaches `min`, in 1/10,000.
    pub fn band(&self, min: u16) -> Band {
        match () {
            () if self.low >= min => Band::Clear,
            () if self.high < min => Band::No,
            () => Band::Borderline,
        }
    }
}

/// Bits of a long sketch: half a bit a shingle, as a power of two.
fn long_bits(shingles: u32) -> usize {
    (shingles as usize / 2).next_power_of_two().clamp(LONG_BITS_MIN, LONG_BITS_MAX)
}

/// Writes the sketches of a text to `out`, which is cleared first. Signatures that want the same shingles find them
/// made.
pub fn write(text: &mut Text<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.extend([0; 8]);
    out.extend(numerals::bits(text.normal).to_le_bytes());
    let letters = text.normal.chars().filter(|c| is_letter(*c)).take(SHORT_LETTERS).count();
    for (kind, count_at, holds) in [(Kind::Short, 0, letters < SHORT_LETTERS), (Kind::Long, 4, letters >= LONG_LETTERS)]
    {
        if !holds {
            continue;
        }
        // As [`Kind::shingles`] makes them.
        let hashes = match kind {
            Kind::Short => text.multiset(2),
            Kind::Long => text.set(5),
        };
        let count = hashes.len() as u32;
        out[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
        if count > 0 {
            let bits = if kind == Kind::Short { SHORT_BITS } else { long_bits(count) };
            let start = out.len();
            out.resize(start + bits / 8, 0);
            flip(hashes, &mut out[start..]);
        }
    }
}

/// Flips the bit of every hash. The hash is mixed first: MinHash keys read the same hashes.
fn flip(hashes: &[u64], bits: &mut [u8]) {
    let mask = bits.len() * 8 - 1;
    for hash in hashes {
        let mixed = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let bit = (mixed ^ mixed >> 33) as usize & mask;
        bits[bit / 8] ^= 1 << (bit % 8);
    }
}

/// How alike two contents are, from their sketches of one kind. Symmetric.
pub fn compare(a: SketchRef<'_>, b: SketchRef<'_>) -> Alike {
    let (larger, smaller) = if a.bits.len() >= b.bits.len() { (a.bits, b.bits) } else { (b.bits, a.bits) };
    let odd = difference(larger, smaller);
    let sum = u64::from(a.shingles) + u64::from(b.shingles);
    // What is certain of the symmetric difference.
    let least = u64::from(a.shingles.abs_diff(b.shingles)).max(odd);
    let bits = smaller.len().clamp(1, LONG_BITS_MAX / 8) as u64 * 8;
    let [low, middle, high] = estimates(odd, bits).map(|m| similarity(m.max(least << FRACTION), sum << FRACTION));
    Alike { similarity: middle, low: high, high: low }
}

/// The popcount of the XOR of two sketches, the larger folded to the size of the smaller.
fn difference(larger: &[u8], smaller: &[u8]) -> u64 {
    let mut folded = [0u8; LONG_BITS_MAX / 8];
    let folded = &mut folded[..smaller.len().min(LONG_BITS_MAX / 8)];
    folded.copy_from_slice(&smaller[..folded.len()]);
    for part in larger.chunks_exact(folded.len().max(1)) {
        folded.iter_mut().zip(part).for_each(|(to, from)| *to ^= from);
    }
    folded.chunks(8).map(|chunk| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))).map(ones).sum()
}

fn ones(word: u64) -> u64 {
    u64::from(word.count_ones())
}

/// Binary digits behind the point of a symmetric difference.
const FRACTION: u32 = 8;
/// A symmetric difference without bound.
const FULL: u64 = u64::MAX >> 1;

/// The Jaccard similarity of two sets, in 1/10,000, whose sizes sum to `sum` and whose symmetric difference is `m`,
/// both in 1/256.
fn similarity(m: u64, sum: u64) -> u16 {
    let m = m.min(sum);
    if sum == 0 { 0 } else { (((sum - m) * 20_000 + (sum + m)) / (2 * (sum + m))) as u16 }
}

/// The symmetric difference, in 1/256, that `odd` ones in `bits` bits tell: its lower bound, the estimate, its upper
/// bound. [`FULL`] where so many ones tell nothing.
fn estimates(odd: u64, bits: u64) -> [u64; 3] {
    let middle = estimate(odd << 4, bits);
    let left = bits.saturating_sub(2 * odd);
    // 16 standard deviations of the ones: the formula above times 4 B^3 / B, in 1/256.
    let whole = bits.pow(3) << FRACTION;
    let sure = left * left * ((bits << FRACTION) + 4 * middle.min(bits << (FRACTION + 4)));
    let deviation = (whole.saturating_sub(sure) / (4 * bits * bits)).isqrt();
    let margin = SIGMAS * deviation;
    [estimate((odd << 4).saturating_sub(margin), bits), middle, estimate((odd << 4) + margin, bits)]
}

/// m = -(B / 2) ln(1 - 2 z / B), in 1/256, for z in 1/16.
fn estimate(odd_16: u64, bits: u64) -> u64 {
    /// ln 2 in 2^-20.
    const LN_2: u64 = 726_817;
    let left = (16 * bits).saturating_sub(2 * odd_16);
    if left == 0 {
        return FULL;
    }
    (bits / 2 * (log2(16 * bits) - log2(left)) * LN_2) >> (40 - FRACTION)
}

/// log2(n) in 2^-20, rounded down, for 0 < n < 2^32; by repeated squaring.
fn log2(n: u64) -> u64 {
    let whole = n.ilog2();
    let mut mantissa = n << (31 - whole);
    let mut log = u64::from(whole);
    for _ in 0..20 {
        mantissa = (mantissa * mantissa) >> 31;
        let carry = mantissa >> 32;
        mantissa >>= carry;
        log = log << 1 | carry;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::shingles::jaccard;
    use crate::text::signatures::Shinglings;
    use proptest::prelude::*;

    /// Even hashes, the same for the same range.
    fn hashes(range: std::ops::Range<u64>) -> Vec<u64> {
        range.map(|n| xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes())).collect()
    }

    fn sketch(hashes: &[u64], bits: usize) -> Vec<u8> {
        let mut out = vec![0; bits / 8];
        flip(hashes, &mut out);
        out
    }

    fn see(range: std::ops::Range<u64>, bits: &[u8]) -> SketchRef<'_> {
        SketchRef { shingles: (range.end - range.start) as u32, bits }
    }

    /// The integers are the formula's to 1/10 of a shingle and 1/1,000 of the difference, for every number of ones of
    /// every size.
    #[test]
    fn integers_are_the_formula() {
        for bits in [256u64, 1024, 2048, 4096, 8192, 16384] {
            let b = bits as f64;
            for odd in 0..bits / 2 - 1 {
                let z = odd as f64;
                let m = |z: f64| if 2.0 * z < b { -b / 2.0 * (1.0 - 2.0 * z / b).ln() } else { f64::INFINITY };
                let variance = b / 4.0 * (1.0 - (1.0 - 2.0 * z / b).powi(2) * (1.0 + 4.0 * m(z) / b));
                // The integers' deviation is rounded down to a sixteenth, so that the bounds move by less than .4 ones.
                let sigma = variance.max(0.0).sqrt();
                let [low, middle, high] =
                    estimates(odd, bits).map(|m| if m == FULL { f64::INFINITY } else { m as f64 / 256.0 });
                assert!((middle - m(z)).abs() <= 0.1 + m(z) / 1000.0, "{middle} for {}, {odd} of {bits}", m(z));
                let close = |ours: f64, z: f64| {
                    let (least, most) = (m((z - 0.4).max(0.0)), m(z + 0.4));
                    ours >= least * 0.999 - 0.1 && (most.is_infinite() || ours <= most * 1.001 + 0.1)
                };
                assert!(close(low, (z - 3.0 * sigma).max(0.0)), "low {low}, {odd} of {bits}");
                assert!(close(high, z + 3.0 * sigma), "high {high}, {odd} of {bits}");
            }
        }
    }

    /// The bounds hold what they promise: of sets with a known similarity next to none lie outside, and near a
    /// threshold the estimate is as near as the paper says. The hashes are fixed, so this is no matter of luck.
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
                    let alike = compare(see(a, &p), see(b, &q));
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
        /// Which side is which does not matter, nor does the size of a sketch beyond what folding leaves of it.
        #[test]
        fn symmetric_and_folded(n in 1u64..3000, m in 1u64..3000, start in 0u64..2000, up in 0u32..4, down in 0u32..4) {
            let (a, b) = (0..n, start..start + m);
            let (p, q) = (sketch(&hashes(a.clone()), 1024 << up), sketch(&hashes(b.clone()), 1024 << down));
            let alike = compare(see(a.clone(), &p), see(b.clone(), &q));
            prop_assert_eq!(alike, compare(see(b.clone(), &q), see(a.clone(), &p)));
            let least = 1024 << up.min(down);
            let (p, q) = (sketch(&hashes(a.clone()), least), sketch(&hashes(b.clone()), least));
            prop_assert_eq!(alike, compare(see(a, &p), see(b, &q)));
        }

        /// What is written is read, and bytes of another length are not.
        #[test]
        fn round_trip(text in "[a-c一-十 ]{0,300}", cut in 1usize..40) {
            let (mut shinglings, mut bytes) = (Shinglings::default(), Vec::new());
            write(&mut Text::new(&text, &[], &mut shinglings), &mut bytes);
            let sketches = Sketches::parse(&bytes).expect("just written");
            let letters = text.chars().filter(|c| is_letter(*c)).count();
            prop_assert_eq!(sketches.short.is_some(), (1..SHORT_LETTERS).contains(&letters));
            prop_assert_eq!(sketches.long.is_some(), letters >= LONG_LETTERS);
            prop_assert_eq!(Sketches::parse(&bytes[..bytes.len().saturating_sub(cut)]), None);
            prop_assert_eq!(sketches.numerals, numerals::bits(&text));
            for (kind, sketch) in [(Kind::Short, sketches.short), (Kind::Long, sketches.long)] {
                let Some(sketch) = sketch else { continue };
                let mut shingles = Shingles::default();
                kind.shingles(&text, &mut shingles);
                prop_assert_eq!(sketch.shingles as usize, shingles.hashes.len());
                prop_assert_eq!(compare(sketch, sketch).low, 10_000);
            }
        }

        /// Any bytes are read or refused.
        #[test]
        fn hostile_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let sketches = Sketches::parse(&bytes).unwrap_or_default();
            for sketch in [sketches.short, sketches.long].into_iter().flatten() {
                compare(sketch, sketch);
            }
            compare(SketchRef { shingles: 1, bits: &bytes }, SketchRef { shingles: 1, bits: &[] });
        }
    }

    /// A full sketch says that anything may be, and sizes alone bound the similarity.
    #[test]
    fn full_and_lopsided() {
        let (a, b) = (sketch(&hashes(0..400_000), 1024), sketch(&hashes(400_000..800_000), 1024));
        let alike = compare(see(0..400_000, &a), see(400_000..800_000, &b));
        assert_eq!(alike.low, 0);
        assert_eq!(alike.band(8000), Band::Borderline);
        let one = sketch(&hashes(0..10), 1024);
        let alike = compare(see(0..10, &one), see(0..400_000, &a));
        assert_eq!(alike.band(8000), Band::No);
    }
}
