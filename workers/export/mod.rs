//! Exports the head of a store as the tables that people read, and `summary.json` with their
//! digests.
//!
//! The tables are members, redirects, pairs, clusters, changes and rejects, as JSON lines and
//! Parquet. An export depends on the store and the job's view only, and is streamed in portions.
//! Each file is written under a temporary name and then renamed, the summary last. Then the store
//! notes what the folder has.

mod changes;
mod clusters;
mod column_encoder;
pub(crate) mod current;
pub(crate) mod encoder;
mod gone;
mod large;
mod little;
mod members;
pub mod ours;
mod pairs;
pub(crate) mod row_type;
mod rows;
pub(crate) mod sink;
mod summary;
pub(crate) mod tables;
mod transitions;

use crate::error::{Error, Kind, Result};
use crate::export::changes::Span;
pub use crate::export::current::is_current;
pub use crate::export::large::{LargeCluster, LargeClusters, PairCount, Spread};
pub use crate::export::little::{LittleText, LittleTexts};
use crate::export::row_type::ExportRow;
use crate::export::rows::{Change, Cluster, Member, Pair, Redirect};
use crate::export::sink::{Place, Sink};
pub use crate::export::summary::{Exported, Summary};
use crate::export::tables::{States, Tables};
use crate::job::{Job, Results, When};
use crate::keep::KeepRule;
use crate::store::damage;
use crate::store::digest::{self, HashingFile};
use crate::store::fsyncs::Fsyncs;
use crate::store::manifest::{self, Head, Manifest, Op, TableState};
use crate::store::segment::SegmentRef;
use crate::store::table::Row;
use crate::store::{Lock, Store, digest_of, durable, entries};
use crate::tables::pages::has_expired;
use crate::tables::{ContentRow, PageRow, PairRow};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::thread;

/// The name of the changes of several epochs.
const CHANGES_SINCE: &str = "changes_since";

/// A table of each export, and what is done with it before it is written.
struct TableFiles {
    name: &'static str,
    check_place: fn(&str, &Place<'_>) -> Result<()>,
    remove_others: fn(&str, &Place<'_>) -> Result<()>,
}

impl TableFiles {
    const fn of<R: ExportRow>() -> TableFiles {
        TableFiles {
            name: R::NAME,
            check_place: sink::check_place::<R>,
            remove_others: sink::remove_others::<R>,
        }
    }
}

/// The tables of each export.
const TABLES: [TableFiles; 5] = [
    TableFiles::of::<Member>(),
    TableFiles::of::<Redirect>(),
    TableFiles::of::<Pair>(),
    TableFiles::of::<Cluster>(),
    TableFiles::of::<Change>(),
];

/// Exports the head of `store` to the job's output folder.
pub fn export(job: &Job, store: &Store, head: &Head) -> Result<Exported> {
    let place = place(job, Some(head));
    check_place(job, Some(head))?;
    let _lock = lock(place.dir)?;
    sweep(place.dir);
    current::forget(job, store)?;
    if let Some(former) = job.output.results() {
        replace_summary(&former, head.manifest.epoch).map_err(Error::as_output)?;
    }
    remove_others(&place).map_err(Error::as_output)?;
    let states = &head.manifest.tables;
    let tables = Tables::open(store, states)?;
    let rule = KeepRule::new(&job.keep, &head.manifest.source_names());
    let is_expired = |page: &PageRow| has_expired(page, head.manifest.retention);
    // The tables are independent of each other, so each has a thread.
    let (members, pairs, clusters, changes) = thread::scope(|scope| {
        let pairs = scope.spawn(|| pairs::write(&tables, &rule, &place));
        let clusters = scope.spawn(|| clusters::write(&tables, job.clusters.pages_warn, &place));
        let changes = scope.spawn(|| {
            let (since, before) = before(store, head)?;
            let span = Span { since, epoch: epoch_of(head) };
            let sink = Sink::create(Change::NAME, &place)?;
            changes::write(store, (&before, states), span, &is_expired, sink)
                .map(|(_, files)| (since, files))
        });
        let members = members::write(&tables, &job.clusters, &head.manifest.sources, &place)
            .map_err(Error::as_output);
        (members, joined(pairs.join()), joined(clusters.join()), joined(changes.join()))
    });
    let (folds, little, mut files) = members?;
    let (pairs, pair_files) = pairs?;
    let clusters = clusters?;
    files.extend(pair_files);
    files.extend(clusters.files);
    let (since, change_files) = changes?;
    files.extend(change_files);
    files.push(rejects(store, head, place.dir)?);
    let summary = Summary {
        epoch: head.manifest.epoch,
        since,
        view: digest_of(&job.view()),
        pages: folds.pages,
        contents: head.manifest.tables.get(ContentRow::NAME).map_or(0, |table| table.rows),
        clusters: clusters.clusters,
        kept: folds.kept,
        folded_identical: folds.identical,
        folded_near: folds.near,
        dead_links: folds.gone,
        pairs,
        unexamined: head.manifest.unexamined.clone(),
        large: clusters.large,
        little,
        counters: head.manifest.counters.clone(),
        files: files.into_iter().collect(),
    };
    let mut text = serde_json::to_vec_pretty(&summary)
        .map_err(|e| Error::internal("cannot write a summary").caused_by(e))?;
    text.push(b'\n');
    durable::write(&place.dir.join("summary.json"), &text).map_err(Error::as_output)?;
    current::note(job, store, head, &summary.files, &text)?;
    Ok(Exported { summary, largest: clusters.largest })
}

fn place<'a>(job: &'a Job, head: Option<&Head>) -> Place<'a> {
    let rows =
        |name| head.and_then(|head| head.manifest.tables.get(name)).map_or(0, |table| table.rows);
    // Each pair is stored under both contents.
    let (pages, pairs) = (rows(PageRow::NAME), rows(PairRow::NAME) / 2);
    Place { dir: &job.output.dir, output: &job.output, pages, pairs }
}

