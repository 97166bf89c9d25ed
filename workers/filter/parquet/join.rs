//! Makes the original of a filtered Parquet file again.

use crate::error::{Error, Kind, Result};
use crate::filter::order::{Run, Runs, Side};
use crate::filter::parquet::table::{Table, sound};
use crate::filter::parquet::transfer::{Passage, transfer};
use crate::filter::part::Part;
use parquet::errors::ParquetError;
use std::path::Path;

/// Makes a file of the rows of `kept` and `removed`, in the order of `runs` and with row groups of
/// so many rows, and writes it to `sink`.
pub fn join(
    kept: &Path,
    removed: Option<&Path>,
    groups: &[u64],
    runs: &mut Runs,
    sink: Part,
) -> Result<Part> {
    let tables = [Some(Table::open(kept)?), removed.map(Table::open).transpose()?];
    let of = |side: Side| {
        let lacks = || {
            Error::new(
                Kind::Data,
                format!("{}: what was removed from it is not there", kept.display()),
            )
        };
        tables[side as usize].as_ref().ok_or_else(lacks)
    };
    let outputs = [sink.failure()];
    let mut file = sound(kept, &outputs, || of(Side::Kept).map_err(external)?.like(sink))?;
    let mut next = [0; 2];
    let mut open = None;
    for &rows in groups {
        let of_group = next_rows(runs, &mut open, rows)?;
        let rows_of = |side: Side| -> u64 {
            of_group.iter().filter(|(of, _)| *of == side).map(|(_, rows)| rows).sum()
        };
        let mut sources = Vec::new();
        for side in [Side::Kept, Side::Removed] {
            let (rows, index) = (rows_of(side), next[side as usize]);
            if rows == 0 {
                continue;
            }
            let table = of(side)?;
            let group = table.metadata().row_groups().get(index);
            if group.is_none_or(|group| group.num_rows() as u64 != rows) {
                return Err(not_in_order(kept));
            }
            sources.push((table, index));
            next[side as usize] += 1;
        }
        if sources.is_empty() {
            continue;
        }
        sound(kept, &outputs, || {
            let mut group = file.next_row_group()?;
            if let [(table, index)] = sources[..] {
                table.append(index, &mut group)?;
            } else {
                let passages: Vec<Passage> = of_group
                    .iter()
                    .map(|&(side, rows)| Passage { from: side as usize, to: 0, rows })
                    .collect();
                let read = |side: Side, column| {
                    let (table, index) = sources[side as usize];
                    table.column(index, column)
                };
                let descriptors = sources[0].0.metadata().file_metadata().schema_descr().columns();
                for (column, descriptor) in descriptors.iter().enumerate() {
                    let (mut one, mut two) =
                        (read(Side::Kept, column)?, read(Side::Removed, column)?);
                    let Some(mut writer) = group.next_column()? else { break };
                    let readers = [Some(&mut one), Some(&mut two)];
                    let writers = [Some(writer.untyped()), None];
                    let batch_rows =
                        sources.iter().map(|(table, index)| table.batch_rows(*index, column));
                    let batch_rows = batch_rows.min().unwrap_or(1);
                    transfer(readers, writers, descriptor, &passages, batch_rows)?;
                    writer.close()?;
                }
            }
            group.close().map(drop)
        })?;
    }
    if open.is_some() || runs.next()?.is_some() {
        return Err(not_in_order(kept));
    }
    sound(kept, &outputs, || file.into_inner())
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

/// The error for a table that has other rows than the order of what was kept and removed says.
fn not_in_order(kept: &Path) -> Error {
    let why = "it, what was removed from it or the order of both has changed since it was filtered";
    Error::new(Kind::Data, format!("{}: {why}", kept.display()))
}

fn external(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
