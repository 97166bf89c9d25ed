//! The manifest: an immutable JSON file that names everything in the store after one commit.
//!
//! Creating the manifest is the commit. Each manifest has the digest of its predecessor, so that
//! `verify` can check the whole chain.

use crate::candidates::pivots::BySignature;
use crate::error::{Error, Kind, Result};
use crate::store::consumed::{Consumed, Retention};
use crate::store::consumed_files::{self, ConsumedFile};
use crate::store::folder::entries;
use crate::store::lists::FileRef;
use crate::store::segment::SegmentRef;
use crate::store::table::MultisetHash;
use crate::store::{MOVE_AWAY, digest, digest_of, durable};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run: the changes that one epoch made in one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The epoch that wrote it.
    pub epoch: u64,
    /// One segment for each worker that had rows. Their ranges of keys are disjoint and ascend.
    pub segments: Vec<SegmentRef>,
}

/// A table: its runs and their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableState {
    /// The runs, oldest first.
    pub runs: Vec<Run>,
    /// The number of live rows.
    pub rows: u64,
    /// The multiset hash of the live rows.
    pub multiset: MultisetHash,
}

impl TableState {
    /// The segments of all runs.
    pub fn segments(&self) -> impl Iterator<Item = &SegmentRef> {
        self.runs.iter().flat_map(|run| &run.segments)
    }

    /// The size of all its files in bytes.
    pub fn bytes(&self) -> u64 {
        self.segments().map(|segment| segment.bytes).sum()
    }

    /// The table before `epoch`, without the run of that epoch. Runs of older epochs may have been
    /// merged since, which does not change their rows.
    pub fn before(&self, epoch: u64) -> Result<TableState> {
        let mut before = TableState::default();
        self.runs
            .iter()
            .filter(|run| run.epoch != epoch)
            .try_for_each(|run| before.append(run.clone()))?;
        Ok(before)
    }

    /// Appends a run and updates the sums.
    pub fn append(&mut self, run: Run) -> Result<()> {
        let (mut live, mut multiset) = (i128::from(self.rows), self.multiset);
        for segment in &run.segments {
            multiset = multiset.plus(segment.multiset);
            live += i128::from(segment.live);
        }
        self.rows =
            u64::try_from(live).map_err(|_| Error::internal("a table's rows do not add up"))?;
        self.multiset = multiset;
        if !run.segments.is_empty() {
            self.runs.push(run);
        }
        Ok(())
    }
}

/// A source of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name in the job.
    pub name: String,
    /// The digest of the inputs of its last complete snapshot, empty if there was none.
    pub snapshot: String,
    /// Whether pages went since then that this snapshot may have: they expired, or the snapshot of
    /// another source lacked them. It is read again though it is unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

impl Source {
    /// A source of which no complete snapshot was read.
    pub fn new(name: String) -> Source {
        Source { name, snapshot: String::new(), lost: false }
    }
}

/// The contents of a store after one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format, see [`FORMAT`].
    pub format: u32,
    /// The uuid of the store.
    pub store: String,
    /// The number of the commit, from 1.
    pub version: u64,
    /// The number of the epoch, from 1. A merge keeps the epoch of its predecessor.
    pub epoch: u64,
    /// What the commit did.
    pub op: Op,
    /// The digest of the manifest before, empty for the first.
    pub previous: String,
    /// The digest of the plan, by which a repeated commit is recognised.
    pub plan: String,
    /// The time of the plan, seconds since 1970.
    pub logical_time: i64,
    /// The digest of the decision configuration.
    pub decision: String,
    /// The digest of the view configuration.
    pub view: String,
    /// Both configurations, to say what differs. Manifests of earlier builds lack this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<serde_json::Value>,
    /// The tables by name.
    pub tables: BTreeMap<String, TableState>,
    /// The number of pages that fold into another.
    pub folded: u64,
    /// The pairs that the pivot rule leaves unexamined.
    #[serde(default)]
    pub unexamined: BySignature,
    /// The bounds by which this epoch let pages expire.
    pub retention: Retention,
    /// The sources of pages. The table `pages` refers to them by index.
    pub sources: Vec<Source>,
    /// What each epoch took, in the order of epochs, if it read inputs or could let pages expire.
    pub consumed: Vec<Consumed>,
    /// The first entries of `consumed`, which are in files of their own: see
    /// [`crate::store::consumed_files`].
    #[serde(default)]
    pub consumed_before: Vec<ConsumedFile>,
    /// The rejected records of this epoch.
    pub rejects: Option<FileRef>,
    /// The counts of this epoch, by name.
    pub counters: BTreeMap<String, u64>,
}

