//! Rollback: commits a new epoch with the tables of an earlier one.
//!
//! Nothing is deleted. The epochs in between can be restored in the same way, while their manifests
//! and files exist.

use crate::error::{Error, Kind, Result};
use crate::store::Store;
use crate::store::manifest::{self, Head, Manifest, Op};
use std::collections::BTreeSet;

/// Restores the tables of `epoch`. Inputs consumed since then stay consumed, unless `forget_inputs`
/// lets the next run read them again.
///
/// # Errors
///
/// `Usage` if there is no manifest of that epoch, or it is the head's. `Io` if a file of it is
/// gone.
pub fn rollback(store: &Store, head: &Head, epoch: u64, forget_inputs: bool) -> Result<Head> {
    if epoch == head.manifest.epoch {
        return Err(Error::new(Kind::Usage, format!("epoch {epoch} is the head already")));
    }
    let mut there = BTreeSet::new();
    let mut found = None;
    for version in manifest::versions(store.root())? {
        let Head { manifest, .. } = manifest::read(store.root(), version)?;
        there.insert(manifest.epoch);
        // Of several commits of the epoch the last is used. In it runs are merged.
        if manifest.epoch == epoch {
            found = Some(manifest);
        }
    }
    let Some(target) = found else {
        let there: Vec<String> = there.iter().map(u64::to_string).collect();
        let line =
            format!("{}: no epoch {epoch} to go back to; there are {}", store.root().display(), there.join(", "));
        return Err(Error::new(Kind::Usage, line));
    };
    for (name, table) in &target.tables {
        for segment in table.segments() {
            let path = segment.path(&store.data().join(name));
            let bytes = path.metadata().map_err(|e| Error::io("find", &path, e).with_kind(Kind::Io))?.len();
            if bytes != segment.bytes {
                return Err(Error::new(Kind::Io, format!("{}: {bytes} bytes, not {}", path.display(), segment.bytes)));
            }
        }
    }
    let (mut consumed, sources) = match forget_inputs {
        true => (target.consumed.clone(), target.sources.clone()),
        false => (head.manifest.consumed.clone(), head.manifest.sources.clone()),
    };
    // Retention does not count epochs that are undone. Those that the target builds on count again,
    // even if an earlier rollback has undone them.
    for consumed in &mut consumed {
        let then = target.consumed.iter().find(|then| then.epoch == consumed.epoch);
        consumed.undone = then.is_none_or(|then| then.undone);
    }
    let version = head.manifest.version + 1;
    let manifest = Manifest {
        version,
        epoch: head.manifest.epoch + 1,
        op: Op::Rollback,
        previous: head.digest.clone(),
        plan: format!("rollback-{version}"),
        sources,
        consumed,
        ..target
    };
    manifest::commit(store.root(), &manifest)
}
