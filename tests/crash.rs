//! Crashes at any moment of an epoch.
//!
//! The store then holds the epoch before or the new one, complete; an acknowledged epoch is never
//! lost; and the next run leaves the bytes of an undisturbed one. Every test here crashes the
//! second epoch of a small store.

/// Disks that become full, under the store and under the results.
mod full_disk;
/// kill -9 at random moments, of one process and of several.
mod kills;
/// What a power cut could lose, derived from the order of system calls.
mod order;
/// Two runs at once.
mod overlap;
/// Power cuts: copies of a disk image at any moment.
mod power_cut;
/// Every system call that changes the file system fails, or is the last one.
mod syscalls;

/// The store before, the undisturbed store after, and what must hold between them.
pub mod scene;
/// The system calls of a run, as strace reports them.
pub mod strace;
