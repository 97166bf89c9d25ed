//! The folders of a rebuild: the store, `STORE.rebuild` and `STORE.before-rebuild`.
//!
//! The new store grows in `STORE.rebuild`. When it is complete the two folders exchange their names
//! in one system call, so that there is a store at every moment, and then the old store is renamed
//! to `STORE.before-rebuild`. A crash between the two leaves the old store under the name of the
//! new one. The note of a replay, which names the store that is replayed, tells the two apart: a
//! folder is cleared only if its note says that it is being built from the store in place.

use crate::error::{Error, Kind, Result};
use crate::plan::replay::Note;
use crate::store::{Store, durable};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The folders of a rebuild.
pub struct Folders {
    /// The store.
    pub store: PathBuf,
    /// Where the new store is built.
    pub new: PathBuf,
    /// Where the old store is kept afterwards.
    pub kept: PathBuf,
}

/// What `STORE.rebuild` is before a rebuild.
pub enum RebuildState {
    /// Nothing, or a folder without any part of a store.
    Nothing,
    /// A store that is being built from the store that is in place, with its note.
    Unfinished(Note),
    /// The old store: a rebuild exchanged the folders and was stopped before it renamed it.
    Exchanged,
}

impl Folders {
    /// The folders of a rebuild of `store`. If `store` is a link, they are beside its target, and
    /// the link stays.
    ///
    /// # Errors
    ///
    /// `Output` if the store is a mount point: then no folder can take its place.
    pub fn of(store: &Path) -> Result<Folders> {
        let store = std::fs::canonicalize(store).map_err(|e| Error::input("find", store, e))?;
        let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
        if device(&store) != device(store.parent().unwrap_or(&store)) {
            let line = format!(
                "{}: a disk is mounted here, so a rebuilt store cannot take its place; make a folder \
                 on that disk, move all that is in here to it, and name it as `store` in the job",
                store.display()
            );
            return Err(Error::new(Kind::Output, line));
        }
        let beside = |what: &str| {
            let mut name = store.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{what}"));
            store.with_file_name(name)
        };
        Ok(Folders { new: beside("rebuild"), kept: beside("before-rebuild"), store })
    }

    /// Finds out what lies in the folder of the new store.
    ///
    /// # Errors
    ///
    /// `Output` if this cannot be decided. Then the folder is left alone, because it may be another
    /// store.
    pub fn find(&self) -> Result<RebuildState> {
        let uuid = |root: &Path| Store::open_any(root).ok().map(|store| store.uuid().to_owned());
        let (in_place, beside) = (uuid(&self.store), uuid(&self.new));
        // The store from which the store in place was built is the old store.
        if beside.is_some() && beside == Note::read(&self.store)?.map(|note| note.of) {
            return Ok(RebuildState::Exchanged);
        }
        match Note::read(&self.new)? {
            Some(note) if Some(&note.of) == in_place.as_ref() => {
                return Ok(RebuildState::Unfinished(note));
            }
            None if PARTS.iter().all(|part| !self.new.join(part).exists()) => {
                return Ok(RebuildState::Nothing);
            }
            _ => {}
        }
        let (new, store) = (self.new.display(), self.store.display());
        Err(Error::new(
            Kind::Output,
            format!("{new}: not an unfinished rebuild of {store}; move it elsewhere"),
        ))
    }

