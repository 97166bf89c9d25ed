//! Answers requests on a few threads, with a short queue before them.
//!
//! To normalise and sign a text takes a core for up to milliseconds, so it never runs on the
//! threads that move bytes. If the queue is full, the client is told to ask again later: it is
//! better to refuse at once than to answer after the client has given up. Batches take up to
//! seconds, so they have threads of their own, and a single record waits for none: the system
//! shares the cores among all threads.

use crate::serve::problem::{Outcome, Problem};
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::sync::Semaphore;
use workers::store::damage;

/// The most requests that are answered or wait for it.
pub const REQUESTS_MAX: usize = 256;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One answer.
    Single,
    /// An answer to each of many rows.
    Batch,
}

/// The threads that answer, and the places before them.
pub struct Queue {
    places: Arc<Semaphore>,
    singles: Arc<Semaphore>,
    batches: Arc<Semaphore>,
}

impl Queue {
    /// A queue before so many threads for single answers, and as many for batches.
    pub fn new(threads: usize) -> Queue {
        let [places, singles, batches] =
            [REQUESTS_MAX, threads, threads].map(|of| Arc::new(Semaphore::new(of)));
        Queue { places, singles, batches }
    }

    /// How many requests are answered or wait for it.
    pub fn waiting(&self) -> usize {
        REQUESTS_MAX - self.places.available_permits()
    }

    /// Does `work`, which is of this `kind`, when it is its turn.
    pub async fn answer<T: Send + 'static>(
        &self,
        kind: Work,
        work: impl FnOnce() -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let full = || Problem::busy(format!("{REQUESTS_MAX} requests are under way"));
        let place = self.places.clone().try_acquire_owned().map_err(|_| full())?;
        let threads = if kind == Work::Batch { &self.batches } else { &self.singles };
        let thread = threads.clone().acquire_owned().await.map_err(|_| full())?;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, even if the client has gone.
            let _held = (place, thread);
            damage::caught(|| Ok(work()))
        });
        match done.await {
            Ok(outcome) => outcome?,
            // The hook of panics has logged it. Other requests are answered.
            Err(_) => Err(Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "a fault in pagefold; its log says where",
            )),
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
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let queue = Arc::new(Queue::new(1));
            let (go, wait) = mpsc::channel::<()>();
            let first = tokio::spawn({
                let queue = queue.clone();
                async move {
                    queue
                        .answer(Work::Single, move || Ok(wait.recv().is_ok()))
                        .await
                        .is_ok_and(|answered| answered)
                }
            });
            let others: Vec<_> = (1..REQUESTS_MAX)
                .map(|_| {
                    tokio::spawn({
                        let queue = queue.clone();
                        async move { queue.answer(Work::Single, || Ok(())).await.is_ok() }
                    })
                })
                .collect();
            while queue.places.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
            let refused = queue.answer(Work::Single, || Ok(())).await.expect_err("full");
            assert_eq!(refused.status, 429);
            go.send(()).expect("awaited");
            assert!(first.await.expect("no panic"));
            for other in others {
                assert!(other.await.expect("no panic"));
            }
            assert!(queue.answer(Work::Single, || Ok(())).await.is_ok());
        });
    }

    /// A single record waited for the batches before it, up to a second. While batches have all
    /// their threads, it is answered.
    #[test]
    fn a_single_record_passes_batches() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let queue = Arc::new(Queue::new(1));
            let (go, wait) = mpsc::channel::<()>();
            let (begun, begins) = tokio::sync::oneshot::channel();
            let batch = tokio::spawn({
                let queue = queue.clone();
                let work = move || {
                    let _ = begun.send(());
                    Ok(wait.recv().is_ok())
                };
                async move { queue.answer(Work::Batch, work).await.is_ok_and(|answered| answered) }
            });
            begins.await.expect("it begins");
            assert!(queue.answer(Work::Single, || Ok(())).await.is_ok());
            go.send(()).expect("awaited");
            assert!(batch.await.expect("no panic"));
        });
    }

    /// Work that panics is one failed request.
    #[test]
    fn a_panic_fails_one_request() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let queue = Queue::new(1);
            let failed = queue
                .answer(Work::Single, || -> Outcome<()> { panic!("a fault") })
                .await
                .expect_err("a panic");
            assert_eq!(failed.status, 500);
            assert!(queue.answer(Work::Single, || Ok(())).await.is_ok());
        });
    }
}
