//! Writes two tables: `members` has each live page with its cluster, and `redirects` has each page
//! that folds into another one or is gone.

use crate::confirm::Reason;
use crate::distinct::distinct;
use crate::error::Result;
use crate::export::gone;
use crate::export::little::{self, LittleTexts};
use crate::export::row_type::{ExportRow as _, Hex, Moment, SharedText};
use crate::export::rows::{Member, Redirect};
use crate::export::sink::{Files, Place, Sink};
use crate::export::tables::{PORTION_ROWS, Tables, by_rows, by_url_bytes, find};
use crate::id::Id;
use crate::job::clusters::Options;
use crate::store::manifest::Source;
use crate::tables::{ClusterRow, ContentRow, PageRow, PairRow};
use std::collections::{BTreeMap, BTreeSet};

/// The number of pages, and how they fold.
#[derive(Default)]
pub(super) struct Folds {
    pub(super) pages: u64,
    pub(super) kept: u64,
    pub(super) identical: u64,
    pub(super) near: u64,
    pub(super) gone: u64,
}

/// The verdicts on contents and the contents of their representatives.
struct Verdicts(BTreeMap<(Id, Id), PairRow>);

impl Verdicts {
    /// The verdicts on the pairs `wanted`, which ascend. Few contents have many pairs; such
    /// contents are read one at a time.
    fn of(tables: &Tables, wanted: &BTreeSet<(Id, Id)>) -> Verdicts {
        let contents = distinct(wanted.iter().map(|(content, _)| *content));
        let mut found = BTreeMap::new();
        for contents in by_rows(&tables.pairs, &contents) {
            let pairs = tables.pairs.matching(contents).into_iter();
            let joining =
                pairs.filter(|row| row.is_accepted() && wanted.contains(&(row.content, row.other)));
            found.extend(joining.map(|row| ((row.content, row.other), row)));
        }
        Verdicts(found)
    }

    /// Why `content` folds into the page with the content `shown`, and how similar they are.
    fn why(&self, content: Id, shown: Id) -> (&'static str, Option<f64>) {
        match self.0.get(&(content, shown)) {
            _ if content == shown => ("identical", Some(1.0)),
            Some(row) => (Reason::name(row.reason), Some(f64::from(row.similarity) / 10_000.0)),
            None => ("chain", None),
        }
    }
}

/// A page and where it folds.
struct FoldedPage<'a> {
    page: &'a PageRow,
    cluster: Option<&'a ClusterRow>,
    /// The page that represents it, which is the page itself if it is in no cluster.
    representative: Id,
    /// The content of that page.
    shown_content: Id,
    /// The bytes of the URLs of both.
    url_bytes: u64,
}

impl<'a> FoldedPage<'a> {
    /// The page with its representative. `shown` has the pages that represent clusters, ascending.
    fn of(page: &'a PageRow, cluster: Option<&'a ClusterRow>, shown: &[PageRow]) -> FoldedPage<'a> {
        let representative = cluster.map_or(page.doc, |row| row.representative);
        let shown = cluster.and_then(|_| find(shown, representative));
        let shown_content = shown.map_or(page.content, |shown| shown.content);
        let url_bytes =
            u64::from(page.url_bytes) + shown.map_or(0, |shown| u64::from(shown.url_bytes));
        FoldedPage { page, cluster, representative, shown_content, url_bytes }
    }

    /// Whether the page represents itself.
    fn is_shown(&self) -> bool {
        self.representative == self.page.doc
    }
}

/// The tables `members` and `redirects` while they are written.
struct Writer {
    members: Sink<Member>,
    redirects: Sink<Redirect>,
    /// The names of sources, by their numbers.
    sources: Vec<SharedText>,
    folds: Folds,
}

