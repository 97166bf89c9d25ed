//! Answers requests on a few threads, with a short queue before them.
//!
//! If the queue is full, the client is told to ask again later: it is better to refuse at once than
//! to answer after the client has given up. A short record is answered on the thread that read it:
//! to wake another thread, and to be woken by it, would take as long as the answer. There are more
//! such threads than may answer at the same time, so some always move bytes. A long text takes a
//! core for milliseconds to seconds, and so does a batch: both have threads of their own, and a
//! single record waits for no batch. Requests that share a connection (HTTP/2) are answered by
//! these threads, too, because the thread of their connection would answer them one after the
//! other. The system shares the cores among all threads.

use crate::serve::problem::{Outcome, Problem};
use axum::http::StatusCode;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::Semaphore;
use workers::store::damage;

/// The most requests that are answered or wait for an answer.
pub const REQUESTS_MAX: usize = 256;

/// The threads that move bytes while all others answer.
const MOVERS: usize = 2;
/// The most bytes of a body that is answered on the thread that read it.
const SHORT_BYTES_MAX: usize = 16_384;

/// The kind of a request's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One answer, in less time than it takes to wake a thread for it.
    Short,
    /// One answer.
    Single,
    /// An answer to each of many rows.
    Batch,
}

impl Work {
    /// The kind of work for one answer to a body of this many bytes. On a connection that
    /// `is_shared` by requests, the other requests would wait for a short one.
    pub fn of(body_bytes: usize, is_shared: bool) -> Work {
        if body_bytes <= SHORT_BYTES_MAX && !is_shared { Work::Short } else { Work::Single }
    }
}

/// How many threads read requests if `threads` may answer at the same time.
pub fn readers(threads: usize) -> usize {
    threads + MOVERS
}

/// The threads that answer, and the places before them.
pub struct Queue {
    places: Arc<Semaphore>,
    singles: Arc<Semaphore>,
    batches: Arc<Semaphore>,
}

impl Queue {
    /// A queue before this many threads for single answers, and as many for batches.
    pub fn new(threads: usize) -> Queue {
        let [places, singles, batches] =
            [REQUESTS_MAX, threads, threads].map(|of| Arc::new(Semaphore::new(of)));
        Queue { places, singles, batches }
    }

    /// How many requests are answered or wait for an answer.
    pub fn waiting(&self) -> usize {
        REQUESTS_MAX - self.places.available_permits()
    }

    /// Does `work`, which is of this `kind`, when its turn comes.
    pub async fn answer<T: Send + 'static>(
        &self,
        kind: Work,
        work: impl FnOnce() -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let full = || Problem::busy(format!("{REQUESTS_MAX} requests are under way"));
        let place = self.places.clone().try_acquire_owned().map_err(|_| full())?;
        let threads = if kind == Work::Batch { &self.batches } else { &self.singles };
        let thread = threads.clone().acquire_owned().await.map_err(|_| full())?;
        let work = move || {
            // Held until the work is done, even if the client has gone.
            let _held = (place, thread);
            damage::caught(|| Ok(work()))
        };
        let done = match kind {
            Work::Short => catch_unwind(AssertUnwindSafe(work)).ok(),
            Work::Single | Work::Batch => tokio::task::spawn_blocking(work).await.ok(),
        };
        // The panic hook has logged the panic. Other requests are answered.
        let fault = "a fault in pagefold; its log says where";
        done.ok_or_else(|| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, fault))??
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// While all places are taken a request is refused with 429 and told to try again; requests
    /// that have places are answered.
    #[test]
    fn a_full_queue_refuses() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
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
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
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
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let queue = Queue::new(1);
            for kind in [Work::Short, Work::Single, Work::Batch] {
                let failed = queue
                    .answer(kind, || -> Outcome<()> { panic!("a fault") })
                    .await
                    .expect_err("a panic");
                assert_eq!(failed.status, 500);
                assert!(queue.answer(kind, || Ok(())).await.is_ok());
            }
        });
    }
}
