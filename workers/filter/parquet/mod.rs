//! Copies the rows of a Parquet file to the file of what is kept and the file of what is removed.
//!
//! Schema, key-value metadata, codecs, encodings and the division into row groups stay. Rows are
//! copied by their levels and values, a column at a time, so nested columns and every physical type
//! stay as they are. A row group that goes to one place is copied without decoding it.

mod categories;
mod join;
mod table;
#[cfg(test)]
mod tests;
mod transfer;

use crate::error::{Error, Result};
use crate::filter::copy::{Copied, Copier, Parts, Spot};
use crate::filter::order::{Run, Side};
use crate::filter::parquet::categories::write_column;
pub use crate::filter::parquet::join::join;
pub use crate::filter::parquet::table::{Outcome, Table, sound};
use crate::filter::parquet::transfer::divide;
use crate::filter::part::{Failure, Part};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
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
            let properties = kept.as_ref().map(|file| file.properties().clone());
            let kept = kept.as_mut().map(|file| file.next_row_group()).transpose()?;
            let removed = removed.as_mut().map(|file| file.next_row_group()).transpose()?;
            let mut groups = [kept, removed];
            match properties.filter(|_| is_mixed) {
                Some(properties) => divide_group(table, index, &runs, &mut groups, &properties)?,
                None => {
                    groups.iter_mut().flatten().try_for_each(|group| table.append(index, group))?
                }
            }
            groups.into_iter().flatten().try_for_each(|group| group.close().map(drop))
        })
    }
}

/// Divides row group `index` of `table` among the row groups of what is kept and of what is
/// removed.
fn divide_group(
    table: &Table,
    index: usize,
    runs: &[(Side, u64)],
    groups: &mut [Option<SerializedRowGroupWriter<'_, Part>>; 2],
    properties: &WriterPropertiesPtr,
) -> Outcome<()> {
    let descriptors = table.metadata().file_metadata().schema_descr().columns();
    for (column, descriptor) in descriptors.iter().enumerate() {
        let batch_rows = table.batch_rows(index, column);
        let categories = table.categories(index, column)?;
        if !categories.is_empty() {
            for (side, group) in groups.iter_mut().enumerate() {
                let Some(group) = group else { continue };
                write_column(group, properties, descriptor, &categories, |writer| {
                    let mut writers = [None, None];
                    writers[side] = Some(writer);
                    let mut reader = table.column(index, column)?;
                    divide(&mut reader, writers, descriptor, runs, batch_rows)
                })?;
            }
            continue;
        }
        let mut reader = table.column(index, column)?;
        let [kept, removed] = groups;
        let mut kept = kept.as_mut().map(|group| group.next_column()).transpose()?.flatten();
        let mut removed = removed.as_mut().map(|group| group.next_column()).transpose()?.flatten();
        let writers = [kept.as_mut(), removed.as_mut()].map(|to| to.map(|column| column.untyped()));
        divide(&mut reader, writers, descriptor, runs, batch_rows)?;
        [kept, removed].into_iter().flatten().try_for_each(|column| column.close())?;
    }
    Ok(())
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
