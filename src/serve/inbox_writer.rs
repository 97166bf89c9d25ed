//! Writes the inbox in a thread of its own, and lets requests wait until their records are durable.
//!
//! While one fsync runs, the records of all requests that arrive meanwhile are collected, and the
//! next fsync makes them durable together.

use crate::serve::problem::{Outcome, Problem};
use axum::http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;
use tokio::sync::watch;
use workers::error::{Error, Result};
use workers::online::Online;
use workers::online::writing::{Appended, Written};
use workers::store::damage;

/// How often the age of the open file is checked while nothing is inserted.
const PAUSE: Duration = Duration::from_millis(100);

/// Seconds after which clients send records again for which the disk had no room.
const FULL_SECONDS: u64 = 10;

/// What is durable; `None` if nothing can be written any more.
type Durable = Option<Written>;

/// The thread that writes.
pub struct Writer {
    thread: JoinHandle<Result<()>>,
    ends: Arc<AtomicBool>,
    online: Arc<Online>,
}

/// The handle by which requests wait.
pub struct Waiter {
    thread: Thread,
    durable: watch::Receiver<Durable>,
}

/// Starts to write the inbox of `online`. If that fails, `fail` is called, which stops the server.
pub fn start(
    online: &Arc<Online>,
    fail: impl FnOnce() + Send + 'static,
) -> Result<(Writer, Waiter)> {
    let (sender, durable) = watch::channel(Some(Written::default()));
    let ends = Arc::new(AtomicBool::new(false));
    let (shared, ended) = (online.clone(), ends.clone());
    let work = move || {
        while !ended.load(Ordering::SeqCst) {
            match damage::caught_all("the writer of the inbox", || shared.commit(false)) {
                Ok(written) => _ = sender.send_replace(Some(written)),
                Err(error) => {
                    sender.send_replace(None);
                    fail();
                    return Err(error);
                }
            }
            thread::park_timeout(PAUSE);
        }
        Ok(())
    };
    let started = thread::Builder::new().name("inbox".into()).spawn(work);
    let thread = started.map_err(|e| Error::internal("cannot start a thread").caused_by(e))?;
    let waiter = Waiter { thread: thread.thread().clone(), durable };
    Ok((Writer { thread, ends, online: online.clone() }, waiter))
}

impl Writer {
    /// Writes the remaining records, and seals the file, when no request is under way any more.
    pub fn end(self) -> Result<()> {
        self.ends.store(true, Ordering::SeqCst);
        self.thread.thread().unpark();
        self.thread
            .join()
            .unwrap_or_else(|payload| Err(damage::of_thread(payload, "the writer of the inbox")))?;
        self.online.commit(true).map(drop)
    }
}

impl Waiter {
    /// Waits until the records are durable. If the disk has no room, the client must send its
    /// records again: they stay in memory, and are written when there is room.
    pub async fn wait(&self, after: Appended) -> Outcome<()> {
        if after == Appended::default() {
            return Ok(());
        }
        self.thread.unpark();
        let mut durable = self.durable.clone();
        let ended = |now: &Durable| now.is_none_or(|now| now.durable >= after || now.is_full);
        let written = durable.wait_for(ended).await.ok().and_then(|now| *now);
        match written {
            Some(written) if written.durable >= after => Ok(()),
            Some(_) => {
                let detail = "the disk of the inbox is full: make room there; send it again";
                Err(Problem::unavailable(detail).after(FULL_SECONDS).with_reason("inbox_full"))
            }
            None => {
                let detail =
                    "the inbox cannot be written; what was sent may be lost: send it again";
                Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail))
            }
        }
    }
}
