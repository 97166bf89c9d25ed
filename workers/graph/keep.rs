//! The keep rule: which page of a cluster represents it. By default the first by host priority list, https before http, shortest URL, least
//! DocId, all of which stay the same from crawl to crawl. A view: another rule re-decides nothing but representatives.

use crate::document::{NO_DATE, host_key};
use serde::{Deserialize, Serialize};

/// Criteria that a rule can have besides the host list.
pub const CRITERIA_MAX: usize = 3;

/// What makes a page preferable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// https before http.
    Https,
    /// The shorter URL, in bytes.
    ShortestUrl,
    /// The later date; a page without one last.
    Newest,
    /// The earlier date; a page without one last.
    Oldest,
    /// The longer text, in characters.
    LongestText,
}

/// The job file's `[keep]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Hosts in order of preference; all others come after. Default: none.
    pub hosts: Vec<String>,
    /// Criteria, the weightiest first, at most [`CRITERIA_MAX`]. Default: https, shortest_url.
    pub by: Vec<Criterion>,
}

impl Default for Options {
    fn default() -> Options {
        Options { hosts: Vec::new(), by: vec![Criterion::Https, Criterion::ShortestUrl] }
    }
}

/// What the rule asks of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Key of its host.
    pub host: u64,
    /// Whether its URL is https.
    pub https: bool,
    /// Length of its URL in bytes.
    pub url_bytes: u32,
    /// The crawl's date, seconds since 1970, or [`NO_DATE`].
    pub date: i64,
    /// Length of its text in characters.
    pub chars: u32,
}

/// A page's rank: the least represents; ties go to the least DocId.
pub type Rank = [u64; 1 + CRITERIA_MAX];

/// The rule, ready to rank.
pub struct KeepRule {
    hosts: Vec<u64>,
    by: Vec<Criterion>,
}

impl KeepRule {
    /// The rule that `options` describe.
    pub fn new(options: &Options) -> KeepRule {
        let hosts = options.hosts.iter().map(|host| host_key(host)).collect();
        KeepRule { hosts, by: options.by.iter().copied().take(CRITERIA_MAX).collect() }
    }

    /// The rank of a page.
    pub fn rank(&self, page: Facts) -> Rank {
        let mut rank = [0; 1 + CRITERIA_MAX];
        rank[0] = self.hosts.iter().position(|host| *host == page.host).unwrap_or(self.hosts.len()) as u64;
        // Dates as unsigned numbers in the same order; the least is that of a page without one.
        let date = (page.date as u64) ^ (1 << 63);
        for (slot, criterion) in rank[1..].iter_mut().zip(&self.by) {
            *slot = match criterion {
                Criterion::Https => u64::from(!page.https),
                Criterion::ShortestUrl => u64::from(page.url_bytes),
                Criterion::Newest => u64::MAX - date,
                Criterion::Oldest if page.date == NO_DATE => u64::MAX,
                Criterion::Oldest => date,
                Criterion::LongestText => u64::MAX - u64::from(page.chars),
            };
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(host: &str, https: bool, url_bytes: u32, date: i64, chars: u32) -> Facts {
        Facts { host: host_key(host), https, url_bytes, date, chars }
    }

    /// Each criterion prefers what its name says, and the host list outweighs all of them.
    #[test]
    fn preferences() {
        let old = page("a.example", false, 30, 5, 10);
        let new = page("b.example", true, 20, 9, 20);
        let undated = page("c.example", false, 10, NO_DATE, 30);
        let prefers = |options: Options, a: Facts, b: Facts| {
            let rule = KeepRule::new(&options);
            rule.rank(a) < rule.rank(b)
        };
        let by = |criterion| Options { by: vec![criterion], ..Options::default() };
        assert!(prefers(Options::default(), new, old) && prefers(Options::default(), undated, old));
        assert!(prefers(Options { hosts: vec!["A.example".into()], ..Options::default() }, old, new));
        assert!(prefers(by(Criterion::Oldest), old, new) && prefers(by(Criterion::Oldest), old, undated));
        assert!(prefers(by(Criterion::Newest), new, old) && prefers(by(Criterion::Newest), old, undated));
        assert!(prefers(by(Criterion::ShortestUrl), undated, new));
        assert!(prefers(by(Criterion::LongestText), new, old));
    }
}
