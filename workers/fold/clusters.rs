//! Names the clusters, and the page that represents each.
//!
//! A cluster is the set of pages of the contents with one leader ([`crate::fold::leaders`]). A
//! content with several pages and no accepted pair is a cluster of its own. A cluster is named
//! after its least DocId. Its representative is a page of the leader, or one whose content has an
//! accepted pair with every other content of the cluster, as the leader has if the radius is 1. Of
//! these pages the keep rule chooses one. So with a radius of 1 every page that folds is near the
//! page that it folds into. Without a radius any page may represent. A cluster of one page has no
//! row. The pages of a text that says too little ([`ContentRow::says_little`]) are in no cluster;
//! such a text leads itself and joins no other. Touched components are computed again as a whole.
//! The former representatives ([`crate::fold::incumbents`]) only matter for the choice of the new
//! ones, and only if the keep rule reads them.

use crate::distinct::distinct;
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::incumbents::Incumbent;
use crate::fold::leaders::{self, Joined, Led, Precedence};
use crate::fold::origins::{OriginPages, PAGES_MANY};
use crate::fold::touched::{AcceptedPair, TOUCHED_ROWS, TouchedContent, TouchedPage};
use crate::graph::Graph;
use crate::id::Id;
use crate::keep::{KeepRule, Rank};
use crate::store::damage::in_rows;
use crate::store::runs::Table;
use crate::store::table::consolidate;
use crate::tables::{
    ClusterRow, ComponentRow, ContentPageRow, ContentRow, MemberRow, PageRow, PairRow, UrlRow,
};
use std::collections::{BTreeMap, BTreeSet};

/// A page of a touched component with its rank, sent to the component's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RankedPage {
    /// The component.
    pub component: Id,
    /// The page's content.
    pub content: Id,
    /// The page.
    pub doc: Id,
    /// The page's host.
    pub host: u64,
    /// The source that it was last seen in.
    pub source: u64,
    /// The page's rank by the keep rule, without regard to what it represented before.
    pub rank: Rank,
    /// The number of pages that it represented before the epoch; 0 if the rule does not read it.
    pub represented: u64,
}

/// Emits the content of each page whose rank changed but not its text, because another page may
/// represent the cluster now.
pub fn redated(epoch: &Epoch, emit: &mut dyn FnMut(Id)) -> Result<()> {
    let Some(fresh) = epoch.fresh::<PageRow>()? else { return Ok(()) };
    let rule = epoch.keep_rule();
    // A page keeps its URL, and a text its length.
    let rank = |page: &PageRow| rule.rank(page.facts(0, ""));
    let mut before: Option<PageRow> = None;
    for row in fresh.all_rows() {
        if let Some(before) = before.replace(row.clone())
            && (before.doc, before.content) == (row.doc, row.content)
            && rank(&before) != rank(&row)
        {
            emit(row.content);
        }
    }
    Ok(())
}

/// Emits the components that the epoch touched.
pub fn touched(epoch: &Epoch, redated: &[Id], emit: &mut dyn FnMut(Id)) -> Result<()> {
    if epoch.shared.plan.view_changed {
        touched_by_view(epoch, emit)?;
    }
    touched_by_rows(epoch, redated, emit)
}

/// Emits every component, and every content of several pages, because the view changed. A content
/// that was no cluster may be one now.
fn touched_by_view(epoch: &Epoch, emit: &mut dyn FnMut(Id)) -> Result<()> {
    let (from, to) = epoch.range().ids();
    epoch.before::<ClusterRow>()?.range(from, to).into_iter().for_each(|row| emit(row.component));
    for rows in epoch.before::<MemberRow>()?.portions_in(from, to, TOUCHED_ROWS) {
        rows.chunk_by(|a, b| a.component == b.component).for_each(|rows| emit(rows[0].component));
    }
    let (contents, components) = (epoch.before::<ContentRow>()?, epoch.before::<ComponentRow>()?);
    let pages = epoch.before::<ContentPageRow>()?;
    for rows in contents.portions_in(from, to, TOUCHED_ROWS) {
        let contents: Vec<Id> = rows.iter().map(|row| row.content).collect();
        let joined: BTreeSet<Id> =
            components.matching(&contents).into_iter().map(|row| row.content).collect();
        let several = contents.iter().zip(pages.counts(&contents)).filter(|(_, pages)| *pages > 1);
        several
            .filter(|(content, _)| !joined.contains(content))
            .for_each(|(content, _)| emit(*content));
    }
    Ok(())
}

