//! Copies the rows of a Parquet file to the file of what is kept and the file of what is removed.
//!
//! Schema, key-value metadata, codecs, encodings and the division into row groups stay. Rows are
//! copied by their levels and values, a column at a time, so nested columns and every physical type
//! stay as they are. A row group that goes to one place is copied without decoding it.

mod join;
mod table;
#[cfg(test)]
mod tests;
mod transfer;

use crate::error::{Error, Result};
use crate::filter::copy::{Copied, Copier, Parts, Spot};
use crate::filter::order::{Run, Side};
pub use crate::filter::parquet::join::join;
pub use crate::filter::parquet::table::{Outcome, Table, sound};
use crate::filter::parquet::transfer::divide;
use crate::filter::part::{Failure, Part};
use parquet::file::writer::SerializedFileWriter;
use std::path::Path;

/// Copies the rows of a file.
pub struct Rows {
    table: Table,
    kept: Option<SerializedFileWriter<Part>>,
    removed: Option<SerializedFileWriter<Part>>,
    parts: Parts,
    /// The errors of writes to what is kept and what is removed.
    failures: Vec<Failure>,
    /// The row group that is being collected, the rows of it so far, and their runs.
    group: usize,
    rows: u64,
    runs: Vec<(Side, u64)>,
    /// The open record: its row and where it goes.
    open: (u64, Side),
    is_recoded: bool,
}

impl Rows {
    /// A copier of the file at `path`.
    pub fn open(path: &Path, parts: Parts) -> Result<Rows> {
        let (table, mut parts) = (Table::open(path)?, parts.hashed());
        let kept = parts.take(Side::Kept)?;
        let failures = vec![kept.failure()];
        let kept = sound(path, &failures, || table.like(kept))?;
        Ok(Rows {
            table,
            kept: Some(kept),
            removed: None,
            parts,
            failures,
            group: 0,
            rows: 0,
            runs: Vec::new(),
            open: (0, Side::Kept),
            is_recoded: false,
        })
    }

    /// Ends the open record before `row`.
    fn end_record(&mut self, row: u64) -> Result<()> {
        let (from, side) = self.open;
        let mut left = row - from;
        self.parts.note(Run::Of(side), left)?;
        while left > 0 {
            let groups = self.table.metadata().row_groups();
            let Some(group) = groups.get(self.group) else { return Ok(()) };
            let room = (group.num_rows() as u64).saturating_sub(self.rows);
            let take = left.min(room);
            match self.runs.last_mut() {
                _ if take == 0 => {}
                Some((last, rows)) if *last == side => *rows += take,
                _ => self.runs.push((side, take)),
            }
            self.rows += take;
            left -= take;
            if take == room {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        let runs = std::mem::take(&mut self.runs);
        let index = self.group;
        (self.group, self.rows) = (index + 1, 0);
        let has = |side: Side| runs.iter().any(|(of, _)| *of == side);
        let (has_kept, has_removed) = (has(Side::Kept), has(Side::Removed));
        let path = self.table.path().to_owned();
        if has_removed && self.parts.has(Side::Removed) && self.removed.is_none() {
            let part = self.parts.take(Side::Removed)?;
            self.failures.push(part.failure());
            self.removed = Some(sound(&path, &self.failures, || self.table.like(part))?);
        }
        let Rows { table, kept, removed, failures, .. } = self;
        let mut kept = kept.as_mut().filter(|_| has_kept);
        let mut removed = removed.as_mut().filter(|_| has_removed);
        let is_mixed = has_kept && has_removed;
        self.is_recoded |= is_mixed;
        sound(&path, failures, || {
            let mut kept = kept.as_mut().map(|file| file.next_row_group()).transpose()?;
            let mut removed = removed.as_mut().map(|file| file.next_row_group()).transpose()?;
            if is_mixed {
                let descriptors = table.metadata().file_metadata().schema_descr().columns();
                for (column, descriptor) in descriptors.iter().enumerate() {
                    let mut reader = table.column(index, column)?;
                    let mut one =
                        kept.as_mut().map(|group| group.next_column()).transpose()?.flatten();
                    let mut other =
                        removed.as_mut().map(|group| group.next_column()).transpose()?.flatten();
                    let writers =
                        [one.as_mut().map(|c| c.untyped()), other.as_mut().map(|c| c.untyped())];
                    let batch_rows = table.batch_rows(index, column);
                    divide(&mut reader, writers, descriptor, &runs, batch_rows)?;
                    one.map(|column| column.close()).transpose()?;
                    other.map(|column| column.close()).transpose()?;
                }
            } else {
                kept.as_mut().map(|group| table.append(index, group)).transpose()?;
                removed.as_mut().map(|group| table.append(index, group)).transpose()?;
            }
            kept.map(|group| group.close()).transpose()?;
            removed.map(|group| group.close()).transpose()?;
            Ok(())
        })
    }
}

impl Copier for Rows {
    fn push(&mut self, spot: Spot) -> Result<()> {
        self.end_record(spot.position)?;
        self.open = (spot.position, spot.side);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Copied> {
        let groups = self.table.metadata().row_groups();
        let groups: Vec<u64> = groups.iter().map(|group| group.num_rows() as u64).collect();
        self.end_record(groups.iter().sum())?;
        let path = self.table.path().to_owned();
        let kept = self.kept.take().ok_or_else(|| Error::internal("a file is finished twice"))?;
        let kept = sound(&path, &self.failures, || kept.into_inner())?;
        let removed = self.removed.take();
        let removed =
            removed.map(|file| sound(&path, &self.failures, || file.into_inner())).transpose()?;
        let is_recoded = self.is_recoded;
        let copied = self.parts.finish(Some(kept), removed, is_recoded)?;
        Ok(Copied { groups, ..copied })
    }
}
