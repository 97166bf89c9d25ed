//! What an epoch that is not finished has on the disk: what no run needs goes before one needs
//! room, and the error of a full disk says how the rest can go.

use workers::error::{Error, Kind};
use workers::export;
use workers::job::Job;
use workers::plan::attempts;
use workers::store::{Lock, Store};
use workers::upkeep::gc;

/// Deletes what earlier runs of `job` left and no later one needs. What cannot be deleted takes
/// space, and is no reason to stop.
pub fn clear_away(job: &Job, lock: &Lock) {
    export::sweep(&job.output.dir);
    Store::sweep(&job.store, lock);
    // A store that cannot be read has errors of its own, which the run tells.
    let cleared = Store::open_any(&job.store).and_then(|store| gc::clear_unfinished(&store));
    if let Err(why) = cleared {
        tracing::debug!(%why, "what an unfinished epoch wrote stays");
    }
}

/// Ends a run that failed with `error`. If a disk is full, it frees what the next run does not
/// need, and says what else can be done.
pub fn left(job: &Job, lock: &Lock, error: Error) -> Error {
    let is_unfinished = || attempts::all(&job.store).is_ok_and(|all| !all.is_empty());
    if !error.is_full_disk() || !is_unfinished() {
        return error;
    }
    clear_away(job, lock);
    if error.kind() != Kind::Io {
        return error;
    }
    error.and(
        "; make room there and run again, which goes on from what is read; or `pagefold gc JOB \
         --unfinished --delete` deletes what this epoch has read",
    )
}
