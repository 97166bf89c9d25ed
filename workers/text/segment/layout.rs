//! The bits of the tables in `words.bin` and `tags.bin`, shared by the program that reads them and
//! the program that makes them.
//!
//! Words are found by their first two characters, in one table of pairs. The place of a pair is its
//! column plus the start of its row, as in a sparse matrix whose rows overlap (Tarjan, Yao:
//! "Storing a sparse table", CACM 22(11), 1979). We differ by mixing a pair before it is divided
//! into row and column, so that all rows are short and no place stays empty. A filter in each row
//! rejects most pairs that begin no word, without a look into the table of pairs. The characters
//! that follow a pair are lists of items, one item for each character: a list for each class of
//! characters, because a frequent pair is followed by hundreds. Where the lists begin stands in
//! front of them. The characters that follow three others are few, and are one list.
//!
//! Rows and lists of frequent words come first, so that most texts need only a small part of the
//! tables.

/// The number of a character in the dictionary. Frequent characters have small ones.
pub type Code = u16;
/// The most bits of a code.
pub const CODE_BITS: u32 = 14;
/// All codes are less than this.
pub const CODES: usize = 1 << CODE_BITS;
/// The code of a character that neither words nor the model know.
pub const UNKNOWN: Code = 0;
/// The code of such a character in the range of the model.
pub const UNKNOWN_MODELLED: Code = 1;
/// The least code of a known character.
pub const KNOWN: Code = 2;
/// The code that stands for the end of a block of characters. No character has it.
pub const END: Code = (CODES - 1) as Code;

/// The range of characters whose codes are found by index.
pub const HAN: (char, char) = ('\u{4e00}', '\u{9fff}');
/// The number of characters in it.
pub const HAN_COUNT: usize = HAN.1 as usize - HAN.0 as usize + 1;
/// The range of characters of the model of unseen words.
pub const MODELLED: (char, char) = ('\u{4e00}', '\u{9fd5}');

/// The number of scores. The first is the score of what is no word.
pub const SCORES: usize = 1 << 13;
/// Places in the table of pairs and in the list of items are less than this.
const PLACES: usize = 1 << 20;

const COLUMN_BITS: u32 = 13;
/// An odd number that mixes pairs.
const MIXER: u32 = 0x09e3_779b;
/// The number of rows.
pub const ROWS: usize = 1 << (2 * CODE_BITS - COLUMN_BITS);

/// The row and the column of a pair of characters.
#[inline(always)]
pub fn row_and_column(first: Code, second: Code) -> (usize, usize) {
    let pair = u32::from(first) << CODE_BITS | u32::from(second);
    // Multiplying by an odd number is a bijection, so no two pairs coincide.
    let mixed = pair.wrapping_mul(MIXER) & ((1 << (2 * CODE_BITS)) - 1);
    ((mixed >> COLUMN_BITS) as usize, (mixed & ((1 << COLUMN_BITS) - 1)) as usize)
}

/// The pair of characters of a row and a column.
#[cfg(test)]
pub fn characters_of(row: usize, column: usize) -> (Code, Code) {
    // Newton's iteration doubles the number of correct bits of the inverse, from three at first.
    let inverse =
        (0..4).fold(MIXER, |x, _| x.wrapping_mul(2u32.wrapping_sub(MIXER.wrapping_mul(x))));
    let mixed = ((row as u32) << COLUMN_BITS) | column as u32;
    let pair = mixed.wrapping_mul(inverse) & ((1 << (2 * CODE_BITS)) - 1);
    ((pair >> CODE_BITS) as Code, (pair & ((1 << CODE_BITS) - 1)) as Code)
}

/// A row: the place where it begins (20 bits), and a filter of its columns (44 bits).
#[derive(Clone, Copy)]
pub struct WordRow(pub u64);

impl WordRow {
    const FILTER_BITS: u32 = 44;

    /// The row that begins at `place` and has these columns.
    pub fn new(place: usize, columns: impl Iterator<Item = usize>) -> WordRow {
        assert!(place < PLACES, "a row begins at {place}");
        WordRow(columns.fold((place as u64) << WordRow::FILTER_BITS, |row, column| {
            row | 1 << WordRow::bit(column)
        }))
    }

    /// The place of the pair in `column`. If the filter lacks the column it is 0, a place without a
    /// pair.
    #[inline(always)]
    pub fn place(self, column: usize) -> usize {
        let passes = (self.0 >> WordRow::bit(column) & 1) as usize;
        // No branch, because a processor cannot predict whether a pair begins a word.
        ((self.0 >> WordRow::FILTER_BITS) as usize + column) & passes.wrapping_neg()
    }

