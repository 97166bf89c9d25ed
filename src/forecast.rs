//! Forecasts what a first build costs: time, memory, disk and network.
//!
//! The model is linear: a cost for each page and for each byte of its text, divided among the
//! workers, and a cost of work that one process does alone. All constants are here. They were
//! measured on two cores of an AMD EPYC with AVX-512, on generated documents a fifth of which are
//! near-duplicates (`workers/benches/README.md`, which also has the error). Another machine and
//! other texts have other constants, above all if more or fewer texts are alike. So a forecast
//! gives only the order of magnitude.

use crate::topology::Topology;
use serde::Serialize;
use std::path::Path;
use workers::confirm::By;
use workers::error::Result;
use workers::job::contents::Keep;
use workers::job::{Form, Job, When};
use workers::plan::Plan;
use workers::plan::inputs::Input;
use workers::read::record::Item;
use workers::read::{Split, splits};
use workers::text::features::Unit;
use workers::text::signatures::SignatureKind;
use workers::visit::{self, text_of};

/// Work of all workers together: reading, folding, and deciding pairs.
struct Work {
    page_ns: u64,
    text_byte_ns: u64,
}

/// Words, and pairs decided by aligned texts.
const BY_TEXTS: Work = Work { page_ns: 184_000, text_byte_ns: 161 };
/// Pairs decided by sketches.
const BY_SKETCHES: Work = Work { page_ns: 61_000, text_byte_ns: 53 };
/// Pairs decided by fingerprints alone.
const BY_FINGERPRINTS: Work = Work { page_ns: 38_000, text_byte_ns: 38 };

/// Work of one process alone: the digest of an input's bytes, the forest of components, the export.
const PLAN_INPUT_BYTE_NS: u64 = 1;
const JOIN_PAGE_NS: u64 = 80;
const EXPORT_PAGE_NS: u64 = 20_000;
const EXPORT_PARQUET_PAGE_NS: u64 = 6_000;

/// Memory without mapped files: buffers of a worker; rows of the largest stage, on the host that
/// owns them; and the forest of components, on the first host.
const WORKER_MEMORY_BYTES: u64 = 150 << 20;
const PAGE_MEMORY_BYTES: u64 = 340;
const JOIN_PAGE_MEMORY_BYTES: u64 = 18;

/// Rows of the store; the bytes of each table are in `workers/tables/README.md`.
const PAGE_STORE_BYTES: u64 = 105 + 25 + 33 + 38 + 25;
const BAND_STORE_BYTES: u64 = 9;
const EVIDENCE_STORE_BYTES: u64 = 61 + 24 + 128;
/// A key: in `keys` and in `evidence`.
const KEY_STORE_BYTES: u64 = 27 + 9;
/// Keys of a text, in tenths.
const MINHASH_KEYS_TENTHS: u64 = 100;
const SENTENCE_KEYS_TENTHS: u64 = 15;
const OTHER_KEYS_TENTHS: u64 = 110;
/// A pair, under both of its contents; and pairs of a text by the signatures that propose them, in
/// hundredths.
const PAIR_STORE_BYTES: u64 = 2 * 46;
const SIMHASH_PAIRS_HUNDREDTHS: u64 = 98;
const CHARACTERS_PAIRS_HUNDREDTHS: u64 = 11;
const MINHASH_PAIRS_HUNDREDTHS: u64 = 129;
/// Components, leaders and clusters, spread over all pages.
const CLUSTER_STORE_BYTES: u64 = 27;
/// A kept text, in hundredths of its bytes, if it is Chinese.
const KEPT_TEXT_HUNDREDTHS: u64 = 46;
/// A visit, without its URL, until the epoch is committed.
const VISIT_BYTES: u64 = 130;
/// Results of a page without its URL: as JSON lines and Parquet, or only as Parquet.
const RESULT_PAGE_BYTES: u64 = 1_400;
const RESULT_PARQUET_PAGE_BYTES: u64 = 200;
/// Bytes that workers send each other for a page.
const SENT_PAGE_BYTES: u64 = 700;

/// The load: the pages that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Pages.
    pub pages: u64,
    /// Bytes of their texts.
    pub text_bytes: u64,
    /// Bytes of their URLs.
    pub url_bytes: u64,
    /// Bytes of the inputs on disk.
    pub input_bytes: u64,
}

/// The machines that do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Machines {
    /// Hosts, or processes on one host.
    pub hosts: u64,
    /// Workers of each host.
    pub workers: u64,
}

impl Machines {
    /// The machines of `topology`.
    pub fn of(topology: &Topology) -> Machines {
        Machines { hosts: topology.hosts.len() as u64, workers: topology.workers as u64 }
    }
}

