//! What a folder has: its files, and their bytes.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The paths of all entries of `folder`, sorted. Empty if the folder does not exist.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("list", folder, e)),
    };
    let paths: std::io::Result<Vec<PathBuf>> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|e| Error::io("list", folder, e))?;
    paths.sort();
    Ok(paths)
}

/// The bytes of all files below `folder`. Files that cannot be read, or vanish meanwhile, are not
/// counted.
pub fn bytes_below(folder: &Path) -> u64 {
    entries(folder).into_iter().flatten().map(|path| bytes_of(&path)).sum()
}

/// The bytes of the file at `path`, or of all files below it if it is a folder.
pub fn bytes_of(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(path),
        metadata => metadata.map_or(0, |metadata| metadata.len()),
    }
}
