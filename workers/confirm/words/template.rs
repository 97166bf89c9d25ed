//! Tells two pages of one template from two copies of one text.
//!
//! One other word in a long text is an edit. Other words close to each other in a short text are an
//! edit, too. Pages of a template have the same frame around words of their own, such as the name,
//! the colour and the material of a product. So several short passages are replaced by others that
//! share few letters with them, and hardly anything else differs. A term that was renamed all over
//! a text counts once. A rewritten clause is no slot, because words are also put in or left out.

use crate::confirm::align::clauses::{CLAUSE_EDITS, clauses};
use crate::confirm::align::digits::is_digit;
use crate::confirm::align::edits::Span;
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::words::likeness::{letters, only_lacks, share_few_characters};
use crate::confirm::words::span_words::SpanWords;
use crate::confirm::words::spelled::are_parted;
use crate::confirm::words::{are_all_opposites, are_one_conjunction, holds_together};
use crate::text::characters::{is_han, runs_on};
use crate::text::dictionary::UserDictionary;
use std::collections::HashSet;

/// Two texts are of one template if at least so many different passages are replaced ...
const SLOTS_MIN: usize = 3;
/// ... and up to this length, in characters, from one on, if none is repeated: in a longer text a
/// word or two are more often an edit ...
const ONE_SLOT_CHARS_MAX: usize = 600;
/// ... and if none is longer than this, in tokens, as a clause in other words is ...
const ONE_SLOT_TOKENS_MAX: usize = 5;
/// ... if their characters are so many times those of all other edits.
const SLOTS_PER_EDIT: usize = 10;

/// The most tokens of a slot, and the most letters, because encoded data has no spaces.
const SLOT_TOKENS_MAX: usize = 12;
const SLOT_LETTERS_MAX: usize = 96;
/// The fewest characters of either side of a slot, if they are Chinese and if they are not. Fewer
/// are a slip.
const HAN_MIN: usize = 2;
const LATIN_MIN: usize = 3;

/// The slots of a template among the edits of two texts. Empty if the texts are not pages of one
/// template. Symmetric.
pub fn slots<'s>(
    a: &Tokens<'_>,
    b: &Tokens<'_>,
    edits: &[&'s Span],
    dictionary: Option<&UserDictionary>,
) -> Vec<&'s Span> {
    let is_slot = |span: &Span| {
        is_slot(a, b, span)
            && !only_lacks(a.within(&span.a), b.within(&span.b))
            && !is_broken(a, b, span, dictionary)
    };
    let (mut slots, mut filled_chars, mut edited_chars) = (Vec::new(), 0, 0);
    for clause in clauses(edits) {
        // If a clause has many edits, either all of them are slots or none is.
        let is_long = clause.len() >= CLAUSE_EDITS;
        let are_slots = is_long && clause.iter().all(|span| is_slot(span));
        for span in clause {
            let chars = a.chars(span.a.clone()) + b.chars(span.b.clone());
            if are_slots || !is_long && is_slot(span) {
                filled_chars += chars;
                slots.push(*span);
            } else {
                edited_chars += chars;
            }
        }
    }
    // A term that was renamed everywhere is one slot. A term that replaces several others is one
    // slot, too.
    let of_a = slots.iter().map(|span| a.passage(&span.a)).collect::<HashSet<_>>();
    let of_b = slots.iter().map(|span| b.passage(&span.b)).collect::<HashSet<_>>();
    let different = of_a.len().min(of_b.len());
    let longer = a.chars(0..a.len()).max(b.chars(0..b.len()));
    let few = different == edits.len()
        && clauses(edits).all(|clause| clause.len() == 1)
        && longer <= ONE_SLOT_CHARS_MAX
        && slots.iter().all(|span| is_within_a_clause(a, b, span));
    let is_filled = different >= SLOTS_MIN || few;
    if is_filled && filled_chars >= SLOTS_PER_EDIT * edited_chars { slots } else { Vec::new() }
}

/// Whether wrong characters broke the words of a span on one side.
fn is_broken(
    a: &Tokens<'_>,
    b: &Tokens<'_>,
    span: &Span,
    dictionary: Option<&UserDictionary>,
) -> bool {
    let words =
        || SpanWords::around(a, &span.a, dictionary).zip(SpanWords::around(b, &span.b, dictionary));
    span.a.len() == span.b.len()
        && words().is_some_and(|(left, right)| SpanWords::is_broken(&left, &right))
}

