//! Making files durable: in come written files, out come names that survive a power cut. A file is written aside, fsynced, renamed or
//! linked to its name, and its folder fsynced; without the last step acknowledged epochs are lost. An error here is fatal to
//! the run and never retried: after a failed fsync the kernel may have dropped the pages.

use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// fsync of a folder, which makes the names in it durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|f| f.sync_all()).map_err(|e| Error::io("fsync folder", folder, e).with_kind(Kind::Io))
}

/// Makes the name of `folder` durable, which a run may have made that was killed before it came to that. Where the parent may not be read
/// someone else made it.
pub fn sync_name(folder: &Path) -> Result<()> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(parent) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        _ => sync_folder(parent),
    }
}

/// Creates `folder` and its missing parents, each durable unless it is there already.
pub fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_folder(parent)?;
    }
    match std::fs::create_dir(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(Error::io("create folder", folder, e).with_kind(Kind::Io));
        }
        _ => {}
    }
    sync_folder(parent.unwrap_or(Path::new(".")))
}

/// Gives the written file `aside` its durable name `path`, replacing what has that name.
pub fn place(file: &File, aside: &Path, path: &Path) -> Result<()> {
    file.sync_all().map_err(|e| Error::io("fsync", aside, e))?;
    std::fs::rename(aside, path).map_err(|e| Error::io("rename to", path, e).with_kind(Kind::Io))?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// blake3 of the file's bytes, in hex.
pub fn digest(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let file = File::open(path).map_err(|e| Error::io("open", path, e).with_kind(Kind::Io))?;
    hasher.update_reader(file).map_err(|e| Error::io("read", path, e))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Writes `bytes` durably as `path`, replacing what has that name. One writer at a time: aside the file has the same name for all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_by(path, path.with_extension("writing"), bytes)
}

/// The same where others may write the same name at the same time, such as a process of an attempt that was given up and has not noticed: aside
/// the file bears this process's [`tag`], so that whoever renames last gives a whole file its name.
pub fn write_beside_others(path: &Path, bytes: &[u8]) -> Result<()> {
    write_by(path, path.with_extension(format!("{}.writing", tag())), bytes)
}

static TAG: OnceLock<String> = OnceLock::new();

/// What keeps the files that this process writes aside apart from those of others: its id, or what [`tell_apart`] made of it.
pub fn tag() -> &'static str {
    TAG.get_or_init(|| std::process::id().to_string())
}

/// Makes [`tag`] one that no process of any host has: ids alone may be the same on two hosts. To be called before anything is written.
pub fn tell_apart() -> Result<()> {
    let random = super::random_hex()?;
    // A tag that is in use already is this process's, too.
    TAG.get_or_init(|| format!("{}-{random}", std::process::id()));
    Ok(())
}

fn write_by(path: &Path, aside: PathBuf, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(&aside).map_err(|e| Error::io("create", &aside, e).with_kind(Kind::Io))?;
    file.write_all(bytes).map_err(|e| Error::io("write", &aside, e))?;
    place(&file, &aside, path)
}

/// Writes `bytes` durably as `path` unless that name exists. Returns whether this call created it.
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<bool> {
    let aside = path.with_extension(format!("{}.writing", tag()));
    let mut file = File::create(&aside).map_err(|e| Error::io("create", &aside, e).with_kind(Kind::Io))?;
    file.write_all(bytes).map_err(|e| Error::io("write", &aside, e))?;
    file.sync_all().map_err(|e| Error::io("fsync", &aside, e))?;
    let created = match std::fs::hard_link(&aside, path) {
        Ok(()) => true,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => false,
        Err(e) => return Err(Error::io("link", path, e).with_kind(Kind::Io)),
    };
    sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    // What was to be done is done; a second name that stays is cleared away by the next run.
    let _ = std::fs::remove_file(&aside);
    Ok(created)
}
