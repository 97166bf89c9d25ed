//! The HTTP server of `pagefold serve`: axum on hyper, on tokio.
//!
//! `workers::online` decides which answer a record gets; connections, limits, access and the form
//! of answers are here. A request passes [`connections`], [`access`], [`rate`], [`body`], and waits
//! in [`queue`] for one of the threads that compare texts. If it leaves a part of its body unread,
//! [`unread`] reads it.

mod access;
mod api;
mod body;
mod connections;
mod description;
mod inbox_writer;
mod metrics;
mod places;
mod problem;
mod queue;
mod rate;
mod readers;
mod record;
mod router;
mod routes;
mod starting;
mod unread;

pub use crate::serve::access::{is_local, token_of};

use crate::own_process::memory_bytes;
use crate::serve::access::Access;
use crate::serve::body::Budget;
use crate::serve::inbox_writer::Waiter;
use crate::serve::metrics::Metrics;
use crate::serve::problem::{Outcome, Problem};
use crate::serve::queue::Queue;
use crate::serve::rate::Rate;
use crate::serve::readers::Readers;
use listenfd::ListenFd;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::watch;
use workers::error::{Error, Kind, Result};
use workers::locks::lock;
use workers::online::Online;
use workers::store::damage;

/// The most bytes of a body, unless the job allows fewer in a line.
pub const BODY_BYTES_MAX: usize = 16_777_216;
/// How often the server looks for a newer head.
const POLL: Duration = Duration::from_millis(250);

/// The options of a server.
pub struct Options {
    /// The address on which it listens.
    pub bind: SocketAddr,
    /// The file with the token.
    pub token: Option<PathBuf>,
    /// The threads that answer.
    pub threads: usize,
    /// How many records a second a client may send; `None`: any number.
    pub client_rate: Option<u32>,
    /// Whether the tables of each head are read before questions need them.
    pub warms: bool,
}

/// The state that all requests share.
struct Server {
    online: Arc<Online>,
    waiter: Waiter,
    access: Access,
    rate: Rate,
    queue: Queue,
    budget: Arc<Budget>,
    body_bytes_max: usize,
    metrics: Metrics,
    /// Why answers are not by the latest head; `None` if they are.
    behind: Mutex<Option<String>>,
}

impl Server {
    /// Its figures in Prometheus's text format.
    fn figures(&self) -> Result<String> {
        let is_behind = lock(&self.behind).is_some();
        Ok(self.metrics.text(
            &self.online.figures()?,
            self.queue.waiting(),
            is_behind,
            memory_bytes(),
        ))
    }

    fn check_ready(&self) -> Outcome<()> {
        match *lock(&self.behind) {
            // This route needs no token, so the answer does not say why.
            Some(_) => Err(Problem::unavailable(
                "the newest head cannot be asked; the server's log says why",
            )),
            None => Ok(()),
        }
    }

    /// Moves to a newer head if there is one.
    fn catch_up(&self) {
        let behind = match self.online.catch_up() {
            Ok(None) => None,
            Ok(Some(epoch)) => {
                tracing::info!(epoch, "asking a newer head");
                None
            }
            Err(error) => Some(error.to_string()),
        };
        let mut before = lock(&self.behind);
        if let Some(why) = behind.as_ref().filter(|why| before.as_ref() != Some(why)) {
            tracing::error!(why, "the newest head cannot be asked; the one before it is");
        }
        *before = behind;
    }

    /// Reads tables of the head until `until`, unless those of the epoch `done` are read. Returns
    /// the epoch of the head when all are read, or when one cannot be read: a question that needs
    /// this table fails.
    fn warm(&self, done: Option<u64>, until: Instant) -> Option<u64> {
        let warmed = damage::caught(|| {
            let opened = self.online.opened()?;
            let epoch = Some(opened.index.epoch);
            if epoch == done {
                return Ok(done);
            }
            let all = opened.index.warm(until);
            if all {
                tracing::info!(epoch, "all tables but kept texts were read");
            }
            Ok(epoch.filter(|_| all))
        });
        warmed.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read a table");
            self.online.figures().ok().map(|figures| figures.epoch)
        })
    }
}

