//! Reads the attributes of a tag for hints whether its content is main text.
//!
//! Class and id words are the habits of sites, in English and in pinyin. The word lists began as
//! those of Arc90's Readability (2009) and its successors. We differ in that some short words must
//! begin or end at an edge (`hot` in `hot-list` and `topHot`, not in `photo`), which lists of
//! substrings get wrong.
//! At most the first 4 KiB of a tag are read, and the first 256 bytes of each value.

use crate::extract::tags::Tag;
use crate::extract::tokens::{Attributes, hides};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::sync::OnceLock;

/// A set of hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints(u16);

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
    /// Line numbers beside code, in a cell of a table.
    pub const NOISE: Hints = Hints(64);
    /// A name that is used only for text of others: comments, replies, teasers of other articles.
    pub const OTHERS: Hints = Hints(128);
    /// A name for the reviews of several buyers.
    pub const REVIEWS: Hints = Hints(256);
    /// A name of one review, which may be the article itself: of a film, of a book.
    pub const REVIEW: Hints = Hints(512);
    /// A name of a text that says what the page is about, as shops have of each product.
    pub const DESCRIPTION: Hints = Hints(1024);
    /// A name of what a shop says about all of its products: delivery, returns.
    pub const TERMS: Hints = Hints(2048);
    /// A word for a list, which is against main text if its entries are links.
    pub const LINKS: Hints = Hints(8192);
    /// A word against main text, at least if it has links.
    pub const AGAINST: Hints = Hints::NEGATIVE.with(Hints::LINKS);

    /// Whether any of `other` is in this set.
    pub fn any(self, other: Hints) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets.
    #[must_use]
    pub const fn with(self, other: Hints) -> Hints {
        Hints(self.0 | other.0)
    }

    /// This set without `other`.
    fn without(self, other: Hints) -> Hints {
        Hints(self.0 & !other.0)
    }

    /// The hints in the attributes of a `tag`, and its shape: see
    /// [`Node::shape`](super::tree::Node::shape).
    pub fn of(tag: Tag, attributes: &[u8]) -> (Hints, u32) {
        let (mut hints, mut shape) = (Hints::NONE, 0);
        let (mut id, mut is_section) = (&b""[..], tag == Tag::Section);
        for (name, value) in Attributes::of(attributes) {
            let value = &value[..value.len().min(VALUE_BYTES_MAX)];
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            if (is(b"class") || is(b"id")) && !value.is_empty() {
                shape = shape_with(shape, value);
            }
            let hint = match name.len() {
                2 if is(b"id") => {
                    id = value;
                    Hints::NONE
                }
                4 if is(b"role") => role(value),
                5 if is(b"class") => {
                    is_section |=
                        value.split(u8::is_ascii_whitespace).next() == Some(&b"section"[..]);
                    words(value)
                }
                5 if is(b"style") && hides(value) => Hints::HIDDEN,
                6 if is(b"hidden") => Hints::HIDDEN,
                8 if is(b"itemprop") && value == b"articleBody" => BODY,
                8 if is(b"itemprop") && value == b"comment" => Hints::OTHERS,
                8 if is(b"itemprop") && matches!(value, b"review" | b"reviews") => Hints::REVIEW,
                8 if is(b"itemprop") && value == b"description" => Hints::DESCRIPTION,
                8 if is(b"itemtype") && value.ends_with(b"schema.org/Comment") => Hints::OTHERS,
                8 if is(b"itemtype") && value.ends_with(b"schema.org/Review") => Hints::REVIEW,
                11 if is(b"aria-hidden") && value == b"true" => Hints::HIDDEN,
                _ => Hints::NONE,
            };
            hints = hints.with(hint);
        }
        if !is_section && !is_slug(id) {
            hints = hints.with(words(id));
        }
        (hints, shape)
    }
}

