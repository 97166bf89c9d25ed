//! Says in a sentence by which rule a pair was decided, and by how much.

use crate::ask::tables::share;
use crate::confirm::{Options, Reason, Verdict};
use crate::tables::PairRow;
use serde::Serialize;

/// A verdict, and the rule by which it was decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// Whether the pair is accepted.
    pub accepted: bool,
    /// The rule, see [`Reason`].
    pub reason: &'static str,
    /// The similarity by that rule.
    pub similarity: f64,
    /// The least similarity that the rule accepts, if it has a threshold.
    pub similarity_min: Option<f64>,
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
    /// The rule in words.
    pub says: String,
}

/// How a pair was decided.
#[derive(Clone, Copy)]
pub struct Decided {
    /// Whether it is accepted.
    pub accepted: bool,
    /// The number of the rule.
    pub reason: u8,
    /// The similarity by that rule, in 1/10,000.
    pub similarity: u16,
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
}

impl Decided {
    /// By `verdict`, of fingerprints at this distance.
    pub fn by(verdict: Verdict, distance: u32) -> Decided {
        let Verdict { accepted, similarity, reason } = verdict;
        Decided { accepted, reason: reason as u8, similarity, distance }
    }
}

impl From<&PairRow> for Decided {
    fn from(row: &PairRow) -> Decided {
        let &PairRow { accepted, reason, similarity, distance, .. } = row;
        Decided { accepted: accepted == 1, reason, similarity, distance: distance.into() }
    }
}

/// The rule by which a pair was decided, in words.
pub fn rule(decided: Decided, options: &Options) -> Rule {
    let Decided { accepted, reason, similarity, distance } = decided;
    let decided = Reason::of(reason);
    // Where texts are not kept, the sketches of short texts have a threshold of their own.
    let is_short = matches!(decided, Some(Reason::Sketch | Reason::Numerals))
        && similarity < options.similarity_min;
    let (key, min) = match is_short {
        true => ("short_similarity_min", options.short_similarity_min),
        false => ("similarity_min", options.similarity_min),
    };
    let against = || {
        let (much, side) = match similarity >= min {
            true => (similarity - min, "above"),
            false => (min - similarity, "below"),
        };
        format!(
            "similarity {} is {} {side} {key} = {}",
            decimal(similarity),
            decimal(much),
            decimal(min)
        )
    };
    let fact = |what: &str| format!("{}, but {what} is replaced by another", against());
    let max = options.distance_max.unwrap_or_default();
    let within = || format!("fingerprints differ in {distance} bits, distance_max = {max}");
    let (says, threshold) = match decided {
        Some(Reason::WithinK | Reason::TooFar) => (within(), false),
        Some(Reason::Sketch) => (format!("by sketches, {}", against()), true),
        Some(Reason::SketchRefused) => (
            format!("by sketches, similarity {} is too low for every rule", decimal(similarity)),
            false,
        ),
        Some(Reason::Shingles | Reason::ShinglesRefused) => {
            (format!("long texts: {}", against()), true)
        }
        Some(Reason::Coverage | Reason::CoverageRefused) => {
            (format!("short texts: {}", against()), true)
        }
        Some(Reason::LeadingInsertion) => {
            (format!("without the tokens in front of one of them, {}", against()), true)
        }
        Some(Reason::Numerals) => (fact("a number or a sign"), true),
        Some(Reason::Names) => (fact("a name"), true),
        Some(Reason::Words) => (fact("a word"), true),
        None => ("by a rule that this build does not know".into(), false),
    };
    Rule {
        accepted,
        reason: Reason::name(reason),
        similarity: share(similarity),
        similarity_min: threshold.then(|| share(min)),
        distance,
        says,
    }
}

/// A similarity with four digits.
pub(super) fn decimal(similarity: u16) -> String {
    format!("{}.{:04}", similarity / 10_000, similarity % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule with a threshold says by how much it was met or missed.
    #[test]
    fn rules_name_their_thresholds() {
        let options = Options::default().within(3);
        let says = |reason: Reason, similarity| {
            rule(Decided::by(Verdict { accepted: true, similarity, reason }, 2), &options).says
        };
        assert_eq!(
            says(Reason::Coverage, 8731),
            "short texts: similarity 0.8731 is 0.0731 above similarity_min = 0.8000"
        );
        assert!(
            says(Reason::ShinglesRefused, 7999)
                .ends_with("is 0.0001 below similarity_min = 0.8000")
        );
        assert!(
            says(Reason::Numerals, 9000).ends_with("but a number or a sign is replaced by another")
        );
        assert_eq!(says(Reason::WithinK, 9950), "fingerprints differ in 2 bits, distance_max = 3");
    }

    /// An accepted pair of short texts that are not kept was called below the threshold: the rule
    /// has `short_similarity_min`, and names it.
    #[test]
    fn short_texts_have_a_threshold_of_their_own() {
        let options = Options::default().within(3);
        let verdict = |reason: Reason| Verdict { accepted: true, similarity: 7100, reason };
        let rule = |reason: Reason| rule(Decided::by(verdict(reason), 2), &options);
        let accepted = rule(Reason::Sketch);
        let above = "similarity 0.7100 is 0.0400 above short_similarity_min = 0.6700";
        assert_eq!(accepted.says, format!("by sketches, {above}"));
        assert_eq!(accepted.similarity_min, Some(0.67));
        assert!(rule(Reason::Numerals).says.starts_with(above));
    }
}
