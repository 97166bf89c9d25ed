//! The job file's `[output]`: where results go, in which form, and who is notified.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The form of an exported table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// JSON Lines: one object on each line.
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
    /// On demand.
    OnDemand,
}

/// The job file's `[output]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The folder of the results.
    pub dir: PathBuf,
    /// `jsonl`, `parquet`. Default: both.
    #[serde(default = "both_forms")]
    pub formats: Vec<Form>,
    /// `always` or `on-demand`. Default: always.
    #[serde(default)]
    pub export: When,
    /// The file to which every run writes its figures, for node_exporter's textfile collector.
    /// Default: none.
    #[serde(default)]
    pub metrics: Option<PathBuf>,
    /// The URL that is requested when a run begins (with `/start` appended), succeeds, or fails
    /// (with `/fail` appended). Default: none.
    #[serde(default)]
    pub ping: Option<String>,
}

/// The longest URL of a ping, in bytes.
const PING_BYTES_MAX: usize = 2048;

/// Checks the URL of a ping.
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
