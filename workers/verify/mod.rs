//! Checks a store and reports everything that is wrong with it; changes nothing.
//!
//! [`verify`] checks the files, by their sizes or by every byte. [`deep`] checks what no digest
//! shows: that the tables agree with one another, and that no near pair is missing.

mod bands;
mod clusters;
mod components;
mod deep;
mod evidence;
mod files;
mod findings;
pub mod large_buckets;
mod live;
#[cfg(test)]
mod oracle;
mod pages;
mod pairs;
mod recall;
#[cfg(test)]
mod tampers;
#[cfg(test)]
mod tests;

pub use crate::verify::deep::deep;
pub use crate::verify::files::{Depth, verify};
pub use crate::verify::findings::{Check, Deep, FINDINGS_MAX, Finding, Recall, Report, RowFinding};
