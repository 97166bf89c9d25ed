//! Exports the head of a store as the tables that people read, and `summary.json` with their
//! digests.
//!
//! The tables are members, redirects, pairs, clusters, changes and rejects, as JSON lines and
//! Parquet. An export depends on the store and the job's view only, and is streamed in portions.
//! Each file is written under a temporary name and then renamed, the summary last: a folder whose
//! summary names the head's epoch and view is complete.

mod changes;
mod large;
mod rows;
mod sink;
mod transitions;

use crate::candidates::pivots;
use crate::confirm::Reason;
use crate::document::Id;
use crate::error::{Error, Kind, Result};
use crate::graph::keep::{KeepRule, Rank};
use crate::job::{Form, Job};
use crate::store::durable;
use crate::store::manifest::{self, Head, Op, TableState};
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::store::{Store, digest_of};
use crate::tables::pages::has_expired;
use crate::tables::pairs;
use crate::tables::snapshot::Snapshot;
use crate::tables::{
    ClusterRow, ComponentRow, ContentPageRow, ContentRow, LeaderRow, MemberRow, PageRow, PairRow, UrlRow,
};
use large::LargestClusters;
pub use large::{LargeCluster, LargeClusters, PairCount, Spread};
use rows::{Cluster, Member, Pair, Redirect};
use serde::{Deserialize, Serialize};
use sink::Sink;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

/// The rows of a table that are held in memory at once, for each of its segments.
const PORTION_ROWS: usize = 1 << 17;
/// The number of largest clusters that are returned for display.
const LARGEST: usize = 5;

/// `summary.json`: counts, and the digests of the other files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The epoch.
    pub epoch: u64,
    /// The digest of the view configuration that was used.
    pub view: String,
    /// The number of live pages.
    pub pages: u64,
    /// The number of distinct texts.
    pub contents: u64,
    /// The number of clusters; each has at least two pages.
    pub clusters: u64,
    /// The number of pages that remain if every cluster is folded to its representative.
    pub kept: u64,
    /// The number of pages that fold into a page with the identical text.
    pub folded_identical: u64,
    /// The number of pages that fold into a page with a similar text.
    pub folded_near: u64,
    /// The number of decided pairs of contents.
    pub pairs: u64,
    /// The buckets with more contents than pivots.
    pub unexamined: pivots::BySignature,
    /// The clusters with more pages than the job's `[clusters] pages_warn`.
    pub large: LargeClusters,
    /// What happened to the last epoch's records, and what its stages counted.
    pub counters: BTreeMap<String, u64>,
    /// The blake3 digests of the exported files in hex, by file name.
    pub files: BTreeMap<String, String>,
}

/// The result of an export.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The summary.
    pub summary: Summary,
    /// The largest clusters: pages, contents, hosts and the representative's URL.
    pub largest: Vec<(u32, u32, u32, String)>,
}

/// The tables that exports read.
struct Tables {
    pages: Table<PageRow>,
    urls: Table<UrlRow>,
    contents: Table<ContentRow>,
    content_pages: Table<ContentPageRow>,
    components: Table<ComponentRow>,
    component_members: Table<MemberRow>,
    leaders: Table<LeaderRow>,
    clusters: Table<ClusterRow>,
    pairs: Table<PairRow>,
}

/// The state of a store's tables, by name.
type States = BTreeMap<String, TableState>;

impl Tables {
    fn open(store: &Store, states: &States) -> Result<Tables> {
        let snapshot = Snapshot::new(store.data(), states);
        Ok(Tables {
            pages: snapshot.table()?,
            urls: snapshot.table()?,
            contents: snapshot.table()?,
            content_pages: snapshot.table()?,
            components: snapshot.table()?,
            component_members: snapshot.table()?,
            leaders: snapshot.table()?,
            clusters: snapshot.table()?,
            pairs: snapshot.table()?,
        })
    }

    /// The clusters of `contents` (ascending).
    fn clusters_of(&self, contents: &[Id]) -> ContentClusters {
        let components = self.components.matching(contents);
        let component = |content: &Id| find(&components, *content).map_or(*content, |row| row.component);
        let clusters = self.clusters.matching(&sorted(contents.iter().map(component)));
        ContentClusters { components, leaders: self.leaders.matching(contents), clusters }
    }

