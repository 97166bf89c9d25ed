//! The store: immutable sorted runs of rows, and manifests whose creation is the commit.
//!
//! `README.md` in this folder has the layout, the manifest, the effects of crashes, and the
//! assumptions about the system; `README.md` in `tables` has the bytes of segments and rows.

pub(crate) mod column;
pub(crate) mod configuration;
pub(crate) mod consumed;
pub(crate) mod consumed_files;
pub(crate) mod cursor;
pub mod damage;
pub mod digest;
pub mod durable;
mod folder;
pub(crate) mod fsyncs;
pub(crate) mod lists;
mod lock;
pub(crate) mod lookup;
pub mod manifest;
mod map;
pub(crate) mod open;
pub mod past;
pub(crate) mod pool;
pub mod runs;
pub mod segment;
pub mod table;
#[cfg(test)]
mod testing;
pub mod threads;
pub(crate) mod write_back;

use crate::error::{Error, Kind, Result};
use crate::random_bytes::random_hex;
use crate::store::configuration::{differences, refusal, settled};
pub use crate::store::digest::digest_of;
pub use crate::store::folder::{bytes_below, bytes_of, entries};
use crate::store::lists::{FileRef, ListWriter, Lists};
pub use crate::store::lock::Lock;
use crate::store::manifest::{AnyFormat, Head};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// The file `FORMAT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Format {
    format: u32,
    store: String,
    identity_digest: String,
    identity: serde_json::Value,
}

impl Format {
    /// The file of a new store of this identity.
    fn text(identity: &serde_json::Value) -> Result<Vec<u8>> {
        let format = Format {
            format: manifest::FORMAT,
            store: random_hex()?,
            identity_digest: digest_of(identity),
            identity: identity.clone(),
        };
        serde_json::to_vec_pretty(&format)
            .map_err(|e| Error::internal("cannot write FORMAT").caused_by(e))
    }
}

/// An open store. Opening takes no lock; see [`Store::lock`].
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    uuid: String,
}

impl Store {
    /// Opens or creates the store at `root` for a job with the identity configuration `identity`. A
    /// store of another identity without a commit is made anew. So the caller must hold its
    /// [`Store::lock`], because another run may be in its first epoch.
    ///
    /// # Errors
    ///
    /// `Config` if the store was built with another identity configuration or format.
    pub fn open_or_create(root: &Path, identity: &serde_json::Value) -> Result<Store> {
        Store::create_if_missing(root, identity)?;
        if Store::may_be_made_anew(root, identity)? {
            durable::write(&root.join("FORMAT"), &Format::text(identity)?)?;
        }
        Store::open(root, Some(identity))
    }

    /// Creates the store at `root` if there is none. It never replaces a store, so it needs no
    /// lock.
    pub fn create_if_missing(root: &Path, identity: &serde_json::Value) -> Result<()> {
        let path = root.join("FORMAT");
        check_manifests(root)?;
        if path.exists() {
            return Ok(());
        }
        if !manifest::versions(root)?.is_empty() {
            return Err(lost_format(root));
        }
        durable::create_folder(root)?;
        durable::sync_name(root)?;
        durable::create_new(&path, &Format::text(identity)?).map(drop)
    }

    /// Whether the store at `root` is of another identity and has no commit yet. Then its identity
    /// does not bind later runs: a guard may refuse a first run because of the very key that the
    /// job then corrects.
    fn may_be_made_anew(root: &Path, identity: &serde_json::Value) -> Result<bool> {
        let format = serde_json::from_slice::<Format>(&format_text(root)?);
        let is_other = format.is_ok_and(|format| {
            format.format == manifest::FORMAT
                && format.identity_digest == digest_of(&format.identity)
                && !differences(&settled(&format.identity), &settled(identity)).is_empty()
        });
        Ok(is_other && manifest::versions(root)?.is_empty())
    }

    /// Opens the store at `root`. An `identity`, if given, must be the store's.
    pub fn open(root: &Path, identity: Option<&serde_json::Value>) -> Result<Store> {
        let path = root.join("FORMAT");
        let text = format_text(root)?;
        let damaged = |e| damaged_format(&path).caused_by(e);
        let AnyFormat { format, .. } = serde_json::from_slice(&text).map_err(damaged)?;
        manifest::check_format(&path, format)?;
        let format: Format = serde_json::from_slice(&text).map_err(damaged)?;
        if format.identity_digest != digest_of(&format.identity) {
            let why = "damaged: its identity is not that of its digest; put it back from a copy, or \
                       `pagefold rebuild JOB` makes the store again from its inputs";
            return Err(Error::config(&path, why));
        }
        if let Some(identity) = identity {
            let differing = differences(&settled(&format.identity), &settled(identity));
            if !differing.is_empty() {
                return Err(Error::config(&path, refusal(&differing)));
            }
        }
        Ok(Store { root: root.to_owned(), uuid: format.store })
    }

    /// The store that a first run would make at `root`. There is nothing at `root`, and nothing may
    /// be written.
    pub fn to_be_made(root: &Path) -> Store {
        Store { root: root.to_owned(), uuid: String::new() }
    }

    /// Opens a store of this or an older format and of any identity, for a rebuild. Only its
    /// [`past`] and its lists of lines may be read.
    pub fn open_any(root: &Path) -> Result<Store> {
        let path = root.join("FORMAT");
        let AnyFormat { format, store } = serde_json::from_slice(&format_text(root)?)
            .map_err(|e| damaged_format(&path).caused_by(e))?;
        if format > manifest::FORMAT {
            manifest::check_format(&path, format)?;
        }
        Ok(Store { root: root.to_owned(), uuid: store })
    }

