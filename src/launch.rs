//! The launcher: locks the store, plans the epoch, has the workers do it, commits, exports, reports. It decides; workers only work. In one process
//! the workers are threads; with a cluster file they are processes, started, heard and, if one fails, stopped here.

use crate::cli;
use crate::cluster::{self, Topology};
use crate::jobs;
use crate::report::{self, Bar, Outcome, Times};
use crate::task::{Message, Task, kind_of, memory_bytes};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use workers::commit::{self, Committed};
use workers::epoch::{Failure, Progress, Receipt};
use workers::error::{Error, Kind, Result};
use workers::export;
use workers::guards;
use workers::inputs;
use workers::job::{Job, When};
use workers::merge;
use workers::plan::{self, Plan};
use workers::run::{self, Share};
use workers::store::Store;
use workers::store::manifest::Head;

/// `pagefold run`.
pub fn run(arguments: &cli::Run) -> Result<()> {
    let started = Instant::now();
    let job = jobs::read(&arguments.job, &arguments.sets)?;
    if let Some(path) = &arguments.cluster {
        cluster::read(path)?;
    }
    let identity = job.identity()?;
    // Whatever is wrong with the job's files is said before anything is written.
    if inputs::find(&job.read.inputs)?.is_empty() && !job.store.exists() {
        return Err(inputs::none_found(&job.read.inputs));
    }
    let lock = Store::lock(&job.store)?;
    let store = Store::open_or_create(&job.store, &identity)?;
    store.sweep(&lock);
    // What an earlier run did not finish comes first; then whatever is due.
    let mut began = started;
    let mut head = store.head()?;
    if let Some(plan) = plan::unfinished(&job, &store, head.as_ref())? {
        head = Some(epoch(arguments, &job, &store, head.as_ref(), &plan, began)?);
        began = Instant::now();
    }
    match plan::plan(&job, &store, head.as_ref(), arguments.now.unwrap_or_else(now))? {
        Some(plan) => {
            let input_bytes = plan.inputs.iter().map(|input| input.bytes).sum();
            guards::check_space(&job.store, input_bytes, &arguments.allow)?;
            let plan = plan.freeze(&job.store)?;
            epoch(arguments, &job, &store, head.as_ref(), &plan, began).map(drop)
        }
        None => nothing_due(arguments, &job, &store, head.as_ref()),
    }
}

/// Carries out a frozen plan over `head`: work, commit, export, merge, report. Returns the new head.
pub fn epoch(
    arguments: &cli::Run,
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    plan: &Plan,
    began: Instant,
) -> Result<Head> {
    let topology = match (&arguments.cluster, arguments.threads) {
        (Some(path), _) => cluster::read(path)?,
        (None, Some(threads)) => Topology::single(threads.into()),
        (None, None) => Topology::single(thread::available_parallelism().map_or(1, Into::into)),
    };
    let mut times = Times::start(began);
    let bar = Bar::start(plan, arguments.quiet);
    let work = if arguments.cluster.is_some() {
        processes(job, plan, &topology, &bar)
    } else {
        threads(job, plan, head, &topology, &bar)
    };
    bar.finish();
    let Work { receipts, memory_bytes } = work?;
    times.lap("work");
    let (stages, rows_read) = (report::stages(&receipts), report::rows_read(&receipts));
    let Committed { mut head, counts } =
        commit::commit(job, store, head, plan, receipts, topology.peers(), &arguments.allow)?;
    times.lap("commit");
    tracing::info!(epoch = head.manifest.epoch, "committed");
    let exported = match job.output.export {
        When::Always => Some(export::export(job, store, &head)?),
        When::OnDemand => None,
    };
    times.lap("export");
    match merge::merge(store, &head) {
        Ok(Some(merged)) => head = merged,
        Ok(None) => {}
        // The epoch stands; the next one tries again.
        Err(error) => tracing::warn!(%error, "cannot merge runs"),
    }
    times.lap("merge");
    let outcome =
        Outcome { job, topology: &topology, plan, counts: &counts, exported, times, stages, rows_read, memory_bytes };
    outcome.write_run_json()?;
    outcome.print(arguments)?;
    Ok(head)
}

/// What a crash between commit and export left undone is done now.
fn nothing_due(arguments: &cli::Run, job: &Job, store: &Store, head: Option<&Head>) -> Result<()> {
    let Some(head) = head else {
        return Err(Error::internal("no epoch and nothing due"));
    };
    if job.output.export == When::Always && !export::is_current(job, head) {
        tracing::info!(epoch = head.manifest.epoch, "exporting what was committed before");
        export::export(job, store, head)?;
    }
    report::nothing_due(head, arguments)
}

/// Seconds since 1970.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// What workers did.
struct Work {
    receipts: Vec<Receipt>,
    memory_bytes: u64,
}

