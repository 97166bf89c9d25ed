//! The note that a file is finished, and how its original can be made again.

use crate::error::{Error, Result};
use crate::export::current::seen_from;
use crate::filter::inputs::Original;
use crate::filter::options::{Options, Places};
use crate::filter::promotions::Promotions;
use crate::filter::totals::Totals;
use crate::job::{Job, resolved};
use crate::read::codec::Codec;
use crate::read::{Format, Shape};
use crate::store::manifest::Head;
use crate::store::{Store, digest_of, durable, entries};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// By which epoch and with which options files are filtered. A file that was filtered in another
/// manner is not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manner {
    /// The store.
    pub store: String,
    /// Its epoch.
    pub epoch: u64,
    /// What the store had then: see [`crate::store::manifest::Manifest::state`]. Notes of older
    /// builds do not say it.
    #[serde(default)]
    pub state: String,
    /// The digest of the options of filtering and of reading.
    pub options: String,
}

impl Manner {
    /// Whether a later epoch of the same store is filtered than in `other`.
    pub fn is_later_than(&self, other: &Manner) -> bool {
        self.store == other.store && self.epoch > other.epoch
    }

    /// The manner of a filter of `job` by `head`. Promotions depend on which inputs are there, so a
    /// file may be made again when another file has come or gone.
    pub fn of(
        job: &Job,
        store: &Store,
        head: &Head,
        options: &Options,
        promotions: &Promotions,
    ) -> Manner {
        let Options { to, removed, records, annotate, revisits, prune: _, threads: _, progress: _ } =
            options;
        let names = annotate.map(|names| [names.cluster, names.size, names.representative]);
        let written = json!([to.is_some(), removed.is_some(), records.is_some(), names, revisits]);
        let read = json!([job.read.fields, job.read.key, job.read.limits]);
        let options = match promotions.digest() {
            Some(promoted) => digest_of(&json!([written, read, promoted])),
            None => digest_of(&json!([written, read])),
        };
        let options = options[..16].to_owned();
        let (epoch, state) = (head.manifest.epoch, head.manifest.state());
        Manner { store: store.uuid().to_owned(), epoch, state, options }
    }
}

/// Of what parts a file is put together again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartsUnit {
    /// The bytes of the file.
    Bytes,
    /// Decoded lines, of compressed JSON lines.
    Lines,
    /// Rows, of Parquet.
    Rows,
}

/// A file that is finished.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// How it was filtered.
    pub manner: Manner,
    /// The path of the original. Notes of older builds do not say it.
    #[serde(default)]
    pub input: String,
    /// The digest of the original.
    pub digest: String,
    /// Whether another file has its bytes and comes before it.
    pub is_copy: bool,
    /// The unit of its parts.
    #[serde(rename = "kind")]
    pub unit: PartsUnit,
    /// The size of the filtered file, if it was written.
    pub kept: Option<u64>,
    /// The size of the file of what was removed, if there is one.
    pub removed: Option<u64>,
    /// The number of bytes at the beginning of that file that are also in the filtered file.
    #[serde(default)]
    pub removed_head: u64,
    /// The blake3 of both files, for Parquet and archives, where an undo cannot compare its result
    /// with the original. Notes of older builds have none.
    #[serde(default)]
    pub digests: [Option<String>; 2],
    /// The blake3 of the order of its parts, if there is one. Notes of older builds have none.
    #[serde(default)]
    pub order_digest: Option<String>,
    /// The size of the table of records, if one was written.
    pub records: Option<u64>,
    /// Whether the file was copied whole.
    pub is_whole: bool,
    /// Why it was copied whole, for people. Notes of older builds do not say it.
    #[serde(default)]
    pub whole_because: String,
    /// Whether something was compressed anew.
    pub is_recoded: bool,
    /// The blake3 of the original's decoded bytes, if only these can be made again.
    pub decoded: Option<String>,
    /// The rows of each row group of the original, in Parquet.
    pub groups: Vec<u64>,
    /// While the files are not whole: the folders in which they are ours, relative to the folder of
    /// notes. Notes of older builds do not say it.
    #[serde(default)]
    pub folders: Option<BTreeSet<String>>,
    /// Whether the files were deleted, or are being deleted, because the input is gone.
    #[serde(default)]
    pub is_pruned: bool,
    /// What was counted.
    pub totals: Totals,
}

/// The endings of the files in the folder of notes: after the name of an input, its note, the order
/// of its parts and its lock.
pub const ENDINGS: [&str; 3] = ["json", "order", "lock"];

/// The note of the input `name` in the folder of notes.
pub fn path(notes: &Path, name: &Path) -> PathBuf {
    let mut file = notes.join(name).into_os_string();
    file.push(".json");
    PathBuf::from(file)
}

/// The inputs that have a note in the folder of notes.
pub fn names(notes: &Path) -> Result<BTreeSet<PathBuf>> {
    names_with(notes, &["json"])
}

/// The inputs that a filter began, also if it was stopped before it wrote a note, or if the note
/// was lost.
pub fn begun(notes: &Path) -> Result<BTreeSet<PathBuf>> {
    names_with(notes, &ENDINGS)
}

