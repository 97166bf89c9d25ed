//! The report at the end of a run: the summary for people, and `run.json` with the figures that
//! differ from run to run.

use crate::forecast::Forecast;
use crate::terminal::lost::{Lost, elsewhere, other_notes};
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, grouped, percent, print_json, show};
use crate::terminal::profile::{self, Times, WorkerSpans};
use crate::terminal::ran::{Attempt, ProcessSummary};
use crate::terminal::trace;
use crate::{advice, cli};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use workers::ask::elsewhere::Elsewhere;
use workers::candidates::pivots::{self, BySignature, PIVOTS};
use workers::document::host_name;
use workers::error::{Error, Kind, Result};
use workers::export::{Exported, LargeCluster, LargeClusters, LittleText, LittleTexts, PairCount};
use workers::fold::ingest;
use workers::fold::receipt::Receipt;
use workers::fold::splits::Counts;
use workers::job::Job;
use workers::plan::Plan;
use workers::plan::division::{PlannedSplit, uncut};
use workers::plan::examine;
use workers::plan::inputs::{self, Input};
use workers::read::PageKey;
use workers::store::durable;
use workers::store::manifest::Head;

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
    /// What became of the records.
    pub counts: &'a Counts,
    /// The inputs that gave no record and are not consumed.
    pub barren: Vec<Input>,
    /// An input that the job reads otherwise than it was read.
    pub read_otherwise: Option<String>,
    /// The inputs that are gone, and their pages.
    pub elsewhere: Option<Elsewhere>,
    /// Pages that a complete snapshot lacks and that were kept.
    pub missing_kept: u64,
    /// Records of a URL that another record of the same run replaced.
    pub superseded: u64,
    /// What became of other records that are no page of the results.
    pub lost: Lost,
    /// The pages that are gone: removed, lacked by a complete snapshot, and expired.
    pub gone: [u64; 3],
    /// The inputs that changed while they were read.
    pub left: &'a [String],
    /// What was exported, if anything.
    pub exported: Option<Exported>,
    /// Where the time went.
    pub times: Times,
    /// What each worker did in each operator.
    pub spans: Vec<WorkerSpans>,
    /// What a first build of the inputs was forecast to cost, if they are not few.
    pub forecast: Option<Forecast>,
    /// The bytes of the store's tables.
    pub store_bytes: u64,
    /// Rows looked up in each table.
    pub rows_read: BTreeMap<String, u64>,
    /// The greatest resident memory, summed over the processes.
    pub memory_bytes: u64,
    /// What each process did.
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
            "inputs_not_consumed": self.barren.iter().map(Input::shown).collect::<Vec<_>>(),
            "input_read_otherwise": self.read_otherwise,
            "elsewhere": self.elsewhere,
            "inputs_left": self.left,
            "inputs_passed_by": self.plan.passed,
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
        let output = |e: Error| e.with_kind(Kind::Output);
        durable::create_folder(&self.job.output.dir).map_err(output)?;
        durable::write(&self.job.output.dir.join("run.json"), &text).map_err(output)
    }

    /// Prints the summary.
    pub fn print(&self, arguments: &cli::Run) -> Result<()> {
        if let Some(exported) = &self.exported {
            warn_of_large_clusters(&exported.summary.large);
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
                None => print_json(&json!({ "epoch": self.plan.epoch, "exported": false })),
            };
        }
        show(&advice::Job::new(&arguments.job, &arguments.sets).with_commands(&self.text()))?;
        match arguments.profile {
            Some(_) => show(&profile::table(&self.spans, &self.times)),
            None => Ok(()),
        }
    }

    /// Writes the trace of `--profile`, if that is asked for.
    pub fn write_trace(&self, arguments: &cli::Run) -> Result<()> {
        let Some(path) = &arguments.profile else { return Ok(()) };
        let path = path.clone().unwrap_or_else(|| self.job.output.dir.join(trace::FILE));
        let hosts: Vec<&str> = self.processes.iter().map(|process| process.host.as_str()).collect();
        trace::write(&path, &trace::trace(&self.spans, self.workers, &hosts, &self.times))
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let seconds = self.times.elapsed().as_secs_f64();
        let work = self.times.seconds("work");
        let rate = self.counts.read as f64 / work.max(0.001);
        let (processes, workers) = (self.processes.len(), self.workers);
        let line = |out: &mut String, head: &str, rest: String| {
            // Writing to a string cannot fail. Names of files and URLs may hold anything.
            let _ = writeln!(out, "{head:<10} {}", plain(&rest));
        };
        line(
            &mut out,
            "epoch",
            format!("{} committed to {}", self.plan.epoch, self.job.store.display()),
        );
        let inputs = self.plan.inputs.len() - self.left.len();
        let megabytes = self.counts.bytes as f64 / 1e6;
        if let Some(name) = self.job.single_signature() {
            line(
                &mut out,
                "signatures",
                format!("{name} alone proposes pairs, as the job leaves all others out"),
            );
        }
        if inputs > 0 {
            let (records, files) =
                (counted(self.counts.read, "record"), counted(inputs as u64, "file"));
            line(&mut out, "read", format!("{records} of {files}, {megabytes:.1} MB"));
            let Plan { inputs, splits, .. } = self.plan;
            if let Some(rest) = undivided(inputs, splits, processes * workers, "read") {
                line(&mut out, "uneven", rest);
            }
            line(&mut out, "accepted", grouped(self.counts.accepted));
        } else {
            line(&mut out, "read", format!("nothing new; {}", self.cause()));
        }
        if let Some(first) = self.left.first() {
            let rest = match self.left.len() - 1 {
                0 => format!("{first} changed while it was read; the next run reads it"),
                more => format!(
                    "{first} and {more} more changed while they were read; the next run reads them"
                ),
            };
            line(&mut out, "left", rest);
        }
        for (at, passed) in examine::lines(&self.plan.passed).into_iter().enumerate() {
            line(&mut out, if at == 0 { "passed by" } else { "" }, passed);
        }
        for (at, text) in barren(self.job, &self.barren).into_iter().enumerate() {
            line(&mut out, if at == 0 { "due" } else { "" }, text);
        }
        if let Some(path) = &self.read_otherwise {
            line(&mut out, "otherwise", otherwise(path));
        }
        if let Some(of) = self.elsewhere {
            line(&mut out, "elsewhere", elsewhere(self.job, of));
        }
        if self.missing_kept > 0 {
            let (pages, unreadable) =
                (counted(self.missing_kept, "page"), grouped(self.counts.unreadable));
            let why = format!("{unreadable} bad records do not say which page they are about");
            line(&mut out, "kept", format!("{pages} that the snapshot lacks: {why}"));
        }
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
                line(&mut out, head, format!("{total:<8} {}", list.join(", ")));
            }
        }
        if let Some(most) = self.job.read.records_max {
            line(&mut out, "sample", format!("at most {} of each input", counted(most, "record")));
        }
        if self.superseded > 0 {
            let key = match &self.job.read.key {
                PageKey::Field(name) => format!("`{name}`"),
                PageKey::Url | PageKey::Row => "URL".into(),
            };
            let repeated = match self.counts.noted.get("repeated") {
                Some(repeated) => format!(", beside {} repeated", grouped(*repeated)),
                None => String::new(),
            };
            let superseded = grouped(self.superseded);
            let others = self.lost.with_another_text();
            let rest =
                format!("{superseded:<8} by another record of the same {key}{others}{repeated}");
            line(&mut out, "superseded", rest);
        }
        if let Some(rest) = self.lost.changed(self.job) {
            line(&mut out, "changed", rest);
        }
        if let Some(rest) = self.lost.removals(self.job, self.counts) {
            line(&mut out, "removals", rest);
        }
        let gone: u64 = self.gone.iter().sum();
        if gone > 0 {
            let causes = ["removed", "lacked by the snapshot", "expired"];
            let told = self.gone.iter().zip(causes).filter(|(n, _)| **n > 0);
            let told: Vec<String> =
                told.map(|(n, cause)| format!("{} {cause}", grouped(*n))).collect();
            let pages = if gone == 1 { "page" } else { "pages" };
            line(&mut out, "gone", format!("{:<8} {pages}: {}", grouped(gone), told.join(", ")));
        }
        if let Some(Exported { summary, largest }) = &self.exported {
            let folded = summary.folded_identical + summary.folded_near;
            line(
                &mut out,
                "pages",
                format!(
                    "{:<8} {}",
                    grouped(summary.pages),
                    counted(summary.contents, "distinct text")
                ),
            );
            line(&mut out, "kept", grouped(summary.kept));
            line(
                &mut out,
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
            line(&mut out, "clusters", format!("{}{colon}", grouped(summary.clusters)));
            for (pages, contents, hosts, url) in largest {
                let mut counts = vec![(*pages, "page"), (*contents, "text")];
                counts.extend(host_name(url).map(|_| (*hosts, "host")));
                let counts = counts.into_iter().map(|(n, one)| counted(n.into(), one));
                line(&mut out, "", format!("{}  {url}", counts.collect::<Vec<_>>().join(", ")));
            }
            for (at, text) in little(&summary.little).into_iter().enumerate() {
                line(&mut out, if at == 0 { "little" } else { "" }, text);
            }
            for (at, left) in unexamined(&summary.unexamined).into_iter().enumerate() {
                line(&mut out, if at == 0 { "pivots" } else { "" }, left);
            }
            let names =
                summary.files.keys().map(String::as_str).chain(["summary.json", "run.json"]);
            line(
                &mut out,
                "output",
                format!("{}: {}", self.job.output.dir.display(), by_stem(names)),
            );
        }
        let memory = self.memory_bytes as f64 / 1e6;
        let layout = format!("{processes} x {}", counted(workers as u64, "worker"));
        let rate = if inputs > 0 { format!("{rate:.0} records/s, ") } else { String::new() };
        line(&mut out, "took", format!("{seconds:.1} s, {rate}{memory:.0} MB at most, {layout}"));
        out
    }

    /// Why there was an epoch without input.
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

