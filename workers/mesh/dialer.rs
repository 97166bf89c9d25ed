//! Dials the processes with lower indices, again and again until the start is over.

use crate::error::{Error, Kind, Result};
use crate::mesh::Mesh;
use crate::mesh::connection::Connection;
use crate::mesh::handshake::{DialFailure, LANES, Lane, Party, Refusal, dial};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

const REDIAL_MIN: Duration = Duration::from_millis(20);
const REDIAL_MAX: Duration = Duration::from_secs(1);
/// How long a peer must refuse before this process ends. A program that forges a refusal, or has
/// the address of a peer for a moment, is usually gone by then.
const REFUSED_FOR: Duration = Duration::from_secs(3);

/// What the dialing threads report.
pub(super) enum Dialed {
    Connected(usize, Lane, Connection),
    /// Failed, and will be tried again.
    Failed(usize, String),
    /// Refused, and will not be tried again.
    Refused(Error),
}

/// Dials the lower indices, one thread each. The threads end when they are done, at the deadline or
/// on `stop`.
pub(super) fn dial_lower(
    mesh: &Mesh,
    party: &Party,
    deadline: Instant,
    stop: &Arc<AtomicBool>,
) -> Result<Receiver<Dialed>> {
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
        let spawned = Builder::new()
            .name(format!("mesh:dial-{peer}"))
            .spawn(move || dialer.dial_both(&news, &stop));
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
            let mut refused_since: Option<Instant> = None;
            loop {
                if stop.load(Ordering::SeqCst) || Instant::now() >= self.deadline {
                    return;
                }
                let outcome = match self.dial_once(lane) {
                    Ok(connection) => Dialed::Connected(self.peer, lane, connection),
                    Err(DialFailure::Broken(reason)) => {
                        refused_since = None;
                        Dialed::Failed(self.peer, reason)
                    }
                    // A refusal has no proof: anyone who answers at this address may send one.
                    Err(DialFailure::Refused(refusal)) => {
                        let since = *refused_since.get_or_insert_with(Instant::now);
                        match since.elapsed() < REFUSED_FOR {
                            true => Dialed::Failed(self.peer, refusal.to_string()),
                            false => Dialed::Refused(self.refused(refusal)),
                        }
                    }
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
        Error::new(
            Kind::Protocol,
            format!("process {} at {} refused us: {refusal}", self.peer, self.address),
        )
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
            let outcome = TcpStream::connect_timeout(&address, left)
                .map_err(DialFailure::from)
                .and_then(|stream| {
                    // A connection to a local port in the ephemeral range, while no process listens
                    // there, may connect to itself.
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
