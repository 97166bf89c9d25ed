//! Decides which contents are compared: those of near fingerprints, and by the pivot rule those of
//! equal fingerprints or keys.
//!
//! Every function here is pure. Nothing here knows a file, a store or an epoch.

pub mod bands;
pub mod hamming;
pub mod pivots;
pub mod ranks;
