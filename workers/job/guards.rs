//! The job file's `[guards]`: shares above which an epoch looks like an accident.

use serde::{Deserialize, Serialize};

/// The job file's `[guards]`: shares above which an epoch is not committed.
///
/// Such an epoch looks like an accident. Guards do not apply up to `commit::guards::PAGES_MIN`
/// pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The share of accepted rows that may lose to a row of the same key and date with another
    /// text. Default: 0.01.
    pub overwritten_max: f64,
    /// The share of a source's known pages that a complete snapshot may lack. Default: 0.3.
    pub missing_max: f64,
    /// The share of all pages that may expire in one epoch. Default: 0.3.
    pub expired_max: f64,
    /// The greatest difference between the shares of folded pages of two epochs. Default: 0.2.
    pub folded_jump_max: f64,
    /// The share of a source's or a host's pages that one epoch may move into clusters which have
    /// 100 or more of its pages each. Default: 0.9.
    pub source_folded_max: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            overwritten_max: 0.01,
            missing_max: 0.3,
            expired_max: 0.3,
            folded_jump_max: 0.2,
            source_folded_max: 0.9,
        }
    }
}