/// Emits the components, before and after the epoch, of every content with changed pages, a changed
/// component, or accepted pairs that changed or got another similarity. A content that is in no
/// component counts as its own component.
fn touched_by_rows(epoch: &Epoch, redated: &[Id], emit: &mut dyn FnMut(Id)) -> Result<()> {
    let mut contents: Vec<Id> =
        redated.iter().copied().filter(|content| !content.is_none()).collect();
    if let Some(fresh) = epoch.fresh::<ContentPageRow>()? {
        contents.extend(fresh.all_keys());
    }
    if let Some(fresh) = epoch.fresh::<ComponentRow>()? {
        contents.extend(fresh.all_keys());
    }
    // A changed pair can change the diameter and the leaders of a component whose contents stay.
    contents.extend_from_slice(&epoch.accepted().contents_led);
    let contents = distinct(contents);
    let components = |table: Table<ComponentRow>| -> BTreeMap<Id, Id> {
        table.matching(&contents).into_iter().map(|row| (row.content, row.component)).collect()
    };
    let component = [components(epoch.before()?), components(epoch.after()?)];
    let pages =
        [epoch.before::<ContentPageRow>()?, epoch.after()?].map(|table| table.counts(&contents));
    for (at, content) in contents.iter().enumerate() {
        for (component, pages) in component.iter().zip(&pages) {
            match component.get(content) {
                Some(component) => emit(*component),
                None if pages[at] > 1 => emit(*content),
                // A single page is not a cluster.
                None => {}
            }
        }
    }
    Ok(())
}

/// Emits the contents of the touched `components`, which ascend. A content that is its own
/// component is its only content.
pub fn contents(
    epoch: &Epoch,
    components: &[Id],
    emit: &mut dyn FnMut(TouchedContent),
) -> Result<()> {
    let members = epoch.after::<MemberRow>()?.matching(components);
    let mut members = members.chunk_by(|a, b| a.component == b.component).peekable();
    for &component in components {
        match members.next_if(|rows| rows[0].component == component) {
            Some(rows) => {
                rows.iter().for_each(|row| emit(TouchedContent { component, content: row.content }))
            }
            None => emit(TouchedContent { component, content: component }),
        }
    }
    Ok(())
}

/// Emits the touched contents of this worker that are still in the component they were touched for.
/// A content that was its own component and has joined others since is left out.
pub fn current(
    epoch: &Epoch,
    touched: &[TouchedContent],
    emit: &mut dyn FnMut(TouchedContent),
) -> Result<()> {
    let mut contents: Vec<Id> = touched.iter().map(|touched| touched.content).collect();
    contents.dedup();
    let components = epoch.after::<ComponentRow>()?.matching(&contents);
    let components: BTreeMap<Id, Id> =
        components.into_iter().map(|row| (row.content, row.component)).collect();
    let is_current = |one: &&TouchedContent| {
        components.get(&one.content).copied().unwrap_or(one.content) == one.component
    };
    touched.iter().filter(is_current).for_each(|one| emit(*one));
    Ok(())
}

/// Emits the pages of touched contents that do not say too little.
pub fn pages(
    epoch: &Epoch,
    touched: &[TouchedContent],
    emit: &mut dyn FnMut(TouchedPage),
) -> Result<()> {
    let options = &epoch.shared.job.clusters;
    let mut contents: Vec<Id> = touched.iter().map(|touched| touched.content).collect();
    let rows = epoch.after::<ContentRow>()?.matching(&contents).into_iter();
    let chars: BTreeMap<Id, u32> =
        rows.filter(|row| !row.says_little(options)).map(|row| (row.content, row.chars)).collect();
    contents.retain(|content| chars.contains_key(content));
    let pages = epoch.after::<ContentPageRow>()?.matching(&contents);
    let mut pages = pages.chunk_by(|a, b| a.content == b.content).peekable();
    for &TouchedContent { component, content } in touched {
        let Some(chars) = chars.get(&content).copied().map(u64::from) else { continue };
        let rows = pages.next_if(|rows| rows[0].content == content).unwrap_or_default();
        rows.iter().for_each(|row| emit(TouchedPage { doc: row.doc, component, content, chars }));
    }
    Ok(())
}

/// Emits the accepted pairs of touched contents, each from its lesser content.
pub fn accepted_pairs(
    epoch: &Epoch,
    touched: &[TouchedContent],
    emit: &mut dyn FnMut(AcceptedPair),
) -> Result<()> {
    let contents: Vec<Id> = touched.iter().map(|touched| touched.content).collect();
    let rows = epoch.after::<PairRow>()?.matching(&contents);
    let mut rows = rows.chunk_by(|a, b| a.content == b.content).peekable();
    for &TouchedContent { component, content } in touched {
        let rows = rows.next_if(|rows| rows[0].content == content).unwrap_or_default();
        for row in rows.iter().filter(|row| row.is_accepted() && content < row.other) {
            emit(AcceptedPair {
                component,
                a: content,
                b: row.other,
                similarity: row.similarity.into(),
            });
        }
    }
    Ok(())
}

