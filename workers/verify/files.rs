//! Checks the files of a store.
//!
//! A quick look checks the chain of manifests, and that every file of the head exists and has its
//! size. A full look also checks the blake3 of every file, the order of rows, and all counts and
//! multiset hashes; and those of the files that only earlier manifests name, to which a rollback
//! may return.

use crate::error::{Error, Kind, Result};
use crate::store::Store;
use crate::store::consumed_files::FilesReader;
use crate::store::digest;
use crate::store::lists::FileRef;
use crate::store::manifest::{self, Head, Manifest, TableState};
use crate::store::segment::{Segment, SegmentRef};
use crate::store::table::{MultisetHash, Row};
use crate::tables::dispatch::{OnTable, on_table};
use crate::verify::findings::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How often the check begins again with a newer head.
const HEADS_MAX: usize = 4;

/// What is read of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Their sizes.
    Sizes,
    /// Every byte that a manifest refers to.
    Bytes,
}

/// Checks the store's files.
///
/// # Errors
///
/// `TryAgain` if what is missing may have been removed because epochs were committed meanwhile.
pub fn verify(store: &Store, depth: Depth) -> Result<Report> {
    for _ in 0..HEADS_MAX {
        let before = head_digest(store);
        let report = of_head(store, depth);
        // Garbage collection removes the files of a head that is not the last any more.
        if report.as_ref().is_ok_and(|report| report.findings.is_empty())
            || head_digest(store) == before
        {
            return report;
        }
    }
    let why = "epochs were committed, and files of earlier ones removed, while they were read";
    Err(Error::new(Kind::TryAgain, format!("{}: {why}; try again", store.root().display())))
}

/// The digest of the head; `None` if there is no head or it cannot be read.
fn head_digest(store: &Store) -> Option<String> {
    store.head().ok().flatten().map(|head| head.digest)
}

fn of_head(store: &Store, depth: Depth) -> Result<Report> {
    let mut report = Report::default();
    let Some((head, earlier)) = chain(store, &mut report)? else { return Ok(report) };
    report.head = Some(head.clone());
    let before = report.findings.len();
    for (name, table) in &head.manifest.tables {
        let folder = store.data().join(name);
        for segment in table.segments() {
            let path = segment.path(&folder);
            if present(&path, segment.bytes, &mut report) && depth == Depth::Bytes {
                check_segment(name, &folder, &path, segment, &mut report)?;
            }
        }
        if let Err(what) = sums(table) {
            report.find(
                &manifest::path(store.root(), head.manifest.version),
                format!("table {name}: {what}"),
            );
        }
    }
    let lists: BTreeMap<_, _> = lists(&head.manifest).collect();
    for ((kind, _), file) in lists {
        check_lines(&store.data().join(kind), file, depth, &mut report)?;
    }
    report.head_is_whole = report.findings.len() == before;
    if depth == Depth::Bytes {
        check_earlier(store, &head.manifest, &earlier, &mut report)?;
    }
    Ok(report)
}

/// Checks the segments and lists that manifests before the head name and it does not. Files that
/// are gone are not reported, because a rollback reports them itself.
fn check_earlier(
    store: &Store,
    head: &Manifest,
    earlier: &[Manifest],
    report: &mut Report,
) -> Result<()> {
    let mut checked: BTreeSet<(&str, &str)> = segments(head).map(|(key, _)| key).collect();
    for ((name, digest), segment) in earlier.iter().flat_map(segments) {
        let folder = store.data().join(name);
        let path = segment.path(&folder);
        if checked.insert((name, digest)) {
            unless_gone(&path, report, |report| {
                report.files += 1;
                check_segment(name, &folder, &path, segment, report)
            })?;
        }
    }
    let mut checked: BTreeSet<(&str, &str)> = lists(head).map(|(key, _)| key).collect();
    for ((kind, digest), file) in earlier.iter().flat_map(lists) {
        if checked.insert((kind, digest)) {
            unless_gone(&store.lines_path(kind, file), report, |report| {
                check_lines(&store.data().join(kind), file, Depth::Bytes, report)
            })?;
        }
    }
    Ok(())
}

