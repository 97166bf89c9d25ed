use super::*;
use crate::text::ln::ln;
use crate::text::segment::dictionary::Dictionary;
use crate::text::segment::suggest::user_words;
use crate::text::tagged::{Tag, TaggedWords};
use flate2::read::MultiGzDecoder;
use jieba_rs::Jieba;
use proptest::prelude::*;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// All words of the dictionary with their scores.
static WORDS: LazyLock<Vec<(String, f64)>> = LazyLock::new(|| {
    let mut words = Vec::new();
    Dictionary::get().each_word(|word, score| words.push((word.to_owned(), score)));
    words
});

/// Cuts `text` as jieba-rs does and as we do, with the model and without; and tags it.
fn check(segmenter: &mut Segmenter, text: &str) {
    check_by(&JIEBA, segmenter, text);
    check_tags(text);
}

/// The words of `text`, their tags and whether they are known are those of jieba-rs.
fn check_tags(text: &str) {
    let tagged = TaggedWords::of(text, None);
    let expected = JIEBA.tag(text, true);
    assert_eq!(tagged.words().len(), expected.len(), "{text:?}");
    for (at, expected) in expected.into_iter().enumerate() {
        let known = JIEBA.has_word(expected.word);
        let found = (tagged.words()[at], tagged.tag(at));
        assert_eq!(found, (expected.word, Tag { name: expected.tag, known }), "{text:?}");
    }
}

fn check_by(jieba: &Jieba, segmenter: &mut Segmenter, text: &str) {
    for hmm in [true, false] {
        let expected: Vec<&str> =
            jieba.cut(text, hmm).into_iter().map(|token| token.word).collect();
        let mut found = Vec::new();
        segmenter.cut(text, hmm, |word| found.push(word));
        assert_eq!(found, expected, "{text:?}, model: {hmm}");
    }
}

/// Words of the dictionary, characters that it has and has not, and what texts have between them.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<prop::sample::Index>().prop_map(|at| at.get(&WORDS).0.clone()),
        2 => "[一-龥]{1,4}",
        2 => "[的一是在不了有和人这中大为上个国我以要他]{1,6}",
        1 => "[鿀-鿿㐀-㐅龘々〇\u{f900}-\u{f905}\u{20000}-\u{20005}\u{2ceae}-\u{2ceb2}\u{2ebef}\u{2ebf0}\u{2f800}\u{30000}]{1,3}",
        1 => "[a-cA-C0-3+#&._%-]{1,6}",
        1 => "[ ，。\r\n\t!Ωя가あ]{1,3}",
        1 => "\\PC{0,3}",
    ]
}

/// Words of a user: known ones, parts of them joined, and characters that no dictionary has.
fn user_word() -> impl Strategy<Value = String> {
    let piece = || any::<prop::sample::Index>().prop_map(|at| at.get(&WORDS).0.clone());
    let cut = |(a, b, from, to): (String, String, usize, usize)| -> String {
        let tail = a.chars().rev().take(1 + from).collect::<Vec<_>>().into_iter().rev();
        tail.chain(b.chars().take(to)).collect()
    };
    prop_oneof![
        3 => piece(),
        3 => (piece(), piece(), 0usize..3, 0usize..3).prop_map(cut),
        2 => "[的一是在不了有和人这中大为上个国我以要他]{1,6}",
        2 => "[一-龥]{1,4}",
        1 => "[鿀-鿿㐀-㐅龘々〇\u{f900}-\u{f905}\u{20000}-\u{20005}\u{2ebef}\u{30000}]{1,3}",
        1 => "[a-cA-C0-3+#&._%-]{1,4}",
        1 => "[a-c0-3+.一-丐]{1,4}",
        1 => "[，。·一-丐]{1,3}",
    ]
}

/// Lines of a user dictionary, whose words overlap and come again.
fn user_lines() -> impl Strategy<Value = Vec<(String, Option<u64>)>> {
    let frequency = prop_oneof![
        3 => Just(None),
        2 => (1u64..20).prop_map(Some),
        2 => (1u64..2_000_000).prop_map(Some),
        1 => (1..=user::FREQUENCY_MAX).prop_map(Some),
    ];
    let lines = prop::collection::vec((user_word(), frequency), 1..40);
    (lines, prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..10))
        .prop_map(|(mut lines, more)| {
            for (one, other) in more {
                let (head, tail) = (one.get(&lines).0.clone(), other.get(&lines));
                let word: String =
                    head.chars().chain(tail.0.chars()).take(user::WORD_CHARS_MAX).collect();
                let line = (word, tail.1);
                lines.push(line);
            }
            lines
        })
}

