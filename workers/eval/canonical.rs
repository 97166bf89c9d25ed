//! Makes labels from hints in a crawl that two addresses are the same: canonical addresses,
//! redirects and revisits.
//!
//! A link `rel=canonical` (RFC 6596), in the head of an HTML page or in HTTP's `Link`, names the
//! address under which the same content should be known. A redirect leads from one address to
//! another. A revisit of another URL says that both had the same bytes. The inputs are read again
//! for these, so that no store has to keep data that only an evaluation needs. All are hints: some
//! sites name their front page, or lead to a login page, everywhere; and a hint that was true at
//! one date may be wrong for the pages that the store has. So an address that many name is left
//! out, and a person should look at the other hints before they are believed.

use crate::distinct::distinct;
use crate::error::Result;
use crate::eval::world::rows;
use crate::extract::canonical_link::canonical;
use crate::id::Id;
use crate::job::Job;
use crate::lexicon::Inputs;
use crate::page_url::{PageUrl, canonical_url, page_url};
use crate::read::headers::{Headers, link};
use crate::read::http;
use crate::read::record::{Body, Heading, Item, Record};
use crate::read::redirect_target::Redirect;
use crate::read::warc;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::tables::snapshot::Snapshot;
use crate::tables::{PageRow, UrlRow};
use crate::visit;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The most addresses that are taken for the same: those that name one other address, and that
/// address.
pub const GROUP_PAGES_MAX: usize = 20;

/// Why two pages are taken for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A page names the other address as its canonical address, or both name the same.
    Canonical,
    /// HTTP led from one to the other.
    Redirect,
    /// Both had the same bytes.
    Revisit,
}

impl By {
    /// All kinds; a pair has the first that applies.
    pub const ALL: [By; 3] = [By::Canonical, By::Redirect, By::Revisit];
}

/// The hints in a job's inputs about addresses that are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hints {
    /// HTML pages with an address, each counted once.
    pub html_pages: u64,
    /// The counts of each kind of hints, in the order of [`By::ALL`].
    #[serde(flatten, serialize_with = "by_name")]
    pub counts: [Counts; 3],
    /// The pairs of pages of the store that are the same by these hints, in the order of their
    /// URLs.
    #[serde(skip)]
    pub pairs: Vec<Pair>,
}

/// The counts of one kind of hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The addresses that name another address.
    pub named: u64,
    /// The addresses that are left out, because more than [`GROUP_PAGES_MAX`] share them.
    pub left_out: u64,
    /// The pairs of this kind that no earlier kind has.
    pub pairs: u64,
}

/// Two pages that are the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Pair {
    /// The page at the address that is named, or the first that names it.
    pub a: String,
    /// Another page of the group.
    pub b: String,
    /// Why.
    pub by: By,
}

/// What the last record of an address names.
struct Named {
    date: Option<i64>,
    /// `None` if it names no other address than its own.
    target: Option<Id>,
}

/// What addresses name, for each of [`By::ALL`].
type AllNamed = [BTreeMap<Id, Named>; 3];

/// Reads the inputs of `job`, and says which pages of the store's head are the same by its hints.
///
/// # Errors
///
/// `NoInput` if the job has no inputs; `Io` if one cannot be read.
pub fn hints(job: &Job, store: &Store, head: &Head) -> Result<Hints> {
    let mut named = AllNamed::default();
    for (input, split) in Inputs::of(job)?.splits() {
        let mut reader = visit::open(job, split, input)?;
        reader.keep_heads();
        while let Some(entry) = reader.next()? {
            let heading = reader.take_head();
            if let Some(Redirect { capture, target }) = heading.as_ref().and_then(Redirect::of) {
                refer(&mut named, By::Redirect, [&capture.url, &target], capture.date);
            }
            let record = match entry.item {
                Item::Record(record) => record,
                Item::Mirror(mirror) => {
                    if heading.as_ref().is_none_or(is_of_page) {
                        // The latest revisit of a URL counts, whenever its capture was made.
                        let fields = heading.as_ref().map(|head| Headers::parse(head.header()));
                        let capture = fields.and_then(|fields| warc::capture(&fields).ok());
                        let date = capture.and_then(|capture| capture.date).or(mirror.of_date);
                        refer(&mut named, By::Revisit, [&mirror.url, &mirror.of], date);
                    }
                    continue;
                }
                Item::Skip(_) | Item::Status { .. } | Item::Reject { .. } => continue,
            };
            let page = page_url(&record.url, reader.naming());
            if let Some(found) = of_record(&record, heading.as_ref(), &page) {
                remember(&mut named[By::Canonical as usize], page.doc, found);
            }
        }
    }
    let docs = distinct(
        named.iter().flatten().flat_map(|(doc, named)| [Some(*doc), named.target]).flatten(),
    );
    Ok(paired(&named, &urls(&Snapshot::of(store, head), &docs)?))
}

