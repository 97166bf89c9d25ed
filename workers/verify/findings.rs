//! The results of verifying: what is wrong with a file or with a row.

use crate::store::manifest::Head;
use crate::store::table::Row;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The greatest number of findings that one check lists. The others are only counted.
pub const FINDINGS_MAX: usize = 100;

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub what: String,
}

/// What was checked and what was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The head. `None` if it cannot be read, or if the store has no epoch yet.
    pub head: Option<Head>,
    /// The number of manifests, segments and lists that were checked.
    pub files: u64,
    /// The number of bytes that were read; 0 for a quick look.
    pub bytes: u64,
    /// What is wrong. A sound store has no findings.
    pub findings: Vec<Finding>,
    /// Whether nothing is wrong with the files of the head: all others are only of earlier epochs.
    pub head_is_whole: bool,
}

impl Report {
    pub(super) fn find(&mut self, path: &Path, what: impl Into<String>) {
        let what = what.into();
        // The error of a file begins with its path, which is shown before.
        let named = format!("{}: ", path.display());
        let what = what.strip_prefix(&named).unwrap_or(&what).to_owned();
        self.findings.push(Finding { path: path.to_owned(), what });
    }
}

/// Something that is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFinding {
    /// The table.
    pub table: String,
    /// The row's key, with ids and fingerprints in hex.
    pub key: String,
    /// What is wrong.
    pub what: String,
}

/// The findings of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// The number of findings.
    pub found: u64,
    /// The first [`FINDINGS_MAX`] of them.
    pub findings: Vec<RowFinding>,
}

impl Check {
    /// A check without findings.
    pub(super) fn new(name: &'static str) -> Check {
        Check { name, found: 0, findings: Vec::new() }
    }

    /// Adds a finding about the table of `R`.
    pub(super) fn find<R: Row>(&mut self, key: impl Display, what: impl Display) {
        self.find_in(R::NAME, key, what);
    }

    /// Adds a finding about the table named `table`, or about the manifest.
    pub(super) fn find_in(&mut self, table: &str, key: impl Display, what: impl Display) {
        self.found += 1;
        if self.findings.len() < FINDINGS_MAX {
            let (table, key, what) = (table.to_owned(), key.to_string(), what.to_string());
            self.findings.push(RowFinding { table, key, what });
        }
    }
}

/// The result of comparing sampled fingerprints with all by brute force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// The number of sampled fingerprints.
    pub sampled: u64,
    /// The number of distinct live fingerprints.
    pub fingerprints: u64,
    /// The number of pairs of contents within k bits that the pivot rule examines and of which at
    /// least one fingerprint is sampled.
    pub near_pairs: u64,
    /// The number of these pairs that are stored.
    pub stored: u64,
}

/// The findings of a deep look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deep {
    /// The checks in order. If the first finds rows that do not add up it is the only one, because
    /// such tables cannot be compared.
    pub checks: Vec<Check>,
    /// The sampled recall; `None` if it was not computed.
    pub recall: Option<Recall>,
}

impl Deep {
    /// The number of findings of all checks.
    pub fn found(&self) -> u64 {
        self.checks.iter().map(|check| check.found).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::PairRow;

    /// Findings beyond the limit are counted but not listed.
    #[test]
    fn findings_are_limited() {
        let mut check = Check::new("pairs");
        (0..FINDINGS_MAX + 7).for_each(|n| check.find::<PairRow>(n, "odd"));
        assert_eq!((check.found, check.findings.len()), (FINDINGS_MAX as u64 + 7, FINDINGS_MAX));
        assert_eq!(check.findings[99].key, "99");
    }
}
