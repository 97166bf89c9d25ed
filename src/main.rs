//! pagefold: folds the near-duplicate pages of a web crawl. This crate starts the work, `workers` does it.

mod cli;
mod cluster;
mod jobs;
mod launch;
mod logging;
mod report;
mod task;
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
            workers::mesh::exit_on_panic();
            launch::run(&arguments)
        }
        cli::Command::Worker => {
            logging::start(false, 0);
            workers::mesh::exit_on_panic();
            worker::run()
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pagefold: {error}");
            ExitCode::from(error.kind().exit_code())
        }
    }
}
