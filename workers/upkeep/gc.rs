//! Garbage collection: finds and deletes the files that no kept commit needs.
//!
//! These are old manifests, the segments and lists that only they name, and the remains of crashed
//! runs. Finding changes nothing. For deleting, the caller holds the store's lock.

use crate::error::{Error, Kind, Result};
use crate::plan::attempts;
use crate::plan::time::AHEAD_SECONDS_MAX;
use crate::store::consumed_files::FilesReader;
use crate::store::manifest::{self, Head, Manifest, Op};
use crate::store::{Store, bytes_of, digest, durable, entries};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The last epochs whose commits are kept by default.
pub const KEEP_EPOCHS: u64 = 8;
/// The last days whose commits are kept by default.
pub const KEEP_DAYS: u32 = 7;

/// The commits that are kept besides the head: those that satisfy one of the fields.
#[derive(Clone, Debug)]
pub struct Keep {
    /// Commits of this number of last epochs, the head's included.
    pub epochs: u64,
    /// Commits of epochs that were planned at these times, seconds since 1970. Later times are
    /// those of a wrong clock.
    pub times: RangeInclusive<i64>,
}

impl Keep {
    /// The commits of this number of last epochs, and of this many days before `now`.
    pub fn last(epochs: u64, days: u32, now: i64) -> Keep {
        let since = now.saturating_sub(86_400 * i64::from(days));
        Keep { epochs, times: since..=now.saturating_add(AHEAD_SECONDS_MAX) }
    }
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
pub fn find(
    store: &Store,
    head: Option<&Head>,
    keep: &Keep,
    all_attempts: bool,
) -> Result<Garbage> {
    let mut garbage = Garbage::default();
    let (mut needed, mut reader, mut last) = (BTreeSet::new(), FilesReader::default(), None);
    for version in manifest::versions(store.root())? {
        let is_head = head.is_some_and(|head| head.manifest.version == version);
        let text = manifest::bytes(store.root(), version).map_err(unreadable)?;
        let mut manifest = match manifest::parse(store.root(), version, &text) {
            Ok(Head { manifest, .. }) => manifest,
            // It is damaged: it cannot be restored, and only the first kept manifest follows it.
            Err(error) if last.is_none() && !is_head && error.kind() == Kind::Io => {
                garbage.manifests.push(manifest::path(store.root(), version));
                continue;
            }
            Err(error) => return Err(unreadable(error)),
        };
        // All manifests after the first kept one are kept, so that the chain has no gap. The
        // changes that a rollback made are those since the manifest before it.
        let is_kept_for = |head: &Manifest| {
            manifest.epoch + keep.epochs > head.epoch
                || keep.times.contains(&manifest.logical_time)
                || (head.op == Op::Rollback && version + 1 == head.version)
                || is_head
        };
        if last.is_none() && !head.is_some_and(|head| is_kept_for(&head.manifest)) {
            garbage.manifests.push(manifest::path(store.root(), version));
        } else {
            reader.read_back(store.root(), &mut manifest).map_err(unreadable)?;
            needed.extend(files(store, &manifest));
            last = Some(version);
        }
    }
    if head.is_some_and(|head| last != Some(head.manifest.version)) {
        let line = "the last manifest is not among those that are listed, so nothing is deleted";
        return Err(Error::new(Kind::Io, line));
    }
    garbage.files = unneeded(store, &needed)?;
    garbage.files.extend(
        listed(&store.root().join("manifest"))?.into_iter().filter(|path| durable::is_aside(path)),
    );
    for attempt in attempts::all(store.root())? {
        if all_attempts || !attempts::is_resumable(&attempt, head)? {
            garbage.attempts.push(attempt);
        }
    }
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
    let (mut needed, mut reader) = (BTreeSet::new(), FilesReader::default());
    for version in manifest::versions(store.root())? {
        let text = manifest::bytes(store.root(), version)?;
        let Head { mut manifest, .. } = manifest::parse(store.root(), version, &text)?;
        reader.read_back(store.root(), &mut manifest)?;
        needed.extend(files(store, &manifest));
    }
    unneeded(store, &needed)?.iter().try_for_each(remove)
}

fn remove(path: &PathBuf) -> Result<()> {
    std::fs::remove_file(path).map_err(|e| Error::io("remove", path, e))
}

/// A manifest that would be kept could not be read because of `error`.
fn unreadable(error: Error) -> Error {
    let line = "a manifest that would be kept cannot be read, so what it names is not known and \
                nothing is deleted";
    Error::new(error.kind(), line).caused_by(error)
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
    let segments =
        manifest.segments().map(|(name, segment)| segment.path(&store.data().join(name)));
    let consumed =
        manifest.consumed.iter().map(|consumed| store.lines_path("consumed", &consumed.file));
    let in_files =
        manifest.consumed_before.iter().map(|older| store.lines_path("consumed", &older.file));
    let rejects = manifest.rejects.iter().map(|file| store.lines_path("rejects", file));
    segments.chain(consumed).chain(in_files).chain(rejects).collect()
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// Whether pagefold makes such a name: of a digest, or of a file that is being written.
fn is_ours(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_digest = digest::is_digest(stem);
    durable::is_aside(path) || is_digest && (has_ending(path, "arrow") || has_ending(path, "jsonl"))
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_file()).collect())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::consumed::{Consumed, Retention};
    use crate::store::consumed_files;
    use serde_json::json;

