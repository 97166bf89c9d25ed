//! Ingest: in come splits of input files, out come visits, one for each accepted record: what the crawl says about a URL, with the digest
//! and fingerprint of its text; and beside them the evidence of each text, once a split or so. read -> extract -> normalise -> features ->
//! SimHash -> evidence, all in one worker; nothing is exchanged, so nothing queues. A finished split is durable and never done again. What a
//! record says depends on the record and the job alone.

use crate::document::{FUTURE_SECONDS_MAX, Id, NO_DATE, canonical_url};
use crate::error::{Error, Result};
use crate::extract::{self, Extracted, Flags};
use crate::fold::epoch::Epoch;
use crate::fold::evidence::{EvidenceRow, Witness};
use crate::job::Job;
use crate::locks::lock;
use crate::plan::PlannedSplit;
use crate::read::record::{Body, Item, Record};
use crate::read::{self, Reader, Split};
use crate::store::durable;
use crate::store::lookup::Lookup;
use crate::store::segment::{self, Segment, SegmentRef};
use crate::store::table::table;
use crate::text::features::{Feature, Featurizer};
use crate::text::normalize;
use crate::text::simhash::simhash;
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::probe::{Handle, Probe};

/// `kind` of a visit that saw the page and learned nothing new.
pub const SEEN: u8 = 0;
/// `kind` of a visit that found a page.
pub const PAGE: u8 = 1;
/// `kind` of a visit that found the page gone.
pub const REMOVED: u8 = 2;

/// `flags` of a content whose text has too few features: it folds only with identical texts.
pub const TOO_SHORT: u8 = 1;
/// `flags` of a content of which more than a tenth could not be decoded.
pub const REPLACED: u8 = 2;

table! {
    /// What one record says about one URL. The order of columns is the order in which visits of one URL win.
    pub struct Visit in "visits", columns VisitColumns {
        key { /// The URL's DocId.
              doc: Id,
              /// Seconds since 1970 as the crawl said, or [`NO_DATE`].
              date: i64,
              /// [`SEEN`], [`PAGE`] or [`REMOVED`].
              kind: u8,
              /// Digest of the normalised text, or none.
              content: Id }
        value { /// Its fingerprint.
                fingerprint: u64,
                /// Its length in characters.
                chars: u32,
                /// [`TOO_SHORT`], [`REPLACED`].
                flags: u8,
                /// Key of the URL's host.
                host: u64,
                /// 1 if the URL is https.
                https: u8,
                /// The canonical URL.
                url: Box<[u8]> }
        history { }
    }
}

/// What is known of a finished split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SplitDone {
    /// Its visits, in portions of at most [`PORTION_ROWS`].
    pub visits: Vec<SegmentRef>,
    /// The evidence of its texts, in portions likewise or of [`EVIDENCE_BYTES`]; a text may stand in several.
    pub evidence: Vec<SegmentRef>,
    /// Its counts.
    pub counts: Counts,
    /// blake3 of its file of rejects.
    pub rejects_digest: String,
}

/// What became of the records that were read: read = accepted + skipped + rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes of input, as they lie on disk.
    pub bytes: u64,
    /// Records.
    pub read: u64,
    /// Records that became visits.
    pub accepted: u64,
    /// Records that are no pages, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Bad records, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// What was remarkable about accepted records, by name.
    pub noted: BTreeMap<String, u64>,
}

impl Counts {
    /// Takes another split's counts in.
    pub fn add(&mut self, other: &Counts) {
        self.bytes += other.bytes;
        self.read += other.read;
        self.accepted += other.accepted;
        let maps = [
            (&mut self.skipped, &other.skipped),
            (&mut self.rejected, &other.rejected),
            (&mut self.noted, &other.noted),
        ];
        for (mine, others) in maps {
            for (reason, n) in others {
                *mine.entry(reason.clone()).or_default() += n;
            }
        }
    }

    /// Whether every record is accounted for.
    pub fn add_up(&self) -> bool {
        self.read == self.accepted + self.skipped.values().sum::<u64>() + self.rejected.values().sum::<u64>()
    }
}

/// A bad record, as a line of `rejects.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RejectLine {
    /// The input file.
    pub file: String,
    /// Where the record starts.
    pub offset: u64,
    /// A fixed word.
    pub reason: String,
    /// More, for a person.
    pub detail: String,
}

/// Rows of visits held in memory by one worker before they are sorted and written.
pub const PORTION_ROWS: usize = 1 << 17;
/// Bytes of evidence held in memory by one worker before they are written.
pub const EVIDENCE_BYTES: usize = 64 << 20;
/// Bad records of one split that are named; those beyond are counted like all others, and noted as `rejects_unnamed`.
pub const REJECTS_NAMED_MAX: u64 = 100_000;
/// Records that a worker handles before it looks at the dataflow again.
const TURN_RECORDS: usize = 256;

