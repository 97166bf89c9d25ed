//! The keep rule: ranks the pages of a cluster. The page with the least rank represents it.
//!
//! `fold/clusters.rs` takes the page of least rank among those whose text is near every other text
//! of the cluster. The default is the first page by the list of hosts, https before http, the page
//! that the store has known longest, the shortest URL and the least DocId. So a cluster keeps its
//! representative while that page lives and no page on a preferred host or scheme comes: a new
//! mirror does not take over. The rule is a view: another rule changes the representatives, and
//! which of equally good texts lead a cluster, but no pair is decided again.
//!
//! `first_seen` comes before `shortest_url`, because it keeps representatives; `incumbent` is not
//! in the default, because real epochs gain nothing by it, and because `first_seen` needs less of
//! the past: a store from scratch gets it from the order of its epochs, while incumbents have to be
//! given to it. `eval/RESULTS.md` has the measurements.
//!
//! All criteria except `incumbent` read only the row of a page, its URL and the length of its text.
//! Two of them read history: `first_seen` reads the first epoch of a page, `sources` the source
//! that saw it last. So a rule with them is a function of the live pages, each with its first epoch
//! and its source; only the order of epochs counts.
//!
//! `incumbent` reads which page represented how many pages before the epoch. It has its own slot in
//! the rank. Only the choice of a representative reads this slot. The choice of leaders does not,
//! so incumbents never change which pages are in a cluster. In a committed state each cluster has
//! one incumbent: its representative. A run that is given these incumbents chooses the same
//! representatives again, because no other page is preferred by the criteria before `incumbent`. So
//! the representatives are a function of the live pages and the incumbents, and a cluster that an
//! epoch does not touch needs no new choice.

use crate::absent::{NO_DATE, NO_SCORE};
use crate::error::WrongValue;
use crate::page_url::{host_key, host_name};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The most criteria of a rule, besides the list of hosts.
pub const CRITERIA_MAX: usize = 5;

/// A criterion by which pages are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// https before http.
    Https,
    /// The shorter URL, in bytes.
    ShortestUrl,
    /// The page that the store has known longest: its first epoch since it was last gone.
    FirstSeen,
    /// The source that comes first in the list of sources; all others come after them.
    Sources,
    /// The higher score; pages without a score come last.
    Score,
    /// The later date; pages without a date come last.
    Newest,
    /// The earlier date; pages without a date come last.
    Oldest,
    /// The longer text, in characters.
    LongestText,
    /// The page that represented the cluster before the epoch; of several, the one that represented
    /// most pages. A page that was in no cluster represented itself.
    Incumbent,
}

impl Criterion {
    /// All criteria.
    pub const ALL: [Criterion; 9] = [
        Criterion::Https,
        Criterion::ShortestUrl,
        Criterion::FirstSeen,
        Criterion::Sources,
        Criterion::Score,
        Criterion::Newest,
        Criterion::Oldest,
        Criterion::LongestText,
        Criterion::Incumbent,
    ];

    /// Its name in job files.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Https => "https",
            Criterion::ShortestUrl => "shortest_url",
            Criterion::FirstSeen => "first_seen",
            Criterion::Sources => "sources",
            Criterion::Score => "score",
            Criterion::Newest => "newest",
            Criterion::Oldest => "oldest",
            Criterion::LongestText => "longest_text",
            Criterion::Incumbent => "incumbent",
        }
    }
}

/// The job file's `[keep]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Hosts in order of preference, in Unicode or punycode; `*.example.org` is all hosts below
    /// `example.org`. All others come after them. Default: none.
    pub hosts: Vec<String>,
    /// Sources in order of preference, for the criterion `sources`. Default: none.
    pub sources: Vec<String>,
    /// Criteria, the most important first, at most [`CRITERIA_MAX`]. Default: https, first_seen,
    /// shortest_url.
    pub by: Vec<Criterion>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            hosts: Vec::new(),
            sources: Vec::new(),
            by: vec![Criterion::Https, Criterion::FirstSeen, Criterion::ShortestUrl],
        }
    }
}

/// The longest list of hosts.
const HOSTS_MAX: usize = 10_000;
/// The longest list of sources.
const SOURCES_MAX: usize = 1_000;

impl Options {
    /// Checks the values.
    pub fn check(&self) -> Result<(), WrongValue> {
        self.check_by().map_err(|why| WrongValue::new("by", why))?;
        if self.hosts.len() > HOSTS_MAX {
            return Err(WrongValue::new("hosts", format!("more than {HOSTS_MAX}")));
        }
        self.check_sources().map_err(|why| WrongValue::new("sources", why))?;
        self.check_hosts().map_err(|why| WrongValue::new("hosts", why))
    }

