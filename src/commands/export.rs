//! `pagefold export`: exports the head again.

use crate::cli;
use crate::opened::open_locked;
use crate::signals;
use crate::terminal::print::{counted, print_json, show};
use serde_json::json;
use workers::error::Result;
use workers::export;

/// `pagefold export`.
pub fn command(arguments: &cli::Export) -> Result<()> {
    let (job, store, head, _lock) = open_locked(&arguments.shared)?;
    let dir = job.output.dir.clone();
    signals::set_clean_up(move |_| export::sweep(&dir));
    if let Some(since) = arguments.since {
        let (rows, epoch) = (export::since(&job, &store, &head, since)?, head.manifest.epoch);
        if arguments.shared.json {
            return print_json(&json!({ "since": since, "epoch": epoch, "rows": rows }));
        }
        let (rows, dir) = (counted(rows, "row"), job.output.dir.display());
        return show(&format!(
            "exported the changes after epoch {since} up to {epoch} to {dir}: {rows}\n"
        ));
    }
    // If some answers were by other rules, the export would be that of no epoch.
    job.check_decided(store.root(), &head.manifest)?;
    let exported = export::export(&job, &store, &head)?;
    if arguments.shared.json {
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
