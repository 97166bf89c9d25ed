//! Finds which contents belong together after an epoch changed accepted pairs.
//!
//! A component is a set of contents that accepted pairs connect; it is named after its least content. A content without an accepted
//! pair is in none. Only components that a changed pair touches are computed again, and those whole: the contents of a
//! touched component read their stored pairs. The whole graph is never loaded.
//!
//! An epoch that only adds accepted pairs (a first build is one) takes the fast way: each worker reduces its pairs to a forest and one
//! worker joins the forests with union-find. Where an accepted pair was retracted, any touched component may come apart, and
//! the pairs that are left go to [`crate::fold::propagate`], which spreads them over all workers. Every worker builds the
//! same dataflow either way; the way that is not taken gets no rows. A worker sees only its own part of the epoch's pairs,
//! so each broadcasts whether one was retracted ([`Retracted`]).

use crate::document::{Id, range_start};
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::pairs;
use crate::graph::unionfind;
use crate::tables::{ComponentRow, MemberRow, PairRow};

/// This epoch retracted an accepted pair; sent to every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Retracted {
    /// The leading bits of the first key that the receiving worker owns.
    pub to: u64,
}

/// A content whose accepted pairs changed, sent to the owner of the component that it was in, or that is named after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Touch {
    /// The component.
    pub component: Id,
    /// The content.
    pub content: Id,
}

/// Two contents of one component: an accepted pair, or an edge of a worker's forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Edge {
    /// One content.
    pub a: Id,
    /// The other.
    pub b: Id,
}

/// The component of a content, sent to the content's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Label {
    /// The content.
    pub content: Id,
    /// Its component.
    pub component: Id,
}

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

/// Tells every worker if this one retracted an accepted pair.
pub fn retracted(epoch: &Epoch, emit: &mut dyn FnMut(Retracted)) -> Result<()> {
    if pairs::accepted(epoch)?.iter().any(|(_, _, diff)| *diff < 0) {
        (0..epoch.peers).for_each(|worker| emit(Retracted { to: range_start(worker, epoch.peers) }));
    }
    Ok(())
}

/// Sends the contents whose accepted pairs changed to the owners of their components.
pub fn touched(epoch: &Epoch, emit: &mut dyn FnMut(Touch)) -> Result<()> {
    let mut contents: Vec<Id> = pairs::accepted(epoch)?.iter().map(|(content, _, _)| *content).collect();
    contents.dedup();
    let mut before = epoch.before::<ComponentRow>()?.matching(&contents).into_iter().peekable();
    for content in contents {
        let component = before.next_if(|row| row.content == content).map_or(content, |row| row.component);
        emit(Touch { component, content });
    }
    Ok(())
}

/// Sends each content of a touched component to its owner, once.
pub fn spread(epoch: &Epoch, touched: &[Touch], emit: &mut dyn FnMut(Id)) -> Result<()> {
    let mut components: Vec<Id> = touched.iter().map(|touch| touch.component).collect();
    components.dedup();
    let mut contents: Vec<Id> = touched.iter().map(|touch| touch.content).collect();
    contents.extend(epoch.before::<MemberRow>()?.matching(&components).iter().map(|row| row.content));
    contents.sort_unstable();
    contents.dedup();
    contents.into_iter().for_each(emit);
    Ok(())
}

/// Emits the accepted pairs of the touched `contents`, which ascend: a forest of them or, if a pair was `retracted`, all. Returns the
/// contents that have none.
pub fn edges(epoch: &Epoch, contents: &[Id], retracted: bool, emit: &mut dyn FnMut(Edge)) -> Result<Vec<Id>> {
    let mut contents = contents.to_vec();
    contents.dedup();
    let pairs = epoch.after::<PairRow>()?.matching(&contents);
    let pairs: Vec<(Id, Id)> =
        pairs.iter().filter(|row| row.accepted == 1).map(|row| (row.content, row.other)).collect();
    edges_of(&pairs, retracted).into_iter().for_each(emit);
    contents.retain(|content| pairs.binary_search_by_key(content, |pair| pair.0).is_err());
    Ok(contents)
}

/// What `pairs` contribute to their components. They are sorted; each is there once under each content of this worker.
fn edges_of(pairs: &[(Id, Id)], retracted: bool) -> Vec<Edge> {
    let edge = |(a, b): (Id, Id)| Edge { a, b };
    match retracted {
        // A pair whose lesser content comes second is emitted by the owner of that content.
        true => pairs.iter().copied().filter(|(a, b)| a < b).map(edge).collect(),
        false => unionfind::forest(pairs).into_iter().map(edge).collect(),
    }
}

/// Joins the forests of all workers.
pub fn join(_: &Epoch, forests: &[Edge], emit: &mut dyn FnMut(Label)) -> Result<()> {
    let edges: Vec<(Id, Id)> = forests.iter().map(|edge| (edge.a, edge.b)).collect();
    let labels = unionfind::components(&edges).into_iter();
    labels.for_each(|(content, component)| emit(Label { content, component }));
    Ok(())
}

/// Stores the changed components of contents. `labels` and the contents `alone`, which are in no component, ascend; together they are the
/// touched contents of this worker.
pub fn label(
    epoch: &Epoch,
    labels: &[Label],
    alone: &[Id],
    retracted: bool,
    emit: &mut dyn FnMut(Membership),
) -> Result<()> {
    let computed = if retracted { Counter::ComponentsPropagated } else { Counter::ComponentsJoined };
    let mut touched: Vec<(Id, Option<Id>)> =
        labels.iter().map(|label| (label.content, Some(label.component))).collect();
    touched.extend(alone.iter().map(|content| (*content, None)));
    touched.sort_unstable();
    let contents: Vec<Id> = touched.iter().map(|(content, _)| *content).collect();
    let mut before = epoch.before::<ComponentRow>()?.matching(&contents).into_iter().peekable();
    let mut rows = Vec::new();
    for (content, new) in touched {
        let old = before.next_if(|row| row.content == content).map(|row| row.component);
        // Each component is counted once, at the content that it is named after.
        if new == Some(content) {
            epoch.count(computed, 1);
        }
        if old == Some(content) || new == Some(content) {
            epoch.count(Counter::ComponentsTouched, 1);
        }
        if old == new {
            continue;
        }
        let from = rows.len();
        rows.extend(old.map(|component| ComponentRow { content, component, diff: -1 }));
        rows.extend(new.map(|component| ComponentRow { content, component, diff: 1 }));
        rows[from..].sort_unstable();
        rows[from..].iter().for_each(|row| {
            emit(Membership { component: row.component, content, diff: i64::from(row.diff) });
        });
    }
    epoch.write(rows)
}

/// Stores the changed members of components.
pub fn components(epoch: &Epoch, changes: &[Membership]) -> Result<()> {
    let row = |m: &Membership| MemberRow { component: m.component, content: m.content, diff: m.diff as i8 };
    epoch.write(changes.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker contributes enough of its pairs to join their contents or, where a pair was retracted, every pair once.
    #[test]
    fn forests_or_all_pairs() {
        let id = |high| Id { high, low: 0 };
        let edge = |a, b| Edge { a: id(a), b: id(b) };
        let pairs = [(3, 5), (3, 7), (5, 3), (5, 7), (7, 3), (7, 5)].map(|(a, b)| (id(a), id(b)));
        assert_eq!(edges_of(&pairs, false), [edge(5, 3), edge(7, 3)]);
        assert_eq!(edges_of(&pairs, true), [edge(3, 5), edge(3, 7), edge(5, 7)]);
    }
}
