//! Says which texts say too little to tell pages apart: a headline alone, an error page, a login
//! or consent wall.
//!
//! Such a text stands under many addresses that have nothing else in common. Identical texts are
//! then no sign that the pages are copies. Such texts are recognised by two properties: their
//! length in letters, which is below a limit of the job, and phrases of a frozen list. Both depend
//! on the text alone, so it does not depend on other pages which pages stay apart.

use crate::text::characters::is_letter;
use crate::text::letters::weight;
use crate::text::lists::lines;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::ops::Range;
use std::sync::OnceLock;

/// The version of these rules and of the list; part of a store's identity.
pub const VERSION: u32 = 8;

/// The most letters of a notice. A longer text is none, whatever it says.
const NOTICE_LETTERS_MAX: u32 = 200;
/// The most bytes of a notice. A long word has few letters by their weight.
const NOTICE_BYTES_MAX: usize = 8 << 10;

/// The phrases of notices, one a line. A phrase that only describes a page has [`DESCRIBES`] in
/// front.
const NOTICES: &str = include_str!("notices.txt");

/// Marks a phrase that articles have, too.
const DESCRIBES: char = '~';

/// A phrase makes a notice if it has at least one in so many letters of its sentence ...
const SENTENCE_PARTS: u32 = 16;
/// ... or, if it only describes, of its clause ...
const CLAUSE_PARTS: u32 = 3;
/// ... and of its sentence, if it stands in the first of several clauses. People say `请稍等` or
/// `please wait` to one another, and go on behind the comma.
const FIRST_CLAUSE_PARTS: u32 = 4;

/// Whether the normalised text `normal`, with the weight `letters`, is a notice: an error page, a
/// page that waits, a login or consent wall. It is a notice if it is short and most of its
/// sentences have a phrase of the list.
///
/// ```
/// use workers::text::letters::weight;
/// use workers::text::little::is_notice;
///
/// let is_notice = |normal| is_notice(normal, weight(normal));
/// assert!(is_notice("404 not found nginx/1.18.0"));
/// assert!(is_notice("抱歉,您访问的页面不存在或已被删除。请稍后再试!"));
/// assert!(!is_notice("they went home. the door was locked, page not found? no."));
/// ```
pub fn is_notice(normal: &str, letters: u32) -> bool {
    if letters > NOTICE_LETTERS_MAX || normal.len() > NOTICE_BYTES_MAX {
        return false;
    }
    let Some(phrases) = phrases() else { return false };
    // Most texts have no phrase at all.
    if !phrases.of.is_match(normal) {
        return false;
    }
    let (mut sentences, mut notices) = (0, 0);
    for sentence in sentences_of(normal) {
        sentences += 1;
        notices += usize::from(phrases.are_in(sentence));
    }
    notices * 2 > sentences
}

/// Whether the phrase at `range` is much of its sentence or, if it only describes, of its clause.
fn is_much(sentence: &str, range: Range<usize>, describes: bool) -> bool {
    if !describes {
        return SENTENCE_PARTS * weight(&sentence[range]) >= weight(sentence);
    }
    let mark = |c: char| ",:、".contains(c);
    let from = sentence[..range.start].rfind(mark).unwrap_or(0);
    let to = sentence[range.end..].find(mark).map_or(sentence.len(), |at| range.end + at);
    let is_first = from == 0 && to < sentence.len();
    let said = weight(&sentence[range]);
    CLAUSE_PARTS * said >= weight(&sentence[from..to])
        && (!is_first || FIRST_CLAUSE_PARTS * said >= weight(sentence))
}

/// Whether `range` of `sentence` does not begin or end inside a word of ASCII letters or digits.
fn is_word_of_its_own(sentence: &[u8], range: Range<usize>) -> bool {
    let word = |at: Option<&u8>| at.is_some_and(u8::is_ascii_alphanumeric);
    let before = range.start.checked_sub(1).and_then(|at| sentence.get(at));
    let (found, after) = (&sentence[range.clone()], sentence.get(range.end));
    let is_inside = word(before) && word(found.first()) || word(after) && word(found.last());
    !is_inside
}