    fn check_by(&self) -> Result<(), String> {
        if self.by.len() > CRITERIA_MAX {
            return Err(format!("more than {CRITERIA_MAX} criteria"));
        }
        let mut criteria = self.by.iter().enumerate();
        match criteria.find(|(at, one)| self.by[..*at].contains(one)) {
            Some((at, _)) => {
                Err(format!("the criterion at place {} is there twice; leave one out", at + 1))
            }
            None => Ok(()),
        }
    }

    fn check_sources(&self) -> Result<(), String> {
        if self.sources.len() > SOURCES_MAX {
            return Err(format!("more than {SOURCES_MAX}"));
        }
        let orders = self.by.contains(&Criterion::Sources);
        if orders && self.sources.is_empty() {
            return Err("`by` has \"sources\", and this names none".into());
        }
        if !orders && !self.sources.is_empty() {
            return Err("they have no effect; add \"sources\" to `by`".into());
        }
        match repeated(self.sources.iter()) {
            Some(twice) => Err(format!("{twice:?} is there twice; leave one out")),
            None => Ok(()),
        }
    }

    fn check_hosts(&self) -> Result<(), String> {
        if let Some(given) = self.hosts.iter().find(|host| Pattern::of(host).is_none()) {
            let name = given.trim_start_matches("*.");
            let bare = name.trim_matches('.');
            if bare != name && Pattern::of(bare).is_some() {
                let meant = format!("write `{bare}`, or `*.{bare}` for the hosts below it");
                return Err(format!("{given:?} has a dot too many; {meant}"));
            }
            let host = url::Url::parse(name).ok().and_then(|url| url.host_str().map(str::to_owned));
            let meant = host.map_or("such as `www.example` or `*.example`".into(), |host| {
                format!("write `{host}`")
            });
            return Err(format!("{given:?} is no name of a host; {meant}"));
        }
        // Two spellings of one host are the same.
        let patterns: Vec<Option<Pattern>> =
            self.hosts.iter().map(|host| Pattern::of(host)).collect();
        match repeated(patterns.iter()) {
            None => Ok(()),
            Some(twice) => {
                let at = patterns.iter().rposition(|pattern| pattern == twice).unwrap_or_default();
                Err(format!("{:?} is there twice; leave one out", self.hosts[at]))
            }
        }
    }
}

/// The first item that occurs twice.
fn repeated<'a, T: Ord>(mut all: impl Iterator<Item = &'a T>) -> Option<&'a T> {
    let mut known = BTreeSet::new();
    all.find(|one| !known.insert(*one))
}

/// An entry of the list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pattern {
    /// The host of this name.
    Host(String),
    /// All hosts whose name ends in a dot and this name.
    Below(String),
}

impl Pattern {
    /// The pattern that `given` names, in the form of canonical URLs: an international name in
    /// ASCII, an IP address in its shortest form. `None` if it is neither a host nor `*.` and the
    /// name of a domain.
    fn of(given: &str) -> Option<Pattern> {
        let (is_below, name) = given.strip_prefix("*.").map_or((false, given), |rest| (true, rest));
        // The URL parser accepts percent escapes, which no name needs, and a star.
        if name.contains(['%', '*']) || name.starts_with('.') || name.ends_with('.') {
            return None;
        }
        let may_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        match (url::Host::parse(name).ok()?, is_below) {
            // The parser takes a comma, too: `a.example,b.example` is no list.
            (url::Host::Domain(domain), _) if !domain.chars().all(may_name) => None,
            (url::Host::Domain(domain), true) => Some(Pattern::Below(domain)),
            (_, true) => None,
            (host, false) => Some(Pattern::Host(host.to_string())),
        }
    }
}

/// The facts of a page on which the rule depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The key of its host, see [`host_key`].
    pub host: u64,
    /// Its canonical URL; empty if the rule does not read it, see [`KeepRule::reads_urls`].
    pub url: &'a str,
    /// Whether its URL is https.
    pub https: bool,
    /// The length of its URL in bytes.
    pub url_bytes: u32,
    /// The crawl's date in seconds since 1970, or [`NO_DATE`].
    pub date: i64,
    /// The score of its record in 1/1,000,000, or [`NO_SCORE`].
    pub score: i64,
    /// The first epoch that saw it.
    pub first_epoch: u32,
    /// The number of the source that saw it last.
    pub source: u16,
    /// The length of its text in characters.
    pub chars: u32,
}

