//! The decision on a pair, and the rule that made it.

use serde::{Deserialize, Serialize};

/// The rule that decided a pair. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Reason {
    /// The fingerprints are within `distance_max` bits.
    WithinK = 1,
    /// The fingerprints differ in more than `distance_max` bits.
    TooFar = 2,
    /// The sketches are similar.
    Sketch = 3,
    /// The sketches are not similar.
    SketchRefused = 4,
    /// The long texts are similar.
    Shingles = 5,
    /// The long texts are not similar.
    ShinglesRefused = 6,
    /// The short texts are similar.
    Coverage = 7,
    /// The texts are similar without a headline in front of one or both.
    LeadingInsertion = 8,
    /// The short texts are not similar.
    CoverageRefused = 9,
    /// The texts are similar, but a number is replaced by another.
    Numerals = 10,
    /// The texts are similar, but a name is replaced by another.
    Names = 11,
    /// The texts are similar, but a word is replaced by another, in a longer text several.
    Words = 12,
}

impl Reason {
    const ALL: [Reason; 12] = [
        Reason::WithinK,
        Reason::TooFar,
        Reason::Sketch,
        Reason::SketchRefused,
        Reason::Shingles,
        Reason::ShinglesRefused,
        Reason::Coverage,
        Reason::LeadingInsertion,
        Reason::CoverageRefused,
        Reason::Numerals,
        Reason::Names,
        Reason::Words,
    ];

    /// The rule with the number `code`, if this build knows it.
    pub fn of(code: u8) -> Option<Reason> {
        Reason::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The name in exports of the rule with the number `code`.
    pub fn name(code: u8) -> &'static str {
        Reason::of(code).map_or("unknown", Reason::word)
    }

    fn word(self) -> &'static str {
        match self {
            Reason::WithinK => "within_k",
            Reason::TooFar => "too_far",
            Reason::Sketch => "sketch",
            Reason::SketchRefused => "sketch_refused",
            Reason::Shingles => "shingles",
            Reason::ShinglesRefused => "shingles_refused",
            Reason::Coverage => "coverage",
            Reason::LeadingInsertion => "leading_insertion",
            Reason::CoverageRefused => "coverage_refused",
            Reason::Numerals => "numerals",
            Reason::Names => "names",
            Reason::Words => "words",
        }
    }
}

/// The decision on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the pair joins its contents.
    pub accepted: bool,
    /// The similarity in 1/10,000 by the rule that decided: the cosine estimated from the
    /// fingerprints, the Jaccard similarity or its estimate, or the similarity of the texts. A
    /// pair refused for a fact keeps the similarity by which it would be accepted.
    pub similarity: u16,
    /// The rule that decided.
    pub reason: Reason,
}

impl Verdict {
    pub(super) fn accept(similarity: u16, reason: Reason) -> Verdict {
        Verdict { accepted: true, similarity, reason }
    }

    pub(super) fn refuse(similarity: u16, reason: Reason) -> Verdict {
        Verdict { accepted: false, similarity, reason }
    }
}
