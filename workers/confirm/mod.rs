//! Decides whether two contents are near-duplicates.
//!
//! A verdict is a symmetric pure function of two contents and the configuration. It is decided
//! once, stored with its reason, and deleted with either content. It depends on no clock, no order
//! and no third content.
//!
//! ```text
//! bounds of sketches below every rule's minimum            refused    sketch_refused
//! bounds of 5-gram sketches >= similarity_min, and
//!   replaced facts do not matter                           accepted   sketch
//!   both long: by facts alone, as below, else              accepted   sketch
//!   (unless the texts repeat few symbols: see [`repetitive`])
//! else, if both texts are kept (only now are they read):
//!   5-grams below every rule's minimum                     refused    coverage_refused, or
//!                                                                     shingles_refused
//!   similarity of the texts < similarity_min               refused    coverage_refused, or
//!                                                                     shingles_refused
//!   a number is replaced by another                        refused    numerals
//!   a name is                                              refused    names
//!   in a short text a content word is, in a longer one
//!   the words in the slots of a template ([`template`])    refused    words
//!   else, after a headline was left out                    accepted   leading_insertion
//!   else                                                   accepted   coverage, shingles
//! else by the estimates of the sketches                               sketch, sketch_refused
//!   accepted, but each side has numbers the other lacks    refused    numerals
//! ```
//!
//! The reasons of texts shorter than 1,000 characters say `coverage`, of others `shingles`, by the
//! measure that weighs more: see [`texts`].

pub mod alignment;
pub mod details;
pub mod differences;
pub mod edits;
pub mod furniture;
pub mod kinds;
pub mod lcs;
pub mod models;
pub mod numbers;
pub mod parts;
pub mod prepared;
pub mod repetitive;
pub mod template;
pub mod texts;
pub mod units;
pub mod words;

use crate::confirm::differences::Difference;
use crate::confirm::prepared::Prepared;
use crate::text::dictionary::UserDictionary;
use crate::text::number_set;
use crate::text::shingles::{jaccard_of, shared};
use crate::text::sketch::{self, Alike, Band, Sketches};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// The evidence that decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Sketches, and the texts where they are kept.
    #[default]
    Text,
    /// The fingerprints only.
    Fingerprint,
}

/// Which facts refuse a pair when each side has another one in the same place. Each value includes
/// those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facts {
    /// None.
    Off,
    /// Numbers, in digits or Chinese characters.
    Numbers,
    /// Names of persons, places, organisations and products.
    Names,
    /// In short texts, any content word.
    #[default]
    Words,
}

/// The job file's `[confirm]`: when a pair is accepted. Similarities are in 1/10,000.
///
/// This is decision configuration: a change re-decides every stored pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `text` or `fingerprint`. Default: text.
    pub by: By,
    /// By fingerprint: the greatest distance of the fingerprints, in bits, at most `[simhash] k`,
    /// for pairs proposed by any signature. Default: k.
    pub distance_max: Option<u32>,
    /// By text: the least similarity. Default: 8000.
    pub similarity_min: u16,
    /// By text: the least Jaccard similarity of the multisets of 2-grams, for two short contents
    /// whose texts are not kept. Default: 6700.
    pub short_similarity_min: u16,
    /// By text: the most tokens in front of one of the texts that are left out, at most 1,000.
    /// Default: 60.
    pub leading_tokens_max: u32,
    /// By text: `off`, `numbers`, `names` or `words`. Default: words.
    pub facts: Facts,
    /// By text: the longest text, in characters, that a replaced fact refuses. In a longer one it
    /// is upkeep. Default: 4500.
    pub facts_chars_max: u32,
    /// By text: the longest text, in characters, that one replaced content word refuses. A longer
    /// one is refused if nearly all that differs are several words ([`template`]). Default: 300.
    pub words_chars_max: u32,
    /// By text: leave out counters, clocks, date lines and copyright lines. Default: true.
    pub furniture: bool,
    /// By text: the words that the job adds to the dictionary, with tags that say which are names.
    /// They are identity and no key of `[confirm]`.
    #[serde(skip)]
    pub dictionary: Option<Arc<UserDictionary>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            by: By::default(),
            distance_max: None,
            similarity_min: 8000,
            short_similarity_min: 6700,
            leading_tokens_max: 60,
            facts: Facts::default(),
            facts_chars_max: 4500,
            words_chars_max: 300,
            furniture: true,
            dictionary: None,
        }
    }
}