/// A page's rank. The page with the least rank represents the cluster; among equals, the page with
/// the least DocId.
pub type Rank = [u64; 1 + CRITERIA_MAX];

/// The rule, ready to rank pages.
///
/// ```
/// use workers::absent::{NO_DATE, NO_SCORE};
/// use workers::page_url::host_key;
/// use workers::keep::{Facts, KeepRule, Options};
///
/// let options = Options { hosts: vec!["www.example".into()], ..Options::default() };
/// let rule = KeepRule::new(&options, &["crawl"]);
/// let (host, date, score) = (host_key("a.example"), NO_DATE, NO_SCORE);
/// let (url, url_bytes, first_epoch, source, chars) = ("", 20, 3, 0, 900);
/// let plain =
///     Facts { host, url, https: false, url_bytes, date, score, first_epoch, source, chars };
/// let https = Facts { https: true, ..plain };
/// let older = Facts { first_epoch: 2, url_bytes: 60, ..https };
/// let listed = Facts { host: host_key("www.example"), ..plain };
/// // The least rank wins: a listed host before https, https before the page that was known first,
/// // and that before a short URL.
/// let ranks = [listed, older, https, plain].map(|page| rule.rank(page));
/// assert!(ranks.is_sorted());
/// ```
pub struct KeepRule {
    /// The places of hosts in the list, by their keys.
    hosts: BTreeMap<u64, u64>,
    /// The places of domains whose hosts are in the list.
    below: BTreeMap<String, u64>,
    /// The place after the last of the list.
    others: u64,
    /// The place of each source, by its number.
    sources: Vec<u64>,
    by: Vec<Criterion>,
    /// The slot of the criterion `incumbent`.
    incumbent: Option<usize>,
}

impl KeepRule {
    /// The rule that `options` describe, in a store whose sources have these `names`, by number.
    pub fn new<S: AsRef<str>>(options: &Options, names: &[S]) -> KeepRule {
        let (mut hosts, mut below) = (BTreeMap::new(), BTreeMap::new());
        for (place, host) in (0..).zip(&options.hosts) {
            match Pattern::of(host) {
                Some(Pattern::Below(domain)) => _ = below.entry(domain).or_insert(place),
                Some(Pattern::Host(name)) => _ = hosts.entry(host_key(&name)).or_insert(place),
                None => {}
            }
        }
        let place = |name: &str| options.sources.iter().position(|source| source == name);
        let sources =
            names.iter().map(|name| place(name.as_ref()).unwrap_or(options.sources.len()) as u64);
        let (others, sources) = (options.hosts.len() as u64, sources.collect());
        let by: Vec<Criterion> = options.by.iter().copied().take(CRITERIA_MAX).collect();
        let incumbent =
            by.iter().position(|criterion| *criterion == Criterion::Incumbent).map(|at| at + 1);
        KeepRule { hosts, below, others, sources, by, incumbent }
    }

    /// Whether the rule reads [`Facts::url`].
    pub fn reads_urls(&self) -> bool {
        !self.below.is_empty()
    }

    /// The slot of a rank for the criterion `incumbent`, if the rule has it.
    pub fn incumbent_slot(&self) -> Option<usize> {
        self.incumbent
    }

    /// The `rank` of a page, with the number of `pages` that it represented before the epoch, which
    /// is 0 if it folded or is new.
    pub fn with_represented(&self, mut rank: Rank, pages: u64) -> Rank {
        if let Some(slot) = self.incumbent {
            rank[slot] = u64::MAX - pages;
        }
        rank
    }

    /// The rank of a page, without regard to what it represented before.
    pub fn rank(&self, page: Facts<'_>) -> Rank {
        let mut rank = [0; 1 + CRITERIA_MAX];
        rank[0] = self.place(page);
        for (slot, criterion) in rank[1..].iter_mut().zip(&self.by) {
            *slot = match criterion {
                Criterion::Https => u64::from(!page.https),
                Criterion::ShortestUrl => u64::from(page.url_bytes),
                Criterion::FirstSeen => u64::from(page.first_epoch),
                Criterion::Sources => {
                    self.sources.get(usize::from(page.source)).copied().unwrap_or(u64::MAX)
                }
                Criterion::Score => u64::MAX - ascending(page.score),
                Criterion::Newest => u64::MAX - ascending(page.date),
                Criterion::Oldest if page.date == NO_DATE => u64::MAX,
                Criterion::Oldest => ascending(page.date),
                Criterion::LongestText => u64::MAX - u64::from(page.chars),
                Criterion::Incumbent => 0,
            };
        }
        rank
    }

