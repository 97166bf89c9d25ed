//! Carries the epochs that a rollback undid in the old store over to a rebuilt store.
//!
//! They are not replayed, but their inputs stay consumed.

use crate::error::{Error, Kind, Result};
use crate::plan::consumed::{Reading, snapshot_of};
use crate::plan::replay::lines_of;
use crate::store::Store;
use crate::store::consumed::Consumed;
use crate::store::manifest::{self, Head, Manifest, Op, Source};
use crate::store::past::Step;

/// Adds what the `undone` epochs of `old` took to the manifest of `head`, and their lists to `new`.
/// Nothing is committed: the next commit on this head does that. `reading` is the job's.
pub fn carry(
    head: &mut Head,
    new: &Store,
    old: &Store,
    undone: &[&Step],
    reading: &Reading,
) -> Result<()> {
    let Manifest { sources, consumed, .. } = &mut head.manifest;
    for step in undone {
        // An epoch that read nothing is carried, too: exports must know that it was undone.
        if consumed.iter().any(|known| known.epoch == step.epoch) {
            continue;
        }
        let name = step.source.clone().unwrap_or_default();
        let source = sources.iter().position(|source| source.name == name).unwrap_or_else(|| {
            sources.push(Source::new(name));
            sources.len() - 1
        });
        // An undone complete snapshot stays consumed, too.
        let lines = lines_of(old, step, reading)?;
        if let Some(first) = lines.first() {
            let inputs = lines.iter().map(|line| &line.input);
            sources[source].snapshot =
                if step.complete { snapshot_of(&first.reading, inputs) } else { String::new() };
            sources[source].lost = false;
        }
        let mut text = String::new();
        for line in &lines {
            text += &serde_json::to_string(line)
                .map_err(|e| Error::internal("cannot write an input").caused_by(e))?;
            text.push('\n');
        }
        consumed.push(Consumed {
            epoch: step.epoch,
            logical_time: step.logical_time,
            source: u16::try_from(source)
                .map_err(|_| Error::new(Kind::Config, "more than 65,536 sources"))?,
            complete: step.complete,
            file: new.write_lines("consumed", &text)?,
            read: step.read.unwrap_or(0),
            barren: step.barren,
            idle: false,
            retention: step.retention.unwrap_or_default(),
            gone_min: step.gone_min.unwrap_or(i64::MIN),
            undone: true,
        });
        consumed.sort_by_key(|consumed| consumed.epoch);
    }
    Ok(())
}

/// Commits `head` as the epoch of the old head, if that has a later number: the last epochs of the
/// old store were rollbacks, or changed no page.
pub fn finish(new: &Store, head: Head, epoch: u64, logical_time: i64) -> Result<Head> {
    if head.manifest.epoch >= epoch {
        return Ok(head);
    }
    let version = head.manifest.version + 1;
    let manifest = Manifest {
        version,
        epoch,
        logical_time,
        op: Op::Rollback,
        previous: head.digest,
        plan: format!("rollback-{version}"),
        ..head.manifest
    };
    manifest::commit(new.root(), &manifest)
}
