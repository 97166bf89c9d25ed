//! Builds the scene of some labels from a store's head.
//!
//! Reads the mapped tables, writes nothing and decides no pair again. If the labels judge pages or
//! pairs, only labelled pages are in the scene; if they list all true pairs, every page of the
//! store is. A page takes about 200 bytes with its URL.

use crate::distinct::distinct;
use crate::error::Result;
use crate::eval::kinds::PairOfKind;
use crate::eval::labels::Labels;
use crate::eval::scene::{Page, Scene, TextPair, Truth};
use crate::eval::tally::pairs;
use crate::id::Id;
use crate::job::clusters::Options;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::snapshot::Snapshot;
use crate::tables::{ComponentRow, ContentRow, LeaderRow, PageRow, PairRow, UrlRow};
use serde::Serialize;
use std::collections::BTreeMap;

/// The keys that are looked up at once.
const PORTION_ROWS: usize = 1 << 16;
/// The most unknown URLs that are named.
const UNKNOWN_URLS_MAX: usize = 10;

/// A text of the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its content; [`Id::NONE`] for a page without text.
    pub content: Id,
    /// Its fingerprint.
    pub fingerprint: u64,
    /// Whether it has evidence and may fold with others.
    pub is_known: bool,
}

/// The labelled URLs and pairs that the store does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// The number of URLs that the store does not have.
    pub urls: u64,
    /// The number of labelled pairs with such a URL. They are in no other count.
    pub pairs: u64,
    /// The number of judged pairs whose pages have other texts now than those that were judged.
    /// They are in no other count.
    pub outdated: u64,
    /// The first of the URLs, at most ten.
    pub first: Vec<String>,
}

/// A scene, and the pages and texts of its numbers.
pub struct World {
    /// The scene.
    pub scene: Scene,
    /// The URL of each page.
    pub urls: Vec<String>,
    /// The texts.
    pub texts: Vec<Text>,
    /// The labelled URLs and pairs that were left out.
    pub unknown: Unknown,
    /// The labelled pairs that have a kind, by kind.
    pub of_kind: Vec<PairOfKind>,
}

/// The rows of `table` with one of `keys` (ascending).
pub(super) fn rows<'a, R: Row>(
    table: &'a Table<R>,
    keys: &'a [R::Key],
) -> impl Iterator<Item = R> + 'a {
    keys.chunks(PORTION_ROWS).flat_map(|keys| table.matching(keys))
}

/// The scene of `labels` over the head of `store`, whose clusters were made with `options`. A page
/// whose text says too little has a text of its own, because it folds with no other page.
///
/// # Errors
///
/// `Io` if a table cannot be mapped.
pub fn gather(store: &Store, head: &Head, options: &Options, labels: &Labels) -> Result<World> {
    let snapshot = Snapshot::of(store, head);
    let (found, urls) = pages_by_url(&snapshot, labels)?;
    let contents =
        distinct(found.iter().map(|page| page.content).filter(|content| !content.is_none()));
    let facts: BTreeMap<Id, ContentRow> =
        rows(&snapshot.table::<ContentRow>()?, &contents).map(|row| (row.content, row)).collect();
    let clusters = clusters_of(&snapshot, &contents)?;
    let mut placed = Placed::default();
    for page in &found {
        placed.add(page, facts.get(&page.content), &clusters, options);
    }
    let pairs = placed.pairs(rows(&snapshot.table::<PairRow>()?, &contents));
    let docs: BTreeMap<Id, u32> = (0..).zip(&found).map(|(at, page)| (page.doc, at)).collect();
    let places: Vec<Option<u32>> =
        labels.urls.iter().map(|(_, doc)| docs.get(doc).copied()).collect();
    // An answer holds for the texts that were judged.
    let is_of_now = |x: u32, y: u32| {
        let judged = labels.contents.get(&(x, y));
        let now = places[x as usize].zip(places[y as usize]);
        judged.zip(now).is_none_or(|(judged, (x, y))| {
            *judged == [x, y].map(|page| found[page as usize].content)
        })
    };
    let (truth, unknown) = truth(labels, &places, docs.len(), is_of_now);
    let of_kind = of_kind(labels, &places);
    let Placed { pages, chars, texts, .. } = placed;
    Ok(World { scene: Scene { pages, chars, pairs, truth }, urls, texts, unknown, of_kind })
}

/// The pages of the scene and their URLs, in the order of the URLs.
fn pages_by_url(snapshot: &Snapshot<'_>, labels: &Labels) -> Result<(Vec<PageRow>, Vec<String>)> {
    let (pages, urls) = (snapshot.table::<PageRow>()?, snapshot.table::<UrlRow>()?);
    let found: Vec<PageRow> = match labels.truth {
        Truth::Labels(_) | Truth::Judged(_) => {
            rows(&pages, &distinct(labels.urls.iter().map(|(_, doc)| *doc))).collect()
        }
        Truth::Listed(_) => pages.portions(PORTION_ROWS).flatten().collect(),
    };
    let docs: Vec<Id> = found.iter().map(|page| page.doc).collect();
    // Both tables have the same pages in the same order.
    let named = rows(&urls, &docs).map(|row| row.text().into_owned());
    let mut named: Vec<(String, PageRow)> = named.zip(found).collect();
    named.sort_by(|(url, page), (other, later)| url.cmp(other).then(page.doc.cmp(&later.doc)));
    Ok(named.into_iter().map(|(url, page)| (page, url)).unzip())
}

/// The pages of the scene with the numbers of their texts, contents and clusters.
#[derive(Default)]
struct Placed {
    pages: Vec<Page>,
    texts: Vec<Text>,
    /// The characters of each text.
    chars: Vec<u32>,
    /// The numbers of texts that may fold.
    text_numbers: BTreeMap<Id, u32>,
    content_numbers: BTreeMap<Id, u32>,
    cluster_numbers: BTreeMap<Id, u32>,
}

