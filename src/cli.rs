//! The command line.

use crate::config::nearest::nearest;
use crate::schedule::moments::{Every, TimeOfDay};
use crate::terminal::logging;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgGroup, Args, ColorChoice, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use workers::commit::guards::Guard;
use workers::error::{Error, Kind};
use workers::job::Job;
use workers::upkeep::gc::{KEEP_DAYS, KEEP_EPOCHS};

/// Folds the near-duplicate pages of a web crawl: which pages say the same thing, which one to
/// keep, and why.
#[derive(Parser)]
#[command(name = "pagefold", version, propagate_version = true, after_help = exit_codes())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The meaning of exit code 0; the other codes are [`Kind`]s.
const SUCCESS: &str = "committed, or nothing due";

fn exit_codes() -> String {
    let failures = Kind::ALL.map(|kind| format!("\n  {:>2}  {}", kind.exit_code(), kind.meaning()));
    format!("Exit codes:\n   0  {SUCCESS}{}", failures.concat())
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Read what is new, fold it into the store, export the result.
    #[command(after_help = "Examples:\n\
            \x20 pagefold run crawl.toml\n\
            \x20 pagefold run crawl.toml --dry-run\n\
            \x20 pagefold run pages.jsonl.gz --to folded\n\
            \x20 pagefold run crawl.toml --set confirm.facts=off --threads 4")]
    Run(Start),
    /// Look at files and print a job that reads them: their formats, fields and charsets.
    #[command(after_help = "Example:\n  pagefold init pages/*.parquet > pages.toml")]
    Init(Init),
    /// Try everything that a run needs before there is one: job, inputs, folders and, with
    /// --cluster, every host.
    #[command(after_help = "Example:\n  pagefold check crawl.toml --cluster cluster.toml")]
    Check(Check),
    /// Print what has a job run again and again: a line for a crontab, or a service and a timer for
    /// systemd.
    #[command(after_help = "Example:\n  pagefold schedule crawl.toml --cron --at 03:15")]
    Schedule(Schedule),
    /// Write the exports of the store's head again, without reading anything new.
    #[command(after_help = "Examples:\n\
            \x20 pagefold export crawl.toml --set output.dir=elsewhere\n\
            \x20 pagefold export crawl.toml --since 41")]
    Export(Export),
    /// Write the job's inputs again, in their own formats, without the records that fold; or a table
    /// of what became of each record.
    #[command(after_help = "Example:\n  pagefold filter crawl.toml --to folded")]
    Filter(Filter),
    /// Say what a job's store holds.
    #[command(after_help = "Examples:\n  pagefold status crawl.toml\n  pagefold status crawl.toml --max-age 26h")]
    Status(Status),
    /// Say why two pages are together or not: what each signature says, which rule decided and by
    /// how much, and what differs. Of one page: its cluster, why that has its representative, and
    /// what became of the page.
    #[command(after_help = "Examples:\n\
            \x20 pagefold explain crawl.toml https://a.example/x https://b.example/x\n\
            \x20 pagefold explain crawl.toml https://a.example/x --json")]
    Explain(Explain),
    /// Ask what a text would fold with, by the rules of a run, without reading the store through.
    #[command(after_help = "Examples:\n\
            \x20 pagefold query crawl.toml page.html --all\n\
            \x20 pagefold query crawl.toml --json < rows.jsonl")]
    Query(Query),
    /// Answer over HTTP what a record would fold with, by the rules of a run, while runs go on beside.
    #[command(after_help = "Examples:\n\
            \x20 pagefold serve crawl.toml --bind 127.0.0.1:7311\n\
            \x20 pagefold serve crawl.toml --bind 0.0.0.0:7311 --token-file token")]
    Serve(Serve),
    /// Send JSON lines to a server and print its answers, one a line: /check, /insert or /remove.
    #[command(after_help = "Examples:\n\
            \x20 pagefold send http://127.0.0.1:7311/insert rows.jsonl\n\
            \x20 pagefold send http://127.0.0.1:7311/check < rows.jsonl")]
    Send(Send),
    /// Write a report of the store as one HTML page that needs nothing else: hosts that mirror each
    /// other, clusters with their texts and differences, pairs next to the threshold, rejects, epochs.
    #[command(after_help = "Example:\n  pagefold report crawl.toml --out report.html")]
    Report(Report),
    /// Look a job's store over: every referenced file present; with --full every byte, row and
    /// hash; with --deep whether its tables agree and the near pairs are all there.
    #[command(after_help = "Example:\n  pagefold verify crawl.toml --full")]
    Verify(Verify),
    /// Say how right the store's answers are, held against labels; with --sweep, what other
    /// settings would make of them.
    #[command(after_help = "Example:\n  pagefold eval crawl.toml --labels truth.jsonl --list 20")]
    Eval(Eval),
    /// Make an earlier epoch the answer again. Nothing is deleted.
    #[command(after_help = "Example:\n  pagefold rollback crawl.toml 41")]
    Rollback(Rollback),
    /// Say what no kept epoch needs; with --delete, delete it.
    #[command(after_help = "Example:\n  pagefold gc crawl.toml --keep-epochs 30 --delete")]
    Gc(Gc),
    /// Read all consumed inputs again into a new store, for a job whose identity changed (extract,
    /// normalize, features, simhash), or a store of an older format.
    #[command(after_help = "Example:\n  pagefold rebuild crawl.toml --threads 8")]
    Rebuild(Run),
    /// Count in how many of the inputs' texts each word is: the frozen file that I-Match or the
    /// weights of words read, or stop words.
    #[command(after_help = "Example:\n  pagefold lexicon crawl.toml --kind idf --out words.tsv")]
    Lexicon(Lexicon),
    /// Print what a shell reads to complete the command line.
    #[command(after_help = "Example:\n  pagefold completions bash > /etc/bash_completion.d/pagefold")]
    Completions(Completions),
    /// Print the manual page of pagefold, or of one of its commands.
    #[command(after_help = "Examples:\n  pagefold man run\n  pagefold man > pagefold.1")]
    Man(Man),
    /// One process of a job; started by a scheduler, which says its rank and its peers in the
    /// environment, on all hosts alike.
    #[command(name = "worker", hide = true)]
    Rank(Unattended),
    /// One process of a job; started by `run --cluster` as `worker` without a job, which comes over
    /// stdin.
    #[command(skip)]
    Worker,
}

