//! Equality signatures: in comes a text, out go 64-bit keys; two contents that share a key of a signature become
//! candidates. Keys are pure functions of the text and the configuration. They propose and never decide: what a
//! candidate is worth is for the evidence to say. SimHash is configured beside them and lives elsewhere, as its buckets
//! are not of equal keys.

mod hash;
pub mod i_match;
pub mod lexicon;
pub mod minhash;
pub mod spotsigs;
pub mod super_shingles;
mod text;

pub use text::{Shinglings, Text};

use crate::error::Result;
use crate::text::features::frozen;
use crate::text::{normalize, simhash};
use i_match::IMatch;
use minhash::MinHash;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spotsigs::SpotSigs;
use std::path::PathBuf;
use super_shingles::SuperShingles;

/// The most keys that one signature gives a text; a text has at most four times as many in all.
pub const KEYS_MAX: usize = 64;

/// An equality signature. The numbers are stored; SimHash's is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// One-permutation MinHash.
    #[serde(rename = "minhash")]
    MinHash = 1,
    /// Pairs of groups of min-hashes.
    #[serde(rename = "super_shingles")]
    SuperShingles = 2,
    /// Words of middle frequency.
    #[serde(rename = "i_match")]
    IMatch = 3,
    /// Words behind stop words.
    #[serde(rename = "spotsigs")]
    SpotSigs = 4,
}

impl Kind {
    /// All of them, by number.
    pub const ALL: [Kind; 4] = [Kind::MinHash, Kind::SuperShingles, Kind::IMatch, Kind::SpotSigs];

    /// The number by which keys are stored.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The kind of `number`.
    pub fn of_number(number: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Its name in job files and exports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::MinHash => "minhash",
            Kind::SuperShingles => "super_shingles",
            Kind::IMatch => "i_match",
            Kind::SpotSigs => "spotsigs",
        }
    }
}

/// An entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum Options {
    /// SimHash: moved to where its options are by [`crate::job::Job::settled`], as it is always there and has a table of its own.
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
}

impl Options {
    /// The kind of an equality signature; none of SimHash.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Options::SimHash(_) => None,
            Options::MinHash(_) => Some(Kind::MinHash),
            Options::SuperShingles(_) => Some(Kind::SuperShingles),
            Options::IMatch(_) => Some(Kind::IMatch),
            Options::SpotSigs(_) => Some(Kind::SpotSigs),
        }
    }

    /// The signature's name.
    pub fn name(&self) -> &'static str {
        self.kind().map_or("simhash", Kind::name)
    }

    /// The file it reads, if any.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Options::IMatch(options) => Some(&options.lexicon),
            _ => None,
        }
    }

    /// The same, if it names one: a job's paths are relative to its file.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Options::IMatch(options) => Some(&mut options.lexicon).filter(|path| !path.as_os_str().is_empty()),
            _ => None,
        }
    }

    /// What is wrong with the values, naming the key.
    pub fn check(&self) -> std::result::Result<(), String> {
        match self {
            // The job checks SimHash's options with its bands.
            Options::SimHash(_) => Ok(()),
            Options::MinHash(options) => options.check(),
            Options::SuperShingles(options) => options.check(),
            Options::IMatch(options) => options.check(),
            Options::SpotSigs(options) => options.check(),
        }
    }

    fn uses_words(&self) -> bool {
        match self {
            Options::SimHash(_) | Options::MinHash(_) => false,
            Options::SuperShingles(options) => options.unit == crate::text::features::Unit::Words,
            Options::IMatch(_) | Options::SpotSigs(_) => true,
        }
    }

    fn identity(&self) -> Result<Value> {
        Ok(match self {
            Options::SimHash(options) => json!({ "options": options }),
            Options::MinHash(options) => json!({ "version": minhash::VERSION, "options": options }),
            Options::SuperShingles(options) => json!({ "version": super_shingles::VERSION, "options": options }),
            Options::SpotSigs(options) => json!({ "version": spotsigs::VERSION, "options": options }),
            Options::IMatch(options) => {
                let bytes = frozen(&options.lexicon)?;
                // What the file says counts, not where it lies.
                let digest = PathBuf::from(blake3::hash(&bytes).to_hex().to_string());
                json!({ "version": i_match::VERSION, "options": i_match::Options { lexicon: digest, ..options.clone() } })
            }
        })
    }
}

