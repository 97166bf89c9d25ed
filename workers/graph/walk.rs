//! Orders pairs so that the same nodes are needed again soon.
//!
//! Pairs arrive in the order of digests, which does not put similar texts together. Here they
//! follow a breadth-first walk over the pairs. Nodes of one component are visited together, and in
//! a large component neighbours soon after each other (the idea of Cuthill and McKee: "Reducing the
//! bandwidth of sparse symmetric matrices", ACM 1969).

use crate::graph::Graph;

/// A pair at its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its place in the list of pairs.
    pub at: usize,
    /// Its two nodes; the one that the walk meets first comes first.
    pub nodes: (u32, u32),
}

/// The `pairs` of nodes 0 to `nodes` - 1 in the order of a walk: ascending by the node that the
/// walk meets later, then by the other node. A pure function of its arguments.
///
/// ```
/// use workers::graph::walk::order;
///
/// // 0 and 3 are a component, 1 and 2 another one.
/// let at: Vec<usize> = order(4, &[(0, 3), (1, 2), (3, 0)]).iter().map(|edge| edge.at).collect();
/// assert_eq!(at, [0, 2, 1]);
/// ```
pub fn order(nodes: usize, pairs: &[(u32, u32)]) -> Vec<Edge> {
    let (places, met) = walk(&Graph::of_numbers(nodes, pairs.iter().copied()));
    // The key of a pair has the places of its nodes, the later one first, so that sorting looks
    // nothing up.
    let key = |(at, &(a, b)): (usize, &(u32, u32))| {
        let (a, b) = (places[a as usize], places[b as usize]);
        (a.max(b), a.min(b), at as u32)
    };
    let mut keys: Vec<(u32, u32, u32)> = pairs.iter().enumerate().map(key).collect();
    keys.sort_unstable();
    let edge = |(later, earlier, at)| Edge {
        at: at as usize,
        nodes: (met[earlier as usize], met[later as usize]),
    };
    keys.into_iter().map(edge).collect()
}

/// When the walk meets each node, and the nodes in the order in which it meets them.
fn walk(graph: &Graph) -> (Vec<u32>, Vec<u32>) {
    const UNMET: u32 = u32::MAX;
    let mut places = vec![UNMET; graph.len()];
    let mut met: Vec<u32> = Vec::with_capacity(graph.len());
    for start in 0..graph.len() {
        if places[start] != UNMET {
            continue;
        }
        let mut at = met.len();
        places[start] = at as u32;
        met.push(start as u32);
        while let Some(&node) = met.get(at) {
            at += 1;
            for neighbour in graph.neighbours(node as usize) {
                if places[neighbour] == UNMET {
                    places[neighbour] = met.len() as u32;
                    met.push(neighbour as u32);
                }
            }
        }
    }
    (places, met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every pair has its turn once, and the pairs of a component follow each other.
        #[test]
        fn each_once_and_components_together(pairs in proptest::collection::vec((0u32..40, 0u32..40), 0..60)) {
            let edges = order(40, &pairs);
            let mut seen: Vec<usize> = edges.iter().map(|edge| edge.at).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..pairs.len()).collect::<Vec<_>>());
            // Components by plain spreading of the least node.
            let mut least: Vec<u32> = (0..40).collect();
            for _ in 0..40 {
                for &(a, b) in &pairs {
                    let low = least[a as usize].min(least[b as usize]);
                    (least[a as usize], least[b as usize]) = (low, low);
                }
            }
            let mut components: Vec<u32> = edges.iter().map(|edge| least[edge.nodes.0 as usize]).collect();
            components.dedup();
            let visits = components.len();
            components.sort_unstable();
            components.dedup();
            prop_assert_eq!(visits, components.len(), "a component was left and visited again");
        }
    }

    /// Along a chain each node is needed for two pairs that follow each other.
    #[test]
    fn a_chain_is_walked_along() {
        let chain = [(7, 3), (1, 4), (3, 1), (4, 9), (0, 7)];
        let nodes: Vec<(u32, u32)> = order(10, &chain).iter().map(|edge| edge.nodes).collect();
        assert_eq!(nodes, [(0, 7), (7, 3), (3, 1), (1, 4), (4, 9)]);
    }
}
