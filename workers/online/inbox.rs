//! The inbox: files of JSON lines that the next epoch takes like any other input.
//!
//! Records are appended to an open file, whose name begins with `.`, so that listings of inputs
//! pass it by. Many records are fsynced together, before any of them is acknowledged. A file that
//! is large or old enough is sealed by a rename to its name. After a crash the open file has all
//! acknowledged records, and perhaps more. A last line without its end was never acknowledged: it
//! is cut off, and the file is sealed. A write for which the disk has no room is cut off and made
//! again later, because nothing of it was fsynced. Any other write or fsync that fails is never
//! tried again, because the kernel may have dropped the pages: the inbox is shut, and the server
//! ends.

use crate::error::{Error, Kind, Result, is_full_disk};
use crate::store::{Lock, durable, entries};
use std::fs::{File, Metadata};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes at which an open file is sealed.
pub const SEAL_BYTES: u64 = 67_108_864;
/// How often a server that starts tries to lock its inbox, and how long it waits between. A run
/// that looks for records that were left holds the lock for a moment.
const LOCK_TRIES: usize = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// An open file that nobody has written for so long is left, for a user who may not see whether a
/// server has the inbox.
const LEFT_AFTER: Duration = Duration::from_secs(86_400);

/// The files of an inbox. Only one process has an inbox open.
pub struct Inbox {
    folder: PathBuf,
    seal_after: Duration,
    open: Option<OpenBatch>,
    _lock: Lock,
}

/// The open file.
struct OpenBatch {
    file: File,
    number: u64,
    bytes: u64,
    since: Instant,
}

/// Records that are to be written together.
pub struct Batch {
    /// The number of the file that gets them.
    pub file: u64,
    /// Their lines.
    pub lines: Vec<u8>,
    /// Whether this is the last batch of the file, which is then sealed.
    pub seals: bool,
}

impl Inbox {
    /// Opens the inbox in `folder`, and seals what a crash left open.
    ///
    /// # Errors
    ///
    /// `TryAgain` if another process has it.
    pub fn open(folder: &Path, seal_after: Duration) -> Result<Inbox> {
        let path = folder.join(".lock");
        let Some(lock) = lock(&path)? else {
            let why = "another server has this inbox; stop it, or start this one with --read-only";
            return Err(Error::new(Kind::TryAgain, format!("{}: {why}", path.display())));
        };
        // The lock creates the folder, unless a run or a person did.
        durable::sync_name(folder)?;
        for path in entries(folder)? {
            if let Some(number) = number_of(&path, true) {
                seal_left(folder, &path, number)?;
            }
        }
        Ok(Inbox { folder: folder.to_owned(), seal_after, open: None, _lock: lock })
    }

