//! The graph of contents and accepted pairs, with neighbours and diameter.
//!
//! Contents are numbered in order of digest and neighbours ascend, so that no result depends on the
//! order of the pairs. The graph needs 8 bytes for each pair and for each content, and 8 more for
//! each while it is built.

pub mod unionfind;
pub mod walk;

use crate::id::Id;
use std::collections::VecDeque;

/// The number of contents up to which [`Graph::diameter`] is exact.
pub const DIAMETER_CONTENTS_MAX: usize = 256;

/// The neighbours of each content, by number.
///
/// ```
/// use workers::id::Id;
/// use workers::graph::Graph;
///
/// let contents = [1, 2, 3, 4].map(|high| Id { high, low: 0 });
/// let [a, b, c, d] = contents;
/// let graph = Graph::new(&contents, [(a, b), (b, c), (c, d)].into_iter());
/// assert_eq!(graph.neighbours(1).collect::<Vec<_>>(), [0, 2]);
/// // In pairs: a chain of four contents.
/// assert_eq!(graph.diameter(), 3);
/// ```
pub struct Graph {
    /// The start of the neighbours of each content, and the end of the last.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// The graph of ascending `contents`, joined by `pairs`. A pair may occur in both directions.
    /// Pairs with other contents are ignored.
    pub fn new(contents: &[Id], pairs: impl Iterator<Item = (Id, Id)>) -> Graph {
        let number = |id: &Id| contents.binary_search(id).ok();
        let edges: Vec<(u32, u32)> =
            pairs.filter_map(|(a, b)| Some((number(&a)? as u32, number(&b)? as u32))).collect();
        Graph::of_numbers(contents.len(), edges.iter().copied())
    }

    /// The graph of the nodes 0 to `nodes` - 1, joined by `edges`. An edge may occur in both
    /// directions.
    pub fn of_numbers(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Graph {
        let both = || edges.clone().flat_map(|(a, b)| [(a as usize, b), (b as usize, a)]);
        let mut starts = vec![0; nodes + 1];
        both().for_each(|(from, _)| starts[from + 1] += 1);
        (0..nodes).for_each(|at| starts[at + 1] += starts[at]);
        let mut free = starts.clone();
        let mut neighbours = vec![0; starts[nodes]];
        for (from, to) in both() {
            neighbours[free[from]] = to;
            free[from] += 1;
        }
        (0..nodes).for_each(|at| neighbours[starts[at]..starts[at + 1]].sort_unstable());
        Graph { starts, neighbours }
    }

    /// The number of contents.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours of content `at`, ascending.
    pub fn neighbours(&self, at: usize) -> impl Iterator<Item = usize> {
        self.neighbours[self.starts[at]..self.starts[at + 1]].iter().map(|other| *other as usize)
    }

    /// The greatest distance from content `from` to another, in pairs, and the last content found
    /// at that distance.
    fn farthest(&self, from: usize) -> (u32, usize) {
        let mut distance = vec![u32::MAX; self.len()];
        let mut queue = VecDeque::from([from]);
        distance[from] = 0;
        let mut last = from;
        while let Some(at) = queue.pop_front() {
            last = at;
            for next in self.neighbours(at) {
                if distance[next] == u32::MAX {
                    distance[next] = distance[at] + 1;
                    queue.push_back(next);
                }
            }
        }
        (distance[last], last)
    }

    /// The diameter of a connected graph in pairs, exact up to [`DIAMETER_CONTENTS_MAX`] contents.
    ///
    /// For larger graphs it is the greatest distance from the content that is farthest from the
    /// first. The diameter is at least that, and at most twice that, because any two contents are
    /// connected through that content.
    pub fn diameter(&self) -> u32 {
        match self.len() {
            0 => 0,
            1..=DIAMETER_CONTENTS_MAX => {
                (0..self.len()).map(|from| self.farthest(from).0).max().unwrap_or(0)
            }
            _ => self.farthest(self.farthest(0).1).0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(high: u64) -> Id {
        Id { high, low: 0 }
    }

    fn diameter(contents: u64, pairs: &[(u64, u64)]) -> u32 {
        let contents: Vec<Id> = (0..contents).map(id).collect();
        Graph::new(&contents, pairs.iter().map(|&(a, b)| (id(a), id(b)))).diameter()
    }

    /// The diameter of a chain is its length, of a clique 1, of one content 0. Pairs with other
    /// contents are ignored.
    #[test]
    fn diameters() {
        let chain = |contents: u64| (1..contents).map(|n| (n - 1, n)).collect::<Vec<_>>();
        assert_eq!(diameter(40, &chain(40)), 39);
        let clique: Vec<(u64, u64)> =
            (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
        assert_eq!(diameter(5, &clique), 1);
        assert_eq!((diameter(1, &[]), diameter(0, &[])), (0, 0));
        assert_eq!(diameter(1000, &chain(1000)), 999);
        assert_eq!(diameter(3, &[(0, 1), (1, 2), (2, 77), (77, 0)]), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Above the limit the result is a lower bound of the true diameter, twice the result is an
        /// upper bound, and the order of pairs does not matter.
        #[test]
        fn two_sweeps_are_a_bound(links in prop::collection::vec(0u64..1000, 300), turn in 0usize..300) {
            // Each content is paired with one of the 7 before, so that the graph is connected and
            // long.
            let link = |(at, n): (usize, &u64)| (at as u64 + 1, at as u64 - n % (at as u64 + 1).min(7));
            let mut pairs: Vec<(u64, u64)> = links.iter().enumerate().map(link).collect();
            let bound = diameter(301, &pairs);
            let contents: Vec<Id> = (0..301).map(id).collect();
            let graph = Graph::new(&contents, pairs.iter().map(|&(a, b)| (id(a), id(b))));
            let exact = (0..301).map(|from| graph.farthest(from).0).max().expect("contents");
            prop_assert!(bound <= exact && exact <= 2 * bound, "{bound}, {exact}");
            pairs.rotate_left(turn);
            prop_assert_eq!(diameter(301, &pairs), bound);
        }
    }
}
