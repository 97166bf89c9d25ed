//! The start of a job: all connections between its processes, or the reason why not.
//!
//! In come the addresses and the key, out go two authenticated connections to every peer. A process listens on its own
//! address and dials the lower indices. Strangers never disturb the start: every unauthenticated connection is one fixed
//! buffer in one thread, at most 64 at once; the oldest that has shown no key makes room for the next, so a flood of mute
//! connections can neither fill the places nor the memory. No data is sent here, and nothing is printed.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result};

use super::connection::Connection;
use super::handshake::{
    Answer, Claim, DialFailure, LANES, Lane, OPENING_BYTES, Party, Refusal, answer, dial, plausible,
};
use super::session::{SIGNAL_BYTES, Signal};
use super::{Mesh, Refused};

/// Connections that have not proved themselves yet.
const PENDING_MAX: usize = 64;
/// Accepted in one go, before those pending are looked at again; well below `PENDING_MAX`, so that a flood cannot drive
/// out a connection whose opening was never read.
const ACCEPTED_AT_ONCE_MAX: usize = 16;
const REDIAL_MIN: Duration = Duration::from_millis(20);
const REDIAL_MAX: Duration = Duration::from_secs(1);
const WARN_INTERVAL: Duration = Duration::from_secs(1);

/// The links to every peer by index; none to the process itself.
#[derive(Default)]
pub(super) struct Connections {
    pub(super) data: Vec<Option<Connection>>,
    pub(super) beat: Vec<Option<Connection>>,
}

impl Connections {
    fn of(&mut self, lane: Lane) -> &mut Vec<Option<Connection>> {
        match lane {
            Lane::Data => &mut self.data,
            Lane::Beat => &mut self.beat,
        }
    }

    fn missing(&self, index: usize) -> Vec<usize> {
        let lacks = |&peer: &usize| peer != index && (self.data[peer].is_none() || self.beat[peer].is_none());
        (0..self.data.len()).filter(lacks).collect()
    }
}

/// Opens the listening socket that the others will dial; port 0 is whichever is free.
///
/// # Errors
/// [`Kind::TryAgain`]: the port is taken. [`Kind::Config`]: `bind` is no address of this machine. [`Kind::Permission`], [`Kind::Io`].
pub fn listen(bind: SocketAddr) -> Result<TcpListener> {
    let bound = TcpListener::bind(bind).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    bound.map_err(|error| {
        let kind = match error.kind() {
            ErrorKind::AddrInUse => Kind::TryAgain,
            ErrorKind::PermissionDenied => Kind::Permission,
            ErrorKind::AddrNotAvailable => Kind::Config,
            _ => Kind::Io,
        };
        Error::new(kind, format!("cannot listen on {bind}")).caused_by(error)
    })
}

/// Connects with every peer and returns when all of them have done the same.
pub(super) fn connect(mesh: &Mesh, threads: usize, listener: Option<TcpListener>) -> Result<Connections> {
    let deadline = Instant::now() + mesh.start_timeout;
    let stop = Arc::new(AtomicBool::new(false));
    let outcome = make_connections(mesh, &Party::of(mesh, threads), listener, deadline, &stop);
    stop.store(true, Ordering::SeqCst);
    let mut connections = outcome?;
    for connection in connections.data.iter().chain(&connections.beat).flatten() {
        connection
            .settle(mesh.silence_timeout)
            .map_err(|e| Error::new(Kind::Io, "cannot set up a connection").caused_by(e))?;
    }
    all_ready(&mut connections, deadline)?;
    Ok(connections)
}

fn make_connections(
    mesh: &Mesh,
    party: &Party,
    listener: Option<TcpListener>,
    deadline: Instant,
    stop: &Arc<AtomicBool>,
) -> Result<Connections> {
    let processes = mesh.addresses.len();
    let dialed = dial_lower(mesh, party, deadline, stop)?;
    let mut acceptor = Acceptor::new(mesh, party, listener);
    let mut connections = Connections::default();
    connections.data.resize_with(processes, || None);
    connections.beat.resize_with(processes, || None);
    let mut reasons = vec![None; processes];
    loop {
        for news in dialed.try_iter() {
            match news {
                Dialed::Connected(peer, lane, connection) => connections.of(lane)[peer] = Some(connection),
                Dialed::Failed(peer, reason) => reasons[peer] = Some(reason),
                Dialed::Refused(error) => return Err(error),
            }
        }
        let more = acceptor.turn(&mut connections, &mut reasons);
        let missing = connections.missing(mesh.index);
        if missing.is_empty() {
            acceptor.close();
            return Ok(connections);
        }
        if Instant::now() >= deadline {
            return Err(missing_peers(mesh, &missing, &reasons));
        }
        if !more {
            sleep(Duration::from_millis(if acceptor.pending.is_empty() { 5 } else { 1 }));
        }
    }
}