/// Checks the file at `path` by `check`, unless it is gone: garbage collection may delete it before
/// the check and during it.
fn unless_gone(
    path: &Path,
    report: &mut Report,
    check: impl FnOnce(&mut Report) -> Result<()>,
) -> Result<()> {
    if is_gone(path) {
        return Ok(());
    }
    let (files, found) = (report.files, report.findings.len());
    let checked = check(report);
    if is_gone(path) {
        report.files = files;
        report.findings.truncate(found);
        return Ok(());
    }
    checked
}

/// Whether there is no file at `path`. A file that cannot be looked for is not gone.
fn is_gone(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// The lists of a manifest, by kind and digest. Several entries may have parts of one file.
fn lists(manifest: &Manifest) -> impl Iterator<Item = ((&str, &str), &FileRef)> {
    let rejects = manifest.rejects.iter().map(|file| ("rejects", file));
    let consumed = manifest.consumed.iter().map(|consumed| &consumed.file);
    let consumed = consumed.chain(manifest.consumed_before.iter().map(|older| &older.file));
    let consumed = consumed.map(|file| ("consumed", file));
    consumed.chain(rejects).map(|(kind, file)| ((kind, file.digest.as_str()), file))
}

/// The segments of a manifest, by table and digest.
fn segments(manifest: &Manifest) -> impl Iterator<Item = ((&str, &str), &SegmentRef)> {
    manifest.segments().map(|(name, segment)| ((name, segment.digest.as_str()), segment))
}

/// Reads the head, and all manifests before it that still exist. Each must be readable and name its
/// predecessor's digest, and none may be missing between two others.
fn chain(store: &Store, report: &mut Report) -> Result<Option<(Head, Vec<Manifest>)>> {
    let head = match store.head() {
        Ok(None) => return Ok(None),
        Ok(Some(head)) => head,
        Err(error) => {
            report.files += 1;
            let version = manifest::versions(store.root())?.last().copied();
            let path = version.map(|version| manifest::path(store.root(), version));
            report.find(&path.unwrap_or_else(|| store.root().join("manifest")), error.to_string());
            return Ok(None);
        }
    };
    report.files += 1;
    let versions = manifest::versions(store.root())?;
    let earlier = earlier(store, &head.manifest, &versions, report);
    Ok(Some((head, earlier)))
}

/// The manifests before `head` of the listed `versions`, checked as [`chain`] says. Loads once what
/// several manifests share. Garbage collection may have deleted a manifest since it was listed. It
/// deletes the oldest first, so a manifest that is gone is missing only if an older one is there.
fn earlier(store: &Store, head: &Manifest, versions: &[u64], report: &mut Report) -> Vec<Manifest> {
    let (mut earlier, mut reader) = (Vec::new(), FilesReader::default());
    // The version and digest that the manifest before must have; the digest is not known where the
    // manifest after it is damaged or missing.
    let mut next = head.version;
    let mut expected = Some(head.previous.clone());
    for version in versions.iter().rev().copied().filter(|version| *version < head.version) {
        let path = manifest::path(store.root(), version);
        let found = manifest::bytes(store.root(), version)
            .and_then(|text| manifest::parse(store.root(), version, &text))
            .and_then(|mut head| reader.read_back(store.root(), &mut head.manifest).map(|()| head));
        if found.is_err() && is_gone(&path) {
            continue;
        }
        report.files += 1;
        if version + 1 < next {
            let first = manifest::path(store.root(), version + 1);
            report.find(&first, format!("manifests {} to {} are missing", version + 1, next - 1));
            expected = None;
        }
        next = version;
        match found {
            Ok(Head { digest, manifest }) => {
                if expected.is_some_and(|expected| expected != digest) {
                    report.find(&path, "its successor names another digest");
                }
                expected = Some(manifest.previous.clone());
                earlier.push(manifest);
            }
            Err(error) => {
                report.find(&path, error.to_string());
                expected = None;
            }
        }
    }
    earlier
}

fn present(path: &Path, bytes: u64, report: &mut Report) -> bool {
    report.files += 1;
    match path.metadata() {
        Ok(metadata) if metadata.len() == bytes => return true,
        Ok(metadata) => {
            report.find(path, format!("{} bytes, the manifest says {bytes}", metadata.len()))
        }
        Err(error) => report.find(path, error.to_string()),
    }
    false
}

/// Checks that the table's number of rows and multiset hash are those of its segments.
fn sums(table: &TableState) -> std::result::Result<(), String> {
    let mut again = TableState::default();
    for run in &table.runs {
        again.append(run.clone()).map_err(|e| e.to_string())?;
    }
    match (again.rows, again.multiset) == (table.rows, table.multiset) {
        true => Ok(()),
        false => {
            Err(format!("{} rows by its segments, the manifest says {}", again.rows, table.rows))
        }
    }
}

fn digest(path: &Path, report: &mut Report) -> Result<String> {
    let digest = digest::of_file(path)?;
    report.bytes += path.metadata().map_or(0, |metadata| metadata.len());
    Ok(digest)
}

fn check_lines(folder: &Path, file: &FileRef, depth: Depth, report: &mut Report) -> Result<()> {
    let path = folder.join(format!("{}.jsonl", file.digest));
    if present(&path, file.bytes, report)
        && depth == Depth::Bytes
        && digest(&path, report)? != file.digest
    {
        report.find(&path, "its bytes are not those of its digest");
    }
    Ok(())
}

fn check_segment(
    name: &str,
    folder: &Path,
    path: &Path,
    segment: &SegmentRef,
    report: &mut Report,
) -> Result<()> {
    if digest(path, report)? != segment.digest {
        report.find(path, "its bytes are not those of its digest");
        return Ok(());
    }
    let unknown = || Err("of a table that this build does not know".into());
    let rows = on_table(name, Rows { folder, segment }).unwrap_or_else(unknown);
    if let Err(what) = rows {
        report.find(path, what);
    }
    Ok(())
}

/// Checks that the rows of a segment ascend and have the sums that the manifest states.
struct Rows<'a> {
    folder: &'a Path,
    segment: &'a SegmentRef,
}

