//! `pagefold rollback`: makes an earlier epoch the head again.

use crate::after_commit::export_committed;
use crate::cli;
use crate::opened::open_locked;
use crate::terminal::print::{counted, print_json, show};
use serde_json::json;
use workers::error::Result;
use workers::export;
use workers::job::When;
use workers::upkeep::rollback;

/// `pagefold rollback`.
pub fn command(arguments: &cli::Rollback) -> Result<()> {
    let (job, store, head, _lock) = open_locked(&arguments.shared)?;
    let exports = job.output.export == When::Always;
    if exports {
        export::check_place(&job, Some(&head))?;
        export::check_writable(&job)?;
    }
    let new = rollback::rollback(&store, &head, arguments.epoch, arguments.forget_inputs)?;
    // If some answers were by other rules, the export would be that of no epoch.
    match job.check_decided(store.root(), &new.manifest) {
        Err(why) if exports => tracing::warn!("nothing is exported: {why}"),
        Ok(()) if exports => _ = export_committed(&job, &store, &new)?,
        _ => {}
    }
    let (epoch, target) = (new.manifest.epoch, arguments.epoch);
    if arguments.shared.json {
        return print_json(&json!({ "epoch": epoch, "same_as": target }));
    }
    let pages = new.manifest.tables.get("pages").map_or(0, |table| table.rows);
    show(&format!("epoch {epoch} is what epoch {target} was: {}\n", counted(pages, "page")))
}
