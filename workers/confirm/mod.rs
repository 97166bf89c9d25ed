//! Decides whether two contents are near-duplicates.
//!
//! A verdict is a symmetric pure function of two contents and the configuration. It is decided
//! once, stored with its reason, and deleted with either content. It depends on no clock, no order
//! and no third content.
//!
//! ```text
//! 1. The bounds of the sketches are below every rule's minimum   refused   sketch_refused
//! 2. The bounds of the 5-gram sketches reach similarity_min,
//!    replaced facts do not matter, and no text repeats
//!    few symbols (see [`repetitive`])                            accepted  sketch
//! 3. A text is not kept: go to 8. Only from here on are texts
//!    read.
//! 4. The bounds of the 5-gram sketches reach similarity_min, and
//!    both texts are long or replaced facts do not matter: go
//!    to 6.
//! 5. The 5-grams are below every rule's minimum, or the           refused   coverage_refused,
//!    similarity of the texts is below similarity_min                       shingles_refused
//! 6. If facts matter, a fact is replaced by another:
//!    - a number, or a mark with a meaning (see [`operators`])    refused   numerals
//!    - a name                                                    refused   names
//!    - a question (see [`passages`]), the slots of a template
//!      (see [`template`]), a negation on one side (see
//!      [`negations`]); in short texts also a content word or
//!      a quotation                                               refused   words
//! 7. No fact is replaced:
//!    - step 4 led here                                           accepted  sketch
//!    - headlines were left out                                   accepted  leading_insertion
//!    - else                                                      accepted  coverage, shingles
//!    - but the texts repeat few symbols, and their passages      refused   coverage_refused,
//!      are unlike                                                          shingles_refused
//! 8. The estimates of the sketches decide                                  sketch, sketch_refused
//!    - but facts matter, both texts have at most 1,000
//!      characters, and each has numbers that the other lacks     refused   numerals
//! ```
//!
//! If both texts have 1,000 characters or more, the reason says `shingles`, otherwise `coverage`:
//! see [`texts`].

pub mod align;
pub mod details;
pub mod differences;
mod evidence;
mod furniture;
mod headline;
pub mod kinds;
pub mod numbers;
pub mod operators;
mod options;
pub mod parts;
pub(crate) mod prepared;
mod repetitive;
pub mod replaced_numbers;
pub mod settle;
mod texts;
mod verdict;
pub mod words;

use crate::confirm::differences::Difference;
pub use crate::confirm::evidence::{Evidence, Known, Repeated};
pub use crate::confirm::options::{By, Facts, Options};
use crate::confirm::prepared::Prepared;
use crate::confirm::texts::SharedGrams;
pub use crate::confirm::verdict::{Reason, Verdict};
use crate::text::number_set;
use crate::text::shingles::{jaccard_of, shared};
use crate::text::sketch::{self, Alike, Band};

/// Decides a pair of contents whose fingerprints differ in `distance` bits. Symmetric.
///
/// ```
/// use workers::confirm::{Known, Options, Reason, decide};
/// use workers::text::signatures::{Shinglings, Text};
/// use workers::text::sketch::{Sketches, write};
///
/// let decide = |a: &str, b: &str| {
///     let [x, y] = [a, b].map(|normal| {
///         let mut bytes = Vec::new();
///         write(&mut Text::new(normal, &[], &mut Shinglings::default()), &mut bytes);
///         bytes
///     });
///     let known = |text, bytes| Known {
///         chars: str::chars(text).count() as u32,
///         sketches: Sketches::parse(bytes).unwrap(),
///         text: Some(text),
///     };
///     let verdict = decide(&known(a, &x), &known(b, &y), 0, &Options::default());
///     (verdict.accepted, verdict.reason)
/// };
/// let text = "rain on monday, then sun until friday; 11 degrees at night";
/// assert_eq!(decide(text, &text.replace("then", "than")), (true, Reason::Coverage));
/// assert_eq!(decide(text, &text.replace("11", "12")), (false, Reason::Numerals));
/// assert_eq!(decide(text, "the budget is to grow by half"), (false, Reason::SketchRefused));
/// ```
pub fn decide(a: &impl Evidence, b: &impl Evidence, distance: u32, options: &Options) -> Verdict {
    if options.by == By::Fingerprint {
        return by_fingerprint(distance, options);
    }
    by_text(a, b, options)
}

/// No rule accepts short texts whose multisets of 2-grams are less similar than this. A similarity
/// of 0.50 is left by a headline half as long as the text with every twelfth letter of the text
/// replaced, by a headline as long as the text, and by a text written twice.
const SHORT_FLOOR: u16 = 4000;
/// The same for sets of 5-grams. A replaced letter changes five of them, so for such texts 0.31 is
/// left.
const LONG_FLOOR: u16 = 3000;
/// The same where the 5-grams alone measure. Where three of a hundred letters are replaced, 0.75 is
/// left, and 0.65 to 0.82 in a text of 1,000 letters. Many texts of the same subject share 0.6, and
/// to read all of them would double the time. Wrong letters hardly change the length of a text, so
/// the lower floor holds for texts whose lengths differ by at most one part of `LENGTH_PARTS`.
const ALL_LONG_FLOOR: u16 = 7000;
const EQUALLY_LONG_FLOOR: u16 = 6400;
const LENGTH_PARTS: u32 = 50;
/// Where texts are not kept, other numbers refuse a pair of texts up to this length, in characters.
const UNREAD_CHARS_MAX: u32 = 1000;

