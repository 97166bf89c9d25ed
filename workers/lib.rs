//! The work of pagefold: from the bytes of a crawl to clusters of near-duplicate pages.
//!
//! A room uses only the rooms above it in this list. `README.md` beside this file draws them.

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
pub mod read;

pub mod candidates;
pub mod confirm;
pub mod graph;
pub mod text;

pub mod job;
pub mod store;
pub mod tables;

pub mod mesh;
pub mod plan;

pub mod fold;
pub mod lexicon;

pub mod commit;
pub mod eval;
pub mod export;
pub mod filter;
pub mod upkeep;

pub mod verify;

pub mod ask;

pub mod online;
