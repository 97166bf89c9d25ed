//! Reads the files of finished splits.
//!
//! A split is finished when its JSON file exists. The file lists the digests of the segments of
//! visits and evidence, so a run that resumes can tell a complete split from a damaged one, and
//! does not ingest a complete one again.

use crate::error::{Error, Result};
use crate::fold::epoch::Epoch;
use crate::store::digest;
use crate::store::lookup::Lookup;
use crate::store::segment::{Segment, SegmentRef};
use crate::store::table::Row;
use crate::tables::{EvidenceRow, Visit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The JSON file of a finished split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SplitDone {
    /// Its visits, in portions of at most [`crate::fold::split_writer::PORTION_ROWS`].
    pub visits: Vec<SegmentRef>,
    /// The evidence of its texts, in portions that are also limited by
    /// [`crate::fold::split_writer::EVIDENCE_BYTES`]. A text may be in several portions.
    pub evidence: Vec<SegmentRef>,
    /// Its counts.
    pub counts: Counts,
    /// blake3 of its file of rejects.
    pub rejects_digest: String,
}

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
}

impl Counts {
    /// Adds the counts of another split.
    pub fn add(&mut self, other: &Counts) {
        self.bytes += other.bytes;
        self.read += other.read;
        self.accepted += other.accepted;
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

    /// Adds the note `word` about `n` accepted records.
    pub fn note(&mut self, word: &str, n: u64) {
        *self.noted.entry(word.to_owned()).or_default() += n;
    }

    /// Whether every record is accounted for.
    pub fn add_up(&self) -> bool {
        self.read == self.accepted + self.skipped.values().sum::<u64>() + self.rejected.values().sum::<u64>()
    }
}

/// A bad record, as a line of `rejects.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RejectLine {
    /// The input file.
    pub file: String,
    /// Where the record starts.
    pub offset: u64,
    /// A fixed word.
    pub reason: String,
    /// Details for a person.
    pub detail: String,
}

/// The path of the file `suffix` of split `id`.
pub fn split_path(attempt: &Path, id: usize, suffix: &str) -> PathBuf {
    attempt.join("split").join(format!("{id:06}.{suffix}"))
}

/// The finished split `id`; none if it is not finished or a file of it is damaged.
pub fn finished(attempt: &Path, id: usize) -> Option<SplitDone> {
    let done = done(attempt, id).ok()?;
    let whole = |path: &Path, digest: &str| digest::of_file(path).is_ok_and(|now| now == digest);
    let parts = |folder: &str, parts: &[SegmentRef]| {
        parts.iter().all(|part| whole(&part.path(&attempt.join(folder)), &part.digest))
    };
    let sound = parts(Visit::NAME, &done.visits)
        && parts(EvidenceRow::NAME, &done.evidence)
        && whole(&split_path(attempt, id, "rejects.jsonl"), &done.rejects_digest);
    sound.then_some(done)
}

/// The finished split `id`, without a check of its files.
pub fn done(attempt: &Path, id: usize) -> Result<SplitDone> {
    let path = split_path(attempt, id, "json");
    let text = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
    serde_json::from_slice(&text).map_err(|e| Error::internal(format!("{}", path.display())).caused_by(e))
}

/// The rejects of the finished split `id`, a [`RejectLine`] in JSON on each line.
pub fn rejects(attempt: &Path, id: usize) -> Result<Vec<u8>> {
    let path = split_path(attempt, id, "rejects.jsonl");
    std::fs::read(&path).map_err(|e| Error::io("read", &path, e))
}

/// The mapped segments of visits of all splits.
pub fn visits(epoch: &Epoch) -> Result<Vec<Segment<Visit>>> {
    let folder = epoch.shared.attempt.join(Visit::NAME);
    let mut segments = Vec::new();
    for id in 0..epoch.shared.plan.splits.len() {
        for part in &done(&epoch.shared.attempt, id)?.visits {
            segments.push(Segment::open(&folder, part)?);
        }
    }
    Ok(segments)
}

/// The evidence of all texts of all splits. A text that is in several splits has several equal
/// rows.
pub fn evidence(epoch: &Epoch) -> Result<Lookup<EvidenceRow>> {
    let folder = epoch.shared.attempt.join(EvidenceRow::NAME);
    let mut lookup = Lookup::default();
    for id in 0..epoch.shared.plan.splits.len() {
        for part in &done(&epoch.shared.attempt, id)?.evidence {
            lookup.push(&folder, part)?;
        }
    }
    Ok(lookup)
}
