//! Tells which of two texts denies what the other one says.

use crate::confirm::align::digits::is_digit;
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::words::likeness::share_few_letters;
use crate::confirm::words::{ClassWord, are_other_words_of_one_class, class_words, is_number_word};
use crate::text::characters::is_han;
use crate::text::lists::{WordMap, WordSet, lines, of_kind};
use crate::text::tagged::TaggedWords;
use std::sync::OnceLock;

const NEGATIONS: &str = include_str!("negations.txt");

/// The most tokens of a negation. A longer passage is a clause.
const TOKENS_MAX: usize = 4;
/// The most tokens of a headline or a note that takes a text back. A longer one is a text.
const REVOKING_TOKENS_MAX: usize = 30;
/// The fewest letters of a word behind a prefix that denies it. Before a shorter word such letters
/// are often part of the word.
const PREFIXED_MIN: usize = 4;

/// The lists of [`NEGATIONS`].
struct Lists {
    words: WordSet,
    verbs: WordSet,
    inside: Vec<&'static str>,
    prefixes: Vec<&'static str>,
    adverbs: WordSet,
    harmless: Vec<&'static str>,
    denials: Vec<&'static str>,
    revocations: Vec<&'static str>,
    /// By word: its lines, and its side of each.
    reversals: WordMap<Vec<ClassWord>>,
}

fn lists() -> &'static Lists {
    static LISTS: OnceLock<Lists> = OnceLock::new();
    let of = |kind: &'static str| of_kind(NEGATIONS, kind);
    LISTS.get_or_init(|| Lists {
        words: of("word").collect(),
        verbs: of("verb").collect(),
        inside: of("inside").collect(),
        prefixes: of("prefix").collect(),
        adverbs: of("adverb").collect(),
        harmless: of("but").collect(),
        denials: of("denial").collect(),
        revocations: of("revoke").collect(),
        reversals: {
            let lines = lines(NEGATIONS).filter_map(|line| line.strip_prefix("reverse "));
            let classes = lines.map(|line| line.split(" / ").map(|side| side.split(", ")));
            class_words(classes)
        },
    })
}

/// Whether one side of a span denies what the other side says: a negation stands on one side alone,
/// or in place of other words. Symmetric.
///
/// ```
/// use workers::confirm::align::{Tokens, spans};
/// use workers::confirm::words::negations::deny;
///
/// let deny = |a, b| {
///     let (a, b) = (Tokens::of(a).unwrap(), Tokens::of(b).unwrap());
///     spans(&a, &b, 9).unwrap().iter().any(|span| deny(a.within(&span.a), b.within(&span.b)))
/// };
/// assert!(deny("it is closed", "it is not closed"));
/// assert!(deny("there is some money", "there is no money"));
/// assert!(!deny("she lives in a house", "she lives in the house"));
/// ```
pub fn deny(a: Passage<'_>, b: Passage<'_>) -> bool {
    if a.range.len().max(b.range.len()) > TOKENS_MAX {
        return false;
    }
    match (a.range.is_empty(), b.range.is_empty()) {
        (true, true) => false,
        (true, false) => is_negation(b) || is_contraction(b),
        (false, true) => is_negation(a) || is_contraction(a),
        (false, false) => has_negation(a) != has_negation(b) && !is_misspelt(a, b),
    }
}

