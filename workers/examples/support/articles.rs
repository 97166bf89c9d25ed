//! Composes the demo's articles from the sentence pools `articles_zh.txt` and `articles_en.txt` in
//! this folder.
//!
//! Articles share few sentences, and these differ in some words. The pools are compiled in.
//!
//! A pool's line is `# theme`, `t title`, `o opening`, `b body` or `c closing`. In it `{a|b}` is
//! one of its parts, `{10-20}` a number in this range, and `{p}`, `{q}`, `{w}` the article's place,
//! another place and a person.

use jiff::ToSpan;
use jiff::civil::{DateTime, date};

use crate::random::Random;

/// One article; paragraphs are lists of sentences, so that edits can find them.
#[derive(Clone, Debug)]
pub struct Article {
    /// Its language.
    pub english: bool,
    /// One line.
    pub title: String,
    /// The theme of its first section.
    pub theme: &'static str,
    /// The place where it is set.
    pub place: &'static str,
    /// Its author.
    pub author: &'static str,
    /// When it was published.
    pub date: DateTime,
    /// Place and day before the first sentence; empty in half of the articles.
    pub dateline: String,
    /// A title (empty for the first) and paragraphs each.
    pub sections: Vec<(String, Vec<Vec<String>>)>,
}

impl Article {
    /// The paragraphs and headings in reading order, as pairs of "is a heading" and text.
    pub fn lines(&self) -> Vec<(bool, String)> {
        let mut lines = Vec::new();
        for (heading, paragraphs) in &self.sections {
            if !heading.is_empty() {
                lines.push((true, heading.clone()));
            }
            lines.extend(
                paragraphs
                    .iter()
                    .map(|sentences| (false, sentences.join(if self.english { " " } else { "" }))),
            );
        }
        if let Some((_, first)) = lines.first_mut() {
            first.insert_str(0, &self.dateline);
        }
        lines
    }

    /// The article's text, a line for each paragraph.
    pub fn text(&self) -> String {
        self.lines().into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }

    /// The dateline of this article on `date`.
    pub fn dateline_of(&self, date: DateTime) -> String {
        let (month, day) = (date.month(), date.day());
        if self.english {
            format!("{}, {day} {} — ", self.place.to_uppercase(), MONTHS[month as usize - 1])
        } else {
            format!("（{}，{month}月{day}日）", self.place)
        }
    }

    /// The date as the language writes it.
    pub fn written_date(&self) -> String {
        let (month, day) = (self.date.month(), self.date.day());
        if self.english {
            format!("{day} {} 2025", MONTHS[month as usize - 1])
        } else {
            format!("2025年{month}月{day}日")
        }
    }
}

/// The first second of 2025, in which the demo is set.
pub const NEW_YEAR: DateTime = date(2025, 1, 1).at(0, 0, 0, 0);

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const POOL_ZH: &str = include_str!("articles_zh.txt");
const POOL_EN: &str = include_str!("articles_en.txt");

// Made-up places and persons.
const PLACES_ZH: &str =
    "青石镇 柳湾 云岭 白鹭洲 松口 桐溪 石门坳 梅渡 长亭 竹坪 双河口 乌桥 枫林 沙洲头 南塘 望潮";
const PLACES_EN: &str =
    "Larkmoor Thistleby Penhallow Oxcombe Wrenford Saltmarsh Kettlebeck Ashdyke";
const PERSONS_ZH: &str =
    "老周 陈师傅 林阿姨 何老伯 小孟 吴先生 方大姐 老秦 许师傅 阿贵 顾老师 沈伯";
const PERSONS_EN: &str = "Mrs Hale|Tom Arkwright|Miss Pell|old Mr Dunn|Ada Finch|the vicar";
const AUTHORS_ZH: &str = "江一帆 宋小禾 叶知远 田圃 陆平 岳青";
const AUTHORS_EN: &str = "M. Rowan|J. Tarn|E. Lowell";

struct Theme {
    name: &'static str,
    titles: Vec<&'static str>,
    openings: Vec<&'static str>,
    bodies: Vec<&'static str>,
    closings: Vec<&'static str>,
    /// The sets of body sentences used so far, a bit for each sentence.
    taken: Vec<u64>,
}

fn parse(pool: &'static str) -> Vec<Theme> {
    let mut themes: Vec<Theme> = Vec::new();
    for line in pool.lines() {
        let Some((mark, rest)) = line.split_once(' ') else { continue };
        if mark == "#" {
            let (titles, openings, bodies, closings, taken) = Default::default();
            themes.push(Theme { name: rest, titles, openings, bodies, closings, taken });
            continue;
        }
        let theme = themes.last_mut().expect("a pool opens with a theme");
        match mark {
            "t" => theme.titles.push(rest),
            "o" => theme.openings.push(rest),
            "b" => theme.bodies.push(rest),
            "c" => theme.closings.push(rest),
            _ => panic!("unknown mark in the pool: {line}"),
        }
    }
    themes
}

impl Theme {
    /// `count` body sentences in the pool's order: of 200 random sets the one that shares the least
    /// with any earlier set.
    fn take(&mut self, count: usize, random: &mut Random) -> Vec<&'static str> {
        let shared = |set: u64| {
            let counts = self.taken.iter().map(|before| (before & set).count_ones());
            (counts.clone().max(), counts.sum::<u32>())
        };
        let draw = |_| {
            let mut set = 0u64;
            while (set.count_ones() as usize) < count {
                set |= 1 << random.below(self.bodies.len());
            }
            set
        };
        let set = (0..200).map(draw).min_by_key(|set| shared(*set)).unwrap_or_default();
        self.taken.push(set);
        (0..self.bodies.len())
            .filter(|index| set >> index & 1 == 1)
            .map(|index| self.bodies[index])
            .collect()
    }
}

