//! Says what one worker wrote and counted in an epoch.

use crate::error::{Error, Result};
use crate::fold::counters::Counters;
use crate::fold::origins::Origin;
use crate::fold::spans::OperatorSpan;
use crate::store::segment::SegmentRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most keys that are named among those with replaced rows of other texts.
pub const OVERWRITTEN_NAMED_MAX: usize = 3;

/// The most inputs of former records that the receipts of all workers count in `changed`. An entry
/// has about 30 bytes of a message that has a limit.
pub const CHANGED_INPUTS_MAX: usize = 1_000_000;

/// What one worker wrote and counted. The launcher checks the receipts of all workers and commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The worker.
    pub worker: usize,
    /// The segment that it wrote of each table, if it had rows.
    pub segments: BTreeMap<String, SegmentRef>,
    /// Its counts.
    pub counters: Counters,
    /// The first keys of which rows with other texts were replaced, see
    /// [`crate::fold::counters::Counter::VisitsOverwritten`].
    pub overwritten: Vec<String>,
    /// The same of [`crate::fold::counters::Counter::VisitsReplacedElsewhere`].
    pub replaced_elsewhere: Vec<String>,
    /// The number of pages that have another text now, from a record in another input, by the key
    /// of the input of their former record; not of all inputs if there are very many.
    pub changed: BTreeMap<u64, u64>,
    /// Pages of sources and hosts in clusters that have many of them, see
    /// [`crate::fold::origins::OriginPages`].
    pub origin_pages: Vec<(Origin, u64)>,
    /// What each operator did on this worker, in the order in which they ended. Only for `run.json`
    /// and the profile.
    pub spans: Vec<OperatorSpan>,
    /// Rows looked up in each table. Only for `run.json`.
    pub rows_read: BTreeMap<String, u64>,
}

/// Adds up the counts of all workers. There must be one receipt of each worker.
pub fn counters(receipts: &[Receipt], workers: usize) -> Result<Counters> {
    let mut indices: Vec<usize> = receipts.iter().map(|receipt| receipt.worker).collect();
    indices.sort_unstable();
    if indices != (0..workers).collect::<Vec<_>>() {
        return Err(Error::internal(format!("{workers} workers, receipts of {indices:?}")));
    }
    let mut counters = Counters::default();
    receipts.iter().for_each(|receipt| counters.add(&receipt.counters));
    Ok(counters)
}
