//! Decides which inputs are due, from what the store has taken of each.
//!
//! An input is consumed if the last consumption of its path had the same bytes. The same bytes
//! under another path are another delivery and are read again: a page that was removed may come
//! back as it was. A renamed file is not read again. It is known by the bytes, size, time and inode
//! of a consumed file that is not at its consumed path any more.
//!
//! An input with rejected records and no accepted one is not consumed. Its bytes would again give
//! nothing, so it is due only when its bytes or the job's options of reading change.
//!
//! Other options of reading would give other records: other fields for inputs of rows, other limits
//! for inputs with rejected records. Nevertheless they do not make a consumed input due. What an
//! epoch reads wins over earlier epochs, so an old delivery would win over newer ones, and pages
//! that were removed or expired since would come back. Only a rebuild reads each input again in its
//! turn. A run reports that there are such inputs ([`History::read_otherwise`]).

use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::inputs::{self, Input, key_of, spelled, unspelled};
use crate::read;
use crate::store::consumed::Consumed;
use crate::store::lists::Lists;
use crate::store::manifest::Head;
use crate::store::{Store, digest_of};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// What became of the records of one input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Records that were accepted.
    pub accepted: u64,
    /// Records that were rejected.
    pub rejected: u64,
}

impl Taken {
    /// Adds what became of other records of the input.
    pub fn add(&mut self, other: Taken) {
        self.accepted += other.accepted;
        self.rejected += other.rejected;
    }

    /// Whether there were rejected records and no accepted ones, so that the input is not consumed.
    /// Sound records that are no pages do not count.
    pub fn is_barren(self) -> bool {
        self.accepted == 0 && self.rejected > 0
    }
}

/// Digests of the job's options of reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The digest of `[read.fields]`.
    pub fields: String,
    /// The digest of `[read.limits]`.
    pub limits: String,
}

impl Reading {
    /// The digests of the options of `job`.
    pub fn of(job: &Job) -> Reading {
        let digest = |options| digest_of(&options)[..16].to_owned();
        Reading { fields: digest(json!(job.read.fields)), limits: digest(json!(job.read.limits)) }
    }
}

/// An input that an epoch planned to read: a line of a list of consumed inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumedInput {
    /// The file.
    #[serde(flatten)]
    pub input: Input,
    /// What became of its records. If it was not read because another input had its bytes, what
    /// became of the records of that input.
    pub taken: Taken,
    /// How they were read.
    pub reading: Reading,
}

/// The inputs of one epoch. The first [`Consumed::read`] were read. The next [`Consumed::barren`]
/// were read, too, but without an accepted record. The others were not read.
fn list(store: &Store, lists: &mut Lists<'_>, consumed: &Consumed) -> Result<Vec<ConsumedInput>> {
    let lines = lists.read(&consumed.file)?;
    let input = |line: &str| {
        serde_json::from_str(line).map_err(|e| {
            Error::config(store.root(), "damaged list of consumed inputs").caused_by(e)
        })
    };
    lines.lines().map(input).collect()
}

/// The keys of the inputs that the source with this number has had, ascending, without those that a
/// rollback undid; `None` if the store has no other source. Pages of the source name one of them.
pub fn inputs_of(store: &Store, head: Option<&Head>, source: usize) -> Result<Option<Vec<u64>>> {
    let Some(manifest) = head.map(|head| &head.manifest) else { return Ok(None) };
    if (0..manifest.sources.len()).all(|other| other == source) {
        return Ok(None);
    }
    let (mut keys, mut lists) = (BTreeSet::new(), store.lists("consumed"));
    let is_its = |of: &&Consumed| usize::from(of.source) == source && !of.undone;
    for epoch in manifest.consumed.iter().filter(is_its) {
        let read = list(store, &mut lists, epoch)?.into_iter().take(epoch.read as usize);
        keys.extend(read.map(|line| line.input.key()));
    }
    Ok(Some(keys.into_iter().collect()))
}

