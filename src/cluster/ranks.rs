//! A job whose processes were started by a scheduler such as Slurm or Kubernetes.
//!
//! Each process learns its rank from the environment (see [`allocation`](super::allocation)), runs
//! `worker JOB`, and connects to the others by a [`ControlChannel`]. Rank 0 does what `run` does;
//! the other ranks only work for it. All ranks end with the exit code of rank 0, once it is known.
//!
//! ```text
//! all      connect: the same binary, job and number of workers, or exit code 76
//! rank 0   work: an attempt's folder and a nonce   once for each epoch; planning may take long
//! others   ready, or failed                        the plan is read, the store is checked
//! rank 0   go                                      data links are made, under a key of this nonce
//! others   done: the receipts; or failed
//! rank 0   ended: the exit code                    committed and exported, nothing due, or failed
//! ```
//!
//! Nothing is restarted from here: a rank that loses another one ends with 75, and the scheduler
//! starts all of them again, which continue from the finished splits. Processes of an earlier
//! attempt cannot interfere: they are not on this control channel, and they do not know its nonce.

use crate::cli;
use crate::cluster::allocation::{Allocation, read_key};
use crate::cluster::attempts::{self, Work};
use crate::cluster::control::{Assignment, Done, Task, kind_of};
use crate::cluster::launched::{self, Prepared};
use crate::jobs;
use crate::own_process::own_digest;
use crate::processes::{Attempt, ObservedProcess, Observer};
use crate::signals;
use crate::topology::{Host, Topology};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use workers::error::{Error, Kind, Result};
use workers::fold::failure::Failure;
use workers::job::Job;
use workers::mesh::{self, ControlChannel, Key, Refused};
use workers::plan::{self, Plan};
use workers::progress::Progress;
use workers::random_bytes::random_hex;
use workers::store::durable;

/// Limit for making the data links; all ranks are known to be alive by then.
const LINK_TIMEOUT: Duration = Duration::from_secs(60);

/// What the ranks send to each other.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RankMessage {
    /// Read the plan in this folder of the store's attempts.
    Work {
        /// The folder's name.
        attempt: String,
        /// The key of the data links is derived from this nonce and the ranks' own key.
        nonce: String,
    },
    /// The plan was read and fits.
    Ready,
    /// Start the work.
    Go,
    /// The work is finished.
    Done {
        /// Bytes of input that were read.
        bytes: u64,
        /// Records that were read.
        records: u64,
        /// What else it says of its task.
        done: Done,
    },
    /// The work failed.
    Failed {
        /// Exit code of the failure.
        code: u8,
        /// The failure in one line.
        line: String,
    },
    /// The run is over.
    Ended {
        /// The exit code of every rank.
        code: u8,
        /// The failure in one line; empty if there was none.
        line: String,
    },
}

/// This process and its connection to the other ranks.
pub struct Ranks {
    allocation: Allocation,
    key: Key,
    listener: TcpListener,
    /// Digest of the binary.
    digest: String,
    control: RefCell<ControlChannel>,
    /// The connections that were refused when the ranks were connected, and for each epoch since.
    refused: Refused,
    json: bool,
}

/// Runs `pagefold worker JOB`: connects all ranks; rank 0 calls `lead`, the others work for it.
pub fn run(arguments: &cli::Run, lead: impl FnOnce(&Ranks) -> Result<()>) -> Result<()> {
    if arguments.cluster.is_some() || arguments.threads.is_some() {
        let why = "`worker JOB` takes no --cluster or --threads: PAGEFOLD_PEERS and PAGEFOLD_WORKERS say that";
        return Err(Error::new(Kind::Usage, why));
    }
    let allocation = Allocation::of(|name| std::env::var(name).ok())?;
    let json = arguments.json && allocation.rank == 0;
    signals::on_signal(json);
    signals::launch(json, || run_rank(arguments, allocation, json, lead))
}

