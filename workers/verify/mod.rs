//! Verify: in comes a store, out goes what is wrong with it; nothing is changed and nothing stops at the first finding. [`verify`] looks at files,
//! by their sizes or by every byte; [`deep`] at what no digest can tell: that the tables agree with one another, and that
//! the near pairs are really all there.

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

pub use deep::deep;
pub use files::verify;
pub use findings::{Check, Deep, FINDINGS_MAX, Finding, Recall, Report, RowFinding};
