//! Maps immutable files into memory. No other module maps files.

use crate::error::{Error, Kind, Result};
use bytes::Bytes;
use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// How much of a file is going to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Most of it, such as of a file that the epoch has just written. The system reads ahead.
    Most,
    /// Few places, such as of a file of an earlier epoch. The system's read-ahead, which is
    /// megabytes on some hosts, would read a thousand times what a look-up needs, and push out of
    /// memory what other look-ups need. Readers that need more call [`Map::prefetch`].
    Few,
}

/// A mapped file.
#[derive(Clone)]
pub struct Map(Option<Arc<Mmap>>);

impl Map {
    /// Maps the file at `path`. Only for files of the store, which never change once they have
    /// their name.
    #[allow(unsafe_code)]
    pub fn open(path: &Path, access: Access) -> Result<Map> {
        let file = File::open(path).map_err(|e| {
            let advice = match e.kind() {
                ErrorKind::NotFound => {
                    ", which the store needs (`pagefold verify JOB` says what helps)"
                }
                _ => "",
            };
            Error::io("open", path, e).with_kind(Kind::Io).and(advice)
        })?;
        let size = file.metadata().map_err(|e| Error::io("read", path, e))?.len();
        if size == 0 {
            return Ok(Map(None));
        }
        // Safety: a mapped file must not be changed or truncated. Files of the store are written
        // under a temporary name, then renamed, and after that only unlinked, which leaves a map
        // intact.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
        if access == Access::Few {
            // Some file systems refuse advice. Reading works there, too.
            let _ = map.advise(Advice::Random);
        }
        Ok(Map(Some(Arc::new(map))))
    }

    /// The bytes of the file. They stay mapped while the result is in use.
    pub fn bytes(&self) -> Bytes {
        self.0.as_ref().map_or_else(Bytes::new, |map| Bytes::from_owner(Mapped(map.clone())))
    }

    /// Tells the system that all of these bytes are going to be read.
    pub fn prefetch(&self, range: Range<usize>) {
        if let Some(map) = &self.0 {
            let _ = map.advise_range(Advice::WillNeed, range.start, range.len());
        }
    }
}

/// The owner of mapped bytes.
struct Mapped(Arc<Mmap>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