/// Serves what `open` opens until a signal. It listens from the beginning, and answers that it is
/// not ready yet. `announce` is called with the address and the epoch of the head when requests are
/// answered.
///
/// # Errors
///
/// `Usage`, `Permission` or `Config` if the token is missing or wrong, `Io` if the address is
/// taken, or if the inbox cannot be written; errors of `open`.
pub fn serve(
    options: &Options,
    open: impl FnOnce() -> Result<Online> + Send + 'static,
    announce: impl FnOnce(SocketAddr, u64) -> Result<()>,
) -> Result<()> {
    let handed = handed()?;
    let (at, name) = match handed.as_ref().and_then(|listener| listener.local_addr().ok()) {
        Some(at) => (at, format!("the socket {at}, which was handed over")),
        None => (options.bind, format!("--bind {}", options.bind)),
    };
    let access = Access::new(at, &name, options.token.as_deref())?;
    let (stop, stopping) = watch::channel(false);
    let (stop_by_signal, stop) = (stop.clone(), move || _ = stop.send(true));
    crate::signals::on_stop(move || _ = stop_by_signal.send(true));
    // This thread accepts connections and looks for heads; readers do the rest.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Error::internal("cannot start threads").caused_by(e))?;
    let readers = Arc::new(Readers::start(queue::readers(options.threads))?);

    let failed = |e| Error::io("listen on", Path::new(&name), e);
    // A client on a socket that was handed over waits for the server that this starts.
    let is_early = handed.is_none();
    let listener = match handed {
        Some(listener) => listener,
        None => std::net::TcpListener::bind(options.bind).map_err(failed)?,
    };
    listener.set_nonblocking(true).map_err(failed)?;
    let early = is_early.then(|| listener.try_clone()).transpose().map_err(failed)?;
    let opened = async {
        let early = early.map(TcpListener::from_std).transpose().map_err(failed)?;
        opened(early, &readers, open, stopping.clone()).await
    };
    let Some(online) = runtime.block_on(opened)? else {
        // The opening is abandoned, because nothing was acknowledged.
        runtime.shutdown_background();
        return Ok(());
    };
    let online = Arc::new(online);
    let epoch = online.figures()?.epoch;
    let (writer, waiter) = inbox_writer::start(&online, stop)?;
    let server = Arc::new(Server {
        access,
        waiter,
        rate: Rate::new(options.client_rate),
        queue: Queue::new(options.threads),
        budget: Arc::default(),
        body_bytes_max: online.job().read.limits.line_bytes_max.min(BODY_BYTES_MAX),
        metrics: Metrics::default(),
        behind: Mutex::default(),
        online,
    });
    let outcome = runtime.block_on(async {
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        announce(listener.local_addr().map_err(failed)?, epoch)?;
        let polled = tokio::spawn(poll(server.clone(), options.warms));
        let router = router::router(server);
        let served = connections::serve(listener, router, &readers, stopping).await;
        polled.abort();
        served.map_err(failed)
    });
    // Requests that are under way after the time of grace are abandoned.
    runtime.shutdown_background();
    writer.end().and(outcome)
}

/// What `open` opens, in a thread of its own; `None` if the server must stop before. Meanwhile
/// requests on `early` get the answer that the server is starting.
async fn opened(
    early: Option<TcpListener>,
    readers: &Arc<Readers>,
    open: impl FnOnce() -> Result<Online> + Send + 'static,
    mut stopping: watch::Receiver<bool>,
) -> Result<Option<Online>> {
    let (end, ending) = watch::channel(false);
    let starting = early.map(|listener| {
        let readers = readers.clone();
        let serve = async move |listener| {
            connections::serve(listener, starting::router(), &readers, ending).await
        };
        tokio::spawn(serve(listener))
    });
    let opening = tokio::task::spawn_blocking(|| damage::caught(open));
    let online = tokio::select! {
        opened = opening => {
            opened.map_err(|e| Error::internal("cannot open the store").caused_by(e))??
        }
        _ = stopping.wait_for(|stops| *stops) => return Ok(None),
    };
    // Connections that wait to be accepted stay, because both listeners are one socket.
    let _ = end.send(true);
    if let Some(starting) = starting {
        let _ = starting.await;
    }
    Ok(Some(online))
}

/// The socket that systemd listens on for this process, if it was started so (sd_listen_fds(3)).
fn handed() -> Result<Option<std::net::TcpListener>> {
    let failed = |e| {
        Error::new(Kind::Usage, "the socket that was handed over is no TCP socket").caused_by(e)
    };
    let mut handed = ListenFd::from_env();
    if handed.len() > 1 {
        let sockets = handed.len();
        let line = format!(
            "{sockets} sockets were handed over, and only one is served: in the socket unit write \
             an empty `ListenStream=` before the address, which clears the list"
        );
        return Err(Error::new(Kind::Usage, line));
    }
    handed.take_tcp_listener(0).map_err(failed)
}

/// Looks for newer heads, for ever. If it `warms`, it reads tables in the time between.
async fn poll(server: Arc<Server>, warms: bool) {
    let mut warm = None;
    loop {
        tokio::time::sleep(POLL).await;
        let server = server.clone();
        let polled = tokio::task::spawn_blocking(move || {
            server.catch_up();
            if warms { server.warm(warm, Instant::now() + POLL) } else { None }
        });
        match polled.await {
            Ok(epoch) => warm = epoch,
            Err(error) => tracing::error!(%error, "cannot look for a newer head"),
        }
    }
}
