//! The bytes of one file on disk, with the position up to which they were used.
//!
//! The file is never mapped: if a mapped file shrinks, the process is killed; if a file that is
//! read shrinks, there is an [`Error`].

use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// A buffered reader of the bytes before `end`. It has a position, and keeps errors of the file
/// system apart from errors of a decompressor that reads from it.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    file: File,
    end: u64,
    size: u64,
    buffer: Box<[u8]>,
    /// The part of `buffer` that was read and not yet used is `at..filled`.
    at: usize,
    filled: usize,
    /// Bytes of the file up to `buffer[at]`.
    position: u64,
    failed: Option<io::Error>,
}

impl Input {
    /// Opens `path` at `start`; its bytes end at `end`. Fails if it is no regular file (a FIFO
    /// would block for ever), or is shorter than `end`: then it changed after it was planned.
    pub fn open(path: &Path, start: u64, end: u64) -> Result<Input> {
        let (mut file, size) = open_file(path, end)?;
        file.seek(SeekFrom::Start(start)).map_err(|e| Error::io("seek in", path, e))?;
        Ok(Input {
            path: path.to_owned(),
            file,
            end,
            size,
            buffer: vec![0; BUFFER_BYTES].into(),
            at: 0,
            filled: 0,
            position: start,
            failed: None,
        })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes from the start of the file to the next unused byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes left.
    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }

    /// Moves the end to where the file ended when it was opened.
    pub fn lift_end(&mut self) {
        self.end = self.size;
    }

    /// The next bytes: at least `want`, unless fewer are left. `want` is at most 128 KiB.
    pub fn peek(&mut self, want: usize) -> Result<&[u8]> {
        debug_assert!(want <= BUFFER_BYTES / 2);
        while self.filled - self.at < want && self.left() > (self.filled - self.at) as u64 {
            self.buffer.copy_within(self.at..self.filled, 0);
            self.filled -= self.at;
            self.at = 0;
            if let Err(error) = self.read_more() {
                return Err(Error::io("read", &self.path, error));
            }
        }
        Ok(&self.buffer[self.at..self.filled])
    }

    /// Goes to `position`; this is free while its byte is in the buffer.
    pub fn seek(&mut self, position: u64) -> Result<()> {
        let base = self.position - self.at as u64;
        if (base..=base + self.filled as u64).contains(&position) {
            self.at = (position - base) as usize;
        } else {
            self.file
                .seek(SeekFrom::Start(position))
                .map_err(|e| Error::io("seek in", &self.path, e))?;
            (self.at, self.filled) = (0, 0);
        }
        self.position = position;
        Ok(())
    }

    /// The file system's error that caused the last error of [`Read`] or [`BufRead`], if it was
    /// one.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failed.take().map(|error| Error::io("read", &self.path, error))
    }

    /// Reads once into the buffer, which has room, from a file that has bytes left.
    fn read_more(&mut self) -> io::Result<()> {
        let ahead = self.position + (self.filled - self.at) as u64;
        let room = (self.end - ahead).min((self.buffer.len() - self.filled) as u64) as usize;
        loop {
            match self.file.read(&mut self.buffer[self.filled..self.filled + room]) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "it became shorter while being read",
                    ));
                }
                Ok(n) => {
                    self.filled += n;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Opens `path`, which must be a regular file of at least `bytes_min` bytes, and returns its size.
pub fn open_file(path: &Path, bytes_min: u64) -> Result<(File, u64)> {
    let metadata = std::fs::metadata(path).map_err(|e| Error::input("read", path, e))?;
    if !metadata.is_file() {
        return Err(Error::new(Kind::NoInput, format!("{} is no regular file", path.display())));
    }
    let file = File::open(path).map_err(|e| Error::input("open", path, e))?;
    let size = file.metadata().map_err(|e| Error::io("read", path, e))?.len();
    if size < bytes_min {
        return Err(Error::new(
            Kind::Io,
            format!("{} became shorter after it was planned", path.display()),
        ));
    }
    Ok((file, size))
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.filled && self.left() > 0 {
            (self.at, self.filled) = (0, 0);
            if let Err(error) = self.read_more() {
                let kind = error.kind();
                self.failed = Some(error);
                return Err(kind.into());
            }
        }
        Ok(&self.buffer[self.at..self.filled])
    }

    fn consume(&mut self, amount: usize) {
        debug_assert!(amount <= self.filled - self.at);
        self.at += amount;
        self.position += amount as u64;
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let n = available.len().min(into.len());
        into[..n].copy_from_slice(&available[..n]);
        self.consume(n);
        Ok(n)
    }
}
