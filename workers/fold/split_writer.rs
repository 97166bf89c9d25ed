//! Writes the visits, evidence and rejects of one split.
//!
//! Rows are written in portions, so that memory does not grow with the split. A split may have
//! several files; their rows stand in the same segments.

use crate::error::{Error, Result};
use crate::fold::epoch::Epoch;
use crate::fold::spans::Volume;
use crate::fold::splits::{RejectLine, SplitDone, rejects_path, split_path};
use crate::id::Id;
use crate::plan::consumed::Taken;
use crate::store::durable;
use crate::store::fsyncs::Fsyncs;
use crate::store::segment::{self, SegmentRef};
use crate::store::table::Row;
use crate::tables::visits::dedup;
use crate::tables::{EvidenceRow, Visit};
use crate::text::hash::BuildSeeded;
use crate::visit::counts::Counts;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// Visits that one worker has in memory before it sorts and writes them.
pub const SPLIT_ROWS: usize = 1 << 17;
/// Bytes of visits, mostly of URLs, that one worker has in memory before it writes them.
pub const VISITS_BYTES: usize = 64 << 20;
/// Bytes of evidence that one worker has in memory before it writes them.
pub const EVIDENCE_BYTES: usize = 64 << 20;
/// The most bad records of one input that are listed. Further ones are only counted, and noted as
/// `rejects_unnamed`. The limit is one of inputs and not of splits, so that the division of inputs
/// does not matter.
pub const REJECTS_NAMED_MAX: u64 = 100_000;

/// A split that is being written.
pub struct SplitWriter {
    id: usize,
    input: usize,
    /// The file that is being read.
    file: String,
    /// The counts of its records so far.
    pub counts: Counts,
    taken: BTreeMap<usize, Taken>,
    visits: Vec<Visit>,
    visits_bytes: usize,
    visit_segments: Vec<SegmentRef>,
    evidence: Vec<EvidenceRow>,
    /// The contents of `evidence`.
    known: HashSet<Id, BuildSeeded>,
    evidence_bytes: usize,
    evidence_segments: Vec<SegmentRef>,
    rejects: Rejects,
    /// Bad records of `file` that are listed.
    rejects_named: u64,
}

impl SplitWriter {
    /// A writer of split `id`.
    pub fn new(id: usize) -> SplitWriter {
        SplitWriter {
            id,
            input: 0,
            taken: BTreeMap::new(),
            file: String::new(),
            counts: Counts::default(),
            visits: Vec::new(),
            visits_bytes: 0,
            visit_segments: Vec::new(),
            evidence: Vec::new(),
            known: HashSet::default(),
            evidence_bytes: 0,
            evidence_segments: Vec::new(),
            rejects: Rejects::default(),
            rejects_named: 0,
        }
    }

    /// From now on the records are those of `file`, the plan's input number `input`.
    pub fn begin(&mut self, input: usize, file: String) {
        (self.input, self.file) = (input, file);
        self.taken.insert(input, Taken::default());
        self.rejects_named = 0;
    }

    /// Whether the current portion has the evidence of `content`.
    pub fn has_evidence(&self, content: Id) -> bool {
        self.known.contains(&content)
    }

    /// Adds a visit, and the evidence of its text if the current portion does not have it.
    pub fn push(
        &mut self,
        epoch: &Epoch,
        visit: Visit,
        evidence: Option<EvidenceRow>,
    ) -> Result<()> {
        if let Some(row) = evidence.filter(|row| self.known.insert(row.content)) {
            self.evidence_bytes += row.bytes();
            self.evidence.push(row);
        }
        self.visits_bytes += size_of::<Visit>() + visit.url.len();
        self.visits.push(visit);
        if self.evidence_bytes >= EVIDENCE_BYTES || self.evidence.len() == SPLIT_ROWS {
            self.flush_evidence(epoch)?;
        }
        if self.visits.len() == SPLIT_ROWS || self.visits_bytes >= VISITS_BYTES {
            self.flush_visits(epoch)?;
        }
        Ok(())
    }

    /// Counts a sound record.
    pub fn accept(&mut self) {
        self.counts.accepted += 1;
        self.taken.entry(self.input).or_default().accepted += 1;
    }

    /// Counts a bad record, and lists it unless [`REJECTS_NAMED_MAX`] of its file are listed.
    pub fn reject(
        &mut self,
        epoch: &Epoch,
        offset: u64,
        records: u64,
        reason: &str,
        detail: String,
    ) -> Result<()> {
        *self.counts.rejected.entry(reason.to_owned()).or_default() += records;
        self.taken.entry(self.input).or_default().rejected += records;
        if self.rejects_named == REJECTS_NAMED_MAX {
            self.counts.note("rejects_unnamed", 1);
            return Ok(());
        }
        self.rejects_named += 1;
        let line =
            RejectLine { file: self.file.clone(), offset, reason: reason.to_owned(), detail };
        let path =
            || split_path(&epoch.shared.attempt, self.id, &format!("rejects.{}", epoch.tag()));
        self.rejects.push(&line, path)
    }

