//! Commits an epoch: makes the next manifest from the receipts of all workers and the finished
//! splits.
//!
//! This is the only place that decides whether an epoch happened. On an error the store is
//! unchanged.

pub mod guards;
mod origin_folds;
mod reject_lines;
mod rejects;

use crate::candidates::pivots;
use crate::commit::guards::{Figures, Guard, Overwritten, Pages};
use crate::commit::reject_lines::{Listed, RejectLines};
use crate::commit::rejects::Rejects;
use crate::error::{Error, Kind, Result};
use crate::fold::counters::{Counter, Counters};
use crate::fold::receipt::{self, Receipt};
use crate::fold::splits::{self, Finished};
use crate::job::Job;
use crate::plan::consumed::{ConsumedInput, History, Reading, Taken};
use crate::plan::inputs::Input;
use crate::plan::{self, Plan};
use crate::read::PageKey;
use crate::store::consumed::{Consumed, Retention};
use crate::store::manifest::{self, Head, Manifest, Op, Run, Source, TableState};
use crate::store::table::Row;
use crate::store::{Store, digest_of, durable};
use crate::tables::PageRow;
use crate::tables::snapshot::Snapshot;
use crate::visit::counts::Counts;
use std::collections::BTreeMap;

/// A committed epoch.
pub struct Committed {
    /// The new head.
    pub head: Head,
    /// The counts of its records.
    pub counts: Counts,
    /// The inputs that changed while they were read, and are left to a later epoch.
    pub left: Vec<String>,
    /// Pages with another text than before whose former record is in another input, which is still
    /// there.
    pub changed_here: u64,
}

/// See [`Committed::changed_here`]. The number is only for a report, so it is no error if inputs
/// cannot be listed.
fn changed_here(job: &Job, store: &Store, head: Option<&Head>, receipts: &[Receipt]) -> u64 {
    let changed = || receipts.iter().flat_map(|receipt| &receipt.changed);
    if changed().next().is_none() {
        return 0;
    }
    let here = History::read(job, store, head).and_then(|history| history.here(job));
    let here = here.unwrap_or_default();
    changed().filter(|(input, _)| here.contains(input)).map(|(_, pages)| pages).sum()
}

/// What became of the records of an epoch, and what its workers counted.
struct SplitRecords {
    counters: Counters,
    finished: Finished,
    counts: Counts,
    rejects: RejectLines,
    listed: Listed,
}

/// What the splits of `plan` read.
fn read_splits(plan: &Plan, store: &Store, counters: Counters) -> Result<SplitRecords> {
    let attempt = plan.attempt(store.root());
    let finished = splits::all(plan, &attempt)?;
    let mut counts = Counts::default();
    finished.splits.iter().for_each(|(_, done)| counts.add(&done.counts));
    let rejects = RejectLines::of(plan, &finished, &attempt);
    let listed = rejects.look(&counts)?;
    if listed.unnamed > 0 {
        counts.note("rejects_unnamed", listed.unnamed);
    }
    let repeated = counters.get(Counter::VisitsRepeated);
    if repeated > 0 {
        counts.note("repeated", repeated);
    }
    Ok(SplitRecords { counters, finished, counts, rejects, listed })
}

/// The rejected records of inputs that `plan` reads again and that give nothing again.
fn barren_again(plan: &Plan, finished: &Finished) -> Result<u64> {
    let taken = if plan.reads_otherwise { finished.taken(plan)? } else { Vec::new() };
    Ok(taken.iter().filter(|taken| taken.is_barren()).map(|taken| taken.rejected).sum())
}

/// The figures that the guards check.
fn figures(
    job: &Job,
    plan: &Plan,
    records: &SplitRecords,
    head: Option<&Head>,
    after: Pages,
    overwritten: Overwritten,
) -> Result<Figures> {
    let SplitRecords { counts, counters, .. } = records;
    // With `key = "row"`, all rows of a file get other keys when a row is added to the file. So
    // such a snapshot lacks as many pages as it has fewer rows.
    let replaced = match job.read.key {
        PageKey::Row => counters.get(Counter::PagesNew),
        PageKey::Url | PageKey::Field(_) => 0,
    };
    let before = head.map(|head| &head.manifest);
    let before = before.map_or_else(Pages::default, |manifest| Pages {
        live: live(&manifest.tables),
        folded: manifest.folded,
    });
    Ok(Figures {
        rejects_max: job.read.rejects_max,
        replaces: job.output.results().filter(|_| head.is_none()),
        source: job.read.source.clone(),
        read: counts.read,
        rejects: Rejects::of(
            job,
            counts,
            records.listed.example.clone(),
            records.rejects.refused_file(),
        ),
        barren_again: barren_again(plan, &records.finished)?,
        overwritten,
        known: counters.get(Counter::PagesKnown),
        missing: counters.get(Counter::PagesMissing).saturating_sub(replaced),
        expired: counters.get(Counter::PagesExpired),
        before,
        after,
        source_folded: None,
    })
}