/// The text of a record's body; none if it says that the page is gone, or was only seen.
pub fn text_of(body: Body, options: &extract::Options) -> Option<Extracted> {
    match body {
        Body::Removed | Body::Seen => None,
        Body::Text(text) => Some(Extracted { text, ..Extracted::default() }),
        Body::Plain { bytes, charset } => Some(extract::plain(&bytes, charset.as_deref())),
        Body::Html { bytes, charset } => Some(extract::html(&bytes, charset.as_deref(), options)),
    }
}

/// Opens the reader of a split of one of the job's inputs.
pub fn open(job: &Job, split: &Split) -> Result<Box<dyn Reader>> {
    // A file that the job names is meant; one come upon in a folder may be anything.
    let is_named = job.read.inputs.contains(&split.path);
    let open = if is_named { read::open } else { read::open_or_reject };
    open(split, &job.read.options())
}

/// Turns records into visits and evidence; one for each worker.
pub struct Digester {
    epoch: Rc<Epoch>,
    featurizer: Featurizer,
    witness: Witness,
    normal: String,
    features: Vec<Feature>,
    words: Vec<u64>,
}

/// Evidence that is not written yet.
#[derive(Default)]
struct Pending {
    rows: BTreeMap<Id, EvidenceRow>,
    bytes: usize,
}

impl Digester {
    /// A digester that obeys the epoch's job, counts features with `featurizer` and has evidence made by `witness`.
    pub fn new(epoch: &Rc<Epoch>, featurizer: Featurizer, witness: Witness) -> Digester {
        let epoch = epoch.clone();
        Digester { epoch, featurizer, witness, normal: String::new(), features: Vec::new(), words: Vec::new() }
    }

    /// What `record` says. The evidence of its text, unless it is too short to be compared, is in `pending` then.
    fn visit(&mut self, record: Record, noted: &mut BTreeMap<String, u64>, pending: &mut Pending) -> Result<Visit> {
        let mut note = |what: &str| *noted.entry(what.to_owned()).or_default() += 1;
        let url = canonical_url(&record.url);
        let mut visit = Visit {
            doc: url.doc,
            date: record.date.unwrap_or(NO_DATE),
            kind: PAGE,
            content: Id::NONE,
            fingerprint: 0,
            chars: 0,
            flags: 0,
            host: url.host,
            https: u8::from(url.https),
            url: url.canonical.into_bytes().into(),
            diff: 1,
        };
        let options = &self.epoch.job.extract;
        let without_text = if matches!(record.body, Body::Removed) { REMOVED } else { SEEN };
        let Some(extracted) = text_of(record.body, options) else {
            visit.kind = without_text;
            return Ok(visit);
        };
        if extracted.flags.contains(Flags::FALLBACK) {
            note("extracted_by_fallback");
        }
        normalize::normalize(&extracted.text, &self.epoch.job.normalize, &mut self.normal);
        if self.normal.is_empty() {
            note("empty");
            return Ok(visit);
        }
        visit.content = Id::of(self.normal.as_bytes());
        visit.chars = u32::try_from(self.normal.chars().count()).unwrap_or(u32::MAX);
        // By the normal form, so that it is a fact of the content whichever page brought it.
        let replaced = memchr::memmem::find_iter(self.normal.as_bytes(), "\u{FFFD}").count() as u64;
        if replaced * 10 > u64::from(visit.chars) {
            visit.flags |= REPLACED;
            note("replaced_characters");
        }
        if self.witness.uses_words() {
            self.featurizer.words_and_features(&self.normal, &mut self.words, &mut self.features);
        } else {
            self.featurizer.features(&self.normal, &mut self.features);
        }
        if self.featurizer.is_too_short(&self.features) {
            visit.flags |= TOO_SHORT;
            note("too_short");
        }
        visit.fingerprint = simhash(&self.features);
        if visit.flags & TOO_SHORT == 0
            && let Entry::Vacant(vacant) = pending.rows.entry(visit.content)
        {
            let (content, fingerprint, chars) = (visit.content, visit.fingerprint, visit.chars);
            let row = self.witness.evidence(content, fingerprint, chars, &self.normal, &self.words)?;
            pending.bytes += row.bytes();
            vacant.insert(row);
        }
        Ok(visit)
    }
}

