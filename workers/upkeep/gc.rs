//! Garbage collection: finds and deletes the files that no kept commit needs.
//!
//! These are old manifests, the segments and lists that only they name, and the remains of crashed
//! runs. Finding changes nothing. For deleting, the caller holds the store's lock.

use crate::error::{Error, Kind, Result};
use crate::plan::attempts;
use crate::store::manifest::{self, Head, Manifest, Op};
use crate::store::{Store, bytes_of, digest, durable, entries};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The last epochs whose commits are kept by default.
pub const KEEP_EPOCHS: u64 = 8;
/// The last days whose commits are kept by default.
pub const KEEP_DAYS: u32 = 7;

/// The commits that are kept besides the head: those that satisfy one of the fields.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Commits of this number of last epochs, the head's included.
    pub epochs: u64,
    /// Commits of epochs that were planned at or after this time, seconds since 1970.
    pub since: i64,
}

/// The files that can be deleted.
#[derive(Clone, Debug, Default)]
pub struct Garbage {
    /// Manifests, oldest first.
    pub manifests: Vec<PathBuf>,
    /// Other files.
    pub files: Vec<PathBuf>,
    /// Folders of attempts: those that no run can resume, or all.
    pub attempts: Vec<PathBuf>,
    /// The size of all this.
    pub bytes: u64,
}

/// Finds the files that no commit of `keep` needs; `all_attempts`: with what a run could resume.
/// Files with names that pagefold does not make are ignored.
pub fn find(store: &Store, head: Option<&Head>, keep: Keep, all_attempts: bool) -> Result<Garbage> {
    let mut garbage = Garbage::default();
    let mut kept = Vec::new();
    for version in manifest::versions(store.root())? {
        let manifest = match manifest::read(store.root(), version) {
            Ok(Head { manifest, .. }) => manifest,
            // It cannot be restored, and only the first kept manifest follows it.
            Err(error) if kept.is_empty() && is_damaged(store, version, &error) => {
                garbage.manifests.push(manifest::path(store.root(), version));
                continue;
            }
            Err(error) => {
                let line = "a manifest that would be kept cannot be read, so what it names is not known and nothing \
                            is deleted";
                return Err(Error::new(error.kind(), line).caused_by(error));
            }
        };
        // All manifests after the first kept one are kept, so that the chain has no gap. The
        // changes that a rollback made are those since the manifest before it.
        let is_kept_for = |head: &Manifest| {
            manifest.epoch + keep.epochs > head.epoch
                || manifest.logical_time >= keep.since
                || (head.op == Op::Rollback && version + 1 == head.version)
                || version == head.version
        };
        if kept.is_empty() && !head.is_some_and(|head| is_kept_for(&head.manifest)) {
            garbage.manifests.push(manifest::path(store.root(), version));
        } else {
            kept.push(manifest);
        }
    }
    let needed: BTreeSet<PathBuf> =
        kept.iter().flat_map(|manifest| files(store, manifest)).collect();
    garbage.files = unneeded(store, &needed)?;
    garbage.files.extend(
        listed(&store.root().join("manifest"))?
            .into_iter()
            .filter(|path| has_ending(path, "writing")),
    );
    garbage.attempts = attempts::all(store.root())?;
    garbage.attempts.retain(|attempt| all_attempts || !attempts::is_resumable(attempt, head));
    let all = garbage.manifests.iter().chain(&garbage.files).chain(&garbage.attempts);
    garbage.bytes = all.map(|path| bytes_of(path)).sum();
    Ok(garbage)
}

/// The files in the folders of tables and lists that are ours and not `needed`.
fn unneeded(store: &Store, needed: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut unneeded = Vec::new();
    for folder in folders(&store.data())? {
        let files = listed(&folder)?.into_iter();
        unneeded.extend(files.filter(|path| is_ours(path) && !needed.contains(path)));
    }
    Ok(unneeded)
}

/// Deletes what an epoch that was not finished wrote to tables. No commit names it, and the run
/// that takes the epoch up writes it again. The splits that are finished stay. The caller holds the
/// lock.
pub fn clear_unfinished(store: &Store) -> Result<()> {
    if attempts::all(store.root())?.is_empty() {
        return Ok(());
    }
    clear_unneeded(store)
}

/// Deletes the files of tables and lists that no manifest names. The caller holds the lock.
pub fn clear_unneeded(store: &Store) -> Result<()> {
    let mut needed = BTreeSet::new();
    for version in manifest::versions(store.root())? {
        needed.extend(files(store, &manifest::read(store.root(), version)?.manifest));
    }
    unneeded(store, &needed)?.iter().try_for_each(remove)
}

fn remove(path: &PathBuf) -> Result<()> {
    std::fs::remove_file(path).map_err(|e| Error::io("remove", path, e))
}

/// Whether the manifest of `version`, which was not understood, could be read.
fn is_damaged(store: &Store, version: u64, error: &Error) -> bool {
    error.kind() == Kind::Io && std::fs::read(manifest::path(store.root(), version)).is_ok()
}

/// Deletes `garbage`: the manifests first, from the oldest on, so that no manifest is ever left
/// without its files.
pub fn delete(store: &Store, garbage: &Garbage) -> Result<()> {
    garbage.manifests.iter().try_for_each(remove)?;
    durable::sync_folder(&store.root().join("manifest"))?;
    garbage.files.iter().try_for_each(remove)?;
    garbage.attempts.iter().try_for_each(|path| {
        std::fs::remove_dir_all(path).map_err(|e| Error::io("remove", path, e))
    })
}

/// The files that a manifest names.
fn files(store: &Store, manifest: &Manifest) -> Vec<PathBuf> {
    let segments = manifest.tables.iter().flat_map(|(name, table)| {
        let folder = store.data().join(name);
        table.segments().map(move |segment| segment.path(&folder))
    });
    let consumed =
        manifest.consumed.iter().map(|consumed| store.lines_path("consumed", &consumed.file));
    let folded =
        manifest.consumed_before.iter().map(|folded| store.lines_path("consumed", &folded.file));
    let rejects = manifest.rejects.iter().map(|file| store.lines_path("rejects", file));
    segments.chain(consumed).chain(folded).chain(rejects).collect()
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// Whether pagefold makes such a name: of a digest, or of a file that is being written.
fn is_ours(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_digest = digest::is_digest(stem);
    has_ending(path, "writing")
        || is_digest && (has_ending(path, "arrow") || has_ending(path, "jsonl"))
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_file()).collect())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}