    /// A number for a new file, greater than the numbers of all files that are there.
    pub fn next_number(&self) -> Result<u64> {
        let greatest = sealed(&self.folder)?.last().map_or(0, |(number, _)| *number);
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as u64);
        Ok(now.max(greatest + 1))
    }

    /// Whether the open file is to be sealed.
    pub fn is_full(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| open.bytes >= SEAL_BYTES || open.since.elapsed() >= self.seal_after)
    }

    /// Whether there is an open file.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Makes `batch` durable. If the disk has no room, returns the error; the inbox is then
    /// unchanged, and `batch` must be written again before any other batch.
    pub fn write(&mut self, batch: &Batch) -> Result<Option<Error>> {
        if !batch.lines.is_empty() {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.create(batch.file)? {
                    Ok(open) => open,
                    Err(full) => return Ok(Some(full)),
                },
            };
            if open.number != batch.file {
                return Err(Error::internal("records of another file of the inbox"));
            }
            let path = self.folder.join(open_name(open.number));
            let failed = |e| Error::io("write", &path, e).with_kind(Kind::Io);
            match open.file.write_all(&batch.lines) {
                Err(e) if is_full_disk(&e) => {
                    // The file is open for appending, so the next write begins at the cut.
                    open.file.set_len(open.bytes).map_err(failed)?;
                    self.open = Some(open);
                    return Ok(Some(failed(e)));
                }
                written => written.and_then(|()| open.file.sync_data()).map_err(failed)?,
            }
            open.bytes += batch.lines.len() as u64;
            self.open = Some(open);
        }
        if batch.seals
            && let Some(open) = self.open.take()
        {
            let (aside, path) = (open_name(open.number), name(open.number));
            durable::place(&open.file, &self.folder.join(&aside), &self.folder.join(&path))
                .map_err(|error| match self.folder.join(&aside).exists() {
                    true => error,
                    false => error.and(&moved_away(&aside, &path)),
                })?;
            tracing::info!(
                file = name(open.number),
                bytes = open.bytes,
                "sealed a file of the inbox"
            );
        }
        Ok(None)
    }

    /// A new open file, or the error if the disk has no room.
    fn create(&self, number: u64) -> Result<std::result::Result<OpenBatch, Error>> {
        let path = self.folder.join(open_name(number));
        let failed = |e| Error::io("create", &path, e).with_kind(Kind::Io);
        let file = match File::options().create_new(true).append(true).open(&path) {
            Err(e) if is_full_disk(&e) => return Ok(Err(failed(e))),
            file => file.map_err(failed)?,
        };
        durable::sync_folder(&self.folder)?;
        Ok(Ok(OpenBatch { file, number, bytes: 0, since: Instant::now() }))
    }
}

/// Takes the lock of an inbox; `None` if a server has it.
fn lock(path: &Path) -> Result<Option<Lock>> {
    for _ in 1..LOCK_TRIES {
        if let Some(lock) = Lock::try_take(path)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Lock::try_take(path)
}

/// Whether a server that has ended, as by kill -9, left records in an open file of `folder`. No run
/// finds them before the next server has sealed the file.
pub fn has_left_records(folder: &Path) -> bool {
    let open: Vec<Metadata> = entries(folder)
        .unwrap_or_default()
        .iter()
        .filter(|path| number_of(path, true).is_some())
        .filter_map(|path| path.metadata().ok().filter(|file| file.len() > 0))
        .collect();
    if open.is_empty() {
        return false;
    }
    let is_old = |file: &Metadata| {
        let age = file.modified().ok().and_then(|at| at.elapsed().ok());
        age.is_some_and(|age| age > LEFT_AFTER)
    };
    // A server that is alive has the lock.
    Lock::is_held(&folder.join(".lock")).map_or_else(|| open.iter().any(is_old), |is_held| !is_held)
}

/// The remedy if the open file is not where the server made it.
fn moved_away(aside: &str, path: &str) -> String {
    format!(
        ": {aside} was moved or deleted while the server wrote it; what was acknowledged last is in it: if it is still \
         somewhere, put it into the inbox as {path}"
    )
}

/// The sealed files in `folder`, in the order in which they were opened.
pub fn sealed(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut files: Vec<(u64, PathBuf)> = entries(folder)?
        .into_iter()
        .filter_map(|path| Some((number_of(&path, false)?, path)))
        .collect();
    files.sort();
    Ok(files)
}

/// The path of a sealed file.
pub fn sealed_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(name(number))
}

/// The whole lines of a file.
pub fn lines(path: &Path) -> Result<Vec<Vec<u8>>> {
    let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
    Ok(bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect())
}

fn name(number: u64) -> String {
    format!("{number:016}.jsonl")
}

fn open_name(number: u64) -> String {
    format!(".{}", name(number))
}

/// The number of a file of an inbox; `None` for other files.
fn number_of(path: &Path, is_open: bool) -> Option<u64> {
    let file = path.file_name()?.to_str()?;
    let own = if is_open { file.strip_prefix('.')? } else { file };
    let number: u64 = own.strip_suffix(".jsonl")?.parse().ok()?;
    (name(number) == own).then_some(number)
}

