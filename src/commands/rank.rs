//! `pagefold worker JOB`: one process of a job that a scheduler has started.

use crate::cli;
use crate::cluster::ranks;
use crate::commands::run;
use crate::signals;
use workers::error::Result;

/// `pagefold worker JOB`: rank 0 does what `run` does, and the other ranks work for it.
pub fn command(arguments: &cli::Unattended) -> Result<()> {
    let outcome = ranks::run(&arguments.run, |ranks| run::run(arguments, Some(ranks)));
    signals::wait_if_stopping();
    outcome
}