/// A number for the classes and ids of an element without their digits, so that `post_17` and
/// `post_18` have one; 0 if it has none.
fn shape_with(shape: u32, value: &[u8]) -> u32 {
    // FNV-1a.
    let letters = value.iter().filter(|byte| !byte.is_ascii_digit());
    letters
        .fold(shape ^ 0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

const VALUE_BYTES_MAX: usize = 256;
/// A word for a column beside the article.
const COLUMN: Hints = Hints(4096);
const BODY: Hints = Hints::BODY.with(Hints::POSITIVE).with(Hints::EXCUSED);

/// Whether an id is a heading or a symbol of the text itself (`sharing-menus-with-others`,
/// `os.path.head`), as in documentation: its words are the topic of the section. So is any id of a
/// section, which some makers of documentation write as a `div` of that class.
fn is_slug(id: &[u8]) -> bool {
    let separators = id.iter().filter(|byte| matches!(byte, b'-' | b'_')).count();
    separators > 2 || id.contains(&b'.')
}

fn role(value: &[u8]) -> Hints {
    match value {
        b"navigation" | b"menu" | b"menubar" | b"complementary" | b"dialog" | b"alertdialog"
        | b"banner" | b"contentinfo" | b"search" | b"toolbar" | b"tablist" => Hints::HIDDEN,
        b"main" | b"article" => Hints::POSITIVE.with(Hints::EXCUSED),
        b"comment" => Hints::OTHERS,
        _ => Hints::NONE,
    }
}

/// Words by their hints. A `^` before a word: it must begin there; a `$` after it: it must end
/// there.
const WORDS: [(Hints, &str); 12] = [
    (
        Hints::UNLIKELY,
        "-ad- ad-box adbox advert banner combx comment$ comments pinglun community disqus ^extra$ ^extras$ ^foot$ foot$ \
         footer gdpr ^head$ head$ header legends menu related recommend tuijian xiangguan huifu remark ^reply replies \
         ^rss shoutbox sidebar skyscraper social share$ sharebar sharebox ^sharing sponsor supplemental agegate \
         pagination pager popup dialog$ modal copyright hotnews ^hot$ toolbar navbar ^navi ^login login$ cookie \
         subscribe newsletter qrcode mbx ^side- -side$ crumb ^toc langs lang-",
    ),
    (Hints::EXCUSED, "article body column content main shadow text entry post zoom code-toolbar"),
    (
        Hints::POSITIVE,
        "article body content entry main page post text blog story zoom detail zhengwen neirong trs_editor rich_media \
         footnote",
    ),
    (
        Hints::NEGATIVE,
        "-ad- hidden banner combx comment$ comments com- contact ^foot$ foot$ footer gdpr masthead media_ meta outbrain \
         promo related recommend scroll share$ sharebar sharebox ^sharing shoutbox sidebar skyscraper sponsor shopping \
         ^tool widget copyright ^hot ^login login$ ^qr crumb ^toc",
    ),
    (Hints::LINKS, "tags menu nav list rank"),
    (
        BODY,
        "endtext artibody js_content trs_editor article-content article_content articlecontent article-body \
         article_body articlebody post-content post_content post-body entry-content content_area md-content__inner \
         main-content__body news_txt vsb_content cnt_bd rich_media_content detail-content text_content",
    ),
    (Hints::NOISE, "^linenos$ ^lineno$ ^gutter$ ^rouge-gutter$"),
    // These four count only in a name that has one of `NAMES`.
    (Hints::REVIEWS, "reviews testimonial pingjia"),
    (Hints::REVIEW, "review"),
    (Hints::DESCRIPTION, "desc"),
    (Hints::TERMS, "delivery shipping refund warrant guarantee payment peisong shouhou"),
    // This one counts only in a name for which `is_sidebar`.
    (COLUMN, "sidebar ^aside$ ^rail$"),
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
                words.push(HintWord {
                    hints,
                    must_begin: written.starts_with('^'),
                    must_end: written.ends_with('$'),
                });
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
        if (!word.must_begin || is_edge(value, found.start()))
            && (!word.must_end || is_edge(value, found.end()))
        {
            hints = hints.with(word.hints);
        }
    }
    for name in &NAMES {
        let names = |written| name.names(written);
        let is_named = hints.any(name.sign) && value.split(u8::is_ascii_whitespace).any(names);
        hints = if is_named { hints.with(name.hint) } else { hints.without(name.hint) };
    }
    if hints.any(COLUMN) && value.split(u8::is_ascii_whitespace).any(is_sidebar) {
        hints = hints.with(Hints::UNLIKELY).with(Hints::NEGATIVE).without(Hints::EXCUSED);
    }
    hints.without(COLUMN)
}

/// Whether a name is that of a column beside the article: `content-sidebar`, `post-aside`. Words
/// such as `content` say there where the column stands. `content-sidebar-wrap` is the element
/// around both.
fn is_sidebar(written: &[u8]) -> bool {
    let parts = name_parts(written).map(|part| {
        let digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        &part[..part.len() - digits]
    });
    consists_of(parts.filter(|part| !part.is_empty()), COLUMNS, BESIDE_COLUMNS)
}

const COLUMNS: &str = "sidebar aside rail";
const BESIDE_COLUMNS: &str =
    "main content article post entry blog page left right primary secondary inner widget";

/// Whether one of the `parts` of a name is one of `words`, and all others are of these or of
/// `beside`.
fn consists_of<'n>(parts: impl Iterator<Item = &'n [u8]>, words: &str, beside: &str) -> bool {
    let is_one_of = |list: &str, part: &[u8]| {
        list.split_ascii_whitespace().any(|word| word.as_bytes().eq_ignore_ascii_case(part))
    };
    let mut found = false;
    for part in parts {
        let known = is_one_of(words, part);
        found |= known;
        if !known && !is_one_of(beside, part) {
            return false;
        }
    }
    found
}

