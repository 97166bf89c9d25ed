//! Brings a large file to the disk while it is written.
//!
//! The kernel lets written bytes wait in memory, a fifth of it by default. In a container with a
//! limit of memory they may fill the limit. Then each process in it waits until they are on disk,
//! a server that answers questions, too; and an fsync of gigabytes keeps reads of others waiting.
//! RocksDB has `bytes_per_sync` for the same reason.

use std::fs::File;
use std::io::{self, Write};
use std::thread::{Builder, JoinHandle};

/// The bytes that wait in memory before they are sent to the disk. While these are on their way, as
/// many more may be written.
const WAITING_BYTES_MAX: u64 = 32 << 20;

/// A file that is written. It is durable only after an fsync of all of it.
pub struct WriteBack {
    file: File,
    waiting_bytes: u64,
    on_its_way: Option<JoinHandle<io::Result<()>>>,
}

impl WriteBack {
    /// Writes to `file`.
    pub fn new(file: File) -> WriteBack {
        WriteBack { file, waiting_bytes: 0, on_its_way: None }
    }

    /// Waits for the bytes that are on their way, and returns the file.
    ///
    /// # Errors
    ///
    /// Those of an fdatasync. The file must be given up then.
    pub fn into_file(mut self) -> io::Result<File> {
        self.finish()?;
        Ok(self.file)
    }

    /// Counts bytes that were written. Once enough wait, another thread sends them to the disk.
    fn count(&mut self, bytes: usize) -> io::Result<()> {
        self.waiting_bytes += bytes as u64;
        if self.waiting_bytes < WAITING_BYTES_MAX {
            return Ok(());
        }
        self.waiting_bytes = 0;
        self.finish()?;
        let file = self.file.try_clone()?;
        let thread = Builder::new().name("write-back".into());
        self.on_its_way = Some(thread.spawn(move || file.sync_data())?);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(thread) = self.on_its_way.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }
}

impl Write for WriteBack {
    /// Fails also if an earlier fdatasync did.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.count(written)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
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
        let pipe = || {
            let pipe = std::io::pipe().expect("a pipe").0;
            WriteBack::new(OwnedFd::from(pipe).into())
        };
        let half = WAITING_BYTES_MAX as usize / 2;
        let mut few = pipe();
        few.count(half).expect("few bytes wait");
        few.finish().expect("nothing was sent");
        few.count(half).expect("sent");
        few.into_file().expect_err("it fails at the end");
        let mut many = pipe();
        many.count(2 * half).expect("sent");
        many.count(half).expect("few bytes wait");
        many.count(half).expect_err("it fails at the next bytes that are sent");
    }
}