/// The costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// From the start of the command to the exported results, in milliseconds.
    pub elapsed_ms: u64,
    /// The part of this time in which one process works alone: plan, forest of components, export.
    pub alone_ms: u64,
    /// Memory of the first host without mapped files; the others need less.
    pub memory_bytes: u64,
    /// The store.
    pub store_bytes: u64,
    /// Bytes of the attempt, which exist until the epoch is committed.
    pub attempt_bytes: u64,
    /// The results.
    pub results_bytes: u64,
    /// Bytes that each host sends to others.
    pub sent_bytes: u64,
}

/// The costs of `job` for `load` on `machines`.
pub fn forecast(job: &Job, load: &Load, machines: Machines) -> Forecast {
    let Load { pages, text_bytes, url_bytes, input_bytes } = *load;
    let (hosts, workers) = (machines.hosts.max(1), machines.workers.max(1));
    let is_exported = job.output.export == When::Always;
    let has_lines = job.output.forms("members", pages, pages).contains(&Form::Jsonl);
    let export_ns = if has_lines { EXPORT_PAGE_NS } else { EXPORT_PARQUET_PAGE_NS };
    let export_ns = if is_exported { export_ns * pages } else { 0 };
    let alone_ns = input_bytes * PLAN_INPUT_BYTE_NS + pages * JOIN_PAGE_NS + export_ns;
    let work = work(job);
    let together_ns = u128::from(pages) * u128::from(work.page_ns)
        + u128::from(text_bytes) * u128::from(work.text_byte_ns);
    let together_ms = (together_ns / u128::from(hosts * workers) / 1_000_000) as u64;
    let evidence = evidence_bytes(job, load);
    let result_bytes = if has_lines { RESULT_PAGE_BYTES } else { RESULT_PARQUET_PAGE_BYTES };
    Forecast {
        elapsed_ms: together_ms + alone_ns / 1_000_000,
        alone_ms: alone_ns / 1_000_000,
        memory_bytes: workers * WORKER_MEMORY_BYTES
            + pages / hosts * PAGE_MEMORY_BYTES
            + pages * JOIN_PAGE_MEMORY_BYTES,
        store_bytes: store_bytes(job, load) + evidence,
        attempt_bytes: pages * VISIT_BYTES + url_bytes + evidence,
        results_bytes: if is_exported { pages * result_bytes + url_bytes } else { 0 },
        sent_bytes: pages / hosts * SENT_PAGE_BYTES * (hosts - 1) / hosts,
    }
}

fn work(job: &Job) -> Work {
    match (job.confirm.by, job.contents.text) {
        (By::Fingerprint, _) => BY_FINGERPRINTS,
        (By::Text, Keep::All) => BY_TEXTS,
        (By::Text, _) => BY_SKETCHES,
    }
}

/// The bytes of `evidence`.
fn evidence_bytes(job: &Job, load: &Load) -> u64 {
    if !job.contents.evidence {
        return 0;
    }
    let text = if job.contents.text == Keep::All {
        load.text_bytes / 100 * KEPT_TEXT_HUNDREDTHS
    } else {
        0
    };
    load.pages * EVIDENCE_STORE_BYTES + text
}

/// The bytes of all other tables, and of keys.
fn store_bytes(job: &Job, load: &Load) -> u64 {
    let has = |kind| job.signatures.iter().any(|options| options.kind() == Some(kind));
    let keys = job.signatures.iter().map(|options| match options.kind() {
        Some(SignatureKind::MinHash) => MINHASH_KEYS_TENTHS,
        Some(SignatureKind::Sentences) => SENTENCE_KEYS_TENTHS,
        _ => OTHER_KEYS_TENTHS,
    });
    let keys_tenths: u64 = keys.sum();
    let by_simhash = match job.features.unit {
        Unit::Words => SIMHASH_PAIRS_HUNDREDTHS,
        Unit::Characters => CHARACTERS_PAIRS_HUNDREDTHS,
    };
    let pairs_hundredths =
        by_simhash + if has(SignatureKind::MinHash) { MINHASH_PAIRS_HUNDREDTHS } else { 0 };
    let further_bands = job.simhash.bands.map_or(u64::from(job.simhash.k), |n| n as u64 - 1);
    let page = PAGE_STORE_BYTES
        + further_bands * BAND_STORE_BYTES
        + keys_tenths * KEY_STORE_BYTES / 10
        + pairs_hundredths * PAIR_STORE_BYTES / 100
        + CLUSTER_STORE_BYTES;
    load.pages * page + load.url_bytes
}

