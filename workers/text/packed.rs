//! Packs Chinese texts, so that they take little space in a store.
//!
//! A general compressor learns each text anew, and most pages are too short for that. Here the
//! frequent characters and pairs of characters are known beforehand. The 55 most frequent ones have
//! a code of one byte, the others a code of two bytes, while two characters take six bytes. A text
//! shrinks to two fifths of its size; zstd takes one and a half times as long and shrinks it to
//! seven tenths. A packed text depends on the text alone, so equal texts stay equal, and any text
//! can be read by itself.
//!
//! ```text
//! 00..=7f                 an ASCII character; but of those that normalised texts hardly have, the
//!                         controls and capitals, 55 are codes, and 7f is an escape
//! 80..=df, f0..=ff, byte  a code
//! e0..=ef, byte, byte     a character of three bytes of UTF-8 that the list lacks, as it is
//! 7f, character           any other character, in UTF-8
//! ```
//!
//! Beginning at the start of a text, each next two characters are coded as a pair if the list has
//! it. This does not give the fewest codes, but takes one pass.

use std::sync::OnceLock;

/// The version of this form and of its list; part of a store's identity. Another form also needs
/// another number in front of a text (`tables/evidence.rs`), so that old texts can be read.
pub const VERSION: u32 = 1;

/// Characters and pairs of characters by code, a line each: first those with a code of one byte,
/// then those with two. `examples/packed_pairs.rs` makes the list.
const LIST: &str = include_str!("packed_pairs.txt");

/// Codes of one byte.
pub const ONE_BYTE: usize = 55;
/// The first bytes of codes of two bytes.
const LEADS: usize = 112;
/// All codes.
pub const CODES: usize = ONE_BYTE + LEADS * 256;
/// The byte before a character that is written in UTF-8.
const ESCAPE: u8 = 0x7f;

/// Whether a byte stands for itself.
const fn is_plain(byte: u8) -> bool {
    // Tabs and line ends stand in texts.
    let is_control = byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
    byte.is_ascii() && byte != ESCAPE && !byte.is_ascii_uppercase() && !is_control
}

/// What a code stands for, in UTF-8, and in the last byte the number of its bytes. All have the
/// same size, so that copying one needs no function call.
type Padded = [u8; 8];

/// The number of a character among those of the list, from 1 to 2^13 - 1; 0 for others.
type Number = u16;
const NUMBER_BITS: u32 = 13;

/// Pairs are in a hash table with so many buckets, as a power of two, each with room for [`BUCKET`]
/// pairs.
const BUCKET_BITS: u32 = 14;
/// Most buckets have one pair or none, and none has more than seven.
const BUCKET: usize = 8;
/// Within a bucket a pair is identified by its other bits.
const TAG_BITS: u32 = 2 * NUMBER_BITS - BUCKET_BITS;
/// No tag of a pair.
const FREE: u16 = u16::MAX;

/// Some pairs. A bucket is half of a cache line, so that a look-up reads one line.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Bucket {
    tags: [u16; BUCKET],
    codes: [u16; BUCKET],
}

/// The list, ready to pack and to unpack. Codes count from 1; 0 stands for none.
struct Codes {
    numbers: Vec<Number>,
    /// The code of a character, by its number.
    of_character: Vec<u16>,
    buckets: Vec<Bucket>,
    /// The bytes of a code. A code of one byte uses only the first.
    bytes: Vec<[u8; 2]>,
    /// The code of a byte, if it is a code by itself.
    of_byte: [u16; 256],
    /// The first of 256 codes that begin with a byte.
    of_lead: [u16; 256],
    meaning: Vec<Padded>,
}

/// The bucket and the tag of a pair. No other pair has both.
#[inline(always)]
fn bucket_and_tag(first: Number, second: Number) -> (usize, u16) {
    let pair = u32::from(first) << NUMBER_BITS | u32::from(second);
    // Multiplying by an odd number is a bijection, so no two pairs coincide.
    let mixed = pair.wrapping_mul(0x9e37_79b1) & ((1 << (2 * NUMBER_BITS)) - 1);
    ((mixed >> TAG_BITS) as usize, (mixed & ((1 << TAG_BITS) - 1)) as u16)
}