/// Whether two passages make a rule and its opposite: `可以` and `不得`, `may` and `shall not`, `上调`
/// and `下调`, `is` and `isn't`. Symmetric.
pub fn are_reversed(a: Passage<'_>, b: Passage<'_>) -> bool {
    if a.range.len().min(b.range.len()) == 0 || a.range.len().max(b.range.len()) > TOKENS_MAX {
        return false;
    }
    if is_verb_denied(a, b) || is_verb_denied(b, a) {
        return true;
    }
    let one = a.range.len() == 1 && b.range.len() == 1;
    if one && is_prefixed(a.tokens.token(a.range.start), b.tokens.token(b.range.start)) {
        return true;
    }
    // Two words of Chinese characters may have one in common.
    let lines = |passage: Passage<'_>, before: usize, behind: usize| -> &'static [ClassWord] {
        let Passage { tokens, range } = passage;
        let from = range.start.checked_sub(before);
        let wide =
            from.map(|from| from..range.end + behind).filter(|wide| wide.end <= tokens.len());
        let found = wide.and_then(|wide| lists().reversals.get(tokens.passage(&wide)));
        found.map_or(&[], Vec::as_slice)
    };
    if is_different(a) && is_different(b) {
        return false;
    }
    [(0, 0), (1, 0), (0, 1)].into_iter().any(|(before, behind)| {
        are_other_words_of_one_class(lines(a, before, behind), lines(b, before, behind))
    })
}

/// Whether the passage stands in front of a text or behind it and takes the text back, as `已取消` in
/// a headline. The text itself does not say so.
pub fn revokes(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    if range.is_empty() || range.len() > REVOKING_TOKENS_MAX {
        return false;
    }
    let rest = match (range.start, tokens.len() - range.end) {
        (0, _) => range.end..tokens.len(),
        (_, 0) => 0..range.start,
        _ => return false,
    };
    let (said, rest) = (tokens.passage(range), tokens.passage(&rest));
    lists().revocations.iter().any(|word| said.contains(word) && !rest.contains(word))
}

/// Whether one word is the other behind a prefix that denies it, as `unlawful` and `lawful`.
/// Symmetric.
pub fn is_prefixed(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let prefix = long.strip_suffix(short).filter(|prefix| !prefix.is_empty());
    prefix.is_some_and(|prefix| lists().prefixes.contains(&prefix))
        && short.chars().count() >= PREFIXED_MIN
}

/// Whether letters within a word of a script without spaces deny it.
pub fn is_inside(letters: &str) -> bool {
    lists().inside.contains(&letters)
}

/// Whether the passage is a negation and nothing else, except an English auxiliary verb or Chinese
/// adverbs: `do not`, `并不`.
fn is_negation(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    let is_adverb = |at: &usize| lists().adverbs.contains(tokens.token(*at));
    let adverbs = range.clone().take_while(is_adverb).count();
    let bare = range.start + adverbs..range.end;
    if [range, &bare].into_iter().any(|said| lists().words.contains(tokens.passage(said))) {
        return denies(tokens.within(&bare));
    }
    let rest = range.start + 1..range.end;
    let bears = range.len() == 2 && lists().verbs.contains(tokens.token(range.start));
    bears && tokens.token(rest.start) == "not"
}

/// Whether there is a negation in the passage.
pub fn has_negation(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    let ends = |from: usize| from + 1..=range.end.min(from + TOKENS_MAX);
    range.clone().any(|from| {
        is_contracted(tokens, from)
            || ends(from).any(|end| is_negation(tokens.within(&(from..end))))
    })
}

/// Whether a word of the passage denies something: not only letters of it, as in `不少`.
pub fn says_no(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    let is_word = |at: usize| {
        !tokens.token(at).starts_with(is_han) || {
            let word = word_at(tokens, at);
            let bare =
                word.trim_start_matches(|c: char| lists().adverbs.contains(c.to_string().as_str()));
            lists().words.contains(bare)
        }
    };
    let ends = |from: usize| from + 1..=range.end.min(from + TOKENS_MAX);
    range.clone().any(|from| {
        is_contracted(tokens, from)
            || ends(from).any(|end| is_negation(tokens.within(&(from..end)))) && is_word(from)
    })
}

/// Whether the passage, a word of the list, denies something here. Before a number `no` is short
/// for `number`.
fn denies(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    let is_number = tokens.passage(range) == "no"
        && range.end < tokens.len()
        && is_digit(tokens.token(range.end));
    !is_number && !is_harmless(passage)
}

