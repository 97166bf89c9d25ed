//! Keeps the plan of an epoch and its finished work in a folder, from which a later run can go on.

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::plan::division::divide;
use crate::plan::time::{AHEAD_SECONDS_MAX, now};
use crate::plan::{Plan, config};
use crate::store::manifest::Head;
use crate::store::{Store, digest_of, durable, entries};
use std::path::{Path, PathBuf};

/// The file of the plan in the folder of its attempt.
const PLAN: &str = "plan.json";
/// The file that marks an attempt as refused by a guard.
const REFUSED: &str = "refused";

impl Plan {
    /// The folder of the plan's resumable work.
    pub fn attempt(&self, store: &Path) -> PathBuf {
        folder(store).join(format!("{:06}-{}", self.epoch, self.digest))
    }

    /// Divides the inputs among `workers` workers and writes the plan to its attempt folder, so
    /// that a later run can resume it. If the same plan is there already, it is resumed.
    ///
    /// A plan that a guard refused keeps its splits and gets the time of this run. The refusal may
    /// be weeks old; with its time, the next epoch would expire pages that were just accepted.
    pub fn freeze(mut self, store: &Path, workers: usize) -> Result<Plan> {
        let folder = self.attempt(store);
        let frozen = Frozen::read(&folder)?.whole().filter(|frozen| frozen.digest == self.digest);
        self.splits = match frozen {
            Some(frozen) if !is_refused(&folder) => return Ok(frozen),
            Some(frozen) => frozen.splits,
            None => {
                // Splits without their plan may be of another division.
                match std::fs::remove_dir_all(folder.join("split")) {
                    Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::io("remove", &folder.join("split"), e));
                    }
                    _ => divide(&self.inputs, workers)?,
                }
            }
        };
        durable::create_folder(&folder)?;
        let text = serde_json::to_vec(&self)
            .map_err(|e| Error::internal("cannot write a plan").caused_by(e))?;
        durable::write(&folder.join(PLAN), &text)?;
        Ok(self)
    }

    /// Notes that a guard refused the finished work. The next run makes a new plan, because
    /// something else may be due then, and resumes this plan only if both are the same. Work that
    /// was refused earlier is deleted, so that it does not pile up.
    pub fn mark_refused(&self, store: &Path) -> Result<()> {
        let own = self.attempt(store);
        durable::write(&own.join(REFUSED), b"")?;
        for attempt in all(store)? {
            if attempt != own && is_refused(&attempt) {
                remove(&attempt);
            }
        }
        Ok(())
    }

    /// Removes the plan and its finished work, because it can never be committed.
    pub fn give_up(&self, store: &Path) -> Result<()> {
        let attempt = self.attempt(store);
        std::fs::remove_dir_all(&attempt).map_err(|e| Error::io("remove", &attempt, e))
    }

    /// Reads the plan of an attempt.
    pub fn read(attempt: &Path) -> Result<Plan> {
        let path = attempt.join(PLAN);
        let text = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
        serde_json::from_slice(&text).map_err(|e| Error::config(&path, "damaged plan").caused_by(e))
    }

    /// Fails if `job` or `head` has changed since the plan was made, or if its time is too far
    /// ahead of the clock. Also fails if an input has changed, and either the inputs are a complete
    /// snapshot or no split is finished, so that no work is lost. Otherwise an input that has
    /// changed is left to a later plan when its turn comes.
    fn check(&self, job: &Job, store: &Store, head: Option<&Head>) -> Result<()> {
        let same = self.store == store.uuid()
            && self.previous == head.map_or("", |head| &head.digest)
            && (&self.config, &self.view) == (&config(job)?, &digest_of(&job.view()));
        if !same {
            return Err(Error::new(
                Kind::TryAgain,
                "it was planned by another job or over another epoch",
            ));
        }
        if self.logical_time > now().saturating_add(AHEAD_SECONDS_MAX) {
            let why = "it was planned while the clock was more than 48 hours ahead, so pages would expire";
            return Err(Error::new(Kind::TryAgain, why));
        }
        let is_begun = || {
            entries(&self.attempt(store.root()).join("split"))
                .is_ok_and(|splits| !splits.is_empty())
        };
        if !self.complete && is_begun() {
            return Ok(());
        }
        for input in &self.inputs {
            if input.has_changed()? {
                return Err(Error::new(Kind::TryAgain, "an input has changed"));
            }
        }
        Ok(())
    }
}

/// The folder of all attempts.
pub fn folder(store: &Path) -> PathBuf {
    store.join("attempt")
}

/// The folders of all attempts. Other entries are not ours: they stay and are no error.
pub fn all(store: &Path) -> Result<Vec<PathBuf>> {
    let is_attempt = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let parts = name.split_once('-');
        let is_hex = |digest: &str| {
            digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        path.is_dir()
            && parts.is_some_and(|(epoch, digest)| epoch.parse::<u32>().is_ok() && is_hex(digest))
    };
    Ok(entries(&folder(store))?.into_iter().filter(is_attempt).collect())
}

/// Whether some run may resume the attempt: one of the job that planned it, if no input changes. An
/// attempt that a guard refused is planned again.
///
/// # Errors
///
/// As [`Frozen::read`].
pub fn is_resumable(attempt: &Path, head: Option<&Head>) -> Result<bool> {
    let digest = head.map_or("", |head| &head.digest);
    Ok(!is_refused(attempt)
        && Frozen::read(attempt)?.whole().is_some_and(|plan| plan.previous == digest))
}

/// The plan in the folder of an attempt.
enum Frozen {
    /// The plan.
    Whole(Box<Plan>),
    /// There is none, for this reason.
    Spoiled(Error),
}

