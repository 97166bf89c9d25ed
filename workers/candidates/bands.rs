//! Cuts fingerprints into bands and puts them into one bucket for each band.
//!
//! With k + 1 bands or more, two fingerprints within k bits agree on at least one band and share
//! that band's bucket (Manku, Jain, Das Sarma: "Detecting near-duplicates for web crawling", WWW
//! 2007, section 3). If they agree on several bands, the lowest one owns the pair, so that each
//! pair is found once without a set of known pairs.
//!
//! A fingerprint has a sort key for each band, with the band's bits on top. Keys are bijections: a
//! key gives back its fingerprint. The job says how many bands there are (`text/simhash.rs`,
//! `Options`). The paper puts groups of bits in front of a table by permutation. We put one band in
//! front and divide large buckets once more: see [`crate::candidates::hamming`].

use crate::candidates::hamming::BucketRule;
use crate::text::hash::GOLDEN_RATIO;

/// The largest supported distance k: nine bands of 7 or 8 bits.
pub const K_MAX: u32 = 8;

/// A division of 64 bits into contiguous bands, from the lowest bit up, whose widths differ by at
/// most one bit.
///
/// ```
/// use workers::candidates::bands::Bands;
///
/// // Four bands of 16 bits find all pairs within 3 bits.
/// let bands = Bands::new(3, None)?;
/// assert_eq!((bands.count(), bands.width(0)), (4, 16));
/// // These two differ in the second band alone, so they share the bucket of the first.
/// let [a, b] = [0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef ^ 0b111 << 20];
/// assert_eq!(bands.bucket(0, bands.key(0, a)), bands.bucket(0, bands.key(0, b)));
/// assert_ne!(bands.bucket(1, bands.key(1, a)), bands.bucket(1, bands.key(1, b)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bands {
    k: u32,
    bands: Vec<Band>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Band {
    /// The band's lowest bit.
    low: u32,
    width: u32,
}

impl Bands {
    /// `count` bands, k + 1 to 64, for pairs within `k` bits, 0 to [`K_MAX`]; by default k + 1
    /// bands.
    ///
    /// k = 3 makes four bands of 16 bits, and k = 0 one of 64. Errors name the violated bound.
    pub fn new(k: u32, count: Option<usize>) -> Result<Bands, String> {
        if k > K_MAX {
            return Err(format!("k = {k} is more than {K_MAX}"));
        }
        let least = k as usize + 1;
        let count = count.unwrap_or(least);
        if count < least || count > u64::BITS as usize {
            return Err(format!("{count} bands: k = {k} needs {least} to {}", u64::BITS));
        }
        let edge = |band: usize| (u64::BITS as usize * band).div_ceil(count) as u32;
        let bands = (0..count)
            .map(|band| Band { low: edge(band), width: edge(band + 1) - edge(band) })
            .collect();
        Ok(Bands { k, bands })
    }

    /// The greatest distance, in bits, of pairs that are found.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The number of bands.
    pub fn count(&self) -> usize {
        self.bands.len()
    }

    /// The width of band `b` in bits. This and the other methods panic if there is no such band.
    pub fn width(&self, b: usize) -> u32 {
        self.bands[b].width
    }

    /// The mask of each band in a fingerprint.
    pub fn masks(&self) -> Vec<u64> {
        self.bands.iter().map(|band| (u64::MAX >> (u64::BITS - band.width)) << band.low).collect()
    }

    /// The sort key of band `b`: the fingerprint is rotated so that the band is on top, and the
    /// bits of the band are mixed.
    ///
    /// The mixing is a bijection of the band's bits. The bits of a SimHash are biased, but routing
    /// and sorting need keys that are spread evenly.
    #[inline]
    pub fn key(&self, b: usize, fingerprint: u64) -> u64 {
        self.bands[b].key(fingerprint)
    }

    /// The fingerprint of a key of band `b`.
    #[inline]
    pub fn unkey(&self, b: usize, key: u64) -> u64 {
        self.bands[b].unkey(key)
    }

    /// The number of the bucket of a key of band `b`: its top `width` bits.
    #[inline]
    pub fn bucket(&self, b: usize, key: u64) -> u64 {
        key >> (u64::BITS - self.bands[b].width)
    }

    /// The bits by which a key of band `b` is routed: those of its bucket, so that a bucket has one
    /// owner.
    #[inline]
    pub fn route(&self, b: usize, key: u64) -> u64 {
        key & self.key_fixed(b)
    }

