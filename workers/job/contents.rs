//! The job file's `[contents]`: what the store keeps of a text besides its fingerprint.

use serde::{Deserialize, Serialize};

/// Which texts the store keeps in addition to their sketches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// All texts.
    #[default]
    All,
    /// Texts of fewer than [`SHORT_CHARS`] characters.
    Short,
    /// No text.
    None,
}

/// Texts of fewer characters are short. Their verdicts depend on the text more than the verdicts of
/// longer texts.
pub const SHORT_CHARS: u32 = 160;

/// The job file's `[contents]`: what the store keeps of a text. Identity configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether the table `evidence` is kept. Without it fingerprints alone propose and decide, so
    /// the job must leave out texts and all other signatures. Default: true.
    // A job without the key has the identity of stores that were built before the key existed.
    #[serde(skip_serializing_if = "is_kept")]
    pub evidence: bool,
    /// Which texts are kept, compressed, to decide pairs: `all`, `short` or `none`. Without texts a
    /// verdict is as accurate as sketches. Default: all.
    pub text: Keep,
}

fn is_kept(evidence: &bool) -> bool {
    *evidence
}

impl Default for Options {
    fn default() -> Options {
        Options { evidence: true, text: Keep::default() }
    }
}

impl Options {
    /// Whether a text of `chars` characters is kept.
    pub fn keeps(&self, chars: u32) -> bool {
        match self.text {
            Keep::All => true,
            Keep::Short => chars < SHORT_CHARS,
            Keep::None => false,
        }
    }
}
