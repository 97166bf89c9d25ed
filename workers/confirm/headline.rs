//! Headlines in front of two copies of one text, which other sites write anew.
//!
//! A headline in front of one text alone is left out if it is short. If both texts begin with
//! different headlines, more is asked, because a page of a template also begins with what it is
//! about, and all pages say the same behind that. So the words of both headlines must stand in the
//! texts behind them.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::is_digit;
use crate::confirm::align::edits::{Span, equal_parts};
use crate::confirm::furniture;
use crate::confirm::options::Options;
use crate::confirm::words::negations::{deny, has_negation, revokes};
use crate::text::characters::is_han;
use memchr::memmem;
use std::ops::Range;

/// A text of fewer characters is itself a headline or a date line. Words in front of it make it
/// another headline, and its date is a fact.
pub const FRAMED_CHARS_MIN: usize = 12;

/// Behind the two headlines, both texts must have so many tokens in a row in common.
const BODY_TOKENS_MIN: usize = 20;
/// Each of the two headlines is at most a fifth of its text.
const HEADLINE_OF_TEXT: usize = 5;
/// Fewer characters that differ are an edit, and no other headline.
const OTHER_CHARS_MIN: usize = 4;
/// Of every ten words and Chinese characters of a headline, so many must also stand in the text.
const ECHOES_OF_TEN: usize = 3;
/// Two words of a script with spaces are the same if so many first letters are equal, whatever
/// their endings.
const STEM_CHARS: usize = 4;

/// A label of a tail has at most so many Chinese characters, or letters of another script.
const LABEL_HAN_MAX: usize = 16;
const LABEL_LETTERS_MAX: usize = 20;

/// Which of the spans, in which two texts differ, are in headlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headlines {
    /// None.
    None,
    /// The first one is the headline of one text.
    OfOne,
    /// In each text, all spans before this token, which is the first behind the headline.
    OfBoth([usize; 2]),
}

