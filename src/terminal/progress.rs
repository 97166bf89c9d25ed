//! The line that a bar shows, as text: how far a run is and how long it still takes, in any width.

use crate::terminal::print::{counted, grouped};
use workers::fold::operators::STAGES;

/// The steps after the stages of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The epoch is committed.
    Commit,
    /// The tables are exported.
    Export,
    /// Runs are merged.
    Merge,
}

impl After {
    const ALL: [After; 3] = [After::Commit, After::Export, After::Merge];

    fn name(self) -> &'static str {
        match self {
            After::Commit => "commit",
            After::Export => "export",
            After::Merge => "merge",
        }
    }
}

/// The name of step `number`: first the stages, then the steps after them.
pub fn step_name(number: usize) -> &'static str {
    let after =
        number.checked_sub(STAGES.len()).map(|at| After::ALL[at.min(After::ALL.len() - 1)].name());
    after.unwrap_or_else(|| STAGES[number])
}

/// The number of a step after the stages.
pub fn step_after(after: After) -> usize {
    STAGES.len() + After::ALL.iter().position(|of| *of == after).unwrap_or(0)
}

/// The time of each step in thousandths of the whole, as measured for 1M pages of 1 KB
/// (`workers/benches/README.md`). Another crawl has other times, so the time left is a guess that
/// becomes better with every step.
const SHARES: [u64; STAGES.len() + 3] = [580, 10, 30, 5, 10, 15, 5, 20, 130, 5, 4, 2, 2, 1, 180, 1];

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    /// The step: a stage, or a step after the stages.
    pub step: usize,
    /// Bytes of input read.
    pub bytes: u64,
    /// Bytes to read; 0 for a run that reads nothing.
    pub bytes_total: u64,
    /// Records read.
    pub records: u64,
    /// Whether tables are exported.
    pub exports: bool,
    /// Seconds since the start.
    pub seconds: f64,
    /// The name of the work, if it is no run and has only one step, reading.
    pub only: Option<&'static str>,
}

impl Reached {
    /// The share of the work that is done, from 0 to 1.
    fn share(&self) -> f64 {
        let weight = |step: usize| match step {
            0 if self.bytes_total == 0 => 0.0,
            step if step == step_after(After::Export) && !self.exports => 0.0,
            step => SHARES[step] as f64,
        };
        let done: f64 = (0..self.step.min(SHARES.len())).map(weight).sum();
        let read = self.bytes.min(self.bytes_total) as f64 / (self.bytes_total as f64).max(1.0);
        if self.only.is_some() {
            return read;
        }
        let reading = if self.step == 0 { weight(0) * read } else { 0.0 };
        (done + reading) / (0..SHARES.len()).map(weight).sum::<f64>()
    }

    /// The name of the step.
    pub fn name(&self) -> &'static str {
        self.only.unwrap_or_else(|| step_name(self.step))
    }

    /// The time that is left; `None` until enough work is done for a guess.
    fn left(&self) -> Option<f64> {
        let share = self.share();
        (share >= 0.01 && self.seconds >= 1.0).then(|| self.seconds * (1.0 - share) / share)
    }

    /// The line in `width` columns: the step, a bar and as many figures as there is room for.
    pub fn line(&self, width: usize) -> String {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let rate = self.records as f64 / self.seconds.max(0.001);
        // In the order in which they are shown, each with a rank: the figure of the greatest rank
        // is left out first.
        let mut figures: Vec<(u8, String)> = Vec::new();
        if self.bytes_total > 0 && self.step == 0 {
            // With few megabytes, tenths show the progress.
            let digits = usize::from(self.bytes_total < 10_000_000);
            let [read, all] = [self.bytes, self.bytes_total]
                .map(|bytes| format!("{:.digits$}", megabytes(bytes)));
            figures.push((1, format!("{read}/{all} MB")));
        }
        if self.records > 0 {
            figures.push((2, counted(self.records, "record")));
        }
        if self.records > 0 && self.step == 0 {
            figures.push((3, format!("{}/s", grouped(rate as u64))));
        }
        figures.extend(self.left().map(|seconds| (0, format!("{} left", time(seconds)))));
        let label = format!("{:>10} ", self.name());
        let joined = |figures: &[(u8, String)]| -> String {
            figures.iter().map(|(_, figure)| figure.as_str()).collect::<Vec<_>>().join(", ")
        };
        loop {
            let text = joined(&figures);
            let taken = label.len() + text.len() + "[] ".len() + BAR_LEAST;
            let last = (0..figures.len()).max_by_key(|at| figures[*at].0);
            match last {
                Some(last) if taken > width => drop(figures.remove(last)),
                _ if taken > width => return label.trim().chars().take(width).collect(),
                _ => {
                    return format!(
                        "{label}[{}] {text}",
                        bar(self.share(), width - taken + BAR_LEAST)
                    )
                    .trim_end()
                    .into();
                }
            }
        }
    }
}

