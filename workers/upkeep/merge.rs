//! Size-tiered merging: runs of similar size become one run with the same live rows.
//!
//! Every epoch adds a run to each table that it changes, and every lookup searches all runs. With
//! merging, a table of N rows has about log N runs, and each row is rewritten about that often
//! (O'Neil et al., "The log-structured merge-tree", Acta Informatica 33, 1996). The paper merges
//! levels of fixed sizes; we compare the sizes of runs in the manifest. The run of the head's epoch
//! is never merged, so that `changes` can read what the epoch changed.

use crate::error::{Error, Kind, Result};
use crate::store::Store;
use crate::store::durable;
use crate::store::fsyncs::Fsyncs;
use crate::store::manifest::{self, Head, Manifest, Op, Run, TableState};
use crate::store::runs::Table;
use crate::store::segment::SegmentWriter;
use crate::store::table::Row;
use crate::store::threads::{in_threads, processors};
use crate::tables::dispatch::{OnTable, on_table};
use std::ops::Range;
use std::path::Path;

/// The least number of runs that are merged.
pub const RUNS_MIN: usize = 4;
/// An older run is merged with all younger ones if it has fewer rows than this multiple of theirs.
const GROWTH: u64 = 2;

/// If a table has more small segments than this (of fewer than [`SEGMENT_ROWS`] rows), runs are
/// merged for that reason alone. Many workers leave many small segments in small epochs, and each
/// is mapped.
pub const SEGMENTS_MAX: usize = 256;
/// A run with fewer rows a segment has small segments.
pub const SEGMENT_ROWS: u64 = 1 << 20;
/// The rows of each run that are merged at a time.
const PORTION_ROWS: usize = 1 << 14;

/// The runs that are due to be merged, by rows and segments of each run, oldest first.
fn due(runs: &[(u64, usize)]) -> Option<Range<usize>> {
    let rows: Vec<u64> = runs.iter().map(|(rows, _)| *rows).collect();
    due_by_rows(&rows).or_else(|| due_by_segments(runs))
}

/// The youngest runs that have small segments, if those are too many.
fn due_by_segments(runs: &[(u64, usize)]) -> Option<Range<usize>> {
    let is_large = |(rows, segments): &(u64, usize)| *rows >= SEGMENT_ROWS * *segments as u64;
    let from = runs.iter().rposition(is_large).map_or(0, |large| large + 1);
    let segments: usize = runs[from..].iter().map(|(_, segments)| *segments).sum();
    (segments > SEGMENTS_MAX).then_some(from..runs.len())
}

/// The youngest run and all older ones that are not much larger than the younger ones together.
fn due_by_rows(rows: &[u64]) -> Option<Range<usize>> {
    let mut from = rows.len().checked_sub(1)?;
    let mut merged = rows[from];
    while from > 0 && rows[from - 1] < GROWTH * merged {
        from -= 1;
        merged += rows[from];
    }
    (rows.len() - from >= RUNS_MIN).then_some(from..rows.len())
}

/// Merges the runs of every table where this is due, and commits. Returns `None` if it is due in no
/// table.
///
/// # Errors
///
/// `Io` if a segment is damaged. The store is unchanged then. Segments are read once: each batch is
/// compared with its digest, and the merged rows with the number and hash of all rows.
pub fn merge(store: &Store, head: &Head) -> Result<Option<Head>> {
    let mut due_tables = Vec::new();
    for (name, table) in &head.manifest.tables {
        let earlier = table.runs.iter().take_while(|run| run.epoch < head.manifest.epoch);
        let rows = |run: &Run| run.segments.iter().map(|segment| segment.rows).sum();
        let runs: Vec<(u64, usize)> = earlier.map(|run| (rows(run), run.segments.len())).collect();
        due_tables.extend(due(&runs).map(|runs| (name, table, runs)));
    }
    if due_tables.is_empty() {
        return Ok(None);
    }
    let merged = in_threads("merging", &due_tables, processors(), |(name, table, runs)| {
        let folder = store.data().join(name);
        let merging = Merging { folder: &folder, table, runs: runs.clone() };
        let state = on_table(name, merging).ok_or_else(|| {
            Error::new(Kind::Config, format!("table {name}: this build does not know it"))
        })??;
        Ok((String::clone(name), state))
    })?;
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
        let state = TableState { runs: old.to_vec(), ..TableState::default() };
        let rows = Table::<R>::open(folder, Some(&state))?;
        let mut writer = SegmentWriter::<R>::create(folder, &format!("merge.{}", durable::tag()))?;
        for portion in rows.portions(PORTION_ROWS) {
            portion.into_iter().try_for_each(|row| writer.push(row))?;
        }
        let epoch = old.last().map_or(0, |run| run.epoch);
        let new = Run { epoch, segments: writer.finish(&Fsyncs::default())?.into_iter().collect() };
        let mut merged = TableState::default();
        let (before, after) = table.runs.split_at(runs.start);
        for run in before.iter().chain([&new]).chain(&after[old.len()..]) {
            merged.append(run.clone())?;
        }
        if (merged.rows, merged.multiset) != (table.rows, table.multiset) {
            let line =
                format!("{}: merged runs are not the rows that were merged", folder.display());
            return Err(Error::internal(line));
        }
        Ok(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After thousands of epochs the number of runs, and the number of times that a row was
    /// rewritten, are logarithmic in the number of rows.
    #[test]
    fn runs_stay_few() {
        let (mut runs, mut written) = (vec![1_000_000], 0);
        for _ in 0..5000 {
            runs.push(1000);
            if let Some(range) = due_by_rows(&runs) {
                let merged: u64 = runs.drain(range).sum();
                written += merged;
                runs.push(merged);
            }
            assert!(runs.len() <= 12, "{runs:?}");
        }
        let total: u64 = runs.iter().sum();
        assert_eq!(total, 6_000_000);
        assert!(written < 8 * total, "{written} rows written for {total}");
        assert_eq!(due_by_rows(&[]), None);
        assert_eq!(due_by_rows(&[6, 1, 1, 1]), None);
        assert_eq!(due_by_rows(&[1000, 1, 1, 1, 1]), Some(1..5));
        assert_eq!(due_by_rows(&[1000, 100, 10, 5, 1]), None);
        assert_eq!(due_by_rows(&[3, 2, 1, 1, 1]), Some(0..5));
    }

    /// Runs of many workers' small epochs were kept until they were many runs, and each of their
    /// segments was mapped. They are merged once their segments are many; runs of large segments
    /// are not.
    #[test]
    fn segments_stay_few() {
        let large = (SEGMENT_ROWS * 256, 256);
        assert_eq!(due(&[large, large]), None);
        assert_eq!(due(&[large, (90_000, 256)]), None);
        assert_eq!(due(&[large, (90_000, 256), (10, 1)]), Some(1..3));
        assert_eq!(due(&[(3_000, 1_024)]), Some(0..1));
        let mut runs = vec![large];
        for _ in 0..500 {
            runs.push((3_000, 128));
            if let Some(range) = due(&runs) {
                let rows = runs.drain(range).map(|(rows, _)| rows).sum();
                runs.push((rows, 1));
            }
            assert!(
                runs[1..].iter().map(|(_, segments)| segments).sum::<usize>() <= SEGMENTS_MAX + 8,
                "{runs:?}"
            );
        }
    }
}