/// Creates the folder `dir`, and locks it: exports of two stores at the same time would remove each
/// other's files, and mix their tables below one summary.
fn lock(dir: &Path) -> Result<Lock> {
    durable::create_folder(dir).map_err(Error::as_output)?;
    Lock::of_folder(dir).map_err(Error::as_output)?.ok_or_else(|| {
        let dir = dir.display();
        Error::new(
            Kind::TryAgain,
            format!("{dir}: another store is exported there now; name another [output] dir"),
        )
    })
}

/// Removes the summary of an earlier export of this `epoch`, before the files that it names are
/// removed or replaced: an interrupted export must not leave a folder that says that it is
/// complete. The summary of another epoch says that the folder is not that of the head, and stays.
/// Warns of one of a later epoch.
fn replace_summary(former: &Results, epoch: u64) -> Result<()> {
    let Results { summary, epoch: exported_epoch, .. } = former;
    let dir = durable::folder_of(summary);
    if *exported_epoch > epoch {
        tracing::warn!(
            "{} has results of the later epoch {exported_epoch}, which epoch {epoch} replaces: the store was \
             rolled back or restored, so who follows `changes` must load `members` anew",
            dir.display()
        );
    }
    if *exported_epoch != epoch {
        return Ok(());
    }
    std::fs::remove_file(summary).map_err(|e| Error::io("remove", summary, e))?;
    durable::sync_folder(dir)
}

/// Removes the tables of earlier exports in forms that are not written now.
fn remove_others(place: &Place<'_>) -> Result<()> {
    TABLES.iter().try_for_each(|table| (table.remove_others)(table.name, place))
}

/// Fails if the export of `job` would replace a file that somebody else wrote. Call it before the
/// work, because a commit that cannot be exported is of no use. `head` is the head of the store at
/// that time.
pub fn check_place(job: &Job, head: Option<&Head>) -> Result<()> {
    ours::check_beside(&job.output.dir)?;
    let place = place(job, head);
    TABLES.iter().try_for_each(|table| (table.check_place)(table.name, &place))
}

