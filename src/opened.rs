//! The job of a command, its store and the store's head.

use crate::cli::JobArguments;
use crate::jobs::read;
use workers::error::{Error, Kind, Result};
use workers::job::Job;
use workers::store::manifest::Head;
use workers::store::{Lock, Store};

/// The job, its store and the store's head; an error if nothing was committed yet.
pub fn open(arguments: &JobArguments) -> Result<(Job, Store, Head)> {
    let (job, store) = job_and_store(arguments)?;
    let head = committed(&store, store.head()?)?;
    Ok((job, store, head))
}

/// The job, its store and the store's head, which no run replaces while the lock is held.
pub fn open_locked(arguments: &JobArguments) -> Result<(Job, Store, Head, Lock)> {
    let (job, store) = job_and_store(arguments)?;
    let lock = Store::lock(&job.store)?;
    // A run may have committed before the lock was free.
    let head = committed(&store, store.head()?)?;
    Ok((job, store, head, lock))
}

/// The job and its store, which may have no epoch yet.
pub fn job_and_store(arguments: &JobArguments) -> Result<(Job, Store)> {
    let job = read(&arguments.job, &arguments.sets)?;
    let store = Store::open(&job.store, Some(&job.identity()?))?;
    Ok((job, store))
}

/// The head, or what there is only after a commit; an error if nothing was committed yet.
pub fn committed<T>(store: &Store, head: Option<T>) -> Result<T> {
    let nothing = || {
        let line = format!(
            "{}: no epoch yet; `pagefold run JOB` commits the first",
            store.root().display()
        );
        Error::new(Kind::NoInput, line)
    };
    head.ok_or_else(nothing)
}
