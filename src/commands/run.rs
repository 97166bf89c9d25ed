//! `pagefold run`: locks the store, plans an epoch, has workers do the work, commits, exports and
//! reports.
//!
//! All decisions are made here; workers only work. They are threads of this process, or processes
//! that [`attempts`] starts from a cluster file, or processes that a scheduler has started
//! ([`Ranks`]).

use crate::after_commit::{committed_but, export_committed};
use crate::cli;
use crate::cluster::attempts::{self, Work};
use crate::cluster::cluster_file;
use crate::cluster::ranks::Ranks;
use crate::commands::unfinished;
use crate::first_job::made::MadeJob;
use crate::forecast::{self, Forecast};
use crate::jobs;
use crate::own_process;
use crate::processes::{Attempt, ObservedProcess, Observer, ProcessSummary};
use crate::signals;
use crate::terminal::bar::Bar;
use crate::terminal::profile::{self, Times};
use crate::terminal::progress::After;
use crate::terminal::report::inputs::{Leftovers, left_in_inbox, warn_of_barren};
use crate::terminal::report::{self, Outcome, idle};
use crate::terminal::trace;
use crate::topology::Topology;
use crate::unattended::queue;
use crate::unattended::watch::Watch;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use workers::commit::guards::{self, Guard};
use workers::commit::{self, Committed};
use workers::error::{Error, Kind, Result};
use workers::export;
use workers::fold::failure::Failure;
use workers::fold::{self, ProcessTask};
use workers::job::{Job, When};
use workers::plan::inputs;
use workers::plan::time::{AHEAD_SECONDS_MAX, Clock, now};
use workers::plan::{self, Plan};
use workers::store::Store;
use workers::store::manifest::{self, Head};
use workers::store::threads::processors;
use workers::store::{damage, durable};
use workers::upkeep::{gc, merge};

/// `pagefold run`.
pub fn command(start: &cli::Start) -> Result<()> {
    signals::launch(start.unattended.run.json, || {
        let (arguments, made) = with_job(start)?;
        if let Some(made) = made {
            made.write()?;
        }
        run(&arguments, None)
    })
}

/// The run of `start`, and the job that is to be written before it if there are only files.
pub fn with_job(start: &cli::Start) -> Result<(cli::Unattended, Option<MadeJob>)> {
    let mut arguments = start.unattended.clone();
    let run = &mut arguments.run;
    run.sets.extend(start.limit.map(|most| format!("read.records_max={most}")));
    let Some(folder) = &start.to else { return Ok((arguments, None)) };
    let files: Vec<PathBuf> = std::iter::once(&run.job).chain(&start.more).cloned().collect();
    let made = MadeJob::new(folder, &files, &run.sets)?;
    run.job.clone_from(&made.path);
    run.sets.clear();
    Ok((arguments, Some(made)))
}

/// Runs and reports to [`Watch`]; `ranks` do the work if there are any.
pub fn run(unattended: &cli::Unattended, ranks: Option<&Ranks>) -> Result<()> {
    let mut watch = Watch::new(unattended);
    let outcome = damage::caught_all("the run", || due(unattended, ranks, &mut watch));
    watch.end(&outcome);
    outcome
}

/// Runs everything that is due.
fn due(unattended: &cli::Unattended, ranks: Option<&Ranks>, watch: &mut Watch) -> Result<()> {
    let started = Instant::now();
    let arguments = &unattended.run;
    let job = jobs::read(&arguments.job, &arguments.sets)?;
    watch.read_job(&job)?;
    let inputs_max = unattended.inputs_max(&job)?;
    clock(unattended)?;
    trace::check_place(arguments, &job)?;
    let workforce = Workforce::of(arguments, ranks)?;
    let identity = job.identity()?;
    // Errors of the job's files come before anything is written.
    let listing = inputs::list(&job.read.inputs)?;
    if listing.files.is_empty() && !job.store.exists() {
        return Err(inputs::none_found(&job.read.inputs));
    }
    let left = left_in_inbox(&job);
    inputs::absent(&job, &listing).iter().chain(&left).for_each(|line| tracing::warn!("{line}"));
    export::check_place_of_run(&job)?;
    let Some(lock) = queue::lock(&job.store, unattended)? else {
        return idle::skipped(&job, arguments);
    };
    // What a run left that filled the disk goes first.
    unfinished::clear_away(&job, &lock);
    export::check_writable(&job)?;
    watch.begin(&job);
    let store = Store::open_or_create(&job.store, &identity)?;
    let outcome = epochs(unattended, inputs_max, &workforce, &job, &store, started);
    outcome.map_err(|error| unfinished::left(&job, &lock, error))
}

