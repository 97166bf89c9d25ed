//! Kept text: which texts the store keeps beside their sketches.

use serde::{Deserialize, Serialize};

/// Which texts the store keeps beside their sketches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// All.
    #[default]
    All,
    /// Those of fewer than [`SHORT_CHARS`] characters.
    Short,
    /// None.
    None,
}

/// Texts of fewer characters are short: a verdict on them needs the text itself more than others do.
pub const SHORT_CHARS: u32 = 160;
/// Bytes beyond which a text is not kept.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// The job file's `[contents]`: what the store remembers of a text. Identity configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Which texts are kept, compressed, to decide by: `all`, `short` or `none`. Without text a verdict is as sure as
    /// sketches are. Default: all.
    pub text: Keep,
}

impl Options {
    /// Whether the text `normal` of `chars` characters is kept.
    pub fn keeps(&self, normal: &str, chars: u32) -> bool {
        let wanted = match self.text {
            Keep::All => true,
            Keep::Short => chars < SHORT_CHARS,
            Keep::None => false,
        };
        wanted && normal.len() <= TEXT_BYTES_MAX
    }
}