    /// The rule by which a bucket of band `b` owns pairs of keys. `earlier` is
    /// [`Bands::key_earlier`] of the band.
    pub fn rule<'a>(&self, b: usize, earlier: &'a [u64]) -> BucketRule<'a> {
        BucketRule { k: self.k(), fixed: self.key_fixed(b), earlier }
    }

    /// The bits in which the keys of one bucket of band `b` agree.
    ///
    /// Two keys of one bucket differ in as many bits as their fingerprints, so a bucket is searched
    /// as it is stored in a sorted run.
    pub fn key_fixed(&self, b: usize) -> u64 {
        self.bands[b].top()
    }

    /// The masks of the bands below `b` in the keys of band `b`: `earlier` of a
    /// [`BucketRule`] on keys.
    pub fn key_earlier(&self, b: usize) -> Vec<u64> {
        let rotation = self.bands[b].rotation();
        self.masks()[..b].iter().map(|mask| mask.rotate_right(rotation)).collect()
    }
}

/// Odd, hence invertible modulo every power of two.
const MIX: [u64; 2] = [GOLDEN_RATIO, 0xbf58_476d_1ce4_e5b9];
const UNMIX: [u64; 2] = [inverse(MIX[0]), inverse(MIX[1])];

/// The inverse modulo 2^64 of an odd number, by Newton's iteration: each step doubles the number of
/// correct bits, from 3 to 96.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

impl Band {
    fn rotation(self) -> u32 {
        (self.low + self.width) % u64::BITS
    }

    fn top(self) -> u64 {
        u64::MAX << (u64::BITS - self.width)
    }

    /// Rotates the band to the top and mixes it there by two multiplications and a shift.
    ///
    /// The product has no bits below the top `width` bits, so the multiplication is one modulo
    /// 2^width. A shift by at least half the width, xored, is its own inverse.
    #[inline(always)]
    fn key(self, fingerprint: u64) -> u64 {
        let rotated = fingerprint.rotate_right(self.rotation());
        let mut band = (rotated & self.top()).wrapping_mul(MIX[0]);
        band ^= (band >> self.width.div_ceil(2)) & self.top();
        band.wrapping_mul(MIX[1]) | (rotated & !self.top())
    }