/// The work in this process.
fn threads(job: &Job, plan: &Plan, head: Option<&Head>, topology: &Topology, bar: &Bar) -> Result<Work> {
    let progress = Arc::new(Progress::default());
    bar.follow(progress.clone());
    let share = Share {
        job: job.clone(),
        plan: plan.clone(),
        attempt: plan.attempt(&job.store),
        before: head.map_or_else(BTreeMap::new, |head| head.manifest.tables.clone()),
        threads: topology.workers,
        process: 0,
        processes: 1,
        mesh: None,
    };
    let receipts = run::run(share, progress, Failure::default(), |_| {})?;
    Ok(Work { receipts, memory_bytes: memory_bytes() })
}

/// A process that was started, and its end of the line: dropping that tells it to end.
struct Started {
    child: Child,
    line: Option<ChildStdin>,
}

/// All processes of a job; whatever happens, none outlives this.
struct Crew(Vec<Started>);

impl Drop for Crew {
    fn drop(&mut self) {
        for started in &mut self.0 {
            drop(started.line.take());
            // One that has ended already needs no killing.
            let _ = started.child.kill();
            let _ = started.child.wait();
        }
    }
}

/// The work in processes of their own on this machine.
fn processes(job: &Job, plan: &Plan, topology: &Topology, bar: &Bar) -> Result<Work> {
    let addresses = addresses(topology)?;
    let key = random_key()?;
    let (tell, hear) = channel();
    let mut crew = Crew(Vec::new());
    for process in 0..topology.processes {
        let task = Task {
            job: job.clone(),
            attempt: plan.attempt(&job.store),
            process,
            threads: topology.workers,
            addresses: addresses.clone(),
            key: key.clone(),
            start_timeout_s: topology.start_timeout_s,
            silence_timeout_s: topology.silence_timeout_s,
        };
        let progress = Arc::new(Progress::default());
        bar.follow(progress.clone());
        crew.0.push(start(&task, progress, tell.clone())?);
    }
    drop(tell);
    gather(hear, topology.processes)
}

/// Starts one process and a thread that hears it.
fn start(task: &Task, progress: Arc<Progress>, tell: Sender<(usize, Option<Message>)>) -> Result<Started> {
    let failed = |e: std::io::Error| Error::new(Kind::Internal, "cannot start a worker process").caused_by(e);
    let binary = std::env::current_exe().map_err(failed)?;
    let mut child =
        Command::new(binary).arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let (Some(mut line), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::internal("a worker process has no stdin or stdout"));
    };
    let text = serde_json::to_string(task).map_err(|e| Error::internal("cannot write a task").caused_by(e))?;
    // A worker that dies at once is heard of on its stdout.
    let _ = writeln!(line, "{text}");
    let process = task.process;
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Some(message) = line.ok().and_then(|line| serde_json::from_str::<Message>(&line).ok()) else { break };
            match message {
                Message::Progress { bytes, records, stage } => {
                    progress.bytes.store(bytes, Ordering::Relaxed);
                    progress.records.store(records, Ordering::Relaxed);
                    progress.stage.store(stage, Ordering::Relaxed);
                }
                message => {
                    // The launcher may have heard enough already.
                    let _ = tell.send((process, Some(message)));
                    return;
                }
            }
        }
        let _ = tell.send((process, None));
    });
    Ok(Started { child, line: Some(line) })
}

/// Waits for all receipts. The first failure that is no mere loss of a peer is the one worth telling; a lost peer is told
/// only if no better reason comes.
fn gather(hear: Receiver<(usize, Option<Message>)>, processes: usize) -> Result<Work> {
    let mut work = Work { receipts: Vec::new(), memory_bytes: 0 };
    let mut lost: Option<Error> = None;
    for _ in 0..processes {
        let Ok((process, message)) = hear.recv() else { break };
        match message {
            Some(Message::Done { receipts, memory_bytes }) => {
                work.receipts.extend(receipts);
                work.memory_bytes += memory_bytes;
            }
            Some(Message::Failed { code, line }) if kind_of(code) != Kind::TryAgain => {
                return Err(Error::new(kind_of(code), format!("process {process}: {line}")));
            }
            Some(Message::Failed { line, .. }) => {
                lost.get_or_insert(Error::new(Kind::TryAgain, format!("process {process}: {line}")));
            }
            _ => {
                let died = Error::new(Kind::TryAgain, format!("process {process} died; run again to go on from here"));
                return Err(lost.unwrap_or(died));
            }
        }
    }
    lost.map_or(Ok(work), Err)
}

/// Loopback addresses for all processes.
fn addresses(topology: &Topology) -> Result<Vec<String>> {
    let fixed = |process: usize| format!("127.0.0.1:{}", usize::from(topology.port) + process);
    if topology.port > 0 {
        return Ok((0..topology.processes).map(fixed).collect());
    }
    // All are bound at once, so that they differ, and let go for the processes to take.
    let failed = |e: std::io::Error| Error::new(Kind::TryAgain, "no free port on loopback").caused_by(e);
    let listeners: Vec<TcpListener> = (0..topology.processes)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<std::io::Result<_>>()
        .map_err(failed)?;
    listeners.iter().map(|listener| listener.local_addr().map(|address| address.to_string()).map_err(failed)).collect()
}

fn random_key() -> Result<String> {
    Ok([workers::store::random_hex()?, workers::store::random_hex()?].concat())
}
