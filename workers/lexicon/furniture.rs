//! Counts on how many pages of different articles each line of a host occurs.
//!
//! Memory is bounded by a number of lines on pages. Beyond it only pages whose context begins with
//! a 0 bit count, then only pages with two, and so on, in the same way as words are counted
//! ([`crate::text::signatures::lexicon`]). The result is an exact count over a sample that depends
//! on the set of pages and the bounds only.

use crate::text::furniture::{LINE_CHARS_MAX, context, line_key};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// A line is furniture if at least one in this many pages of its host has it.
pub const ONE_IN: u64 = 2;

/// Bounds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pages of different articles, about 30 bytes each.
    pub contexts_max: usize,
    /// Lines on such pages, about 30 bytes each; each distinct line takes about 40 more.
    pub lines_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { contexts_max: 1 << 22, lines_max: 1 << 23 }
    }
}

/// The lines of a host that are counted.
#[derive(Clone, Debug, Default)]
struct Host {
    name: String,
    contexts: HashSet<u64>,
}

/// What is counted of a line.
#[derive(Clone, Debug)]
struct Line {
    host: u64,
    contexts: u64,
    /// The line itself, once enough pages have it.
    text: Option<Box<str>>,
}

/// A line that is furniture on the pages of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FurnitureLine<'a> {
    /// The host.
    pub host: &'a str,
    /// The line in normal form.
    pub line: &'a str,
    /// The number of pages of different articles on which it occurs.
    pub pages: u64,
}

/// Counts the lines of pages.
#[derive(Clone, Debug)]
pub struct Counter {
    limits: Limits,
    /// Lines on fewer pages are not furniture.
    pages_min: u64,
    /// Contexts with fewer leading zeros do not count.
    level: u32,
    hosts: HashMap<u64, Host>,
    contexts: usize,
    seen: HashSet<(u64, u64)>,
    lines: HashMap<u64, Line>,
}

impl Counter {
    /// An empty counter of lines on at least `pages_min` pages.
    pub fn new(limits: Limits, pages_min: u64) -> Counter {
        let (hosts, seen, lines) = (HashMap::new(), HashSet::new(), HashMap::new());
        Counter { limits, pages_min: pages_min.max(1), level: 0, hosts, contexts: 0, seen, lines }
    }

    /// Counts a page of the host of that name and key, with its distinct `lines` in normal form.
    pub fn add(&mut self, name: &str, host: u64, lines: &[String]) {
        let context = context(host, lines);
        if lines.is_empty() || context.leading_zeros() < self.level {
            return;
        }
        let of_host = self
            .hosts
            .entry(host)
            .or_insert_with(|| Host { name: name.to_owned(), ..Host::default() });
        self.contexts += usize::from(of_host.contexts.insert(context));
        for line in lines.iter().filter(|line| line.chars().count() <= LINE_CHARS_MAX) {
            let key = line_key(host, line);
            if !self.seen.insert((key, context)) {
                continue;
            }
            let known = self.lines.entry(key).or_insert(Line { host, contexts: 0, text: None });
            known.contexts += 1;
            if known.contexts >= self.pages_min && known.text.is_none() {
                known.text = Some(line.as_str().into());
            }
        }
        while self.contexts > self.limits.contexts_max || self.seen.len() > self.limits.lines_max {
            self.halve();
        }
    }

    /// Leaves out about half of the contexts.
    fn halve(&mut self) {
        self.level += 1;
        let level = self.level;
        self.hosts
            .values_mut()
            .for_each(|host| host.contexts.retain(|context| context.leading_zeros() >= level));
        self.hosts.retain(|_, host| !host.contexts.is_empty());
        self.contexts = self.hosts.values().map(|host| host.contexts.len()).sum();
        let lines = &mut self.lines;
        self.seen.retain(|&(key, context)| {
            let stays = context.leading_zeros() >= level;
            if !stays && let Entry::Occupied(mut line) = lines.entry(key) {
                line.get_mut().contexts -= 1;
                if line.get().contexts == 0 {
                    line.remove();
                }
            }
            stays
        });
    }

    /// The number of pages of different articles that count.
    pub fn contexts(&self) -> u64 {
        self.contexts as u64
    }

    /// One in how many pages counts.
    pub fn one_in(&self) -> u128 {
        1 << self.level
    }

