//! Makes all connections between the processes of a job, or says why not.
//!
//! A process listens on its own address and dials the lower indices; each pair has one connection
//! for data and one for heartbeats. Strangers cannot disturb the start: see `acceptor`.

use crate::error::{Error, Kind, Result};
use crate::mesh::Mesh;
use crate::mesh::acceptor::Acceptor;
use crate::mesh::connections::Connections;
use crate::mesh::dialer::{Dialed, dial_lower};
use crate::mesh::handshake::Party;
use crate::mesh::session::Signal;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Opens the listener that the other processes dial; port 0 is any free port.
///
/// # Errors
///
/// [`Kind::TryAgain`]: the port is taken. [`Kind::Config`]: `bind` is not an address of this
/// machine. [`Kind::Permission`], [`Kind::Io`].
pub fn listen(bind: SocketAddr) -> Result<TcpListener> {
    let bound = TcpListener::bind(bind)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
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

/// Connects to every peer, and returns when every peer has all of its connections too.
pub(super) fn connect(
    mesh: &Mesh,
    threads: usize,
    listener: Option<TcpListener>,
) -> Result<Connections> {
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
                Dialed::Connected(peer, lane, connection) => {
                    connections.of(lane)[peer] = Some(connection)
                }
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
            sleep(Duration::from_millis(if acceptor.is_idle() { 5 } else { 1 }));
        }
    }
}

fn missing_peers(mesh: &Mesh, missing: &[usize], reasons: &[Option<String>]) -> Error {
    let describe = |peer: &usize| {
        let reason = reasons[*peer].as_deref().unwrap_or("it never called");
        format!("process {peer} at {} ({reason})", mesh.addresses[*peer])
    };
    let list = missing.iter().map(describe).collect::<Vec<_>>().join(", ");
    let error =
        Error::new(Kind::TryAgain, format!("missing after {:?}: {list}", mesh.start_timeout));
    // Any of the missing peers may be blamed: the launcher gets the reports of all processes and
    // counts votes.
    missing.first().map_or(Error::internal("none is missing"), |peer| error.blaming(*peer))
}

/// Waits until every peer has all of its connections. Until then silence must not count as a loss,
/// and a missing process is reported by those that miss it.
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
                return Err(Error::new(
                    Kind::Protocol,
                    format!("process {peer} says {signal:?} out of turn"),
                )
                .blaming(*peer));
            }
        }
    }
    Ok(())
}
