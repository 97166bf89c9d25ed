//! The `pagefold` command, which folds the near-duplicate pages of a web crawl.
//!
//! This crate parses, supervises and reports; the crate `workers` does the work. A command ends
//! with the exit code of its [`workers::error::Kind`].

mod advice;
mod after_commit;
mod cli;
mod cluster;
mod commands;
mod config;
mod file_kind;
mod first_job;
mod forecast;
mod job_keys;
mod jobs;
mod opened;
mod own_process;
mod processes;
mod schedule;
mod secret_file;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod terminal;
mod topology;
mod unattended;

use std::process::ExitCode;
use terminal::logging;
use workers::store::damage;

fn main() -> ExitCode {
    signals::hold();
    let command = match cli::parse(logging::print_plain) {
        Ok(command) => command,
        Err(code) => return code,
    };
    let (quiet, verbose) = command.verbosity();
    logging::start(quiet, verbose);
    signals::survive_file_limit();
    if let Some(json) = command.stops_with_code() {
        signals::on_signal(json);
    }
    if let Some(job) = command.job() {
        advice::set_job(job);
    }
    let outcome = damage::caught_all("the command", || commands::carry_out(&command));
    signals::wait_if_stopping();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logging::print_failure(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}
