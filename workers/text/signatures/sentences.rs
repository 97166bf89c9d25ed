//! Sentences: keys that two texts share if one of their longest sentences is equal, or if they are
//! short and differ in one or two letters.
//!
//! A copy of an article on another site has other headlines, notes or advertisements around the
//! same sentences. In a short text they are a large part, so that few shingles are shared. But most
//! sentences stay whole. To find copies by hashes of sentences is the method of Brin, Davis,
//! Garcia-Molina: "Copy detection mechanisms for digital documents", SIGMOD 1995. We differ in five
//! points:
//!
//! - Only the longest sentences of a text count, because common sentences ("all rights reserved")
//!   are short. A sentence that is a small part of its text does not count, because it says nothing
//!   of the rest.
//! - A sentence may end at a space between a Chinese character and a number or a Latin word, for
//!   example behind a line with a clock. There the parts count as well as the whole.
//! - The tail of a text counts as a sentence, too, if it is a large part of it: an advertisement
//!   may stand within the only sentence.
//! - A key contains a partition of lengths (`partitions.rs`), because a text that is much longer is
//!   no copy.
//! - Texts of more than `letters_max` letters have no keys: there a headline is a small part, and
//!   MinHash finds the pair.
//!
//! A short text is one sentence, which any edit changes, and has too few shingles for MinHash. So
//! texts of 8 to 31 letters are cut into one more part than the number of edits to be found. One
//! part then stays equal, and moves by at most as many places as there are edits (Li, Deng, Wang,
//! Feng: "Pass-Join: a partition-based method for similarity joins", PVLDB 5(3), 2011). A key is a
//! part, its number and the length of the text that was cut. Each text has the keys of its own
//! parts, and the keys that it would share as the longer text of a pair (the paper's
//! multi-match-aware selection of substrings). So every pair of such texts with an edit distance of
//! 1 is found, or of 2 if the shorter text has 12 letters or more. The tests compare with all
//! pairs.

use crate::text::characters::{is_han, is_letter};
use crate::text::hash::chain;
use crate::text::letters::Letters;
use crate::text::signatures::partitions::Partitions;
use crate::text::signatures::text::{KEYS_MAX, Text};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 3;

/// The most sentences of a text that may have keys.
const SENTENCES_MAX: usize = 8;
/// The fewest bytes of the letters of a sentence with a key: 8 Chinese characters or 24 Latin
/// letters, which say about as much.
const SENTENCE_BYTES_MIN: usize = 24;
/// A sentence with a key is at least this part of its text.
const TEXT_PER_SENTENCE: usize = 8;
/// The lesser of two lengths is at least this part of the greater, in percent. A headline half as
/// long as the text leaves 67.
const LENGTHS_PERCENT: u64 = 60;
/// The most letters of a text that is cut into parts. In a longer text MinHash finds two edits.
const PARTS_LETTERS: usize = 31;
/// The bytes of the letters of a text's tail: 20 Chinese characters. Like a sentence, the tail has
/// to be a large part of its text, so only texts of up to 160 such characters have the key of a
/// tail.
const TAIL_BYTES: usize = 60;
/// The bit that tells keys of tails from keys of sentences.
const TAIL: u64 = 1 << 32;

/// A `sentences` entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The longest sentences of a text that have keys, 1 to 8. Default: 4.
    pub sentences: usize,
    /// Longer texts have no keys, in letters. Default: 1000.
    pub letters_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { sentences: 4, letters_max: 1000 }
    }
}

impl Options {
    /// Checks the values; the error names the key.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=SENTENCES_MAX).contains(&self.sentences) {
            return Err(format!(
                "sentences: {} is not within 1 to {SENTENCES_MAX}",
                self.sentences
            ));
        }
        Ok(())
    }
}