    /// The lines that are furniture, in order of host and line.
    pub fn found(&self) -> Vec<FurnitureLine<'_>> {
        let furniture = self.lines.values().filter_map(|line| {
            let host = self.hosts.get(&line.host)?;
            let is_most = line.contexts >= self.pages_min
                && line.contexts * ONE_IN >= host.contexts.len() as u64;
            let text = line.text.as_deref().filter(|_| is_most)?;
            Some(FurnitureLine { host: &host.name, line: text, pages: line.contexts })
        });
        let mut found: Vec<FurnitureLine<'_>> = furniture.collect();
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_url::host_key;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    type Page = (usize, Vec<String>);
    const HOSTS: [&str; 2] = ["a.example", "b.example"];

    fn counted(pages: &[Page], limits: Limits, pages_min: u64) -> Counter {
        let mut counter = Counter::new(limits, pages_min);
        for (host, lines) in pages {
            counter.add(HOSTS[*host], host_key(HOSTS[*host]), lines);
            assert!(
                counter.contexts <= limits.contexts_max && counter.seen.len() <= limits.lines_max
            );
        }
        counter
    }

    /// The definition over the pages whose contexts have enough leading zeros.
    fn plain(pages: &[Page], level: u32, pages_min: u64) -> Vec<(String, String, u64)> {
        let (mut hosts, mut lines) =
            (BTreeMap::<usize, BTreeSet<u64>>::new(), BTreeMap::<_, BTreeSet<u64>>::new());
        for (host, of_page) in pages {
            let context = context(host_key(HOSTS[*host]), of_page);
            if of_page.is_empty() || context.leading_zeros() < level {
                continue;
            }
            hosts.entry(*host).or_default().insert(context);
            of_page.iter().for_each(|line| {
                _ = lines.entry((*host, line.clone())).or_default().insert(context)
            });
        }
        let enough = |host: usize, n: u64| n >= pages_min && 2 * n >= hosts[&host].len() as u64;
        let found =
            lines.into_iter().map(|((host, line), contexts)| (host, line, contexts.len() as u64));
        found
            .filter(|(host, _, n)| enough(*host, *n))
            .map(|(host, line, n)| (HOSTS[host].to_owned(), line, n))
            .collect()
    }

    fn result(counter: &Counter) -> Vec<(String, String, u64)> {
        counter
            .found()
            .into_iter()
            .map(|found| (found.host.to_owned(), found.line.to_owned(), found.pages))
            .collect()
    }

    proptest! {
        /// Any bounds are kept at every moment. The result is that of the definition, over all
        /// pages or over a sample that does not depend on the order of the pages.
        #[test]
        fn a_function_of_the_set_of_pages(
            pages in prop::collection::vec((0usize..2, prop::collection::btree_set(0u32..40, 0..9)), 0..80),
            contexts_max in 4usize..60, lines_max in 40usize..300, pages_min in 1u64..6,
        ) {
            let letter = |n: u32| char::from_u32(0x4e00 + n).expect("a character");
            let line = |n: u32| letter(n).to_string().repeat(1 + n as usize % 5);
            let mut pages: Vec<Page> =
                pages.into_iter().map(|(host, lines)| (host, lines.into_iter().map(line).collect())).collect();
            for limits in [Limits { contexts_max, lines_max }, Limits::default()] {
                let counter = counted(&pages, limits, pages_min);
                let expected = plain(&pages, counter.level, pages_min);
                prop_assert_eq!(&result(&counter), &expected);
                pages.reverse();
                let again = counted(&pages, limits, pages_min);
                prop_assert_eq!((again.level, again.contexts(), result(&again)), (counter.level, counter.contexts(), expected));
                prop_assert!(limits != Limits::default() || counter.one_in() == 1, "room for all");
            }
        }
    }

    /// Lines of chrome are found. Lines of an article that has twenty addresses, each with a
    /// counter of its own, are not: they would be removed from all its copies.
    #[test]
    fn copies_of_an_article_are_no_chrome() {
        let page = |article: u64, counter: u64| {
            let word = |n: u64| {
                char::from_u32(0x5000 + (article * 31 + n) as u32).expect("a character").to_string()
            };
            let lines = (0..4).map(|n| word(n).repeat(20 + n as usize));
            lines
                .chain([format!("read {counter} times"), "home news".into(), "log in".into()])
                .collect::<Vec<_>>()
        };
        let copies = (0..20).map(|counter| (0, page(0, counter)));
        let pages: Vec<Page> =
            copies.chain((1..10).map(|article| (0, page(article, article)))).collect();
        let found = result(&counted(&pages, Limits::default(), 8));
        let lines: Vec<(&str, u64)> =
            found.iter().map(|(_, line, n)| (line.as_str(), *n)).collect();
        assert_eq!(lines, [("home news", 10), ("log in", 10)]);
    }
}
