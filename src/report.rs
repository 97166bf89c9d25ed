//! What a person sees: a progress bar while work goes on, a summary at its end; and `run.json`, the figures that differ from run to run.

use crate::attempts::{Attempt, Share};
use crate::cli;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use workers::epoch::{Progress, Receipt, STAGES};
use workers::error::{Error, Kind, Result};
use workers::export::Exported;
use workers::ingest::Counts;
use workers::job::Job;
use workers::plan::Plan;
use workers::store::durable;
use workers::store::manifest::Head;

/// How often the bar is drawn, and how often progress is logged where there is no terminal: of all, and with -v of each process.
const DRAW_EVERY: Duration = Duration::from_millis(200);
const LOG_EVERY: Duration = Duration::from_secs(10);
const LOG_EACH_EVERY: Duration = Duration::from_secs(5);
/// Processes that have a line of their own on a terminal.
const LINES_MAX: usize = 16;

/// A process as it is seen from here.
pub struct Seen {
    /// The host, or what else it is called.
    pub name: String,
    /// How far it is.
    pub progress: Arc<Progress>,
    /// Its greatest resident memory, in bytes.
    pub memory_bytes: AtomicU64,
}

impl Seen {
    /// A process that has not begun.
    pub fn new(name: &str) -> Seen {
        Seen { name: name.to_owned(), progress: Arc::default(), memory_bytes: AtomicU64::new(0) }
    }

    fn stage(&self) -> &'static str {
        stage(self.progress.stage.load(Ordering::Relaxed))
    }

    fn line(&self) -> String {
        let records = self.progress.records.load(Ordering::Relaxed);
        let megabytes = self.memory_bytes.load(Ordering::Relaxed) / 1_000_000;
        format!("{:>10} {}: {} documents, {megabytes} MB", self.stage(), self.name, grouped(records))
    }
}

type Followed = Arc<Mutex<Vec<Arc<Seen>>>>;

/// The progress of all processes, drawn on a terminal and logged elsewhere.
pub struct Bar {
    followed: Followed,
    over: Arc<AtomicBool>,
    drawer: JoinHandle<()>,
}

impl Bar {
    /// Begins to draw the progress of `plan`.
    pub fn start(plan: &Plan, quiet: bool, verbose: u8) -> Bar {
        let total: u64 = plan.splits.iter().map(|split| split.end - split.start).sum();
        let followed = Followed::default();
        let over = Arc::new(AtomicBool::new(false));
        let (shared, stop) = (followed.clone(), over.clone());
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let drawer = thread::spawn(move || match terminal {
            true => draw(&shared, &stop, total),
            false => log(&shared, &stop, total, verbose > 0),
        });
        Bar { followed, over, drawer }
    }

    /// Follows these processes from now on, and no others.
    pub fn follow(&self, processes: Vec<Arc<Seen>>) {
        *self.followed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = processes;
    }

    /// Clears the bar away.
    pub fn finish(self) {
        self.over.store(true, Ordering::Relaxed);
        self.drawer.thread().unpark();
        // A bar that broke is no reason to fail.
        let _ = self.drawer.join();
    }
}

/// A bar for all and, of two processes and more, a line for each.
fn draw(followed: &Followed, over: &AtomicBool, total: u64) {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let bar = all.add(ProgressBar::new(total));
    let template = "{msg:>10} [{bar:30}] {bytes}/{total_bytes}  {prefix}  ETA {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    let mut lines: Vec<ProgressBar> = Vec::new();
    let started = Instant::now();
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(DRAW_EVERY);
        let processes = processes(followed);
        let (bytes, records, stage) = sum(&processes);
        let rate = records as f64 / started.elapsed().as_secs_f64().max(0.001);
        bar.set_position(bytes);
        bar.set_message(stage);
        bar.set_prefix(format!("{records} documents, {rate:.0}/s"));
        let wanted = if processes.len() > 1 { processes.len().min(LINES_MAX) } else { 0 };
        while lines.len() < wanted {
            let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
            lines.push(all.add(ProgressBar::new_spinner().with_style(style)));
        }
        lines.drain(wanted..).for_each(|line| all.remove(&line));
        lines.iter().zip(&processes).for_each(|(line, process)| line.set_message(process.line()));
    }
    // A terminal that cannot be cleared is no reason to fail.
    let _ = all.clear();
}

