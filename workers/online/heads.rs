//! Opens the head that is asked, and finds out when there is a newer one.
//!
//! A commit creates the manifest of the next number, so one look-up of that name tells whether
//! there is a newer head. A rebuild replaces the store; then `FORMAT` is another file. The next
//! head is opened beside the present one, so no answer waits for it. A question keeps the head with
//! which it began: the files of a head stay mapped even if `gc` deletes them.

use crate::ask::index::Index;
use crate::ask::texts::Texts;
use crate::error::{Error, Kind, Result};
use crate::job::{Job, Results};
use crate::plan::inputs;
use crate::store::manifest::{self, Head};
use crate::store::open::OpenSegments;
use crate::store::{Store, damage};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// A head with its tables.
pub struct Opened {
    /// The store of the head.
    pub store: Store,
    /// The head.
    pub head: Head,
    /// The tables of the head, ready to be asked.
    pub index: Index,
    /// The device and the inode of the store's file `FORMAT`.
    place: (u64, u64),
    /// The file of the manifest.
    file: Option<FileId>,
}

/// The inode of a file, its size, and when its bytes were changed, in seconds and nanoseconds.
type FileId = (u64, u64, i64, i64);

/// Why a newer head that another job made cannot be asked.
const OTHER_JOB: &str = "the newest epoch was made with other settings than this server has; if the job file has \
                         these settings now, start the server again; otherwise (after a rollback, or a run with --set or \
                         of another job) run the job first, as no server starts over such an epoch";

/// Opens the heads of a job.
pub struct Heads {
    job: Job,
    identity: serde_json::Value,
    texts: Arc<Texts>,
    /// The segments that are mapped. A head shares most of them with the head before it.
    open: OpenSegments,
    /// Seconds until a run can read what is inserted.
    lead_seconds: i64,
}

impl Heads {
    /// The heads of `job`. A run can read what is inserted after `lead_seconds`.
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

    /// Creates the job's store if there is none, so that records can be inserted before the first
    /// epoch.
    ///
    /// # Errors
    ///
    /// `NoInput` if there are results of a store that is not there: its disk may not be mounted.
    pub fn make(&self) -> Result<()> {
        let root = &self.job.store;
        let results = self.job.output.results().filter(|_| !root.join("FORMAT").exists());
        if let Some(Results { summary, epoch, .. }) = results {
            let line = format!(
                "{}: no store here, but {} has the results of its epoch {epoch}; if its disk is not \
                 mounted, mount it; if it shall begin anew, `pagefold run JOB` makes it",
                root.display(),
                summary.display()
            );
            return Err(Error::new(Kind::NoInput, line));
        }
        // A job file that is reached by another path may name other places.
        if !root.join("FORMAT").exists()
            && let Err(error) = inputs::list(&self.job.read.inputs)
        {
            tracing::warn!(%error, "a new store is made, and a run would fail");
        }
        Store::create_if_missing(root, &self.identity)
    }

    /// Opens the head of the job's store. Before the first epoch it is empty.
    ///
    /// # Errors
    ///
    /// `NoInput` if there is no store, `Config` if it is of another identity or its head was
    /// decided with other keys.
    pub fn open(&self) -> Result<Opened> {
        let place = self.place()?;
        let store = Store::open(&self.job.store, Some(&self.identity))?;
        // The file may be replaced by another of its number while it is read.
        let (head, file) = loop {
            let head = store.head()?;
            let file = head.as_ref().and_then(|head| self.file(head.manifest.version));
            let again = store.head()?;
            if head.as_ref().map(|head| &head.digest) == again.as_ref().map(|head| &head.digest) {
                break (head, file);
            }
        };
        let head = head.unwrap_or_else(|| Head::before_the_first(store.uuid()));
        let index = damage::caught(|| {
            Index::open_with(&self.job, &store, &head, self.texts.clone(), &self.open)
        })?;
        Ok(Opened { store, head, index: index.with_lead(self.lead_seconds), place, file })
    }

    /// Opens the head after `now`, if there is one. If there is none, this costs three look-ups of
    /// names.
    pub fn newer(&self, now: &Opened) -> Result<Option<Opened>> {
        self.open.close_idle();
        // Garbage collection may have removed the next manifest when a newer one came. It then
        // removes all manifests before the head, including ours. Before the first epoch there is
        // none.
        let version = now.head.manifest.version;
        let there = |version| manifest::path(&self.job.store, version).exists();
        let is_last = !there(version + 1)
            && match version {
                0 => manifest::versions(&self.job.store)?.is_empty(),
                // Another manifest may have its number, if a backup was restored.
                _ => now.file.is_some() && self.file(version) == now.file,
            };
        let is_there = self.place().is_ok_and(|place| place == now.place);
        if is_last && is_there {
            return Ok(None);
        }
        // The same manifest may be in another file: it was copied, or touched.
        let is_ours = |head: Head| head.digest == now.head.digest;
        if is_there && manifest::head(&self.job.store)?.is_some_and(is_ours) {
            return Ok(None);
        }
        let newer = self.open().map_err(|error| match error.kind() {
            // The job file may have changed by now, so it is not known here what differs.
            Kind::Config => Error::config(&self.job.store, OTHER_JOB),
            _ => error,
        })?;
        Ok((newer.head.digest != now.head.digest).then_some(newer))
    }

    fn file(&self, version: u64) -> Option<FileId> {
        let now = manifest::path(&self.job.store, version).metadata().ok()?;
        Some((now.ino(), now.len(), now.mtime(), now.mtime_nsec()))
    }

    /// The device and the inode of the file `FORMAT`.
    fn place(&self) -> Result<(u64, u64)> {
        let path = self.job.store.join("FORMAT");
        match path.metadata() {
            Ok(metadata) => Ok((metadata.dev(), metadata.ino())),
            // `Store::open` words this error, so that a missing store is always reported in the
            // same words.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Store::open(&self.job.store, None).map(|_| (0, 0))
            }
            Err(error) => Err(Error::io("read", &path, error)),
        }
    }
}
