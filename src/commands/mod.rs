//! The commands, one a file.

pub mod check;
pub mod eval;
pub mod export;
pub mod gc;
pub mod lexicon;
pub mod rebuild;
pub mod rollback;
pub mod run;
pub mod schedule;
pub mod status;
pub mod verify;

use crate::cli::Command;
use crate::cluster::{ranks, worker};
use crate::{cli, jobs, signals};
use workers::error::{Error, Kind, Result};
use workers::job::Job;
use workers::store::Store;
use workers::store::manifest::Head;

/// Does what the command line says.
pub fn carry_out(command: &Command) -> Result<()> {
    match command {
        Command::Run(arguments) => run::command(arguments),
        Command::Schedule(arguments) => schedule::schedule(arguments),
        Command::Rebuild(arguments) => rebuild::command(arguments),
        Command::Rollback(arguments) => rollback::rollback(arguments),
        Command::Gc(arguments) => gc::gc(arguments),
        Command::Export(of) => export::export(of),
        Command::Status(arguments) => status::status(arguments),
        Command::Verify(arguments) => verify::verify(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Eval(arguments) => eval::eval(arguments),
        Command::Lexicon(arguments) => lexicon::lexicon(arguments),
        Command::Rank(arguments) => {
            let outcome = ranks::run(&arguments.run, |ranks| run::run(arguments, Some(ranks)));
            signals::wait_if_stopping();
            outcome
        }
        Command::Worker => worker::command(),
    }
}

/// The job, its store and the store's head.
pub fn open(of: &cli::OfJob) -> Result<(Job, Store, Option<Head>)> {
    let job = jobs::read(&of.job, &of.sets)?;
    let store = Store::open(&job.store, Some(&job.identity()?))?;
    let head = store.head()?;
    Ok((job, store, head))
}

/// The head, of which there must be one.
pub fn committed(store: &Store, head: Option<Head>) -> Result<Head> {
    let nothing = || Error::new(Kind::NoInput, format!("{}: no epoch yet; run the job first", store.root().display()));
    head.ok_or_else(nothing)
}
