//! Components: in come the pairs that an epoch decided or dropped, out goes which contents belong together now. Only the components that such
//! a pair touches are looked at, and those whole: the contents of a touched component and of new pairs bring their
//! stored pairs. The whole graph is never loaded.
//!
//! An epoch that only joins (a first build is one) takes the fast way: each worker reduces its pairs to a forest, and one worker joins the
//! forests (in the manner of the union-find operator of timely's examples). Once an accepted pair was taken back, any touched component
//! may come apart, and the pairs that are left go to [`crate::fold::propagate`], which spreads them over all workers. A worker sees
//! only its own part of the epoch's pairs, so the news that one was taken back travels with the rows (`kind` of a
//! [`Link`]): all go the same way, whoever saw it.
//!
//! A component is named after its least digest. A content without an accepted pair is in none.

use crate::document::{Id, range_start};
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::pairs::{self, PairRow};
use crate::graph::unionfind;
use crate::store::table::table;

table! {
    /// The component of a content that has one.
    pub struct ComponentRow in "components", columns ComponentColumns {
        key { /// The content.
              content: Id }
        value { /// Its component.
                component: Id }
        history { }
    }
}

table! {
    /// A content of a component.
    pub struct MemberRow in "component_members", columns MemberColumns {
        key { /// The component.
              component: Id,
              /// The content.
              content: Id }
        value { }
        history { }
    }
}

/// What one stage tells the next about two ids, the first of which routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Link {
    /// The id whose owner is told.
    pub to: Id,
    /// The other id.
    pub with: Id,
    /// What is told, one of the constants below.
    pub kind: u64,
}

/// Content `with` is touched: component `to`, which it was in or which would bear its name, is to be looked at.
pub const ASKED: u64 = 0;
/// This epoch took an accepted pair back. `to` is the least id that the told worker owns, so that each is told.
pub const TAKEN_BACK: u64 = 1;
/// Content `to` is touched.
pub const TOUCHED: u64 = 2;
/// An edge of a worker's forest, for [`join`].
pub const TREE: u64 = 3;
/// An accepted pair, for [`crate::fold::propagate`].
pub const EDGE: u64 = 4;
/// Content `to` is in component `with`, as the joined forests say.
pub const JOINED: u64 = 5;
/// Content `to` is in component `with`, as propagation says.
pub const PROPAGATED: u64 = 6;
/// Content `to` is in no component.
pub const ALONE: u64 = 7;

/// A content that joined (+1) or left (-1) a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Membership {
    /// The component.
    pub component: Id,
    /// The content.
    pub content: Id,
    /// +1 or -1.
    pub diff: i64,
}

/// Touched contents ask the owner of the component that they were in, or of the one named after themselves, for the others; where an
/// accepted pair was taken back, every worker is told.
pub fn touched(epoch: &Epoch, give: &mut dyn FnMut(Link)) -> Result<()> {
    let changes = pairs::accepted(epoch)?;
    let taken_back = changes.iter().any(|(_, _, diff)| *diff < 0);
    let mut contents: Vec<Id> = changes.iter().map(|(content, _, _)| *content).collect();
    contents.dedup();
    if taken_back {
        let least = |worker| Id { high: range_start(worker, epoch.peers), low: 0 };
        (0..epoch.peers).for_each(|worker| give(Link { to: least(worker), with: Id::NONE, kind: TAKEN_BACK }));
    }
    let before = epoch.before::<ComponentRow>("components")?.matching(&contents);
    let mut before = before.into_iter().peekable();
    for content in contents {
        let component = before.next_if(|row| row.content == content).map_or(content, |row| row.component);
        give(Link { to: component, with: content, kind: ASKED });
    }
    Ok(())
}

/// The owner of a component tells all its contents, and those that asked, that they are touched. That a pair was taken back every worker
/// was told, and passes on to itself.
pub fn spread(epoch: &Epoch, told: &[Link], give: &mut dyn FnMut(Link)) -> Result<()> {
    let asked = || told.iter().filter(|link| link.kind == ASKED);
    let mut components: Vec<Id> = asked().map(|link| link.to).collect();
    components.dedup();
    let mut contents: Vec<Id> = asked().map(|link| link.with).collect();
    contents
        .extend(epoch.before::<MemberRow>("component_members")?.matching(&components).iter().map(|row| row.content));
    contents.sort_unstable();
    contents.dedup();
    contents.into_iter().for_each(|content| give(Link { to: content, with: content, kind: TOUCHED }));
    if let Some(taken_back) = told.iter().find(|link| link.kind == TAKEN_BACK) {
        give(*taken_back);
    }
    Ok(())
}

