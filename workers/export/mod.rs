//! Export: in comes the head of a store, out come the tables that people read: members, pairs, redirects, clusters and rejects, as JSON lines and
//! Parquet, and `summary.json` with their digests. A function of the store alone, streamed in portions; every file is
//! written aside and gets its name by a rename, the summary last, so that a folder with a summary of the head's digest is whole.

mod rows;
mod sink;

use crate::clusters::ClusterRow;
use crate::components::ComponentRow;
use crate::confirm::{Reason, SIMHASH};
use crate::contents::{ContentPageRow, ContentRow};
use crate::document::Id;
use crate::error::{Error, Kind, Result};
use crate::job::{Form, Job};
use crate::keep::{KeepRule, Rank};
use crate::pages::{PageRow, UrlRow};
use crate::pairs::PairRow;
use crate::store::Store;
use crate::store::durable;
use crate::store::manifest::Head;
use crate::store::runs::Table;
use crate::store::table::Row;
use rows::{Cluster, Member, Pair, Redirect};
use serde::{Deserialize, Serialize};
use sink::Sink;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows of a table that are held in memory at once, for each of its segments.
const PORTION_ROWS: usize = 1 << 17;
/// Clusters that the summary for people names.
const LARGEST: usize = 5;

/// `summary.json`: counts, and the digests of its siblings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The epoch.
    pub epoch: u64,
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
    clusters: Table<ClusterRow>,
    pairs: Table<PairRow>,
}

impl Tables {
    fn open(store: &Store, head: &Head) -> Result<Tables> {
        fn open<R: Row>(store: &Store, head: &Head) -> Result<Table<R>> {
            Table::open(&store.data().join(R::TABLE), head.manifest.tables.get(R::TABLE))
        }
        Ok(Tables {
            pages: open(store, head)?,
            urls: open(store, head)?,
            contents: open(store, head)?,
            content_pages: open(store, head)?,
            components: open(store, head)?,
            clusters: open(store, head)?,
            pairs: open(store, head)?,
        })
    }

    fn urls(&self, mut docs: Vec<Id>) -> BTreeMap<Id, String> {
        docs.sort_unstable();
        docs.dedup();
        let text = |row: UrlRow| (row.doc, String::from_utf8_lossy(&row.url).into_owned());
        self.urls.matching(&docs).into_iter().map(text).collect()
    }
}

