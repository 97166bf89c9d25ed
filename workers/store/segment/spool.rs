//! Bytes that are written aside until their place in another file is known.

use crate::error::{Error, Result};
use crate::store::durable;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most bytes that are kept in memory.
const MEMORY_BYTES: usize = 1 << 20;

/// Bytes that wait. If there are more than [`MEMORY_BYTES`], they lie in a file, which is removed
/// in the end. If that fails, the next run removes it.
pub(in crate::store) struct Spool {
    stem: PathBuf,
    memory: Vec<u8>,
    file: Option<(File, PathBuf)>,
}

impl Spool {
    /// An empty spool. The temporary name of its file has `tag`.
    pub(in crate::store) fn new(folder: &Path, tag: &str) -> Spool {
        Spool { stem: folder.join(format!("filters-{tag}")), memory: Vec::new(), file: None }
    }

    /// Appends these bytes.
    pub(in crate::store) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(bytes);
        if self.memory.len() < MEMORY_BYTES {
            return Ok(());
        }
        let (file, path) = match &mut self.file {
            Some(open) => open,
            none => none.insert(durable::create_aside(&self.stem)?),
        };
        file.write_all(&self.memory).map_err(|e| Error::io("write", path, e))?;
        self.memory.clear();
        Ok(())
    }

    /// Writes all to `sink`.
    pub(in crate::store) fn copy_to(self, sink: &mut impl Write) -> Result<()> {
        let failed = |e| Error::io("copy", &self.stem, e);
        if let Some((_, path)) = &self.file {
            let mut file = File::open(path).map_err(failed)?;
            std::io::copy(&mut file, sink).map_err(failed)?;
        }
        sink.write_all(&self.memory).map_err(failed)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file {
            let _ = std::fs::remove_file(path);
        }
    }
}