/// A kind of name that says what everything inside the element is.
struct Name {
    hint: Hints,
    /// The hint of values that may have such a name. It saves time, because most values have none
    /// and splitting takes long.
    sign: Hints,
    /// A name has one of these words ...
    words: &'static str,
    /// ... and besides only these.
    beside: &'static str,
}

const NAMES: [Name; 5] = [
    Name { hint: Hints::OTHERS, sign: Hints::UNLIKELY, words: OTHERS, beside: BESIDE_OTHERS },
    Name {
        hint: Hints::REVIEWS,
        sign: Hints::REVIEWS,
        words: "reviews testimonial testimonials pingjia",
        beside: BESIDE_REVIEWS,
    },
    Name { hint: Hints::REVIEW, sign: Hints::REVIEW, words: "review", beside: BESIDE_REVIEWS },
    Name {
        hint: Hints::DESCRIPTION,
        sign: Hints::DESCRIPTION,
        words: "description descr desc",
        beside: "product prod item goods short long full main content text body box wrap wrapper container area section \
            tab tabs panel inner detail details single view page value block woocommerce",
    },
    Name {
        hint: Hints::TERMS,
        sign: Hints::TERMS,
        words: "delivery shipping refund refunds warranty guarantee payment payments peisong shouhou",
        beside: "info information policy and note notice terms detail details tab return returns exchange exchanges content text box \
            block wrap wrapper container area section body panel inner",
    },
];
const BESIDE_REVIEWS: &str = "customer customers product products client clients user users buyer list lists item items \
    box block wrap wrapper container area section content text body entry entries row inner outer group panel tab all \
    latest slider carousel";

/// Words for text of others ...
const OTHERS: &str = "comment comments commentlist replies reply replylist related relatednews relatedposts recommend \
    recommended recommends recommendation recommendations pinglun huifu tuijian xiangguan";
/// ... and words that may stand beside them in a name.
const BESIDE_OTHERS: &str = "post posts article articles content contents news story stories list lists box wrap wrapper \
    container area section body item items read reading text block module topic topics link links entry entries more \
    hot latest user users all row inner outer group panel form count title header";

impl Name {
    /// Whether a name such as `related-posts`, `comment_12` or `articleComments` says what
    /// everything inside is. `comments-open` and `main-comments` do not, because they have one more
    /// word.
    fn names(&self, written: &[u8]) -> bool {
        let is_number = |part: &&[u8]| part.iter().all(u8::is_ascii_digit);
        let parts = name_parts(written).filter(|part| !is_number(part));
        consists_of(parts, self.words, self.beside)
    }
}

/// The parts of a name: between marks, and at the humps of camelCase.
fn name_parts(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = name.split(|byte| matches!(byte, b'-' | b'_' | b':' | b'.'));
    words.flat_map(|word| word.chunk_by(|a, b| !(a.is_ascii_lowercase() && b.is_ascii_uppercase())))
}

