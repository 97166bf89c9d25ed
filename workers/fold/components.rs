//! Finds which contents belong together after an epoch changed accepted pairs.
//!
//! A component is a set of contents that accepted pairs connect, named after its least content. A
//! content without an accepted pair is in no component. Only components that a changed pair touches
//! are computed again, each as a whole, from the stored pairs of its contents. The whole graph is
//! never loaded.
//!
//! An epoch that only adds accepted pairs, such as a first build, is fast: each worker reduces its
//! pairs to a forest, and one worker joins the forests with union-find. If an accepted pair was
//! retracted, any touched component may split. Then all remaining pairs go to
//! [`mod@crate::fold::propagate`], which distributes the work over all workers. Every worker builds
//! both branches of the dataflow; the branch that is not used receives no rows. A worker sees only
//! its own part of the epoch's pairs, so each broadcasts whether it retracted one ([`Retracted`]).

use crate::distinct::distinct;
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::graph::unionfind;
use crate::id::Id;
use crate::store::table::replacement;
use crate::tables::{ComponentRow, MemberRow, PairRow};

/// Says that this epoch retracted an accepted pair. Sent to every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Retracted {
    /// The leading bits of the first key that the receiving worker owns.
    pub to: u64,
}

/// A content whose accepted pairs changed, sent to the owner of its component before the epoch, or
/// of the content itself if it was in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Touch {
    /// The component before the epoch; the content itself if it was in none.
    pub component: Id,
    /// The content.
    pub content: Id,
}

/// Two contents of one component: an accepted pair, or an edge of a worker's forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ComponentEdge {
    /// One content.
    pub a: Id,
    /// The other content.
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

/// How the components of the touched contents are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One worker joins the forests of all.
    Join,
    /// All workers propagate labels, because an accepted pair was retracted.
    Propagate,
}

/// Emits a row for every worker if this worker retracted an accepted pair.
pub fn retracted(epoch: &Epoch, emit: &mut dyn FnMut(Retracted)) -> Result<()> {
    if epoch.accepted().retracted {
        epoch.all_workers().for_each(|to| emit(Retracted { to }));
    }
    Ok(())
}

/// Emits the contents whose accepted pairs changed.
pub fn touched(epoch: &Epoch, emit: &mut dyn FnMut(Touch)) -> Result<()> {
    let contents = &epoch.accepted().contents;
    let mut before = epoch.before::<ComponentRow>()?.matching(contents).into_iter().peekable();
    for &content in contents {
        let component =
            before.next_if(|row| row.content == content).map_or(content, |row| row.component);
        emit(Touch { component, content });
    }
    Ok(())
}

/// Emits each content of the touched components once.
pub fn spread(epoch: &Epoch, touched: &[Touch], emit: &mut dyn FnMut(Id)) -> Result<()> {
    let mut components: Vec<Id> = touched.iter().map(|touch| touch.component).collect();
    components.dedup();
    let members = epoch.before::<MemberRow>()?.matching(&components);
    let contents = touched.iter().map(|touch| touch.content);
    let contents = distinct(contents.chain(members.iter().map(|row| row.content)));
    contents.into_iter().for_each(emit);
    Ok(())
}

/// Emits the accepted pairs of the touched `contents`, which ascend: a spanning forest of them to
/// join, or all pairs. Returns the contents without an accepted pair.
pub fn edges(
    epoch: &Epoch,
    contents: &[Id],
    method: Method,
    emit: &mut dyn FnMut(ComponentEdge),
) -> Result<Vec<Id>> {
    let mut contents = contents.to_vec();
    contents.dedup();
    let pairs = epoch.after::<PairRow>()?.matching(&contents);
    let pairs: Vec<(Id, Id)> =
        pairs.iter().filter(|row| row.is_accepted()).map(|row| (row.content, row.other)).collect();
    edges_of(&pairs, method).into_iter().for_each(emit);
    contents.retain(|content| pairs.binary_search_by_key(content, |pair| pair.0).is_err());
    Ok(contents)
}

/// The edges that a worker emits for its `pairs`, which ascend. A pair is listed under each of its
/// contents that this worker owns.
fn edges_of(pairs: &[(Id, Id)], method: Method) -> Vec<ComponentEdge> {
    let edge = |(a, b): (Id, Id)| ComponentEdge { a, b };
    match method {
        // The owner of the lesser content emits the pair.
        Method::Propagate => pairs.iter().copied().filter(|(a, b)| a < b).map(edge).collect(),
        Method::Join => unionfind::forest(pairs).into_iter().map(edge).collect(),
    }
}

/// Joins the forests of all workers, and emits the component of each of their contents.
pub fn join(_: &Epoch, forests: &[ComponentEdge], emit: &mut dyn FnMut(Label)) -> Result<()> {
    let edges: Vec<(Id, Id)> = forests.iter().map(|edge| (edge.a, edge.b)).collect();
    let labels = unionfind::components(&edges).into_iter();
    labels.for_each(|(content, component)| emit(Label { content, component }));
    Ok(())
}

/// Stores the changed components of contents, and emits their changed memberships.
///
/// The touched contents of this worker are in `labels`, or in `alone` if they are in no component.
/// Both ascend.
pub fn label(
    epoch: &Epoch,
    labels: &[Label],
    alone: &[Id],
    method: Method,
    emit: &mut dyn FnMut(Membership),
) -> Result<()> {
    let computed = match method {
        Method::Join => Counter::ComponentsJoined,
        Method::Propagate => Counter::ComponentsPropagated,
    };
    let mut touched: Vec<(Id, Option<Id>)> =
        labels.iter().map(|label| (label.content, Some(label.component))).collect();
    touched.extend(alone.iter().map(|content| (*content, None)));
    touched.sort_unstable();
    let contents: Vec<Id> = touched.iter().map(|(content, _)| *content).collect();
    let mut before = epoch.before::<ComponentRow>()?.matching(&contents).into_iter().peekable();
    let mut rows = Vec::new();
    for (content, new) in touched {
        let old = before.next_if(|row| row.content == content).map(|row| row.component);
        // A component is counted once: at the content that it is named after.
        if new == Some(content) {
            epoch.count(computed, 1);
        }
        if old == Some(content) || new == Some(content) {
            epoch.count(Counter::ComponentsTouched, 1);
        }
        let row = |component| ComponentRow { content, component, diff: 1 };
        for row in replacement(old.map(row), new.map(row)) {
            emit(Membership { component: row.component, content, diff: row.diff.into() });
            rows.push(row);
        }
    }
    epoch.write(rows)
}

/// Stores the changed members of components.
pub fn components(epoch: &Epoch, changes: &[Membership]) -> Result<()> {
    let row = |m: &Membership| MemberRow {
        component: m.component,
        content: m.content,
        diff: m.diff as i8,
    };
    epoch.write(changes.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker emits a spanning forest of its pairs or, if a pair was retracted, every pair once.
    #[test]
    fn forests_or_all_pairs() {
        let id = |high| Id { high, low: 0 };
        let edge = |a, b| ComponentEdge { a: id(a), b: id(b) };
        let pairs = [(3, 5), (3, 7), (5, 3), (5, 7), (7, 3), (7, 5)].map(|(a, b)| (id(a), id(b)));
        assert_eq!(edges_of(&pairs, Method::Join), [edge(5, 3), edge(7, 3)]);
        assert_eq!(edges_of(&pairs, Method::Propagate), [edge(3, 5), edge(3, 7), edge(5, 7)]);
    }
}