fn missing_peers(mesh: &Mesh, missing: &[usize], reasons: &[Option<String>]) -> Error {
    let describe = |peer: &usize| {
        let reason = reasons[*peer].as_deref().unwrap_or("it never called");
        format!("process {peer} at {} ({reason})", mesh.addresses[*peer])
    };
    let list = missing.iter().map(describe).collect::<Vec<_>>().join(", ");
    let error = Error::new(Kind::TryAgain, format!("missing after {:?}: {list}", mesh.start_timeout));
    // Of several the first is as good as any: the launcher hears all processes, and each blames another.
    missing.first().map_or(Error::internal("none is missing"), |peer| error.blaming(*peer))
}

/// Waits until every peer has all of its connections too, so that nobody's silence during the start counts as a loss and
/// whoever is missing is named by those who miss it.
fn all_ready(connections: &mut Connections, deadline: Instant) -> Result<()> {
    fn gone(peer: usize, error: std::io::Error) -> Error {
        let why = match error.kind() {
            ErrorKind::TimedOut => "still waits for others",
            _ => "left during the start",
        };
        Error::new(Kind::TryAgain, format!("process {peer} {why}")).blaming(peer).caused_by(error)
    }
    let mut peers: Vec<_> = connections
        .beat
        .iter_mut()
        .enumerate()
        .filter_map(|(peer, connection)| Some((peer, connection.as_mut()?)))
        .collect();
    for (peer, connection) in &mut peers {
        connection.send(Signal::Ready).map_err(|error| gone(*peer, error))?;
    }
    for (peer, connection) in &mut peers {
        match connection.receive(deadline).map_err(|error| gone(*peer, error))? {
            Signal::Ready => {}
            signal => {
                return Err(
                    Error::new(Kind::Protocol, format!("process {peer} says {signal:?} out of turn")).blaming(*peer)
                );
            }
        }
    }
    Ok(())
}

/// What the dialing threads report.
enum Dialed {
    Connected(usize, Lane, Connection),
    /// Tried in vain, and will try again.
    Failed(usize, String),
    /// Refused for good.
    Refused(Error),
}

/// Dials the lower indices, a thread each; the threads end with their work, at the deadline or on `stop`.
fn dial_lower(mesh: &Mesh, party: &Party, deadline: Instant, stop: &Arc<AtomicBool>) -> Result<Receiver<Dialed>> {
    let (news, dialed) = channel();
    for (peer, address) in mesh.addresses.iter().enumerate().take(mesh.index) {
        let dialer = Dialer {
            party: party.clone(),
            peer,
            address: address.clone(),
            deadline,
            handshake_timeout: mesh.handshake_timeout,
        };
        let (news, stop) = (news.clone(), stop.clone());
        let spawned = Builder::new().name(format!("mesh:dial-{peer}")).spawn(move || dialer.dial_both(&news, &stop));
        spawned.map_err(|e| Error::new(Kind::Io, "cannot start a thread").caused_by(e))?;
    }
    Ok(dialed)
}

struct Dialer {
    party: Party,
    peer: usize,
    address: String,
    deadline: Instant,
    handshake_timeout: Duration,
}

impl Dialer {
    fn dial_both(&self, news: &Sender<Dialed>, stop: &AtomicBool) {
        for lane in LANES {
            let mut pause = REDIAL_MIN;
            loop {
                if stop.load(Ordering::SeqCst) || Instant::now() >= self.deadline {
                    return;
                }
                let outcome = match self.dial_once(lane) {
                    Ok(connection) => Dialed::Connected(self.peer, lane, connection),
                    Err(DialFailure::Broken(reason)) => Dialed::Failed(self.peer, reason),
                    Err(DialFailure::Refused(refusal)) => Dialed::Refused(self.refused(refusal)),
                };
                let again = matches!(outcome, Dialed::Failed(..));
                if news.send(outcome).is_err() {
                    return;
                }
                if !again {
                    break;
                }
                sleep(pause);
                pause = (pause * 2).min(REDIAL_MAX);
            }
        }
    }

