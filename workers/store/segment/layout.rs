//! Reads the layout of a segment's file: where its batches and columns are.
//!
//! `open` does not check the digest of a file, so nothing here trusts its metadata. A file without
//! the layout of [`crate::store::segment::SegmentWriter`] is refused, at opening or when the batch
//! is read.

use crate::error::{Error, Result};
use crate::panics::guarded;
use crate::store::damage::in_bytes;
use crate::store::map::{Access, Map};
use crate::store::segment::filter::{self, FILTERS, Filters};
use crate::store::segment::footer::{self, BATCH_DIGESTS, FIRST_KEYS};
use crate::store::segment::segment_ref::SegmentRef;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_schema::Schema;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Every column begins at a multiple of this number of bytes.
pub(super) const ALIGNMENT: usize = 64;

/// The error for a file that is not as it was written.
pub(in crate::store) fn damaged(path: &Path, why: &str) -> Error {
    in_bytes(path.display(), format_args!("damaged segment ({why})"))
}

/// Runs `read` on the file at `path`. arrow panics on some damaged metadata; such a panic becomes
/// an error that names the file.
fn undamaged<T>(path: &Path, read: impl FnOnce() -> std::result::Result<T, String>) -> Result<T> {
    guarded(read).and_then(|read| read).map_err(|why| damaged(path, &why))
}

/// The position of a batch in a mapped file.
#[derive(Clone, Copy)]
struct Span {
    block: arrow_ipc::Block,
    at: usize,
    /// The size of its metadata in bytes.
    meta: usize,
    end: usize,
    digest: u64,
}

/// A mapped file and the positions of its batches.
///
/// It does not depend on the type of the rows, so that it is compiled once and not for each table.
pub(in crate::store) struct Layout {
    pub(in crate::store) path: PathBuf,
    map: Map,
    whole: Buffer,
    decoder: FileDecoder,
    spans: Vec<Span>,
    /// Where the filters are, if there are any.
    filters: Option<Range<usize>>,
    rows: usize,
    batch_rows: usize,
}

/// What the footer says of first keys: their digest, and the text of the keys, which old files
/// lack.
pub(in crate::store) struct FirstKeys {
    pub(in crate::store) digest: u64,
    pub(in crate::store) text: Option<String>,
}

impl Layout {
    /// Maps the file of `segment` at `path` and reads its footer. The table has these columns, and
    /// `batch_rows` rows in a batch.
    pub(in crate::store) fn open(
        path: PathBuf,
        segment: &SegmentRef,
        columns: &Schema,
        batch_rows: usize,
        access: Access,
    ) -> Result<(Layout, FirstKeys)> {
        let map = Map::open(&path, access)?;
        let whole = Buffer::from(map.bytes());
        if whole.len() as u64 != segment.bytes {
            return Err(damaged(
                &path,
                &format!("{} bytes, the manifest says {}", whole.len(), segment.bytes),
            ));
        }
        let (decoder, spans, filters, firsts) = undamaged(&path, || read_footer(&whole, columns))?;
        let rows = usize::try_from(segment.rows).map_err(|_| damaged(&path, "too many rows"))?;
        if spans.len() != rows.div_ceil(batch_rows) {
            let why = format!("{} batches for the {rows} rows of the manifest", spans.len());
            return Err(damaged(&path, &why));
        }
        Ok((Layout { path, map, whole, decoder, spans, filters, rows, batch_rows }, firsts))
    }

    /// The filters of its batches, with `bits` bits for each row, if the file has filters.
    pub(in crate::store) fn filters(&self, bits: usize) -> Result<Option<Filters>> {
        let Some(all) = self.filters.clone().filter(|_| bits > 0) else { return Ok(None) };
        let each = filter::bytes(self.batch_rows, bits);
        let others = self.batches().saturating_sub(1);
        let bytes = others * each + filter::bytes(self.rows - others * self.batch_rows, bits);
        if all.len() < bytes {
            return Err(damaged(&self.path, "its filters are cut"));
        }
        Ok(Some(Filters::new(self.map.clone(), all.start..all.start + bytes, each)))
    }

    /// The number of rows.
    pub(in crate::store) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of batches.
    pub(in crate::store) fn batches(&self) -> usize {
        self.spans.len()
    }

    /// Whether the bytes of a batch are those that were written.
    pub(in crate::store) fn is_sound(&self, number: usize) -> bool {
        let span = &self.spans[number];
        xxh3_64(&self.whole[span.at..span.end]) == span.digest
    }

    /// Tells the system that all of these batches, at least one, are going to be read.
    pub(in crate::store) fn prefetch(&self, numbers: Range<usize>) {
        self.map.prefetch(self.spans[numbers.start].at..self.spans[numbers.end - 1].end);
    }

