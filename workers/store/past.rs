//! What a store has taken in the past, according to its manifests, in this format or in an older
//! one.
//!
//! A rebuild takes the same again. Nothing else is read of an older format, so that any store can
//! be brought up to date while its inputs exist.

use crate::error::Result;
use crate::store::consumed::{Consumed, Retention};
use crate::store::lists::FileRef;
use crate::store::manifest::Manifest;
use crate::store::{digest, manifest};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a store has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// The uuid of the store.
    pub store: String,
    /// The epoch of the head.
    pub epoch: u64,
    /// The logical time of the head.
    pub logical_time: i64,
    /// What each epoch took, ascending.
    pub steps: Vec<Step>,
}

/// What one epoch took, see [`Consumed`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The epoch.
    pub epoch: u64,
    /// The time of its plan.
    pub logical_time: i64,
    /// The name of the source; `None` if the format did not have sources.
    pub source: Option<String>,
    /// Whether the inputs were a complete snapshot of the source.
    pub complete: bool,
    /// The list of inputs; `None` if the epoch only let pages expire.
    pub file: Option<FileRef>,
    /// The number of its first lines that were read; `None` if the format did not say.
    pub read: Option<u64>,
    /// The number of lines after them that were read and of which nothing was accepted.
    pub barren: u64,
    /// When pages expired; `None` if that is not known any more.
    pub retention: Option<Retention>,
    /// Pages that had been gone since before this time were forgotten; `None` if the format did not
    /// say.
    pub gone_min: Option<i64>,
    /// Whether a rollback undid the epoch.
    pub undone: bool,
}

/// The oldest format whose manifests are like those of this one.
const LIKE_THIS: u32 = 3;

/// The parts of a manifest of any format that matter here.
#[derive(Deserialize)]
struct AnyManifest<'a> {
    format: u32,
    store: String,
    epoch: u64,
    #[serde(default)]
    op: String,
    logical_time: i64,
    #[serde(borrow)]
    tables: &'a RawValue,
    retention: Option<Retention>,
    #[serde(default)]
    sources: Vec<AnySource>,
    consumed: Vec<AnyConsumed>,
}

