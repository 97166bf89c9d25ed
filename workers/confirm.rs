//! Confirm: in comes a candidate pair, out goes the verdict. A verdict is a symmetric pure function of two contents and the configuration; it is
//! decided once, stored with its reason, and goes with either content. So far the fingerprints alone are the evidence.

use serde::{Deserialize, Serialize};

/// Bit of a stored pair that says SimHash proposed it.
pub const SIMHASH: u8 = 1;

/// The job file's `[confirm]`: what joins two contents. Decision configuration: a change re-decides every stored pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Bits in which the fingerprints of two contents that are joined may differ, at most `[simhash] k`. Default: k.
    pub distance_max: Option<u32>,
}

/// The rule that spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Reason {
    /// The fingerprints are within k bits.
    WithinK = 1,
    /// They are, but farther apart than `distance_max`.
    TooFar = 2,
}

impl Reason {
    /// The rule's name in the exports.
    pub fn name(code: u8) -> &'static str {
        match code {
            1 => "within_k",
            2 => "too_far",
            _ => "unknown",
        }
    }
}

/// What was decided of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the pair joins its contents.
    pub accepted: bool,
    /// How alike they are, in 1/10,000.
    pub similarity: u16,
    /// The rule that decided.
    pub reason: Reason,
}

/// cos(pi d / 64) in 1/10,000 for d = 0..=8 bits: the angle that a Hamming distance estimates, as a probability of pi / theta that
/// a random hyperplane parts two vectors makes each bit differ (Charikar 2002, section 3). A frozen table, as a
/// library's cosine may differ in its last digit.
const COSINE: [u16; 9] = [10_000, 9_988, 9_952, 9_892, 9_808, 9_700, 9_569, 9_415, 9_239];

/// Decides two contents whose fingerprints differ in `distance` bits, at most 8.
pub fn decide(distance: u32, options: &Options) -> Verdict {
    let similarity = COSINE[(distance as usize).min(COSINE.len() - 1)];
    let accepted = options.distance_max.is_none_or(|max| distance <= max);
    Verdict { accepted, similarity, reason: if accepted { Reason::WithinK } else { Reason::TooFar } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frozen table is the cosine.
    #[test]
    fn table_is_cosine() {
        for distance in 0..=8u32 {
            let real = (std::f64::consts::PI * f64::from(distance) / 64.0).cos() * 10_000.0;
            assert!(
                (f64::from(decide(distance, &Options::default()).similarity) - real).abs() <= 0.51,
                "distance {distance}"
            );
        }
    }
}