/// Emits the touched pages with their ranks by the keep rule. `incumbents` are the pages among them
/// that represented pages before the epoch. Both ascend.
pub fn rank(
    epoch: &Epoch,
    touched: &[TouchedPage],
    incumbents: &[Incumbent],
    emit: &mut dyn FnMut(RankedPage),
) -> Result<()> {
    let rule = epoch.keep_rule();
    let mut incumbents = incumbents.iter().peekable();
    let (pages, urls) = (epoch.after::<PageRow>()?, epoch.after::<UrlRow>()?);
    for touched in touched.chunks(TOUCHED_ROWS) {
        let docs: Vec<Id> = touched.iter().map(|touched| touched.doc).collect();
        let urls = if rule.reads_urls() { urls.matching(&docs) } else { Vec::new() };
        let (rows, mut urls) = (pages.matching(&docs), urls.iter().peekable());
        let mut rows = rows.iter().peekable();
        for &TouchedPage { doc, component, content, chars } in touched {
            let Some(page) = rows.next_if(|page| page.doc == doc) else {
                let what = format_args!("page {doc} of content {content} is missing");
                return Err(in_rows::<PageRow>(what));
            };
            let url =
                urls.next_if(|url| url.doc == doc).map_or_else(Default::default, UrlRow::text);
            let rank = rule.rank(page.facts(chars as u32, &url));
            let (host, source) = (page.host, page.source.into());
            let represented = incumbents.next_if(|one| one.doc == doc).map_or(0, |one| one.pages);
            emit(RankedPage { component, content, doc, host, source, rank, represented });
        }
    }
    Ok(())
}

/// The clusters of a component.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ComponentClusters {
    /// The clusters of two or more pages, in order of leader.
    pub(crate) rows: Vec<ClusterRow>,
    /// The leader of each content, in order of content. Empty for a content that is in no
    /// component.
    pub(crate) led: Vec<Led>,
}

/// Computes the clusters of `component` from its `pages`, without those of contents that say too
/// little, and all its accepted `pairs`, both sorted.
pub(crate) fn clusters_of(
    component: Id,
    pages: &[RankedPage],
    pairs: &[AcceptedPair],
    radius: u8,
    rule: &KeepRule,
) -> ComponentClusters {
    let mut contents: BTreeMap<Id, Precedence> = BTreeMap::new();
    for page in pages {
        let precedence = (page.rank, page.doc);
        contents
            .entry(page.content)
            .and_modify(|best| *best = precedence.min(*best))
            .or_insert(precedence);
    }
    if pairs.is_empty() {
        // A content in no component.
        let cluster = cluster((component, component), &Vec::from_iter(pages), &[], radius, rule);
        return ComponentClusters { rows: cluster.into_iter().collect(), led: Vec::new() };
    }
    let all = pairs.iter().flat_map(|pair| [pair.a, pair.b]);
    let apart: BTreeSet<Id> = all.filter(|content| !contents.contains_key(content)).collect();
    let joined: Vec<Joined> = pairs.iter().map(|pair| (pair.a, pair.b, pair.similarity)).collect();
    let mut led = leaders::lead(contents.into_iter().collect(), &joined, radius);
    led.extend(apart.into_iter().map(|content| Led { content, leader: content }));
    led.sort_unstable();
    let number = |content: Id| led.binary_search_by_key(&content, |led| led.content).ok();
    let leader = |content: Id| number(led[number(content)?].leader);
    // For each leader, in order: its pages, and the pairs whose contents it both leads.
    let mut led_pages: Vec<(usize, &RankedPage)> =
        pages.iter().filter_map(|page| Some((leader(page.content)?, page))).collect();
    let both = |pair: &AcceptedPair| leader(pair.a).filter(|one| leader(pair.b) == Some(*one));
    let mut led_pairs: Vec<(usize, Id, Id)> =
        pairs.iter().filter_map(|pair| Some((both(pair)?, pair.a, pair.b))).collect();
    led_pages.sort_unstable();
    led_pairs.sort_unstable();
    let mut rest = led_pairs.as_slice();
    let mut rows = Vec::new();
    for pages in led_pages.chunk_by(|a, b| a.0 == b.0) {
        let at = pages[0].0;
        let (pairs, later) = rest.split_at(rest.partition_point(|pair| pair.0 <= at));
        // Leaders without pages, which say too little, have no pairs of their own.
        rest = later;
        let pages: Vec<&RankedPage> = pages.iter().map(|(_, page)| *page).collect();
        let pairs: Vec<(Id, Id)> = pairs.iter().map(|(_, a, b)| (*a, *b)).collect();
        rows.extend(cluster((component, led[at].content), &pages, &pairs, radius, rule));
    }
    ComponentClusters { rows, led }
}