impl Manifest {
    /// A digest of the epoch and of what the tables hold, however their runs are merged. The number
    /// of an epoch does not name what was committed: after a backup is restored, or a damaged
    /// manifest is moved away, numbers come again. Two stores that were made alike have the same
    /// state.
    pub fn state(&self) -> String {
        let hashes = self.tables.iter().filter(|(_, table)| table.rows > 0);
        let hashes: Vec<_> = hashes.map(|(name, table)| (name, table.multiset)).collect();
        digest_of(&json!([self.epoch, self.logical_time, hashes]))
    }

    /// The epochs that read something and were not undone, ascending.
    pub fn reading(&self) -> impl Iterator<Item = u64> + '_ {
        let has_read = |of: &&Consumed| of.read > 0 && !of.idle && !of.undone;
        self.consumed.iter().filter(has_read).map(|of| of.epoch)
    }

    /// The segments of all tables, each with the name of its table.
    pub fn segments(&self) -> impl Iterator<Item = (&str, &SegmentRef)> {
        self.tables
            .iter()
            .flat_map(|(name, table)| table.segments().map(move |segment| (name.as_str(), segment)))
    }

    /// The names of the sources, by number.
    pub fn source_names(&self) -> Vec<&str> {
        self.sources.iter().map(|source| source.name.as_str()).collect()
    }
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// An epoch changed rows.
    Epoch,
    /// Runs were merged; the live rows are the same.
    Merge,
    /// The tables are those of an earlier epoch.
    Rollback,
}

/// A manifest and its digest.
#[derive(Clone, Debug)]
pub struct Head {
    /// The blake3 of the manifest's JSON, in hex.
    pub digest: String,
    /// The manifest.
    pub manifest: Manifest,
}

impl Head {
    /// The head of the store with this `uuid` before its first commit: no table has a row.
    pub fn before_the_first(uuid: &str) -> Head {
        let manifest = Manifest {
            format: FORMAT,
            store: uuid.to_owned(),
            version: 0,
            epoch: 0,
            op: Op::Epoch,
            previous: String::new(),
            plan: String::new(),
            logical_time: 0,
            decision: String::new(),
            view: String::new(),
            decided_by: None,
            tables: BTreeMap::new(),
            folded: 0,
            unexamined: BySignature::default(),
            retention: Retention::default(),
            sources: Vec::new(),
            consumed: Vec::new(),
            consumed_before: Vec::new(),
            rejects: None,
            counters: BTreeMap::new(),
        };
        Head { digest: String::new(), manifest }
    }
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    digest: String,
    #[serde(borrow)]
    manifest: &'a serde_json::value::RawValue,
}

/// The version of the store's format that this build writes and reads.
pub const FORMAT: u32 = 5;

/// What a manifest and the file `FORMAT` have in every format.
#[derive(Deserialize)]
pub(in crate::store) struct AnyFormat {
    pub(in crate::store) format: u32,
    /// The uuid of the store.
    pub(in crate::store) store: String,
}

/// The digest and the JSON of the manifest in `text`, in any format, or what is wrong with it.
pub(in crate::store) fn envelope(text: &[u8]) -> std::result::Result<(String, &str), String> {
    let Envelope { digest, manifest } = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    match digest::of_bytes(manifest.get().as_bytes()) == digest {
        true => Ok((digest, manifest.get())),
        false => Err("its digest does not match".into()),
    }
}

/// Fails unless `format`, as the file at `path` says, is [`FORMAT`].
pub fn check_format(path: &Path, format: u32) -> Result<()> {
    let remedy = match format.cmp(&FORMAT) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => {
            "`pagefold rebuild JOB` makes a new store of the inputs that it consumed"
        }
        std::cmp::Ordering::Greater => "a newer pagefold wrote it; use that one",
    };
    Err(Error::config(path, format!("format {format}, this build reads {FORMAT}; {remedy}")))
}

/// The path of the manifest of `version`.
pub fn path(root: &Path, version: u64) -> PathBuf {
    root.join("manifest").join(format!("{version:020}.json"))
}