/// Parts of the words of `lines`, and what texts have otherwise, as one text.
fn text_of(
    lines: &[(String, Option<u64>)],
    parts: &[(prop::sample::Index, usize, usize, String)],
) -> String {
    let mut text = String::new();
    for (at, from, to, other) in parts {
        let word = &at.get(lines).0;
        text.extend(word.chars().skip(if *from > 3 { 0 } else { *from }).take(if *to > 3 {
            usize::MAX
        } else {
            *to
        }));
        text.push_str(other);
    }
    text
}

proptest! {
    /// With a user dictionary words are those of jieba-rs with the same one: of words that it has
    /// with another frequency, that overlap others, of one character or many, in any script. A
    /// frequency that is missing is the one that jieba-rs suggests; it computes in floating-point
    /// numbers and may be one less.
    #[test]
    fn user_words_are_those_of_jieba(
        lines in user_lines(),
        texts in prop::collection::vec(
            prop::collection::vec((any::<prop::sample::Index>(), 0usize..9, 0usize..9, prop_oneof![2 => Just(String::new()), 1 => part()]), 0..30),
            1..10,
        ),
    ) {
        let words = user_words(lines.iter().map(|(word, frequency)| (word.as_str(), *frequency)));
        let (mut added, mut file) = (JIEBA.clone(), String::new());
        for (at, (word, frequency)) in lines.iter().enumerate() {
            let so_far = || user_words(lines[..=at].iter().map(|(word, frequency)| (word.as_str(), *frequency)));
            let ours = frequency.unwrap_or_else(|| so_far().frequency(word).expect("added"));
            if frequency.is_none() {
                let suggested = added.suggest_freq(word) as u64;
                prop_assert!(suggested == ours || suggested + 1 == ours, "{word}: {ours}, jieba-rs suggests {suggested}");
            }
            added.add_word(word, Some(ours as usize), None);
            file.push_str(&format!("{word} {ours} nz\n"));
        }
        let mut loaded = JIEBA.clone();
        loaded.load_dict(&mut file.as_bytes()).expect("a dictionary");
        let mut segmenter = Segmenter::with(words.into());
        for parts in texts {
            let text = text_of(&lines, &parts);
            check_by(&loaded, &mut segmenter, &text);
            check_by(&added, &mut segmenter, &text);
        }
    }

    /// Words are those of jieba-rs on any mix of scripts.
    #[test]
    fn words_are_those_of_jieba(parts in prop::collection::vec(part(), 0..40)) {
        check(&mut Segmenter::default(), &parts.concat());
    }

    /// The same where no punctuation ends a block, so that sums become long.
    #[test]
    fn long_blocks(parts in prop::collection::vec("[一-龥]{1,3}|[中国人民大学生活动物]{1,9}", 0..400)) {
        check(&mut Segmenter::default(), &parts.concat());
    }

    /// Words and gaps are the text, and words are those that jieba-rs finds in each run.
    #[test]
    fn pieces_are_the_text(parts in prop::collection::vec(part(), 0..40)) {
        let text = parts.concat();
        let (mut whole, mut words, mut last_gap) = (String::new(), Vec::new(), false);
        Segmenter::default().han(&text, |piece| match piece {
            Piece::Word(word) => {
                whole.push_str(word);
                words.push(word);
                last_gap = false;
            }
            Piece::Gap(gap) => {
                assert!(!gap.is_empty() && !last_gap && !gap.contains(is_han), "{gap:?}");
                whole.push_str(gap);
                last_gap = true;
            }
        });
        prop_assert_eq!(&whole, &text);
        let runs = text.split(|c| !is_han(c)).filter(|run| !run.is_empty());
        let expected: Vec<&str> = runs.flat_map(|run| JIEBA.cut(run, true)).map(|token| token.word).collect();
        prop_assert_eq!(words, expected);
    }
}

/// A line without a frequency never lowers the frequency of its word, and one with a frequency may.
#[test]
fn lines_that_come_again() {
    let frequency = |last| user_words([("，·", Some(7)), ("，·", last)]).frequency("，·");
    assert_eq!((frequency(None), frequency(Some(2))), (Some(7), Some(2)));
    let of_known =
        |frequency| user_words([("图书馆", frequency)]).frequency("图书馆").expect("known");
    let jiebas = Dictionary::get().frequency("图书馆").expect("known");
    assert_eq!((of_known(None), of_known(Some(1))), (jiebas + 1, 1));
}

