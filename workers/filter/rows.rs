//! The sidecar of an input: one row a record, in the order of the file.
//!
//! Results do not depend on the names of inputs; the sidecar is an exception, because it names a
//! file.

use crate::error::{Error, Kind, Result};
use crate::export::encoder;
use crate::export::row_type::{ExportRow, export_row};
use crate::filter::became::Record;
use crate::filter::part::Part;
use crate::plan::inputs::spelled;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use std::path::Path;

export_row! {
    /// A record and what became of it. Columns that Common Crawl's index has, too, have its names.
    pub struct RecordRow in "records" {
        warc_filename: String,
        record: u64,
        position: u64,
        warc_record_offset: Option<u64>,
        warc_record_length: Option<u64>,
        warc_record_id: Option<String>,
        url: Option<String>,
        doc: Option<String>,
        verdict: &'static str,
        reason: Option<&'static str>,
        cluster: Option<String>,
        cluster_size: Option<u32>,
        representative: Option<String>,
        relation: Option<&'static str>,
    }
}

/// Rows in memory before they are encoded.
const BATCH_ROWS: usize = 1 << 13;
/// Bytes of texts in memory before they are encoded.
const BATCH_BYTES: usize = 1 << 24;
/// Bytes of texts of a row group, which is held in memory while it is written.
const GROUP_BYTES: usize = 1 << 27;

/// The sidecar that is being written.
pub struct Rows {
    name: String,
    written: u64,
    rows: Vec<RecordRow>,
    /// The bytes of texts of these rows, and of the earlier rows of the row group.
    bytes: usize,
    group_bytes: usize,
    writer: ArrowWriter<Part>,
}

impl Rows {
    /// The sidecar at `path` of the input `name`.
    pub fn create(path: &Path, name: &Path) -> Result<Rows> {
        let part = Part::create(path)?;
        let writer =
            ArrowWriter::try_new(part, RecordRow::schema(), Some(encoder::properties().build()))
                .map_err(failed)?;
        let name = spelled(name);
        Ok(Rows { name, written: 0, rows: Vec::new(), bytes: 0, group_bytes: 0, writer })
    }

    /// Adds `record`. `range` are its bytes in the file, if these belong to it alone.
    pub fn push(&mut self, record: &Record, range: Option<(u64, u64)>) -> Result<()> {
        let membership = record.membership.as_ref();
        self.bytes += record.bytes() + membership.map_or(0, |of| of.representative.len());
        self.rows.push(RecordRow {
            warc_filename: self.name.clone(),
            record: self.written,
            position: record.position,
            warc_record_offset: range.map(|(start, _)| start),
            warc_record_length: range.map(|(start, end)| end - start),
            warc_record_id: record.id.clone(),
            url: record.url.clone(),
            doc: record.doc.map(|doc| doc.to_string()),
            verdict: record.became.name(),
            reason: record.reason,
            cluster: membership.map(|of| of.cluster.to_string()),
            cluster_size: membership.map(|of| of.size),
            representative: membership.map(|of| of.representative.clone()),
            relation: membership.and_then(|of| of.relation),
        });
        self.written += 1;
        if self.rows.len() == BATCH_ROWS || self.bytes >= BATCH_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let batch = RecordBatch::try_new(RecordRow::schema(), RecordRow::arrays(&self.rows))
            .map_err(|e| Error::internal("cannot make a batch").caused_by(e))?;
        self.writer.write(&batch).map_err(failed)?;
        self.rows.clear();
        self.group_bytes += std::mem::take(&mut self.bytes);
        if self.group_bytes >= GROUP_BYTES {
            self.writer.flush().map_err(failed)?;
            self.group_bytes = 0;
        }
        Ok(())
    }

    /// Ends the file. It gets its name by [`Part::place`].
    pub fn finish(mut self) -> Result<Part> {
        self.flush()?;
        self.writer.into_inner().map_err(failed)
    }
}

fn failed(error: parquet::errors::ParquetError) -> Error {
    Error::new(Kind::Output, "cannot write the records of an input").caused_by(error)
}