/// The versions of all manifests of the store at `root`, ascending.
pub fn versions(root: &Path) -> Result<Vec<u64>> {
    let mut versions = Vec::new();
    for path in entries(&root.join("manifest"))? {
        let name = path.file_name().and_then(|name| name.to_str());
        let version =
            name.and_then(|name| name.strip_suffix(".json")).filter(|digits| digits.len() == 20);
        versions.extend(version.and_then(|digits| digits.parse::<u64>().ok()));
    }
    versions.sort_unstable();
    Ok(versions)
}

/// The latest manifest of the store at `root`, or none before the first commit.
///
/// # Errors
///
/// If the latest manifest is damaged. An older one is never used in its place.
pub fn head(root: &Path) -> Result<Option<Head>> {
    versions(root)?.last().map(|&version| read(root, version)).transpose()
}

/// The error for the manifest of `version` if it is damaged.
pub(in crate::store) fn damaged(root: &Path, version: u64, why: &str) -> Error {
    let (path, remedy) = (path(root, version), remedy(root, version));
    Error::new(Kind::Io, format!("{}: damaged manifest ({why}); {remedy}", path.display()))
}

/// What mends the store if the manifest of `version` is damaged.
fn remedy(root: &Path, version: u64) -> String {
    match versions(root).unwrap_or_default()[..] {
        [.., _, last] if last == version => {
            "put the file back from a copy, or move it away: the store then stands where it stood before, and the \
             next run reads again what came since; an index that is kept by `changes` then takes `members` afresh"
                .into()
        }
        [only] if only == version => {
            format!("put the file back from a copy, or {MOVE_AWAY}")
        }
        _ => {
            "put the file back from a copy; `rollback` and the history of pages need it, and runs do not"
                .into()
        }
    }
}

/// Reads the manifest of `version` and checks its digest.
pub fn read(root: &Path, version: u64) -> Result<Head> {
    read_since(FORMAT, root, version)
}

/// Like [`read`], for the formats from `oldest` on. The tables of an older format cannot be read.
pub(in crate::store) fn read_since(oldest: u32, root: &Path, version: u64) -> Result<Head> {
    let text = bytes(root, version)?;
    let Head { digest, mut manifest } = parse_since(oldest, root, version, &text)?;
    consumed_files::read_back(root, &mut manifest.consumed, &manifest.consumed_before)?;
    Ok(Head { digest, manifest })
}

/// The bytes of the manifest of `version`, which may be damaged.
pub fn bytes(root: &Path, version: u64) -> Result<Vec<u8>> {
    let path = path(root, version);
    std::fs::read(&path).map_err(|e| Error::io("read", &path, e).with_kind(Kind::Io))
}

/// The manifest of `version`, whose file has the bytes `text`, and its digest. Its `consumed` has
/// only the entries that the manifest has itself: see [`consumed_files::read_back`].
///
/// # Errors
///
/// Of kind `Io` if the manifest is damaged.
pub fn parse(root: &Path, version: u64, text: &[u8]) -> Result<Head> {
    parse_since(FORMAT, root, version, text)
}

fn parse_since(oldest: u32, root: &Path, version: u64, text: &[u8]) -> Result<Head> {
    let damaged = |why: String| damaged(root, version, &why);
    let (digest, body) = envelope(text).map_err(damaged)?;
    let AnyFormat { format, .. } =
        serde_json::from_str(body).map_err(|e| damaged(e.to_string()))?;
    if !(oldest..=FORMAT).contains(&format) {
        check_format(&path(root, version), format)?;
    }
    let manifest: Manifest = serde_json::from_str(body).map_err(|e| damaged(e.to_string()))?;
    match manifest.version == version {
        true => Ok(Head { digest, manifest }),
        false => Err(damaged(format!("it says version {}", manifest.version))),
    }
}

