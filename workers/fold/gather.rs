//! The operators that move rows between workers, and know nothing about what the rows mean.
//!
//! Every operator after ingest has the same form: it sends each row to the worker that owns the
//! row's key, waits until no more can arrive, sorts the rows, and calls a function once, with the
//! moment at which it had all rows. Sorting makes the result independent of the order of arrival.

use crate::fold::sort::sort;
use crate::fold::wire::{Rows, WireRow};
use std::time::Instant;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::ExchangeCore;
use timely::dataflow::operators::core::Concat;
use timely::dataflow::operators::generic::operator::{Operator, source};
use timely::dataflow::{Scope, Stream};

/// A stream of rows of one type. An epoch is a single timestamp, so the timestamp type is `()`.
pub type Flow<'s, R> = Stream<'s, (), Rows<R>>;

type Builder<R> = CapacityContainerBuilder<Rows<R>>;

/// Sends each row to worker `owner(row)`, which calls `logic` once with all its rows, sorted.
pub fn gather<'s, R: WireRow, O: WireRow>(
    rows: Flow<'s, R>,
    name: &str,
    owner: impl Fn(&R) -> u64 + 'static,
    logic: impl FnOnce(Vec<R>, Instant, &mut dyn FnMut(O)) + 'static,
) -> Flow<'s, O> {
    let pact = ExchangeCore::<Builder<R>, _>::new_core(move |row: &R| owner(row));
    rows.unary_frontier::<Builder<O>, _, _, _>(pact, name, |capability, _| {
        let mut arrived: Vec<R> = Vec::new();
        let mut waiting = Some((capability, logic));
        move |(input, frontier), output| {
            input.for_each_time(|_, batches| {
                for batch in batches {
                    arrived.extend_from_slice(batch.as_slice());
                }
            });
            if frontier.is_empty()
                && let Some((capability, logic)) = waiting.take()
            {
                let (mut rows, since) = (std::mem::take(&mut arrived), Instant::now());
                sort(&mut rows);
                let mut session = output.session(&capability);
                logic(rows, since, &mut |row| session.give(row));
            }
        }
    })
}

/// Sends the rows of two flows to their owners, which call `logic` once with both, each sorted.
pub fn gather_both<'s, A: WireRow, B: WireRow, O: WireRow>(
    (left, left_owner): (Flow<'s, A>, impl Fn(&A) -> u64 + 'static),
    (right, right_owner): (Flow<'s, B>, impl Fn(&B) -> u64 + 'static),
    name: &str,
    logic: impl FnOnce(Vec<A>, Vec<B>, Instant, &mut dyn FnMut(O)) + 'static,
) -> Flow<'s, O> {
    let left_pact = ExchangeCore::<Builder<A>, _>::new_core(move |row: &A| left_owner(row));
    let right_pact = ExchangeCore::<Builder<B>, _>::new_core(move |row: &B| right_owner(row));
    left.binary_frontier::<_, Builder<O>, _, _, _, _>(
        right,
        left_pact,
        right_pact,
        name,
        |capability, _| {
            let (mut lefts, mut rights): (Vec<A>, Vec<B>) = Default::default();
            let mut waiting = Some((capability, logic));
            move |(left, left_frontier), (right, right_frontier), output| {
                left.for_each_time(|_, batches| {
                    batches.for_each(|batch| lefts.extend_from_slice(batch.as_slice()))
                });
                right.for_each_time(|_, batches| {
                    batches.for_each(|batch| rights.extend_from_slice(batch.as_slice()))
                });
                if left_frontier.is_empty()
                    && right_frontier.is_empty()
                    && let Some((capability, logic)) = waiting.take()
                {
                    let (mut lefts, mut rights) =
                        (std::mem::take(&mut lefts), std::mem::take(&mut rights));
                    let since = Instant::now();
                    sort(&mut lefts);
                    sort(&mut rights);
                    let mut session = output.session(&capability);
                    logic(lefts, rights, since, &mut |row| session.give(row));
                }
            }
        },
    )
}

/// Calls `logic` once on each worker, without input.
pub fn produce<'s, O: WireRow>(
    scope: Scope<'s, ()>,
    name: &str,
    logic: impl FnOnce(&mut dyn FnMut(O)) + 'static,
) -> Flow<'s, O> {
    source::<_, Builder<O>, _, _>(scope, name, |capability, _| {
        let mut waiting = Some((capability, logic));
        move |output| {
            if let Some((capability, logic)) = waiting.take() {
                let mut session = output.session(&capability);
                logic(&mut |row| session.give(row));
            }
        }
    })
}

/// Merges two flows.
pub fn both<'s, R: WireRow>(a: Flow<'s, R>, b: Flow<'s, R>) -> Flow<'s, R> {
    a.concat(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::owner::owner;
    use std::sync::{Arc, Mutex};
    use timely::dataflow::operators::Probe;

    /// Every row reaches the owner of its key once, in order, for any number of workers.
    #[test]
    fn rows_reach_their_owner_sorted() {
        for workers in [1, 2, 3, 4] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let shared = seen.clone();
            timely::execute(timely::Config::process(workers), move |worker| {
                let (me, peers, seen) = (worker.index(), worker.peers(), shared.clone());
                let probe = worker.dataflow::<(), _, _>(|scope| {
                    let rows = produce(scope, "numbers", move |emit| {
                        (0..10_000u64)
                            .filter(|n| *n as usize % peers == me)
                            .for_each(|n| emit(n << 50));
                    });
                    let (probe, _) = gather(
                        rows,
                        "collect",
                        move |n| owner(*n, peers),
                        move |rows, _, _: &mut dyn FnMut(u64)| {
                            assert!(rows.is_sorted());
                            assert!(rows.iter().all(|n| owner(*n, peers) == me as u64));
                            seen.lock().expect("not poisoned").extend(rows);
                        },
                    )
                    .probe();
                    probe
                });
                while !probe.done() {
                    worker.step_or_park(None);
                }
            })
            .expect("workers start");
            let mut seen = std::mem::take(&mut *seen.lock().expect("not poisoned"));
            seen.sort_unstable();
            let mut sent: Vec<u64> = (0..10_000).map(|n| n << 50).collect();
            sent.sort_unstable();
            assert_eq!(seen, sent);
        }
    }
}