impl Headlines {
    /// The headlines of two texts with these `lengths` in characters and these ascending `spans`.
    pub fn of(
        spans: &[Span],
        lengths: [usize; 2],
        texts: [&Tokens<'_>; 2],
        options: &Options,
    ) -> Headlines {
        if is_of_one(spans, lengths, texts, options) {
            return Headlines::OfOne;
        }
        let ends = ends_of_both(spans, lengths, texts, options);
        ends.map_or(Headlines::None, Headlines::OfBoth)
    }

    /// Whether a span is in the headlines of both texts.
    pub fn of_both_have(&self, span: &Span) -> bool {
        matches!(self, Headlines::OfBoth([a, b]) if span.a.end <= *a && span.b.end <= *b)
    }
}

/// Whether the first span is a headline: few tokens in front of one text alone. They are at most
/// half as long as the rest, or at most as long as the rest if they are one sentence. What denies
/// the text or takes it back is none.
fn is_of_one(
    spans: &[Span],
    lengths: [usize; 2],
    texts: [&Tokens<'_>; 2],
    options: &Options,
) -> bool {
    let Some(first) = spans.first().filter(|span| span.a.start == 0 && span.b.start == 0) else {
        return false;
    };
    let sides = [&first.a, &first.b];
    let alone = sides.iter().any(|side| side.is_empty());
    let fits = |side: usize| {
        let chars = texts[side].chars(sides[side].clone());
        let rest = lengths[side] - chars;
        sides[side].len() <= options.leading_tokens_max as usize
            && (2 * chars <= rest || chars <= rest && is_sentence(texts[side], sides[side]))
            && rest >= FRAMED_CHARS_MIN
    };
    let revoked = (0..2).any(|side| revokes(texts[side].within(sides[side])));
    let denies = deny(texts[0].within(&first.a), texts[1].within(&first.b));
    alone && fits(0) && fits(1) && !revoked && !denies
}

/// Whether no mark inside the tokens of `range` ends a sentence.
fn is_sentence(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    // A headline may have a colon or a bar, so these end none.
    let ends = |gap: &str| {
        gap.contains(['。', '!', '?', ';', '…']) || gap.contains(". ") || gap.contains("..")
    };
    (range.start + 1..range.end).all(|at| !ends(tokens.gap(at)))
}

/// Whether the last span is a tail: behind the last sentence of one text stand a few words of the
/// site, as of a reader's device, buttons or a reporter. It says nothing by itself: it has no
/// number, no negation and no whole sentence, and does not take the text back.
pub fn has_tail(
    spans: &[Span],
    lengths: [usize; 2],
    texts: [&Tokens<'_>; 2],
    options: &Options,
) -> bool {
    let ends = |span: &&Span| span.a.end == texts[0].len() && span.b.end == texts[1].len();
    let Some(last) = spans.last().filter(ends) else { return false };
    let (side, range) = match (last.a.is_empty(), last.b.is_empty()) {
        (true, false) => (1, &last.b),
        (false, true) => (0, &last.a),
        _ => return false,
    };
    let tokens = texts[side];
    let chars = tokens.chars(range.clone());
    let rest = lengths[side] - chars;
    range.start > 0
        && range.len() <= options.leading_tokens_max as usize
        && 2 * chars <= rest
        && rest >= FRAMED_CHARS_MIN
        && ends_a_sentence(tokens.gap(range.start))
        && is_sentence(tokens, range)
        && !ends_a_sentence(tokens.gap(range.end))
        && !range.clone().any(|at| is_digit(tokens.token(at)))
        && !has_negation(tokens.within(range))
        && !revokes(tokens.within(range))
        && are_labels(tokens, range)
}

/// Whether a mark in `gap` ends a sentence.
fn ends_a_sentence(gap: &str) -> bool {
    gap.contains(['。', '!', '?', '…'])
        || gap.contains(". ")
        || gap.starts_with('.')
        || gap.contains(".\n")
}

/// Whether the tokens of `range` are labels: between spaces and marks are few characters. In a
/// script with spaces a label may have several words.
fn are_labels(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    let mut chars = 0;
    range.clone().all(|at| {
        let gap = tokens.gap(at);
        let (begins, most) = match tokens.token(at).starts_with(is_han) {
            true => (!gap.is_empty(), LABEL_HAN_MAX),
            false => (gap.contains(|c: char| c == '\n' || !c.is_whitespace()), LABEL_LETTERS_MAX),
        };
        chars = if begins { 0 } else { chars } + tokens.chars(at..at + 1);
        chars <= most
    })
}

/// For each text the first token behind its headline, if both headlines are short and their words
/// stand in the texts.
fn ends_of_both(
    spans: &[Span],
    lengths: [usize; 2],
    texts: [&Tokens<'_>; 2],
    options: &Options,
) -> Option<[usize; 2]> {
    // Before each span is an equal part, and the last one stands behind all.
    let parts = equal_parts(spans, texts.map(Tokens::len));
    let (count, body) = parts.enumerate().find(|(_, part)| part.a.len() >= BODY_TOKENS_MIN)?;
    let heads = [0..body.a.start, 0..body.b.start];
    let fits = |side: usize| {
        let (head, text) = (&heads[side], texts[side]);
        let sides = spans[..count].iter().map(|span| [&span.a, &span.b][side]);
        let other = sides.map(|range| text.chars(range.clone()));
        let chars = text.chars(head.clone());
        head.len() <= options.leading_tokens_max as usize
            && HEADLINE_OF_TEXT * chars <= lengths[side]
            && other.sum::<usize>() >= OTHER_CHARS_MIN
    };
    let says_the_same = |side: usize| is_echo(texts[side], &heads[side]);
    let are_headlines = fits(0) && fits(1) && says_the_same(0) && says_the_same(1);
    are_headlines.then_some([body.a.start, body.b.start])
}

/// What [`is_echo`] looks for in a headline: the two Chinese characters that begin at the token
/// `at`, or the first letters of a word of another script.
fn word<'t>(tokens: &'t Tokens<'_>, at: usize, end: usize) -> Option<&'t str> {
    let token = tokens.token(at);
    if !token.starts_with(is_han) {
        let stem = token.char_indices().nth(STEM_CHARS - 1).map(|(last, c)| last + c.len_utf8());
        return stem.map(|stem| &token[..stem]);
    }
    let has_next = at + 1 < end && tokens.touches(at + 1);
    (has_next && tokens.token(at + 1).starts_with(is_han)).then(|| tokens.passage(&(at..at + 2)))
}

/// Whether the text behind `head` has enough of its words. Names of source and author do not count.
fn is_echo(tokens: &Tokens<'_>, head: &Range<usize>) -> bool {
    let body = tokens.places.get(head.end).map_or(tokens.text.len(), |place| place.start as usize);
    let begins_token = |at: usize| {
        let start = (body + at) as u32;
        tokens.places.binary_search_by_key(&start, |place| place.start).is_ok()
    };
    let is_said = |at: usize| {
        word(tokens, at, head.end).is_some_and(|word| {
            memmem::find_iter(&tokens.text.as_bytes()[body..], word).any(begins_token)
        })
    };
    let (mut words, mut echoes) = (0, 0);
    for at in head.clone() {
        let is_han = tokens.token(at).starts_with(is_han);
        let says = is_han || word(tokens, at, head.end).is_some();
        if says && furniture::of(tokens, at..at + 1).is_none() {
            words += 1;
            echoes += usize::from(is_said(at) || is_han && at > head.start && is_said(at - 1));
        }
    }
    echoes > 0 && 10 * echoes >= ECHOES_OF_TEN * words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    fn headlines(a: &str, b: &str) -> Headlines {
        let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
        let lengths = [&x, &y].map(|text| text.chars(0..text.len()));
        Headlines::of(&settled(&x, &y), lengths, [&x, &y], &Options::default())
    }

    /// Buttons, a device or a reporter behind the last sentence of a short text made two texts of
    /// one post. What says something there, and a sentence, counts.
    #[test]
    fn tails() {
        let tail = |text: &str, behind: &str| {
            let (a, b) = (text.to_owned(), format!("{text}{behind}"));
            let (x, y) = (Tokens::of(&*a).expect("short"), Tokens::of(&*b).expect("short"));
            let of = |x: &Tokens<'_>, y: &Tokens<'_>| {
                let lengths = [x, y].map(|text| text.chars(0..text.len()));
                has_tail(&settled(x, y), lengths, [x, y], &Options::default())
            };
            assert_eq!(of(&x, &y), of(&y, &x));
            of(&x, &y)
        };
        let post = "今天的晚霞真的太好看了，站在桥上看了半个小时，脚都站麻了也舍不得走。";
        for behind in [" 来自iphone客户端", " 加入购物车 立即购买 收藏商品", "（新华社）"]
        {
            assert!(tail(post, behind), "{behind}");
        }
        for behind in
            ["明天再来。", " 来自3号线", " 未经证实", "我们明天晚上还要到同一座桥上去看晚霞"]
        {
            assert!(!tail(post, behind), "{behind}");
        }
        let english = "we walked to the bridge and watched the sunset for half an hour.";
        assert!(tail(english, " share this post"));
        assert!(!tail(english, " tomorrow we will come here again and bring the children"));
        assert!(!tail("we walked to the bridge", " in the rain"), "no sentence ends before it");
    }

    /// Another headline of the same article is left out. What a page of a template begins with is
    /// not: the text behind it does not say it again.
    #[test]
    fn another_headline_says_what_the_text_says() {
        let article = "历时十四个月的古桥修缮工程昨天通过验收,市民从今天起可以步行过桥。修缮时换下了三十块旧石板,\
            栏杆按老照片重新雕刻。住在桥边的老人说,以前雨天不敢走,现在放心了。";
        let of = |headline: &str, text: &str| format!("{headline}\n{text}");
        let (a, b) = (of("古桥修缮竣工 市民可以过桥", article), of("古桥修好了,来走一走", article));
        assert!(matches!(headlines(&a, &b), Headlines::OfBoth(_)));
        assert_eq!(headlines(&a, article), Headlines::OfOne);
        let company = "我们公司成立于一九九八年,总部在石桥镇,有三座工厂。员工享受带薪年假和免费午餐,\
            有意者请把简历发到人事部的邮箱,合适的人会在两周内收到面试通知,其余不另行答复。";
        let (a, b) = (of("急招会计师一名双休", company), of("高薪诚聘货车司机", company));
        assert_eq!(headlines(&a, &b), Headlines::None);
    }
}
