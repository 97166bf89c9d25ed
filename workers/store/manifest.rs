//! The manifest: one immutable JSON file that says what the store holds. Creating it is the commit. Each names its predecessor's
//! digest, so the chain proves itself.

use crate::candidates::pivots::BySignature;
use crate::error::{Error, Kind, Result};
use crate::store::durable;
use crate::store::segment::SegmentRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run: what one epoch changed in one table, range-disjoint segments in key order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The epoch that wrote it.
    pub epoch: u64,
    /// One segment for each worker that had rows.
    pub segments: Vec<SegmentRef>,
}

/// A table: its runs, oldest first, and what they sum to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableState {
    /// The runs.
    pub runs: Vec<Run>,
    /// Live rows.
    pub rows: u64,
    /// Multiset hash of the live rows, in hex.
    pub multiset: String,
}

impl TableState {
    /// The segments of all runs.
    pub fn segments(&self) -> impl Iterator<Item = &SegmentRef> {
        self.runs.iter().flat_map(|run| &run.segments)
    }

    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.segments().map(|segment| segment.bytes).sum()
    }

    /// The table before `epoch`: without the runs that it wrote, whose sums are taken back. Runs of older epochs may have been merged
    /// since, which is the same rows.
    pub fn before(&self, epoch: u64) -> Result<TableState> {
        let mut before = TableState::default();
        self.runs.iter().filter(|run| run.epoch != epoch).try_for_each(|run| before.append(run.clone()))?;
        Ok(before)
    }

    /// Appends a run and brings the sums up to date.
    pub fn append(&mut self, run: Run) -> Result<()> {
        let mut hash = parse_hash(&self.multiset)?;
        let mut live = i128::from(self.rows);
        for segment in &run.segments {
            hash = hash.wrapping_add(parse_hash(&segment.multiset)?);
            live += i128::from(segment.live);
        }
        self.rows = u64::try_from(live).map_err(|_| Error::internal("a table's rows do not add up"))?;
        self.multiset = format!("{hash:032x}");
        if !run.segments.is_empty() {
            self.runs.push(run);
        }
        Ok(())
    }
}

fn parse_hash(hex: &str) -> Result<u128> {
    if hex.is_empty() {
        return Ok(0);
    }
    u128::from_str_radix(hex, 16).map_err(|e| Error::internal("a multiset hash is no hexadecimal number").caused_by(e))
}

/// A file of lines under `data/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// blake3, in hex; the file is `data/<kind>/<digest>.jsonl`.
    pub digest: String,
    /// Size.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

/// What one epoch consumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumed {
    /// The epoch.
    pub epoch: u64,
    /// Its frozen time, seconds since 1970.
    pub logical_time: i64,
    /// Number of the source in [`Manifest::sources`].
    pub source: u16,
    /// Whether it was all there is of the source.
    pub complete: bool,
    /// The inputs, a line each.
    pub file: FileRef,
    /// Whether a rollback took back what came of it.
    pub undone: bool,
}

/// Somewhere pages come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The job's name for it.
    pub name: String,
    /// Digest of the inputs of its last complete snapshot, empty for none.
    pub snapshot: String,
}

/// What pages must have been seen by to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// The least epoch that must have seen a page.
    pub epoch_min: u32,
    /// The least time at which it must have been seen, seconds since 1970.
    pub time_min: i64,
}

impl Default for Retention {
    /// Everything stays.
    fn default() -> Retention {
        Retention { epoch_min: 0, time_min: i64::MIN }
    }
}

