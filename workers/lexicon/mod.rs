//! Counts in how many distinct texts of a job's inputs each word occurs, and on how many pages of
//! its host each line.
//!
//! Records are read, extracted, normalised and cut into words in the same way as in an epoch
//! ([`crate::visit`]), so the words are those of the store's texts. No store is needed. All
//! inputs count, consumed or not, and all versions of a page. The result is a function of the set
//! of texts, in any order and with any number of threads ([`crate::text::signatures::lexicon`]).
//! Lines that hosts repeat are counted likewise ([`mod@furniture`]).
//!
//! Memory: the limits of the counter and, for each thread, `BATCH_WORDS` words, the window of a
//! reader and one record.

pub mod furniture;

use crate::error::{Error, Kind, Result};
use crate::figures::{counted, grouped};
use crate::id::Id;
use crate::job::{Job, are_too_many};
use crate::locks::{into_inner, lock};
use crate::page_url::{canonical_url, host_key, host_name};
use crate::plan::division::SPLIT_BYTES_MAX;
use crate::plan::inputs::{self, Input};
use crate::progress::Progress;
use crate::read::record::{Item, Mirror};
use crate::read::{self, Split};
use crate::text::features::{self, Featurizer, Unit};
use crate::text::furniture::lines;
use crate::text::normalize;
use crate::text::signatures::lexicon::{Batch, Counter, Limits};
use crate::visit::counts::Counts;
use crate::visit::{self, BodyReader};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The number of words that a thread collects before it adds them to the counter.
const BATCH_WORDS: usize = 1 << 15;
/// The number of records after which progress is reported.
const REPORT_RECORDS: u64 = 256;

/// The inputs and their splits.
pub struct Inputs {
    inputs: Vec<Input>,
    /// The splits, each with the index of its input.
    splits: Vec<(usize, Split)>,
}

impl Inputs {
    /// All inputs that `job` names.
    ///
    /// # Errors
    ///
    /// `NoInput` if there are none.
    pub fn of(job: &Job) -> Result<Inputs> {
        let (mut inputs, mut splits) = (Vec::new(), Vec::new());
        for path in inputs::find(&job.read.inputs)? {
            let input = Input::stat(&path)?;
            if !job.read.names(&path) && read::companion(&path, input.bytes)?.is_some() {
                continue;
            }
            let number = inputs.len();
            splits.extend(
                read::splits(&path, input.bytes, SPLIT_BYTES_MAX)?
                    .into_iter()
                    .map(|split| (number, split)),
            );
            inputs.push(input);
        }
        if inputs.is_empty() {
            return Err(inputs::none_found(&job.read.inputs));
        }
        Ok(Inputs { inputs, splits })
    }

    /// The parts of all inputs, in order.
    pub fn splits(&self) -> impl Iterator<Item = (&Input, &Split)> {
        self.splits.iter().map(|(number, split)| (&self.inputs[*number], split))
    }

    /// The size of all inputs on disk, in bytes.
    pub fn bytes(&self) -> u64 {
        self.inputs.iter().map(|input| input.bytes).sum()
    }
}

/// Reads the texts of all records as an epoch does, with some threads.
struct Reading<'a> {
    job: &'a Job,
    inputs: &'a Inputs,
    progress: &'a Progress,
    bodies: BodyReader,
    next: AtomicUsize,
    has_failed: AtomicBool,
}

impl Reading<'_> {
    /// Calls `found` with the URL and the text of each record of some splits, until no split is
    /// left or one has failed. The error has the number of the split.
    fn work(
        &self,
        mut found: impl FnMut(&str, &str),
    ) -> std::result::Result<Counts, (usize, Error)> {
        let (mut counts, mut bodies) = (Counts::default(), self.bodies.clone());
        while !self.has_failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((input, split)) = self.inputs.splits.get(number) else { break };
            let read =
                self.read(split, &self.inputs.inputs[*input], &mut bodies, &mut counts, &mut found);
            if let Err(error) = read.and_then(|()| self.inputs.inputs[*input].check_unchanged()) {
                self.has_failed.store(true, Ordering::Relaxed);
                return Err((number, error));
            }
        }
        Ok(counts)
    }

    fn read(
        &self,
        split: &Split,
        input: &Input,
        bodies: &mut BodyReader,
        counts: &mut Counts,
        found: &mut impl FnMut(&str, &str),
    ) -> Result<()> {
        let mut reader = visit::open(self.job, split, input)?;
        let (bytes, mut reported, mut records) = (split.end - split.start, 0, 0);
        let mut report = |consumed: u64, records: &mut u64| {
            let consumed = consumed.min(bytes);
            self.progress.bytes.fetch_add(consumed.saturating_sub(reported), Ordering::Relaxed);
            self.progress.records.fetch_add(std::mem::take(records), Ordering::Relaxed);
            reported = reported.max(consumed);
        };
        while let Some(entry) = reader.next()? {
            counts.read += entry.item.records();
            records += 1;
            match entry.item {
                Item::Record(record) => {
                    counts.accepted += 1;
                    let host = canonical_url(&record.url).host;
                    if let Some(extracted) = bodies.text(record.body, host, &mut |_| {}) {
                        found(&record.url, &extracted.text);
                    }
                }
                Item::Skip(reason) => counts.skip(reason),
                Item::Status { .. } => counts.skip(Item::STATUS),
                Item::Mirror(_) => counts.skip(Mirror::REASON),
                Item::Reject { reason, records, .. } => {
                    *counts.rejected.entry(reason.to_owned()).or_default() += records;
                }
            }
            if records == REPORT_RECORDS {
                report(reader.consumed_bytes(), &mut records);
            }
        }
        counts.bytes += bytes;
        report(bytes, &mut records);
        Ok(())
    }
}

