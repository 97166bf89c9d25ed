//! Finds the source or host with the greatest share of pages that an epoch moves into few clusters.
//!
//! It is no accident if many pages of a host fold: all pages of a mirror do, each with its own
//! twin. It is an accident if texts that are not the same are taken for one. Then nearly all pages
//! of a host or a source end in a few clusters. So we count the pages in clusters that have at
//! least [`PAGES_MANY`] pages of the same origin after the epoch, and did not before it.
//!
//! The workers name the few origins that can have many such pages. One pass over two columns of
//! `pages` gives the totals of these origins. Pages are looked up, before and after the epoch, only
//! for an origin whose share is still too large.

use crate::error::Result;
use crate::fold::origins::{Origin, OriginPages, PAGES_MANY};
use crate::fold::receipt::Receipt;
use crate::id::Id;
use crate::job::Job;
use crate::page_url::host_name;
use crate::store::manifest::Source;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::snapshot::Snapshot;
use crate::tables::{ClusterRow, ComponentRow, ContentRow, LeaderRow, PageRow, UrlRow};
use std::collections::BTreeMap;

/// A source or a host, and what the epoch makes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginFolds {
    /// What the source or host is, in words.
    pub origin: String,
    /// The number of its pages after the epoch.
    pub pages: u64,
    /// How many more of its pages are in clusters with many of its pages than before the epoch.
    pub moved: u64,
    /// The number of these clusters.
    pub clusters: u64,
    /// The number of its pages in the largest of these clusters.
    pub largest: u64,
    /// The number of distinct texts of those pages.
    pub texts: u64,
    /// The URL of the representative of the largest cluster.
    pub representative: String,
}

/// The origin with the greatest share of moved pages, if the share is above `share_max` and at
/// least `pages_min` pages moved.
pub fn worst(
    job: &Job,
    sources: &[Source],
    before: Option<&Snapshot<'_>>,
    after: &Snapshot<'_>,
    receipts: &[Receipt],
    pages_min: u64,
) -> Result<Option<OriginFolds>> {
    let share_max = job.guards.source_folded_max;
    let mut all = OriginPages::default();
    receipts.iter().for_each(|receipt| all.add_counts(receipt.origin_pages.iter().copied()));
    let suspects: Vec<(Origin, u64)> =
        all.most().into_iter().filter(|(_, pages)| *pages >= pages_min).collect();
    if suspects.is_empty() {
        return Ok(None);
    }
    let pages = after.table::<PageRow>()?;
    let totals = totals(&pages, &suspects);
    let is_above =
        |moved: u64, pages: u64| moved >= pages_min && moved as f64 > share_max * pages as f64;
    let mut worst: Option<(Origin, Large, OriginFolds)> = None;
    for (origin, bound) in suspects {
        let total = totals.get(&origin).copied().unwrap_or(0);
        if !is_above(bound, total) {
            continue;
        }
        let large = Large::of(job, after, origin)?;
        let earlier =
            before.map(|before| Large::of(job, before, origin)).transpose()?.unwrap_or_default();
        let moved = large.pages.saturating_sub(earlier.pages);
        let is_worse = |than: &OriginFolds| {
            u128::from(moved) * u128::from(than.pages) > u128::from(than.moved) * u128::from(total)
        };
        if is_above(moved, total) && worst.as_ref().is_none_or(|(.., than)| is_worse(than)) {
            let folds = OriginFolds {
                pages: total,
                moved,
                clusters: large.clusters,
                ..OriginFolds::default()
            };
            worst = Some((origin, large, folds));
        }
    }
    worst.map(|(origin, large, folds)| large.describe(after, sources, origin, folds)).transpose()
}

/// The live pages of each suspect. The diffs of a row sum to 0 or 1 over all runs.
fn totals(pages: &Table<PageRow>, suspects: &[(Origin, u64)]) -> BTreeMap<Origin, u64> {
    let mut sums: BTreeMap<Origin, i64> = suspects.iter().map(|(origin, _)| (*origin, 0)).collect();
    for segment in pages.segments() {
        for (_, columns) in segment.scan(0..segment.len()) {
            for (source, host, diff) in columns.origins() {
                for origin in Origin::of(source, host) {
                    if let Some(sum) = sums.get_mut(&origin) {
                        *sum += i64::from(diff);
                    }
                }
            }
        }
    }
    sums.into_iter().map(|(origin, sum)| (origin, sum.max(0) as u64)).collect()
}

