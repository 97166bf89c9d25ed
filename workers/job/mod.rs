//! The job file: the options of all stages.
//!
//! Options of rooms below are defined there; options of rooms above are defined here, because a
//! room never uses one above it. There are three classes. The identity says what a content is and
//! which buckets it belongs to, and is fixed for the life of a store. The decision says what
//! evidence a pair needs. The view says which page represents a cluster, how far a cluster reaches
//! and what is exported.

pub mod clusters;
mod configuration;
pub mod contents;
pub(crate) mod guards;
mod output;
pub mod pages;
pub mod pattern;
mod places;
mod read;
mod serve;
mod wrongs;

pub use crate::job::output::{Form, Output, Results, TableForms, When, check_ping};
pub use crate::job::places::{base, collide, resolved};
pub use crate::job::read::{Read, are_too_many};
pub use crate::job::serve::Serve;
pub use crate::job::wrongs::Wrong;

use crate::candidates::bands::Bands;
use crate::error::{Error, Kind, Result};
use crate::keep;
use crate::text::dictionary::UserDictionary;
use crate::text::signatures::SignatureKind;
use crate::text::{features, normalize, signatures, simhash};
use crate::{confirm, extract};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Whether MinHash proposes pairs. Default: true.
    #[serde(default = "yes")]
    pub minhash: bool,
    /// Whether sentences propose pairs. Default: true.
    #[serde(default = "yes")]
    pub sentences: bool,
    /// The equality signatures. MinHash and sentences are always among them, unless a switch above
    /// is false.
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
    pub keep: keep::Options,
    /// How far a cluster reaches.
    #[serde(default)]
    pub clusters: clusters::Options,
    /// Where results go.
    pub output: Output,
    /// What a server inserts.
    #[serde(default)]
    pub serve: Serve,
}

fn yes() -> bool {
    true
}

impl Job {
    /// The job with all its signatures in one form.
    ///
    /// SimHash's options move from `[[signatures]]`, if they are there, to `[simhash]`: it is
    /// always computed, and its candidates are not found by equal keys. A list of other signatures
    /// adds to MinHash and sentences. Only `minhash = false` and `sentences = false` leave these
    /// out, so that a job that adds a signature does not drop them.
    pub fn settled(mut self) -> std::result::Result<Job, Wrong> {
        let at = self
            .signatures
            .iter()
            .position(|options| matches!(options, signatures::Options::SimHash(_)));
        if let Some(signatures::Options::SimHash(options)) = at.map(|at| self.signatures.remove(at))
        {
            if self.simhash != simhash::Options::default() {
                let why = "[[signatures]] kind: simhash has options in [simhash] already";
                return Err(Wrong { key: "signatures.simhash".into(), why: why.into() });
            }
            self.simhash = options;
        }
        let is_left_out = |kind| match kind {
            Some(SignatureKind::MinHash) => !self.minhash,
            Some(SignatureKind::Sentences) => !self.sentences,
            _ => false,
        };
        let mut settled = Vec::new();
        for default in signatures::default_list() {
            let listed =
                self.signatures.iter().position(|options| options.kind() == default.kind());
            settled.push(listed.map_or(default, |at| self.signatures.remove(at)));
        }
        settled.append(&mut self.signatures);
        settled.retain(|options| !is_left_out(options.kind()));
        self.signatures = settled;
        Ok(self)
    }

    /// The name of the only signature that proposes pairs; `None` if there are several.
    pub fn single_signature(&self) -> Option<&'static str> {
        self.signatures.is_empty().then_some("simhash")
    }

    /// The files that the job reads in addition to its inputs.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let signatures = self.signatures.iter().filter_map(signatures::Options::path);
        let features::Options { idf, stop_words, dictionary, .. } = &self.features;
        [idf, stop_words, dictionary, &self.extract.furniture]
            .into_iter()
            .flatten()
            .chain(signatures)
    }

    /// Makes relative paths relative to `folder`, the folder of the job file.
    pub fn relative_to(mut self, folder: &Path) -> Job {
        // Absolute, so that an input is the same whatever folder a run is started in.
        let of_inputs = std::path::absolute(if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        });
        let of_inputs = of_inputs.unwrap_or_else(|_| folder.to_owned());
        for input in &mut self.read.inputs {
            *input = pattern::below(&of_inputs, input, places::tidy);
        }
        if let Some(inbox) = &mut self.serve.inbox {
            *inbox = places::tidy(&of_inputs.join(&inbox));
            // The sealed files of the inbox are inputs like others.
            self.read.inputs.push(serve::sealed(inbox));
        }
        let paths = [&mut self.store, &mut self.output.dir].into_iter();
        let paths =
            paths.chain(self.signatures.iter_mut().filter_map(signatures::Options::path_mut));
        let paths = paths.chain(&mut self.features.idf).chain(&mut self.features.stop_words);
        let paths = paths.chain(&mut self.features.dictionary).chain(&mut self.extract.furniture);
        for path in paths.chain(&mut self.output.metrics) {
            *path = places::tidy(&folder.join(&path));
        }
        self
    }

    /// The bands of SimHash. Fails only for a job that [`Job::wrongs`] names.
    pub fn bands(&self) -> Result<Bands> {
        self.try_bands().map_err(|why| Error::new(Kind::Config, why))
    }

    fn try_bands(&self) -> std::result::Result<Bands, String> {
        Bands::new(self.simhash.k, self.simhash.bands)
            .map_err(|why| format!("[simhash] k, bands: {why}"))
    }

    /// The options that decide a pair, with every default filled in.
    ///
    /// # Errors
    ///
    /// As [`UserDictionary::read`].
    pub fn verdicts(&self) -> Result<confirm::Options> {
        Ok(confirm::Options {
            dictionary: self.dictionary()?,
            ..self.confirm.within(self.simhash.k)
        })
    }

    /// The words that the job adds to the dictionary.
    fn dictionary(&self) -> Result<Option<Arc<UserDictionary>>> {
        let path = self.features.dictionary.as_deref();
        path.map(|path| UserDictionary::read(path, &self.normalize)).transpose()
    }
}