impl Placed {
    /// Adds a page, with what is known of its content.
    fn add(
        &mut self,
        page: &PageRow,
        facts: Option<&ContentRow>,
        clusters: &BTreeMap<Id, Id>,
        options: &Options,
    ) {
        let next = self.texts.len() as u32;
        let apart = page.content.is_none() || facts.is_some_and(|row| row.says_little(options));
        let text = match apart {
            true => next,
            false => *self.text_numbers.entry(page.content).or_insert(next),
        };
        if text == next {
            self.chars.push(facts.map_or(0, |row| row.chars));
            self.texts.push(Text {
                content: page.content,
                fingerprint: facts.map_or(0, |row| row.fingerprint),
                is_known: !apart && facts.is_some_and(ContentRow::is_comparable),
            });
        }
        // A page that is apart is a cluster of its own, because its DocId is unique.
        let cluster = clusters.get(&page.content).copied().filter(|_| !apart).unwrap_or(page.doc);
        // An empty page is like no other.
        let content = if page.content.is_none() { page.doc } else { page.content };
        let (content, cluster) = (
            number(&mut self.content_numbers, content),
            number(&mut self.cluster_numbers, cluster),
        );
        self.pages.push(Page { host: page.host, text, content, cluster });
    }

    /// The decided pairs of texts of the scene, each once.
    fn pairs(&self, rows: impl Iterator<Item = PairRow>) -> Vec<TextPair> {
        let pair = |row: PairRow| {
            let numbers = &self.text_numbers;
            let (a, b) = numbers.get(&row.content).zip(numbers.get(&row.other))?;
            let accepted = row.is_accepted();
            let PairRow { similarity, reason, proposals, .. } = row;
            Some(TextPair { a: *a.min(b), b: *a.max(b), similarity, reason, accepted, proposals })
        };
        let mut pairs: Vec<TextPair> =
            rows.filter(|row| row.content < row.other).filter_map(pair).collect();
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        pairs
    }
}

/// The number of `id`: ids are numbered as they come.
fn number(numbers: &mut BTreeMap<Id, u32>, id: Id) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(id).or_insert(next)
}

/// An id for the cluster of each of `contents` (ascending); equal ids are equal clusters.
fn clusters_of(snapshot: &Snapshot<'_>, contents: &[Id]) -> Result<BTreeMap<Id, Id>> {
    let mut clusters: BTreeMap<Id, Id> =
        contents.iter().map(|content| (*content, *content)).collect();
    clusters.extend(
        rows(&snapshot.table::<ComponentRow>()?, contents).map(|row| (row.content, row.component)),
    );
    // A component may have several clusters.
    clusters.extend(
        rows(&snapshot.table::<LeaderRow>()?, contents).map(|row| (row.content, row.leader)),
    );
    Ok(clusters)
}

/// The labelled pairs of live pages that have a kind. `places` are the numbers of the labelled
/// pages.
fn of_kind(labels: &Labels, places: &[Option<u32>]) -> Vec<PairOfKind> {
    let pair = |&(x, y, kind): &(u32, u32, u32)| {
        let (x, y) = places[x as usize].zip(places[y as usize])?;
        Some(PairOfKind { kind, x, y })
    };
    let mut pairs: Vec<PairOfKind> = labels.of_kind.iter().filter_map(pair).collect();
    pairs.sort_unstable();
    pairs
}

/// The truth about the `pages` live pages, by their numbers. `is_of_now` says of a judged pair
/// whether its pages have the texts that were judged.
fn truth(
    labels: &Labels,
    places: &[Option<u32>],
    pages: usize,
    is_of_now: impl Fn(u32, u32) -> bool,
) -> (Truth, Unknown) {
    let mut unknown = Unknown::default();
    for ((url, _), _) in labels.urls.iter().zip(places).filter(|(_, place)| place.is_none()) {
        unknown.urls += 1;
        if unknown.first.len() < UNKNOWN_URLS_MAX {
            unknown.first.push(url.clone());
        }
    }
    let pair = |x: u32, y: u32, unknown: &mut Unknown| {
        let pair = places[x as usize].zip(places[y as usize]);
        unknown.pairs += u64::from(pair.is_none());
        pair.map(|(x, y)| (x.min(y), x.max(y)))
    };
    let truth = match &labels.truth {
        Truth::Labels(labelled) => {
            let mut of_page = vec![0; pages];
            // Of each label: its pages, and those that the store has.
            let mut counts: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
            for (label, place) in labelled.iter().zip(places) {
                let [all, live] = counts.entry(*label).or_default();
                *all += 1;
                if let Some(place) = place {
                    *live += 1;
                    of_page[*place as usize] = *label;
                }
            }
            unknown.pairs = counts.values().map(|[all, live]| pairs(*all) - pairs(*live)).sum();
            Truth::Labels(of_page)
        }
        Truth::Judged(labelled) => {
            let mut judged = Vec::new();
            for &(x, y, same) in labelled {
                let Some((a, b)) = pair(x, y, &mut unknown) else { continue };
                match is_of_now(x, y) {
                    true => judged.push((a, b, same)),
                    false => unknown.outdated += 1,
                }
            }
            judged.sort_unstable();
            Truth::Judged(judged)
        }
        Truth::Listed(labelled) => {
            let listed = labelled.iter().filter_map(|&(x, y)| pair(x, y, &mut unknown));
            let mut listed: Vec<_> = listed.collect();
            listed.sort_unstable();
            Truth::Listed(listed)
        }
    };
    (truth, unknown)
}