/// Whether an input is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// It has new bytes.
    New,
    /// This epoch read its bytes with other options of reading, and accepted no record.
    ReadOtherwise(u64),
    /// It was consumed under another path: the line of its new path.
    Renamed(Box<ConsumedInput>),
    /// It is not due.
    No,
}

/// What one epoch took of a file.
pub struct Consumption {
    /// The epoch; `None` if a rollback undid it.
    pub epoch: Option<u64>,
    /// The line of the file in the list of the epoch.
    pub line: ConsumedInput,
}

/// What a rename keeps of a file.
#[derive(PartialEq, Eq, Hash)]
struct Renamed {
    bytes: u64,
    changed_ns: u64,
    inode: u64,
}

impl Renamed {
    fn of(input: &Input) -> Renamed {
        let Input { bytes, changed_ns, inode, .. } = *input;
        Renamed { bytes, changed_ns, inode }
    }
}

/// What the store has taken so far.
pub struct History {
    /// The last consumption of each path. Undone inputs stay consumed.
    by_path: BTreeMap<String, Consumption>,
    /// Consumptions of files whose paths were consumed with other bytes since, by their digests.
    /// Such a file may have been renamed.
    former: BTreeMap<String, Vec<Consumption>>,
    /// The paths by the digest of their bytes.
    by_digest: BTreeMap<String, Vec<String>>,
    /// The digests that were read by epochs that no rollback undid. The list of such an epoch may
    /// also have the line of a renamed file that only an undone epoch read.
    read: BTreeSet<String>,
    /// The first epoch that read each digest, of those that a rollback undid.
    undone: BTreeMap<String, u64>,
    reading: Reading,
}

