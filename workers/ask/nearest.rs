//! Finds the page that a URL means if the store does not have that URL itself.
//!
//! The store knows URLs by their digest, so only a few other spellings can be looked up: http or
//! https, with or without `www.`, with or without a slash at the end, without the query, and with a
//! scheme if what was typed has none. Another host with the same path could only be found by
//! reading the whole table, so it is not looked for. If the job names a key of its own, a page is
//! found by that key alone, byte for byte: two keys that are spellings of one URL are two pages.

use crate::ask::tables::Tables;
use crate::id::Id;
use crate::page_url::{Naming, PageUrl, canonical_url, own_key};
use crate::plain::plain;
use crate::read::shell;
use std::path::Path;
use url::Url;

/// What the store has of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The canonical URL, or the key, of the page.
    pub url: String,
    /// Its DocId.
    pub doc: Id,
    /// Whether the page is live; otherwise it is remembered as gone.
    pub is_live: bool,
    /// What differs from the URL that was asked for; empty if it is the same.
    pub differs_by: Vec<&'static str>,
}

impl Nearest {
    /// The message about a page that is gone.
    pub fn gone(&self) -> String {
        // People copy the command as it is, and the URL comes from a crawl and may be anything.
        let url = plain(&self.url);
        let word = shell::word(Path::new(&url));
        format!("{url}: the page is gone; `pagefold explain JOB {word}` says why")
    }
}

/// The live page of `url`, or else of the nearest other spelling, or else a page that is gone, in
/// the same order. No other spelling of a key is looked for.
pub fn nearest(tables: &Tables, url: &str, naming: Naming) -> Option<Nearest> {
    let spellings = match naming {
        Naming::Url => spellings(url),
        Naming::Key => vec![(own_key(url), Vec::new())],
    };
    let found = |is_live: bool| {
        let is_there =
            |doc: Id| if is_live { tables.page(doc).is_some() } else { tables.gone(doc).is_some() };
        let found = spellings.iter().find(|(spelling, _)| is_there(spelling.doc));
        found.map(|(PageUrl { canonical, doc, .. }, differs_by)| Nearest {
            url: canonical.clone(),
            doc: *doc,
            is_live,
            differs_by: differs_by.clone(),
        })
    };
    // The URL itself comes before any other spelling, even if its page is gone.
    let own = found(true).filter(|found| found.differs_by.is_empty());
    own.or_else(|| found(false).filter(|found| found.differs_by.is_empty()))
        .or_else(|| found(true))
        .or_else(|| found(false))
}

/// A change of a URL; it returns `None` if it does not apply.
type Change = fn(&mut Url) -> Option<()>;

/// The changes that are tried, alone and together.
const CHANGES: [(&str, Change); 4] = [
    ("http or https", |url| {
        let other = match url.scheme() {
            "http" => "https",
            "https" => "http",
            _ => return None,
        };
        url.set_scheme(other).ok()
    }),
    ("www.", |url| {
        let host = url.host_str()?;
        let other = host.strip_prefix("www.").map_or_else(|| format!("www.{host}"), str::to_owned);
        url.set_host(Some(&other)).ok()
    }),
    ("a slash at the end", |url| {
        let path = url.path();
        let other = match path.strip_suffix('/') {
            Some("") => return None,
            Some(without) => without.to_owned(),
            None => format!("{path}/"),
        };
        url.set_path(&other);
        Some(())
    }),
    ("the query", |url| {
        url.query()?;
        url.set_query(None);
        Some(())
    }),
];

/// Whether other spellings of a canonical URL are tried.
pub fn has_spellings(canonical: &str) -> bool {
    address(canonical).is_some()
}

/// What is missing in an address that people type as browsers show it.
const SCHEME: &str = "http:// in front";

/// The address, and [`SCHEME`] if it has no scheme. In that case the part before the first slash
/// must look like a host.
fn address(canonical: &str) -> Option<(Url, Option<&'static str>)> {
    if let Some(url) = Url::parse(canonical).ok().filter(Url::has_host) {
        return Some((url, None));
    }
    let (host, _) = canonical.split_once('/').unwrap_or((canonical, ""));
    let looks_like_one = host.contains('.') && !host.contains(['@', ' ']);
    let url = looks_like_one.then(|| Url::parse(&format!("http://{canonical}")).ok()).flatten()?;
    Some((url, Some(SCHEME)))
}

/// `url` itself, then the other spellings, those with the fewest changes first.
fn spellings(url: &str) -> Vec<(PageUrl, Vec<&'static str>)> {
    let own = canonical_url(url);
    let mut all = vec![(own.clone(), Vec::new())];
    let Some((parsed, added)) = address(&own.canonical) else { return all };
    let unchanged = u32::from(added.is_none());
    let mut sets: Vec<u32> = (unchanged..1 << CHANGES.len()).collect();
    sets.sort_by_key(|set| set.count_ones());
    for set in sets {
        let chosen = || {
            CHANGES
                .iter()
                .enumerate()
                .filter(|(at, _)| set >> at & 1 == 1)
                .map(|(_, change)| change)
        };
        let mut changed = parsed.clone();
        if chosen().all(|(_, change)| change(&mut changed).is_some()) {
            let names = added.into_iter().chain(chosen().map(|(name, _)| *name)).collect();
            all.push((canonical_url(changed.as_str()), names));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site chooses the URLs of its pages, and messages have commands to copy.
    #[test]
    fn urls_in_commands_are_quoted() {
        let url = "http://a.example/$(reboot);halt&a=1".to_owned();
        let found = Nearest { url, doc: Id::NONE, is_live: false, differs_by: Vec::new() };
        let word = "`pagefold explain JOB 'http://a.example/$(reboot);halt&a=1'`";
        assert!(found.gone().contains(word), "{}", found.gone());
    }

    /// The URL itself comes first, then single changes, then several. A string that is no URL has
    /// no other spelling.
    #[test]
    fn spellings_of_a_url() {
        let list =
            |url: &str| spellings(url).into_iter().map(|(of, _)| of.canonical).collect::<Vec<_>>();
        let all = list("http://a.example/x?q");
        assert_eq!(
            all[..5],
            [
                "http://a.example/x?q",
                "https://a.example/x?q",
                "http://www.a.example/x?q",
                "http://a.example/x/?q",
                "http://a.example/x"
            ]
        );
        assert_eq!(all.len(), 16);
        assert!(all.contains(&"https://www.a.example/x/".to_owned()));
        assert_eq!(list("https://www.a.example/").len(), 4);
        assert_eq!(list("corpus/12"), ["corpus/12"]);
        // An address as browsers show it was no URL, so nothing was found.
        let typed = list("a.example/x");
        let as_typed = ["a.example/x", "http://a.example/x", "https://a.example/x"];
        assert_eq!(typed[..3], as_typed);
        assert_eq!(spellings("a.example/x")[1].1, [SCHEME]);
    }
}
