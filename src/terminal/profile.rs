//! The time of each part of a run: the figures of each stage in `run.json`, and the table that
//! `--profile` prints.

use crate::terminal::print::grouped;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use workers::fold::operators::STAGES;
use workers::fold::receipt::Receipt;
use workers::fold::spans::{OperatorSpan, Volume};

/// A part of the launcher's work, with its times in microseconds after the command began.
#[derive(Clone, Copy, Debug)]
pub struct Lap {
    /// The name of the part.
    pub name: &'static str,
    /// When it began.
    pub began_us: u64,
    /// When it ended.
    pub ended_us: u64,
}

/// How long each part of the run took.
pub struct Times {
    started: Instant,
    laps: Vec<Lap>,
}

impl Times {
    /// Starts with the time `started`, when the command began; the time until now counts as the
    /// time of the plan.
    pub fn start(started: Instant) -> Times {
        let mut times = Times { started, laps: Vec::new() };
        times.lap("plan");
        times
    }

    /// Records the time since the last lap as `name`.
    pub fn lap(&mut self, name: &'static str) {
        let began_us = self.laps.last().map_or(0, |lap| lap.ended_us);
        self.laps.push(Lap { name, began_us, ended_us: self.elapsed().as_micros() as u64 });
    }

    /// The laps in their order.
    pub fn laps(&self) -> &[Lap] {
        &self.laps
    }

    /// The time since the command began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The seconds of the lap `name`.
    pub fn seconds(&self, name: &str) -> f64 {
        let lap = self.laps.iter().find(|lap| lap.name == name);
        lap.map_or(0.0, |lap| seconds(lap.ended_us - lap.began_us))
    }

    /// The milliseconds of each lap.
    pub fn laps_ms(&self) -> BTreeMap<&'static str, u64> {
        self.laps.iter().map(|lap| (lap.name, (lap.ended_us - lap.began_us) / 1000)).collect()
    }
}

/// The work of one worker.
pub struct WorkerSpans {
    /// The number of the worker among all.
    pub worker: usize,
    /// Its operators, in the order in which they ended.
    pub spans: Vec<OperatorSpan>,
}

/// The work of each worker, in the order of their numbers.
pub fn spans(receipts: &[Receipt]) -> Vec<WorkerSpans> {
    let mut all: Vec<WorkerSpans> = receipts
        .iter()
        .map(|one| WorkerSpans { worker: one.worker, spans: one.spans.clone() })
        .collect();
    all.sort_unstable_by_key(|one| one.worker);
    all
}

/// The figures of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageFigures {
    /// The stage.
    pub stage: &'static str,
    /// The seconds that its operators took on the slowest worker.
    pub seconds: f64,
    /// The mean of all workers.
    pub seconds_mean: f64,
    /// The slowest worker over the mean, 1 if all take the same time.
    pub skew: f64,
    /// The rows and bytes that it took in and gave out, on all workers.
    #[serde(flatten)]
    pub volume: Volume,
}

/// The figures of all stages, in their order.
pub fn stages(workers: &[WorkerSpans]) -> Vec<StageFigures> {
    STAGES.into_iter().map(|stage| stage_figures(stage, workers)).collect()
}

fn stage_figures(stage: &'static str, workers: &[WorkerSpans]) -> StageFigures {
    let mut volume = Volume::default();
    let (mut slowest_us, mut sum_us) = (0, 0);
    for worker in workers {
        let mut us = 0;
        for span in worker.spans.iter().filter(|span| span.stage() == stage) {
            us += span.us();
            volume.add(span.volume);
        }
        slowest_us = us.max(slowest_us);
        sum_us += us;
    }
    let mean_us = sum_us as f64 / workers.len().max(1) as f64;
    let skew = if sum_us == 0 { 1.0 } else { slowest_us as f64 / mean_us };
    StageFigures {
        stage,
        seconds: rounded(seconds(slowest_us)),
        seconds_mean: rounded(mean_us / 1e6),
        skew: rounded(skew),
        volume,
    }
}

