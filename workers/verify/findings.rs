//! The nouns of verify: what is wrong, with a file or with a row. A leaf.

use crate::store::manifest::Head;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Findings of one check that are listed; those beyond are counted.
pub const FINDINGS_MAX: usize = 100;

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

/// What was looked at and what was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The head that was looked at; none if it cannot be read, or the store has no epoch yet.
    pub head: Option<Head>,
    /// Manifests, segments and lists looked at.
    pub files: u64,
    /// Bytes read; 0 for a quick look.
    pub bytes: u64,
    /// What is wrong; empty is sound.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(super) fn find(&mut self, path: &Path, what: impl Into<String>) {
        self.findings.push(Finding { path: path.to_owned(), what: what.into() });
    }
}

/// One thing that is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFinding {
    /// Its table.
    pub table: String,
    /// Its key: ids and fingerprints in hex.
    pub key: String,
    /// What is wrong with it.
    pub what: String,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The check's name.
    pub name: &'static str,
    /// Findings.
    pub found: u64,
    /// The first [`FINDINGS_MAX`] of them.
    pub findings: Vec<RowFinding>,
}

impl Check {
    /// A check that has found nothing yet.
    pub(super) fn new(name: &'static str) -> Check {
        Check { name, found: 0, findings: Vec::new() }
    }

    /// Takes a finding in.
    pub(super) fn find(&mut self, table: &str, key: impl Display, what: impl Display) {
        self.found += 1;
        if self.findings.len() < FINDINGS_MAX {
            let (table, key, what) = (table.to_owned(), key.to_string(), what.to_string());
            self.findings.push(RowFinding { table, key, what });
        }
    }
}

/// A fingerprint as people read it.
pub(super) fn hex(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

/// Sampled fingerprints against all, by brute force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// Fingerprints held against all.
    pub sampled: u64,
    /// All distinct live fingerprints.
    pub fingerprints: u64,
    /// Pairs of contents within k, one side sampled, that the pivot rule examines, as brute force finds them.
    pub near_pairs: u64,
    /// Of these, pairs that the store has.
    pub stored: u64,
}

/// What a deep look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deep {
    /// The checks that were made, in order. If the first found rows that do not add up it is the only one: such tables
    /// cannot be compared.
    pub checks: Vec<Check>,
    /// The sampled recall; none if its check was not made.
    pub recall: Option<Recall>,
}

impl Deep {
    /// Findings of all checks.
    pub fn found(&self) -> u64 {
        self.checks.iter().map(|check| check.found).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond the limit findings are counted but not listed.
    #[test]
    fn findings_are_limited() {
        let mut check = Check::new("pairs");
        (0..FINDINGS_MAX + 7).for_each(|n| check.find("pairs", n, "odd"));
        assert_eq!((check.found, check.findings.len()), (FINDINGS_MAX as u64 + 7, FINDINGS_MAX));
        assert_eq!(check.findings[99].key, "99");
    }
}
