//! The plan: in come the job, what its inputs are now and the head of the store, out goes what the next epoch will do, frozen. From the end of ingest
//! on everything is a function of the plan, the finished splits and the store. Its digest is the idempotence key of
//! the commit and names the folder of resumable work.

use crate::error::{Error, Result};
use crate::inputs::{self, Input};
use crate::job::Job;
use crate::read;
use crate::store::durable;
use crate::store::manifest::Head;
use crate::store::{Store, digest_of};
use serde::{Deserialize, Serialize};
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
    /// blake3 of all below but the time, 16 hex digits.
    pub digest: String,
    /// The store's uuid.
    pub store: String,
    /// The epoch that will be.
    pub epoch: u32,
    /// The version that will be.
    pub version: u64,
    /// Digest of the manifest it builds on, empty for none.
    pub previous: String,
    /// Digest of the identity and decision configuration, and of what the job says about reading: other fields or limits make other
    /// records of the same bytes.
    pub config: String,
    /// Digest of the view configuration.
    pub view: String,
    /// Whether the head has another: then every cluster is made anew, from the store alone.
    pub view_changed: bool,
    /// What will be read, sorted by path.
    pub inputs: Vec<Input>,
    /// The same in shares.
    pub splits: Vec<PlannedSplit>,
    /// Inputs whose bytes were consumed under another name, or stand twice among the inputs.
    pub same_bytes: Vec<Input>,
    /// The time by which retention counts, seconds since 1970; frozen, and no part of the digest.
    pub logical_time: i64,
}

/// Bytes of a split of a file that can be cut.
const SPLIT_BYTES: u64 = 64 << 20;

impl Plan {
    /// The folder of the plan's resumable work.
    pub fn attempt(&self, store: &Path) -> PathBuf {
        store.join("attempt").join(format!("{:06}-{}", self.epoch, self.digest))
    }

    /// Freezes the plan under its attempt folder, or takes up the one frozen there by a run that did not finish.
    pub fn freeze(self, store: &Path) -> Result<Plan> {
        let folder = self.attempt(store);
        let path = folder.join("plan.json");
        if let Ok(text) = std::fs::read(&path)
            && let Ok(plan) = serde_json::from_slice::<Plan>(&text)
            && plan.digest == self.digest
        {
            tracing::info!(epoch = plan.epoch, "taking up an unfinished epoch");
            return Ok(plan);
        }
        durable::create_folder(&folder)?;
        let text = serde_json::to_vec(&self).map_err(|e| Error::internal("cannot write a plan").caused_by(e))?;
        durable::write(&path, &text)?;
        Ok(self)
    }

    /// Reads a frozen plan.
    pub fn read(attempt: &Path) -> Result<Plan> {
        let path = attempt.join("plan.json");
        let text = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
        serde_json::from_slice(&text).map_err(|e| Error::config(&path, "damaged plan").caused_by(e))
    }
}

/// Inputs that earlier epochs consumed: the last consumption of each path.
pub fn consumed(store: &Store, head: Option<&Head>) -> Result<BTreeMap<String, Input>> {
    let mut consumed = BTreeMap::new();
    for file in head.into_iter().flat_map(|head| &head.manifest.consumed) {
        for line in store.read_lines("consumed", file)?.lines() {
            let input: Input = serde_json::from_str(line)
                .map_err(|e| Error::config(store.root(), "damaged list of consumed inputs").caused_by(e))?;
            consumed.insert(input.path.clone(), input);
        }
    }
    Ok(consumed)
}

/// The plan of the next epoch; none if every input is consumed and the view is the head's.
pub fn plan(job: &Job, store: &Store, head: Option<&Head>, now: i64) -> Result<Option<Plan>> {
    let consumed = consumed(store, head)?;
    let mut known: BTreeSet<String> = consumed.values().map(|input| input.digest.clone()).collect();
    let mut taken = Vec::new();
    let mut same_bytes = Vec::new();
    for path in inputs::find(&job.read.inputs)? {
        let input = Input::look(&path)?;
        let last = consumed.get(&input.path);
        if last.is_some_and(|last| last.looks_like(&input)) {
            continue;
        }
        let input = input.digest()?;
        if last.is_some_and(|last| last.digest == input.digest) {
            continue;
        }
        if known.insert(input.digest.clone()) {
            taken.push(input);
        } else {
            same_bytes.push(input);
        }
    }
    let view = digest_of(&job.view());
    let view_changed = head.is_some_and(|head| head.manifest.view != view);
    if taken.is_empty() && !view_changed {
        return Ok(None);
    }
    let mut splits = Vec::new();
    for (index, input) in taken.iter().enumerate() {
        for split in read::splits(Path::new(&input.path), input.bytes, SPLIT_BYTES)? {
            splits.push(PlannedSplit { input: index, start: split.start, end: split.end });
        }
    }
    let mut plan = Plan {
        digest: String::new(),
        store: store.uuid().to_owned(),
        epoch: head.map_or(0, |head| head.manifest.epoch as u32) + 1,
        version: head.map_or(0, |head| head.manifest.version) + 1,
        previous: head.map_or(String::new(), |head| head.digest.clone()),
        config: digest_of(&serde_json::json!([job.identity()?, job.decision(), job.read.fields, job.read.limits])),
        view,
        view_changed,
        inputs: taken,
        splits,
        same_bytes,
        logical_time: 0,
    };
    let text = serde_json::to_vec(&plan).map_err(|e| Error::internal("cannot write a plan").caused_by(e))?;
    plan.digest = blake3::hash(&text).to_hex()[..16].to_owned();
    plan.logical_time = now;
    Ok(Some(plan))
}
