//! Files of lines under `data/`: lists of consumed inputs, and bad records.
//!
//! A list is named by its digest and never changes. A reference may be to a part of a file, because
//! lists of old epochs are joined (`consumed_files.rs`).

use crate::error::{Error, Kind, Result};
use crate::store::digest::HashingFile;
use crate::store::fsyncs::Fsyncs;
use crate::store::{digest, durable};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

/// A file of lines under `data/`, or some of its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// The blake3 of the file, in hex. The file is `data/<kind>/<digest>.jsonl`.
    pub digest: String,
    /// The size of the file.
    pub bytes: u64,
    /// The number of lines.
    pub lines: u64,
    /// The first byte of the lines and the byte behind the last; `None` if the lines are the whole
    /// file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(u64, u64)>,
}

/// The path of a file of the `kind`.
pub fn path(root: &Path, kind: &str, file: &FileRef) -> PathBuf {
    root.join("data").join(kind).join(format!("{}.jsonl", file.digest))
}

/// Writes `lines` durably as `data/<kind>/<digest>.jsonl`.
pub fn write(root: &Path, kind: &str, lines: &str) -> Result<FileRef> {
    let mut writer = ListWriter::create(root, kind)?;
    lines.split_inclusive('\n').try_for_each(|line| writer.push(line.as_bytes()))?;
    writer.finish()
}

/// Bytes of a list in memory before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes a list line by line, so that it may be larger than memory.
pub struct ListWriter {
    folder: PathBuf,
    file: HashingFile,
    lines: u64,
}

impl ListWriter {
    /// A writer of a list of the `kind`.
    pub fn create(root: &Path, kind: &str) -> Result<ListWriter> {
        let folder = root.join("data").join(kind);
        durable::create_folder(&folder)?;
        let file =
            HashingFile::create(&folder.join(format!("list.{}", durable::tag())), BUFFER_BYTES)?;
        Ok(ListWriter { folder, file, lines: 0 })
    }

    /// Adds a line, with its end.
    pub fn push(&mut self, line: &[u8]) -> Result<()> {
        self.lines += 1;
        self.file.write_all(line).map_err(|e| Error::io("write in", &self.folder, e))
    }

    /// Makes the list durable as `data/<kind>/<digest>.jsonl`.
    pub fn finish(self) -> Result<FileRef> {
        let (digest, bytes) = self
            .file
            .place(&Fsyncs::default(), |digest| self.folder.join(format!("{digest}.jsonl")))?;
        Ok(FileRef { digest, bytes, lines: self.lines, part: None })
    }
}

/// Opens a list that is a file of its own, to be read from its beginning to its end.
///
/// # Errors
///
/// `Io` if it has other bytes than it was written with.
pub fn open(root: &Path, kind: &str, file: &FileRef) -> Result<BufReader<File>> {
    debug_assert!(file.part.is_none());
    let path = path(root, kind, file);
    digest::check(&path, &file.digest)?;
    let opened = File::open(&path).map_err(|e| Error::io("open", &path, e).with_kind(Kind::Io))?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, opened))
}

/// Reads lists, and keeps the last file, as several lists in a row may be parts of it.
pub struct Lists<'a> {
    root: &'a Path,
    kind: &'a str,
    last: Option<(String, String)>,
}

impl<'a> Lists<'a> {
    /// A reader of the lists of the `kind`.
    pub fn new(root: &'a Path, kind: &'a str) -> Lists<'a> {
        Lists { root, kind, last: None }
    }

    /// The lines of `file`.
    ///
    /// # Errors
    ///
    /// `Io` if it has other bytes than it was written with.
    pub fn read(&mut self, file: &FileRef) -> Result<&str> {
        let path = path(self.root, self.kind, file);
        let damaged = || digest::damaged(&path);
        if self.last.as_ref().is_none_or(|(digest, _)| *digest != file.digest) {
            let bytes = std::fs::read(&path)
                .map_err(|e| Error::io("read", &path, e).with_kind(Kind::Io))?;
            if digest::of_bytes(&bytes) != file.digest {
                return Err(damaged());
            }
            let text = String::from_utf8(bytes).map_err(|_| damaged())?;
            self.last = Some((file.digest.clone(), text));
        }
        let whole = self.last.as_ref().map_or("", |(_, text)| text.as_str());
        let (from, to) = file.part.unwrap_or((0, whole.len() as u64));
        whole.get(from as usize..to as usize).ok_or_else(damaged)
    }
}