/// Reads `inputs` with this many threads, each of which runs `work` over its part.
///
/// # Errors
///
/// If an input cannot be read or has changed; of several errors, that of the first split. If more
/// records are rejected than `[read] rejects_max` allows.
fn read_all(
    job: &Job,
    inputs: &Inputs,
    threads: usize,
    progress: &Progress,
    work: impl Fn(&Reading<'_>) -> std::result::Result<Counts, (usize, Error)> + Sync,
) -> Result<Counts> {
    let reading = Reading {
        job,
        inputs,
        progress,
        bodies: BodyReader::new(job, visit::furniture(job)?),
        next: AtomicUsize::new(0),
        has_failed: AtomicBool::new(false),
    };
    let outcomes = thread::scope(|scope| {
        let start = |_| scope.spawn(|| work(&reading));
        let threads: Vec<_> = (0..threads.max(1)).map(start).collect();
        let fault = |_| (usize::MAX, Error::internal("a thread that counts words has panicked"));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| Err(fault(panic))))
            .collect::<Vec<_>>()
    });
    let mut counts = Counts::default();
    let mut failures = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(mine) => counts.add(&mine),
            Err(failure) => failures.push(failure),
        }
    }
    if let Some((_, error)) = failures.into_iter().min_by_key(|(number, _)| *number) {
        return Err(error);
    }
    let rejected: u64 = counts.rejected.values().sum();
    if are_too_many(rejected, counts.accepted, counts.read, job.read.rejects_max) {
        let (read, max) = (counts.read, job.read.rejects_max);
        let reasons: Vec<String> =
            counts.rejected.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let verb = if rejected == 1 { "was" } else { "were" };
        let (n, of) = (grouped(rejected), counted(read, "record"));
        let line = format!("{n} of {of} {verb} rejected ({})", reasons.join(", "));
        return Err(Error::new(
            Kind::Data,
            format!("{line}: look at them with a run, or raise [read] rejects_max = {max}"),
        ));
    }
    Ok(counts)
}

/// Counts the words of `inputs` within `limits`, and updates `progress`.
///
/// # Errors
///
/// As [`furniture()`].
pub fn count(
    job: &Job,
    inputs: &Inputs,
    threads: usize,
    limits: Limits,
    progress: &Progress,
) -> Result<(Counter, Counts)> {
    // No weights and no stop words, because they are made from these counts.
    let plain = features::Options {
        unit: Unit::Words,
        idf: None,
        stop_words: None,
        ..job.features.clone()
    };
    let featurizer = Featurizer::new(&plain, &job.normalize)?;
    let counter = Mutex::new(Counter::new(limits));
    let counts = read_all(job, inputs, threads, progress, |reading| {
        let (mut batch, mut normal) = (Batch::default(), String::new());
        let mut featurizer = featurizer.clone();
        let counts = reading.work(|_, text| {
            normalize::normalize(text, &job.normalize, &mut normal);
            let claimed = if normal.is_empty() {
                None
            } else {
                lock(&counter).claim(Id::of(normal.as_bytes()))
            };
            let Some(level) = claimed else { return };
            batch.text(level);
            featurizer.each_word(&normal, |word| batch.word(word));
            if batch.held() >= BATCH_WORDS {
                lock(&counter).add(&mut batch);
            }
        })?;
        lock(&counter).add(&mut batch);
        Ok(counts)
    })?;
    Ok((into_inner(counter), counts))
}

/// Counts the lines of `inputs` that hosts repeat, on `pages_min` pages or more, within `limits`,
/// and updates `progress`. Lines that the job's file of furniture removes count, too.
///
/// # Errors
///
/// If an input cannot be read or has changed; of several errors, that of the first split. If more
/// records are rejected than `[read] rejects_max` allows.
pub fn furniture(
    job: &Job,
    inputs: &Inputs,
    threads: usize,
    (limits, pages_min): (furniture::Limits, u64),
    progress: &Progress,
) -> Result<(furniture::Counter, Counts)> {
    let mut job = job.clone();
    job.extract.furniture = None;
    let counter = Mutex::new(furniture::Counter::new(limits, pages_min));
    let counts = read_all(&job, inputs, threads, progress, |reading| {
        reading.work(|url, text| {
            let Some(host) = host_name(url) else { return };
            let lines = lines(text, &job.normalize);
            lock(&counter).add(&host, host_key(&host), &lines);
        })
    })?;
    Ok((into_inner(counter), counts))
}
