//! The keep rule: selects the page that represents a cluster.
//!
//! The default is the first page by the list of hosts, https before http, the shortest URL and the
//! least DocId. None of these changes from crawl to crawl, so representatives are stable. The rule
//! is a view: another rule changes representatives and nothing else.

use crate::document::{NO_DATE, host_key};
use serde::{Deserialize, Serialize};

/// The most criteria of a rule, besides the list of hosts.
pub const CRITERIA_MAX: usize = 3;

/// A criterion by which pages are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// https before http.
    Https,
    /// The shorter URL, in bytes.
    ShortestUrl,
    /// The later date; pages without a date come last.
    Newest,
    /// The earlier date; pages without a date come last.
    Oldest,
    /// The longer text, in characters.
    LongestText,
}

impl Criterion {
    /// Its name in job files.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Https => "https",
            Criterion::ShortestUrl => "shortest_url",
            Criterion::Newest => "newest",
            Criterion::Oldest => "oldest",
            Criterion::LongestText => "longest_text",
        }
    }
}

/// The job file's `[keep]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Hosts in order of preference, in Unicode or punycode. All others come after them. Default:
    /// none.
    pub hosts: Vec<String>,
    /// Criteria, the most important first, at most [`CRITERIA_MAX`]. Default: https, shortest_url.
    pub by: Vec<Criterion>,
}

impl Default for Options {
    fn default() -> Options {
        Options { hosts: Vec::new(), by: vec![Criterion::Https, Criterion::ShortestUrl] }
    }
}

/// The longest list of hosts.
const HOSTS_MAX: usize = 10_000;

impl Options {
    /// Checks the values; the error names the key.
    pub fn check(&self) -> Result<(), String> {
        if self.by.len() > CRITERIA_MAX {
            return Err(format!("by: more than {CRITERIA_MAX} criteria"));
        }
        if self.hosts.len() > HOSTS_MAX {
            return Err(format!("hosts: more than {HOSTS_MAX}"));
        }
        match self.hosts.iter().find(|host| canonical(host).is_none()) {
            None => Ok(()),
            Some(given) => {
                let host = url::Url::parse(given).ok().and_then(|url| url.host_str().map(str::to_owned));
                let meant = host.map_or("such as `www.example`".into(), |host| format!("write `{host}`"));
                Err(format!("hosts: {given:?} is no name of a host; {meant}"))
            }
        }
    }
}

/// `host` as canonical URLs have it: an international name in ASCII, an IP address in its shortest
/// form. None if it is not a host.
fn canonical(host: &str) -> Option<String> {
    let canonical = url::Host::parse(host).ok()?.to_string();
    // The parser takes percent escapes, which nobody writes in a name.
    (!host.contains('%')).then_some(canonical)
}

/// The facts of a page on which the rule depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The key of its host, see [`host_key`].
    pub host: u64,
    /// Whether its URL is https.
    pub https: bool,
    /// The length of its URL in bytes.
    pub url_bytes: u32,
    /// The crawl's date in seconds since 1970, or [`NO_DATE`].
    pub date: i64,
    /// The length of its text in characters.
    pub chars: u32,
}

/// A page's rank. The page with the least rank represents the cluster, and of equals that with the
/// least DocId.
pub type Rank = [u64; 1 + CRITERIA_MAX];

/// The rule, ready to rank pages.
///
/// ```
/// use workers::document::{NO_DATE, host_key};
/// use workers::graph::representative::{Facts, KeepRule, Options};
///
/// let options = Options { hosts: vec!["www.example".into()], ..Options::default() };
/// let rule = KeepRule::new(&options);
/// let host = host_key("a.example");
/// let plain = Facts { host, https: false, url_bytes: 20, date: NO_DATE, chars: 900 };
/// let https = Facts { https: true, url_bytes: 60, ..plain };
/// let listed = Facts { host: host_key("www.example"), ..plain };
/// // The least rank wins: a listed host before https, and https before a short URL.
/// assert!(rule.rank(listed) < rule.rank(https) && rule.rank(https) < rule.rank(plain));
/// ```
pub struct KeepRule {
    hosts: Vec<u64>,
    by: Vec<Criterion>,
}

impl KeepRule {
    /// The rule that `options` describe.
    pub fn new(options: &Options) -> KeepRule {
        let hosts =
            options.hosts.iter().map(|host| host_key(&canonical(host).unwrap_or_else(|| host.clone()))).collect();
        KeepRule { hosts, by: options.by.iter().copied().take(CRITERIA_MAX).collect() }
    }

    /// The rank of a page.
    pub fn rank(&self, page: Facts) -> Rank {
        let mut rank = [0; 1 + CRITERIA_MAX];
        rank[0] = self.hosts.iter().position(|host| *host == page.host).unwrap_or(self.hosts.len()) as u64;
        // Dates as unsigned numbers in the same order. NO_DATE becomes 0.
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

    /// Each criterion prefers what its name says, and the list of hosts comes before all of them.
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

    /// A host counts in Unicode as in punycode, as pages have one form; what is no host is refused
    /// and does not just have no effect.
    #[test]
    fn hosts_are_names() {
        let of = |host: &str| Options { hosts: vec![host.into()], ..Options::default() };
        for (host, in_pages) in [
            ("例え.example", "xn--r8jz45g.example"),
            ("A.Example", "a.example"),
            ("xn--r8jz45g.example", "xn--r8jz45g.example"),
        ] {
            assert_eq!(of(host).check(), Ok(()));
            let rank = KeepRule::new(&of(host)).rank(page(in_pages, false, 20, 5, 10));
            assert_eq!(rank[0], 0, "{host}");
        }
        for (host, remedy) in
            [("https://d.example/", "write `d.example`"), ("d.example/x", "`www.example`"), ("", "`www.example`")]
        {
            assert!(of(host).check().expect_err(host).contains(remedy), "{host}");
        }
    }
}
