//! Rollback: commits a new epoch with the contents of an earlier one.
//!
//! Tables, sources, consumed inputs and everything else are those of the earlier epoch. Nothing is
//! deleted. The epochs in between can be restored in the same way, while their manifests and files
//! exist.

use crate::error::{Error, Kind, Result};
use crate::store::Store;
use crate::store::consumed::Consumed;
use crate::store::digest;
use crate::store::lists::FileRef;
use crate::store::manifest::{self, Head, Manifest, Op, Source};
use crate::store::threads::{in_threads, processors};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Restores `epoch`. Inputs consumed since then stay consumed, unless `forget_inputs` lets the next
/// run read them again.
///
/// # Errors
///
/// `Usage` if there is no manifest of that epoch, or it is the head's. `Io` if a file of it is gone
/// or has other bytes, or if a manifest that may be that epoch's is damaged.
pub fn rollback(store: &Store, head: &Head, epoch: u64, forget_inputs: bool) -> Result<Head> {
    if epoch == head.manifest.epoch {
        return Err(Error::new(Kind::Usage, format!("epoch {epoch} is the head already")));
    }
    let target = target(store, epoch)?;
    let (sources, consumed) = match forget_inputs {
        true => (target.sources.clone(), target.consumed.clone()),
        false => undoing(&target, &head.manifest),
    };
    let version = head.manifest.version + 1;
    let manifest = Manifest {
        version,
        epoch: head.manifest.epoch + 1,
        op: Op::Rollback,
        previous: head.digest.clone(),
        plan: format!("rollback-{version}"),
        sources,
        consumed,
        rejects: rejects(store, &target),
        ..target
    };
    check(store, &manifest).map_err(|error| {
        let line = format!(
            "epoch {epoch} cannot be restored and the store stays as it is; try another epoch"
        );
        Error::new(error.kind(), line).caused_by(error)
    })?;
    manifest::commit(store.root(), &manifest)
}

/// The newest epoch before the head that [`rollback`] can restore.
pub fn newest_whole(store: &Store, head: &Head) -> Result<Option<u64>> {
    let versions = manifest::versions(store.root())?.into_iter().rev();
    let mut looked_at = BTreeSet::from([head.manifest.epoch]);
    // Epochs have most files in common, and each file is read once.
    let mut sound: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for manifest in versions.filter_map(|version| manifest::read(store.root(), version).ok()) {
        let Manifest { epoch, .. } = manifest.manifest;
        if !looked_at.insert(epoch) {
            continue;
        }
        let files = files(store, &manifest.manifest);
        if files.keys().any(|path| sound.get(path) == Some(&false) || !path.exists()) {
            continue;
        }
        let new: Vec<_> = files.iter().filter(|(path, _)| !sound.contains_key(*path)).collect();
        let read = in_threads("checking files", &new, processors(), |(path, digest)| {
            Ok(digest::check(path, digest).is_ok())
        })?;
        sound.extend(new.iter().map(|(path, _)| (*path).clone()).zip(read));
        if files.keys().all(|path| sound[path]) {
            return Ok(Some(epoch));
        }
    }
    Ok(None)
}

/// The last manifest of `epoch`: in it runs are merged. Damaged manifests of other epochs do not
/// matter.
fn target(store: &Store, epoch: u64) -> Result<Manifest> {
    let (mut there, mut damaged, mut found) = (BTreeSet::new(), Vec::new(), None);
    for version in manifest::versions(store.root())? {
        match manifest::read(store.root(), version) {
            Ok(Head { manifest, .. }) => {
                there.insert(manifest.epoch);
                found = Some(manifest).filter(|manifest| manifest.epoch == epoch).or(found);
            }
            Err(error) => damaged.push(error),
        }
    }
    if let Some(found) = found {
        return Ok(found);
    }
    let there: Vec<String> = there.iter().map(u64::to_string).collect();
    let line = format!(
        "{}: no epoch {epoch} to go back to; kept are {}",
        store.root().display(),
        there.join(", ")
    );
    match damaged.into_iter().next() {
        None => Err(Error::new(Kind::Usage, line)),
        Some(error) => {
            let line = format!("{line}; of others the manifest is damaged");
            Err(Error::new(error.kind(), line).caused_by(error))
        }
    }
}

/// The sources and consumed inputs of `target`, and those that only `head` has, as undone.
///
/// The rows of `target` refer to its sources by number, so those keep their numbers.
fn undoing(target: &Manifest, head: &Manifest) -> (Vec<Source>, Vec<Consumed>) {
    let mut sources = target.sources.clone();
    let number_of = |source: &Source| {
        if let Some(at) = sources.iter().position(|known| known.name == source.name) {
            // An undone complete snapshot stays consumed, too.
            if sources[at].snapshot != source.snapshot {
                sources[at] = Source { lost: false, ..source.clone() };
            }
            return at as u16;
        }
        sources.push(source.clone());
        (sources.len() - 1) as u16
    };
    let numbers: Vec<u16> = head.sources.iter().map(number_of).collect();
    let mut consumed: BTreeMap<u64, Consumed> = BTreeMap::new();
    for of_head in &head.consumed {
        let source = numbers.get(usize::from(of_head.source)).copied().unwrap_or(of_head.source);
        consumed.insert(of_head.epoch, Consumed { source, undone: true, ..of_head.clone() });
    }
    // The epochs that the target builds on count again, even if an earlier rollback has undone
    // them.
    consumed.extend(target.consumed.iter().map(|of_target| (of_target.epoch, of_target.clone())));
    (sources, consumed.into_values().collect())
}