impl Codes {
    fn get() -> &'static Codes {
        static ALL: OnceLock<Codes> = OnceLock::new();
        ALL.get_or_init(|| Codes::of(LIST))
    }

    fn of(list: &str) -> Codes {
        let (mut of_byte, mut of_lead, mut bytes) = ([0; 256], [0; 256], vec![[0; 2]]);
        for byte in (0..ESCAPE).filter(|byte| !is_plain(*byte)) {
            of_byte[usize::from(byte)] = bytes.len() as u16;
            bytes.push([byte, 0]);
        }
        for lead in (0x80..=0xdf).chain(0xf0..=0xff) {
            of_lead[usize::from(lead)] = bytes.len() as u16;
            bytes.extend((0..=u8::MAX).map(|second| [lead, second]));
        }
        let mut codes = Codes {
            numbers: vec![0; 1 << 16],
            of_character: vec![0],
            buckets: vec![Bucket { tags: [FREE; BUCKET], codes: [0; BUCKET] }; 1 << BUCKET_BITS],
            bytes,
            of_byte,
            of_lead,
            meaning: vec![[0; 8]],
        };
        let is_character = |line: &&str| line.chars().count() == 1;
        for (code, line) in (1..).zip(list.lines()).filter(|(_, line)| is_character(line)) {
            let unit = line.encode_utf16().next().map_or(0, usize::from);
            codes.numbers[unit] = codes.of_character.len() as Number;
            codes.of_character.push(code);
        }
        assert!(codes.of_character.len() <= 1 << NUMBER_BITS, "too many characters");
        list.lines().for_each(|line| codes.add(line));
        assert!(codes.meaning.len() == 1 + CODES && codes.bytes.len() == 1 + CODES);
        codes
    }

    /// Adds the next line of the list.
    fn add(&mut self, line: &str) {
        let code = self.meaning.len() as u16;
        let mut padded = [0; 8];
        padded[..line.len()].copy_from_slice(line.as_bytes());
        padded[7] = line.len() as u8;
        self.meaning.push(padded);
        let numbers: Vec<Number> =
            line.encode_utf16().map(|unit| self.numbers[usize::from(unit)]).collect();
        assert!(!numbers.contains(&0), "{line} has a character that is no line of the list");
        if let [first, second] = numbers[..] {
            let (bucket, tag) = bucket_and_tag(first, second);
            let Bucket { tags, codes } = &mut self.buckets[bucket];
            let free = tags.iter().position(|tag| *tag == FREE).expect("a bucket has room");
            (tags[free], codes[free]) = (tag, code);
        }
    }

    fn number(&self, c: char) -> Number {
        self.numbers.get(c as usize).copied().unwrap_or(0)
    }

    /// The code of a pair, computed without a branch, because a processor cannot predict which
    /// characters are a pair.
    #[inline(always)]
    fn of_pair(&self, first: Number, second: Number) -> u16 {
        let (bucket, tag) = bucket_and_tag(first, second);
        let Bucket { tags, codes } = &self.buckets[bucket];
        tags.iter()
            .zip(codes)
            .fold(0, |found, (other, code)| found | if *other == tag { *code } else { 0 })
    }
}

/// Packs texts. Its memory is reused from text to text.
///
/// ```
/// use workers::text::packed::{Packer, unpack};
///
/// let (text, mut packed) = ("会议今天在北京举行, 2022", Vec::new());
/// Packer::default().pack(text, &mut packed);
/// assert!(packed.len() < text.len() * 3 / 5);
/// assert_eq!(unpack(&packed, 100).as_deref(), Some(text.as_bytes()));
/// ```
#[derive(Default)]
pub struct Packer {
    /// Where each character of a portion ends, in bytes.
    ends: Vec<u32>,
    numbers: Vec<Number>,
    /// The code of the pair that a character begins.
    pairs: Vec<u16>,
}

