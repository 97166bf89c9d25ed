//! Clusters: in comes whatever an epoch changed about pages and components, out go the clusters that a user sees. A cluster is the pages of a
//! component's contents, or of those that one of them leads where the job sets a radius ([`crate::fold::leaders`]), or of one content that has
//! several; it bears its least DocId and is represented by the page that the keep rule prefers. Clusters of one page have no row. Only
//! touched components are made anew, and those whole.

use crate::document::Id;
use crate::error::Result;
use crate::fold::components::{ComponentRow, MemberRow};
use crate::fold::contents::{ContentPageRow, ContentRow};
use crate::fold::epoch::Epoch;
use crate::fold::leaders::{self, Led, Turn};
use crate::fold::pairs::{self, PairRow};
use crate::graph::Graph;
use crate::graph::keep::{KeepRule, Rank};
use crate::store::runs::Table;
use crate::store::table::{consolidate, table};
use crate::tables::pages::PageRow;
use std::collections::BTreeMap;

table! {
    /// A cluster of two pages or more.
    pub struct ClusterRow in "clusters", columns ClusterColumns {
        key { /// Its component, or its only content.
              component: Id,
              /// The content that leads it; without a radius the component's least.
              leader: Id }
        value { /// Its ClusterId: the least DocId of its pages.
                cluster: Id,
                /// Pages.
                pages: u32,
                /// Contents.
                contents: u32,
                /// Hosts.
                hosts: u32,
                /// Greatest number of accepted pairs on a shortest chain, within the cluster, between two of its contents; above
                /// [`crate::graph::DIAMETER_CONTENTS_MAX`] contents a lower bound, of which the true one is at most twice.
                diameter: u32,
                /// DocId of the page that represents it.
                representative: Id }
        history { }
    }
}

/// Something about a component on its way to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Fact {
    /// The component.
    pub component: Id,
    /// [`TOUCHED`], [`CONTENT`], [`PAGE`] or [`PAIR`].
    pub kind: u64,
    /// A content of it.
    pub content: Id,
    /// The page, or the other content of the pair.
    pub other: Id,
    /// The page's host.
    pub host: u64,
    /// The page's rank by the keep rule; on the way to the page's owner, the content's length.
    pub rank: Rank,
}

/// The component is to be made anew, though it may have nothing left.
pub const TOUCHED: u64 = 0;
/// The component has this content.
pub const CONTENT: u64 = 1;
/// The component has this page.
pub const PAGE: u64 = 2;
/// The component has this accepted pair.
pub const PAIR: u64 = 3;

impl Fact {
    /// A fact of that kind, without host and rank.
    pub(crate) fn new(component: Id, kind: u64, content: Id, other: Id) -> Fact {
        Fact { component, kind, content, other, host: 0, rank: Rank::default() }
    }

    /// What routes it to the one who can say more: a content to its owner, a page to its owner.
    pub fn routing_key(&self) -> u64 {
        match self.kind {
            CONTENT => self.content.high,
            PAGE => self.other.high,
            _ => self.component.high,
        }
    }
}

/// A page that got another date and kept its text tells the owner of the text: it may represent the cluster now, or no longer.
pub fn redated(epoch: &Epoch, give: &mut dyn FnMut(Id)) -> Result<()> {
    let Some(fresh) = epoch.fresh::<PageRow>("pages")? else { return Ok(()) };
    let mut before: Option<PageRow> = None;
    for row in (0..fresh.len()).map(|at| fresh.row(at)) {
        if let Some(before) = before.replace(row.clone())
            && (before.doc, before.content) == (row.doc, row.content)
            && before.date != row.date
        {
            give(row.content);
        }
    }
    Ok(())
}

/// Contents whose pages, component or accepted pairs changed touch the component that they are in and the one that they were in; one without stands
/// for itself; `redated` are among them. Where the view changed every cluster is touched.
pub fn touched(epoch: &Epoch, redated: &[Id], give: &mut dyn FnMut(Fact)) -> Result<()> {
    if epoch.plan.view_changed {
        let (from, to) = epoch.id_range();
        let rows = epoch.before::<ClusterRow>("clusters")?.range(from, to);
        rows.into_iter().for_each(|row| give(Fact::new(row.component, TOUCHED, Id::NONE, Id::NONE)));
    }
    let mut contents: Vec<Id> = redated.iter().copied().filter(|content| !content.is_none()).collect();
    if let Some(fresh) = epoch.fresh::<ContentPageRow>("content_pages")? {
        contents.extend((0..fresh.len()).map(|at| fresh.key(at)));
    }
    if let Some(fresh) = epoch.fresh::<ComponentRow>("components")? {
        contents.extend((0..fresh.len()).map(|at| fresh.key(at)));
    }
    // Pairs within a component may change and leave it as it is, but for its diameter and for who leads whom.
    contents.extend(pairs::accepted(epoch)?.into_iter().map(|(content, _, _)| content));
    contents.sort_unstable();
    contents.dedup();
    let components = |table: Table<ComponentRow>| -> BTreeMap<Id, Id> {
        table.matching(&contents).into_iter().map(|row| (row.content, row.component)).collect()
    };
    let pages = |table: Table<ContentPageRow>| -> BTreeMap<Id, usize> {
        let rows = table.matching(&contents);
        rows.chunk_by(|a, b| a.content == b.content).map(|rows| (rows[0].content, rows.len())).collect()
    };
    let component = [components(epoch.before("components")?), components(epoch.after("components")?)];
    let pages = [pages(epoch.before("content_pages")?), pages(epoch.after("content_pages")?)];
    for content in &contents {
        for (component, pages) in component.iter().zip(&pages) {
            match component.get(content) {
                Some(component) => give(Fact::new(*component, TOUCHED, Id::NONE, Id::NONE)),
                None if pages.get(content).is_some_and(|pages| *pages > 1) => {
                    give(Fact::new(*content, TOUCHED, Id::NONE, Id::NONE));
                }
                // One page of one content is no cluster.
                None => {}
            }
        }
    }
    Ok(())
}

