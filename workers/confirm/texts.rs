//! Compares two whole texts: how alike they are, and which fact is replaced.
//!
//! One measure serves texts of every length: the shared part divided by the whole, of characters
//! and of 5-grams.
//!
//! ```text
//! characters   shared by the alignment / (of a + of b - shared), furniture and variants left out
//! 5-grams      Jaccard similarity of the sets; what furniture, seams and slips cost is left out
//! up to 100 characters the first counts, from 1,000 the second, between both by their distance
//! ```
//!
//! In a short text an edit changes five of few 5-grams, and there the alignment agrees with human
//! readers. In a long text that was rewritten sentence by sentence, the alignment still finds much
//! in common, and 5-grams do not. The measure and the plain Jaccard similarity are compared and the
//! greater one counts, so that words that lost the space between them cost nothing.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::{is_decimal_mark, is_minus_sign};
use crate::confirm::align::edits::Span;
use crate::confirm::align::lcs;
use crate::confirm::differences::{Difference, is_small};
use crate::confirm::kinds::{Kinds, PartKind};
use crate::confirm::options::Options;
use std::ops::Range;

/// Up to this length, in characters, the alignment alone measures.
const SHORT_CHARS: usize = 100;
/// From this length the 5-grams alone measure.
pub const LONG_CHARS: usize = 1000;
/// The number of 5-grams that a replaced character changes.
const GRAMS_OF_SLIP: usize = 5;
/// The number of 5-grams across the place where a passage was put in.
const GRAMS_OF_SEAM: usize = 4;

/// If a text has at least so many slips for each short name, word or unit that is replaced, these
/// count as slips, too.
const SLIPS_PER_FACT: usize = 5;

/// What two texts have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Their similarity, in 1/10,000.
    pub similarity: u16,
    /// The kind of a fact that is replaced: `Number`, `Name` or `Word`.
    pub fact: Option<Difference>,
    /// Whether a headline in front of one text, or the headlines of both, were left out.
    pub headline: bool,
}

/// The 5-grams of two texts.
#[derive(Clone, Copy, Debug)]
pub struct SharedGrams {
    /// The number of 5-grams that both texts have.
    pub common: usize,
    /// The number of 5-grams that at least one text has.
    pub all: usize,
}

/// Sums over the spans, in characters of either side.
#[derive(Default)]
struct Sums {
    /// Left out on both sides: furniture, variants and a headline.
    left_out: [usize; 2],
    /// Not shared.
    edited: [usize; 2],
    /// The sum over edits that are no slips, each by its longer side.
    longest_edits: usize,
    /// Replaced single characters, and misspelt words.
    slips: usize,
    /// Passages on one side alone.
    passages: usize,
}

/// Compares two normalised texts. Symmetric. Two texts without letters have no similarity.
pub fn compare(x: &Tokens<'_>, y: &Tokens<'_>, grams: SharedGrams, options: &Options) -> Measure {
    // Puts the two texts in one order, so that the verdict does not depend on which comes first.
    let (x, y) = if y.text < x.text { (y, x) } else { (x, y) };
    let plain = (grams.common * 10_000 / grams.all.max(1)) as u16;
    let unlike = |similarity| Measure { similarity, fact: None, headline: false };
    let lengths = [x.chars(0..x.len()), y.chars(0..y.len())];
    if lengths[0].min(lengths[1]) == 0 {
        return unlike(0);
    }
    let Some(mut found) = Kinds::of(x, y, options) else {
        return unlike(plain);
    };
    let mut sums = Sums::default();
    for (span, kind) in &found.spans {
        let chars = found.chars(span);
        if found.is_left_out(span, *kind) {
            (0..2).for_each(|side| sums.left_out[side] += chars[side]);
        } else {
            sums.add_edit(x, y, span, chars);
        }
    }
    let similarity = sums.similarity(lengths, grams).max(plain);
    let headline = found.has_headline();
    found.settle_frame(options);
    let mut fact = other_number(&found, sums.slips);
    let facts_matter = lengths[0].max(lengths[1]) <= options.facts_chars_max as usize;
    if fact.is_none() && similarity >= options.similarity_min && facts_matter {
        let of_template = || found.slots(options).first().map(|_| Difference::Word);
        fact = replaced_word(&found, sums.slips, options).or_else(of_template);
    }
    Measure { similarity, fact, headline }
}

/// Whether another number is among the differences.
///
/// In a text with slips all over, some are beside a number. Such differences count only if slips
/// are rare.
fn other_number(found: &Kinds<'_>, slips: usize) -> Option<Difference> {
    let (doubtful, certain): (Vec<_>, Vec<_>) =
        found.spans_of(PartKind::Number).partition(|span| found.may_be_slips(span));
    let is_other = !certain.is_empty() || slips < SLIPS_PER_FACT * doubtful.len();
    is_other.then_some(Difference::Number)
}