    /// The place where it begins.
    #[cfg(test)]
    pub fn start(self) -> usize {
        (self.0 >> WordRow::FILTER_BITS) as usize
    }

    #[inline(always)]
    fn bit(column: usize) -> u32 {
        (column as u32 * WordRow::FILTER_BITS) >> COLUMN_BITS
    }
}

/// The number of classes of characters that follow a pair.
pub const CLASSES: Code = 16;

/// The class of a character that follows a pair.
#[inline(always)]
pub fn class(third: Code) -> Code {
    third % CLASSES
}

/// A pair of characters with which words begin: its row (15 bits), a filter of the characters that
/// follow (16), the number of its score (13) and the place of the items that follow (20). 0 stands
/// for no pair.
///
/// The filter has a bit for each class of characters. The number of the place, and those behind it,
/// are the places of the lists of these classes, ascending.
#[derive(Clone, Copy)]
pub struct Pair(pub u64);

impl Pair {
    /// A pair that the characters `thirds` follow, whose items begin at `place`.
    pub fn new(row: usize, score: usize, place: usize, thirds: impl Iterator<Item = Code>) -> Pair {
        assert!(
            row < ROWS && score < SCORES && place < PLACES,
            "row {row}, score {score}, items at {place}"
        );
        let filter = thirds.fold(0, |filter, third| filter | 1 << class(third));
        Pair((row as u64) << 49 | filter << 33 | (score as u64) << 20 | place as u64)
    }

    /// The pair if it is of this row, otherwise the empty pair.
    #[inline(always)]
    pub fn of_row(self, row: usize) -> Pair {
        Pair(self.0 & u64::from(self.0 >> 49 == row as u64).wrapping_neg())
    }

    /// Its row.
    #[cfg(test)]
    pub fn row(self) -> usize {
        (self.0 >> 49) as usize
    }

    /// The number of its score.
    #[inline(always)]
    pub fn score(self) -> usize {
        (self.0 >> 20) as usize % SCORES
    }

    /// The place of the items that follow; 0 if there are none.
    #[inline(always)]
    fn items(self) -> usize {
        self.0 as usize % PLACES
    }

    /// Whether `third` may follow.
    #[inline(always)]
    pub fn may_precede(self, third: Code) -> bool {
        self.0 >> (33 + class(third)) & 1 == 1
    }

    /// Where the place of the list stands that has `third`, if it may follow.
    #[inline(always)]
    pub fn list(self, third: Code) -> usize {
        let classes = (self.0 >> 33) as u16;
        let before = classes & ((1 << class(third)) - 1);
        self.items() + before.count_ones() as usize
    }
}

/// A character that follows others: its code (14 bits), the number of the score (13), whether more
/// follow, and whether it is the last of its list. If more follow, the number after it is the place
/// of their list. A list is sorted by code.
#[derive(Clone, Copy)]
pub struct Item(pub u32);

impl Item {
    /// An item.
    pub fn new(code: Code, score: usize, continues: bool, is_last: bool) -> Item {
        assert!(score < SCORES, "score {score}");
        Item(
            u32::from(code) << 18
                | (score as u32) << 2
                | u32::from(continues) << 1
                | u32::from(is_last),
        )
    }

    /// The code of the character.
    #[inline]
    pub fn code(self) -> Code {
        (self.0 >> 18) as Code
    }

    /// The number of the score.
    #[inline]
    pub fn score(self) -> usize {
        (self.0 >> 2) as usize % SCORES
    }

    /// Whether more characters follow.
    #[inline]
    pub fn continues(self) -> bool {
        self.0 & 2 != 0
    }

    /// Whether it is the last of its list.
    #[inline]
    pub fn is_last(self) -> bool {
        self.0 & 1 != 0
    }
}

/// The states of a character in an unseen word: the word begins, ends, goes on, or is the character
/// alone.
pub const STATES: usize = 4;
/// The logarithm of the probability of a character that the model has not seen.
pub const UNSEEN: f64 = -3.14e100;

/// There are fewer tags than this. Number 0 stands for no tag.
pub const TAGS: usize = 64;
/// The bytes of a tag's name.
pub const TAG_BYTES: usize = 8;

/// The first number of the file.
pub const MAGIC: u32 = u32::from_le_bytes(*b"pfw2");
/// The numbers at the beginning of the file: [`MAGIC`]; how many characters outside of [`HAN`],
/// emissions, pairs and items there are; the greatest code of the model; two unused ones.
pub const HEADER: usize = 8;
