//! Equality signatures: 64-bit keys of a text; two contents that share a key become candidates.
//!
//! Keys are pure functions of the text and the configuration. They propose pairs; the evidence
//! decides them. SimHash is configured in the same list but lives in [`crate::text::simhash`],
//! because its candidates are near fingerprints, not equal keys.

pub mod i_match;
pub mod lexicon;
pub mod minhash;
mod partitions;
pub mod sentences;
pub mod spotsigs;
pub mod super_shingles;
mod text;

pub use crate::text::signatures::text::{KEYS_MAX, Shinglings, Text};

use crate::error::Result;
use crate::text::features::frozen;
use crate::text::signatures::i_match::IMatch;
use crate::text::signatures::minhash::MinHash;
use crate::text::signatures::sentences::Sentences;
use crate::text::signatures::spotsigs::SpotSigs;
use crate::text::signatures::super_shingles::SuperShingles;
use crate::text::{normalize, simhash};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// An equality signature. The numbers are stored; SimHash's is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum SignatureKind {
    /// One-permutation MinHash.
    #[serde(rename = "minhash")]
    MinHash = 1,
    /// Super-shingles: pairs of groups of min-hashes.
    #[serde(rename = "super_shingles")]
    SuperShingles = 2,
    /// I-Match: words of middle frequency.
    #[serde(rename = "i_match")]
    IMatch = 3,
    /// SpotSigs: words that follow stop words.
    #[serde(rename = "spotsigs")]
    SpotSigs = 4,
    /// Long sentences, and parts of short texts.
    #[serde(rename = "sentences")]
    Sentences = 5,
}

impl SignatureKind {
    /// All equality signatures, by number.
    pub const ALL: [SignatureKind; 5] = [
        SignatureKind::MinHash,
        SignatureKind::SuperShingles,
        SignatureKind::IMatch,
        SignatureKind::SpotSigs,
        SignatureKind::Sentences,
    ];

    /// The number that is stored with keys.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The signature of `number`, if there is one.
    pub fn of_number(number: u8) -> Option<SignatureKind> {
        SignatureKind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The name in job files and exports.
    pub fn name(self) -> &'static str {
        match self {
            SignatureKind::MinHash => "minhash",
            SignatureKind::SuperShingles => "super_shingles",
            SignatureKind::IMatch => "i_match",
            SignatureKind::SpotSigs => "spotsigs",
            SignatureKind::Sentences => "sentences",
        }
    }
}

/// An entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum Options {
    /// SimHash. `Job::settled` moves its options to the job's table `[simhash]`.
    #[serde(rename = "simhash")]
    SimHash(simhash::Options),
    /// One-permutation MinHash.
    #[serde(rename = "minhash")]
    MinHash(minhash::Options),
    /// Super-shingles.
    #[serde(rename = "super_shingles")]
    SuperShingles(super_shingles::Options),
    /// I-Match.
    #[serde(rename = "i_match")]
    IMatch(i_match::Options),
    /// SpotSigs.
    #[serde(rename = "spotsigs")]
    SpotSigs(spotsigs::Options),
    /// Sentences.
    #[serde(rename = "sentences")]
    Sentences(sentences::Options),
}

impl Options {
    /// The kind of an equality signature; `None` for SimHash.
    pub fn kind(&self) -> Option<SignatureKind> {
        match self {
            Options::SimHash(_) => None,
            Options::MinHash(_) => Some(SignatureKind::MinHash),
            Options::SuperShingles(_) => Some(SignatureKind::SuperShingles),
            Options::IMatch(_) => Some(SignatureKind::IMatch),
            Options::SpotSigs(_) => Some(SignatureKind::SpotSigs),
            Options::Sentences(_) => Some(SignatureKind::Sentences),
        }
    }

    /// The signature's name.
    pub fn name(&self) -> &'static str {
        self.kind().map_or("simhash", SignatureKind::name)
    }

    /// The file that the signature reads, if any.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Options::IMatch(options) => Some(&options.lexicon),
            _ => None,
        }
    }

    /// The file that the signature reads, if it is named. It is made relative to the job file.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Options::IMatch(options) => {
                Some(&mut options.lexicon).filter(|path| !path.as_os_str().is_empty())
            }
            _ => None,
        }
    }

    /// Checks the values; the error names the key.
    pub fn check(&self) -> std::result::Result<(), String> {
        match self {
            // `Job::check` checks SimHash's options.
            Options::SimHash(_) => Ok(()),
            Options::MinHash(options) => options.check(),
            Options::SuperShingles(options) => options.check(),
            Options::IMatch(options) => options.check(),
            Options::SpotSigs(options) => options.check(),
            Options::Sentences(options) => options.check(),
        }
    }

    fn uses_words(&self) -> bool {
        match self {
            Options::SimHash(_) | Options::MinHash(_) | Options::Sentences(_) => false,
            Options::SuperShingles(options) => options.unit == crate::text::features::Unit::Words,
            Options::IMatch(_) | Options::SpotSigs(_) => true,
        }
    }

    fn identity(&self) -> Result<Value> {
        Ok(match self {
            Options::SimHash(options) => json!({ "options": options }),
            Options::MinHash(options) => json!({ "version": minhash::VERSION, "options": options }),
            Options::SuperShingles(options) => {
                json!({ "version": super_shingles::VERSION, "options": options })
            }
            Options::SpotSigs(options) => {
                json!({ "version": spotsigs::VERSION, "options": options })
            }
            Options::Sentences(options) => {
                json!({ "version": sentences::VERSION, "options": options })
            }
            Options::IMatch(options) => {
                let bytes = frozen(&options.lexicon, "i-match")?;
                // The file's content is the identity, not its path.
                let digest = PathBuf::from(blake3::hash(&bytes).to_hex().to_string());
                json!({ "version": i_match::VERSION, "options": i_match::Options { lexicon: digest, ..options.clone() } })
            }
        })
    }
}