/// A log line for all and, if `each`, one for each process.
fn log(followed: &Followed, over: &AtomicBool, total: u64, each: bool) {
    let (started, mut logged, mut logged_each) = (Instant::now(), Instant::now(), Instant::now());
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(DRAW_EVERY);
        if logged.elapsed() >= LOG_EVERY {
            logged = Instant::now();
            let (bytes, records, stage) = sum(&processes(followed));
            let rate = records as f64 / started.elapsed().as_secs_f64().max(0.001);
            tracing::info!(stage, bytes, bytes_total = total, documents = records, documents_per_s = rate as u64);
        }
        if each && logged_each.elapsed() >= LOG_EACH_EVERY {
            logged_each = Instant::now();
            for process in processes(followed) {
                tracing::info!(
                    host = process.name,
                    stage = process.stage(),
                    bytes = process.progress.bytes.load(Ordering::Relaxed),
                    documents = process.progress.records.load(Ordering::Relaxed),
                    memory_bytes = process.memory_bytes.load(Ordering::Relaxed)
                );
            }
        }
    }
}

fn processes(followed: &Followed) -> Vec<Arc<Seen>> {
    followed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}

fn stage(number: u64) -> &'static str {
    STAGES[(number as usize).min(STAGES.len() - 1)]
}

/// Bytes and records of all, and the stage of the one that is least far.
fn sum(processes: &[Arc<Seen>]) -> (u64, u64, &'static str) {
    let sum = |of: fn(&Progress) -> &AtomicU64| {
        processes.iter().map(|process| of(&process.progress).load(Ordering::Relaxed)).sum::<u64>()
    };
    let least = processes.iter().map(|process| process.progress.stage.load(Ordering::Relaxed)).min();
    (sum(|p| &p.bytes), sum(|p| &p.records), stage(least.unwrap_or(0)))
}

/// Where the time went.
pub struct Times {
    started: Instant,
    last: Instant,
    laps: BTreeMap<&'static str, u64>,
}

impl Times {
    /// A clock that runs since `started`, when the command began.
    pub fn start(started: Instant) -> Times {
        let mut times = Times { started, last: started, laps: BTreeMap::new() };
        times.lap("plan");
        times
    }

    /// Files the time since the last lap under `name`.
    pub fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.laps.insert(name, (now - self.last).as_millis() as u64);
        self.last = now;
    }
}

/// When each stage ended, in milliseconds, on the first and on the last worker.
pub fn stages(receipts: &[Receipt]) -> BTreeMap<String, (u64, u64)> {
    let mut stages: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (stage, &at) in receipts.iter().flat_map(|receipt| &receipt.stage_ms) {
        let entry = stages.entry(stage.clone()).or_insert((at, at));
        *entry = (entry.0.min(at), entry.1.max(at));
    }
    stages
}

/// Rows that all workers looked up in each table.
pub fn rows_read(receipts: &[Receipt]) -> BTreeMap<String, u64> {
    let mut rows_read = BTreeMap::new();
    for (table, n) in receipts.iter().flat_map(|receipt| &receipt.rows_read) {
        *rows_read.entry(table.clone()).or_default() += n;
    }
    rows_read
}

/// An epoch that was committed, ready to be told.
pub struct Outcome<'a> {
    /// The job.
    pub job: &'a Job,
    /// Workers of each process.
    pub workers: usize,
    /// What was planned.
    pub plan: &'a Plan,
    /// What became of the records.
    pub counts: &'a Counts,
    /// What was exported, if anything.
    pub exported: Option<Exported>,
    /// Where the time went.
    pub times: Times,
    /// When stages ended.
    pub stages: BTreeMap<String, (u64, u64)>,
    /// Rows looked up in each table.
    pub rows_read: BTreeMap<String, u64>,
    /// Greatest resident memory of all processes.
    pub memory_bytes: u64,
    /// What each process did.
    pub processes: Vec<Share>,
    /// How often it was tried.
    pub attempts: Vec<Attempt>,
}