/// Seals a file that a crash left open, without a torn last line. An empty file is deleted.
fn seal_left(folder: &Path, path: &Path, number: u64) -> Result<()> {
    let failed = |what: &'static str| move |e| Error::io(what, path, e).with_kind(Kind::Io);
    let bytes = std::fs::read(path).map_err(failed("read"))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole == 0 {
        std::fs::remove_file(path).map_err(failed("remove"))?;
        return durable::sync_folder(folder);
    }
    let file = File::options().write(true).open(path).map_err(failed("open"))?;
    if whole < bytes.len() {
        tracing::warn!(file = %path.display(), bytes = bytes.len() - whole, "cut off a torn line, never acknowledged");
        file.set_len(whole as u64).map_err(failed("cut"))?;
    }
    durable::place(&file, path, &folder.join(name(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(file: u64, lines: &str, seals: bool) -> Batch {
        Batch { file, lines: lines.as_bytes().to_vec(), seals }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .filter(|name| name != ".lock")
            .collect();
        names.sort();
        names
    }

    /// A file is hidden while it is open and has its name when it is sealed; numbers ascend, and a
    /// second server is refused.
    #[test]
    fn files_are_sealed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut inbox = Inbox::open(folder.path(), Duration::MAX).expect("opened");
        assert_eq!(
            Inbox::open(folder.path(), Duration::MAX).err().map(|e| e.kind()),
            Some(Kind::TryAgain)
        );
        let first = inbox.next_number().expect("a number");
        inbox.write(&batch(first, "a\n", false)).expect("written");
        inbox.write(&batch(first, "b\n", false)).expect("written");
        assert_eq!(names(folder.path()), [open_name(first)]);
        assert!(!has_left_records(folder.path()), "its server is alive");
        assert!(!inbox.is_full() && sealed(folder.path()).expect("listed").is_empty());
        inbox.write(&batch(first, "c\n", true)).expect("written");
        assert_eq!(names(folder.path()), [name(first)]);
        assert_eq!(
            lines(&folder.path().join(name(first))).expect("read"),
            [b"a\n", b"b\n", b"c\n"]
        );
        assert!(inbox.next_number().expect("a number") > first);
        inbox.write(&batch(first + 1, "", true)).expect("nothing to do");
        assert_eq!(names(folder.path()).len(), 1);
    }

    /// Nobody but its own user, who could write there, was told of records that a server had left.
    /// Who cannot see whether the server is alive is told when the file is old.
    #[test]
    fn others_are_told_of_left_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(open_name(7));
        std::fs::write(&path, "{}\n").expect("written");
        std::fs::write(folder.path().join(".lock"), "").expect("written");
        let lock = File::open(folder.path().join(".lock")).expect("opened");
        assert!(has_left_records(folder.path()));
        let shared = rustix::fs::FlockOperation::LockShared;
        rustix::fs::flock(&lock, shared).expect("locked");
        assert!(has_left_records(folder.path()), "others look, too");
        // A link to itself cannot be opened, not even by root.
        std::fs::remove_file(folder.path().join(".lock")).expect("removed");
        std::os::unix::fs::symlink(".lock", folder.path().join(".lock")).expect("linked");
        assert!(!has_left_records(folder.path()));
        let file = File::options().append(true).open(&path).expect("opened");
        let long_ago = std::time::SystemTime::now() - 2 * LEFT_AFTER;
        file.set_modified(long_ago).expect("set");
        assert!(has_left_records(folder.path()));
    }

    /// A file that a crash left open loses a torn last line and is sealed. A file without a whole
    /// line is deleted. Other files stay.
    #[test]
    fn torn_lines_are_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written")
        };
        write(&open_name(7), "{\"a\":1}\n{\"b\":2}\n{\"torn");
        write(&open_name(8), "{\"torn");
        write(".other.jsonl", "x");
        assert!(has_left_records(folder.path()));
        let inbox = Inbox::open(folder.path(), Duration::MAX).expect("opened");
        assert_eq!(names(folder.path()), [".other.jsonl".to_owned(), name(7)]);
        let text = std::fs::read_to_string(folder.path().join(name(7))).expect("read");
        assert_eq!(text, "{\"a\":1}\n{\"b\":2}\n");
        assert!(inbox.next_number().expect("a number") > 7);
    }
}
