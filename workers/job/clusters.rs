//! The job file's `[clusters]`: limits for clusters that grow along chains of pairs.

use serde::{Deserialize, Serialize};

/// The greatest radius that a job can set.
pub const RADIUS_MAX: u8 = 8;

/// The job file's `[clusters]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The greatest distance of a content from the leader of its cluster, in accepted pairs, 1 to
    /// [`RADIUS_MAX`]. Default: any distance, so that a component is one cluster.
    pub radius: Option<u8>,
    /// A run warns of clusters with more pages than this; 0 is never. Default: 1,000. A text shared
    /// by so many pages is rare, but a template, a licence or an error page is not.
    pub pages_warn: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { radius: None, pages_warn: 1000 }
    }
}

impl Options {
    /// Checks the values; the error names the key.
    pub fn check(&self) -> std::result::Result<(), String> {
        match self.radius {
            Some(radius) if !(1..=RADIUS_MAX).contains(&radius) => {
                Err(format!("radius: {radius} is not within 1 to {RADIUS_MAX}"))
            }
            _ => Ok(()),
        }
    }
}