/// Characters whose codes are looked up at once. What is looked up for them stays in the
/// first-level cache until it is used.
const PORTION: usize = 1024;

impl Packer {
    /// Appends the packed form of `text` to `out`.
    pub fn pack(&mut self, text: &str, out: &mut Vec<u8>) {
        let codes = Codes::get();
        let mut rest = text;
        while !rest.is_empty() {
            let bytes = self.look_up(codes, rest);
            let (portion, later) = rest.split_at(bytes);
            self.write(codes, portion, out);
            rest = later;
        }
    }

    /// Looks up what may be needed for the next characters, independently of each other, so that
    /// the processor waits for many memory accesses at once. Returns the number of bytes of these
    /// characters.
    #[inline(never)]
    fn look_up(&mut self, codes: &Codes, text: &str) -> usize {
        let Packer { ends, numbers, pairs } = self;
        // Earlier values are overwritten.
        ends.resize(PORTION, 0);
        numbers.resize(PORTION, 0);
        let (mut end, mut count) = (0, 0);
        for (c, (to, number)) in text.chars().zip(ends.iter_mut().zip(&mut *numbers)) {
            end += c.len_utf8();
            count += 1;
            (*to, *number) = (end as u32, codes.number(c));
        }
        ends.truncate(count);
        numbers.truncate(count);
        pairs.clear();
        pairs.extend(numbers.windows(2).map(|two| codes.of_pair(two[0], two[1])));
        pairs.push(0);
        end
    }

    #[inline(never)]
    fn write(&self, codes: &Codes, text: &str, out: &mut Vec<u8>) {
        let (mut at, mut start) = (0, 0);
        while let (Some(pair), Some(number)) = (self.pairs.get(at), self.numbers.get(at)) {
            let code = if *pair > 0 { *pair } else { codes.of_character[usize::from(*number)] };
            at += 1 + usize::from(*pair > 0);
            let end = self.ends[at - 1] as usize;
            if code > 0 {
                out.extend_from_slice(&codes.bytes[usize::from(code)]);
                out.truncate(out.len() - usize::from(usize::from(code) <= ONE_BYTE));
            } else {
                let bytes = &text.as_bytes()[start..end];
                if !matches!(*bytes, [byte] if is_plain(byte)) && bytes.len() != 3 {
                    out.push(ESCAPE);
                }
                out.extend_from_slice(bytes);
            }
            start = end;
        }
    }
}

/// The text of a packed form. Its bytes are UTF-8 if [`Packer::pack`] made the form. `None` if it
/// is damaged, or if the text has more than `bytes_max` bytes.
pub fn unpack(packed: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let codes = Codes::get();
    let mut text = Vec::with_capacity((packed.len() * 3).min(bytes_max));
    let mut at = 0;
    while let Some(&byte) = packed.get(at) {
        let code = match (codes.of_byte[usize::from(byte)], codes.of_lead[usize::from(byte)]) {
            (0, 0) => 0,
            (0, first) => {
                at += 1;
                first + u16::from(*packed.get(at)?)
            }
            (code, _) => code,
        };
        if code > 0 {
            let meaning = &codes.meaning[usize::from(code)];
            let length = text.len() + usize::from(meaning[7]);
            text.extend_from_slice(meaning);
            text.truncate(length);
            at += 1;
        } else {
            let from = at + usize::from(byte == ESCAPE);
            let end = from + utf8_length(*packed.get(from)?)?;
            text.extend_from_slice(packed.get(from..end)?);
            at = end;
        }
        if text.len() > bytes_max {
            return None;
        }
    }
    Some(text)
}

