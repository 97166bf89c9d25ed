//! The command line, as typed.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use workers::error::Kind;
use workers::guards::Guard;

/// Folds the near-duplicate pages of a web crawl: which pages say the same thing, which one to keep, and why.
#[derive(Parser)]
#[command(name = "pagefold", version, propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 committed, or nothing due; 64 usage; 65 a guard spoke (see --allow); 66 input missing; \
70 fault in pagefold; 73 output; 74 read or write failed; 75 try again (locked, lost peer); 76 peer refused; \
77 permission; 78 job, cluster or store format";

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Read what is new, fold it into the store, export the result.
    Run(Run),
    /// Try everything that a run needs before there is one: job, inputs, folders and, with --cluster, every host.
    Check(Check),
    /// Write the exports of the store's head again, without reading anything new.
    Export(OfJob),
    /// Say what a job's store holds.
    Status(Status),
    /// Look a job's store over: every referenced file present; with --full every byte, row and hash; with --deep whether its
    /// tables agree and the near pairs are all there.
    Verify(Verify),
    /// Make an earlier epoch the answer again. Nothing is deleted.
    Rollback(Rollback),
    /// Say what no kept epoch needs; with --delete, delete it.
    Gc(Gc),
    /// Read all consumed inputs again into a new store, for a job whose identity changed (extract, normalize, features, simhash).
    Rebuild(Run),
    /// One process of a job; started by `run --cluster`.
    #[command(hide = true)]
    Worker,
}

/// `pagefold run`.
#[derive(Args)]
pub struct Run {
    /// The job file: what to read, how to fold, where results go.
    pub job: PathBuf,
    /// The cluster file: which processes, on which hosts, with how many workers. Without it one process does the work.
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<PathBuf>,
    /// Worker threads of a single process [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "cluster")]
    pub threads: Option<u16>,
    /// Sets a key of the job file, as if it stood there: `--set simhash.k=2`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Plan as of this time, seconds since 1970 [default: the clock]. Retention counts by it.
    #[arg(long, value_name = "SECONDS")]
    pub now: Option<i64>,
    /// Let a guard pass that stopped the run before it committed. May be repeated.
    #[arg(long, value_name = "GUARD", value_parser = guard)]
    pub allow: Vec<Guard>,
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

/// `pagefold check`.
#[derive(Args)]
pub struct Check {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// The cluster file, whose hosts are tried, too.
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<PathBuf>,
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
    /// Read every byte; if all are sound, hold the tables against one another, and a sample of fingerprints against all.
    #[arg(long)]
    pub deep: bool,
    /// Fingerprints that --deep holds against all others; another epoch has another sample.
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "deep")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sample: u32,
}

/// `pagefold rollback`.
#[derive(Args)]
pub struct Rollback {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// The epoch to go back to.
    pub epoch: u64,
    /// Let the next run read again what was consumed since.
    #[arg(long)]
    pub forget_inputs: bool,
}

/// `pagefold gc`.
#[derive(Args)]
pub struct Gc {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Delete, and do not just say.
    #[arg(long)]
    pub delete: bool,
    /// Keep so many last epochs.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_epochs: u32,
    /// And the epochs of so many last days.
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    pub keep_days: u32,
}

fn guard(name: &str) -> Result<Guard, String> {
    let names: Vec<&str> = Guard::ALL.iter().map(|guard| guard.name()).collect();
    let found = Guard::ALL.into_iter().find(|guard| guard.name() == name);
    found.ok_or_else(|| format!("one of {}", names.join(", ")))
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
