//! Makes `words.bin` and `tags.bin` in `workers/text/segment` from the files of jieba-rs:
//!
//! ```sh
//! cargo run --release --example segment_words -- DICT.TXT HMM.MODEL workers/text/segment
//! ```
//!
//! DICT.TXT is `src/data/dict.txt` of the crate `jieba-rs`, HMM.MODEL is `src/hmm.model` of the
//! crate `jieba-macros`, both as cargo unpacked them. With another version of these files the
//! version of the features must change: see `VERSION` in `workers/text/features.rs`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;
use workers::text::segment::layout::*;

/// The continuations of one or several characters: a node for each code.
#[derive(Default)]
struct Node {
    /// The number of the score of the word that ends here; 0 if no word ends here.
    score: usize,
    /// The number of its tag.
    tag: u8,
    next: BTreeMap<Code, Node>,
}

/// The model: the first nine lines of its file that are no comments.
struct Model {
    initial: Vec<f64>,
    transitions: Vec<f64>,
    emissions: BTreeMap<char, [f64; STATES]>,
}

fn is_modelled(c: char) -> bool {
    (MODELLED.0..=MODELLED.1).contains(&c)
}

fn model(text: &str) -> Result<Model, Box<dyn Error>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    if lines.len() < 1 + 2 * STATES {
        return Err(format!("the model has {} lines of numbers", lines.len()).into());
    }
    let numbers =
        |line: &str| line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
    let mut emissions = BTreeMap::new();
    for (state, line) in lines[1 + STATES..].iter().take(STATES).enumerate() {
        for pair in line.split(',') {
            let (c, emission) =
                pair.split_once(':').ok_or_else(|| format!("{pair}: not `character:number`"))?;
            let c: char = c.parse()?;
            if is_modelled(c) {
                emissions.entry(c).or_insert([UNSEEN; STATES])[state] = emission.parse()?;
            }
        }
    }
    let transitions: Result<Vec<Vec<f64>>, _> =
        lines[1..1 + STATES].iter().map(|line| numbers(line)).collect();
    Ok(Model { initial: numbers(lines[0])?, transitions: transitions?.concat(), emissions })
}

/// Appends the lists of the continuations of a pair, one for each class, and in front of them where
/// each begins. Returns the place of the first number; 0 if there are none.
fn lay_classes(pair: &Node, items: &mut Vec<(u32, u8)>) -> usize {
    let mut classes: BTreeMap<Code, Vec<(Code, &Node)>> = BTreeMap::new();
    pair.next
        .iter()
        .for_each(|(code, child)| classes.entry(class(*code)).or_default().push((*code, child)));
    if classes.is_empty() {
        return 0;
    }
    let place = items.len();
    items.resize(place + classes.len(), (0, 0));
    for (at, list) in classes.values().enumerate() {
        items[place + at].0 = lay_list(list, items) as u32;
    }
    place
}

/// Appends a list of continuations, and then the lists of these, with the tag of each. Returns the
/// place of the first list.
fn lay_list(list: &[(Code, &Node)], items: &mut Vec<(u32, u8)>) -> usize {
    let place = items.len();
    let mut later = Vec::new();
    for (at, (code, child)) in list.iter().enumerate() {
        let continues = !child.next.is_empty();
        let item = Item::new(*code, child.score, continues, at + 1 == list.len());
        items.push((item.0, child.tag));
        if continues {
            later.push((items.len(), child));
            items.push((0, 0));
        }
    }
    for (at, child) in later {
        let next: Vec<(Code, &Node)> =
            child.next.iter().map(|(code, node)| (*code, node)).collect();
        items[at].0 = lay_list(&next, items) as u32;
    }
    place
}

/// Lays rows of pairs by column into one table, the first ones first: each at the least place where
/// it fits. Returns the rows and the table.
fn lay_rows(rows: &[(usize, BTreeMap<usize, u64>)]) -> (Vec<u64>, Vec<u64>) {
    let (mut begins, mut pairs) = (vec![0; ROWS], vec![0]);
    let mut first_free = 1;
    for (row, columns) in rows {
        let is_taken =
            |pairs: &[u64], place: usize| pairs.get(place).is_some_and(|pair| *pair != 0);
        while is_taken(&pairs, first_free) {
            first_free += 1;
        }
        let (Some(first), Some(last)) = (columns.keys().next(), columns.keys().next_back()) else {
            continue;
        };
        let mut place = first_free.saturating_sub(*first);
        // Nothing is at place 0.
        while columns.keys().any(|column| place + column == 0 || is_taken(&pairs, place + column)) {
            place += 1;
        }
        pairs.resize(pairs.len().max(place + last + 1), 0);
        columns.iter().for_each(|(column, pair)| pairs[place + column] = *pair);
        begins[*row] = WordRow::new(place, columns.keys().copied()).0;
    }
    (begins, pairs)
}

