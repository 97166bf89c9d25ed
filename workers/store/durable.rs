//! Makes files and their names survive a power cut.
//!
//! A file is written under a temporary name, fsynced, then renamed or linked to its name, and then
//! its folder is fsynced. Without the last step an acknowledged epoch could be lost. An error here
//! ends the run and is never retried: after a failed fsync the kernel may have dropped the pages.
//! `Message::failed` in `src/cluster/control.rs` sees to this for workers, the thread that writes
//! the inbox (`src/serve/inbox_writer.rs`) for a server. Records of an inbox are fsynced where they
//! are appended, in `workers/online/inbox.rs`.

use crate::error::{Error, Kind, Result};
use crate::random_bytes::random_hex;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder that `path` lies in; the working folder if `path` is a bare name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Fsyncs a folder, which makes the names in it durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|f| f.sync_all())
        .map_err(|e| Error::io("fsync folder", folder, e).with_kind(Kind::Io))
}

/// Makes the name of `folder` durable, because a run may have been killed after it created the
/// folder and before it did this. If the parent may not be read, we cannot have created the folder.
pub fn sync_name(folder: &Path) -> Result<()> {
    let parent = folder_of(folder);
    match File::open(parent) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        _ => sync_folder(parent),
    }
}

/// Creates `folder` and its missing parents durably.
pub fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if folder_of(folder) != Path::new(".") {
        create_folder(folder_of(folder))?;
    }
    match std::fs::create_dir(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(Error::io("create folder", folder, e).with_kind(Kind::Io));
        }
        _ => {}
    }
    sync_folder(folder_of(folder))
}

/// Renames the written file `aside` to `path` durably, replacing a file of that name.
pub fn place(file: &File, aside: &Path, path: &Path) -> Result<()> {
    file.sync_all().map_err(|e| Error::io("fsync", aside, e))?;
    std::fs::rename(aside, path)
        .map_err(|e| Error::io("rename to", path, e).with_kind(Kind::Io))?;
    sync_folder(folder_of(path))
}

/// Writes `bytes` durably as `path`, replacing a file of that name. Several processes may do this
/// at the same time: a process of an abandoned attempt may still run, or the system's locks may not
/// hold. Each rename publishes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let (file, aside) = write_aside(path, bytes)?;
    place(&file, &aside, path)
}

/// Creates a file for what is not finished yet: `stem` with the ending `.writing`, or with a random
/// number before it if that name is taken. `stem` should have this process's [`tag`].
///
/// The file is always a new one, so that no other process writes into it, and no link that somebody
/// left at that name is followed.
pub fn create_aside(stem: &Path) -> Result<(File, PathBuf)> {
    let mut name = stem.as_os_str().to_owned();
    for taken in [false, true] {
        if taken {
            name.push(format!("-{}", random_hex()?));
        }
        let mut path = name.clone();
        path.push(".writing");
        let path = PathBuf::from(path);
        match File::options().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && !taken => {}
            Err(e) => return Err(Error::io("create", &path, e).with_kind(Kind::Io)),
        }
    }
    Err(Error::internal("two random names are the same"))
}

/// Whether `path` has the form of a name from [`create_aside`] with a [`tag`]. Other files that end
/// in `.writing` are not ours.
pub fn is_aside(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_suffix(".writing"));
    let tag = name.and_then(|name| name.rsplit_once('.')).map_or("", |(_, tag)| tag);
    let mut parts = tag.split('-');
    let is_process =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_random =
        |part: &str| part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.next().is_some_and(is_process) && parts.all(is_random)
}

static TAG: OnceLock<String> = OnceLock::new();

/// Distinguishes the temporary files of this process from those of others: the process id, or what
/// [`make_tag_unique`] made of it.
pub fn tag() -> &'static str {
    TAG.get_or_init(|| std::process::id().to_string())
}

/// Makes [`tag`] unique over all hosts, where process ids may coincide. Call it before anything is
/// written, because a tag that is already in use stays.
pub fn make_tag_unique() -> Result<()> {
    let random = random_hex()?;
    TAG.get_or_init(|| format!("{}-{random}", std::process::id()));
    Ok(())
}

/// Writes `bytes` beside `path`.
pub(in crate::store) fn write_aside(path: &Path, bytes: &[u8]) -> Result<(File, PathBuf)> {
    let (mut file, aside) = create_aside(&path.with_extension(tag()))?;
    file.write_all(bytes).map_err(|e| Error::io("write", &aside, e))?;
    Ok((file, aside))
}

/// Writes `bytes` durably as `path` unless that name exists. Returns whether this call created it.
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<bool> {
    let (file, aside) = write_aside(path, bytes)?;
    file.sync_all().map_err(|e| Error::io("fsync", &aside, e))?;
    let created = match std::fs::hard_link(&aside, path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(Error::io("link", path, e).with_kind(Kind::Io)),
    };
    if created.is_ok() {
        sync_folder(folder_of(path))?;
    }
    // If the removal fails, the next run removes the temporary name.
    let _ = std::fs::remove_file(&aside);
    created
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link at the temporary name was followed, and its target overwritten; two processes that
    /// wrote the same name cut each other's file. The name is now always that of a new file.
    #[test]
    fn files_aside_are_new() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("victim"), "whole").expect("written");
        std::os::unix::fs::symlink(at("victim"), at(&format!("list.{}.writing", tag())))
            .expect("linked");
        write(&at("list.json"), b"new").expect("written");
        let read = |name: &str| std::fs::read_to_string(at(name)).expect("readable");
        assert_eq!((read("victim"), read("list.json")), ("whole".into(), "new".into()));
        let (one, other) =
            (create_aside(&at("x")).expect("made").1, create_aside(&at("x")).expect("made").1);
        assert_ne!(one, other);
    }
}