/// The most inputs that are sampled, the parts of each from which records are read, and the most
/// records of each. If the inputs have few bytes, fewer are read, because a sample would take about
/// as long as the run.
const INPUTS_MAX: usize = 16;
const PARTS: u64 = 8;
/// A smaller input is one part.
const SMALL_BYTES: u64 = 1 << 20;
const RECORDS_MAX: usize = 500;
const RECORDS_OF_FEW_MAX: usize = 50;

/// The pages and texts of `inputs`, by a few records of some of them.
pub fn load(job: &Job, inputs: &[Input]) -> Result<Load> {
    sampled(job, inputs, RECORDS_MAX)
}

/// The pages and texts of `inputs`, by at most `records_max` records of each input in the sample.
///
/// Rows are often sorted by length. So they are taken from several parts of an input, and the rows
/// of a part are taken to be as long as its first ones and those of the next part in the mean.
fn sampled(job: &Job, inputs: &[Input], records_max: usize) -> Result<Load> {
    let mut found = Load::default();
    let step = inputs.len().div_ceil(INPUTS_MAX).max(1);
    for input in inputs.iter().step_by(step) {
        let parts_max = if input.bytes < SMALL_BYTES { 1 } else { PARTS };
        let parts = splits(&input.file(), input.bytes, input.bytes.div_ceil(parts_max))?;
        let records_max = records_max.div_ceil(parts_max as usize);
        let first = |split| first_records(job, input, split, records_max);
        let read: Vec<Load> = parts.iter().map(first).collect::<Result<_>>()?;
        for (at, (split, own)) in
            parts.iter().zip(&read).enumerate().filter(|(_, of)| of.1.pages > 0)
        {
            let next = read.get(at + 1).copied().filter(|next| next.pages > 0).unwrap_or_default();
            let all = |of: fn(&Load) -> u64| {
                part(
                    of(own) + of(&next),
                    split.end - split.start,
                    own.input_bytes + next.input_bytes,
                )
            };
            found.pages += all(|of| of.pages);
            found.text_bytes += all(|of| of.text_bytes);
            found.url_bytes += all(|of| of.url_bytes);
        }
        found.input_bytes += input.bytes;
    }
    let input_bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    // A job may read only the first records of each input.
    let most = job.read.records_max.map(|most| most.saturating_mul(inputs.len() as u64));
    let pages = part(found.pages, input_bytes, found.input_bytes).min(most.unwrap_or(u64::MAX));
    let all = |sampled: u64| part(sampled, pages, found.pages);
    Ok(Load {
        pages,
        text_bytes: all(found.text_bytes),
        url_bytes: all(found.url_bytes),
        input_bytes: all(found.input_bytes).min(input_bytes),
    })
}

/// The first records of the part `split` of `input`.
fn first_records(job: &Job, input: &Input, split: &Split, records_max: usize) -> Result<Load> {
    let mut load = Load::default();
    let mut reader = visit::open(job, split, input)?;
    for _ in 0..records_max {
        let Some(entry) = reader.next()? else { break };
        let Item::Record(record) = entry.item else { continue };
        load.url_bytes += record.url.len() as u64;
        let text = text_of(record.body, &job.extract);
        load.text_bytes += text.map_or(0, |text| text.text.len() as u64);
        load.pages += 1;
    }
    load.input_bytes = reader.consumed_bytes().min(split.end - split.start);
    Ok(load)
}

/// `number` times `share` of `whole`.
fn part(number: u64, share: u64, whole: u64) -> u64 {
    (u128::from(number) * u128::from(share) / u128::from(whole.max(1))) as u64
}

/// The costs of a first build of `inputs`; `None` without inputs, or if a sampled input cannot be
/// read.
pub fn of_inputs(job: &Job, inputs: &[Input], topology: &Topology) -> Option<Forecast> {
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let records_max = if bytes < LARGE_BYTES { RECORDS_OF_FEW_MAX } else { RECORDS_MAX };
    let load = if inputs.is_empty() { None } else { sampled(job, inputs, records_max).ok() };
    load.map(|load| forecast(job, &load, Machines::of(topology)))
}

/// Below this size the fixed costs, which the model leaves out, are larger than the forecast.
const LARGE_BYTES: u64 = 64 << 20;

/// Whether a forecast for `plan` is worth a line in the report.
pub fn is_large(plan: &Plan) -> bool {
    plan.bytes() >= LARGE_BYTES
}

/// The forecast for the report on the inputs of `plan`; `None` for few inputs, which are not
/// sampled for it.
pub fn of_large(job: &Job, plan: &Plan, topology: &Topology) -> Option<Forecast> {
    is_large(plan).then(|| of_inputs(job, &plan.inputs, topology)).flatten()
}

/// The bytes of disk that an epoch takes for each byte of inputs that cannot be sampled: 2.7 were
/// measured for JSON lines, with the files that exist beside the store until the commit.
const DISK_PER_INPUT: u64 = 3;
/// Small files of an epoch, for any inputs: 0.3 MiB were measured with two workers.
const DISK_FIXED: u64 = 1 << 20;