impl Command {
    /// Whether the command is quiet, and its level of verbosity.
    pub fn verbosity(&self) -> (bool, u8) {
        match self {
            Command::Run(Start { unattended: of, .. }) | Command::Rank(of) => (of.run.quiet, of.run.verbose),
            Command::Rebuild(of) => (of.quiet, of.verbose),
            _ => (false, 0),
        }
    }

    /// Whether the command answers in JSON.
    pub fn json(&self) -> bool {
        match self {
            Command::Run(Start { unattended: of, .. }) | Command::Rank(of) => of.run.json,
            Command::Rebuild(of) => of.json,
            Command::Export(Export { of, .. })
            | Command::Check(Check { of, .. })
            | Command::Status(Status { of, .. })
            | Command::Explain(Explain { of, .. })
            | Command::Query(Query { of, .. })
            | Command::Report(Report { of, .. })
            | Command::Serve(Serve { of, .. })
            | Command::Verify(Verify { of, .. })
            | Command::Eval(Eval { of, .. })
            | Command::Rollback(Rollback { of, .. })
            | Command::Gc(Gc { of, .. })
            | Command::Filter(Filter { of, .. })
            | Command::Lexicon(Lexicon { of, .. }) => of.json,
            Command::Schedule(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Init(_)
            | Command::Send(_)
            | Command::Worker => false,
        }
    }
}

/// `pagefold run`: a job, or files that a job is made for.
#[derive(Args)]
#[command(override_usage = "pagefold run [OPTIONS] <JOB>\n       pagefold run [OPTIONS] <FILES>... --to <DIR>")]
pub struct Start {
    /// The run.
    #[command(flatten)]
    pub unattended: Unattended,
    /// With --to: more files, folders or patterns to read.
    #[arg(value_name = "FILES", requires = "to")]
    pub more: Vec<PathBuf>,
    /// Read FILES instead of a job. The job that is made for them (see `pagefold init`), its store
    /// and its results lie in DIR.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// A sample: read at most N records of each input. The store is of the sample for good; a run of
    /// all is refused on it, and `pagefold rebuild` makes it whole.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
}

/// `pagefold init`.
#[derive(Args)]
pub struct Init {
    /// Files, folders or patterns.
    #[arg(value_name = "FILES", required = true)]
    pub files: Vec<PathBuf>,
    /// Write the job to FILE.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Replace FILE if it is there.
    #[arg(long, requires = "to")]
    pub force: bool,
}

/// The arguments of `pagefold run`: a run, and what it does when it is unattended.
#[derive(Args, Clone)]
pub struct Unattended {
    /// The run itself.
    #[command(flatten)]
    pub run: Run,
    /// Wait while another run is at work on the store, at most so many seconds [default: exit 75;
    /// without SECONDS: for ever].
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = clap::value_parser!(u32))]
    pub wait: Option<Option<u32>>,
    /// Do nothing, with exit code 0, while another run is at work on the store.
    #[arg(long, conflicts_with = "wait")]
    pub skip_if_running: bool,
    /// Take at most N inputs that are not consumed yet, the first by path; the others stay for
    /// later runs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_inputs: Option<u32>,
    /// Say what would be read and do nothing: no file is written, no lock is taken, nothing is
    /// pinged.
    #[arg(long, conflicts_with_all = ["wait", "skip_if_running", "metrics", "ping", "quiet"])]
    pub dry_run: bool,
    /// Leave the run's figures in FILE, for node_exporter's textfile collector [default: the job's
    /// `[output] metrics`].
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// Tell URL when the run begins (URL/start), succeeds (URL) or fails (URL/fail) [default: the
    /// job's `[output] ping`].
    #[arg(long, value_name = "URL", value_parser = ping)]
    pub ping: Option<String>,
}