#[derive(Deserialize)]
struct AnySource {
    name: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnyConsumed {
    /// Format 2.
    Epoch(AnyEpoch),
    /// Format 1: each epoch read.
    File(FileRef),
}

#[derive(Deserialize)]
struct AnyEpoch {
    epoch: u64,
    logical_time: i64,
    source: usize,
    complete: bool,
    file: FileRef,
    #[serde(default)]
    undone: bool,
}

/// The past of the store at `root`; `None` before its first commit.
pub fn read(root: &Path) -> Result<Option<Past>> {
    let versions = manifest::versions(root)?;
    let Some(&last) = versions.last() else {
        return crate::store::check_manifests(root).map(|()| None);
    };
    let text = manifest::bytes(root, last)?;
    let head = parsed(root, last, &text)?;
    if head.format >= LIKE_THIS {
        let head = manifest::read_since(LIKE_THIS, root, last)?;
        return Ok(Some(of_this_format(head.manifest)));
    }
    let mut steps = Vec::new();
    for (at, consumed) in head.consumed.iter().enumerate() {
        steps.push(match consumed {
            AnyConsumed::File(file) => Step {
                epoch: at as u64 + 1,
                logical_time: head.logical_time,
                source: None,
                complete: false,
                file: Some(file.clone()),
                read: None,
                barren: 0,
                retention: None,
                gone_min: None,
                undone: false,
            },
            AnyConsumed::Epoch(of) => Step {
                epoch: of.epoch,
                logical_time: of.logical_time,
                source: head.sources.get(of.source).map(|source| source.name.clone()),
                complete: of.complete,
                file: (of.file.lines > 0).then(|| of.file.clone()),
                read: None,
                barren: 0,
                retention: None,
                gone_min: None,
                undone: of.undone,
            },
        });
    }
    let steps = completed(root, &versions, steps)?;
    Ok(Some(Past { store: head.store, epoch: head.epoch, logical_time: head.logical_time, steps }))
}

/// The past according to a manifest that is like those of this format.
fn of_this_format(head: Manifest) -> Past {
    let step = |of: Consumed| Step {
        epoch: of.epoch,
        logical_time: of.logical_time,
        source: head.sources.get(usize::from(of.source)).map(|source| source.name.clone()),
        complete: of.complete,
        file: (of.file.lines > 0).then_some(of.file),
        read: Some(of.read),
        barren: of.barren,
        retention: Some(of.retention),
        gone_min: Some(of.gone_min),
        undone: of.undone,
    };
    let steps = head.consumed.into_iter().map(step).collect();
    Past { store: head.store, epoch: head.epoch, logical_time: head.logical_time, steps }
}

/// Completes `steps`. Up to format 2 a head did not have the bounds of expiry, nor the epochs that
/// only let pages expire. The manifests of the epochs have them, as far as they exist.
fn completed(root: &Path, versions: &[u64], steps: Vec<Step>) -> Result<Vec<Step>> {
    let mut all: BTreeMap<u64, Step> = steps.into_iter().map(|step| (step.epoch, step)).collect();
    // Each epoch, with the place in this list of the epoch that it built on.
    let mut lineage: Vec<(u64, Option<usize>)> = Vec::new();
    // The place of the last epoch after each commit, by the digest of the tables.
    let mut states: Vec<(String, Option<usize>)> = Vec::new();
    let mut last = None;
    for &version in versions {
        let text = manifest::bytes(root, version)?;
        let manifest = parsed(root, version, &text)?;
        let tables = digest::of_bytes(manifest.tables.get().as_bytes());
        match manifest.op.as_str() {
            "merge" => {}
            "rollback" => {
                let target = states.iter().rev().find(|(state, _)| *state == tables);
                last = target.and_then(|(_, last)| *last);
            }
            _ => {
                lineage.push((manifest.epoch, last));
                last = Some(lineage.len() - 1);
            }
        }
        states.push((tables, last));
        if manifest.op == "rollback" || manifest.op == "merge" {
            continue;
        }
        let known = all.entry(manifest.epoch).or_insert(Step {
            epoch: manifest.epoch,
            logical_time: manifest.logical_time,
            source: None,
            complete: false,
            file: None,
            read: Some(0),
            barren: 0,
            retention: None,
            gone_min: None,
            undone: false,
        });
        known.logical_time = manifest.logical_time;
        known.retention = manifest.retention;
    }
    // The epochs that the store builds on.
    let mut live = BTreeSet::new();
    while let Some((epoch, before)) = last.map(|at| lineage[at]) {
        live.insert(epoch);
        last = before;
    }
    // An epoch that read nothing and could let no page expire changed no page.
    let expires =
        |step: &Step| step.retention.is_some_and(|retention| retention != Retention::default());
    Ok(all
        .into_values()
        .filter(|step| step.file.is_some() || live.contains(&step.epoch) && expires(step))
        .collect())
}

fn parsed<'a>(root: &Path, version: u64, text: &'a [u8]) -> Result<AnyManifest<'a>> {
    let damaged = |why: String| manifest::damaged(root, version, &why);
    let (_, body) = manifest::envelope(text).map_err(damaged)?;
    serde_json::from_str(body).map_err(|e| damaged(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"digest":"d","bytes":9,"lines":2}"#;

    /// Writes a manifest of these fields.
    fn put(root: &Path, version: u64, body: &str) {
        let body = format!("{{\"format\":1,\"store\":\"s\",\"version\":{version},{body}}}");
        let text =
            format!("{{\"digest\":\"{}\",\"manifest\":{body}}}", digest::of_bytes(body.as_bytes()));
        std::fs::create_dir_all(root.join("manifest")).expect("made");
        std::fs::write(manifest::path(root, version), text).expect("written");
    }

    fn summary(past: &Past) -> Vec<(u64, i64, bool, bool, Option<i64>)> {
        let of_step = |t: &Step| {
            (t.epoch, t.logical_time, t.file.is_some(), t.undone, t.retention.map(|r| r.time_min))
        };
        past.steps.iter().map(of_step).collect()
    }

    /// A store of an older format could only be deleted. What its epochs took is read: from format
    /// 1, which had lists of inputs alone, and from format 2, whose bounds of expiry are in the
    /// manifests of the epochs. Epochs that a rollback undid and that read nothing are left out.
    #[test]
    fn older_formats_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        put(
            folder.path(),
            1,
            &format!(
                r#""epoch":1,"op":"ingest","logical_time":5,"tables":{{}},"consumed":[{FILE}]"#
            ),
        );
        let past = read(folder.path()).expect("readable").expect("committed");
        assert_eq!((past.epoch, summary(&past)), (1, vec![(1, 5, true, false, None)]));

        let retention =
            |time_min: i64| format!(r#""retention":{{"epoch_min":0,"time_min":{time_min}}}"#);
        let consumed = |epoch: u64, undone: bool| {
            format!(
                r#"{{"epoch":{epoch},"logical_time":7,"source":0,"complete":false,"file":{FILE},"undone":{undone}}}"#
            )
        };
        let sources = r#""sources":[{"name":"crawl","snapshot":""}]"#;
        let first = consumed(1, false);
        let commits = [
            ("epoch", 1, 7, 1, first.clone()),
            ("epoch", 2, 8, 2, first.clone()),
            ("epoch", 3, 9, 3, format!("{first},{}", consumed(3, false))),
            ("epoch", 4, 10, 4, format!("{first},{}", consumed(3, false))),
            ("rollback", 5, 8, 2, format!("{first},{}", consumed(3, true))),
        ];
        for (op, epoch, time, tables, consumed) in commits {
            let body = format!(
                r#""epoch":{epoch},"op":"{op}","logical_time":{time},"tables":{{"t":{tables}}},{},{sources},"consumed":[{consumed}]"#,
                retention(time - 100)
            );
            put(folder.path(), epoch, &body);
        }
        let past = read(folder.path()).expect("readable").expect("committed");
        assert_eq!(past.steps[0].source.as_deref(), Some("crawl"));
        let expected = vec![
            (1, 7, true, false, Some(-93)),
            (2, 8, false, false, Some(-92)),
            (3, 9, true, true, Some(-91)),
        ];
        assert_eq!((past.epoch, summary(&past)), (5, expected));
    }
}
