//! Answers about a store that epochs change meanwhile.
//!
//! Nothing here knows HTTP: `src/serve` brings the requests. [`heads::Heads`] holds the index of the
//! latest head and moves to the next one beside the answers that are under way.

pub mod heads;