    /// The mapped columns of a batch, as `columns` takes them.
    ///
    /// # Errors
    ///
    /// If the batch is not laid out as the writer does it, or if it is not full and not the last
    /// one. The batch of a row could then not be computed from its position.
    pub(in crate::store) fn batch<C>(
        &self,
        number: usize,
        columns: impl FnOnce(&RecordBatch) -> Option<C>,
    ) -> Result<C> {
        let span = &self.spans[number];
        let rows = self.batch_rows.min(self.rows - number * self.batch_rows);
        undamaged(&self.path, || {
            let data = self.whole.slice_with_length(span.at, span.end - span.at);
            // A block begins with the length of its metadata.
            let says = [&[0xff; 4][..], &(span.meta as u32).wrapping_sub(8).to_le_bytes()].concat();
            if !data.starts_with(&says) {
                return Err("no block where the footer says".into());
            }
            let batch =
                self.decoder.read_record_batch(&span.block, &data).map_err(|e| e.to_string())?;
            let batch = batch.ok_or("empty block")?;
            if batch.num_rows() != rows {
                return Err("batches of another size".into());
            }
            check_mapped(&batch, &data, span.meta)?;
            columns(&batch).ok_or_else(|| "another table's columns".to_owned())
        })
    }
}

/// A decoder of batches, the positions of batches, the position of the filters, and the entries
/// about first keys.
type Footer = (FileDecoder, Vec<Span>, Option<Range<usize>>, FirstKeys);

/// Reads the footer of a segment of a table with these columns.
fn read_footer(whole: &Buffer, columns: &Schema) -> std::result::Result<Footer, String> {
    let text = |e: arrow_schema::ArrowError| e.to_string();
    let Some(trailer) = whole.len().checked_sub(10) else { return Err("too short".into()) };
    let trailer_bytes = whole[trailer..].try_into().map_err(|_| "no trailer")?;
    let footer_bytes = read_footer_length(trailer_bytes).map_err(text)?;
    let Some(start) = trailer.checked_sub(footer_bytes) else {
        return Err("footer out of bounds".into());
    };
    let footer = arrow_ipc::root_as_footer(&whole[start..trailer]).map_err(|e| e.to_string())?;
    let schema = try_fb_to_schema(footer.schema().ok_or("no schema")?).map_err(text)?;
    if schema != *columns {
        return Err("another table's columns".into());
    }
    let entry = |name| {
        let mut entries = footer.custom_metadata().into_iter().flatten();
        entries.find(|entry| entry.key() == Some(name)).and_then(|entry| entry.value())
    };
    let (digests, firsts) =
        entry(BATCH_DIGESTS).and_then(footer::parse_digests).ok_or("no digests of its batches")?;
    let blocks = footer.recordBatches().ok_or("no batches")?;
    if digests.len() != blocks.len() {
        return Err("batches and digests of another number".into());
    }
    let mut spans: Vec<Span> = Vec::new();
    for (block, digest) in blocks.iter().zip(digests) {
        let (Ok(at), Ok(meta), Ok(body)) = (
            usize::try_from(block.offset()),
            usize::try_from(block.metaDataLength()),
            usize::try_from(block.bodyLength()),
        ) else {
            return Err("block out of bounds".into());
        };
        let end =
            at.checked_add(meta).and_then(|n| n.checked_add(body)).filter(|&end| end <= start);
        let Some(end) = end else { return Err("block out of bounds".into()) };
        if spans.last().is_some_and(|last| at != last.end) {
            return Err("blocks that do not follow one another".into());
        }
        spans.push(Span { block: *block, at, meta, end, digest });
    }
    // Filters lie between the last batch and the footer.
    let filters = match entry(FILTERS) {
        Some(at) => {
            let behind = spans.last().map_or(0, |last| last.end);
            let at = at.parse().ok().filter(|at| (behind..=start).contains(at));
            Some(at.ok_or("filters out of bounds")?..start)
        }
        None => None,
    };
    let decoder = FileDecoder::new(Arc::new(schema), footer.version()).with_require_alignment(true);
    let firsts = FirstKeys { digest: firsts, text: entry(FIRST_KEYS).map(str::to_owned) };
    Ok((decoder, spans, filters, firsts))
}

/// Checks that the columns of a batch are parts of the map, one after the other behind the `meta`
/// bytes of the block, as they are written.
///
/// arrow silently copies compressed or misaligned columns to the heap, so they are refused. Damaged
/// metadata that points elsewhere is refused, too.
fn check_mapped(
    batch: &RecordBatch,
    block: &Buffer,
    meta: usize,
) -> std::result::Result<(), String> {
    let mut at = block.as_ptr().wrapping_add(meta);
    for column in batch.columns() {
        if column.nulls().is_some() {
            return Err("a column has nulls".into());
        }
        for buffer in column.to_data().buffers() {
            if !buffer.is_empty() && buffer.as_ptr() != at {
                return Err("a column is not mapped, or not in its place".into());
            }
            at = at.wrapping_add(buffer.len().next_multiple_of(ALIGNMENT));
        }
    }
    if at != block.as_ptr_range().end {
        Err("a block is longer than its columns".into())
    } else {
        Ok(())
    }
}
