//! Says what kind of thing differs between two aligned texts.
//!
//! `by_whole_text` in `mod.rs` then refuses or accepts the pair and names the rule.
//!
//! Two copies of one article differ in what surrounds it and in small edits. Two pages of one
//! template differ in facts. The amount of what differs does not tell the two cases apart: a visit
//! counter has as many digits as a date. The kind of what differs does.
//!
//! A fact is replaced where the two texts have different numbers, names or content words in the
//! same place. Names and words are found by jieba's dictionary in Chinese ([`span_words`]) and by
//! their letters in all other scripts ([`spelled`]). A negation on one side ([`negations`]) counts
//! as a word.
//!
//! [`span_words`]: crate::confirm::words::span_words
//! [`spelled`]: crate::confirm::words::spelled
//! [`negations`]: crate::confirm::words::negations

use crate::confirm::align::edits::Span;
use crate::confirm::align::{Passage, Tokens, is_han_token};
use crate::confirm::words::likeness::{only_lacks, share_few_characters};
use crate::confirm::words::negations::{are_reversed, deny, revokes};
use crate::confirm::words::span_words::SpanWords;
use crate::confirm::words::spelled::{
    FACT_WORDS_MAX, are_other_passages, are_other_words, are_spellings,
};
use crate::confirm::words::{are_all_opposites, are_one_conjunction, are_short_names};
use crate::text::characters::is_kana;
use crate::text::dictionary::UserDictionary;

/// The version of these rules, of those of [`crate::confirm`] and of the list of furniture words;
/// part of the decision.
pub const VERSION: u32 = 27;

/// What replaces what in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Another number.
    Number,
    /// What stands around an article ([`furniture`](crate::confirm::furniture)), except credits.
    Furniture,
    /// The name of a source, an author or an editor behind a label.
    Credit,
    /// The same numbers in other characters.
    Variant,
    /// Another name.
    Name,
    /// Another content word.
    Word,
    /// Anything else.
    Edit,
}

/// The most tokens of a fact, where each number counts as one token. A longer passage replaces more
/// than a fact.
pub(super) const FACT_TOKENS_MAX: usize = 12;

/// More words than this are a clause, even if there is a name among them. If a side has no known
/// name, [`FACT_WORDS_MAX`] is the limit, and a side more than twice as long as the other is a
/// clause, too.
const NAME_WORDS_MAX: usize = 5;

/// A passage longer than a fact counts as a fact if it is at least 1/20 of the longer text. A
/// shorter one is a clause in other words.
const FACT_PASSAGE_DIVISOR: usize = 20;

/// Whether a span has few tokens on both sides and some on each.
pub fn is_small(span: &Span) -> bool {
    let (less, more) = (span.a.len().min(span.b.len()), span.a.len().max(span.b.len()));
    less > 0 && more <= 3
}

/// Which content words are facts if they are replaced. Each value includes the values before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// None.
    None,
    /// Negations that one text alone has, and words that make a rule its opposite.
    Negations,
    /// All.
    All,
}

/// What is known of a span from the spans around it.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The words that are facts.
    pub counted: Counted,
    /// No other edit is near: beside one, a negation in place of other words is a part of a clause
    /// that was rewritten.
    pub alone: bool,
    /// Another edit replaces the same by the same.
    pub repeated: bool,
}

