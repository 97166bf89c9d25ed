//! Reads the files of finished splits.
//!
//! A split is finished when its JSON file exists. The file lists the digests of the segments of
//! visits and evidence, so a run that resumes can tell a complete split from a damaged one, and
//! does not ingest complete splits again.

use crate::error::{Error, Kind, Result};
use crate::id::Id;
use crate::locks::lock;
use crate::plan::Plan;
use crate::plan::consumed::Taken;
use crate::plan::division::reader_of;
use crate::store::consumed::Retention;
use crate::store::digest;
use crate::store::fsyncs::Fsyncs;
use crate::store::lookup::{Lookup, Place};
use crate::store::pool::Pool;
use crate::store::segment::{Segment, SegmentRef};
use crate::store::table::Row;
use crate::tables::evidence::damaged;
use crate::tables::{EvidenceRow, Visit};
use crate::visit::counts::Counts;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

/// The file of a finished split: JSON, and its digest on a line of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SplitDone {
    /// Its visits, in portions of at most [`crate::fold::split_writer::SPLIT_ROWS`].
    pub visits: Vec<SegmentRef>,
    /// The evidence of its texts, in portions that are also limited by
    /// [`crate::fold::split_writer::EVIDENCE_BYTES`]. A text may be in several portions.
    pub evidence: Vec<SegmentRef>,
    /// Its counts.
    pub counts: Counts,
    /// What became of the records of each input that it has a part of, by the input's place in the
    /// plan.
    pub taken: BTreeMap<usize, Taken>,
    /// blake3 of its file of rejects.
    pub rejects_digest: String,
    /// The inputs that changed while they were read. Nothing of them is in the split, and the epoch
    /// does not consume them.
    #[serde(default)]
    pub left: BTreeSet<usize>,
}

impl SplitDone {
    /// Writes the JSON file of split `id`, after its other files, unless another process has
    /// finished the split: a process of an abandoned attempt may still run, and which inputs it
    /// left out depends on when it looked. So what others may have read stays.
    pub fn write(&self, fsyncs: &Fsyncs, attempt: &Path, id: usize) -> Result<()> {
        let mut text = serde_json::to_vec(self)
            .map_err(|e| Error::internal("cannot write a split").caused_by(e))?;
        let digest = digest::of_bytes(&text);
        text.push(b'\n');
        text.extend(digest.into_bytes());
        let path = split_path(attempt, id, "json");
        if !fsyncs.write_first(&path, &text)? && finished(attempt, id).is_none() {
            fsyncs.write(&path, &text)?;
        }
        Ok(())
    }
}

/// A bad record, as a line of `rejects.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RejectLine {
    /// The input file.
    pub file: String,
    /// Where the record starts.
    pub offset: u64,
    /// The reason, a fixed word.
    pub reason: String,
    /// Details for a person.
    pub detail: String,
}

/// The path of the file `suffix` of split `id`.
pub fn split_path(attempt: &Path, id: usize, suffix: &str) -> PathBuf {
    attempt.join("split").join(format!("{id:06}.{suffix}"))
}

/// The path of the rejects of split `id` that have `digest`.
pub fn rejects_path(attempt: &Path, id: usize, digest: &str) -> PathBuf {
    split_path(attempt, id, &format!("{digest}.rejects.jsonl"))
}

/// The finished split `id`; `None` if it is not finished or one of its files is damaged.
pub fn finished(attempt: &Path, id: usize) -> Option<SplitDone> {
    let done = done(attempt, id).ok()?;
    let whole = |path: &Path, digest: &str| digest::of_file(path).is_ok_and(|now| now == digest);
    let parts = |folder: &str, parts: &[SegmentRef]| {
        parts.iter().all(|part| whole(&part.path(&attempt.join(folder)), &part.digest))
    };
    let sound = parts(Visit::NAME, &done.visits)
        && parts(EvidenceRow::NAME, &done.evidence)
        && whole(&rejects_path(attempt, id, &done.rejects_digest), &done.rejects_digest);
    sound.then_some(done)
}