/// The URLs of the pages among `docs` that have a text.
fn urls(snapshot: &Snapshot<'_>, docs: &[Id]) -> Result<BTreeMap<Id, String>> {
    let pages = snapshot.table::<PageRow>()?;
    let live: Vec<Id> =
        rows(&pages, docs).filter(|page| !page.content.is_none()).map(|page| page.doc).collect();
    let urls = snapshot.table::<UrlRow>()?;
    Ok(rows(&urls, &live).map(|row| (row.doc, row.text().into_owned())).collect())
}

/// Remembers that the first URL names the second. A record that leads to its own page is no hint.
fn refer(named: &mut AllNamed, by: By, urls: [&str; 2], date: Option<i64>) {
    let [doc, target] = urls.map(|url| canonical_url(url).doc);
    if doc != target {
        remember(&mut named[by as usize], doc, Named { date, target: Some(target) });
    }
}

/// Whether the revisit with this head is of a page. All redirects and many errors have the same
/// empty body, and crawlers write revisits of them, too.
fn is_of_page(head: &Heading) -> bool {
    http::status(head.http()).is_none_or(|status| (200..300).contains(&status))
}

/// What an HTML page names; `None` if the record is no HTML page.
fn of_record(record: &Record, heading: Option<&Heading>, page: &PageUrl) -> Option<Named> {
    let Body::Html { bytes, charset } = &record.body else { return None };
    let in_page = canonical(bytes, charset.as_deref(), &record.url);
    let headers = heading.map(|heading| Headers::parse(heading.http()));
    let in_http = headers.as_ref().and_then(|headers| link(headers.text("Link")?, "canonical"));
    let in_http = in_http
        .and_then(|target| Some(url::Url::parse(&record.url).ok()?.join(target).ok()?.to_string()));
    let [in_page, in_http] =
        [in_page, in_http].map(|target| target.map(|target| canonical_url(&target).doc));
    // A page that contradicts itself gives no hint.
    let target = if in_page.is_some() && in_http.is_some() && in_page != in_http {
        None
    } else {
        in_page.or(in_http)
    };
    Some(Named { date: record.date, target: target.filter(|target| *target != page.doc) })
}

/// Of the records of one address the latest counts, and of several latest the last that is read.
fn remember(named: &mut BTreeMap<Id, Named>, doc: Id, found: Named) {
    match named.entry(doc) {
        Entry::Vacant(entry) => _ = entry.insert(found),
        Entry::Occupied(mut entry) if entry.get().date <= found.date => _ = entry.insert(found),
        Entry::Occupied(_) => {}
    }
}

/// The pairs of pages by what they name. `urls` has the pages of the store that have a text.
fn paired(named: &AllNamed, urls: &BTreeMap<Id, String>) -> Hints {
    let mut hints =
        Hints { html_pages: named[By::Canonical as usize].len() as u64, ..Hints::default() };
    let mut pairs: BTreeMap<[&str; 2], Pair> = BTreeMap::new();
    for ((by, named), counts) in By::ALL.into_iter().zip(named).zip(&mut hints.counts) {
        for (target, docs) in groups(named) {
            counts.named += docs.len() as u64;
            let group = of_store(by, target, &docs, urls);
            let [a, others @ ..] = &group[..] else { continue };
            if others.is_empty() {
                continue;
            }
            // Addresses that the store does not have count, too: a site may lead all pages that are
            // gone to its front page.
            if docs.len() + usize::from(urls.contains_key(&target)) > GROUP_PAGES_MAX {
                counts.left_out += 1;
                continue;
            }
            for b in others {
                pairs.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                    counts.pairs += 1;
                    Pair { a: (*a).to_owned(), b: (*b).to_owned(), by }
                });
            }
        }
    }
    hints.pairs = pairs.into_values().collect();
    hints.pairs.sort_unstable();
    hints
}

/// The addresses that name each address.
fn groups(named: &BTreeMap<Id, Named>) -> BTreeMap<Id, Vec<Id>> {
    let mut groups: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for (doc, target) in named.iter().filter_map(|(doc, named)| Some((*doc, named.target?))) {
        groups.entry(target).or_default().push(doc);
    }
    groups
}

/// The pages of a group that the store has: first the page at the address that they name.
fn of_store<'a>(by: By, target: Id, docs: &[Id], urls: &'a BTreeMap<Id, String>) -> Vec<&'a str> {
    let there = urls.get(&target).map(String::as_str);
    // Two addresses that lead to a third one need not be the same; if they call it their canonical
    // address, their site says that they are.
    if there.is_none() && by != By::Canonical {
        return Vec::new();
    }
    let mut others: Vec<&str> =
        docs.iter().filter_map(|doc| urls.get(doc)).map(String::as_str).collect();
    others.sort_unstable();
    there.into_iter().chain(others).collect()
}