/// The rows that lost to a row of their key with another text. The ranges of keys of workers are in
/// order, so the keys that are named do not depend on the number of workers.
fn overwritten(job: &Job, counters: &Counters, receipts: &[Receipt]) -> Overwritten {
    let field = match &job.read.key {
        PageKey::Field(name) => Some(name.clone()),
        PageKey::Url | PageKey::Row => None,
    };
    let first = |keys: fn(&Receipt) -> &Vec<String>| {
        let keys = receipts.iter().flat_map(|receipt| keys(receipt).iter().cloned());
        keys.take(receipt::OVERWRITTEN_NAMED_MAX).collect()
    };
    Overwritten {
        field,
        rows: counters.get(Counter::VisitsOverwritten),
        keys: first(|receipt| &receipt.overwritten),
        has_inbox: job.serve.inbox.is_some(),
        undated_elsewhere: counters.get(Counter::VisitsUndatedElsewhere),
        is_complete: job.read.complete,
        replaced: counters.get(Counter::VisitsReplacedElsewhere),
        replaced_keys: first(|receipt| &receipt.replaced_elsewhere),
    }
}

/// All counts of the epoch, by name.
fn counts_by_name(records: &SplitRecords) -> BTreeMap<String, u64> {
    let (mut named, counts) = (records.counters.named(), &records.counts);
    // This count is in the note `repeated`.
    named.remove(Counter::VisitsRepeated.name());
    if !records.finished.left.is_empty() {
        named.insert("inputs_left".into(), records.finished.left.len() as u64);
    }
    named.insert("read".into(), counts.read);
    named.insert("accepted".into(), counts.accepted);
    let groups =
        [("skipped", &counts.skipped), ("rejected", &counts.rejected), ("noted", &counts.noted)];
    for (group, of) in groups {
        named.extend(of.iter().map(|(reason, n)| (format!("{group}.{reason}"), *n)));
    }
    named
}

/// The number of live pages.
fn live(tables: &BTreeMap<String, TableState>) -> u64 {
    tables.get(PageRow::NAME).map_or(0, |table| table.rows)
}

/// The number of folded pages after the epoch on top of `head`.
fn folded(head: Option<&Head>, counters: &Counters) -> Result<u64> {
    let folded = head.map_or(0, |head| head.manifest.folded) + counters.get(Counter::FoldedMore);
    folded
        .checked_sub(counters.get(Counter::FoldedLess))
        .ok_or_else(|| Error::internal("more pages ceased to fold than ever folded"))
}

/// Commits the epoch of `plan` on top of `head`.
pub fn commit(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    plan: &Plan,
    mut receipts: Vec<Receipt>,
    workers: usize,
    allowed: &[Guard],
) -> Result<Committed> {
    receipts.sort_by_key(|receipt| receipt.worker);
    let records = read_splits(plan, store, receipt::counters(&receipts, workers)?)?;
    let left: Vec<String> =
        records.finished.left.iter().map(|&input| plan.inputs[input].shown()).collect();
    check_not_all_left(plan, store, &left)?;
    let tables = tables(store, head, plan, &receipts)?;
    for input in &left {
        tracing::warn!(input, "changed while it was read, and is left to a later run");
    }
    let after = Pages { live: live(&tables), folded: folded(head, &records.counters)? };
    let mut figures =
        figures(job, plan, &records, head, after, overwritten(job, &records.counters, &receipts))?;
    if !allowed.contains(&Guard::SourceFolded) {
        let least = guards::source_pages_min(after.live);
        let (sources, before) =
            (sources(job, head, plan), head.map(|head| Snapshot::of(store, head)));
        let tables = Snapshot::new(store.data(), &tables);
        figures.source_folded =
            origin_folds::worst(job, &sources, before.as_ref(), &tables, &receipts, least)?;
    }
    check_guards(job, store, plan, &records, &figures, allowed)?;
    let manifest = manifest_of(job, store, head, plan, &records, tables, after.folded)?;
    // A killed run may have created folders of `data` without making their names durable. The files
    // that the manifest names are in them.
    durable::sync_folder(&store.data())?;
    durable::sync_folder(store.root())?;
    // Where locks do not hold, a run that started meanwhile has deleted them.
    check_there(store, &receipts)?;
    let (before, head) = (head, manifest::commit(store.root(), &manifest)?);
    plan::attempts::clear(store.root());
    let changed_here = changed_here(job, store, before, &receipts);
    Ok(Committed { head, counts: records.counts, left, changed_here })
}