/// Takes up an unfinished plan of an earlier run; then does what is due now.
fn epochs(
    unattended: &cli::Unattended,
    inputs_max: usize,
    workforce: &Workforce<'_>,
    job: &Job,
    store: &Store,
    started: Instant,
) -> Result<()> {
    let (arguments, topology) = (&unattended.run, &workforce.topology);
    let mut began = started;
    let mut head = store.head()?;
    // A resumed epoch has its own report, and so has each epoch of several.
    let mut is_reported = false;
    if let Some(plan) = plan::attempts::unfinished(job, store, head.as_ref())? {
        let forecast = forecast::of_large(job, &plan, topology);
        let upon = (store, head.as_ref());
        head = Some(epoch(arguments, workforce, job, upon, &plan, forecast, began)?);
        began = Instant::now();
        is_reported = true;
    }
    loop {
        match plan::plan_at_most(job, store, head.as_ref(), clock(unattended)?, inputs_max)? {
            Some(plan) => {
                check_absent(&plan, &arguments.allow)?;
                let forecast = forecast::of_inputs(job, &plan.inputs, topology);
                let needed = forecast::disk_bytes(forecast.as_ref(), &plan.inputs);
                guards::check_space(&job.store, "this epoch", needed, &arguments.allow)
                    .map_err(|error| or_less_at_once(error, job, &plan))?;
                let plan = plan.freeze(&job.store, topology.peers())?;
                let forecast = forecast.filter(|_| forecast::is_large(&plan));
                let upon = (store, head.as_ref());
                head = Some(epoch(arguments, workforce, job, upon, &plan, forecast, began)?);
                is_reported = true;
                // What is read again with other options of reading comes epoch by epoch, and so do
                // very many inputs.
                let has_more =
                    plan.reads_otherwise || plan.inputs.len() == plan::due_inputs::INPUTS_MAX;
                if inputs_max < usize::MAX || !has_more {
                    return Ok(());
                }
                began = Instant::now();
            }
            None if is_reported => return Ok(()),
            None => return nothing_due(arguments, job, store, head.as_ref()),
        }
    }
}

/// Carries out a frozen plan on top of the head of a store: work, commit, export, merge and report.
/// Returns the new head. The report compares it with the `forecast`.
pub fn epoch(
    arguments: &cli::Run,
    workforce: &Workforce<'_>,
    job: &Job,
    (store, head): (&Store, Option<&Head>),
    plan: &Plan,
    forecast: Option<Forecast>,
    began: Instant,
) -> Result<Head> {
    let mut times = Times::start(began);
    let exports = job.output.export == When::Always;
    let bar = Bar::start(plan.bytes(), exports, arguments.quiet, arguments.verbose);
    let observer: Observer<'_> = &|processes| bar.follow(processes);
    let work = workforce.work(job, plan, head, observer);
    let Work { receipts, peers, memory_bytes, processes, attempts } = done(work, plan, store)?;
    times.lap("work");
    bar.after(After::Commit);
    let (spans, rows_read) = (profile::spans(&receipts), report::rows_read(&receipts));
    let Committed { head, counts, left, changed_here } =
        commit::commit(job, store, head, plan, receipts, peers, &arguments.allow)?;
    times.lap("commit");
    tracing::info!(epoch = head.manifest.epoch, "committed");
    bar.after(After::Export);
    let exported = match job.output.export {
        When::Always => Some(export_committed(job, store, &head)?),
        When::OnDemand => None,
    };
    times.lap("export");
    bar.after(After::Merge);
    let head = merged(store, head)?;
    times.lap("merge");
    drop(bar);
    // This process does the commit, the export and the merge.
    let memory_bytes = memory_bytes.max(own_process::memory_bytes());
    let but = |left, error| committed_but(&head, left, error);
    let unwritten = |error| but("run.json is not written", error);
    let leftovers = Leftovers::of(job, store, &head).map_err(unwritten)?;
    warn_of_barren(job, plan, &leftovers.barren);
    let outcome = Outcome {
        leftovers,
        job,
        workers: workforce.topology.workers,
        plan,
        counts: &counts,
        counters: &head.manifest.counters,
        changed_here,
        left: &left,
        exported,
        times,
        spans,
        forecast,
        store_bytes: head.manifest.tables.values().map(|table| table.bytes()).sum(),
        rows_read,
        memory_bytes,
        processes,
        attempts,
    };
    outcome.write_run_json().map_err(unwritten)?;
    outcome.print(arguments).map_err(|error| but("its summary is not printed", error))?;
    outcome.write_trace(arguments).map_err(|error| but("its profile is not written", error))?;
    Ok(head)
}

/// `work` that is done. If a file that the job names cannot be read, the next run plans again, as
/// the job may name others then.
fn done(work: Result<Work>, plan: &Plan, store: &Store) -> Result<Work> {
    if work.as_ref().is_err_and(|error| error.kind() == Kind::Data)
        && let Err(error) = plan.mark_refused(store.root())
    {
        // The cause matters more. A plan that is not marked is resumed, and fails again.
        tracing::warn!(%error, "cannot note that the plan is to be made again");
    }
    work
}

/// The head after runs are merged. The epoch is committed, so what fails is left to the next run,
/// but not a disk that fails, nor a commit of the merge that may not be durable.
fn merged(store: &Store, head: Head) -> Result<Head> {
    let next = manifest::path(store.root(), head.manifest.version + 1);
    match merge::merge(store, &head) {
        Ok(merged) => Ok(merged.unwrap_or(head)),
        Err(error) if error.is_failed_disk() || next.exists() => {
            Err(committed_but(&head, "the merge of its runs and run.json are missing", error))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot merge runs");
            if let Err(error) = gc::clear_unneeded(store) {
                tracing::debug!(%error, "what a merge wrote stays");
            }
            Ok(head)
        }
    }
}

