//! Makes `workers/text/packed_pairs.txt`, by which kept Chinese texts are packed:
//!
//! ```sh
//! cargo run --release --example packed_pairs -- DICT.TXT workers/text/packed_pairs.txt
//! ```
//!
//! DICT.TXT is `src/data/dict.txt` of the crate `jieba-rs`, as cargo unpacked it. With another list
//! the form of kept texts changes: see `workers/text/packed.rs`.
//!
//! The list has the marks of Chinese text, the most frequent characters, and the most frequent
//! pairs of these: words of two characters, and parts of longer ones. The most used come first. The
//! dictionary has simplified characters, as normalised texts have by default.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use workers::text::packed::{CODES, ONE_BYTE};

/// Marks that normalised texts have between words. They are not in the dictionary.
const MARKS: &str = "。、“”《》—·‘’【】「」〇";
/// Characters of the list.
const CHARACTERS: usize = 7000;
/// One in this many uses of a character is in no pair of the list.
const USED_ALONE: u64 = 8;

/// Whether a character is a Chinese one, or a mark or letter that has as many bytes in UTF-8.
fn is_wide(c: char) -> bool {
    ('\u{2e80}'..='\u{ffff}').contains(&c)
}

/// The most frequent of `counts`, at most `most`.
fn first<T: Ord + Clone>(counts: BTreeMap<T, u64>, most: usize) -> Vec<(u64, T)> {
    let mut list: Vec<(u64, T)> = counts.into_iter().map(|(what, count)| (count, what)).collect();
    list.sort_by_key(|(count, what)| (Reverse(*count), what.clone()));
    list.truncate(most);
    list
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dictionary, out] = &arguments[..] else {
        return Err("usage: packed_pairs DICT.TXT OUT".into());
    };
    let dictionary = std::fs::read_to_string(dictionary)?;
    let (mut uses, mut words, mut pairs) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for line in dictionary.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(word), Some(count)) = (fields.next(), fields.next()) else { continue };
        let (chars, count): (Vec<char>, u64) = (word.chars().collect(), count.parse()?);
        for c in chars.iter().filter(|c| is_wide(**c) && !MARKS.contains(**c)) {
            *uses.entry(*c).or_default() += count;
        }
        if let [c] = chars[..] {
            words.insert(c, count);
        }
        if chars.iter().all(|c| is_wide(*c)) {
            for pair in chars.chunks_exact(2) {
                *pairs.entry(pair.iter().collect::<String>()).or_default() += count;
            }
        }
    }
    let alone = |(uses, c): (u64, char)| {
        (words.get(&c).copied().unwrap_or(0) + uses / USED_ALONE, c.to_string())
    };
    let mut rated: Vec<(u64, String)> = first(uses, CHARACTERS).into_iter().map(alone).collect();
    let listed: BTreeSet<char> =
        rated.iter().flat_map(|(_, c)| c.chars()).chain(MARKS.chars()).collect();
    pairs.retain(|pair: &String, _| pair.chars().all(|c| listed.contains(&c)));
    let left = CODES - MARKS.chars().count() - rated.len();
    rated.extend(first(pairs, left));
    rated.sort_by_key(|(count, what)| (Reverse(*count), what.clone()));
    // Marks are used most: they have the first codes, which are short.
    let marks = MARKS.chars().map(String::from);
    let list: Vec<String> = marks.chain(rated.into_iter().map(|(_, what)| what)).collect();
    println!("{} characters and pairs, {ONE_BYTE} of them with a code of one byte", list.len());
    std::fs::write(out, list.join("\n") + "\n")?;
    Ok(())
}
