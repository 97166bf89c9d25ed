//! Cuts Chinese text into words: the words of jieba-rs 0.11, in less than half of its time.
//!
//! The words of a block of characters are the route through the dictionary with the greatest sum of
//! scores (Sun Junyi: jieba, <https://github.com/fxsjy/jieba>). Characters that the route leaves as
//! single characters go to a hidden Markov model. jieba-rs first lists all words of a block and
//! then sums. Here words are found and summed at once, from the end of a block to its beginning, so
//! that no list is made. The sums are those of jieba-rs to the last digit: tests compare all words.
//!
//! Words of a user are found in addition to those of the dictionary ([`user`]). Without such words
//! they cost nothing.

pub mod layout;
pub mod suggest;
pub(crate) mod user;

mod dictionary;
mod unseen;

#[cfg(test)]
mod tests;

use crate::text::segment::dictionary::Dictionary;
use crate::text::segment::layout::{Code, END};
use crate::text::segment::unseen::Unseen;
use crate::text::segment::user::UserWords;
use std::sync::Arc;

/// Cuts texts. Its memory is reused from text to text.
///
/// ```
/// use workers::text::segment::Segmenter;
///
/// let mut words = Vec::new();
/// Segmenter::default().cut("我们在图书馆读书", true, |word| words.push(word));
/// assert_eq!(words, ["我们", "在", "图书馆", "读书"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Segmenter {
    /// Words that are not in the dictionary, or have another frequency there.
    user: Option<Arc<UserWords>>,
    /// The characters of some blocks. [`END`] comes after each block.
    codes: Vec<Code>,
    /// By character: the byte of the text at which it begins.
    starts: Vec<u32>,
    /// By character: the score of the best route from there to the end of its block.
    sums: Vec<f64>,
    /// By character: the number of characters of the first word of that route, less one.
    steps: Vec<u8>,
    unseen: Unseen,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A word of a block.
    Word(&'t str),
    /// What is between two blocks.
    Gap(&'t str),
}

/// The step at the end of a block.
const END_STEP: u8 = u8::MAX;

/// Blocks are cut together once they have so many characters. So loops are long, which processors
/// predict well, and the data stays in the first-level cache.
const PORTION: usize = 1024;

/// Memory beyond this is given back, so that one long block does not keep it.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// jieba's tag of a word of the dictionary, such as `nr` for the name of a person; `None` if it is
/// no word.
pub fn tag(word: &str) -> Option<&'static str> {
    Dictionary::get().tag(word)
}

impl Segmenter {
    /// A segmenter that also finds the words of a user.
    ///
    /// ```
    /// use workers::text::segment::{Segmenter, suggest::user_words};
    ///
    /// let cut = |mut segmenter: Segmenter| {
    ///     let mut words = Vec::new();
    ///     segmenter.cut("李小福在创新办", true, |word| words.push(word));
    ///     words
    /// };
    /// assert_eq!(cut(Segmenter::default()), ["李小福", "在", "创新", "办"]);
    /// let words = user_words([("创新办", Some(3))]);
    /// assert_eq!(cut(Segmenter::with(words.into())), ["李小福", "在", "创新办"]);
    /// ```
    pub fn with(words: Arc<UserWords>) -> Segmenter {
        Segmenter { user: Some(words), ..Segmenter::default() }
    }

    /// Calls `found` for every word of any text: what `Jieba::cut` of jieba-rs returns, with its
    /// hidden Markov model for unseen words or without.
    pub fn cut<'t>(&mut self, text: &'t str, hmm: bool, found: impl FnMut(&'t str)) {
        let user = self.user.take();
        self.cut_by(user.as_deref(), text, hmm, found);
        self.user = user;
    }

    /// The same, by the words of `user`.
    pub(in crate::text) fn cut_by<'t>(
        &mut self,
        user: Option<&UserWords>,
        text: &'t str,
        hmm: bool,
        mut found: impl FnMut(&'t str),
    ) {
        self.pieces(
            user,
            text,
            hmm,
            |c| is_han(c) || is_latin(c),
            |piece| match piece {
                Piece::Word(word) => found(word),
                Piece::Gap(mut gap) => {
                    while let Some(c) = gap.chars().next() {
                        let (one, rest) =
                            gap.split_at(if gap.starts_with("\r\n") { 2 } else { c.len_utf8() });
                        found(one);
                        gap = rest;
                    }
                }
            },
        );
    }

