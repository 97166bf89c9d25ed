//! SimHash: a 64-bit fingerprint whose Hamming distances estimate angles between feature vectors.
//!
//! Each bit of the fingerprint is the sign of a sum over all features: plus the weight where that
//! bit of the feature's hash is set, minus the weight where it is not (Charikar: "Similarity
//! estimation techniques from rounding algorithms", STOC 2002, section 3; Manku, Jain, Das Sarma:
//! "Detecting near-duplicates for web crawling", WWW 2007, section 2). A sum of zero is bit 0. The
//! arithmetic is on integers, so the result depends neither on the order of features nor on the
//! machine.

use crate::text::features::{Feature, WEIGHT_MAX};
use serde::{Deserialize, Serialize};

/// The job file's `[simhash]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Greatest Hamming distance of a candidate pair, in bits, 0 to 8. Default: 3.
    pub k: u32,
    /// Number of bands that the 64 bits are cut into, k + 1 to 64. Default: k + 1.
    pub bands: Option<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options { k: 3, bands: None }
    }
}

/// The fingerprint of `features`.
///
/// ```
/// use workers::text::features::{Featurizer, Options, Unit};
/// use workers::text::letters::Letters;
/// use workers::text::{normalize, simhash::distance, simhash::simhash};
///
/// // 4-grams of characters. The default is words.
/// let options = Options { unit: Unit::Characters, ..Options::default() };
/// let mut featurizer = Featurizer::new(&options, &normalize::Options::default())?;
/// let mut fingerprint = |normal: &str| {
///     let mut features = Vec::new();
///     featurizer.features(normal, &Letters::of(normal), &mut features);
///     simhash(&features)
/// };
/// let one = fingerprint("the minister said that the budget is to grow by half in spring");
/// let near = fingerprint("the minister said that the budget is to grow by half in autumn");
/// let far = fingerprint("in summer the lake is warm and the boats leave the harbour at seven");
/// // Distances are in bits, 0 to 64.
/// assert!(distance(one, near) < 16);
/// assert!(distance(one, far) > 24);
/// # Ok::<(), workers::error::Error>(())
/// ```
pub fn simhash(features: &[Feature]) -> u64 {
    let (mut sums, mut total) = ([0; 64], 0);
    for chunk in features.chunks(LANE_FEATURES) {
        let weight: u64 = chunk.iter().map(|feature| u64::from(weight(feature))).sum();
        let mut room = [NOTHING; LANE_FEATURES + 8];
        let fewer = added_up(chunk, &mut room);
        // Lanes of half the width take half the time, and almost all weights fit them.
        match weight <= u64::from(u16::MAX) {
            true => narrow::sum(fewer, &mut sums),
            false => wide::sum(fewer, &mut sums),
        }
        total += weight;
    }
    // sum(+w where set, -w elsewhere) = 2 * sum(w where set) - sum(w).
    (0..64).filter(|&bit| 2 * sums[bit] > total).fold(0, |fingerprint, bit| fingerprint | 1 << bit)
}

/// The Hamming distance of two fingerprints, in bits.
pub fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// The features whose weights are summed in lanes at once: so many weights of [`WEIGHT_MAX`] do not
/// overflow 32 bits.
const LANE_FEATURES: usize = 128;

fn weight(feature: &Feature) -> u32 {
    feature.weight.min(WEIGHT_MAX)
}

const NOTHING: Feature = Feature { hash: 0, weight: 0 };

/// The weight of one occurrence, which most features have.
const ONCE: u32 = 1 << 8;

/// Writes to `room` fewer features that have the same sums as `features`.
///
/// Eight hashes of one weight are added by the logic of full adders, for each of the 64 bits by
/// itself. What is carried to the fourth binary place is a hash of eight times that weight (Harley
/// and Seal; see Mula, Kurz, Lemire: "Faster population counts using AVX2 instructions", Computer
/// Journal 61(1), 2018).
fn added_up<'r>(features: &[Feature], room: &'r mut [Feature; LANE_FEATURES + 8]) -> &'r [Feature] {
    let (mut once, mut equal, mut count) = ([0; LANE_FEATURES], 0, 0);
    for feature in features {
        // No branch, because a processor cannot predict which word occurs more than once.
        (once[equal], room[count]) = (feature.hash, *feature);
        let is_once = usize::from(feature.weight == ONCE);
        (equal, count) = (equal + is_once, count + 1 - is_once);
    }
    // Hashes of 0 add nothing.
    once[equal..].fill(0);
    let (eights, _) = once[..equal.next_multiple_of(8)].as_chunks::<8>();
    let mut put = |hash, times: u32| {
        room[count] = Feature { hash, weight: times * ONCE };
        count += 1;
    };
    let (mut ones, mut twos, mut fours) = (0, 0, 0);
    for [a, b, c, d, e, f, g, h] in eights {
        let (two_a, two_b, two_c, two_d, four_a, four_b, eight);
        (ones, two_a) = add_bits(ones, *a, *b);
        (ones, two_b) = add_bits(ones, *c, *d);
        (ones, two_c) = add_bits(ones, *e, *f);
        (ones, two_d) = add_bits(ones, *g, *h);
        (twos, four_a) = add_bits(twos, two_a, two_b);
        (twos, four_b) = add_bits(twos, two_c, two_d);
        (fours, eight) = add_bits(fours, four_a, four_b);
        put(eight, 8);
    }
    [(ones, 1), (twos, 2), (fours, 4)].into_iter().for_each(|(hash, times)| put(hash, times));
    &room[..count]
}

/// Adds three numbers of one bit each, in all 64 places: the sums and what is carried.
fn add_bits(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, a & b | c & (a ^ b))
}