/// The counts under the names of [`By::ALL`].
fn by_name<S: Serializer>(
    counts: &[Counts; 3],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(By::ALL.into_iter().zip(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(url: &str) -> Id {
        canonical_url(url).doc
    }

    fn pages(urls: &[&str]) -> BTreeMap<Id, String> {
        urls.iter().map(|url| (doc(url), (*url).to_owned())).collect()
    }

    /// What addresses name: the kind, the address, the other address and the date.
    fn named(records: &[(By, &str, &str, i64)]) -> AllNamed {
        let mut named = AllNamed::default();
        for &(by, url, target, date) in records {
            let date = Some(date);
            if by == By::Canonical {
                let target = Some(doc(target)).filter(|target| *target != doc(url));
                remember(&mut named[0], doc(url), Named { date, target });
            } else {
                refer(&mut named, by, [url, target], date);
            }
        }
        named
    }

    fn pairs_of(hints: &Hints) -> Vec<(&str, &str, By)> {
        hints.pairs.iter().map(|pair| (pair.a.as_str(), pair.b.as_str(), pair.by)).collect()
    }

    const A: &str = "http://a.example/";
    const B: &str = "http://b.example/";
    const C: &str = "http://c.example/";
    const D: &str = "http://d.example/";

    /// A pair is in the result once, by the first kind, whatever its order and however often hints
    /// name it.
    #[test]
    fn a_pair_has_one_kind() {
        let found = named(&[
            (By::Revisit, A, B, 1),
            (By::Redirect, B, A, 1),
            (By::Canonical, A, B, 1),
            (By::Revisit, A, C, 2),
            (By::Redirect, C, A, 1),
            (By::Revisit, D, A, 1),
        ]);
        let hints = paired(&found, &pages(&[A, B, C, D]));
        assert_eq!(
            pairs_of(&hints),
            [(A, C, By::Redirect), (A, D, By::Revisit), (B, A, By::Canonical)]
        );
        assert_eq!(
            hints.counts.map(|counts| (counts.named, counts.pairs)),
            [(1, 1), (2, 1), (2, 1)]
        );
        let json = serde_json::to_value(&hints).expect("JSON");
        assert_eq!(
            (&json["html_pages"], &json["revisit"]["pairs"]),
            (&1.into(), &1.into()),
            "{json}"
        );
    }

    /// Only pages that the store has with a text are in the result. Pages that lead to a page that
    /// it does not have are not taken for the same, unless they name it as their canonical address.
    #[test]
    fn both_pages_live() {
        for by in By::ALL {
            let found = named(&[(by, A, C, 1), (by, B, C, 1)]);
            assert_eq!(pairs_of(&paired(&found, &pages(&[A, C]))), [(C, A, by)]);
            assert_eq!(pairs_of(&paired(&found, &pages(&[A]))), []);
            let both: &[_] = if by == By::Canonical { &[(A, B, by)] } else { &[] };
            assert_eq!(pairs_of(&paired(&found, &pages(&[A, B]))), both);
        }
    }

    /// A revisit of a redirect or an error is no hint about a page; a revisit without HTTP's header
    /// is.
    #[test]
    fn revisits_of_pages() {
        for (http, want) in [
            ("", true),
            ("HTTP/1.1 200 OK\r\n\r\n", true),
            ("HTTP/1.1 301\r\n\r\n", false),
            ("HTTP/1.1 404 Gone\r\n\r\n", false),
        ] {
            assert_eq!(
                is_of_page(&Heading::of(b"WARC/1.1\r\n\r\n", http.as_bytes())),
                want,
                "{http}"
            );
        }
    }

    /// The latest record of an address counts. A record that leads to its own page is no hint, and
    /// does not replace the hint of another record.
    #[test]
    fn the_latest_counts() {
        let found = named(&[
            (By::Redirect, A, C, 2),
            (By::Redirect, A, B, 1),
            (By::Redirect, A, "http://a.example:80/#top", 3),
        ]);
        assert_eq!(pairs_of(&paired(&found, &pages(&[A, B, C]))), [(C, A, By::Redirect)]);
        let found = named(&[(By::Canonical, A, C, 2), (By::Canonical, A, A, 3)]);
        let hints = paired(&found, &pages(&[A, C]));
        assert_eq!((pairs_of(&hints), hints.html_pages, hints.counts[0].named), (vec![], 1, 0));
    }

    /// An address that too many name is left out, even if the store has few of them: a site may
    /// lead all pages that are gone to its front page.
    #[test]
    fn crowded_addresses() {
        for by in By::ALL {
            let urls: Vec<String> =
                (0..GROUP_PAGES_MAX).map(|n| format!("http://a.example/{n}")).collect();
            let records: Vec<(By, &str, &str, i64)> =
                urls.iter().map(|url| (by, url.as_str(), B, 1)).collect();
            let live = pages(&[B, &urls[0]]);
            assert_eq!(pairs_of(&paired(&named(&records[1..]), &live)), []);
            let most = paired(&named(&records[..GROUP_PAGES_MAX - 1]), &live);
            assert_eq!(
                (pairs_of(&most), most.counts[by as usize].left_out),
                (vec![(B, urls[0].as_str(), by)], 0)
            );
            let more = paired(&named(&records), &live);
            assert_eq!((pairs_of(&more), more.counts[by as usize].left_out), (vec![], 1));
        }
    }
}
