//! Brings a large file to the disk while it is written.
//!
//! The kernel lets written bytes wait in memory, a fifth of it by default. In a container with a
//! limit of memory they may fill the limit. Then each process in it waits until they are on disk,
//! a server that answers questions, too; and an fsync of gigabytes keeps reads of others waiting.
//! RocksDB has `bytes_per_sync` for the same reason.

use std::fs::File;
use std::io;
use std::thread::{Builder, JoinHandle};

/// The bytes that wait in memory before they are sent to the disk. While these are on their way, as
/// many more may be written.
const WAITING_BYTES_MAX: u64 = 32 << 20;

/// What is known of one file. The file is durable only after an fsync of all of it.
#[derive(Default)]
pub struct WriteBack {
    waiting_bytes: u64,
    on_its_way: Option<JoinHandle<io::Result<()>>>,
}

impl WriteBack {
    /// Counts `bytes` that were written to `file`. Once enough wait, they are sent to the disk in
    /// another thread.
    ///
    /// # Errors
    ///
    /// Those of an earlier fdatasync. The file must be given up then.
    pub fn count(&mut self, file: &File, bytes: usize) -> io::Result<()> {
        self.waiting_bytes += bytes as u64;
        if self.waiting_bytes < WAITING_BYTES_MAX {
            return Ok(());
        }
        self.waiting_bytes = 0;
        self.finish()?;
        let file = file.try_clone()?;
        let thread = Builder::new().name("write-back".into());
        self.on_its_way = Some(thread.spawn(move || file.sync_data())?);
        Ok(())
    }

    /// Waits for the bytes that are on their way.
    ///
    /// # Errors
    ///
    /// As [`WriteBack::count`].
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(thread) = self.on_its_way.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    /// An fdatasync that fails behind the work is not lost: the kernel reports it once only, so a
    /// later fsync would succeed.
    #[test]
    fn a_failure_is_not_lost() {
        // A pipe cannot be fsynced.
        let pipe: File = OwnedFd::from(std::io::pipe().expect("a pipe").0).into();
        let half = WAITING_BYTES_MAX as usize / 2;
        let mut few = WriteBack::default();
        few.count(&pipe, half).expect("few bytes wait");
        few.finish().expect("nothing was sent");
        few.count(&pipe, half).expect("sent");
        few.finish().expect_err("it fails at the end");
        let mut many = WriteBack::default();
        many.count(&pipe, 2 * half).expect("sent");
        many.count(&pipe, half).expect("few bytes wait");
        many.count(&pipe, half).expect_err("it fails at the next bytes that are sent");
    }
}
