//! Reads the layout of a segment's file: where its batches and columns are.
//!
//! `open` does not check the digest of a file, so nothing here trusts its metadata: a file that is
//! not laid out as [`crate::store::segment::SegmentWriter`] does it is refused.

use crate::error::{Error, Kind, Result};
use crate::panics::guarded;
use crate::store::map::map;
use crate::store::segment::batch_digests::{self, BATCH_DIGESTS};
use crate::store::segment::{ALIGNMENT, SegmentRef};
use crate::store::table::Row;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_schema::Schema;
use std::path::Path;
use std::sync::Arc;

/// The error for a file that is not as it was written.
pub(in crate::store) fn damaged(path: &Path, why: &str) -> Error {
    Error::new(Kind::Io, format!("{}: damaged segment ({why}); run `pagefold verify`", path.display()))
}

/// Maps the file of `segment` and checks its size.
pub(in crate::store) fn mapped(path: &Path, segment: &SegmentRef) -> Result<bytes::Bytes> {
    let bytes = map(path)?;
    match bytes.len() as u64 == segment.bytes {
        true => Ok(bytes),
        false => Err(damaged(path, &format!("{} bytes, the manifest says {}", bytes.len(), segment.bytes))),
    }
}

/// Runs `read` on the file at `path`. arrow panics on some damaged metadata; such a panic becomes
/// an error that names the file.
pub(in crate::store) fn undamaged<T>(path: &Path, read: impl FnOnce() -> std::result::Result<T, String>) -> Result<T> {
    guarded(read).and_then(|read| read).map_err(|why| damaged(path, &why))
}

/// The position of a batch in a mapped file.
#[derive(Clone, Copy)]
pub(in crate::store) struct Span {
    block: arrow_ipc::Block,
    at: usize,
    /// The size of its metadata in bytes.
    pub(in crate::store) meta: usize,
    end: usize,
}

/// A mapped file and the positions of its batches.
pub(in crate::store) struct Layout {
    whole: Buffer,
    schema: Arc<Schema>,
    version: arrow_ipc::MetadataVersion,
    /// The positions of the batches.
    pub(in crate::store) spans: Vec<Span>,
    /// The digest of each batch.
    pub(in crate::store) digests: Vec<u64>,
    /// The digest of the first keys of all batches.
    pub(in crate::store) firsts: u64,
}

impl Layout {
    /// Reads the footer of a segment of a table with these columns.
    ///
    /// It does not depend on the type of the rows, so that it is compiled once and not for each
    /// table.
    pub(in crate::store) fn read(bytes: bytes::Bytes, columns: &Schema) -> std::result::Result<Layout, String> {
        let text = |e: arrow_schema::ArrowError| e.to_string();
        let whole = Buffer::from(bytes);
        let Some(trailer) = whole.len().checked_sub(10) else { return Err("too short".into()) };
        let trailer_bytes = whole[trailer..].try_into().map_err(|_| "no trailer")?;
        let footer_bytes = read_footer_length(trailer_bytes).map_err(text)?;
        let Some(start) = trailer.checked_sub(footer_bytes) else { return Err("footer out of bounds".into()) };
        let footer = arrow_ipc::root_as_footer(&whole[start..trailer]).map_err(|e| e.to_string())?;
        let schema = try_fb_to_schema(footer.schema().ok_or("no schema")?).map_err(text)?;
        if schema != *columns {
            return Err("another table's columns".into());
        }
        let mut spans = Vec::new();
        let mut after = None;
        for block in footer.recordBatches().ok_or("no batches")? {
            let (Ok(at), Ok(meta), Ok(body)) = (
                usize::try_from(block.offset()),
                usize::try_from(block.metaDataLength()),
                usize::try_from(block.bodyLength()),
            ) else {
                return Err("block out of bounds".into());
            };
            let end = at.checked_add(meta).and_then(|n| n.checked_add(body)).filter(|&end| end <= start);
            let Some(end) = end else { return Err("block out of bounds".into()) };
            // Blocks follow one another, and each begins with the length of its metadata. A
            // damaged footer points at bytes for which this does not hold.
            let says = [&[0xff; 4][..], &(meta as u32).wrapping_sub(8).to_le_bytes()].concat();
            if after.is_some_and(|after| at != after) || !whole[at..end].starts_with(&says) {
                return Err("no block where the footer says".into());
            }
            after = Some(end);
            spans.push(Span { block: *block, at, meta, end });
        }
        let metadata = footer.custom_metadata().into_iter().flatten();
        let digests = metadata.filter(|entry| entry.key() == Some(BATCH_DIGESTS)).find_map(|entry| entry.value());
        let (digests, firsts) = digests.and_then(batch_digests::parse).ok_or("no digests of its batches")?;
        if digests.len() != spans.len() {
            return Err("batches and digests of another number".into());
        }
        let version = footer.version();
        Ok(Layout { whole, schema: Arc::new(schema), version, spans, digests, firsts })
    }

    /// A decoder of the batches.
    pub(in crate::store) fn decoder(&self) -> FileDecoder {
        FileDecoder::new(self.schema.clone(), self.version).with_require_alignment(true)
    }

    /// The bytes of a batch, and the batch that `decoder` reads from them.
    pub(in crate::store) fn batch(
        &self,
        span: &Span,
        decoder: &FileDecoder,
    ) -> std::result::Result<(Buffer, RecordBatch), String> {
        let data = self.whole.slice_with_length(span.at, span.end - span.at);
        let batch = decoder.read_record_batch(&span.block, &data).map_err(|e| e.to_string())?.ok_or("empty block")?;
        Ok((data, batch))
    }
}

/// The number of rows up to and including a batch of `rows` rows that follows `before` others.
///
/// # Errors
///
/// If a batch other than the last is not full: a row's batch would not follow from its position.
pub(in crate::store) fn rows_after<R: Row>(before: usize, rows: usize) -> std::result::Result<usize, String> {
    if rows == 0 || rows > R::BATCH_ROWS || !before.is_multiple_of(R::BATCH_ROWS) {
        return Err("batches of another size".into());
    }
    Ok(before + rows)
}

/// Checks that the columns of a batch are parts of the map, one after the other behind the `meta`
/// bytes of the block, as they are written.
///
/// arrow silently copies compressed or misaligned columns to the heap, so they are refused. So is
/// damaged metadata that points elsewhere.
pub(in crate::store) fn check_mapped(
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
    if at != block.as_ptr_range().end { Err("a block is longer than its columns".into()) } else { Ok(()) }
}
