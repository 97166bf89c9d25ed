//! Writes a file that gets its name only when it is whole.

use crate::error::{Error, Result};
use crate::locks::lock;
use crate::store::write_back::WriteBack;
use crate::store::{durable, entries};
use std::ffi::OsString;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The size of a file's buffer in bytes.
const BUFFER_BYTES: usize = 1 << 18;
/// Bytes copied at once.
const COPY_BYTES: u64 = 1 << 18;

/// A file that is being written under another name. It is removed if it is dropped before it is
/// whole.
pub struct Part {
    file: Option<BufWriter<WriteBack>>,
    aside: PathBuf,
    path: PathBuf,
    is_placed: bool,
    bytes: u64,
    hasher: Option<blake3::Hasher>,
    failure: Failure,
}

/// The error of a write to a part. It is kept here because an encoder reports it in its own words,
/// so that it would look like damage of the input.
#[derive(Clone, Default)]
pub struct Failure(Arc<Mutex<Option<Error>>>);

impl Failure {
    fn keep(&self, error: &io::Error, path: &Path) {
        // An interrupted write is repeated.
        if error.kind() != io::ErrorKind::Interrupted {
            let same = error.raw_os_error().map(io::Error::from_raw_os_error);
            let same = same.unwrap_or_else(|| error.kind().into());
            *lock(&self.0) = Some(unwritten(path, same));
        }
    }

    /// The error, if there was one.
    pub fn take(&self) -> Option<Error> {
        lock(&self.0).take()
    }
}

impl Part {
    /// A file that will be `path`. Its folders are made.
    pub fn create(path: &Path) -> Result<Part> {
        let folder = path.parent().unwrap_or(Path::new("."));
        durable::create_folder(folder).map_err(Error::as_output)?;
        let mut stem = stem(path);
        stem.push(durable::tag());
        let aside = durable::create_aside(&folder.join(stem)).map_err(Error::as_output)?;
        let (file, aside) = aside;
        let file = Some(BufWriter::with_capacity(BUFFER_BYTES, WriteBack::new(file)));
        Ok(Part {
            file,
            aside,
            path: path.to_owned(),
            is_placed: false,
            bytes: 0,
            hasher: None,
            failure: Failure::default(),
        })
    }

    /// The same file, hashed while it is written. Nothing is written to it yet.
    pub fn hashed(mut self) -> Part {
        self.hasher = Some(blake3::Hasher::new());
        self
    }

    /// The digest of the bytes written so far, if they are hashed.
    pub fn digest(&self) -> Option<String> {
        self.hasher.as_ref().map(|hasher| hasher.finalize().to_hex().to_string())
    }

    /// The error of a write, once there is one.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies `bytes` bytes of the file at `path`, from the position of `from`.
    pub fn copy(&mut self, from: &mut impl Read, bytes: u64, path: &Path) -> Result<()> {
        let mut buffer = vec![0; bytes.min(COPY_BYTES) as usize];
        let mut left = bytes;
        while left > 0 {
            let want = left.min(COPY_BYTES) as usize;
            from.read_exact(&mut buffer[..want]).map_err(|e| Error::io("read", path, e))?;
            self.write_all(&buffer[..want]).map_err(|e| self.failed(e))?;
            left -= want as u64;
        }
        Ok(())
    }

    /// Gives the file its name, durably. Returns its size.
    pub fn place(mut self) -> Result<u64> {
        let Some(file) = self.file.take() else {
            return Err(Error::internal("a file is placed twice"));
        };
        let placed = file
            .into_inner()
            .map_err(|e| Error::io("write", &self.path, e.into_error()))
            .and_then(|file| file.into_file().map_err(|e| Error::io("fsync", &self.path, e)))
            .and_then(|file| durable::place(&file, &self.aside, &self.path));
        placed.map_err(Error::as_output)?;
        self.is_placed = true;
        Ok(self.bytes)
    }

    /// The error of a write to it.
    pub fn failed(&self, error: io::Error) -> Error {
        unwritten(&self.path, error)
    }
}

fn unwritten(path: &Path, error: io::Error) -> Error {
    Error::io("write", path, error).as_output()
}

/// How the names of the parts of `path` begin: with all bytes of its name, so that no other file
/// has such parts. A name with a dot in front is no input for a job that reads this folder.
fn stem(path: &Path) -> OsString {
    let mut stem = OsString::from(".");
    stem.push(path.file_name().unwrap_or_default());
    stem.push(".");
    stem
}

/// Removes the parts of `path` that killed processes left. The caller has locked `path`, so no
/// other process is writing one.
pub fn sweep(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let stem = stem(path);
    for aside in entries(folder).map_err(Error::as_output)? {
        let name = aside.file_name().unwrap_or_default().as_encoded_bytes();
        let rest = name.strip_prefix(stem.as_encoded_bytes());
        let tag = rest.and_then(|rest| rest.strip_suffix(b".writing"));
        // A tag has no dot. With a dot it is a part of a file with a longer name.
        if tag.is_some_and(|tag| !tag.contains(&b'.')) {
            remove(&aside)?;
        }
    }
    Ok(())
}

/// Removes the file at `path`, if there is one.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, e).as_output())
        }
        _ => Ok(()),
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let written = file.write(bytes);
        let written = written.inspect_err(|e| self.failure.keep(e, &self.path))?;
        self.bytes += written as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        flushed.inspect_err(|e| self.failure.keep(e, &self.path))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Once it is placed, the name is free for another file.
        if !self.is_placed {
            // A part that cannot be removed takes space; the next run writes another one.
            let _ = std::fs::remove_file(&self.aside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    /// The parts of a file that killed processes left are removed, and nothing else. Ten killed
    /// runs left ten copies.
    #[test]
    fn parts_of_killed_processes() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = [
            ".a.17.writing",
            ".a.18-ff00.writing",
            ".a.b.17.writing",
            ".a.writing",
            "a",
            "a.17.writing",
            "b",
        ];
        for name in all {
            std::fs::write(folder.path().join(name), name).expect("written");
        }
        sweep(&folder.path().join("a")).expect("swept");
        sweep(&folder.path().join("no/folder")).expect("swept");
        let left = entries(folder.path()).expect("listed");
        let left: Vec<_> = left.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(left, [".a.b.17.writing", ".a.writing", "a", "a.17.writing", "b"]);
    }

    /// Files whose names differ in bytes that are not UTF-8 had parts of one name, so that one file
    /// got the rows of another, or had its part removed. Such names also grew until they were too
    /// long for the file system.
    #[test]
    fn parts_of_names_that_are_not_utf8() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |byte: u8| folder.path().join(OsStr::from_bytes(&[byte; 201]));
        let mut parts = [0xb0, 0xb1].map(|byte| Part::create(&at(byte)).expect("made"));
        assert!(parts[0].aside != parts[1].aside);
        for (part, text) in parts.iter_mut().zip(["one", "two"]) {
            part.write_all(text.as_bytes()).expect("written");
        }
        sweep(&at(0xb2)).expect("swept");
        let [one, other] = parts;
        one.place().expect("placed");
        sweep(&at(0xb0)).expect("swept");
        other.place().expect("placed");
        let read = |byte| std::fs::read_to_string(at(byte)).expect("there");
        assert_eq!((read(0xb0), read(0xb1)), ("one".into(), "two".into()));
    }
}
