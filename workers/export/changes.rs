//! Writes `changes`: what happened to clusters and pages between two states of a store.
//!
//! The cost is in proportion to the difference. Segments that both states share are not read. A
//! cluster is read if its row differs or if a page left it for another cluster. Pages are streamed,
//! with the pages of one content together. Memory holds 48 bytes for each row about a cluster, the
//! clusters that exchanged pages, and 16 bytes for each page that moved.
//!
//! `transitions` decides what happened to clusters from the number of pages that they share. This
//! module counts those pages without reading what stayed. A cluster keeps its key (component,
//! leader) until the component's least content changes or another content leads it. So if both
//! states have a key, every page of the later cluster was in the earlier cluster, except the pages
//! that arrived.

use crate::distinct::distinct;
use crate::error::Result;
use crate::export::row_type::{Hex, SharedText};
use crate::export::rows::Change;
use crate::export::sink::{Files, Sink};
use crate::export::tables::{
    ContentClusters, PORTION_ROWS, States, Tables, Urls, by_rows, by_url_bytes, find, find_cluster,
};
use crate::export::transitions::{Event, PageCluster, Shared, heirs, transitions};
use crate::id::Id;
use crate::store::Store;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::pages::CAUSE_EXPIRED;
use crate::tables::snapshot::Snapshot;
use crate::tables::{ClusterRow, ComponentRow, ContentPageRow, LeaderRow, PageRow};
use std::collections::{BTreeMap, BTreeSet};

/// The pages that changed to a cluster with another key.
#[derive(Default)]
struct Traffic {
    /// The number of pages that live in both states, by ClusterId before and after.
    between: BTreeMap<(Id, Id), u64>,
    /// The components of those clusters. Other components exchanged no page.
    busy: BTreeSet<Id>,
    /// The number of pages that the cluster's key did not have before, by ClusterId after.
    arrived: BTreeMap<Id, u64>,
}

impl Traffic {
    /// Counts a page that was in `from` and is in `to`.
    fn count(&mut self, from: PageCluster<'_>, to: PageCluster<'_>) {
        let Some(to) = to.filter(|to| from.map(ClusterRow::place) != Some(to.place())) else {
            return;
        };
        *self.arrived.entry(to.cluster).or_default() += 1;
        if let Some(from) = from {
            *self.between.entry((from.cluster, to.cluster)).or_default() += 1;
            self.busy.extend([from.component, to.component]);
        }
    }

    /// The pages that stayed in a cluster that kept its key.
    fn stayed(&self, before: &ClusterRow, after: &ClusterRow) -> Option<Shared> {
        let arrived = self.arrived.get(&after.cluster).copied().unwrap_or(0);
        let pages = u64::from(after.pages).saturating_sub(arrived);
        (pages > 0).then_some(Shared { before: before.cluster, after: after.cluster, pages })
    }
}

/// What happened to clusters.
struct Transitions {
    /// The rows about clusters, in order.
    events: Vec<Event>,
    /// Pairs of clusters, before and after, that share pages where the later is not the heir of the
    /// earlier.
    not_heirs: BTreeSet<(Id, Id)>,
    /// The components of clusters that kept their key and are not the heirs of the earlier
    /// clusters.
    changed_components: Vec<Id>,
}

impl Transitions {
    /// Whether a page with an unchanged content counts as moved when its cluster changed from
    /// `from` to `to`.
    fn moved(&self, from: PageCluster<'_>, to: PageCluster<'_>) -> bool {
        match (from, to) {
            (None, None) => false,
            // A cluster that exchanged no page is its own heir.
            (Some(from), Some(to)) => self.not_heirs.contains(&(from.cluster, to.cluster)),
            _ => true,
        }
    }
}

/// Two states and the rows in which they differ.
struct Difference {
    before: Tables,
    after: Tables,
    pages: Table<PageRow>,
    components: Table<ComponentRow>,
    leaders: Table<LeaderRow>,
    clusters: Table<ClusterRow>,
}

impl Difference {
    fn open(store: &Store, before: &States, after: &States) -> Result<Difference> {
        let (old, new) = (Snapshot::new(store.data(), before), Snapshot::new(store.data(), after));
        Ok(Difference {
            before: Tables::open(store, before)?,
            after: Tables::open(store, after)?,
            pages: old.difference(&new)?,
            components: old.difference(&new)?,
            leaders: old.difference(&new)?,
            clusters: old.difference(&new)?,
        })
    }

