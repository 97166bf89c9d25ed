//! `pagefold export`: exports the head again.

use crate::cli;
use crate::jobs::{committed, open};
use crate::terminal::print::{counted, print_json, show};
use workers::error::Result;
use workers::export;
use workers::store::Store;

/// `pagefold export`.
pub fn command(of: &cli::OfJob) -> Result<()> {
    let (job, store, head) = open(of)?;
    let _lock = Store::lock(&job.store)?;
    let exported = export::export(&job, &store, &committed(&store, head)?)?;
    if of.json {
        return print_json(&exported.summary);
    }
    let summary = exported.summary;
    show(&format!(
        "exported epoch {} to {}: {}\n",
        summary.epoch,
        job.output.dir.display(),
        counted(summary.pages, "page")
    ))
}
