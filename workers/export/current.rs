//! Tells whether the output folder has the results of the head.
//!
//! The store notes what it exported into which folder. The results cannot say from which store they
//! are, because two stores of the same pages must give the same bytes. By the note, results of
//! another store, of a store that a rebuild replaced, or with other settings are never taken for
//! those of the head.

use crate::error::{Error, Result};
use crate::job::Job;
use crate::store::manifest::Head;
use crate::store::{Store, digest, digest_of, durable};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// What was exported into one folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// The folder, relative to the store, so that both may be moved together.
    dir: PathBuf,
    /// The state of the store: see [`crate::store::manifest::Manifest::state`]. A merge after the
    /// export changes no result. Notes of older builds do not say it.
    #[serde(default)]
    state: String,
    /// The digest of the job's settings that results depend on.
    settings: String,
    /// The digest of the summary.
    summary: String,
    /// The sizes of the other files, by name.
    files: BTreeMap<String, u64>,
}

/// The path of the note about the folder `dir`, and the path of that folder relative to the store.
fn place(store: &Store, dir: &Path) -> Result<(PathBuf, PathBuf)> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| Error::io("find", path, e));
    let dir = seen_from(&absolute(store.root())?, &absolute(dir)?);
    let name = &digest::of_bytes(dir.as_os_str().as_encoded_bytes())[..16];
    Ok((store.root().join("exported").join(format!("{name}.json")), dir))
}

/// The relative path from the folder `from` to `to`; both are absolute.
pub fn seen_from(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

fn settings(job: &Job) -> String {
    let output = &job.output;
    digest_of(&json!([
        job.view(),
        output.formats,
        output.tables,
        output.refused_similarity_min,
        job.clusters.pages_warn
    ]))
}

fn size(path: &Path) -> Result<u64> {
    Ok(path.metadata().map_err(|e| Error::io("find", path, e))?.len())
}

/// Forgets what was exported into the job's folder, before its files are replaced.
pub fn forget(job: &Job, store: &Store) -> Result<()> {
    let (path, _) = place(store, &job.output.dir)?;
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", &path, e)),
        _ => Ok(()),
    }
}

/// Notes that the job's folder has the results of `head`: `files` and the summary `text`.
pub fn note(
    job: &Job,
    store: &Store,
    head: &Head,
    files: &BTreeMap<String, String>,
    text: &[u8],
) -> Result<()> {
    let (path, dir) = place(store, &job.output.dir)?;
    let sizes = files.keys().map(|name| Ok((name.clone(), size(&job.output.dir.join(name))?)));
    let note = Note {
        state: head.manifest.state(),
        settings: settings(job),
        summary: digest::of_bytes(text),
        files: sizes.collect::<Result<_>>()?,
        dir,
    };
    durable::create_folder(&store.root().join("exported"))?;
    let text = serde_json::to_vec(&note)
        .map_err(|e| Error::internal("cannot write a note").caused_by(e))?;
    durable::write(&path, &text)
}

/// Whether the job's output folder has the results of `head` under the job's settings.
pub fn is_current(job: &Job, store: &Store, head: &Head) -> bool {
    let Ok((path, dir)) = place(store, &job.output.dir) else { return false };
    let note = std::fs::read(path).ok().and_then(|text| serde_json::from_slice::<Note>(&text).ok());
    let Some(note) = note else { return false };
    let is_whole = |(name, bytes): (&String, &u64)| {
        size(&job.output.dir.join(name)).is_ok_and(|now| now == *bytes)
    };
    (note.state, &note.dir, note.settings) == (head.manifest.state(), &dir, settings(job))
        && std::fs::read(job.output.dir.join("summary.json"))
            .is_ok_and(|text| digest::of_bytes(&text) == note.summary)
        && note.files.iter().all(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of results is named by its path relative to the store, so that a project may be
    /// moved.
    #[test]
    fn seen_from_the_store() {
        let seen = |from, to| seen_from(Path::new(from), Path::new(to));
        assert_eq!(seen("/a/store", "/a/out"), Path::new("../out"));
        assert_eq!(seen("/b/c/store", "/b/c/out"), Path::new("../out"));
        assert_eq!(seen("/a/store", "/b"), Path::new("../../b"));
        assert_eq!(seen("/a", "/a/out"), Path::new("out"));
    }
}