/// Whether a Chinese negation is a part of a word that denies nothing.
fn is_harmless(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    let place = tokens.places[range.start].start as usize;
    let (before, from) = (&tokens.text[..place], &tokens.text[place..]);
    let holds = |word: &&str| {
        let mut places = word.char_indices().map(|(at, _)| word.split_at(at));
        places.any(|(front, rest)| before.ends_with(front) && from.starts_with(rest))
    };
    let one = range.len() == 1 && from.starts_with(is_han);
    one && lists().harmless.iter().any(holds) && !lists().denials.iter().any(holds) && {
        let whole = word_at(tokens, range.start);
        lists().harmless.iter().any(|word| whole.contains(word))
    }
}

/// The tokens on each side of a negation among which jieba finds its word.
const AROUND_TOKENS: usize = 4;

/// The word of jieba that has the token at `at`.
fn word_at(tokens: &Tokens<'_>, at: usize) -> String {
    let touches = |at: &usize| tokens.touches(*at);
    let back = (0..at).rev().take(AROUND_TOKENS).take_while(|before| touches(&(before + 1)));
    let on = (at + 1..tokens.len()).take(AROUND_TOKENS).take_while(touches);
    let range = at - back.count()..at + 1 + on.count();
    let mut end = tokens.places[range.start].start;
    let words = TaggedWords::of(tokens.passage(&range), None);
    let place = tokens.places[at].start;
    let is_there = |word: &&&str| {
        end += word.len() as u32;
        end > place
    };
    words.words().iter().find(is_there).map_or_else(String::new, |word| (*word).to_owned())
}

/// Whether the token at `at` is the end of a verb such as `isn't`.
fn is_contracted(tokens: &Tokens<'_>, at: usize) -> bool {
    at > 0
        && tokens.token(at) == "t"
        && matches!(tokens.gap(at), "'" | "’")
        && tokens.token(at - 1).ends_with('n')
}

/// Whether the passage is the end of `can't`, or all of `don't`.
fn is_contraction(Passage { tokens, range }: Passage<'_>) -> bool {
    range.len() <= 2 && is_contracted(tokens, range.end - 1)
}

/// Whether one passage is a verb and the other one the same verb denied: `is` and `isn't`.
fn is_verb_denied(plain: Passage<'_>, denied: Passage<'_>) -> bool {
    let (start, end) = (denied.range.start, denied.range.end);
    if plain.range.len() != 1 || denied.range.len() != 2 || !is_contracted(denied.tokens, end - 1) {
        return false;
    }
    let verb = plain.tokens.token(plain.range.start);
    match denied.tokens.token(start) {
        "won" => verb == "will",
        "shan" => verb == "shall",
        contracted => contracted.strip_suffix('n') == Some(verb),
    }
}

/// Whether the word before a passage is `different`, behind which `to` means the same as `from`.
fn is_different(Passage { tokens, range }: Passage<'_>) -> bool {
    range.start > 0 && matches!(tokens.token(range.start - 1), "different" | "differently")
}

/// Whether the sides are one word, misspelt or with a space in it.
pub fn is_misspelt(a: Passage<'_>, b: Passage<'_>) -> bool {
    let letters = |Passage { tokens, range }: Passage<'_>| -> Vec<char> {
        range.clone().flat_map(|at| tokens.token(at).chars()).collect()
    };
    let (p, q) = (letters(a), letters(b));
    let one = a.range.len() == 1 && b.range.len() == 1;
    // A number in place of `no` is no slip.
    let is_number = |Passage { tokens, range }: Passage<'_>| {
        let token = tokens.token(range.start);
        is_digit(token) || is_number_word(token)
    };
    if one && (is_number(a) || is_number(b)) {
        return false;
    }
    let han = p.iter().chain(&q).all(|c| is_han(*c));
    let longer = p.len().max(q.len());
    p == q || one && (han || longer <= SLIP_LETTERS_MAX && !share_few_letters(&p, &q))
}