/// Whether a token may be another form of a word: of a script without spaces, but for Chinese.
fn is_form_of_word(token: &str) -> bool {
    token.starts_with(|c| runs_on(c) && !is_han(c))
}

/// Words behind the subject of a sentence. Several words before them at the beginning of a text are
/// no headline.
const BEHIND_SUBJECT: [&str; 21] = [
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "will",
    "would",
    "can",
    "could",
    "must",
    "ist",
    "sind",
    "war",
    "wurde",
    "hat",
    "est",
    "sont",
    "является",
    "был",
];
/// The fewest words of such a subject: one word may be a button of a menu.
const SUBJECT_TOKENS_MIN: usize = 2;
/// Words that such a subject does not have. Behind the verb they are the subject: `home page are
/// you looking for`.
const PRONOUNS: [&str; 15] = [
    "i", "you", "he", "she", "it", "we", "they", "this", "that", "there", "your", "er", "sie",
    "es", "wir",
];

/// Whether a passage in front of its text is the subject of the first sentence.
fn is_subject(Passage { tokens, range }: Passage<'_>) -> bool {
    let verb = range.end;
    let is_pronoun = |at: usize| PRONOUNS.contains(&tokens.token(at));
    range.len() >= SUBJECT_TOKENS_MIN
        && tokens.gap(verb) == " "
        && BEHIND_SUBJECT.contains(&tokens.token(verb))
        && !range.clone().chain(verb + 1..tokens.len().min(verb + 2)).any(is_pronoun)
}

/// Whether a slot is no clause, no headline, no signature and no number in words: it is short,
/// stands within a clause, and has digits on both sides or on none. Where words have no spaces
/// between them, a slot may be another form of the word.
fn is_within_a_clause(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let sides = [a.within(&span.a), b.within(&span.b)];
    let is_inside = sides.iter().all(|side| {
        let Passage { tokens, range } = side;
        let goes_on = range.end < tokens.len();
        goes_on && (range.start > 0 || tokens.gap(range.end).is_empty() || is_subject(*side))
    });
    let any = |side: Passage<'_>, is: fn(&str) -> bool| {
        side.range.clone().any(|at| is(side.tokens.token(at)))
    };
    let [left, right] = sides.map(|side| any(side, is_digit));
    let is_form = sides.iter().any(|side| any(*side, is_form_of_word));
    let is_short = sides.iter().all(|side| side.range.len() <= ONE_SLOT_TOKENS_MAX);
    is_short && is_inside && left == right && !is_form
}

/// Whether a span replaces one short passage by another that shares few letters with it.
fn is_slot(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let tokens = [span.a.len(), span.b.len()];
    if tokens.contains(&0) || tokens.iter().any(|tokens| *tokens > SLOT_TOKENS_MAX) {
        return false;
    }
    if are_all_opposites(a, b, span) || are_single_letters(a, b, span) {
        return true;
    }
    let [x, y] = [a.passage(&span.a), b.passage(&span.b)]
        .map(|text| -> Vec<char> { letters(text).take(SLOT_LETTERS_MAX + 1).collect() });
    let (less, more) = (x.len().min(y.len()), x.len().max(y.len()));
    let han = x.iter().chain(&y).all(|c| is_han(*c));
    let least = if han { HAN_MIN } else { LATIN_MIN };
    less >= least
        && more <= SLOT_LETTERS_MAX
        && if han { share_few_characters(&x, &y) } else { are_parted(&x, &y) }
}