/// Does what the rank of `allocation` has to do.
fn run_rank(
    arguments: &cli::Run,
    allocation: Allocation,
    json: bool,
    lead: impl FnOnce(&Ranks) -> Result<()>,
) -> Result<()> {
    let rank = allocation.rank;
    let job = jobs::read(&arguments.job, &arguments.sets)?;
    let ranks = Ranks::connect(allocation, &job, json)?;
    if rank > 0 {
        return ranks.serve(&job);
    }
    let outcome = lead(&ranks);
    signals::wait_if_stopping();
    ranks.finish(&outcome);
    outcome
}

/// The first of `failures` that is a cause: not merely the loss of another rank, if there is such a
/// failure, and no fault in pagefold, which may follow from another rank's failure.
fn first_cause(failures: Vec<Error>) -> Option<Error> {
    failures.into_iter().min_by_key(|error| match error.kind() {
        Kind::TryAgain => 2,
        Kind::Internal => 1,
        _ => 0,
    })
}

/// The key of the data links of one epoch.
fn link_key(key: &Key, nonce: &str) -> Key {
    key.derive("pagefold 2026 ranks: links for data", nonce)
}

impl Ranks {
    /// Connects to the other ranks, which must run this binary and `job`.
    fn connect(allocation: Allocation, job: &Job, json: bool) -> Result<Ranks> {
        durable::make_tag_unique()?;
        let key = read_key(&allocation.key_file)?;
        let digest = own_digest()?;
        let listener = mesh::listen(allocation.bind)?;
        let silence = allocation.silence_timeout.as_secs().to_string();
        let prologue =
            ["ranks", &digest, &launched::job_digest(job)?, &silence].join("/").into_bytes();
        let assignment = assignment(&allocation, &key, allocation.start_timeout)?;
        let mesh = launched::mesh(&assignment, allocation.peers.clone(), prologue, &listener)?;
        tracing::info!(
            rank = allocation.rank,
            ranks = allocation.peers.len(),
            "waiting for the other ranks"
        );
        let control = ControlChannel::begin(&mesh, allocation.workers, &listener, move |lost| {
            signals::end(lost, json)
        })?;
        Ok(Ranks {
            allocation,
            key,
            listener,
            digest,
            control: RefCell::new(control),
            refused: mesh.refused,
            json,
        })
    }

    /// A process for each rank, with this many worker threads.
    pub fn topology(&self) -> Topology {
        let hosts = self.allocation.peers.iter().enumerate();
        let hosts = hosts.map(|(rank, _)| Host::local(rank, 0, String::new())).collect();
        Topology { hosts, ..Topology::single(self.allocation.workers) }
    }

    /// Does the work of `plan` with all ranks, and shows their processes to `observer`. Only rank 0
    /// calls this.
    pub fn work(&self, job: &Job, plan: &Plan, observer: Observer<'_>) -> Result<Work> {
        let (began, peers) = (Instant::now(), &self.allocation.peers);
        let observed: Vec<Arc<ObservedProcess>> =
            peers.iter().map(|peer| Arc::new(ObservedProcess::new(peer))).collect();
        observer(observed.clone());
        let folder = plan.attempt(&job.store);
        let attempt = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let nonce = random_hex()?;
        self.broadcast(&RankMessage::Work { attempt, nonce: nonce.clone() })?;
        let prepared = launched::prepare(&self.task(job, folder.clone()), &self.digest);
        self.check_answers(prepared.as_ref().err(), self.answers()?)?;
        self.broadcast(&RankMessage::Go)?;
        let own = self.do_share(job, folder, prepared?, &nonce, observed[0].progress.clone());
        let answers = self.check_answers(own.as_ref().err(), self.answers()?)?;
        let mut all_done = vec![own?];
        for (message, observed) in answers.into_iter().zip(&observed[1..]) {
            if let RankMessage::Done { bytes, records, done } = message {
                observed.progress.bytes.store(bytes, Ordering::Relaxed);
                observed.progress.records.store(records, Ordering::Relaxed);
                all_done.push(done);
            }
        }
        for (done, observed) in all_done.iter().zip(&observed) {
            done.record(observed);
        }
        let (hosts, seconds) = (peers.clone(), began.elapsed().as_secs_f64());
        let attempts = vec![Attempt { hosts, seconds, failure: None, blamed: None }];
        Ok(attempts::collect(all_done, &observed, self.allocation.workers, attempts))
    }

