//! The places for connections, and which connection loses its place to a new one.
//!
//! A connection costs a client nothing, so a few clients can take all places. Then the connection
//! is closed that has waited longest for its client to send a whole request or to take an answer. A
//! client that sends its request at once is answered before its turn comes. A connection whose
//! request has arrived and is worked on stays.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::Notify;
use workers::locks::lock;

/// All places.
pub struct Places {
    most: usize,
    taken: Mutex<Taken>,
    left: Notify,
}

/// The places that are taken.
#[derive(Default)]
struct Taken {
    /// Numbers ascend, in the order in which connections came or began to wait.
    number: u64,
    connections: HashMap<u64, State>,
    /// The connections that wait for their clients, by the number of the wait.
    waits: BTreeMap<u64, u64>,
}

/// The state of a connection.
struct State {
    /// The number of its wait, unless one of its requests is worked on.
    wait: Option<u64>,
    /// The number of its requests that are worked on.
    requests: usize,
    /// The answers that its client has not taken yet, by when they were ready and by number.
    answers: BTreeSet<(Instant, u64)>,
    lost: Arc<Notify>,
}

/// The place of a connection, until it is dropped.
pub struct Place {
    /// The address of its client.
    pub address: IpAddr,
    /// Whether it may have several requests at the same time (HTTP/2).
    pub is_shared: AtomicBool,
    number: u64,
    places: Arc<Places>,
    lost: Arc<Notify>,
}

/// A request that is worked on, until it is dropped.
pub struct Work(Arc<Place>);

/// An answer that is ready, until the client has taken it and it is dropped.
pub struct Answer {
    place: Arc<Place>,
    key: (Instant, u64),
}

impl Taken {
    fn next(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Lets connection `number` wait from now on.
    fn wait(&mut self, number: u64) {
        let wait = self.next();
        if let Some(state) = self.connections.get_mut(&number) {
            state.wait = Some(wait);
            self.waits.insert(wait, number);
        }
    }

    fn remove(&mut self, number: u64) -> Option<State> {
        let state = self.connections.remove(&number);
        state.as_ref().and_then(|state| state.wait).map(|wait| self.waits.remove(&wait));
        state
    }
}

impl Places {
    /// This many places.
    pub fn new(most: usize) -> Places {
        Places { most, taken: Mutex::default(), left: Notify::new() }
    }

    /// A place for a connection from `address`. If all are taken, another connection loses its
    /// place; `None` if all connections are worked for.
    pub fn take(self: &Arc<Places>, address: IpAddr) -> Option<Arc<Place>> {
        let mut taken = lock(&self.taken);
        if taken.connections.len() >= self.most {
            let (_, longest) = taken.waits.pop_first()?;
            taken.connections.remove(&longest).inspect(|state| state.lost.notify_one());
        }
        let (number, lost) = (taken.next(), Arc::new(Notify::new()));
        let answers = BTreeSet::new();
        let state = State { wait: None, requests: 0, answers, lost: lost.clone() };
        taken.connections.insert(number, state);
        taken.wait(number);
        let is_shared = AtomicBool::new(false);
        Some(Arc::new(Place { address, is_shared, number, places: self.clone(), lost }))
    }

    /// Takes the places of clients that have not taken an answer which was ready before `before`.
    pub fn free_before(&self, before: Instant) {
        let mut taken = lock(&self.taken);
        let is_late = |state: &State| state.answers.first().is_some_and(|(at, _)| *at < before);
        let late = taken.connections.iter().filter(|(_, state)| is_late(state));
        for number in late.map(|(number, _)| *number).collect::<Vec<u64>>() {
            taken.remove(number).inspect(|state| state.lost.notify_one());
            tracing::debug!("an answer was not taken");
        }
    }

    /// Waits until all have left.
    pub async fn empty(&self) {
        while !lock(&self.taken).connections.is_empty() {
            self.left.notified().await;
        }
    }
}

impl Place {
    /// Waits until the connection has lost its place.
    pub async fn lost(&self) {
        self.lost.notified().await;
    }

