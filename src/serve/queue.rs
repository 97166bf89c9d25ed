//! Answers requests on a few threads, with a short queue before them.
//!
//! To normalise and sign a text takes a core for up to milliseconds, so it never runs on the threads
//! that move bytes. Who finds the queue full is told to come again: it is better to refuse at once
//! than to answer after the client has given up.

use crate::serve::problem::{Outcome, Problem};
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::sync::Semaphore;
use workers::error::Result;
use workers::store::damage;

/// The most requests that are answered or wait for it.
pub const REQUESTS_MAX: usize = 256;

/// The threads that answer, and the places before them.
pub struct Queue {
    places: Arc<Semaphore>,
    threads: Arc<Semaphore>,
}

impl Queue {
    /// A queue before so many threads.
    pub fn new(threads: usize) -> Queue {
        Queue { places: Arc::new(Semaphore::new(REQUESTS_MAX)), threads: Arc::new(Semaphore::new(threads)) }
    }

    /// How many requests are answered or wait for it.
    pub fn waiting(&self) -> usize {
        REQUESTS_MAX - self.places.available_permits()
    }

    /// Does `work` when it is its turn.
    pub async fn answer<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Outcome<T> {
        let full = || Problem::busy(format!("{REQUESTS_MAX} requests are under way"));
        let place = self.places.clone().try_acquire_owned().map_err(|_| full())?;
        let thread = self.threads.clone().acquire_owned().await.map_err(|_| full())?;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, even if the client has gone.
            let _held = (place, thread);
            damage::caught(work)
        });
        match done.await {
            Ok(outcome) => Ok(outcome?),
            // The hook of panics has logged it. Other requests are answered.
            Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "a fault in pagefold; its log says where")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// While all places are taken a request is refused with 429 and told to come again; those that
    /// hold places are answered.
    #[test]
    fn a_full_queue_refuses() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        runtime.block_on(async {
            let queue = Arc::new(Queue::new(1));
            let (go, wait) = mpsc::channel::<()>();
            let first = tokio::spawn({
                let queue = queue.clone();
                async move { queue.answer(move || Ok(wait.recv().is_ok())).await.is_ok_and(|answered| answered) }
            });
            let others: Vec<_> = (1..REQUESTS_MAX)
                .map(|_| {
                    tokio::spawn({
                        let queue = queue.clone();
                        async move { queue.answer(|| Ok(())).await.is_ok() }
                    })
                })
                .collect();
            while queue.places.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
            let refused = queue.answer(|| Ok(())).await.expect_err("full");
            assert_eq!(refused.status, 429);
            go.send(()).expect("awaited");
            assert!(first.await.expect("no panic"));
            for other in others {
                assert!(other.await.expect("no panic"));
            }
            assert!(queue.answer(|| Ok(())).await.is_ok());
        });
    }

    /// Work that panics is one failed request.
    #[test]
    fn a_panic_fails_one_request() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        runtime.block_on(async {
            let queue = Queue::new(1);
            let failed = queue.answer(|| -> Result<()> { panic!("a fault") }).await.expect_err("a panic");
            assert_eq!(failed.status, 500);
            assert!(queue.answer(|| Ok(())).await.is_ok());
        });
    }
}