/// Large clusters that are named on stderr; `summary.json` lists more.
const WARNED_MAX: usize = 3;

/// Warns of large clusters on stderr: a line for each, and one with the number of the others.
fn warn_of_large_clusters(large: &LargeClusters) {
    large
        .clusters
        .iter()
        .take(WARNED_MAX)
        .for_each(|cluster| tracing::warn!("{}", warning(cluster)));
    let more = large.found.saturating_sub(WARNED_MAX as u64);
    if more > 0 {
        let pages = grouped(large.pages_warn.into());
        tracing::warn!(
            "{} more clusters of more than {pages} pages: see summary.json",
            grouped(more)
        );
    }
}

/// The warning about a large cluster.
fn warning(cluster: &LargeCluster) -> String {
    let LargeCluster { representative, pages, contents, diameter, chars, .. } = cluster;
    let (pages, texts) = (counted((*pages).into(), "page"), counted((*contents).into(), "text"));
    let mut text = format!("a cluster of {pages}, {texts}, ");
    match &cluster.host {
        Some(host) => text.push_str(&format!("all of {}, ", plain(host))),
        // A key that is no URL has no host.
        None if host_name(representative).is_none() => {}
        None => text.push_str(&format!("{}, ", counted(cluster.hosts.into(), "host"))),
    }
    text.push_str(&format!(
        "{} to {} characters",
        grouped(chars.least.into()),
        grouped(chars.greatest.into())
    ));
    if let Some(similarity) = cluster.similarity {
        let share = |n: u32| f64::from(n) / 10_000.0;
        let list = |shares: &[PairCount]| -> String {
            let each =
                shares.iter().map(|share| format!("{} {}", share.name, grouped(share.pairs)));
            each.collect::<Vec<String>>().join(", ")
        };
        text.push_str(&format!(
            ", similarity {:.2} and more, {:.2} in the middle ({}; by {}), diameter {diameter}",
            share(similarity.least),
            share(similarity.median),
            list(&cluster.reasons),
            list(&cluster.signatures)
        ));
    }
    text.push_str(&format!(": {}", plain(representative)));
    if let Some(advice) = &cluster.advice {
        text.push_str(&format!("; a chain: {advice} would part it"));
    }
    text
}

