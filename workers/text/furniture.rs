//! Removes from a text the lines that its host repeats on most of its pages, by a frozen file.
//!
//! Pages in plain text (WET, JSON lines) have no markup that tells menus and footers from the
//! article. But the other pages of the site have the same menus and footers. A rule over the live
//! pages would make the text of a page, which names its content, depend on other pages: each new
//! page could change all contents of its host. So the lines are learnt once, by
//! `pagefold lexicon --kind furniture`, and the file is part of a store's identity.
//!
//! This is template detection by frequency, as in Bar-Yossef and Rajagopalan, "Template Detection
//! via Data Mining and its Applications" (WWW 2002). We differ in that all pages of one article
//! count once ([`context`]), so that copies of an article do not make its lines a template.

use crate::error::{Error, Result};
use crate::page_url::host_key;
use crate::text::features;
use crate::text::normalize::{self, normalize};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The version of these rules; part of a store's identity where a file is named.
pub const VERSION: u32 = 1;

/// The most characters of a line. A longer line is part of an article, however many pages have it.
pub const LINE_CHARS_MAX: usize = 300;
/// The number of longest lines that tell the articles of a host apart.
const CONTEXT_LINES: usize = 3;

/// The key of the line `normal` of a host.
pub fn line_key(host: u64, normal: &str) -> u64 {
    xxh3_64_with_seed(normal.as_bytes(), host)
}

/// A hash that tells the article on a page from other articles of its host: of the letters of its
/// three longest lines. Copies of an article under several addresses, with another counter or date,
/// have the same hash. `lines` are the distinct lines of the page in normal form.
///
/// ```
/// use workers::text::furniture::context;
///
/// let (a, b) = ("one line of an article", "and another line of it");
/// let counters = [[a, b, "read 17 times", "home"], [a, b, "read 1,895 times", "news"]];
/// assert_eq!(context(7, &counters[0]), context(7, &counters[1]));
/// assert_ne!(context(7, &[a, b, "home"]), context(8, &[a, b, "home"]));
/// ```
pub fn context(host: u64, lines: &[impl AsRef<str>]) -> u64 {
    let letters = |line: &str| line.chars().filter(|c| c.is_alphabetic()).collect::<String>();
    let mut longest: Vec<String> = lines.iter().map(|line| letters(line.as_ref())).collect();
    longest.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    longest.dedup();
    longest.truncate(CONTEXT_LINES);
    longest.iter().fold(host, |sum, line| xxh3_64_with_seed(line.as_bytes(), sum))
}

/// The lines of hosts that a file names. Clones share them.
#[derive(Clone, Debug)]
pub struct Furniture {
    known: Arc<Known>,
    options: normalize::Options,
    normal: String,
}

#[derive(Debug, Default)]
struct Known {
    hosts: HashSet<u64>,
    lines: HashSet<u64>,
}

impl Furniture {
    /// Reads the file at `path`, whose lines are normalised as texts.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or a line is not `host<TAB>number<TAB>line`.
    pub fn read(path: &Path, options: &normalize::Options) -> Result<Furniture> {
        let (mut known, mut normal) = (Known::default(), String::new());
        let text = features::read(path, "furniture")?;
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#')) {
            let mut parts = line.splitn(3, '\t');
            let (Some(host), Some(Ok(_)), Some(line)) =
                (parts.next(), parts.next().map(str::parse::<u64>), parts.next())
            else {
                let why = format!(
                    "line {number}: not `host<TAB>number<TAB>line`; `pagefold lexicon --kind furniture` makes such a file"
                );
                return Err(Error::config(path, why));
            };
            let host = host_key(host);
            normalize(line, options, &mut normal);
            known.hosts.insert(host);
            known.lines.insert(line_key(host, &normal));
        }
        Ok(Furniture { known: Arc::new(known), options: options.clone(), normal })
    }

    /// Removes the lines of `host` from `text`. Returns the number of removed lines.
    pub fn take_off(&mut self, host: u64, text: &mut String) -> usize {
        if !self.known.hosts.contains(&host) {
            return 0;
        }
        let before = text.lines().count();
        let is_left = |line: &&str| {
            normalize(line, &self.options, &mut self.normal);
            !self.known.lines.contains(&line_key(host, &self.normal))
        };
        let left: Vec<&str> = text.lines().filter(is_left).collect();
        let taken = before - left.len();
        if taken > 0 {
            *text = left.join("\n");
        }
        taken
    }
}

/// The distinct lines of `text` in normal form, without empty ones.
pub fn lines(text: &str, options: &normalize::Options) -> Vec<String> {
    let mut normal = String::new();
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        normalize(line, options, &mut normal);
        if !normal.is_empty() {
            lines.push(normal.clone());
        }
    }
    lines.sort_unstable();
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn furniture(file: &str) -> Result<Furniture> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("furniture.tsv");
        std::fs::write(&path, file).expect("written");
        Furniture::read(&path, &normalize::Options::default())
    }

    /// The lines of a host are removed from its pages, in any spelling with the same normal form,
    /// and from no other page. The other lines keep their order.
    #[test]
    fn lines_are_taken_off_pages_of_their_host() {
        let mut furniture =
            furniture("# made\na.example\t9\t首页 论坛\na.example\t12\tlog in\n").expect("read");
        let page = "首頁　论坛\nThe article.\n\nIts end.\r\nLOG IN";
        let mut text = page.to_owned();
        assert_eq!(furniture.take_off(host_key("A.example"), &mut text), 2);
        assert_eq!(text, "The article.\n\nIts end.");
        let mut text = page.to_owned();
        assert_eq!(furniture.take_off(host_key("b.example"), &mut text), 0);
        assert_eq!(text, page);
        let mut text = "log in\n首页 论坛".to_owned();
        furniture.take_off(host_key("a.example"), &mut text);
        assert_eq!(text, "", "a page of nothing else has no text");
    }

    /// A file of another kind is refused with the line, and how to make one.
    #[test]
    fn other_files_are_refused() {
        for file in ["documents\t9\n", "a.example\tline\n", "a.example\tx\tline\n"] {
            let error = furniture(&format!("# head\n{file}")).expect_err("refused");
            assert_eq!(error.kind(), Kind::Config);
            assert!(
                error.to_string().contains("line 2: not `host<TAB>number<TAB>line`"),
                "{error}"
            );
            assert!(error.to_string().contains("--kind furniture"), "{error}");
        }
    }

    /// Numbers and short lines do not tell articles apart; a host and a long line do.
    #[test]
    fn contexts_are_articles() {
        let page = |article: &str, counter: u32| {
            let lines = [
                format!("{article} begins with this line"),
                format!("{article} and goes on with that one"),
            ];
            context(3, &[&lines[0], &lines[1], &format!("read {counter} times"), "home", "news"])
        };
        assert_eq!(page("one", 17), page("one", 120_455));
        assert_ne!(page("one", 17), page("two", 17));
    }
}
