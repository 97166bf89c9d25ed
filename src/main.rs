//! pagefold: folds the near-duplicate pages of a web crawl. This crate starts the work, `workers` does it.

mod allocation;
mod attempts;
mod bar;
mod check;
mod cli;
mod clock;
mod cluster;
mod crew;
mod eval;
mod inspect;
mod jobs;
mod launch;
mod lexicon;
mod logging;
mod metrics;
mod moments;
mod ping;
mod print;
mod probe;
mod process;
mod queue;
mod ranks;
mod report;
mod schedule;
mod stop;
mod task;
mod units;
mod upkeep;
mod watch;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match cli::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    let outcome = match command {
        cli::Command::Run(arguments) => {
            logging::start(arguments.run.quiet, arguments.run.verbose);
            workers::mesh::exit_on_panic(|_| ());
            stop::on_signal(arguments.run.json);
            let outcome = launch::run(&arguments, None);
            stop::hold();
            if let (Err(error), true) = (&outcome, arguments.run.json) {
                print::failed(error);
            }
            outcome
        }
        cli::Command::Schedule(arguments) => {
            logging::start(false, 0);
            schedule::schedule(&arguments)
        }
        cli::Command::Rebuild(arguments) => {
            logging::start(arguments.quiet, arguments.verbose);
            workers::mesh::exit_on_panic(|_| ());
            stop::on_signal(arguments.json);
            let outcome = upkeep::rebuild(&arguments);
            stop::hold();
            outcome
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
        cli::Command::Eval(arguments) => {
            logging::start(false, 0);
            eval::eval(&arguments)
        }
        cli::Command::Lexicon(arguments) => {
            logging::start(false, 0);
            lexicon::lexicon(&arguments)
        }
        cli::Command::Rank(arguments) => {
            logging::start(arguments.run.quiet, arguments.run.verbose);
            let outcome = ranks::run(&arguments.run, |ranks| launch::run(&arguments, Some(ranks)));
            stop::hold();
            outcome
        }
        cli::Command::Worker => {
            logging::start(false, 0);
            workers::mesh::exit_on_panic(worker::last_word);
            stop::with_launcher();
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
