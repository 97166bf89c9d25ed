//! Maintains a store between epochs: merging of runs, rollback, garbage collection.

pub mod gc;
pub mod merge;
pub mod rollback;
