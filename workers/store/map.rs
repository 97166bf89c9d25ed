//! Maps immutable files into memory. No other place does.

use crate::error::{Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::path::Path;

/// Maps the file at `path`. Only for files of the store, which never change once they have their
/// name.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> Result<Bytes> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e).with_kind(crate::error::Kind::Io))?;
    let size = file.metadata().map_err(|e| Error::io("read", path, e))?.len();
    if size == 0 {
        return Ok(Bytes::new());
    }
    // Safety: a mapped file must not be changed or truncated. Files of the store are written under
    // a temporary name, then renamed, and after that only unlinked, which leaves a map intact.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
    Ok(Bytes::from_owner(map))
}
