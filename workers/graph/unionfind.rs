//! Union-find over sparse ids: in come edges, out goes for each id the least id that it is joined to. Ids are numbered in order, so that the
//! least number of a component is its least id; union hangs the greater root under the lesser, and finds halve paths (Tarjan, van
//! Leeuwen, "Worst-case analysis of set union algorithms", JACM 31, 1984).

use crate::document::Id;

/// The least id of the component of each id in `edges`, in order of id.
pub fn components(edges: &[(Id, Id)]) -> Vec<(Id, Id)> {
    let mut ids: Vec<Id> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
    ids.sort_unstable();
    ids.dedup();
    let number = |id: Id| ids.binary_search(&id).map_or(0, |n| n as u32);
    let mut parents: Vec<u32> = (0..ids.len() as u32).collect();
    for &(a, b) in edges {
        let (a, b) = (find(&mut parents, number(a)), find(&mut parents, number(b)));
        parents[a.max(b) as usize] = a.min(b);
    }
    (0..ids.len()).map(|n| (ids[n], ids[find(&mut parents, n as u32) as usize])).collect()
}

/// Enough edges to join what `edges` join: one for each id but a component's least.
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
        /// Components are what spreading the least label along edges until nothing changes gives; a forest of parts joins the same.
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
