//! Copies rows of one column by their levels and values.

use crate::filter::order::Side;
use crate::filter::parquet::table::Outcome;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

/// The buffers by which rows of one column are copied.
struct Column<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    batch_rows: u64,
}

impl<T: DataType> Column<T> {
    fn new(batch_rows: u64) -> Self {
        let (values, definitions, repetitions) = Default::default();
        Column { values, definitions, repetitions, batch_rows }
    }

    /// Copies the next `rows` rows of `from` to `to`. Without `to` they are passed over.
    fn copy(
        &mut self,
        from: &mut ColumnReaderImpl<T>,
        to: Option<&mut ColumnWriterImpl<'_, T>>,
        descriptor: &ColumnDescriptor,
        rows: u64,
    ) -> Outcome<()> {
        let Some(to) = to else {
            return match from.skip_records(rows as usize)? as u64 {
                skipped if skipped == rows => Ok(()),
                _ => Err(ParquetError::EOF("a column ends early".into())),
            };
        };
        let mut left = rows;
        while left > 0 {
            self.values.clear();
            self.definitions.clear();
            self.repetitions.clear();
            let (definitions, repetitions) = (&mut self.definitions, &mut self.repetitions);
            let most = left.min(self.batch_rows) as usize;
            let (read, ..) =
                from.read_records(most, Some(definitions), Some(repetitions), &mut self.values)?;
            if read == 0 {
                return Err(ParquetError::EOF("a column ends early".into()));
            }
            let definitions = (descriptor.max_def_level() > 0).then_some(&self.definitions[..]);
            let repetitions = (descriptor.max_rep_level() > 0).then_some(&self.repetitions[..]);
            to.write_batch(&self.values, definitions, repetitions)?;
            left -= read as u64;
        }
        Ok(())
    }
}

/// Divides the rows of one column among the writers of what is kept and of what is removed, run by
/// run and at most `batch_rows` at once. Rows without a writer are passed over.
pub(super) fn divide(
    reader: &mut ColumnReader,
    [kept, removed]: [Option<&mut ColumnWriter<'_>>; 2],
    descriptor: &ColumnDescriptor,
    runs: &[(Side, u64)],
    batch_rows: u64,
) -> Outcome<()> {
    let passage = |&(side, rows): &(Side, u64)| Passage { from: 0, to: side as usize, rows };
    let passages: Vec<Passage> = runs.iter().map(passage).collect();
    transfer([Some(reader), None], [kept, removed], descriptor, &passages, batch_rows)
}

/// The reverse of [`divide`]: writes the rows of one column from the readers of what was kept and
/// of what was removed.
pub(super) fn unite(
    [kept, removed]: [&mut ColumnReader; 2],
    writer: &mut ColumnWriter<'_>,
    descriptor: &ColumnDescriptor,
    runs: &[(Side, u64)],
    batch_rows: u64,
) -> Outcome<()> {
    let passage = |&(side, rows): &(Side, u64)| Passage { from: side as usize, to: 0, rows };
    let passages: Vec<Passage> = runs.iter().map(passage).collect();
    transfer([Some(kept), Some(removed)], [Some(writer), None], descriptor, &passages, batch_rows)
}

/// A run of rows that is copied.
struct Passage {
    /// The place of its reader and that of its writer.
    from: usize,
    to: usize,
    rows: u64,
}

/// Copies the rows of one column, run by run, from one or two readers to one or two writers.
fn transfer(
    readers: [Option<&mut ColumnReader>; 2],
    writers: [Option<&mut ColumnWriter<'_>>; 2],
    descriptor: &ColumnDescriptor,
    runs: &[Passage],
    batch_rows: u64,
) -> Outcome<()> {
    let other = || ParquetError::General("columns of two types".into());
    macro_rules! typed {
        ($($physical:ident, $reader:ident, $writer:ident, $type:ident;)*) => {
            match descriptor.physical_type() {
                $(Type::$physical => {
                    let [one, two] = readers.map(|reader| match reader {
                        Some(ColumnReader::$reader(reader)) => Ok(Some(reader)),
                        None => Ok(None),
                        Some(_) => Err(other()),
                    });
                    let mut readers = [one?, two?];
                    let [one, two] = writers.map(|writer| match writer {
                        Some(ColumnWriter::$writer(writer)) => Ok(Some(writer)),
                        None => Ok(None),
                        Some(_) => Err(other()),
                    });
                    let mut writers = [one?, two?];
                    let mut column = Column::<parquet::data_type::$type>::new(batch_rows);
                    for &Passage { from, to, rows } in runs {
                        let from = readers[from].as_deref_mut().ok_or_else(other)?;
                        column.copy(from, writers[to].as_deref_mut(), descriptor, rows)?;
                    }
                    Ok(())
                })*
            }
        };
    }
    typed! {
        BOOLEAN, BoolColumnReader, BoolColumnWriter, BoolType;
        INT32, Int32ColumnReader, Int32ColumnWriter, Int32Type;
        INT64, Int64ColumnReader, Int64ColumnWriter, Int64Type;
        INT96, Int96ColumnReader, Int96ColumnWriter, Int96Type;
        FLOAT, FloatColumnReader, FloatColumnWriter, FloatType;
        DOUBLE, DoubleColumnReader, DoubleColumnWriter, DoubleType;
        BYTE_ARRAY, ByteArrayColumnReader, ByteArrayColumnWriter, ByteArrayType;
        FIXED_LEN_BYTE_ARRAY, FixedLenByteArrayColumnReader, FixedLenByteArrayColumnWriter, FixedLenByteArrayType;
    }
}
