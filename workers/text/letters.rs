//! The letters and digits of a normalised text without what is between them. Shingles and sentences
//! are made of them.
//!
//! They are found and copied once for each text, before anything is hashed. A hash reads eight
//! bytes at once. If the processor has just written these bytes in several pieces, the read must
//! wait for all of the pieces.

use crate::text::characters::{
    end_of_frequent_han, is_han, is_letter, is_mark_of_letter, is_southeast_asian, stands_alone,
};
use std::ops::Range;

/// The letters and digits of a text, in memory that is reused from text to text.
///
/// ```
/// use workers::text::letters::Letters;
///
/// let letters = Letters::of("春眠, 不觉晓");
/// assert_eq!(letters.count(), 5);
/// assert_eq!(letters.grams(4).collect::<Vec<_>>(), ["春眠不觉", "眠不觉晓"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Letters {
    together: String,
    /// Where each letter begins in `together`, and where the last one ends.
    starts: Vec<u32>,
    gaps: Vec<Gap>,
    weight: u32,
}

/// Whether a letter says as much as a Chinese character: see [`Letters::weighed_grams`].
fn is_heavy(c: char) -> bool {
    is_han(c) || c.is_ascii_digit() || matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// What a gram weighs at least: see [`Letters::weighed_grams`].
const GRAM_WEIGHT: usize = 6;

/// What stands between two letters, or before the first, or after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its bytes in the text.
    pub place: Range<usize>,
    /// The number of bytes of all letters before it.
    pub letter_bytes: usize,
}

impl Letters {
    /// The letters of `normal`.
    pub fn of(normal: &str) -> Letters {
        let mut letters = Letters::default();
        letters.read(normal);
        letters
    }

    /// Replaces the letters by those of `normal`.
    pub fn read(&mut self, normal: &str) {
        assert!(u32::try_from(normal.len()).is_ok(), "a text of {} bytes", normal.len());
        let Letters { together, starts, gaps, weight } = self;
        together.clear();
        starts.clear();
        gaps.clear();
        together.reserve(normal.len());
        starts.reserve(normal.len() / 3 + 1);
        let mut scale = Scale::default();
        let mut at = 0;
        while at < normal.len() {
            let (start, before) = (at, together.len());
            while at < normal.len() {
                // Most letters are frequent Chinese characters, which need not be decoded.
                let end = end_of_frequent_han(normal, at);
                let (first, letters) = ((before + at - start) as u32, ((end - at) / 3) as u32);
                starts.extend((0..letters).map(|letter| first + 3 * letter));
                scale.add_alone(letters);
                at = end;
                let Some(c) = normal[at..].chars().next().filter(|c| is_letter(*c)) else { break };
                scale.add_letter(c);
                starts.push((before + at - start) as u32);
                at += c.len_utf8();
            }
            together.push_str(&normal[start..at]);
            let gap = normal[at..].find(|c| {
                let is_end = is_letter(c);
                if !is_end {
                    scale.add_other(c);
                }
                is_end
            });
            let end = gap.map_or(normal.len(), |bytes| at + bytes);
            if at < end {
                gaps.push(Gap { place: at..end, letter_bytes: together.len() });
            }
            at = end;
        }
        *weight = scale.weight();
        starts.push(together.len() as u32);
    }

    /// The number of letters.
    pub fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How much the letters say: the [`weight`] of the text.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// All letters as one string.
    pub fn together(&self) -> &str {
        &self.together
    }

    /// The gaps between the letters, in order.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Grams that say about as much as two Chinese characters, in order: from each letter on so
    /// many that they weigh six, where a Chinese character, a syllable of Korean or a digit weighs
    /// three and any other letter two. If the letters weigh less, all letters as one gram.
    ///
    /// ```
    /// use workers::text::letters::Letters;
    ///
    /// let grams = |text| Letters::of(text).weighed_grams().map(str::to_owned).collect::<Vec<_>>();
    /// assert_eq!(grams("春眠不觉"), ["春眠", "眠不", "不觉"]);
    /// assert_eq!(grams("a text"), ["ate", "tex", "ext"]);
    /// assert_eq!(grams("第7章 ab"), ["第7", "7章", "章ab"]);
    /// assert_eq!((grams("ab"), grams("")), (vec!["ab".to_owned()], vec![]));
    /// ```
    pub fn weighed_grams(&self) -> impl Iterator<Item = &str> {
        let weights = || self.together.chars().map(|c| 2 + usize::from(is_heavy(c)));
        let (mut ahead, mut weight, mut end) = (weights(), 0, 0);
        let grow = move |less: usize| {
            weight -= less;
            while weight < GRAM_WEIGHT {
                weight += ahead.next()?;
                end += 1;
            }
            Some(end)
        };
        let ends = std::iter::once(0).chain(weights()).map_while(grow);
        let cut = |(start, end): (usize, usize)| {
            &self.together[self.starts[start] as usize..self.starts[end] as usize]
        };
        let is_light = self.count() > 0 && weights().take(GRAM_WEIGHT).sum::<usize>() < GRAM_WEIGHT;
        (0..).zip(ends).map(cut).chain(is_light.then_some(self.together.as_str()))
    }