fn names_with(notes: &Path, endings: &[&str]) -> Result<BTreeSet<PathBuf>> {
    let (mut names, mut folders) = (BTreeSet::new(), vec![notes.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|of| endings.iter().any(|ending| of == *ending))
            {
                let name = path.with_extension("");
                names.extend(name.strip_prefix(notes).map(Path::to_owned));
            }
        }
    }
    Ok(names)
}

/// The folder `dir` relative to the folder of notes, so that it has one name on all hosts that
/// share both.
fn folder_name(options: &Options, dir: &Path) -> String {
    seen_from(&resolved(&options.notes()), &resolved(dir)).to_string_lossy().into_owned()
}

/// Whether there is a file of this many bytes at `path`.
pub fn has_size(path: &Path, bytes: u64) -> bool {
    path.metadata().is_ok_and(|there| there.len() == bytes)
}

impl Note {
    /// The note of `original`, of which nothing is written yet.
    pub fn new(
        manner: &Manner,
        original: &Original,
        shape: Option<Shape>,
        totals: Totals,
        is_whole: bool,
    ) -> Note {
        let unit = match shape.filter(|_| !is_whole) {
            Some(Shape { format: Format::Parquet, .. }) => PartsUnit::Rows,
            Some(Shape { format: Format::Jsonl, codec }) if codec != Codec::Plain => {
                PartsUnit::Lines
            }
            _ => PartsUnit::Bytes,
        };
        Note {
            manner: manner.clone(),
            input: original.input.path.clone(),
            digest: original.input.digest.clone(),
            is_copy: original.is_copy,
            unit,
            kept: None,
            removed: None,
            removed_head: 0,
            digests: [None, None],
            order_digest: None,
            records: None,
            is_whole,
            whole_because: String::new(),
            is_recoded: false,
            decoded: None,
            groups: Vec::new(),
            folders: None,
            is_pruned: false,
            totals,
        }
    }

    /// Writes to `path` that the files of `original` are ours and not whole. The files of the note
    /// `before` stay ours.
    pub fn begin(
        manner: &Manner,
        original: &Original,
        options: &Options,
        before: Option<&Note>,
        path: &Path,
    ) -> Result<()> {
        let note = Note::new(manner, original, None, Totals::default(), false);
        let mut folders = BTreeSet::new();
        if let Some(before) = before.filter(|before| !before.is_finished()) {
            folders.extend(before.folders.iter().flatten().cloned());
        }
        folders.extend(options.dirs().map(|dir| folder_name(options, dir)));
        Note {
            digest: String::new(),
            kept: before.and_then(|before| before.kept),
            removed: before.and_then(|before| before.removed),
            records: before.and_then(|before| before.records),
            folders: Some(folders),
            ..note
        }
        .write(path)
    }

    /// Whether it is the note of `original` in this manner, and the files are there.
    pub fn is_of(&self, manner: &Manner, original: &Original, options: &Options) -> bool {
        let is_there = |(path, bytes): (&PathBuf, Option<u64>)| {
            bytes.is_none_or(|bytes| has_size(path, bytes))
        };
        (&self.manner, &self.digest, self.is_copy) == (manner, &original.input.digest, original.is_copy)
            // A note of an older build does not say the size of the table.
            && options.records.is_some() <= self.records.is_some()
            && self.files(&options.places(&original.name)).all(is_there)
    }

    /// A file among `places`, which are in the folders of `options`, that is there and was not
    /// written by a filter with this note, if there is one.
    pub(super) fn foreign<'a>(&self, options: &Options, places: &'a Places) -> Option<&'a PathBuf> {
        let is_begun = |dir: &Path| {
            let names = |folders: &BTreeSet<String>| folders.contains(&folder_name(options, dir));
            !self.is_finished() && self.folders.as_ref().is_none_or(names)
        };
        let mut files =
            self.files(places).zip(options.dirs()).filter(|((path, _), _)| path.exists());
        let foreign = files.find(|((path, bytes), dir)| {
            !bytes.is_some_and(|bytes| has_size(path, bytes)) && !is_begun(dir)
        });
        foreign.map(|((path, _), _)| path)
    }

    /// Whether it names no file in a folder that `options` do not name.
    pub fn names_no_other(&self, options: &Options) -> bool {
        let Options { to, removed, records, .. } = options;
        let files = [(self.kept, to), (self.removed, removed), (self.records, records)];
        files.iter().all(|(size, dir)| size.is_none() || dir.is_some())
    }

    /// Each file of `places` with its size by this note, in the order of [`Places::iter`].
    fn files<'a>(&self, places: &'a Places) -> impl Iterator<Item = (&'a PathBuf, Option<u64>)> {
        let Places { kept, removed, records } = places;
        [(kept, self.kept), (removed, self.removed), (records, self.records)]
            .into_iter()
            .filter_map(|(path, bytes)| Some((path.as_ref()?, bytes)))
    }

    /// Whether the files are whole. Otherwise the note only says that they are ours.
    pub fn is_finished(&self) -> bool {
        !self.digest.is_empty()
    }

    /// The note at `path`; `None` if there is none, or if another build wrote it.
    pub fn read(path: &Path) -> Result<Option<Note>> {
        match std::fs::read(path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("read", path, e)),
        }
    }

    /// Writes it to `path`, durably.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_vec(self)
            .map_err(|e| Error::internal("cannot write a note").caused_by(e))?;
        durable::write(path, &text).map_err(Error::as_output)
    }
}