    /// Calls `found` for the words in runs of Chinese characters, by dictionary and model, and for
    /// the gaps between runs, in order.
    ///
    /// ```
    /// use workers::text::segment::{Piece::*, Segmenter};
    ///
    /// let mut pieces = Vec::new();
    /// Segmenter::default().han("图书馆, 北京", |piece| pieces.push(piece));
    /// assert_eq!(pieces, [Word("图书馆"), Gap(", "), Word("北京")]);
    /// ```
    pub fn han<'t>(&mut self, text: &'t str, found: impl FnMut(Piece<'t>)) {
        let user = self.user.take();
        self.pieces(user.as_deref(), text, true, is_han, found);
        self.user = user;
    }

    /// Blocks are the longest runs of characters that `is_block` accepts.
    #[inline(always)]
    fn pieces<'t>(
        &mut self,
        user: Option<&UserWords>,
        text: &'t str,
        hmm: bool,
        is_block: impl Fn(char) -> bool,
        mut found: impl FnMut(Piece<'t>),
    ) {
        assert!(u32::try_from(text.len()).is_ok(), "a text of {} bytes", text.len());
        let dictionary = if user.is_some() { Dictionary::absolute() } else { Dictionary::get() };
        let (mut at, mut done) = (0, 0);
        while at < text.len() {
            at += text[at..].find(&is_block).unwrap_or(text.len() - at);
            for c in text[at..].chars().take_while(|c| is_block(*c)) {
                self.codes.push(dictionary.code(c));
                self.starts.push(at as u32);
                at += c.len_utf8();
            }
            self.codes.push(END);
            self.starts.push(at as u32);
            if self.codes.len() >= PORTION || at == text.len() {
                match user {
                    Some(user) => self.find_routes_by(dictionary, user, text),
                    None => self.find_routes(dictionary),
                }
                self.follow_routes(dictionary, user, text, done, hmm, &mut found);
                self.clear();
                done = at;
            }
        }
    }

    fn clear(&mut self) {
        // `sums` is the largest buffer.
        if self.sums.capacity() * size_of::<f64>() + self.unseen.bytes() > KEPT_BYTES_MAX {
            *self = Segmenter::default();
        }
        self.codes.clear();
        self.starts.clear();
    }

    /// Finds the best route through each block, from its end to its beginning. Of equal routes it
    /// takes the one with the longer first word.
    #[inline(never)]
    fn find_routes(&mut self, dictionary: &Dictionary) {
        self.routes(dictionary, None, "");
    }

    /// Finds routes by the `absolute` dictionary and the words of a user. The latter are looked up
    /// in the text, because the dictionary may have no codes for their characters.
    #[inline(never)]
    fn find_routes_by(&mut self, absolute: &Dictionary, user: &UserWords, text: &str) {
        self.routes(absolute, Some(user), text);
    }

    #[inline(always)]
    fn routes(&mut self, dictionary: &Dictionary, user: Option<&UserWords>, text: &str) {
        let n = self.codes.len();
        // A score of the dictionary is relative already.
        let log_total = user.map_or(0.0, |user| user.log_total);
        // Values that a longer text left behind are never read.
        self.sums.resize(self.sums.len().max(n), 0.0);
        self.steps.resize(self.steps.len().max(n), 0);
        let (codes, starts) = (&self.codes[..n], &self.starts[..n]);
        let (sums, steps) = (&mut self.sums[..n], &mut self.steps[..n]);
        let (mut after, mut after_two) = (0.0, 0.0);
        // Pairs are looked up two characters ahead, so that the sums do not wait for memory.
        let mut code = codes[n - 1];
        let (mut next, mut next_but_one) = (END, END);
        let mut before = codes[n.max(2) - 2];
        let mut pair = dictionary.pair(code, next);
        let mut pair_before = dictionary.pair(before, code);
        for at in (0..n).rev() {
            let ahead = codes[at.max(2) - 2];
            let pair_ahead = dictionary.pair(ahead, before);
            let (one, two) =
                (dictionary.single(code) - log_total, dictionary.score(pair) - log_total);
            let (one, two) = (one + after, two + after_two);
            let (mut best, mut step) = (if two > one { two } else { one }, u8::from(two >= one));
            if let Some(user) = user
                && user.may_begin(code, next)
            {
                (best, step) =
                    user.best(dictionary, &codes[at..], &sums[at..], &text[starts[at] as usize..]);
            } else if pair.may_precede(next_but_one) {
                let (mut place, mut end) = (dictionary.list(pair, next_but_one), at + 2);
                while let Some((score, items)) = dictionary.item(place, codes[end]) {
                    end += 1;
                    let sum = score - log_total + sums[end];
                    if sum >= best {
                        (best, step) = (sum, (end - at - 1) as u8);
                    }
                    if items == 0 {
                        break;
                    }
                    place = items;
                }
            }
            if best == f64::NEG_INFINITY {
                (best, step) = if code == END {
                    (0.0, END_STEP)
                } else {
                    (dictionary.alone - log_total + after, 0)
                };
            }
            (sums[at], steps[at]) = (best, step);
            (after, after_two) = (best, after);
            (next_but_one, next, code, before) = (next, code, before, ahead);
            (pair, pair_before) = (pair_before, pair_ahead);
        }
    }