    /// The URLs of `docs`.
    fn urls(&self, docs: impl Iterator<Item = Id>) -> Urls {
        Urls(self.urls.matching(&sorted(docs)))
    }
}

/// Some URLs, sorted by DocId.
struct Urls(Vec<UrlRow>);

impl Urls {
    fn of(&self, doc: Id) -> String {
        find(&self.0, doc).map(|row| String::from_utf8_lossy(&row.url).into_owned()).unwrap_or_default()
    }
}

/// The clusters of some contents.
struct ContentClusters {
    components: Vec<ComponentRow>,
    /// Empty if no radius is set.
    leaders: Vec<LeaderRow>,
    /// All clusters of the contents' components.
    clusters: Vec<ClusterRow>,
}

impl ContentClusters {
    /// The cluster that contains the pages of `content`. None for a page without text, and for a
    /// content with one page and no accepted pair.
    fn of(&self, content: Id) -> Option<&ClusterRow> {
        let component = find(&self.components, content).map_or(content, |row| row.component);
        let leader = find(&self.leaders, content).map_or(component, |row| row.leader);
        find_cluster(&self.clusters, (component, leader)).filter(|_| !content.is_none())
    }
}

/// The cluster of component and leader `wanted` in `rows`, which are sorted by them.
fn find_cluster(rows: &[ClusterRow], wanted: (Id, Id)) -> Option<&ClusterRow> {
    rows.binary_search_by_key(&wanted, transitions::key).ok().map(|at| &rows[at])
}

/// The row of `key` in `rows`, which are sorted by key and have each key once.
fn find<R: Row>(rows: &[R], key: R::Key) -> Option<&R> {
    rows.binary_search_by(|row| row.key().cmp(&key)).ok().map(|at| &rows[at])
}

fn sorted(ids: impl Iterator<Item = Id>) -> Vec<Id> {
    let mut ids: Vec<Id> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The folder and the formats of an export.
struct Place<'a> {
    dir: &'a Path,
    forms: &'a [Form],
}

/// The names and digests of written files.
type Files = Vec<(String, String)>;

/// Whether the job's output folder has the export of `head` under the job's view.
pub fn is_current(job: &Job, head: &Head) -> bool {
    let summary = std::fs::read(job.output.dir.join("summary.json")).ok();
    summary
        .and_then(|text| serde_json::from_slice::<Summary>(&text).ok())
        .is_some_and(|summary| (summary.epoch, summary.view) == (head.manifest.epoch, digest_of(&job.view())))
}

/// Removes the temporary files of an interrupted export from `dir`. Errors are ignored: these files
/// are never read, and the next export overwrites them.
pub fn sweep(dir: &Path) {
    let tables = ["members", "redirects", "pairs", "clusters", "changes"];
    let parts =
        tables.into_iter().flat_map(|table| ["jsonl", "parquet"].map(|form| format!(".{table}.{form}.writing")));
    let whole = ["rejects.writing", "summary.writing", "run.writing"].map(str::to_owned);
    for name in parts.chain(whole) {
        // Most of them do not exist.
        let _ = std::fs::remove_file(dir.join(name));
    }
}

