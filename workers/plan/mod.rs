//! Plans what the next epoch will do, from the job, its inputs and the head of the store.
//!
//! A plan is frozen before work begins: after ingest everything is a function of the plan, the
//! finished splits and the store. So a later run can resume an interrupted epoch and gets the same
//! bytes. The digest of the plan names the folder of resumable work, and identifies the commit if
//! it is repeated.

pub mod attempts;
pub mod consumed;
pub mod division;
pub mod due_inputs;
pub mod examine;
pub mod inputs;
pub mod listing;
pub mod replay;
pub mod time;

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::plan::consumed::{ConsumedInput, Reading, inputs_of, snapshot_of};
pub use crate::plan::division::{Part, PlannedSplit};
use crate::plan::due_inputs::{DueInputs, found};
use crate::plan::examine::{Digests, Passed};
use crate::plan::inputs::Input;
use crate::plan::listing::LeftOut;
use crate::plan::replay::PastEpoch;
use crate::plan::time::{Clock, LogicalTime};
use crate::store::consumed::Retention;
use crate::store::manifest::{self, Head, Manifest};
use crate::store::{Store, digest, digest_of};
use crate::tables::pages;
use crate::tables::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The plan of one epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// 16 hex digits of the blake3 of all fields below, except those that say that they are not
    /// part of the digest.
    pub digest: String,
    /// The uuid of the store.
    pub store: String,
    /// The number of the epoch.
    pub epoch: u32,
    /// The number of its commit.
    pub version: u64,
    /// The digest of the manifest that it builds on, empty if there is none.
    pub previous: String,
    /// The digest of the identity and decision configuration and of the job's options of reading
    /// and retention. Reading is part of it because other fields or limits give other records of
    /// the same bytes.
    pub config: String,
    /// Whether the head has another decision configuration. If so, every pair is decided again.
    pub decision_changed: bool,
    /// The digest of the view configuration.
    pub view: String,
    /// Whether the head has another view configuration. If so, every cluster is made again.
    pub view_changed: bool,
    /// The source that is read: an index of the manifest's `sources`, or their number if it is new.
    pub source: u16,
    /// The names of all sources by their numbers, for the keep rule.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Whether the inputs are a complete snapshot of the source.
    pub complete: bool,
    /// Whether a rebuild makes the epoch again. No later epoch would read an input that is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replays: bool,
    /// The digest of a complete snapshot's inputs; empty for other inputs.
    pub snapshot: String,
    /// The inputs, by their keys, whose records a complete snapshot replaces whatever their dates:
    /// all that its source has had. `None` if there is no other source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Vec<u64>>,
    /// The inputs that are read, sorted by path.
    pub inputs: Vec<Input>,
    /// The parts into which the inputs are divided, when the plan is frozen. They are not part of
    /// the digest, because they change no result.
    pub splits: Vec<PlannedSplit>,
    /// The inputs that are not read, because another input of the plan has the same bytes.
    pub same_bytes: Vec<Input>,
    /// The inputs that are not read, because they were consumed under another name.
    pub renamed: Vec<ConsumedInput>,
    /// Whether the inputs are read again because other options may give accepted records. Other
    /// inputs may be due then, too; later epochs read them.
    #[serde(rename = "again")]
    pub reads_otherwise: bool,
    /// Files of folders that are no crawl. They are not part of the digest.
    #[serde(default)]
    pub passed: Vec<Passed>,
    /// Inputs of a complete snapshot that are absent, a line each. They are not part of the digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// What else is in the folders of inputs. It is not part of the digest.
    #[serde(default, skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
    /// When pages expire. Its time is not part of the digest.
    pub retention: Retention,
    /// The least epoch of `retention` if no record of the inputs is accepted. The epoch then does
    /// not count as one that read something.
    #[serde(default)]
    pub epoch_min_useless: u32,
    /// Pages that have been gone since before this time are forgotten. It is not part of the
    /// digest.
    #[serde(default)]
    pub gone_min: i64,
    /// The time by which retention counts, seconds since 1970. It is not part of the digest.
    pub logical_time: i64,
    /// Whether the time comes back from one that was too far ahead. Pages that were seen then count
    /// as seen at this epoch's time.
    pub comes_back: bool,
}

impl Plan {
    /// The bytes of all splits.
    pub fn bytes(&self) -> u64 {
        self.splits.iter().map(PlannedSplit::bytes).sum()
    }

    /// The same plan with its digest: that of the JSON in which the fields that are not part of it
    /// are empty.
    fn digested(self) -> Result<Plan> {
        let Plan { splits, passed, absent, left_out, retention, gone_min, logical_time, .. } = self;
        let bare = Plan {
            digest: String::new(),
            splits: Vec::new(),
            passed: Vec::new(),
            absent: Vec::new(),
            left_out: LeftOut::default(),
            retention: Retention { time_min: 0, ..retention },
            gone_min: 0,
            logical_time: 0,
            ..self
        };
        let text = serde_json::to_vec(&bare)
            .map_err(|e| Error::internal("cannot write a plan").caused_by(e))?;
        let digest = digest::of_bytes(&text)[..16].to_owned();
        Ok(Plan {
            digest,
            splits,
            passed,
            absent,
            left_out,
            retention,
            gone_min,
            logical_time,
            ..bare
        })
    }
}

