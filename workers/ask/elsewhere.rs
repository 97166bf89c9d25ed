//! Counts the pages whose records are in inputs that are gone.
//!
//! A page stays until an input removes it, a complete snapshot lacks it or it expires. In a corpus,
//! whose rows have keys of their own, a file that is gone or was written anew leaves unwanted
//! pages. So a report says how many there are. For crawls they are not counted: archives may be
//! deleted once they are read, and to count would read a whole table.

use crate::error::Result;
use crate::job::Job;
use crate::plan::consumed::History;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::tables::pages::of_inputs;
use crate::tables::snapshot::Snapshot;
use serde::Serialize;

/// Inputs that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// The number of inputs.
    pub inputs: u64,
    /// The number of live pages whose records are in them.
    pub pages: u64,
}

/// The consumed inputs of a corpus that are gone, and their pages; `None` if there are no such
/// pages. The table of pages is read only if some input is gone.
pub fn elsewhere(
    job: &Job,
    store: &Store,
    head: &Head,
    history: &History,
) -> Result<Option<Elsewhere>> {
    if !job.read.key.is_own() {
        return Ok(None);
    }
    let gone = history.gone(job)?;
    if gone.is_empty() {
        return Ok(None);
    }
    let pages = of_inputs(&Snapshot::of(store, head).table()?, |input| gone.contains(&input));
    Ok((pages > 0).then_some(Elsewhere { inputs: gone.len() as u64, pages }))
}
