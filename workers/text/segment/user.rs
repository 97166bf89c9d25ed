//! Words that a user adds to the dictionary, as jieba-rs adds them.
//!
//! They are a tree of characters in addition to the tables of the dictionary, which do not change.
//! If both have a word, the user's frequency counts. A filter on the first two characters says
//! where a word of the user may begin; only there the tree is searched.

use crate::text::hash::{BuildAsIs, finish};
use crate::text::ln::ln;
use crate::text::segment::dictionary::Dictionary;
use crate::text::segment::layout::{CODES, Code, END};
use std::collections::HashMap;
use std::fmt;

/// The most characters of a word.
pub const WORD_CHARS_MAX: usize = 128;
/// The greatest frequency of a word.
pub const FREQUENCY_MAX: u64 = 1_000_000_000;

/// The words of a user, with frequencies. They do not change once they are complete, so that many
/// threads can use them.
pub struct UserWords {
    /// By the code of a first character: [`ALONE`] and a bit for second characters.
    begins: Box<[u64]>,
    /// By node and character, hashed: the number of the next node.
    next: HashMap<u64, u32, BuildAsIs>,
    /// The nodes; the first is the root.
    nodes: Vec<Node>,
    /// The sum of the frequencies of all words.
    total: u64,
    /// Its logarithm.
    pub(super) log_total: f64,
}

/// What is known of the characters that lead to a node.
struct Node {
    /// Their frequency as a word; 0 if they are no word.
    frequency: u64,
    /// Its logarithm; negative infinity if they are no word.
    log: f64,
}

const NO_WORD: Node = Node { frequency: 0, log: f64::NEG_INFINITY };

/// The bit of words of one character.
const ALONE: u64 = 1;

/// The bit of words that go on with a character.
#[inline(always)]
fn bit(second: Code) -> u64 {
    1 << (1 + second % 63)
}

impl UserWords {
    /// No words.
    pub(super) fn none() -> UserWords {
        let total = Dictionary::total();
        UserWords {
            begins: vec![0; CODES].into(),
            next: HashMap::default(),
            nodes: vec![NO_WORD],
            total,
            log_total: ln(total),
        }
    }

    /// The sum of the frequencies of all words, including those of the dictionary.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The frequency of `word` in the dictionary with these words; `None` if it is no word.
    pub fn frequency(&self, word: &str) -> Option<u64> {
        let own = self.node(word).map(|node| self.nodes[node as usize].frequency);
        own.filter(|frequency| *frequency > 0).or_else(|| Dictionary::get().frequency(word))
    }

    /// Adds `word`, or gives it another frequency.
    pub(super) fn set(&mut self, word: &str, frequency: u64) {
        let chars = word.chars().count();
        assert!(
            (1..=WORD_CHARS_MAX).contains(&chars) && frequency > 0,
            "{word:?} of frequency {frequency}"
        );
        self.total = self.total - self.frequency(word).unwrap_or(0) + frequency;
        self.log_total = ln(self.total);
        let mut codes = word.chars().map(|c| Dictionary::get().code(c));
        let first = codes.next().expect("a character");
        self.begins[usize::from(first)] |= codes.next().map_or(ALONE, bit);
        let mut node = 0;
        for c in word.chars() {
            let new = self.nodes.len() as u32;
            node = *self.next.entry(key(node, c)).or_insert(new);
            if node == new {
                self.nodes.push(NO_WORD);
            }
        }
        self.nodes[node as usize] = Node { frequency, log: ln(frequency) };
    }

    fn step(&self, node: u32, c: char) -> Option<u32> {
        self.next.get(&key(node, c)).copied()
    }

    /// The node of these characters, if a word begins with them.
    fn node(&self, characters: &str) -> Option<u32> {
        characters.chars().try_fold(0, |node, c| self.step(node, c))
    }

    /// Whether the user has `word`.
    pub(super) fn has(&self, word: &str) -> bool {
        self.node(word).is_some_and(|node| self.nodes[node as usize].frequency > 0)
    }

    /// Whether a word of the user may begin with two characters.
    #[inline(always)]
    pub(super) fn may_begin(&self, first: Code, second: Code) -> bool {
        self.begins[usize::from(first) % CODES] & (ALONE | bit(second)) != 0
    }

    /// The best route from a character on, by the words of the user and those of the `absolute`
    /// dictionary: its sum of scores, and the number of characters of its first word, less one. If
    /// no word begins there, the sum is negative infinity.
    ///
    /// `codes`, `sums` and `text` begin with the character; the sums after it are known.
    pub(super) fn best(
        &self,
        absolute: &Dictionary,
        codes: &[Code],
        sums: &[f64],
        text: &str,
    ) -> (f64, u8) {
        let (mut best, mut step) = (f64::NEG_INFINITY, 0);
        let (mut node, mut items) = (Some(0), 0);
        for (more, (c, code)) in
            text.chars().zip(codes).enumerate().take_while(|(_, (_, code))| **code != END)
        {
            let log = match more {
                0 => absolute.single(*code),
                1 => {
                    let pair = absolute.pair(codes[0], *code);
                    // The end of the block stands behind its last character.
                    items = absolute.list(pair, codes[2]);
                    absolute.score(pair)
                }
                _ => {
                    let found = (items > 0).then(|| absolute.item(items, *code)).flatten();
                    let (log, next) = found.unwrap_or((f64::NEG_INFINITY, 0));
                    items = next;
                    log
                }
            };
            node = node.and_then(|node| self.step(node, c));
            let own = node.map(|node| &self.nodes[node as usize]).filter(|node| node.frequency > 0);
            let sum = own.map_or(log, |own| own.log) - self.log_total + sums[more + 1];
            if sum >= best {
                (best, step) = (sum, more as u8);
            }
            if more > 0 && items == 0 && node.is_none() {
                break;
            }
        }
        (best, step)
    }
}

/// The key of `c` after `node`.
fn key(node: u32, c: char) -> u64 {
    finish(u64::from(node) << 32 | u64::from(c))
}

impl fmt::Debug for UserWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserWords({} nodes, total {})", self.nodes.len(), self.total)
    }
}
