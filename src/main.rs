//! pagefold: folds the near-duplicate pages of a web crawl. This crate starts the work, `workers` does it.

mod attempts;
mod check;
mod cli;
mod cluster;
mod crew;
mod inspect;
mod jobs;
mod launch;
mod logging;
mod probe;
mod process;
mod report;
mod task;
mod upkeep;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match cli::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    let outcome = match command {
        cli::Command::Run(arguments) => {
            logging::start(arguments.quiet, arguments.verbose);
            workers::mesh::exit_on_panic(|_| ());
            let outcome = launch::run(&arguments);
            if let (Err(error), true) = (&outcome, arguments.json) {
                report::failed(error);
            }
            outcome
        }
        cli::Command::Rebuild(arguments) => {
            logging::start(arguments.quiet, arguments.verbose);
            workers::mesh::exit_on_panic(|_| ());
            upkeep::rebuild(&arguments)
        }
        cli::Command::Rollback(arguments) => {
            logging::start(false, 0);
            upkeep::rollback(&arguments)
        }
        cli::Command::Gc(arguments) => {
            logging::start(false, 0);
            upkeep::gc(&arguments)
        }
        cli::Command::Export(of) => {
            logging::start(false, 0);
            inspect::export(&of)
        }
        cli::Command::Status(arguments) => {
            logging::start(false, 0);
            inspect::status(&arguments)
        }
        cli::Command::Verify(arguments) => {
            logging::start(false, 0);
            inspect::verify(&arguments)
        }
        cli::Command::Check(arguments) => {
            logging::start(false, 0);
            check::run(&arguments)
        }
        cli::Command::Worker => {
            logging::start(false, 0);
            workers::mesh::exit_on_panic(worker::last_word);
            worker::run()
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logging::say(&error.to_string());
            ExitCode::from(error.kind().exit_code())
        }
    }
}