/// The finished split `id`, without a check of its files.
pub fn done(attempt: &Path, id: usize) -> Result<SplitDone> {
    let path = split_path(attempt, id, "json");
    let text = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
    let damaged = || Error::new(Kind::Io, format!("{}: damaged", path.display()));
    let (json, digest) = memchr::memrchr(b'\n', &text)
        .map(|at| (&text[..at], &text[at + 1..]))
        .ok_or_else(damaged)?;
    if digest::of_bytes(json).as_bytes() != digest {
        return Err(damaged());
    }
    serde_json::from_slice(json)
        .map_err(|e| Error::internal(format!("{}", path.display())).caused_by(e))
}

/// Calls `found` with each line of the rejects at `path`, see [`rejects_path`]: a [`RejectLine`] in
/// JSON and a line end.
pub fn each_reject(path: &Path, mut found: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let failed = |e| Error::io("read", path, e);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        found(&line)?;
        line.clear();
    }
    Ok(())
}

/// The finished splits of an epoch.
pub struct Finished {
    /// Those that the epoch takes, with their numbers, in order.
    pub splits: Vec<(usize, SplitDone)>,
    /// The inputs that changed while they were read, and are left to a later epoch. No split that
    /// is taken has anything of them.
    pub left: BTreeSet<usize>,
}

impl Finished {
    /// What became of the records of each input of `plan`.
    pub fn taken(&self, plan: &Plan) -> Result<Vec<Taken>> {
        let mut taken = vec![Taken::default(); plan.inputs.len()];
        for (_, done) in &self.splits {
            for (&input, &part) in &done.taken {
                let whole = taken.get_mut(input);
                whole
                    .ok_or_else(|| Error::internal("a split of an input that was not planned"))?
                    .add(part);
            }
        }
        Ok(taken)
    }
}

/// When pages expire by `plan`, whose splits are finished. An epoch that accepted no record does
/// not count as one that read something.
pub fn retention(plan: &Plan, attempt: &Path) -> Result<Retention> {
    if plan.inputs.is_empty() || plan.epoch_min_useless == plan.retention.epoch_min {
        return Ok(plan.retention);
    }
    let finished = all(plan, attempt)?;
    let is_useful =
        |(input, taken): (usize, Taken)| taken.accepted > 0 && !finished.left.contains(&input);
    let epoch_min = match finished.taken(plan)?.into_iter().enumerate().any(is_useful) {
        true => plan.retention.epoch_min,
        false => plan.epoch_min_useless,
    };
    Ok(Retention { epoch_min, ..plan.retention })
}

/// The finished splits of `plan`.
pub fn all(plan: &Plan, attempt: &Path) -> Result<Finished> {
    let mut splits = (0..plan.splits.len())
        .map(|id| Ok((id, done(attempt, id)?)))
        .collect::<Result<Vec<_>>>()?;
    let left: BTreeSet<usize> =
        splits.iter().flat_map(|(_, done)| done.left.iter().copied()).collect();
    // An input in several parts may have changed when some of them were read already. An input that
    // is whole in one split was left out when the split was read.
    splits.retain(
        |(id, _)| !matches!(&plan.splits[*id].parts[..], [part] if left.contains(&part.input)),
    );
    Ok(Finished { splits, left })
}

/// The bad records of all splits that do not say which URL they are about.
pub fn unreadable(plan: &Plan, attempt: &Path) -> Result<u64> {
    let finished = all(plan, attempt)?;
    Ok(finished.splits.iter().map(|(_, done)| done.counts.unreadable).sum())
}

/// The segments of visits of all splits. The workers of a process open them as they need them.
pub type SplitVisits = Pool<Segment<Visit>>;

/// The evidence of all texts of all splits. A text that is in several splits has several equal
/// rows.
pub struct SplitEvidence(Pool<Lookup<EvidenceRow>>);

/// The position of a row of [`SplitEvidence`].
#[derive(Clone, Copy)]
pub struct EvidencePlace {
    segment: usize,
    place: Place,
}

impl SplitEvidence {
    /// The positions of the evidence of the ascending `contents`.
    pub fn places(&self, contents: &[Id]) -> Result<Vec<EvidencePlace>> {
        let mut places = vec![None; contents.len()];
        for segment in 0..self.0.segments().len() {
            let found =
                |at: usize, place| _ = places[at].get_or_insert(EvidencePlace { segment, place });
            self.0.get(segment)?.each_place(contents, found);
        }
        let places = places.into_iter().zip(contents);
        places
            .map(|(place, content)| place.ok_or_else(|| damaged(*content, "is missing")))
            .collect()
    }

