//! Says what became of a page over the epochs whose commits are kept.

use crate::ask::tables::time;
use crate::error::Result;
use crate::id::Id;
use crate::store::Store;
use crate::store::column::KeyRange;
use crate::store::manifest::{self, Manifest, Op};
use crate::store::open::OpenSegments;
use crate::store::table::Row;
use crate::tables::snapshot::Snapshot;
use crate::tables::{ClusterRow, ComponentRow, LeaderRow, PageRow, UrlRow};
use serde::Serialize;
use std::path::Path;

/// The most commits that are read, from the last one back.
pub const COMMITS_MAX: usize = 64;

/// A commit that changed something about a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The epoch.
    pub epoch: u64,
    /// The time of its plan.
    pub time: Option<String>,
    /// `there` in the first kept epoch; otherwise `new`, `changed`, `moved` to another cluster or
    /// representative, or `gone`.
    pub what: &'static str,
    /// The content of the page.
    pub content: Option<String>,
    /// The page that represented it.
    pub representative: Option<String>,
}

/// What one commit says about a page.
#[derive(Clone, PartialEq, Eq)]
struct State {
    content: Id,
    representative: Id,
    url: String,
}

/// The steps of the page `doc` in the last kept epochs.
pub fn history(store: &Store, doc: Id) -> Result<Vec<Step>> {
    let versions = manifest::versions(store.root())?;
    let open = OpenSegments::default();
    let (mut steps, mut before): (Vec<Step>, Option<State>) = (Vec::new(), None);
    let mut is_first = true;
    for version in &versions[versions.len().saturating_sub(COMMITS_MAX)..] {
        // A merge changes no row. If it is the first that is kept, it has the rows of its epoch.
        let committed = of_commit(store.root(), *version, |manifest| match manifest.op {
            Op::Merge if !is_first => Ok(None),
            _ => Ok(Some((state(store, &open, &manifest, doc)?, manifest))),
        })?;
        let Some((now, manifest)) = committed.flatten() else { continue };
        let what = match (&before, &now) {
            (before, now) if before == now => None,
            // Before the first kept epoch the page may have been there.
            (None, Some(_)) if is_first && manifest.epoch > 1 => Some("there"),
            (None, _) => Some("new"),
            (_, None) => Some("gone"),
            (Some(before), Some(now)) if before.content != now.content => Some("changed"),
            _ => Some("moved"),
        };
        is_first = false;
        steps.extend(
            what.map(|what| Step {
                epoch: manifest.epoch,
                time: time(manifest.logical_time),
                what,
                content: now
                    .as_ref()
                    .filter(|now| !now.content.is_none())
                    .map(|now| now.content.to_string()),
                representative: now.as_ref().map(|now| now.url.clone()),
            }),
        );
        before = now;
    }
    Ok(steps)
}

/// What `read` finds in the commit of `version`; `None` if `gc` deletes that commit meanwhile. `gc`
/// deletes a manifest before the files that it names. So a failure while the manifest is there
/// means damage.
pub(super) fn of_commit<T>(
    root: &Path,
    version: u64,
    read: impl FnOnce(Manifest) -> Result<T>,
) -> Result<Option<T>> {
    match manifest::read(root, version).and_then(|head| read(head.manifest)) {
        Err(_) if !manifest::path(root, version).exists() => Ok(None),
        read => read.map(Some),
    }
}

/// What a commit says about the page. Of each table only the segments that may have the row are
/// opened.
fn state(
    store: &Store,
    open: &OpenSegments,
    manifest: &Manifest,
    doc: Id,
) -> Result<Option<State>> {
    let snapshot = Snapshot::new(store.data(), &manifest.tables);
    let Some(page) = row::<PageRow>(&snapshot, open, doc)? else { return Ok(None) };
    let mut representative = doc;
    if !page.content.is_none() {
        let component = row::<ComponentRow>(&snapshot, open, page.content)?;
        let leader = row::<LeaderRow>(&snapshot, open, page.content)?;
        let place = ClusterRow::place_of(page.content, component.as_ref(), leader.as_ref());
        let clusters = rows::<ClusterRow>(&snapshot, open, place.0)?;
        let own = clusters.into_iter().find(|row| row.place() == place);
        representative = own.map_or(doc, |row| row.representative);
    }
    let url = row::<UrlRow>(&snapshot, open, representative)?.map(|row| row.text().into_owned());
    Ok(Some(State { content: page.content, representative, url: url.unwrap_or_default() }))
}

fn rows<R: Row<Key = Id>>(snapshot: &Snapshot<'_>, open: &OpenSegments, key: Id) -> Result<Vec<R>> {
    let range = KeyRange { from: key.high, to: key.high.checked_add(1) };
    Ok(snapshot.shared::<R>(open, R::NAME, range)?.matching(&[key]))
}

fn row<R: Row<Key = Id>>(
    snapshot: &Snapshot<'_>,
    open: &OpenSegments,
    key: Id,
) -> Result<Option<R>> {
    Ok(rows(snapshot, open, key)?.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit that `gc` deleted after the manifests were listed ended the command. Now it is
    /// passed by. A manifest that is there and cannot be read is an error.
    #[test]
    fn commits_that_go_are_passed_by() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = manifest::path(folder.path(), 3);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let read = || of_commit(folder.path(), 3, |manifest| Ok(manifest.epoch));
        assert_eq!(read().ok(), Some(None));
        std::fs::write(&path, "damaged").expect("written");
        assert!(read().is_err());
    }
}