impl Options {
    /// These options with the default of `distance_max`, `k`, filled in.
    pub fn within(&self, k: u32) -> Options {
        Options { distance_max: Some(self.distance_max.unwrap_or(k)), ..self.clone() }
    }

    /// Checks the values; the error names the key.
    pub fn check(&self) -> Result<(), String> {
        let shares = [
            ("similarity_min", self.similarity_min),
            ("short_similarity_min", self.short_similarity_min),
        ];
        for (key, share) in shares {
            if !(SHARE_MIN..=10_000).contains(&share) {
                return Err(format!("{key}: {share} is not within {SHARE_MIN} to 10000"));
            }
        }
        if self.leading_tokens_max > 1000 {
            return Err(format!(
                "leading_tokens_max: {} is more than 1000",
                self.leading_tokens_max
            ));
        }
        Ok(())
    }
}

/// The least value of a threshold. Below it most candidates would have to be aligned.
const SHARE_MIN: u16 = 5000;

/// The rule that decided a pair. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Reason {
    /// The fingerprints are within `distance_max` bits.
    WithinK = 1,
    /// They are farther apart.
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
    /// The texts are similar without some tokens in front of one of them.
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
        Reason::ALL.into_iter().find(|reason| *reason as u8 == code)
    }

    /// The name in exports of the rule with the number `code`.
    pub fn name(code: u8) -> &'static str {
        match code {
            1 => "within_k",
            2 => "too_far",
            3 => "sketch",
            4 => "sketch_refused",
            5 => "shingles",
            6 => "shingles_refused",
            7 => "coverage",
            8 => "leading_insertion",
            9 => "coverage_refused",
            10 => "numerals",
            11 => "names",
            12 => "words",
            _ => "unknown",
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
    fn accept(similarity: u16, reason: Reason) -> Verdict {
        Verdict { accepted: true, similarity, reason }
    }

    fn refuse(similarity: u16, reason: Reason) -> Verdict {
        Verdict { accepted: false, similarity, reason }
    }
}

/// The evidence of a content.
pub trait Evidence {
    /// The length of the normalised text in characters.
    fn chars(&self) -> u32;
    /// The sketches that [`sketch::write`] made of the text.
    fn sketches(&self) -> Sketches<'_>;
    /// The normalised text, where it is kept. Called at most once for a pair, and for few pairs.
    fn text(&self) -> Option<Cow<'_, str>>;
    /// What is computed of the text alone, where it is kept. Called at most once for a pair. Who
    /// decides many pairs of a content keeps it.
    fn prepared(&self) -> Option<Rc<Prepared>> {
        self.text().map(|text| Rc::new(Prepared::of(text.into_owned())))
    }
}

/// Evidence in memory.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The length of the normalised text in characters.
    pub chars: u32,
    /// Its sketches.
    pub sketches: Sketches<'a>,
    /// The text, where it is kept.
    pub text: Option<&'a str>,
}

impl Evidence for Known<'_> {
    fn chars(&self) -> u32 {
        self.chars
    }

    fn sketches(&self) -> Sketches<'_> {
        self.sketches
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.text.map(Cow::Borrowed)
    }
}

/// The same of a text that is compared with several others: what is computed of it is kept.
pub struct Repeated<'a> {
    known: Known<'a>,
    prepared: OnceCell<Option<Rc<Prepared>>>,
}

impl<'a> Repeated<'a> {
    /// Nothing is computed before a pair needs it.
    pub fn new(known: Known<'a>) -> Repeated<'a> {
        Repeated { known, prepared: OnceCell::new() }
    }
}

impl Evidence for Repeated<'_> {
    fn chars(&self) -> u32 {
        self.known.chars()
    }

