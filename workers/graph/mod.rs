//! A graph of contents and accepted pairs: in come both, out go neighbours and the diameter. Contents are numbered in order of
//! digest and neighbours ascend, so that whatever is found does not depend on the order in which pairs come. It has 8 bytes a
//! pair and 8 a content, and 8 more a pair while it is made.

pub mod keep;
pub mod unionfind;

use crate::document::Id;
use std::collections::VecDeque;

/// Contents up to which a diameter is exact.
pub const DIAMETER_CONTENTS_MAX: usize = 256;

/// Who is paired with whom, by number.
pub struct Graph {
    /// Where the neighbours of each content begin, and where the last one's end.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// The graph of `contents`, which ascend, joined by `pairs`, each once or in both directions. Pairs with others do not count.
    pub fn new(contents: &[Id], pairs: impl Iterator<Item = (Id, Id)>) -> Graph {
        let number = |id: &Id| contents.binary_search(id).ok();
        let edges: Vec<(u32, u32)> =
            pairs.filter_map(|(a, b)| Some((number(&a)? as u32, number(&b)? as u32))).collect();
        let mut starts = vec![0; contents.len() + 1];
        for (a, b) in &edges {
            starts[*a as usize + 1] += 1;
            starts[*b as usize + 1] += 1;
        }
        (0..contents.len()).for_each(|at| starts[at + 1] += starts[at]);
        let mut free = starts.clone();
        let mut neighbours = vec![0; 2 * edges.len()];
        for (a, b) in edges {
            for (one, other) in [(a, b), (b, a)] {
                neighbours[free[one as usize]] = other;
                free[one as usize] += 1;
            }
        }
        (0..contents.len()).for_each(|at| neighbours[starts[at]..starts[at + 1]].sort_unstable());
        Graph { starts, neighbours }
    }

    /// Contents.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether it has no content.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The contents that are paired with content `at`, ascending.
    pub fn neighbours(&self, at: usize) -> impl Iterator<Item = usize> {
        self.neighbours[self.starts[at]..self.starts[at + 1]].iter().map(|other| *other as usize)
    }

    /// The greatest number of pairs on a shortest chain from content `from` to another, and the last such other that is found.
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

    /// The diameter of a connected graph in pairs: exact up to [`DIAMETER_CONTENTS_MAX`] contents. Above, the length of the longest
    /// shortest chain from the content that is farthest from the first; the diameter is no less, and no more than twice that,
    /// as any two contents are joined by way of that content.
    pub fn diameter(&self) -> u32 {
        match self.len() {
            0 => 0,
            1..=DIAMETER_CONTENTS_MAX => (0..self.len()).map(|from| self.farthest(from).0).max().unwrap_or(0),
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

    /// The diameter of a chain is its length, of a clique 1, of one content 0; pairs with strangers do not count.
    #[test]
    fn diameters() {
        let chain = |contents: u64| (1..contents).map(|n| (n - 1, n)).collect::<Vec<_>>();
        assert_eq!(diameter(40, &chain(40)), 39);
        let clique: Vec<(u64, u64)> = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
        assert_eq!(diameter(5, &clique), 1);
        assert_eq!((diameter(1, &[]), diameter(0, &[])), (0, 0));
        assert_eq!(diameter(1000, &chain(1000)), 999);
        assert_eq!(diameter(3, &[(0, 1), (1, 2), (2, 77), (77, 0)]), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Above the limit what is told is a lower bound of the true diameter, and half of it an upper one, in whatever order pairs come.
        #[test]
        fn two_sweeps_are_a_bound(links in prop::collection::vec(0u64..1000, 300), turn in 0usize..300) {
            // Every content is paired with an earlier one not far away, so that the graph is connected and long.
            let link = |(at, n): (usize, &u64)| (at as u64 + 1, at as u64 - n % (at as u64 + 1).min(7));
            let mut pairs: Vec<(u64, u64)> = links.iter().enumerate().map(link).collect();
            let told = diameter(301, &pairs);
            let contents: Vec<Id> = (0..301).map(id).collect();
            let graph = Graph::new(&contents, pairs.iter().map(|&(a, b)| (id(a), id(b))));
            let exact = (0..301).map(|from| graph.farthest(from).0).max().expect("contents");
            prop_assert!(told <= exact && exact <= 2 * told, "{told}, {exact}");
            pairs.rotate_left(turn);
            prop_assert_eq!(diameter(301, &pairs), told);
        }
    }
}
