//! Facts about this process: its greatest memory, and the digest of its program.

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
    let running = std::path::Path::new("/proc/self/exe");
    if running.exists() {
        return digest::of_file(running);
    }
    let path = std::env::current_exe()
        .map_err(|e| Error::internal("cannot tell where pagefold lies").caused_by(e))?;
    digest::of_file(&path)
}
