//! `pagefold gc`: deletes what no kept epoch needs.

use crate::cli;
use crate::clock::now;
use crate::jobs::{committed, open};
use crate::terminal::print::{counted, print_json, show};
use serde_json::json;
use workers::error::Result;
use workers::store::Store;
use workers::upkeep::gc;

/// `pagefold gc`.
pub fn command(arguments: &cli::Gc) -> Result<()> {
    let (job, store, _) = open(&arguments.of)?;
    let _lock = Store::lock(&job.store)?;
    // A run may have committed before the lock was free.
    let head = committed(&store, store.head()?)?;
    let since = now() - 86_400 * i64::from(arguments.keep_days);
    let keep = gc::Keep { epochs: arguments.keep_epochs.into(), since };
    let found = gc::find(&store, &head, keep)?;
    if arguments.delete {
        gc::delete(&store, &found)?;
    }
    let (commits, files, attempts) = (found.manifests.len(), found.files.len(), found.attempts.len());
    if arguments.of.json {
        return print_json(&json!({
            "deleted": arguments.delete,
            "commits": commits,
            "files": files,
            "attempts": attempts,
            "bytes": found.bytes,
        }));
    }
    let (done, hint) = match arguments.delete {
        true => ("deleted", ""),
        false => ("could delete", "; --delete does"),
    };
    let megabytes = found.bytes as f64 / 1e6;
    let counts = [(commits, "old commit"), (files, "file"), (attempts, "attempt")];
    let counts = counts.map(|(n, one)| counted(n as u64, one)).join(", ");
    show(&format!("{done} {counts}: {megabytes:.1} MB{hint}\n"))
}