/// What a store holds after one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// The store's uuid.
    pub store: String,
    /// Counts commits.
    pub version: u64,
    /// Counts epochs.
    pub epoch: u64,
    /// What was committed.
    pub op: Op,
    /// Digest of the manifest before, empty for the first.
    pub previous: String,
    /// Digest of the plan; the idempotence key.
    pub plan: String,
    /// The plan's frozen time, seconds since 1970.
    pub logical_time: i64,
    /// Digest of the decision configuration.
    pub decision: String,
    /// Digest of the view configuration.
    pub view: String,
    /// The tables by name.
    pub tables: BTreeMap<String, TableState>,
    /// Pages that fold into another.
    pub folded: u64,
    /// What the pivot rule leaves unexamined.
    #[serde(default)]
    pub unexamined: BySignature,
    /// What this epoch let pages expire by.
    pub retention: Retention,
    /// Where pages came from; a page remembers the number.
    pub sources: Vec<Source>,
    /// What was consumed, epoch by epoch.
    pub consumed: Vec<Consumed>,
    /// This epoch's rejected records.
    pub rejects: Option<FileRef>,
    /// Counts of this epoch, by name.
    pub counters: BTreeMap<String, u64>,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Brought the answer up to date.
    Epoch,
    /// Merged runs; the answer is the same.
    Merge,
    /// Went back to an earlier epoch.
    Rollback,
}

/// A manifest and the digest of its text.
#[derive(Clone, Debug)]
pub struct Head {
    /// blake3 of the manifest's JSON, in hex.
    pub digest: String,
    /// The manifest.
    pub manifest: Manifest,
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    digest: String,
    #[serde(borrow)]
    manifest: &'a serde_json::value::RawValue,
}

/// The version of the manifest's format that this build writes and reads.
pub const FORMAT: u32 = 2;

/// Where the manifest of `version` lies.
pub fn path(root: &Path, version: u64) -> PathBuf {
    root.join("manifest").join(format!("{version:020}.json"))
}

/// The versions of which the store at `root` has manifests, ascending.
pub fn versions(root: &Path) -> Result<Vec<u64>> {
    let folder = root.join("manifest");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("list", &folder, e)),
    };
    let mut versions = Vec::new();
    for entry in entries {
        let name = entry.map_err(|e| Error::io("list", &folder, e))?.file_name();
        let version = name.to_str().and_then(|name| name.strip_suffix(".json")).filter(|digits| digits.len() == 20);
        versions.extend(version.and_then(|digits| digits.parse::<u64>().ok()));
    }
    versions.sort_unstable();
    Ok(versions)
}

/// The latest manifest of the store at `root`; none before the first commit.
///
/// # Errors
///
/// A damaged manifest stops the run; an older one is never taken in its stead.
pub fn head(root: &Path) -> Result<Option<Head>> {
    versions(root)?.last().map(|&version| read(root, version)).transpose()
}

/// The manifest of `version`, its digest checked.
pub fn read(root: &Path, version: u64) -> Result<Head> {
    let path = path(root, version);
    let text = std::fs::read(&path).map_err(|e| Error::io("read", &path, e).with_kind(Kind::Io))?;
    let damaged = |why: String| {
        Error::new(Kind::Io, format!("{}: damaged manifest ({why}); run `pagefold verify`", path.display()))
    };
    let envelope: Envelope<'_> = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    let body = envelope.manifest.get();
    if blake3::hash(body.as_bytes()).to_hex().as_str() != envelope.digest {
        return Err(damaged("its digest does not match".into()));
    }
    let manifest: Manifest = serde_json::from_str(body).map_err(|e| damaged(e.to_string()))?;
    if manifest.format != FORMAT {
        let line = format!("{}: format {}, this build reads {FORMAT}", path.display(), manifest.format);
        return Err(Error::new(Kind::Config, line));
    }
    if manifest.version != version {
        return Err(damaged(format!("it says version {}", manifest.version)));
    }
    Ok(Head { digest: envelope.digest, manifest })
}

/// Commits `manifest`: creates its file, which makes everything it names visible at once. To find the very same commit there
/// already is success.
///
/// # Errors
///
/// `TryAgain` if another run committed this version.
pub fn commit(root: &Path, manifest: &Manifest) -> Result<Head> {
    let body = serde_json::to_string(manifest).map_err(|e| Error::internal("cannot write a manifest").caused_by(e))?;
    let digest = blake3::hash(body.as_bytes()).to_hex().to_string();
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
    Ok(Head { digest, manifest: manifest.clone() })
}
