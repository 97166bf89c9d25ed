//! Export: in comes the head of a store, out come the tables that people read: members, pairs, redirects, clusters, changes and rejects, as JSON
//! lines and Parquet, and `summary.json` with their digests. A function of the store alone, streamed in portions; every file is
//! written aside and gets its name by a rename, the summary last, so that a folder with a summary of the head's digest is whole.

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
use crate::store::manifest::{self, Head, Op, TableState};
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::store::{Store, digest_of};
use crate::store::{digest, durable};
use crate::tables::pages::has_expired;
use crate::tables::pairs;
use crate::tables::snapshot::Snapshot;
use crate::tables::{
    ClusterRow, ComponentRow, ContentPageRow, ContentRow, LeaderRow, MemberRow, PageRow, PairRow, UrlRow,
};
use large::Gathering;
pub use large::{LargeCluster, LargeClusters, Share, Spread};
use rows::{Cluster, Member, Pair, Redirect};
use serde::{Deserialize, Serialize};
use sink::Sink;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

/// Rows of a table that are held in memory at once, for each of its segments.
const PORTION_ROWS: usize = 1 << 17;
/// Clusters that the summary for people names.
const LARGEST: usize = 5;

/// `summary.json`: counts, and the digests of its siblings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The epoch.
    pub epoch: u64,
    /// Digest of the view configuration by which it was exported.
    pub view: String,
    /// Live pages.
    pub pages: u64,
    /// Distinct texts.
    pub contents: u64,
    /// Clusters of two pages or more.
    pub clusters: u64,
    /// Pages that stay when every cluster is folded to its representative.
    pub kept: u64,
    /// Pages that fold into another: with an identical text.
    pub folded_identical: u64,
    /// Pages that fold into another: with a near one.
    pub folded_near: u64,
    /// Pairs of contents that were decided.
    pub pairs: u64,
    /// Buckets of more contents than pivots.
    pub unexamined: pivots::BySignature,
    /// Clusters of more pages than the job's `[clusters] pages_warn`.
    pub large: LargeClusters,
    /// What became of the last epoch's records, and what its stages counted.
    pub counters: BTreeMap<String, u64>,
    /// blake3 of the exported files, in hex, by name.
    pub files: BTreeMap<String, String>,
}

/// What was exported, for a person.
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

    /// The clusters of `contents`, which ascend.
    fn homes(&self, contents: &[Id]) -> Homes {
        let components = self.components.matching(contents);
        let component = |content: &Id| find(&components, *content).map_or(*content, |row| row.component);
        let clusters = self.clusters.matching(&sorted(contents.iter().map(component)));
        Homes { components, leaders: self.leaders.matching(contents), clusters }
    }

    /// The URLs of `docs`, sorted by DocId.
    fn urls(&self, docs: impl Iterator<Item = Id>) -> Urls {
        Urls(self.urls.matching(&sorted(docs)))
    }
}

/// Some URLs by DocId.
struct Urls(Vec<UrlRow>);

impl Urls {
    fn of(&self, doc: Id) -> String {
        find(&self.0, doc).map(|row| String::from_utf8_lossy(&row.url).into_owned()).unwrap_or_default()
    }
}

/// The clusters of some contents.
struct Homes {
    components: Vec<ComponentRow>,
    /// Empty in a state without a radius.
    leaders: Vec<LeaderRow>,
    /// All clusters of the contents' components.
    clusters: Vec<ClusterRow>,
}

impl Homes {
    /// The cluster of the pages of `content`: its leader's, without one its component's, or its own where it has several pages; none
    /// of a page without text.
    fn of(&self, content: Id) -> Option<&ClusterRow> {
        let component = find(&self.components, content).map_or(content, |row| row.component);
        let leader = find(&self.leaders, content).map_or(component, |row| row.leader);
        find_cluster(&self.clusters, (component, leader)).filter(|_| !content.is_none())
    }
}

/// The cluster of `wanted`, a component and a leader, among `rows`, which are sorted by these.
fn find_cluster(rows: &[ClusterRow], wanted: (Id, Id)) -> Option<&ClusterRow> {
    rows.binary_search_by_key(&wanted, transitions::key).ok().map(|at| &rows[at])
}

/// The row of `key` among rows that are sorted by it and have each key once.
fn find<R: Row>(rows: &[R], key: R::Key) -> Option<&R> {
    rows.binary_search_by(|row| row.key().cmp(&key)).ok().map(|at| &rows[at])
}

fn sorted(ids: impl Iterator<Item = Id>) -> Vec<Id> {
    let mut ids: Vec<Id> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Where exports go.
struct Place<'a> {
    dir: &'a Path,
    forms: &'a [Form],
}

/// Names and digests of written files.
type Files = Vec<(String, String)>;

/// Whether the job's output folder has the export of `head` by the job's view.
pub fn is_current(job: &Job, head: &Head) -> bool {
    let summary = std::fs::read(job.output.dir.join("summary.json")).ok();
    summary
        .and_then(|text| serde_json::from_slice::<Summary>(&text).ok())
        .is_some_and(|summary| (summary.epoch, summary.view) == (head.manifest.epoch, digest_of(&job.view())))
}

/// Clears away what an export that was stopped had written aside in `dir`. Best effort, as nothing reads it and the next export writes over it.
pub fn sweep(dir: &Path) {
    let tables = ["members", "redirects", "pairs", "clusters", "changes"];
    let parts =
        tables.into_iter().flat_map(|table| ["jsonl", "parquet"].map(|form| format!(".{table}.{form}.writing")));
    let whole = ["rejects.writing", "summary.writing", "run.writing"].map(str::to_owned);
    for name in parts.chain(whole) {
        // Most are not there.
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
    // These tables have nothing to do with each other; each is written by a thread of its own.
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

/// The tables as the head's epoch found them.
fn before(store: &Store, head: &Head) -> Result<States> {
    // A rollback leaves no run of its own; and none follows it under the same epoch.
    if head.manifest.op == Op::Rollback {
        return Ok(manifest::read(store.root(), head.manifest.version - 1)?.manifest.tables);
    }
    let before = |(name, table): (&String, &TableState)| Ok((name.clone(), table.before(head.manifest.epoch)?));
    head.manifest.tables.iter().map(before).collect()
}

fn joined<T>(outcome: thread::Result<Result<T>>) -> Result<T> {
    outcome.unwrap_or_else(|_| Err(Error::internal("an export panicked")))
}

/// What became of pages.
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
        let homes = tables.homes(&contents);
        let contents = tables.contents.matching(&contents);
        let homed = pages.iter().filter_map(|page| homes.of(page.content));
        let representatives = sorted(homed.map(|row| row.representative));
        let shown = tables.pages.matching(&representatives);
        let urls = tables.urls(pages.iter().map(|page| page.doc).chain(representatives));
        for page in &pages {
            let facts = find(&contents, page.content);
            let cluster = homes.of(page.content);
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

/// The page by which the keep rule would show each content.
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
    // Components order the table, ClusterIds its export: 48 bytes a cluster are held to sort them.
    let mut order: Vec<(Id, (Id, Id))> = Vec::new();
    let mut large = Gathering::new(pages_warn);
    for rows in tables.clusters.portions(PORTION_ROWS) {
        rows.iter().for_each(|row| large.see(row));
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
    Ok(("rejects.jsonl".into(), digest::of_bytes(lines.as_bytes())))
}
