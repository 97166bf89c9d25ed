//! Perturbations: changes that sites make to a text and after which it is still the same text.
//!
//! Each gives both sides of a pair, because counters and clocks are on both copies. The random
//! numbers decide places and figures, so a seed makes the same pairs again.

use crate::random::Random;
use crate::traditional::Traditional;

/// A perturbation and its name in tables.
pub struct Perturbation {
    /// The name, with its strength.
    pub name: &'static str,
    /// Makes the two sides of a pair from a text.
    pub pair: fn(&str, &mut Random) -> (String, String),
}

/// Every perturbation, in the order of the table.
pub const ALL: [Perturbation; 21] = [
    Perturbation {
        name: "headline in front, a fifth",
        pair: |text, random| one(text, front(text, random, 20)),
    },
    Perturbation {
        name: "headline in front, a tenth",
        pair: |text, random| one(text, front(text, random, 10)),
    },
    Perturbation {
        name: "note behind, a fifth",
        pair: |text, random| one(text, behind(text, random, 20)),
    },
    Perturbation {
        name: "note behind, a tenth",
        pair: |text, random| one(text, behind(text, random, 10)),
    },
    Perturbation { name: "notes at both ends, a tenth each", pair: both_ends },
    Perturbation { name: "counter differs", pair: counter },
    Perturbation { name: "clock differs", pair: clock },
    Perturbation { name: "date line differs", pair: date_line },
    Perturbation { name: "copyright year differs", pair: copyright },
    Perturbation {
        name: "advertisement inside, a fifth",
        pair: |text, random| one(text, inside(text, random, 20)),
    },
    Perturbation {
        name: "advertisement inside, a tenth",
        pair: |text, random| one(text, inside(text, random, 10)),
    },
    Perturbation {
        name: "punctuation in ASCII",
        pair: |text, _| one(text, ascii_punctuation(text)),
    },
    Perturbation { name: "no punctuation", pair: |text, _| one(text, no_punctuation(text)) },
    Perturbation { name: "full width", pair: |text, _| one(text, full_width(text)) },
    Perturbation {
        name: "traditional script",
        pair: |text, _| one(text, Traditional::new().convert(text)),
    },
    Perturbation { name: "line breaks", pair: |text, _| one(text, broken_lines(text)) },
    Perturbation { name: "spaces between characters", pair: |text, _| one(text, spaced(text)) },
    Perturbation { name: "1 % noise", pair: |text, random| one(text, noise(text, random, 1)) },
    Perturbation { name: "3 % noise", pair: |text, random| one(text, noise(text, random, 3)) },
    Perturbation { name: "a sentence lost", pair: sentence_lost },
    Perturbation { name: "truncated to nine tenths", pair: |text, _| one(text, truncated(text)) },
];

fn one(text: &str, copy: String) -> (String, String) {
    (text.to_owned(), copy)
}

/// Sentences of other texts: headlines, notes and advertisements are made of them.
const FILLER_ZH: &str = "春季新品上架全场包邮欢迎选购 扫码关注公众号获取更多内容 本文转自网络版权归原作者所有 今日热点要闻速览 \
    编辑推荐精彩内容不容错过 点击下载客户端阅读更方便 免费试听名师课程限时报名 记者从有关部门获悉最新消息 \
    街头巷尾的老手艺人与他们的故事 清晨的集市上热气腾腾的早点 山里的茶农迎来采摘的时节 老城区的小巷焕然一新";
const FILLER_EN: &str = "sign up for our newsletter today and never miss a story|subscribe now for the best offers of the week|this \
    piece first appeared in the village paper|read more stories like this one on our front page|download the app for a \
    faster and better experience|the editors recommend these articles to our readers";

/// Whether most letters of `text` are Latin.
pub fn is_english(text: &str) -> bool {
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    2 * latin > text.chars().filter(|c| c.is_alphanumeric()).count()
}

/// Filler of about `percent` of the length of `text`, at least 4 characters.
fn filler(text: &str, random: &mut Random, percent: usize) -> String {
    let wanted = (text.chars().filter(|c| !c.is_whitespace()).count() * percent / 100).max(4);
    let english = is_english(text);
    let lines: Vec<&str> = match english {
        true => FILLER_EN.split('|').collect(),
        false => FILLER_ZH.split_whitespace().collect(),
    };
    let mut filler = String::new();
    while filler.chars().filter(|c| !c.is_whitespace()).count() < wanted {
        filler.push_str(lines[random.below(lines.len())]);
        filler.push_str(if english { ". " } else { "。" });
    }
    let mut left = wanted;
    let end = filler.char_indices().find(|(_, c)| {
        left -= usize::from(!c.is_whitespace() && left > 0);
        left == 0
    });
    let end = end.map_or(filler.len(), |(at, c)| at + c.len_utf8());
    filler.truncate(end);
    filler
}

fn front(text: &str, random: &mut Random, percent: usize) -> String {
    format!("{}\n{text}", filler(text, random, percent))
}

fn behind(text: &str, random: &mut Random, percent: usize) -> String {
    format!("{text}\n{}", filler(text, random, percent))
}

fn both_ends(text: &str, random: &mut Random) -> (String, String) {
    let with_front = front(text, random, 10);
    let note = filler(text, random, 10);
    one(text, format!("{with_front}\n{note}"))
}