/// The owner of a touched component names its contents; a content that stands for itself is its own.
pub fn name_contents(epoch: &Epoch, touched: &[Fact], give: &mut dyn FnMut(Fact)) -> Result<()> {
    let mut components: Vec<Id> = touched.iter().map(|fact| fact.component).collect();
    components.dedup();
    let members = epoch.after::<MemberRow>("component_members")?.matching(&components);
    let mut members = members.chunk_by(|a, b| a.component == b.component).peekable();
    for component in components {
        give(Fact::new(component, TOUCHED, Id::NONE, Id::NONE));
        match members.next_if(|rows| rows[0].component == component) {
            Some(rows) => rows.iter().for_each(|row| give(Fact::new(component, CONTENT, row.content, Id::NONE))),
            None => give(Fact::new(component, CONTENT, component, Id::NONE)),
        }
    }
    Ok(())
}

/// The owner of a content names its pages and its accepted pairs; all other facts pass.
pub fn name_pages(epoch: &Epoch, facts: &[Fact], give: &mut dyn FnMut(Fact)) -> Result<()> {
    let mut asked: Vec<&Fact> = facts.iter().filter(|fact| fact.kind == CONTENT).collect();
    facts.iter().filter(|fact| fact.kind != CONTENT).for_each(|fact| give(*fact));
    asked.sort_unstable_by_key(|fact| fact.content);
    let mut contents: Vec<Id> = asked.iter().map(|fact| fact.content).collect();
    contents.dedup();
    let components = epoch.after::<ComponentRow>("components")?.matching(&contents);
    let components: BTreeMap<Id, Id> = components.into_iter().map(|row| (row.content, row.component)).collect();
    let chars = epoch.after::<ContentRow>("contents")?.matching(&contents);
    let chars: BTreeMap<Id, u32> = chars.into_iter().map(|row| (row.content, row.chars)).collect();
    let pages = epoch.after::<ContentPageRow>("content_pages")?.matching(&contents);
    let pairs = epoch.after::<PairRow>("pairs")?.matching(&contents);
    for &&Fact { component, content, .. } in &asked {
        // Whoever stood for itself and has joined others since is no cluster of its own.
        if components.get(&content).copied().unwrap_or(content) != component {
            continue;
        }
        let start = pages.partition_point(|row| row.content < content);
        for page in pages[start..].iter().take_while(|row| row.content == content) {
            let mut fact = Fact::new(component, PAGE, content, page.doc);
            fact.rank[0] = u64::from(chars.get(&content).copied().unwrap_or(0));
            give(fact);
        }
        let start = pairs.partition_point(|row| row.content < content);
        for pair in pairs[start..].iter().take_while(|row| row.content == content) {
            if pair.accepted == 1 && content < pair.other {
                give(Fact::new(component, PAIR, content, pair.other));
            }
        }
    }
    Ok(())
}

/// The owner of a page ranks it; all other facts pass.
pub fn rank_pages(epoch: &Epoch, facts: &[Fact], give: &mut dyn FnMut(Fact)) -> Result<()> {
    let rule = KeepRule::new(&epoch.job.keep);
    let mut asked: Vec<Fact> = facts.iter().filter(|fact| fact.kind == PAGE).copied().collect();
    facts.iter().filter(|fact| fact.kind != PAGE).for_each(|fact| give(*fact));
    asked.sort_unstable_by_key(|fact| fact.other);
    let docs: Vec<Id> = asked.iter().map(|fact| fact.other).collect();
    let pages = epoch.after::<PageRow>("pages")?.matching(&docs);
    let mut pages = pages.iter().peekable();
    for mut fact in asked {
        let Some(page) = pages.next_if(|page| page.doc == fact.other) else {
            return Err(crate::error::Error::internal(format!("page {} of {} is missing", fact.other, fact.content)));
        };
        fact.rank = rule.rank(page.facts(fact.rank[0] as u32));
        fact.host = page.host;
        give(fact);
    }
    Ok(())
}

/// The clusters of a component.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    /// Those of two pages or more, by leader.
    pub(crate) rows: Vec<ClusterRow>,
    /// Who leads whom, by content; nothing without a radius, and of a content that stands for itself.
    pub(crate) led: Vec<Led>,
}

