//! Finds the records that are kept in place of records that no input has any more.
//!
//! The store still has the pages of a file that is gone or has changed, and such a page may
//! represent its cluster, or its record may hold its URL. If all records that fold into it were
//! left out, its text would be in no file. So a filter chooses again among the records that are
//! there:
//!
//! - If the record that holds a URL is in no input, another record of the URL **stands in**: a
//!   record with the page's text if there is one, then the one with the latest date, then the first
//!   by path and position. If it has another text than the page, it folds into a page with that
//!   text that has a record here. If there is none, the store knows nothing of its text, and it is
//!   kept.
//! - If the page that represents a cluster has no record here, another page of the cluster that has
//!   one is **promoted**: a page with the text of the leader or of the representative if there is
//!   one, because every text of the cluster has an accepted pair with these, then the page that the
//!   keep rule prefers. So each cluster with a record in the inputs keeps one.
//!
//! The choice depends on the store and on which inputs are there, not on threads or on the order in
//! which files are read. If all records of the store's pages are there, which the column of their
//! inputs shows, nothing is read twice. Otherwise all inputs are read once more for the first step,
//! and only the touched clusters for the second step, in portions. Memory holds 72 bytes for each
//! record that stands in, 32 more if it folds, and 32 for each cluster whose representative has no
//! record here.

use crate::absent::NO_DATE;
use crate::distinct::distinct;
use crate::error::{Kind, Result};
use crate::export::tables::{PORTION_ROWS, Tables, by_rows, find};
use crate::filter::inputs::Original;
use crate::id::Id;
use crate::job::Job;
use crate::keep::{KeepRule, Rank};
use crate::page_url::{PageUrl, page_url};
use crate::read::Split;
use crate::read::record::{Body, Item};
use crate::store::manifest::Head;
use crate::store::threads::in_threads;
use crate::tables::pages::of_inputs;
use crate::tables::{ClusterRow, ContentRow, PageRow};
use crate::visit::{self, TextReader, furniture};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A record that stands in for a record that holds its URL but is in no input. The derived order is
/// the order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StandIn {
    doc: Id,
    /// Whether it has another text than the page.
    differs: bool,
    date: Reverse<i64>,
    /// The number of its file, by path.
    file: usize,
    position: u64,
    /// See [`crate::plan::inputs::Input::key`].
    input: u64,
    /// Its text.
    content: Id,
}

const _: () = assert!(size_of::<StandIn>() == 72, "the page on memory says so");

/// The records that are kept in place of those that no input has.
#[derive(Debug, Default)]
pub struct Promotions {
    /// The best record of each URL, by DocId.
    stand_ins: Vec<StandIn>,
    /// The DocIds of those that have the text of another page, ascending, each with such a page
    /// that has a record here.
    twins: Vec<(Id, Id)>,
    /// Pages that represent clusters and have no record here, ascending, each with the page that is
    /// kept in its place.
    promoted: Vec<(Id, Id)>,
    /// Pages of the store whose records are in no input.
    pub pages_elsewhere: u64,
}

impl Promotions {
    /// Chooses among the records of `originals`, which are in the order of their paths.
    pub fn find(
        job: &Job,
        head: &Head,
        tables: &Tables,
        originals: &[Original],
        threads: usize,
    ) -> Result<Promotions> {
        let here: BTreeSet<u64> = originals.iter().map(|original| original.input.key()).collect();
        let pages_elsewhere = of_inputs(&tables.pages, |input| !here.contains(&input));
        if pages_elsewhere == 0 {
            return Ok(Promotions::default());
        }
        let numbered: Vec<(usize, &Original)> = originals.iter().enumerate().collect();
        let found = in_threads("a filter", &numbered, threads, |(number, original)| {
            stand_ins_of(job, tables, &here, *number, original)
        })?;
        let mut stand_ins: Vec<StandIn> = found.into_iter().flatten().collect();
        best_of_each(&mut stand_ins);
        let mut promotions = Promotions { stand_ins, pages_elsewhere, ..Promotions::default() };
        promotions.twins = promotions.twins(job, tables, &here);
        promotions.promoted = promotions.promote(job, head, tables, &here);
        Ok(promotions)
    }