/// The verdict of [`decide`] on a pair, if it does not depend on the texts. Symmetric. `None` if
/// texts, where they are kept, decide.
pub fn decide_unread(
    a: &impl Evidence,
    b: &impl Evidence,
    distance: u32,
    options: &Options,
) -> Option<Verdict> {
    match options.by {
        By::Fingerprint => Some(by_fingerprint(distance, options)),
        By::Text => by_sketches(a, b, options).ok(),
    }
}

/// What the sketches say of a pair that they do not decide.
struct Undecided {
    long: Option<Alike>,
    short: Option<Alike>,
    estimate: Alike,
    /// Whether the 5-grams alone may accept.
    by_long_alone: bool,
    long_floor: u16,
    other_numbers: bool,
    lengths: Lengths,
    /// Whether the 5-grams of one of the texts say too little.
    repetitive: bool,
}

/// What follows from the lengths of two texts.
#[derive(Clone, Copy)]
struct Lengths {
    /// The characters of the longer text.
    longer: u32,
    /// Whether both are long.
    all_long: bool,
    /// Whether they are nearly the same.
    are_equal: bool,
    /// Whether replaced facts matter.
    facts_matter: bool,
}

impl Lengths {
    fn of(a: &impl Evidence, b: &impl Evidence, options: &Options) -> Lengths {
        let (shorter, longer) = (a.chars().min(b.chars()), a.chars().max(b.chars()));
        Lengths {
            longer,
            all_long: shorter as usize >= texts::LONG_CHARS,
            are_equal: longer - shorter <= longer / LENGTH_PARTS,
            facts_matter: options.facts > Facts::Off && longer <= options.facts_chars_max,
        }
    }

    /// No rule by 5-grams accepts texts of these lengths whose sets are less similar.
    fn long_floor(self) -> u16 {
        match (self.all_long, self.are_equal) {
            (false, _) => LONG_FLOOR,
            (true, false) => ALL_LONG_FLOOR,
            (true, true) => EQUALLY_LONG_FLOOR,
        }
    }

    /// The rules by which texts of these lengths are accepted and refused.
    fn reasons(self) -> [Reason; 2] {
        match self.all_long {
            true => [Reason::Shingles, Reason::ShinglesRefused],
            false => [Reason::Coverage, Reason::CoverageRefused],
        }
    }
}

/// The rules at the top of this file that read no text.
fn by_sketches(
    a: &impl Evidence,
    b: &impl Evidence,
    options: &Options,
) -> Result<Verdict, Undecided> {
    let (x, y) = (a.sketches(), b.sketches());
    let long = x.long.zip(y.long).map(|(x, y)| sketch::compare(x, y));
    let short = x.short.zip(y.short).map(|(x, y)| sketch::compare(x, y));
    let Some(estimate) = long.or(short) else {
        return Ok(Verdict::refuse(0, Reason::SketchRefused));
    };
    let lengths = Lengths::of(a, b, options);
    let repetitive =
        repetitive::repeats_itself(a.chars(), &x) || repetitive::repeats_itself(b.chars(), &y);
    let long_floor = lengths.long_floor().min(options.similarity_min);
    let hopeless =
        |alike: Option<Alike>, floor| alike.is_none_or(|alike| alike.band(floor) == Band::No);
    let by_long_alone = hopeless(short, SHORT_FLOOR);
    if by_long_alone && hopeless(long, long_floor) {
        return Ok(Verdict::refuse(estimate.similarity, Reason::SketchRefused));
    }
    let other_numbers = number_set::conflict(x.numerals, y.numerals);
    if let Some(long) = long
        && long.band(options.similarity_min) == Band::Clear
        && !lengths.facts_matter
        && !repetitive
    {
        return Ok(Verdict::accept(long.similarity, Reason::Sketch));
    }
    Err(Undecided {
        long,
        short,
        estimate,
        by_long_alone,
        long_floor,
        other_numbers,
        lengths,
        repetitive,
    })
}