/// Makes keys as the options say.
///
/// ```
/// use workers::text::signatures::sentences::{Options, Sentences};
/// use workers::text::signatures::{Shinglings, Text};
///
/// let mut shinglings = Shinglings::default();
/// let mut maker = Sentences::new(&Options::default());
/// let mut keys = |normal: &str| {
///     let mut keys = Vec::new();
///     maker.keys(&Text::new(normal, &[], &mut shinglings), &mut keys);
///     keys
/// };
/// let text = "the council of the village decided to mend the old bridge.";
/// let headline = format!("a bridge will be mended. {text}");
/// assert!(keys(text).iter().any(|key| keys(&headline).contains(key)));
/// // One letter of a short text.
/// assert!(keys("see you at noon").iter().any(|key| keys("see you at moon").contains(key)));
/// ```
#[derive(Clone, Debug)]
pub struct Sentences {
    options: Options,
    partitions: Arc<Partitions>,
    /// Bytes and hash of each sentence.
    found: Vec<(usize, u64)>,
    letters: Vec<u64>,
}

impl Sentences {
    /// A maker of keys by checked `options`.
    pub fn new(options: &Options) -> Sentences {
        const {
            assert!(
                2 * (SENTENCES_MAX + 1) + 15 <= KEYS_MAX,
                "two keys a sentence, and those of parts"
            )
        };
        Sentences {
            options: options.clone(),
            partitions: Arc::new(Partitions::new(LENGTHS_PERCENT)),
            found: Vec::new(),
            letters: Vec::new(),
        }
    }

    /// Appends the keys of `text`.
    pub fn keys(&mut self, text: &Text<'_>, out: &mut Vec<u64>) {
        let letters = text.letters.count();
        if letters == 0 || letters > self.options.letters_max {
            return;
        }
        self.find(text.normal, text.letters);
        let all = text.letters.together();
        let tail = tail(all)
            .filter(|tail| letters > PARTS_LETTERS && tail.len() * TEXT_PER_SENTENCE >= all.len());
        let tail = tail.map(|tail| xxh3_64(tail.as_bytes()));
        let partitions = self.partitions.of(letters as u64).into_iter().flatten();
        for (partition, _) in partitions {
            let partition = partition as u64;
            out.extend(self.found.iter().map(|(_, hash)| chain(partition, [*hash])));
            out.extend(tail.map(|hash| chain(TAIL | partition, [hash])));
        }
        // A partner may be longer by as many letters as there are edits.
        if letters <= PARTS_LETTERS {
            self.letters.clear();
            self.letters.extend(all.chars().map(|c| u64::from(u32::from(c))));
            parts(&self.letters, out);
        }
    }

    /// Leaves the sentences of `normal` that have keys in `self.found`.
    fn find(&mut self, normal: &str, letters: &Letters) {
        self.found.clear();
        let all = letters.together().as_bytes();
        let mut add = |from: usize, end: usize| {
            let sentence = &all[from..end];
            if sentence.len() >= SENTENCE_BYTES_MIN {
                self.found.push((sentence.len(), xxh3_64(sentence)));
            }
        };
        // The beginning of the sentence, and of its last part.
        let (mut start, mut part) = (0, 0);
        let gaps =
            letters.gaps().iter().map(|gap| (end_at(normal, gap.place.clone()), gap.letter_bytes));
        for (end, at) in gaps.chain([(End::Sure, all.len())]) {
            if end == End::Perhaps || end == End::Sure && part > start {
                add(part, at);
                part = at;
            }
            if end == End::Sure {
                add(start, at);
                (start, part) = (at, at);
            }
        }
        self.found.retain(|(length, _)| length * TEXT_PER_SENTENCE >= all.len());
        self.found.sort_unstable_by(|a, b| b.cmp(a));
        self.found.dedup();
        self.found.truncate(self.options.sentences);
    }
}

/// The last letters of a text, of [`TAIL_BYTES`] or a few bytes more; `None` if it has fewer.
fn tail(all: &str) -> Option<&str> {
    let from = (0..=all.len().checked_sub(TAIL_BYTES)?).rev().find(|at| all.is_char_boundary(*at));
    from.map(|from| &all[from..])
}

/// Whether a sentence ends between two letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    No,
    Perhaps,
    Sure,
}

/// Whether one of the marks and spaces at `place` ends a sentence.
fn end_at(normal: &str, place: Range<usize>) -> End {
    let mut before = normal[..place.start].chars().next_back();
    let mut rest = normal[place.start..].chars();
    let mut end = End::No;
    while end < End::Sure
        && normal.len() - rest.as_str().len() < place.end
        && let Some(c) = rest.next()
    {
        end = end.max(end_by(before, c, rest.clone().next()));
        before = Some(c);
    }
    end
}

