//! The plan: in come the job, what its inputs are now and the head of the store, out goes what the next epoch will do, frozen. From the end of ingest
//! on everything is a function of the plan, the finished splits and the store. Its digest is the idempotence key of
//! the commit and names the folder of resumable work.

pub mod inputs;

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::plan::inputs::Input;
use crate::read;
use crate::store::durable;
use crate::store::manifest::{Consumed, Head, Retention};
use crate::store::{Store, digest_of};
use crate::tables::pages;
use crate::tables::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A share of one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSplit {
    /// Index of the input.
    pub input: usize,
    /// First byte.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
}

/// What an epoch will do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// blake3 of all below but the times, 16 hex digits.
    pub digest: String,
    /// The store's uuid.
    pub store: String,
    /// The epoch that will be.
    pub epoch: u32,
    /// The version that will be.
    pub version: u64,
    /// Digest of the manifest it builds on, empty for none.
    pub previous: String,
    /// Digest of the identity and decision configuration, and of what the job says about reading and retention: other fields or limits make
    /// other records of the same bytes.
    pub config: String,
    /// Whether the head has another decision configuration: then every pair is decided again, from the store alone.
    pub decision_changed: bool,
    /// Digest of the view configuration.
    pub view: String,
    /// Whether the head has another: then every cluster is made anew, from the store alone.
    pub view_changed: bool,
    /// Number of the source that is read.
    pub source: u16,
    /// Whether the inputs are all there is of it.
    pub complete: bool,
    /// Digest of a complete snapshot's inputs, else empty.
    pub snapshot: String,
    /// What will be read, sorted by path.
    pub inputs: Vec<Input>,
    /// The same in shares.
    pub splits: Vec<PlannedSplit>,
    /// Inputs whose bytes were consumed under another name, or stand twice among the inputs.
    pub same_bytes: Vec<Input>,
    /// What pages must have been seen by to stay; its time is no part of the digest.
    pub retention: Retention,
    /// The time by which retention counts, seconds since 1970; frozen, and no part of the digest.
    pub logical_time: i64,
}

/// Bytes of a split of a file that can be cut.
pub const SPLIT_BYTES: u64 = 64 << 20;

impl Plan {
    /// Bytes of input of all splits.
    pub fn bytes(&self) -> u64 {
        self.splits.iter().map(|split| split.end - split.start).sum()
    }

    /// The folder of the plan's resumable work.
    pub fn attempt(&self, store: &Path) -> PathBuf {
        attempts(store).join(format!("{:06}-{}", self.epoch, self.digest))
    }

    /// Freezes the plan under its attempt folder, from which any later run can take it up; or takes up the same one, which a guard refused.
    pub fn freeze(self, store: &Path) -> Result<Plan> {
        let folder = self.attempt(store);
        if let Ok(frozen) = Plan::read(&folder)
            && frozen.digest == self.digest
        {
            return Ok(frozen);
        }
        durable::create_folder(&folder)?;
        let text = serde_json::to_vec(&self).map_err(|e| Error::internal("cannot write a plan").caused_by(e))?;
        durable::write(&folder.join("plan.json"), &text)?;
        Ok(self)
    }

    /// Notes that a guard refused the finished work: what is due may be another thing next time, so it is planned anew and this taken up only if it is
    /// the same.
    pub fn refused(&self, store: &Path) -> Result<()> {
        durable::write(&self.attempt(store).join(REFUSED), b"")
    }

    /// Reads a frozen plan.
    pub fn read(attempt: &Path) -> Result<Plan> {
        let path = attempt.join("plan.json");
        let text = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
        serde_json::from_slice(&text).map_err(|e| Error::config(&path, "damaged plan").caused_by(e))
    }

    /// Fails unless this is what `job` would still have done over `head`, with inputs as they were.
    fn check(&self, job: &Job, store: &Store, head: Option<&Head>) -> Result<()> {
        let same = self.store == store.uuid()
            && self.previous == head.map_or("", |head| &head.digest)
            && (&self.config, &self.view) == (&config(job)?, &digest_of(&job.view()));
        if !same {
            return Err(Error::new(Kind::TryAgain, "it was planned by another job or over another epoch"));
        }
        self.inputs.iter().try_for_each(Input::check_unchanged)
    }
}

/// The file that marks an attempt as refused by a guard.
const REFUSED: &str = "refused";

/// The folder of unfinished work.
pub fn attempts(store: &Path) -> PathBuf {
    store.join("attempt")
}