/// The signatures beside SimHash of a job that names none: MinHash.
pub fn default_list() -> Vec<Options> {
    vec![Options::MinHash(minhash::Options::default())]
}

/// What is wrong with a job's `list`, naming the signature and the key. Each signature is there once at most, so that
/// its number tells whose a key is, whatever the order of the list.
pub fn check(list: &[Options]) -> std::result::Result<(), String> {
    for (at, options) in list.iter().enumerate() {
        let name = options.name();
        if options.kind().is_none() {
            return Err("[[signatures]] kind: simhash is there twice".into());
        }
        if list[..at].iter().any(|before| before.name() == name) {
            return Err(format!("[[signatures]] kind: {name} is there twice"));
        }
        options.check().map_err(|why| format!("[[signatures]] {name}: {why}"))?;
    }
    Ok(())
}

/// The part of the identity configuration that `list` makes: versions, options, digests of files; by name, whatever
/// their order.
pub fn identity(list: &[Options]) -> Result<Value> {
    let by_name = list.iter().map(|options| Ok((options.name().to_owned(), options.identity()?)));
    Ok(Value::Object(by_name.collect::<Result<_>>()?))
}

/// A key of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Whose it is: keys of different signatures never meet.
    pub kind: Kind,
    /// The key, spread evenly over 64 bits.
    pub key: u64,
}

/// Makes a text's keys; one for each worker, sharing what is read from files.
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
}

impl Signer {
    /// A signer for the equality signatures of `list`, which is checked. Reads the files that it names; the words in
    /// them are normalised as `normal` says.
    pub fn new(list: &[Options], normal: &normalize::Options) -> Result<Signer> {
        let mut makers = Vec::new();
        for options in list {
            makers.push(match options {
                Options::SimHash(_) => continue,
                Options::MinHash(options) => Maker::MinHash(MinHash::new(options)),
                Options::SuperShingles(options) => Maker::SuperShingles(SuperShingles::new(options)),
                Options::IMatch(options) => Maker::IMatch(IMatch::new(options, normal)?),
                Options::SpotSigs(options) => Maker::SpotSigs(SpotSigs::new(options)),
            });
        }
        Ok(Signer { makers, uses_words: list.iter().any(Options::uses_words), keys: Vec::new() })
    }

    /// Whether a text must come with its words.
    pub fn uses_words(&self) -> bool {
        self.uses_words
    }

    /// Appends the keys of `text` to `out`: sorted, distinct, [`KEYS_MAX`] of each signature at most.
    pub fn sign(&mut self, text: &mut Text<'_>, out: &mut Vec<Key>) {
        let start = out.len();
        for maker in &mut self.makers {
            self.keys.clear();
            let kind = match maker {
                Maker::MinHash(maker) => {
                    maker.keys(text, &mut self.keys);
                    Kind::MinHash
                }
                Maker::SuperShingles(maker) => {
                    maker.keys(text, &mut self.keys);
                    Kind::SuperShingles
                }
                Maker::IMatch(maker) => {
                    maker.keys(text, &mut self.keys);
                    Kind::IMatch
                }
                Maker::SpotSigs(maker) => {
                    maker.keys(text, &mut self.keys);
                    Kind::SpotSigs
                }
            };
            self.keys.sort_unstable();
            self.keys.dedup();
            debug_assert!(self.keys.len() <= KEYS_MAX, "{} keys of {}", self.keys.len(), kind.name());
            out.extend(self.keys.iter().map(|&key| Key { kind, key }));
        }
        out[start..].sort_unstable();
    }
}

#[cfg(test)]
mod tests;