/// Fails if a run of `job` would replace a file that somebody else wrote, by its export or, without
/// one, by what each run writes.
pub fn check_place_of_run(job: &Job) -> Result<()> {
    match job.output.export {
        When::Always => check_place(job, None),
        When::OnDemand => ours::check_beside(&job.output.dir),
    }
}

/// The bytes that are written to try a folder: a block on most disks.
const TRIED_BYTES: usize = 4 << 10;

/// Fails if no file can be written in the folder of results. Call it before the work, like
/// [`check_place`].
pub fn check_writable(job: &Job) -> Result<()> {
    let dir = &job.output.dir;
    let missing: Vec<&Path> = dir.ancestors().take_while(|folder| !folder.exists()).collect();
    let tried = || {
        durable::create_folder(dir)?;
        let (mut file, path) = durable::create_aside(&dir.join(format!("run.{}", durable::tag())))?;
        let written = file.write_all(&[0; TRIED_BYTES]);
        // If the removal fails, the next run removes the file.
        let _ = std::fs::remove_file(&path);
        written.map_err(|e| Error::io("write", &path, e))
    };
    let tried = tried();
    // A run that commits nothing must not leave a folder of results.
    missing.into_iter().for_each(|folder| _ = std::fs::remove_dir(folder));
    tried
        .map_err(|error| error.as_output().and("; nothing was done yet, name another [output] dir"))
}

/// Writes what changed in all epochs after `since`, as one step from its members to those of
/// `head`: `changes_since`, beside the other tables. Returns the number of rows.
///
/// # Errors
///
/// `Usage` if the store has no state of that epoch any more.
pub fn since(job: &Job, store: &Store, head: &Head, since: u32) -> Result<u64> {
    let place = place(job, Some(head));
    sink::check_place::<Change>(CHANGES_SINCE, &place)?;
    let before = states_at(store, head, since)?;
    let _lock = lock(place.dir)?;
    sweep(place.dir);
    sink::remove_others::<Change>(CHANGES_SINCE, &place).map_err(Error::as_output)?;
    let is_expired = |page: &PageRow| has_expired(page, head.manifest.retention);
    let sink = Sink::create(CHANGES_SINCE, &place).map_err(Error::as_output)?;
    let span = Span { since, epoch: epoch_of(head) };
    let (rows, _) =
        changes::write(store, (&before, &head.manifest.tables), span, &is_expired, sink)
            .map_err(Error::as_output)?;
    Ok(rows)
}

/// The tables after `epoch`. Epoch 0 is before the first one. If there is no commit of an epoch,
/// because a rebuild skipped an epoch that changed no page, the tables are those of the epoch
/// before it, unless a rollback undid it.
fn states_at(store: &Store, head: &Head, epoch: u32) -> Result<States> {
    let usage = |line: String| Error::new(Kind::Usage, format!("--since {epoch}: {line}"));
    if epoch > epoch_of(head) {
        return Err(usage(format!("the store is at epoch {}", head.manifest.epoch)));
    }
    if epoch == 0 {
        return Ok(States::new());
    }
    let mut first = None;
    for version in manifest::versions(store.root())?.into_iter().rev() {
        let manifest = manifest::read(store.root(), version)?.manifest;
        // If an epoch has several commits, the last one is found first. Its runs are merged.
        if manifest.epoch == u64::from(epoch) {
            return Ok(manifest.tables);
        }
        if manifest.epoch < u64::from(epoch) {
            return match was_undone(head, epoch) {
                true => Err(usage(
                    "a rollback undid that epoch, and a rebuild did not make it again; take \
                     `members` afresh"
                        .into(),
                )),
                false => Ok(manifest.tables),
            };
        }
        first = Some(manifest.epoch);
    }
    let first = first.unwrap_or(head.manifest.epoch);
    Err(usage(format!(
        "no such state is kept, the first is of epoch {first}; empty your index, then --since 0 \
         gives all pages as new"
    )))
}