/// The plan that an earlier run froze and did not finish. One that can no longer be carried out is cleared away.
pub fn unfinished(job: &Job, store: &Store, head: Option<&Head>) -> Result<Option<Plan>> {
    let folder = attempts(store.root());
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("list", &folder, e)),
    };
    let mut found = None;
    for entry in entries {
        let attempt = entry.map_err(|e| Error::io("list", &folder, e))?.path();
        if attempt.join(REFUSED).exists() {
            continue;
        }
        match Plan::read(&attempt).and_then(|plan| plan.check(job, store, head).map(|()| plan)) {
            Ok(plan) if found.is_none() => {
                tracing::info!(epoch = plan.epoch, "taking up an unfinished epoch");
                found = Some(plan);
            }
            Ok(_) => {}
            Err(why) => {
                tracing::info!(attempt = %attempt.display(), %why, "an unfinished epoch is given up");
                std::fs::remove_dir_all(&attempt).map_err(|e| Error::io("remove", &attempt, e))?;
            }
        }
    }
    Ok(found)
}

/// Inputs that earlier epochs consumed: the last consumption of each path.
pub fn consumed(store: &Store, head: Option<&Head>) -> Result<BTreeMap<String, Input>> {
    let mut consumed = BTreeMap::new();
    for epoch in head.into_iter().flat_map(|head| &head.manifest.consumed) {
        for input in inputs_of(store, epoch)? {
            consumed.insert(input.path.clone(), input);
        }
    }
    Ok(consumed)
}

/// The inputs that one epoch consumed.
pub fn inputs_of(store: &Store, consumed: &Consumed) -> Result<Vec<Input>> {
    let lines = store.read_lines("consumed", &consumed.file)?;
    let input = |line: &str| {
        serde_json::from_str(line)
            .map_err(|e| Error::config(store.root(), "damaged list of consumed inputs").caused_by(e))
    };
    lines.lines().map(input).collect()
}

/// Digest of what a plan must agree on with the job that takes it up, the view aside.
fn config(job: &Job) -> Result<String> {
    let read = json!([job.read.fields, job.read.limits, job.read.source, job.read.complete]);
    let retain = json!([job.pages.retain_days, job.pages.retain_epochs]);
    Ok(digest_of(&json!([job.identity()?, job.decision(), read, retain])))
}

/// What there is to read: inputs that bring something, inputs that bring nothing as their bytes are known, and the digest of a complete
/// snapshot.
#[derive(Default)]
struct Found {
    inputs: Vec<Input>,
    same_bytes: Vec<Input>,
    snapshot: String,
}

/// What makes a complete snapshot the same as another: its inputs' bytes, whatever their names.
fn snapshot_of<'a>(inputs: impl IntoIterator<Item = &'a Input>) -> String {
    let digests: BTreeSet<&str> = inputs.into_iter().map(|input| input.digest.as_str()).collect();
    digest_of(&json!(digests))
}

/// Takes what is not consumed yet, of that at most `inputs_max` inputs that bring something, in the order of their paths; or, of a complete
/// snapshot, everything unless it is the last one over again.
fn found(job: &Job, store: &Store, head: Option<&Head>, inputs_max: usize) -> Result<Found> {
    let consumed = consumed(store, head)?;
    // Inputs beyond the most are not even looked at; one whose bytes are known takes nobody's place.
    let bytes_known: BTreeSet<&str> = consumed.values().map(|input| input.digest.as_str()).collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut all = Vec::new();
    for path in inputs::find(&job.read.inputs)? {
        if !job.read.complete && taken.len() >= inputs_max {
            break;
        }
        let input = Input::look(&path)?;
        let last = consumed.get(&input.path);
        let known = last.filter(|last| last.looks_like(&input)).map(|last| last.digest.clone());
        let input = match known {
            Some(digest) => Input { digest, ..input },
            None => input.digest()?,
        };
        if !bytes_known.contains(input.digest.as_str()) {
            taken.insert(input.digest.clone());
        }
        all.push((last.is_some_and(|last| last.digest == input.digest), input));
    }
    let mut found = Found::default();
    let mut known: BTreeSet<String> = BTreeSet::new();
    if job.read.complete {
        if all.is_empty() {
            let line = format!("no input of the complete snapshot of `{}`: all its pages would go", job.read.source);
            return Err(Error::new(Kind::NoInput, line));
        }
        found.snapshot = snapshot_of(all.iter().map(|(_, input)| input));
        let sources = head.map_or(&[][..], |head| &head.manifest.sources);
        if sources.iter().any(|source| source.name == job.read.source && source.snapshot == found.snapshot) {
            return Ok(found);
        }
    } else {
        all.retain(|(is_consumed, _)| !is_consumed);
        known.extend(consumed.into_values().map(|input| input.digest));
    }
    for (_, input) in all {
        let new = known.insert(input.digest.clone());
        if new { &mut found.inputs } else { &mut found.same_bytes }.push(input);
    }
    Ok(found)
}