/// The equality signatures of a job that does not list any: MinHash and sentences.
pub fn default_list() -> Vec<Options> {
    vec![
        Options::MinHash(minhash::Options::default()),
        Options::Sentences(sentences::Options::default()),
    ]
}

/// Checks a job's `list`; the error is the signature's name and a line that names the key.
///
/// Each signature may occur once, so that its number identifies its keys in any order of the list.
pub fn check(list: &[Options]) -> std::result::Result<(), (&'static str, String)> {
    for (at, options) in list.iter().enumerate() {
        let name = options.name();
        if options.kind().is_none() || list[..at].iter().any(|before| before.name() == name) {
            return Err((name, format!("[[signatures]] kind: {name} is there twice")));
        }
        options.check().map_err(|why| (name, format!("[[signatures]] {name}: {why}")))?;
    }
    Ok(())
}

/// The identity of the signatures: versions, options and digests of files, by name.
pub fn identity(list: &[Options]) -> Result<Value> {
    let by_name = list.iter().map(|options| Ok((options.name().to_owned(), options.identity()?)));
    Ok(Value::Object(by_name.collect::<Result<_>>()?))
}

/// A key of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The signature that made it. Keys of different signatures are never compared.
    pub kind: SignatureKind,
    /// The key, uniform over 64 bits.
    pub key: u64,
}

/// Makes a text's keys. Each worker has its own; clones share what was read from files.
///
/// ```
/// use std::collections::BTreeSet;
/// use workers::text::normalize;
/// use workers::text::signatures::{Shinglings, Signer, Text, default_list};
///
/// // By default MinHash, 10 keys of 64 bits from the 5-grams of a text, and sentences of short
/// // texts.
/// let mut signer = Signer::new(&default_list(), &normalize::Options::default())?;
/// let mut shinglings = Shinglings::default();
/// let mut keys = |normal: &str| {
///     let mut keys = Vec::new();
///     signer.sign(&mut Text::new(normal, &[], &mut shinglings), &mut keys);
///     BTreeSet::from_iter(keys)
/// };
/// let text: String = ('\u{4e00}'..'\u{5200}').collect();
/// let (whole, most) = (keys(&text), keys(&text[60..]));
/// assert_eq!(whole.len(), 10);
/// assert!(!whole.is_disjoint(&most), "20 of 1,024 letters less");
/// # Ok::<(), workers::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Signer {
    makers: Vec<Maker>,
    uses_words: bool,
    keys: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Maker {
    MinHash(MinHash),
    SuperShingles(SuperShingles),
    IMatch(IMatch),
    SpotSigs(SpotSigs),
    Sentences(Sentences),
}

impl Maker {
    fn kind(&self) -> SignatureKind {
        match self {
            Maker::MinHash(_) => SignatureKind::MinHash,
            Maker::SuperShingles(_) => SignatureKind::SuperShingles,
            Maker::IMatch(_) => SignatureKind::IMatch,
            Maker::SpotSigs(_) => SignatureKind::SpotSigs,
            Maker::Sentences(_) => SignatureKind::Sentences,
        }
    }

    fn keys(&mut self, text: &mut Text<'_>, out: &mut Vec<u64>) {
        match self {
            Maker::MinHash(maker) => maker.keys(text, out),
            Maker::SuperShingles(maker) => maker.keys(text, out),
            Maker::IMatch(maker) => maker.keys(text, out),
            Maker::SpotSigs(maker) => maker.keys(text, out),
            Maker::Sentences(maker) => maker.keys(text, out),
        }
    }
}

impl Signer {
    /// A signer for the equality signatures of a checked `list`.
    ///
    /// Reads the files that the list names; `normal` says how their words are normalised.
    pub fn new(list: &[Options], normal: &normalize::Options) -> Result<Signer> {
        let mut makers = Vec::new();
        for options in list {
            makers.push(match options {
                Options::SimHash(_) => continue,
                Options::MinHash(options) => Maker::MinHash(MinHash::new(options)),
                Options::SuperShingles(options) => {
                    Maker::SuperShingles(SuperShingles::new(options))
                }
                Options::IMatch(options) => Maker::IMatch(IMatch::new(options, normal)?),
                Options::SpotSigs(options) => Maker::SpotSigs(SpotSigs::new(options)),
                Options::Sentences(options) => Maker::Sentences(Sentences::new(options)),
            });
        }
        Ok(Signer { makers, uses_words: list.iter().any(Options::uses_words), keys: Vec::new() })
    }

    /// Whether [`Text`]s need their words.
    pub fn uses_words(&self) -> bool {
        self.uses_words
    }

    /// Appends the keys of `text` to `out`: sorted, distinct, at most [`KEYS_MAX`] of each
    /// signature.
    pub fn sign(&mut self, text: &mut Text<'_>, out: &mut Vec<Key>) {
        let start = out.len();
        for maker in &mut self.makers {
            let kind = maker.kind();
            self.keys.clear();
            maker.keys(text, &mut self.keys);
            self.keys.sort_unstable();
            self.keys.dedup();
            debug_assert!(
                self.keys.len() <= KEYS_MAX,
                "{} keys of {}",
                self.keys.len(),
                kind.name()
            );
            out.extend(self.keys.iter().map(|&key| Key { kind, key }));
        }
        out[start..].sort_unstable();
    }
}

#[cfg(test)]
mod tests;
