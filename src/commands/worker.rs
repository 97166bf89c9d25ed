//! `pagefold worker JOB`: one process of a job that a scheduler has started.

use crate::cli;
use crate::cluster::ranks;
use crate::commands::run;
use workers::error::{Error, Kind, Result};

/// `pagefold worker JOB`: rank 0 does what `run` does, and the other ranks work for it.
pub fn command(arguments: &cli::Unattended) -> Result<()> {
    // The other ranks may never connect, because nobody starts many processes for a dry run.
    if arguments.dry_run {
        return Err(Error::new(
            Kind::Usage,
            "--dry-run: not of a process of a scheduler; try `pagefold run --dry-run`",
        ));
    }
    ranks::run(&arguments.run, |ranks| run::run(arguments, Some(ranks)))
}
