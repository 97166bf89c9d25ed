//! Whatever happens at any moment of an epoch, the store holds the epoch before or the new one, whole; an acknowledged epoch is never lost; and
//! the next run leaves the bytes of an undisturbed one. Every test here crashes the second epoch of a small store.

/// Disks that run full, for the store and for the results.
mod full_disk;
/// kill -9 at random moments, of one process and of several.
mod kills;
/// What a power cut could take, by the order of the system calls.
mod order;
/// Two runs at once.
mod overlap;
/// The power goes: copies of a disk as it lies.
mod power_cut;
/// Every system call that changes the file system fails, or is the last.
mod syscalls;

/// The store before, the undisturbed store after, and what must hold between them.
pub mod scene;
/// The system calls of a run, as strace sees them.
pub mod strace;
