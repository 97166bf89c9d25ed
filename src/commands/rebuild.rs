//! `pagefold rebuild`: builds a new store from the same inputs, for a job whose identity changed or
//! a store of an older format.

use crate::after_commit::export_committed;
use crate::cli;
use crate::commands::run::{self, Workforce};
use crate::forecast;
use crate::jobs;
use crate::opened::committed;
use crate::signals;
use crate::terminal::print::{counted, print_json, show};
use crate::terminal::trace;
use serde_json::json;
use std::time::Instant;
use workers::commit::guards::{self, Guard};
use workers::error::{Error, Kind, Result};
use workers::export;
use workers::job::{Job, When};
use workers::plan;
use workers::plan::replay::Replay;
use workers::store::manifest::Head;
use workers::store::past::{self, Step};
use workers::store::{Lock, Store, bytes_below, durable};
use workers::upkeep::carry;
use workers::upkeep::rebuild_folders::{Folders, RebuildState};

/// `pagefold rebuild`.
pub fn command(arguments: &cli::Run) -> Result<()> {
    signals::launch(arguments.json, || rebuild(arguments))
}

/// Builds a new store from the inputs that the old store consumed; then the new store replaces the
/// old one.
fn rebuild(arguments: &cli::Run) -> Result<()> {
    let job = jobs::read(&arguments.job, &arguments.sets)?;
    trace::check_place(arguments, &job)?;
    Store::open_any(&job.store)?;
    let folders = Folders::of(&job.store)?;
    let job = Job { store: folders.store.clone(), ..job };
    let _lock = Store::lock(&job.store)?;
    let mut rebuilt = None;
    match folders.find()? {
        RebuildState::Exchanged => tracing::info!("finishing a rebuild that was stopped"),
        _ => {
            folders.check_free()?;
            export::check_place_of_run(&job)?;
            export::check_writable(&job)?;
            check_space(&folders, &arguments.allow)?;
            rebuilt = Some(build(arguments, &job, &folders)?);
            // A rebuild that was killed may have committed its last epoch without making its name
            // durable.
            durable::sync_folder(&folders.new.join("manifest"))?;
            folders.exchange()?;
        }
    }
    folders.keep()?;
    let store = Store::open(&job.store, Some(&job.identity()?))?;
    let head = committed(&store, store.head()?)?;
    if job.output.export == When::Always {
        export_committed(&job, &store, &head)?;
    }
    if arguments.json {
        return print_json(&json!({ "epoch": head.manifest.epoch, "before": folders.kept }));
    }
    if arguments.quiet {
        return Ok(());
    }
    let epochs =
        rebuilt.as_ref().map_or("the store".into(), |(_, epochs)| counted(*epochs as u64, "epoch"));
    show(&format!(
        "rebuilt {epochs}; the store as it was is {}, delete it at leisure\n",
        folders.kept.display()
    ))
}

/// Refuses a disk without room for a second store. The part that an unfinished rebuild has made is
/// there already.
fn check_space(folders: &Folders, allowed: &[Guard]) -> Result<()> {
    let [old, new] = [&folders.store, &folders.new].map(|store| bytes_below(&store.join("data")));
    let beside = durable::folder_of(&folders.new);
    guards::check_space(beside, "the new store", old.saturating_sub(new), allowed)
}

/// Refuses to read rows of another source with fields that they may not have.
fn check_fields(replay: &Replay, old: &Store, job: &Job, allowed: &[Guard]) -> Result<()> {
    if allowed.contains(&Guard::Rejects) {
        return Ok(());
    }
    let Some((epoch, source)) = replay.of_other_fields(old, job)? else { return Ok(()) };
    let guard = Guard::Rejects.name();
    let line = format!(
        "epoch {epoch} read rows of the source `{source}` with other [read.fields] than this job has, and a \
         rebuild reads all sources with the fields of one job: rows that lack them would be rejected, and \
         their pages lost; nothing was read. If all sources have the fields of this job: --allow {guard}"
    );
    Err(Error::new(Kind::Config, line).with_guard(guard))
}

/// Builds the new store beside the old one. Returns its lock and the number of epochs replayed.
fn build(arguments: &cli::Run, job: &Job, folders: &Folders) -> Result<(Lock, usize)> {
    let old = Store::open_any(&job.store)?;
    let past = committed(&old, past::read(old.root())?)?;
    let replay = Replay::new(past, &old, job)?;
    // This fails before hours of work, not after them.
    replay.check_inputs(&old)?;
    check_fields(&replay, &old, job, &arguments.allow)?;
    let lock = Store::lock(&folders.new)?;
    let identity = job.identity()?;
    if let RebuildState::Unfinished(noted) = folders.find()? {
        let epoch = match Store::open(&folders.new, Some(&identity)).and_then(|store| store.head())
        {
            Ok(head) => head.map(|head| head.manifest.epoch),
            Err(_) => Some(0),
        };
        if epoch.is_some_and(|epoch| !replay.goes_on(&noted, epoch)) {
            tracing::info!(
                "an unfinished rebuild is given up: something else is to be replayed now"
            );
            folders.clear()?;
        }
    }
    replay.note().write(&folders.new)?;
    let new = Store::open_or_create(&folders.new, &identity)?;
    Store::sweep(new.root(), &lock);
    let new_job = Job { store: folders.new.clone(), ..job.clone() };
    let mut head = new.head()?;
    let mut undone: Vec<&Step> = Vec::new();
    let steps = replay.steps.iter().filter(|step| !step.undone).count();
    let mut at = 0;
    for step in &replay.steps {
        if step.undone {
            undone.push(step);
            continue;
        }
        at += 1;
        if head.as_ref().is_some_and(|head| step.epoch <= head.manifest.epoch) {
            continue;
        }
        if let Some(head) = &mut head {
            carry::carry(head, &new, &old, &undone, &replay.reading)?;
        }
        head = Some(take_again(arguments, &new_job, &new, head.as_ref(), (&replay, &old), step)?);
        tracing::info!(epoch = step.epoch, done = at, of = steps, "replayed");
    }
    let Some(mut head) = head else {
        return Err(Error::internal("a store without an epoch that counts"));
    };
    carry::carry(&mut head, &new, &old, &undone, &replay.reading)?;
    carry::finish(&new, head, replay.epoch, replay.logical_time)?;
    Ok((lock, steps))
}

/// Replays one epoch of the old store with the same inputs.
fn take_again(
    arguments: &cli::Run,
    job: &Job,
    new: &Store,
    head: Option<&Head>,
    (replay, old): (&Replay, &Store),
    step: &Step,
) -> Result<Head> {
    let mut job = job.clone();
    if let Some(source) = &step.source {
        job.read.source.clone_from(source);
    }
    job.read.complete = step.complete;
    job.output.export = When::OnDemand;
    let past = replay.past_epoch(old, step)?;
    tracing::info!(
        epoch = step.epoch,
        source = job.read.source,
        inputs = past.inputs.len(),
        "replaying"
    );
    let workforce = Workforce::of(arguments, None)?;
    let topology = &workforce.topology;
    let plan = plan::replay(&job, new, head, past)?.freeze(new.root(), topology.peers())?;
    let forecast = forecast::of_large(&job, &plan, topology);
    // The old store has records that these guards allowed then.
    let mut arguments = arguments.clone();
    arguments.allow.extend([Guard::Store, Guard::Missing, Guard::Expired]);
    run::epoch(&arguments, &workforce, &job, (new, head), &plan, forecast, Instant::now())
}