/// Commits `manifest` by creating its file. It is a success if the same commit exists already.
///
/// # Errors
///
/// `TryAgain` if another run committed this version.
pub fn commit(root: &Path, manifest: &Manifest) -> Result<Head> {
    let mut manifest = manifest.clone();
    let before =
        consumed_files::write_out(root, &mut manifest.consumed, &mut manifest.consumed_before)?;
    let consumed = manifest.consumed.split_off(before);
    let own = Manifest { consumed: consumed.clone(), ..manifest.clone() };
    manifest.consumed.extend(consumed);
    let body = serde_json::to_string(&own)
        .map_err(|e| Error::internal("cannot write a manifest").caused_by(e))?;
    let digest = digest::of_bytes(body.as_bytes());
    let raw = serde_json::value::RawValue::from_string(body)
        .map_err(|e| Error::internal("cannot write a manifest").caused_by(e))?;
    let text = serde_json::to_vec(&Envelope { digest: digest.clone(), manifest: &raw })
        .map_err(|e| Error::internal("cannot write a manifest").caused_by(e))?;
    let path = path(root, manifest.version);
    durable::create_folder(&root.join("manifest"))?;
    if !durable::create_new(&path, &text)? {
        let other = read(root, manifest.version)?;
        if other.manifest.plan != manifest.plan || other.manifest.tables != manifest.tables {
            let line = format!("{}: another run committed first; run again", path.display());
            return Err(Error::new(Kind::TryAgain, line));
        }
        return Ok(other);
    }
    Ok(Head { digest, manifest })
}

#[cfg(test)]
pub(in crate::store) mod tests {
    use super::*;
    use crate::store::Store;
    use serde_json::json;
    use std::collections::BTreeSet;

    /// The manifest of an empty store.
    pub fn empty(store: &Store) -> Manifest {
        serde_json::from_value(serde_json::json!({
            "format": FORMAT, "store": store.uuid(), "version": 1, "epoch": 1, "op": "epoch", "previous": "", "plan": "",
            "logical_time": 0, "decision": "", "view": "", "tables": {}, "folded": 0,
            "retention": Retention::default(), "sources": [], "consumed": [], "rejects": null, "counters": {},
        }))
        .expect("a manifest")
    }

    /// An entry: `epoch` took the inputs of the list `file`.
    pub fn consumed(epoch: u64, file: FileRef) -> Consumed {
        let retention = Retention::default();
        let read = file.lines;
        Consumed {
            epoch,
            logical_time: 0,
            source: 0,
            complete: false,
            file,
            read,
            barren: 0,
            idle: false,
            retention,
            gone_min: 0,
            undone: false,
        }
    }

    /// A manifest and the number of files that each plan read grew with every epoch. After many
    /// epochs both are small, every entry still has its list, and a rollback that changes old
    /// entries is committed like any other.
    #[test]
    fn manifests_stay_small() {
        // In memory where the system allows, as hundreds of commits wait for thousands of fsyncs.
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.expect("a folder");
        let store = Store::open_or_create(folder.path(), &json!({})).expect("made");
        let mut last = empty(&store);
        let mut head: Option<Head> = None;
        let list = |epoch: u64| format!("{{\"input\":{epoch}}}\n").repeat(epoch as usize % 3);
        for epoch in 1..=700 {
            let file = store.write_lines("consumed", &list(epoch)).expect("written");
            last.consumed.push(consumed(epoch, file));
            (last.version, last.epoch) = (epoch, epoch);
            last.previous = head.map_or(String::new(), |head| head.digest);
            let committed = commit(store.root(), &last).expect("committed");
            let read = read(store.root(), epoch).expect("readable");
            assert_eq!((&read.manifest, &read.digest), (&committed.manifest, &committed.digest));
            last = read.manifest.clone();
            head = Some(read);
        }
        let bytes = path(store.root(), 700).metadata().expect("there").len();
        let files: BTreeSet<&String> =
            last.consumed.iter().map(|entry| &entry.file.digest).collect();
        println!("{bytes} bytes, {} files", files.len() + last.consumed_before.len());
        assert!(
            last.consumed_before.len() < 8 && files.len() < 2 * consumed_files::ENTRIES + 8,
            "{}",
            files.len()
        );
        assert!(bytes < 60_000, "{bytes} bytes");
        let epochs: Vec<u64> = last.consumed.iter().map(|entry| entry.epoch).collect();
        assert_eq!(epochs, (1..=700).collect::<Vec<u64>>());
        for entry in &last.consumed {
            assert_eq!(
                store.read_lines("consumed", &entry.file).expect("readable"),
                list(entry.epoch)
            );
        }
        last.consumed[300].undone = true;
        (last.version, last.previous) = (701, head.expect("committed").digest);
        commit(store.root(), &last).expect("committed");
        let read = read(store.root(), 701).expect("readable").manifest;
        assert!(read.consumed[300].undone && read.consumed.len() == 700);
        assert_eq!(
            store.read_lines("consumed", &read.consumed[601].file).expect("readable"),
            list(602)
        );
    }
}
