//! A text and what is computed from it alone: its one normal form, words, fingerprint, keys, sketches, numbers.
//!
//! Everything here is a pure function of a text and the configuration. Nothing here knows a file, a store or an epoch.

pub mod features;
pub mod normalize;
pub mod numerals;
pub mod shingles;
pub mod signatures;
pub mod simhash;
pub mod sketch;