impl Unattended {
    /// How many inputs an epoch of `job` may take.
    ///
    /// # Errors
    ///
    /// `Usage` if the limit is set and the inputs are a complete snapshot: the pages of the
    /// remaining inputs would be removed.
    pub fn inputs_max(&self, job: &Job) -> Result<usize, Error> {
        match self.max_inputs {
            Some(_) if job.read.complete => {
                let why = "the pages of inputs that are left for later would be removed";
                Err(Error::new(Kind::Usage, format!("--max-inputs: not with `[read] complete = true`: {why}")))
            }
            Some(max) => Ok(max as usize),
            None => Ok(usize::MAX),
        }
    }
}

/// `pagefold run` and `pagefold rebuild`.
#[derive(Args, Clone)]
pub struct Run {
    /// The job file: what to read, how to fold, where results go.
    pub job: PathBuf,
    /// The cluster file: which processes, on which hosts, with how many workers. Without it one
    /// process does the work.
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<PathBuf>,
    /// Worker threads of a single process [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "cluster")]
    pub threads: Option<u16>,
    /// Sets a key of the job file, as if it stood there: `--set confirm.facts=off`. May be
    /// repeated.
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
    /// Log more: -v what is done, -vv each stage, -vvv all.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// `pagefold schedule`.
#[derive(Args)]
#[command(group = ArgGroup::new("for").required(true).args(["cron", "systemd"]))]
pub struct Schedule {
    /// The job file. With %i in its name, and no such file, the units are templates, whose
    /// instances are named after their job files.
    pub job: PathBuf,
    /// The cluster file.
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<PathBuf>,
    /// Print a line for a crontab.
    #[arg(long)]
    pub cron: bool,
    /// Print a service and a timer for systemd.
    #[arg(long)]
    pub systemd: bool,
    /// When, in the machine's time; with --every one of the moments.
    #[arg(long, value_name = "HH:MM", default_value = "03:15")]
    pub at: TimeOfDay,
    /// How often: minutes that divide an hour, hours that divide a day, or 1d.
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub every: Every,
    /// The pagefold to run [default: this one].
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Where cron's runs write what they say [default: beside the job, ending in .log].
    #[arg(long, value_name = "FILE", conflicts_with = "systemd")]
    pub log: Option<PathBuf>,
    /// The user that systemd's runs belong to [default: root].
    #[arg(long, value_name = "NAME", conflicts_with = "cron")]
    pub user: Option<String>,
    /// Write the units into this folder instead.
    #[arg(long, value_name = "FOLDER", conflicts_with = "cron")]
    pub to: Option<PathBuf>,
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

/// `pagefold export`.
#[derive(Args)]
pub struct Export {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Write only what all epochs after EPOCH changed, as `changes_since` beside the other tables.
    #[arg(long, value_name = "EPOCH")]
    pub since: Option<u32>,
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

/// `pagefold filter`.
#[derive(Args)]
pub struct Filter {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Write the inputs into this folder, under their names, without the records that fold.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Write what is left out into this folder.
    #[arg(long, value_name = "DIR", requires = "to")]
    pub removed: Option<PathBuf>,
    /// Write a table for each input into this folder: what became of each of its records.
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
    /// Leave nothing out, and write beside each row its cluster, the size of it and the URL that
    /// represents it. For JSON lines and Parquet.
    #[arg(long, requires = "to", conflicts_with_all = ["removed", "undo"])]
    pub annotate: bool,
    /// The names of these fields: those of `members`, or minhash_cluster_id, minhash_cluster_size and
    /// representative.
    #[arg(long, value_enum, default_value_t = LabelNames::Members, requires = "annotate")]
    pub names: LabelNames,
    /// Make the inputs again in this folder, of what --to and --removed have.
    #[arg(long, value_name = "DIR", requires_all = ["to", "removed"], conflicts_with = "records")]
    pub undo: Option<PathBuf>,
    /// Threads [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// The names of the fields that `pagefold filter --annotate` adds.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LabelNames {
    /// As in `members`.
    Members,
    /// As datatrove has them.
    Minhash,
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
    /// List the tables: rows, bytes and runs.
    #[arg(long, conflicts_with = "files")]
    pub tables: bool,
    /// Read the groups and keys through and name the largest bucket of each signature that the
    /// pivot rule does not examine whole.
    #[arg(long, conflicts_with = "files")]
    pub pivots: bool,
    /// Print the paths of a table's files instead, one a line.
    #[arg(long, value_name = "TABLE", conflicts_with = "max_age")]
    pub files: Option<String>,
}

/// `pagefold explain`.
#[derive(Args)]
pub struct Explain {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// A page, or two. If the store does not have a URL, another spelling of it is looked for: http
    /// or https, www., a slash at the end, the query.
    #[arg(value_name = "URL", required = true, num_args = 1..=2)]
    pub urls: Vec<String>,
    /// Whether to use colours; `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// `pagefold query`.
#[derive(Args)]
pub struct Query {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// A text or an HTML page; or, with --json or by its name, JSON lines as a run reads them, which
    /// are answered one by one [default: stdin].
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Ask for the text of a stored page instead.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub url: Option<String>,
    /// List the texts, too, with which it was compared and refused.
    #[arg(long)]
    pub all: bool,
}

/// `pagefold serve`.
#[derive(Args)]
pub struct Serve {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// The address and port to listen on, unless systemd hands over a socket; port 0 is any that is
    /// free, and is printed. HTTP without TLS: put a proxy before it.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7311")]
    pub bind: SocketAddr,
    /// The file, of mode 0600, with the token that requests must show. Needed unless ADDRESS is of
    /// loopback.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Insert nothing, though the job has an inbox, and answer by the head alone: another server may
    /// have the inbox.
    #[arg(long)]
    pub read_only: bool,
    /// Hand what was inserted to the next run after so many seconds at most.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    pub seal_seconds: u32,
    /// MiB of memory for what was inserted since the last epoch. Beyond, nothing is inserted before a
    /// run takes it.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub inbox_mib: u32,
    /// Threads that compare texts [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// `pagefold send`.
#[derive(Args)]
pub struct Send {
    /// What to do, at which server, such as http://127.0.0.1:7311/insert.
    pub url: String,
    /// JSON lines as a run reads them [default: stdin].
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The file with the token that the server wants, of mode 0600.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// `pagefold report`.
#[derive(Args)]
pub struct Report {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// The file to write, in place of what has that name [default: report.html in the folder of
    /// results].
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
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
    /// Read every byte; if all are sound, hold the tables against one another, and a sample of
    /// fingerprints against all.
    #[arg(long)]
    pub deep: bool,
    /// Fingerprints that --deep holds against all others; another epoch has another sample.
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "deep")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sample: u32,
}

/// `pagefold eval`.
#[derive(Args)]
pub struct Eval {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// What is true, as JSON lines: `url` and `label`; or `a`, `b` and `same`; or `a` and `b`, all
    /// pairs that are the same.
    #[arg(long, value_name = "FILE")]
    pub labels: PathBuf,
    /// List so many pairs that are joined and not the same, and so many that are the same and not
    /// joined.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub list: u32,
    /// Try other settings: SimHash's k, MinHash's bins, the thresholds of confirm.
    #[arg(long)]
    pub sweep: bool,
    /// Draw what --sweep finds.
    #[arg(long, value_name = "FILE.svg", requires = "sweep")]
    pub plot: Option<PathBuf>,
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
    #[arg(long, value_name = "N", default_value_t = KEEP_EPOCHS as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_epochs: u32,
    /// And the epochs of so many last days.
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS)]
    pub keep_days: u32,
}

/// `pagefold lexicon`.
#[derive(Args)]
pub struct Lexicon {
    /// The job whose inputs are read.
    #[command(flatten)]
    pub of: OfJob,
    /// The file to write, in place of what has that name.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// What the file is for.
    #[arg(long, value_enum, default_value_t = LexiconKind::IMatch)]
    pub kind: LexiconKind,
    /// Leave out words of fewer texts [default: 3 for i-match, 2 for idf, more than a fifth of the
    /// texts for stop-words], lines of fewer pages of their host [default: 8 for furniture].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub docs_min: Option<u32>,
    /// Threads [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Count so many distinct texts at most, drawn by digest [default: 4194304].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub sample: Option<u32>,
}

/// `pagefold completions`.
#[derive(Args)]
pub struct Completions {
    /// The shell.
    pub shell: Shell,
}

/// `pagefold man`.
#[derive(Args)]
pub struct Man {
    /// A command, such as `run` [default: pagefold itself].
    pub command: Option<String>,
}

/// The command line without what is hidden: no user types it.
pub fn visible() -> clap::Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|of| !of.is_hide_set()).cloned();
    let command = clap::Command::new("pagefold").version(env!("CARGO_PKG_VERSION")).after_help(exit_codes());
    command.about(all.get_about().cloned().unwrap_or_default()).subcommands(shown)
}

/// What a file of words is for.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LexiconKind {
    /// `[[signatures]] kind = "i_match"`, `lexicon = FILE`.
    IMatch,
    /// `[features] idf = FILE`.
    Idf,
    /// `[features] stop_words = FILE`.
    StopWords,
    /// `[extract] furniture = FILE`: lines that stand on at least half of the pages of their host.
    Furniture,
}

