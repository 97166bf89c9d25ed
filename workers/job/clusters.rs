//! Chains: what the job says of clusters that grow by chains of pairs.

use serde::{Deserialize, Serialize};

/// The greatest radius that a job can set.
pub const RADIUS_MAX: u8 = 8;

/// The job file's `[clusters]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Accepted pairs by which a content may be away from the one that leads its cluster, 1 to [`RADIUS_MAX`]. Default: any number,
    /// a component is one cluster.
    pub radius: Option<u8>,
    /// Pages of a cluster above which a run warns of it; 0 is never. Default: 1,000: a text that so many pages share is rare, a
    /// template, a licence or an error page is not.
    pub pages_warn: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { radius: None, pages_warn: 1000 }
    }
}

impl Options {
    /// What is wrong with the values, naming the key.
    pub fn check(&self) -> std::result::Result<(), String> {
        match self.radius {
            Some(radius) if !(1..=RADIUS_MAX).contains(&radius) => {
                Err(format!("radius: {radius} is not within 1 to {RADIUS_MAX}"))
            }
            _ => Ok(()),
        }
    }
}
