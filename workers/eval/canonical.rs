//! Makes labels from what sites say of their own pages: the canonical address (RFC 6596).
//!
//! A link `rel=canonical`, in the head of an HTML page or in HTTP's `Link`, names the address under
//! which the same content should be known. The inputs are read again for it, so that no store has
//! to hold what only an evaluation needs. It is a hint: some sites name their front page, or the
//! first page of a series, everywhere. So an address that many pages name is left out, and what is
//! left is to be looked at, not to be believed.

use crate::document::{Id, PageUrl, canonical_url, own_key};
use crate::error::Result;
use crate::eval::world::{rows, sorted};
use crate::extract::canonical::canonical;
use crate::fold::ingest;
use crate::job::Job;
use crate::lexicon::Inputs;
use crate::read::headers::{Headers, link};
use crate::read::record::{Body, Heading, Item, Record};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::tables::snapshot::Snapshot;
use crate::tables::{PageRow, UrlRow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The pages of one canonical address, with the page at it, that are taken for the same.
pub const GROUP_PAGES_MAX: usize = 20;

/// What the canonical addresses of a crawl say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hints {
    /// HTML pages with an address, each counted once.
    pub html_pages: u64,
    /// Those that name another address than their own.
    pub linked: u64,
    /// The addresses that two pages of the store or more share, one of them perhaps by being there.
    pub groups: u64,
    /// The addresses that are left out, as more than [`GROUP_PAGES_MAX`] pages share them.
    pub left_out: u64,
    /// Two pages of the store that are the same by these links, ascending: the page at the address,
    /// or the first that names it, and each other of the group.
    #[serde(skip)]
    pub pairs: Vec<(String, String)>,
}

/// What the last record of a page names.
struct Named {
    date: Option<i64>,
    /// None if it names no other address than its own.
    target: Option<Id>,
}

/// Reads the inputs of `job`, and says which pages of the store's head share a canonical address.
///
/// # Errors
///
/// `NoInput` if the job has no inputs; `Io` if one cannot be read.
pub fn hints(job: &Job, store: &Store, head: &Head) -> Result<Hints> {
    let mut named: BTreeMap<Id, Named> = BTreeMap::new();
    for (input, split) in Inputs::of(job)?.splits() {
        let mut reader = ingest::open(job, split, input)?;
        reader.keep_heads();
        while let Some(entry) = reader.next()? {
            let heading = reader.take_head();
            let Item::Record(record) = entry.item else { continue };
            let page = if reader.has_keys() { own_key(&record.url) } else { canonical_url(&record.url) };
            if let Some(found) = of_record(&record, heading.as_ref(), &page) {
                remember(&mut named, page.doc, found);
            }
        }
    }
    let (html_pages, linked) = (named.len() as u64, named.values().filter(|page| page.target.is_some()).count() as u64);
    let pairs = named.into_iter().filter_map(|(doc, page)| Some((page.target?, doc))).collect();
    let hints = Hints { html_pages, linked, ..Hints::default() };
    grouped(hints, pairs, &Snapshot::of(store, head))
}

/// What an HTML page names; none if the record is no HTML page.
fn of_record(record: &Record, heading: Option<&Heading>, page: &PageUrl) -> Option<Named> {
    let Body::Html { bytes, charset } = &record.body else { return None };
    let in_page = canonical(bytes, charset.as_deref(), &record.url);
    let headers = heading.map(|heading| Headers::parse(heading.http()));
    let in_http = headers.as_ref().and_then(|headers| link(headers.text("Link")?, "canonical"));
    let in_http = in_http.and_then(|target| Some(url::Url::parse(&record.url).ok()?.join(target).ok()?.to_string()));
    let [in_page, in_http] = [in_page, in_http].map(|target| target.map(|target| canonical_url(&target).doc));
    // A page that contradicts itself says nothing.
    let target = if in_page.is_some() && in_http.is_some() && in_page != in_http { None } else { in_page.or(in_http) };
    Some(Named { date: record.date, target: target.filter(|target| *target != page.doc) })
}

/// Of the records of one page the latest counts, and of those the last that is read.
fn remember(named: &mut BTreeMap<Id, Named>, doc: Id, found: Named) {
    match named.entry(doc) {
        Entry::Vacant(entry) => _ = entry.insert(found),
        Entry::Occupied(mut entry) if entry.get().date <= found.date => _ = entry.insert(found),
        Entry::Occupied(_) => {}
    }
}

/// Groups pages with a text by the address that they name; `pairs` has the address, then the page.
fn grouped(mut hints: Hints, pairs: Vec<(Id, Id)>, snapshot: &Snapshot<'_>) -> Result<Hints> {
    let docs = sorted(pairs.iter().flat_map(|(target, page)| [*target, *page]));
    let pages = snapshot.table::<PageRow>()?;
    let live: Vec<Id> = rows(&pages, &docs).filter(|page| !page.content.is_none()).map(|page| page.doc).collect();
    let urls = snapshot.table::<UrlRow>()?;
    let urls: BTreeMap<Id, String> =
        rows(&urls, &live).map(|row| (row.doc, String::from_utf8_lossy(&row.url).into_owned())).collect();
    let mut groups: BTreeMap<Id, Vec<&str>> = BTreeMap::new();
    for (target, page) in &pairs {
        groups.entry(*target).or_default().extend(urls.get(page).map(String::as_str));
    }
    for (target, mut group) in groups {
        group.sort_unstable();
        // The page at the address comes first, if it is there.
        group.splice(..0, urls.get(&target).map(String::as_str));
        if group.len() > GROUP_PAGES_MAX {
            hints.left_out += 1;
        } else if let [first, others @ ..] = &group[..]
            && !others.is_empty()
        {
            hints.groups += 1;
            hints.pairs.extend(others.iter().map(|other| ((*first).to_owned(), (*other).to_owned())));
        }
    }
    hints.pairs.sort_unstable();
    Ok(hints)
}
