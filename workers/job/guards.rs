//! `[guards]`: shares above which an epoch looks like an accident.

use serde::{Deserialize, Serialize};

/// The job file's `[guards]`: shares above which an epoch looks like an accident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Of a source's known pages, those that a complete snapshot may lack. Silent up to [`PAGES_MIN`](crate::commit::guards::PAGES_MIN) known pages. Default: 0.3.
    pub missing_max: f64,
    /// Of all pages, those that may expire in one epoch. Silent up to [`PAGES_MIN`](crate::commit::guards::PAGES_MIN) pages. Default: 0.3.
    pub expired_max: f64,
    /// By how much the share of folded pages may differ from the last epoch's. Silent up to [`PAGES_MIN`](crate::commit::guards::PAGES_MIN) pages. Default: 0.2.
    pub folded_jump_max: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { missing_max: 0.3, expired_max: 0.3, folded_jump_max: 0.2 }
    }
}