    /// The first place of the page's host in the list.
    fn place(&self, page: Facts<'_>) -> u64 {
        let mut place = self.hosts.get(&page.host).copied().unwrap_or(self.others);
        if let Some(host) = self.reads_urls().then(|| host_name(page.url)).flatten() {
            let domains =
                host.match_indices('.').filter_map(|(dot, _)| self.below.get(&host[dot + 1..]));
            place = domains.copied().fold(place, u64::min);
        }
        place
    }
}

/// `number` as an unsigned number in the same order. [`NO_DATE`] and [`NO_SCORE`] become 0.
fn ascending(number: i64) -> u64 {
    const { assert!(NO_DATE == i64::MIN && NO_SCORE == i64::MIN) };
    (number as u64) ^ (1 << 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(host: &str, https: bool, url_bytes: u32, date: i64, chars: u32) -> Facts<'_> {
        let (score, first_epoch, source) = (NO_SCORE, 1, 0);
        Facts {
            host: host_key(host),
            url: "",
            https,
            url_bytes,
            date,
            score,
            first_epoch,
            source,
            chars,
        }
    }

    /// Each criterion prefers what its name says, and the list of hosts comes before all of them.
    #[test]
    fn preferences() {
        let old = page("a.example", false, 30, 5, 10);
        let new = page("b.example", true, 20, 9, 20);
        let undated = page("c.example", false, 10, NO_DATE, 30);
        let prefers = |options: Options, a: Facts<'_>, b: Facts<'_>| {
            let rule = KeepRule::new(&options, &["feed", "crawl", "curated", "other"]);
            rule.rank(a) < rule.rank(b)
        };
        let by = |criterion| Options { by: vec![criterion], ..Options::default() };
        assert!(prefers(Options::default(), new, old) && prefers(Options::default(), undated, old));
        assert!(prefers(
            Options { hosts: vec!["A.example".into()], ..Options::default() },
            old,
            new
        ));
        assert!(
            prefers(by(Criterion::Oldest), old, new)
                && prefers(by(Criterion::Oldest), old, undated)
        );
        assert!(
            prefers(by(Criterion::Newest), new, old)
                && prefers(by(Criterion::Newest), old, undated)
        );
        assert!(prefers(by(Criterion::ShortestUrl), undated, new));
        assert!(prefers(by(Criterion::LongestText), new, old));
        assert!(prefers(by(Criterion::FirstSeen), new, Facts { first_epoch: 2, ..new }));
        let scored = |score| Facts { score, ..old };
        assert!(prefers(by(Criterion::Score), scored(2), scored(1)));
        assert!(prefers(by(Criterion::Score), scored(1), scored(-1)));
        assert!(prefers(by(Criterion::Score), scored(-9_000), scored(NO_SCORE)));
        // Sources in the list come first, in its order; all others are equal.
        let sources =
            Options { sources: vec!["curated".into(), "crawl".into()], ..by(Criterion::Sources) };
        let of = |source| Facts { source, ..old };
        let rank = |source| {
            KeepRule::new(&sources, &["feed", "crawl", "curated", "other"]).rank(of(source))
        };
        assert!(rank(2) < rank(1) && rank(1) < rank(0) && rank(0) == rank(3));
        for criterion in Criterion::ALL {
            assert_eq!(serde_json::to_value(criterion).expect("a word"), criterion.name());
        }
    }

    /// A new mirror of equal rank took a cluster over if its URL was shorter or its DocId less. By
    /// default the page that was known first stays, unless the other page is on a preferred host or
    /// is https.
    #[test]
    fn a_new_mirror_takes_nothing_over() {
        let rule = KeepRule::new(
            &Options { hosts: vec!["c.example".into()], ..Options::default() },
            &["crawl"],
        );
        let known = page("a.example", false, 30, 5, 10);
        let mirror = Facts { first_epoch: 2, ..page("b.example", false, 10, 9, 90) };
        assert!(rule.rank(known) < rule.rank(mirror));
        assert!(rule.rank(Facts { https: true, ..mirror }) < rule.rank(known));
        assert!(rule.rank(Facts { host: host_key("c.example"), ..mirror }) < rule.rank(known));
    }

    /// Incumbents count only at their place in `by`: the page that represented most pages comes
    /// first among pages that are equal by the criteria before it. A rule without `incumbent` does
    /// not read them.
    #[test]
    fn incumbents() {
        let by = vec![Criterion::Https, Criterion::Incumbent, Criterion::ShortestUrl];
        let rule = KeepRule::new(&Options { by, ..Options::default() }, &["crawl"]);
        let rank = |https, url_bytes, pages| {
            rule.with_represented(rule.rank(page("a.example", https, url_bytes, 5, 10)), pages)
        };
        let best_first = [
            rank(true, 90, 3),
            rank(true, 20, 1),
            rank(true, 30, 1),
            rank(true, 10, 0),
            rank(false, 5, 9),
        ];
        assert!(best_first.is_sorted_by(|a, b| a < b));
        assert_eq!(rule.rank(page("a.example", true, 90, 5, 10))[2], 0);
        let blind = KeepRule::new(&Options::default(), &["crawl"]);
        let rank = blind.rank(page("a.example", true, 90, 5, 10));
        assert_eq!((blind.with_represented(rank, 7), blind.incumbent_slot()), (rank, None));
    }

    /// A host may be written in Unicode or punycode, because pages have one form. An entry that is
    /// no host is refused, instead of having no effect.
    #[test]
    fn hosts_are_names() {
        let of = |host: &str| Options { hosts: vec![host.into()], ..Options::default() };
        for (host, in_pages) in [
            ("例え.example", "xn--r8jz45g.example"),
            ("A.Example", "a.example"),
            ("xn--r8jz45g.example", "xn--r8jz45g.example"),
        ] {
            assert_eq!(of(host).check(), Ok(()));
            let rank = KeepRule::new(&of(host), &[""; 0]).rank(page(in_pages, false, 20, 5, 10));
            assert_eq!(rank[0], 0, "{host}");
        }
        for (host, remedy) in [
            ("https://d.example/", "write `d.example`"),
            ("d.example/x", "`www.example`"),
            ("a.example,b.example", "`www.example`"),
            ("", "`www.example`"),
            ("*", "`*.example`"),
            ("*.", "`*.example`"),
            ("*.10.0.0.1", "`*.example`"),
            ("www.*.example", "`*.example`"),
        ] {
            assert!(of(host).check().expect_err(host).why.contains(remedy), "{host}");
        }
        let twice =
            Options { hosts: vec!["a.example".into(), "A.example".into()], ..Options::default() };
        assert!(twice.check().expect_err("twice").why.contains("\"A.example\" is there twice"));
        let both =
            Options { hosts: vec!["a.example".into(), "*.a.example".into()], ..Options::default() };
        assert_eq!(both.check(), Ok(()));
    }

    /// `*.example.org` is every host below `example.org`, at any depth, and not that host itself
    /// nor one whose name only ends alike. A host in several entries has the place of the first.
    #[test]
    fn wildcards_are_all_hosts_below() {
        let hosts = ["www.example.org", "*.example.org", "*.例え.example", "a.b.example.org"]
            .map(str::to_owned);
        let rule =
            KeepRule::new(&Options { hosts: hosts.to_vec(), ..Options::default() }, &[""; 0]);
        for (host, place) in [
            ("www.example.org", 0),
            ("a.example.org", 1),
            ("a.b.example.org", 1),
            ("example.org", 4),
            ("badexample.org", 4),
            ("example.org.net", 4),
            ("x.xn--r8jz45g.example", 2),
        ] {
            let url = format!("https://{host}:8080/example.org/");
            assert_eq!(
                rule.rank(Facts { url: &url, ..page(host, true, 20, 5, 10) })[0],
                place,
                "{host}"
            );
        }
        assert!(rule.reads_urls() && !KeepRule::new(&Options::default(), &[""; 0]).reads_urls());
    }

    /// An order of sources that nothing reads, and a criterion without its order, are refused.
    #[test]
    fn an_order_of_sources_is_used() {
        let crawl = || vec!["crawl".to_owned()];
        let by = vec![Criterion::Sources];
        assert_eq!(
            Options { sources: crawl(), by: by.clone(), ..Options::default() }.check(),
            Ok(())
        );
        assert!(
            Options { by: by.clone(), ..Options::default() }
                .check()
                .expect_err("no order")
                .why
                .contains("names none")
        );
        assert!(
            Options { sources: crawl(), ..Options::default() }
                .check()
                .expect_err("not read")
                .why
                .contains("`by`")
        );
        let twice = Options { sources: [crawl(), crawl()].concat(), by, ..Options::default() };
        assert!(twice.check().expect_err("twice").why.contains("\"crawl\" is there twice"));
    }
}
