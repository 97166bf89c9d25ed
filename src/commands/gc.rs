//! `pagefold gc`: deletes files that no kept epoch needs.

use crate::cli;
use crate::opened::{committed, job_and_store};
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, megabytes, print_json, show};
use serde_json::json;
use workers::error::{Kind, Result};
use workers::plan::time::now;
use workers::store::Store;
use workers::upkeep::gc;

/// `pagefold gc`.
pub fn command(arguments: &cli::Gc) -> Result<()> {
    let (job, store) = job_and_store(&arguments.shared)?;
    let _lock = match Store::lock(&job.store) {
        // A list deletes nothing, so a user who may only read the store gets it, too.
        Err(error) if !arguments.delete && error.kind() != Kind::TryAgain => None,
        lock => Some(lock?),
    };
    let head = match (store.head()?, arguments.unfinished) {
        // The first epoch may be the one that is not finished.
        (head, true) => head,
        (head, false) => Some(committed(&store, head)?),
    };
    let keep = gc::Keep::last(arguments.keep_epochs.into(), arguments.keep_days, now());
    let found = gc::find(&store, head.as_ref(), &keep, arguments.unfinished)?;
    if arguments.delete {
        gc::delete(&store, &found)?;
    }
    let paths: Vec<_> =
        [&found.manifests, &found.files, &found.attempts].into_iter().flatten().collect();
    let (commits, files, attempts) =
        (found.manifests.len(), found.files.len(), found.attempts.len());
    if arguments.shared.json {
        return print_json(&json!({
            "deleted": arguments.delete,
            "commits": commits,
            "files": files,
            "attempts": attempts,
            "bytes": found.bytes,
            "paths": paths,
        }));
    }
    let (done, hint) = match arguments.delete {
        true => ("deleted", ""),
        false => ("could delete", "; --delete does"),
    };
    let counts = [(commits, "old commit"), (files, "file"), (attempts, "attempt")];
    let counts = counts.map(|(n, one)| counted(n as u64, one)).join(", ");
    let named = if arguments.delete { &[][..] } else { &paths[..] };
    let named: String =
        named.iter().map(|path| format!("{}\n", plain(&path.display().to_string()))).collect();
    show(&format!("{named}{done} {counts}: {}{hint}\n", megabytes(found.bytes)))
}
