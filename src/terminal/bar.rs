//! Shows the progress of a run: a bar on a terminal, log lines elsewhere. `progress.rs` computes
//! their text.

use crate::processes::ObservedProcess;
use crate::terminal::print::grouped;
use crate::terminal::progress::{After, Reached, step_after, step_name};
use console::{Term, truncate_str};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use workers::fold::operators::STAGES;
use workers::locks::lock;
use workers::progress::Progress;

/// How often the bar is drawn, how often total progress is logged if there is no terminal, and how
/// often the progress of each process is logged with -v.
const DRAW_EVERY: Duration = Duration::from_millis(200);
const LOG_EVERY: Duration = Duration::from_secs(10);
const LOG_EACH_EVERY: Duration = Duration::from_secs(5);
/// The most processes with a line of their own on a terminal.
const LINES_MAX: usize = 16;
/// The columns of a terminal that does not report its width.
const COLUMNS: usize = 80;

type Followed = Arc<Mutex<Vec<Arc<ObservedProcess>>>>;

/// The work whose progress is shown.
#[derive(Clone, Default)]
struct Shown {
    followed: Followed,
    /// The step after the stages of the workers, or 0 while they work.
    after: Arc<AtomicUsize>,
    /// Bytes of input to read.
    bytes_total: u64,
    exports: bool,
    /// [`Reached::only`].
    only: Option<&'static str>,
}

impl Shown {
    fn reached(&self, started: Instant) -> Reached {
        let (bytes, records, stage) = sum(&processes(&self.followed));
        let (bytes_total, exports) = (self.bytes_total, self.exports);
        let step = self.after.load(Ordering::Relaxed).max(stage);
        Reached {
            step,
            bytes,
            bytes_total,
            records,
            exports,
            seconds: started.elapsed().as_secs_f64(),
            only: self.only,
        }
    }
}

/// Shows the progress of all processes, and of the steps after their work, until it is dropped.
pub struct Bar {
    shown: Shown,
    over: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Bar {
    /// Starts to show how many of `bytes_total` bytes are done. `exports` says whether an export
    /// comes at the end.
    pub fn start(bytes_total: u64, exports: bool, quiet: bool, verbose: u8) -> Bar {
        Bar::show(Shown { bytes_total, exports, ..Shown::default() }, quiet, verbose)
    }

    /// Starts to show how many of `bytes_total` bytes work of one step, called `name`, has read.
    pub fn of_reading(
        name: &'static str,
        bytes_total: u64,
        progress: Arc<Progress>,
        quiet: bool,
    ) -> Bar {
        let bar = Bar::show(Shown { bytes_total, only: Some(name), ..Shown::default() }, quiet, 0);
        bar.follow(vec![Arc::new(ObservedProcess { progress, ..ObservedProcess::new(name) })]);
        bar
    }

    fn show(shown: Shown, quiet: bool, verbose: u8) -> Bar {
        let over = Arc::new(AtomicBool::new(false));
        let (shared, stop) = (shown.clone(), over.clone());
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let drawer = thread::spawn(move || match terminal {
            true => draw(&shared, &stop),
            false => log(&shared, &stop, verbose > 0),
        });
        Bar { shown, over, drawer: Some(drawer) }
    }

    /// Shows the progress of these processes from now on.
    pub fn follow(&self, processes: Vec<Arc<ObservedProcess>>) {
        *lock(&self.shown.followed) = processes;
    }

    /// The workers are done, and this step begins.
    pub fn after(&self, after: After) {
        self.shown.after.store(step_after(after), Ordering::Relaxed);
    }
}

impl Drop for Bar {
    /// Removes the bar, so that nothing is printed beside it.
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            // A failure of the bar does not fail the run.
            let _ = drawer.join();
        }
    }
}

/// The columns of the terminal. The last one stays free: some terminals wrap a line that fills it.
fn columns() -> usize {
    Term::stderr()
        .size_checked()
        .map_or(COLUMNS, |(_, columns)| columns.into())
        .saturating_sub(1)
        .max(1)
}

/// Draws a bar for all processes and, if there are several, a line for each.
fn draw(shown: &Shown, over: &AtomicBool) {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let line = || {
        let style = ProgressStyle::with_template("{msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        ProgressBar::new_spinner().with_style(style)
    };
    let bar = all.add(line());
    let mut lines: Vec<ProgressBar> = Vec::new();
    let started = Instant::now();
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(DRAW_EVERY);
        // A terminal may become narrower during this time.
        let columns = columns();
        bar.set_message(shown.reached(started).line(columns));
        let is_working = shown.after.load(Ordering::Relaxed) == 0;
        let processes = processes(&shown.followed);
        let wanted =
            if processes.len() > 1 && is_working { processes.len().min(LINES_MAX) } else { 0 };
        while lines.len() < wanted {
            lines.push(all.add(line()));
        }
        lines.drain(wanted..).for_each(|line| all.remove(&line));
        for (line, process) in lines.iter().zip(&processes) {
            line.set_message(truncate_str(&line_of(process), columns, "...").into_owned());
        }
    }
    // If the terminal cannot be cleared, the run does not fail.
    let _ = all.clear();
}

/// Logs a line for all processes and, if `each`, a line for each.
fn log(shown: &Shown, over: &AtomicBool, each: bool) {
    let (started, mut logged, mut logged_each) = (Instant::now(), Instant::now(), Instant::now());
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(DRAW_EVERY);
        if logged.elapsed() >= LOG_EVERY {
            logged = Instant::now();
            let reached = shown.reached(started);
            let Reached { bytes, bytes_total, records, seconds, .. } = reached;
            let rate = records as f64 / seconds.max(0.001);
            tracing::info!(
                stage = reached.name(),
                bytes,
                bytes_total,
                documents = records,
                documents_per_s = rate as u64
            );
        }
        if each && logged_each.elapsed() >= LOG_EACH_EVERY {
            logged_each = Instant::now();
            for process in processes(&shown.followed) {
                tracing::info!(
                    host = process.name,
                    stage = stage_of(&process),
                    bytes = process.progress.bytes.load(Ordering::Relaxed),
                    documents = process.progress.records.load(Ordering::Relaxed),
                    memory_bytes = process.memory_bytes.load(Ordering::Relaxed)
                );
            }
        }
    }
}

fn processes(followed: &Followed) -> Vec<Arc<ObservedProcess>> {
    lock(followed).clone()
}

/// The name of the stage that a process is in; after the last one the workers are done.
fn stage_of(process: &ObservedProcess) -> &'static str {
    let stage = process.progress.stage.load(Ordering::Relaxed) as usize;
    step_name(stage.min(STAGES.len() - 1))
}

/// The line of a process on a terminal.
fn line_of(process: &ObservedProcess) -> String {
    let records = process.progress.records.load(Ordering::Relaxed);
    let megabytes = process.memory_bytes.load(Ordering::Relaxed) / 1_000_000;
    let (stage, name) = (stage_of(process), &process.name);
    format!("{stage:>10} {name}: {} documents, {megabytes} MB", grouped(records))
}

/// The bytes and records of all processes, and the number of the stage of the slowest one.
fn sum(processes: &[Arc<ObservedProcess>]) -> (u64, u64, usize) {
    let sum = |of: fn(&Progress) -> &AtomicU64| {
        processes.iter().map(|process| of(&process.progress).load(Ordering::Relaxed)).sum::<u64>()
    };
    let least =
        processes.iter().map(|process| process.progress.stage.load(Ordering::Relaxed)).min();
    (sum(|p| &p.bytes), sum(|p| &p.records), (least.unwrap_or(0) as usize).min(STAGES.len() - 1))
}