    /// Calls `found` for the words of the blocks, and for the gaps from byte `done` on.
    #[inline(always)]
    fn follow_routes<'t>(
        &mut self,
        dictionary: &Dictionary,
        user: Option<&UserWords>,
        text: &'t str,
        done: usize,
        hmm: bool,
        found: &mut impl FnMut(Piece<'t>),
    ) {
        let Segmenter { codes, starts, steps, unseen, .. } = self;
        let (n, codes, starts) = (codes.len(), &codes[..], &starts[..]);
        let steps = &steps[..n];
        let span = |from: usize, to: usize| &text[starts[from] as usize..starts[to] as usize];
        let joins = |at: usize| {
            steps[at] == 0 && (hmm || text.as_bytes()[starts[at] as usize].is_ascii_alphanumeric())
        };
        let first = starts[0] as usize;
        if done < first {
            found(Piece::Gap(&text[done..first]));
        }
        let mut at = 0;
        while at < n {
            if steps[at] == END_STEP {
                if at + 1 < n && starts[at] < starts[at + 1] {
                    found(Piece::Gap(span(at, at + 1)));
                }
                at += 1;
                continue;
            }
            let end = at + usize::from(steps[at]) + 1;
            if steps[at] | steps[end] != 0 || !joins(at) {
                found(Piece::Word(span(at, end)));
                at = end;
                continue;
            }
            // Two or more characters that the dictionary leaves alone.
            let start = at;
            while joins(at) {
                at += 1;
            }
            if !hmm || at == start + 1 {
                found(Piece::Word(span(start, at)));
            } else if dictionary.is_word(&codes[start..at])
                || user.is_some_and(|user| user.has(span(start, at)))
            {
                (start..at).for_each(|at| found(Piece::Word(span(at, at + 1))));
            } else {
                cut_unseen(dictionary, &codes[start..at], unseen, |from, to, is_modelled| {
                    let span = span(start + from, start + to);
                    if is_modelled {
                        found(Piece::Word(span))
                    } else {
                        each_plain(span, |word| found(Piece::Word(word)))
                    }
                });
            }
        }
    }
}

/// Cuts characters that the dictionary leaves as single characters, by the model as far as it knows
/// them. Calls `found` with the beginning and the end of each part, and whether it is a word of the
/// model.
fn cut_unseen(
    dictionary: &Dictionary,
    codes: &[Code],
    unseen: &mut Unseen,
    mut found: impl FnMut(usize, usize, bool),
) {
    let mut at = 0;
    for part in codes.chunk_by(|a, b| dictionary.is_modelled(*a) == dictionary.is_modelled(*b)) {
        if dictionary.is_modelled(part[0]) {
            unseen.words(dictionary, part, |word| found(at + word.start, at + word.end, true));
        } else {
            found(at, at + part.len(), false);
        }
        at += part.len();
    }
}

/// Cuts what the model does not know. A word is letters and digits, joined by single dots, dashes
/// and underscores, perhaps with a percent sign behind them. All text between two such words is one
/// word, too.
fn each_plain<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let is_plain = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let (mut at, mut start) = (0, 0);
    while at < bytes.len() {
        if !is_plain(at) {
            at += 1;
            continue;
        }
        if start < at {
            found(&text[start..at]);
        }
        start = at;
        while is_plain(at) || matches!(bytes.get(at), Some(b'.' | b'_' | b'-')) && is_plain(at + 1)
        {
            at += 1;
        }
        at += usize::from(bytes.get(at) == Some(&b'%'));
        found(&text[start..at]);
        start = at;
    }
    if start < at {
        found(&text[start..]);
    }
}

/// The Chinese characters that jieba-rs cuts into words. `characters::is_han` has a few more.
#[inline(always)]
fn is_han(c: char) -> bool {
    // Almost all characters are in the first range.
    matches!(c, '\u{4e00}'..='\u{9fff}')
        || matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2ebef}' | '\u{2f800}'..='\u{2fa1f}')
}

/// The other characters that words of jieba-rs consist of.
fn is_latin(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
}