impl LexiconKind {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LexiconKind::IMatch => "i-match",
            LexiconKind::Idf => "idf",
            LexiconKind::StopWords => "stop-words",
            LexiconKind::Furniture => "furniture",
        }
    }
}

fn guard(name: &str) -> Result<Guard, String> {
    let names: Vec<&str> = Guard::ALL.iter().map(|guard| guard.name()).collect();
    let found = Guard::ALL.into_iter().find(|guard| guard.name() == name);
    found.ok_or_else(|| format!("one of {}", names.join(", ")))
}

fn ping(url: &str) -> Result<String, String> {
    workers::job::check_ping(url).map(|()| url.to_owned())
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

/// The line about a word that is no command: it may be the job of one, or a slip. A command that is
/// merely spelt alike would be a joke.
fn no_such_command(error: &clap::Error) -> Option<String> {
    let word = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => word,
        _ => return None,
    };
    let cli = Cli::command();
    let names: Vec<&str> = cli.get_subcommands().filter(|of| !of.is_hide_set()).map(|of| of.get_name()).collect();
    Some(match nearest(word, names.iter().copied()) {
        _ if word.ends_with(".toml") => format!("{word}: a job needs a command; did you mean `pagefold run {word}`?"),
        _ if Path::new(word).exists() => format!(
            "{word}: no command; `pagefold run {word} --to DIR` folds it, `pagefold init {word}` makes a job for it"
        ),
        Some(meant) => format!("{word}: no such command; did you mean `pagefold {meant}`?"),
        None => format!("{word}: no such command; there are {}", names.join(", ")),
    })
}