/// Exports the head of `store` to the job's output folder.
pub fn export(job: &Job, store: &Store, head: &Head) -> Result<Exported> {
    let output = |e: Error| e.with_kind(Kind::Output);
    let place = Place { dir: &job.output.dir, forms: &job.output.formats };
    durable::create_folder(place.dir).map_err(output)?;
    let states = &head.manifest.tables;
    let tables = Tables::open(store, states)?;
    let rule = KeepRule::new(&job.keep);
    let is_expired = |page: &PageRow| has_expired(page, head.manifest.retention);
    // The tables are independent of each other, so each has a thread.
    let (members, pairs, clusters, changes) = thread::scope(|scope| {
        let pairs = scope.spawn(|| pairs(&tables, &rule, &place));
        let clusters = scope.spawn(|| clusters(&tables, job.clusters.pages_warn, &place));
        let changes = scope.spawn(|| changes::changes(store, &before(store, head)?, states, &is_expired, &place));
        (members(&tables, &place), joined(pairs.join()), joined(clusters.join()), joined(changes.join()))
    });
    let (folds, mut files) = members.map_err(output)?;
    let (pairs, pair_files) = pairs.map_err(output)?;
    let (clusters, largest, large, cluster_files) = clusters.map_err(output)?;
    files.extend(pair_files);
    files.extend(cluster_files);
    files.extend(changes.map_err(output)?);
    files.push(rejects(store, head, place.dir).map_err(output)?);
    let summary = Summary {
        epoch: head.manifest.epoch,
        view: digest_of(&job.view()),
        pages: folds.pages,
        contents: head.manifest.tables.get(ContentRow::NAME).map_or(0, |table| table.rows),
        clusters,
        kept: folds.kept,
        folded_identical: folds.identical,
        folded_near: folds.near,
        pairs,
        unexamined: head.manifest.unexamined.clone(),
        large,
        counters: head.manifest.counters.clone(),
        files: files.into_iter().collect(),
    };
    let text =
        serde_json::to_vec_pretty(&summary).map_err(|e| Error::internal("cannot write a summary").caused_by(e))?;
    durable::write(&place.dir.join("summary.json"), &text).map_err(output)?;
    Ok(Exported { summary, largest })
}

/// The tables before the head's epoch.
fn before(store: &Store, head: &Head) -> Result<States> {
    // A rollback adds no run, and no run follows it under the same epoch.
    if head.manifest.op == Op::Rollback {
        return Ok(manifest::read(store.root(), head.manifest.version - 1)?.manifest.tables);
    }
    let before = |(name, table): (&String, &TableState)| Ok((name.clone(), table.before(head.manifest.epoch)?));
    head.manifest.tables.iter().map(before).collect()
}

fn joined<T>(outcome: thread::Result<Result<T>>) -> Result<T> {
    outcome.unwrap_or_else(|_| Err(Error::internal("an export panicked")))
}

/// How many pages there are and how they fold.
#[derive(Default)]
struct Folds {
    pages: u64,
    kept: u64,
    identical: u64,
    near: u64,
}

fn members(tables: &Tables, place: &Place<'_>) -> Result<(Folds, Files)> {
    let mut members = Sink::<Member>::create(place.dir, "members", place.forms)?;
    let mut redirects = Sink::<Redirect>::create(place.dir, "redirects", place.forms)?;
    let mut folds = Folds::default();
    for pages in tables.pages.portions(PORTION_ROWS) {
        let contents = sorted(pages.iter().map(|page| page.content).filter(|content| !content.is_none()));
        let content_clusters = tables.clusters_of(&contents);
        let contents = tables.contents.matching(&contents);
        let clustered = pages.iter().filter_map(|page| content_clusters.of(page.content));
        let representatives = sorted(clustered.map(|row| row.representative));
        let shown = tables.pages.matching(&representatives);
        let urls = tables.urls(pages.iter().map(|page| page.doc).chain(representatives));
        for page in &pages {
            let facts = find(&contents, page.content);
            let cluster = content_clusters.of(page.content);
            let representative = cluster.map_or(page.doc, |row| row.representative);
            let (url, shown_url) = (urls.of(page.doc), urls.of(representative));
            folds.pages += 1;
            if representative == page.doc {
                folds.kept += 1;
            } else {
                let identical = find(&shown, representative).is_some_and(|shown| shown.content == page.content);
                *(if identical { &mut folds.identical } else { &mut folds.near }) += 1;
                let relation = if identical { "identical" } else { "near" };
                redirects.push(Redirect { url: url.clone(), representative: shown_url.clone(), relation })?;
            }
            members.push(Member {
                url,
                doc: page.doc.to_string(),
                content: facts.map(|facts| facts.content.to_string()),
                fingerprint: facts.map(|facts| format!("{:016x}", facts.fingerprint)),
                chars: facts.map_or(0, |facts| facts.chars),
                cluster: cluster.map_or(page.doc, |row| row.cluster).to_string(),
                cluster_size: cluster.map_or(1, |row| row.pages),
                representative: shown_url,
                is_representative: representative == page.doc,
            })?;
        }
    }
    let mut files = members.finish()?;
    files.extend(redirects.finish()?);
    Ok((folds, files))
}

