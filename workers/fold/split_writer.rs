//! Writes the visits, evidence and rejects of one split.
//!
//! Rows are written in portions, so that memory does not grow with the split.

use crate::document::Id;
use crate::error::{Error, Result};
use crate::fold::epoch::Epoch;
use crate::fold::splits::{Counts, RejectLine, SplitDone, split_path};
use crate::plan::consumed::Taken;
use crate::store::segment::{self, SegmentRef};
use crate::store::table::Row;
use crate::store::{digest, durable};
use crate::tables::{EvidenceRow, Visit};
use std::collections::BTreeMap;

/// Visits that one worker has in memory before it sorts and writes them.
pub const PORTION_ROWS: usize = 1 << 17;
/// Bytes of evidence that one worker has in memory before it writes them.
pub const EVIDENCE_BYTES: usize = 64 << 20;
/// Bad records of one split that are listed in its rejects. Further ones are only counted, and
/// noted as `rejects_unnamed`.
pub const REJECTS_NAMED_MAX: u64 = 100_000;

/// A split that is being written.
pub struct SplitWriter {
    id: usize,
    input: usize,
    file: String,
    /// The counts of its records so far.
    pub counts: Counts,
    visits: Vec<Visit>,
    visit_segments: Vec<SegmentRef>,
    evidence: BTreeMap<Id, EvidenceRow>,
    evidence_bytes: usize,
    evidence_segments: Vec<SegmentRef>,
    rejects: Vec<u8>,
    rejects_named: u64,
}

impl SplitWriter {
    /// A writer of split `id`, which has `bytes` bytes of `file`, the plan's input number `input`.
    pub fn new(id: usize, input: usize, file: String, bytes: u64) -> SplitWriter {
        SplitWriter {
            id,
            input,
            file,
            counts: Counts { bytes, ..Counts::default() },
            visits: Vec::new(),
            visit_segments: Vec::new(),
            evidence: BTreeMap::new(),
            evidence_bytes: 0,
            evidence_segments: Vec::new(),
            rejects: Vec::new(),
            rejects_named: 0,
        }
    }

    /// Whether the current portion has the evidence of `content`.
    pub fn has_evidence(&self, content: Id) -> bool {
        self.evidence.contains_key(&content)
    }

    /// Adds a visit, and the evidence of its text if the current portion does not have it.
    pub fn push(&mut self, epoch: &Epoch, visit: Visit, evidence: Option<EvidenceRow>) -> Result<()> {
        if let Some(row) = evidence {
            self.evidence_bytes += row.bytes();
            self.evidence.insert(row.content, row);
        }
        self.visits.push(visit);
        if self.evidence_bytes >= EVIDENCE_BYTES || self.evidence.len() == PORTION_ROWS {
            self.flush_evidence(epoch)?;
        }
        if self.visits.len() == PORTION_ROWS {
            self.flush_visits(epoch)?;
        }
        Ok(())
    }

    /// Counts a bad record, and lists it unless [`REJECTS_NAMED_MAX`] are listed already.
    pub fn reject(&mut self, offset: u64, reason: &str, detail: String) -> Result<()> {
        *self.counts.rejected.entry(reason.to_owned()).or_default() += 1;
        if self.rejects_named == REJECTS_NAMED_MAX {
            self.counts.note("rejects_unnamed", 1);
            return Ok(());
        }
        self.rejects_named += 1;
        let line = RejectLine { file: self.file.clone(), offset, reason: reason.to_owned(), detail };
        serde_json::to_writer(&mut self.rejects, &line)
            .map_err(|e| Error::internal("cannot write a reject").caused_by(e))?;
        self.rejects.push(b'\n');
        Ok(())
    }

    fn flush_visits(&mut self, epoch: &Epoch) -> Result<()> {
        self.visits.sort_unstable();
        let before = self.visits.len();
        self.visits.dedup();
        if self.visits.len() < before {
            self.counts.note("repeated", (before - self.visits.len()) as u64);
        }
        let part = segment::write(&epoch.shared.attempt.join(Visit::NAME), &epoch.tag(), self.visits.drain(..))?;
        self.visit_segments.extend(part);
        Ok(())
    }

    fn flush_evidence(&mut self, epoch: &Epoch) -> Result<()> {
        self.evidence_bytes = 0;
        let rows = std::mem::take(&mut self.evidence).into_values();
        let part = segment::write(&epoch.shared.attempt.join(EvidenceRow::NAME), &epoch.tag(), rows)?;
        self.evidence_segments.extend(part);
        Ok(())
    }

    /// Makes the split durable. Its JSON file is written last, so a split that has one is complete.
    pub fn finish(mut self, epoch: &Epoch) -> Result<()> {
        self.flush_visits(epoch)?;
        self.flush_evidence(epoch)?;
        assert!(self.counts.add_up(), "{}: {:?} do not add up", self.file, self.counts);
        let attempt = &epoch.shared.attempt;
        durable::create_folder(&attempt.join("split"))?;
        durable::write(&split_path(attempt, self.id, "rejects.jsonl"), &self.rejects)?;
        let done = SplitDone {
            visits: self.visit_segments,
            evidence: self.evidence_segments,
            taken: [(
                self.input,
                Taken { accepted: self.counts.accepted, rejected: self.counts.rejected.values().sum() },
            )]
            .into(),
            counts: self.counts,
            rejects_digest: digest::of_bytes(&self.rejects),
        };
        let text = serde_json::to_vec(&done).map_err(|e| Error::internal("cannot write a split").caused_by(e))?;
        durable::write(&split_path(attempt, self.id, "json"), &text)
    }
}
