//! Small edits that sites make to an article of another site. Each changes one thing; the story
//! stays the same.

use crate::articles::{Article, pick};
use crate::random::Random;
use jiff::ToSpan;

const HEADLINES_ZH: &str = "编者按：这篇文章写的是身边的小事，读来却很有味道。|本文选自读者来稿，发表时略有删节。|转一篇好文章，愿与各位读者分享。";
const HEADLINES_EN: &str = "From our readers: this piece first appeared in the village newsletter.|Shared with the kind consent of its author.";
const ENDINGS_ZH: &str =
    "这一点大家后来都承认。|说起来谁都能补上几句。|初来的人往往不相信。|至今还是这样。";
const ENDINGS_EN: &str = ", or so everybody says.|, and it has stayed so ever since.|, which newcomers find hard to believe.";

/// Inserts a line in front.
pub fn headline(article: &mut Article, random: &mut Random) {
    let line =
        pick(if article.english { HEADLINES_EN } else { HEADLINES_ZH }, "|", random).to_string();
    article.sections[0].1.insert(0, vec![line]);
}

/// Changes the end of one sentence in the middle.
pub fn sentence(article: &mut Article, random: &mut Random) {
    let english = article.english;
    let mut all: Vec<&mut String> = sentences(article).collect();
    let place = 1 + random.below(all.len() - 2);
    let (mark, endings) = if english { (',', ENDINGS_EN) } else { ('，', ENDINGS_ZH) };
    let kept = all[place].rfind(mark).unwrap_or(all[place].len() - 1);
    all[place].truncate(kept);
    if !english {
        all[place].push(mark);
    }
    all[place].push_str(pick(endings, "|", random));
}

/// Changes the last digit of one number; an article without a number gets another date line.
pub fn figure(article: &mut Article, random: &mut Random) {
    let mut with_digits: Vec<&mut String> = sentences(article)
        .filter(|sentence| sentence.contains(|letter: char| letter.is_ascii_digit()))
        .collect();
    if with_digits.is_empty() {
        return dateline(article, random);
    }
    let chosen = random.below(with_digits.len());
    let sentence = &mut with_digits[chosen];
    if let Some(at) = sentence.rfind(|letter: char| letter.is_ascii_digit()) {
        let digit = (sentence.as_bytes()[at] - b'0' + 3) % 10;
        sentence.replace_range(at..at + 1, &digit.to_string());
    }
}

/// Publishes the article on a later day, with a date line.
pub fn dateline(article: &mut Article, random: &mut Random) {
    article.date += (1 + random.below(5i64)).days();
    article.dateline = article.dateline_of(article.date);
}

fn sentences(article: &mut Article) -> impl Iterator<Item = &mut String> {
    article.sections.iter_mut().flat_map(|(_, paragraphs)| paragraphs.iter_mut().flatten())
}