/// The phrases of the list.
struct Phrases {
    of: AhoCorasick,
    /// For each phrase, whether it only describes.
    describes: Vec<bool>,
}

impl Phrases {
    /// Whether `sentence` has a phrase of the list that is not inside a longer word of ASCII
    /// letters. It must not be a small part of the sentence, because an advertisement may ask
    /// readers to log in for more. A phrase that only describes must be a large part of its clause,
    /// because whole articles are about a bridge `under construction`.
    fn are_in(&self, sentence: &str) -> bool {
        self.of.find_overlapping_iter(sentence).any(|found| {
            let describes = self.describes[found.pattern().as_usize()];
            is_word_of_its_own(sentence.as_bytes(), found.range())
                && is_much(sentence, found.range(), describes)
        })
    }
}

/// The phrases of the list; `None` only if the library refused them, which a test excludes.
fn phrases() -> Option<&'static Phrases> {
    static PHRASES: OnceLock<Option<Phrases>> = OnceLock::new();
    let read = || {
        // There are many short texts, so all phrases are looked for in one pass of the fastest
        // automaton.
        let mut builder = AhoCorasick::builder();
        let builder = builder.kind(Some(AhoCorasickKind::DFA));
        let of = builder.build(listed().map(|(phrase, _)| phrase)).ok()?;
        Some(Phrases { of, describes: listed().map(|(_, describes)| describes).collect() })
    };
    PHRASES.get_or_init(read).as_ref()
}

/// Each phrase, and whether it only describes.
fn listed() -> impl Iterator<Item = (&'static str, bool)> {
    lines(NOTICES)
        .map(|line| line.strip_prefix(DESCRIBES).map_or((line, false), |phrase| (phrase, true)))
}