/// Fails if all inputs are `left` to a later epoch, and gives the plan up then.
fn check_not_all_left(plan: &Plan, store: &Store, left: &[String]) -> Result<()> {
    let Some(first) = left.first().filter(|_| left.len() == plan.inputs.len()) else {
        return Ok(());
    };
    plan.give_up(store.root())?;
    let others = match left.len() {
        1 => String::new(),
        all => format!(", and so did all {all} inputs"),
    };
    let line =
        format!("{first}: changed while it was read{others}; nothing was committed, run again");
    Err(Error::new(Kind::TryAgain, line))
}

/// Fails if a guard that is not `allowed` refuses the epoch. Then the plan is marked, and the
/// rejected records are listed where a person finds them.
fn check_guards(
    job: &Job,
    store: &Store,
    plan: &Plan,
    records: &SplitRecords,
    figures: &Figures,
    allowed: &[Guard],
) -> Result<()> {
    let Err(refusal) = guards::check(&job.guards, figures, allowed) else { return Ok(()) };
    // The refusal matters more than what cannot be written. An epoch that is not marked is resumed,
    // and refused again.
    if let Err(error) = plan.mark_refused(store.root()) {
        tracing::warn!(%error, "cannot note the refusal");
    }
    let listed = if records.listed.lines > 0 { records.rejects.write_refused() } else { Ok(()) };
    if let Err(error) = &listed {
        tracing::warn!(%error, "cannot list the rejected records");
    }
    // The guard of rejected records has already named their list.
    let is_named = refusal.guard() == Some(Guard::Rejects.name());
    match is_named || listed.is_err() {
        true => Err(refusal),
        false => Err(refusal.and(&figures.rejects.listed())),
    }
}

/// The manifest that commits the epoch. The lists that it names are written.
fn manifest_of(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    plan: &Plan,
    records: &SplitRecords,
    tables: BTreeMap<String, TableState>,
    folded: u64,
) -> Result<Manifest> {
    let unexamined = head.map_or_else(BTreeMap::new, |head| head.manifest.unexamined.clone());
    let retention = splits::retention(plan, &plan.attempt(store.root()))?;
    let consumed = consumed(job, store, head, plan, retention, &records.finished)?;
    let rejects = (records.listed.lines > 0).then(|| records.rejects.store(store)).transpose()?;
    Ok(Manifest {
        format: manifest::FORMAT,
        store: store.uuid().to_owned(),
        version: plan.version,
        epoch: u64::from(plan.epoch),
        op: Op::Epoch,
        previous: plan.previous.clone(),
        plan: plan.digest.clone(),
        logical_time: plan.logical_time,
        decision: digest_of(&job.decision()),
        view: plan.view.clone(),
        decided_by: Some(job.decided_by()),
        tables,
        folded,
        unexamined: pivots::after(&unexamined, records.counters.unexamined_changes()),
        retention,
        sources: sources_after(sources(job, head, plan), plan, &records.counters),
        consumed,
        consumed_before: head.map_or_else(Vec::new, |head| head.manifest.consumed_before.clone()),
        rejects,
        counters: counts_by_name(records),
    })
}

/// The tables with this epoch's runs. Checks that every segment is there and has its size.
fn tables(
    store: &Store,
    head: Option<&Head>,
    plan: &Plan,
    receipts: &[Receipt],
) -> Result<BTreeMap<String, TableState>> {
    check_there(store, receipts)?;
    let mut runs: BTreeMap<&str, Run> = BTreeMap::new();
    for (name, segment) in receipts.iter().flat_map(|receipt| &receipt.segments) {
        let run =
            runs.entry(name).or_insert(Run { epoch: u64::from(plan.epoch), segments: Vec::new() });
        run.segments.push(segment.clone());
    }
    let mut tables = head.map_or_else(BTreeMap::new, |head| head.manifest.tables.clone());
    for (name, run) in runs {
        tables.entry(name.to_owned()).or_default().append(run)?;
    }
    Ok(tables)
}

