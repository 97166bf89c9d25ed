//! The command line, as typed.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use workers::error::Kind;

/// Folds the near-duplicate pages of a web crawl: which pages say the same thing, which one to keep, and why.
#[derive(Parser)]
#[command(name = "pagefold", version, propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 committed, or nothing new; 64 usage; 65 too many bad records; 66 input missing; \
70 fault in pagefold; 73 output; 74 read or write failed; 75 try again (locked, lost peer); 76 peer refused; \
77 permission; 78 job, cluster or store format";

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Read what is new, fold it into the store, export the result.
    Run(Run),
    /// Write the exports of the store's head again, without reading anything new.
    Export(OfJob),
    /// Say what a job's store holds.
    Status(Status),
    /// Look a job's store over: every referenced file present; with --full every byte, row and hash.
    Verify(Verify),
    /// One process of a job; started by `run --cluster`.
    #[command(hide = true)]
    Worker,
}

/// `pagefold run`.
#[derive(Args)]
pub struct Run {
    /// The job file: what to read, how to fold, where results go.
    pub job: PathBuf,
    /// The cluster file: how many processes with how many workers. Without it one process does the work.
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<PathBuf>,
    /// Worker threads of a single process [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "cluster")]
    pub threads: Option<u16>,
    /// Sets a key of the job file, as if it stood there: `--set simhash.k=2`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print nothing but errors.
    #[arg(short, long, conflicts_with_all = ["json", "verbose"])]
    pub quiet: bool,
    /// Log more (-v stages, -vv all).
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// A command on the store of a job.
#[derive(Args)]
pub struct OfJob {
    /// The job file.
    pub job: PathBuf,
    /// Sets a key of the job file, as if it stood there. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `pagefold status`.
#[derive(Args)]
pub struct Status {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Exit 65 if the last epoch is older: a number with s, m, h or d.
    #[arg(long, value_name = "AGE", value_parser = seconds)]
    pub max_age: Option<i64>,
    /// Print the paths of a table's files instead, one a line.
    #[arg(long, value_name = "TABLE", conflicts_with = "max_age")]
    pub files: Option<String>,
}

/// `pagefold verify`.
#[derive(Args)]
pub struct Verify {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Read every byte.
    #[arg(long)]
    pub full: bool,
}

fn seconds(age: &str) -> Result<i64, String> {
    let (number, unit) = age.split_at(age.len() - age.chars().next_back().map_or(0, char::len_utf8));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("a number with s, m, h or d, such as 26h".into()),
    };
    let number: i64 = number.parse().map_err(|_| "a number with s, m, h or d, such as 26h")?;
    number.checked_mul(seconds).ok_or_else(|| "too long an age".into())
}

/// Reads the command line; `Err` is the exit code after help, version or a usage error was printed.
pub fn parse() -> Result<Command, ExitCode> {
    Cli::try_parse().map(|cli| cli.command).map_err(|error| {
        // A closed pipe is no reason to complain about the complaint.
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(Kind::Usage.exit_code()) } else { ExitCode::SUCCESS }
    })
}
