//! The commands, one in each file.

pub mod check;
mod check_store;
pub mod completions;
pub mod dry_run;
pub mod estimate;
pub mod eval;
mod eval_ask;
mod eval_canonical;
pub mod explain;
pub mod export;
pub mod filter;
pub mod gc;
pub mod init;
#[cfg(not(feature = "serve"))]
mod left_out;
pub mod lexicon;
pub mod man;
pub mod query;
pub mod rebuild;
pub mod report;
pub mod rollback;
pub mod run;
pub mod schedule;
#[cfg(feature = "serve")]
pub mod send;
#[cfg(feature = "serve")]
mod send_rows;
#[cfg(feature = "serve")]
pub mod serve;
pub mod status;
mod unfinished;
pub mod verify;
pub mod worker;

use crate::cli::Command;
use crate::cluster::launched;
#[cfg(not(feature = "serve"))]
use left_out as send;
#[cfg(not(feature = "serve"))]
use left_out as serve;
use workers::error::Result;

/// Runs the command.
pub fn carry_out(command: &Command) -> Result<()> {
    match command {
        Command::Run(arguments) if arguments.unattended.dry_run => dry_run::command(arguments),
        Command::Run(arguments) => run::command(arguments),
        Command::Init(arguments) => init::command(arguments),
        Command::Estimate(arguments) => estimate::command(arguments),
        Command::Schedule(arguments) => schedule::command(arguments),
        Command::Rebuild(arguments) => rebuild::command(arguments),
        Command::Rollback(arguments) => rollback::command(arguments),
        Command::Gc(arguments) => gc::command(arguments),
        Command::Export(of) => export::command(of),
        Command::Filter(arguments) => filter::command(arguments),
        Command::Status(arguments) => status::command(arguments),
        Command::Explain(arguments) => explain::command(arguments),
        Command::Query(arguments) => query::command(arguments),
        Command::Serve(arguments) => serve::command(arguments),
        Command::Send(arguments) => send::command(arguments),
        Command::Report(arguments) => report::command(arguments),
        Command::Verify(arguments) => verify::command(arguments),
        Command::Check(arguments) => check::command(arguments),
        Command::Eval(arguments) => eval::command(arguments),
        Command::Lexicon(arguments) => lexicon::command(arguments),
        Command::Rank(arguments) => worker::command(arguments),
        Command::Completions(arguments) => completions::command(arguments),
        Command::Man(arguments) => man::command(arguments),
        Command::Worker => launched::command(),
    }
}
