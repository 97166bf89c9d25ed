//! Which contents are held against each other: near fingerprints, and the pivot rule for equal ones.
//!
//! Everything here is a pure function. Nothing here knows a file, a store or an epoch.

pub mod bands;
pub mod hamming;
pub mod pivots;
pub mod ranks;