/// Whether the mark or space `c` ends a sentence.
///
/// The normal form has a space for a line break. Chinese text has other spaces only beside Latin
/// words and numbers.
fn end_by(before: Option<char>, c: char, after: Option<char>) -> End {
    let inside = |c: Option<char>| c.is_some_and(|c| is_letter(c) && !is_han(c));
    let is_sure = match c {
        '。' | '!' | '?' | ';' | '|' => true,
        // Of Arabic, Urdu, Hindi and its neighbours, Burmese, Khmer, Tibetan, Ethiopic, Armenian.
        '\u{61b}' | '\u{61f}' | '\u{6d4}' | '\u{964}' | '\u{965}' | '\u{104b}' | '\u{17d4}'
        | '\u{f0d}' | '\u{1362}' | '\u{589}' => true,
        '.' => after.is_none_or(|c| c == ' ' || is_han(c)),
        ' ' => !inside(before) && !inside(after),
        _ => false,
    };
    let meet = |a: Option<char>, b: Option<char>| inside(a) && b.is_some_and(is_han);
    match c {
        _ if is_sure => End::Sure,
        ' ' if meet(before, after) || meet(after, before) => End::Perhaps,
        _ => End::No,
    }
}

/// The number of edits to be found where the shorter text has `letters` letters.
fn edits(letters: usize) -> usize {
    match letters {
        0..8 => 0,
        8..12 => 1,
        12.. => 2,
    }
}

