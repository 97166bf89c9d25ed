//! Accepts connections and speaks HTTP/1.1 or HTTP/2 on them.
//!
//! A client that has been accepted must send the first bytes of a request, and the whole head, in a
//! bounded time. So silent connections are closed. Beyond a number of connections a new one takes
//! the [place](crate::serve::places) of another.

use crate::serve::body::ANSWER_SECONDS_MAX;
use crate::serve::places::{Place, Places};
use crate::serve::readers::Readers;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::RecvFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// The most connections at the same time, if the system allows the process as many open files.
pub const CONNECTIONS_MAX: usize = 4096;
/// Open files that are kept for everything else.
const OTHER_FILES: u64 = 256;
/// Seconds that the head of a request may take, and that a connection may be idle.
pub const HEAD_SECONDS_MAX: u64 = 20;
/// The most bytes of the head of a request.
pub const HEAD_BYTES_MAX: usize = 65_536;
/// The most requests of one HTTP/2 connection at the same time.
pub const STREAMS_MAX: u32 = 64;
/// Seconds after a signal until requests under way must have ended.
pub const STOP_SECONDS_MAX: u64 = 10;

/// How often the server looks for answers that clients do not take. A timer for each answer would
/// wake another thread each time.
const ANSWERS_LOOK: Duration = Duration::from_secs(1);
/// How long the server waits for more of the first bytes. The time doubles, so that many clients
/// that send no more cost little.
const FIRST_BYTES: Duration = Duration::from_millis(5);
/// The first bytes of an HTTP/2 connection; HTTP/1.1 begins with a method.
const HTTP2: &[u8; 4] = b"PRI ";
const REFUSAL: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\n\
    content-type: application/problem+json\r\ncontent-length: 83\r\n\r\n\
    {\"title\":\"Too Many Requests\",\"status\":429,\"detail\":\"too many connections are open\"}";

/// Serves `router` on `listener`, by `readers`, until `stop` becomes true, and then until all
/// requests under way have ended.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    readers: &Readers,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let places = Arc::new(Places::new(connections_max()));
    let mut looks = tokio::time::interval(ANSWERS_LOOK);
    while !*stop.borrow_and_update() {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = looks.tick() => {
                let time = Duration::from_secs(ANSWER_SECONDS_MAX);
                Instant::now().checked_sub(time).inspect(|before| places.free_before(*before));
                continue;
            }
            _ = stop.changed() => break,
        };
        let accepted = accepted.and_then(|(stream, from)| Ok((stream.into_std()?, from.ip())));
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // For example, too many files are open: the open connections continue, and soon one
                // closes.
                tracing::warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(place) = places.take(address) else {
            refuse(stream);
            continue;
        };
        let (router, stop) = (router.clone(), stop.clone());
        readers.give(stream, async move |stream| {
            tokio::select! {
                // Clients may end a connection in any way, which is not worth a warning.
                ended = connection(stream, router, &place, stop) => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended");
                },
                () = place.lost() => tracing::debug!("a connection lost its place"),
            }
        });
    }
    drop(listener);
    if timeout(Duration::from_secs(STOP_SECONDS_MAX), places.empty()).await.is_err() {
        tracing::warn!("some requests did not end in {STOP_SECONDS_MAX} seconds");
    }
    Ok(())
}

/// Tells a client to try again later, if this does not block.
fn refuse(mut stream: std::net::TcpStream) {
    // The socket does not block, like all sockets of the runtime.
    let _ = stream.write(REFUSAL);
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

async fn connection(
    stream: TcpStream,
    router: Router,
    place: &Arc<Place>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), Failed> {
    stream.set_nodelay(true)?;
    // The kernel closes the connection of a client that does not read its answers.
    rustix::net::sockopt::set_tcp_user_timeout(&stream, HEAD_SECONDS_MAX as u32 * 1000)?;
    let first_bytes_max = Duration::from_secs(HEAD_SECONDS_MAX);
    let seen = tokio::select! {
        seen = timeout(first_bytes_max, is_http2(&stream)) => Some(seen),
        _ = stop.wait_for(|stops| *stops) => None,
    };
    let is_http2 = match seen {
        Some(seen) => seen??,
        None if has_bytes(&stream) => timeout(first_bytes_max, is_http2(&stream)).await??,
        None => return Ok(()),
    };
    place.is_shared.store(is_http2, Ordering::Relaxed);
    let (router, place) = (TowerToHyperService::new(router), place.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(place.clone());
        router.call(request)
    });
    let io = TokioIo::new(stream);
    let grace = Duration::from_secs(STOP_SECONDS_MAX);
    if is_http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX);
        builder.max_header_list_size(HEAD_BYTES_MAX as u32);
        builder.keep_alive_interval(Duration::from_secs(HEAD_SECONDS_MAX));
        let mut connection = std::pin::pin!(builder.serve_connection(io, service));
        tokio::select! {
            // What has arrived is read first: without a request, a shutdown closes the connection.
            biased;
            ended = connection.as_mut() => return Ok(ended?),
            _ = stop.wait_for(|stops| *stops) => connection.as_mut().graceful_shutdown(),
        }
        return Ok(timeout(grace, connection).await??);
    }
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(HEAD_SECONDS_MAX));
    builder.max_buf_size(HEAD_BYTES_MAX);
    let mut connection = std::pin::pin!(builder.serve_connection(io, service));
    tokio::select! {
        biased;
        ended = connection.as_mut() => return Ok(ended?),
        _ = stop.wait_for(|stops| *stops) => connection.as_mut().graceful_shutdown(),
    }
    Ok(timeout(grace, connection).await??)
}

/// Whether the client speaks HTTP/2. Looks at the first bytes and leaves them where they are.
async fn is_http2(stream: &TcpStream) -> io::Result<bool> {
    let (mut first, mut pause) = ([0; HTTP2.len()], FIRST_BYTES);
    loop {
        let seen = stream.peek(&mut first).await?;
        if seen == 0 || first[..seen] != HTTP2[..seen] {
            return Ok(false);
        }
        if seen == HTTP2.len() {
            return Ok(true);
        }
        // More bytes must arrive, and the few bytes in the buffer would end the next wait at once.
        sleep(pause).await;
        pause *= 2;
    }
}

/// Whether bytes of the client have arrived that are not read yet. Asks the kernel, as the runtime
/// may not have looked at a new connection yet.
fn has_bytes(stream: &TcpStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    rustix::net::recv(stream, &mut [0; 1], flags).is_ok_and(|(_, bytes)| bytes > 0)
}

/// How many connections the limit of open files allows. The limit is raised as far as the system
/// allows.
fn connections_max() -> usize {
    let before = getrlimit(Resource::Nofile);
    let wanted = CONNECTIONS_MAX as u64 + OTHER_FILES;
    let allowed = before.maximum.map_or(wanted, |most| most.min(wanted));
    if before.current.is_some_and(|now| now < allowed) {
        // If the system refuses, the limit stays as it is; it is read below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..before });
    }
    let limit = getrlimit(Resource::Nofile).current;
    let files =
        limit.map_or(u64::MAX, |limit| limit.saturating_sub(OTHER_FILES).max(OTHER_FILES / 2));
    usize::try_from(files).unwrap_or(usize::MAX).min(CONNECTIONS_MAX)
}
