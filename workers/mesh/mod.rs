//! Connects the processes of a job, and runs their workers over these connections.
//!
//! Every connection is authenticated before timely sees it (`handshake`), made under a deadline
//! although strangers may connect too (`start`), encrypted if required (`connection`) and watched
//! by a heartbeat (`beat`). timely's own start trusts every connection, waits for ever for a
//! missing process, and does not notice a stopped one. Nothing here routes or changes a record, and
//! nothing is printed to stdout.

mod acceptor;
mod beat;
mod connection;
mod connections;
mod control_channel;
mod dialer;
mod frames;
mod handshake;
mod key;
mod session;
mod start;

use crate::locks::lock;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use timely::WorkerConfig;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::communication::{Config, Hooks};
use timely::worker::Worker;

use crate::error::{Error, Kind, Result};
use crate::mesh::beat::Beats;
use crate::mesh::connection::{Alarm, pump};
pub use crate::mesh::control_channel::ControlChannel;
pub use crate::mesh::key::Key;
use crate::mesh::start::connect;
pub use crate::mesh::start::listen;
use crate::panics;

/// How many connections a process refused while it started, by reason: `stranger`, `another_job`,
/// `wrong_key`, `wrong_index`, `forged`, `hung_up`, `too_slow`, `crowded_out`, `taken`, `broken`,
/// and `unheard` for those that were incomplete when the start was over.
#[derive(Clone, Default)]
pub struct Refused(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Refused {
    fn count(&self, reason: &'static str, n: u64) {
        if n > 0 {
            *lock(&self.0).entry(reason).or_default() += n;
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let counts = lock(&self.0);
        counts.iter().map(|(reason, n)| ((*reason).to_owned(), *n)).collect()
    }

    /// The sum over all reasons.
    fn total(&self) -> u64 {
        lock(&self.0).values().sum()
    }
}

/// The most processes of a job. Each has four threads for each peer, and two more if data is
/// encrypted.
pub const PROCESSES_MAX: usize = 256;

/// How data is protected between processes. Without encryption, anyone who can write into an
/// established connection can forge data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// It is encrypted.
    Encrypted,
    /// It stays on this machine: each address is a loopback address.
    PlainOnLoopback,
    /// It is not encrypted, because the user says that the network is safe.
    PlainByRequest,
}

impl Protection {
    /// Whether the data is encrypted.
    pub fn is_encrypted(self) -> bool {
        self == Protection::Encrypted
    }
}

/// How a process connects to its peers, authenticates and watches them.
pub struct Mesh {
    /// The index of this process, from 0.
    pub index: usize,
    /// The address of each process, `host:port` in order of index, including this one; the same for
    /// all processes.
    pub addresses: Vec<String>,
    /// The address on which this process listens for the higher indices. May differ from the
    /// address that they dial.
    pub bind: SocketAddr,
    /// The key of this attempt.
    pub key: Key,
    /// Everything that the processes must agree on: store, attempt, configuration, binary.
    pub prologue: Vec<u8>,
    /// How the data is protected.
    pub protection: Protection,
    /// Limit until every process has all of its connections.
    pub start_timeout: Duration,
    /// Limit for one connection to authenticate itself.
    pub handshake_timeout: Duration,
    /// How long a peer may be silent, or leave bytes unacknowledged, before it is lost. The same
    /// for all processes.
    pub silence_timeout: Duration,
    /// Counts the refused connections.
    pub refused: Refused,
}

impl Mesh {
    const SILENCE_MIN: Duration = Duration::from_millis(50);

    fn check(&self) -> Result<()> {
        let wrong = |line: String| Err(Error::new(Kind::Config, line));
        let processes = self.addresses.len();
        if self.index >= processes || processes > PROCESSES_MAX {
            return wrong(format!(
                "process {} of {processes}, at most {}",
                self.index, PROCESSES_MAX
            ));
        }
        if self.handshake_timeout.is_zero()
            || self.start_timeout.is_zero()
            || self.silence_timeout < Mesh::SILENCE_MIN
        {
            return wrong(format!(
                "time limits of a mesh are positive, silence at least {:?}",
                Mesh::SILENCE_MIN
            ));
        }
        if self.protection == Protection::PlainOnLoopback && !self.bind.ip().is_loopback() {
            return wrong(format!(
                "cannot listen on {}: only loopback goes without encryption",
                self.bind
            ));
        }
        for (peer, address) in self.addresses.iter().enumerate() {
            let parts = address.rsplit_once(':');
            if !parts.is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            }) {
                return wrong(format!("address of process {peer}: {address:?} is not host:port"));
            }
        }
        Ok(())
    }
}