/// Whether two letters that stand alone name two things: `building f`, `building d`. `a` and `i`
/// are words. Within a clause a letter is a name only if a content word stands before it and a
/// function word behind it.
fn are_single_letters(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let is_one = |Passage { tokens, range }: Passage<'_>| {
        let (at, next) = (range.start, range.end);
        let letter = || matches!(tokens.token(at).as_bytes(), [b'b'..=b'h' | b'j'..=b'z']);
        let holds = |at: usize| holds_together(tokens.token(at));
        let ends_clause = || next == tokens.len() || tokens.gap(next) != " ";
        range.len() == 1
            && letter()
            && at > 0
            && tokens.gap(at) == " "
            && !tokens.touches(next)
            && (ends_clause() || !holds(at - 1) && holds(next))
    };
    is_one(a.within(&span.a)) && is_one(b.within(&span.b)) && !are_one_conjunction(a, b, span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    fn count(a: &str, b: &str) -> usize {
        let of = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            slots(&x, &y, &settled(&x, &y).iter().collect::<Vec<_>>(), None).len()
        };
        assert_eq!(of(a, b), of(b, a), "{a} | {b}");
        of(a, b)
    }

    /// Pages of one template have other words in its slots; copies have slips, renamed terms and
    /// passages that are left out.
    #[test]
    fn templates_and_copies() {
        let page = |name: &str, colour: &str, made_of: &str| {
            format!("{name} in the colour {colour}, which is made of {made_of}. delivery is free")
        };
        let a = page("miki cohomogo", "navy", "cotton");
        assert_eq!(count(&a, &page("dima tobi", "white", "polyester")), 3);
        assert_eq!(count(&page("a miki", "navy", "cotton"), &page("a miki", "white", "cotton")), 1);
        assert_eq!(count(&a, &page("dima tobi", "white", "cotton")), 0, "one may be a headline");
        let about = |name: &str| format!("{name} is a lecturer of history at the institute");
        assert_eq!(count(&about("olga whitaker"), &about("elena meyer")), 1, "the subject");
        for [name, other, rest] in [
            ["home", "contact", "are you looking for a plumber"],
            ["home page", "contact us", "are you looking for a plumber"],
            ["startseite", "aktuelles", "es war ein langer winter"],
            ["photo", "image", "of the old bridge"],
            ["home", "contact", "was the best of all"],
            ["she", "anna", "was born in a village"],
            ["it all", "the bridge", "was built in a year"],
        ] {
            assert_eq!(count(&format!("{name} {rest}"), &format!("{other} {rest}")), 0, "{rest}");
        }
        let office =
            |letter: &str| format!("the office is in building {letter}, on the first floor");
        assert_eq!(count(&office("f"), &office("d")), 1, "letters are names");
        assert_eq!(count(&office("f"), &office("a")), 0, "a may be an article");
        let within = |letter: &str| format!("the vitamin {letter} in it is good for the skin");
        assert_eq!(count(&within("c"), &within("d")), 1, "letters within a clause");
        for [letter, other, rest] in [
            ["u", "w", "can see the tower from here"],
            ["s", "z", "mesta na jih kolem reky"],
            ["y", "e", "hijo que pintaron las calles"],
        ] {
            let of = |letter: &str| format!("the thing is that {letter} {rest}");
            assert_eq!(count(&of(letter), &of(other)), 0, "{rest}");
        }
        assert_eq!(count("气象台发布黄色预警信号", "气象台发布红色预警信号"), 1, "opposites");
        for (a, b, slots) in [
            ("他终于得到了信任", "他终于的倒了信任", 0),
            ("他对这个地区很熟", "他对这个的去很熟", 0),
            ("他的确很会说话", "他地却很会说话", 0),
            ("关闭时间将由凌晨零时", "关闭时间维持凌晨零时", 1),
            ("这是错的答案", "这是正确答案", 1),
            ("店里卖新的汽车", "店里卖二手汽车", 1),
        ] {
            assert_eq!(count(a, b), slots, "slips for a whole word: {a} {b}");
        }
        let long = |colour: &str| page("miki", colour, "cotton") + &" and so on".repeat(80);
        assert_eq!(count(&long("navy"), &long("white")), 0, "in a long text it may be an edit");
        assert_eq!(count(&a, &page("miki cohomoga", "navi", "coton")), 0, "misspelt");
        let term = |term: &str| {
            format!("the {term} is old; open the {term}, close the {term}, then sell the {term}")
        };
        assert_eq!(count(&term("gate"), &term("porch")), 0, "renamed");
        let near = |words: &str| format!("it is said that {words} when all was told by everyone");
        let (x, y) = (near("alpha and bison and cedar"), near("delta and eagle and forest"));
        assert_eq!(count(&x, &y), 3, "slots side by side");
        let (x, y) = (near("alpha came and saw cedar"), near("delta and a lone forest"));
        assert_eq!(count(&x, &y), 0, "a clause was rewritten");
        let more = "and a note of the shop about its holidays in the month of the great heat";
        let b = page("dima tobi", "white", "polyester") + more;
        assert_eq!(count(&a, &b), 0, "something else differs more");
        let notice = |place: &str, name: &str, thing: &str| {
            format!("本院定于下周在{place}公开审理{name}一案，涉及{thing}，欢迎旁听。")
        };
        assert_eq!(count(&notice("城关", "张伟国", "房屋"), &notice("河东", "李小芳", "车辆")), 3);
    }
}
