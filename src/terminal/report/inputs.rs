//! Inputs that gave no record, that were read with other options than the job now has, or that only
//! one worker can read.

use crate::advice;
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, grouped, megabytes};
use std::collections::BTreeSet;
use workers::ask::elsewhere::{Elsewhere, elsewhere};
use workers::error::Result;
use workers::job::Job;
use workers::online::has_left_records;
use workers::plan::Plan;
use workers::plan::consumed::History;
use workers::plan::division::{PlannedSplit, uncut};
use workers::plan::inputs::Input;
use workers::store::Store;
use workers::store::manifest::Head;
use workers::visit;

/// What the store does not have of the inputs, or has of inputs that are gone.
#[derive(Default)]
pub struct Leftovers {
    /// The inputs that gave no record and are not consumed.
    pub barren: Vec<Input>,
    /// The inputs that are gone, and their pages.
    pub elsewhere: Option<Elsewhere>,
    /// An input that the job reads with other options than those with which it was consumed.
    pub read_otherwise: Option<String>,
}

impl Leftovers {
    /// Those of a head.
    pub fn of(job: &Job, store: &Store, head: &Head) -> Result<Leftovers> {
        let history = History::read(job, store, Some(head))?;
        Ok(Leftovers {
            barren: history.barren(),
            elsewhere: elsewhere(job, store, head, &history)?,
            read_otherwise: history.read_otherwise(job)?,
        })
    }
}

/// The most inputs without a record that are named; the others are counted.
const BARREN_NAMED_MAX: usize = 3;

/// The lines for people about the inputs of which nothing was accepted: how many there are, and
/// what is wrong with the first ones. No line if there are none.
pub fn barren(job: &Job, inputs: &[Input]) -> Vec<String> {
    if inputs.is_empty() {
        return Vec::new();
    }
    let (are, they) = if inputs.len() == 1 { ("is", "it") } else { ("are", "they") };
    let first = format!(
        "{} gave no record and {are} not consumed, until {they} or [read] change",
        counted(inputs.len() as u64, "input")
    );
    let mut lines = vec![first];
    lines.extend(inputs.iter().take(BARREN_NAMED_MAX).map(|input| {
        let why = visit::complaint(job, input).map_or(String::new(), |why| format!(": {why}"));
        plain(&format!("{}{why}", input.shown()))
    }));
    let more = inputs.len().saturating_sub(BARREN_NAMED_MAX);
    lines.extend((more > 0).then(|| format!("and {} more", grouped(more as u64))));
    lines
}

/// Warns on stderr of the inputs of this epoch of which nothing was accepted: a run that a timer
/// starts prints no report.
pub fn warn_of_barren(job: &Job, plan: &Plan, inputs: &[Input]) {
    let read: BTreeSet<&str> = plan.inputs.iter().map(|input| input.path.as_str()).collect();
    let now: Vec<&Input> =
        inputs.iter().filter(|input| read.contains(input.path.as_str())).collect();
    for input in now.iter().take(BARREN_NAMED_MAX) {
        let why = plain(&visit::complaint(job, input).unwrap_or_default());
        tracing::warn!(input = %plain(&input.shown()), %why, "nothing was read of this input");
    }
    if now.len() > BARREN_NAMED_MAX {
        tracing::warn!(more = now.len() - BARREN_NAMED_MAX, "nothing was read of other inputs");
    }
}

/// The line for people that says that the job reads the consumed input at `path` with other
/// options.
pub fn otherwise(path: &str) -> String {
    format!(
        "{} was read with other [read.fields] or [read.limits] and stays as it was; `pagefold rebuild JOB` \
         reads all inputs again, each in its turn",
        plain(path)
    )
}

/// The line that says that a server which has ended left records where no run finds them.
pub fn left_in_inbox(job: &Job) -> Option<String> {
    let inbox = job.serve.inbox.as_ref().filter(|inbox| has_left_records(inbox))?;
    let inbox = plain(&inbox.display().to_string());
    let wait = "records of a server that has ended wait there";
    Some(advice::worded(&format!("{inbox}: {wait}; `pagefold serve JOB` seals them for runs")))
}

/// The line about the input that keeps one worker busy while others have nothing to read: a
/// compressed file of any size is one stream. `reads` is the verb.
pub fn undivided(
    inputs: &[Input],
    splits: &[PlannedSplit],
    workers: usize,
    reads: &str,
) -> Option<String> {
    let largest = uncut(splits, workers)?;
    let input = &inputs[largest.parts.first()?.input];
    Some(format!(
        "{} ({}) cannot be divided: one of {workers} workers {reads} it",
        plain(&input.shown()),
        megabytes(largest.bytes())
    ))
}
