//! The work of pagefold: from the bytes of a crawl to clusters of near-duplicate pages.
//!
//! A room uses only rooms of the blocks above its own. `README.md` beside this file draws them.

/// Random numbers for tests.
#[cfg(test)]
#[path = "examples/support/random.rs"]
mod random;

pub mod document;
pub mod error;
pub mod figures;
pub(crate) mod gallop;
pub mod locks;
pub mod panics;

pub mod extract;
pub mod graph;
pub mod mesh;
pub mod read;
pub mod text;

pub mod candidates;
pub mod confirm;

pub mod store;

pub mod job;

pub mod tables;

pub mod plan;

pub mod fold;

pub mod commit;
pub mod eval;
pub mod export;
pub mod lexicon;
pub mod upkeep;

pub mod ask;
pub mod filter;
pub mod verify;

pub mod online;
