//! Union-find over sparse ids: finds the connected components of a list of edges.
//!
//! A component is identified by its least id. Ids are numbered in order, and a union links the
//! greater root to the lesser one, so that the root of a component is its least id. Finds halve
//! paths (Tarjan, van Leeuwen: "Worst-case analysis of set union algorithms", JACM 31(2), 1984). We
//! differ by linking by id, not by rank or size: with path halving an operation still takes
//! amortised logarithmic time.

use crate::distinct::distinct;
use crate::id::Id;

/// For each id in `edges` the least id of its component, in order of id.
///
/// ```
/// use workers::id::Id;
/// use workers::graph::unionfind::{components, forest};
///
/// let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(|high| Id { high, low: 0 });
/// let edges = [(b, c), (a, b), (a, c), (d, e)];
/// assert_eq!(components(&edges), [(a, a), (b, a), (c, a), (d, d), (e, d)]);
/// assert_eq!(forest(&edges), [(b, a), (c, a), (e, d)]);
/// ```
pub fn components(edges: &[(Id, Id)]) -> Vec<(Id, Id)> {
    let ids = distinct(edges.iter().flat_map(|&(a, b)| [a, b]));
    let number = |id: Id| ids.binary_search(&id).map_or(0, |n| n as u32);
    let mut parents: Vec<u32> = (0..ids.len() as u32).collect();
    for &(a, b) in edges {
        let (a, b) = (find(&mut parents, number(a)), find(&mut parents, number(b)));
        parents[a.max(b) as usize] = a.min(b);
    }
    (0..ids.len()).map(|n| (ids[n], ids[find(&mut parents, n as u32) as usize])).collect()
}

/// A spanning forest of `edges`: one edge for each id that is not the least of its component.
pub fn forest(edges: &[(Id, Id)]) -> Vec<(Id, Id)> {
    components(edges).into_iter().filter(|(id, least)| id != least).collect()
}

fn find(parents: &mut [u32], mut n: u32) -> u32 {
    while parents[n as usize] != n {
        parents[n as usize] = parents[parents[n as usize] as usize];
        n = parents[n as usize];
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Components equal those of spreading the least label along edges until nothing changes.
        /// The forests of two parts of the edges have the same components as the whole.
        #[test]
        fn equals_label_spreading(pairs in prop::collection::vec((0u64..60, 0u64..60), 0..80)) {
            let edges: Vec<(Id, Id)> =
                pairs.iter().map(|&(a, b)| (Id { high: a, low: 0 }, Id { high: b, low: 0 })).collect();
            let mut labels: BTreeMap<Id, Id> = edges.iter().flat_map(|&(a, b)| [(a, a), (b, b)]).collect();
            loop {
                let before = labels.clone();
                for (a, b) in &edges {
                    let least = labels[a].min(labels[b]);
                    labels.insert(*a, least);
                    labels.insert(*b, least);
                }
                if labels == before {
                    break;
                }
            }
            let plain: Vec<(Id, Id)> = labels.into_iter().collect();
            prop_assert_eq!(&components(&edges), &plain);
            let (left, right) = edges.split_at(edges.len() / 2);
            let mut joined = components(&[forest(left), forest(right)].concat());
            joined.retain(|(id, least)| id != least);
            prop_assert_eq!(joined, forest(&edges));
        }
    }
}