    /// Returns the answers, unless another rank failed or this one did with the error `own`.
    fn check_answers(
        &self,
        own: Option<&Error>,
        answers: Vec<RankMessage>,
    ) -> Result<Vec<RankMessage>> {
        let mut failures: Vec<Error> =
            own.map(|own| Error::new(own.kind(), own.to_string())).into_iter().collect();
        for (message, peer) in answers.iter().zip(&self.allocation.peers[1..]) {
            if let RankMessage::Failed { code, line } = message {
                failures.push(Error::new(kind_of(*code), format!("{peer}: {line}")));
            }
        }
        first_cause(failures).map_or(Ok(answers), Err)
    }

    /// Sends `message` to all other ranks.
    fn broadcast(&self, message: &RankMessage) -> Result<()> {
        let text = encoded(message)?;
        let mut control = self.control.borrow_mut();
        (1..self.allocation.peers.len()).try_for_each(|peer| control.send(peer, &text))
    }

    /// The next answer of every other rank, in order of rank.
    fn answers(&self) -> Result<Vec<RankMessage>> {
        let mut answers: Vec<Option<RankMessage>> =
            self.allocation.peers[1..].iter().map(|_| None).collect();
        while answers.iter().any(Option::is_none) {
            let (peer, message) = self.receive()?;
            let place = peer
                .checked_sub(1)
                .and_then(|at| answers.get_mut(at))
                .filter(|place| place.is_none());
            match place {
                Some(place) => *place = Some(message),
                None => return Err(out_of_turn(peer, &message)),
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    fn receive(&self) -> Result<(usize, RankMessage)> {
        let (peer, text) = self.control.borrow().receive()?;
        let message = serde_json::from_slice(&text).map_err(|e| {
            Error::new(Kind::Protocol, format!("rank {peer} says what is no message"))
                .blaming(peer)
                .caused_by(e)
        })?;
        Ok((peer, message))
    }

    /// Works for rank 0 until it ends the run.
    fn serve(self, job: &Job) -> Result<()> {
        let mut task = None;
        loop {
            let answer = match self.receive()? {
                (0, RankMessage::Work { attempt, nonce }) => match self.prepare(job, &attempt) {
                    Ok((folder, prepared)) => {
                        task = Some((folder, prepared, nonce));
                        RankMessage::Ready
                    }
                    Err(error) => failed(&error),
                },
                (0, RankMessage::Go) => {
                    let (folder, prepared, nonce) =
                        task.take().ok_or_else(|| out_of_turn(0, &RankMessage::Go))?;
                    let progress = Arc::new(Progress::default());
                    match self.do_share(job, folder, prepared, &nonce, progress.clone()) {
                        Ok(done) => RankMessage::Done {
                            bytes: progress.bytes.load(Ordering::Relaxed),
                            records: progress.records.load(Ordering::Relaxed),
                            done,
                        },
                        Err(error) => failed(&error),
                    }
                }
                (0, RankMessage::Ended { code, line }) => {
                    signals::wait_if_stopping();
                    self.leave();
                    return match code {
                        0 => Ok(()),
                        code => Err(Error::new(kind_of(code), format!("rank 0 says: {line}"))),
                    };
                }
                (peer, message) => return Err(out_of_turn(peer, &message)),
            };
            let text = encoded(&answer)?;
            if let Err(error) = self.control.borrow_mut().send(0, &text) {
                // Rank 0 has ended the run, or is lost; the next message or the alarm decides
                // which.
                tracing::debug!(%error, "cannot answer");
            }
        }
    }

    fn prepare(&self, job: &Job, attempt: &str) -> Result<(PathBuf, Prepared)> {
        let folder = plan::attempts::folder(&job.store).join(attempt);
        let prepared = launched::prepare(&self.task(job, folder.clone()), &self.digest)?;
        Ok((folder, prepared))
    }

    fn task(&self, job: &Job, attempt: PathBuf) -> Task {
        Task { job: job.clone(), attempt, threads: self.allocation.workers }
    }

    /// Does this rank's part of the work.
    fn do_share(
        &self,
        job: &Job,
        attempt: PathBuf,
        prepared: Prepared,
        nonce: &str,
        progress: Arc<Progress>,
    ) -> Result<Done> {
        let cloned = self.listener.try_clone();
        let listener = cloned
            .map_err(|e| Error::new(Kind::Io, "cannot share the listening socket").caused_by(e))?;
        let assignment = assignment(&self.allocation, &link_key(&self.key, nonce), LINK_TIMEOUT)?;
        let peers = self.allocation.peers.clone();
        let mut share =
            launched::share(&assignment, self.task(job, attempt), prepared, peers, listener)?;
        if let Some((mesh, _)) = &mut share.mesh {
            mesh.refused = self.refused.clone();
        }
        let json = self.json;
        let failure = Failure::default();
        launched::run_share(share, &progress, failure, move |lost| signals::end(lost, json))
    }

    /// Tells the other ranks how the run ended. Only rank 0 calls this.
    fn finish(self, outcome: &Result<()>) {
        let (code, line) = match outcome {
            Ok(()) => (0, String::new()),
            Err(error) => (error.kind().exit_code(), error.to_string()),
        };
        if let Err(error) = self.broadcast(&RankMessage::Ended { code, line }) {
            tracing::warn!(%error, "a rank was not told of the end");
        }
        self.leave();
    }

    fn leave(self) {
        self.control.into_inner().leave();
    }
}

/// The assignment of this rank for links under `key`.
fn assignment(allocation: &Allocation, key: &Key, start_timeout: Duration) -> Result<Assignment> {
    let folder = std::env::current_dir()
        .map_err(|e| Error::new(Kind::Io, "no working folder").caused_by(e))?;
    Ok(Assignment {
        process: allocation.rank,
        processes: allocation.peers.len(),
        address: allocation.peers[allocation.rank].clone(),
        bind: Some(allocation.bind.ip()),
        port: allocation.bind.port(),
        folder,
        is_child: false,
        key: key.clone(),
        protection: allocation.protection,
        start_timeout,
        silence_timeout: allocation.silence_timeout,
    })
}

fn encoded(message: &RankMessage) -> Result<Vec<u8>> {
    serde_json::to_vec(message).map_err(|e| Error::internal("cannot write a message").caused_by(e))
}

fn failed(error: &Error) -> RankMessage {
    RankMessage::Failed { code: error.kind().exit_code(), line: error.to_string() }
}

fn out_of_turn(peer: usize, message: &RankMessage) -> Error {
    let text = format!("{message:?}");
    let name = text.split([' ', '{']).next().unwrap_or_default();
    Error::new(Kind::Protocol, format!("rank {peer} says {name} out of turn")).blaming(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault that may follow from another rank's error was reported in place of it. A failure
    /// with a cause of its own takes precedence over such a fault, and this over the loss of a
    /// rank; among equals the first one counts.
    #[test]
    fn the_first_own_cause_counts() {
        let reported = |kinds: &[Kind]| {
            let failures =
                kinds.iter().enumerate().map(|(n, kind)| Error::new(*kind, n.to_string()));
            first_cause(failures.collect()).map(|error| error.to_string())
        };
        assert_eq!(reported(&[]), None);
        assert_eq!(reported(&[Kind::TryAgain, Kind::TryAgain]).as_deref(), Some("0"));
        assert_eq!(reported(&[Kind::TryAgain, Kind::Io, Kind::Data]).as_deref(), Some("1"));
        assert_eq!(reported(&[Kind::TryAgain, Kind::Internal, Kind::Io]).as_deref(), Some("2"));
        assert_eq!(reported(&[Kind::TryAgain, Kind::Internal]).as_deref(), Some("1"));
    }

    /// A different nonce or a different key gives a different link key, which is never the ranks'
    /// own key.
    #[test]
    fn link_keys_differ_by_nonce_and_key() {
        let (one, two) = (Key::of([1; 32]), Key::of([2; 32]));
        let keys = [link_key(&one, "a"), link_key(&one, "b"), link_key(&two, "a"), one];
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key), "{n}");
        }
    }
}