impl Writer {
    /// Writes pages that follow each other in the order of their DocIds.
    fn write(&mut self, tables: &Tables, pages: &[PageRow]) -> Result<()> {
        let contents =
            distinct(pages.iter().map(|page| page.content).filter(|content| !content.is_none()));
        let content_clusters = tables.clusters_of(&contents);
        let contents = tables.contents.matching(&contents);
        let clusters: Vec<_> = pages.iter().map(|page| content_clusters.of(page.content)).collect();
        let representatives = clusters.iter().flatten().map(|row| row.representative);
        let shown = tables.pages.matching(&distinct(representatives));
        let folded: Vec<FoldedPage<'_>> = pages
            .iter()
            .zip(clusters)
            .map(|(page, cluster)| FoldedPage::of(page, cluster, &shown))
            .collect();
        let near = folded.iter().map(|one| (one.page.content, one.shown_content));
        let verdicts =
            Verdicts::of(tables, &near.filter(|(content, shown)| content != shown).collect());
        for folded in by_url_bytes(&folded, |one| one.url_bytes) {
            let urls =
                tables.urls(folded.iter().flat_map(|one| [one.page.doc, one.representative]));
            let mut url_at = 0;
            for one in folded {
                let facts = find(&contents, one.page.content);
                let url = SharedText::from(urls.after(&mut url_at, one.page.doc));
                let shown_url = match one.is_shown() {
                    true => url.clone(),
                    false => urls.of(one.representative).into(),
                };
                self.write_redirect(one, &verdicts, &url, &shown_url)?;
                self.write_member(one, facts, url, shown_url)?;
            }
        }
        Ok(())
    }

    /// Counts a page, and writes where it folds.
    fn write_redirect(
        &mut self,
        one: &FoldedPage<'_>,
        verdicts: &Verdicts,
        url: &SharedText,
        shown_url: &SharedText,
    ) -> Result<()> {
        self.folds.pages += 1;
        if one.is_shown() {
            self.folds.kept += 1;
            return Ok(());
        }
        let (reason, similarity) = verdicts.why(one.page.content, one.shown_content);
        let relation = if one.shown_content == one.page.content {
            self.folds.identical += 1;
            "identical"
        } else {
            self.folds.near += 1;
            "near"
        };
        let (url, representative) = (url.clone(), shown_url.clone());
        self.redirects.push(Redirect { url, representative, relation, reason, similarity })
    }

    fn write_member(
        &mut self,
        one: &FoldedPage<'_>,
        facts: Option<&ContentRow>,
        url: SharedText,
        shown_url: SharedText,
    ) -> Result<()> {
        let (page, cluster) = (one.page, one.cluster);
        self.members.push(Member {
            url,
            doc: Hex(page.doc),
            content: facts.map(|facts| Hex(facts.content)),
            fingerprint: facts.map(|facts| Hex(facts.fingerprint)),
            chars: facts.map_or(0, |facts| facts.chars),
            cluster: Hex(cluster.map_or(page.doc, |row| row.cluster)),
            cluster_size: cluster.map_or(1, |row| row.pages),
            representative: shown_url,
            is_representative: one.is_shown(),
            date: Moment::of(page.date),
            source: self.sources.get(usize::from(page.source)).cloned().unwrap_or_default(),
            first_epoch: page.first_epoch,
            last_epoch: page.last_epoch,
        })
    }
}

/// Writes all pages with their clusters, and the targets of pages that fold or are gone. Pages name
/// their source by its place in `sources`. Also returns the texts whose pages do not fold.
pub(super) fn write(
    tables: &Tables,
    options: &Options,
    sources: &[Source],
    place: &Place<'_>,
) -> Result<(Folds, LittleTexts, Files)> {
    let mut little = little::Largest::find(tables, options);
    let mut writer = Writer {
        members: Sink::create(Member::NAME, place)?,
        redirects: Sink::create(Redirect::NAME, place)?,
        sources: sources.iter().map(|source| SharedText::from(source.name.clone())).collect(),
        folds: Folds::default(),
    };
    for pages in tables.pages.portions(PORTION_ROWS) {
        pages.iter().for_each(|page| little.see(page));
        writer.write(tables, &pages)?;
    }
    let Writer { members, mut redirects, mut folds, .. } = writer;
    folds.gone = gone::write(tables, options, &mut redirects)?;
    let mut files = members.finish()?;
    files.extend(redirects.finish()?);
    Ok((folds, little.finish(tables), files))
}
