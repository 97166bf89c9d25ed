//! Shows the progress of a run: a bar on a terminal, log lines elsewhere.

use crate::cluster::control::Message;
use crate::terminal::print::{counted, grouped};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use workers::fold::epoch::{Progress, STAGES};
use workers::locks::lock;

/// How often the bar is drawn, how often total progress is logged if there is no terminal, and how
/// often that of each process with -v.
const DRAW_EVERY: Duration = Duration::from_millis(200);
const LOG_EVERY: Duration = Duration::from_secs(10);
const LOG_EACH_EVERY: Duration = Duration::from_secs(5);
/// Processes with a line of their own on a terminal.
const LINES_MAX: usize = 16;

/// A process as the launcher sees it.
pub struct ObservedProcess {
    /// The host, or another name for the process.
    pub name: String,
    /// Its progress.
    pub progress: Arc<Progress>,
    /// Its greatest resident memory.
    pub memory_bytes: AtomicU64,
    /// Connections that it refused while it started, by reason; known once it has finished.
    pub refused: Mutex<BTreeMap<String, u64>>,
}

impl ObservedProcess {
    /// A process that has not started yet.
    pub fn new(name: &str) -> ObservedProcess {
        let (memory_bytes, refused) = (AtomicU64::new(0), Mutex::default());
        ObservedProcess { name: name.to_owned(), progress: Arc::default(), memory_bytes, refused }
    }

    /// Records the figures of its final message.
    pub fn record_end(&self, final_message: &Message) {
        if let Message::Done { memory_bytes, splits_done, splits_resumed, refused, .. } = final_message {
            self.memory_bytes.fetch_max(*memory_bytes, Ordering::Relaxed);
            self.progress.splits_done.store(*splits_done, Ordering::Relaxed);
            self.progress.splits_resumed.store(*splits_resumed, Ordering::Relaxed);
            *lock(&self.refused) = refused.clone();
        }
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

type Followed = Arc<Mutex<Vec<Arc<ObservedProcess>>>>;

/// Shows the progress of all processes.
pub struct Bar {
    followed: Followed,
    over: Arc<AtomicBool>,
    drawer: JoinHandle<()>,
}

impl Bar {
    /// Starts to show how many of `total` bytes are done.
    pub fn start(total: u64, quiet: bool, verbose: u8) -> Bar {
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

    /// Shows the progress of these processes from now on.
    pub fn follow(&self, processes: Vec<Arc<ObservedProcess>>) {
        *lock(&self.followed) = processes;
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.over.store(true, Ordering::Relaxed);
        self.drawer.thread().unpark();
        // A failure of the bar does not fail the run.
        let _ = self.drawer.join();
    }
}

/// Draws a bar for all processes and, if there are several, a line for each.
fn draw(followed: &Followed, over: &AtomicBool, total: u64) {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let bar = all.add(ProgressBar::new(total));
    let template = "{msg:>10} [{wide_bar}] {prefix}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    let mut lines: Vec<ProgressBar> = Vec::new();
    let started = Instant::now();
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(DRAW_EVERY);
        let processes = processes(followed);
        let (bytes, records, stage) = sum(&processes);
        bar.set_position(bytes);
        bar.set_message(stage);
        bar.set_prefix(figures(bytes, total, records, started.elapsed().as_secs_f64()));
        let wanted = if processes.len() > 1 { processes.len().min(LINES_MAX) } else { 0 };
        while lines.len() < wanted {
            let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
            lines.push(all.add(ProgressBar::new_spinner().with_style(style)));
        }
        lines.drain(wanted..).for_each(|line| all.remove(&line));
        lines.iter().zip(&processes).for_each(|(line, process)| line.set_message(process.line()));
    }
    // If the terminal cannot be cleared, the run does not fail.
    let _ = all.clear();
}

/// The figures beside the bar. The time left is that of reading; the stages after it have none.
fn figures(bytes: u64, total: u64, records: u64, seconds: f64) -> String {
    let rate = records as f64 / seconds.max(0.001);
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let left = match total.checked_sub(bytes) {
        Some(left @ 1..) if bytes > 0 => format!(", {:.0} s to read", seconds * left as f64 / bytes as f64),
        _ => String::new(),
    };
    let (records, rate) = (counted(records, "record"), grouped(rate as u64));
    format!("{:.0}/{:.0} MB, {records}, {rate}/s{left}", megabytes(bytes), megabytes(total))
}

/// Logs a line for all processes and, if `each`, a line for each.
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

fn processes(followed: &Followed) -> Vec<Arc<ObservedProcess>> {
    lock(followed).clone()
}

fn stage(number: u64) -> &'static str {
    STAGES[(number as usize).min(STAGES.len() - 1)]
}

/// The bytes and records of all processes, and the stage of the slowest one.
fn sum(processes: &[Arc<ObservedProcess>]) -> (u64, u64, &'static str) {
    let sum = |of: fn(&Progress) -> &AtomicU64| {
        processes.iter().map(|process| of(&process.progress).load(Ordering::Relaxed)).sum::<u64>()
    };
    let least = processes.iter().map(|process| process.progress.stage.load(Ordering::Relaxed)).min();
    (sum(|p| &p.bytes), sum(|p| &p.records), stage(least.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures leave room for a bar in 80 columns, and speak of the time left only while that
    /// is known: while inputs are read.
    #[test]
    fn figures_fit() {
        let reading = figures(25_680_000, 264_950_000, 1_025_911, 5.0);
        assert_eq!(reading, "26/265 MB, 1,025,911 records, 205,182/s, 47 s to read");
        assert!(reading.len() < 60);
        assert_eq!(figures(5_000_000, 5_000_000, 1, 1.0), "5/5 MB, 1 record, 1/s");
    }
}