    fn sketches(&self) -> Sketches<'_> {
        self.known.sketches()
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.known.text()
    }

    fn prepared(&self) -> Option<Rc<Prepared>> {
        self.prepared.get_or_init(|| self.known.prepared()).clone()
    }
}

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

/// No rule accepts short texts whose multisets of 2-grams are less similar than this. A headline
/// half as long as the text, and every twelfth letter of the text replaced, leave 0.50. So do a
/// headline as long as the text, and a text written twice.
const SHORT_FLOOR: u16 = 4000;
/// The same for sets of 5-grams, of which each letter changes five: such texts leave 0.31.
const LONG_FLOOR: u16 = 3000;
/// The same where the 5-grams alone measure. Three of a hundred letters replaced leave 0.75, and
/// 0.68 to 0.82 of a text of 1,000 letters. A floor of 0.65 would find the rest, but many texts of
/// the same words, which share 0.6, would have to be read: twice the time.
const ALL_LONG_FLOOR: u16 = 7000;
/// Numbers of texts that are not kept refuse a pair up to this length, in characters.
const UNREAD_CHARS_MAX: u32 = 1000;

/// The verdict of [`decide`] on a pair, where it depends on no text. Symmetric. None if the texts
/// decide, where they are kept.
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

/// What sketches say of a pair that they do not decide.
struct Undecided {
    long: Option<Alike>,
    short: Option<Alike>,
    estimate: Alike,
    /// Whether the 5-grams alone may accept.
    by_long_alone: bool,
    long_floor: u16,
    other_numbers: bool,
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
    let (_, all_long, facts_matter) = lengths(a, b, options);
    let repetitive = repeat_themselves((a.chars(), &x), (b.chars(), &y));
    let long_floor = if all_long { ALL_LONG_FLOOR.min(options.similarity_min) } else { LONG_FLOOR };
    let hopeless =
        |alike: Option<Alike>, floor| alike.is_none_or(|alike| alike.band(floor) == Band::No);
    let by_long_alone = hopeless(short, SHORT_FLOOR);
    if by_long_alone && hopeless(long, long_floor) {
        return Ok(Verdict::refuse(estimate.similarity, Reason::SketchRefused));
    }
    let other_numbers = number_set::conflict(x.numerals, y.numerals);
    if let Some(long) = long
        && long.band(options.similarity_min) == Band::Clear
        && !facts_matter
        && !repetitive
    {
        return Ok(Verdict::accept(long.similarity, Reason::Sketch));
    }
    Err(Undecided { long, short, estimate, by_long_alone, long_floor, other_numbers })
}

/// The table at the top of this file.
fn by_text(a: &impl Evidence, b: &impl Evidence, options: &Options) -> Verdict {
    let Undecided { long, short, estimate, by_long_alone, long_floor, other_numbers } =
        match by_sketches(a, b, options) {
            Ok(verdict) => return verdict,
            Err(undecided) => undecided,
        };
    let (longer, all_long, facts_matter) = lengths(a, b, options);
    if let Some(x) = a.prepared()
        && let Some(y) = b.prepared()
    {
        let floor = if by_long_alone { long_floor } else { 0 };
        let verdict = match long.filter(|alike| alike.band(options.similarity_min) == Band::Clear) {
            Some(alike) if !facts_matter => Verdict::accept(alike.similarity, Reason::Sketch),
            Some(alike) if all_long => by_facts(&x, &y, alike.similarity, options),
            _ => by_whole_text(&x, &y, (all_long, facts_matter), floor, options),
        };
        if verdict.accepted
            && repeat_themselves((a.chars(), &a.sketches()), (b.chars(), &b.sketches()))
            && let Some(similarity) = repetitive::unlike(x.passages(), y.passages())
        {
            let reason = if all_long { Reason::ShinglesRefused } else { Reason::CoverageRefused };
            return Verdict::refuse(similarity, reason);
        }
        return verdict;
    }
    let reaches = |alike: Option<Alike>, min| alike.filter(|alike| alike.similarity >= min);
    match reaches(long, options.similarity_min).or(reaches(short, options.short_similarity_min)) {
        Some(alike) if other_numbers && facts_matter && longer <= UNREAD_CHARS_MAX => {
            Verdict::refuse(alike.similarity, Reason::Numerals)
        }
        Some(alike) => Verdict::accept(alike.similarity, Reason::Sketch),
        None => Verdict::refuse(estimate.similarity, Reason::SketchRefused),
    }
}