/// The clusters that have many pages of an origin.
#[derive(Debug, Default)]
struct Large {
    /// The number of pages of the origin in them.
    pages: u64,
    clusters: u64,
    /// The leader of the cluster with most of these pages.
    leader: Id,
    largest: u64,
    /// The number of contents of that cluster's pages, and one of the pages.
    texts: u64,
    doc: Id,
}

impl Large {
    fn of(job: &Job, tables: &Snapshot<'_>, origin: Origin) -> Result<Large> {
        let pages = live(&tables.table::<PageRow>()?, origin);
        let mut contents: Vec<Id> = pages.iter().map(|(content, _)| *content).collect();
        contents.dedup();
        let rows = tables.table::<ContentRow>()?.matching(&contents);
        let contents = ContentRow::telling(&rows, &job.clusters);
        let leaders = tables.table::<LeaderRow>()?.matching(&contents);
        let leaders: BTreeMap<Id, Id> =
            leaders.into_iter().map(|row| (row.content, row.leader)).collect();
        // By leader: pages, contents, the least page.
        let mut clusters: BTreeMap<Id, (u64, u64, Id)> = BTreeMap::new();
        for pages in pages.chunk_by(|a, b| a.0 == b.0) {
            let (content, doc) = pages[0];
            if contents.binary_search(&content).is_ok() {
                let leader = leaders.get(&content).copied().unwrap_or(content);
                let cluster = clusters.entry(leader).or_insert((0, 0, doc));
                *cluster = (cluster.0 + pages.len() as u64, cluster.1 + 1, cluster.2.min(doc));
            }
        }
        let mut all = Large::default();
        for (leader, (pages, texts, doc)) in
            clusters.into_iter().filter(|(_, of)| of.0 >= PAGES_MANY)
        {
            (all.pages, all.clusters) = (all.pages + pages, all.clusters + 1);
            if pages > all.largest {
                all = Large { leader, largest: pages, texts, doc, ..all };
            }
        }
        Ok(all)
    }

    fn describe(
        &self,
        tables: &Snapshot<'_>,
        sources: &[Source],
        origin: Origin,
        folds: OriginFolds,
    ) -> Result<OriginFolds> {
        let component = tables.table::<ComponentRow>()?.matching(&[self.leader]);
        let component = component.first().map_or(self.leader, |row| row.component);
        let clusters = tables.table::<ClusterRow>()?.matching(&[component]);
        let representative =
            clusters.iter().find(|row| row.leader == self.leader).map(|row| row.representative);
        let urls = tables.table::<UrlRow>()?;
        let url = |doc: Id| {
            let row = urls.matching(&[doc]).into_iter().next();
            row.map_or_else(|| doc.to_string(), |row| row.text().into_owned())
        };
        let origin = match origin {
            Origin::Source(number) => {
                let name = sources.get(usize::from(number)).map_or("", |source| &source.name);
                format!("source `{name}`")
            }
            Origin::Host(_) => format!("host `{}`", host_name(&url(self.doc)).unwrap_or_default()),
        };
        let representative = url(representative.unwrap_or(self.doc));
        Ok(OriginFolds {
            origin,
            largest: self.largest,
            texts: self.texts,
            representative,
            ..folds
        })
    }
}

/// The content and the DocId of each live page of `origin` that has a text, ascending. Pages are
/// tested by their mapped columns, because most do not match.
fn live(pages: &Table<PageRow>, origin: Origin) -> Vec<(Id, Id)> {
    let mut rows: Vec<(Id, Id, i8)> = Vec::new();
    for segment in pages.segments() {
        for (_, columns) in segment.scan(0..segment.len()) {
            for (at, (source, host, _)) in columns.origins().enumerate() {
                if Origin::of(source, host).any(|one| one == origin) {
                    let row = PageRow::row(columns, at);
                    rows.push((row.content, row.doc, row.diff));
                }
            }
        }
    }
    rows.sort_unstable();
    let sums = rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
    let live = sums.filter(|rows| rows.iter().map(|row| i64::from(row.2)).sum::<i64>() > 0);
    live.map(|rows| (rows[0].0, rows[0].1)).filter(|(content, _)| !content.is_none()).collect()
}