/// Texts that say too little that are named; `summary.json` lists more.
const LITTLE_NAMED_MAX: usize = 3;

/// The texts of several pages that say too little to fold them: a line for all, and one for each of
/// the largest.
fn little(little: &LittleTexts) -> Vec<String> {
    if little.texts == 0 {
        return Vec::new();
    }
    let texts = if little.texts == 1 { "text that says" } else { "texts that say" };
    let (pages, all) = (counted(little.pages, "page"), grouped(little.texts));
    let first = format!("{pages} of {all} {texts} too little stay apart, the largest:");
    let line = |text: &LittleText| {
        let what =
            if text.notice { "a notice".into() } else { counted(text.letters.into(), "letter") };
        format!("{}, {what}  {}", counted(text.pages, "page"), plain(&text.url))
    };
    std::iter::once(first).chain(little.largest.iter().take(LITTLE_NAMED_MAX).map(line)).collect()
}

/// What the pivot rule leaves unexamined, one line for each signature.
pub fn unexamined(left: &BySignature) -> Vec<String> {
    let text = left.iter().map(|(name, left)| {
        let buckets = counted(left.buckets, "bucket");
        let (has, are) = (if left.buckets == 1 { "has" } else { "have" }, if left.pairs == 1 { "is" } else { "are" });
        let pairs = counted(left.pairs, "pair");
        if name == pivots::name(pivots::NEAR) {
            let (fingerprints, more) = (counted(left.buckets, "fingerprint"), PIVOTS - 1);
            return format!(
                "simhash: {fingerprints} {has} more than {more} others within k bits; {pairs} {are} not examined"
            );
        }
        format!("{name}: {buckets} {has} more than {PIVOTS} texts; {pairs} of them {are} not examined")
    });
    text.collect()
}

