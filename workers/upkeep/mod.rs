//! What keeps a store in order between epochs: merging, rollback, collecting what is no longer needed.

pub mod gc;
pub mod merge;
pub mod rollback;