/// Whether a rollback undid what `epoch` took.
fn was_undone(head: &Head, epoch: u32) -> bool {
    let consumed = &head.manifest.consumed;
    consumed.iter().any(|consumed| consumed.epoch == u64::from(epoch) && consumed.undone)
}

/// The epoch of `head`.
fn epoch_of(head: &Head) -> u32 {
    u32::try_from(head.manifest.epoch).unwrap_or(u32::MAX)
}

/// The epoch before the head's, and its tables.
fn before(store: &Store, head: &Head) -> Result<(u32, States)> {
    let since = epoch_of(head) - 1;
    // A rollback adds no run, and no run follows it under the same epoch.
    if head.manifest.op == Op::Rollback {
        let version = head.manifest.version - 1;
        let undone = if manifest::path(store.root(), version).exists() {
            undone(store, head, version)
        } else {
            Err(Error::new(Kind::Io, "its manifest was deleted"))
        };
        match undone {
            // A rebuilt store does not have the epochs that were undone.
            Ok(before) => return Ok((epoch_of(&before), before.manifest.tables)),
            // Damage is a reason to roll back, so it must not end every export after the rollback.
            Err(error) => tracing::warn!(
                %error,
                "`changes` is empty, as the epoch before the rollback cannot be read: take all of \
                 `members` once"
            ),
        }
        return Ok((since, head.manifest.tables.clone()));
    }
    let before = |(name, table): (&String, &TableState)| {
        Ok((name.clone(), table.before(head.manifest.epoch)?))
    };
    Ok((since, head.manifest.tables.iter().map(before).collect::<Result<_>>()?))
}

/// The head that a rollback undid, if every byte that only this head has is sound.
fn undone(store: &Store, head: &Head, version: u64) -> Result<Head> {
    let undone = manifest::read(store.root(), version)?;
    let paths = |manifest: &Manifest| {
        let of_segment = |(name, segment): (&str, &SegmentRef)| {
            (segment.path(&store.data().join(name)), segment.digest.clone())
        };
        manifest.segments().map(of_segment).collect::<BTreeMap<_, _>>()
    };
    let kept = paths(&head.manifest);
    for (path, digest) in paths(&undone.manifest) {
        if !kept.contains_key(&path) {
            digest::check(&path, &digest)?;
        }
    }
    Ok(undone)
}

fn joined<T>(outcome: thread::Result<Result<T>>) -> Result<T> {
    match outcome {
        Ok(written) => written.map_err(Error::as_output),
        Err(payload) => Err(damage::of_thread(payload, "an export")),
    }
}

/// The bytes of bad records that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Copies the list of bad records, which may be larger than memory.
fn rejects(store: &Store, head: &Head, dir: &Path) -> Result<(String, String)> {
    let name = "rejects.jsonl";
    let lines =
        head.manifest.rejects.as_ref().map(|file| store.open_lines("rejects", file)).transpose()?;
    let stem = dir.join(format!("rejects.{}", durable::tag()));
    let mut copy = HashingFile::create(&stem, COPY_BYTES).map_err(Error::as_output)?;
    if let Some(mut lines) = lines {
        io::copy(&mut lines, &mut copy)
            .map_err(|e| Error::io("write", copy.path(), e).as_output())?;
    }
    let (digest, _) =
        copy.place(&Fsyncs::default(), |_| dir.join(name)).map_err(Error::as_output)?;
    Ok((name.into(), digest))
}

/// Removes the temporary files of interrupted exports from `dir`. Errors are ignored: these files
/// are never read.
pub fn sweep(dir: &Path) {
    let tables = || TABLES.iter().map(|table| table.name).chain([CHANGES_SINCE]);
    let is_ours = |name: &str| {
        name.ends_with(".writing")
            && (tables().any(|table| sink::is_aside(table, name))
                || ["rejects.", "summary.", "run."].iter().any(|stem| name.starts_with(stem)))
    };
    for path in entries(dir).into_iter().flatten() {
        if path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours) {
            let _ = std::fs::remove_file(&path);
        }
    }
}