    /// A store with commits of 3 epochs, of which each has entries in files, and its head.
    fn store_with_entries_in_files(folder: &Path) -> (Store, Head) {
        let store = Store::open_or_create(folder, &json!({})).expect("made");
        let file = store.write_lines("consumed", "{}\n").expect("written");
        let mut last = Head::before_the_first(store.uuid());
        for version in 1..=3 {
            let mut next = last.manifest.clone();
            (next.version, next.previous) = (version, last.digest.clone());
            for _ in 0..2 * consumed_files::ENTRIES {
                next.epoch += 1;
                next.consumed.push(Consumed {
                    epoch: next.epoch,
                    logical_time: 0,
                    source: 0,
                    complete: false,
                    file: file.clone(),
                    read: 1,
                    barren: 0,
                    idle: false,
                    retention: Retention::default(),
                    gone_min: 0,
                    undone: false,
                });
            }
            last = manifest::commit(store.root(), &next).expect("committed");
        }
        (store, last)
    }

    /// After one epoch of a clock that was far ahead no commit was deleted until that time came.
    #[test]
    fn a_wrong_clock_keeps_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_create(folder.path(), &json!({})).expect("made");
        let mut last = Head::before_the_first(store.uuid());
        for (version, logical_time) in (1..).zip([5_000_000, 9_000_000_000, 6_000_000, 9_000_000]) {
            let (previous, manifest) = (last.digest, last.manifest);
            let next = Manifest { version, epoch: version, previous, logical_time, ..manifest };
            last = manifest::commit(store.root(), &next).expect("committed");
        }
        let found = |days| {
            let keep = Keep::last(1, days, 9_000_000);
            find(&store, Some(&last), &keep, false).expect("found").manifests.len()
        };
        assert_eq!([0, 30, 40, 99].map(found), [3, 3, 2, 0]);
    }

    /// A file of entries that could not be read for a moment made every manifest a damaged one, the
    /// head's too, and all were deleted with all that they name. Only bytes of a manifest that are
    /// no manifest are damage.
    #[test]
    fn an_unreadable_list_is_no_damage() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, head) = store_with_entries_in_files(folder.path());
        let keep = Keep::last(1, 0, i64::MAX);
        let find = || find(&store, Some(&head), &keep, false);
        let files = |version| {
            let manifest = manifest::read(store.root(), version).expect("readable").manifest;
            manifest.consumed_before.into_iter().map(|older| older.file)
        };
        let path = |file| store.lines_path("consumed", &file);
        let of_head: Vec<PathBuf> = files(3).map(path).collect();
        let of_second: Vec<PathBuf> = files(2).map(path).collect();
        let only_old = of_second.iter().find(|path| !of_head.contains(path)).expect("one");
        let found = find().expect("found");
        assert_eq!(found.manifests.len(), 2);
        // What only old manifests need may be damaged.
        std::fs::write(only_old, "damaged").expect("written");
        assert_eq!(find().expect("found").manifests, found.manifests);
        for path in &of_head {
            let text = std::fs::read(path).expect("readable");
            std::fs::remove_file(path).expect("removed");
            let error = find().expect_err("refused").to_string();
            assert!(error.contains("nothing is deleted"), "{error}");
            std::fs::write(path, text).expect("written");
        }
        // A damaged manifest that is not the head's is garbage; the head's never is.
        std::fs::write(manifest::path(store.root(), 1), "damaged").expect("written");
        assert_eq!(find().expect("found").manifests, found.manifests);
        let path = manifest::path(store.root(), 3);
        std::fs::write(&path, "damaged").expect("written");
        assert!(find().is_err());
        std::fs::remove_file(&path).expect("removed");
        assert!(find().is_err());
    }
}
