//! Commands that come before a run: `init`, `check`, `estimate`, `schedule` and `lexicon`.

use super::{JobArguments, values};
use crate::schedule::moments::{Every, TimeOfDay};
use clap::{ArgGroup, Args};
use std::path::PathBuf;

/// `pagefold init`.
#[derive(Args)]
pub struct Init {
    /// Files, folders or patterns.
    #[arg(value_name = "FILES", required = true, value_parser = values::source())]
    pub files: Vec<PathBuf>,
    /// Write the job to FILE.
    #[arg(long, value_name = "FILE", value_parser = values::place())]
    pub to: Option<PathBuf>,
    /// Replace FILE if it is there.
    #[arg(long, requires = "to")]
    pub force: bool,
}

/// `pagefold estimate`.
#[derive(Args)]
pub struct Estimate {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// The number of pages, with --bytes of text per page [default: as in a sample of the job's
    /// inputs].
    #[arg(long, value_name = "N", requires = "bytes", value_parser = values::whole::<u64>(1, 1_000_000_000_000))]
    pub pages: Option<u64>,
    /// Bytes of text per page, not of all --pages.
    #[arg(long, value_name = "BYTES-PER-PAGE", requires = "pages", value_parser = values::whole::<u64>(1, 1_000_000))]
    pub bytes: Option<u64>,
    /// The number of hosts [default: 1].
    #[arg(long, value_name = "H", value_parser = values::whole::<u16>(1, 256), conflicts_with = "cluster")]
    pub hosts: Option<u16>,
    /// The number of workers of each host [default: the cores of this host].
    #[arg(long, value_name = "W", value_parser = values::whole::<u16>(1, 1024), conflicts_with = "cluster")]
    pub threads: Option<u16>,
    /// The cluster file: which hosts, with how many workers.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub cluster: Option<PathBuf>,
}

/// `pagefold check`.
#[derive(Args)]
pub struct Check {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// The cluster file. Its hosts are checked, too.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub cluster: Option<PathBuf>,
}

/// `pagefold schedule`.
#[derive(Args)]
#[command(group = ArgGroup::new("for").required(true).args(["cron", "systemd"]))]
pub struct Schedule {
    /// The job file. With %i in its name, and no such file, the units are templates, whose
    /// instances are named after their job files.
    #[arg(value_parser = values::source())]
    pub job: PathBuf,
    /// The cluster file.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub cluster: Option<PathBuf>,
    /// Print a line for a crontab.
    #[arg(long)]
    pub cron: bool,
    /// Print a service and a timer for systemd.
    #[arg(long)]
    pub systemd: bool,
    /// The time of day, in the time zone of the machine. With --every it is one of the times.
    #[arg(long, value_name = "HH:MM", default_value = "03:15")]
    pub at: TimeOfDay,
    /// How often: minutes that divide an hour, hours that divide a day, or 1d.
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub every: Every,
    /// The pagefold binary to run [default: this one].
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub binary: Option<PathBuf>,
    /// The file for the messages of runs by cron [default: beside the job, ending in .log].
    #[arg(long, value_name = "FILE", conflicts_with = "systemd", value_parser = values::place())]
    pub log: Option<PathBuf>,
    /// The user of runs by systemd [default: root].
    #[arg(long, value_name = "NAME", conflicts_with = "cron")]
    pub user: Option<String>,
    /// Write the units into this folder instead of printing them.
    #[arg(long, value_name = "FOLDER", conflicts_with = "cron", value_parser = values::place())]
    pub to: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `pagefold lexicon`.
#[derive(Args)]
pub struct Lexicon {
    /// The job whose inputs are read.
    #[command(flatten)]
    pub shared: JobArguments,
    /// The file to write. A file of that name is replaced.
    #[arg(long, value_name = "FILE", value_parser = values::place())]
    pub out: PathBuf,
    /// What the file is for.
    #[arg(long, value_enum, default_value_t = LexiconKind::IMatch)]
    pub kind: LexiconKind,
    /// Leave out words that occur in fewer texts [default: 3 for i-match, 2 for idf, more than a
    /// fifth of the texts for stop-words], or lines that occur on fewer pages of their host
    /// [default: 8 for furniture; at least 2].
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, u64::MAX))]
    pub docs_min: Option<u32>,
    /// Threads [default: all cores].
    #[arg(long, value_name = "N", value_parser = values::whole::<u16>(1, 1024))]
    pub threads: Option<u16>,
    /// Count at most N distinct texts, drawn by digest [default: 4194304].
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, 1 << 26))]
    pub sample: Option<u32>,
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
