//! The work of an epoch by processes, tried again where that can help: in come a frozen plan and the hosts, out come the workers' receipts. Every
//! attempt has a fresh key and goes on from the splits that are finished. What another attempt cannot mend (bad input, a full disk, another build) ends it at once.
//!
//! Two attempts may overlap for a moment, as a process that cannot be reached ends only when it misses its launcher. They cannot hurt each other: all
//! that they write is written aside, under names that no other process has, and renamed to a digest or to a split whose content is a function of
//! the plan. All the same the next attempt waits until the old processes are known to be gone, or must have noticed.

use crate::cluster::control::{Message, Order, Task, own_digest};
use crate::cluster::supervisor::{AttemptFailure, Supervisor};
use crate::cluster::topology::{Host, Topology};
use crate::terminal::bar::{Bar, ObservedProcess};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use workers::error::{Error, Result};
use workers::fold::epoch::Receipt;
use workers::job::Job;
use workers::locks::lock;
use workers::plan::Plan;

/// What workers did, and how.
pub struct Work {
    /// All workers' receipts.
    pub receipts: Vec<Receipt>,
    /// All workers.
    pub peers: usize,
    /// Greatest resident memory of all processes, in bytes.
    pub memory_bytes: u64,
    /// What each process did.
    pub processes: Vec<ProcessSummary>,
    /// Every attempt; the last one succeeded.
    pub attempts: Vec<Attempt>,
}

/// What one process did, for `run.json`.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessSummary {
    /// Where it ran.
    pub host: String,
    /// Records that it read.
    pub records: u64,
    /// Bytes of input that it read.
    pub bytes: u64,
    /// Its greatest resident memory.
    pub memory_bytes: u64,
    /// Splits that it finished.
    pub splits_done: u64,
    /// Splits that it found finished by an earlier attempt or run.
    pub splits_resumed: u64,
    /// Connections that it refused at its start, by reason.
    pub refused: BTreeMap<String, u64>,
    /// When each stage ended on its last worker, seconds after its start.
    pub stage_ended_s: BTreeMap<String, f64>,
}

impl ProcessSummary {
    /// What the process that was `seen` did, by its workers' receipts.
    pub fn of(observed: &ObservedProcess, receipts: &[Receipt]) -> ProcessSummary {
        let mut stage_ended_s: BTreeMap<String, f64> = BTreeMap::new();
        for (stage, ms) in receipts.iter().flat_map(|receipt| &receipt.stage_ms) {
            let at = stage_ended_s.entry(stage.clone()).or_default();
            *at = at.max(*ms as f64 / 1000.0);
        }
        ProcessSummary {
            host: observed.name.clone(),
            records: observed.progress.records.load(Ordering::Relaxed),
            bytes: observed.progress.bytes.load(Ordering::Relaxed),
            memory_bytes: observed.memory_bytes.load(Ordering::Relaxed),
            splits_done: observed.progress.splits_done.load(Ordering::Relaxed),
            splits_resumed: observed.progress.splits_resumed.load(Ordering::Relaxed),
            refused: lock(&observed.refused).clone(),
            stage_ended_s,
        }
    }
}

/// One attempt, for `run.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The hosts.
    pub hosts: Vec<String>,
    /// How long it took.
    pub seconds: f64,
    /// Why it failed; none if it did not.
    pub failure: Option<String>,
    /// The host that is blamed for that.
    pub blamed: Option<String>,
}

/// Times that a host is blamed before it is left out.
const BLAMES_MAX: u32 = 2;
const BACKOFF_FACTOR: u32 = 5;

/// How long to wait after failed attempt number `attempt`, from 1.
fn pause(backoff: Duration, attempt: u32) -> Duration {
    backoff.saturating_mul(BACKOFF_FACTOR.saturating_pow(attempt - 1))
}

/// The hosts of the next attempt: those that were blamed too often are left out, latest in the list first spared, as long as `hosts_min` remain.
fn remaining(hosts: &[Host], blames: &BTreeMap<String, u32>, hosts_min: usize) -> Vec<Host> {
    let mut remaining = hosts.to_vec();
    for host in hosts {
        if remaining.len() > hosts_min && blames.get(&host.name).is_some_and(|n| *n >= BLAMES_MAX) {
            remaining.retain(|kept| kept.name != host.name);
        }
    }
    remaining
}