/// The names of the tags, the frequent ones first. Number 0 is none.
fn tags_of(dictionary: &str) -> Result<Vec<&str>, Box<dyn Error>> {
    let mut uses: BTreeMap<&str, u64> = BTreeMap::new();
    for tag in dictionary.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)) {
        *uses.entry(tag).or_default() += 1;
    }
    let mut tags: Vec<(u64, &str)> = uses.into_iter().map(|(tag, uses)| (uses, tag)).collect();
    tags.sort_by_key(|(uses, tag)| (Reverse(*uses), *tag));
    if tags.len() >= TAGS || tags.iter().any(|(_, tag)| tag.len() > TAG_BYTES) {
        return Err(format!("{} tags, or a long one", tags.len()).into());
    }
    Ok([""].into_iter().chain(tags.into_iter().map(|(_, tag)| tag)).collect())
}

/// The bytes of `words.bin` and of `tags.bin`.
fn files(dictionary: &str, model: &Model) -> Result<[Vec<u8>; 2], Box<dyn Error>> {
    let tags = tags_of(dictionary)?;
    let mut words: BTreeMap<&str, u64> = BTreeMap::new();
    let mut tag_of: HashMap<&str, u8> = HashMap::new();
    for line in dictionary.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(word), Some(count)) = (fields.next(), fields.next()) else { continue };
        let tag = fields.next().and_then(|tag| tags.iter().position(|known| *known == tag));
        tag_of.insert(word, tag.ok_or_else(|| format!("{line}: no tag"))? as u8);
        let count = count
            .parse()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| format!("{line}: no frequency"))?;
        if words.insert(word, count).is_some() {
            return Err(format!("{word} is there twice").into());
        }
    }
    // Codes: first the characters that the model emits, then the other characters in its range,
    // each group by frequency.
    let mut uses: BTreeMap<char, u64> = model.emissions.keys().map(|c| (*c, 0)).collect();
    words
        .iter()
        .for_each(|(word, count)| word.chars().for_each(|c| *uses.entry(c).or_default() += count));
    let class = |c: char| {
        if model.emissions.contains_key(&c) { 0 } else { 1 + usize::from(!is_modelled(c)) }
    };
    let mut chars: Vec<char> = uses.keys().copied().collect();
    chars.sort_by_key(|c| (class(*c), Reverse(uses[c]), *c));
    let codes: HashMap<char, Code> = chars.iter().copied().zip(KNOWN..END).collect();
    if codes.len() < chars.len() {
        return Err(format!("{} characters are too many", chars.len()).into());
    }
    let modelled = chars.iter().filter(|c| class(**c) < 2).count();
    // Scores, and the number of each.
    let log_total = (words.values().sum::<u64>() as f64).ln();
    let mut counts: Vec<u64> = words.values().copied().collect();
    counts.sort_unstable();
    counts.dedup();
    if counts.len() >= SCORES {
        return Err(format!("{} frequencies are too many", counts.len()).into());
    }
    let mut scores = vec![f64::NEG_INFINITY; SCORES];
    scores[1..]
        .iter_mut()
        .zip(&counts)
        .for_each(|(score, count)| *score = (*count as f64).ln() - log_total);
    // The tree of words, and how often a pair begins one.
    let mut root = Node::default();
    let mut pair_uses: BTreeMap<(Code, Code), u64> = BTreeMap::new();
    for (word, count) in &words {
        let path: Vec<Code> = word.chars().map(|c| codes[&c]).collect();
        if let [first, second, ..] = path[..] {
            *pair_uses.entry((first, second)).or_default() += count;
        }
        let node = path.iter().fold(&mut root, |node, code| node.next.entry(*code).or_default());
        node.score = 1 + counts.binary_search(count).expect("counted");
        node.tag = tag_of[word];
    }
    let singles: Vec<f64> = (0..END + 1)
        .map(|code| root.next.get(&code).map_or(f64::NEG_INFINITY, |node| scores[node.score]))
        .collect();
    // Pairs and their continuations, the frequent ones first.
    let mut pairs: Vec<((Code, Code), u64)> = pair_uses.into_iter().collect();
    pairs.sort_by_key(|(pair, uses)| (Reverse(*uses), *pair));
    let mut items = vec![(0, 0)];
    let mut pair_tags = Vec::new();
    let mut rows: BTreeMap<usize, (u64, BTreeMap<usize, u64>)> = BTreeMap::new();
    for ((first, second), uses) in pairs {
        let node = &root.next[&first].next[&second];
        let (row, column) = row_and_column(first, second);
        let pair =
            Pair::new(row, node.score, lay_classes(node, &mut items), node.next.keys().copied());
        let (row_uses, columns) = rows.entry(row).or_default();
        *row_uses += uses;
        columns.insert(column, pair.0);
        pair_tags.push((row, column, node.tag));
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(row, (uses, _))| (Reverse(*uses), *row));
    let rows: Vec<_> = rows.into_iter().map(|(row, (_, columns))| (row, columns)).collect();
    let (begins, pairs) = lay_rows(&rows);
    let mut tags_by_place = vec![0; pairs.len()];
    for (row, column, tag) in pair_tags {
        tags_by_place[WordRow(begins[row]).place(column)] = tag;
    }
    let outside: BTreeMap<u32, u32> = (chars.iter().filter(|c| !(HAN.0..=HAN.1).contains(*c)))
        .map(|c| (u32::from(*c), u32::from(codes[c])))
        .collect();
    let han = (HAN.0..=HAN.1).map(|c| match codes.get(&c) {
        Some(code) => *code,
        None if is_modelled(c) => UNKNOWN_MODELLED,
        None => UNKNOWN,
    });
    println!(
        "{} words of {} characters, {} frequencies, {} places of pairs, {} items",
        words.len(),
        chars.len(),
        counts.len(),
        pairs.len(),
        items.len()
    );
    // In the order in which `Dictionary::of` reads them, the widest numbers first.
    let mut out = Vec::new();
    let modelled_max = u32::from(KNOWN) - 1 + modelled as u32;
    let sizes =
        [outside.len(), model.emissions.len(), pairs.len(), items.len()].map(|size| size as u32);
    let header = [&[MAGIC][..], &sizes, &[modelled_max, 0, 0]].concat();
    header.iter().for_each(|number| out.extend(number.to_le_bytes()));
    let floats =
        [&[0.0 - log_total][..], &model.initial, &model.transitions, &scores, &singles].concat();
    floats.iter().for_each(|number| out.extend(number.to_le_bytes()));
    chars[..model.emissions.len()]
        .iter()
        .flat_map(|c| model.emissions[c])
        .for_each(|n| out.extend(n.to_le_bytes()));
    begins.iter().chain(&pairs).for_each(|number| out.extend(number.to_le_bytes()));
    outside
        .iter()
        .flat_map(|(c, code)| [*c, *code])
        .chain(items.iter().map(|(item, _)| *item))
        .for_each(|n| out.extend(n.to_le_bytes()));
    han.for_each(|code| out.extend(code.to_le_bytes()));
    // In the order in which `Tags::get` reads them.
    let mut out_tags = vec![0; TAGS * TAG_BYTES];
    for (name, place) in tags.iter().zip(out_tags.chunks_exact_mut(TAG_BYTES)) {
        place[..name.len()].copy_from_slice(name.as_bytes());
    }
    out_tags.extend((0..=END).map(|code| root.next.get(&code).map_or(0, |node| node.tag)));
    out_tags.extend(tags_by_place);
    out_tags.extend(items.iter().map(|(_, tag)| *tag));
    Ok([out, out_tags])
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dictionary, hmm, folder] = &arguments[..] else {
        return Err("usage: segment_words DICT.TXT HMM.MODEL FOLDER".into());
    };
    let [words, tags] =
        files(&std::fs::read_to_string(dictionary)?, &model(&std::fs::read_to_string(hmm)?)?)?;
    std::fs::write(Path::new(folder).join("words.bin"), words)?;
    std::fs::write(Path::new(folder).join("tags.bin"), tags)?;
    Ok(())
}