    fn refused(&self, refusal: Refusal) -> Error {
        Error::new(Kind::Protocol, format!("process {} at {} refused us: {refusal}", self.peer, self.address))
            .blaming(self.peer)
    }

    fn dial_once(&self, lane: Lane) -> std::result::Result<Connection, DialFailure> {
        let mut last = DialFailure::Broken("its name has no address".into());
        for address in self.address.to_socket_addrs()? {
            let now = Instant::now();
            let deadline = self.deadline.min(now + self.handshake_timeout);
            let left = deadline.saturating_duration_since(now);
            if left.is_zero() {
                break;
            }
            let outcome = TcpStream::connect_timeout(&address, left).map_err(DialFailure::from).and_then(|stream| {
                // A port of this machine's ephemeral range, dialed while nobody listens, may connect with itself.
                if stream.local_addr()? == stream.peer_addr()? {
                    return Err(DialFailure::Broken("nobody listens".into()));
                }
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(left))?;
                dial(stream, &self.party, lane, self.peer, deadline)
            });
            match outcome {
                Err(failure @ DialFailure::Broken(_)) => last = failure,
                done => return done,
            }
        }
        Err(last)
    }
}

/// The listening side: the connections that have not proved themselves yet.
struct Acceptor {
    party: Party,
    /// Closed with the gate.
    listener: Option<TcpListener>,
    pending: VecDeque<Pending>,
    handshake_timeout: Duration,
    silence_timeout: Duration,
    refused: Refused,
    warned: Option<Instant>,
}

/// An unauthenticated connection.
struct Pending {
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
    buffer: [u8; OPENING_BYTES],
    filled: usize,
    /// Set once the opening was right.
    claim: Option<Claim>,
}

/// Why a connection is refused: the word under which it is counted, and the line that is logged.
struct Reason(&'static str, String);

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Reason {
        Reason(refusal.name(), refusal.to_string())
    }
}

/// Where a pending connection stands after its bytes were read.
enum Step {
    Wait,
    Refuse(Reason, Option<usize>),
    Proved,
}

impl Acceptor {
    fn new(mesh: &Mesh, party: &Party, listener: Option<TcpListener>) -> Acceptor {
        Acceptor {
            party: party.clone(),
            listener,
            pending: VecDeque::with_capacity(PENDING_MAX),
            handshake_timeout: mesh.handshake_timeout,
            silence_timeout: mesh.silence_timeout,
            refused: mesh.refused.clone(),
            warned: None,
        }
    }

    /// Lets new connections in, reads what has come, and gives those that proved themselves their place in `links`.
    /// `reasons` gets why a claimed index was refused. Never blocks; true if more connections may be waiting.
    fn turn(&mut self, connections: &mut Connections, reasons: &mut [Option<String>]) -> bool {
        let more = self.accept();
        for _ in 0..self.pending.len() {
            let Some(mut pending) = self.pending.pop_front() else { break };
            let step = match pending.step(&self.party) {
                Step::Wait if pending.since.elapsed() >= self.handshake_timeout => {
                    Step::Refuse(Reason("too_slow", "it did not complete the handshake in time".into()), None)
                }
                step => step,
            };
            match step {
                Step::Wait => self.pending.push_back(pending),
                Step::Refuse(reason, claimed) => {
                    self.refuse(pending.from, &reason);
                    if let Some(peer) = claimed {
                        reasons[peer] = Some(format!("last refused: {}", reason.1));
                    }
                }
                Step::Proved => self.place(pending, connections),
            }
        }
        more
    }

