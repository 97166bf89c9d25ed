//! The job file's `[confirm]`.

use crate::error::WrongValue;
use crate::text::dictionary::UserDictionary;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The evidence that decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Sketches, and the texts where they are kept.
    #[default]
    Text,
    /// The fingerprints only.
    Fingerprint,
}

/// Which facts refuse a pair if the two texts have different ones in the same place. Each value
/// includes the values before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facts {
    /// None.
    Off,
    /// Numbers, in digits or Chinese characters.
    Numbers,
    /// Names of persons, places, organisations and products.
    Names,
    /// In short texts, any content word.
    #[default]
    Words,
}

/// The job file's `[confirm]`: when a pair is accepted. Similarities are in 1/10,000.
///
/// This is decision configuration: a change re-decides every stored pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `text` or `fingerprint`. Default: text.
    pub by: By,
    /// By fingerprint: the greatest distance of the fingerprints, in bits, at most `[simhash] k`,
    /// for pairs proposed by any signature. Default: k.
    pub distance_max: Option<u32>,
    /// By text: the least similarity. Default: 8000.
    pub similarity_min: u16,
    /// By text: the least Jaccard similarity of the multisets of 2-grams, for two short contents
    /// whose texts are not kept. Default: 6700.
    pub short_similarity_min: u16,
    /// By text: the most tokens in front of one of the texts that are left out, at most 1,000.
    /// Default: 60.
    pub leading_tokens_max: u32,
    /// By text: `off`, `numbers`, `names` or `words`. Default: words.
    pub facts: Facts,
    /// By text: the longest text, in characters, that a replaced fact refuses. In a longer text it
    /// is an update of the page. Default: 4500.
    pub facts_chars_max: u32,
    /// By text: the longest text, in characters, that one replaced content word refuses. A longer
    /// text is refused if several words differ and hardly anything else
    /// ([`crate::confirm::words::template`]). Default: 300.
    pub words_chars_max: u32,
    /// By text: leave out what stands around an article
    /// ([`crate::confirm::furniture::Furniture`]). Default: true.
    pub furniture: bool,
    /// By text: the words that the job adds to the dictionary, with tags that say which are names.
    /// They belong to the identity, and are not a key of `[confirm]`.
    #[serde(skip)]
    pub dictionary: Option<Arc<UserDictionary>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            by: By::default(),
            distance_max: None,
            similarity_min: 8000,
            short_similarity_min: 6700,
            leading_tokens_max: 60,
            facts: Facts::default(),
            facts_chars_max: 4500,
            words_chars_max: 300,
            furniture: true,
            dictionary: None,
        }
    }
}

impl Options {
    /// These options with the default of `distance_max`, `k`, filled in.
    pub fn within(&self, k: u32) -> Options {
        Options { distance_max: Some(self.distance_max.unwrap_or(k)), ..self.clone() }
    }

    /// Checks the values; the error names the key.
    pub fn check(&self) -> Result<(), WrongValue> {
        let shares = [
            ("similarity_min", self.similarity_min),
            ("short_similarity_min", self.short_similarity_min),
        ];
        for (key, share) in shares {
            if !(SHARE_MIN..=10_000).contains(&share) {
                let why = format!("{share} is not within {SHARE_MIN} to 10000");
                return Err(WrongValue::new(key, why));
            }
        }
        if self.leading_tokens_max > 1000 {
            let why = format!("{} is more than 1000", self.leading_tokens_max);
            return Err(WrongValue::new("leading_tokens_max", why));
        }
        Ok(())
    }
}

/// The least value of a threshold. Below it most candidates would have to be aligned.
const SHARE_MIN: u16 = 5000;