/// The digest of [`Plan::config`].
fn config(job: &Job) -> Result<String> {
    let read = json!([job.read.fields, job.read.limits, job.read.source, job.read.complete]);
    let retain = json!([job.pages.retain_days, job.pages.retain_epochs, job.pages.gone_days]);
    Ok(digest_of(&json!([job.identity()?, job.decision(), read, retain])))
}

/// The plan of the next epoch. Returns `None` if nothing is due: every input is consumed, no page
/// has expired, and the head has the same decision and view configuration.
pub fn plan(job: &Job, store: &Store, head: Option<&Head>, now: i64) -> Result<Option<Plan>> {
    plan_at_most(job, store, head, Clock::at(now), usize::MAX)
}

/// As [`plan`], with at most `inputs_max` inputs with new bytes: the first by path. The others stay
/// for a later run. A complete snapshot is always planned whole.
pub fn plan_at_most(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    clock: Clock,
    inputs_max: usize,
) -> Result<Option<Plan>> {
    let (plan, kept) = plan_with_digests(job, store, head, clock, inputs_max)?;
    if plan.is_none() {
        kept.keep();
    }
    Ok(plan)
}

/// As [`plan_at_most`], but writes nothing to the store, which need not exist yet.
pub fn preview(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    clock: Clock,
    inputs_max: usize,
) -> Result<Option<Plan>> {
    plan_with_digests(job, store, head, clock, inputs_max).map(|(plan, _)| plan)
}

/// The plan, and the digests that are to be kept if there is none.
fn plan_with_digests(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    clock: Clock,
    inputs_max: usize,
) -> Result<(Option<Plan>, Digests)> {
    let mut found = found(job, store, head, inputs_max)?;
    let kept = std::mem::take(&mut found.kept);
    if head.is_none() && found.inputs.is_empty() {
        // If there are files that cannot be read as they are, the error names one of them.
        return match found.passed.first() {
            Some(Passed { path, what }) => {
                Err(Error::new(Kind::NoInput, what.line(Path::new(path))))
            }
            // A server made the inbox, and will fill it.
            None if job.serve.inbox.as_ref().is_some_and(|inbox| inbox.is_dir()) => {
                Ok((None, kept))
            }
            None => Err(inputs::none_found(&job.read.inputs)),
        };
    }
    Ok((make_plan(job, store, head, found, clock, None)?, kept))
}

/// The plan of an epoch that reads again what an epoch of another store took. It has the number of
/// that epoch, because the bounds of expiry and the rows of `pages` name epochs.
pub fn replay(job: &Job, store: &Store, head: Option<&Head>, past: PastEpoch) -> Result<Plan> {
    let PastEpoch {
        epoch,
        logical_time,
        was_barren,
        inputs,
        same_bytes,
        renamed,
        retention,
        gone_min,
    } = past;
    let snapshot = snapshot_of(&Reading::of(job), inputs.iter().chain(&same_bytes));
    let reads_otherwise = was_barren && !inputs.is_empty();
    let found = DueInputs {
        reads_otherwise,
        inputs,
        same_bytes,
        renamed,
        snapshot,
        ..DueInputs::default()
    };
    let replayed = Replayed { epoch, retention };
    let plan = make_plan(job, store, head, found, Clock::at(logical_time), Some(replayed))?;
    let plan = plan.ok_or_else(|| Error::internal("an epoch is not replayed"))?;
    Ok(Plan { gone_min: gone_min.unwrap_or(plan.gone_min), ..plan })
}

/// An epoch that is made again.
#[derive(Clone, Copy)]
struct Replayed {
    /// Its number.
    epoch: u32,
    /// Its bounds of expiry, if they are known.
    retention: Option<Retention>,
}

