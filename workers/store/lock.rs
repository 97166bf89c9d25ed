//! Locks on files. When a process ends, the kernel releases its locks.

use crate::error::{Error, Kind, Result};
use crate::store::durable;
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};
use std::fs::{File, Metadata};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// How often a lock is taken if another file has its path each time.
const TAKES_MAX: usize = 8;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock on the file at `path`, and creates the file and its folders if needed. `None`
    /// if another process holds the lock.
    pub fn try_take(path: &Path) -> Result<Option<Lock>> {
        Lock::take(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// As [`Lock::try_take`], but waits for another process that holds the lock.
    pub fn wait_for(path: &Path) -> Result<Lock> {
        let taken = Lock::take(path, FlockOperation::LockExclusive)?;
        taken.ok_or_else(|| Error::internal("an operation that waits did not wait"))
    }

    fn take(path: &Path, operation: FlockOperation) -> Result<Option<Lock>> {
        for _ in 0..TAKES_MAX {
            let file = opened(path)?;
            match retry_on_intr(|| flock(&file, operation)) {
                Ok(()) if is_at(&file, path)? => return Ok(Some(Lock { _file: file })),
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(e) => return Err(Error::io("lock", path, e.into())),
            }
        }
        let line = format!("{}: it is replaced again and again", path.display());
        Err(Error::new(Kind::TryAgain, line))
    }

    /// Whether somebody holds the lock on the file at `path`; `None` if that cannot be seen.
    /// While this looks, nobody else can take it.
    pub fn is_held(path: &Path) -> Option<bool> {
        let file = match File::open(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Some(false),
            file => file.ok()?,
        };
        match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockShared)) {
            Ok(()) => Some(false),
            Err(Errno::WOULDBLOCK) => Some(true),
            Err(_) => None,
        }
    }

    /// Takes the lock on the folder at `path`, in which no file must stay. `None` if another
    /// process of this machine holds it. Some network file systems lock no folders: there everyone
    /// gets it.
    pub fn of_folder(path: &Path) -> Result<Option<Lock>> {
        let folder = File::open(path).map_err(|e| Error::io("open", path, e))?;
        match retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive)) {
            Err(Errno::WOULDBLOCK) => Ok(None),
            _ => Ok(Some(Lock { _file: folder })),
        }
    }
}

/// The file at `path`, which is created if needed. A process that can open it can lock it, and then
/// no run can start. So only the owner may open it.
fn opened(path: &Path) -> Result<File> {
    path.parent().map_or(Ok(()), durable::create_folder)?;
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path);
    file.map_err(|e| Error::io("open", path, e).with_kind(Kind::Io))
}

/// Whether `file` is still the one at `path`. A rebuild that ended meanwhile gave the path to the
/// lock of another store.
fn is_at(file: &File, path: &Path) -> Result<bool> {
    let name = |file: Metadata| (file.dev(), file.ino());
    let own = file.metadata().map_err(|e| Error::io("look at", path, e))?;
    Ok(path.metadata().is_ok_and(|now| name(now) == name(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock has one holder until it is dropped; then a waiting process gets it.
    #[test]
    fn one_holds_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/lock");
        let take = || Lock::try_take(&path).expect("a file");
        assert_eq!(Lock::is_held(&path), Some(false));
        let held = take().expect("free");
        assert!(take().is_none());
        assert_eq!(Lock::is_held(&path), Some(true));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Lock::wait_for(&path).expect("free now"));
            drop(held);
            let held = waits.join().expect("no panic");
            assert!(take().is_none());
            drop(held);
        });
        assert!(take().is_some());
    }

    /// Who waited for the lock of a store that a rebuild replaced got the lock of the old store,
    /// and two runs could work on the new one.
    #[test]
    fn a_lock_that_was_replaced_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let old = Lock::wait_for(&path).expect("free");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Lock::wait_for(&path).expect("free now"));
            // Most likely it waits for the old file by then.
            std::thread::sleep(std::time::Duration::from_millis(200));
            std::fs::rename(&path, folder.path().join("kept")).expect("renamed");
            drop(old);
            let new = waits.join().expect("no panic");
            assert!(is_at(&new._file, &path).expect("known"));
            assert!(Lock::try_take(&path).expect("a file").is_none());
        });
    }

    /// A folder has one holder, and nothing in it says so.
    #[test]
    fn one_holds_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let take = || Lock::of_folder(folder.path()).expect("a folder");
        let held = take();
        assert!(held.is_some() && take().is_none());
        assert_eq!(folder.path().read_dir().expect("listed").count(), 0);
        drop(held);
        assert!(take().is_some());
    }
}
