//! Finds the inputs that the next epoch reads.

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::plan::consumed::{ConsumedInput, Due, History, Reading, snapshot_of};
use crate::plan::examine::{Digests, Examiner, Passed};
use crate::plan::inputs::{self, Input};
use crate::plan::listing::LeftOut;
use crate::store::Store;
use crate::store::manifest::Head;
use std::collections::BTreeSet;

/// The inputs that are due, see the fields of [`crate::plan::Plan`] with these names.
#[derive(Default)]
pub(super) struct DueInputs {
    pub(super) reads_otherwise: bool,
    pub(super) inputs: Vec<Input>,
    /// The inputs of a complete snapshot that is unchanged. They are not due by themselves.
    pub(super) unchanged: Vec<Input>,
    pub(super) same_bytes: Vec<Input>,
    pub(super) renamed: Vec<ConsumedInput>,
    pub(super) snapshot: String,
    pub(super) digests: BTreeSet<String>,
    pub(super) passed: Vec<Passed>,
    pub(super) absent: Vec<String>,
    pub(super) left_out: LeftOut,
    pub(super) kept: Digests,
}

impl DueInputs {
    /// Adds an input that is due. The same bytes are read only once in an epoch.
    fn push(&mut self, input: Input) {
        let new = self.digests.insert(input.digest.clone());
        if new { &mut self.inputs } else { &mut self.same_bytes }.push(input);
    }

    /// Makes the inputs of an unchanged snapshot due.
    pub(super) fn read_unchanged(&mut self) {
        std::mem::take(&mut self.unchanged).into_iter().for_each(|input| self.push(input));
    }
}

/// The most inputs of an epoch.
pub const INPUTS_MAX: usize = 1_000_000;

/// Finds the inputs that are due: the first by path, at most `inputs_max` and at most
/// [`INPUTS_MAX`], whose bytes were not consumed yet; or all inputs of a complete snapshot, unless
/// it equals the last one.
///
/// Other options of reading may make inputs due that gave no accepted record. Then this epoch has
/// only those that the earliest epoch read, so that inputs are read in the order in which they were
/// delivered.
pub(super) fn found(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    inputs_max: usize,
) -> Result<DueInputs> {
    let inputs_max = inputs_max.min(INPUTS_MAX);
    let history = History::read(job, store, head)?;
    let mut examiner = Examiner::new(job, store, &history);
    let listing = inputs::list(&job.read.inputs)?;
    let paths = listing.files.iter();
    let all: Vec<Input> =
        paths.filter_map(|path| examiner.stat(path).transpose()).collect::<Result<_>>()?;
    if job.read.complete {
        let absent = inputs::absent(job, &listing);
        let left_out = listing.left_out;
        return Ok(DueInputs { absent, left_out, ..snapshot(job, head, examiner, all)? });
    }
    let mut otherwise: Vec<(u64, Input)> = Vec::new();
    for input in all.iter().filter(|input| history.is_as_it_was(input)) {
        let input = history.digested(input.clone())?;
        if let Due::ReadOtherwise(epoch) = history.due(&input) {
            otherwise.push((epoch, input));
        }
    }
    let mut found = DueInputs { left_out: listing.left_out, ..DueInputs::default() };
    if let Some(first) = otherwise.iter().map(|(epoch, _)| *epoch).min() {
        found.reads_otherwise = true;
        otherwise
            .into_iter()
            .filter(|(epoch, _)| *epoch == first)
            .take(inputs_max)
            .for_each(|(_, input)| found.push(input));
        return Ok(found);
    }
    // Inputs beyond the limit are not read, not even for their digest.
    let mut rest = &all[..];
    while found.inputs.len() < inputs_max && !rest.is_empty() {
        // Those that are as they were are not due, and are passed without being read.
        let mut wanted = inputs_max - found.inputs.len();
        let is_last = |input: &Input| {
            wanted -= usize::from(!history.is_as_it_was(input));
            wanted == 0
        };
        let end = rest.iter().position(is_last).map_or(rest.len(), |at| at + 1);
        let (next, later) = rest.split_at(end);
        rest = later;
        for input in examiner.digested(next)? {
            match history.due(&input) {
                Due::New | Due::ReadOtherwise(_) => found.push(input),
                Due::Renamed(line) => found.renamed.push(*line),
                Due::No => {}
            }
        }
    }
    (found.passed, found.kept) = examiner.close();
    Ok(found)
}

/// The inputs of a complete snapshot: all, or none if it equals the last snapshot of its source and
/// no page went since that it may have.
fn snapshot(
    job: &Job,
    head: Option<&Head>,
    mut examiner: Examiner<'_>,
    all: Vec<Input>,
) -> Result<DueInputs> {
    let all = examiner.digested(&all)?;
    // Empty files are left by a write that failed.
    if all.iter().all(|input| input.bytes == 0) {
        let what = if all.is_empty() { "no input" } else { "not one byte in the inputs" };
        let line = format!(
            "{what} of the complete snapshot of `{}`: all its pages would go",
            job.read.source
        );
        return Err(Error::new(Kind::NoInput, line));
    }
    if all.len() > INPUTS_MAX {
        let line = format!(
            "[read] complete: {} files, a snapshot may have {INPUTS_MAX}; join small ones",
            all.len()
        );
        return Err(Error::new(Kind::Config, line));
    }
    let mut found =
        DueInputs { snapshot: snapshot_of(&Reading::of(job), &all), ..DueInputs::default() };
    let sources = head.map_or(&[][..], |head| &head.manifest.sources);
    (found.passed, found.kept) = examiner.close();
    let last = sources.iter().find(|source| source.name == job.read.source);
    let is_unchanged = last.is_some_and(|last| last.snapshot == found.snapshot && !last.lost);
    found.unchanged = all;
    if !is_unchanged {
        found.read_unchanged();
    }
    Ok(found)
}