/// What the words of a span are, if no number of it is replaced. Symmetric.
pub fn word_difference(
    a: &Tokens<'_>,
    b: &Tokens<'_>,
    span: &Span,
    around: Around,
    dictionary: Option<&UserDictionary>,
) -> Difference {
    if is_reversed(a, b, span, around) {
        return Difference::Word;
    }
    let (x, y) = (&span.a, &span.b);
    let words = around.counted == Counted::All;
    let passages = words && around.alone && is_inside(a, b, span);
    let large_passages = passages && is_large(a, b, span);
    let is_bare = x.is_empty() || y.is_empty();
    if is_bare || x.len().max(y.len()) > FACT_TOKENS_MAX && !large_passages {
        return Difference::Edit;
    }
    let one = x.len() == 1 && y.len() == 1;
    if words && one && are_short_names(a.token(x.start), b.token(y.start)) {
        return word_if(!are_one_conjunction(a, b, span));
    }
    let (one_side, other_side) = (a.within(x), b.within(y));
    let are_spelled = !has_han(one_side) && !has_han(other_side);
    let are_japanese = has_kana(one_side) && has_kana(other_side);
    if are_spelled || are_japanese {
        let others = words && are_other_words(one_side, other_side)
            || large_passages && are_other_passages(one_side, other_side);
        // For names the dictionary is asked below.
        if others || are_spelled || are_spellings(one_side, other_side) {
            return word_if(others);
        }
    }
    if words && are_all_opposites(a, b, span) {
        return Difference::Word;
    }
    let words_around = SpanWords::around(a, x, dictionary).zip(SpanWords::around(b, y, dictionary));
    let Some((left, right)) = words_around else { return Difference::Edit };
    let is_broken = x.len() == y.len() && SpanWords::is_broken(&left, &right);
    if is_broken || only_lacks(one_side, other_side) {
        return Difference::Edit;
    }
    let difference = if left.count.max(right.count) > NAME_WORDS_MAX {
        // A clause that was rewritten has other words, too.
        let others = large_passages
            && share_few_characters(&left.letters, &right.letters)
            && say_something(&left, &right);
        word_if(others)
    } else if one && is_han_token(a.token(x.start)) && is_han_token(b.token(y.start)) {
        character_difference(&left, &right, around.repeated)
    } else {
        few_words_difference([x.len(), y.len()], &left, &right, words, passages)
    };
    // jieba has many Japanese names, and few other words.
    if are_japanese && difference == Difference::Word { Difference::Edit } else { difference }
}

/// Another content word if `is_fact`.
fn word_if(is_fact: bool) -> Difference {
    if is_fact { Difference::Word } else { Difference::Edit }
}

/// Whether one side denies the other or makes a rule its opposite, or alone has a point of the
/// compass.
fn is_reversed(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, around: Around) -> bool {
    let (one, other) = (a.within(&span.a), b.within(&span.b));
    let is_bare = span.a.is_empty() || span.b.is_empty();
    let negations = around.counted >= Counted::Negations;
    let words = around.counted == Counted::All;
    (is_bare && negations || words && around.alone) && deny(one, other)
        || is_bare && negations && (revokes(one) || revokes(other))
        || negations && are_reversed(one, other)
        || is_bare && words && is_other_direction(one, other)
}

/// Whether a span is not in front of the texts, and not behind their last sentence. In a short text
/// a passage that replaces another one says something else, whatever its length. At the ends it may
/// be furniture that no list has.
fn is_inside(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let in_sentence = |Passage { tokens, range }: Passage<'_>| {
        let mut gaps = (range.start..range.end.max(range.start + 1)).map(|at| tokens.gap(at));
        gaps.all(|gap| gap.chars().all(|c| " ,\"“”".contains(c)))
    };
    let ends = span.a.end == a.len() || span.b.end == b.len();
    span.a.start.min(span.b.start) > 0
        && (!ends || in_sentence(a.within(&span.a)) && in_sentence(b.within(&span.b)))
}

/// Whether a span is so large a part of the texts that it may be a passage that is a fact.
fn is_large(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let chars = a.chars(span.a.clone()).max(b.chars(span.b.clone()));
    FACT_PASSAGE_DIVISOR * chars >= a.chars(0..a.len()).max(b.chars(0..b.len()))
}

/// Whether a token of a passage is Chinese.
fn has_han(passage: Passage<'_>) -> bool {
    passage.range.clone().any(|at| is_han_token(passage.tokens.token(at)))
}

/// Whether kana stand in a passage or touch it. Then its Chinese characters are parts of Japanese
/// words, most of which jieba's dictionary lacks.
fn has_kana(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    let is_kana = |at: usize| tokens.token(at).starts_with(is_kana);
    range.clone().any(is_kana)
        || tokens.touches(range.end) && is_kana(range.end)
        || range.start > 0 && tokens.touches(range.start) && is_kana(range.start - 1)
}

/// Whether both sides have a word that says something.
fn say_something(left: &SpanWords, right: &SpanWords) -> bool {
    left.say_something() && right.say_something()
}