impl Frozen {
    /// Reads the plan of `attempt`.
    ///
    /// # Errors
    ///
    /// It cannot be read now. A network file system may fail for a while, and finished work is not
    /// given up for that.
    fn read(attempt: &Path) -> Result<Frozen> {
        match Plan::read(attempt) {
            Ok(plan) => Ok(Frozen::Whole(Box::new(plan))),
            Err(error) if is_transient(&error, attempt) => Err(error),
            Err(why) => Ok(Frozen::Spoiled(why)),
        }
    }

    fn whole(self) -> Option<Plan> {
        match self {
            Frozen::Whole(plan) => Some(*plan),
            Frozen::Spoiled(_) => None,
        }
    }
}

/// Whether `error` of an attempt says nothing about its plan, which is there.
fn is_transient(error: &Error, attempt: &Path) -> bool {
    !matches!(error.kind(), Kind::TryAgain | Kind::Config)
        && !matches!(attempt.join(PLAN).try_exists(), Ok(false))
}

/// Whether a guard refused the attempt.
pub fn is_refused(attempt: &Path) -> bool {
    attempt.join(REFUSED).exists()
}

/// Deletes an attempt. If that fails, the files take space but are never read.
fn remove(attempt: &Path) {
    if let Err(error) = std::fs::remove_dir_all(attempt) {
        tracing::warn!(%error, attempt = %attempt.display(), "cannot remove an attempt");
    }
}

/// Deletes all attempts after a commit: none of them can be committed any more. Other entries stay.
pub fn clear(store: &Path) {
    match all(store) {
        Ok(attempts) => attempts.iter().for_each(|attempt| remove(attempt)),
        Err(error) => tracing::warn!(%error, "cannot list the finished attempts"),
    }
    // The folder stays if something else is in it.
    let _ = std::fs::remove_dir(folder(store));
}

/// What a run does with an attempt.
enum Found {
    /// A guard refused it. The run plans again.
    Refused,
    /// The run takes it up.
    Resumes(Box<Plan>),
    /// It can no longer be resumed, for this reason.
    GivenUp(Error),
}

impl Found {
    /// # Errors
    ///
    /// As [`Frozen::read`], and if an input cannot be read now.
    fn of(attempt: &Path, job: &Job, store: &Store, head: Option<&Head>) -> Result<Found> {
        if is_refused(attempt) {
            return Ok(Found::Refused);
        }
        let plan = match Frozen::read(attempt)? {
            Frozen::Whole(plan) => plan,
            Frozen::Spoiled(why) => return Ok(Found::GivenUp(why)),
        };
        match plan.check(job, store, head) {
            Ok(()) => Ok(Found::Resumes(plan)),
            Err(error) if is_transient(&error, attempt) => Err(error),
            Err(why) => Ok(Found::GivenUp(why)),
        }
    }
}

/// The plan that an earlier run did not finish. Attempts that can no longer be resumed are deleted.
pub fn unfinished(job: &Job, store: &Store, head: Option<&Head>) -> Result<Option<Plan>> {
    let mut found = None;
    for attempt in all(store.root())? {
        match Found::of(&attempt, job, store, head)? {
            Found::Resumes(plan) if found.is_none() => {
                tracing::info!(epoch = plan.epoch, "taking up an unfinished epoch");
                found = Some(*plan);
            }
            Found::Resumes(_) | Found::Refused => {}
            Found::GivenUp(why) => {
                tracing::info!(attempt = %attempt.display(), %why, "an unfinished epoch is given up");
                remove(&attempt);
            }
        }
    }
    Ok(found)
}

/// The plan of `attempt` if a run of `job` resumes it now. Nothing is deleted.
pub fn resumed(
    attempt: &Path,
    job: &Job,
    store: &Store,
    head: Option<&Head>,
) -> Result<Option<Plan>> {
    Ok(match Found::of(attempt, job, store, head)? {
        Found::Resumes(plan) => Some(*plan),
        Found::Refused | Found::GivenUp(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// When a file system failed for a moment, all that an epoch had read was lost: its attempt was
    /// given up, or was garbage, as one that can never be resumed. An attempt that no run has begun
    /// is still given up.
    #[test]
    fn an_attempt_outlives_a_failing_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let job = json!({ "store": folder.path(), "read": { "inputs": ["in"] }, "output": { "dir": "out" } });
        let job: Job = serde_json::from_value(job).expect("a job");
        let store = Store::open_or_create(&job.store, &json!(1)).expect("made");
        let attempt = |name: &str| super::folder(store.root()).join(name);
        // A folder cannot be read as a file, not even by root.
        std::fs::create_dir_all(attempt("1-aaaaaaaaaaaaaaaa").join(PLAN)).expect("made");
        unfinished(&job, &store, None).expect_err("cannot be read now");
        is_resumable(&attempt("1-aaaaaaaaaaaaaaaa"), None).expect_err("cannot be read now");
        assert!(attempt("1-aaaaaaaaaaaaaaaa").exists());
        std::fs::remove_dir(attempt("1-aaaaaaaaaaaaaaaa").join(PLAN)).expect("removed");
        std::fs::create_dir_all(attempt("1-bbbbbbbbbbbbbbbb")).expect("made");
        std::fs::write(attempt("1-bbbbbbbbbbbbbbbb").join(PLAN), "damaged").expect("written");
        for name in ["1-aaaaaaaaaaaaaaaa", "1-bbbbbbbbbbbbbbbb"] {
            assert!(!is_resumable(&attempt(name), None).expect("known"));
        }
        assert!(unfinished(&job, &store, None).expect("none").is_none());
        assert!(!attempt("1-aaaaaaaaaaaaaaaa").exists() && !attempt("1-bbbbbbbbbbbbbbbb").exists());
    }
}
