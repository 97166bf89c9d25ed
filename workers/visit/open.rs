//! Opens the inputs of a job as the job says.

use crate::error::Result;
use crate::job::Job;
use crate::plan::inputs::Input;
use crate::read::record::Item;
use crate::read::{self, Reader, Split, first_records};

/// Opens the reader of a split of `input`, which is an input of the job.
pub fn open(job: &Job, split: &Split, input: &Input) -> Result<Box<dyn Reader>> {
    // A file that the job names must be readable; a file found in a folder may be anything.
    let is_named = job.read.names(&split.path);
    let open = if is_named { read::open } else { read::open_or_reject };
    let options = job.read.options(&input.digest);
    match job.read.records_max {
        Some(most) => first_records::open(split, &options, open, most, input.bytes),
        None => open(split, &options),
    }
}

/// The most records that are searched for a bad one.
const LOOKED_AT_MAX: usize = 1000;

/// What is wrong with `input`, of which no record was accepted: what its reader says of the whole
/// file, or else of the first bad record. `None` if it says nothing.
pub fn complaint(job: &Job, input: &Input) -> Option<String> {
    let split = Split { path: input.file(), start: 0, end: input.bytes };
    let options = job.read.options(&input.digest);
    if let Some(why) = read::refusal(&split, &options).ok()? {
        return Some(why);
    }
    let mut reader = read::open(&split, &options).ok()?;
    for _ in 0..LOOKED_AT_MAX {
        if let Item::Reject { reason, detail, .. } = reader.next().ok()??.item {
            return Some(if detail.is_empty() {
                reason.into()
            } else {
                format!("{reason}, {detail}")
            });
        }
    }
    None
}
