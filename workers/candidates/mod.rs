//! Decides which contents are compared: the near rule for contents of near fingerprints, the pivot
//! rule for contents of equal fingerprints or keys.
//!
//! Every function here is pure. Nothing here knows a file, a store or an epoch.

pub mod bands;
pub mod hamming;
pub mod near;
pub mod pivots;
pub mod ranks;
