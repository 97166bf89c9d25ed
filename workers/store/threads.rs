//! Does work on many items in several threads, with outcomes that do not depend on the number of
//! threads.

use crate::error::Result;
use crate::store::damage;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The threads that this machine runs at the same time.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, Into::into)
}

/// Does `work` on each item in several threads. Returns the outcomes in the order of the items, or
/// the error of the first item that failed, however many threads there are. `what` names the work
/// if it panics.
pub fn in_threads<I: Sync, T: Send>(
    what: &str,
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let thread = || {
        let mut finished = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let done = work(item);
            failed.fetch_or(done.is_err(), Ordering::Relaxed);
            finished.push((at, done));
        }
        finished
    };
    let all = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads.min(items.len()).max(1)).map(|_| scope.spawn(thread)).collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(finished) => Ok(finished),
            Err(payload) => Err(damage::of_thread(payload, what)),
        });
        // All threads are joined before the first failure is returned.
        joined.collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>>>()
    })?;
    let mut all: Vec<(usize, Result<T>)> = all.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::sync::Barrier;

    /// If two items fail at once, the error is that of the first. Without an error, each outcome is
    /// in the place of its item. So no report depends on which thread takes which item.
    #[test]
    fn the_order_of_items() {
        for _ in 0..50 {
            let both = Barrier::new(2);
            let fails = |n: &u32| -> Result<()> {
                both.wait();
                Err(Error::internal(format!("item {n}")))
            };
            let error = in_threads("a test", &[1, 2], 2, fails).expect_err("both fail");
            assert!(error.to_string().contains("item 1"), "{error}");
            let numbers: Vec<u32> = (0..40).collect();
            assert_eq!(in_threads("a test", &numbers, 4, |n| Ok(*n)).expect("done"), numbers);
        }
    }
}
