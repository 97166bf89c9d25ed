//! The work of pagefold: from the bytes of a crawl to clusters of near-duplicate pages.
//!
//! The rooms are listed from the bottom up: a room uses only rooms of earlier blocks. `README.md`
//! beside this file draws them the other way, with the bottom last.

// Most modules are private to this crate, and comments name them for readers of the code. Links
// that lead nowhere are errors all the same.
#![allow(rustdoc::private_intra_doc_links)]

/// Random numbers for tests.
#[cfg(test)]
#[path = "examples/support/random.rs"]
mod random;

pub mod absent;
pub mod distinct;
pub mod error;
pub mod figures;
pub(crate) mod gallop;
pub mod id;
pub mod locks;
pub mod page_url;
pub mod panics;
pub mod plain;
pub mod progress;
pub mod random_bytes;

pub mod extract;
pub mod graph;
pub mod keep;
pub mod mesh;
pub mod read;
pub mod text;

pub mod candidates;
pub mod confirm;

pub mod store;

pub mod job;

pub mod tables;

pub(crate) mod judge;
pub mod plan;

pub mod visit;

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
