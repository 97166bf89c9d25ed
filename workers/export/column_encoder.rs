//! Writes rows as Parquet, several columns at a time.
//!
//! Only the positions in the file depend on other columns of a row group. So any free thread can
//! encode a column. The bytes are those that parquet's `ArrowWriter` writes. `encoder.rs` says how
//! large a row group is.

use crate::export::row_type::ExportRow;
use crate::locks::lock;
use crate::store::threads::processors;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

/// Fewer rows are encoded by one thread, because it would take longer to start the others.
const ROWS_MIN: usize = 1 << 10;

/// A Parquet file of rows of one type.
pub(crate) struct Columns<W: Write + Send> {
    file: SerializedFileWriter<W>,
    groups: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    group_rows_max: usize,
    /// The writers of the row group, and how many rows it has so far.
    group: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl<W: Write + Send> Columns<W> {
    /// Begins a file with the columns of `schema`.
    pub(crate) fn create(
        sink: W,
        schema: SchemaRef,
        properties: WriterProperties,
    ) -> Result<Columns<W>> {
        let group_rows_max = properties.max_row_group_row_count().unwrap_or(usize::MAX);
        let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties))?;
        let (file, groups) = writer.into_serialized_writer()?;
        Ok(Columns { file, groups, schema, group_rows_max, group: Vec::new(), rows: 0 })
    }

    /// Appends `rows`.
    pub(crate) fn write<R: ExportRow>(&mut self, mut rows: &[R]) -> Result<()> {
        while !rows.is_empty() {
            let (some, rest) = rows.split_at(rows.len().min(self.group_rows_max - self.rows));
            self.encode(some)?;
            self.rows += some.len();
            if self.rows == self.group_rows_max {
                self.end_group()?;
            }
            rows = rest;
        }
        Ok(())
    }

    fn encode<R: ExportRow>(&mut self, rows: &[R]) -> Result<()> {
        if self.rows == 0 {
            self.group = self.groups.create_column_writers(self.file.flushed_row_groups().len())?;
        }
        let threads = if rows.len() < ROWS_MIN { 1 } else { processors() };
        let threads = threads.min(self.group.len());
        let fields = self.schema.fields();
        let columns = Mutex::new(self.group.iter_mut().zip(R::columns()).zip(fields));
        let encode = || -> Result<()> {
            loop {
                let next = lock(&columns).next();
                let Some(((writer, column), field)) = next else { return Ok(()) };
                compute_leaves(field, &column(rows))?
                    .iter()
                    .try_for_each(|leaf| writer.write(leaf))?;
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(encode)).collect();
            let own = encode();
            let joined = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|payload| resume_unwind(payload)));
            joined.fold(own, Result::and)
        })
    }

    /// Ends the row group, if it has rows.
    pub(crate) fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in self.group.drain(..) {
            column.close()?.append_to_row_group(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Ends the file, and returns the sink.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.end_group()?;
        self.file.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::row_type::export_row;
    use arrow_array::RecordBatch;

    export_row! {
        /// A row with repeated, distinct and missing values.
        pub struct Line in "lines" {
            name: String,
            group: &'static str,
            number: Option<u32>,
            share: f64,
        }
    }

    fn properties() -> WriterProperties {
        WriterProperties::builder().set_max_row_group_row_count(Some(4000)).build()
    }

    /// The file is that of the ordinary writer, however rows are divided and whichever thread
    /// encodes a column.
    #[test]
    fn bytes_are_those_of_the_ordinary_writer() {
        let line = |n: u32| Line {
            name: format!("line {n}"),
            group: ["a", "b", "c"][n as usize % 3],
            number: (!n.is_multiple_of(5)).then_some(n / 7),
            share: f64::from(n % 11) / 8.0,
        };
        let lines: Vec<Line> = (0..9500).map(line).collect();
        let mut plain =
            ArrowWriter::try_new(Vec::new(), Line::schema(), Some(properties())).expect("a writer");
        for some in lines.chunks(3000) {
            let batch = RecordBatch::try_new(Line::schema(), Line::arrays(some)).expect("a batch");
            plain.write(&batch).expect("written");
        }
        let plain = plain.into_inner().expect("finished");
        let mut columns =
            Columns::create(Vec::new(), Line::schema(), properties()).expect("a writer");
        lines.chunks(3000).for_each(|some| columns.write(some).expect("written"));
        assert!(columns.finish().expect("finished") == plain, "other bytes");
        let none = Columns::create(Vec::new(), Line::schema(), properties()).expect("a writer");
        let plain =
            ArrowWriter::try_new(Vec::new(), Line::schema(), Some(properties())).expect("a writer");
        assert!(
            none.finish().expect("finished") == plain.into_inner().expect("finished"),
            "other bytes without rows"
        );
    }
}
