//! A file that gets its name when it is whole.

use crate::error::{Error, Kind, Result};
use crate::store::durable;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The size of a file's buffer in bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// A file that is being written under another name. It is removed if it is dropped before it is
/// whole.
pub struct Part {
    file: Option<BufWriter<File>>,
    aside: PathBuf,
    path: PathBuf,
    bytes: u64,
}

impl Part {
    /// A file that will be `path`. Its folders are made.
    pub fn create(path: &Path) -> Result<Part> {
        let folder = path.parent().unwrap_or(Path::new("."));
        durable::create_folder(folder).map_err(|e| e.with_kind(Kind::Output))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A name with a dot in front is no input, should somebody read this folder.
        let stem = folder.join(format!(".{name}.{}", durable::tag()));
        let (file, aside) = durable::create_aside(&stem).map_err(|e| e.with_kind(Kind::Output))?;
        let file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Part { file, aside, path: path.to_owned(), bytes: 0 })
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives the file its name, durably. Returns its size.
    pub fn place(mut self) -> Result<u64> {
        let Some(file) = self.file.take() else { return Err(Error::internal("a file is placed twice")) };
        let placed = file
            .into_inner()
            .map_err(|e| Error::io("write", &self.path, e.into_error()))
            .and_then(|file| durable::place(&file, &self.aside, &self.path));
        placed.map_err(|e| e.with_kind(Kind::Output))?;
        Ok(self.bytes)
    }

    /// The error of a write to it.
    pub fn failed(&self, error: io::Error) -> Error {
        Error::io("write", &self.path, error).with_kind(Kind::Output)
    }
}

/// Removes the file at `path`, if there is one.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, e).with_kind(Kind::Output)),
        _ => Ok(()),
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let written = file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.file.take().is_some() || self.aside.exists() {
            // What cannot be removed takes space, and the next run writes another one.
            let _ = std::fs::remove_file(&self.aside);
        }
    }
}
