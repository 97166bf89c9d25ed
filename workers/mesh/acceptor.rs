//! Accepts the processes with higher indices, in spite of strangers.
//!
//! An unauthenticated connection costs one fixed buffer and no thread, and there are at most 64. A
//! new connection replaces the oldest one that has not shown the key, so that a flood of silent
//! connections fills neither the places nor the memory.

use crate::mesh::connection::Connection;
use crate::mesh::connections::Connections;
use crate::mesh::handshake::{Answer, Claim, OPENING_BYTES, Party, Refusal, answer, plausible};
use crate::mesh::session::{SIGNAL_BYTES, Signal};
use crate::mesh::{Mesh, Refused};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Connections that are not authenticated yet.
const PENDING_MAX: usize = 64;
/// Connections that are accepted before the pending ones are read again. It is well below
/// `PENDING_MAX`, so that a flood cannot evict a connection whose opening was never read.
const ACCEPTED_AT_ONCE_MAX: usize = 16;
const WARN_INTERVAL: Duration = Duration::from_secs(1);

/// The listening side, with the connections that are not authenticated yet.
pub(super) struct Acceptor {
    party: Party,
    /// Closed with the acceptor.
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
    /// Set once the opening was valid.
    claim: Option<Claim>,
}

/// Why a connection is refused: the name under which it is counted, and the text for the log.
struct Reason(&'static str, String);

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Reason {
        Reason(refusal.name(), refusal.to_string())
    }
}

/// The state of a pending connection after its bytes were read.
enum Step {
    Wait,
    Refuse(Reason, Option<usize>),
    Proved,
}

impl Acceptor {
    pub(super) fn new(mesh: &Mesh, party: &Party, listener: Option<TcpListener>) -> Acceptor {
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

    /// Accepts and reads connections, and stores those that are authenticated in `connections`.
    /// `reasons` receives why a claimed index was refused. Never blocks; returns whether more
    /// connections may be waiting.
    pub(super) fn turn(
        &mut self,
        connections: &mut Connections,
        reasons: &mut [Option<String>],
    ) -> bool {
        let more = self.accept();
        for _ in 0..self.pending.len() {
            let Some(mut pending) = self.pending.pop_front() else { break };
            let step = match pending.step(&self.party) {
                Step::Wait if pending.since.elapsed() >= self.handshake_timeout => Step::Refuse(
                    Reason("too_slow", "it did not complete the handshake in time".into()),
                    None,
                ),
                step => step,
            };
            match step {
                Step::Wait => self.pending.push_back(pending),
                Step::Refuse(reason, claimed) => {
                    self.refuse(pending.from, &reason, claimed, reasons);
                }
                Step::Proved => self.place(pending, connections, reasons),
            }
        }
        more
    }

    /// Whether no connection is pending.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    fn accept(&mut self) -> bool {
        let Some(listener) = &self.listener else { return false };
        for _ in 0..ACCEPTED_AT_ONCE_MAX {
            let (stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => {
                    // Out of descriptors, or the connection is gone already: the next turn tries
                    // again.
                    tracing::debug!(%error, "cannot accept a connection");
                    return false;
                }
            };
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                continue;
            }
            let pending = Pending {
                stream,
                from,
                since: Instant::now(),
                buffer: [0; OPENING_BYTES],
                filled: 0,
                claim: None,
            };
            if self.pending.len() == PENDING_MAX {
                let oldest =
                    self.pending.iter().position(|pending| pending.claim.is_none()).unwrap_or(0);
                if let Some(evicted) = self.pending.remove(oldest) {
                    let reason = Reason("crowded_out", "too many wait at the gate".into());
                    warn_refused(&self.refused, &mut self.warned, evicted.from, &reason);
                }
            }
            self.pending.push_back(pending);
        }
        true
    }

    /// Notes that a connection is refused, and that the process was heard that it `claimed` to be.
    fn refuse(
        &mut self,
        from: SocketAddr,
        reason: &Reason,
        claimed: Option<usize>,
        reasons: &mut [Option<String>],
    ) {
        warn_refused(&self.refused, &mut self.warned, from, reason);
        if let Some(peer) = claimed {
            reasons[peer] = Some(format!("last refused: {}", reason.1));
        }
    }

    /// Counts the remaining connections, and logs the refusals.
    pub(super) fn close(&self) {
        self.refused.count("unheard", self.pending.len() as u64);
        if self.refused.total() > 0 {
            tracing::warn!(refused = ?self.refused.counts(), "refused connections during the start");
        }
    }

    fn place(
        &mut self,
        pending: Pending,
        connections: &mut Connections,
        reasons: &mut [Option<String>],
    ) {
        let Pending { stream, from, claim: Some(Claim { index, lane, sealer, opener }), .. } =
            pending
        else {
            return;
        };
        let mut connection = Connection { stream, sealer, opener };
        let place = &mut connections.of(lane)[index];
        // A peer that did not receive its welcome dials again; its first connection is closed by
        // then.
        if place.as_ref().is_some_and(|taken| !taken.is_dead()) {
            let line = format!("another process has joined as number {index} already");
            self.refuse(from, &Reason("taken", line), Some(index), reasons);
            let _ = connection.send(Signal::Taken);
            return;
        }
        let settled = connection.settle(self.silence_timeout);
        match settled.and_then(|()| connection.send(Signal::Welcome)) {
            Ok(()) => *place = Some(connection),
            Err(e) => self.refuse(from, &Reason("broken", e.to_string()), Some(index), reasons),
        }
    }
}

/// Counts every refusal, and logs one a second.
fn warn_refused(
    refused: &Refused,
    warned: &mut Option<Instant>,
    from: SocketAddr,
    reason: &Reason,
) {
    refused.count(reason.0, 1);
    if warned.is_none_or(|at| at.elapsed() >= WARN_INTERVAL) {
        *warned = Some(Instant::now());
        tracing::warn!(%from, reason = reason.1, refused = refused.total(), "refused a connection");
    }
}

impl Pending {
    fn step(&mut self, party: &Party) -> Step {
        // First the opening, then the confirmation.
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
                    _ => Step::Refuse(
                        Reason("forged", "its handshake is a replay or a forgery".into()),
                        None,
                    ),
                };
            }
            let Answer { reply, outcome, claimed } = answer(party, &self.buffer);
            // A new connection's send buffer has room for this, or the connection is useless.
            let sent = reply.is_none_or(|bytes| self.stream.write_all(&bytes).is_ok());
            match outcome {
                Err(refusal) => return Step::Refuse(refusal.into(), claimed),
                Ok(_) if !sent => {
                    return Step::Refuse(
                        Reason("broken", "it does not take our answer".into()),
                        None,
                    );
                }
                Ok(claim) => self.claim = Some(claim),
            }
        }
        Step::Wait
    }

    /// Reads up to `wanted` bytes; returns whether all of them have arrived.
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
