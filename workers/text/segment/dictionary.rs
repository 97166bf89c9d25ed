//! The dictionary of Chinese words and the model of unseen words, those of jieba-rs.
//!
//! The tables are a file within the program and are used in place: nothing is loaded, and processes
//! of one machine share the memory. `examples/segment_words.rs` makes the file. Scores are kept and
//! not computed, because a library's logarithm may differ between machines in its last digit.

use crate::text::ln::ln;
use crate::text::segment::layout::*;
use std::sync::OnceLock;

/// The tables.
pub struct Dictionary {
    /// The codes of the characters in [`HAN`].
    han: &'static [Code; HAN_COUNT],
    /// Other characters, ascending, and their codes.
    others: &'static [[u32; 2]],
    /// The score of a character as a word, by code.
    singles: &'static [f64; CODES],
    /// The score of a character with which no word begins.
    pub alone: f64,
    /// Scores by number: logarithms of relative frequencies.
    scores: &'static [f64; SCORES],
    rows: &'static [u64; ROWS],
    pairs: &'static [u64],
    items: &'static [u32],
    /// The model: logarithms of the probability that a word begins in a state.
    pub initial: [f64; STATES],
    /// The logarithm of the probability of each next state, by state.
    pub transitions: [[f64; STATES]; STATES],
    /// The logarithm of the probability of a character in each state, by code from [`KNOWN`].
    emissions: &'static [[f64; STATES]],
    modelled_max: Code,
}

/// The largest numbers of the file have eight bytes.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("words.bin"));

/// The tags of words: their names, and for each place in the tables the number of the tag of the
/// word that ends there. 0 if no word ends there.
struct Tags {
    names: &'static [[u8; TAG_BYTES]; TAGS],
    singles: &'static [u8; CODES],
    pairs: &'static [u8],
    items: &'static [u8],
}

impl Tags {
    fn get() -> &'static Tags {
        static TAGS: OnceLock<Tags> = OnceLock::new();
        TAGS.get_or_init(|| {
            let mut tables = Tables(include_bytes!("tags.bin"));
            let words = Dictionary::get();
            Tags {
                names: tables.next_array(),
                singles: tables.next_array(),
                pairs: tables.next(words.pairs.len()),
                items: tables.next(words.items.len()),
            }
        })
    }

    fn name(&self, number: u8) -> &'static str {
        let name = &self.names[usize::from(number)];
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(TAG_BYTES);
        str::from_utf8(&name[..length]).expect("ASCII")
    }
}

/// Where a word ends in the tables.
enum Place {
    /// It is the single character of this code.
    Single(Code),
    /// It is the pair of this index.
    Pair(usize),
    /// It ends with the item of this index.
    Item(usize),
}

/// Cuts a file into tables.
struct Tables(&'static [u8]);

impl Tables {
    /// The next `count` values.
    fn next<T: bytemuck::AnyBitPattern>(&mut self, count: usize) -> &'static [T] {
        let (table, rest) = self.0.split_at(count * size_of::<T>());
        self.0 = rest;
        bytemuck::cast_slice(table)
    }

    fn next_array<T: bytemuck::AnyBitPattern, const N: usize>(&mut self) -> &'static [T; N] {
        self.next(N).try_into().expect("as many")
    }
}

