//! Commit: in come the receipts of all workers and the finished splits, out comes the next manifest, or an error and nothing changed. The one
//! place that decides whether an epoch happened.

use crate::epoch::Receipt;
use crate::error::{Error, Kind, Result};
use crate::ingest::{self, Counts, RejectLine};
use crate::job::Job;
use crate::plan::Plan;
use crate::run;
use crate::store::manifest::{self, Head, Manifest, Run, TableState};
use crate::store::{Store, digest_of};
use std::collections::BTreeMap;

/// An epoch that happened.
pub struct Committed {
    /// The new head.
    pub head: Head,
    /// What became of the records.
    pub counts: Counts,
}

/// What all finished splits of `plan` counted.
pub fn counts(plan: &Plan, store: &Store) -> Result<Counts> {
    let attempt = plan.attempt(store.root());
    let mut counts = Counts::default();
    for id in 0..plan.splits.len() {
        let done = ingest::finished(&attempt, id)
            .ok_or_else(|| Error::internal(format!("split {id} is not finished though its worker says so")))?;
        counts.add(&done.counts);
    }
    Ok(counts)
}

/// Refuses an epoch of which more than the allowed share was bad.
fn check_rejects(job: &Job, counts: &Counts, plan: &Plan, store: &Store) -> Result<()> {
    let rejected: u64 = counts.rejected.values().sum();
    if rejected as f64 <= job.read.rejects_max * counts.read as f64 {
        return Ok(());
    }
    // Nothing is exported now, so the first one is named here, for a person to look at.
    let attempt = plan.attempt(store.root());
    let mut first = String::new();
    for id in 0..plan.splits.len() {
        let lines = ingest::rejects(&attempt, id)?;
        let line = lines.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Ok(RejectLine { file, offset, reason, .. }) = serde_json::from_slice(line) {
            first = format!("; the first: {file} at {offset}, {reason}");
            break;
        }
    }
    let reasons: Vec<String> = counts.rejected.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
    Err(Error::new(
        Kind::Data,
        format!(
            "{rejected} of {} records were rejected ({}), more than [read] rejects_max = {}{first}; nothing was committed",
            counts.read,
            reasons.join(", "),
            job.read.rejects_max
        ),
    ))
}

/// Commits the epoch of `plan` on top of `head`.
pub fn commit(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    plan: &Plan,
    mut receipts: Vec<Receipt>,
    workers: usize,
) -> Result<Committed> {
    let counts = counts(plan, store)?;
    check_rejects(job, &counts, plan, store)?;
    receipts.sort_by_key(|receipt| receipt.worker);
    let mut counters = run::counters(&receipts, workers)?;
    counters.insert("read".into(), counts.read);
    counters.insert("accepted".into(), counts.accepted);
    let groups = [("skipped", &counts.skipped), ("rejected", &counts.rejected), ("noted", &counts.noted)];
    for (group, of) in groups {
        counters.extend(of.iter().map(|(reason, n)| (format!("{group}.{reason}"), *n)));
    }
    let tables = tables(store, head, plan, &receipts)?;
    let consumed = consumed(store, head, plan)?;
    let rejects = rejects(store, plan)?;
    let manifest = Manifest {
        format: manifest::FORMAT,
        store: store.uuid().to_owned(),
        version: plan.version,
        epoch: u64::from(plan.epoch),
        op: "ingest".into(),
        previous: plan.previous.clone(),
        plan: plan.digest.clone(),
        logical_time: plan.logical_time,
        decision: digest_of(&job.decision()),
        view: plan.view.clone(),
        tables,
        consumed,
        rejects,
        counters,
    };
    let head = manifest::commit(store.root(), &manifest)?;
    // The work is in the store now, and other plans for this epoch can never be; what cannot be cleared away is no harm.
    let attempts = store.root().join("attempt");
    if let Err(error) = std::fs::remove_dir_all(&attempts) {
        tracing::warn!(%error, attempts = %attempts.display(), "cannot clear finished attempts");
    }
    Ok(Committed { head, counts })
}

/// The tables with this epoch's runs, every segment present and of its size.
fn tables(
    store: &Store,
    head: Option<&Head>,
    plan: &Plan,
    receipts: &[Receipt],
) -> Result<BTreeMap<String, TableState>> {
    let mut runs: BTreeMap<&str, Run> = BTreeMap::new();
    for (name, segment) in receipts.iter().flat_map(|receipt| &receipt.segments) {
        let path = segment.path(&store.data().join(name));
        let bytes = path.metadata().map_err(|e| Error::io("find", &path, e).with_kind(Kind::Io))?.len();
        if bytes != segment.bytes {
            let line = format!("{}: {bytes} bytes, its receipt says {}", path.display(), segment.bytes);
            return Err(Error::new(Kind::Io, line));
        }
        let run = runs.entry(name).or_insert(Run { epoch: u64::from(plan.epoch), segments: Vec::new() });
        run.segments.push(segment.clone());
    }
    let mut tables = head.map_or_else(BTreeMap::new, |head| head.manifest.tables.clone());
    for (name, run) in runs {
        tables.entry(name.to_owned()).or_default().append(run)?;
    }
    Ok(tables)
}

fn consumed(store: &Store, head: Option<&Head>, plan: &Plan) -> Result<Vec<manifest::FileRef>> {
    let mut lines = String::new();
    for input in plan.inputs.iter().chain(&plan.same_bytes) {
        let line = serde_json::to_string(input).map_err(|e| Error::internal("cannot write an input").caused_by(e))?;
        lines.push_str(&line);
        lines.push('\n');
    }
    let mut consumed = head.map_or_else(Vec::new, |head| head.manifest.consumed.clone());
    consumed.push(store.write_lines("consumed", &lines)?);
    Ok(consumed)
}

fn rejects(store: &Store, plan: &Plan) -> Result<Option<manifest::FileRef>> {
    let attempt = plan.attempt(store.root());
    let mut lines = String::new();
    for id in 0..plan.splits.len() {
        let split = String::from_utf8(ingest::rejects(&attempt, id)?);
        lines.push_str(&split.map_err(|e| Error::internal("rejects that are no UTF-8").caused_by(e))?);
    }
    if lines.is_empty() { Ok(None) } else { store.write_lines("rejects", &lines).map(Some) }
}
