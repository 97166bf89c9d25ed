//! The job file: the options of all stages.
//!
//! A table has the name of the room that it configures. Options of rooms below are defined there;
//! those of rooms above are defined here, because arrows never run up. There are three classes.
//! Identity says what a content is and which buckets it belongs to, and is fixed for the life of a
//! store. Decision says what evidence a pair needs. View says which page represents a cluster, how
//! far a cluster reaches and what is exported.

pub mod clusters;
pub mod contents;
pub mod guards;
mod output;
pub mod pages;
mod read;

pub use output::{Form, Output, When, check_ping};
pub use read::Read;

use crate::candidates::bands::Bands;
use crate::error::{Error, Kind, Result};
use crate::graph::representative;
use crate::job::read::SOURCE_BYTES_MAX;
use crate::text::{features, normalize, numerals, shingles, signatures, simhash, sketch};
use crate::{confirm, document, extract};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};

/// A job file, with paths relative to the working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The store's folder.
    pub store: PathBuf,
    /// Which inputs are read.
    pub read: Read,
    /// How the main text of a page is extracted.
    #[serde(default)]
    pub extract: extract::Options,
    /// How text is normalised.
    #[serde(default)]
    pub normalize: normalize::Options,
    /// Which features a text has.
    #[serde(default)]
    pub features: features::Options,
    /// The first signature. Its options may be in `signatures` instead.
    #[serde(default)]
    pub simhash: simhash::Options,
    /// The equality signatures. Default: MinHash.
    #[serde(default = "signatures::default_list")]
    pub signatures: Vec<signatures::Options>,
    /// What the store keeps of texts.
    #[serde(default)]
    pub contents: contents::Options,
    /// How long pages are kept.
    #[serde(default)]
    pub pages: pages::Options,
    /// When two contents are joined.
    #[serde(default)]
    pub confirm: confirm::Options,
    /// When an epoch looks like an accident.
    #[serde(default)]
    pub guards: guards::Options,
    /// Which page represents a cluster.
    #[serde(default)]
    pub keep: representative::Options,
    /// How far a cluster reaches.
    #[serde(default)]
    pub clusters: clusters::Options,
    /// Where results go.
    pub output: Output,
}

impl Job {
    /// Moves SimHash's options from `[[signatures]]`, if they are there, to `[simhash]`.
    ///
    /// SimHash is always computed, and its candidates are found in another way than those of equal
    /// keys. The error names the keys.
    pub fn settled(mut self) -> std::result::Result<Job, String> {
        let at = self.signatures.iter().position(|options| matches!(options, signatures::Options::SimHash(_)));
        if let Some(signatures::Options::SimHash(options)) = at.map(|at| self.signatures.remove(at)) {
            if self.simhash != simhash::Options::default() {
                return Err("[[signatures]] kind: simhash has options in [simhash] already".into());
            }
            self.simhash = options;
        }
        Ok(self)
    }