/// Inputs that gave no record and are named; the others are counted.
const BARREN_NAMED_MAX: usize = 3;

/// The inputs of which nothing was accepted, as a person reads it: how many, and of the first ones
/// what is wrong with them. No line if there are none.
pub fn barren(job: &Job, inputs: &[Input]) -> Vec<String> {
    if inputs.is_empty() {
        return Vec::new();
    }
    let (are, they) = if inputs.len() == 1 { ("is", "it") } else { ("are", "they") };
    let first = format!(
        "{} gave no record and {are} not consumed, until {they} or [read] change",
        counted(inputs.len() as u64, "input")
    );
    let mut lines = vec![first];
    lines.extend(inputs.iter().take(BARREN_NAMED_MAX).map(|input| {
        let why = ingest::complaint(job, input).map_or(String::new(), |why| format!(": {why}"));
        plain(&format!("{}{why}", input.shown()))
    }));
    let more = inputs.len().saturating_sub(BARREN_NAMED_MAX);
    lines.extend((more > 0).then(|| format!("and {} more", grouped(more as u64))));
    lines
}

/// Warns on stderr of the inputs of this epoch of which nothing was accepted: a run that a timer
/// starts prints no report.
pub fn warn_of_barren(job: &Job, plan: &Plan, inputs: &[Input]) {
    let read: BTreeSet<&str> = plan.inputs.iter().map(|input| input.path.as_str()).collect();
    let now: Vec<&Input> =
        inputs.iter().filter(|input| read.contains(input.path.as_str())).collect();
    for input in now.iter().take(BARREN_NAMED_MAX) {
        let why = plain(&ingest::complaint(job, input).unwrap_or_default());
        tracing::warn!(input = %plain(&input.shown()), %why, "nothing was read of this input");
    }
    if now.len() > BARREN_NAMED_MAX {
        tracing::warn!(more = now.len() - BARREN_NAMED_MAX, "nothing was read of other inputs");
    }
}

/// That the job reads the consumed input at `path` otherwise, as a person reads it.
fn otherwise(path: &str) -> String {
    format!(
        "{} was read with other [read.fields] or [read.limits] and stays as it was; `pagefold rebuild JOB` \
         reads all inputs again, each in its turn",
        plain(path)
    )
}

/// Which input keeps one worker busy while others have nothing to read: a compressed file is one
/// stream, whatever its size. `reads` is the verb.
pub fn undivided(
    inputs: &[Input],
    splits: &[PlannedSplit],
    workers: usize,
    reads: &str,
) -> Option<String> {
    let largest = uncut(splits, workers)?;
    let input = &inputs[largest.parts.first()?.input];
    let megabytes = largest.bytes() as f64 / 1e6;
    Some(format!(
        "{} ({megabytes:.1} MB) cannot be divided: one of {workers} workers {reads} it",
        plain(&input.shown())
    ))
}

/// Reports that nothing was ever due: the inbox of a server has no file that a run reads.
pub fn nothing_yet(arguments: &cli::Run) -> Result<()> {
    idle(arguments, 0, &[], None, None, || {
        "the inbox has no file yet; `pagefold serve` seals one a minute after the first record, \
         and at its end or next start"
            .to_owned()
    })
}