/// The values of `{p}`, `{q}` and `{w}`.
struct Names {
    place: &'static str,
    other: &'static str,
    person: &'static str,
}

fn expand(template: &str, names: &Names, random: &mut Random) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (slot, after) = after.split_once('}').expect("a slot ends");
        out.push_str(before);
        match slot {
            "p" => out.push_str(names.place),
            "q" => out.push_str(names.other),
            "w" => out.push_str(names.person),
            _ => match slot
                .split_once('-')
                .map(|(low, high)| (low.parse::<usize>(), high.parse::<usize>()))
            {
                Some((Ok(low), Ok(high))) => {
                    out.push_str(&(low + random.below(high - low + 1)).to_string())
                }
                _ => out.push_str(pick(slot, "|", random)),
            },
        }
        rest = after;
    }
    out + rest
}

/// One of the parts of `list`.
pub fn pick<'a>(list: &'a str, separator: &str, random: &mut Random) -> &'a str {
    let parts: Vec<&str> = list.split(separator).collect();
    parts[random.below(parts.len())]
}

/// Composes `chinese` articles and then `english` ones, the same for the same seed.
pub fn compose(seed: u64, chinese: usize, english: usize) -> Vec<Article> {
    let mut random = Random::of(seed, 0);
    let mut articles = Vec::new();
    for (pool, count, is_english) in [(POOL_ZH, chinese, false), (POOL_EN, english, true)] {
        let mut themes = parse(pool);
        for index in 0..count {
            articles.push(one(&mut themes, index, is_english, &mut random));
        }
    }
    articles
}

fn one(themes: &mut [Theme], index: usize, english: bool, random: &mut Random) -> Article {
    let (places, persons, authors, separator) = if english {
        (PLACES_EN, PERSONS_EN, AUTHORS_EN, "|")
    } else {
        (PLACES_ZH, PERSONS_ZH, AUTHORS_ZH, " ")
    };
    let places: Vec<&'static str> = places.split(' ').collect();
    let count = themes.len();
    // Neighbouring articles of a theme have different places: each round adds its own step.
    let place = places[(index + index / count * 3) % places.len()];
    let names = Names {
        place,
        other: places[random.below(places.len())],
        person: pick(persons, separator, random),
    };
    let sizes: &[usize] = match index % 10 {
        0..=5 => &[8],
        6..=8 => &[5, 4],
        _ => &[5, 4, 4],
    };
    let mut title = String::new();
    let mut sections = Vec::new();
    for (section, &size) in sizes.iter().enumerate() {
        // Later sections have other themes, in each round different ones.
        let theme = &mut themes[(index + section * (3 + index / count * 2)) % count];
        let mut sentences = Vec::new();
        let heading = expand(theme.titles[random.below(theme.titles.len())], &names, random);
        if section == 0 {
            title = heading.clone();
            // There are few opening and closing sentences, so only the first rounds use them.
            sentences.extend(theme.openings.get(index / count));
        }
        sentences.extend(theme.take(size, random));
        if section + 1 == sizes.len() {
            sentences.extend(theme.closings.get((index / count).wrapping_sub(1)));
        }
        let sentences: Vec<String> =
            sentences.iter().map(|sentence| expand(sentence, &names, random)).collect();
        let mut paragraphs = Vec::new();
        let mut rest = &sentences[..];
        while !rest.is_empty() {
            let (paragraph, after) = rest.split_at((2 + random.below(2)).min(rest.len()));
            paragraphs.push(paragraph.to_vec());
            rest = after;
        }
        sections.push((if section == 0 { String::new() } else { heading }, paragraphs));
    }
    let date = NEW_YEAR + random.below(145i64).days();
    let theme = themes[index % count].name;
    let author = pick(authors, separator, random);
    let mut article =
        Article { english, title, theme, place, author, date, dateline: String::new(), sections };
    if random.chance(0.5) {
        article.dateline = article.dateline_of(date);
    }
    article
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn shingles(text: &str) -> HashSet<Vec<char>> {
        let letters: Vec<char> = text.chars().filter(|letter| letter.is_alphanumeric()).collect();
        letters.windows(5).map(<[char]>::to_vec).collect()
    }

    /// The truth says that two articles differ, so no two may be nearly as similar as
    /// near-duplicates.
    #[test]
    fn articles_are_clearly_different() {
        let articles = compose(1, 96, 12);
        let sets: Vec<_> = articles.iter().map(|article| shingles(&article.text())).collect();
        let mut most = 0.0f64;
        for (index, a) in sets.iter().enumerate() {
            for b in &sets[..index] {
                let common = a.intersection(b).count() as f64;
                most = most.max(common / ((a.len() + b.len()) as f64 - common));
            }
        }
        assert!(most < 0.35, "two articles share {most:.2} of their shingles");
        println!("most alike {most:.3}");
        let chars: Vec<usize> =
            articles.iter().map(|article| article.text().chars().count()).collect();
        println!(
            "{:?} {:?} {}",
            chars.iter().min(),
            chars.iter().max(),
            chars.iter().sum::<usize>() / chars.len()
        );
        assert!(articles.iter().all(|article| !article.text().contains(['{', '}', '|'])));
    }
}