/// When each operator ended, in milliseconds, on the first and on the last worker.
pub fn ended_ms(workers: &[WorkerSpans]) -> BTreeMap<&str, (u64, u64)> {
    let mut ended: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for span in workers.iter().flat_map(|worker| &worker.spans) {
        let at = span.ended_us / 1000;
        let entry = ended.entry(&span.operator).or_insert((at, at));
        *entry = (entry.0.min(at), entry.1.max(at));
    }
    ended
}

/// The table for people: a line for each lap of the launcher and, in place of its lap `work`, for
/// each stage of the workers.
pub fn table(workers: &[WorkerSpans], times: &Times) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\n{:<10} {:>9} {:>6} {:>15} {:>15} {:>11} {:>11}",
        "stage", "seconds", "skew", "rows in", "rows out", "MB in", "MB written"
    );
    for lap in times.laps() {
        if lap.name != "work" {
            let _ = writeln!(out, "{:<10} {:>9.3}", lap.name, times.seconds(lap.name));
            continue;
        }
        for StageFigures { stage, seconds, skew, volume, .. } in stages(workers) {
            let [rows_in, rows_out] = [volume.rows_in, volume.rows_out].map(grouped);
            let [mb_in, mb_written] =
                [volume.bytes_in, volume.bytes_written].map(|bytes| bytes as f64 / 1e6);
            let _ = writeln!(
                out,
                "{stage:<10} {seconds:>9.3} {skew:>6.2} {rows_in:>15} {rows_out:>15} {mb_in:>11.1} {mb_written:>11.1}"
            );
        }
        let _ = writeln!(out, "{:<10} {:>9.3}", "between", between(workers));
    }
    out
}

/// The mean seconds of a worker between its operators, in which it sends rows or waits for others.
fn between(workers: &[WorkerSpans]) -> f64 {
    let of = |worker: &WorkerSpans| {
        let ended = worker.spans.iter().map(|span| span.ended_us).max().unwrap_or(0);
        ended.saturating_sub(worker.spans.iter().map(OperatorSpan::us).sum())
    };
    seconds(workers.iter().map(of).sum()) / workers.len().max(1) as f64
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// A figure with three decimals.
fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(operator: &str, began_us: u64, ended_us: u64) -> OperatorSpan {
        let volume = Volume { rows_in: 2, rows_out: 1, bytes_in: 16, bytes_written: 5 };
        OperatorSpan { operator: operator.into(), began_us, ended_us, volume }
    }

    /// A stage takes the time of its operators on the slowest worker, its skew is this time divided
    /// by the mean, its rows and bytes are those of all workers, and the time of no operator is
    /// `between`.
    #[test]
    fn figures_of_a_stage() {
        let first = vec![span("ingest", 0, 1_000_000), span("keys.touched", 1_000_000, 1_500_000)];
        let second = vec![span("ingest", 0, 3_000_000), span("keys", 3_500_000, 4_000_000)];
        let workers = [first, second]
            .into_iter()
            .enumerate()
            .map(|(worker, spans)| WorkerSpans { worker, spans });
        let workers: Vec<WorkerSpans> = workers.collect();
        let figures = stages(&workers);
        assert_eq!(figures.iter().map(|one| one.stage).collect::<Vec<_>>(), STAGES);
        let volume = Volume { rows_in: 4, rows_out: 2, bytes_in: 32, bytes_written: 10 };
        let ingest =
            StageFigures { stage: "ingest", seconds: 3.0, seconds_mean: 2.0, skew: 1.5, volume };
        assert_eq!(figures[0], ingest);
        let keys = figures.iter().find(|one| one.stage == "keys").expect("there");
        assert_eq!((keys.seconds, keys.skew, keys.volume), (0.5, 1.0, volume));
        assert_eq!((figures[1].seconds, figures[1].skew), (0.0, 1.0));
        assert_eq!(between(&workers), 0.25);
        assert_eq!(ended_ms(&workers)["ingest"], (1000, 3000));
    }
}
