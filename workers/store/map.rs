//! The memory map of immutable files: the one place that maps, and the reason why it may.

use crate::error::{Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::path::Path;

/// The bytes of the file at `path`, mapped. For files of the store alone, which are never changed or cut once they have
/// their name.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> Result<Bytes> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e).with_kind(crate::error::Kind::Io))?;
    let size = file.metadata().map_err(|e| Error::io("read", path, e))?.len();
    if size == 0 {
        return Ok(Bytes::new());
    }
    // Safety: a mapped file must not be changed or cut by anyone. Files of the store are written aside, get their name by a
    // rename, and are only ever unlinked, which leaves a map intact.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
    Ok(Bytes::from_owner(map))
}