/// The list of rejected records of `target`. No later epoch reads it, so a damaged one is left out.
fn rejects(store: &Store, target: &Manifest) -> Option<FileRef> {
    let file = target.rejects.clone()?;
    match digest::check(&store.lines_path("rejects", &file), &file.digest) {
        Ok(()) => Some(file),
        Err(error) => {
            tracing::warn!(%error, "the restored epoch has no list of rejected records");
            None
        }
    }
}

/// Reads every byte that `manifest` names, except rejected records, because possibly no command has
/// read these bytes since the epoch was left.
fn check(store: &Store, manifest: &Manifest) -> Result<()> {
    let files: Vec<_> = files(store, manifest).into_iter().collect();
    in_threads("checking files", &files, processors(), |(path, digest)| {
        digest::check(path, digest)
    })?;
    Ok(())
}

/// The segments and the lists of inputs that `manifest` names, with their digests.
fn files<'m>(store: &Store, manifest: &'m Manifest) -> BTreeMap<PathBuf, &'m str> {
    let segments = manifest.segments();
    let mut files: BTreeMap<PathBuf, &str> = segments
        .map(|(name, segment)| (segment.path(&store.data().join(name)), segment.digest.as_str()))
        .collect();
    for Consumed { file, .. } in &manifest.consumed {
        files.insert(store.lines_path("consumed", file), &file.digest);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::consumed::Retention;
    use crate::store::manifest::TableState;
    use crate::store::segment;
    use crate::tables::ContentPageRow;
    use serde_json::json;

    fn source(name: &str, snapshot: &str) -> Source {
        Source { snapshot: snapshot.into(), ..Source::new(name.into()) }
    }

    fn consumed(epoch: u64, source: u16, undone: bool) -> Consumed {
        let file = FileRef { digest: String::new(), bytes: 0, lines: 1, part: None };
        let retention = Retention::default();
        Consumed {
            epoch,
            logical_time: 0,
            source,
            complete: false,
            file,
            read: 1,
            barren: 0,
            idle: false,
            retention,
            gone_min: 0,
            undone,
        }
    }

    fn manifest(version: u64, sources: Vec<Source>, consumed: Vec<Consumed>) -> Manifest {
        Manifest {
            format: manifest::FORMAT,
            store: String::new(),
            version,
            epoch: version,
            op: Op::Epoch,
            previous: String::new(),
            plan: String::new(),
            logical_time: 0,
            decision: String::new(),
            decided_by: None,
            view: String::new(),
            tables: BTreeMap::new(),
            folded: 0,
            unexamined: BTreeMap::new(),
            retention: Retention::default(),
            sources,
            consumed,
            consumed_before: Vec::new(),
            rejects: None,
            counters: BTreeMap::new(),
        }
    }

    /// A rollback to an epoch that another rollback had forgotten gave its pages to another source,
    /// because their numbers were looked up in the list of the head. The list is that of the
    /// target, followed by what only the head has; what each epoch took keeps its source.
    #[test]
    fn sources_keep_their_numbers() {
        let target = manifest(
            2,
            vec![source("a", ""), source("b", "of 2")],
            vec![consumed(1, 0, false), consumed(2, 1, false)],
        );
        let head = manifest(
            4,
            vec![source("c", "of 4"), source("a", "of 3")],
            vec![consumed(1, 1, false), consumed(4, 0, false)],
        );
        let (sources, all) = undoing(&target, &head);
        assert_eq!(sources, [source("a", "of 3"), source("b", "of 2"), source("c", "of 4")]);
        assert_eq!(all, [consumed(1, 0, false), consumed(2, 1, false), consumed(4, 2, true)]);
    }

    /// A rollback looked at the sizes of files only, and made a damaged epoch the head. A file with
    /// another byte is named, and the head stays.
    #[test]
    fn damaged_bytes_are_not_restored() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_create(folder.path(), &json!({})).expect("made");
        let row =
            ContentPageRow { content: crate::id::Id::NONE, doc: crate::id::Id::NONE, diff: 1 };
        let table = store.data().join("content_pages");
        let segment = segment::write(&table, "test", vec![row]).expect("written").expect("rows");
        let mut first = manifest(1, Vec::new(), Vec::new());
        first.store = store.uuid().to_owned();
        let mut state = TableState::default();
        state
            .append(manifest::Run { epoch: 1, segments: vec![segment.clone()] })
            .expect("appended");
        first.tables.insert("content_pages".into(), state);
        let head = manifest::commit(store.root(), &first).expect("committed");
        let second = Manifest {
            version: 2,
            epoch: 2,
            previous: head.digest,
            tables: BTreeMap::new(),
            ..first
        };
        let head = manifest::commit(store.root(), &second).expect("committed");
        let path = segment.path(&table);
        let sound = std::fs::read(&path).expect("readable");
        let mut damaged = sound.clone();
        damaged[sound.len() / 3] ^= 1;
        std::fs::write(&path, damaged).expect("written");
        let error = rollback(&store, &head, 1, false).expect_err("damaged");
        assert_eq!(error.kind(), Kind::Io);
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        assert_eq!(manifest::versions(store.root()).expect("listed"), [1, 2]);
        std::fs::write(&path, sound).expect("written");
        assert_eq!(rollback(&store, &head, 1, false).expect("sound").manifest.epoch, 3);
    }
}
