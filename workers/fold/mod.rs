//! Runs one epoch: a few dataflows, each complete on all workers before the next starts.
//!
//! Ingest reads the inputs, and workers exchange nothing. From then on everything is a function of
//! the plan, the finished splits and the store, so the number of workers and the order of the
//! inputs do not matter. Every worker builds the same dataflows in the same order, even after a
//! failure, because the other workers would wait for it forever. Each worker returns a receipt, and
//! the launcher commits all of them or none.

mod accepted;
pub mod buckets;
pub(crate) mod clusters;
mod components;
mod contents;
pub mod counters;
pub(crate) mod dataflow;
pub(crate) mod epoch;
pub(crate) mod evidence;
pub mod failure;
pub mod gather;
pub mod groups;
mod incumbents;
mod ingest;
mod keys;
pub(crate) mod leaders;
pub mod operators;
pub(crate) mod origins;
mod owner;
pub(crate) mod pages;
mod pairs;
mod passes;
mod propagate;
mod proposals;
pub mod receipt;
mod renewals;
mod resolve;
mod sort;
pub mod spans;
pub(crate) mod split_writer;
pub mod splits;
pub(crate) mod stages;
mod successors;
pub(crate) mod touched;
mod winner;
mod wire;
pub(crate) mod wrong_clock;

use crate::error::{Error, Result};
use crate::fold::epoch::{Epoch, SharedEpoch};
use crate::fold::failure::Failure;
use crate::fold::receipt::Receipt;
use crate::fold::splits::SharedSplits;
use crate::fold::stages::stages;
use crate::job::Job;
use crate::locks::lock;
use crate::mesh::{self, Mesh};
use crate::plan::Plan;
use crate::plan::inputs::Looks;
use crate::progress::Progress;
use crate::store::fsyncs::Fsyncs;
use crate::store::manifest::TableState;
use crate::store::open::OpenSegments;
use crate::text::features::Featurizer;
use crate::text::signatures::Signer;
use crate::visit::{self, VisitMaker};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What one process does in an epoch.
pub struct ProcessTask {
    /// The job.
    pub job: Job,
    /// The frozen plan.
    pub plan: Plan,
    /// The folder of finished splits.
    pub attempt: PathBuf,
    /// The tables that the epoch builds on.
    pub before: BTreeMap<String, TableState>,
    /// The number of workers of this process.
    pub threads: usize,
    /// The number of this process, from 0.
    pub process: usize,
    /// The number of processes.
    pub processes: usize,
    /// The connections to the other processes, and the listener that they dial. `None` if there is
    /// only one process.
    pub mesh: Option<(Mesh, TcpListener)>,
}

/// Reads the frozen files that `job` names as a run does.
///
/// # Errors
///
/// As [`run`]: a file is missing, or has a line that does not belong in such a file.
pub fn check_files(job: &Job) -> Result<()> {
    Featurizer::new(&job.features, &job.normalize)?;
    Signer::new(&job.signatures, &job.normalize)?;
    visit::furniture(job)?;
    job.verdicts().map(|_| ())
}

/// Runs this process's part of an epoch, and returns the receipts of its workers. Calls `on_lost`
/// if the connection to another process is lost while workers run.
///
/// # Errors
///
/// The first failure of any worker of this process.
pub fn run(
    task: ProcessTask,
    progress: Arc<Progress>,
    failure: Failure,
    on_lost: impl Fn(&Error) + Send + Sync + 'static,
) -> Result<Vec<Receipt>> {
    let ProcessTask { job, plan, attempt, before, threads, process, processes, mesh } = task;
    let bands = job.bands()?;
    // Each worker clones these. They are locked because threads share the closure.
    let featurizer = Mutex::new(Featurizer::new(&job.features, &job.normalize)?);
    let signer = Mutex::new(Signer::new(&job.signatures, &job.normalize)?);
    let furniture = Mutex::new(visit::furniture(&job)?);
    let queue = ingest::queue(&plan, process, processes);
    let reported = failure.clone();
    let (splits, open) = (SharedSplits::new(processes), OpenSegments::default());
    let looks = Looks::default();
    // Other processes read segments while workers run, and may be on other hosts.
    let fsyncs = if processes == 1 { Fsyncs::behind()? } else { Fsyncs::default() };
    let shared =
        SharedEpoch { plan, job, attempt, before, progress, failure, splits, looks, open, fsyncs };
    let shared = Arc::new(shared);
    let written = shared.clone();
    let mesh = mesh.map(|(mesh, listener)| (mesh, Some(listener)));
    let receipts = mesh::execute(threads, mesh, on_lost, move |worker| {
        let featurizer = lock(&featurizer).clone();
        let signer = lock(&signer).clone();
        let furniture = lock(&furniture).clone();
        let epoch = Epoch::new(worker.index(), worker.peers(), shared.clone());
        // Without a maker the worker still builds the dataflows.
        let maker = epoch.attempt(|| {
            VisitMaker::new(&epoch.shared.job, furniture, featurizer, signer).map(Some)
        });
        stages(worker, &epoch, &bands, queue.clone(), maker);
        epoch.receipt()
    });
    // The first failure is the cause. A worker that panics later may do so because of it.
    written.fsyncs.finish()?;
    reported.take().map_or(receipts, Err)
}
