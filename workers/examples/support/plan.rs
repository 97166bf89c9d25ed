//! Decides which page is a copy of which article.
//!
//! Copies are distributed unevenly over articles: a few articles are everywhere and many have no
//! copy.

use std::collections::HashSet;

use crate::articles::{Article, NEW_YEAR};
use crate::edits;
use crate::random::Random;
use crate::site::{DOCS, HOSTS, TW};
use jiff::ToSpan;
use jiff::civil::DateTime;

/// How a page was made from its article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Copy {
    /// The article on its first host.
    Original,
    /// The same text on another host.
    Mirror,
    /// On another host, with a line in front.
    Headline,
    /// On another host, with one sentence changed.
    Sentence,
    /// On another host, with one number corrected.
    Figure,
    /// On another host, with another date line.
    Dateline,
    /// On `tw.example`, in traditional characters.
    Traditional,
    /// The same page under http instead of https, or the other way round.
    Scheme,
    /// The same page with tracking parameters.
    Tracking,
    /// The same page in its print version.
    Print,
    /// The same URL visited again, after one of its sentences changed.
    Refetched,
}

/// One capture of one page.
#[derive(Clone)]
pub struct Page {
    /// The number of its article: equal labels belong together.
    pub label: usize,
    /// How it was made.
    pub copy: Copy,
    /// Its place in `HOSTS`.
    pub host: usize,
    /// Its number on the host; copies by `Scheme` and `Tracking` have the same number and the same
    /// bytes.
    pub number: usize,
    /// Its URL.
    pub url: String,
    /// When it was visited.
    pub moment: DateTime,
    /// The article in the form that this page has.
    pub article: Article,
}

/// The crawl's first day, the second of June; visits take a week, second visits follow.
const FIRST_DAY: i64 = 152;
const WEEK_SECONDS: i64 = 7 * 86_400;

const COPIES: [(Copy, usize); 10] = [
    (Copy::Mirror, 122),
    (Copy::Headline, 24),
    (Copy::Sentence, 26),
    (Copy::Figure, 22),
    (Copy::Dateline, 20),
    (Copy::Traditional, 22),
    (Copy::Scheme, 8),
    (Copy::Tracking, 22),
    (Copy::Print, 10),
    (Copy::Refetched, 3),
];

// Hosts, each in proportion to its probability.
const HOMES: [usize; 16] = [0, 0, 0, 1, 4, 6, 6, 7, 7, 7, 7, 8, 8, 9, 9, 9];
const COPIERS: [usize; 16] = [1, 2, 2, 4, 6, 6, 7, 7, 7, 7, 8, 8, 9, 9, 9, 9];

/// The captures of all pages that hold an article, in no order.
pub fn pages(articles: &[Article], seed: u64) -> Vec<Page> {
    let mut random = Random::of(seed, 1);
    let mut pages: Vec<Page> = Vec::new();
    for (label, article) in articles.iter().enumerate() {
        let host = if article.english { DOCS } else { HOMES[random.below(HOMES.len())] };
        pages.push(new_page(
            label,
            Copy::Original,
            host,
            pages.len(),
            article.clone(),
            &mut random,
        ));
    }
    let mut placed: HashSet<(usize, usize)> =
        pages.iter().map(|page| (page.label, page.host)).collect();
    let mut urls: HashSet<String> = pages.iter().map(|page| page.url.clone()).collect();
    // Labels in the order of their popularity.
    let mut popular: Vec<usize> = (0..articles.len()).collect();
    popular.sort_by_cached_key(|_| random.next());
    for (copy, count) in COPIES {
        let mut left = count;
        while left > 0 {
            let page = match copy {
                Copy::Scheme | Copy::Tracking | Copy::Print | Copy::Refetched => {
                    let base = pages[random.below(pages.len())].clone();
                    again(&base, copy, &mut random)
                }
                _ => {
                    let share = random.share();
                    let label = popular[(share * share * articles.len() as f64) as usize];
                    let host = if copy == Copy::Traditional {
                        TW
                    } else {
                        COPIERS[random.below(COPIERS.len())]
                    };
                    let fits =
                        !(placed.contains(&(label, host)) || host == TW && articles[label].english);
                    fits.then(|| {
                        new_page(
                            label,
                            copy,
                            host,
                            pages.len(),
                            articles[label].clone(),
                            &mut random,
                        )
                    })
                }
            };
            let Some(page) = page else { continue };
            if urls.insert(page.url.clone()) || copy == Copy::Refetched {
                placed.insert((page.label, page.host));
                pages.push(page);
                left -= 1;
            }
        }
    }
    pages
}

fn new_page(
    label: usize,
    copy: Copy,
    host: usize,
    index: usize,
    article: Article,
    random: &mut Random,
) -> Page {
    let number = 1000 + index * 7 + random.below(7);
    let moment = NEW_YEAR + FIRST_DAY.days() + random.below(WEEK_SECONDS).seconds();
    let mut page =
        Page { label, copy, host, number, url: HOSTS[host].url(number), moment, article };
    match copy {
        Copy::Headline => edits::headline(&mut page.article, random),
        Copy::Sentence => edits::sentence(&mut page.article, random),
        Copy::Figure => edits::figure(&mut page.article, random),
        Copy::Dateline => edits::dateline(&mut page.article, random),
        _ => {}
    }
    page
}

/// The page `base` once more; `None` if its host has no such copy.
fn again(base: &Page, copy: Copy, random: &mut Random) -> Option<Page> {
    let host = &HOSTS[base.host];
    // Such a copy is not copied again, and only HTML hosts have print versions.
    if base.copy >= Copy::Scheme || copy != Copy::Tracking && !host.is_html() {
        return None;
    }
    let mut page = base.clone();
    page.copy = copy;
    page.moment = base.moment + (60 + random.below(3000i64)).seconds();
    match copy {
        Copy::Scheme if host.https => page.url = base.url.replacen("https:", "http:", 1),
        Copy::Scheme => page.url = base.url.replacen("http:", "https:", 1),
        Copy::Tracking => {
            let mark = if base.url.contains('?') { '&' } else { '?' };
            let source = ["feed", "letter", "app"][random.below(3)];
            page.url = format!("{}{mark}utm_source={source}&utm_medium=link", base.url);
        }
        Copy::Print => {
            let origin: Vec<&str> = base.url.splitn(4, '/').collect();
            page.url = format!("{}//{}/print/{}.html", origin[0], origin[2], base.number);
        }
        _ => {
            page.moment = base.moment + 8.days();
            edits::sentence(&mut page.article, random);
        }
    }
    Some(page)
}