fn sorted(ids: impl Iterator<Item = Id>) -> Vec<Id> {
    let mut ids: Vec<Id> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Exports the head of `store` to the job's output folder.
pub fn export(job: &Job, store: &Store, head: &Head) -> Result<Exported> {
    let dir = &job.output.dir;
    let output = |e: Error| e.with_kind(Kind::Output);
    durable::create_folder(dir).map_err(output)?;
    let tables = Tables::open(store, head)?;
    let forms = &job.output.formats;
    let mut files = BTreeMap::new();
    let mut summary = Summary {
        epoch: head.manifest.epoch,
        pages: 0,
        contents: head.manifest.tables.get(ContentRow::TABLE).map_or(0, |table| table.rows),
        clusters: 0,
        kept: 0,
        folded_identical: 0,
        folded_near: 0,
        pairs: 0,
        counters: head.manifest.counters.clone(),
        files: BTreeMap::new(),
    };
    members(&tables, dir, forms, &mut summary, &mut files).map_err(output)?;
    pairs(&tables, &KeepRule::new(&job.keep), dir, forms, &mut summary, &mut files).map_err(output)?;
    let largest = clusters(&tables, dir, forms, &mut summary, &mut files).map_err(output)?;
    rejects(store, head, dir, &mut files).map_err(output)?;
    summary.files = files;
    let text =
        serde_json::to_vec_pretty(&summary).map_err(|e| Error::internal("cannot write a summary").caused_by(e))?;
    durable::write(&dir.join("summary.json"), &text).map_err(output)?;
    Ok(Exported { summary, largest })
}

fn members(
    tables: &Tables,
    dir: &Path,
    forms: &[Form],
    summary: &mut Summary,
    files: &mut BTreeMap<String, String>,
) -> Result<()> {
    let mut members = Sink::<Member>::create(dir, "members", forms)?;
    let mut redirects = Sink::<Redirect>::create(dir, "redirects", forms)?;
    for pages in tables.pages.portions(PORTION_ROWS) {
        let contents = sorted(pages.iter().map(|page| page.content).filter(|content| !content.is_none()));
        let components: BTreeMap<Id, Id> =
            tables.components.matching(&contents).into_iter().map(|row| (row.content, row.component)).collect();
        let facts: BTreeMap<Id, ContentRow> =
            tables.contents.matching(&contents).into_iter().map(|row| (row.content, row)).collect();
        let component = |page: &PageRow| components.get(&page.content).copied().unwrap_or(page.content);
        let clusters: BTreeMap<Id, ClusterRow> = tables
            .clusters
            .matching(&sorted(pages.iter().map(component)))
            .into_iter()
            .map(|row| (row.component, row))
            .collect();
        let cluster = |page: &PageRow| clusters.get(&component(page)).filter(|_| !page.content.is_none());
        let representatives = sorted(pages.iter().filter_map(cluster).map(|row| row.representative));
        let shown: BTreeMap<Id, Id> =
            tables.pages.matching(&representatives).into_iter().map(|page| (page.doc, page.content)).collect();
        let docs = pages.iter().map(|page| page.doc).chain(representatives).collect();
        let urls = tables.urls(docs);
        let url = |doc: Id| urls.get(&doc).cloned().unwrap_or_default();
        for page in &pages {
            let facts = facts.get(&page.content);
            let cluster = cluster(page);
            let representative = cluster.map_or(page.doc, |row| row.representative);
            members.push(Member {
                url: url(page.doc),
                doc: page.doc.to_string(),
                content: facts.map(|facts| facts.content.to_string()),
                fingerprint: facts.map(|facts| format!("{:016x}", facts.fingerprint)),
                chars: facts.map_or(0, |facts| facts.chars),
                cluster: cluster.map_or(page.doc, |row| row.cluster).to_string(),
                cluster_size: cluster.map_or(1, |row| row.pages),
                representative: url(representative),
                is_representative: representative == page.doc,
            })?;
            summary.pages += 1;
            if representative == page.doc {
                summary.kept += 1;
                continue;
            }
            let identical = shown.get(&representative) == Some(&page.content);
            if identical {
                summary.folded_identical += 1;
            } else {
                summary.folded_near += 1;
            }
            redirects.push(Redirect {
                url: url(page.doc),
                representative: url(representative),
                relation: if identical { "identical" } else { "near" },
            })?;
        }
    }
    files.extend(members.finish()?);
    files.extend(redirects.finish()?);
    Ok(())
}

fn pairs(
    tables: &Tables,
    rule: &KeepRule,
    dir: &Path,
    forms: &[Form],
    summary: &mut Summary,
    files: &mut BTreeMap<String, String>,
) -> Result<()> {
    let mut sink = Sink::<Pair>::create(dir, "pairs", forms)?;
    for mut rows in tables.pairs.portions(PORTION_ROWS) {
        rows.retain(|row| row.content < row.other);
        let best = best_pages(tables, rule, &sorted(rows.iter().flat_map(|row| [row.content, row.other])));
        let urls = tables.urls(best.values().copied().collect());
        let url = |content: &Id| best.get(content).and_then(|doc| urls.get(doc)).cloned().unwrap_or_default();
        for row in &rows {
            sink.push(Pair {
                a: row.content.to_string(),
                b: row.other.to_string(),
                a_url: url(&row.content),
                b_url: url(&row.other),
                signature: if row.signatures & SIMHASH != 0 { "simhash" } else { "" },
                distance: row.distance.into(),
                similarity: f64::from(row.similarity) / 10_000.0,
                accepted: row.accepted == 1,
                reason: Reason::name(row.reason),
            })?;
            summary.pairs += 1;
        }
    }
    files.extend(sink.finish()?);
    Ok(())
}

/// The page by which the keep rule would show each content.
fn best_pages(tables: &Tables, rule: &KeepRule, contents: &[Id]) -> BTreeMap<Id, Id> {
    let chars: BTreeMap<Id, u32> =
        tables.contents.matching(contents).into_iter().map(|row| (row.content, row.chars)).collect();
    let docs = sorted(tables.content_pages.matching(contents).into_iter().map(|row| row.doc));
    let mut best: BTreeMap<Id, (Rank, Id)> = BTreeMap::new();
    for page in tables.pages.matching(&docs) {
        let rank = (rule.rank(&page, chars.get(&page.content).copied().unwrap_or(0)), page.doc);
        best.entry(page.content).and_modify(|least| *least = rank.min(*least)).or_insert(rank);
    }
    best.into_iter().map(|(content, (_, doc))| (content, doc)).collect()
}

fn clusters(
    tables: &Tables,
    dir: &Path,
    forms: &[Form],
    summary: &mut Summary,
    files: &mut BTreeMap<String, String>,
) -> Result<Vec<(u32, u32, u32, String)>> {
    // Components order the table, ClusterIds its export: 32 bytes a cluster are held to sort them.
    let mut order: Vec<(Id, Id)> = Vec::new();
    for rows in tables.clusters.portions(PORTION_ROWS) {
        order.extend(rows.iter().map(|row| (row.cluster, row.component)));
    }
    order.sort_unstable();
    let mut sink = Sink::<Cluster>::create(dir, "clusters", forms)?;
    let mut largest: Vec<(u32, u32, u32, String)> = Vec::new();
    for portion in order.chunks(PORTION_ROWS) {
        let rows = tables.clusters.matching(&sorted(portion.iter().map(|(_, component)| *component)));
        let urls = tables.urls(rows.iter().map(|row| row.representative).collect());
        for (_, component) in portion {
            let Ok(at) = rows.binary_search_by_key(component, |row| row.component) else {
                return Err(Error::internal("a cluster went while it was exported"));
            };
            let row = &rows[at];
            let representative = urls.get(&row.representative).cloned().unwrap_or_default();
            largest.push((row.pages, row.contents, row.hosts, representative.clone()));
            sink.push(Cluster {
                cluster: row.cluster.to_string(),
                pages: row.pages,
                contents: row.contents,
                hosts: row.hosts,
                representative,
                diameter: row.diameter,
            })?;
            summary.clusters += 1;
        }
        largest.sort_by(|a, b| b.cmp(a));
        largest.truncate(LARGEST);
    }
    files.extend(sink.finish()?);
    Ok(largest)
}

fn rejects(store: &Store, head: &Head, dir: &Path, files: &mut BTreeMap<String, String>) -> Result<()> {
    let lines = match &head.manifest.rejects {
        Some(file) => store.read_lines("rejects", file)?,
        None => String::new(),
    };
    durable::write(&dir.join("rejects.jsonl"), lines.as_bytes())?;
    files.insert("rejects.jsonl".into(), blake3::hash(lines.as_bytes()).to_hex().to_string());
    Ok(())
}