/// Fails unless every segment is there and has its size.
fn check_there(store: &Store, receipts: &[Receipt]) -> Result<()> {
    for (name, segment) in receipts.iter().flat_map(|receipt| &receipt.segments) {
        let path = segment.path(&store.data().join(name));
        let bytes =
            path.metadata().map_err(|e| Error::io("find", &path, e).with_kind(Kind::Io))?.len();
        if bytes != segment.bytes {
            let line =
                format!("{}: {bytes} bytes, its receipt says {}", path.display(), segment.bytes);
            return Err(Error::new(Kind::Io, line));
        }
    }
    Ok(())
}

/// All sources, including the one that this epoch read.
fn sources(job: &Job, head: Option<&Head>, plan: &Plan) -> Vec<Source> {
    let mut sources = head.map_or_else(Vec::new, |head| head.manifest.sources.clone());
    if plan.inputs.is_empty() {
        return sources;
    }
    if usize::from(plan.source) == sources.len() {
        sources.push(Source::new(job.read.source.clone()));
    }
    sources[usize::from(plan.source)].snapshot.clone_from(&plan.snapshot);
    sources
}

/// `sources`, with a note for those whose last snapshot may have pages that went with this epoch,
/// though nobody said that they were removed. Nothing says which sources have a page.
fn sources_after(mut sources: Vec<Source>, plan: &Plan, counters: &Counters) -> Vec<Source> {
    let went = counters.get(Counter::PagesMissing) + counters.get(Counter::PagesExpired) > 0;
    for (number, source) in sources.iter_mut().enumerate() {
        let is_read = number == usize::from(plan.source) && !plan.inputs.is_empty();
        source.lost = !is_read && !source.snapshot.is_empty() && (source.lost || went);
    }
    sources
}

/// What all epochs took so far, including this one. Inputs that are left to a later epoch were not
/// read.
fn consumed(
    job: &Job,
    store: &Store,
    head: Option<&Head>,
    plan: &Plan,
    retention: Retention,
    finished: &Finished,
) -> Result<Vec<Consumed>> {
    let mut consumed = head.map_or_else(Vec::new, |head| head.manifest.consumed.clone());
    // Without inputs and without expiry the epoch changed no page, and a rebuild does not need it.
    if plan.inputs.is_empty() && retention == Retention::default() {
        return Ok(consumed);
    }
    let reading = Reading::of(job);
    let line = |(input, taken): (&Input, Taken)| ConsumedInput {
        input: input.clone(),
        taken,
        reading: reading.clone(),
    };
    let taken = finished.taken(plan)?;
    let of_bytes: BTreeMap<&str, Taken> =
        plan.inputs.iter().map(|input| input.digest.as_str()).zip(taken.iter().copied()).collect();
    let of_twin = |input: &Input| of_bytes.get(input.digest.as_str()).copied().unwrap_or_default();
    let is_left =
        |digest: &str| finished.left.iter().any(|&input| plan.inputs[input].digest == digest);
    let read = (0..)
        .zip(plan.inputs.iter().zip(taken))
        .filter(|(input, _)| !finished.left.contains(input));
    let read = read.map(|(_, input)| line(input));
    let (barren, read): (Vec<_>, Vec<_>) = read.partition(|line| line.taken.is_barren());
    // An input with the same bytes as one that is left was not read either.
    let same_bytes = plan
        .same_bytes
        .iter()
        .filter(|input| !is_left(&input.digest))
        .map(|input| line((input, of_twin(input))));
    let copies = same_bytes.chain(plan.renamed.iter().cloned());
    let (barren_too, copies): (Vec<_>, Vec<_>) = copies.partition(|line| line.taken.is_barren());
    let mut lines = String::new();
    for line in read.iter().chain(&barren).chain(&copies).chain(&barren_too) {
        let line = serde_json::to_string(line)
            .map_err(|e| Error::internal("cannot write an input").caused_by(e))?;
        lines.push_str(&line);
        lines.push('\n');
    }
    consumed.push(Consumed {
        epoch: plan.epoch.into(),
        logical_time: plan.logical_time,
        source: plan.source,
        complete: plan.complete,
        file: store.write_lines("consumed", &lines)?,
        read: read.len() as u64,
        barren: barren.len() as u64,
        idle: !read.is_empty() && read.iter().all(|line| line.taken.accepted == 0),
        retention,
        gone_min: plan.gone_min,
        undone: false,
    });
    Ok(consumed)
}