/// Whether the 5-grams of one of two texts, of which there are characters and sketches, say too
/// little.
fn repeat_themselves(a: (u32, &Sketches<'_>), b: (u32, &Sketches<'_>)) -> bool {
    [a, b].into_iter().any(|(chars, sketches)| repetitive::repeats_itself(chars, sketches))
}

/// The characters of the longer text, whether both are long, and whether replaced facts matter.
fn lengths(a: &impl Evidence, b: &impl Evidence, options: &Options) -> (u32, bool, bool) {
    let (shorter, longer) = (a.chars().min(b.chars()), a.chars().max(b.chars()));
    let all_long = shorter as usize >= texts::LONG_CHARS;
    (longer, all_long, options.facts > Facts::Off && longer <= options.facts_chars_max)
}

/// Decides by the facts of two long texts whose sketches are clearly alike, and say how much: to
/// shingle them takes longer than all else.
fn by_facts(a: &Prepared, b: &Prepared, similarity: u16, options: &Options) -> Verdict {
    let tokens = a.tokens.as_ref().zip(b.tokens.as_ref());
    let fact =
        tokens.and_then(|(a, b)| texts::compare(a, b, (similarity.into(), 10_000), options).fact);
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

/// Decides by two texts. `all_long` and `facts_matter` are those of [`lengths`]; below `floor`, the
/// least Jaccard similarity that a rule may accept, they are not aligned.
fn by_whole_text(
    a: &Prepared,
    b: &Prepared,
    (all_long, facts_matter): (bool, bool),
    floor: u16,
    options: &Options,
) -> Verdict {
    let (accepted, refused) = match all_long {
        true => (Reason::Shingles, Reason::ShinglesRefused),
        false => (Reason::Coverage, Reason::CoverageRefused),
    };
    let (x, y) = (a.shingles(), b.shingles());
    let common = shared(x, y);
    let all = x.len() + y.len() - common;
    let plain = jaccard_of(common, all);
    if plain >= options.similarity_min && !facts_matter {
        return Verdict::accept(plain, accepted);
    }
    let tokens = if plain < floor { None } else { a.tokens.as_ref().zip(b.tokens.as_ref()) };
    let Some((a, b)) = tokens else { return Verdict::refuse(plain, refused) };
    let measure = texts::compare(a, b, (common, all), options);
    let fact = measure.fact.filter(|_| facts_matter);
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
mod tests {
    use super::*;
    use crate::text::normalize::{self, normalize};
    use crate::text::signatures::{Shinglings, Text};
    use proptest::prelude::*;
    use std::cell::Cell;

    /// A content that counts how often its text is read.
    struct Content {
        text: String,
        sketches: Vec<u8>,
        kept: bool,
        reads: Cell<u32>,
    }

    impl Content {
        fn new(text: &str) -> Content {
            let (mut normal, mut sketches) = (String::new(), Vec::new());
            normalize(text, &normalize::Options::default(), &mut normal);
            sketch::write(&mut Text::new(&normal, &[], &mut Shinglings::default()), &mut sketches);
            Content { text: normal, sketches, kept: true, reads: Cell::new(0) }
        }

        fn without_text(text: &str) -> Content {
            Content { kept: false, ..Content::new(text) }
        }
    }

    impl Evidence for Content {
        fn chars(&self) -> u32 {
            self.text.chars().count() as u32
        }

        fn sketches(&self) -> Sketches<'_> {
            Sketches::parse(&self.sketches).expect("just written")
        }

        fn text(&self) -> Option<Cow<'_, str>> {
            self.reads.set(self.reads.get() + 1);
            self.kept.then(|| Cow::Borrowed(&*self.text))
        }
    }

    fn verdict(a: &str, b: &str, options: &Options) -> (bool, Reason) {
        let verdict = decide(&Content::new(a), &Content::new(b), 0, options);
        (verdict.accepted, verdict.reason)
    }

    /// `n` distinct characters from `start`.
    fn text(start: u32, n: u32) -> String {
        (start..start + n).filter_map(|n| char::from_u32(0x4e00 + n % 20_000)).collect()
    }

    /// Three words and a counter, as each of two texts has them.
    fn replaced_words() -> impl Strategy<Value = [String; 2]> {
        let words = || proptest::collection::vec("[a-d]{3}", 3);
        let side = || {
            (words(), 0u32..100_000).prop_map(|(words, views)| {
                format!(" {} and {views} views {} in {} ", words[0], words[1], words[2])
            })
        };
        (side(), side()).prop_map(|(a, b)| [a, b])
    }

    proptest! {
        /// A verdict is symmetric and repeatable, with and without texts, and a text is read at
        /// most once.
        #[test]
        fn symmetric_and_pure(
            body in "[a-z0-9一-十 ]{0,300}",
            counters in proptest::collection::vec((0usize..300, replaced_words()), 0..4),
            front in "[三五七 ]{0,30}",
            edits in proptest::collection::vec((0usize..300, "[x-z八九0-9]{0,9}"), 0..6),
            kept in any::<(bool, bool)>(),
            words_chars_max in prop_oneof![Just(0), Just(160), Just(u32::MAX)],
            facts in prop_oneof![Just(Facts::Off), Just(Facts::Numbers), Just(Facts::Names), Just(Facts::Words)],
        ) {
            // The body with counters and words, each with another one in the other text.
            let with = |side: usize| {
                let mut text: Vec<char> = body.chars().collect();
                for (at, sides) in &counters {
                    let at = at % (text.len() + 1);
                    text.splice(at..at, sides[side].chars());
                }
                text
            };
            let body: String = with(0).into_iter().collect();
            let mut other = with(1);
            for (at, put) in &edits {
                let at = at % (other.len() + 1);
                other.splice(at..(at + 2).min(other.len()), put.chars());
            }
            let other: String = front.chars().chain(other).collect();
            let options = Options { words_chars_max, facts, ..Options::default() };
            let a = Content { kept: kept.0, ..Content::new(&body) };
            let b = Content { kept: kept.1, ..Content::new(&other) };
            let verdict = decide(&a, &b, 0, &options);
            prop_assert!(a.reads.get() <= 1 && b.reads.get() <= 1);
            prop_assert_eq!(verdict, decide(&b, &a, 64, &options));
            prop_assert_eq!(verdict, decide(&Content { kept: kept.0, ..Content::new(&body) }, &b, 0, &options));
            prop_assert!(verdict.similarity <= 10_000);
        }

        /// Among long texts a stricter threshold accepts no pair that a laxer one refuses.
        #[test]
        fn monotone(cut in 0u32..400, strict in 8000u16..10_000) {
            let (a, b) = (Content::new(&text(0, 1000)), Content::new(&text(cut, 1000)));
            let accepts = |min| decide(&a, &b, 0, &Options { similarity_min: min, ..Options::default() }).accepted;
            prop_assert!(!accepts(strict) || accepts(8000));
        }
    }

    /// Each rule decides where the table says so.
    #[test]
    fn rules() {
        let options = Options::default();
        let long = text(0, 1000);
        assert_eq!(verdict(&long, &long, &options), (true, Reason::Sketch));
        assert_eq!(verdict(&long, &text(500, 1000), &options), (false, Reason::SketchRefused));
        // 1,000 characters, of which 100 differ at each end: J = 896 / 1096.
        assert_eq!(verdict(&long, &text(100, 1000), &options), (true, Reason::Shingles));
        assert_eq!(verdict(&long, &text(120, 1000), &options), (false, Reason::ShinglesRefused));
        let short = text(0, 50);
        let edited = format!("{}好{}", text(0, 25), text(26, 24));
        let edited = edited.replacen(&text(12, 1), "好", 1);
        assert_eq!(verdict(&short, &edited, &options), (true, Reason::Coverage));
        assert_eq!(
            verdict(&short, &format!("{}{short}", text(900, 20)), &options),
            (true, Reason::LeadingInsertion)
        );
        assert_eq!(
            verdict(&short, &format!("{short}{}", text(900, 20)), &options),
            (false, Reason::CoverageRefused)
        );
        assert_eq!(verdict("", &short, &options), (false, Reason::SketchRefused));
        let (monday, tuesday) = (format!("{long}11日"), format!("{long}12日"));
        assert_eq!(verdict(&monday, &tuesday, &options), (false, Reason::Numerals));
        let upkeep = Options { facts_chars_max: 1000, ..Options::default() };
        assert_eq!(verdict(&monday, &tuesday, &upkeep), (true, Reason::Sketch));
        let off = Options { facts: Facts::Off, ..Options::default() };
        assert_eq!(verdict(&monday, &tuesday, &off), (true, Reason::Sketch));
        let fingerprint = Options { by: By::Fingerprint, ..Options::default() };
        assert_eq!(verdict(&short, &long, &fingerprint), (true, Reason::WithinK));
    }

    /// Copies of one article fold whatever counter, clock or date line stands beside it, and with
    /// the small changes that people make. Pages that differ in a fact do not. `facts` and
    /// `furniture` switch the rules off.
    #[test]
    fn facts_and_furniture() {
        let options = Options::default();
        let lyrics = "你妈妈喊你回家吃饭哦，回家罗回家罗";
        assert!(verdict(lyrics, "你妈妈叫你回家吃饭啦，回家罗回家罗", &options).0);
        let article = "央视网消息：今年以来各地持续推进老旧小区改造，居民生活条件得到明显改善，群众满意度不断提高。";
        let counted =
            |visits: u32, time: &str| format!("访问数:{visits} 当前时间:{time}\n{article}");
        assert!(verdict(&counted(12_345, "10:02:33"), &counted(987, "23:59:01"), &options).0);
        let without = Options { furniture: false, ..Options::default() };
        assert!(!verdict(&counted(12_345, "10:02:33"), &counted(987, "23:59:01"), &without).0);
        let session = |number: &str| {
            format!(
                "第十四届全国人大常委会第{number}次会议在北京举行闭幕会，会议表决通过了有关法律。"
            )
        };
        assert_eq!(verdict(&session("七"), &session("二十"), &options), (false, Reason::Numerals));
        assert!(verdict(&session("七"), &session("7"), &options).0);
        let province = |name: &str| {
            format!("奋力谱写中国式现代化{name}篇章，持续推进乡村全面振兴，切实保障和改善民生。")
        };
        assert_eq!(verdict(&province("甘肃"), &province("湖南"), &options), (false, Reason::Names));
        let numbers = Options { facts: Facts::Numbers, ..Options::default() };
        assert!(verdict(&province("甘肃"), &province("湖南"), &numbers).0);
        let advert = |post: &str| {
            format!("本公司因业务发展需要，现面向社会诚聘{post}若干名，要求品行端正，责任心强。")
        };
        assert_eq!(verdict(&advert("会计"), &advert("厨师"), &options), (false, Reason::Words));
        let names = Options { facts: Facts::Names, ..Options::default() };
        assert!(verdict(&advert("会计"), &advert("厨师"), &names).0);
    }

    /// Another currency, unit, share, year or half of a day is another fact, though one character or
    /// mark differs; a sign that is left out is none.
    #[test]
    fn facts_of_one_mark() {
        let options = Options::default();
        let rest = "据介绍，相关部门表示将继续做好各项工作，切实保障群众利益不受任何影响。";
        for (a, b, reason) in [
            ("公司售价¥49起", "公司售价$49起", Reason::Numerals),
            ("利率上升了5%左右", "利率上升了5‰左右", Reason::Numerals),
            ("the fine is $900 000 now", "the fine is €900 000 now", Reason::Numerals),
            ("全长约5公里左右", "全长约5公斤左右", Reason::Numerals),
            ("计划今年完成建设", "计划明年完成建设", Reason::Words),
            ("the shop opens at 3 pm there", "the shop opens at 3 am there", Reason::Numerals),
            ("门票的售价为49元左右", "门票的售价为49美元左右", Reason::Numerals),
            ("the firm will pay $5m for it", "the firm will pay $5bn for it", Reason::Numerals),
            ("sales rose in q1 as hoped", "sales rose in q2 as hoped", Reason::Numerals),
            ("flight ba123 was late", "flight ba456 was late", Reason::Numerals),
            ("the line b12 is shut now", "the line c12 is shut now", Reason::Numerals),
        ] {
            let of = |fact: &str| format!("{rest}{fact}。{rest}");
            assert_eq!(verdict(&of(a), &of(b), &options), (false, reason), "{a}");
        }
        let of = |price: &str| format!("{rest}公司售价{price}起。{rest}");
        assert!(verdict(&of("¥49"), &of("49"), &options).0);
        assert!(verdict(&of("49元"), &of("49块"), &options).0);
        assert!(verdict(&of("3 hours"), &of("3 hrs"), &options).0);
    }

    /// Any two long texts of few symbols have the same 5-grams, and passed for copies whatever their
    /// lengths. Copies of such texts share passages, too, with some letters replaced.
    #[test]
    fn texts_of_few_symbols() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for symbols in ["acgt", "01", "wdl", "0123456789 "] {
            let symbols: Vec<char> = symbols.chars().collect();
            let mut of = |length: usize| -> String {
                (0..length).map(|_| symbols[random(symbols.len() as u64) as usize]).collect()
            };
            let (a, b, longer) = (of(9_000), of(9_000), of(60_000));
            let options = Options { facts: Facts::Off, ..Options::default() };
            assert!(!verdict(&a, &b, &options).0, "{symbols:?}");
            assert!(!verdict(&a, &longer, &options).0, "{symbols:?}");
            let mut edited: Vec<char> = a.chars().collect();
            edited.iter_mut().step_by(200).for_each(|letter| *letter = symbols[0]);
            let edited: String = edited.into_iter().collect();
            assert!(verdict(&a, &edited, &options).0, "{symbols:?}");
        }
        let line = "to be or not to be that is the question whether it is nobler in the mind to \
            suffer the slings and arrows of outrageous fortune or to take arms. ";
        let play = line.repeat(200);
        let copy = play.replacen("question", "matter", 3);
        assert!(verdict(&play, &copy, &Options::default()).0);
    }

    /// A headline or a date line alone is a text of its own: words in front of it make another one,
    /// and its date is a fact. Both cost nothing around a longer text.
    #[test]
    fn a_headline_alone_is_a_text() {
        let options = Options::default();
        assert_eq!(
            verdict("2024年3月6日 晨报", "2024年3月7日 晨报", &options),
            (false, Reason::Numerals)
        );
        assert_eq!(verdict("国际新闻", "日本国际新闻", &options), (false, Reason::CoverageRefused));
        let dated = |day: u32| format!("2024-03-{day:02} 08:30 来源：本站\n{}", text(0, 20));
        assert!(verdict(&dated(6), &dated(7), &options).0);
        let headed = format!("{} {}", text(900, 8), text(0, 20));
        assert_eq!(verdict(&text(0, 20), &headed, &options), (true, Reason::LeadingInsertion));
    }

    /// A headline may be as long as a short text. Two sentences as long as it are another text, such
    /// as the first half of a poem.
    #[test]
    fn a_headline_is_one_sentence() {
        let with =
            |front: String| verdict(&text(0, 20), &(front + &text(0, 20)), &Options::default());
        assert_eq!(with(text(900, 20) + " "), (true, Reason::LeadingInsertion));
        let lines = format!("{}。{}。", text(900, 10), text(800, 10));
        assert_eq!(with(lines), (false, Reason::CoverageRefused));
    }

    /// A replaced fact refuses texts of up to `facts_chars_max` characters, however alike they are
    /// and whatever number, ordinal, name or date it is.
    #[test]
    fn facts_of_long_texts() {
        let options = Options::default();
        for chars in [1200, 3000, 4400] {
            let body = text(0, chars);
            let of = |fact: &str| format!("{fact}。{body}另有5件事，9件事，3件事。");
            for (a, b, reason) in [
                ("原告张伟诉被告李强", "原告王芳诉被告刘洋", Reason::Names),
                ("第七次会议在京举行", "第九次会议在京举行", Reason::Numerals),
                ("中国式现代化甘肃篇章", "中国式现代化湖南篇章", Reason::Names),
                ("2022年度工作报告", "2150年度工作报告", Reason::Numerals),
                ("定于3月5日召开", "定于3月9日召开", Reason::Numerals),
            ] {
                assert_eq!(verdict(&of(a), &of(b), &options), (false, reason), "{a} {chars}");
            }
        }
    }

    /// Pages of one template were one cluster if their frame was long. Three other words of their
    /// own refuse them; a longer text with one other word is another version of the same.
    #[test]
    fn pages_of_a_template() {
        let frame = "Free delivery on orders above fifty. Returns are free within a month if the \
            article is unworn and has all labels. Pay by card, on account or in instalments. Care: \
            wash with like colours, do not bleach, iron at low heat. Colours may look different on \
            your screen. Our service is available on working days by telephone, chat and mail.";
        let page = |name: &str, colour: &str, made_of: &str| {
            format!(
                "{name}, which you can have now in {colour}. It is made only of {made_of}. {frame}"
            )
        };
        let shirt = page("Cotton Wonder", "navy", "organic linen");
        let options = Options::default();
        let coat = page("Winter Dream", "orange", "sheep wool");
        assert_eq!(verdict(&shirt, &coat, &options), (false, Reason::Words));
        assert!(verdict(&shirt, &page("Cotton Wonder", "orange", "organic linen"), &options).0);
        let names = Options { facts: Facts::Names, ..Options::default() };
        assert!(verdict(&shirt, &coat, &names).0);
        let priced = |price: &str| format!("{frame} The price {price} includes tax.");
        let (dear, cheap) = (priced("199.20"), priced("35.90"));
        assert_eq!(verdict(&dear, &cheap, &options), (false, Reason::Numerals));
    }

    /// Clear pairs are decided without reading them where replaced facts do not matter, and so are
    /// all others if no text is kept.
    #[test]
    fn texts_are_read_rarely() {
        let reads = |a: &str, b: &str, facts_chars_max: u32| {
            let (a, b) = (Content::new(a), Content::new(b));
            decide(&a, &b, 0, &Options { facts_chars_max, ..Options::default() });
            (a.reads.get(), b.reads.get())
        };
        let long = text(0, 1000);
        assert_eq!(reads(&long, &text(10, 1000), 4500), (1, 1));
        assert_eq!(reads(&long, &text(10, 1000), 999), (0, 0));
        assert_eq!(reads(&long, &text(400, 1000), 4500), (0, 0));
        assert_eq!(reads(&long, &text(110, 1000), 999), (1, 1));
        let (a, b) = (Content::without_text(&text(0, 50)), Content::without_text(&text(2, 50)));
        let verdict = decide(&a, &b, 0, &Options::default());
        assert_eq!((verdict.accepted, verdict.reason), (true, Reason::Sketch));
    }

    /// Options out of range are refused.
    #[test]
    fn out_of_range() {
        assert_eq!(Options::default().check(), Ok(()));
        assert!(Options { similarity_min: 10_001, ..Options::default() }.check().is_err());
        assert!(Options { leading_tokens_max: 1001, ..Options::default() }.check().is_err());
    }

    /// Every reason has a name of its own.
    #[test]
    fn names() {
        let names: std::collections::BTreeSet<_> =
            (1..=Reason::Words as u8).map(Reason::name).collect();
        assert_eq!(names.len(), usize::from(Reason::Words as u8));
        assert!(!names.contains("unknown"));
    }

    /// The frozen table equals the cosine.
    #[test]
    fn table_is_cosine() {
        for distance in 0..=64u32 {
            let real =
                (std::f64::consts::PI * f64::from(distance) / 64.0).cos().max(0.0) * 10_000.0;
            let verdict = by_fingerprint(distance, &Options::default());
            assert!((f64::from(verdict.similarity) - real).abs() <= 0.51, "distance {distance}");
        }
    }
}