impl History {
    /// The history of `head`, for a run of `job`.
    pub fn read(job: &Job, store: &Store, head: Option<&Head>) -> Result<History> {
        let mut by_path: BTreeMap<String, Consumption> = BTreeMap::new();
        let mut former: BTreeMap<String, Vec<Consumption>> = BTreeMap::new();
        let (mut read, mut undone) = (BTreeSet::new(), BTreeMap::new());
        let mut lists = store.lists("consumed");
        for taken in head.into_iter().flat_map(|head| &head.manifest.consumed) {
            let epoch = (!taken.undone).then_some(taken.epoch);
            for (at, line) in (0..).zip(list(store, &mut lists, taken)?) {
                match (at < taken.read + taken.barren, taken.undone) {
                    (true, false) => _ = read.insert(line.input.digest.clone()),
                    (true, true) => {
                        undone.entry(line.input.digest.clone()).or_insert(taken.epoch);
                    }
                    (false, _) => {}
                }
                let (path, digest) = (line.input.path.clone(), line.input.digest.clone());
                let before = by_path.insert(path, Consumption { epoch, line });
                if let Some(before) = before.filter(|last| last.line.input.digest != digest) {
                    former.entry(before.line.input.digest.clone()).or_default().push(before);
                }
            }
        }
        let mut by_digest: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, last) in &by_path {
            by_digest.entry(last.line.input.digest.clone()).or_default().push(path.clone());
        }
        Ok(History { by_path, former, by_digest, read, undone, reading: Reading::of(job) })
    }

    /// `input` with its digest. The file is read only if it does not look as it did when it was
    /// consumed.
    pub fn digested(&self, input: Input) -> Result<Input> {
        match self.by_path.get(&input.path).filter(|last| last.line.input.looks_like(&input)) {
            Some(last) => Ok(Input { digest: last.line.input.digest.clone(), ..input }),
            None => input.digest(),
        }
    }

    /// Whether `input` has the same size, times and inode as when it was consumed from this path.
    pub fn is_as_it_was(&self, input: &Input) -> bool {
        self.by_path.get(&input.path).is_some_and(|last| last.line.input.looks_like(input))
    }

    /// Whether the file at `path` was consumed, with whatever bytes.
    pub fn knows(&self, path: &Path) -> bool {
        self.by_path.contains_key(&spelled(path))
    }

    /// Whether `input`, which has its digest, is due.
    pub fn due(&self, input: &Input) -> Due {
        let at_path =
            self.by_path.get(&input.path).filter(|last| last.line.input.digest == input.digest);
        let Some(Consumption { epoch, line: last }) = at_path.or_else(|| self.renamed(input))
        else {
            return Due::New;
        };
        if let Some(epoch) = epoch
            && last.taken.is_barren()
            && last.reading != self.reading
        {
            return Due::ReadOtherwise(*epoch);
        }
        if last.input.path == input.path {
            return Due::No;
        }
        Due::Renamed(Box::new(ConsumedInput { input: input.clone(), ..last.clone() }))
    }

    /// The consumption of the file that `input` was before it was renamed.
    fn renamed(&self, input: &Input) -> Option<&Consumption> {
        // Lists of earlier builds have no inodes.
        let same_inode = |a: &Input, b: &Input| a.inode == b.inode || a.inode == 0;
        let same = |a: &Input, b: &Input| {
            (a.bytes, a.changed_ns) == (b.bytes, b.changed_ns) && same_inode(a, b)
        };
        let mut found = None;
        let former = self.former.get(&input.digest).into_iter().flatten();
        let now = self.by_digest.get(&input.digest).into_iter().flatten();
        for consumed in former.chain(now.map(|path| &self.by_path[path])) {
            let path = &consumed.line.input.path;
            // A file that has its former bytes again, after others, was delivered and not renamed.
            if *path == input.path || !same(&consumed.line.input, input) {
                continue;
            }
            let is_there = Input::stat(&unspelled(path)).is_ok_and(|now| same(&now, input));
            if is_there && !is_one_file(path, input) {
                return None;
            }
            found = Some(consumed);
        }
        found
    }

    /// The consumed inputs by what a rename keeps of a file.
    fn by_inode(&self) -> HashMap<Renamed, &ConsumedInput> {
        // Lists of earlier builds have no inodes, and inputs that gave nothing may be read again.
        let is_recognisable =
            |last: &&ConsumedInput| last.input.inode != 0 && !last.taken.is_barren();
        let all = self.former.values().flatten().chain(self.by_path.values());
        let consumed = all.map(|last| &last.line).filter(is_recognisable);
        consumed.map(|last| (Renamed::of(&last.input), last)).collect()
    }

    /// Recognises, without reading it, a file that was renamed since it was consumed.
    pub fn renames(&self) -> impl Fn(&Input) -> bool + '_ {
        let consumed = self.by_inode();
        move |input| {
            consumed.get(&Renamed::of(input)).is_some_and(|last| {
                let now = Input::stat(&unspelled(&last.input.path));
                !now.is_ok_and(|now| Renamed::of(&now) == Renamed::of(input))
                    || is_one_file(&last.input.path, input)
            })
        }
    }

    /// The keys of the consumed inputs that `job` names and that are there, by their paths and
    /// sizes. No file is read. A renamed file counts as being there.
    pub fn here(&self, job: &Job) -> Result<BTreeSet<u64>> {
        let renamed = self.by_inode();
        let mut here = BTreeSet::new();
        for path in inputs::find(&job.read.inputs)? {
            // A file that vanishes while the folder is listed does not count.
            let Ok(input) = Input::stat(&path) else { continue };
            let at_path = self.by_path.get(&input.path).map(|last| &last.line);
            let last = at_path
                .filter(|last| last.input.bytes == input.bytes)
                .or_else(|| renamed.get(&Renamed::of(&input)).copied());
            here.extend(last.map(|last| last.input.key()));
        }
        Ok(here)
    }

    /// Whether the pages of `input`, which has its digest, were taken by an epoch that no rollback
    /// undid, from this or another path.
    pub fn holds(&self, input: &Input) -> bool {
        self.read.contains(&input.digest)
    }

    /// The first epoch that read the bytes of `input`, which has its digest, and that a rollback
    /// undid.
    pub fn undone(&self, input: &Input) -> Option<u64> {
        self.undone.get(&input.digest).copied()
    }

    /// The last consumption of the bytes of `input`, which has its digest, from this or another
    /// path. A consumption that was not undone is preferred.
    pub fn consumption(&self, input: &Input) -> Option<&Consumption> {
        let of = |path: &String| {
            self.by_path.get(path).filter(|last| last.line.input.digest == input.digest)
        };
        let paths = || self.by_digest.get(&input.digest).into_iter().flatten();
        let all = || std::iter::once(&input.path).chain(paths()).filter_map(of);
        all().find(|found| found.epoch.is_some()).or_else(|| all().next())
    }

    /// Whether the job would read `input`, which was consumed as `last`, with other options than it
    /// was read with.
    pub fn is_read_otherwise(&self, last: &ConsumedInput, input: &Input) -> Result<bool> {
        let (then, now) = (&last.reading, &self.reading);
        if then == now {
            return Ok(false);
        }
        Ok(last.taken.is_barren()
            || then.limits != now.limits && last.taken.rejected > 0
            || then.fields != now.fields && read::has_rows(&input.file())?)
    }

    /// The first consumed input of `job` that the job would read with other options than it was
    /// read with. There may be others.
    pub fn read_otherwise(&self, job: &Job) -> Result<Option<String>> {
        let is_other = |Consumption { epoch, line: last }: &Consumption| {
            epoch.is_some() && !last.taken.is_barren() && last.reading != self.reading
        };
        if !self.by_path.values().any(is_other) {
            return Ok(None);
        }
        for path in inputs::find(&job.read.inputs)? {
            // A file that is gone or has changed meanwhile is not the consumed one.
            let Ok(input) = Input::stat(&path) else { continue };
            let found = self.by_path.get(&input.path).filter(|found| is_other(found));
            if let Some(last) = found.filter(|last| last.line.input.looks_like(&input))
                && self.is_read_otherwise(&last.line, &input).unwrap_or(false)
            {
                return Ok(Some(input.shown()));
            }
        }
        Ok(None)
    }

    /// The keys of consumed inputs that are gone: the file is not there, or has other bytes that
    /// were consumed since. A file that `job` no longer names counts as being there.
    pub fn gone(&self, job: &Job) -> Result<BTreeSet<u64>> {
        let here = self.here(job)?;
        let is_there = |last: &ConsumedInput| Input::stat(&last.input.file()).is_ok();
        let missing = self.by_path.values().filter(|Consumption { epoch, line: last }| {
            let (key, taken) = (last.input.key(), last.taken);
            epoch.is_some() && taken.accepted > 0 && !here.contains(&key) && !is_there(last)
        });
        let missing = missing.map(|last| last.line.input.key());
        let replaced = self.read.iter().filter(|digest| !self.by_digest.contains_key(*digest));
        let replaced = replaced.map(|digest| key_of(digest)).filter(|key| !here.contains(key));
        Ok(missing.chain(replaced).collect())
    }

    /// The inputs that are there, unchanged since they were read without an accepted record.
    pub fn barren(&self) -> Vec<Input> {
        let is_there =
            |input: &Input| Input::stat(&input.file()).is_ok_and(|now| now.looks_like(input));
        let barren = self
            .by_path
            .values()
            .filter(|last| last.line.taken.is_barren() && is_there(&last.line.input));
        barren.map(|last| last.line.input.clone()).collect()
    }
}

/// Whether the file at `path`, as a store spells it, is `input` by another path: through a link to
/// a folder, such as the folder of the job file.
fn is_one_file(path: &str, input: &Input) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let here = real(&input.file());
    here.is_some() && here == real(&unspelled(path))
}

/// The digest of a complete snapshot: of the bytes of its inputs, not of their names, and of how
/// they are read.
pub fn snapshot_of<'a>(reading: &Reading, inputs: impl IntoIterator<Item = &'a Input>) -> String {
    let digests: BTreeSet<&str> = inputs.into_iter().map(|input| input.digest.as_str()).collect();
    digest_of(&json!([digests, reading]))
}