    /// The folder of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of tables.
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// The uuid of the store, random at its creation.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// The latest manifest, or none before the first commit.
    pub fn head(&self) -> Result<Option<Head>> {
        let head = manifest::head(&self.root)?;
        if head.is_none() {
            check_manifests(&self.root)?;
        }
        if let Some(head) = &head
            && head.manifest.store != self.uuid
        {
            return Err(Error::config(
                &self.root.join("manifest"),
                "the manifests are not of the store that FORMAT names",
            ));
        }
        Ok(head)
    }

    /// Takes the lock without waiting.
    ///
    /// # Errors
    ///
    /// `TryAgain` if another run holds it.
    pub fn lock(root: &Path) -> Result<Lock> {
        let held = || {
            Error::new(
                Kind::TryAgain,
                format!("{}: another run is at work on this store", root.join("LOCK").display()),
            )
        };
        Store::try_lock(root)?.ok_or_else(held)
    }

    /// Takes the lock without waiting. Returns `None` if another run holds it.
    pub fn try_lock(root: &Path) -> Result<Option<Lock>> {
        Lock::try_take(&root.join("LOCK"))
    }

    /// Removes the temporary files of killed runs from the store at `root`. The caller must hold
    /// the lock. A failure is only logged, because such a file takes space and is not part of the
    /// store.
    pub fn sweep(root: &Path, _held: &Lock) {
        let entries = |folder: &Path| {
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path())
        };
        let own = ["", "manifest", "exported"].map(|name| root.join(name));
        let attempts: Vec<PathBuf> = entries(&root.join("attempt")).collect();
        let parts = attempts.iter().flat_map(|attempt| entries(attempt));
        let folders = entries(&root.join("data")).chain(parts).chain(own).chain(attempts.clone());
        for path in folders.flat_map(|folder| entries(&folder).collect::<Vec<_>>()) {
            if durable::is_aside(&path)
                && let Err(error) = std::fs::remove_file(&path)
            {
                tracing::warn!(%error, path = %path.display(), "cannot clear away what a killed run left");
            }
        }
    }

    /// Writes `lines` durably as `data/<kind>/<digest>.jsonl`.
    pub fn write_lines(&self, kind: &str, lines: &str) -> Result<FileRef> {
        lists::write(&self.root, kind, lines)
    }

    /// The path of a file that [`Store::write_lines`] wrote.
    pub fn lines_path(&self, kind: &str, file: &FileRef) -> PathBuf {
        lists::path(&self.root, kind, file)
    }

    /// Reads lines that [`Store::write_lines`] wrote.
    pub fn read_lines(&self, kind: &str, file: &FileRef) -> Result<String> {
        self.lists(kind).read(file).map(str::to_owned)
    }

    /// Writes lines as [`Store::write_lines`] does, one by one.
    pub fn line_writer(&self, kind: &str) -> Result<ListWriter> {
        ListWriter::create(&self.root, kind)
    }

    /// Opens the lines of a file that may be larger than memory.
    pub fn open_lines(&self, kind: &str, file: &FileRef) -> Result<BufReader<File>> {
        lists::open(&self.root, kind, file)
    }

    /// A reader of many lists of the `kind`.
    pub fn lists<'a>(&'a self, kind: &'a str) -> Lists<'a> {
        Lists::new(&self.root, kind)
    }
}

/// The file `FORMAT` of the store at `root`.
fn format_text(root: &Path) -> Result<Vec<u8>> {
    let path = root.join("FORMAT");
    std::fs::read(&path).map_err(|e| match e.kind() {
        ErrorKind::NotFound if !root.join("manifest").exists() => {
            let line = format!("no store at {} yet; `pagefold run JOB` makes it", root.display());
            Error::new(Kind::NoInput, line)
        }
        ErrorKind::NotFound => lost_format(root),
        _ => Error::input("read", &path, e),
    })
}

/// The remedy for a store that cannot be mended.
pub(in crate::store) const MOVE_AWAY: &str =
    "move the store away: the next run then builds a new one from the inputs that still exist";

fn damaged_format(path: &Path) -> Error {
    Error::config(path, format!("damaged; put it back from a copy, or {MOVE_AWAY}"))
}

fn lost_format(root: &Path) -> Error {
    lost(root, "its file FORMAT is lost, though it has manifests; put the file back from a copy")
}

/// Fails if the store at `root` has no manifest although it has exported something, which it does
/// only after a commit. Such a store is not new: a run would forget everything that only this store
/// knows.
pub(in crate::store) fn check_manifests(root: &Path) -> Result<()> {
    if !manifest::versions(root)?.is_empty() || entries(&root.join("exported"))?.is_empty() {
        return Ok(());
    }
    let what = "its manifests are lost, though results of it were exported; put the folder manifest back from a copy";
    Err(lost(root, what))
}

fn lost(root: &Path, what: &str) -> Error {
    Error::new(Kind::Io, format!("{}: {what}, or {MOVE_AWAY}", root.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A server that was started beside a first run, with a job of another identity, made the store
    /// anew under that run, whose epoch then belonged to no store.
    #[test]
    fn only_a_run_makes_a_store_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("store");
        Store::create_if_missing(&root, &json!({ "a": 1 })).expect("made");
        let uuid = Store::open(&root, None).expect("a store").uuid;
        Store::create_if_missing(&root, &json!({ "a": 2 })).expect("left as it is");
        assert!(Store::open(&root, Some(&json!({ "a": 2 }))).is_err());
        assert_eq!(Store::open(&root, Some(&json!({ "a": 1 }))).expect("the same").uuid, uuid);
        let anew = Store::open_or_create(&root, &json!({ "a": 2 })).expect("made anew");
        assert_ne!(anew.uuid, uuid);
    }
}
