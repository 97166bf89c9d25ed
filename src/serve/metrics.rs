//! Figures of the server in Prometheus's text format.

use crate::serve::api::{Line, Verdict};
use axum::http::StatusCode;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use workers::online::Figures;

/// The paths whose requests are counted separately.
const PATHS: [&str; 6] = ["/check", "/insert", "/remove", "/pages", "/explain", "/metrics"];
/// The name for all other paths.
const OTHER: &str = "other";
/// The classes of a status, from 1xx.
const CLASSES: usize = 5;
/// The possible results for a record.
const BECAME: [&str; 5] = ["new", "identical", "near", "removed", "rejected"];
/// The index of the records that were not taken.
const REJECTED: usize = 4;
/// Upper bounds of the buckets of times, in microseconds.
const BUCKETS_US: [u64; 10] =
    [500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000];

/// Counters of a server.
#[derive(Default)]
pub struct Metrics {
    requests: [[AtomicU64; CLASSES]; PATHS.len() + 1],
    times: [Times; PATHS.len() + 1],
    records: [AtomicU64; BECAME.len()],
    inserted: AtomicU64,
}

/// How long requests took.
#[derive(Default)]
struct Times {
    /// The number within each bound, and beyond all bounds.
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
    sum_us: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// The paths by which requests are counted.
fn paths() -> impl Iterator<Item = &'static str> {
    PATHS.into_iter().chain([OTHER])
}

impl Metrics {
    /// Counts a request and its answer.
    pub fn request(&self, path: &str, status: StatusCode, took: Duration) {
        let at = PATHS.iter().position(|of| *of == path).unwrap_or(PATHS.len());
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES) - 1;
        add(&self.requests[at][class], 1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        add(&self.times[at].buckets[BUCKETS_US.partition_point(|bound| *bound < micros)], 1);
        add(&self.times[at].sum_us, micros);
    }

    /// Counts the result for a record.
    pub fn record(&self, line: &Line) {
        let at = match line {
            Line::Answer(answer) => {
                add(&self.inserted, answer.inserted.into());
                match answer.verdict {
                    Verdict::New => 0,
                    Verdict::Identical => 1,
                    Verdict::Near => 2,
                }
            }
            Line::Removed(_) => 3,
            Line::Rejected(_) => REJECTED,
        };
        add(&self.records[at], 1);
    }

    /// Counts a single record that was not taken.
    pub fn rejected(&self) {
        add(&self.records[REJECTED], 1);
    }

    /// The samples of requests, by path and status.
    fn of_requests(&self) -> Vec<(String, f64)> {
        let mut samples = Vec::new();
        for (path, classes) in paths().zip(&self.requests) {
            for (class, count) in classes.iter().enumerate().filter(|(_, count)| read(count) > 0) {
                samples.push((
                    format!("{{path=\"{path}\",status=\"{}xx\"}}", class + 1),
                    read(count) as f64,
                ));
            }
        }
        samples
    }

    /// The samples of the histogram of each path.
    fn of_times(&self) -> Vec<(String, f64)> {
        let mut samples = Vec::new();
        for (path, of) in paths().zip(&self.times) {
            let mut within = 0;
            for (at, count) in of.buckets.iter().enumerate() {
                within += read(count);
                let bound = BUCKETS_US
                    .get(at)
                    .map_or("+Inf".into(), |bound| (*bound as f64 / 1e6).to_string());
                samples.push((format!("_bucket{{path=\"{path}\",le=\"{bound}\"}}"), within as f64));
            }
            samples.push((format!("_sum{{path=\"{path}\"}}"), read(&of.sum_us) as f64 / 1e6));
            samples.push((format!("_count{{path=\"{path}\"}}"), within as f64));
        }
        samples
    }

    /// All figures. `waiting` requests are under way, and `is_behind` if the newest head is not
    /// asked.
    pub fn text(
        &self,
        figures: &Figures,
        waiting: usize,
        is_behind: bool,
        memory_bytes: u64,
    ) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "# HELP pagefold_serve_{name} {help}\n# TYPE pagefold_serve_{name} {kind}"
            );
            for (labels, value) in samples {
                let _ = writeln!(out, "pagefold_serve_{name}{labels} {value}");
            }
        };
        family("requests_total", "counter", "Requests, by path and status.", self.of_requests());
        let help = "How long requests took, with their bodies.";
        family("request_seconds", "histogram", help, self.of_times());
        let records = BECAME.iter().zip(&self.records);
        let records =
            records.map(|(became, count)| (format!("{{became=\"{became}\"}}"), read(count) as f64));
        family("records_total", "counter", "Records, by what became of them.", records.collect());
        let mut one =
            |name, kind, help, value: f64| family(name, kind, help, vec![(String::new(), value)]);
        one(
            "inserted_total",
            "counter",
            "Records that were inserted.",
            read(&self.inserted) as f64,
        );
        one(
            "requests_under_way",
            "gauge",
            "Requests that are answered or wait for it.",
            waiting as f64,
        );
        one("epoch", "gauge", "The epoch that is asked.", figures.epoch as f64);
        one(
            "epoch_timestamp_seconds",
            "gauge",
            "The time by which it counts.",
            figures.epoch_time as f64,
        );
        one("documents", "gauge", "Live pages of that epoch.", figures.pages as f64);
        one(
            "behind",
            "gauge",
            "1 if a newer head cannot be asked.",
            f64::from(u8::from(is_behind)),
        );
        one(
            "inbox_records",
            "gauge",
            "Records that no epoch has taken yet.",
            figures.inbox_records as f64,
        );
        one("inbox_bytes", "gauge", "Memory of these, about.", figures.inbox_bytes as f64);
        one("memory_max_bytes", "gauge", "Greatest resident memory.", memory_bytes as f64);
        out
    }
}
