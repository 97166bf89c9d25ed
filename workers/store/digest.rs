//! Digests of files: blake3, in hex. Most files of the store are named by their digest.

use crate::error::{Error, Kind, Result};
use crate::store::damage::in_bytes;
use crate::store::durable;
use crate::store::fsyncs::Fsyncs;
use crate::store::write_back::WriteBack;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The digest of `bytes`.
pub fn of_bytes(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The blake3 of a configuration's JSON, in hex. serde_json sorts the keys of objects.
pub fn digest_of(value: &serde_json::Value) -> String {
    of_bytes(value.to_string().as_bytes())
}

/// Whether `text` has the form of a digest.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The digest of all bytes of `reader`.
pub fn of_reader(reader: impl Read) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(reader)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The digest of the file at `path`.
pub fn of_file(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e).with_kind(Kind::Io))?;
    of_reader(file).map_err(|e| Error::io("read", path, e))
}

/// Fails if the bytes of the file at `path` do not have this digest.
pub fn check(path: &Path, digest: &str) -> Result<()> {
    if of_file(path)? == digest {
        return Ok(());
    }
    Err(damaged(path))
}

/// The error for a file that does not have the digest in its name.
pub fn damaged(path: &Path) -> Error {
    in_bytes(path.display(), "damaged, its bytes are not those of its name")
}

/// A file that is hashed while it is written. It is hashed when its buffer is flushed, because
/// blake3 is several times as fast over many KB as over single fields.
pub struct HashingFile {
    path: PathBuf,
    file: BufWriter<Hashed>,
}

/// The bytes that reached a file.
struct Hashed {
    file: WriteBack,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl HashingFile {
    /// Creates a file with a temporary name that begins with `stem`, see [`durable::create_aside`].
    /// It is written through a buffer of `buffer_bytes`.
    pub fn create(stem: &Path, buffer_bytes: usize) -> Result<HashingFile> {
        let (file, path) = durable::create_aside(stem)?;
        let hashed = Hashed { file: WriteBack::new(file), hasher: blake3::Hasher::new(), bytes: 0 };
        Ok(HashingFile { path, file: BufWriter::with_capacity(buffer_bytes, hashed) })
    }

    /// Its temporary path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to the path that `name` makes of its digest, and makes it durable by
    /// `fsyncs`. Returns the digest and the size.
    pub fn place(
        self,
        fsyncs: &Fsyncs,
        name: impl FnOnce(&str) -> PathBuf,
    ) -> Result<(String, u64)> {
        let hashed =
            self.file.into_inner().map_err(|e| Error::io("write", &self.path, e.into_error()))?;
        let digest = hashed.hasher.finalize().to_hex().to_string();
        let file = hashed.file.into_file().map_err(|e| Error::io("fsync", &self.path, e))?;
        fsyncs.place(file, &self.path, &name(&digest))?;
        Ok((digest, hashed.bytes))
    }
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that was hashed while it was written has the digest and the size of its bytes.
    #[test]
    fn written_files_have_their_digest() {
        let folder = tempfile::tempdir().expect("a folder");
        let temporary = folder.path().join("temporary");
        let mut file = HashingFile::create(&temporary, 4).expect("created");
        let temporary = file.path().to_owned();
        assert!(temporary.exists());
        file.write_all(b"page").and_then(|()| file.write_all(b"fold")).expect("written");
        let (digest, bytes) =
            file.place(&Fsyncs::default(), |digest| folder.path().join(digest)).expect("placed");
        assert_eq!((digest.as_str(), bytes), (of_bytes(b"pagefold").as_str(), 8));
        assert_eq!(of_file(&folder.path().join(&digest)).expect("readable"), digest);
        assert!(!temporary.exists());
    }
}