    /// The row at `at`, with diff +1.
    pub fn row(&self, at: EvidencePlace) -> Result<EvidenceRow> {
        let segment = self.0.get(at.segment)?;
        let (columns, row) = segment.row(at.place)?;
        let row = EvidenceRow::row(columns, row);
        if row.is_sound() { Ok(row) } else { Err(damaged(row.content, "is damaged")) }
    }
}

/// What the finished splits have, shared by the workers of a process. The first worker that needs
/// it reads the list of segments, and the last one that drops it closes them.
pub struct SharedSplits {
    processes: usize,
    visits: Mutex<Weak<SplitVisits>>,
    evidence: Mutex<Weak<SplitEvidence>>,
}

impl SharedSplits {
    /// The shared splits of one process of `processes`.
    pub fn new(processes: usize) -> SharedSplits {
        SharedSplits { processes, visits: Mutex::default(), evidence: Mutex::default() }
    }

    /// The visits of all splits.
    pub fn visits(&self, plan: &Plan, attempt: &Path) -> Result<Arc<SplitVisits>> {
        shared(&self.visits, || {
            let segments = self.segments(plan, attempt, |done| done.visits)?;
            Ok(Pool::new(attempt.join(Visit::NAME), segments, Segment::open))
        })
    }

    /// The evidence of all splits.
    pub fn evidence(&self, plan: &Plan, attempt: &Path) -> Result<Arc<SplitEvidence>> {
        shared(&self.evidence, || {
            let segments = self.segments(plan, attempt, |done| done.evidence)?;
            Ok(SplitEvidence(Pool::new(
                attempt.join(EvidenceRow::NAME),
                segments,
                |folder, segment| {
                    let mut lookup = Lookup::default();
                    lookup.push(folder, segment)?;
                    Ok(lookup)
                },
            )))
        })
    }

    fn segments(
        &self,
        plan: &Plan,
        attempt: &Path,
        of: fn(SplitDone) -> Vec<SegmentRef>,
    ) -> Result<Vec<SegmentRef>> {
        // All workers are done with reading. If a split is missing nevertheless, the process that
        // had to read it has failed and says why. This error is only a consequence.
        if let Some(id) =
            (0..plan.splits.len()).find(|&id| !split_path(attempt, id, "json").exists())
        {
            let line = format!("split {id} was not finished");
            return Err(Error::new(Kind::TryAgain, line).blaming(reader_of(
                &plan.splits,
                id,
                self.processes,
            )));
        }
        Ok(all(plan, attempt)?.splits.into_iter().flat_map(|(_, done)| of(done)).collect())
    }
}

fn shared<T>(slot: &Mutex<Weak<T>>, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
    let mut slot = lock(slot);
    if let Some(shared) = slot.upgrade() {
        return Ok(shared);
    }
    let made = Arc::new(make()?);
    *slot = Arc::downgrade(&made);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(attempt: &Path, rejects: &str, left: usize) -> SplitDone {
        let digest = digest::of_bytes(rejects.as_bytes());
        std::fs::write(rejects_path(attempt, 3, &digest), rejects).expect("written");
        SplitDone {
            visits: Vec::new(),
            evidence: Vec::new(),
            counts: Counts::default(),
            taken: BTreeMap::new(),
            rejects_digest: digest,
            left: BTreeSet::from([left]),
        }
    }

    /// A process of an abandoned attempt replaced a finished split by one with other inputs, after
    /// the others had read the first: an input was consumed whose rows were in no table. What is
    /// finished first stays, unless it is damaged.
    #[test]
    fn the_first_finished_split_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let attempt = folder.path();
        std::fs::create_dir(attempt.join("split")).expect("made");
        let left = || finished(attempt, 3).map(|done| done.left);
        let write = |split: &SplitDone| split.write(&Fsyncs::default(), attempt, 3);
        let (first, other) = (split(attempt, "a\n", 0), split(attempt, "", 1));
        write(&first).expect("written");
        write(&other).expect("not needed");
        assert_eq!(left(), Some(first.left));
        std::fs::write(rejects_path(attempt, 3, &first.rejects_digest), "damaged")
            .expect("written");
        assert_eq!(left(), None);
        write(&other).expect("written");
        assert_eq!(left(), Some(other.left));
    }
}
