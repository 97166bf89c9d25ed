//! The job file's `[read]`: which inputs are read, and how.

use crate::job::pattern;
use crate::read;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The job file's `[read]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Files, folders and patterns (`*`, `?`, `[...]`, `**`), see [`pattern`].
    pub inputs: Vec<PathBuf>,
    /// The name of the inputs' source. A page belongs to the source that saw it last.
    /// Default: `crawl`.
    #[serde(default = "source")]
    pub source: String,
    /// Whether the inputs are a complete snapshot of the source, so that its pages that are not in
    /// them are removed. Default: false.
    #[serde(default)]
    pub complete: bool,
    /// The share of records that may be bad. If more are bad, the run ends before it commits,
    /// unless they are few ([`are_too_many`]). Default: 0.05.
    #[serde(default = "rejects_max")]
    pub rejects_max: f64,
    /// A sample: at most this many records of each input are read. Default: all.
    #[serde(default)]
    pub records_max: Option<u64>,
    /// What the key of a page that is a row is made from: `url`, `row`, or a field. Default: `url`.
    #[serde(default)]
    pub key: read::PageKey,
    /// The names of fields.
    #[serde(default)]
    pub fields: read::Fields,
    /// Limits of files and records.
    #[serde(default)]
    pub limits: read::Limits,
}

impl Read {
    /// Whether the job names the file at `path` itself, and not a folder of it or a pattern.
    pub fn names(&self, path: &Path) -> bool {
        self.inputs
            .iter()
            .any(|input| input == path || pattern::literal(input).as_deref() == Some(path))
    }

    /// The options of the readers, for the file of this digest.
    pub fn options(&self, file: &str) -> read::Options {
        let (fields, key, limits) = (self.fields.clone(), self.key.clone(), self.limits.clone());
        read::Options { fields, key, limits, file: file.to_owned() }
    }
}

/// The share of so few bad records, or of fewer, says nothing if at least as many records were
/// good: otherwise one truncated file would stop a small delivery, and every later run. If a job
/// allows no bad record, none passes.
const REJECTS_MIN: u64 = 20;

/// Whether of `read` records more were `rejected` than the share `rejects_max` allows.
pub fn are_too_many(rejected: u64, accepted: u64, read: u64, rejects_max: f64) -> bool {
    let are_few = rejected <= REJECTS_MIN && rejected <= accepted && rejects_max > 0.0;
    rejected as f64 > rejects_max * read as f64 && !are_few
}

/// The longest name of a source, in bytes.
pub(super) const SOURCE_BYTES_MAX: usize = 256;

fn source() -> String {
    "crawl".into()
}

fn rejects_max() -> f64 {
    0.05
}
