//! Composes made-up texts from random numbers, and edits and renders them.
//!
//! A text is kept as numbers of words, so that copies can be edited word by word, and rendered as
//! the inside of a JSON string. No text is remembered: the same random numbers compose it again.

use crate::random::Random;
use crate::vocabulary::Vocabulary;

/// A text as numbers of words, with the marks below between them.
#[derive(Clone, Default)]
pub struct Text {
    english: bool,
    topic: usize,
    tokens: Vec<u16>,
}

const COMMA: u16 = u16::MAX;
const STOP: u16 = u16::MAX - 1;
const PARAGRAPH: u16 = u16::MAX - 2;

/// Composes, edits and renders texts.
pub struct Composer {
    chinese: Vocabulary,
    english: Vocabulary,
    english_share: f64,
    bytes: u32,
    edit: f64,
}

impl Composer {
    /// A composer of texts of about `bytes` bytes, a share of which is in English; edits change a
    /// share of the words.
    pub fn new(bytes: u32, english_share: f64, edit: f64) -> Composer {
        Composer {
            chinese: Vocabulary::chinese(),
            english: Vocabulary::english(),
            english_share,
            bytes,
            edit,
        }
    }

    fn vocabulary(&self, text: &Text) -> &Vocabulary {
        if text.english { &self.english } else { &self.chinese }
    }

    /// Composes the original of the stream `random`: sentences of 6 to 19 words, a comma after
    /// every 3 to 8, paragraphs of 2 to 5 sentences.
    pub fn compose(&self, random: &mut Random, text: &mut Text) {
        text.tokens.clear();
        text.english = random.chance(self.english_share);
        let vocabulary = self.vocabulary(text);
        text.topic = vocabulary.topic(random);
        let bytes = (self.bytes / 2) as usize + random.below(self.bytes as usize);
        let (mut written, mut bits) = (0, Bits::default());
        loop {
            for _ in 0..2 + random.below(4) {
                let mut clause = 3 + random.below(6);
                for left in (0..6 + random.below(14)).rev() {
                    let word = vocabulary.draw(bits.next(random), text.topic);
                    text.tokens.push(word);
                    written += vocabulary.word(word).len() + usize::from(text.english);
                    clause -= 1;
                    if clause == 0 && left > 1 {
                        text.tokens.push(COMMA);
                        written += if text.english { 1 } else { 3 };
                        clause = 3 + random.below(6);
                    }
                    clause = clause.max(1);
                }
                text.tokens.push(STOP);
                written += if text.english { 1 } else { 3 };
                if written >= bytes {
                    return;
                }
            }
            text.tokens.push(PARAGRAPH);
            written += 1;
        }
    }

    /// Changes a share of the words: half are replaced, a quarter deleted, and before a quarter
    /// another is inserted. `edited` is a buffer for reuse.
    pub fn edit(&self, random: &mut Random, text: &mut Text, edited: &mut Vec<u16>) {
        edited.clear();
        let vocabulary = self.vocabulary(text);
        let words = text.tokens.iter().filter(|token| **token < PARAGRAPH).count();
        // One word is always changed, or the copy would be an exact one.
        let mut until_forced = random.below(words.max(1));
        let mut changed = false;
        for &token in &text.tokens {
            if token >= PARAGRAPH {
                edited.push(token);
                continue;
            }
            let forced = !changed && until_forced == 0;
            until_forced = until_forced.saturating_sub(1);
            if !random.chance(self.edit) && !forced {
                edited.push(token);
                continue;
            }
            changed = true;
            let choice = random.next();
            let mut other = vocabulary.draw((choice >> 16) as u16, text.topic);
            if other == token {
                other = if token == 0 { 1 } else { 0 };
            }
            match choice % 4 {
                0 | 1 => edited.push(other),
                2 => edited.extend([other, token]),
                _ => {}
            }
        }
        std::mem::swap(&mut text.tokens, edited);
    }

    /// Appends the text as the inside of a JSON string; no word needs an escape.
    pub fn render(&self, text: &Text, out: &mut Vec<u8>) {
        let vocabulary = self.vocabulary(text);
        let mut sentence_start = true;
        let mut line_start = true;
        for &token in &text.tokens {
            match (token, text.english) {
                (COMMA, false) => out.extend_from_slice("，".as_bytes()),
                (COMMA, true) => out.push(b','),
                (STOP, false) => out.extend_from_slice("。".as_bytes()),
                (STOP, true) => out.push(b'.'),
                (PARAGRAPH, _) => out.extend_from_slice(b"\\n"),
                (word, false) => out.extend_from_slice(vocabulary.word(word).as_bytes()),
                (word, true) => {
                    if !line_start {
                        out.push(b' ');
                    }
                    let start = out.len();
                    out.extend_from_slice(vocabulary.word(word).as_bytes());
                    if sentence_start {
                        out[start].make_ascii_uppercase();
                    }
                }
            }
            line_start = token == PARAGRAPH;
            sentence_start = line_start || token == STOP;
        }
    }
}

/// Splits 64 random bits into four numbers of 16 bits.
#[derive(Default)]
struct Bits {
    bits: u64,
    left: u32,
}

impl Bits {
    fn next(&mut self, random: &mut Random) -> u16 {
        if self.left == 0 {
            (self.bits, self.left) = (random.next(), 4);
        }
        self.left -= 1;
        (self.bits >> (16 * self.left)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An edited text always differs from its original, by about as many words as asked for.
    #[test]
    fn an_edit_changes_about_its_share() {
        let composer = Composer::new(4000, 0.5, 0.05);
        for seed in 0..50 {
            let mut text = Text::default();
            composer.compose(&mut Random::of(seed, 0), &mut text);
            let original = text.clone();
            composer.edit(&mut Random::of(seed, 1), &mut text, &mut Vec::new());
            assert_ne!(text.tokens, original.tokens, "seed {seed}");
            let (long, short) = (
                text.tokens.len().max(original.tokens.len()),
                text.tokens.len().min(original.tokens.len()),
            );
            assert!(long - short <= long / 20, "seed {seed}: {short} and {long} tokens");
        }
    }

    /// A rendered text needs no escape between JSON's quotes, and its size is near the one asked
    /// for.
    #[test]
    fn a_rendered_text_needs_no_escape() {
        let composer = Composer::new(2000, 0.5, 0.0);
        for seed in 0..50 {
            let (mut text, mut out) = (Text::default(), Vec::new());
            composer.compose(&mut Random::of(seed, 0), &mut text);
            composer.render(&text, &mut out);
            assert!((1000..3400).contains(&out.len()), "seed {seed}: {} bytes", out.len());
            assert!(!out.iter().any(|byte| *byte < b' ' || *byte == b'"'), "seed {seed}");
            let text = String::from_utf8(out).expect("words are text");
            assert!(!text.replace("\\n", "").contains('\\'), "seed {seed}");
        }
    }
}
