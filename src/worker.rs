//! The hidden `worker` command: one process of a job. Reads its task from stdin, does its share, tells progress and receipts on stdout, and ends
//! when its launcher does.

use crate::logging;
use crate::task::{Message, Task, memory_bytes};
use std::io::{BufRead, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use workers::epoch::{Failure, Progress};
use workers::error::{Error, Kind, Result};
use workers::mesh::Mesh;
use workers::plan::Plan;
use workers::run::{self, Share};
use workers::store::Store;

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

fn tell(message: &Message) {
    // A launcher that has gone is noticed on stdin.
    if let Ok(line) = serde_json::to_string(message) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

fn halt(kind: Kind, why: &str) -> ! {
    logging::say(why);
    tell(&Message::Failed { code: kind.exit_code(), line: why.to_owned() });
    std::process::exit(i32::from(kind.exit_code()))
}

/// Runs the process.
pub fn run() -> Result<()> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|e| Error::new(Kind::Usage, "no task on stdin: `worker` is started by `run --cluster`").caused_by(e))?;
    let task: Task = serde_json::from_str(&line).map_err(|e| {
        Error::new(Kind::Usage, "no task on stdin: `worker` is started by `run --cluster`").caused_by(e)
    })?;
    std::thread::spawn(|| {
        let mut rest = [0; 1];
        // Whatever comes, an end or an error: the launcher has nothing more to say.
        let _ = std::io::stdin().lock().read(&mut rest);
        halt(Kind::TryAgain, "the launcher is gone");
    });
    let progress = Arc::new(Progress::default());
    let told = progress.clone();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(PROGRESS_EVERY);
            let load = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
            tell(&Message::Progress {
                bytes: load(&told.bytes),
                records: load(&told.records),
                stage: load(&told.stage),
            });
        }
    });
    let outcome = work(task, progress);
    match &outcome {
        Ok(message) => tell(message),
        Err(error) => tell(&Message::failed(error)),
    }
    outcome.map(drop)
}

fn work(task: Task, progress: Arc<Progress>) -> Result<Message> {
    let plan = Plan::read(&task.attempt)?;
    let store = Store::open(&task.job.store, Some(&task.job.identity()?))?;
    let head = store.head()?;
    if head.as_ref().map_or("", |head| &head.digest) != plan.previous {
        return Err(Error::new(Kind::TryAgain, "the store has moved on since the plan was made"));
    }
    let processes = task.addresses.len();
    let share = Share {
        before: head.map(|head| head.manifest.tables).unwrap_or_default(),
        mesh: Some(mesh(&task, &plan)?),
        attempt: task.attempt,
        job: task.job,
        plan,
        threads: task.threads,
        process: task.process,
        processes,
    };
    let receipts = run::run(share, progress, Failure::default(), |why| halt(Kind::TryAgain, why))?;
    Ok(Message::Done { receipts, memory_bytes: memory_bytes() })
}

fn mesh(task: &Task, plan: &Plan) -> Result<Mesh> {
    let address = task.addresses.get(task.process).cloned().unwrap_or_default();
    let bind: SocketAddr =
        address.parse().map_err(|_| Error::new(Kind::Config, format!("address {address:?} is no ip:port")))?;
    let mut key = [0; 32];
    for (byte, digits) in key.iter_mut().zip(task.key.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).map_err(|_| Error::new(Kind::Usage, "the task's key is no hex"))?;
    }
    let prologue = [plan.store.as_str(), &plan.digest, &plan.config, env!("CARGO_PKG_VERSION")].join("/").into_bytes();
    Ok(Mesh {
        index: task.process,
        addresses: task.addresses.clone(),
        bind,
        key,
        prologue,
        encrypt: !bind.ip().is_loopback(),
        start_timeout: Duration::from_secs(task.start_timeout_s),
        handshake_timeout: Duration::from_secs(3),
        silence_timeout: Duration::from_secs(task.silence_timeout_s),
    })
}
