//! The job file's `[clusters]`: how far a cluster reaches, and which texts fold no pages.

use crate::error::WrongValue;
use serde::{Deserialize, Serialize};

/// The greatest radius that a job can set.
pub const RADIUS_MAX: u8 = 8;

/// The version of the rules by which clusters are made; part of the view. With another version
/// every cluster of a store is made again.
pub const VERSION: u32 = 1;

/// The job file's `[clusters]`. View configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The greatest distance of a content from the leader of its cluster, in accepted pairs, up to
    /// [`RADIUS_MAX`]; 0 is any distance, so that a component is one cluster. Default: 1, so that a
    /// content that folds has an accepted pair with the content that it folds into.
    pub radius: u8,
    /// Texts of fewer letters fold no pages, nor do error pages, login and consent walls; 0: all
    /// texts fold. Letters are those of [`crate::text::letters::weight`]. Default: 10.
    pub letters_min: u32,
    /// A run warns of clusters with more pages than this; 0: never. Default: 1,000. So many copies
    /// of one text are rare, but a template, a licence or an error page often has them.
    pub pages_warn: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { radius: 1, letters_min: 10, pages_warn: 1000 }
    }
}

impl Options {
    /// Checks the values.
    pub fn check(&self) -> Result<(), WrongValue> {
        match self.radius {
            radius if radius > RADIUS_MAX => {
                let why = format!("{radius} is not within 0 to {RADIUS_MAX}");
                Err(WrongValue::new("radius", why))
            }
            _ => Ok(()),
        }
    }

    /// Whether the pages of a text stay apart, because the text says too little. It has `letters`,
    /// and `is_notice` says whether it is a notice ([`crate::text::little::is_notice`]).
    pub fn says_little(&self, letters: u32, is_notice: bool) -> bool {
        self.letters_min > 0 && (is_notice || letters < self.letters_min)
    }
}
