//! One input file: its path, its size and times, and the digest of its bytes.

pub use crate::plan::listing::{Listing, absent, find, list, none_found};

use crate::error::{Error, Kind, Result};
use crate::locks::lock;
use crate::store::digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// One input file as it was when the epoch was planned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Input {
    /// Its absolute path, [`spelled`].
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The time of its last change, nanoseconds since 1970.
    pub changed_ns: u64,
    /// The time of the last change of its inode, nanoseconds since 1970. It shows that a file was
    /// replaced by one with the same size and time.
    #[serde(default)]
    pub status_ns: u64,
    /// The number of its inode.
    #[serde(default)]
    pub inode: u64,
    /// The blake3 of its bytes, in hex.
    pub digest: String,
}

/// Begins the spelling of a path that is not UTF-8.
const URL: &str = "file://";

/// `path` in UTF-8. A path that is not UTF-8 becomes a `file` URL (RFC 8089), which keeps all of
/// its bytes. No other path has this form: paths of inputs are absolute, and names below a folder
/// have no empty part.
pub fn spelled(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    let mut url = URL.to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                url.push(char::from(byte))
            }
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

/// The path of which `spelled` is the spelling.
pub fn unspelled(spelled: &str) -> PathBuf {
    let Some(url) = spelled.strip_prefix(URL) else { return PathBuf::from(spelled) };
    let (mut bytes, mut rest) = (Vec::new(), url.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        let escaped = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(escaped) if byte == b'%' => {
                bytes.push(escaped);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

/// The first 64 bits of a `digest` in hex; 0 if it is not a digest.
pub fn key_of(digest: &str) -> u64 {
    digest.get(..16).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0)
}

impl Input {
    /// The file at `path` without its digest: the file is not read.
    pub fn stat(path: &Path) -> Result<Input> {
        let metadata = path.metadata().map_err(|e| Error::input("read", path, e))?;
        let ns = |seconds: i64, rest: i64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(rest).max(0) as u64
        };
        Ok(Input {
            path: spelled(path),
            bytes: metadata.len(),
            changed_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            status_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            digest: String::new(),
        })
    }

    /// Its path as the system knows it.
    pub fn file(&self) -> PathBuf {
        unspelled(&self.path)
    }

    /// The first 64 bits of its digest, by which pages name it; 0 without a digest.
    pub fn key(&self) -> u64 {
        key_of(&self.digest)
    }

    /// Its path for people: relative to the working folder, if it lies there.
    pub fn shown(&self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let below =
            Path::new(&self.path).strip_prefix(&here).ok().filter(|_| here.parent().is_some());
        below.and_then(Path::to_str).unwrap_or(&self.path).to_owned()
    }

    /// Reads the file to add its digest.
    pub fn digest(mut self) -> Result<Input> {
        let path = self.file();
        let digest = std::fs::File::open(&path).and_then(digest::of_reader);
        self.digest = digest.map_err(|e| Error::input("read", &path, e))?;
        Ok(self)
    }

    /// Whether both have the same size, times and inode.
    pub fn looks_like(&self, other: &Input) -> bool {
        let of = |input: &Input| (input.bytes, input.changed_ns, input.status_ns, input.inode);
        of(self) == of(other)
    }

    /// The file with its present time; fails if its bytes have changed since they were consumed.
    pub fn refreshed(&self) -> Result<Input> {
        let now = Input::stat(&self.file())?;
        let now = if now.looks_like(self) { self.clone() } else { now.digest()? };
        if now.digest != self.digest {
            return Err(Error::new(
                Kind::NoInput,
                format!("{}: not the bytes that were consumed", self.path),
            ));
        }
        Ok(now)
    }

    /// Whether the file has other bytes than those of the digest, or is gone. It is read only if
    /// one of its times has changed and its size has not. Hosts may see different inodes for one
    /// file, so inodes do not count here.
    pub fn has_changed(&self) -> Result<bool> {
        Looks::default().has_changed(self, 0)
    }

    /// Whether the file, which is as `now`, has other bytes, if its size and times tell.
    fn differs(&self, now: &Input) -> Option<bool> {
        let times = |input: &Input| (input.changed_ns, input.status_ns);
        match now.bytes == self.bytes {
            true => (times(now) == times(self)).then_some(false),
            false => Some(true),
        }
    }

    /// Fails if the file has another size or another time than before, or is another file.
    pub fn check_unchanged(&self) -> Result<()> {
        if !Input::stat(&self.file()).is_ok_and(|now| now.looks_like(self)) {
            return Err(Error::new(
                Kind::TryAgain,
                format!("{}: changed or went while it was read; run again", self.path),
            ));
        }
        Ok(())
    }
}

/// Remembers inputs of a plan that were read because their times had changed, by number. An input
/// is looked at for each of its parts; without this, it would be read whole each time.
#[derive(Default)]
pub struct Looks(Mutex<BTreeMap<usize, Arc<Mutex<Option<Look>>>>>);

/// An input as it was when it was read, and whether it had other bytes than planned.
struct Look {
    input: Input,
    has_changed: bool,
}

impl Looks {
    /// [`Input::has_changed`] of `planned`, the input number `at`.
    pub fn has_changed(&self, planned: &Input, at: usize) -> Result<bool> {
        let now = match Input::stat(&planned.file()) {
            Err(error) if error.kind() == Kind::NoInput => return Ok(true),
            now => now?,
        };
        if let Some(differs) = planned.differs(&now) {
            return Ok(differs);
        }
        let look = lock(&self.0).entry(at).or_default().clone();
        // Workers that read other parts of the input wait here while one reads it whole.
        let mut look = lock(&look);
        if let Some(before) = look.as_ref().filter(|before| before.input.looks_like(&now)) {
            return Ok(before.has_changed);
        }
        let input = now.digest()?;
        let has_changed = input.digest != planned.digest;
        *look = Some(Look { input, has_changed });
        Ok(has_changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, UNIX_EPOCH};

    fn set_time(path: &Path, seconds: u64) {
        let file = File::options().append(true).open(path).expect("opened");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).expect("set");
    }

    /// An input that was only touched was read whole for each of its parts, which is the square of
    /// its size. It is read once, until it looks otherwise.
    #[test]
    fn a_touched_input_is_read_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in");
        std::fs::write(&path, "AAAA").expect("written");
        set_time(&path, 1);
        let planned = Input::stat(&path).and_then(Input::digest).expect("readable");
        let looks = Looks::default();
        set_time(&path, 2);
        assert!(!looks.has_changed(&planned, 0).expect("readable"));
        // If it were read again, it would not have this digest.
        let other = Input { digest: String::new(), ..planned.clone() };
        assert!(!looks.has_changed(&other, 0).expect("not read"));
        std::fs::write(&path, "BBBB").expect("written");
        set_time(&path, 3);
        assert!(looks.has_changed(&planned, 0).expect("readable"));
        std::fs::remove_file(&path).expect("removed");
        assert!(looks.has_changed(&planned, 0).expect("gone"));
    }

    /// An input that was replaced by one with other bytes, the same size and the same time was
    /// consumed under the digest of the first, and no rebuild could read it again.
    #[test]
    fn an_input_is_replaced_at_the_same_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [("in", "AAAA"), ("new", "BBBB")] {
            std::fs::write(at(name), text).expect("written");
            set_time(&at(name), 1);
        }
        let planned = Input::stat(&at("in")).and_then(Input::digest).expect("readable");
        // All this may happen within one tick of the system's clock.
        let planned = Input { status_ns: planned.status_ns - 1, ..planned };
        assert!(!planned.has_changed().expect("readable"));
        std::fs::rename(at("new"), at("in")).expect("renamed");
        assert_eq!(Input::stat(&at("in")).expect("there").changed_ns, planned.changed_ns);
        assert!(planned.has_changed().expect("readable"));
    }

    /// One name that was not UTF-8 stopped every run. Every path has a spelling from which it can
    /// be recovered.
    #[test]
    fn spellings_lose_nothing() {
        for path in
            [&b"/in/a b.jsonl"[..], b"/in/caf\xe9 %41.jsonl", b"/\xff\xfe", "/漢/é%".as_bytes()]
        {
            let path = Path::new(OsStr::from_bytes(path));
            assert_eq!(unspelled(&spelled(path)), path);
        }
        assert_eq!(spelled(Path::new(OsStr::from_bytes(b"/caf\xe9 1"))), "file:///caf%E9%201");
    }
}
