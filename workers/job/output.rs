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
    /// `jsonl`, `parquet`. Default: both, and only Parquet above 1,000,000 pages (for the table of
    /// pairs: 1,000,000 pairs).
    #[serde(default)]
    pub formats: Option<Vec<Form>>,
    /// The forms of single tables, in place of `formats`.
    #[serde(default)]
    pub tables: TableForms,
    /// Refused pairs of lower similarity, in 1/10,000, are not in `pairs`. 0: all are in it.
    /// Default: 7000.
    #[serde(default = "refused_similarity_min")]
    pub refused_similarity_min: u16,
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

/// What the summary in a folder of results says about the store that it is of.
#[derive(Clone, Debug, Deserialize)]
pub struct Results {
    /// The summary.
    #[serde(skip)]
    pub summary: PathBuf,
    /// The epoch.
    pub epoch: u64,
    /// The number of live pages.
    pub pages: u64,
}

impl Output {
    /// The results that are in the folder; `None` if no summary says so.
    pub fn results(&self) -> Option<Results> {
        let summary = self.dir.join("summary.json");
        let results: Results = serde_json::from_slice(&std::fs::read(&summary).ok()?).ok()?;
        Some(Results { summary, ..results })
    }
}

/// Most refused pairs only look alike to a signature, and few people ask why those pairs do not
/// fold.
fn refused_similarity_min() -> u16 {
    7000
}

/// The forms of single tables. A table with an empty list is not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableForms {
    /// The forms of `members`.
    pub members: Option<Vec<Form>>,
    /// The forms of `redirects`.
    pub redirects: Option<Vec<Form>>,
    /// The forms of `pairs`.
    pub pairs: Option<Vec<Form>>,
    /// The forms of `clusters`.
    pub clusters: Option<Vec<Form>>,
    /// The forms of `changes`, also of several epochs.
    pub changes: Option<Vec<Form>>,
}

/// The number of pages above which tables are written only as Parquet, unless the job says
/// otherwise: JSON lines take nine tenths of the bytes and most of the time. For `pairs` it is the
/// number of pairs.
pub const JSONL_ROWS_MAX: u64 = 1_000_000;

impl Output {
    /// The forms of the table of this name in the export of this many pages and pairs.
    pub fn forms(&self, table: &str, pages: u64, pairs: u64) -> Vec<Form> {
        let TableForms { members, redirects, pairs: of_pairs, clusters, changes } = &self.tables;
        let (own, rows) = match table {
            "members" => (members, pages),
            "redirects" => (redirects, pages),
            "pairs" => (of_pairs, pairs),
            "clusters" => (clusters, pages),
            "changes" => (changes, pages),
            _ => (&None, pages),
        };
        match own.as_ref().or(self.formats.as_ref()) {
            Some(forms) => forms.clone(),
            None if rows > JSONL_ROWS_MAX => vec![Form::Parquet],
            None => vec![Form::Jsonl, Form::Parquet],
        }
    }
}

/// The longest URL of a ping, in bytes.
const PING_BYTES_MAX: usize = 2048;

/// Checks the URL of a ping.
pub fn check_ping(url: &str) -> std::result::Result<(), String> {
    if url.len() > PING_BYTES_MAX {
        return Err(format!("more than {PING_BYTES_MAX} bytes"));
    }
    let parsed =
        url::Url::parse(url).map_err(|_| "no URL, such as https://a.example/ping".to_owned())?;
    match parsed.scheme() {
        "http" | "https"
            if url.bytes().all(|byte| byte.is_ascii_graphic()) && parsed.fragment().is_none() =>
        {
            Ok(())
        }
        "http" | "https" => Err("no URL: it has a fragment, or characters that no URL has".into()),
        scheme => Err(format!("`{scheme}` is neither http nor https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table has its own forms; without them the forms of all tables; without these both forms up
    /// to a limit of rows. An empty list leaves the table out.
    #[test]
    fn forms_of_tables() {
        let output = |more: serde_json::Value| -> Output {
            let mut output = serde_json::json!({ "dir": "out" });
            output.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value(output).unwrap()
        };
        let plain = output(serde_json::json!({}));
        assert_eq!(
            plain.forms("members", JSONL_ROWS_MAX, 2 * JSONL_ROWS_MAX),
            [Form::Jsonl, Form::Parquet]
        );
        assert_eq!(plain.forms("members", JSONL_ROWS_MAX + 1, 0), [Form::Parquet]);
        assert_eq!(plain.forms("pairs", 1, JSONL_ROWS_MAX + 1), [Form::Parquet]);
        let own = output(
            serde_json::json!({ "formats": ["parquet"], "tables": { "pairs": [], "members": ["jsonl"] } }),
        );
        for pages in [0, JSONL_ROWS_MAX + 1] {
            assert_eq!(own.forms("members", pages, pages), [Form::Jsonl]);
            assert_eq!(own.forms("clusters", pages, pages), [Form::Parquet]);
            assert_eq!(own.forms("pairs", pages, pages), []);
        }
    }
}
