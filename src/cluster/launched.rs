//! The hidden `worker` command: one process of a job that a launcher has started.
//!
//! It sends hello, reads its orders from stdin, does its part, and sends progress and receipts on
//! stdout. It ends when its launcher ends or is silent for the silence timeout.

use crate::cluster::control::{Assignment, Done, Message, Order, SEND_INTERVAL, Task, settle};
use crate::cluster::probe::{self, Probe};
use crate::own_process::{memory_bytes, own_digest};
use crate::signals;
use crate::terminal::logging;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use workers::error::{Error, Kind, Result};
use workers::fold::failure::Failure;
use workers::fold::{self, ProcessTask};
use workers::job::Job;
use workers::locks::lock;
use workers::mesh::{self, Mesh, Refused};
use workers::plan::Plan;
use workers::progress::Progress;
use workers::store::manifest::TableState;
use workers::store::{Store, digest_of, durable};

/// The size of an order; a job may name many inputs.
const ORDER_BYTES_MAX: u64 = 64 << 20;
/// Limit for one connection to authenticate itself.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the launcher may be silent before it has sent the silence limit.
const FIRST_ORDER_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit for writing the final message if the launcher does not read it.
const FINAL_MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);

fn send(message: &Message) {
    // If the launcher has ended, our stdin is closed, and that ends this process.
    if let Ok(line) = serde_json::to_string(message) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// How long a process that has lost a peer stays alive, so that the others notice the loss by
/// themselves. The launcher ends it earlier, once it has all reports.
static LINGER: OnceLock<Duration> = OnceLock::new();
/// Whether this process has lost a peer.
static HAS_LOST_PEER: AtomicBool = AtomicBool::new(false);

/// Sends the failure that ends this process.
fn send_failure(error: &Error) {
    let code = i32::from(error.kind().exit_code());
    // timely's threads may fail because of the same loss, and do not know the peer.
    let is_loss = error.peer().is_some()
        || (HAS_LOST_PEER.load(Ordering::SeqCst) && error.kind() == Kind::TryAgain);
    HAS_LOST_PEER.fetch_or(is_loss, Ordering::SeqCst);
    let linger = if is_loss {
        *LINGER.get().unwrap_or(&FINAL_MESSAGE_TIMEOUT)
    } else {
        FINAL_MESSAGE_TIMEOUT
    };
    // A launcher that does not read must not keep this process alive.
    thread::spawn(move || {
        thread::sleep(linger);
        std::process::exit(code)
    });
    send(&Message::failed(error, true));
    if is_loss {
        // If this process ended at once, its peers would lose it too, which would hide the first
        // loss.
        thread::sleep(linger);
    }
}

/// Ends the process. The launcher prints the error, unless the launcher itself was lost.
fn halt(error: &Error) -> ! {
    send_failure(error);
    std::process::exit(error.kind().exit_code().into())
}

/// The connection to the launcher.
struct Launcher {
    orders: Receiver<Order>,
    /// When the last order arrived, and how long the launcher may be silent.
    last_order: Arc<Mutex<(Instant, Duration)>>,
}

fn no_task() -> Error {
    Error::new(Kind::Usage, "no task on stdin: `worker` is started by `run --cluster`")
}

impl Launcher {
    /// Starts to read orders, and to check for silence.
    fn listen() -> Launcher {
        let (sender, orders) = channel();
        let last_order = Arc::new(Mutex::new((Instant::now(), FIRST_ORDER_TIMEOUT)));
        let (received, watched) = (last_order.clone(), last_order.clone());
        thread::spawn(move || {
            let mut reader = BufReader::new(std::io::stdin());
            let mut has_orders = false;
            loop {
                let mut line = Vec::new();
                let read = reader.by_ref().take(ORDER_BYTES_MAX).read_until(b'\n', &mut line);
                if read.is_err() || line.last() != Some(&b'\n') {
                    // At the end of stdin, and after an error, the launcher is gone.
                    if has_orders {
                        signals::end_after_launcher();
                    }
                    return;
                }
                lock(&received).0 = Instant::now();
                match serde_json::from_slice(&line) {
                    Ok(Order::Beat { silence_timeout }) => lock(&received).1 = silence_timeout,
                    // If the receiver is dropped, this process is ending.
                    Ok(order) => drop(sender.send(order)),
                    Err(_) if has_orders => halt(&Error::new(
                        Kind::Usage,
                        "the launcher sent a line that is not an order",
                    )),
                    Err(_) => return,
                }
                has_orders = true;
            }
        });
        thread::spawn(move || {
            loop {
                thread::sleep(SEND_INTERVAL / 2);
                let (last_order, limit) = *lock(&watched);
                if last_order.elapsed() > limit {
                    let line = format!("heard nothing of the launcher for {} s", limit.as_secs());
                    halt(&Error::new(Kind::TryAgain, line));
                }
            }
        });
        Launcher { orders, last_order }
    }

    fn order(&self) -> Result<Order> {
        self.orders.recv().map_err(|_| no_task())
    }

    /// Waits for the addresses of all processes.
    fn peers(&self) -> Result<Vec<String>> {
        match self.order()? {
            Order::Peers(addresses) => Ok(addresses),
            _ => Err(no_task()),
        }
    }
}

/// Runs `pagefold worker` as a launcher starts it.
pub fn command() -> Result<()> {
    mesh::exit_on_panic(|error| {
        send_failure(error);
        logging::print_failure(error);
    });
    signals::outlive_launcher();
    run()
}

/// Runs the process. Returns only if there is no launcher.
fn run() -> Result<()> {
    durable::make_tag_unique()?;
    let digest = own_digest()?;
    send(&Message::Hello { digest: digest.clone(), pid: std::process::id() });
    let launcher = Launcher::listen();
    let progress = Arc::new(Progress::default());
    let reported = progress.clone();
    thread::spawn(move || {
        loop {
            send_progress(&reported);
            thread::sleep(SEND_INTERVAL);
        }
    });
    let outcome = match launcher.order()? {
        Order::Task(order) => {
            let (assignment, task) = *order;
            work(
                &assignment,
                task,
                &digest,
                open_or_halt(&assignment, &launcher),
                &launcher,
                progress,
            )
        }
        Order::Probe(order) => {
            let (assignment, probe) = *order;
            probe_host(
                &assignment,
                &probe,
                &digest,
                open_or_halt(&assignment, &launcher),
                &launcher,
            )
        }
        Order::Peers(_) | Order::Beat { .. } => return Err(no_task()),
    };
    end(outcome.as_ref())
}

fn send_progress(progress: &Progress) {
    let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
    send(&Message::Progress {
        bytes: load(&progress.bytes),
        records: load(&progress.records),
        stage: load(&progress.stage),
        memory_bytes: memory_bytes(),
        turns: progress.turns(),
        busy_turns: progress.busy_turns(),
    });
}

/// Sends the final message and exits; the launcher prints the error.
fn end(outcome: std::result::Result<&Message, &Error>) -> ! {
    match outcome {
        Ok(message) => send(message),
        Err(error) => send(&Message::failed(error, false)),
    }
    std::process::exit(outcome.err().map_or(0, |error| error.kind().exit_code().into()))
}

/// [`open`] or end; a port that is taken may be free in the next attempt.
fn open_or_halt(assignment: &Assignment, launcher: &Launcher) -> TcpListener {
    open(assignment, launcher).unwrap_or_else(|error| halt(&error))
}

/// Applies the assignment: the working folder, the timeouts, and a listener, whose address is sent
/// to the launcher.
fn open(assignment: &Assignment, launcher: &Launcher) -> Result<TcpListener> {
    lock(&launcher.last_order).1 = assignment.silence_timeout;
    LINGER.get_or_init(|| settle(assignment.silence_timeout) + FINAL_MESSAGE_TIMEOUT);
    if assignment.is_child {
        // If this fails, the end of stdin still ends the process.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
    std::env::set_current_dir(&assignment.folder).map_err(|e| {
        Error::io("work in the folder", &assignment.folder, e).with_kind(Kind::Config)
    })?;
    let addresses: Vec<SocketAddr> = match assignment.bind {
        Some(ip) => vec![SocketAddr::new(ip, assignment.port)],
        None => {
            let resolved = (assignment.address.as_str(), assignment.port).to_socket_addrs();
            let named = |e| {
                Error::new(Kind::Config, format!("address {} is unknown here", assignment.address))
                    .caused_by(e)
            };
            resolved.map_err(named)?.collect()
        }
    };
    let mut failed =
        Error::new(Kind::Config, format!("the name {} has no address here", assignment.address));
    for address in addresses {
        match mesh::listen(address) {
            Ok(listener) => {
                let address = listener
                    .local_addr()
                    .map_err(|e| Error::internal("a socket has no address").caused_by(e))?;
                send(&Message::Listening { address });
                return Ok(listener);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn probe_host(
    assignment: &Assignment,
    probe: &Probe,
    digest: &str,
    listener: TcpListener,
    launcher: &Launcher,
) -> Result<Message> {
    let mut findings = probe::try_files(probe, assignment.process);
    let addresses = launcher.peers()?;
    let prologue = ["check", digest, &probe.token].join("/").into_bytes();
    findings.push(probe::try_peers(mesh(assignment, addresses, prologue, &listener)?, listener));
    Ok(Message::Probed { findings })
}

/// The task of a process, read before it connects to the others.
pub struct Prepared {
    plan: Plan,
    before: BTreeMap<String, TableState>,
    /// The facts on which all processes must agree.
    agreed: String,
}

/// Reads the plan of `task`, for a binary with this `digest`.
///
/// # Errors
///
/// `TryAgain` if the store has another head than the plan is built on. Errors of the plan or the
/// store as seen from this host.
pub fn prepare(task: &Task, digest: &str) -> Result<Prepared> {
    let plan = Plan::read(&task.attempt)?;
    let store = Store::open(&task.job.store, Some(&task.job.identity()?))?;
    let head = store.head()?;
    if head.as_ref().map_or("", |head| &head.digest) != plan.previous {
        return Err(Error::new(Kind::TryAgain, "the store has moved on since the plan was made"));
    }
    let agreed = [plan.store.as_str(), &plan.digest, &plan.config, &job_digest(&task.job)?, digest]
        .join("/");
    let before = head.map(|head| head.manifest.tables).unwrap_or_default();
    Ok(Prepared { plan, before, agreed })
}

/// The digest of the whole job, in hex.
pub fn job_digest(job: &Job) -> Result<String> {
    let job = serde_json::to_value(job)
        .map_err(|e| Error::internal("cannot write a job").caused_by(e))?;
    Ok(digest_of(&job))
}

/// The share of the process with this assignment, whose peers listen at `addresses`.
pub fn share(
    assignment: &Assignment,
    task: Task,
    prepared: Prepared,
    addresses: Vec<String>,
    listener: TcpListener,
) -> Result<ProcessTask> {
    let Prepared { plan, before, agreed } = prepared;
    let mesh = mesh(assignment, addresses, agreed.into_bytes(), &listener)?;
    Ok(ProcessTask {
        before,
        mesh: Some((mesh, listener)),
        attempt: task.attempt,
        job: task.job,
        plan,
        threads: task.threads,
        process: assignment.process,
        processes: assignment.processes,
    })
}

fn work(
    assignment: &Assignment,
    task: Task,
    digest: &str,
    listener: TcpListener,
    launcher: &Launcher,
    progress: Arc<Progress>,
) -> Result<Message> {
    let prepared = prepare(&task, digest)?;
    let share = share(assignment, task, prepared, launcher.peers()?, listener)?;
    // An exit code alone would not say why, and the launcher then ends the other processes.
    let failure = Failure::notifying(|error| end(Err(error)));
    let done = run_share(share, &progress, failure, halt_when_lost)?;
    // The progress since the last message.
    send_progress(&progress);
    Ok(Message::Done(done))
}

/// Does a share of the work.
pub fn run_share(
    share: ProcessTask,
    progress: &Arc<Progress>,
    failure: Failure,
    on_lost: impl Fn(&Error) + Send + Sync + 'static,
) -> Result<Done> {
    let refused = share.mesh.as_ref().map(|(mesh, _)| mesh.refused.clone()).unwrap_or_default();
    let receipts = fold::run(share, progress.clone(), failure, on_lost)?;
    Ok(Done {
        receipts,
        memory_bytes: memory_bytes(),
        splits_done: progress.splits_done.load(Ordering::Relaxed),
        splits_resumed: progress.splits_resumed.load(Ordering::Relaxed),
        refused: refused.counts(),
    })
}

fn halt_when_lost(error: &Error) {
    halt(error)
}

/// The mesh of this assignment's attempt. All processes must agree on `prologue`.
pub fn mesh(
    assignment: &Assignment,
    addresses: Vec<String>,
    prologue: Vec<u8>,
    listener: &TcpListener,
) -> Result<Mesh> {
    Ok(Mesh {
        index: assignment.process,
        addresses,
        bind: listener
            .local_addr()
            .map_err(|e| Error::internal("a socket has no address").caused_by(e))?,
        key: assignment.key.clone(),
        prologue,
        protection: assignment.protection,
        start_timeout: assignment.start_timeout,
        handshake_timeout: HANDSHAKE_TIMEOUT,
        silence_timeout: assignment.silence_timeout,
        refused: Refused::default(),
    })
}
