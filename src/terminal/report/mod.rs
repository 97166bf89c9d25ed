//! The report at the end of a run: the summary for people, and `run.json` with the figures that
//! differ from run to run.

pub mod findings;
pub mod idle;
pub mod inputs;

use crate::forecast::Forecast;
use crate::processes::{Attempt, ProcessSummary};
use crate::terminal::lost::{Lost, elsewhere, other_notes};
use crate::terminal::print::{Lines, counted, grouped, megabytes, percent, print_json, show};
use crate::terminal::profile::{self, Times, WorkerSpans};
use crate::terminal::report::findings::{little, unexamined, warn_of_large_clusters};
use crate::terminal::report::inputs::{Leftovers, barren, otherwise, undivided};
use crate::terminal::trace;
use crate::{advice, cli};
use serde_json::json;
use std::collections::BTreeMap;
use workers::error::{Error, Result};
use workers::export::Exported;
use workers::fold::counters::Counter;
use workers::fold::receipt::Receipt;
use workers::job::Job;
use workers::page_url::host_name;
use workers::plan::Plan;
use workers::plan::examine;
use workers::plan::inputs::Input;
use workers::read::PageKey;
use workers::store::durable;
use workers::visit::counts::Counts;

/// The rows that all workers looked up in each table.
pub fn rows_read(receipts: &[Receipt]) -> BTreeMap<String, u64> {
    let mut rows_read = BTreeMap::new();
    for (table, n) in receipts.iter().flat_map(|receipt| &receipt.rows_read) {
        *rows_read.entry(table.clone()).or_default() += n;
    }
    rows_read
}

/// A committed epoch and what the report says about it.
pub struct Outcome<'a> {
    /// The job.
    pub job: &'a Job,
    /// Worker threads of each process.
    pub workers: usize,
    /// The plan.
    pub plan: &'a Plan,
    /// How many records were accepted, skipped and rejected.
    pub counts: &'a Counts,
    /// The counts of the epoch, as its summary has them.
    pub counters: &'a BTreeMap<String, u64>,
    /// What the store does not have of the inputs.
    pub leftovers: Leftovers,
    /// The pages with another text than before whose former record is in another input that still
    /// exists.
    pub changed_here: u64,
    /// The inputs that changed while they were read.
    pub left: &'a [String],
    /// What was exported, if anything.
    pub exported: Option<Exported>,
    /// The time of each part.
    pub times: Times,
    /// The work of each worker in each operator.
    pub spans: Vec<WorkerSpans>,
    /// The forecast costs of a first build of the inputs; `None` for few inputs.
    pub forecast: Option<Forecast>,
    /// The bytes of the store's tables.
    pub store_bytes: u64,
    /// Rows looked up in each table.
    pub rows_read: BTreeMap<String, u64>,
    /// The greatest resident memory, summed over the processes.
    pub memory_bytes: u64,
    /// The work of each process.
    pub processes: Vec<ProcessSummary>,
    /// All attempts.
    pub attempts: Vec<Attempt>,
}

