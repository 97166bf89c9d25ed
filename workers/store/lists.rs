//! Files of lines under `data/`: lists of consumed inputs, and bad records.
//!
//! A list is named by its digest and never changes. A reference may be to a part of a file, because
//! lists of old epochs are joined (`folded.rs`).

use crate::error::{Error, Kind, Result};
use crate::store::manifest::FileRef;
use crate::store::{digest, durable};
use std::path::{Path, PathBuf};

/// The path of a file of the `kind`.
pub fn path(root: &Path, kind: &str, file: &FileRef) -> PathBuf {
    root.join("data").join(kind).join(format!("{}.jsonl", file.digest))
}

/// Writes `lines` durably as `data/<kind>/<digest>.jsonl`.
pub fn write(root: &Path, kind: &str, lines: &str) -> Result<FileRef> {
    let digest = digest::of_bytes(lines.as_bytes());
    let file = FileRef { digest, bytes: lines.len() as u64, lines: lines.lines().count() as u64, part: None };
    let path = path(root, kind, &file);
    durable::create_folder(path.parent().unwrap_or(root))?;
    durable::write(&path, lines.as_bytes())?;
    Ok(file)
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
        let damaged = || {
            let line =
                format!("{}: damaged, its bytes are not those of its name; run `pagefold verify`", path.display());
            Error::new(Kind::Io, line)
        };
        if self.last.as_ref().is_none_or(|(digest, _)| *digest != file.digest) {
            let bytes = std::fs::read(&path).map_err(|e| Error::io("read", &path, e).with_kind(Kind::Io))?;
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