/// What a Chinese character is that replaces another one, by the words that the two are in. It is
/// more often a slip than a fact, unless both words are names.
fn character_difference(left: &SpanWords, right: &SpanWords, repeated: bool) -> Difference {
    let single_words = left.count == 1 && right.count == 1;
    let names = left.has_name && right.has_name && left.letters.len() == right.letters.len();
    // Of two unknown words that look like names of persons one is more often a slip, unless
    // they bear a title, or one takes the place of the other again.
    let known = left.has_name
        || right.has_name
        || repeated
        || left.has_titled_person && right.has_titled_person;
    let persons = left.has_person && right.has_person && known;
    if single_words && (names || persons) { Difference::Name } else { Difference::Edit }
}

/// What a few words are that replace others, of which some are Chinese. `lengths` are the numbers
/// of tokens of the two sides.
fn few_words_difference(
    lengths: [usize; 2],
    left: &SpanWords,
    right: &SpanWords,
    words: bool,
    passages: bool,
) -> Difference {
    let (fewer, more) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
    let few = left.count.max(right.count) <= FACT_WORDS_MAX && more <= 2 * fewer;
    let parted = share_few_characters(&left.letters, &right.letters);
    let may_be_name = |side: &SpanWords| side.has_name || side.has_unknown;
    if left.has_name && right.has_name || few && parted && may_be_name(left) && may_be_name(right) {
        return Difference::Name;
    }
    // A character that is put in or left out is not a slip for another character.
    let are_nouns = fewer != more && left.are_nouns && right.are_nouns;
    let others = say_something(left, right) || few && are_nouns;
    word_if(words && parted && (few || passages) && others)
}

/// The points of the compass, of which two make another one: 东风, 东南风.
const DIRECTIONS: [&str; 4] = ["东", "南", "西", "北"];