/// The bytes that an epoch that reads `inputs` may need on the disk of the store.
pub fn disk_bytes(forecast: Option<&Forecast>, inputs: &[Input]) -> u64 {
    let input_bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let rows = match forecast {
        Some(Forecast { store_bytes, attempt_bytes, .. }) => store_bytes + attempt_bytes,
        None => input_bytes.saturating_mul(DISK_PER_INPUT),
    };
    DISK_FIXED + rows
}

/// The inputs at `paths`, without their digests.
pub fn inputs(paths: &[impl AsRef<Path>]) -> Result<Vec<Input>> {
    paths.iter().map(|path| Input::stat(path.as_ref())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(more: &str) -> Job {
        let text =
            format!("store = \"s\"\n{more}\n[read]\ninputs = [\"in\"]\n[output]\ndir = \"out\"\n");
        toml::from_str::<Job>(&text).expect("a job").settled().expect("sound")
    }

    /// The guard `space` asked for no room for inputs that cannot be sampled: it added up the
    /// splits of a plan that had none yet.
    #[test]
    fn inputs_that_cannot_be_sampled_need_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.warc");
        std::fs::write(&path, [0; 5000]).expect("written");
        let inputs = inputs(&[path]).expect("found");
        assert_eq!(disk_bytes(None, &inputs), DISK_FIXED + 5000 * DISK_PER_INPUT);
    }

    /// Rows sorted by length were taken for twenty times as many: only the first, short ones were
    /// read.
    #[test]
    fn rows_that_are_sorted_by_length() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jsonl");
        let row = |n: usize| format!("{{\"url\":\"{n:04}\",\"text\":\"{}\"}}\n", "a ".repeat(n));
        std::fs::write(&path, (0..2000).map(row).collect::<String>()).expect("written");
        let inputs = inputs(&[path]).expect("found");
        let load = sampled(&job(""), &inputs, RECORDS_OF_FEW_MAX).expect("sampled");
        assert!((1500..2500).contains(&load.pages), "{load:?}");
        let text_bytes: u64 = (0..2000).map(|n| 2 * n).sum();
        assert!((text_bytes * 3 / 4..text_bytes * 5 / 4).contains(&load.text_bytes), "{load:?}");
    }

    /// Twice as many pages cost twice as much, except for the buffers of workers. More hosts take
    /// less time and memory each and send more. The work that one process does alone stays the
    /// same.
    #[test]
    fn linear() {
        let load = Load {
            pages: 10_000_000,
            text_bytes: 20_000_000_000,
            url_bytes: 600_000_000,
            input_bytes: 30_000_000_000,
        };
        let double = Load {
            pages: 20_000_000,
            text_bytes: 40_000_000_000,
            url_bytes: 1_200_000_000,
            input_bytes: 60_000_000_000,
        };
        let job = job("");
        let of = |load, hosts| forecast(&job, load, Machines { hosts, workers: 8 });
        let (one, two) = (of(&load, 1), of(&double, 1));
        assert!(
            two.elapsed_ms.abs_diff(2 * one.elapsed_ms) <= 2
                && two.store_bytes == 2 * one.store_bytes
        );
        assert_eq!(two.memory_bytes - one.memory_bytes, one.memory_bytes - 8 * WORKER_MEMORY_BYTES);
        let ten = of(&load, 10);
        assert!(ten.elapsed_ms < one.elapsed_ms && ten.memory_bytes < one.memory_bytes);
        assert_eq!(
            (ten.alone_ms, ten.store_bytes, one.sent_bytes),
            (one.alone_ms, one.store_bytes, 0)
        );
        assert!(ten.sent_bytes > 0);
    }

    /// Without texts, the store of the smallest job is forecast at less than half of the default's,
    /// and a job that decides by less evidence takes less time.
    #[test]
    fn jobs_differ() {
        let load = Load { pages: 1_000_000, text_bytes: 0, url_bytes: 0, input_bytes: 0 };
        let machines = Machines { hosts: 1, workers: 1 };
        let of = |more: &str| forecast(&job(more), &load, machines);
        let lean = of(
            "minhash = false\nsentences = false\nconfirm.by = \"fingerprint\"\ncontents.text = \"none\"\n\
                       contents.evidence = false\nfeatures.unit = \"characters\"",
        );
        let fast = of("contents.text = \"short\"");
        let default = of("");
        assert!(2 * lean.store_bytes < default.store_bytes);
        assert!(lean.elapsed_ms < fast.elapsed_ms && fast.elapsed_ms < default.elapsed_ms);
    }
}