/// The plan of the next epoch; none if nothing is due: every input consumed, no page expired, decision and view the head's.
pub fn plan(job: &Job, store: &Store, head: Option<&Head>, now: i64) -> Result<Option<Plan>> {
    plan_at_most(job, store, head, now, usize::MAX)
}

/// [`plan`] with at most `inputs_max` inputs that bring something, the first by path; the others stay for a later run. A complete snapshot is
/// taken whole.
pub fn plan_at_most(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    now: i64,
    inputs_max: usize,
) -> Result<Option<Plan>> {
    let found = found(job, store, head, inputs_max)?;
    if head.is_none() && found.inputs.is_empty() {
        return Err(inputs::none_found(&job.read.inputs));
    }
    plan_of(job, store, head, found, now)
}

/// The plan of an epoch that reads `inputs`, whatever is due, as of `now`.
pub fn replay(job: &Job, store: &Store, head: Option<&Head>, inputs: Vec<Input>, now: i64) -> Result<Plan> {
    let mut found = Found { snapshot: snapshot_of(&inputs), ..Found::default() };
    let mut known = BTreeSet::new();
    for input in inputs {
        let new = known.insert(input.digest.clone());
        if new { &mut found.inputs } else { &mut found.same_bytes }.push(input);
    }
    plan_of(job, store, head, found, now)?.ok_or_else(|| Error::internal("an epoch that reads nothing is replayed"))
}

fn plan_of(job: &Job, store: &Store, head: Option<&Head>, found: Found, now: i64) -> Result<Option<Plan>> {
    let manifest = head.map(|head| &head.manifest);
    let epoch = manifest.map_or(0, |manifest| manifest.epoch as u32) + 1;
    let consumed = manifest.into_iter().flat_map(|manifest| &manifest.consumed);
    let mut reading: Vec<u64> = consumed.filter(|consumed| !consumed.undone).map(|consumed| consumed.epoch).collect();
    reading.extend((!found.inputs.is_empty()).then_some(u64::from(epoch)));
    // A clock that was set back lets nothing live longer or expire earlier than the last epoch said.
    let logical_time = manifest.map_or(now, |manifest| now.max(manifest.logical_time));
    let retention = job.pages.retention(&reading, logical_time);
    let (decision, view) = (digest_of(&job.decision()), digest_of(&job.view()));
    let decision_changed = manifest.is_some_and(|manifest| manifest.decision != decision);
    let view_changed = manifest.is_some_and(|manifest| manifest.view != view);
    let due = !found.inputs.is_empty() || decision_changed || view_changed || expires(store, head, retention)?;
    if !due {
        return Ok(None);
    }
    let sources = manifest.map_or(&[][..], |manifest| &manifest.sources);
    let source = sources.iter().position(|source| source.name == job.read.source).unwrap_or(sources.len());
    let complete = job.read.complete && !found.inputs.is_empty();
    let mut plan = Plan {
        digest: String::new(),
        store: store.uuid().to_owned(),
        epoch,
        version: manifest.map_or(0, |manifest| manifest.version) + 1,
        previous: head.map_or(String::new(), |head| head.digest.clone()),
        config: config(job)?,
        decision_changed,
        view,
        view_changed,
        source: u16::try_from(source)
            .map_err(|_| Error::new(Kind::Config, "[read] source: more than 65,536 of them"))?,
        complete,
        snapshot: if complete { found.snapshot } else { String::new() },
        splits: splits(&found.inputs)?,
        inputs: found.inputs,
        same_bytes: found.same_bytes,
        retention: Retention { time_min: 0, ..retention },
        logical_time: 0,
    };
    let text = serde_json::to_vec(&plan).map_err(|e| Error::internal("cannot write a plan").caused_by(e))?;
    plan.digest = blake3::hash(&text).to_hex()[..16].to_owned();
    Ok(Some(Plan { retention, logical_time, ..plan }))
}

fn expires(store: &Store, head: Option<&Head>, retention: Retention) -> Result<bool> {
    match head {
        Some(head) if retention != Retention::default() => {
            Ok(pages::any_expired(&Snapshot::of(store, head).table()?, retention))
        }
        _ => Ok(false),
    }
}

fn splits(inputs: &[Input]) -> Result<Vec<PlannedSplit>> {
    let mut splits = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        for split in read::splits(Path::new(&input.path), input.bytes, SPLIT_BYTES)? {
            splits.push(PlannedSplit { input: index, start: split.start, end: split.end });
        }
    }
    Ok(splits)
}
