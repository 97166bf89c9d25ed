//! The command line. Each file has the arguments of a group of commands.

mod ask;
mod prepare;
mod run;
mod serve;
mod shell;
mod upkeep;
mod values;
mod write;

pub use ask::{Eval, Explain, Query, Status};
pub use prepare::{Check, Estimate, Init, Lexicon, LexiconKind, Schedule};
pub use run::{Run, Start, Unattended};
pub use serve::{Send, Serve};
pub use shell::{Completions, Man};
pub use upkeep::{Gc, Rollback, Verify};
pub use values::named_file;
pub use write::{Export, Filter, LabelNames, Report};

use crate::advice::{self, Given};
use crate::config::nearest::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use workers::error::Kind;
use workers::read::shell::word as quoted;

/// Folds the near-duplicate pages of a web crawl. It says which pages are copies, which to keep,
/// and why.
#[derive(Parser)]
#[command(name = "pagefold", version, propagate_version = true, after_help = exit_codes())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The job that `run --to` writes into its folder.
pub const JOB_IN_FOLDER: &str = "job.toml";

/// The meaning of exit code 0; the other codes are [`Kind`]s.
const SUCCESS: &str = "committed, or nothing due";

fn exit_codes() -> String {
    let failures = Kind::ALL.map(|kind| format!("\n  {:>2}  {}", kind.exit_code(), kind.meaning()));
    format!("Exit codes:\n   0  {SUCCESS}{}", failures.concat())
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Read new files, fold their pages into the store, and export the result.
    #[command(after_help = "Examples:\n\
            \x20 pagefold run crawl.toml\n\
            \x20 pagefold run crawl.toml --dry-run\n\
            \x20 pagefold run pages.jsonl.gz --to folded\n\
            \x20 pagefold run crawl.toml --set confirm.facts=off --threads 4")]
    Run(Start),
    /// Examine the formats, fields and charsets of files, and print a job that reads them.
    #[command(after_help = "Example:\n  pagefold init pages/*.parquet > pages.toml")]
    Init(Init),
    /// Check what a run needs: the job, inputs, folders and, with --cluster, every host.
    #[command(after_help = "Example:\n  pagefold check crawl.toml --cluster cluster.toml")]
    Check(Check),
    /// Estimate the time, memory, disk and network that a first build of a job needs.
    #[command(after_help = "Examples:\n\
            \x20 pagefold estimate crawl.toml --cluster cluster.toml\n\
            \x20 pagefold estimate crawl.toml --pages 1000000000 --bytes 4000 --hosts 10 --threads 8")]
    Estimate(Estimate),
    /// Print a line for a crontab, or a service and a timer for systemd, that run a job at fixed
    /// times.
    #[command(after_help = "Example:\n  pagefold schedule crawl.toml --cron --at 03:15")]
    Schedule(Schedule),
    /// Write the exports of the latest epoch again. No input is read.
    #[command(after_help = "Examples:\n\
            \x20 pagefold export crawl.toml --set output.dir=elsewhere\n\
            \x20 pagefold export crawl.toml --since 41")]
    Export(Export),
    /// Copy the job's inputs, in their own formats, without the records that fold; or write a table
    /// of what became of each record.
    #[command(after_help = "Example:\n  pagefold filter crawl.toml --to folded")]
    Filter(Filter),
    /// Show the state of a job's store: its last epoch, pages, clusters and tables.
    #[command(
        after_help = "Examples:\n  pagefold status crawl.toml\n  pagefold status crawl.toml --max-age 26h"
    )]
    Status(Status),
    /// Say why two pages are in one cluster or not: what each signature says, which rule decided
    /// and by how much, and what differs. For one page: its cluster, why its representative was
    /// chosen, and the history of the page.
    #[command(after_help = "Examples:\n\
            \x20 pagefold explain crawl.toml https://a.example/x https://b.example/x\n\
            \x20 pagefold explain crawl.toml https://a.example/x --json")]
    Explain(Explain),
    /// Say what a text would fold with, by the rules of a run. Only small parts of the store are
    /// read.
    #[command(after_help = "Examples:\n\
            \x20 pagefold query crawl.toml page.html --all\n\
            \x20 pagefold query crawl.toml --json < rows.jsonl")]
    Query(Query),
    /// Answer over HTTP what a record would fold with, by the rules of a run, and insert new
    /// records. Runs may go on at the same time.
    #[command(after_help = "Examples:\n\
            \x20 pagefold serve crawl.toml --bind 127.0.0.1:7311\n\
            \x20 pagefold serve crawl.toml --bind 0.0.0.0:7311 --token-file token")]
    Serve(Serve),
    /// Send JSON lines to a server and print its answers, one a line: /check, /insert or /remove.
    #[command(after_help = "Examples:\n\
            \x20 pagefold send http://127.0.0.1:7311/insert rows.jsonl\n\
            \x20 pagefold send http://127.0.0.1:7311/check < rows.jsonl")]
    Send(Send),
    /// Write a report of the store as one HTML file: hosts that mirror each other, clusters with
    /// their texts and differences, pairs near the threshold, rejected records, epochs.
    #[command(after_help = "Example:\n  pagefold report crawl.toml --out report.html")]
    Report(Report),
    /// Verify a job's store: that every file is there; with --full every byte, row and hash; with
    /// --deep also that the tables agree with one another and no near pair is missing.
    #[command(after_help = "Example:\n  pagefold verify crawl.toml --full")]
    Verify(Verify),
    /// Measure precision and recall of the store against labels, or with --ask against your answers
    /// about some pairs; with --sweep also for other settings.
    #[command(after_help = "Examples:\n\
            \x20 pagefold eval crawl.toml --labels truth.jsonl --list 20\n\
            \x20 pagefold eval crawl.toml --ask 200 --labels answers.jsonl")]
    Eval(Eval),
    /// Go back to an earlier epoch. Nothing is deleted.
    #[command(after_help = "Example:\n  pagefold rollback crawl.toml 41")]
    Rollback(Rollback),
    /// List the files that no kept epoch needs; with --delete, delete them.
    #[command(after_help = "Example:\n  pagefold gc crawl.toml --keep-epochs 30 --delete")]
    Gc(Gc),
    /// Read all consumed inputs again into a new store, for a job whose identity changed (the keys
    /// that the first lines of jobs/snapshot.toml name), or a store of an older format.
    #[command(after_help = "Example:\n  pagefold rebuild crawl.toml --threads 8")]
    Rebuild(Run),
    /// Count in how many texts of the inputs each word occurs, and write the file of words that
    /// I-Match, the weights of words or the stop words read; or the lines that hosts repeat.
    #[command(after_help = "Example:\n  pagefold lexicon crawl.toml --kind idf --out words.tsv")]
    Lexicon(Lexicon),
    /// Print the completions of the command line for a shell.
    #[command(
        after_help = "Example:\n  pagefold completions bash > /etc/bash_completion.d/pagefold"
    )]
    Completions(Completions),
    /// Print the manual page of pagefold, or of one of its commands.
    #[command(after_help = "Examples:\n  pagefold man run\n  pagefold man > pagefold.1")]
    Man(Man),
    /// One process of a job; started by a scheduler, which says its rank and its peers in the
    /// environment, on all hosts alike.
    // The cluster is that of the environment.
    #[command(name = "worker", hide = true)]
    #[command(mut_arg("cluster", |of| of.hide(true)), mut_arg("threads", |of| of.hide(true)))]
    Rank(Unattended),
    /// One process of a job; started by `run --cluster` as `worker` without a job, which comes over
    /// stdin.
    #[command(skip)]
    Worker,
}

