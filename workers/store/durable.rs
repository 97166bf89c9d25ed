//! Makes files and their names survive a power cut.
//!
//! A file is written under a temporary name, fsynced, then renamed or linked to its name, and then
//! its folder is fsynced. Without the last step an acknowledged epoch could be lost. An error here
//! ends the run and is never retried: after a failed fsync the kernel may have dropped the pages.

use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Fsyncs a folder, which makes the names in it durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|f| f.sync_all()).map_err(|e| Error::io("fsync folder", folder, e).with_kind(Kind::Io))
}

/// Makes the name of `folder` durable, because a run may have been killed after it created the
/// folder and before it did this. If the parent may not be read, we cannot have created the folder.
pub fn sync_name(folder: &Path) -> Result<()> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
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

/// Renames the written file `aside` to `path` durably, replacing a file of that name.
pub fn place(file: &File, aside: &Path, path: &Path) -> Result<()> {
    file.sync_all().map_err(|e| Error::io("fsync", aside, e))?;
    std::fs::rename(aside, path).map_err(|e| Error::io("rename to", path, e).with_kind(Kind::Io))?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Writes `bytes` durably as `path`, replacing a file of that name. Only for names with one writer
/// at a time, because the temporary name is the same for all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_by(path, path.with_extension("writing"), bytes)
}

/// The same for names that several processes may write at the same time: a process of an abandoned
/// attempt may still run. The temporary name has this process's [`tag`], so each rename publishes a
/// whole file.
pub fn write_concurrent(path: &Path, bytes: &[u8]) -> Result<()> {
    write_by(path, path.with_extension(format!("{}.writing", tag())), bytes)
}

static TAG: OnceLock<String> = OnceLock::new();

/// Distinguishes the temporary files of this process from those of others: the process id, or what
/// [`make_tag_unique`] made of it.
pub fn tag() -> &'static str {
    TAG.get_or_init(|| std::process::id().to_string())
}

/// Makes [`tag`] unique over all hosts, where process ids may coincide. To be called before
/// anything is written: a tag that is already in use stays.
pub fn make_tag_unique() -> Result<()> {
    let random = super::random_hex()?;
    TAG.get_or_init(|| format!("{}-{random}", std::process::id()));
    Ok(())
}

fn write_by(path: &Path, aside: PathBuf, bytes: &[u8]) -> Result<()> {
    let file = create_with(&aside, bytes)?;
    place(&file, &aside, path)
}

fn create_with(path: &Path, bytes: &[u8]) -> Result<File> {
    let mut file = File::create(path).map_err(|e| Error::io("create", path, e).with_kind(Kind::Io))?;
    file.write_all(bytes).map_err(|e| Error::io("write", path, e))?;
    Ok(file)
}

/// Writes `bytes` durably as `path` unless that name exists. Returns whether this call created it.
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<bool> {
    let aside = path.with_extension(format!("{}.writing", tag()));
    let file = create_with(&aside, bytes)?;
    file.sync_all().map_err(|e| Error::io("fsync", &aside, e))?;
    let created = match std::fs::hard_link(&aside, path) {
        Ok(()) => true,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => false,
        Err(e) => return Err(Error::io("link", path, e).with_kind(Kind::Io)),
    };
    sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    // The file has its name. If the removal fails, the next run removes the temporary name.
    let _ = std::fs::remove_file(&aside);
    Ok(created)
}
