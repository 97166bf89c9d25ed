//! Opens the head that is asked, and finds out when there is a newer one.
//!
//! A commit creates the manifest of the next number, so one look-up of that name tells whether
//! there is a newer head. A rebuild puts another store in the place; its file `FORMAT` is another
//! file. The next head is opened beside the present one, so no answer waits for it. What is asked
//! meanwhile keeps the head that it began with: the files of a head stay mapped although `gc`
//! deletes them.

use crate::ask::index::Index;
use crate::ask::texts::Texts;
use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::store::manifest::{self, Head};
use crate::store::open::OpenSegments;
use crate::store::{Store, damage};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

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

/// Why a newer head cannot be asked that another job made.
const OTHER_JOB: &str = "the newest epoch was made with other keys than those of the job when this server started; \
                         start the server again";

/// Opens the heads of a job.
pub struct Heads {
    job: Job,
    identity: serde_json::Value,
    texts: Arc<Texts>,
    /// The segments that are mapped. A head has most of them from the one before.
    open: OpenSegments,
    /// Seconds until a run can read what is inserted.
    lead_seconds: i64,
}

impl Heads {
    /// For a job, where a run can read after so many seconds what is inserted.
    pub fn new(job: Job, lead_seconds: i64) -> Result<Heads> {
        let (identity, texts) = (job.identity()?, Arc::new(Texts::new(&job)));
        Ok(Heads { identity, texts, job, open: OpenSegments::default(), lead_seconds })
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The maker of texts for all heads.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Makes the job's store if it is not there, so that records can be inserted before the first
    /// epoch.
    pub fn make(&self) -> Result<()> {
        Store::create_if_missing(&self.job.store, &self.identity)
    }

    /// Opens the head of the job's store; before the first epoch it is empty.
    ///
    /// # Errors
    ///
    /// `NoInput` if there is no store, `Config` if it is of another identity or its head was
    /// decided with other keys.
    pub fn open(&self) -> Result<Opened> {
        let place = self.place()?;
        let store = Store::open(&self.job.store, Some(&self.identity))?;
        let head = store.head()?.unwrap_or_else(|| Head::before_the_first(store.uuid()));
        let index = damage::caught(|| {
            Index::open_with(&self.job, &store, &head, self.texts.clone(), &self.open)
        })?;
        Ok(Opened { store, head, index: index.with_lead(self.lead_seconds), place })
    }

    /// Opens the head after `now` if there is one. Without one it costs three look-ups of names.
    pub fn newer(&self, now: &Opened) -> Result<Option<Opened>> {
        self.open.close_idle();
        // Garbage collection may have removed the next one when a newer one came; it removes all
        // before the head then, ours among them.
        let version = now.head.manifest.version;
        let there = |version| manifest::path(&self.job.store, version).exists();
        let is_last = !there(version + 1) && (version == 0 || there(version));
        if is_last && self.place().is_ok_and(|place| place == now.place) {
            return Ok(None);
        }
        let newer = self.open().map_err(|error| match error.kind() {
            // The job file may be another one by now, so what differs from it is not known here.
            Kind::Config => Error::config(&self.job.store, OTHER_JOB),
            _ => error,
        })?;
        Ok((newer.head.digest != now.head.digest).then_some(newer))
    }

    /// Which file `FORMAT` is.
    fn place(&self) -> Result<(u64, u64)> {
        let path = self.job.store.join("FORMAT");
        match path.metadata() {
            Ok(metadata) => Ok((metadata.dev(), metadata.ino())),
            // `Store::open` words this error, so that a missing store is always reported alike.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Store::open(&self.job.store, None).map(|_| (0, 0))
            }
            Err(error) => Err(Error::io("read", &path, error)),
        }
    }
}