impl Command {
    /// The job that the command is about.
    pub fn job(&self) -> Option<advice::Job> {
        let job = advice::Job::new;
        let arguments = match self {
            // The job file in the folder already has the keys that the command line sets.
            Command::Run(Start { to: Some(folder), .. }) => {
                return Some(job(&folder.join(JOB_IN_FOLDER), &[]));
            }
            Command::Run(Start { unattended: Unattended { run, .. }, limit, .. }) => {
                let mut job = job(&run.job, &run.sets).on(run.cluster.as_ref());
                job.given.extend(limit.map(Given::limit));
                return Some(job);
            }
            Command::Rank(Unattended { run, .. }) | Command::Rebuild(run) => {
                return Some(job(&run.job, &run.sets).on(run.cluster.as_ref()));
            }
            Command::Check(check) => {
                let shared = &check.shared;
                return Some(job(&shared.job, &shared.sets).on(check.cluster.as_ref()));
            }
            Command::Schedule(schedule) => return Some(job(&schedule.job, &[])),
            _ => self.job_arguments()?,
        };
        Some(job(&arguments.job, &arguments.sets))
    }

    /// The job of a command on a store.
    fn job_arguments(&self) -> Option<&JobArguments> {
        Some(match self {
            Command::Run(_)
            | Command::Rank(_)
            | Command::Rebuild(_)
            | Command::Schedule(_)
            | Command::Init(_)
            | Command::Send(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Worker => return None,
            Command::Check(command) => &command.shared,
            Command::Estimate(command) => &command.shared,
            Command::Export(command) => &command.shared,
            Command::Filter(command) => &command.shared,
            Command::Status(command) => &command.shared,
            Command::Explain(command) => &command.shared,
            Command::Query(command) => &command.shared,
            Command::Serve(command) => &command.shared,
            Command::Report(command) => &command.shared,
            Command::Verify(command) => &command.shared,
            Command::Eval(command) => &command.shared,
            Command::Rollback(command) => &command.shared,
            Command::Gc(command) => &command.shared,
            Command::Lexicon(command) => &command.shared,
        })
    }

    /// Whether a signal that stops the command is also printed as JSON. `None`: the command itself
    /// says what a signal does.
    pub fn stops_with_code(&self) -> Option<bool> {
        match self {
            Command::Serve(_) | Command::Rank(_) | Command::Worker => None,
            Command::Run(arguments) => Some(arguments.unattended.run.json),
            Command::Rebuild(arguments) => Some(arguments.json),
            Command::Schedule(arguments) => Some(arguments.json),
            _ => Some(self.job_arguments().is_some_and(|shared| shared.json)),
        }
    }

    /// Whether the command is quiet, and its level of verbosity.
    pub fn verbosity(&self) -> (bool, u8) {
        match self {
            Command::Run(Start { unattended: Unattended { run, .. }, .. })
            | Command::Rank(Unattended { run, .. })
            | Command::Rebuild(run) => (run.quiet, run.verbose),
            Command::Filter(filter) => (filter.quiet, 0),
            _ => (false, 0),
        }
    }
}

/// What all commands on the store of a job take.
#[derive(Args)]
pub struct JobArguments {
    /// The job file.
    #[arg(value_parser = values::source())]
    pub job: PathBuf,
    /// Sets a key of the job file, as if it stood there. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The command line without hidden commands, which no user types.
pub fn visible() -> clap::Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let command =
        clap::Command::new("pagefold").version(env!("CARGO_PKG_VERSION")).after_help(exit_codes());
    command.about(all.get_about().cloned().unwrap_or_default()).subcommands(shown)
}

/// The line about a word that is no command: it may be the job of a command, or a slip. No command
/// is suggested that only looks similar.
fn no_such_command(error: &clap::Error) -> Option<String> {
    let word = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => word,
        _ => return None,
    };
    let cli = Cli::command();
    let names: Vec<&str> = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|of| of.get_name())
        .collect();
    Some(match nearest(word, names.iter().copied()) {
        _ if word.ends_with(".toml") => {
            let path = quoted(Path::new(word));
            format!("{word}: a job needs a command; did you mean `pagefold run {path}`?")
        }
        _ if Path::new(word).exists() => {
            let path = quoted(Path::new(word));
            format!(
                "{word}: no command; `pagefold run {path} --to DIR` folds it, `pagefold init {path}` makes a job for it"
            )
        }
        Some(meant) => format!("{word}: no such command; did you mean `pagefold {meant}`?"),
        None => format!("{word}: no such command; there are {}", names.join(", ")),
    })
}

