//! Made-up texts whose likeness is known, and crawls of them.

use std::fmt::Write as _;

/// The text of `article` in `edition`.
///
/// Articles have few words in common. Each edition differs from the one before in one more word:
/// near editions are near-duplicates, far ones are not, and together they make a chain.
pub fn text(article: u64, edition: u64) -> String {
    let mut words: Vec<String> = (0..60).map(|w| format!("w{}", (article * 131 + w * 17) % 4093)).collect();
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

/// A folder of `files` files of `pages` pages each; every page is near to three others, and shares
/// passages with many.
pub fn crawl(files: u64, pages: u64, words: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in 0..files {
        let mut lines = String::new();
        for n in file * pages..(file + 1) * pages {
            let mut text: String = (0..words).map(|w| format!("w{} ", word((n / 4 * 131 + w * 17) % 9973))).collect();
            write!(text, "edition {}", n % 4).expect("a string");
            writeln!(lines, "{{\"url\":\"http://h{}.example/{n}\",\"text\":\"{text}\"}}", n % 7).expect("a string");
        }
        std::fs::write(folder.path().join(format!("{file:02}.jsonl")), lines).expect("written");
    }
    folder
}