    /// The causes by which pages of `rows` are gone, by DocId, as far as the store remembers them.
    fn causes(&self, rows: &[PageRow]) -> Vec<(Id, u8)> {
        let gone = |rows: &[PageRow]| match sides(rows) {
            (Some(page), None) => Some((page.doc, u64::from(page.url_bytes))),
            _ => None,
        };
        let gone: Vec<(Id, u64)> = rows.chunk_by(|a, b| a.doc == b.doc).filter_map(gone).collect();
        let causes = |pages: &[(Id, u64)]| {
            let docs: Vec<Id> = pages.iter().map(|(doc, _)| *doc).collect();
            self.after.gone.matching(&docs).into_iter().map(|row| (row.doc, row.cause))
        };
        by_url_bytes(&gone, |(_, bytes)| *bytes).flat_map(causes).collect()
    }

    fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        if self.before.clusters.is_empty() {
            // If there were no clusters before, no pages are shared. So a first epoch counts
            // nothing.
            return traffic;
        }
        for rows in self.pages.portions(PORTION_ROWS) {
            self.count_pages(&rows, &mut traffic);
        }
        let elsewhere = |from: PageCluster<'_>, to: PageCluster<'_>| {
            from.map(ClusterRow::place) != to.map(ClusterRow::place)
        };
        for contents in self.reassigned() {
            self.unchanged(&contents, elsewhere, |from, to, _| traffic.count(from, to));
        }
        traffic
    }

    /// Counts pages that are new or whose content changed.
    fn count_pages(&self, rows: &[PageRow], traffic: &mut Traffic) {
        let step = |rows: &[PageRow]| {
            let (before, after) = sides(rows);
            let (before, after) = (
                before.map_or(Id::NONE, |row| row.content),
                after.map_or(Id::NONE, |row| row.content),
            );
            (before != after).then_some((before, after))
        };
        let steps: Vec<(Id, Id)> = rows.chunk_by(|a, b| a.doc == b.doc).filter_map(step).collect();
        let from = self.before.clusters_of(&distinct(steps.iter().map(|(before, _)| *before)));
        let to = self.after.clusters_of(&distinct(steps.iter().map(|(_, after)| *after)));
        let known =
            self.before.clusters.matching(&distinct(to.clusters.iter().map(|row| row.component)));
        for (before, after) in steps {
            let (from, to) = (from.of(before), to.of(after));
            // A new page in a new cluster takes nothing from other clusters.
            if from.is_some() || to.is_some_and(|to| find_cluster(&known, to.place()).is_some()) {
                traffic.count(from, to);
            }
        }
    }

    /// All contents whose cluster may have got another key although their pages did not change,
    /// each once.
    ///
    /// These are the contents whose component changed, the contents whose leader changed within
    /// their component, and the contents that began or ceased to be a cluster of a single content.
    fn reassigned(&self) -> impl Iterator<Item = Vec<Id>> {
        let joined = self
            .components
            .portions(PORTION_ROWS)
            .map(|rows| distinct(rows.iter().map(|row| row.content)));
        let led = self.leaders.portions(PORTION_ROWS).map(|rows| {
            let mut contents = distinct(rows.iter().map(|row| row.content));
            without(&mut contents, &self.components);
            contents
        });
        let alone = self.clusters.portions(PORTION_ROWS).map(|rows| {
            let rows = rows.chunk_by(|a, b| a.place() == b.place()).filter(|rows| rows.len() == 1);
            // The state without this cluster has another leader for its other contents, so
            // they are found above.
            let mut contents = distinct(rows.map(|rows| rows[0].leader));
            without(&mut contents, &self.components);
            without(&mut contents, &self.leaders);
            contents
        });
        joined.chain(led).chain(alone)
    }

    /// Calls `visit` for each page that has one of `contents` (ascending) in both states, if its
    /// clusters are `wanted`.
    fn unchanged(
        &self,
        contents: &[Id],
        wanted: impl Fn(PageCluster<'_>, PageCluster<'_>) -> bool,
        mut visit: impl FnMut(PageCluster<'_>, PageCluster<'_>, Id),
    ) {
        let (from, to) = (self.before.clusters_of(contents), self.after.clusters_of(contents));
        let contents: Vec<Id> = contents
            .iter()
            .copied()
            .filter(|content| wanted(from.of(*content), to.of(*content)))
            .collect();
        for contents in by_rows(&self.before.content_pages, &contents) {
            let before: Vec<ContentPageRow> = self.before.content_pages.matching(contents);
            let after = self.after.content_pages.matching(contents);
            for page in before.iter().filter(|page| after.binary_search(page).is_ok()) {
                visit(from.of(page.content), to.of(page.content), page.doc);
            }
        }
    }

    fn transitions(&self, traffic: &Traffic) -> Transitions {
        let mut events = Vec::new();
        // Clusters that exchanged no page are decided while they are read.
        for rows in self.clusters.portions(PORTION_ROWS) {
            let (mut before, mut after, mut shared) = (Vec::new(), Vec::new(), Vec::new());
            let quiet = |rows: &&[ClusterRow]| !traffic.busy.contains(&rows[0].component);
            for rows in rows.chunk_by(|a, b| a.place() == b.place()).filter(quiet) {
                let (old, new) = sides(rows);
                shared.extend(old.zip(new).and_then(|(old, new)| traffic.stayed(old, new)));
                before.extend(old.cloned());
                after.extend(new.cloned());
            }
            transitions(&before, &after, &shared, &mut events);
        }
        let busy: Vec<Id> = traffic.busy.iter().copied().collect();
        let (before, after) =
            (self.before.clusters.matching(&busy), self.after.clusters.matching(&busy));
        let mut shared: Vec<Shared> = traffic
            .between
            .iter()
            .map(|(&(before, after), &pages)| Shared { before, after, pages })
            .collect();
        let namesake = |old: &ClusterRow| find_cluster(&after, old.place());
        let kept = || before.iter().filter_map(|old| Some((old, namesake(old)?)));
        shared.extend(kept().filter_map(|(old, new)| traffic.stayed(old, new)));
        transitions(&before, &after, &shared, &mut events);
        events.sort_unstable();
        let heirs = heirs(&shared);
        let pairs = shared.iter().map(|shared| (shared.before, shared.after));
        let not_heirs: BTreeSet<(Id, Id)> = pairs.filter(|pair| !heirs.contains(pair)).collect();
        let changed_components =
            kept().filter(|(old, new)| not_heirs.contains(&(old.cluster, new.cluster)));
        let changed_components = distinct(changed_components.map(|(old, _)| old.component));
        Transitions { events, not_heirs, changed_components }
    }

    /// The pages that moved, in order.
    fn moved(&self, transitions: &Transitions) -> Vec<Id> {
        let mut moved = Vec::new();
        if self.before.content_pages.is_empty() {
            return moved;
        }
        let wanted = |from: PageCluster<'_>, to: PageCluster<'_>| transitions.moved(from, to);
        for contents in self.reassigned() {
            self.unchanged(&contents, wanted, |_, _, doc| moved.push(doc));
        }
        for components in transitions.changed_components.chunks(PORTION_ROWS) {
            let members = self.after.component_members.matching(components);
            let contents =
                distinct(members.iter().map(|row| row.content).chain(components.iter().copied()));
            self.unchanged(&contents, wanted, |_, _, doc| moved.push(doc));
        }
        distinct(moved)
    }
}