/// Refuses a complete snapshot of which a named input has no file: a disk that is not mounted would
/// remove its pages, however few they are.
pub fn check_absent(plan: &Plan, allowed: &[Guard]) -> Result<()> {
    let Some(first) = plan.absent.first().filter(|_| !allowed.contains(&Guard::Missing)) else {
        return Ok(());
    };
    let more = match plan.absent.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let line = format!(
        "{first}{more}: the snapshot is not complete, and pages that are only there would go; nothing was \
         committed. Mount or fill it, or take it out of [read] inputs; if its pages shall go: --allow {}",
        Guard::Missing.name()
    );
    Err(Error::new(Kind::NoInput, line).with_guard(Guard::Missing.name()))
}

/// The refusal of a full disk; if an epoch of less than `plan` can be made, it says how.
fn or_less_at_once(refusal: Error, job: &Job, plan: &Plan) -> Error {
    match plan.inputs.len() > 1 && !job.read.complete {
        true => refusal.and("; --max-inputs N reads less at once"),
        false => refusal,
    }
}

/// The time of the run.
pub fn clock(arguments: &cli::Unattended) -> Result<Clock> {
    let system = now();
    let clock =
        Clock { now: arguments.now.unwrap_or(system), is_given: arguments.now.is_some(), system };
    if clock.now > clock.latest() {
        let line = format!(
            "--now {}: more than {} h ahead of the clock",
            clock.now,
            AHEAD_SECONDS_MAX / 3600
        );
        return Err(Error::new(Kind::Usage, line));
    }
    Ok(clock)
}

/// Who does the work of an epoch.
pub struct Workforce<'a> {
    who: Who<'a>,
    /// Where the work is done. Ranks count as one process each with the workers of this one.
    pub topology: Topology,
}

enum Who<'a> {
    Threads,
    Processes,
    Ranks(&'a Ranks),
}

impl<'a> Workforce<'a> {
    /// The ranks if there are any, else what the arguments name.
    pub fn of(arguments: &cli::Run, ranks: Option<&'a Ranks>) -> Result<Workforce<'a>> {
        let (who, topology) = match (ranks, &arguments.cluster) {
            (Some(ranks), _) => (Who::Ranks(ranks), ranks.topology()),
            (None, Some(path)) => (Who::Processes, cluster_file::read(path)?),
            (None, None) => {
                let threads = arguments.threads.map_or_else(processors, usize::from);
                (Who::Threads, Topology::single(threads))
            }
        };
        Ok(Workforce { who, topology })
    }

    /// Does the work of `plan` on top of `head`, and shows the processes to `observer`.
    fn work(
        &self,
        job: &Job,
        plan: &Plan,
        head: Option<&Head>,
        observer: Observer<'_>,
    ) -> Result<Work> {
        match self.who {
            Who::Threads => threads(job, plan, head, self.topology.workers, observer),
            Who::Processes => attempts::work(job, plan, &self.topology, observer),
            Who::Ranks(ranks) => ranks.work(job, plan, observer),
        }
    }
}

/// Exports the head if a crash came between its commit and its export.
fn nothing_due(arguments: &cli::Run, job: &Job, store: &Store, head: Option<&Head>) -> Result<()> {
    let Some(head) = head else {
        return idle::nothing_yet(arguments);
    };
    // A run that was killed may have committed the head without making its name durable.
    durable::sync_folder(&job.store.join("manifest"))?;
    if job.output.export == When::Always && !export::is_current(job, store, head) {
        tracing::info!(epoch = head.manifest.epoch, "exporting what was committed before");
        export_committed(job, store, head)?;
    }
    idle::nothing_due(job, head, &Leftovers::of(job, store, head)?, arguments)
}

/// Does the work in threads of this process.
fn threads(
    job: &Job,
    plan: &Plan,
    head: Option<&Head>,
    workers: usize,
    observer: Observer<'_>,
) -> Result<Work> {
    let began = Instant::now();
    let observed = Arc::new(ObservedProcess::new("process 0"));
    observer(vec![observed.clone()]);
    let task = ProcessTask {
        job: job.clone(),
        plan: plan.clone(),
        attempt: plan.attempt(&job.store),
        before: head.map_or_else(BTreeMap::new, |head| head.manifest.tables.clone()),
        threads: workers,
        process: 0,
        processes: 1,
        mesh: None,
    };
    let receipts = fold::run(task, observed.progress.clone(), Failure::default(), |_| {})?;
    let memory_bytes = own_process::memory_bytes();
    observed.memory_bytes.store(memory_bytes, Ordering::Relaxed);
    let processes = vec![ProcessSummary::of(&observed, &receipts)];
    let (hosts, seconds) = (vec![observed.name.clone()], began.elapsed().as_secs_f64());
    let attempts = vec![Attempt { hosts, seconds, failure: None, blamed: None }];
    Ok(Work { receipts, peers: workers, memory_bytes, processes, attempts })
}