/// Touched contents bring the accepted pairs that they have now: a forest of them or, where a pair was taken back, all.
pub fn forests(epoch: &Epoch, told: &[Link], give: &mut dyn FnMut(Link)) -> Result<()> {
    let mut contents: Vec<Id> = told.iter().filter(|link| link.kind == TOUCHED).map(|link| link.to).collect();
    contents.dedup();
    let pairs = epoch.after::<PairRow>("pairs")?.matching(&contents);
    let pairs: Vec<(Id, Id)> =
        pairs.iter().filter(|row| row.accepted == 1).map(|row| (row.content, row.other)).collect();
    let taken_back = told.iter().any(|link| link.kind == TAKEN_BACK);
    brought(&contents, &pairs, taken_back).into_iter().for_each(give);
    Ok(())
}

/// What `contents` have to say that have `pairs`, sorted, each as its first content sees it.
fn brought(contents: &[Id], pairs: &[(Id, Id)], taken_back: bool) -> Vec<Link> {
    let paired = |content: &Id| pairs.binary_search_by_key(content, |pair| pair.0).is_ok();
    let alone = contents.iter().filter(|content| !paired(content));
    let mut links: Vec<Link> = alone.map(|&to| Link { to, with: Id::NONE, kind: ALONE }).collect();
    if taken_back {
        // The pairs seen the other way round come from the owners of their lesser contents.
        links.extend(pairs.iter().filter(|(a, b)| a < b).map(|&(to, with)| Link { to, with, kind: EDGE }));
    } else {
        links.extend(unionfind::forest(pairs).into_iter().map(|(to, with)| Link { to, with, kind: TREE }));
    }
    links
}

/// One worker joins the forests and tells each content its component.
pub fn join(_: &Epoch, trees: &[Link], give: &mut dyn FnMut(Link)) -> Result<()> {
    let edges: Vec<(Id, Id)> = trees.iter().map(|link| (link.to, link.with)).collect();
    unionfind::components(&edges).into_iter().for_each(|(to, with)| give(Link { to, with, kind: JOINED }));
    Ok(())
}

/// Stores what changed about the components of contents and tells the components.
pub fn label(epoch: &Epoch, labels: &[Link], give: &mut dyn FnMut(Membership)) -> Result<()> {
    let contents: Vec<Id> = labels.iter().map(|link| link.to).collect();
    let mut before = epoch.before::<ComponentRow>("components")?.matching(&contents).into_iter().peekable();
    let mut rows = Vec::new();
    for &Link { to: content, with, kind } in labels {
        let old = before.next_if(|row| row.content == content).map(|row| row.component);
        let new = (kind != ALONE).then_some(with);
        // The content that a component is named after counts it.
        if new == Some(content) {
            epoch.count(if kind == PROPAGATED { "components_propagated" } else { "components_joined" }, 1);
        }
        if old == Some(content) || new == Some(content) {
            epoch.count("components_touched", 1);
        }
        if old == new {
            continue;
        }
        let from = rows.len();
        rows.extend(old.map(|component| ComponentRow { content, component, diff: -1 }));
        rows.extend(new.map(|component| ComponentRow { content, component, diff: 1 }));
        rows[from..].sort_unstable();
        rows[from..].iter().for_each(|row| {
            give(Membership { component: row.component, content, diff: i64::from(row.diff) });
        });
    }
    epoch.write("components", rows)
}

/// Stores what changed about the members of components.
pub fn members(epoch: &Epoch, changes: &[Membership]) -> Result<()> {
    let row = |m: &Membership| MemberRow { component: m.component, content: m.content, diff: m.diff as i8 };
    epoch.write("component_members", changes.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contents without a pair are alone, whichever way the epoch goes; the others bring enough to join them, or every pair once.
    #[test]
    fn forests_or_all_pairs() {
        let id = |high| Id { high, low: 0 };
        let link = |to, with, kind| Link { to: id(to), with: id(with), kind };
        let contents = [3, 5, 6, 7].map(id);
        let pairs = [(3, 5), (3, 7), (5, 3), (5, 7), (7, 3), (7, 5)].map(|(a, b)| (id(a), id(b)));
        let alone = link(6, 0, ALONE);
        assert_eq!(brought(&contents, &pairs, false), [alone, link(5, 3, TREE), link(7, 3, TREE)]);
        let all = [alone, link(3, 5, EDGE), link(3, 7, EDGE), link(5, 7, EDGE)];
        assert_eq!(brought(&contents, &pairs, true), all);
    }
}
