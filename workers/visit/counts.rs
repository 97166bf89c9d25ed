//! Counts what becomes of records.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counts of records. Every record is accounted for: read = accepted + skipped + rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes of input on disk.
    pub bytes: u64,
    /// Records that were read.
    pub read: u64,
    /// Records that became visits.
    pub accepted: u64,
    /// Records that are not pages, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Bad records, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// Notes about accepted records, by word.
    pub noted: BTreeMap<String, u64>,
    /// Bad records of a complete snapshot that do not say which URL they are about.
    pub unreadable: u64,
}

impl Counts {
    /// Adds the counts of another split.
    pub fn add(&mut self, other: &Counts) {
        self.bytes += other.bytes;
        self.read += other.read;
        self.accepted += other.accepted;
        self.unreadable += other.unreadable;
        let maps = [
            (&mut self.skipped, &other.skipped),
            (&mut self.rejected, &other.rejected),
            (&mut self.noted, &other.noted),
        ];
        for (mine, others) in maps {
            for (reason, n) in others {
                *mine.entry(reason.clone()).or_default() += n;
            }
        }
    }

    /// Adds a record that is no page.
    pub fn skip(&mut self, reason: &str) {
        *self.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Adds the note `word` about `n` accepted records.
    pub fn note(&mut self, word: &str, n: u64) {
        *self.noted.entry(word.to_owned()).or_default() += n;
    }

    /// Whether every record is accounted for.
    pub fn add_up(&self) -> bool {
        self.read
            == self.accepted
                + self.skipped.values().sum::<u64>()
                + self.rejected.values().sum::<u64>()
    }
}
