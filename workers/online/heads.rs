//! The head that is asked, and the move to the next one.
//!
//! A commit creates the manifest of the next number, so one look-up of that name tells whether
//! there is a newer head. A rebuild puts another store in the place; its file `FORMAT` is another
//! file. The next head is opened beside the present one, so no answer waits for it. What is asked
//! meanwhile keeps the head that it began with: the files of a head stay mapped although `gc`
//! deletes them.

use crate::ask::index::Index;
use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::locks::lock;
use crate::store::manifest::{self, Head};
use crate::store::{Store, damage};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

/// A head with its tables.
pub struct Opened {
    /// The store that it is of.
    pub store: Store,
    /// The head.
    pub head: Head,
    /// Its tables, ready to be asked.
    pub index: Index,
    /// The device and the inode of the store's file `FORMAT`.
    place: (u64, u64),
}

/// The latest head that could be opened.
pub struct Heads {
    job: Job,
    identity: serde_json::Value,
    now: Mutex<Arc<Opened>>,
}

impl Heads {
    /// Opens the head of the job's store.
    ///
    /// # Errors
    ///
    /// `NoInput` if there is no epoch yet, `Config` if the store is of another identity or its head
    /// was decided with other keys.
    pub fn open(job: Job) -> Result<Heads> {
        let identity = job.identity()?;
        let opened = open(&job, &identity)?;
        Ok(Heads { job, identity, now: Mutex::new(Arc::new(opened)) })
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The present head.
    pub fn now(&self) -> Arc<Opened> {
        lock(&self.now).clone()
    }

    /// Opens a newer head if there is one. Without one it costs two look-ups of names.
    pub fn newer(&self) -> Result<Option<Opened>> {
        let now = self.now();
        let next = manifest::path(&self.job.store, now.head.manifest.version + 1);
        if !next.exists() && place(&self.job).is_ok_and(|place| place == now.place) {
            return Ok(None);
        }
        let newer = open(&self.job, &self.identity)?;
        Ok((newer.head.digest != now.head.digest).then_some(newer))
    }

    /// From now on `newer` is asked.
    pub fn move_to(&self, newer: Opened) {
        *lock(&self.now) = Arc::new(newer);
    }
}

fn open(job: &Job, identity: &serde_json::Value) -> Result<Opened> {
    let place = place(job)?;
    let store = Store::open(&job.store, Some(identity))?;
    let head = store.head()?.ok_or_else(|| {
        let line = format!("{}: no epoch yet; `pagefold run JOB` commits the first", job.store.display());
        Error::new(Kind::NoInput, line)
    })?;
    let index = damage::caught(|| Index::open(job, &store, &head))?;
    Ok(Opened { store, head, index, place })
}

/// Which file `FORMAT` is.
fn place(job: &Job) -> Result<(u64, u64)> {
    let path = job.store.join("FORMAT");
    match path.metadata() {
        Ok(metadata) => Ok((metadata.dev(), metadata.ino())),
        // What is said of a store that is not there yet is said once.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Store::open(&job.store, None).map(|_| (0, 0)),
        Err(error) => Err(Error::io("read", &path, error)),
    }
}