/// The clusters that `facts`, sorted and all of one component, make.
pub(crate) fn made(facts: &[Fact], radius: Option<u8>) -> Made {
    let Some(component) = facts.first().map(|fact| fact.component) else { return Made::default() };
    let of_kind = |kind| facts.iter().filter(move |fact| fact.kind == kind);
    let mut contents: BTreeMap<Id, Turn> = BTreeMap::new();
    for page in of_kind(PAGE) {
        let turn = (page.rank, page.other);
        contents.entry(page.content).and_modify(|best| *best = turn.min(*best)).or_insert(turn);
    }
    let radius = match radius {
        Some(radius) if contents.len() > 1 => radius,
        _ => {
            let (pages, pairs): (Vec<&Fact>, Vec<&Fact>) = (of_kind(PAGE).collect(), of_kind(PAIR).collect());
            return Made { rows: cluster(component, component, &pages, &pairs).into_iter().collect(), led: Vec::new() };
        }
    };
    let pairs = of_kind(PAIR).map(|pair| (pair.content, pair.other));
    let led = leaders::lead(contents.into_iter().collect(), pairs, radius);
    let number = |content: Id| led.binary_search_by_key(&content, |led| led.content).ok();
    let leader = |content: Id| number(led[number(content)?].leader);
    // The leader's number and the fact's: sorted, each leader's pages come before its pairs, as facts do.
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for (at, fact) in facts.iter().enumerate() {
        let part = match fact.kind {
            PAGE => leader(fact.content),
            PAIR => leader(fact.content).filter(|one| leader(fact.other) == Some(*one)),
            _ => None,
        };
        parts.extend(part.map(|leader| (leader as u32, at as u32)));
    }
    parts.sort_unstable();
    let mut rows = Vec::new();
    for parts in parts.chunk_by(|a, b| a.0 == b.0) {
        let facts: Vec<&Fact> = parts.iter().map(|part| &facts[part.1 as usize]).collect();
        let (pages, pairs) = facts.split_at(facts.partition_point(|fact| fact.kind == PAGE));
        rows.extend(cluster(component, led[parts[0].0 as usize].content, pages, pairs));
    }
    Made { rows, led }
}

/// The cluster of `pages`, whose contents `pairs` join; none of fewer than two pages.
fn cluster(component: Id, leader: Id, pages: &[&Fact], pairs: &[&Fact]) -> Option<ClusterRow> {
    if pages.len() < 2 {
        return None;
    }
    let distinct = |mut ids: Vec<Id>| {
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let contents = distinct(pages.iter().map(|page| page.content).collect());
    let hosts = distinct(pages.iter().map(|page| Id { high: page.host, low: 0 }).collect());
    Some(ClusterRow {
        component,
        leader,
        cluster: pages.iter().map(|page| page.other).min()?,
        pages: pages.len() as u32,
        contents: contents.len() as u32,
        hosts: hosts.len() as u32,
        diameter: Graph::new(&contents, pairs.iter().map(|pair| (pair.content, pair.other))).diameter(),
        representative: pages.iter().min_by_key(|page| (page.rank, page.other))?.other,
        diff: 1,
    })
}

/// Stores what changed about clusters and tells contents who leads them; `facts` are sorted and this worker owns their components.
pub fn clusters(epoch: &Epoch, facts: &[Fact], give: &mut dyn FnMut(Led)) -> Result<()> {
    let mut components: Vec<Id> = facts.iter().map(|fact| fact.component).collect();
    components.dedup();
    let before = epoch.before::<ClusterRow>("clusters")?.matching(&components);
    let mut before = before.chunk_by(|a, b| a.component == b.component).peekable();
    let mut rows = Vec::new();
    for facts in facts.chunk_by(|a, b| a.component == b.component) {
        let old = before.next_if(|rows| rows[0].component == facts[0].component).unwrap_or_default();
        let Made { rows: new, led } = made(facts, epoch.job.clusters.radius);
        led.into_iter().for_each(&mut *give);
        let taken = old.iter().map(|row| ClusterRow { diff: -1, ..row.clone() });
        let changes = consolidate(taken.chain(new).collect());
        for row in &changes {
            epoch.count(if row.diff > 0 { "folded_more" } else { "folded_less" }, u64::from(row.pages) - 1);
        }
        rows.extend(changes);
    }
    epoch.write("clusters", rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(high: u64) -> Id {
        Id { high, low: 0 }
    }

    /// A cluster bears its least DocId and is represented by the page of least rank, ties by DocId; one page is none.
    #[test]
    fn who_represents() {
        let page = |content, doc, rank| Fact { rank: [0, rank, 0, 0], ..Fact::new(id(1), PAGE, id(content), id(doc)) };
        let facts = [Fact::new(id(1), TOUCHED, id(0), id(0)), page(1, 9, 3), page(1, 5, 7), page(2, 8, 3)];
        let made = |facts: &[Fact]| made(facts, None).rows;
        let row = &made(&facts)[0];
        assert_eq!((row.cluster, row.representative, row.pages, row.contents), (id(5), id(8), 3, 2));
        assert_eq!(made(&facts[..2]), []);
    }
}