/// Runs `work` on `threads` local workers, which exchange data with the workers of `mesh` if there
/// is one. All processes must have the same number of threads. The listener is that of [`listen`];
/// the highest index needs none. Returns the results of the local workers in order, after all
/// workers of all processes have ended.
///
/// `on_lost` is called once, from another thread, when a peer is lost while workers run. In
/// production it ends the process, because a worker that waits for the lost peer cannot be stopped.
/// If it returns, `execute` returns [`Kind::TryAgain`] and leaves the local workers behind. The
/// same happens when a worker panics, with [`Kind::Internal`].
///
/// # Errors
///
/// [`Kind::Config`]: no threads, or a bad address or limit. [`Kind::Protocol`]: a peer refused this
/// process (a wrong key, another build or job, a wrong index). [`Kind::TryAgain`]: a peer is
/// missing at the deadline, or lost later. [`Kind::Internal`]: a worker panicked. [`Kind::Io`],
/// [`Kind::Permission`]: this process cannot listen.
pub fn execute<T: Send + 'static>(
    threads: usize,
    mesh: Option<(Mesh, Option<TcpListener>)>,
    on_lost: impl Fn(&Error) + Send + Sync + 'static,
    work: impl Fn(&mut Worker) -> T + Send + Sync + 'static,
) -> Result<Vec<T>> {
    if let Some((mesh, _)) = &mesh {
        mesh.check()?;
    }
    if threads == 0 {
        return Err(Error::new(Kind::Config, "a process needs at least one worker thread"));
    }
    // The first event decides: all workers have joined, a worker panicked, or a peer is lost.
    let (events, outcome) = channel();
    let lost = events.clone();
    let alarm = Arc::new(Alarm::new(move |reason| {
        on_lost(reason);
        let error = Error::new(Kind::TryAgain, reason.to_string());
        let error = reason.peer().into_iter().fold(error, Error::blaming);
        let _ = lost.send(Err(error));
    }));
    let Wiring { builders, guard, senders, beats } = match mesh {
        Some((mesh, listener)) if mesh.addresses.len() > 1 => {
            Wiring::over(&mesh, listener, threads, &alarm)?
        }
        _ => Wiring::alone(threads)?,
    };
    let (panicked, panic_alarm) = (events.clone(), alarm.clone());
    let guarded = move |worker: &mut Worker| {
        let run = AssertUnwindSafe(|| {
            let result = work(worker);
            while worker.has_dataflows() {
                worker.step_or_park(None);
            }
            result
        });
        catch_unwind(run).unwrap_or_else(|panic| {
            report_panic(&panicked, &panic_alarm, panic_message(panic.as_ref()));
            // timely informs its queues of a panic only while one unwinds.
            resume_unwind(panic)
        })
    };
    let config = WorkerConfig::default();
    let guards =
        timely::execute::execute_from(builders, guard, config, guarded).map_err(Error::internal)?;
    // A worker that was left behind never joins, so a separate thread waits for it.
    let joining = Builder::new().name("mesh:join".into()).spawn(move || {
        let joined = catch_unwind(AssertUnwindSafe(|| guards.join()));
        let Ok(results) = joined else {
            let line = "lost a peer: its connection broke while it was being closed";
            return alarm.raise(&Error::new(Kind::TryAgain, line));
        };
        for sender in senders {
            let _ = sender.join();
        }
        let results: std::result::Result<Vec<T>, String> = results.into_iter().collect();
        if let (Ok(_), Some((beats, silence))) = (&results, beats) {
            beats.farewell(silence);
        }
        let _ = events.send(results.map_err(|_| Error::internal("a worker thread panicked")));
    });
    joining.map_err(|e| Error::new(Kind::Io, "cannot start a thread").caused_by(e))?;
    outcome.recv().map_err(|e| Error::internal("the workers vanished").caused_by(e))?
}