    /// An answer to the client is ready.
    pub fn answer(self: &Arc<Place>) -> Answer {
        let mut taken = lock(&self.places.taken);
        let key = (Instant::now(), taken.next());
        taken.connections.get_mut(&self.number).map(|state| state.answers.insert(key));
        Answer { place: self.clone(), key }
    }

    /// A request of the connection has arrived and is worked on.
    pub fn work(self: &Arc<Place>) -> Work {
        let mut taken = lock(&self.places.taken);
        let wait = taken.connections.get_mut(&self.number).and_then(|state| {
            state.requests += 1;
            state.wait.take()
        });
        wait.map(|wait| taken.waits.remove(&wait));
        Work(self.clone())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let Place { number, places, .. } = &*self.0;
        let mut taken = lock(&places.taken);
        let is_last = taken.connections.get_mut(number).is_some_and(|state| {
            state.requests -= 1;
            state.requests == 0
        });
        if is_last {
            taken.wait(*number);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let Place { number, places, .. } = &*self.place;
        lock(&places.taken)
            .connections
            .get_mut(number)
            .map(|state| state.answers.remove(&self.key));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.places.taken).remove(self.number);
        self.places.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const MOST: usize = 4;

    fn is_lost(place: &Place) -> bool {
        !lock(&place.places.taken).connections.contains_key(&place.number)
    }

    proptest! {
        /// There are never more connections than places. The connection that loses its place has
        /// waited longest, and is never one whose request is worked on.
        #[test]
        fn the_longest_wait_loses(steps in prop::collection::vec((0..4u8, 0..MOST), 1..200)) {
            let places = Arc::new(Places::new(MOST));
            // Open connections with their work, in the order of their waits.
            let mut open: Vec<(Arc<Place>, Vec<Work>)> = Vec::new();
            for (step, at) in steps {
                match step {
                    0 => {
                        let loser = open.iter().position(|of| of.1.is_empty()).filter(|_| open.len() == MOST);
                        let place = places.take(ADDRESS);
                        prop_assert_eq!(place.is_some(), open.len() < MOST || loser.is_some());
                        if let Some(loser) = loser {
                            prop_assert!(is_lost(&open.remove(loser).0));
                        }
                        open.extend(place.map(|place| (place, Vec::new())));
                    }
                    1 if at < open.len() => {
                        let work = open[at].0.work();
                        open[at].1.push(work);
                    }
                    2 if at < open.len() && open[at].1.pop().is_some() && open[at].1.is_empty() => {
                        // Its wait begins again.
                        let waits = open.remove(at);
                        open.push(waits);
                    }
                    3 if at < open.len() => drop(open.remove(at)),
                    _ => {}
                }
                prop_assert!(open.iter().all(|of| !is_lost(&of.0)));
                let taken = lock(&places.taken);
                prop_assert_eq!(taken.connections.len(), open.len());
                prop_assert_eq!(taken.waits.len(), open.iter().filter(|of| of.1.is_empty()).count());
            }
        }
    }

    /// A client that does not take an answer in time loses its connection, even if it takes others.
    #[test]
    fn answers_that_nobody_takes() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let places = Arc::new(Places::new(2));
            let [slow, other] = [(); 2].map(|()| places.take(ADDRESS).expect("a place"));
            let (first, taken) = (slow.answer(), [slow.answer(), other.answer()]);
            places.free_before(first.key.0);
            drop(taken);
            places.free_before(Instant::now() + std::time::Duration::from_secs(1));
            slow.lost().await;
            assert!(is_lost(&slow) && !is_lost(&other));
        });
    }

    /// A connection learns that it has lost its place even if it does not listen yet, and at its
    /// end the server waits for the remaining connections.
    #[test]
    fn who_loses_a_place_is_notified() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let places = Arc::new(Places::new(1));
            let first = places.take(ADDRESS).expect("a place");
            let second = places.take(ADDRESS).expect("that of the first");
            first.lost().await;
            let work = second.work();
            assert!(places.take(ADDRESS).is_none());
            let ended = tokio::spawn({
                let places = places.clone();
                async move { places.empty().await }
            });
            tokio::task::yield_now().await;
            assert!(!ended.is_finished());
            drop((first, second, work));
            ended.await.expect("no panic");
        });
    }
}
