//! Lets one process at a time work on a file. The kernel releases the lock of a process that ends.

use crate::error::{Error, Kind, Result};
use crate::store::durable;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::Path;

/// A lock that is held.
pub struct Claim {
    _file: File,
}

impl Claim {
    /// Takes the lock `path`, whose folders are made. Returns none if another process holds it,
    /// unless the caller is patient and waits.
    pub fn take(path: &Path, is_patient: bool) -> Result<Option<Claim>> {
        durable::create_folder(path.parent().unwrap_or(Path::new("."))).map_err(|e| e.with_kind(Kind::Output))?;
        let file = File::options().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|e| Error::io("open", path, e).with_kind(Kind::Output))?;
        let operation =
            if is_patient { FlockOperation::LockExclusive } else { FlockOperation::NonBlockingLockExclusive };
        match rustix::io::retry_on_intr(|| flock(&file, operation)) {
            Ok(()) => Ok(Some(Claim { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(Error::io("lock", path, e.into()).with_kind(Kind::Output)),
        }
    }
}