/// What timely needs to run, and what must end after it.
struct Wiring {
    builders: Vec<AllocatorBuilder>,
    /// Joins timely's network threads when dropped.
    guard: Box<dyn Any + Send>,
    /// The threads that send encrypted data.
    senders: Vec<JoinHandle<()>>,
    beats: Option<(Beats, Duration)>,
}

impl Wiring {
    fn alone(threads: usize) -> Result<Wiring> {
        let (builders, guard) = Config::Process(threads).try_build().map_err(Error::internal)?;
        Ok(Wiring { builders, guard, senders: Vec::new(), beats: None })
    }

    fn over(
        mesh: &Mesh,
        listener: Option<TcpListener>,
        threads: usize,
        alarm: &Arc<Alarm>,
    ) -> Result<Wiring> {
        let connections = connect(mesh, threads, listener)?;
        let io = |error| Error::new(Kind::Io, "cannot set up the network").caused_by(error);
        let beats = Beats::start(connections.beat, mesh.silence_timeout, alarm).map_err(io)?;
        let hooks = Hooks::default();
        let local =
            ProcessBuilder::new_typed_vector(threads, hooks.refill.clone(), hooks.spill.clone());
        let mut senders = Vec::new();
        let (builders, guard) = if mesh.protection.is_encrypted() {
            let mut sockets = Vec::with_capacity(connections.data.len());
            for (peer, connection) in connections.data.into_iter().enumerate() {
                let pumped = connection
                    .map(|connection| pump(connection, peer, alarm))
                    .transpose()
                    .map_err(io)?;
                sockets.push(pumped.map(|(socket, sender)| {
                    senders.push(sender);
                    socket
                }));
            }
            initialize_networking_from_sockets(local, sockets, mesh.index, threads, hooks)
                .map_err(io)?
        } else {
            let sockets =
                connections.data.into_iter().map(|connection| Some(connection?.stream)).collect();
            initialize_networking_from_sockets(local, sockets, mesh.index, threads, hooks)
                .map_err(io)?
        };
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        Ok(Wiring {
            builders,
            guard: Box::new(guard),
            senders,
            beats: Some((beats, mesh.silence_timeout)),
        })
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panics::message(panic).unwrap_or("no message")
}

/// Reports a worker's panic, as a lost peer if that caused it.
fn report_panic<T>(events: &Sender<Result<T>>, alarm: &Alarm, message: &str) {
    if is_network_panic(message) {
        alarm.raise(&Error::new(Kind::TryAgain, format!("lost a peer: {message}")));
    } else {
        // The silence that follows must not be reported.
        alarm.disarm();
        let _ = events.send(Err(Error::internal(format!("a worker panicked: {message}"))));
    }
}

/// timely panics with the first text when a connection breaks, and with the second in the threads
/// that wait for it.
fn is_network_panic(message: &str) -> bool {
    message.starts_with("timely communication error") || message.starts_with("MergeQueue poisoned")
}

/// The error of a panic with `message` in `thread`, if it must end the process.
fn fatal_panic(thread: &str, message: &str) -> Option<Error> {
    if is_network_panic(message) {
        let peer =
            thread.strip_prefix("timely:recv-").or_else(|| thread.strip_prefix("timely:send-"));
        return Some(match peer.and_then(|index| index.parse().ok()) {
            Some(peer) => connection::lost(peer, message),
            None => Error::new(Kind::TryAgain, format!("lost a peer: {message}")),
        });
    }
    thread.starts_with("timely:").then(|| Error::internal(format!("{thread} panicked: {message}")))
}

/// From now on a panic in one of timely's threads ends the process once `report` has told of it:
/// the other workers would otherwise wait for ever. The exit code is that of [`Kind::TryAgain`] if
/// timely lost a connection, else of [`Kind::Internal`]. Panics of other threads are handled as
/// before.
pub fn exit_on_panic(report: impl Fn(&Error) + Send + Sync + 'static) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if panics::is_guarded() {
            return;
        }
        let thread = std::thread::current();
        let text = panic_message(info.payload()).replace('\n', " ");
        let Some(mut error) = fatal_panic(thread.name().unwrap_or(""), &text) else {
            return before(info);
        };
        if let (Kind::Internal, Some(place)) = (error.kind(), info.location()) {
            error = Error::internal(format!("{error} ({place})"));
        }
        report(&error);
        std::process::exit(error.kind().exit_code().into());
    }));
}

#[cfg(test)]
mod tests;