/// Reports that nothing is due. `not_consumed` are the inputs that gave no record;
/// `read_otherwise` is one that the job reads otherwise than it was read; `gone` are inputs that
/// are no more.
pub fn nothing_due(
    job: &Job,
    head: &Head,
    not_consumed: &[Input],
    read_otherwise: Option<String>,
    gone: Option<Elsewhere>,
    arguments: &cli::Run,
) -> Result<()> {
    let read_otherwise = read_otherwise.as_deref();
    idle(arguments, head.manifest.epoch, not_consumed, read_otherwise, gone, || {
        let mut barren = barren(job, not_consumed).into_iter();
        let mut inputs = match barren.next() {
            None if inputs::find(&job.read.inputs).is_ok_and(|found| found.is_empty()) => {
                "no file is where [read] inputs names them".to_owned()
            }
            None => "every input is consumed".to_owned(),
            Some(first) => first,
        };
        inputs += &gone.map_or(String::new(), |of| format!("; {}", elsewhere(job, of)));
        inputs += &read_otherwise.map_or(String::new(), |path| format!("; {}", otherwise(path)));
        let alone = job
            .single_signature()
            .map_or(String::new(), |name| format!("; {name} alone proposes pairs"));
        let named: String = barren.map(|line| format!("\n{:<11}{line}", "")).collect();
        format!("{inputs}; the store is at epoch {}{alone}{named}", head.manifest.epoch)
    })
}

/// Says that nothing is due and `why`, in the form that the arguments ask for.
fn idle(
    arguments: &cli::Run,
    epoch: u64,
    not_consumed: &[Input],
    read_otherwise: Option<&str>,
    gone: Option<Elsewhere>,
    why: impl FnOnce() -> String,
) -> Result<()> {
    if arguments.json {
        return print_json(&json!({
            "epoch": epoch,
            "due": false,
            "inputs_not_consumed": not_consumed.iter().map(Input::shown).collect::<Vec<_>>(),
            "input_read_otherwise": read_otherwise,
            "elsewhere": gone,
        }));
    }
    if arguments.quiet {
        return Ok(());
    }
    let named = advice::Job::new(&arguments.job, &arguments.sets);
    show(&named.with_commands(&format!("nothing due: {}\n", why())))
}

/// Reports that another run holds the store and this one does nothing.
pub fn skipped(job: &Job, arguments: &cli::Run) -> Result<()> {
    if arguments.json {
        return print_json(&json!({ "skipped": true }));
    }
    if arguments.quiet {
        return Ok(());
    }
    show(&format!("skipped: another run is at work on {}\n", job.store.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workers::candidates::pivots::Unexamined;
    use workers::export::Spread;

    /// A large cluster takes one line, with what its texts have in common and, if it is a chain,
    /// what would split it.
    #[test]
    fn what_large_clusters_share() {
        let share = |name: &str, pairs| PairCount { name: name.into(), pairs };
        let chain = LargeCluster {
            cluster: "00".into(),
            representative: "http://a.example/1".into(),
            pages: 12_000,
            contents: 1932,
            hosts: 1,
            host: Some("a.example".into()),
            diameter: 14,
            chars: Spread { least: 90, median: 800, greatest: 9000 },
            pairs: 4500,
            similarity: Some(Spread { least: 8000, median: 8251, greatest: 9990 }),
            reasons: vec![share("shingles", 4000), share("sketch", 500)],
            signatures: vec![share("minhash", 4400)],
            advice: Some("[clusters] radius = 1".into()),
        };
        assert_eq!(
            warning(&chain),
            "a cluster of 12,000 pages, 1,932 texts, all of a.example, 90 to 9,000 characters, similarity 0.80 and more, 0.83 in the \
             middle (shingles 4,000, sketch 500; by minhash 4,400), diameter 14: http://a.example/1; a chain: [clusters] radius = 1 \
             would part it"
        );
        let copies = LargeCluster {
            contents: 1,
            hosts: 7,
            host: None,
            similarity: None,
            advice: None,
            ..chain
        };
        assert_eq!(
            warning(&copies),
            "a cluster of 12,000 pages, 1 text, 7 hosts, 90 to 9,000 characters: http://a.example/1"
        );
    }

    /// Each signature that leaves pairs unexamined has its line.
    #[test]
    fn what_is_unexamined() {
        let left = [("minhash", 2, 1234), ("simhash", 1, 1), ("simhash_near", 3, 4000)];
        let left =
            left.map(|(name, buckets, pairs)| (name.to_owned(), Unexamined { buckets, pairs }));
        let lines = unexamined(&left.into_iter().collect());
        assert_eq!(
            lines[0],
            "minhash: 2 buckets have more than 64 texts; 1,234 pairs of them are not examined"
        );
        assert_eq!(
            lines[1],
            "simhash: 1 bucket has more than 64 texts; 1 pair of them is not examined"
        );
        assert_eq!(
            lines[2],
            "simhash: 3 fingerprints have more than 63 others within k bits; 4,000 pairs are not examined"
        );
    }

    /// Commas separate the thousands.
    #[test]
    fn thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