/// The cluster of `pages`, whose contents are connected by `pairs`. None for fewer than two pages.
fn cluster(
    (component, leader): (Id, Id),
    pages: &[&RankedPage],
    pairs: &[(Id, Id)],
    radius: u8,
    rule: &KeepRule,
) -> Option<ClusterRow> {
    if pages.len() < 2 {
        return None;
    }
    let contents = distinct(pages.iter().map(|page| page.content));
    let hosts = distinct(pages.iter().map(|page| page.host));
    let graph = Graph::new(&contents, pairs.iter().copied());
    // Pairs are distinct. So a content whose neighbours are one fewer than the contents has a pair
    // with all others.
    let covers = |content: Id| {
        let neighbours = |at| graph.neighbours(at).count() + 1;
        contents.binary_search(&content).is_ok_and(|at| neighbours(at) == contents.len())
    };
    let may_represent =
        |page: &&&RankedPage| radius == 0 || page.content == leader || covers(page.content);
    let order =
        |page: &&&RankedPage| (rule.with_represented(page.rank, page.represented), page.doc);
    Some(ClusterRow {
        component,
        leader,
        cluster: pages.iter().map(|page| page.doc).min()?,
        pages: pages.len() as u32,
        contents: contents.len() as u32,
        hosts: hosts.len() as u32,
        diameter: graph.diameter(),
        representative: pages.iter().filter(may_represent).min_by_key(order)?.doc,
        diff: 1,
    })
}