    /// The files that the job reads in addition to its inputs.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let signatures = self.signatures.iter().filter_map(signatures::Options::path);
        [&self.features.idf, &self.features.stop_words].into_iter().flatten().chain(signatures)
    }

    /// Makes relative paths relative to `folder`, the folder of the job file.
    pub fn relative_to(mut self, folder: &Path) -> Job {
        let paths = [&mut self.store, &mut self.output.dir].into_iter().chain(&mut self.read.inputs);
        let paths = paths.chain(self.signatures.iter_mut().filter_map(signatures::Options::path_mut));
        let paths = paths.chain(&mut self.features.idf).chain(&mut self.features.stop_words);
        for path in paths.chain(&mut self.output.metrics) {
            *path = tidy(&folder.join(&path));
        }
        self
    }

    /// Checks the values; the error names the key.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.read.inputs.is_empty() {
            return Err("[read] inputs: names no input".into());
        }
        let shares = [
            ("[read] rejects_max", self.read.rejects_max),
            ("[guards] missing_max", self.guards.missing_max),
            ("[guards] expired_max", self.guards.expired_max),
            ("[guards] folded_jump_max", self.guards.folded_jump_max),
        ];
        for (key, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is no share between 0 and 1"));
            }
        }
        if self.read.source.is_empty() || self.read.source.len() > SOURCE_BYTES_MAX {
            return Err(format!("[read] source: not of 1 to {SOURCE_BYTES_MAX} bytes"));
        }
        self.pages.check().map_err(|why| format!("[pages] {why}"))?;
        if self.confirm.distance_max.is_some_and(|max| max > self.simhash.k) {
            return Err(format!("[confirm] distance_max: more than [simhash] k = {}", self.simhash.k));
        }
        self.confirm.check().map_err(|why| format!("[confirm] {why}"))?;
        signatures::check(&self.signatures)?;
        self.read.options().check().map_err(|why| format!("[read]: {why}"))?;
        if !(1..=64).contains(&self.features.characters) {
            return Err(format!("[features] characters: {} is not within 1 to 64", self.features.characters));
        }
        if self.keep.by.len() > representative::CRITERIA_MAX {
            return Err(format!("[keep] by: more than {} criteria", representative::CRITERIA_MAX));
        }
        self.clusters.check().map_err(|why| format!("[clusters] {why}"))?;
        if self.output.formats.is_empty() {
            return Err("[output] formats: names none of jsonl, parquet".into());
        }
        if let Some(url) = &self.output.ping {
            check_ping(url).map_err(|why| format!("[output] ping: {why}"))?;
        }
        let (store, dir) = (tidy(&self.store), tidy(&self.output.dir));
        if self.output.metrics.as_deref().map(tidy).is_some_and(|metrics| metrics.starts_with(&store)) {
            return Err("[output] metrics: lies in the store".into());
        }
        if store.starts_with(&dir) || dir.starts_with(&store) {
            return Err("[output] dir: lies in the store, or the store in it".into());
        }
        self.try_bands().map(drop)
    }

    /// The bands of SimHash. Fails only for a job that [`Job::check`] refuses.
    pub fn bands(&self) -> Result<Bands> {
        self.try_bands().map_err(|why| Error::new(Kind::Config, why))
    }

    fn try_bands(&self) -> std::result::Result<Bands, String> {
        Bands::new(self.simhash.k, self.simhash.bands).map_err(|why| format!("[simhash] k, bands: {why}"))
    }

    /// The options that decide a pair, with every default filled in.
    pub fn verdicts(&self) -> confirm::Options {
        self.confirm.within(self.simhash.k)
    }

    /// The identity configuration, which is fixed for a store.
    pub fn identity(&self) -> Result<Value> {
        let digest = |path: &Option<PathBuf>| -> Result<Option<String>> {
            let Some(path) = path else { return Ok(None) };
            Ok(Some(blake3::hash(&features::frozen(path)?).to_hex().to_string()))
        };
        let features = json!({
            "version": features::VERSION,
            "unit": self.features.unit,
            "characters": self.features.characters,
            "weight": self.features.weight,
            "idf": digest(&self.features.idf)?,
            "stop_words": digest(&self.features.stop_words)?,
            "features_min": self.features.features_min,
        });
        Ok(json!({
            "canonical_url": document::CANONICAL_URL_VERSION,
            "extract": { "version": extract::VERSION, "options": self.extract },
            "normalize": { "version": normalize::VERSION, "options": self.normalize },
            "features": features,
            "simhash": self.simhash,
            "signatures": signatures::identity(&self.signatures)?,
            "contents": {
                "sketch": sketch::VERSION,
                "shingles": shingles::VERSION,
                "numerals": numerals::VERSION,
                "options": self.contents,
            },
        }))
    }

    /// The decision configuration.
    pub fn decision(&self) -> Value {
        json!({ "confirm": self.confirm })
    }

    /// The view configuration.
    pub fn view(&self) -> Value {
        json!({ "keep": self.keep, "clusters": { "radius": self.clusters.radius } })
    }
}

/// `path` without `folder/..`, unless that folder is a symbolic link: `out/demo` is easier to read
/// than `jobs/../out/demo`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        let climbs = part == Component::ParentDir
            && matches!(tidy.components().next_back(), Some(Component::Normal(_)))
            && !tidy.is_symlink();
        if climbs {
            tidy.pop();
        } else if part != Component::CurDir {
            tidy.push(part);
        }
    }
    tidy
}