impl OnTable for Rows<'_> {
    type Outcome = std::result::Result<(), String>;

    fn on<R: Row>(self) -> Self::Outcome {
        let mapped = Segment::<R>::open(self.folder, self.segment).map_err(|e| e.to_string())?;
        let (mut live, mut multiset, mut scratch) = (0, MultisetHash::default(), Vec::new());
        let mut last: Option<R> = None;
        for position in 0..mapped.len() {
            let row = mapped.row(position);
            if last.as_ref().is_some_and(|last| *last >= row) {
                return Err(format!("row {position} is out of order"));
            }
            live += i64::from(row.diff());
            multiset.add(&row, &mut scratch);
            last = Some(row);
        }
        match (live, multiset) == (self.segment.live, self.segment.multiset) {
            true => Ok(()),
            false => Err("its rows are not those that the manifest remembers".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Manifests that garbage collection deleted after they were listed were reported as damage. A
    /// manifest that is missing between two others still is a finding.
    #[test]
    fn a_manifest_that_is_collected_is_no_finding() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_or_create(folder.path(), &serde_json::json!({})).expect("made");
        let mut head = Head::before_the_first(store.uuid());
        for version in 1..=4 {
            let next = Manifest {
                version,
                epoch: version,
                previous: head.digest.clone(),
                ..head.manifest.clone()
            };
            head = manifest::commit(store.root(), &next).expect("committed");
        }
        let find = || {
            let mut report = Report::default();
            let read = earlier(&store, &head.manifest, &[1, 2, 3, 4], &mut report);
            (read.len(), report.findings)
        };
        let remove = |version| {
            let path = manifest::path(store.root(), version);
            let text = std::fs::read(&path).expect("there");
            std::fs::remove_file(&path).expect("removed");
            (path, text)
        };
        assert_eq!(find(), (3, vec![]));
        let (first, text) = remove(1);
        assert_eq!(find(), (2, vec![]));
        remove(2);
        assert_eq!(find(), (1, vec![]));
        std::fs::write(first, text).expect("written");
        let (read, findings) = find();
        assert_eq!((read, findings.len()), (2, 1));
        assert_eq!(findings[0].what, "manifests 2 to 2 are missing");
    }
}
