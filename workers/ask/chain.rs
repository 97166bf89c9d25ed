//! Finds the shortest chain of accepted pairs between two contents, by breadth-first search.
//!
//! Of several shortest chains it takes the one that a search in the order of digests meets first.
//! Two contents of one cluster are joined within it, as its diameter is counted: a way through
//! other clusters may be shorter, but is not why they are together.

use crate::ask::tables::Tables;
use crate::id::Id;
use crate::job::clusters;
use crate::tables::PairRow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The most contents that a search meets.
pub const CONTENTS_MAX: usize = 65_536;

/// The contents whose pairs are in memory at once.
const LOOK_CONTENTS: usize = 256;

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chain {
    /// The pairs of the chain, from the first content to the last.
    Found(Vec<PairRow>),
    /// No chain joins the two.
    None,
    /// More than [`CONTENTS_MAX`] contents were met.
    TooFar,
}

/// The shortest chain from `a` to `b`. A text that says too little joins no others, though it has
/// accepted pairs.
pub fn chain(tables: &Tables, clusters: &clusters::Options, a: Id, b: Id) -> Chain {
    let leader = tables.leader(a).filter(|leader| tables.leader(b) == Some(*leader));
    let joins = |content: Id| {
        tables.content(content).is_some_and(|row| !row.says_little(clusters))
            && leader.is_none_or(|leader| tables.leader(content) == Some(leader))
    };
    if !joins(a) || !joins(b) {
        return Chain::None;
    }
    let mut met: BTreeMap<Id, Option<PairRow>> = BTreeMap::from([(a, None)]);
    let mut edge = vec![a];
    while !edge.is_empty() && !met.contains_key(&b) {
        let mut next = Vec::new();
        let rows = edge.chunks(LOOK_CONTENTS).flat_map(|part| tables.mapped.pairs.matching(part));
        for row in rows.filter(|row| row.is_accepted()) {
            if met.len() >= CONTENTS_MAX {
                return Chain::TooFar;
            }
            if let Entry::Vacant(place) = met.entry(row.other) {
                next.push(row.other);
                place.insert(Some(row));
            }
        }
        next.retain(|content| joins(*content));
        next.sort_unstable();
        edge = next;
    }
    let (mut pairs, mut at) = (Vec::new(), b);
    while let Some(Some(row)) = met.get(&at) {
        pairs.push(row.clone());
        at = row.content;
    }
    pairs.reverse();
    if at == a { Chain::Found(pairs) } else { Chain::None }
}