/// Whether a word may begin or end at `at`: at either end, beside a non-letter, or at the hump of
/// camelCase.
fn is_edge(value: &[u8], at: usize) -> bool {
    let (Some(before), Some(behind)) =
        (at.checked_sub(1).and_then(|at| value.get(at)), value.get(at))
    else {
        return true;
    };
    !before.is_ascii_alphabetic()
        || !behind.is_ascii_alphabetic()
        || before.is_ascii_lowercase() && behind.is_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column named after the text that it stands beside was not taken for a column. One more
    /// word may name the element around both.
    #[test]
    fn names_of_columns() {
        let of = |class: &str| Hints::of(Tag::Div, format!("class=\"{class}\"").as_bytes()).0;
        let is_column = |class| of(class).any(Hints::UNLIKELY) && !of(class).any(Hints::EXCUSED);
        for class in ["content-sidebar", "col postSidebar", "aside", "main_sidebar2", "right-rail"]
        {
            assert!(is_column(class), "{class}");
        }
        for class in ["content-sidebar-wrap", "content", "trailing", "asides-and-notes"] {
            assert!(!is_column(class), "{class}");
        }
    }

    /// Articles were dropped because their names have a part that looks like a sidebar's.
    #[test]
    fn words_within_other_words() {
        let of = |class: &str| Hints::of(Tag::Div, format!("class=\"{class}\"").as_bytes()).0;
        let is_unlikely = |class| of(class).any(Hints::UNLIKELY) && !of(class).any(Hints::EXCUSED);
        for class in [
            "bloginner",
            "headline-box",
            "football-box",
            "inside-wrap",
            "shareholder",
            "commentary",
            "dialogue-box",
            "mw-heading mw-heading2",
            "markdown-heading",
            "code-toolbar",
        ] {
            assert!(!is_unlikely(class), "{class}");
        }
        for class in [
            "login-box",
            "userlogin",
            "head",
            "head_top",
            "pageHeader",
            "site-header",
            "tophead",
            "foot",
            "foot1",
            "pagefooter",
            "side-bar",
            "left-side",
            "bdshare",
            "share-box",
            "shareBox",
            "comment",
            "newscomments",
            "navigation",
            "dialog",
        ] {
            assert!(is_unlikely(class), "{class}");
        }
    }

    /// Only a whole name says that everything inside is text of others: one more word may say
    /// something else.
    #[test]
    fn names_of_others() {
        let of = |class: &str| Hints::of(Tag::Div, format!("class=\"{class}\"").as_bytes()).0;
        for class in
            ["comments", "comment_12", "relatedPosts", "x articleComments", "reply-list", "pinglun"]
        {
            assert!(of(class).any(Hints::OTHERS), "{class}");
        }
        for class in [
            "comments-open",
            "main-comments",
            "article-body",
            "commented code",
            "unrelated",
            "no-reply",
        ] {
            assert!(!of(class).any(Hints::OTHERS), "{class}");
        }
    }

    /// Reviews, descriptions and terms had no names. Each counts only as a whole name, like names
    /// of text of others.
    #[test]
    fn names_of_reviews_descriptions_and_terms() {
        let all = [Hints::REVIEWS, Hints::REVIEW, Hints::DESCRIPTION, Hints::TERMS];
        let none = Hints::NONE;
        for (attributes, expected) in [
            ("class=reviews", Hints::REVIEWS),
            ("id=customer-reviews", Hints::REVIEWS),
            ("class=product__reviews", Hints::REVIEWS),
            ("class='x testimonial'", Hints::REVIEWS),
            ("class=review", Hints::REVIEW),
            ("id=review_12", Hints::REVIEW),
            ("class=reviewItem", Hints::REVIEW),
            ("itemprop=review", Hints::REVIEW),
            ("itemtype='https://schema.org/Review'", Hints::REVIEW),
            ("class=description", Hints::DESCRIPTION),
            ("class=productDescription", Hints::DESCRIPTION),
            ("class=product__description", Hints::DESCRIPTION),
            ("itemprop=description", Hints::DESCRIPTION),
            ("class=delivery-info", Hints::TERMS),
            ("class=shipping-and-returns", Hints::TERMS),
            ("class=film-review", none),
            ("class=preview", none),
            ("class=reviewed", none),
            ("class=site-description", none),
            ("class=descent", none),
            ("class=returns", none),
            ("class=delivery-article", none),
            ("itemtype='https://schema.org/ReviewNewsArticle'", none),
        ] {
            let found = Hints::of(Tag::Div, attributes.as_bytes()).0;
            for hint in all {
                assert_eq!(found.any(hint), hint == expected, "{attributes}: {hint:?}");
            }
        }
    }

    /// The id of a section was taken for its role, where documentation writes a section as a `div`.
    #[test]
    fn ids_of_sections_are_slugs() {
        for (attributes, is_unlikely) in [
            ("class=\"section\" id=\"cookies\"", false),
            ("id=\"comments\" class=\"section level2\"", false),
            ("id=\"cookies\"", true),
            ("id=\"sidebar\" class=\"sidebar section\"", true),
            ("id=\"comments\" class=\"sections\"", true),
        ] {
            let hints = Hints::of(Tag::Div, attributes.as_bytes()).0;
            assert_eq!(hints.any(Hints::UNLIKELY), is_unlikely, "{attributes}");
            assert!(is_unlikely || hints == Hints::NONE, "{attributes}: {hints:?}");
        }
    }

    /// Posts of a thread have one shape, whatever number each has.
    #[test]
    fn shapes_have_no_digits() {
        let of = |attributes: &str| Hints::of(Tag::Div, attributes.as_bytes()).1;
        assert_eq!(of("id=post_17 class=\"post\""), of("id=post_8 class=\"post\""));
        assert_ne!(of("class=post"), of("class=note"));
        assert_eq!(of("href=x"), 0);
    }
}