/// Whether one side alone has a point of the compass, beside another one.
fn is_other_direction(one: Passage<'_>, other: Passage<'_>) -> bool {
    let Passage { tokens, range } = if one.range.is_empty() { other } else { one };
    let is_one = |at: usize| at < tokens.len() && DIRECTIONS.contains(&tokens.token(at));
    let (start, end) = (range.start, range.end);
    range.len() == 1
        && is_one(start)
        && (start > 0 && is_one(start - 1) && tokens.touches(start)
            || is_one(end) && tokens.touches(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::replaced_numbers::number_difference;
    use crate::confirm::settle::settled;
    use crate::text::normalize;

    fn differences(a: &str, b: &str) -> Vec<Difference> {
        differences_by(a, b, None)
    }

    fn differences_by(a: &str, b: &str, dictionary: Option<&UserDictionary>) -> Vec<Difference> {
        let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
        let of = |span: &Span| match number_difference(&x, &y, span, true) {
            Difference::Edit => {
                let around = Around { counted: Counted::All, alone: true, repeated: false };
                word_difference(&x, &y, span, around, dictionary)
            }
            difference => difference,
        };
        settled(&x, &y).iter().map(of).collect()
    }

    /// A text that breaks off within a number has no other number; one that ends with a number has.
    #[test]
    fn cut_off_numbers() {
        use Difference::*;
        let (cases, debt) = ("本轮疫情累计报告感染者1899例。", "债务逼近31.4万亿美元的上限");
        for (whole, cut, difference) in [
            (cases, "本轮疫情累计报告感染者1", Edit),
            (cases, "本轮疫情累计报告感染者1...", Edit),
            (cases, "本轮疫情累计报告感染者2", Number),
            (cases, "本轮疫情累计报告感染者1例", Number),
            (debt, "债务逼近31", Edit),
            (debt, "债务逼近31.4", Edit),
            ("房间价格每晚128", "房间价格每晚12", Number),
        ] {
            assert_eq!(differences(whole, cut), [difference], "{cut}");
            assert_eq!(differences(cut, whole), [difference], "{cut}");
        }
    }

    /// Where the minutes of one clock of the page are the hours of the other, the rest was what one
    /// text adds to a number.
    #[test]
    fn clocks_of_a_page() {
        let times = [5, 10, 20];
        let clocks: Vec<String> = (0..27)
            .map(|n| {
                [n / 9, n / 3 % 3, n % 3].map(|at: usize| format!("{:02}", times[at])).join(":")
            })
            .collect();
        for (a, b) in clocks.iter().flat_map(|a| clocks.iter().map(move |b| (a, b))) {
            let of = |clock: &str| format!("访问数:1234 当前时间:{clock} 正文在此,说的是桥");
            let found = differences(&of(a), &of(b));
            assert!(found.iter().all(|one| *one == Difference::Furniture), "{a} {b}: {found:?}");
        }
    }

    /// Facts are distinguished from furniture and from edits, in both orders.
    #[test]
    fn facts_furniture_and_edits() {
        use Difference::*;
        for (a, b, kinds) in [
            (
                "十四届全国人大二次会议将于3月5日召开",
                "十四届全国人大四次会议将于3月5日召开",
                vec![Number],
            ),
            ("7月11日，气温30度", "7月12日，气温30度", vec![Number]),
            ("会议于1日下午在大会堂举行", "会议于15日下午在大会堂举行", vec![Number]),
            ("第二十次会议在北京举行", "第20次会议在北京举行", vec![Variant]),
            (
                "正文在此。 阅读 1234 评论 5",
                "正文在此。 阅读 98 评论 77",
                vec![Furniture, Furniture],
            ),
            ("奋力谱写中国式现代化甘肃篇章", "奋力谱写中国式现代化湖南篇章", vec![Name]),
            // Japanese words with Chinese characters were looked up among Chinese words.
            ("国道で軽トラックと自転車が衝突した", "国道でバイクと自転車が衝突した", vec![Word]),
            ("男性が重傷を負い運ばれた", "男性が軽いけがを負い運ばれた", vec![Word]),
            ("我々はそれを見た", "われわれはそれを見た", vec![Edit]),
            // Names of persons and places with one other character were edits beside kana.
            ("昨日は山本さんが来た", "昨日は山田さんが来た", vec![Name]),
            ("隣に加藤の店がある", "隣に佐藤の店がある", vec![Name]),
            ("男は长野から来た", "男は长崎から来た", vec![Name]),
            ("中国の客が多い", "韩国の客が多い", vec![Name]),
            ("その人は駅にいた", "その男性は駅にいた", vec![Edit]),
            // The same conjunction before another vowel.
            ("cuadros de padre y hijo que", "cuadros de padre e hijo que", vec![Edit]),
            ("en la mesa siete o ocho de", "en la mesa siete u ocho de", vec![Edit]),
            ("in plan y you pay for it", "in plan e you pay for it", vec![Word]),
            ("the variable y in each year", "the variable e in each year", vec![Word]),
            ("本院受理原告张伟诉被告李强一案", "本院受理原告王芳诉被告李强一案", vec![Name]),
            ("本院受理原告李志强诉某公司一案", "本院受理原告李志刚诉某公司一案", vec![Name]),
            ("校长王小明昨天宣布了结果", "校长王晓明昨天宣布了结果", vec![Name]),
            ("玉炉凝冷焰,罗幕蔽晴烟", "玉炉凝冷焰,罗暮蔽晴烟", vec![Edit]),
            ("我们明天去张家界看风景", "我们明天去张家介看风景", vec![Edit]),
            ("现面向社会诚聘会计三名", "现面向社会诚聘厨师三名", vec![Word]),
            ("he was met on monday by all", "he was met on friday by all", vec![Number]),
            ("昨日共发生三起火灾", "昨日共发生五起火灾", vec![Number]),
            ("一审判决已经生效", "二审判决已经生效", vec![Number]),
            ("合同金额为壹佰万元整", "合同金额为叁佰万元整", vec![Number]),
            ("合同金额为壹佰万元整", "合同金额为一百万元整", vec![Variant]),
            ("公布上半年的业绩", "公布下半年的业绩", vec![Word]),
            ("会议在周日上午召开", "会议在周三上午召开", vec![Number]),
            ("获得男子单打冠军", "获得女子单打冠军", vec![Word]),
            ("支付100美元的费用", "支付100欧元的费用", vec![Number]),
            ("在会上作了讲话", "在会中作了讲话", vec![Edit]),
            ("each has vitamin c in it", "each has vitamin d in it", vec![Word]),
            ("the us minister came", "the uk minister came", vec![Word]),
            ("he sat in the garden", "he sat on the garden", vec![Edit]),
            ("on 12 september at noon", "on 12 december at noon", vec![Number]),
            ("a loss of 5 million in all", "a loss of 5 billion in all", vec![Number]),
            ("the sixteenth meeting", "the seventeenth meeting", vec![Number]),
            ("they sold twelve boats", "they sold 12 boats", vec![Variant]),
            ("a crew of twenty-one men", "a crew of 21 men", vec![Variant]),
            ("正文在此。责任编辑:张伟", "正文在此。责任编辑:王芳", vec![Credit]),
            ("党的十九届中央纪委全体会议", "党的国九届中央纪委全体会议", vec![Edit]),
            ("海洋经济的发展很快", "海洋经济地发展很快", vec![Edit]),
            ("the budget grows by half", "the budget grew by half", vec![Edit]),
            ("书记员由王晓雯同志担任", "书记员由王晓霞同志担任", vec![Name]),
            ("起锅前放入白糖一勺", "起锅前放入盐一勺", vec![Word]),
            ("三十天的免办签证", "三十天的须办签证", vec![Word]),
            ("follow the eastern bank", "follow the western bank", vec![Word]),
            ("no visas: you do not need one", "no visas: you need one", vec![Word]),
            ("not a hexadecimal digit", "not a hex digit", vec![Edit]),
            ("同时按住音量加键和电源键", "同时按住音量减键和电源键", vec![Word]),
            ("满200元且持会员卡的顾客", "满200元或持会员卡的顾客", vec![Word]),
            ("请到全部考点参加考试", "请到部分考点参加考试", vec![Word]),
            ("一次两片温水送服", "一次两包温水送服", vec![Number]),
            ("昨天致电马尔代夫总统", "昨天致电马尔在的总统", vec![Edit]),
            ("一次一片,每日两次", "一次1片,每日2次", vec![Variant, Variant]),
            ("住在中国科学院附近", "住在中科院附近", vec![Edit]),
            ("定于明年10月竣工", "定于后年10月竣工", vec![Word]),
            ("集合は火曜日です", "集合は木曜日です", vec![Word]),
            ("이번 주 수요일에 모여", "이번 주 금요일에 모여", vec![Number]),
            ("värme på tisdag kväll", "värme på torsdag kväll", vec![Number]),
            ("is it safe: yes, a metal spatula", "is it safe: no, a metal spatula", vec![Word]),
            ("梦同心同行携手打拼", "梦同心同行在的打拼", vec![Edit]),
            ("昨天致电马尔代夫总统", "昨天致电巴基斯坦总统", vec![Name]),
            ("请问电动车报废需要", "请问电动车上牌需要", vec![Word]),
            ("转让note 9手机一部", "转让note 9 pro手机一部", vec![Number]),
            ("男女同款银色xl码现货", "男女同款银色4xl码现货", vec![Number]),
            ("男女同款银色l码现货", "男女同款银色2xl码现货", vec![Number]),
            ("白天阴天间多云,东风3级", "白天阴天间多云,东南风3级", vec![Word]),
            ("所选颜色为浅金的一款", "所选颜色为亮黄的一款", vec![Word]),
            ("加装七层十二站电梯一部", "加装七层六站电梯一部", vec![Number]),
            ("按照年利率百分之六支付", "按照年利率百分之四点三五支付", vec![Number]),
            ("das fest beginnt am montag um", "das fest beginnt am dienstag um", vec![Number]),
            ("вчера, 6 июня, в деревне", "вчера, 6 июля, в деревне", vec![Number]),
            ("今年的产量上调不少", "今年的产量下调不少", vec![Word]),
            (
                "the third item on this list is: a new plugin interface. upgrade now",
                "the third item on this list is: offline search without any server. upgrade now",
                vec![Word],
            ),
            (
                "说起来就是这一件:快递送错了小区。写完睡了",
                "说起来就是这一件:终于把那本厚厚的书看完。写完睡了",
                vec![Word],
            ),
            ("この布は洗濯機で洗えます", "この布は洗濯機で洗えません", vec![Word]),
            // Days, magnitudes, frequencies and directions that share most letters or characters.
            ("it is closed on mondays in may", "it is closed on sundays in may", vec![Number]),
            ("das museum hat montags zu", "das museum hat sonntags zu", vec![Number]),
            ("the shop is shut on mon and late", "the shop is shut on tue and late", vec![Word]),
            (
                "ele vai investir 5 mil reais já",
                "ele vai investir 5 milhões reais já",
                vec![Number],
            ),
            ("pagará 20 mil euros por todo", "pagará 20 millones de euros por todo", vec![Number]),
            ("they pay rs 5 lakh for it", "they pay rs 5 crore for it", vec![Number]),
            ("they pay rs 5 lakh for it", "they pay rs 500,000 for it", vec![Variant]),
            ("it cost millions of dollars", "it cost billions of dollars", vec![Word]),
            ("one tablet once a day", "one tablet twice a day", vec![Word]),
            ("one third of the voters", "one quarter of the voters", vec![Word]),
            ("该药每周口服一次", "该药每日口服一次", vec![Word]),
            ("wool and grain to china fell", "wool and grain from china fell", vec![Word]),
            ("it is different to the old one", "it is different from the old one", vec![Edit]),
            ("今天气温30°c左右", "今天气温30°f左右", vec![Number]),
            ("昨夜气温5摄氏度以下", "昨夜气温5华氏度以下", vec![Number]),
            ("昨夜气温5摄氏度以下", "昨夜气温5°c以下", vec![Edit]),
            ("사고가 나 한 명이 숨지고", "사고가 나 두 명이 숨지고", vec![Word]),
            ("ils ont sauvé dix personnes ici", "ils ont sauvé six personnes ici", vec![Word]),
            (
                "es wurden drei menschen verletzt",
                "es wurden dreizehn menschen verletzt",
                vec![Word],
            ),
            ("cơn bão làm hai người chết", "cơn bão làm ba người chết", vec![Word]),
            // Roman numerals.
            ("now in a phase ii trial with", "now in a phase iii trial with", vec![Number]),
            ("新药已进入ii期临床试验", "新药已进入iii期临床试验", vec![Number]),
            ("he fought in world war i and", "he fought in world war ii and", vec![Number]),
            ("张xx昨天到了某村", "张xxx昨天到了某村", vec![Edit]),
            // Marks that say the opposite.
            ("if (count &lt; limit) holds", "if (count &gt; limit) holds", vec![Number]),
            ("power [ok] wifi [ok] cable", "power [ok] wifi [no] cable", vec![Number]),
            ("语文 [弱] 数学 [赞] 英语", "语文 [强] 数学 [赞] 英语", vec![Number]),
        ] {
            assert_eq!(differences(a, b), kinds, "{a} | {b}");
            assert_eq!(differences(b, a), kinds, "{b} | {a}");
        }
    }

    /// Words that a job adds are names if their tags say so. One without a tag is a noun, and no
    /// longer a name because it is unknown. A word that the dictionary has keeps its tag. What is
    /// remembered of a window without these words is not used for the same window with them.
    #[test]
    fn tags_of_a_user() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let lines = "蓝月谷 ns\n千年古镇文化旅游区 ns\n林晓岚\n周映雪 n\n甘肃 9 n\n";
        std::fs::write(&file, lines).expect("written");
        let dictionary =
            UserDictionary::read(file.path(), &normalize::Options::default()).expect("words");
        for (a, b, without, with) in [
            (
                "昨天去了蓝月谷游玩",
                "昨天去了千年古镇文化旅游区游玩",
                Difference::Word,
                Difference::Name,
            ),
            ("昨天采访了林晓岚一次", "昨天采访了周映雪一次", Difference::Name, Difference::Word),
            ("中国式现代化甘肃篇章", "中国式现代化湖南篇章", Difference::Name, Difference::Name),
        ] {
            for (a, b) in [(a, b), (b, a)] {
                assert_eq!(differences(a, b), [without], "{a} | {b}");
                assert_eq!(differences_by(a, b, Some(&dictionary)), [with], "{a} | {b}");
                assert_eq!(differences(a, b), [without], "{a} | {b}");
            }
        }
    }

    /// A decimal point and a sign make another number; another way to write it does not.
    #[test]
    fn points_and_signs() {
        for (a, b, difference) in [
            ("投资3.5亿元建成", "投资35亿元建成", Difference::Number),
            ("增长3.5%左右", "增长35%左右", Difference::Number),
            ("最低气温降至-5度", "最低气温降至5度", Difference::Number),
            ("the price is $19.99 now", "the price is $1999 now", Difference::Number),
            ("发布了1.1版", "发布了11版", Difference::Number),
            ("投资12000万元建成", "投资1.2亿元建成", Difference::Variant),
            ("增长3.0%左右", "增长3%左右", Difference::Variant),
            // Without a zero in front of the point.
            ("takes .5 mg of the drug", "takes 5 mg of the drug", Difference::Number),
            ("takes .5 mg of the drug", "takes 0.5 mg of the drug", Difference::Variant),
            ("it costs $.50 in all", "it costs $50 in all", Difference::Number),
            ("at a level of p < .05 here", "at a level of p < 5 here", Difference::Number),
            ("he came with several men", "he came with 12 men", Difference::Number),
            ("a dose of n/a units here", "a dose of 10 units here", Difference::Number),
            ("half of them were there", "5 of them were there", Difference::Number),
            ("half of the people left", "50% of the people left", Difference::Edit),
            ("half of the people left", "1/2 of the people left", Difference::Edit),
            ("it was some day in may", "it was one day in may", Difference::Word),
            ("it ended there .5 people came", "it ended there. 5 people came", Difference::Variant),
            ("增长百分之四十左右", "增长40%左右", Difference::Variant),
            ("增长百分之七点八左右", "增长7.8%左右", Difference::Variant),
            ("总投资约五点六亿元", "总投资约5.6亿元", Difference::Variant),
            ("全长二十三点四公里", "全长23.4公里", Difference::Variant),
            ("全长二十三点四公里", "全长23.6公里", Difference::Number),
            ("some four thousand trucks", "some four thousnd trucks", Difference::Edit),
            ("some four thousand trucks", "some four hundred trucks", Difference::Number),
            ("增长百分之四十左右", "增长50%左右", Difference::Number),
            ("气温降到零下41度", "气温降到-41度", Difference::Variant),
            ("气温降到零下41度", "气温降到-14度", Difference::Number),
            ("it cost $5m in all", "it cost $5 million in all", Difference::Variant),
            ("it cost $1.5m in all", "it cost $1,500,000 in all", Difference::Variant),
            ("it cost $5m in all", "it cost $5bn in all", Difference::Number),
            ("하루에 120,000 대가 다닌다", "하루에 12만 대가 다닌다", Difference::Variant),
            ("净含量5千克装", "净含量5公斤装", Difference::Variant),
            ("全长38千米。", "全长38 km。", Difference::Variant),
            ("净含量5千克装", "净含量6公斤装", Difference::Number),
            ("两室一厅出租", "2室1厅出租", Difference::Variant),
            ("建筑面积78平方米左右", "建筑面积78m2左右", Difference::Variant),
            ("衣长70厘米左右", "衣长70cm左右", Difference::Variant),
            ("建筑面积78m3左右", "建筑面积78m2左右", Difference::Number),
            ("a dose of 5 mg a day", "a dose of 5 μg a day", Difference::Number),
            ("a rate of 1e-5 in all", "a rate of 1e5 in all", Difference::Number),
            ("a rate of 10^-6 in all", "a rate of 10^6 in all", Difference::Number),
            ("净含量5千克装", "净含量5克装", Difference::Number),
            ("하루에 120,000 대가 다닌다", "하루에 15만 대가 다닌다", Difference::Number),
            (
                "a climb of 350 m to the hut",
                "a climb of 350 metres to the hut",
                Difference::Variant,
            ),
            ("two hundred and six were there", "206 were there", Difference::Variant),
            ("水电一共结了九千六", "水电一共结了9600", Difference::Variant),
            ("水电一共结了九千六", "水电一共结了9006", Difference::Number),
            ("距县城三十八千米", "距县城38千米", Difference::Variant),
            ("每日三次,一次半片", "每日三次,一次两片", Difference::Number),
            ("二○二四年春天", "2024年春天", Difference::Variant),
            ("于2024.10.05召开", "于2024-10-05召开", Difference::Variant),
            ("投资12.35亿元建成", "投 资 1 2 . 3 5 亿 元 建 成", Difference::Variant),
            ("细颗粒物pm2.5下降", "细 颗 粒 物 p m 2 . 5 下 降", Difference::Variant),
            ("增长2.27%左右", "增 长 2 . 2 7 % 左 右", Difference::Variant),
            ("built in 2019.12 men came", "built in 2019. 12 men came", Difference::Variant),
            // Another share, and a unit that is also a number word.
            ("欠款的千分之五支付", "欠款的百分之五支付", Difference::Number),
            ("欠款的百分之三支付", "欠款的万分之三支付", Difference::Number),
            ("is red for 1 second and then", "is red for 2 seconds and then", Difference::Number),
            ("is red for one second now", "is red for two seconds now", Difference::Number),
            ("is red for 1 second and then", "is red for one second and then", Difference::Variant),
            ("came on may second again", "came on may 2 again", Difference::Variant),
            ("covid 19 second wave", "covid 19 third wave", Difference::Number),
            // A range, a fraction and a decimal; a date has other marks.
            ("每次服用1-2片为宜", "每次服用1.2片为宜", Difference::Number),
            ("每次服用1/2片为宜", "每次服用1.2片为宜", Difference::Number),
            ("定于2024.10月召开", "定于2024-10月召开", Difference::Variant),
            ("requires python 3.10 or later", "requires python 3.1 or later", Difference::Number),
            ("活动定于3.10在广场举行", "活动定于3.1在广场举行", Difference::Number),
            ("净重3.10公斤装", "净重3.1公斤装", Difference::Variant),
            ("it costs $2.10 in all", "it costs $2.1 in all", Difference::Variant),
            ("values of 1.75 2.10 3.50", "values of 1.75 2.1 3.50", Difference::Variant),
            ("a share of 0.50 in all", "a share of 0.5 in all", Difference::Variant),
            ("a row | 2.10 | 3 of it", "a row | 2.1 | 3 of it", Difference::Variant),
            ("产量增长3.10倍左右", "产量增长3.1倍左右", Difference::Variant),
        ] {
            assert_eq!(differences(a, b), [difference], "{a} | {b}");
            assert_eq!(differences(b, a), [difference], "{b} | {a}");
        }
    }

    /// A number is compared as a whole, however long it is and wherever its digits are equal.
    #[test]
    fn long_numbers_are_one() {
        for (a, b) in [
            ("第五百七十六次会议", "第五百零七次会议"),
            ("2022年度工作报告", "2150年度工作报告"),
            ("电话13812345678转王", "电话13987654321转王"),
            ("证件310112198807095512号", "证件310104199211235528号"),
            // Many digits of several numbers are no longer passage than as many words.
            ("中间价为 7.1234 7.7012 4.8801 元", "中间价为 7.1299 7.7391 4.9123 元"),
        ] {
            assert_eq!(differences(a, b), [Difference::Number], "{a} | {b}");
            assert_eq!(differences(b, a), [Difference::Number], "{b} | {a}");
        }
    }

    /// The same numbers in another order are other numbers: a result is not its reverse.
    #[test]
    fn order_of_numbers() {
        assert_eq!(differences("主队2比1获胜", "主队1比2获胜"), [Difference::Number]);
        assert_eq!(differences("a score of 2-1 then", "a score of 1-2 then"), [Difference::Number]);
        assert_eq!(differences("甲得2票，乙得1票", "乙得1票，甲得2票"), [Difference::Edit]);
    }

    /// A date line that stands where the other text has a headline replaces no number of it.
    #[test]
    fn a_date_line_for_a_headline() {
        let headline = "a walled garden in larkmoor: notes from the fourth year when it rained";
        let date_line = "by m. rowan, 11 march 2025 when it rained";
        assert_eq!(differences(headline, date_line), [Difference::Edit]);
        assert_eq!(differences(date_line, headline), [Difference::Edit]);
    }

    /// A sentence that is left out between two numbers cuts neither of them.
    #[test]
    fn numbers_stay_whole() {
        assert_eq!(
            differences("12日开会。13日休会。14日散会。", "12日开会。14日散会。"),
            [Difference::Edit]
        );
        assert_eq!(differences("11日。12日。", "12日。"), [Difference::Edit]);
    }
}
