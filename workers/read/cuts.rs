//! Finds where a plain archive can be cut so that its parts give the same records as the whole. A
//! compressed archive is never cut; `members.rs` goes through its members.
//!
//! A body may contain bytes that look like a record, and a reader that starts in the middle could
//! take them for one. Therefore the file is walked from its start, from header to header, without
//! reading bodies. It is cut only where [`super::frames`] certainly begins a record, and not at all
//! after the first record whose length does not lead to the next.

use crate::error::{Error, Result};
use crate::read::dialect::{Dialect, blanks};
use crate::read::frames::{HEADER_BYTES_MAX, LOOKAHEAD_BYTES};
use crate::read::input::open_file;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The positions in the first `size` bytes of `path` at which it can be cut, about `share` bytes
/// apart.
pub fn cuts<D: Dialect + Default>(path: &Path, size: u64, share: u64) -> Result<Vec<u64>> {
    let (file, _) = open_file(path, size)?;
    let mut walk = Walk { file, path, size, window: Vec::new(), dialect: D::default() };
    let mut cuts = Vec::new();
    let mut at = match walk.start_behind(0)? {
        Some(at) => at,
        None => return Ok(cuts),
    };
    let mut target = share;
    while let Some(next) = walk.next(at)? {
        at = next;
        if at >= target {
            cuts.push(at);
            target = at + share;
        }
    }
    Ok(cuts)
}

struct Walk<'a, D> {
    file: File,
    path: &'a Path,
    size: u64,
    window: Vec<u8>,
    dialect: D,
}

impl<D: Dialect> Walk<'_, D> {
    /// Reads up to `length` bytes from `at` on.
    fn read(&mut self, at: u64, length: usize) -> Result<()> {
        let length = self.size.saturating_sub(at).min(length as u64) as usize;
        self.window.resize(length, 0);
        self.file.read_exact_at(&mut self.window, at).map_err(|e| Error::io("read", self.path, e))
    }

    /// The start of a record behind the blanks at `at`, if there is one within the lookahead.
    fn start_behind(&mut self, at: u64) -> Result<Option<u64>> {
        self.read(at, LOOKAHEAD_BYTES)?;
        let blanks = blanks(&self.window);
        Ok(D::starts(&self.window[blanks..]).then_some(at + blanks as u64))
    }

    /// The start of the record after the record at `at`, if the length of the latter leads to it.
    fn next(&mut self, at: u64) -> Result<Option<u64>> {
        let mut header = None;
        for length in [2 * LOOKAHEAD_BYTES, HEADER_BYTES_MAX] {
            self.read(at, length)?;
            header = self.dialect.header_length(&self.window, 0);
            if header.is_some() || self.window.len() < length {
                break;
            }
        }
        let Some(header) = header else { return Ok(None) };
        let head = &self.window[..header];
        if !D::starts(head) || self.dialect.torn_at(head).is_some() {
            return Ok(None);
        }
        let end =
            self.dialect.body_length(head).and_then(|body| body.checked_add(at + header as u64));
        match end.filter(|end| *end < self.size) {
            Some(end) => self.start_behind(end),
            None => Ok(None),
        }
    }
}