/// The dictionary has the words of jieba-rs, no other ones, and their frequencies: jieba-rs tells
/// how many there are and the sum of the frequencies.
#[test]
fn the_dictionary_is_jiebas() {
    let known = format!("{:?}", *JIEBA);
    let number = |name: &str| -> u64 {
        let digits = known.split(name).nth(1).expect("there").trim_start_matches(": ");
        digits
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|digits| digits.parse().ok())
            .expect("a number")
    };
    let total = number("total_freq");
    assert!(WORDS.iter().all(|(word, _)| JIEBA.has_word(word)));
    assert_eq!(WORDS.len() as u64, number("records_len"));
    let log_total = (total as f64).ln();
    assert_eq!(Dictionary::get().alone, 0.0 - log_total);
    assert_eq!(Dictionary::total(), total);
    let mut sum = 0;
    for (word, score) in &*WORDS {
        let frequency = (score + log_total).exp().round();
        assert_eq!(*score, frequency.ln() - log_total, "{word}");
        assert_eq!(Dictionary::get().frequency(word), Some(frequency as u64), "{word}");
        assert!(tag(word).is_some_and(|tag| !tag.is_empty()), "{word}");
        // What is computed where a user adds words is what the file has.
        assert_eq!(Dictionary::absolute().frequency(word), Some(frequency as u64), "{word}");
        assert_eq!(*score, ln(frequency as u64) - ln(total), "{word}");
        sum += frequency as u64;
    }
    assert_eq!(sum, total);
}

/// The strings of the JSON lines in `bytes`, gzipped or plain; damaged lines as they are.
fn strings(bytes: &[u8]) -> Vec<String> {
    fn add(value: &serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => out.push(text.clone()),
            serde_json::Value::Array(values) => values.iter().for_each(|value| add(value, out)),
            serde_json::Value::Object(fields) => fields.values().for_each(|value| add(value, out)),
            _ => {}
        }
    }
    let mut plain = Vec::new();
    if MultiGzDecoder::new(bytes).read_to_end(&mut plain).is_err() {
        plain = bytes.to_vec();
    }
    let mut out = Vec::new();
    for line in String::from_utf8_lossy(&plain).lines() {
        match serde_json::from_str(line) {
            Ok(value) => add(&value, &mut out),
            Err(_) => out.push(line.to_owned()),
        }
    }
    out
}

/// Words of real texts are those of jieba-rs: of the samples that the project has, and of a folder
/// of real data where there is one.
#[test]
fn words_of_real_texts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files: Vec<_> = ["news.jsonl.gz", "demo/crawl-04.jsonl.gz", "demo/crawl-05.jsonl"]
        .map(|name| root.join("tests/data").join(name))
        .into();
    let folder = std::env::var("PAGEFOLD_FIXTURES").unwrap_or("../shared/fixtures".into());
    match std::fs::read_dir(root.join(&folder)) {
        Ok(entries) => {
            let paths = entries.map(|entry| entry.expect("an entry").path());
            files.extend(paths.filter(|path| path.to_string_lossy().ends_with(".jsonl.gz")));
        }
        Err(_) => println!("{folder} is not there: only the samples of the project are compared"),
    }
    let mut segmenter = Segmenter::default();
    let (mut texts, mut words) = (0, 0);
    for file in files {
        for text in
            strings(&std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
        {
            check(&mut segmenter, &text);
            segmenter.han(&text, |piece| words += usize::from(matches!(piece, Piece::Word(_))));
            texts += 1;
        }
    }
    println!("{words} Chinese words in {texts} texts");
    assert!(words > 10_000, "{words}");
}

/// A block of any length is cut as one, and its memory is given back, but not the words of a user.
#[test]
fn a_block_without_end() {
    let mut segmenter = Segmenter::with(user_words([("龘abc中", Some(9))]).into());
    let text = "中华人民共和国龘龘abc".repeat(60_000);
    let mut words = 0;
    segmenter.cut(&text, true, |word| words += usize::from(word == "龘abc中"));
    assert_eq!((words, segmenter.sums.capacity()), (59_999, 0));
    let mut last = "";
    segmenter.cut("龘abc中", true, |word| last = word);
    assert_eq!(last, "龘abc中");
    let mut segmenter = Segmenter::default();
    let expected = JIEBA.cut(&text, true).len();
    let mut words = 0;
    segmenter.cut(&text, true, |_| words += 1);
    assert_eq!(words, expected);
    assert_eq!(segmenter.sums.capacity(), 0);
}