    /// Whether the weighed grams are the 2-grams: no letter is of an alphabet.
    pub fn are_heavy(&self) -> bool {
        self.together.chars().all(is_heavy)
    }

    /// Every `q` consecutive letters, in order. If there are fewer, all letters as one gram; if
    /// there are none, no gram.
    pub fn grams(&self, q: usize) -> impl Iterator<Item = &str> {
        let q = q.clamp(1, self.count().max(1));
        let ends = self.starts.get(q..).unwrap_or_default();
        self.starts
            .iter()
            .zip(ends)
            .map(|(start, end)| &self.together[*start as usize..*end as usize])
    }
}

/// Adds up how much the characters of a text say: see [`weight`].
#[derive(Default)]
struct Scale {
    /// In halves of a letter.
    halves: u64,
    in_word: bool,
}

impl Scale {
    /// Adds Chinese characters.
    fn add_alone(&mut self, characters: u32) {
        if characters > 0 {
            self.halves += 2 * u64::from(characters);
            self.in_word = false;
        }
    }

    fn add_letter(&mut self, c: char) {
        let in_word = !stands_alone(c) && !is_southeast_asian(c);
        self.halves += match (in_word, is_southeast_asian(c)) {
            (true, _) if self.in_word => 0,
            (true, _) => 4,
            (false, true) => 1,
            (false, false) => 2,
        };
        self.in_word = in_word;
    }

    /// Adds what is no letter. A mark of a letter does not end its word.
    fn add_other(&mut self, c: char) {
        if stands_alone(c) {
            self.add_alone(1);
        } else {
            self.in_word &= is_mark_of_letter(c);
        }
    }

    fn weight(&self) -> u32 {
        self.halves.div_ceil(2).try_into().unwrap_or(u32::MAX)
    }
}

/// How much the normalised text `normal` says, in letters: one for each Chinese character or kana,
/// one for two letters of Thai, Lao, Burmese and Khmer, and two for each word of another script, as
/// a Chinese word has about two characters. [`Letters::weight`] is the same, counted while letters
/// are read.
///
/// ```
/// use workers::text::letters::weight;
///
/// assert_eq!(weight("国际联播快讯"), 6);
/// assert_eq!(weight("breaking news, 12:30"), 8);
/// ```
pub fn weight(normal: &str) -> u32 {
    let mut scale = Scale::default();
    for c in normal.chars() {
        match is_letter(c) {
            true => scale.add_letter(c),
            false => scale.add_other(c),
        }
    }
    scale.weight()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A word of a script with spaces counts two letters, a character of another script one. Other
    /// characters count nothing.
    #[test]
    fn weights_of_scripts() {
        for (text, expected) in [
            ("", 0),
            ("... 。", 0),
            ("page not found", 6),
            ("早安!", 2),
            ("iphone 15发布", 6),
            ("ひらがな", 4),
            ("привет, мир", 4),
            ("한국어 문장", 4),
            // A run of these letters is several words, and a mark ends none.
            ("รัฐบาลประกาศมาตรการใหม่", 11),
            ("विश्वविद्यालय", 2),
            ("за\u{301}мок", 2),
        ] {
            assert_eq!(weight(text), expected, "{text}");
        }
    }

    proptest! {
        /// Letters, gaps and grams equal their definition, and nothing of an earlier text remains.
        #[test]
        fn letters_are_plain(
            texts in prop::collection::vec("[a-c1 ,。一-三春-晓䶿々ぁ゙・ⅷ²é\u{1d7d8}\u{20000}\u{2a6e0}]{0,40}|\\PC{0,40}", 1..4),
            q in 1usize..8,
        ) {
            let mut letters = Letters::default();
            for text in &texts {
                letters.read(text);
                let plain: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
                prop_assert_eq!(letters.count(), plain.len());
                prop_assert_eq!(letters.weight(), weight(text));
                prop_assert_eq!(letters.together(), plain.iter().collect::<String>());
                let grams: Vec<String> = match plain.len() {
                    0 => Vec::new(),
                    n => plain.windows(q.min(n)).map(|gram| gram.iter().collect()).collect(),
                };
                prop_assert_eq!(letters.grams(q).collect::<Vec<_>>(), grams);
                let (mut again, mut done, mut used) = (String::new(), 0, 0);
                for Gap { place, letter_bytes } in letters.gaps() {
                    prop_assert!(!text[place.clone()].chars().any(char::is_alphanumeric));
                    prop_assert!(again.is_empty() || used < *letter_bytes);
                    again.push_str(&letters.together()[used..*letter_bytes]);
                    again.push_str(&text[place.clone()]);
                    (done, used) = (place.end, *letter_bytes);
                    prop_assert_eq!(&again, &text[..done]);
                }
                prop_assert_eq!(&text[done..], &letters.together()[used..]);
            }
        }
    }
}
