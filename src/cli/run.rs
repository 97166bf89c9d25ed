//! Commands that make an epoch: `run`, `rebuild`, and `worker` under a scheduler.

use super::values;
use clap::Args;
use std::path::PathBuf;
use workers::commit::guards::Guard;
use workers::error::{Error, Kind};
use workers::job::Job;

/// `pagefold run`: a job, or files that a job is made for.
#[derive(Args)]
#[command(
    override_usage = "pagefold run [OPTIONS] <JOB>\n       pagefold run [OPTIONS] <FILES>... --to <DIR>"
)]
pub struct Start {
    /// The run.
    #[command(flatten)]
    pub unattended: Unattended,
    /// With --to: more files, folders or patterns to read.
    #[arg(value_name = "FILES", requires = "to", value_parser = values::source())]
    pub more: Vec<PathBuf>,
    /// Read FILES instead of a job. A job is made for them (see `pagefold init`); it, its store and
    /// its results are in DIR.
    #[arg(long, value_name = "DIR", value_parser = values::place())]
    pub to: Option<PathBuf>,
    /// A sample: read at most N records of each input. The store then holds only the sample, and a
    /// run without the limit is refused; `pagefold rebuild` builds the store of all records. With
    /// --to the job in DIR has the limit: remove `records_max` from it first.
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, u64::MAX))]
    pub limit: Option<u32>,
}

/// The arguments of `pagefold run`: a run, and what it does when it is unattended.
#[derive(Args, Clone)]
pub struct Unattended {
    /// The run itself.
    #[command(flatten)]
    pub run: Run,
    /// Wait while another run uses the store, at most SECONDS, or without SECONDS for ever
    /// [default: do not wait, exit 75].
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = values::whole::<u32>(0, u64::MAX))]
    pub wait: Option<Option<u32>>,
    /// Do nothing, with exit code 0, while another run uses the store.
    #[arg(long, conflicts_with = "wait")]
    pub skip_if_running: bool,
    /// Read at most N new inputs, the first by path. The others are left for later runs.
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, u64::MAX))]
    pub max_inputs: Option<u32>,
    /// Plan as of this time, seconds since 1970 [default: the clock]. Retention counts by it.
    #[arg(long, value_name = "SECONDS", value_parser = values::whole::<i64>(0, u64::MAX))]
    pub now: Option<i64>,
    /// Say what would be read and do nothing: no file is written, no lock is taken, nothing is
    /// pinged.
    #[arg(long, conflicts_with_all = ["wait", "skip_if_running", "metrics", "ping", "profile", "quiet"])]
    pub dry_run: bool,
    /// Write the figures of the run to FILE, for the textfile collector of node_exporter [default:
    /// `[output] metrics` of the job].
    #[arg(long, value_name = "FILE", value_parser = values::place())]
    pub metrics: Option<PathBuf>,
    /// Send a request when the run begins (URL/start), succeeds (URL) or fails (URL/fail) [default:
    /// `[output] ping` of the job].
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
                Err(Error::new(
                    Kind::Usage,
                    format!("--max-inputs: not with `[read] complete = true`: {why}"),
                ))
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
    #[arg(value_parser = values::source())]
    pub job: PathBuf,
    /// The cluster file: which processes, on which hosts, with how many workers. Without it one
    /// process does the work.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub cluster: Option<PathBuf>,
    /// Worker threads of a single process [default: all cores].
    #[arg(long, value_name = "N", value_parser = values::whole::<u16>(1, 1024), conflicts_with = "cluster")]
    pub threads: Option<u16>,
    /// Sets a key of the job file, as if it stood there: `--set confirm.facts=off`. May be
    /// repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Turn off a guard that stopped the run before its commit: store, rejects, overwritten,
    /// missing, expired, folds, source_folded or space. May be repeated.
    #[arg(long, value_name = "GUARD", value_parser = guard)]
    pub allow: Vec<Guard>,
    /// Print how long each stage took, and write a trace for chrome://tracing, Perfetto or the
    /// Firefox profiler [default: `profile.json` in `[output] dir`].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = values::place())]
    pub profile: Option<Option<PathBuf>>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print only warnings and errors.
    #[arg(short, long, conflicts_with_all = ["json", "verbose"])]
    pub quiet: bool,
    /// Log more: -v what is done, -vv each stage, -vvv all.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

fn guard(name: &str) -> Result<Guard, String> {
    let names: Vec<&str> = Guard::ALL.iter().map(|guard| guard.name()).collect();
    let found = Guard::ALL.into_iter().find(|guard| guard.name() == name);
    found.ok_or_else(|| format!("one of {}", names.join(", ")))
}

fn ping(url: &str) -> Result<String, String> {
    workers::job::check_ping(url).map(|()| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// The help of `--allow` names every guard. It had left out a new one.
    #[test]
    fn the_help_names_every_guard() {
        let help = Run::augment_args(Command::new("run")).render_long_help().to_string();
        for guard in Guard::ALL {
            assert!(help.contains(guard.name()), "{}", guard.name());
        }
    }
}