/// The table at the top of this file.
fn by_text(a: &impl Evidence, b: &impl Evidence, options: &Options) -> Verdict {
    let undecided = match by_sketches(a, b, options) {
        Ok(verdict) => return verdict,
        Err(undecided) => undecided,
    };
    let Undecided { long, short, lengths, .. } = undecided;
    if let Some(x) = a.prepared()
        && let Some(y) = b.prepared()
    {
        let floor = if undecided.by_long_alone { undecided.long_floor } else { 0 };
        let verdict = match long.filter(|alike| alike.band(options.similarity_min) == Band::Clear) {
            Some(alike) if !lengths.facts_matter => {
                Verdict::accept(alike.similarity, Reason::Sketch)
            }
            Some(alike) if lengths.all_long => by_facts(&x, &y, alike.similarity, options),
            _ => by_whole_text(&x, &y, lengths, floor, options),
        };
        if verdict.accepted
            && undecided.repetitive
            && let Some(similarity) = repetitive::unlike(x.passages(), y.passages())
        {
            return Verdict::refuse(similarity, lengths.reasons()[1]);
        }
        return verdict;
    }
    let reaches = |alike: Option<Alike>, min| alike.filter(|alike| alike.similarity >= min);
    match reaches(long, options.similarity_min).or(reaches(short, options.short_similarity_min)) {
        Some(alike)
            if undecided.other_numbers
                && lengths.facts_matter
                && lengths.longer <= UNREAD_CHARS_MAX =>
        {
            Verdict::refuse(alike.similarity, Reason::Numerals)
        }
        Some(alike) => Verdict::accept(alike.similarity, Reason::Sketch),
        None => Verdict::refuse(undecided.estimate.similarity, Reason::SketchRefused),
    }
}

/// Decides by the facts of two long texts whose sketches are clearly alike. The similarity is the
/// estimate of the sketches, because to shingle the texts takes longer than all else.
fn by_facts(a: &Prepared, b: &Prepared, similarity: u16, options: &Options) -> Verdict {
    let tokens = a.tokens.as_ref().zip(b.tokens.as_ref());
    let estimated = SharedGrams { common: similarity.into(), all: 10_000 };
    let fact = tokens.and_then(|(a, b)| texts::compare(a, b, estimated, options).fact);
    match fact {
        Some(fact) => Verdict::refuse(similarity, reason_of(fact)),
        None => Verdict::accept(similarity, Reason::Sketch),
    }
}

/// The rule that refuses a pair for a fact of this kind.
fn reason_of(fact: Difference) -> Reason {
    match fact {
        Difference::Number => Reason::Numerals,
        Difference::Name => Reason::Names,
        _ => Reason::Words,
    }
}

/// Decides by two whole texts. Texts are not aligned if their Jaccard similarity is below `floor`,
/// the least that a rule may accept.
fn by_whole_text(
    a: &Prepared,
    b: &Prepared,
    lengths: Lengths,
    floor: u16,
    options: &Options,
) -> Verdict {
    let [accepted, refused] = lengths.reasons();
    let (x, y) = (a.shingles(), b.shingles());
    let common = shared(x, y);
    let all = x.len() + y.len() - common;
    let plain = jaccard_of(common, all);
    if plain >= options.similarity_min && !lengths.facts_matter {
        return Verdict::accept(plain, accepted);
    }
    let tokens = if plain < floor { None } else { a.tokens.as_ref().zip(b.tokens.as_ref()) };
    let Some((a, b)) = tokens else { return Verdict::refuse(plain, refused) };
    let measure = texts::compare(a, b, SharedGrams { common, all }, options);
    let fact = measure.fact.filter(|_| lengths.facts_matter);
    match fact {
        _ if measure.similarity < options.similarity_min => {
            Verdict::refuse(measure.similarity, refused)
        }
        Some(fact) => Verdict::refuse(measure.similarity, reason_of(fact)),
        None if measure.headline => Verdict::accept(measure.similarity, Reason::LeadingInsertion),
        None => Verdict::accept(measure.similarity, accepted),
    }
}

/// cos(pi d / 64) in 1/10,000 for d = 0..=32 bits; 0 beyond.
///
/// A bit of two fingerprints differs with probability theta / pi, where theta is the angle between
/// the feature vectors (Charikar: "Similarity estimation techniques from rounding algorithms", STOC
/// 2002, section 3). The table is frozen because a library's cosine may differ in its last digit.
const COSINE: [u16; 33] = [
    10_000, 9_988, 9_952, 9_892, 9_808, 9_700, 9_569, 9_415, 9_239, 9_040, 8_819, 8_577, 8_315,
    8_032, 7_730, 7_410, 7_071, 6_716, 6_344, 5_957, 5_556, 5_141, 4_714, 4_276, 3_827, 3_369,
    2_903, 2_430, 1_951, 1_467, 980, 491, 0,
];

/// Decides a pair by the distance of its fingerprints alone, in bits.
pub fn by_fingerprint(distance: u32, options: &Options) -> Verdict {
    let similarity = COSINE.get(distance as usize).copied().unwrap_or(0);
    match options.distance_max.is_none_or(|max| distance <= max) {
        true => Verdict::accept(similarity, Reason::WithinK),
        false => Verdict::refuse(similarity, Reason::TooFar),
    }
}

#[cfg(test)]
mod tests;
