//! Size-tiered merging: runs of similar size become one run with the same live rows.
//!
//! Every epoch adds a run to each table that it changes, and every lookup searches all runs. With
//! merging, a table of N rows has about log N runs, and each row is rewritten about that often
//! (O'Neil et al., "The log-structured merge-tree", Acta Informatica 33, 1996). Where the paper
//! merges levels of fixed sizes, we compare the sizes of runs in the manifest. The run of the
//! head's epoch is never merged, so that `changes` can read what the epoch changed.

use crate::error::{Error, Kind, Result};
use crate::locks::{into_inner, lock};
use crate::store::Store;
use crate::store::digest;
use crate::store::manifest::{self, Head, Manifest, Op, Run, TableState};
use crate::store::runs::Table;
use crate::store::segment::SegmentWriter;
use crate::store::table::Row;
use crate::tables::dispatch::{OnTable, on_table};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

/// The least number of runs that are merged.
pub const RUNS_MIN: usize = 4;
/// An older run is merged with all younger ones if it has fewer rows than this multiple of theirs.
const GROWTH: u64 = 2;

/// The runs that are due to be merged; `rows` has the rows of each run, oldest first. These are the
/// youngest run and all older ones that are not much larger than the younger ones together.
fn due(rows: &[u64]) -> Option<Range<usize>> {
    let mut from = rows.len().checked_sub(1)?;
    let mut merged = rows[from];
    while from > 0 && rows[from - 1] < GROWTH * merged {
        from -= 1;
        merged += rows[from];
    }
    (rows.len() - from >= RUNS_MIN).then_some(from..rows.len())
}

/// Merges the runs of every table where that is due, and commits. Returns none if it is due in
/// none.
///
/// # Errors
///
/// `Io` if the bytes of a segment do not have its digest. The store is unchanged then.
pub fn merge(store: &Store, head: &Head) -> Result<Option<Head>> {
    let mut due_tables = Vec::new();
    for (name, table) in &head.manifest.tables {
        let earlier = table.runs.iter().take_while(|run| run.epoch < head.manifest.epoch);
        let rows: Vec<u64> = earlier.map(|run| run.segments.iter().map(|segment| segment.rows).sum()).collect();
        due_tables.extend(due(&rows).map(|runs| (name, table, runs)));
    }
    if due_tables.is_empty() {
        return Ok(None);
    }
    let merged: Mutex<BTreeMap<String, TableState>> = Mutex::default();
    let waiting = Mutex::new(due_tables.into_iter());
    let work = || -> Result<()> {
        loop {
            let next = lock(&waiting).next();
            let Some((name, table, runs)) = next else { return Ok(()) };
            let folder = store.data().join(name);
            let state = on_table(name, Merging { folder: &folder, table, runs })
                .ok_or_else(|| Error::new(Kind::Config, format!("table {name}: this build does not know it")))??;
            lock(&merged).insert(name.clone(), state);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let panicked = |_| Err(Error::internal("merging panicked"));
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(panicked))
    })?;
    let merged = into_inner(merged);
    let mut manifest = Manifest {
        version: head.manifest.version + 1,
        op: Op::Merge,
        previous: head.digest.clone(),
        plan: format!("merge-{}", head.manifest.version + 1),
        ..head.manifest.clone()
    };
    manifest.tables.extend(merged);
    manifest::commit(store.root(), &manifest).map(Some)
}

/// The merge of one table.
struct Merging<'a> {
    folder: &'a Path,
    table: &'a TableState,
    runs: Range<usize>,
}

impl OnTable for Merging<'_> {
    type Outcome = Result<TableState>;

    fn on<R: Row>(self) -> Result<TableState> {
        let Merging { folder, table, runs } = self;
        let old = &table.runs[runs.clone()];
        for segment in old.iter().flat_map(|run| &run.segments) {
            digest::check(&segment.path(folder), &segment.digest)?;
        }
        let state = TableState { runs: old.to_vec(), ..TableState::default() };
        let rows = Table::<R>::open(folder, Some(&state))?;
        let mut writer = SegmentWriter::<R>::create(folder, "merge")?;
        // Memory: one batch of each segment.
        for portion in rows.portions(R::BATCH_ROWS) {
            portion.into_iter().try_for_each(|row| writer.push(row))?;
        }
        let epoch = old.last().map_or(0, |run| run.epoch);
        let new = Run { epoch, segments: writer.finish()?.into_iter().collect() };
        let mut merged = TableState::default();
        let (before, after) = table.runs.split_at(runs.start);
        for run in before.iter().chain([&new]).chain(&after[old.len()..]) {
            merged.append(run.clone())?;
        }
        if (merged.rows, merged.multiset) != (table.rows, table.multiset) {
            let line = format!("{}: merged runs are not the rows that were merged", folder.display());
            return Err(Error::internal(line));
        }
        Ok(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After thousands of epochs the number of runs is logarithmic in the number of rows, and so is
    /// the number of times that a row was rewritten.
    #[test]
    fn runs_stay_few() {
        let (mut runs, mut written) = (vec![1_000_000], 0);
        for _ in 0..5000 {
            runs.push(1000);
            if let Some(range) = due(&runs) {
                let merged: u64 = runs.drain(range).sum();
                written += merged;
                runs.push(merged);
            }
            assert!(runs.len() <= 12, "{runs:?}");
        }
        let total: u64 = runs.iter().sum();
        assert_eq!(total, 6_000_000);
        assert!(written < 8 * total, "{written} rows written for {total}");
        assert_eq!(due(&[]), None);
        assert_eq!(due(&[6, 1, 1, 1]), None);
        assert_eq!(due(&[1000, 1, 1, 1, 1]), Some(1..5));
        assert_eq!(due(&[1000, 100, 10, 5, 1]), None);
        assert_eq!(due(&[3, 2, 1, 1, 1]), Some(0..5));
    }
}