/// Stores the changed clusters of the touched `components`, and emits the leaders of their
/// contents.
///
/// `pages` and `pairs` are all pages and accepted pairs of these components. All three ascend.
pub fn clusters(
    epoch: &Epoch,
    components: &[Id],
    mut pages: &[RankedPage],
    mut pairs: &[AcceptedPair],
    emit: &mut dyn FnMut(Led),
) -> Result<()> {
    let before = epoch.before::<ClusterRow>()?.matching(components);
    let mut before = before.chunk_by(|a, b| a.component == b.component).peekable();
    let mut rows = Vec::new();
    let mut origin_pages = OriginPages::default();
    let (rule, radius) = (epoch.keep_rule(), epoch.shared.job.clusters.radius);
    for &component in components {
        epoch.record_progress();
        let old = before.next_if(|rows| rows[0].component == component).unwrap_or_default();
        let (own_pages, own_pairs);
        (own_pages, pages) =
            pages.split_at(pages.partition_point(|page| page.component <= component));
        (own_pairs, pairs) =
            pairs.split_at(pairs.partition_point(|pair| pair.component <= component));
        let ComponentClusters { rows: new, led } =
            clusters_of(component, own_pages, own_pairs, radius, &rule);
        let retracted = old.iter().map(|row| ClusterRow { diff: -1, ..row.clone() });
        let changes = consolidate(retracted.chain(new).collect());
        for row in &changes {
            let counter = if row.diff > 0 { Counter::FoldedMore } else { Counter::FoldedLess };
            epoch.count(counter, u64::from(row.pages) - 1);
        }
        let large = |row: &&ClusterRow| row.diff > 0 && u64::from(row.pages) >= PAGES_MANY;
        let large: BTreeSet<Id> = changes.iter().filter(large).map(|row| row.leader).collect();
        if !large.is_empty() {
            let leader = |content| {
                led.binary_search_by_key(&content, |led| led.content)
                    .map_or(content, |at| led[at].leader)
            };
            let places =
                own_pages.iter().map(|page| (leader(page.content), page.source as u16, page.host));
            origin_pages.add(places.filter(|(leader, ..)| large.contains(leader)));
        }
        rows.extend(changes);
        led.into_iter().for_each(&mut *emit);
    }
    epoch.keep_origin_pages(origin_pages);
    epoch.write(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keep::{Criterion, Options};

    fn id(high: u64) -> Id {
        Id { high, low: 0 }
    }

    fn page(content: u64, doc: u64, rank: u64) -> RankedPage {
        let (component, content, doc) = (id(1), id(content), id(doc));
        let mut of = Rank::default();
        of[1] = rank;
        RankedPage { component, content, doc, host: 0, source: 0, rank: of, represented: 0 }
    }

    fn rule(by: Criterion) -> KeepRule {
        KeepRule::new(&Options { by: vec![by], ..Options::default() }, &[""; 0])
    }

    fn pair(a: u64, b: u64) -> AcceptedPair {
        AcceptedPair { component: id(1), a: id(a), b: id(b), similarity: 9000 }
    }

    /// A cluster is named after its least DocId and represented by the page of least rank, ties by
    /// DocId. A single page is not a cluster.
    #[test]
    fn least_rank_represents() {
        let pages = [page(1, 5, 7), page(1, 9, 3), page(2, 8, 3)];
        let rows = |pages: &[RankedPage], pairs: &[AcceptedPair]| {
            clusters_of(id(1), pages, pairs, 1, &rule(Criterion::Https)).rows
        };
        let row = &rows(&pages, &[pair(1, 2)])[0];
        assert_eq!(
            (row.cluster, row.representative, row.pages, row.contents),
            (id(5), id(8), 3, 2)
        );
        assert_eq!(rows(&pages[..1], &[]), []);
        assert_eq!(rows(&pages[..2], &[])[0].representative, id(9));
    }

    /// The page that the keep rule prefers represented texts with which it has no accepted pair. It
    /// represents its cluster only if it has an accepted pair with each text; otherwise the
    /// leader's page does.
    #[test]
    fn the_representative_is_near_all_that_fold() {
        let pages = [page(1, 5, 0), page(2, 6, 9), page(3, 7, 8)];
        let rule = rule(Criterion::Https);
        let shown = |pairs: &[AcceptedPair], radius| {
            clusters_of(id(1), &pages, pairs, radius, &rule).rows[0].representative
        };
        assert_eq!(shown(&[pair(1, 2), pair(2, 3)], 1), id(6));
        assert_eq!(shown(&[pair(1, 2), pair(1, 3), pair(2, 3)], 1), id(5));
        assert_eq!(shown(&[pair(1, 2), pair(2, 3)], 0), id(5));
    }

    /// A content that says too little has no pages here. It joins no other content and leads
    /// itself, so its pages are in no cluster.
    #[test]
    fn a_content_without_pages_joins_nothing() {
        let pages = [page(2, 6, 9), page(3, 7, 8), page(3, 8, 8)];
        for radius in [0, 1, 2] {
            let ComponentClusters { rows, led } = clusters_of(
                id(1),
                &pages,
                &[pair(1, 2), pair(1, 3)],
                radius,
                &rule(Criterion::Https),
            );
            assert_eq!(led, [1, 2, 3].map(|n| Led { content: id(n), leader: id(n) }));
            assert_eq!(
                rows.iter().map(|row| (row.leader, row.pages)).collect::<Vec<_>>(),
                [(id(3), 2)]
            );
        }
    }

    /// Incumbents change who represents a cluster, but never who leads it or which pages are in it.
    /// A page that was chosen is chosen again if it is the incumbent.
    #[test]
    fn incumbents_only_represent() {
        let rule = KeepRule::new(
            &Options { by: vec![Criterion::Incumbent, Criterion::Https], ..Options::default() },
            &[""; 0],
        );
        let of = |content, doc, rank: u64, represented| {
            let mut page = RankedPage { represented, ..page(content, doc, 0) };
            page.rank[2] = rank;
            page
        };
        let pairs = [pair(1, 2), pair(2, 3)];
        let with = |represented: [u64; 4]| {
            let pages = [(1, 5, 0), (2, 6, 8), (2, 7, 7), (3, 8, 9)];
            let pages = pages
                .into_iter()
                .zip(represented)
                .map(|((content, doc, rank), pages)| of(content, doc, rank, pages));
            clusters_of(id(1), &Vec::from_iter(pages), &pairs, 1, &rule)
        };
        let first = with([0; 4]);
        for (represented, shown) in [
            ([0; 4], 7),
            ([0, 2, 0, 0], 6),
            ([0, 2, 3, 0], 7),
            ([0, 2, 2, 0], 7),
            // A page that is near only a part of the cluster does not represent it any more.
            ([9, 2, 0, 9], 6),
        ] {
            let found = with(represented);
            assert_eq!(found.rows[0].representative, id(shown), "{represented:?}");
            assert_eq!(found.led, first.led);
            assert_eq!(
                ClusterRow { representative: id(7), ..found.rows[0].clone() },
                first.rows[0]
            );
            let again = [5, 6, 7, 8].map(|doc| if doc == shown { 4 } else { 0 });
            assert_eq!(with(again), found);
        }
    }
}
