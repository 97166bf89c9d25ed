//! Made-up texts whose likeness is known, and crawls of them.

use std::fmt::Write as _;

/// The text of `article` in `edition`.
///
/// Articles have few words in common. Each edition differs from the one before in one more word:
/// near editions are near-duplicates, far ones are not, and together they make a chain.
pub fn text(article: u64, edition: u64) -> String {
    let mut words: Vec<String> =
        (0..60).map(|w| format!("w{}", (article * 131 + w * 17) % 4093)).collect();
    for change in 0..edition {
        let at = (article + change * 7) as usize % words.len();
        words[at] = format!("article{article}edition{change}");
    }
    words.join(" ")
}

/// A word for each number, without a digit: each digit of a text is a unit that verdicts align.
fn word(number: u64) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// Word number `w` of an article, one of 9,973 words as if drawn at random.
fn drawn(article: u64, w: u64) -> String {
    let mixed = (article << 32 | w).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word(((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) % 9973)
}

/// A folder of `files` files of `pages` pages each; every page is near to three others.
pub fn crawl(files: u64, pages: u64, words: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in 0..files {
        let mut lines = String::new();
        for n in file * pages..(file + 1) * pages {
            let mut text: String = (0..words).map(|w| format!("w{} ", drawn(n / 4, w))).collect();
            write!(text, "edition {}", n % 4).expect("a string");
            writeln!(lines, "{{\"url\":\"http://h{}.example/{n}\",\"text\":\"{text}\"}}", n % 7)
                .expect("a string");
        }
        std::fs::write(folder.path().join(format!("{file:02}.jsonl")), lines).expect("written");
    }
    folder
}