/// Removes those of `contents` (ascending) that have a row in `table`.
fn without<R: Row<Key = Id>>(contents: &mut Vec<Id>, table: &Table<R>) {
    let there = table.matching(contents);
    contents.retain(|content| there.binary_search_by_key(content, Row::key).is_err());
}

/// The retracted row and the added row of one key.
fn sides<R: Row>(rows: &[R]) -> (Option<&R>, Option<&R>) {
    (rows.iter().find(|row| row.diff() < 0), rows.iter().find(|row| row.diff() > 0))
}

/// Some pages as they are in one state.
struct Shown {
    pages: Vec<PageRow>,
    clusters: ContentClusters,
    /// The pages that represent the clusters.
    representatives: Vec<PageRow>,
}

impl Shown {
    fn of(tables: &Tables, docs: impl Iterator<Item = Id>) -> Shown {
        let pages = tables.pages.matching(&distinct(docs));
        let clusters = tables.clusters_of(&distinct(pages.iter().map(|page| page.content)));
        let representatives = distinct(clusters.clusters.iter().map(|row| row.representative));
        let representatives = tables.pages.matching(&representatives);
        Shown { pages, clusters, representatives }
    }

    /// The bytes of the URLs of `doc` and of the page that represents it.
    fn url_bytes(&self, doc: Id) -> u64 {
        let of = |pages: &[PageRow], doc| {
            find(pages, doc).map_or(0, |page: &PageRow| u64::from(page.url_bytes))
        };
        let shown = self.cluster(doc).map_or(0, |(_, shown)| of(&self.representatives, shown));
        of(&self.pages, doc) + shown
    }

    /// The URLs of `docs` and of the pages that represent them.
    fn urls(&self, tables: &Tables, docs: impl Iterator<Item = Id>) -> Urls {
        tables.urls(docs.flat_map(|doc| [doc, self.cluster(doc).map_or(doc, |(_, shown)| shown)]))
    }

    /// The ClusterId and representative of `doc`; `doc` itself twice if it is in no cluster. `None`
    /// if it is not live.
    fn cluster(&self, doc: Id) -> Option<(Id, Id)> {
        let page = find(&self.pages, doc)?;
        Some(
            self.clusters
                .of(page.content)
                .map_or((doc, doc), |row| (row.cluster, row.representative)),
        )
    }
}