    /// The page that is kept for the cluster that `representative` represents.
    pub fn shown(&self, representative: Id) -> Id {
        let at = self.promoted.binary_search_by_key(&representative, |(of, _)| *of);
        at.map_or(representative, |at| self.promoted[at].1)
    }

    /// Whether the record at `position` of the file `input` stands in for the one that holds `doc`,
    /// and if so, whether it has the text of the page.
    pub fn stand_in(&self, doc: Id, input: u64, position: u64) -> Option<bool> {
        let of = self.of_doc(doc)?;
        ((of.input, of.position) == (input, position)).then_some(!of.differs)
    }

    /// The page here that has the text of the record which stands in for `doc`, if that record has
    /// another text than its page.
    pub fn twin(&self, doc: Id) -> Option<Id> {
        let at = self.twins.binary_search_by_key(&doc, |(of, _)| *of).ok()?;
        Some(self.twins[at].1)
    }

    /// A digest of all choices; `None` if there are none.
    pub fn digest(&self) -> Option<String> {
        if self.stand_ins.is_empty() && self.promoted.is_empty() {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        for of in &self.stand_ins {
            hasher.update(&of.doc.to_bytes());
            hasher.update(&of.input.to_le_bytes());
            hasher.update(&of.position.to_le_bytes());
            hasher.update(&[u8::from(of.differs)]);
        }
        hasher.update(&(self.stand_ins.len() as u64).to_le_bytes());
        for (of, page) in self.promoted.iter().chain(&self.twins) {
            hasher.update(&of.to_bytes());
            hasher.update(&page.to_bytes());
        }
        Some(hasher.finalize().to_hex().to_string())
    }

    fn of_doc(&self, doc: Id) -> Option<&StandIn> {
        let at = self.stand_ins.binary_search_by_key(&doc, |of| of.doc).ok()?;
        Some(&self.stand_ins[at])
    }

    /// Whether a record that is here has the text of `page`.
    fn is_here(&self, here: &BTreeSet<u64>, page: &PageRow) -> bool {
        here.contains(&page.input) || self.of_doc(page.doc).is_some_and(|of| !of.differs)
    }

    /// For each record that stands in and has the text of a page here that may fold: its DocId and
    /// that page.
    fn twins(&self, job: &Job, tables: &Tables, here: &BTreeSet<u64>) -> Vec<(Id, Id)> {
        let others = || self.stand_ins.iter().filter(|of| of.differs);
        let facts = tables.contents.matching(&distinct(others().map(|of| of.content)));
        let contents = ContentRow::telling(&facts, &job.clusters);
        let mut first: BTreeMap<Id, Id> = BTreeMap::new();
        tables.each_pages(&contents, |pages| {
            for page in pages.iter().filter(|page| self.is_here(here, page)) {
                first.entry(page.content).or_insert(page.doc);
            }
        });
        others().filter_map(|of| Some((of.doc, *first.get(&of.content)?))).collect()
    }

    /// For each cluster with pages here whose representative has no record here: that
    /// representative, and the page in its place.
    fn promote(
        &self,
        job: &Job,
        head: &Head,
        tables: &Tables,
        here: &BTreeSet<u64>,
    ) -> Vec<(Id, Id)> {
        let rule = KeepRule::new(&job.keep, &head.manifest.source_names());
        let mut promoted = Vec::new();
        for clusters in tables.clusters.portions(PORTION_ROWS) {
            let shown =
                tables.pages.matching(&distinct(clusters.iter().map(|row| row.representative)));
            let gone: Vec<&PageRow> =
                shown.iter().filter(|page| !self.is_here(here, page)).collect();
            let is_touched = |row: &&ClusterRow| {
                gone.binary_search_by_key(&row.representative, |page| page.doc).is_ok()
            };
            let components = distinct(clusters.iter().filter(is_touched).map(|row| row.component));
            for components in by_rows(&tables.component_members, &components) {
                let members = tables.component_members.matching(components);
                // A content that is in no component is a cluster of its own.
                let members = members.iter().map(|row| row.content);
                let contents = distinct(members.chain(components.iter().copied()));
                promoted.extend(self.best(tables, &rule, here, &contents, &gone));
            }
        }
        promoted.sort_unstable();
        promoted
    }

    /// For each cluster that a page of `gone` represents, its best page here. `contents` are the
    /// contents of whole components.
    fn best(
        &self,
        tables: &Tables,
        rule: &KeepRule,
        here: &BTreeSet<u64>,
        contents: &[Id],
        gone: &[&PageRow],
    ) -> Vec<(Id, Id)> {
        let clusters = tables.clusters_of(contents);
        let facts = tables.contents.matching(contents);
        let mut best: BTreeMap<Id, (bool, Rank, Id)> = BTreeMap::new();
        tables.each_pages(contents, |pages| {
            let is_here = |page: &&PageRow| self.is_here(here, page);
            let urls = tables.urls(
                pages.iter().filter(|_| rule.reads_urls()).filter(is_here).map(|page| page.doc),
            );
            for page in pages.iter().filter(is_here) {
                let Some(cluster) = clusters.of(page.content) else { continue };
                let of = gone.binary_search_by_key(&cluster.representative, |page| page.doc);
                let Ok(of) = of else { continue };
                let is_central = [cluster.leader, gone[of].content].contains(&page.content);
                let chars = find(&facts, page.content).map_or(0, |row| row.chars);
                let rank = rule.rank(page.facts(chars, &urls.of(page.doc)));
                let candidate = (!is_central, rank, page.doc);
                best.entry(cluster.representative)
                    .and_modify(|best| *best = candidate.min(*best))
                    .or_insert(candidate);
            }
        });
        best.into_iter().map(|(representative, (.., doc))| (representative, doc)).collect()
    }
}

/// Keeps the best record of each URL, in the order of DocIds.
fn best_of_each(stand_ins: &mut Vec<StandIn>) {
    stand_ins.sort_unstable();
    stand_ins.dedup_by_key(|of| of.doc);
    stand_ins.shrink_to_fit();
}

/// The records of `original` that could stand in: for each URL the best.
fn stand_ins_of(
    job: &Job,
    tables: &Tables,
    here: &BTreeSet<u64>,
    file: usize,
    original: &Original,
) -> Result<Vec<StandIn>> {
    let mut found = Vec::new();
    if original.is_copy {
        return Ok(found);
    }
    let input = &original.input;
    let split = Split { path: input.file(), start: 0, end: input.bytes };
    let mut reader = visit::open(job, &split, input)?;
    let naming = reader.naming();
    let mut texts = TextReader::new(job, furniture(job)?);
    loop {
        let entry = match reader.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            // A damaged file is copied whole.
            Err(error) if error.kind() == Kind::Data => break,
            Err(error) => return Err(error),
        };
        let Item::Record(record) = entry.item else { continue };
        if matches!(record.body, Body::Removed | Body::Moved(_) | Body::Seen) {
            continue;
        }
        let PageUrl { doc, host, .. } = page_url(&record.url, naming);
        let page = tables.pages.matching(&[doc]).pop();
        let Some(page) = page.filter(|page| !here.contains(&page.input)) else { continue };
        let content = texts.content(record.body, host);
        found.push(StandIn {
            doc,
            date: Reverse(record.date.unwrap_or(NO_DATE)),
            differs: content != page.content,
            file,
            position: entry.position,
            input: input.key(),
            content,
        });
    }
    best_of_each(&mut found);
    Ok(found)
}