    fn flush_visits(&mut self, epoch: &Epoch) -> Result<()> {
        self.visits_bytes = 0;
        self.visits.sort_unstable();
        let repeated = dedup(&mut self.visits);
        if repeated > 0 {
            self.counts.note("repeated", repeated as u64);
        }
        let part = segment::write_by(
            &epoch.shared.fsyncs,
            &epoch.shared.attempt.join(Visit::NAME),
            &epoch.tag(),
            self.visits.drain(..),
        )?;
        self.visit_segments.extend(written(epoch, part));
        Ok(())
    }

    fn flush_evidence(&mut self, epoch: &Epoch) -> Result<()> {
        self.evidence_bytes = 0;
        self.known.clear();
        self.evidence.sort_unstable_by_key(|row| row.content);
        let part = segment::write_by(
            &epoch.shared.fsyncs,
            &epoch.shared.attempt.join(EvidenceRow::NAME),
            &epoch.tag(),
            self.evidence.drain(..),
        )?;
        self.evidence_segments.extend(written(epoch, part));
        Ok(())
    }

    /// Makes the split durable. Its JSON file is written last, so a split that has it is complete.
    /// After a power cut the other files may be missing nevertheless; the digests in the JSON file
    /// show this. The inputs `left` changed, and nothing of them is in the split.
    pub fn finish(mut self, epoch: &Epoch, left: BTreeSet<usize>) -> Result<()> {
        self.flush_visits(epoch)?;
        self.flush_evidence(epoch)?;
        assert!(self.counts.add_up(), "split {}: {:?} do not add up", self.id, self.counts);
        let (attempt, fsyncs) = (&epoch.shared.attempt, &epoch.shared.fsyncs);
        durable::create_folder(&attempt.join("split"))?;
        let done = SplitDone {
            visits: self.visit_segments,
            evidence: self.evidence_segments,
            taken: self.taken,
            counts: self.counts,
            rejects_digest: self
                .rejects
                .finish(fsyncs, |digest| rejects_path(attempt, self.id, digest))?,
            left,
        };
        done.write(fsyncs, attempt, self.id)
    }
}

/// Counts the bytes of a segment that was written.
fn written(epoch: &Epoch, part: Option<SegmentRef>) -> Option<SegmentRef> {
    part.inspect(|part| epoch.add_volume(Volume { bytes_written: part.bytes, ..Volume::default() }))
}

/// Bytes of rejects in memory before they are written.
const REJECTS_BYTES: usize = 1 << 20;

/// The lines of the rejects of a split. They are in memory while they are few.
#[derive(Default)]
struct Rejects {
    lines: Vec<u8>,
    /// The file of the lines that came before `lines`, and its path.
    written: Option<(File, PathBuf)>,
    digest: blake3::Hasher,
}

impl Rejects {
    /// Adds a line. `aside` is the path of a file for lines that do not fit in memory.
    fn push(&mut self, line: &RejectLine, aside: impl FnOnce() -> PathBuf) -> Result<()> {
        serde_json::to_writer(&mut self.lines, line)
            .map_err(|e| Error::internal("cannot write a reject").caused_by(e))?;
        self.lines.push(b'\n');
        if self.lines.len() < REJECTS_BYTES {
            return Ok(());
        }
        let (mut file, path) = match self.written.take() {
            Some(written) => written,
            None => {
                let path = aside();
                path.parent().map_or(Ok(()), durable::create_folder)?;
                durable::create_aside(&path)?
            }
        };
        self.digest.update(&self.lines);
        file.write_all(&self.lines).map_err(|e| Error::io("write", &path, e))?;
        self.lines.clear();
        self.written = Some((file, path));
        Ok(())
    }

    /// Makes all lines durable as the path that `name` makes of their digest, and returns that.
    fn finish(mut self, fsyncs: &Fsyncs, name: impl FnOnce(&str) -> PathBuf) -> Result<String> {
        self.digest.update(&self.lines);
        let digest = self.digest.finalize().to_hex().to_string();
        let path = name(&digest);
        match self.written {
            None => fsyncs.write(&path, &self.lines)?,
            Some((mut file, aside)) => {
                file.write_all(&self.lines).map_err(|e| Error::io("write", &aside, e))?;
                fsyncs.place(file, &aside, &path)?;
            }
        }
        Ok(digest)
    }
}
