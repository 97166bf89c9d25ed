//! Finds the inputs that are filtered: the files that the job names, if the store has read their
//! bytes.

use crate::error::{Error, Kind, Result};
use crate::job::Job;
use crate::plan::consumed::{Consumption, History};
use crate::plan::examine::Passed;
use crate::plan::inputs::{self, Input};
use crate::read;
use crate::store::Store;
use crate::store::manifest::{self, Head};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// A file that is filtered.
#[derive(Clone, Debug)]
pub struct Original {
    /// The file, with its digest.
    pub input: Input,
    /// Its path below the folder that all inputs lie in.
    pub name: PathBuf,
    /// Whether an earlier file has the same bytes. If files are equal, the records of the first one
    /// by path hold.
    pub is_copy: bool,
    /// The source that it was read for.
    pub source: String,
    /// The number of its records that were rejected then; `None` if it gave no page, so that none
    /// can be lost.
    pub rejected: Option<u64>,
}

/// The files that are filtered, and those beside them.
#[derive(Debug, Default)]
pub struct Originals {
    /// The files that are filtered.
    pub files: Vec<Original>,
    /// Files in the folders of the job that a run passes by, because they are no crawl.
    pub passed: Vec<Passed>,
}

/// The files that `job` names now.
///
/// # Errors
///
/// `NoInput` for a file whose bytes the store has not read, has read only in an epoch that a
/// rollback undid, or would read with other options now.
pub fn originals(job: &Job, store: &Store, head: &Head) -> Result<Originals> {
    let history = History::read(job, store, Some(head))?;
    let root = job.inputs_root();
    let mut digests = BTreeSet::new();
    let mut originals = Originals::default();
    for path in inputs::find(&job.read.inputs)? {
        let input = Input::stat(&path)?;
        if !history.is_as_it_was(&input)
            && let Some(what) = read::companion(&path, input.bytes)?
        {
            originals.passed.push(Passed { path: input.shown(), what });
            continue;
        }
        let input = history.digested(input)?;
        let unread = |why: &str| {
            let line =
                format!("{}: {why}; `pagefold run JOB` reads it, then filter again", input.shown());
            Error::new(Kind::NoInput, line)
        };
        let Some(Consumption { epoch, line: last }) = history.consumption(&input) else {
            return Err(unread("is new, or changed since the store read it"));
        };
        if !history.holds(&input) {
            return Err(of_undone_epoch(store, &input, history.undone(&input)));
        }
        if history.is_read_otherwise(last, &input)? {
            let why = "was read with other [read.fields] or [read.limits]";
            if last.taken.is_barren() {
                return Err(unread(why));
            }
            let line = format!(
                "{}: {why}; put them back, or let `pagefold rebuild JOB` read it again",
                input.shown()
            );
            return Err(Error::new(Kind::NoInput, line));
        }
        let consumed =
            head.manifest.consumed.iter().find(|consumed| Some(consumed.epoch) == *epoch);
        let source =
            consumed.and_then(|consumed| head.manifest.sources.get(usize::from(consumed.source)));
        originals.files.push(Original {
            name: below(&root, &path),
            is_copy: !digests.insert(input.digest.clone()),
            source: source.map_or_else(String::new, |source| source.name.clone()),
            rejected: (!last.taken.is_barren()).then_some(last.taken.rejected),
            input,
        });
    }
    if originals.files.is_empty() {
        return Err(inputs::none_found(&job.read.inputs));
    }
    Ok(originals)
}

/// The error for `input`, of which `epoch` took the pages until a rollback undid it.
fn of_undone_epoch(store: &Store, input: &Input, epoch: Option<u64>) -> Error {
    let by = epoch.map_or_else(|| "an epoch".into(), |epoch| format!("epoch {epoch}"));
    let before =
        epoch.map(|epoch| epoch.saturating_sub(1)).filter(|before| is_kept(store, *before));
    let rollback = match before {
        Some(before) => format!("`pagefold rollback JOB {before} --forget-inputs`"),
        None => "`pagefold rollback JOB EPOCH --forget-inputs`, with an epoch before that,".into(),
    };
    let line = format!(
        "{}: was read by {by}, which a rollback undid, so the store has none of its pages; name other \
         [read] inputs, or let {rollback} and a run read it again",
        input.shown()
    );
    Error::new(Kind::NoInput, line)
}

/// Whether the store still has a manifest of `epoch`.
fn is_kept(store: &Store, epoch: u64) -> bool {
    let versions = manifest::versions(store.root()).unwrap_or_default();
    let mut kept = versions.iter().filter_map(|of| manifest::read(store.root(), *of).ok());
    kept.any(|head| head.manifest.epoch == epoch)
}

/// `path` relative to the folder `root`. A path outside of it, by a link, keeps all its folders.
fn below(root: &Path, path: &Path) -> PathBuf {
    let rest = path.strip_prefix(root).unwrap_or(path);
    rest.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}