impl Dictionary {
    /// The only dictionary of the program.
    pub fn get() -> &'static Dictionary {
        static DICTIONARY: OnceLock<Dictionary> = OnceLock::new();
        DICTIONARY.get_or_init(|| Dictionary::of(&FILE.0))
    }

    /// The same with logarithms of absolute frequencies, because words that are added change the
    /// total to which frequencies are relative.
    pub fn absolute() -> &'static Dictionary {
        static ABSOLUTE: OnceLock<Dictionary> = OnceLock::new();
        ABSOLUTE.get_or_init(|| {
            let relative = Dictionary::get();
            let absolute = |score: &f64| match *score {
                f64::NEG_INFINITY => f64::NEG_INFINITY,
                score => ln(relative.frequency_of(score)),
            };
            let all = |scores: &[f64]| -> &'static [f64] {
                scores.iter().map(absolute).collect::<Vec<_>>().leak()
            };
            Dictionary {
                alone: 0.0,
                scores: all(relative.scores).try_into().expect("as many"),
                singles: all(relative.singles).try_into().expect("as many"),
                ..*relative
            }
        })
    }

    /// The sum of all frequencies.
    pub fn total() -> u64 {
        Dictionary::get().frequency_of(0.0)
    }

    /// The frequency of a word with this score. Rounding makes it the same on all machines.
    fn frequency_of(&self, score: f64) -> u64 {
        (score - self.alone).exp().round() as u64
    }

    /// The frequency of `word`; `None` if it is no word.
    pub fn frequency(&self, word: &str) -> Option<u64> {
        self.word(&self.codes(word)).map(|(score, _)| self.frequency_of(score))
    }

    fn of(file: &'static [u8]) -> Dictionary {
        let mut tables = Tables(file);
        let [magic, others, emissions, pairs, items, modelled_max, ..] =
            *tables.next_array::<u32, HEADER>();
        assert_eq!(magic, MAGIC, "words.bin is for a little-endian machine");
        Dictionary {
            alone: tables.next_array::<f64, 1>()[0],
            initial: *tables.next_array(),
            transitions: *tables.next_array(),
            scores: tables.next_array(),
            singles: tables.next_array(),
            emissions: tables.next(emissions as usize),
            rows: tables.next_array(),
            pairs: tables.next(pairs as usize),
            others: tables.next(others as usize),
            items: tables.next(items as usize),
            han: tables.next_array(),
            modelled_max: modelled_max as Code,
        }
    }

    /// The code of `c`.
    #[inline(always)]
    pub fn code(&self, c: char) -> Code {
        match self.han.get((c as usize).wrapping_sub(HAN.0 as usize)) {
            Some(code) => *code,
            None => self.code_of_other(c),
        }
    }

    #[cold]
    fn code_of_other(&self, c: char) -> Code {
        let at = self.others.binary_search_by_key(&u32::from(c), |other| other[0]);
        at.map_or(UNKNOWN, |at| self.others[at][1] as Code)
    }

    /// The score of a character as a word; negative infinity if it is no word.
    #[inline(always)]
    pub fn single(&self, code: Code) -> f64 {
        self.singles[usize::from(code) % CODES]
    }

    /// The words that begin with two characters.
    #[inline(always)]
    pub fn pair(&self, first: Code, second: Code) -> Pair {
        self.placed_pair(first, second).1
    }

    /// The same, with its place.
    #[inline(always)]
    fn placed_pair(&self, first: Code, second: Code) -> (usize, Pair) {
        let (row, column) = row_and_column(first, second);
        let place = WordRow(self.rows[row]).place(column);
        (place, Pair(self.pairs.get(place).copied().unwrap_or(0)).of_row(row))
    }

    /// The score of two characters as a word; negative infinity if they are no word.
    #[inline(always)]
    pub fn score(&self, pair: Pair) -> f64 {
        self.scores[pair.score()]
    }

    /// The place of the list in which `third` stands if it follows a pair; 0 if it does not.
    #[inline(always)]
    pub fn list(&self, pair: Pair, third: Code) -> usize {
        if pair.may_precede(third) { self.items[pair.list(third)] as usize } else { 0 }
    }

    /// The item of `code` in the list at `place`: the score of the word that it ends, and the place
    /// of the list after it, or 0.
    #[inline]
    pub fn item(&self, place: usize, code: Code) -> Option<(f64, usize)> {
        self.placed_item(place, code).map(|(_, score, next)| (score, next))
    }

    /// The same, with its place.
    #[inline]
    fn placed_item(&self, mut place: usize, code: Code) -> Option<(usize, f64, usize)> {
        loop {
            let item = Item(self.items[place]);
            if item.code() >= code {
                let next = if item.continues() { self.items[place + 1] as usize } else { 0 };
                return (item.code() == code).then(|| (place, self.scores[item.score()], next));
            }
            if item.is_last() {
                return None;
            }
            place += 1 + usize::from(item.continues());
        }
    }

    /// The score of a word, and where it ends in the tables; `None` if it is no word.
    fn word(&self, codes: &[Code]) -> Option<(f64, Place)> {
        let (score, end) = match codes {
            [] => return None,
            [code] => (self.single(*code), Place::Single(*code)),
            [first, second, rest @ ..] => {
                let (place, pair) = self.placed_pair(*first, *second);
                let (mut score, mut end) = (self.score(pair), Place::Pair(place));
                let mut items = rest.first().map_or(0, |third| self.list(pair, *third));
                for code in rest {
                    let item = (items > 0).then(|| self.placed_item(items, *code)).flatten()?;
                    (score, end, items) = (item.1, Place::Item(item.0), item.2);
                }
                (score, end)
            }
        };
        (score > f64::NEG_INFINITY).then_some((score, end))
    }

    /// jieba's tag of `word`, such as `nr` for the name of a person; `None` if it is no word.
    pub fn tag(&self, word: &str) -> Option<&'static str> {
        let tags = Tags::get();
        let number = match self.word(&self.codes(word))?.1 {
            Place::Single(code) => tags.singles[usize::from(code)],
            Place::Pair(place) => tags.pairs[place],
            Place::Item(place) => tags.items[place],
        };
        Some(tags.name(number))
    }

    fn codes(&self, word: &str) -> Vec<Code> {
        word.chars().map(|c| self.code(c)).collect()
    }

    /// Whether characters are a word.
    pub fn is_word(&self, codes: &[Code]) -> bool {
        self.word(codes).is_some()
    }

    /// Whether a character is in the range of the model of unseen words.
    #[inline]
    pub fn is_modelled(&self, code: Code) -> bool {
        (UNKNOWN_MODELLED..=self.modelled_max).contains(&code)
    }

    /// The logarithms of the probabilities of a character, by state.
    #[inline]
    pub fn emissions(&self, code: Code) -> [f64; STATES] {
        let at = usize::from(code).wrapping_sub(usize::from(KNOWN));
        self.emissions.get(at).copied().unwrap_or([UNSEEN; STATES])
    }

    /// Calls `found` with every word and its score.
    #[cfg(test)]
    pub fn each_word(&self, mut found: impl FnMut(&str, f64)) {
        let mut chars = vec!['\0'; CODES];
        let han = (HAN.0..=HAN.1).zip(self.han).map(|(c, code)| (c, *code));
        let others = self
            .others
            .iter()
            .map(|[c, code]| (char::from_u32(*c).expect("a character"), *code as Code));
        han.chain(others)
            .filter(|(_, code)| *code >= KNOWN)
            .for_each(|(c, code)| chars[usize::from(code)] = c);
        for code in (KNOWN..END).filter(|code| self.single(*code) > f64::NEG_INFINITY) {
            found(&chars[usize::from(code)].to_string(), self.single(code));
        }
        for (place, pair) in self.pairs.iter().map(|pair| Pair(*pair)).enumerate() {
            if pair.0 == 0 {
                continue;
            }
            let column = place - WordRow(self.rows[pair.row()]).start();
            let (first, second) = characters_of(pair.row(), column);
            let mut word = String::from_iter([first, second].map(|code| chars[usize::from(code)]));
            if self.score(pair) > f64::NEG_INFINITY {
                found(&word, self.score(pair));
            }
            for class in (0..CLASSES).filter(|class| pair.may_precede(*class)) {
                self.each_item(self.list(pair, class), &chars, &mut word, &mut found);
            }
        }
    }

    #[cfg(test)]
    fn each_item(
        &self,
        mut place: usize,
        chars: &[char],
        word: &mut String,
        found: &mut impl FnMut(&str, f64),
    ) {
        loop {
            let item = Item(self.items[place]);
            word.push(chars[usize::from(item.code())]);
            if self.scores[item.score()] > f64::NEG_INFINITY {
                found(word, self.scores[item.score()]);
            }
            if item.continues() {
                self.each_item(self.items[place + 1] as usize, chars, word, found);
            }
            word.pop();
            if item.is_last() {
                return;
            }
            place += 1 + usize::from(item.continues());
        }
    }
}
