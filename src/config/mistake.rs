//! A mistake in a file.

use crate::config::written::At;

/// One mistake: where it is written, and one line about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where it is written; `None` for a key that is missing.
    pub at: Option<At>,
    /// The key, the given value, and the allowed ones.
    pub why: String,
}
