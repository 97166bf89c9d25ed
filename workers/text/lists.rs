//! Reads lists of words that are files of the program. A line that begins with `#` is a comment.

use crate::text::hash::BuildAsIs;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Words of lists, which are looked up at every difference of two texts.
pub type WordSet = HashSet<&'static str, BuildAsIs>;
/// Words of lists, with what is known of each.
pub type WordMap<T> = HashMap<&'static str, T, BuildAsIs>;
/// Characters of lists.
pub type CharSet = HashSet<char, BuildAsIs>;
/// Characters of lists, with what is known of each.
pub type CharMap<T> = HashMap<char, T, BuildAsIs>;

/// The lines of a list, without its comments.
pub fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

/// The words of a kind in a list of lines such as `kind one, another`.
pub fn of_kind(list: &'static str, kind: &'static str) -> impl Iterator<Item = &'static str> {
    let named = lines(list).filter_map(|line| line.split_once(' '));
    named.filter(move |(name, _)| *name == kind).flat_map(|(_, words)| words.split(", "))
}

/// The same, the longest first, so that none hides one that begins with it.
pub fn longest_first(list: &'static str, kind: &'static str) -> Vec<&'static str> {
    let mut words: Vec<&str> = of_kind(list, kind).collect();
    words.sort_by_key(|word| Reverse(word.len()));
    words
}