/// The sentences of a text: what stands between end marks and has a letter. A full stop ends a
/// sentence only before a space or at the end of the text, because numbers and names have points.
fn sentences_of(normal: &str) -> impl Iterator<Item = &str> {
    let mut rest = normal;
    let sentences = std::iter::from_fn(move || {
        let mut marks = rest.char_indices().filter(|&(at, c)| match c {
            '。' | '!' | '?' | ';' | '…' => true,
            '.' => rest[at + 1..].chars().next().is_none_or(|next| next == ' '),
            _ => false,
        });
        let end = marks.next().map_or(rest.len(), |(at, c)| at + c.len_utf8());
        let sentence;
        (sentence, rest) = rest.split_at(end);
        (!sentence.is_empty()).then_some(sentence)
    });
    sentences.filter(|sentence| sentence.chars().any(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::normalize::{Options, normalize};
    use proptest::prelude::*;

    /// A phrase that is not in normal form would be found in no text. So the test checks that each
    /// phrase alone is a notice.
    #[test]
    fn phrases_are_in_normal_form() {
        let phrases: Vec<&str> = listed().map(|(phrase, _)| phrase).collect();
        let mut normal = String::new();
        for phrase in &phrases {
            normalize(phrase, &Options::default(), &mut normal);
            assert_eq!(normal, *phrase);
            assert!(is_notice(phrase, weight(phrase)), "{phrase}");
        }
        assert_eq!(
            phrases.iter().collect::<std::collections::BTreeSet<_>>().len(),
            phrases.len(),
            "each once"
        );
    }

    proptest! {
        /// One pass finds what a search for each phrase alone finds, in any mixture of words.
        #[test]
        fn one_pass_finds_each_phrase(
            words in prop::collection::vec((0usize..200, "[a-z .,登录页]{0,3}", 0usize..30), 0..8)
        ) {
            let known = super::phrases().expect("the library takes the list");
            let phrases: Vec<(&str, bool)> = listed().collect();
            let mut text = String::new();
            for (at, between, cut) in &words {
                let phrase: String = phrases[at % phrases.len()].0.chars().skip(cut / 10).collect();
                text.push_str(&phrase);
                text.push_str(between);
            }
            let alone = |(phrase, describes): &(&str, bool)| {
                let found = |at: usize| {
                    let range = at..at + phrase.len();
                    is_word_of_its_own(text.as_bytes(), range.clone())
                        && is_much(&text, range, *describes)
                };
                memchr::memmem::find_iter(text.as_bytes(), phrase).any(found)
            };
            prop_assert_eq!(known.are_in(&text), phrases.iter().any(alone), "{}", text);
        }
    }

    /// An advertisement in one sentence was a notice for any phrase in it. Most sentences decide:
    /// an article that mentions a phrase, a poem and a short message are no notices, and walls of
    /// several sentences are.
    #[test]
    fn most_sentences_decide() {
        for (text, expected) in [
            ("we use cookies. accept all cookies or open cookie settings. more.", true),
            ("just a moment... please wait while we check your browser.", true),
            ("请先登录!还没有账号?立即注册。", true),
            ("空山不见人,但闻人语响。返景入深林,复照青苔上。", false),
            ("今天上班路上又堵车了,请稍等我十分钟。到了给你打电话。晚饭吃什么?", false),
            (
                "the ministry said the page not found on its site was moved. it is back. readers may go on.",
                false,
            ),
            (
                "在中国式现代化建设中,各级党组织充分发挥战斗堡垒作用,团结带领广大群众攻坚克难。",
                false,
            ),
            ("据新华社消息,连接两市的高速铁路目前正在建设中,预计明年通车。", false),
            ("双方此前签署的停火协议已失效,外交部发言人呼吁尽快降温。", false),
            (
                "the new bridge, which has been under construction since the spring, opens in may",
                false,
            ),
            ("dock workers in the north have been loading grain for a third week", false),
            ("该系列产品的旧型号已下线,新车型下月上市。", false),
            ("网站建设中,敬请期待!", true),
            // A post of one sentence was a notice, so that identical copies of it stayed apart.
            ("2024年高考成绩今天公布,考生请登录省教育考试院网站查询。", false),
            ("请稍等,我到了车站北门再给你打电话,一起坐车去看外婆。", false),
            (
                "please wait for me at the north gate of the station with the two red suitcases \
                 of grandmother.",
                false,
            ),
            (
                "we value your privacy, so the clinic on the hill keeps all letters of patients \
                 in a locked room.",
                false,
            ),
            (
                "商场周年庆今天开始,老顾客带身份证到服务台,现场扫码立即注册会员并领取一份小礼品。",
                false,
            ),
            ("请登录后查看更多内容", true),
            ("请登录您的账号以继续访问本站", true),
            ("请稍等,页面正在加载。", true),
            ("please wait, your request is being processed.", true),
            ("we value your privacy", true),
            ("an error occurred, please try again.", true),
            ("点击这里返回首页", true),
            ("尊敬的用户,因进行网站维护,本站今晚暂停服务,请您谅解!", true),
            ("我公司专业从事网站建设,网站维护,网络推广,域名注册,欢迎来电", false),
            ("我们的设计师在网站建设中注重每个细节,为客户提供设计,推广和培训服务", false),
            (
                "本店经营各类五金工具,电动工具,劳保用品和建筑材料,品种齐全,质量可靠,\
                 欲了解更多产品和价格请登录本店官网或拨打电话咨询",
                false,
            ),
            ("该链接已失效", true),
            ("抱歉,该商品已下线。", true),
            ("this site is under construction", true),
            ("import reloading from './loadings'", false),
            ("", false),
        ] {
            assert_eq!(is_notice(text, weight(text)), expected, "{text}");
        }
        let long = "the page you requested is gone. ".repeat(40);
        assert!(!is_notice(&long, weight(&long)));
    }
}
