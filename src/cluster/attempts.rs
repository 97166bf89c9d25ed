//! Runs an epoch's work in several processes, and starts them again if that can help.
//!
//! Every attempt has a fresh key and continues from the finished splits. A failure that another
//! attempt cannot fix (bad input, a full disk, a different build) ends the run at once.
//!
//! Two attempts may overlap for a moment, because a process that cannot be reached ends only when
//! it notices that its launcher is gone. They cannot damage each other: every file is written under
//! a name that no other process uses, and is then renamed to its digest or to a split whose content
//! is a function of the plan. The next attempt still waits until the old processes are known to
//! have ended, or must have noticed.

use crate::cluster::control::{Done, Order, Task};
use crate::cluster::supervisor::{AttemptFailure, End, Supervisor};
use crate::own_process::own_digest;
use crate::processes::{Attempt, ObservedProcess, Observer, ProcessSummary};
use crate::topology::{Host, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use workers::error::{Error, Result};
use workers::fold::receipt::Receipt;
use workers::job::Job;
use workers::plan::Plan;

/// The result of the work.
pub struct Work {
    /// The receipts of all workers.
    pub receipts: Vec<Receipt>,
    /// The number of workers in all processes.
    pub peers: usize,
    /// The greatest resident memory, summed over the processes.
    pub memory_bytes: u64,
    /// What each process did.
    pub processes: Vec<ProcessSummary>,
    /// Every attempt; the last one succeeded.
    pub attempts: Vec<Attempt>,
}

/// A host is left out once it has been blamed this often.
const BLAMES_MAX: u32 = 2;
const BACKOFF_FACTOR: u32 = 5;
/// The pause grows no further than this, unless the first one is longer.
const PAUSE_MAX: Duration = Duration::from_secs(600);

/// The pause after failed attempt number `attempt`, counted from 1.
fn pause(backoff: Duration, attempt: u32) -> Duration {
    let pause = backoff.saturating_mul(BACKOFF_FACTOR.saturating_pow(attempt - 1));
    pause.min(PAUSE_MAX.max(backoff))
}

/// The hosts of the next attempt: without those that were blamed too often, as long as `hosts_min`
/// remain. Hosts that come later in the list are kept if not all can be left out.
fn remaining(hosts: &[Host], blames: &BTreeMap<String, u32>, hosts_min: usize) -> Vec<Host> {
    let mut remaining = hosts.to_vec();
    for host in hosts {
        if remaining.len() > hosts_min && blames.get(&host.name).is_some_and(|n| *n >= BLAMES_MAX) {
            remaining.retain(|kept| kept.name != host.name);
        }
    }
    remaining
}

/// Does the work of `plan` in the processes of `topology`, and shows those of each attempt to
/// `observer`.
pub fn work(job: &Job, plan: &Plan, topology: &Topology, observer: Observer<'_>) -> Result<Work> {
    let digest = own_digest()?;
    let task =
        Task { job: job.clone(), attempt: plan.attempt(&job.store), threads: topology.workers };
    let mut hosts = topology.hosts.clone();
    let mut blames: BTreeMap<String, u32> = BTreeMap::new();
    let mut attempts = Vec::new();
    for number in 1.. {
        let observed: Vec<Arc<ObservedProcess>> =
            hosts.iter().map(|host| Arc::new(ObservedProcess::new(&host.name))).collect();
        observer(observed.clone());
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
            Ok(ends) => {
                attempts.push(attempt);
                let done = ends.into_iter().map(End::done).collect::<Result<Vec<_>>>()?;
                return Ok(collect(done, &observed, topology.workers, attempts));
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
        attempt.blamed =
            blamed.and_then(|process| hosts.get(process)).map(|host| host.name.clone());
        if let Some(name) = &attempt.blamed {
            *blames.entry(name.clone()).or_default() += 1;
        }
        let pause = pause(topology.backoff, number);
        let gone = may_live_until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
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

/// Collects what the `observed` processes have done.
pub fn collect(
    done: Vec<Done>,
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
    for (Done { receipts, memory_bytes, .. }, observed) in done.into_iter().zip(observed) {
        work.processes.push(ProcessSummary::of(observed, &receipts));
        work.receipts.extend(receipts);
        work.memory_bytes += memory_bytes;
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

    /// A host is left out after two blames, not after one, and `hosts_min` hosts always remain.
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
    fn pauses_grow_fivefold() {
        let second = Duration::from_secs(1);
        assert_eq!(
            [1, 2, 3].map(|attempt| pause(second, attempt)),
            [second, 5 * second, 25 * second]
        );
    }
}