    /// Clears away a [`RebuildState::Unfinished`] store. Its note stays until another is written.
    pub fn clear(&self) -> Result<()> {
        for part in PARTS {
            let path = self.new.join(part);
            let removed = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            match removed {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path, e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Fails if a store of an earlier rebuild is kept, because the name is needed.
    pub fn check_free(&self) -> Result<()> {
        if self.kept.symlink_metadata().is_err() {
            return Ok(());
        }
        let kept = self.kept.display();
        let line = format!(
            "{kept}: the store before an earlier rebuild; delete it if you do not need it, or move it"
        );
        Err(Error::new(Kind::Output, line))
    }

    /// Gives the new store the name of the old one, and the other way round.
    pub fn exchange(&self) -> Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, &self.new, CWD, &self.store, RenameFlags::EXCHANGE).map_err(|e| {
            let [store, new, kept] = [&self.store, &self.new, &self.kept].map(|path| path.display());
            let line = format!(
                "the new store is complete, but cannot take the place of the old one; rename {store} to {kept}, then {new} to {store}"
            );
            Error::new(Kind::Io, line).caused_by(std::io::Error::from(e))
        })?;
        durable::sync_name(&self.store)
    }

    /// Keeps the old store after an exchange.
    pub fn keep(&self) -> Result<()> {
        self.check_free()?;
        std::fs::rename(&self.new, &self.kept)
            .map_err(|e| Error::io("rename to", &self.kept, e))?;
        durable::sync_name(&self.store)?;
        Note::remove(&self.store);
        Ok(())
    }
}

/// What a store consists of.
const PARTS: [&str; 4] = ["attempt", "manifest", "data", "FORMAT"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn store(root: &Path) -> String {
        Store::open_or_create(root, &json!({})).expect("made").uuid().to_owned()
    }

    fn uuid(root: &Path) -> String {
        Store::open_any(root).expect("a store").uuid().to_owned()
    }

    fn note(root: &Path, of: &str) {
        Note { of: of.into(), marks: Vec::new() }.write(root).expect("written");
    }

    /// A rebuild that was killed between the exchange and the renaming deleted the old store when
    /// it was run again. After each step the next rebuild knows which folder is the old store, and
    /// both stores are there in the end. The name of the store may be a link.
    #[test]
    fn a_stopped_exchange_is_finished() {
        for stopped_at in 0..=4 {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().join("store");
            let old = store(&root);
            std::os::unix::fs::symlink(&root, folder.path().join("link")).expect("linked");
            let folders = Folders::of(&folder.path().join("link")).expect("there");
            assert!(matches!(folders.find(), Ok(RebuildState::Nothing)));
            // The old store was made by a rebuild, too, that was stopped before it removed its
            // note.
            note(&root, "before");
            std::fs::create_dir(&folders.new).expect("made");
            assert!(matches!(folders.find(), Ok(RebuildState::Nothing)));
            note(&folders.new, &old);
            let mut new = None;
            let steps: [&mut dyn FnMut(); 4] = [
                &mut || new = Some(store(&folders.new)),
                &mut || folders.exchange().expect("exchanged"),
                &mut || std::fs::rename(&folders.new, &folders.kept).expect("renamed"),
                &mut || Note::remove(&folders.store),
            ];
            steps.into_iter().take(stopped_at).for_each(|step| step());
            match (stopped_at, folders.find().expect("known")) {
                (0 | 1, RebuildState::Unfinished(note)) => assert_eq!(note.of, old),
                (2, RebuildState::Exchanged) => folders.keep().expect("kept"),
                (3 | 4, RebuildState::Nothing) => {}
                _ => panic!("stopped after step {stopped_at}"),
            }
            if stopped_at >= 2 {
                assert_eq!((Some(uuid(&folders.store)), uuid(&folders.kept)), (new, old));
                assert!(folders.check_free().is_err() && folder.path().join("link").is_symlink());
            } else {
                folders.clear().expect("cleared");
                assert!(
                    uuid(&folders.store) == old
                        && matches!(folders.find(), Ok(RebuildState::Unfinished(_)))
                );
            }
        }
    }

    /// A folder that is not known to be a part of a rebuild of this store is never cleared: another
    /// store, one that is built from another, a store whose `FORMAT` is gone.
    #[test]
    fn strange_folders_are_left_alone() {
        let strange: [&dyn Fn(&Path); 4] = [
            &|new| drop(store(new)),
            &|new| {
                store(new);
                note(new, "another");
            },
            &|new| std::fs::create_dir_all(new.join("manifest")).expect("made"),
            &|new| {
                std::fs::create_dir(new).expect("made");
                note(new, "another");
            },
        ];
        for put in strange {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().join("store");
            store(&root);
            let folders = Folders::of(&root).expect("there");
            put(&folders.new);
            let error = folders.find().err().expect("refused");
            assert!(
                error.kind() == Kind::Output && error.to_string().contains("store.rebuild"),
                "{error}"
            );
        }
    }
}