/// A split that is being read.
struct Open {
    id: usize,
    file: String,
    reader: Box<dyn Reader>,
    seen_bytes: u64,
    counts: Counts,
    visits: Vec<Visit>,
    written: Vec<SegmentRef>,
    pending: Pending,
    evidence: Vec<SegmentRef>,
    rejects: Vec<u8>,
    rejects_named: u64,
}

fn split_path(attempt: &Path, id: usize, suffix: &str) -> PathBuf {
    attempt.join("split").join(format!("{id:06}.{suffix}"))
}

/// The finished split `id`; none if it is not finished or its files are not whole.
pub fn finished(attempt: &Path, id: usize) -> Option<SplitDone> {
    let done = done(attempt, id).ok()?;
    let whole = |path: &Path, digest: &str| durable::digest(path).is_ok_and(|now| now == digest);
    let parts = |folder: &str, parts: &[SegmentRef]| {
        parts.iter().all(|part| whole(&part.path(&attempt.join(folder)), &part.digest))
    };
    let sound = parts("visits", &done.visits)
        && parts("evidence", &done.evidence)
        && whole(&split_path(attempt, id, "rejects.jsonl"), &done.rejects_digest);
    sound.then_some(done)
}

/// What is known of the finished split `id`, without a look at its files.
pub fn done(attempt: &Path, id: usize) -> Result<SplitDone> {
    let path = split_path(attempt, id, "json");
    let text = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
    serde_json::from_slice(&text).map_err(|e| Error::internal(format!("{}", path.display())).caused_by(e))
}

/// The rejects of the finished split `id`, as lines.
pub fn rejects(attempt: &Path, id: usize) -> Result<Vec<u8>> {
    let path = split_path(attempt, id, "rejects.jsonl");
    std::fs::read(&path).map_err(|e| Error::io("read", &path, e))
}

/// What all finished splits say, mapped.
pub fn visits(epoch: &Epoch) -> Result<Vec<Segment<Visit>>> {
    let folder = epoch.attempt.join("visits");
    let mut segments = Vec::new();
    for id in 0..epoch.plan.splits.len() {
        for part in &done(&epoch.attempt, id)?.visits {
            segments.push(Segment::open(&folder, part)?);
        }
    }
    Ok(segments)
}

/// The evidence of all texts of all finished splits, mapped; of a text in several splits several times the same.
pub fn evidence(epoch: &Epoch) -> Result<Lookup<EvidenceRow>> {
    let folder = epoch.attempt.join("evidence");
    let mut lookup = Lookup::default();
    for id in 0..epoch.plan.splits.len() {
        for part in &done(&epoch.attempt, id)?.evidence {
            lookup.push(&folder, part)?;
        }
    }
    Ok(lookup)
}

impl Open {
    fn start(epoch: &Epoch, id: usize, planned: &PlannedSplit) -> Result<Open> {
        let input = &epoch.plan.inputs[planned.input];
        let path = PathBuf::from(&input.path);
        input.check_unchanged()?;
        let split = Split { path, start: planned.start, end: planned.end };
        let reader = open(&epoch.job, &split)?;
        Ok(Open {
            id,
            file: input.path.clone(),
            reader,
            seen_bytes: 0,
            counts: Counts { bytes: planned.end - planned.start, ..Counts::default() },
            visits: Vec::new(),
            written: Vec::new(),
            pending: Pending::default(),
            evidence: Vec::new(),
            rejects: Vec::new(),
            rejects_named: 0,
        })
    }

    /// Handles some records. Returns whether the split has more.
    fn turn(&mut self, epoch: &Epoch, digester: &mut Digester) -> Result<bool> {
        for _ in 0..TURN_RECORDS {
            let Some(entry) = self.reader.next()? else { return Ok(false) };
            self.counts.read += 1;
            match entry.item {
                Item::Record(record) => {
                    self.counts.accepted += 1;
                    let latest = epoch.plan.logical_time.saturating_add(FUTURE_SECONDS_MAX);
                    if record.date.is_some_and(|date| date > latest) {
                        *self.counts.noted.entry("future_date".to_owned()).or_default() += 1;
                    }
                    let visit = digester.visit(record, &mut self.counts.noted, &mut self.pending)?;
                    self.visits.push(visit);
                    if self.pending.bytes >= EVIDENCE_BYTES || self.pending.rows.len() == PORTION_ROWS {
                        self.flush_evidence(epoch)?;
                    }
                }
                Item::Skip(reason) => *self.counts.skipped.entry(reason.to_owned()).or_default() += 1,
                Item::Reject { reason, detail } => self.reject(entry.offset, reason, detail)?,
            }
            epoch.progress.records.fetch_add(1, Ordering::Relaxed);
            if self.visits.len() == PORTION_ROWS {
                self.flush(epoch)?;
            }
        }
        self.report_bytes(epoch, self.reader.consumed_bytes());
        Ok(true)
    }