impl Outcome<'_> {
    /// Writes `run.json`.
    pub fn write_run_json(&self) -> Result<()> {
        let text = serde_json::to_vec_pretty(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "epoch": self.plan.epoch,
            "processes": self.processes.len(),
            "workers": self.workers,
            "process": self.processes,
            "attempts": self.attempts,
            "inputs": self.plan.inputs.len(),
            "inputs_same_bytes": self.plan.same_bytes.len(),
            "input_bytes": self.counts.bytes,
            "records": self.counts.read,
            "elapsed_ms": self.times.started.elapsed().as_millis() as u64,
            "laps_ms": self.times.laps,
            "stage_ended_ms_first_last": self.stages,
            "rows_read": self.rows_read,
            "memory_bytes_max": self.memory_bytes,
        }))
        .map_err(|e| Error::internal("cannot write run.json").caused_by(e))?;
        let output = |e: Error| e.with_kind(Kind::Output);
        durable::create_folder(&self.job.output.dir).map_err(output)?;
        durable::write(&self.job.output.dir.join("run.json"), &text).map_err(output)
    }

    /// Prints the summary.
    pub fn print(&self, arguments: &cli::Run) -> Result<()> {
        if arguments.quiet {
            return Ok(());
        }
        if arguments.json {
            return match &self.exported {
                Some(exported) => print_json(&exported.summary),
                None => print_json(&json!({ "epoch": self.plan.epoch, "exported": false })),
            };
        }
        show(&self.text())
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let seconds = self.times.started.elapsed().as_secs_f64();
        let work = *self.times.laps.get("work").unwrap_or(&0) as f64 / 1000.0;
        let rate = self.counts.read as f64 / work.max(0.001);
        let (processes, workers) = (self.processes.len(), self.workers);
        let line = |out: &mut String, head: &str, rest: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{head:<10} {rest}");
        };
        line(&mut out, "epoch", format!("{} committed to {}", self.plan.epoch, self.job.store.display()));
        let inputs = self.plan.inputs.len();
        let megabytes = self.counts.bytes as f64 / 1e6;
        line(&mut out, "read", format!("{} records of {inputs} files, {megabytes:.1} MB", grouped(self.counts.read)));
        line(&mut out, "accepted", grouped(self.counts.accepted));
        for (head, reasons) in
            [("skipped", &self.counts.skipped), ("rejected", &self.counts.rejected), ("noted", &self.counts.noted)]
        {
            if !reasons.is_empty() {
                let total = grouped(reasons.values().sum());
                let list: Vec<String> = reasons.iter().map(|(reason, n)| format!("{reason} {}", grouped(*n))).collect();
                line(&mut out, head, format!("{total:<8} {}", list.join(", ")));
            }
        }
        if let Some(Exported { summary, largest }) = &self.exported {
            let folded = summary.folded_identical + summary.folded_near;
            let share = 100.0 * folded as f64 / (summary.pages as f64).max(1.0);
            line(
                &mut out,
                "pages",
                format!("{:<8} {} distinct texts", grouped(summary.pages), grouped(summary.contents)),
            );
            line(&mut out, "kept", grouped(summary.kept));
            line(
                &mut out,
                "folded",
                format!(
                    "{:<8} {share:.1} % of pages: {} identical, {} near",
                    grouped(folded),
                    grouped(summary.folded_identical),
                    grouped(summary.folded_near)
                ),
            );
            line(&mut out, "clusters", format!("{}, the largest:", grouped(summary.clusters)));
            for (pages, contents, hosts, url) in largest {
                let rest = format!("{pages} pages, {contents} texts, {hosts} hosts  {url}");
                line(&mut out, "", rest);
            }
            let files: Vec<&str> = summary.files.keys().map(String::as_str).collect();
            line(
                &mut out,
                "output",
                format!("{}: {}, summary.json, run.json", self.job.output.dir.display(), files.join(", ")),
            );
        }
        let memory = self.memory_bytes as f64 / 1e6;
        let crew = format!("{processes} x {workers} workers");
        line(&mut out, "took", format!("{seconds:.1} s, {rate:.0} records/s, {memory:.0} MB at most, {crew}"));
        out
    }
}

/// Tells that nothing is due.
pub fn nothing_due(head: &Head, arguments: &cli::Run) -> Result<()> {
    if arguments.json {
        return print_json(&json!({ "epoch": head.manifest.epoch, "due": false }));
    }
    if arguments.quiet {
        return Ok(());
    }
    show(&format!("nothing due: every input is consumed; the store is at epoch {}\n", head.manifest.epoch))
}

/// Tells that another run is at work, and that this one leaves it to it.
pub fn skipped(job: &Job, arguments: &cli::Run) -> Result<()> {
    if arguments.json {
        return print_json(&json!({ "skipped": true }));
    }
    if arguments.quiet {
        return Ok(());
    }
    show(&format!("skipped: another run is at work on {}\n", job.store.display()))
}

/// Tells scripts what went wrong, and which guard it was.
pub fn failed(error: &Error) {
    let value = json!({ "error": error.to_string(), "exit_code": error.kind().exit_code(), "guard": error.guard() });
    // The exit code and stderr tell it, too.
    let _ = print_json(&value);
}

/// Prints `value` as one line of JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|e| Error::internal("cannot write JSON").caused_by(e))?;
    show(&format!("{text}\n"))
}

/// Writes to stdout; a reader who has seen enough is no error.
pub fn show(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(Kind::Output, "cannot write to stdout").caused_by(e))
        }
        _ => Ok(()),
    }
}

/// A number with its thousands apart.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands are set apart from the right.
    #[test]
    fn thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
