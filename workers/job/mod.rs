//! The job: what the user asked for, the sum of the stages' options. A table bears the name of the module that obeys it. Three classes: identity
//! (what a content is and which buckets it falls into; fixed for a store's life), decision (what the evidence must show) and view
//! (which page represents, how far a cluster reaches, what is exported).

pub mod clusters;
pub mod contents;
pub mod guards;
pub mod pages;

use crate::candidates::bands::Bands;
use crate::error::{Error, Kind, Result};
use crate::graph::keep;
use crate::text::{features, normalize, numerals, shingles, signatures, simhash, sketch};
use crate::{confirm, document, extract, read};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};

/// A job file, its paths already relative to the working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The store's folder.
    pub store: PathBuf,
    /// What is read.
    pub read: Read,
    /// How text is found in pages.
    #[serde(default)]
    pub extract: extract::Options,
    /// How text is normalised.
    #[serde(default)]
    pub normalize: normalize::Options,
    /// What a text's features are.
    #[serde(default)]
    pub features: features::Options,
    /// The first signature. May stand in `signatures` instead.
    #[serde(default)]
    pub simhash: simhash::Options,
    /// The signatures beside it. Default: MinHash.
    #[serde(default = "signatures::default_list")]
    pub signatures: Vec<signatures::Options>,
    /// What is remembered of texts.
    #[serde(default)]
    pub contents: contents::Options,
    /// How long pages stay.
    #[serde(default)]
    pub pages: pages::Options,
    /// What joins two texts.
    #[serde(default)]
    pub confirm: confirm::Options,
    /// What looks like an accident.
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
}

/// The job file's `[read]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Files, folders and patterns (`*`, `?`, `[...]`, `**`).
    pub inputs: Vec<PathBuf>,
    /// What the inputs are called together. A page belongs to the source that saw it last. Default: `crawl`.
    #[serde(default = "source")]
    pub source: String,
    /// Whether the inputs are all there is of the source: its pages that they lack are removed. Default: false.
    #[serde(default)]
    pub complete: bool,
    /// Share of records that may be bad; more stop the run before it commits. Default: 0.05.
    #[serde(default = "rejects_max")]
    pub rejects_max: f64,
    /// Names of fields.
    #[serde(default)]
    pub fields: read::Fields,
    /// Limits.
    #[serde(default)]
    pub limits: read::Limits,
}

impl Read {
    /// What readers obey.
    pub fn options(&self) -> read::Options {
        read::Options { fields: self.fields.clone(), limits: self.limits.clone() }
    }
}

/// Bytes of a source's name.
const SOURCE_BYTES_MAX: usize = 256;

fn source() -> String {
    "crawl".into()
}

fn rejects_max() -> f64 {
    0.05
}

/// The form of an exported table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A JSON object a line.
    Jsonl,
    /// Parquet.
    Parquet,
}

/// When tables are exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// After every epoch.
    #[default]
    Always,
    /// When asked.
    OnDemand,
}

/// The job file's `[output]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The folder of results.
    pub dir: PathBuf,
    /// `jsonl`, `parquet`. Default: both.
    #[serde(default = "both_forms")]
    pub formats: Vec<Form>,
    /// `always` or `on-demand`. Default: always.
    #[serde(default)]
    pub export: When,
    /// File that every run leaves its figures in, for node_exporter's textfile collector. Default: none.
    #[serde(default)]
    pub metrics: Option<PathBuf>,
    /// URL that hears when a run begins (`/start` behind it), succeeds, or fails (`/fail`). Default: none.
    #[serde(default)]
    pub ping: Option<String>,
}

/// Bytes of a ping's URL.
const PING_BYTES_MAX: usize = 2048;

/// What is wrong with the URL of a ping.
pub fn check_ping(url: &str) -> std::result::Result<(), String> {
    if url.len() > PING_BYTES_MAX {
        return Err(format!("more than {PING_BYTES_MAX} bytes"));
    }
    let parsed = url::Url::parse(url).map_err(|e| format!("no URL: {e}"))?;
    match parsed.scheme() {
        "http" | "https" if url.bytes().all(|byte| byte.is_ascii_graphic()) && parsed.fragment().is_none() => Ok(()),
        "http" | "https" => Err("no URL: it has a fragment, or characters that no URL has".into()),
        scheme => Err(format!("`{scheme}` is neither http nor https")),
    }
}

fn both_forms() -> Vec<Form> {
    vec![Form::Jsonl, Form::Parquet]
}

impl Job {
    /// The job with SimHash's options in one place, where `[[signatures]]` names it, too: it is always there, and has buckets of its own kind.
    ///
    /// # Errors
    ///
    /// What is wrong, naming the keys.
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

    /// The files that the job reads beside its inputs.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let signatures = self.signatures.iter().filter_map(signatures::Options::path);
        [&self.features.idf, &self.features.stop_words].into_iter().flatten().chain(signatures)
    }

    /// Makes the job's relative paths relative to `folder`, where its file lies.
    pub fn relative_to(mut self, folder: &Path) -> Job {
        let paths = [&mut self.store, &mut self.output.dir].into_iter().chain(&mut self.read.inputs);
        let paths = paths.chain(self.signatures.iter_mut().filter_map(signatures::Options::path_mut));
        let paths = paths.chain(&mut self.features.idf).chain(&mut self.features.stop_words);
        for path in paths.chain(&mut self.output.metrics) {
            *path = tidy(&folder.join(&path));
        }
        self
    }

    /// What is wrong with the values, naming the key; the types are right already.
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
        if self.keep.by.len() > keep::CRITERIA_MAX {
            return Err(format!("[keep] by: more than {} criteria", keep::CRITERIA_MAX));
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

    /// What decides a pair, every default filled in.
    pub fn verdicts(&self) -> confirm::Options {
        self.confirm.within(self.simhash.k)
    }

    /// The identity configuration: what a store can never change.
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

/// `path` without `folder/..` where that folder is no symbolic link, so that people read `out/demo` and not `jobs/../out/demo`.
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