/// Parses the command line. `Err` holds the exit code after help, version or a usage error was
/// printed; `print_failure` prints a line of ours.
pub fn parse(print_failure: fn(&str)) -> Result<Command, ExitCode> {
    if std::env::args_os().skip(1).eq(["worker"]) {
        return Ok(Command::Worker);
    }
    Cli::try_parse().map(|cli| cli.command).map_err(|error| {
        if let Some(line) = no_such_command(&error) {
            print_failure(&line);
            return ExitCode::from(Kind::Usage.exit_code());
        }
        // A closed pipe while the usage error is printed is not reported.
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(Kind::Usage.exit_code()) } else { ExitCode::SUCCESS }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `jobs/README.md`, `--help` and [`Kind`] agree on every exit code.
    #[test]
    fn exit_codes_agree() {
        let mut expected = vec![(0, SUCCESS.to_owned())];
        expected.extend(Kind::ALL.map(|kind| (kind.exit_code(), kind.meaning().to_owned())));
        assert!(expected.is_sorted_by_key(|(code, _)| *code));
        let code = |number: &str| number.trim().parse::<u8>().ok();
        let readme = include_str!("../../jobs/README.md").lines().filter_map(|line| {
            let (number, meaning) =
                line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
            Some((code(number)?, meaning.to_owned()))
        });
        assert_eq!(readme.collect::<Vec<_>>(), expected);
        let help = Cli::command().render_long_help().to_string();
        let (_, table) = help.split_once("Exit codes:").expect("a table");
        let lines = table.lines().filter_map(|line| {
            let (number, meaning) = line.trim().split_once("  ")?;
            Some((code(number)?, meaning.to_owned()))
        });
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }

    /// Every command that people type has an example in its help, and the examples are command
    /// lines that are understood.
    #[test]
    fn examples_are_understood() {
        for command in visible().get_subcommands() {
            let help = command.clone().render_help().to_string();
            let (_, examples) = help
                .split_once("Example")
                .unwrap_or_else(|| panic!("{}: {help}", command.get_name()));
            let mut count = 0;
            for line in examples.lines().filter_map(|line| line.strip_prefix("  pagefold ")) {
                let words = line.split_whitespace().take_while(|word| !["<", ">"].contains(word));
                let parsed = Cli::try_parse_from(["pagefold"].into_iter().chain(words));
                assert!(
                    parsed.is_ok(),
                    "{line}: {}",
                    parsed.err().map_or(String::new(), |error| error.to_string())
                );
                assert!(line.starts_with(command.get_name()), "{line}");
                count += 1;
            }
            assert!(count > 0, "{examples}");
        }
    }

    /// `--wait` takes its number only after `=`, so that it cannot swallow the job's name.
    #[test]
    fn wait() {
        let wait =
            |words: &[&str]| match Cli::try_parse_from([&["pagefold", "run"], words].concat())
                .ok()?
                .command
            {
                Command::Run(start) => Some(start.unattended.wait),
                _ => None,
            };
        assert_eq!(wait(&["job.toml"]), Some(None));
        assert_eq!(wait(&["--wait", "job.toml"]), Some(Some(None)));
        assert_eq!(wait(&["--wait=7", "job.toml"]), Some(Some(Some(7))));
        assert_eq!(wait(&["--wait", "--skip-if-running", "job.toml"]), None);
    }

    /// `rebuild` took `--now` and did not obey it: its times are those of the epochs that it makes
    /// again.
    #[test]
    fn rebuild_has_no_time() {
        let is_taken = |command| {
            Cli::try_parse_from(["pagefold", command, "job.toml", "--now", "1000"]).is_ok()
        };
        assert_eq!(["run", "rebuild"].map(is_taken), [true, false]);
    }

    /// A word that is no command has one line, which names the intended command if it is clear.
    #[test]
    fn words_that_are_no_command() {
        let line = |word: &str| {
            let error = Cli::try_parse_from(["pagefold", word]).err().expect("no such command");
            no_such_command(&error).expect("a line")
        };
        assert!(line("job.toml").ends_with("did you mean `pagefold run job.toml`?"));
        assert!(line("stauts").ends_with("did you mean `pagefold status`?"));
        assert!(
            line("fold").starts_with("fold: no such command; there are run, init, check, "),
            "{}",
            line("fold")
        );
        assert!(
            line("src").starts_with("src: no command; `pagefold run src --to DIR` folds it"),
            "{}",
            line("src")
        );
        assert!(
            Cli::try_parse_from(["pagefold", "run"])
                .err()
                .is_some_and(|error| no_such_command(&error).is_none())
        );
    }
}
