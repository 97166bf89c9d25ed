//! Maintains a store between epochs: merging of runs, rollback, garbage collection, and what a
//! rebuild does besides replaying epochs.

pub mod carry;
pub mod gc;
pub mod merge;
pub mod rebuild_folders;
pub mod rollback;