/// The most letters of a word of which a negation may be a misspelling.
const SLIP_LETTERS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    fn is_denied(a: &str, b: &str) -> bool {
        let of = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            settled(&x, &y).iter().any(|span| deny(x.within(&span.a), y.within(&span.b)))
        };
        assert_eq!(of(a, b), of(b, a), "{a} | {b}");
        of(a, b)
    }

    /// A sentence and what denies it were one in most languages, and everywhere if the negation
    /// took the place of another word.
    #[test]
    fn denied_sentences() {
        for (a, b) in [
            ("движение будет закрыто", "движение не будет закрыто"),
            ("die stadt hat gezahlt", "die stadt hat nicht gezahlt"),
            ("la rue sera ouverte", "la rue ne sera pas ouverte"),
            ("la calle será abierta", "la calle no será abierta"),
            ("a rua será aberta", "a rua não será aberta"),
            ("ulica będzie otwarta", "ulica nie będzie otwarta"),
            ("đường sẽ mở cửa", "đường sẽ không mở cửa"),
            ("سيتم فتح الطريق", "لن سيتم فتح الطريق"),
            ("there is some money left", "there is no money left"),
            ("the shop is open now", "the shop isn't open now"),
            ("the shop is open now", "the shop is no longer open now"),
            ("考生可以携带手机", "考生不能携带手机"),
            ("议案获得通过", "议案未获得通过"),
            ("业主同意出租", "业主不同意出租"),
            ("包裹已经收到", "包裹没收到"),
            ("公司将放假调休", "公司将不再放假调休"),
            ("他任主任一职", "他任副主任一职"),
            ("mix it with 1 egg and stir", "mix it with no egg and stir"),
            ("there was one egg left", "there was no egg left"),
            ("i like the new menu", "i dont like the new menu"),
            // With an adverb, or in a word that only begins like a harmless one.
            ("自己同意把老屋卖掉", "自己并不同意把老屋卖掉"),
            ("本店周末营业", "本店周末暂不营业"),
            ("今年会裁员", "今年绝不会裁员"),
            ("登山者找到", "登山者还没有找到"),
            ("指标超过标准", "指标均未超过标准"),
            ("在加油站内吸烟", "严禁在加油站内吸烟"),
            ("对青霉素过敏", "对青霉素不过敏"),
            ("车库禁止电动自行车进入", "车库不禁止电动自行车进入"),
            ("检修期间断电", "检修期间不断电"),
            ("消防安全责任落实到位", "消防安全责任没落实到位"),
            ("妨碍行人通行", "不妨碍行人通行"),
            ("该机构是营利组织", "该机构是非营利组织"),
            ("新增疑似病例", "新增无疑似病例"),
            ("付出有回报", "付出没有回报"),
        ] {
            assert!(is_denied(a, b), "{a} | {b}");
        }
    }

    /// A misspelt word, `no` before a number, and words that only hold a negation deny nothing.
    #[test]
    fn nothing_is_denied() {
        for (a, b) in [
            ("he is now at home", "he is not at home"),
            ("this is room no. 5 of it", "this is room 5 of it"),
            ("the firm cannot pay", "the firm can not pay"),
            ("they do not pay", "they don't pay"),
            ("规模断扩大", "规模不断扩大"),
            ("规模继续扩大", "规模不断继续扩大"),
            ("他仅会唱歌", "他不仅会唱歌"),
            ("严禁吸烟", "不得吸烟"),
            ("请勿吸烟", "禁止吸烟"),
            ("i dont like it", "i don't like it"),
            ("他说的话部对", "他说的话不对"),
        ] {
            assert!(!is_denied(a, b), "{a} | {b}");
        }
        assert!(is_prefixed("lawful", "unlawful") && is_prefixed("незаконный", "законный"));
        assert!(!is_prefixed("til", "until") && !is_prefixed("tests", "contests"));
    }
}