    /// Counts a bad record and names it, unless very many are named already.
    fn reject(&mut self, offset: u64, reason: &str, detail: String) -> Result<()> {
        *self.counts.rejected.entry(reason.to_owned()).or_default() += 1;
        if self.rejects_named == REJECTS_NAMED_MAX {
            *self.counts.noted.entry("rejects_unnamed".to_owned()).or_default() += 1;
            return Ok(());
        }
        self.rejects_named += 1;
        let line = RejectLine { file: self.file.clone(), offset, reason: reason.to_owned(), detail };
        serde_json::to_writer(&mut self.rejects, &line)
            .map_err(|e| Error::internal("cannot write a reject").caused_by(e))?;
        self.rejects.push(b'\n');
        Ok(())
    }

    fn report_bytes(&mut self, epoch: &Epoch, consumed: u64) {
        let consumed = consumed.min(self.counts.bytes);
        epoch.progress.bytes.fetch_add(consumed.saturating_sub(self.seen_bytes), Ordering::Relaxed);
        self.seen_bytes = self.seen_bytes.max(consumed);
    }

    fn flush(&mut self, epoch: &Epoch) -> Result<()> {
        self.visits.sort_unstable();
        let before = self.visits.len();
        self.visits.dedup();
        if self.visits.len() < before {
            *self.counts.noted.entry("repeated".to_owned()).or_default() += (before - self.visits.len()) as u64;
        }
        let part = segment::write(&epoch.attempt.join("visits"), &epoch.tag(), self.visits.drain(..))?;
        self.written.extend(part);
        Ok(())
    }

    fn flush_evidence(&mut self, epoch: &Epoch) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let part = segment::write(&epoch.attempt.join("evidence"), &epoch.tag(), pending.rows.into_values())?;
        self.evidence.extend(part);
        Ok(())
    }

    /// Makes the split durable.
    fn finish(mut self, epoch: &Epoch) -> Result<()> {
        self.flush(epoch)?;
        self.flush_evidence(epoch)?;
        epoch.plan.inputs[epoch.plan.splits[self.id].input].check_unchanged()?;
        self.report_bytes(epoch, self.counts.bytes);
        for (word, n) in self.reader.notes().iter() {
            *self.counts.noted.entry(word.to_owned()).or_default() += n;
        }
        assert!(self.counts.add_up(), "{}: {:?} do not add up", self.file, self.counts);
        durable::create_folder(&epoch.attempt.join("split"))?;
        durable::write_beside_others(&split_path(&epoch.attempt, self.id, "rejects.jsonl"), &self.rejects)?;
        let rejects_digest = blake3::hash(&self.rejects).to_hex().to_string();
        let done = SplitDone { visits: self.written, evidence: self.evidence, counts: self.counts, rejects_digest };
        let mut text = Vec::new();
        serde_json::to_writer(&mut text, &done).map_err(|e| Error::internal("cannot write a split").caused_by(e))?;
        text.flush().map_err(|e| Error::io("write", &epoch.attempt, e))?;
        durable::write_beside_others(&split_path(&epoch.attempt, self.id, "json"), &text)?;
        epoch.progress.splits_done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The splits that the workers of one process share; each takes the next when it has time.
pub type Queue = Arc<Mutex<VecDeque<usize>>>;

/// The ingest of one worker: takes splits from `queue` until none is left. It has no `digester` if something has failed.
pub fn ingest(scope: Scope<'_, ()>, epoch: &Rc<Epoch>, queue: Queue, digester: Option<Digester>, probe: &Handle<()>) {
    let epoch = epoch.clone();
    let mut digester = digester;
    source::<_, CapacityContainerBuilder<Vec<()>>, _, _>(scope, "ingest", move |capability, info| {
        let activator = scope.activator_for(info.address);
        // Held until the last split is done: its release is the barrier.
        let mut capability = Some(capability);
        let mut open: Option<Open> = None;
        move |_output| {
            let more = epoch.attempt(|| {
                if open.is_none() {
                    let next = lock(&queue).pop_front();
                    let Some(id) = next else { return Ok(false) };
                    open = Some(Open::start(&epoch, id, &epoch.plan.splits[id])?);
                }
                if let Some(split) = &mut open
                    && let Some(digester) = &mut digester
                    && !split.turn(&epoch, digester)?
                    && let Some(split) = open.take()
                {
                    split.finish(&epoch)?;
                }
                Ok(true)
            });
            if more {
                activator.activate();
            } else {
                open = None;
                drop(capability.take());
            }
        }
    })
    .probe_with(probe);
}