/// Sums weights by bit in 64 lanes of one width.
macro_rules! lanes {
    ($name:ident, $lane:ty) => {
        mod $name {
            use super::{Feature, weight};

            /// Adds to each sum the weights of the features whose hash has its bit.
            pub fn sum(features: &[Feature], sums: &mut [u64; 64]) {
                let mut lanes = [0; 64];
                features
                    .iter()
                    .for_each(|feature| add(&mut lanes, feature.hash, weight(feature) as $lane));
                sums.iter_mut().zip(lanes).for_each(|(sum, lane)| *sum += u64::from(lane));
            }

            const BITS: [$lane; 16] = {
                let mut bits = [1; 16];
                let mut at = 1;
                while at < 16 {
                    bits[at] = 2 * bits[at - 1];
                    at += 1;
                }
                bits
            };

            // One call for each feature, and bits are compared instead of shifted: so the compiler
            // adds several lanes at once on every machine.
            #[inline(never)]
            fn add(lanes: &mut [$lane; 64], hash: u64, weight: $lane) {
                for (part, lanes) in lanes.chunks_exact_mut(16).enumerate() {
                    let hash = (hash >> (16 * part)) as u16 as $lane;
                    for (lane, bit) in lanes.iter_mut().zip(BITS) {
                        *lane += if hash & bit == bit { weight } else { 0 };
                    }
                }
            }
        }
    };
}

lanes!(narrow, u16);
lanes!(wide, u32);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// Charikar's definition, bit by bit.
    fn plain(features: &[Feature]) -> u64 {
        (0..64).fold(0, |fingerprint, bit| {
            let sum: i64 = features
                .iter()
                .map(|f| {
                    if f.hash >> bit & 1 == 1 { i64::from(f.weight) } else { -i64::from(f.weight) }
                })
                .sum();
            fingerprint | u64::from(sum > 0) << bit
        })
    }

    proptest! {
        /// The lanes compute Charikar's definition, in any order of features, whether weights fit
        /// the narrow ones or not.
        #[test]
        fn lanes_are_plain(
            pairs in prop::collection::vec((any::<u64>(), prop_oneof![4 => Just(256), 2 => 1..1000u32, 1 => 1..=WEIGHT_MAX]), 0..700),
            weight_max in prop::sample::select(vec![256, 511, 512, 1000, WEIGHT_MAX]),
        ) {
            let pairs = pairs.into_iter().map(|(hash, weight)| (hash, weight.min(weight_max)));
            let mut features: Vec<Feature> = pairs.map(|(hash, weight)| Feature { hash, weight }).collect();
            let fingerprint = simhash(&features);
            prop_assert_eq!(fingerprint, plain(&features));
            features.reverse();
            prop_assert_eq!(fingerprint, simhash(&features));
        }
    }

    /// Two fingerprints differ in a share theta/pi of their bits, where theta is the angle between
    /// the feature vectors (Charikar, section 3): for any angle, and for equal and for steep
    /// weights.
    ///
    /// 300 pairs are 19,200 trials, held to five standard deviations. Another 0.002 is allowed
    /// because sums over 400 features are only nearly normally distributed.
    #[test]
    fn distance_estimates_the_angle() {
        let mut random = Random(1);
        for steep in [false, true] {
            for shared in [0usize, 100, 200, 300, 360, 390, 398] {
                let (mut differ, mut expected) = (0, 0.0);
                for _ in 0..300 {
                    let weight = |at: usize| {
                        if steep {
                            ((256 << 16) / (at as u64 % 40 + 1)).isqrt() as u32
                        } else {
                            256
                        }
                    };
                    let mut some = |count: usize, from: usize| -> Vec<Feature> {
                        (from..from + count)
                            .map(|at| Feature { hash: random.next(), weight: weight(at) })
                            .collect()
                    };
                    let both = some(shared, 0);
                    let mut own = || [both.clone(), some(401 - shared, shared)].concat();
                    let (a, b) = (own(), own());
                    let square = |features: &[Feature]| -> f64 {
                        features.iter().map(|f| f64::from(f.weight).powi(2)).sum()
                    };
                    let cosine = square(&both) / (square(&a) * square(&b)).sqrt();
                    expected += cosine.acos() / std::f64::consts::PI * 64.0;
                    differ += distance(simhash(&a), simhash(&b));
                }
                let trials = 300.0 * 64.0;
                let (p, seen) = (expected / trials, f64::from(differ) / trials);
                println!(
                    "steep {steep}, {shared} of 401 shared: {:.2} bits, expected {:.2}",
                    seen * 64.0,
                    p * 64.0
                );
                assert!(
                    (seen - p).abs() <= 5.0 * (p * (1.0 - p) / trials).sqrt() + 0.002,
                    "{shared}: {seen} for {p}"
                );
            }
        }
    }

    /// Lanes do not overflow with the most features that they take at once, all of the greatest
    /// weight.
    #[test]
    fn lanes_do_not_overflow() {
        for weight in [511, 512, WEIGHT_MAX] {
            for count in [1, 127, 128, 129, 256, 1000] {
                let features = vec![Feature { hash: 0xf0f0, weight }; count];
                assert_eq!(simhash(&features), 0xf0f0, "{count} of {weight}");
            }
        }
    }

    /// A feature that outweighs all others determines the fingerprint.
    #[test]
    fn weight_decides() {
        let features =
            [(7, 100), (u64::MAX, 30), (0, 30)].map(|(hash, weight)| Feature { hash, weight });
        assert_eq!(simhash(&features), 7);
        assert_eq!(simhash(&[]), 0);
    }
}
