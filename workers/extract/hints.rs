//! Reads the attributes of a tag for hints whether its content is main text.
//!
//! Class and id words are the habits of sites, in English and in pinyin. The word lists began as
//! those of Arc90's Readability (2009) and its successors. We differ in that a short word must
//! stand alone (`nav` in `main-nav` and `mainNav`, not in `navy`), which substring lists get wrong.
//! At most the first 4 KiB of a tag are read, and the first 256 bytes of each value.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::tags::Tag;
use super::tokens::Attributes;

/// A set of hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints(u8);

impl Hints {
    /// No hint.
    pub const NONE: Hints = Hints(0);
    /// A word that is rare on main text: sidebar, share, comment ...
    pub const UNLIKELY: Hints = Hints(1);
    /// A word that outweighs an unlikely one: content, article ...
    pub const EXCUSED: Hints = Hints(2);
    /// A word in favour of main text.
    pub const POSITIVE: Hints = Hints(4);
    /// A word against main text.
    pub const NEGATIVE: Hints = Hints(8);
    /// Not shown, or navigation by its role.
    pub const HIDDEN: Hints = Hints(16);
    /// A name that editors use for the article's own body and for nothing else.
    pub const BODY: Hints = Hints(32);
    /// In a table's cell: line numbers beside code.
    pub const NOISE: Hints = Hints(64);

    /// Whether any of `other` is in this set.
    pub fn any(self, other: Hints) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets.
    #[must_use]
    pub const fn with(self, other: Hints) -> Hints {
        Hints(self.0 | other.0)
    }

    /// The hints in the attributes of a `tag`.
    pub fn of(tag: Tag, attributes: &[u8]) -> Hints {
        let mut hints = Hints::NONE;
        for (name, value) in Attributes::of(attributes) {
            let value = &value[..value.len().min(VALUE_BYTES_MAX)];
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            let hint = match name.len() {
                2 if is(b"id") && !is_slug(tag, value) => words(value),
                4 if is(b"role") => role(value),
                5 if is(b"class") => words(value),
                5 if is(b"style") => style(value),
                6 if is(b"hidden") => Hints::HIDDEN,
                8 if is(b"itemprop") && value == b"articleBody" => BODY,
                11 if is(b"aria-hidden") && value == b"true" => Hints::HIDDEN,
                _ => Hints::NONE,
            };
            hints = hints.with(hint);
        }
        hints
    }
}

const VALUE_BYTES_MAX: usize = 256;
const BODY: Hints = Hints::BODY.with(Hints::POSITIVE).with(Hints::EXCUSED);

/// Whether an id is a heading or a symbol of the text itself (`sharing-menus-with-others`,
/// `os.path.head`), as in documentation: its words are the topic of the section.
fn is_slug(tag: Tag, id: &[u8]) -> bool {
    let separators = id.iter().filter(|byte| matches!(byte, b'-' | b'_')).count();
    tag == Tag::Section || separators > 2 || id.contains(&b'.')
}

fn role(value: &[u8]) -> Hints {
    match value {
        b"navigation" | b"menu" | b"menubar" | b"complementary" | b"dialog" | b"alertdialog" | b"banner"
        | b"contentinfo" | b"search" | b"toolbar" | b"tablist" => Hints::HIDDEN,
        b"main" | b"article" => Hints::POSITIVE.with(Hints::EXCUSED),
        _ => Hints::NONE,
    }
}

fn style(value: &[u8]) -> Hints {
    let mut declarations = value.split(|byte| *byte == b';').map(|declaration| {
        let mut sides = declaration.splitn(2, |byte| *byte == b':');
        (sides.next().unwrap_or_default().trim_ascii(), sides.next().unwrap_or_default().trim_ascii())
    });
    let hides = declarations.any(|(property, value)| {
        let starts = |word: &[u8]| value.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        property.eq_ignore_ascii_case(b"display") && starts(b"none")
            || property.eq_ignore_ascii_case(b"visibility") && starts(b"hidden")
    });
    if hides { Hints::HIDDEN } else { Hints::NONE }
}

/// Words by their hints. A `^` before a word: it must begin there; a `$` after it: it must end
/// there.
const WORDS: [(Hints, &str); 6] = [
    (
        Hints::UNLIKELY,
        "-ad- ad-box adbox advert banner breadcrumb combx comment pinglun community disqus ^extra$ ^extras$ foot gdpr head \
         legends menu related recommend tuijian remark replies ^rss shoutbox sidebar skyscraper social share sponsor \
         supplemental agegate pagination pager popup dialog modal copyright hotnews ^hot$ toolbar navbar navi login \
         cookie subscribe newsletter qrcode mbx side- -side crumb ^toc langs lang-",
    ),
    (Hints::EXCUSED, "article body column content main shadow text entry post zoom endtext artibody footnote"),
    (
        Hints::POSITIVE,
        "article body content entry hentry h-entry main page post text blog story zoom detail zhengwen neirong artibody \
         trs_editor rich_media footnote",
    ),
    (
        Hints::NEGATIVE,
        "-ad- hidden banner combx comment com- contact foot gdpr masthead media_ meta outbrain promo related recommend \
         scroll share shoutbox sidebar skyscraper sponsor shopping tags ^tool widget copyright menu nav list rank ^hot \
         login ^qr breadcrumb crumb ^toc",
    ),
    (
        BODY,
        "endtext artibody js_content trs_editor article-content article_content articlecontent article-body \
         article_body articlebody post-content post_content post-body entry-content content_area md-content__inner \
         main-content__body news_txt vsb_content cnt_bd rich_media_content detail-content text_content",
    ),
    (Hints::NOISE, "^linenos$ ^lineno$ ^gutter$ ^rouge-gutter$"),
];

struct HintWord {
    hints: Hints,
    must_begin: bool,
    must_end: bool,
}

struct Matcher {
    automaton: AhoCorasick,
    words: Vec<HintWord>,
}

fn matcher() -> Option<&'static Matcher> {
    static MATCHER: OnceLock<Option<Matcher>> = OnceLock::new();
    let build = || {
        let mut words = Vec::new();
        let mut needles = Vec::new();
        for (hints, list) in WORDS {
            for written in list.split_ascii_whitespace() {
                let needle = written.trim_start_matches('^').trim_end_matches('$');
                words.push(HintWord { hints, must_begin: written.starts_with('^'), must_end: written.ends_with('$') });
                needles.push(needle);
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(needles)
            .ok()?;
        Some(Matcher { automaton, words })
    };
    MATCHER.get_or_init(build).as_ref()
}

/// The hints in the words of a class or an id.
fn words(value: &[u8]) -> Hints {
    let Some(matcher) = matcher() else { return Hints::NONE };
    let mut hints = Hints::NONE;
    for found in matcher.automaton.find_overlapping_iter(value) {
        let word = &matcher.words[found.pattern().as_usize()];
        if (!word.must_begin || is_edge(value, found.start())) && (!word.must_end || is_edge(value, found.end())) {
            hints = hints.with(word.hints);
        }
    }
    hints
}

/// Whether a word may begin or end at `at`: at either end, beside a non-letter, or at the hump of
/// camelCase.
fn is_edge(value: &[u8], at: usize) -> bool {
    let (Some(before), Some(behind)) = (at.checked_sub(1).and_then(|at| value.get(at)), value.get(at)) else {
        return true;
    };
    !before.is_ascii_alphabetic()
        || !behind.is_ascii_alphabetic()
        || before.is_ascii_lowercase() && behind.is_ascii_uppercase()
}