/// Does the work of `plan` in processes.
pub fn work(job: &Job, plan: &Plan, topology: &Topology, bar: &Bar) -> Result<Work> {
    let digest = own_digest()?;
    let task = Task { job: job.clone(), attempt: plan.attempt(&job.store), threads: topology.workers };
    let mut hosts = topology.hosts.clone();
    let mut blames: BTreeMap<String, u32> = BTreeMap::new();
    let mut attempts = Vec::new();
    for number in 1.. {
        let observed: Vec<Arc<ObservedProcess>> =
            hosts.iter().map(|host| Arc::new(ObservedProcess::new(&host.name))).collect();
        bar.follow(observed.clone());
        let began = Instant::now();
        let order = |assignment| Order::Task(Box::new((assignment, task.clone())));
        let outcome = Supervisor::work(topology, &hosts, &observed, &digest, &order);
        let mut attempt = Attempt {
            hosts: hosts.iter().map(|host| host.name.clone()).collect(),
            seconds: began.elapsed().as_secs_f64(),
            failure: None,
            blamed: None,
        };
        let AttemptFailure { error, blamed, mends, may_live_until } = match outcome {
            Ok(final_messages) => {
                attempts.push(attempt);
                return Ok(collect(final_messages, &observed, topology.workers, attempts));
            }
            Err(failure) => failure,
        };
        if !mends {
            return Err(error);
        }
        if number >= topology.attempts_max {
            let tries = if number > 1 { format!(" (attempt {number})") } else { String::new() };
            let line = format!("{error}{tries}; run again to go on from here");
            return Err(Error::new(error.kind(), line));
        }
        attempt.failure = Some(error.to_string());
        attempt.blamed = blamed.and_then(|process| hosts.get(process)).map(|host| host.name.clone());
        if let Some(name) = &attempt.blamed {
            *blames.entry(name.clone()).or_default() += 1;
        }
        let pause = pause(topology.backoff, number);
        let gone = may_live_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        let pause = pause.max(gone);
        let (attempt_number, blamed) = (number, attempt.blamed.as_deref().unwrap_or("nobody"));
        tracing::warn!(attempt = attempt_number, %error, blamed, next_in_s = pause.as_secs_f64(), "an attempt failed");
        attempts.push(attempt);
        let next = remaining(&topology.hosts, &blames, topology.hosts_min);
        for host in hosts.iter().filter(|host| !next.contains(host)) {
            tracing::warn!(host = %host.name, remaining = next.len(), "blamed {BLAMES_MAX} times: goes on without it");
        }
        hosts = next;
        thread::sleep(pause);
    }
    Err(Error::internal("no attempt was made"))
}

/// What the processes that were `seen` did, by the messages with which they ended.
pub fn collect(
    final_messages: Vec<Message>,
    observed: &[Arc<ObservedProcess>],
    workers: usize,
    attempts: Vec<Attempt>,
) -> Work {
    let mut work = Work {
        receipts: Vec::new(),
        peers: observed.len() * workers,
        memory_bytes: 0,
        processes: Vec::new(),
        attempts,
    };
    for (message, observed) in final_messages.into_iter().zip(observed) {
        if let Message::Done { receipts, memory_bytes, .. } = message {
            work.processes.push(ProcessSummary::of(observed, &receipts));
            work.receipts.extend(receipts);
            work.memory_bytes += memory_bytes;
        }
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Host {
        let (name, address) = (name.to_owned(), name.to_owned());
        Host { name, address, bind: None, port: 0, command: Vec::new(), folder: None }
    }

    /// A host is left out after two blames and not after one, and never below the least number of hosts.
    #[test]
    fn blamed_hosts_are_left_out() {
        let hosts = ["a", "b", "c"].map(host);
        let names = |blames: &[(&str, u32)], hosts_min| -> Vec<String> {
            let blames = blames.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
            remaining(&hosts, &blames, hosts_min).into_iter().map(|host| host.name).collect()
        };
        assert_eq!(names(&[("b", 1)], 1), ["a", "b", "c"]);
        assert_eq!(names(&[("b", 2)], 1), ["a", "c"]);
        assert_eq!(names(&[("b", 2)], 3), ["a", "b", "c"]);
        assert_eq!(names(&[("a", 2), ("b", 3)], 2), ["b", "c"]);
    }

    /// The pauses are 1, 5 and 25 times the backoff.
    #[test]
    fn pauses() {
        let second = Duration::from_secs(1);
        assert_eq!([1, 2, 3].map(|attempt| pause(second, attempt)), [second, 5 * second, 25 * second]);
    }
}