/// Writes rows in portions. Rows about clusters and about pages are filled in by the same code,
/// because a ClusterId is the DocId of a page of the cluster.
struct Writer<'a> {
    difference: &'a Difference,
    sink: Sink<Change>,
    portion: Vec<Event>,
    span: Span,
    rows: u64,
}

/// The epochs whose changes are written: those after `since` up to `epoch`.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) since: u32,
    pub(super) epoch: u32,
}

impl Writer<'_> {
    fn page(&mut self, doc: Id, change: &'static str) -> Result<()> {
        self.portion.push(Event { before: doc, after: doc, change });
        if self.portion.len() < PORTION_ROWS {
            return Ok(());
        }
        let portion = std::mem::take(&mut self.portion);
        self.write("page", &portion)
    }

    fn write(&mut self, kind: &'static str, events: &[Event]) -> Result<()> {
        let before = Shown::of(&self.difference.before, events.iter().map(|event| event.before));
        let after = Shown::of(&self.difference.after, events.iter().map(|event| event.after));
        let bytes = |event: &Event| before.url_bytes(event.before) + after.url_bytes(event.after);
        for events in by_url_bytes(events, bytes) {
            self.write_shown(kind, events, &before, &after)?;
        }
        Ok(())
    }

    fn write_shown(
        &mut self,
        kind: &'static str,
        events: &[Event],
        before: &Shown,
        after: &Shown,
    ) -> Result<()> {
        let old_urls =
            before.urls(&self.difference.before, events.iter().map(|event| event.before));
        let new_urls = after.urls(&self.difference.after, events.iter().map(|event| event.after));
        for event in events {
            let (old, new) = (before.cluster(event.before), after.cluster(event.after));
            let page = kind == "page";
            let urls = if new.is_some() { &new_urls } else { &old_urls };
            let url = page.then(|| SharedText::from(urls.of(event.after)));
            // Most pages represent themselves.
            let shown = |urls: &Urls, shown: Id| match &url {
                Some(url) if shown == event.after => url.clone(),
                _ => urls.of(shown).into(),
            };
            self.rows += 1;
            self.sink.push(Change {
                since: self.span.since,
                epoch: self.span.epoch,
                kind,
                change: event.change,
                representative_before: old
                    .map(|(_, representative)| shown(&old_urls, representative)),
                representative_after: new
                    .map(|(_, representative)| shown(&new_urls, representative)),
                url,
                doc: page.then_some(Hex(event.after)),
                cluster_before: old.map(|(cluster, _)| Hex(cluster)),
                cluster_after: new.map(|(cluster, _)| Hex(cluster)),
            })?;
        }
        Ok(())
    }
}

/// Writes to `sink` what happened between the two states of `store` at the ends of `span`. Returns
/// the number of rows. A page that disappeared is "expired" if the store remembers that it expired,
/// or, if the store does not remember the page, if `is_expired` is true for its last row. Otherwise
/// it is "removed".
pub(super) fn write(
    store: &Store,
    (before, after): (&States, &States),
    span: Span,
    is_expired: &dyn Fn(&PageRow) -> bool,
    sink: Sink<Change>,
) -> Result<(u64, Files)> {
    let difference = Difference::open(store, before, after)?;
    let mut writer = Writer { difference: &difference, sink, portion: Vec::new(), span, rows: 0 };
    let transitions = difference.transitions(&difference.traffic());
    for events in transitions.events.chunks(PORTION_ROWS) {
        writer.write("cluster", events)?;
    }
    let mut moved = difference.moved(&transitions).into_iter().peekable();
    drop(transitions);
    for rows in difference.pages.portions(PORTION_ROWS) {
        let causes = difference.causes(&rows);
        let has_expired =
            |page: &PageRow| match causes.binary_search_by_key(&page.doc, |(doc, _)| *doc) {
                Ok(at) => causes[at].1 == CAUSE_EXPIRED,
                Err(_) => is_expired(page),
            };
        for rows in rows.chunk_by(|a, b| a.doc == b.doc) {
            let change = match sides(rows) {
                (None, Some(_)) => "new",
                (Some(gone), None) if has_expired(gone) => "expired",
                (Some(_), None) => "removed",
                (Some(before), Some(after)) if before.content != after.content => "changed",
                _ => continue,
            };
            while let Some(doc) = moved.next_if(|doc| *doc < rows[0].doc) {
                writer.page(doc, "moved")?;
            }
            writer.page(rows[0].doc, change)?;
        }
    }
    moved.try_for_each(|doc| writer.page(doc, "moved"))?;
    let rest = std::mem::take(&mut writer.portion);
    writer.write("page", &rest)?;
    Ok((writer.rows, writer.sink.finish()?))
}