/// Appends the keys of a short text's parts, and of the parts of texts up to two letters shorter
/// that it would share.
fn parts(letters: &[u64], out: &mut Vec<u64>) {
    let n = letters.len();
    for cut in n.saturating_sub(2)..=n {
        let (longer, edits) = (n - cut, edits(cut));
        if longer > edits || edits == 0 {
            continue;
        }
        for number in 0..=edits {
            let (from, to) = (cut * number / (edits + 1), cut * (number + 1) / (edits + 1));
            // There are up to `number` edits before the part and up to `left` behind it; otherwise
            // another part is equal.
            let left = edits - number;
            let first = from.saturating_sub(number).max((from + longer).saturating_sub(left));
            let last = (from + number).min(from + longer + left).min(n - (to - from));
            for at in first..=last {
                let part = letters[at..at + to - from].iter().copied();
                out.push(chain(1 << 32 | (cut << 8 | number) as u64, part));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::text::signatures::tests::keys_of;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn keys(normal: &str) -> Vec<u64> {
        let mut maker = Sentences::new(&Options::default());
        keys_of(normal, &[], |text, out| maker.keys(text, out))
    }

    fn meet(a: &str, b: &str) -> bool {
        let (a, b) = (keys(a), keys(b));
        a.iter().any(|key| b.contains(key))
    }

    /// The edit distance, by the quadratic table.
    fn distance(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut corner = i;
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = (corner + usize::from(x != y)).min(above + 1).min(row[j] + 1);
                corner = above;
            }
        }
        row[b.len()]
    }

    /// Whether the parts of two texts promise a common key.
    fn promised(a: &[char], b: &[char]) -> bool {
        let (shorter, longer) = (a.len().min(b.len()), a.len().max(b.len()));
        (8..=PARTS_LETTERS).contains(&longer) && distance(a, b) <= edits(shorter)
    }

    fn share_part(a: &[char], b: &[char]) -> bool {
        let of = |text: &[char]| {
            let (letters, mut out): (Vec<u64>, _) =
                (text.iter().map(|c| u64::from(u32::from(*c))).collect(), vec![]);
            parts(&letters, &mut out);
            out
        };
        let (a, b) = (of(a), of(b));
        a.iter().any(|key| b.contains(key))
    }

    /// Chinese sentences of 8 to 25 characters.
    fn sentence(random: &mut Random) -> String {
        let n = 8 + random.below(18u32);
        let letters = (0..n).filter_map(|_| char::from_u32(0x4e00 + random.below(3000u32)));
        letters.chain(['。']).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// Every pair of short texts within the edit distance shares the key of a part. With so few
        /// different letters, parts are also equal by chance.
        #[test]
        fn edits_are_found(
            text in prop::collection::vec(prop::sample::select(&['a', 'b', '一', '二'][..]), 8..32),
            edits in prop::collection::vec((0usize..40, 0usize..3, prop::sample::select(&['a', '一', '三'][..])), 1..3),
        ) {
            let mut other = text.clone();
            for (at, what, letter) in edits {
                let at = at % (other.len() + 1);
                match what {
                    0 => other.insert(at, letter),
                    1 if at < other.len() => other[at] = letter,
                    _ if at < other.len() => drop(other.remove(at)),
                    _ => {}
                }
            }
            if promised(&text, &other) {
                prop_assert!(share_part(&text, &other), "{text:?} {other:?}");
                prop_assert!(share_part(&other, &text));
            }
        }

        /// A text of up to three sentences meets its copy with passages in front, behind and
        /// between, as long as two thirds of it.
        #[test]
        fn passages_are_passed_over(seed in any::<u64>()) {
            let mut random = Random(seed);
            let own: Vec<String> = (0..1 + random.below(3usize)).map(|_| sentence(&mut random)).collect();
            let length = |sentences: &[String]| sentences.iter().map(|one| one.chars().count() - 1).sum::<usize>();
            let (mut with, mut put) = (own.clone(), Vec::new());
            for _ in 0..3 {
                let passage = sentence(&mut random);
                if 3 * (length(&put) + passage.chars().count()) <= 2 * length(&own) {
                    with.insert(random.below(with.len() + 1), passage.clone());
                    put.push(passage);
                }
            }
            let (text, copy) = (own.concat(), with.join(" "));
            prop_assert!(meet(&text, &copy), "{text} {copy}");
        }

        /// A text of one sentence meets its copy with a passage inside, as long as a third of it:
        /// what is behind the passage is their common tail.
        #[test]
        fn tails_are_found(seed in any::<u64>()) {
            let mut random = Random(seed);
            let letters = PARTS_LETTERS + 17 + random.below(60usize);
            let han = |random: &mut Random| char::from_u32(0x4e00 + random.below(3000u32)).expect("one");
            let text: Vec<char> = (0..letters).map(|_| han(&mut random)).collect();
            let passage: Vec<char> = (0..letters / 3).map(|_| han(&mut random)).collect();
            let (front, behind) = text.split_at(random.below(letters - 20));
            let copy = [front, &passage, behind].concat();
            let [text, copy]: [String; 2] = [&text, &copy].map(|chars| chars.iter().collect());
            prop_assert!(meet(&text, &copy), "{text} {copy}");
        }
    }

    /// The sentences of a text, letter by letter.
    fn plain(normal: &str) -> Vec<(usize, u64)> {
        let chars: Vec<char> = normal.chars().collect();
        // The letters of each part, and the number of the sentence that it is a part of.
        let (mut parts, mut bytes) = (vec![(0, String::new())], 0);
        for (at, &c) in chars.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| chars[before]);
            let (sentence, part) = parts.last_mut().expect("one");
            if is_letter(c) {
                bytes += c.len_utf8();
                part.push(c);
                continue;
            }
            let sentence = *sentence;
            match end_by(before, c, chars.get(at + 1).copied()) {
                End::No => {}
                End::Perhaps => parts.push((sentence, String::new())),
                End::Sure => parts.push((sentence + 1, String::new())),
            }
        }
        let whole = parts.chunk_by(|(a, _), (b, _)| a == b);
        let whole = whole.map(|parts| parts.iter().map(|(_, part)| &**part).collect());
        let mut sentences: Vec<String> = whole.collect();
        sentences.extend(parts.into_iter().map(|(_, part)| part));
        sentences.retain(|sentence| {
            sentence.len() >= SENTENCE_BYTES_MIN && sentence.len() * TEXT_PER_SENTENCE >= bytes
        });
        let longest = sentences.iter().map(|one| (one.len(), xxh3_64(one.as_bytes())));
        let longest: BTreeSet<(usize, u64)> = longest.collect();
        longest.into_iter().rev().take(Options::default().sentences).collect()
    }

    proptest! {
        /// The sentences between the gaps of a text are those that are found by reading it letter
        /// by letter.
        #[test]
        fn sentences_are_plain(
            text in "([一-三]{1,12}|[a-c1-3]{1,30}|[ 。!?;|.,，]{1,3}|\\PC){0,16}"
        ) {
            let mut maker = Sentences::new(&Options::default());
            maker.find(&text, &Letters::of(&text));
            prop_assert_eq!(maker.found, plain(&text));
        }
    }

    /// The parts find every pair of 400 short texts within the edit distance, as brute force does.
    #[test]
    fn brute_force_finds_no_more() {
        let mut random = Random(5);
        let mut texts: Vec<Vec<char>> = Vec::new();
        for _ in 0..400 {
            let mut next = match texts.last() {
                Some(last) if random.below(5u32) > 0 => last.clone(),
                _ => (0..8 + random.below(24u32))
                    .map(|_| ['甲', '乙', '丙', 'x', 'y'][random.below(5usize)])
                    .collect(),
            };
            for _ in 0..random.below(3u32) {
                let at = random.below(next.len());
                match random.below(3u32) {
                    0 => next[at] = '丁',
                    1 if next.len() > 8 => drop(next.remove(at)),
                    _ => next.insert(at, '戊'),
                }
            }
            texts.push(next);
        }
        let mut pairs = 0;
        for (at, a) in texts.iter().enumerate() {
            for b in &texts[..at] {
                if promised(a, b) {
                    pairs += 1;
                    assert!(share_part(a, b), "{a:?} {b:?}");
                }
            }
        }
        assert!(pairs > 300, "{pairs} pairs are too few for a test");
    }

    /// A common sentence makes no pair if the lengths of the texts differ too much, or if the
    /// sentence is short or a small part of its text.
    #[test]
    fn what_says_little_has_no_key() {
        let mut random = Random(3);
        let [one, two, three, four] =
            [(); 4].map(|()| sentence(&mut random) + &sentence(&mut random));
        assert!(meet(&one, &format!("{one}{}", &two[..24])));
        assert!(!meet(&one, &format!("{one}{two}{three}")), "of other lengths");
        assert!(!meet(&format!("{two}版权所有。"), &format!("{three}版权所有。")));
        let many =
            |seed: u64| -> String { (0..9).map(|_| sentence(&mut Random(seed)) + &four).collect() };
        assert!(keys(&many(1)).len() <= 4 * 2);
        let long = |seed: u64| -> String {
            let mut random = Random(seed);
            (0..12)
                .map(|_| sentence(&mut random))
                .chain(["春夏秋冬四季分明的地方。".into()])
                .collect()
        };
        assert!(!meet(&long(1), &long(2)), "a small part");
    }

    /// Marks, line breaks and spaces end sentences, and a full stop in a number does not. A space
    /// beside a Latin word or a number may.
    #[test]
    fn ends_of_sentences() {
        let found = |normal: &str| {
            let mut maker = Sentences::new(&Options::default());
            maker.find(normal, &Letters::of(normal));
            maker.found.len()
        };
        assert_eq!(found("也门和谈仍在进行民众期盼 央视网消息也门代表团的谈判"), 2);
        assert_eq!(found("油价上涨百分之3.5, 是今年 2 月以来的最大涨幅"), 2);
        assert_eq!(found("访问数:80213 当前时间:10:32 街上的老手艺人和他们的故事"), 2);
        assert_eq!(found("the bridge is closed until may. the ferry runs every hour till ten"), 2);
        assert_eq!(found("今天在北京举行! 代表参加会议?"), 0, "7 characters and 6");
    }

    /// Texts of more letters have no keys, and a text without letters has none.
    #[test]
    fn limits() {
        let text = sentence(&mut Random(1));
        let letters = text.chars().count() - 1;
        let count = |letters_max| {
            let mut maker = Sentences::new(&Options { letters_max, ..Options::default() });
            keys_of(&text, &[], |text, out| maker.keys(text, out)).len()
        };
        assert!(count(letters) > 0 && count(letters - 1) == 0);
        assert!(keys("!? 。").is_empty() && keys("").is_empty());
    }
}
