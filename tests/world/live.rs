//! The model: which pages are live, and by which rule one of them represents.

use super::{DAY, GONE_DAYS, RETAIN};
use std::collections::BTreeMap;

/// The source of which each delivery is a complete snapshot.
pub const COMPLETE: &str = "site";

/// A live page.
#[derive(Clone, Debug)]
pub struct Page {
    pub date: Option<i64>,
    pub text: String,
    pub score: Option<i64>,
    /// The reading epoch that saw it first since it was last gone.
    pub first: usize,
    /// The source of its record.
    pub source: &'static str,
    /// The reading epoch that saw it last, its time, and its source.
    pub seen: (usize, i64, &'static str),
}

/// The content of one record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Says {
    Page(workers::id::Id, String, Option<i64>),
    Removed,
}

/// A record: its URL, its date, and what it says; nothing if it only saw the page.
pub type Record = (String, Option<i64>, Option<Says>);

/// What is known of a URL.
#[derive(Clone, Default)]
pub struct Known {
    pub page: Option<Page>,
    /// The last date that held; older records do not hold.
    pub newest: Option<i64>,
    /// When it was last said that the page is gone.
    pub gone: i64,
    /// Whether a record said so.
    pub removed: bool,
}

/// The line of a page.
pub fn page_line(url: &str, date: Option<i64>, text: &str, score: Option<i64>) -> String {
    let dated = date.map_or(String::new(), |date| format!("\"date\":{date},"));
    let scored = score.map_or(String::new(), |score| format!("\"score\":{score},"));
    format!("{{\"url\":\"{url}\",{dated}{scored}\"text\":\"{text}\"}}\n")
}

/// The model: all that is known.
#[derive(Clone, Default)]
pub struct Live {
    pub known: BTreeMap<String, Known>,
    /// The number of epochs that have read something.
    pub read: usize,
    /// The consumed files of the folder `in`, with the epochs that consumed them.
    pub consumed: BTreeMap<u32, u64>,
    /// The settings by which it was decided.
    pub settings: Vec<String>,
    /// The pages that represent others or stand alone, and how many pages each represents.
    pub represented: BTreeMap<String, u64>,
    /// The text of each page and the component of each text, when this was found.
    pub placed: Placed,
}

/// Where texts are.
#[derive(Clone, Default)]
pub struct Placed {
    /// The digests of texts by URL.
    pub contents: BTreeMap<String, String>,
    /// The components by the digest of the text; texts that are not here are in none.
    pub components: BTreeMap<String, String>,
}

impl Placed {
    /// The component of a text.
    fn of<'a>(&'a self, content: &'a str) -> &'a str {
        self.components.get(content).map_or(content, String::as_str)
    }

    /// Whether the page with this URL, which is in both, has the same text in `now` or is in one
    /// component with another text of its former component.
    fn stays(&self, now: &Placed, url: &str) -> bool {
        let (before, after) = (&self.contents[url], &now.contents[url]);
        let mut others = now.contents.values().filter(|other| self.of(other) == self.of(before));
        before == after || others.any(|other| now.of(other) == now.of(after))
    }
}

/// A file of the folder `in`.
#[derive(Clone)]
pub struct Delivered {
    /// Its number, which it keeps when it gets another name.
    pub number: u32,
    pub records: Vec<Record>,
}

