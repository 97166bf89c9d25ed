//! Finds the input files that a job names, with their sizes, times and digests.
//!
//! Symbolic links, sockets and pipes inside folders are skipped, so that a folder never leads out
//! of itself. Names that begin with `.` or `_` are skipped, because programs use them for files
//! that are not data.

use crate::error::{Error, Kind, Result};
use crate::store::digest;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// One input file as it was when the epoch was planned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Input {
    /// Its path as the job names it.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The time of its last change, nanoseconds since 1970.
    pub changed_ns: u64,
    /// The blake3 of its bytes, in hex.
    pub digest: String,
}

/// The most files that a job may name.
pub const INPUTS_MAX: usize = 1_000_000;
/// The most levels of folders below a named one.
const FOLDERS_DEEP_MAX: usize = 32;

/// The files that `patterns` name, sorted and without repetitions.
///
/// # Errors
///
/// `NoInput` if a path that is no pattern does not exist.
pub fn find(patterns: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for pattern in patterns {
        let text = pattern.to_str().ok_or_else(|| Error::config(pattern, "[read] inputs: not UTF-8"))?;
        if text.contains(['*', '?', '[']) && !pattern.exists() {
            let found = glob::glob(text).map_err(|e| Error::config(pattern, format!("[read] inputs: {}", e.msg)))?;
            for path in found {
                let path = path.map_err(|e| Error::new(Kind::Io, "cannot list inputs").caused_by(e))?;
                // What a pattern matches may be anything; only a path that is named itself must be
                // readable.
                if path.is_file() || path.is_dir() {
                    collect(&path, 0, &mut files)?;
                }
            }
        } else if pattern.exists() {
            collect(pattern, 0, &mut files)?;
        } else {
            let line = format!("{}: no such input, named in [read] inputs", pattern.display());
            return Err(Error::new(Kind::NoInput, line));
        }
    }
    files.sort();
    files.dedup();
    if files.len() > INPUTS_MAX {
        return Err(Error::new(Kind::Config, format!("[read] inputs: {} files, at most {INPUTS_MAX}", files.len())));
    }
    Ok(files)
}

/// The error that `patterns` name no file.
pub fn none_found(patterns: &[PathBuf]) -> Error {
    let list: Vec<String> = patterns.iter().map(|pattern| pattern.display().to_string()).collect();
    Error::new(Kind::NoInput, format!("{}: no file matches [read] inputs", list.join(", ")))
}

fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    // A link that is named itself is followed; one inside a folder is not.
    let metadata = if depth == 0 { path.metadata() } else { path.symlink_metadata() };
    let metadata = metadata.map_err(|e| Error::input("read", path, e))?;
    if metadata.is_file() {
        files.push(path.to_owned());
    } else if metadata.is_dir() && depth <= FOLDERS_DEEP_MAX {
        for entry in path.read_dir().map_err(|e| Error::input("list", path, e))? {
            let entry = entry.map_err(|e| Error::input("list", path, e))?;
            if !entry.file_name().to_string_lossy().starts_with(['.', '_']) {
                collect(&entry.path(), depth + 1, files)?;
            }
        }
    } else if depth == 0 {
        return Err(Error::new(Kind::NoInput, format!("{}: not a regular file or a folder", path.display())));
    }
    Ok(())
}

fn changed_ns(metadata: &Metadata) -> u64 {
    let time = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.map_or(0, |time| time.as_nanos() as u64)
}

impl Input {
    /// The file at `path` without its digest: the file is not read.
    pub fn stat(path: &Path) -> Result<Input> {
        let metadata = path.metadata().map_err(|e| Error::input("read", path, e))?;
        let name = path.to_str().ok_or_else(|| Error::config(path, "[read] inputs: not UTF-8"))?;
        let changed_ns = changed_ns(&metadata);
        Ok(Input { path: name.to_owned(), bytes: metadata.len(), changed_ns, digest: String::new() })
    }

    /// Reads the file to add its digest.
    pub fn digest(mut self) -> Result<Input> {
        let path = Path::new(&self.path);
        let digest = std::fs::File::open(path).and_then(digest::of_reader);
        self.digest = digest.map_err(|e| Error::input("read", path, e))?;
        Ok(self)
    }

    /// Whether both have the same size and time.
    pub fn looks_like(&self, other: &Input) -> bool {
        (self.bytes, self.changed_ns) == (other.bytes, other.changed_ns)
    }

    /// The file with its present time; fails if its bytes have changed since they were consumed.
    pub fn refreshed(&self) -> Result<Input> {
        let now = Input::stat(Path::new(&self.path))?;
        let now = if now.looks_like(self) { self.clone() } else { now.digest()? };
        if now.digest != self.digest {
            return Err(Error::new(Kind::NoInput, format!("{}: not the bytes that were consumed", self.path)));
        }
        Ok(now)
    }

    /// Fails if the file has changed since the epoch was planned, because its records would not
    /// belong to its digest.
    pub fn check_unchanged(&self) -> Result<()> {
        if !Input::stat(Path::new(&self.path))?.looks_like(self) {
            return Err(Error::new(Kind::TryAgain, format!("{}: changed while it was read; run again", self.path)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders, patterns and plain paths give each regular file once, in order. Links and hidden
    /// files inside folders are skipped.
    #[test]
    fn finds_each_regular_file_once() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir_all(at("in/deep")).expect("made");
        for name in ["in/b.jsonl", "in/deep/a.warc", "in/.hidden", "in/_SUCCESS", "outside"] {
            std::fs::write(at(name), name).expect("written");
        }
        std::os::unix::fs::symlink(at("outside"), at("in/link")).expect("linked");
        let found = find(&[at("in"), at("in/*.jsonl"), at("in/b.jsonl")]).expect("found");
        assert_eq!(found, [at("in/b.jsonl"), at("in/deep/a.warc")]);
        assert_eq!(find(&[at("gone.warc")]).expect_err("missing").kind(), Kind::NoInput);
        assert!(find(&[at("*.gone")]).expect("a pattern may match nothing").is_empty());
    }
}
