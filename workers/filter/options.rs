//! What a filter writes, and where.

use crate::filter::labels::Names;
use crate::progress::Progress;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the notes of finished files. A run that reads the folder above leaves it out.
pub const NOTES_FOLDER: &str = "_pagefold";

/// What a filter writes. At least one of `to` and `records` is set.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of the inputs without the records that fold.
    pub to: Option<PathBuf>,
    /// The folder of what was removed, by which the inputs can be made again.
    pub removed: Option<PathBuf>,
    /// The folder of the tables of records.
    pub records: Option<PathBuf>,
    /// The names of the fields with the cluster of each row, if they are wanted. Then nothing is
    /// left out.
    pub annotate: Option<Names>,
    /// Whether a revisit is written in an archive in place of each record that folds.
    pub revisits: bool,
    /// Whether files of inputs that are gone are deleted.
    pub prune: bool,
    /// The number of threads.
    pub threads: usize,
    /// The progress of reading.
    pub progress: Arc<Progress>,
}

impl Options {
    /// The folder of the notes of finished files.
    pub(super) fn notes(&self) -> PathBuf {
        let dir = self.removed.as_ref().or(self.to.as_ref()).or(self.records.as_ref());
        dir.map_or_else(PathBuf::new, |dir| dir.join(NOTES_FOLDER))
    }

    /// The folders that are named, in the order of [`Places::iter`].
    pub(super) fn dirs(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.to, &self.removed, &self.records].into_iter().flatten()
    }

    /// The files of the input `name`.
    pub(super) fn places(&self, name: &Path) -> Places {
        let mut table = name.as_os_str().to_owned();
        table.push(".parquet");
        Places {
            kept: self.to.as_ref().map(|dir| dir.join(name)),
            removed: self.removed.as_ref().map(|dir| dir.join(name)),
            records: self.records.as_ref().map(|dir| dir.join(table)),
        }
    }
}

/// The files of one input, in the folders that are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// What is kept of it.
    pub(super) kept: Option<PathBuf>,
    /// What is removed.
    pub(super) removed: Option<PathBuf>,
    /// The table of its records.
    pub(super) records: Option<PathBuf>,
}

impl Places {
    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.kept, &self.removed, &self.records].into_iter().flatten()
    }
}