/// Puts filler behind a sentence in the middle.
fn inside(text: &str, random: &mut Random, percent: usize) -> String {
    let ends = sentence_ends(text);
    let middle: Vec<usize> = ends.iter().copied().filter(|at| *at < text.len()).collect();
    let at = match middle.is_empty() {
        // Not within a number.
        true => {
            let mut places = text.char_indices().skip(text.chars().count() / 2);
            places.find(|(_, c)| !c.is_numeric()).map_or(text.len(), |(at, _)| at)
        }
        false => middle[random.below(middle.len())],
    };
    format!("{}\n{}\n{}", &text[..at], filler(text, random, percent), &text[at..])
}

/// The places behind the sentences of `text`. A full stop in a number ends no sentence.
fn sentence_ends(text: &str) -> Vec<usize> {
    let ends = |(at, c): (usize, char)| {
        let behind = at + c.len_utf8();
        let latin = matches!(c, '.' | '!' | '?')
            && text[behind..].chars().next().is_none_or(char::is_whitespace);
        (latin || matches!(c, '。' | '！' | '？')).then_some(behind)
    };
    text.char_indices().filter_map(ends).collect()
}

fn counter(text: &str, random: &mut Random) -> (String, String) {
    let mut side = || {
        let (reads, comments) = (random.below(90_000u32) + 1000, random.below(300u32));
        match is_english(text) {
            true => format!("{text}\n{reads} views, {comments} comments"),
            false => format!("{text}\n阅读 {reads} 评论 {comments}"),
        }
    };
    (side(), side())
}

fn clock(text: &str, random: &mut Random) -> (String, String) {
    let mut side = || {
        let (visits, time) = (random.below(90_000u32) + 1000, time(random));
        match is_english(text) {
            true => format!("visitors: {visits} current time: {time}\n{text}"),
            false => format!("访问数:{visits} 当前时间:{time}\n{text}"),
        }
    };
    (side(), side())
}

fn time(random: &mut Random) -> String {
    format!("{:02}:{:02}:{:02}", random.below(24u32), random.below(60u32), random.below(60u32))
}

fn date_line(text: &str, random: &mut Random) -> (String, String) {
    let mut side = || {
        let date = format!(
            "{}-{:02}-{:02}",
            2015 + random.below(10u32),
            1 + random.below(12u32),
            1 + random.below(28u32)
        );
        match is_english(text) {
            true => format!("Published: {date} {}\n{text}", &time(random)[..5]),
            false => format!("{date} {} 来源：本站\n{text}", &time(random)[..5]),
        }
    };
    (side(), side())
}

fn copyright(text: &str, random: &mut Random) -> (String, String) {
    let mut side = || match is_english(text) {
        true => format!("{text}\nCopyright © {} All rights reserved", 2010 + random.below(15u32)),
        false => {
            format!(
                "{text}\n版权所有 © {} 京ICP备{:08}号",
                2010 + random.below(15u32),
                random.below(99_999_999u32)
            )
        }
    };
    (side(), side())
}

fn ascii_punctuation(text: &str) -> String {
    let map = |c| match c {
        '，' | '、' => ',',
        '。' => '.',
        '：' => ':',
        '；' => ';',
        '！' => '!',
        '？' => '?',
        '“' | '”' | '「' | '」' | '《' | '》' => '"',
        '（' => '(',
        '）' => ')',
        c => c,
    };
    text.chars().map(map).collect()
}

/// Marks of numbers stay: without them `3.5`, `1/3`, `2-4` and `-5` are other numbers.
fn no_punctuation(text: &str) -> String {
    let mut before = ' ';
    let mut left = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let leads = chars.peek().is_some_and(char::is_ascii_digit);
        let is_of_number = leads && (before.is_ascii_digit() || "-−".contains(c));
        if is_of_number || c.is_alphanumeric() || c.is_whitespace() {
            left.push(c);
        }
        before = c;
    }
    left
}

fn full_width(text: &str) -> String {
    let wide = |c: char| match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
        c => c,
    };
    text.chars().map(wide).collect()
}

fn broken_lines(text: &str) -> String {
    let (mut broken, english) = (String::new(), is_english(text));
    for (at, c) in text.chars().enumerate() {
        if at > 0 && at % 20 == 0 && !english {
            broken.push('\n');
        }
        broken.push(if c == ' ' && at % 7 == 0 { '\n' } else { c });
    }
    broken
}

fn spaced(text: &str) -> String {
    match is_english(text) {
        true => text.replace(' ', "   "),
        false => text.chars().flat_map(|c| [c, ' ']).collect(),
    }
}

/// Replaces `percent` of the letters, but no digits.
fn noise(text: &str, random: &mut Random, percent: u32) -> String {
    const HAN: [char; 12] =
        ['的', '在', '有', '和', '人', '这', '中', '大', '为', '上', '个', '国'];
    let change = |c: char| {
        if !c.is_alphabetic() || random.below(100u32) >= percent {
            return c;
        }
        match c.is_ascii() {
            true => char::from(b'a' + random.below(26u8)),
            false => HAN[random.below(HAN.len())],
        }
    };
    text.chars().map(change).collect()
}

/// Leaves out one sentence of at most a fifth of the text; without one, its last tenth.
fn sentence_lost(text: &str, random: &mut Random) -> (String, String) {
    let mut ends = vec![0];
    ends.extend(sentence_ends(text));
    let mut spans: Vec<(usize, usize)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
    spans.retain(|(from, to)| 5 * (to - from) <= text.len() && to - from > 12);
    match spans.is_empty() {
        true => one(text, truncated(text)),
        false => {
            let (from, to) = spans[random.below(spans.len())];
            one(text, format!("{}{}", &text[..from], &text[to..]))
        }
    }
}

fn truncated(text: &str) -> String {
    text.chars().take(text.chars().count() * 9 / 10).collect()
}