fn make_plan(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    mut found: DueInputs,
    clock: Clock,
    replayed: Option<Replayed>,
) -> Result<Option<Plan>> {
    let manifest = head.map(|head| &head.manifest);
    let next = || manifest.map_or(0, |manifest| manifest.epoch as u32) + 1;
    let epoch = replayed.map_or_else(next, |replayed| replayed.epoch);
    let known = replayed.and_then(|replayed| replayed.retention);
    let read_before: Vec<u64> = manifest.into_iter().flat_map(Manifest::reading).collect();
    let reading = [&read_before[..], &[u64::from(epoch)]].concat();
    let LogicalTime { seconds: logical_time, comes_back } = match manifest {
        Some(manifest) => clock.next(manifest.logical_time, written(store, manifest)),
        None => LogicalTime { seconds: clock.first()?, comes_back: false },
    };
    let (source, sources) = sources(job, manifest)?;
    let if_read = job.pages.retention(&reading, logical_time);
    // The pages of a snapshot that is there are seen before they expire.
    if !found.unchanged.is_empty() && expires(store, head, if_read, Some(source))? {
        found.read_unchanged();
    }
    let reading = if found.inputs.is_empty() { &read_before } else { &reading };
    let retention = known.unwrap_or_else(|| job.pages.retention(reading, logical_time));
    // For an epoch that is replayed it is known whether it read something.
    let epoch_min_useless = match known {
        Some(known) => known.epoch_min,
        None => job.pages.retention(&read_before, logical_time).epoch_min,
    };
    let (decision, view) = (digest_of(&job.decision()), digest_of(&job.view()));
    let decision_changed = manifest.is_some_and(|manifest| manifest.decision != decision);
    let view_changed = manifest.is_some_and(|manifest| manifest.view != view);
    let changed = decision_changed || view_changed || comes_back;
    let replays = replayed.is_some();
    let due =
        replays || !found.inputs.is_empty() || changed || expires(store, head, retention, None)?;
    if !due {
        return Ok(None);
    }
    let complete = job.read.complete && !found.inputs.is_empty();
    let replaced = if complete { inputs_of(store, head, source.into())? } else { None };
    let plan = Plan {
        digest: String::new(),
        store: store.uuid().to_owned(),
        epoch,
        version: manifest.map_or(0, |manifest| manifest.version) + 1,
        previous: head.map_or(String::new(), |head| head.digest.clone()),
        config: config(job)?,
        decision_changed,
        view,
        view_changed,
        source,
        sources,
        complete,
        replays,
        snapshot: if complete { found.snapshot } else { String::new() },
        replaced,
        splits: Vec::new(),
        inputs: found.inputs,
        same_bytes: found.same_bytes,
        renamed: found.renamed,
        reads_otherwise: found.reads_otherwise,
        passed: found.passed,
        absent: if complete { found.absent } else { Vec::new() },
        left_out: found.left_out,
        retention,
        epoch_min_useless,
        gone_min: job.pages.gone_min(logical_time),
        logical_time,
        comes_back,
    };
    plan.digested().map(Some)
}

/// When the file of `manifest` was written, in seconds since 1970; 0 if the system does not say it.
fn written(store: &Store, manifest: &Manifest) -> i64 {
    let path = manifest::path(store.root(), manifest.version);
    let time = path.metadata().and_then(|metadata| metadata.modified()).ok();
    time.and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_secs() as i64)
}

/// The number of the job's source, and the names of all sources, its own last if it is new.
fn sources(job: &Job, manifest: Option<&Manifest>) -> Result<(u16, Vec<String>)> {
    let sources = manifest.map_or(&[][..], |manifest| &manifest.sources);
    let mut names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    let source = names.iter().position(|name| *name == job.read.source).unwrap_or(names.len());
    if source == names.len() {
        names.push(job.read.source.clone());
    }
    let source = u16::try_from(source)
        .map_err(|_| Error::new(Kind::Config, "[read] source: more than 65,536 of them"))?;
    Ok((source, names))
}

/// Whether a page expires, of `source` or, if that is `None`, of any source.
fn expires(
    store: &Store,
    head: Option<&Head>,
    retention: Retention,
    source: Option<u16>,
) -> Result<bool> {
    match head {
        Some(head) if retention != Retention::default() => {
            Ok(pages::any_expired(&Snapshot::of(store, head).table()?, retention, source))
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest is that of these bytes: if it moved, unfinished epochs of earlier builds would be
    /// given up. What is not part of it changes nothing.
    #[test]
    fn the_digest_of_a_plan() {
        let text = concat!(
            r#"{"digest":"","store":"s","epoch":3,"version":4,"previous":"p","config":"c","#,
            r#""decision_changed":false,"view":"v","view_changed":true,"source":1,"#,
            r#""sources":["a","b"],"complete":false,"snapshot":"","inputs":[],"splits":[],"#,
            r#""same_bytes":[],"renamed":[],"again":false,"passed":[],"#,
            r#""retention":{"epoch_min":2,"time_min":0},"epoch_min_useless":1,"gone_min":0,"#,
            r#""logical_time":0,"comes_back":false}"#
        );
        let bare: Plan = serde_json::from_str(text).expect("a plan");
        let plan = Plan {
            absent: vec!["a file".into()],
            left_out: LeftOut { hidden: 1, ..LeftOut::default() },
            retention: Retention { time_min: 7, ..bare.retention },
            gone_min: 5,
            logical_time: 9,
            ..bare
        };
        let digest = digest::of_bytes(text.as_bytes())[..16].to_owned();
        assert_eq!(plan.clone().digested().expect("written"), Plan { digest, ..plan });
    }
}
