//! Facts about this process: its greatest memory, its program and the digest of that.

use std::path::{Path, PathBuf};
use workers::error::{Error, Result};
use workers::store::digest;

/// The greatest resident memory of this process so far; 0 if the system does not report it.
pub fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// blake3 of the running binary, in hex, even if its file has been replaced since.
pub fn own_digest() -> Result<String> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return digest::of_file(running);
    }
    digest::of_file(&path()?)
}

/// The file of this program.
pub fn path() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|e| Error::internal("cannot find the program file of pagefold").caused_by(e))
}
