//! Makes files durable behind the work that writes them.
//!
//! A worker that waits for the disk at the end of each file waits a hundred times in an epoch, and
//! each time also for writes of other workers. Here a file gets its name at once, so that the next
//! stage can read it. A thread then fsyncs the file and its folder.
//!
//! Until [`Fsyncs::finish`] returns, a power cut may leave a name without its bytes. So before
//! that, whatever outlives the run must not refer to such a file, unless the bytes are compared
//! with a digest. A file that is there already is replaced only by a durable one, because a
//! manifest may name it.

use crate::error::{Error, Kind, Result};
use crate::locks::lock;
use crate::store::damage;
use crate::store::durable;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// The most files that wait. Each is open. If the disk is slower than the work, the work waits for
/// it.
const WAITING_MAX: usize = 64;

/// Fsyncs files; by default at once.
#[derive(Default)]
pub struct Fsyncs(Mutex<Option<Running>>);

/// A file and its path.
type Written = (File, PathBuf);

struct Running {
    files: SyncSender<Written>,
    thread: JoinHandle<Result<()>>,
}

impl Fsyncs {
    /// Starts a thread that fsyncs. Only for files that no other host reads, because it might see
    /// their names before their bytes.
    pub fn behind() -> Result<Fsyncs> {
        let (files, received) = sync_channel(WAITING_MAX);
        let thread = Builder::new().name("fsync".into()).spawn(move || fsync_all(received));
        let thread =
            thread.map_err(|e| Error::new(Kind::TryAgain, "cannot start a thread").caused_by(e))?;
        Ok(Fsyncs(Mutex::new(Some(Running { files, thread }))))
    }

    /// Renames the written file `aside` to `path`, replacing a file of that name. It is durable
    /// after [`Fsyncs::finish`].
    ///
    /// # Errors
    ///
    /// `place` also fails if an earlier file could not be fsynced; [`Fsyncs::finish`] has the
    /// cause.
    pub fn place(&self, file: File, aside: &Path, path: &Path) -> Result<()> {
        let Some(files) = lock(&self.0).as_ref().map(|running| running.files.clone()) else {
            return durable::place(&file, aside, path);
        };
        match renameat_with(CWD, aside, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            // File systems that do not support it return the last two.
            Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) => {
                return durable::place(&file, aside, path);
            }
            Err(e) => return Err(Error::io("rename to", path, e.into()).with_kind(Kind::Io)),
        }
        // The thread receives until it fails, and `finish` says why.
        let failed = |_| Error::internal("a file after an fsync that failed");
        files.send((file, path.to_owned())).map_err(failed)
    }

    /// Writes `bytes` as `path` in the same way.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let (file, aside) = durable::write_aside(path, bytes)?;
        self.place(file, &aside, path)
    }

    /// Writes `bytes` as `path`, unless several processes write such names and another one was
    /// first. Returns whether this call wrote it.
    pub fn write_first(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let is_behind = lock(&self.0).is_some();
        if is_behind {
            return self.write(path, bytes).map(|()| true);
        }
        durable::create_new(path, bytes)
    }

    /// Waits until all files are durable. Files that are placed later are fsynced at once.
    pub fn finish(&self) -> Result<()> {
        let Some(Running { files, thread }) = lock(&self.0).take() else { return Ok(()) };
        drop(files);
        thread.join().unwrap_or_else(|payload| Err(damage::of_thread(payload, "an fsync")))
    }
}

impl Drop for Fsyncs {
    /// Ends the thread, also if the work failed.
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

fn fsync_all(files: Receiver<Written>) -> Result<()> {
    files.into_iter().try_for_each(|(file, path)| {
        file.sync_all().map_err(|e| Error::io("fsync", &path, e))?;
        durable::sync_folder(durable::folder_of(&path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    /// A file that is placed has its name and bytes at once, in place of an earlier one, too, and
    /// nothing is left aside.
    #[test]
    fn files_have_their_names_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("name");
        for fsyncs in [Fsyncs::default(), Fsyncs::behind().expect("a thread")] {
            for bytes in ["one", "other"] {
                fsyncs.write(&path, bytes.as_bytes()).expect("placed");
                assert_eq!(std::fs::read_to_string(&path).expect("there"), bytes);
            }
            fsyncs.finish().expect("durable");
            fsyncs.write(&path, b"last").expect("placed");
            assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);
            std::fs::remove_file(&path).expect("removed");
        }
    }

    /// An fsync that fails behind the work ends it: the end says so, and files after it fail.
    #[test]
    fn a_failed_fsync_is_not_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("aside"), "bytes").expect("written");
        let fsyncs = Fsyncs::behind().expect("a thread");
        // A pipe cannot be fsynced.
        let (pipe, _) = std::io::pipe().expect("a pipe");
        fsyncs.place(OwnedFd::from(pipe).into(), &at("aside"), &at("name")).expect("renamed");
        let mut later = (0..).map(|n| fsyncs.write(&at(&n.to_string()), b"later"));
        assert!(later.any(|placed| placed.is_err()));
        let error = fsyncs.finish().expect_err("a failed fsync").to_string();
        assert!(error.contains("fsync") && error.contains("name"), "{error}");
    }
}