/// The columns of the shortest bar.
const BAR_LEAST: usize = 6;
/// The columns of the longest bar: with a longer one, the figures would be far from the step.
const BAR_MOST: usize = 40;

fn bar(share: f64, columns: usize) -> String {
    let columns = columns.min(BAR_MOST);
    let done = (share * columns as f64) as usize;
    let head = if done < columns { ">" } else { "" };
    format!("{:<columns$}", "=".repeat(done.min(columns)) + head)
}

/// A time in a suitable unit.
fn time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(step: usize, bytes: u64, seconds: f64) -> Reached {
        let (bytes_total, records) = (264_950_000, bytes / 1000);
        Reached { step, bytes, bytes_total, records, exports: true, seconds, only: None }
    }

    /// The line fits every width at every step, and the most important parts are left out last: the
    /// step, then the time left.
    #[test]
    fn lines_fit() {
        for width in 1..200 {
            for step in 0..SHARES.len() {
                for (bytes, seconds) in [(0, 0.0), (25_680_000, 5.0), (264_950_000, 99_999.0)] {
                    let line = reached(step, bytes, seconds).line(width);
                    assert!(line.chars().count() <= width && !line.is_empty(), "{width}: {line:?}");
                    if width >= 12 {
                        assert!(line.contains(step_name(step)), "{width}: {line:?}");
                    }
                }
            }
        }
        let of = reached(0, 25_680_000, 5.0);
        assert_eq!(
            of.line(80),
            "    ingest [=>                   ] 26/265 MB, 25,680 records, 5,136/s, 84 s left"
        );
        assert_eq!(of.line(40), "    ingest [>     ] 26/265 MB, 84 s left");
        assert_eq!(of.line(24), "    ingest [>         ]");
        assert_eq!(of.line(10), "ingest");
        let small = Reached {
            bytes: 120_000,
            bytes_total: 400_000,
            records: 80,
            seconds: 0.5,
            ..Reached::default()
        };
        assert_eq!(
            small.line(80),
            "    ingest [=======>                             ] 0.1/0.4 MB, 80 records, 160/s"
        );
        let exporting = reached(step_after(After::Export), 264_950_000, 40.0);
        assert_eq!(exporting.line(40), "    export [==============>   ] 9 s left");
    }

    /// A filter of hours showed nothing until it ended. Work of one step has its own name, and is
    /// done when all bytes are read.
    #[test]
    fn work_of_one_step() {
        let half = Reached { only: Some("filter"), ..reached(0, 132_475_000, 30.0) };
        assert_eq!(half.line(40), "    filter [========>        ] 30 s left");
        let all = Reached { only: Some("filter"), ..reached(0, 264_950_000, 30.0) };
        assert_eq!(all.left(), Some(0.0));
    }

    /// The time left covers all steps: it falls to 0, and steps that do not happen take no time.
    #[test]
    fn the_time_left_covers_all_steps() {
        let left = |of: Reached| of.left().expect("enough to go by");
        let reading = left(reached(0, 132_475_000, 29.0));
        assert!((65.0..75.0).contains(&reading), "{reading}");
        let exporting = left(reached(step_after(After::Export), 264_950_000, 82.0));
        assert!((15.0..22.0).contains(&exporting), "{exporting}");
        let none =
            Reached { exports: false, ..reached(step_after(After::Export), 264_950_000, 82.0) };
        assert!(left(none) < 1.0);
        let shares: Vec<f64> =
            (0..SHARES.len()).map(|step| reached(step, 264_950_000, 1.0).share()).collect();
        assert!(shares.is_sorted() && shares[SHARES.len() - 1] < 1.0, "{shares:?}");
        let reads_nothing = Reached { step: 1, exports: true, seconds: 9.0, ..Reached::default() };
        assert!(reads_nothing.left().is_none(), "nothing is done yet");
        assert_eq!(SHARES.iter().sum::<u64>(), 1000);
    }

    /// Times are in a suitable unit.
    #[test]
    fn times() {
        assert_eq!(
            [0.2, 99.0, 101.0, 5999.0, 7260.0].map(time),
            ["0 s", "99 s", "2 min", "100 min", "2 h 1 min"]
        );
    }
}