impl Outcome<'_> {
    /// Writes `run.json`.
    pub fn write_run_json(&self) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "epoch": self.plan.epoch,
            "processes": self.processes.len(),
            "workers": self.workers,
            "process": self.processes,
            "attempts": self.attempts,
            "splits_done": self.processes.iter().map(|process| process.splits_done).sum::<u64>(),
            "splits_resumed": self.processes.iter().map(|process| process.splits_resumed).sum::<u64>(),
            "refused": self.processes.iter().flat_map(|process| process.refused.values()).sum::<u64>(),
            "inputs": self.plan.inputs.len(),
            "inputs_not_consumed": self.leftovers.barren.iter().map(Input::shown).collect::<Vec<_>>(),
            "input_read_otherwise": self.leftovers.read_otherwise,
            "elsewhere": self.leftovers.elsewhere,
            "inputs_left": self.left,
            "inputs_passed_by": self.plan.passed,
            "inputs_left_out": self.plan.left_out,
            "inputs_same_bytes": self.plan.same_bytes.len(),
            "input_bytes": self.counts.bytes,
            "records": self.counts.read,
            "elapsed_ms": self.times.elapsed().as_millis() as u64,
            "laps_ms": self.times.laps_ms(),
            "stages": profile::stages(&self.spans),
            "stage_ended_ms_first_last": profile::ended_ms(&self.spans),
            "rows_read": self.rows_read,
            "memory_bytes_max": self.memory_bytes,
            "store_bytes": self.store_bytes,
            "forecast": self.forecast,
        }))
        .map_err(|e| Error::internal("cannot write run.json").caused_by(e))?;
        text.push(b'\n');
        durable::create_folder(&self.job.output.dir).map_err(Error::as_output)?;
        durable::write(&self.job.output.dir.join("run.json"), &text).map_err(Error::as_output)
    }

    /// Prints the summary.
    pub fn print(&self, arguments: &cli::Run) -> Result<()> {
        if let Some(exported) = &self.exported {
            warn_of_large_clusters(&exported.summary.large);
        }
        if let Some(line) = self.lost().undated(self.job, self.plan.epoch) {
            tracing::warn!("{}", advice::worded(&line));
        }
        if let Some(line) = self.missing_kept() {
            tracing::warn!("{line}");
        }
        if arguments.quiet {
            return Ok(());
        }
        if arguments.json {
            if let Some(name) = self.job.single_signature() {
                tracing::warn!("{name} alone proposes pairs, as the job leaves all others out");
            }
            return match &self.exported {
                Some(exported) => print_json(&exported.summary),
                None => print_json(&json!({
                    "epoch": self.plan.epoch,
                    "exported": false,
                    "counters": self.counters,
                })),
            };
        }
        show(&advice::Job::new(&arguments.job, &arguments.sets).with_commands(&self.text()))?;
        match arguments.profile {
            Some(_) => show(&profile::table(&self.spans, &self.times)),
            None => Ok(()),
        }
    }

    /// Writes the trace of `--profile`, if this option is set.
    pub fn write_trace(&self, arguments: &cli::Run) -> Result<()> {
        let Some(path) = &arguments.profile else { return Ok(()) };
        let path = path.clone().unwrap_or_else(|| self.job.output.dir.join(trace::FILE));
        let hosts: Vec<&str> = self.processes.iter().map(|process| process.host.as_str()).collect();
        trace::write(&path, &trace::trace(&self.spans, self.workers, &hosts, &self.times))
    }

    fn text(&self) -> String {
        let mut lines = Lines::default();
        let (epoch, store) = (self.plan.epoch, self.job.store.display());
        lines.line("epoch", format!("{epoch} committed to {store}"));
        self.say_what_was_read(&mut lines);
        self.say_what_is_left(&mut lines);
        self.say_what_was_counted(&mut lines);
        self.say_what_was_lost(&mut lines);
        if let Some(exported) = &self.exported {
            self.say_what_was_exported(&mut lines, exported);
        }
        self.say_what_it_took(&mut lines);
        lines.into_text()
    }

    /// The inputs and their records.
    fn say_what_was_read(&self, lines: &mut Lines) {
        if let Some(name) = self.job.single_signature() {
            lines.line(
                "signatures",
                format!("{name} alone proposes pairs, as the job leaves all others out"),
            );
        }
        let inputs = self.inputs_read();
        if inputs > 0 {
            let (records, files) =
                (counted(self.counts.read, "record"), counted(inputs as u64, "file"));
            lines.line("read", format!("{records} of {files}, {}", megabytes(self.counts.bytes)));
            let Plan { inputs, splits, .. } = self.plan;
            if let Some(rest) =
                undivided(inputs, splits, self.processes.len() * self.workers, "read")
            {
                lines.line("uneven", rest);
            }
            lines.line("accepted", grouped(self.counts.accepted));
            if self.plan.decision_changed || self.plan.view_changed {
                lines.line("again", self.cause());
            }
        } else {
            lines.line("read", format!("nothing new; {}", self.cause()));
        }
    }

    /// The lines about inputs for a later run, and about gaps in the inputs.
    fn say_what_is_left(&self, lines: &mut Lines) {
        if let Some(first) = self.left.first() {
            let rest = match self.left.len() - 1 {
                0 => format!("{first} changed while it was read; the next run reads it"),
                more => format!(
                    "{first} and {more} more changed while they were read; the next run reads them"
                ),
            };
            lines.line("left", rest);
        }
        lines.list("passed by", examine::lines(&self.plan.passed));
        lines.list("links", self.plan.left_out.unfollowed());
        lines.list("due", barren(self.job, &self.leftovers.barren));
        if let Some(path) = &self.leftovers.read_otherwise {
            lines.line("otherwise", otherwise(path));
        }
        if let Some(of) = self.leftovers.elsewhere {
            lines.line("elsewhere", elsewhere(self.job, of));
        }
        if let Some(line) = self.missing_kept() {
            lines.line("missing", line);
        }
    }

    /// The line about pages that stay although a complete snapshot lacks them.
    fn missing_kept(&self) -> Option<String> {
        let missing_kept = self.counted(Counter::PagesMissingKept);
        (missing_kept > 0).then(|| {
            format!(
                "{} that the snapshot lacks stay: bad records or empty files ({}) do not say which pages they had",
                counted(missing_kept, "page"),
                grouped(self.counts.unreadable)
            )
        })
    }

    /// The lines about records that are no pages, or not sound.
    fn say_what_was_counted(&self, lines: &mut Lines) {
        let noted = other_notes(&self.counts.noted);
        for (head, reasons) in [
            ("skipped", &self.counts.skipped),
            ("rejected", &self.counts.rejected),
            ("noted", &noted),
        ] {
            if !reasons.is_empty() {
                let total = grouped(reasons.values().sum());
                let list: Vec<String> =
                    reasons.iter().map(|(reason, n)| format!("{reason} {}", grouped(*n))).collect();
                lines.line(head, format!("{total:<8} {}", list.join(", ")));
            }
        }
        if let Some(most) = self.job.read.records_max {
            lines.line("sample", format!("at most {} of each input", counted(most, "record")));
        }
    }

    /// The lines about earlier records and pages that changed or are gone.
    fn say_what_was_lost(&self, lines: &mut Lines) {
        let lost = self.lost();
        let superseded = self.counted(Counter::VisitsSuperseded);
        if superseded > 0 {
            let key = match &self.job.read.key {
                PageKey::Field(name) => format!("`{name}`"),
                PageKey::Url | PageKey::Row => "URL".into(),
            };
            let repeated = match self.counts.noted.get("repeated") {
                Some(repeated) => format!(", beside {} repeated", grouped(*repeated)),
                None => String::new(),
            };
            let superseded = grouped(superseded);
            let others = lost.with_another_text();
            let rest =
                format!("{superseded:<8} by another record of the same {key}{others}{repeated}");
            lines.line("superseded", rest);
        }
        let outdated = self.counted(Counter::VisitsOutdated);
        if outdated > 0 {
            let outdated = grouped(outdated);
            let rest =
                format!("{outdated:<8} by what the store has of their pages, with later dates");
            lines.line("outdated", rest);
        }
        if let Some(rest) = lost.changed(self.job) {
            lines.line("changed", rest);
        }
        if let Some(rest) = lost.removals(self.job, self.counts) {
            lines.line("removals", rest);
        }
        let causes = [
            (Counter::PagesRemoved, "removed"),
            (Counter::PagesMissing, "lacked by the snapshot"),
            (Counter::PagesExpired, "expired"),
        ];
        let counts = causes.map(|(counter, cause)| (self.counted(counter), cause));
        let gone: u64 = counts.iter().map(|(n, _)| n).sum();
        if gone > 0 {
            let counts = counts.iter().filter(|(n, _)| *n > 0);
            let parts: Vec<String> =
                counts.map(|(n, cause)| format!("{} {cause}", grouped(*n))).collect();
            let pages = if gone == 1 { "page" } else { "pages" };
            lines.line("gone", format!("{:<8} {pages}: {}", grouped(gone), parts.join(", ")));
        }
    }

    /// The lines about pages and clusters, and the files of the results.
    fn say_what_was_exported(&self, lines: &mut Lines, exported: &Exported) {
        let Exported { summary, largest } = exported;
        let folded = summary.folded_identical + summary.folded_near;
        lines.line(
            "pages",
            format!("{:<8} {}", grouped(summary.pages), counted(summary.contents, "distinct text")),
        );
        lines.line("kept", grouped(summary.kept));
        lines.line(
            "folded",
            format!(
                "{:<8} {} of pages: {} identical, {} near",
                grouped(folded),
                percent(folded, summary.pages),
                grouped(summary.folded_identical),
                grouped(summary.folded_near)
            ),
        );
        let colon = if largest.is_empty() { "" } else { ", the largest:" };
        lines.line("clusters", format!("{}{colon}", grouped(summary.clusters)));
        for (pages, contents, hosts, url) in largest {
            let mut counts = vec![(*pages, "page"), (*contents, "text")];
            counts.extend(host_name(url).map(|_| (*hosts, "host")));
            let counts = counts.into_iter().map(|(n, one)| counted(n.into(), one));
            lines.line("", format!("{}  {url}", counts.collect::<Vec<_>>().join(", ")));
        }
        lines.list("little", little(&summary.little));
        lines.list("pivots", unexamined(&summary.unexamined));
        let names = summary.files.keys().map(String::as_str).chain(["summary.json", "run.json"]);
        lines.line("output", format!("{}: {}", self.job.output.dir.display(), by_stem(names)));
    }

    /// The line about time and memory.
    fn say_what_it_took(&self, lines: &mut Lines) {
        let seconds = self.times.elapsed().as_secs_f64();
        let rate = self.counts.read as f64 / self.times.seconds("work").max(0.001);
        let (processes, workers) = (self.processes.len(), self.workers);
        let memory = self.memory_bytes as f64 / 1e6;
        let layout = format!("{processes} x {}", counted(workers as u64, "worker"));
        let rate =
            if self.inputs_read() > 0 { format!("{rate:.0} records/s, ") } else { String::new() };
        lines.line("took", format!("{seconds:.1} s, {rate}{memory:.0} MB at most, {layout}"));
    }

    /// The records that became no page of the results.
    fn lost(&self) -> Lost {
        Lost::of(|counter| self.counted(counter), self.changed_here)
    }

    /// How many the epoch counted of a kind.
    fn counted(&self, counter: Counter) -> u64 {
        self.counters.get(counter.name()).copied().unwrap_or(0)
    }

    /// The inputs that were read.
    fn inputs_read(&self) -> usize {
        self.plan.inputs.len() - self.left.len()
    }

    /// Why there was an epoch without input, or more was done than its input made due.
    fn cause(&self) -> &'static str {
        match (self.plan.decision_changed, self.plan.view_changed) {
            (true, _) => "[confirm] changed, so every pair was decided again",
            (_, true) => "[keep] or [clusters] changed, so every cluster was made again",
            _ => "pages expired",
        }
    }
}

/// The names of files, with the endings of one stem together: `pairs.{jsonl,parquet}, run.json`.
fn by_stem<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut stems: Vec<(&str, Vec<&str>)> = Vec::new();
    for (stem, ending) in names.map(|name| name.split_once('.').unwrap_or((name, ""))) {
        match stems.last_mut().filter(|(last, _)| *last == stem) {
            Some((_, endings)) => endings.push(ending),
            None => stems.push((stem, vec![ending])),
        }
    }
    let name = |(stem, endings): &(&str, Vec<&str>)| match &endings[..] {
        [""] => (*stem).to_owned(),
        [one] => format!("{stem}.{one}"),
        _ => format!("{stem}.{{{}}}", endings.join(",")),
    };
    stems.iter().map(name).collect::<Vec<_>>().join(", ")
}
