//! Propagation: in come the edges of a graph, each at any worker, out goes for each content of an edge the least content that it is joined
//! to. Contents tell their neighbours the least label that they know until nobody learns anything: `algorithms::graphs::propagate` of
//! differential dataflow (McSherry, Murray, Isaacs, Isard, "Differential dataflow", CIDR 2013). Edges and labels lie with the worker
//! that a content's hash names, so none ever holds the graph. What a label was in between never leaves, only what it is
//! in the end.
//!
//! [`crate::graph::unionfind`] finds the same and is this operator's twin in tests. Where one worker can hold a forest of all that was joined, as in
//! an epoch that takes nothing back, it is preferred: 5 million edges take it 1.8 s, propagation 11 s, and 15 to 18 without the
//! order of labels below. Propagation needs as many rounds as the longest of all shortest paths to a least content.
//!
//! Its rows are differential's own and cross between processes in timely's encoding for such (bincode), not in that of [`crate::fold::wire`].

use crate::document::Id;
use crate::fold::components::{Edge, Label};
use crate::fold::gather::Flow;
use differential_dataflow::algorithms::graphs::propagate::propagate_at;
use differential_dataflow::{AsCollection, VecCollection};
use timely::dataflow::operators::core::Map;

/// Labels each content of `edges` with the least content that it is joined to, itself if there is none less, once, when all edges have
/// arrived. Which end of an edge comes first and how often it comes do not matter.
pub fn propagate(edges: Flow<'_, Edge>) -> Flow<'_, Label> {
    let ends = edges.flat_map(|edge| {
        let (a, b) = (key(edge.a), key(edge.b));
        [((a, b), (), 1), ((b, a), (), 1)]
    });
    let edges: VecCollection<'_, (), (u128, u128), isize> = ends.as_collection();
    // Only the lesser end of an edge may be the least of all. Small labels start 256 rounds before those twice as large, which then
    // mostly find their contents taken.
    let labels = edges.clone().map(|(a, b)| (a.min(b), a.min(b)));
    let labels = propagate_at(edges, labels, |label| (label >> 64) as u64);
    // Rounds give updates; their sum is complete, and passed on, when the time of the epoch is.
    let labels = labels.consolidate().inner;
    labels.map(|((content, label), (), _)| Label { content: id(content), component: id(label) })
}

/// An id as a number of the same order, which differential can hash and send.
fn key(id: Id) -> u128 {
    u128::from_be_bytes(id.to_bytes())
}

fn id(key: u128) -> Id {
    Id::from_bytes(key.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::gather::{gather, produce};
    use crate::graph::unionfind;
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};
    use timely::dataflow::operators::Probe;
    use timely::{CommunicationConfig, Config, WorkerConfig};

    /// All that propagation says, in order, of edges that lie anywhere.
    fn propagated(edges: &[(Id, Id)], communication: CommunicationConfig) -> Vec<(Id, Id)> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (edges, saying) = (edges.to_vec(), said.clone());
        let workers = timely::execute(Config { communication, worker: WorkerConfig::default() }, move |worker| {
            let (me, peers, edges, said) = (worker.index(), worker.peers(), edges.clone(), saying.clone());
            let probe = worker.dataflow::<(), _, _>(|scope| {
                let mine = produce(scope, "edges", move |give| {
                    let mine = edges.iter().skip(me).step_by(peers);
                    mine.for_each(|&(a, b)| give(Edge { a, b }));
                });
                let listen = move |labels: Vec<Label>, _: &mut dyn FnMut(Id)| {
                    let labels = labels.iter().map(|label| (label.content, label.component));
                    said.lock().expect("not poisoned").extend(labels);
                };
                gather(propagate(mine), "listen", |_| 0, listen).probe().0
            });
            while !probe.done() {
                worker.step_or_park(None);
            }
        });
        workers.expect("workers start").join().into_iter().for_each(|worker| worker.expect("no panic"));
        std::mem::take(&mut *said.lock().expect("not poisoned"))
    }

    /// Ids far apart and ids that differ in their last bits alone, in no order of `n`.
    fn any_id(n: u64) -> Id {
        if n.is_multiple_of(3) { Id { high: 7, low: 1000 - n } } else { Id::of(&n.to_le_bytes()) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Whatever the graph, with loops, edges twice and contents that only a loop mentions, any number of workers, between which rows are
        /// encoded or not, say what union-find says: each content once, with its final label and no earlier one.
        #[test]
        fn equals_union_find(
            pairs in prop::collection::vec((0u64..40, 0u64..40), 0..60),
            loops in prop::collection::vec(0u64..60, 0..8),
            workers in 1usize..5,
            encoded: bool,
        ) {
            let loops = loops.into_iter().map(|n| (n, n));
            let edges: Vec<(Id, Id)> = pairs.into_iter().chain(loops).map(|(a, b)| (any_id(a), any_id(b))).collect();
            let communication = match encoded {
                true => CommunicationConfig::ProcessBinary(workers),
                false => CommunicationConfig::Process(workers),
            };
            prop_assert_eq!(propagated(&edges, communication), unionfind::components(&edges));
        }
    }

    /// A label goes the whole length of a chain, however many rounds that takes, past all that others said before.
    #[test]
    fn long_chain() {
        let chain: Vec<(Id, Id)> = (0..600).map(|n| (any_id(n), any_id(n + 1))).collect();
        assert_eq!(propagated(&chain, CommunicationConfig::Process(2)), unionfind::components(&chain));
    }
}