fn pairs(tables: &Tables, rule: &KeepRule, place: &Place<'_>) -> Result<(u64, Files)> {
    let mut sink = Sink::<Pair>::create(place.dir, "pairs", place.forms)?;
    let mut pairs = 0;
    for mut rows in tables.pairs.portions(PORTION_ROWS) {
        rows.retain(|row| row.content < row.other);
        let best = best_pages(tables, rule, &sorted(rows.iter().flat_map(|row| [row.content, row.other])));
        let urls = tables.urls(best.values().copied());
        let url = |content: &Id| best.get(content).map(|doc| urls.of(*doc)).unwrap_or_default();
        for row in &rows {
            sink.push(Pair {
                a: row.content.to_string(),
                b: row.other.to_string(),
                a_url: url(&row.content),
                b_url: url(&row.other),
                signature: pairs::names(row.proposals),
                distance: row.distance.into(),
                similarity: f64::from(row.similarity) / 10_000.0,
                accepted: row.accepted == 1,
                reason: Reason::name(row.reason),
            })?;
            pairs += 1;
        }
    }
    Ok((pairs, sink.finish()?))
}

/// The page with the best rank by the keep rule, for each content.
fn best_pages(tables: &Tables, rule: &KeepRule, contents: &[Id]) -> BTreeMap<Id, Id> {
    let facts = tables.contents.matching(contents);
    let docs = sorted(tables.content_pages.matching(contents).into_iter().map(|row| row.doc));
    let mut best: BTreeMap<Id, (Rank, Id)> = BTreeMap::new();
    for page in tables.pages.matching(&docs) {
        let chars = find(&facts, page.content).map_or(0, |row| row.chars);
        let rank = (rule.rank(page.facts(chars)), page.doc);
        best.entry(page.content).and_modify(|least| *least = rank.min(*least)).or_insert(rank);
    }
    best.into_iter().map(|(content, (_, doc))| (content, doc)).collect()
}

/// The largest clusters: pages, contents, hosts and the representative's URL.
type Largest = Vec<(u32, u32, u32, String)>;

fn clusters(tables: &Tables, pages_warn: u32, place: &Place<'_>) -> Result<(u64, Largest, LargeClusters, Files)> {
    // The table is ordered by component, its export by ClusterId. Sorting takes 48 bytes a cluster.
    let mut order: Vec<(Id, (Id, Id))> = Vec::new();
    let mut large = LargestClusters::new(pages_warn);
    for rows in tables.clusters.portions(PORTION_ROWS) {
        rows.iter().for_each(|row| large.add(row));
        order.extend(rows.iter().map(|row| (row.cluster, transitions::key(row))));
    }
    order.sort_unstable();
    let mut sink = Sink::<Cluster>::create(place.dir, "clusters", place.forms)?;
    let mut largest = Largest::new();
    for portion in order.chunks(PORTION_ROWS) {
        let rows = tables.clusters.matching(&sorted(portion.iter().map(|(_, (component, _))| *component)));
        let urls = tables.urls(rows.iter().map(|row| row.representative));
        for row in portion.iter().filter_map(|(_, wanted)| find_cluster(&rows, *wanted)) {
            let representative = urls.of(row.representative);
            if largest.len() < LARGEST || largest.last().is_some_and(|least| least.0 <= row.pages) {
                largest.push((row.pages, row.contents, row.hosts, representative.clone()));
                largest.sort_by(|a, b| b.cmp(a));
                largest.truncate(LARGEST);
            }
            sink.push(Cluster {
                cluster: row.cluster.to_string(),
                pages: row.pages,
                contents: row.contents,
                hosts: row.hosts,
                representative,
                diameter: row.diameter,
            })?;
        }
    }
    Ok((order.len() as u64, largest, large.finish(tables), sink.finish()?))
}

fn rejects(store: &Store, head: &Head, dir: &Path) -> Result<(String, String)> {
    let lines = match &head.manifest.rejects {
        Some(file) => store.read_lines("rejects", file)?,
        None => String::new(),
    };
    durable::write(&dir.join("rejects.jsonl"), lines.as_bytes())?;
    Ok(("rejects.jsonl".into(), blake3::hash(lines.as_bytes()).to_hex().to_string()))
}
