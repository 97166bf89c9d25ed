//! `pagefold rebuild`: builds a new store from the same inputs, for a job whose identity changed.

use crate::cli;
use crate::commands::run;
use crate::jobs::{self, committed};
use crate::signals;
use crate::terminal::print::{counted, print_json, show};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;
use workers::error::{Error, Kind, Result};
use workers::export;
use workers::job::{Job, When};
use workers::plan;
use workers::store::manifest::{Consumed, Head};
use workers::store::{Store, durable};

/// `pagefold rebuild`.
pub fn command(arguments: &cli::Run) -> Result<()> {
    workers::mesh::exit_on_panic(|_| ());
    signals::on_signal(arguments.json);
    let outcome = rebuild(arguments);
    signals::wait_if_stopping();
    outcome
}

/// Builds a new store from the same inputs, epoch by epoch; then it takes the place of the old one.
fn rebuild(arguments: &cli::Run) -> Result<()> {
    let job = jobs::read(&arguments.job, &arguments.sets)?;
    let (new_root, kept_root) = (beside(&job.store, "rebuild"), beside(&job.store, "before-rebuild"));
    if kept_root.exists() {
        let line = format!("{}: the store before an earlier rebuild; move or delete it first", kept_root.display());
        return Err(Error::new(Kind::Output, line));
    }
    let old = Store::open(&job.store, None)?;
    let _old_lock = Store::lock(&job.store)?;
    let old_head = committed(&old, old.head()?)?;
    let identity = job.identity()?;
    let _new_lock = Store::lock(&new_root)?;
    if Store::open(&new_root, Some(&identity)).is_err_and(|error| error.kind() == Kind::Config) {
        // An earlier rebuild for yet another identity is useless now.
        for entry in ["FORMAT", "manifest", "data", "attempt"] {
            remove(&new_root.join(entry))?;
        }
    }
    let new = Store::open_or_create(&new_root, &identity)?;
    let new_job = Job { store: new_root.clone(), ..job.clone() };
    let epochs: Vec<&Consumed> = old_head.manifest.consumed.iter().filter(|consumed| !consumed.undone).collect();
    let mut head = new.head()?;
    let done = head.as_ref().map_or(0, |head| head.manifest.epoch) as usize;
    for (at, epoch) in epochs.iter().enumerate().skip(done) {
        tracing::info!(epoch = at + 1, of = epochs.len(), "rebuilding");
        head = Some(replay(arguments, &new_job, &new, head.as_ref(), &old, epoch, &old_head)?);
    }
    swap(&new_root, &job.store)?;
    std::fs::rename(&new_root, &kept_root).map_err(|e| Error::io("rename to", &kept_root, e))?;
    let store = Store::open(&job.store, Some(&identity))?;
    let head = committed(&store, store.head()?)?;
    if job.output.export == When::Always {
        export::export(&job, &store, &head)?;
    }
    let kept = kept_root.display();
    if arguments.json {
        return print_json(&json!({ "epoch": head.manifest.epoch, "before": kept_root }));
    }
    match arguments.quiet {
        true => Ok(()),
        false => {
            let epochs = counted(epochs.len() as u64, "epoch");
            show(&format!("rebuilt {epochs}; the store as it was is {kept}, delete it at leisure\n"))
        }
    }
}

/// Reads the inputs of the old store's `epoch` again.
fn replay(
    arguments: &cli::Run,
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    old: &Store,
    epoch: &Consumed,
    old_head: &Head,
) -> Result<Head> {
    let mut job = job.clone();
    job.read.source.clone_from(&old_head.manifest.sources[usize::from(epoch.source)].name);
    job.read.complete = epoch.complete;
    job.output.export = When::OnDemand;
    let plan = match plan::unfinished(&job, store, head)? {
        Some(plan) => plan,
        None => {
            let inputs = plan::consumed::inputs_of(old, epoch)?;
            let inputs = inputs.iter().map(|input| input.refreshed()).collect::<Result<_>>()?;
            plan::replay(&job, store, head, inputs, epoch.logical_time)?
                .freeze(store.root(), run::topology(arguments, None)?.peers())?
        }
    };
    run::epoch(arguments, None, &job, store, head, &plan, Instant::now())
}

fn beside(store: &Path, what: &str) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}"));
    store.with_file_name(name)
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, e)),
        _ => Ok(()),
    }
}

/// Exchanges the two stores atomically, so that there is one at every moment.
fn swap(new: &Path, old: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).map_err(|e| {
        let line = format!("cannot exchange {} and {}; move them by hand", new.display(), old.display());
        Error::new(Kind::Io, line).caused_by(std::io::Error::from(e))
    })?;
    let parent = old.parent().filter(|parent| !parent.as_os_str().is_empty());
    durable::sync_folder(parent.unwrap_or(Path::new(".")))
}