impl Live {
    /// Applies the records of an epoch. `lacks` says of which source pages go that it does not see.
    pub fn read(
        &mut self,
        records: &[Record],
        source: &'static str,
        now: i64,
        lacks: Option<&str>,
    ) {
        self.read += 1;
        let seen = (self.read, now, source);
        let mut by_url: BTreeMap<&String, Vec<&Record>> = BTreeMap::new();
        records.iter().for_each(|record| by_url.entry(&record.0).or_default().push(record));
        for (url, records) in by_url {
            let known = self.known.entry(url.clone()).or_default();
            if known.page.is_none() && known.gone < now - GONE_DAYS * DAY {
                known.newest = None;
            }
            // A snapshot holds over an earlier one of its source, and over what nobody removed.
            let is_anew = match &known.page {
                Some(page) => page.source == source,
                None => !known.removed,
            };
            let newest = known.newest.filter(|_| source != COMPLETE || !is_anew);
            let holds =
                |(_, date, says): &&&Record| says.is_some() && (date.is_none() || *date >= newest);
            // The latest date wins, then a removal, then the greater digest; the order of records
            // does not matter.
            let winner =
                records.iter().filter(holds).max_by_key(|(_, date, says)| (*date, says.clone()));
            match winner {
                Some((_, date, Some(says))) => {
                    known.newest = newest.max(*date);
                    match says {
                        Says::Page(_, text, score) => {
                            let first = known.page.as_ref().map_or(self.read, |page| page.first);
                            let (date, text, score) = (*date, text.clone(), *score);
                            known.page = Some(Page { date, text, score, first, source, seen });
                        }
                        Says::Removed => {
                            (known.page, known.gone, known.removed) = (None, now, true);
                        }
                    }
                }
                _ => {
                    let is_seen = records.iter().any(|(_, _, says)| says != &Some(Says::Removed));
                    known.page.iter_mut().filter(|_| is_seen).for_each(|page| page.seen = seen);
                }
            }
        }
        self.end(now, |page| Some(page.seen.2) == lacks && page.seen != seen);
        self.expire(now);
    }

    pub fn expire(&mut self, now: i64) {
        let read = self.read;
        self.end(now, |page| page.seen.0 + RETAIN.0 <= read || page.seen.1 < now - RETAIN.1 * DAY);
    }

    /// Removes the pages that `ends` selects.
    pub fn end(&mut self, now: i64, ends: impl Fn(&Page) -> bool) {
        for known in self.known.values_mut() {
            if known.page.as_ref().is_some_and(&ends) {
                (known.page, known.gone, known.removed) = (None, now, false);
            }
        }
    }

    /// The value of a setting as the job has it.
    pub fn says(&self, key: &str) -> Option<Vec<String>> {
        let value =
            self.settings.iter().find_map(|set| set.strip_prefix(key)?.strip_prefix('='))?;
        Some(serde_json::from_str(value).expect("a list"))
    }

    /// The criteria of the keep rule.
    pub fn by(&self) -> Vec<String> {
        self.says("keep.by")
            .unwrap_or_else(|| ["https", "first_seen", "shortest_url"].map(str::to_owned).to_vec())
    }

    /// How many pages a page counts as having represented, now that texts are `now`.
    fn brings(&self, url: &str, now: &Placed) -> i64 {
        match self.represented.get(url) {
            Some(pages) if self.placed.stays(now, url) => *pages as i64,
            Some(_) => 1,
            None => 0,
        }
    }

    /// The place of a live page by the keep rule, with the criteria `by`, read literally; the least
    /// comes first. Texts are `now`.
    pub fn place(&self, url: &str, by: &[String], now: &Placed) -> Vec<i64> {
        let page = self.known[url].page.as_ref().expect("a live page");
        let at = |list: Vec<String>, is: &dyn Fn(&str) -> bool| {
            list.iter().position(|one| is(one)).unwrap_or(list.len()) as i64
        };
        let host = url.trim_start_matches("http://").split('/').next().expect("a host");
        let is_host = |one: &str| match one.strip_prefix('*') {
            Some(end) => host.ends_with(end),
            None => host == one,
        };
        let mut place = vec![at(self.says("keep.hosts").unwrap_or_default(), &is_host)];
        place.extend(by.iter().map(|criterion| match criterion.as_str() {
            "https" => 0,
            "first_seen" => page.first as i64,
            "shortest_url" => url.len() as i64,
            "sources" => {
                at(self.says("keep.sources").unwrap_or_default(), &|one| one == page.seen.2)
            }
            "score" => page.score.map_or(i64::MAX, |score| -score),
            "newest" => page.date.map_or(i64::MAX, |date| -date),
            "oldest" => page.date.unwrap_or(i64::MAX),
            "incumbent" => -self.brings(url, now),
            other => panic!("criterion {other}"),
        }));
        place
    }

    /// The live pages by URL.
    pub fn pages(&self) -> impl Iterator<Item = (&String, &Page)> {
        self.known.iter().filter_map(|(url, known)| Some((url, known.page.as_ref()?)))
    }
}