    fn accept(&mut self) -> bool {
        let Some(listener) = &self.listener else { return false };
        for _ in 0..ACCEPTED_AT_ONCE_MAX {
            let (stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => {
                    // Out of descriptors, or gone before it was accepted: the next turn tries again.
                    tracing::debug!(%error, "cannot accept a connection");
                    return false;
                }
            };
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                continue;
            }
            let pending =
                Pending { stream, from, since: Instant::now(), buffer: [0; OPENING_BYTES], filled: 0, claim: None };
            if self.pending.len() == PENDING_MAX {
                let oldest = self.pending.iter().position(|pending| pending.claim.is_none()).unwrap_or(0);
                if let Some(evicted) = self.pending.remove(oldest) {
                    let reason = Reason("crowded_out", "too many wait at the gate".into());
                    warn_refused(&self.refused, &mut self.warned, evicted.from, &reason);
                }
            }
            self.pending.push_back(pending);
        }
        true
    }

    fn refuse(&mut self, from: SocketAddr, reason: &Reason) {
        warn_refused(&self.refused, &mut self.warned, from, reason);
    }

    /// Counts those that are left, and tells what was refused in all.
    fn close(&self) {
        self.refused.count("unheard", self.pending.len() as u64);
        if self.refused.total() > 0 {
            tracing::warn!(refused = ?self.refused.counts(), "refused connections during the start");
        }
    }

    fn place(&mut self, pending: Pending, connections: &mut Connections) {
        let Pending { stream, from, claim: Some(Claim { index, lane, sealer, opener }), .. } = pending else {
            return;
        };
        let mut connection = Connection { stream, sealer, opener };
        let place = &mut connections.of(lane)[index];
        // A peer that never heard its welcome dials again; its first connection is closed by then.
        if place.as_ref().is_some_and(|taken| !taken.is_dead()) {
            let line = format!("another process has joined as number {index} already");
            self.refuse(from, &Reason("taken", line));
            let _ = connection.send(Signal::Taken);
        } else if connection.settle(self.silence_timeout).and_then(|()| connection.send(Signal::Welcome)).is_ok() {
            *place = Some(connection);
        }
    }
}

/// Counts every refusal, and tells of one a second.
fn warn_refused(refused: &Refused, warned: &mut Option<Instant>, from: SocketAddr, reason: &Reason) {
    refused.count(reason.0, 1);
    if warned.is_none_or(|at| at.elapsed() >= WARN_INTERVAL) {
        *warned = Some(Instant::now());
        tracing::warn!(%from, reason = reason.1, refused = refused.total(), "refused a connection");
    }
}

impl Pending {
    fn step(&mut self, party: &Party) -> Step {
        // An opening, then a confirmation.
        for _ in 0..2 {
            let wanted = if self.claim.is_some() { SIGNAL_BYTES } else { OPENING_BYTES };
            match self.fill(wanted) {
                Err(reason) => return Step::Refuse(reason, None),
                Ok(false) => return Step::Wait,
                Ok(true) => {}
            }
            self.filled = 0;
            if let Some(claim) = &mut self.claim {
                let Some(sealed) = self.buffer.first_chunk() else {
                    return Step::Wait;
                };
                return match claim.opener.signal(sealed) {
                    Ok(Signal::Confirm) => Step::Proved,
                    _ => Step::Refuse(Reason("forged", "its handshake is a replay or a forgery".into()), None),
                };
            }
            let Answer { reply, outcome, claimed } = answer(party, &self.buffer);
            // A fresh connection's send buffer holds so little at once, or the connection is useless.
            let sent = reply.is_none_or(|bytes| self.stream.write_all(&bytes).is_ok());
            match outcome {
                Err(refusal) => return Step::Refuse(refusal.into(), claimed),
                Ok(_) if !sent => return Step::Refuse(Reason("broken", "it does not take our answer".into()), None),
                Ok(claim) => self.claim = Some(claim),
            }
        }
        Step::Wait
    }

    /// Reads towards `wanted` bytes; true when they are there.
    fn fill(&mut self, wanted: usize) -> std::result::Result<bool, Reason> {
        while self.filled < wanted {
            match self.stream.read(&mut self.buffer[self.filled..wanted]) {
                Ok(0) => return Err(Reason("hung_up", "it hung up during the handshake".into())),
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Reason("broken", error.to_string())),
            }
            if self.claim.is_none() && !plausible(&self.buffer[..self.filled]) {
                return Err(Refusal::Stranger.into());
            }
        }
        Ok(true)
    }
}