/// Parses the command line. `Err` holds the exit code after help, version or a usage error was
/// printed.
pub fn parse() -> Result<Command, ExitCode> {
    if std::env::args_os().skip(1).eq(["worker"]) {
        return Ok(Command::Worker);
    }
    Cli::try_parse().map(|cli| cli.command).map_err(|error| {
        if let Some(line) = no_such_command(&error) {
            logging::print_error(&line);
            return ExitCode::from(Kind::Usage.exit_code());
        }
        // A closed pipe while the usage error is printed is not worth a second error.
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
        let readme = include_str!("../jobs/README.md").lines().filter_map(|line| {
            let (number, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
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

    /// Every command that people type has an example in its help, and the examples are command lines
    /// that are understood.
    #[test]
    fn examples_are_understood() {
        for command in visible().get_subcommands() {
            let help = command.clone().render_help().to_string();
            let (_, examples) = help.split_once("Example").unwrap_or_else(|| panic!("{}: {help}", command.get_name()));
            let mut count = 0;
            for line in examples.lines().filter_map(|line| line.strip_prefix("  pagefold ")) {
                let words = line.split_whitespace().take_while(|word| !["<", ">"].contains(word));
                let parsed = Cli::try_parse_from(["pagefold"].into_iter().chain(words));
                assert!(parsed.is_ok(), "{line}: {}", parsed.err().map_or(String::new(), |error| error.to_string()));
                assert!(line.starts_with(command.get_name()), "{line}");
                count += 1;
            }
            assert!(count > 0, "{examples}");
        }
    }

    /// `--wait` takes its number only after `=`, so that it cannot swallow the job's name.
    #[test]
    fn wait() {
        let wait = |words: &[&str]| match Cli::try_parse_from([&["pagefold", "run"], words].concat()).ok()?.command {
            Command::Run(start) => Some(start.unattended.wait),
            _ => None,
        };
        assert_eq!(wait(&["job.toml"]), Some(None));
        assert_eq!(wait(&["--wait", "job.toml"]), Some(Some(None)));
        assert_eq!(wait(&["--wait=7", "job.toml"]), Some(Some(Some(7))));
        assert_eq!(wait(&["--wait", "--skip-if-running", "job.toml"]), None);
    }

    /// A word that is no command has one line, which names what was meant if that is plain.
    #[test]
    fn words_that_are_no_command() {
        let line = |word: &str| {
            let error = Cli::try_parse_from(["pagefold", word]).err().expect("no such command");
            no_such_command(&error).expect("a line")
        };
        assert!(line("job.toml").ends_with("did you mean `pagefold run job.toml`?"));
        assert!(line("stauts").ends_with("did you mean `pagefold status`?"));
        assert!(line("fold").starts_with("fold: no such command; there are run, init, check, "), "{}", line("fold"));
        assert!(line("src").starts_with("src: no command; `pagefold run src --to DIR` folds it"), "{}", line("src"));
        assert!(Cli::try_parse_from(["pagefold", "run"]).err().is_some_and(|error| no_such_command(&error).is_none()));
    }
}