    #[inline(always)]
    fn unkey(self, key: u64) -> u64 {
        let mut band = (key & self.top()).wrapping_mul(UNMIX[1]);
        band ^= (band >> self.width.div_ceil(2)) & self.top();
        (band.wrapping_mul(UNMIX[0]) | (key & !self.top())).rotate_left(self.rotation())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::hamming::tests::{brute_force, ordered, samples, sorted};
    use crate::candidates::hamming::{Scratch, between, within};
    use crate::random::Random;

    fn some_bands() -> Vec<Bands> {
        let more = [(0, 4), (1, 3), (3, 5), (3, 16), (8, 64), (2, 64)];
        let given = more.into_iter().map(|(k, count)| Bands::new(k, Some(count)));
        (0..=K_MAX).map(|k| Bands::new(k, None)).chain(given).collect::<Result<_, _>>().unwrap()
    }

    /// Bands are contiguous and disjoint, cover 64 bits and differ in width by at most 1. Wrong
    /// counts are refused.
    #[test]
    fn bands_cover_every_bit_once() {
        for bands in some_bands() {
            let masks = bands.masks();
            assert_eq!(masks.iter().fold(0, |all, mask| all ^ mask), u64::MAX);
            let widths: Vec<u32> = (0..bands.count()).map(|b| bands.width(b)).collect();
            assert_eq!(widths, masks.iter().map(|mask| mask.count_ones()).collect::<Vec<_>>());
            assert!(
                masks
                    .iter()
                    .all(|mask| mask.count_ones() + mask.leading_zeros() + mask.trailing_zeros()
                        == 64)
            );
            assert!(widths.iter().max().unwrap() - widths.iter().min().unwrap() <= 1);
        }
        assert_eq!(
            Bands::new(3, None).unwrap().masks(),
            [0xffff, 0xffff << 16, 0xffff << 32, 0xffff << 48]
        );
        assert_eq!(Bands::new(0, None).unwrap().masks(), [u64::MAX]);
        assert!(
            Bands::new(9, None).is_err()
                && Bands::new(3, Some(3)).is_err()
                && Bands::new(3, Some(65)).is_err()
        );
    }

    /// `unkey` inverts `key`. Two keys share a bucket if and only if their fingerprints agree on
    /// the band, and then differ in the same bits, rotated.
    #[test]
    fn keys_are_bijections_and_buckets_are_bands() {
        let mut random = Random(41);
        println!("seed 41");
        for bands in some_bands() {
            for (b, mask) in bands.masks().into_iter().enumerate() {
                for _ in 0..200 {
                    let (value, other) = (random.next(), random.next());
                    let other = if other % 2 == 0 { other & !mask | value & mask } else { other };
                    let (key, other_key) = (bands.key(b, value), bands.key(b, other));
                    assert_eq!(bands.unkey(b, key), value);
                    let same = bands.bucket(b, key) == bands.bucket(b, other_key);
                    assert_eq!(same, (value ^ other) & mask == 0);
                    assert_eq!(same, (key ^ other_key) & bands.key_fixed(b) == 0);
                    for (earlier, in_key) in bands.masks().iter().zip(bands.key_earlier(b)) {
                        let agree = (value ^ other) & earlier == 0;
                        assert!(!same || agree == ((key ^ other_key) & in_key == 0));
                    }
                    assert!(
                        !same || (key ^ other_key).count_ones() == (value ^ other).count_ones()
                    );
                }
            }
        }
    }

    /// Band values with few set bits fall evenly into 16 ranges of keys.
    #[test]
    fn biased_bits_make_even_ranges() {
        let bands = Bands::new(3, None).unwrap();
        for b in 0..bands.count() {
            let mut ranges = [0usize; 16];
            let rare = (0..1u64 << 16).filter(|value| value.count_ones() <= 4);
            rare.for_each(|value| ranges[(bands.key(b, value << (16 * b)) >> 60) as usize] += 1);
            let mean = ranges.iter().sum::<usize>() / 16;
            assert!(
                ranges.iter().all(|&count| count > mean / 2 && count < mean * 3 / 2),
                "{ranges:?}"
            );
        }
    }

    /// The sorted keys of band `b`.
    fn sorted_keys(bands: &Bands, b: usize, fingerprints: &[u64]) -> Vec<u64> {
        let mut keys: Vec<u64> = fingerprints.iter().map(|&value| bands.key(b, value)).collect();
        keys.sort_unstable();
        keys
    }

    /// The pairs that the buckets of all bands own, among `new` and of `new` with `old`.
    fn owned(bands: &Bands, new: &[u64], old: &[u64]) -> [Vec<(u64, u64)>; 2] {
        let (mut among, mut across) = (Vec::new(), Vec::new());
        let scratch = &mut Scratch::new();
        for b in 0..bands.count() {
            let (fixed, earlier) = (bands.key_fixed(b), bands.key_earlier(b));
            let rule = bands.rule(b, &earlier);
            let old = sorted_keys(bands, b, old);
            let is_of = |key: &u64, bucket: &[u64]| (key ^ bucket[0]) & fixed == 0;
            for bucket in sorted_keys(bands, b, new).chunk_by(|x, y| (x ^ y) & fixed == 0) {
                let unkeyed = |x, y| (bands.unkey(b, x), bands.unkey(b, y));
                let old: Vec<u64> = old.iter().copied().filter(|key| is_of(key, bucket)).collect();
                within(bucket, rule, scratch, &mut |x, y| among.push(ordered(unkeyed(x, y))));
                between(bucket, &old, rule, scratch, &mut |x, y| across.push(unkeyed(x, y)));
            }
        }
        [sorted(among), sorted(across)]
    }

    /// Every pair within k bits is owned by one bucket, for every k, number of bands and skew,
    /// among new fingerprints and between new and stored ones.
    #[test]
    fn buckets_own_the_pairs_of_brute_force() {
        for (seed, count) in [(51, 1), (52, 60), (53, 1200)] {
            println!("seed {seed}");
            for (name, values) in samples(count, seed) {
                for bands in some_bands() {
                    let (new, old) = values.split_at(values.len() / 4);
                    let is_near = |a: &u64, b: &u64| (a ^ b).count_ones() <= bands.k();
                    let mut among = Vec::new();
                    brute_force(new, bands.k(), 0, &[], |a, b| among.push(ordered((a, b))));
                    let near =
                        |&a| old.iter().filter(move |b| is_near(&a, b)).map(move |&b| (a, b));
                    let across = new.iter().flat_map(near).collect();
                    let expected = [sorted(among), sorted(across)];
                    assert!(owned(&bands, new, old) == expected, "{name}, {bands:?}");
                }
            }
        }
    }

    /// A new fingerprint that is stored already is found once, at distance 0, also with k = 0.
    #[test]
    fn a_stored_fingerprint_is_its_own_pair() {
        for bands in some_bands() {
            let values = [0, u64::MAX >> 32, u64::MAX];
            let [_, across] = owned(&bands, &values[1..], &values);
            assert_eq!(across, [(values[1], values[1]), (values[2], values[2])]);
        }
    }
}