/// The kind of a replaced name or word among the edits.
///
/// In a text with slips all over, some look like other names or words. Short differences count only
/// if slips are rare.
fn replaced_word(found: &Kinds<'_>, slips: usize, options: &Options) -> Option<Difference> {
    let (mut small, mut first) = (0, None);
    for (span, difference) in found.replaced_words(options) {
        // A span on one side alone is a negation, and is tested as a short one.
        if !is_small(span) && span.a.len().min(span.b.len()) > 0 {
            return Some(difference);
        }
        small += 1;
        // A name comes before a word.
        first = first.filter(|first| *first == Difference::Name).or(Some(difference));
    }
    first.filter(|_| slips < SLIPS_PER_FACT * small)
}

/// The most letters of a side whose shared letters are counted, because the time grows with their
/// square.
const SHARED_LETTERS_MAX: usize = 4096;

/// The length of the longest common subsequence of letters of the two sides; 0 if one is too long.
fn shared_letters(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> usize {
    if a.chars(span.a.clone()).max(b.chars(span.b.clone())) > SHARED_LETTERS_MAX {
        return 0;
    }
    let letters = |tokens: &Tokens<'_>, range: &Range<usize>| -> Vec<char> {
        let letters = range.clone().flat_map(|at| tokens.token(at).chars());
        letters.filter(|c| !is_decimal_mark(*c) && !is_minus_sign(*c)).collect()
    };
    lcs::length(&letters(a, &span.a), &letters(b, &span.b))
}

/// If each word of one side stands for the word of the other side in the same place, and has at
/// least half of its letters: how many words differ, and the letters that all of them share.
fn misspelt_words(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> Option<(usize, usize)> {
    if span.a.len() != span.b.len() {
        return None;
    }
    let (mut words, mut letters) = (0, 0);
    for (i, j) in span.a.clone().zip(span.b.clone()) {
        let shared = shared_letters(a, b, &Span { a: i..i + 1, b: j..j + 1 });
        if 2 * shared < a.chars(i..i + 1).max(b.chars(j..j + 1)) {
            return None;
        }
        words += usize::from(a.token(i) != b.token(j));
        letters += shared;
    }
    Some((words, letters))
}

impl Sums {
    fn add_edit(&mut self, a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, chars: [usize; 2]) {
        let longest = chars[0].max(chars[1]);
        // The slips of a span, if it is nothing else, and the letters that both sides share.
        let (slips, shared) = if is_small(span) {
            let shared = shared_letters(a, b, span);
            (usize::from(longest <= 2 || 2 * shared >= longest), shared)
        } else {
            misspelt_words(a, b, span).unwrap_or_default()
        };
        self.slips += slips;
        if slips == 0 {
            self.longest_edits += longest;
        }
        self.passages += usize::from(chars[0].min(chars[1]) == 0);
        (0..2).for_each(|side| self.edited[side] += chars[side] - shared);
    }

    /// The measure at the top of this file, in 1/10,000.
    fn similarity(&self, lengths: [usize; 2], SharedGrams { common, all }: SharedGrams) -> u16 {
        let longer = lengths[0].max(lengths[1]);
        let [n, m] = [0, 1].map(|side| lengths[side] - self.left_out[side]);
        let shared = n.saturating_sub(self.edited[0]);
        // A slip is one difference, although both sides have a character of it.
        let aligned = shared * 10_000 / (n + m).saturating_sub(shared + self.slips / 2).max(1);
        // What is left out is in 5-grams of one text or of both. In a long text this hardly
        // matters.
        let left_out = if longer < LONG_CHARS { self.left_out[0] + self.left_out[1] } else { 0 };
        let all = all.saturating_sub(left_out).max(common);
        let one_sided = self.edited[0].min(self.edited[1]) == 0;
        let seams =
            if one_sided && longer < LONG_CHARS { GRAMS_OF_SEAM * self.passages.min(2) } else { 0 };
        // Slips are left out only where hardly anything else differs.
        let slips = if 100 * self.longest_edits <= longer { GRAMS_OF_SLIP * self.slips } else { 0 };
        let changed = all - common;
        let common = common + seams.min(changed);
        // A slip removes its 5-grams from those in common and adds as many to the whole.
        let slips = slips.min((all - common) / 2);
        let grams = (common + slips) * 10_000 / (all - slips).max(1);
        let weight = longer.clamp(SHORT_CHARS, LONG_CHARS) - SHORT_CHARS;
        let range = LONG_CHARS - SHORT_CHARS;
        ((aligned.min(10_000) * (range - weight) + grams.min(10_000) * weight) / range) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of any length cost little: two as long as a text are not compared letter by letter.
    #[test]
    fn very_long_words() {
        let shared = |letters: usize| {
            let (a, b) = ("ab".repeat(letters / 2), "ac".repeat(letters / 2));
            let (x, y) = (Tokens::of(&*a).expect("short"), Tokens::of(&*b).expect("short"));
            shared_letters(&x, &y, &Span { a: 0..1, b: 0..1 })
        };
        assert_eq!(shared(SHARED_LETTERS_MAX), SHARED_LETTERS_MAX / 2);
        assert_eq!(shared(SHARED_LETTERS_MAX + 2), 0);
    }
}