/// The number of bytes of a UTF-8 character that begins with `first`.
fn utf8_length(first: u8) -> Option<usize> {
    match first {
        0..=0x7f => Some(1),
        0xc2..=0xdf => Some(2),
        0xe0..=0xef => Some(3),
        0xf0..=0xf4 => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, HashMap};

    fn packed(text: &str) -> Vec<u8> {
        let mut packed = Vec::new();
        Packer::default().pack(text, &mut packed);
        packed
    }

    fn assert_same(text: &str) {
        let packed = packed(text);
        assert_eq!(unpack(&packed, text.len()).as_deref(), Some(text.as_bytes()), "{text:?}");
        if let Some(less) = text.len().checked_sub(1) {
            assert_eq!(unpack(&packed, less), None, "{text:?} is longer than {less} bytes");
        }
    }

    /// The codes of the list, by the table at the top of this file.
    fn plain_codes() -> HashMap<&'static str, Vec<u8>> {
        let short = (0..0x7f).filter(|byte| !is_plain(*byte)).map(|byte| vec![byte]);
        let leads = (0x80..=0xdf).chain(0xf0..=0xff);
        let long = leads.flat_map(|lead| (0..=u8::MAX).map(move |second| vec![lead, second]));
        LIST.lines().zip(short.chain(long)).collect()
    }

    /// The packed form, by that table.
    fn plainly_packed(text: &str, codes: &HashMap<&str, Vec<u8>>) -> Vec<u8> {
        let (mut rest, mut out) = (text, Vec::new());
        while let Some(c) = rest.chars().next() {
            let pair: String = rest.chars().take(2).collect();
            let (alone, later) = rest.split_at(c.len_utf8());
            let escaped = [&[ESCAPE], alone.as_bytes()].concat();
            if pair.chars().count() == 2 && codes.contains_key(&*pair) {
                out.extend(&codes[&*pair]);
                rest = &rest[pair.len()..];
                continue;
            }
            rest = later;
            match codes.get(alone) {
                Some(code) => out.extend(code),
                None if alone.len() == 3 => out.extend(alone.bytes()),
                None if c.is_ascii() && is_plain(c as u8) => out.push(c as u8),
                None => out.extend(escaped),
            }
        }
        out
    }

    /// The list has nothing twice, and each line is a character or two of three bytes.
    #[test]
    fn the_list_is_sound() {
        let fits = |line: &str| line.chars().count() == 1 && !line.is_ascii() || line.len() == 6;
        assert!(LIST.lines().all(|line| line.chars().count() <= 2 && fits(line)));
        assert_eq!(LIST.lines().collect::<BTreeSet<_>>().len(), CODES);
        assert_eq!(LIST.lines().count(), CODES);
    }

    /// Each line of the list, alone and before every hundredth other, comes back.
    #[test]
    fn all_of_the_list_comes_back() {
        for (at, line) in LIST.lines().enumerate() {
            assert_eq!(packed(line).len(), if at < ONE_BYTE { 1 } else { 2 }, "{line}");
            assert_same(line);
        }
        let some: Vec<&str> = LIST.lines().step_by(100).collect();
        some.iter()
            .for_each(|one| some.iter().for_each(|other| assert_same(&[*one, other].concat())));
    }

    /// Pairs may stand across the end of a portion.
    #[test]
    fn long_texts_come_back() {
        for length in [PORTION - 1, PORTION, PORTION + 1, 5 * PORTION] {
            for front in ["", "a", "é", "😀"] {
                assert_same(
                    &front
                        .chars()
                        .chain("北京会议".chars().cycle().take(length))
                        .collect::<String>(),
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Every text comes back, and is packed as the table says.
        #[test]
        fn texts_come_back(texts in prop::collection::vec("[会议今天在北京举行国中华人民共和的。、，a-zA-Z0-9 \t\n\u{0}-\u{1f}\u{7f}é무\u{3400}\u{20000}😀]{0,60}", 1..20)) {
            let codes = plain_codes();
            for text in &texts {
                assert_same(text);
                prop_assert_eq!(packed(text), plainly_packed(text, &codes));
            }
        }

        #[test]
        fn any_text_comes_back(text in any::<String>()) {
            assert_same(&text);
        }

        /// Arbitrary bytes become no text, or a text within the limit.
        #[test]
        fn arbitrary_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..300), most in 0..600usize) {
            prop_assert!(unpack(&bytes, most).is_none_or(|text| text.len() <= most));
        }
    }
}
