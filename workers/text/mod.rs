//! Everything that is computed from one text alone.
//!
//! A text is normalised once; features, fingerprint, keys, sketches and numbers derive from that
//! string. Every function is pure: it depends on the text and the configuration, and knows no store
//! and no epoch. The only files read are the frozen word lists that a job names.

pub mod characters;
pub(crate) mod dictionary;
pub mod features;
pub mod furniture;
pub(crate) mod hash;
pub mod letters;
pub mod lists;
pub mod little;
mod ln;
mod log2;
pub mod normalize;
pub mod number_set;
pub mod packed;
pub mod segment;
pub mod shingles;
pub mod signatures;
pub mod simhash;
pub mod site_lines;
pub mod sketch;
pub mod tagged;
pub mod tally;
