//! A mistake in a file.

use crate::config::written::At;

/// One mistake: where it is written, and one line about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where it is written; none for something that is missing.
    pub at: Option<At>,
    /// The key, what was given, and what is wanted.
    pub why: String,
}
