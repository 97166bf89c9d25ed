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
    let (quiet, verbose) = command.verbosity();
    logging::start(quiet, verbose);
    let outcome = match command {
        cli::Command::Run(arguments) => {
            workers::mesh::exit_on_panic(|_| ());
            stop::on_signal(arguments.run.json);
            let outcome = launch::run(&arguments, None);
            stop::hold();
            if let (Err(error), true) = (&outcome, arguments.run.json) {
                print::failed(error);
            }
            outcome
        }
        cli::Command::Schedule(arguments) => schedule::schedule(&arguments),
        cli::Command::Rebuild(arguments) => {
            workers::mesh::exit_on_panic(|_| ());
            stop::on_signal(arguments.json);
            let outcome = upkeep::rebuild(&arguments);
            stop::hold();
            outcome
        }
        cli::Command::Rollback(arguments) => upkeep::rollback(&arguments),
        cli::Command::Gc(arguments) => upkeep::gc(&arguments),
        cli::Command::Export(of) => inspect::export(&of),
        cli::Command::Status(arguments) => inspect::status(&arguments),
        cli::Command::Verify(arguments) => inspect::verify(&arguments),
        cli::Command::Check(arguments) => check::run(&arguments),
        cli::Command::Eval(arguments) => eval::eval(&arguments),
        cli::Command::Lexicon(arguments) => lexicon::lexicon(&arguments),
        cli::Command::Rank(arguments) => {
            let outcome = ranks::run(&arguments.run, |ranks| launch::run(&arguments, Some(ranks)));
            stop::hold();
            outcome
        }
        cli::Command::Worker => {
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
