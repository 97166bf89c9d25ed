//! Makes the original of a filtered Parquet file again.

use crate::error::{Error, Kind, Result};
use crate::filter::order::{Run, Runs, Side};
use crate::filter::parquet::categories::write_column;
use crate::filter::parquet::table::{Outcome, Table, sound};
use crate::filter::parquet::transfer::unite;
use crate::filter::part::Part;
use parquet::column::writer::ColumnWriter;
use parquet::file::writer::SerializedFileWriter;
use std::path::Path;

/// What was kept of a table, or what was removed.
struct Half {
    table: Table,
    /// Its next row group.
    next: usize,
}

impl Half {
    fn open(path: &Path) -> Result<Half> {
        Ok(Half { table: Table::open(path)?, next: 0 })
    }

    /// Its row group for the `rows` that it has of a row group of the original. Fails if it has
    /// another number of rows; the filtered file is at `kept`.
    fn take(&mut self, rows: u64, kept: &Path) -> Result<Option<usize>> {
        if rows == 0 {
            return Ok(None);
        }
        let group = self.table.metadata().row_groups().get(self.next);
        if group.is_none_or(|group| group.num_rows() as u64 != rows) {
            return Err(not_in_order(kept));
        }
        self.next += 1;
        Ok(Some(self.next - 1))
    }
}

/// Makes a file of the rows of `kept` and `removed`, in the order of `runs` and with row groups of
/// this many rows, and writes it to `sink`.
pub fn join(
    kept: &Path,
    removed: Option<&Path>,
    groups: &[u64],
    runs: &mut Runs,
    sink: Part,
) -> Result<Part> {
    let (path, mut kept) = (kept, Half::open(kept)?);
    let mut removed = removed.map(Half::open).transpose()?;
    let outputs = [sink.failure()];
    let mut file = sound(path, &outputs, || kept.table.like(sink))?;
    let mut open = None;
    for &rows in groups {
        let of_group = next_rows(runs, &mut open, rows)?;
        let rows_of = |side: Side| -> u64 {
            of_group.iter().filter(|(of, _)| *of == side).map(|(_, rows)| rows).sum()
        };
        let of_kept = kept.take(rows_of(Side::Kept), path)?;
        let of_removed = match (&mut removed, rows_of(Side::Removed)) {
            (Some(removed), rows) => removed.take(rows, path)?,
            (None, 0) => None,
            (None, _) => return Err(lacks_removed(path)),
        };
        let of_removed = removed.as_ref().map(|half| &half.table).zip(of_removed);
        sound(path, &outputs, || match (of_kept, of_removed) {
            (None, None) => Ok(()),
            (Some(index), None) => append(&mut file, &kept.table, index),
            (None, Some((removed, index))) => append(&mut file, removed, index),
            (Some(index), Some(removed)) => {
                unite_groups(&mut file, (&kept.table, index), removed, &of_group)
            }
        })?;
    }
    if open.is_some() || runs.next()?.is_some() {
        return Err(not_in_order(path));
    }
    sound(path, &outputs, || file.into_inner())
}

/// Writes row group `index` of `table` to `file` as it is.
fn append(file: &mut SerializedFileWriter<Part>, table: &Table, index: usize) -> Outcome<()> {
    let mut group = file.next_row_group()?;
    table.append(index, &mut group)?;
    group.close().map(drop)
}

/// Writes a row group to `file` of the rows of two, in the order of `runs`.
fn unite_groups(
    file: &mut SerializedFileWriter<Part>,
    (kept, of_kept): (&Table, usize),
    (removed, of_removed): (&Table, usize),
    runs: &[(Side, u64)],
) -> Outcome<()> {
    let properties = file.properties().clone();
    let mut group = file.next_row_group()?;
    let descriptors = kept.metadata().file_metadata().schema_descr().columns();
    for (column, descriptor) in descriptors.iter().enumerate() {
        let mut readers = [kept.column(of_kept, column)?, removed.column(of_removed, column)?];
        let batch_rows =
            kept.batch_rows(of_kept, column).min(removed.batch_rows(of_removed, column));
        let mut write = |writer: &mut ColumnWriter<'_>| {
            unite(readers.each_mut(), writer, descriptor, runs, batch_rows)
        };
        let mut categories = kept.categories(of_kept, column)?;
        categories.extend(removed.categories(of_removed, column)?);
        if !categories.is_empty() {
            write_column(&mut group, &properties, descriptor, &categories, write)?;
            continue;
        }
        let Some(mut writer) = group.next_column()? else { break };
        write(writer.untyped())?;
        writer.close()?;
    }
    group.close().map(drop)
}

/// The next `rows` rows of the order: the rest of the run `open`, then the next of `runs`.
fn next_rows(
    runs: &mut Runs,
    open: &mut Option<(Side, u64)>,
    rows: u64,
) -> Result<Vec<(Side, u64)>> {
    let (mut of_group, mut left) = (Vec::new(), rows);
    while left > 0 {
        let (side, run) = match open.take() {
            Some(run) => run,
            None => match runs.next()? {
                Some((Run::Of(side), rows)) => (side, rows),
                Some((Run::Added, _)) => return Err(runs.damaged()),
                None => return Err(Error::new(Kind::Data, "the order of rows ends early")),
            },
        };
        let take = left.min(run);
        *open = (take < run).then_some((side, run - take));
        left -= take;
        of_group.push((side, take));
    }
    Ok(of_group)
}

/// The error for a table of which rows were removed that are nowhere.
fn lacks_removed(kept: &Path) -> Error {
    let why = "what was removed from it is not there";
    Error::new(Kind::Data, format!("{}: {why}", kept.display()))
}

/// The error for a table that has other rows than the order of what was kept and removed says.
fn not_in_order(kept: &Path) -> Error {
    let why = "it, what was removed from it or the order of both has changed since it was filtered";
    Error::new(Kind::Data, format!("{}: {why}", kept.display()))
}
