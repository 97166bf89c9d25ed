//! Decides which contents are compared: by the near rule those of near fingerprints, and by the
//! pivot rule those of equal fingerprints or keys.
//!
//! Every function here is pure. Nothing here knows a file, a store or an epoch.

pub mod bands;
pub mod hamming;
pub mod near;
pub mod pivots;
pub mod ranks;
