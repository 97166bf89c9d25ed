//! Reads the records of a file in portions, each record with its place.

use crate::error::Result;
use crate::filter::became::Record;
use crate::read::codec::Codec;
use crate::read::record::Item;
use crate::read::{Format, Reader, Shape};

/// Records that are looked up at once.
const PORTION_RECORDS: usize = 1 << 13;
/// Bytes of the URLs and ids of records that are looked up at once.
const PORTION_BYTES: usize = 1 << 24;

/// The place of a record.
#[derive(Clone, Copy)]
pub struct Range {
    /// Its bytes in the file, if these belong to it alone.
    pub alone: Option<(u64, u64)>,
    /// The number of its bytes, in the file or else decoded; 0 if it is not known. Rows of Parquet
    /// have no bytes of their own, so here it is the number of rows.
    pub bytes: u64,
}

/// The records of a file, in portions.
pub struct Portions<'a> {
    pub reader: &'a mut dyn Reader,
    shape: Option<Shape>,
    size: u64,
    /// The first record of the next portion.
    open: Option<Record>,
    is_done: bool,
}

impl<'a> Portions<'a> {
    /// The records of a file of `size` bytes, from the next record of `reader` on.
    pub fn new(reader: &'a mut dyn Reader, shape: Option<Shape>, size: u64) -> Self {
        Portions { reader, shape, size, open: None, is_done: false }
    }

    fn record(&mut self) -> Result<Option<Record>> {
        let Some(entry) = self.reader.next()? else { return Ok(None) };
        // Only a page is replaced by a revisit.
        let is_page = matches!(entry.item, Item::Record(_));
        let id = self.reader.record_id();
        let mut record = Record::of(entry, id, self.reader.naming());
        record.file_end = self.reader.file_end();
        record.head = self.reader.take_head().filter(|_| is_page);
        Ok(Some(record))
    }

    /// The next records and where they lie. A record ends where the next one begins.
    pub fn next(&mut self) -> Result<Option<(Vec<Record>, Vec<Range>)>> {
        if self.is_done {
            return Ok(None);
        }
        let (mut records, mut ranges, mut bytes) = (Vec::new(), Vec::new(), 0);
        let first = match self.open.take() {
            Some(open) => Some(open),
            None => self.record()?,
        };
        let Some(mut open) = first else {
            self.is_done = true;
            return Ok(None);
        };
        while records.len() < PORTION_RECORDS && bytes < PORTION_BYTES {
            let next = self.record()?;
            ranges.push(self.range(&open, next.as_ref()));
            bytes += open.bytes();
            records.push(open);
            match next {
                Some(next) => open = next,
                None => {
                    self.is_done = true;
                    return Ok(Some((records, ranges)));
                }
            }
        }
        self.open = Some(open);
        Ok(Some((records, ranges)))
    }

    fn range(&self, record: &Record, next: Option<&Record>) -> Range {
        let to = |end: u64, start: u64| end.saturating_sub(start);
        let Some(Shape { format, codec }) = self.shape else {
            return Range { alone: None, bytes: 0 };
        };
        let alone = match (format, codec) {
            (Format::Parquet, _) => return Range { alone: None, bytes: record.records },
            (_, Codec::Plain) if format != Format::Wacz => {
                Some((record.position, next.map_or(self.size, |next| next.position)))
            }
            _ => {
                match (
                    record.member,
                    next.filter(|next| next.file_end == record.file_end).map(|of| of.member),
                ) {
                    (Some(start), None) => Some((start, record.file_end.unwrap_or(self.size))),
                    (Some(start), Some(Some(end))) => Some((start, end)),
                    _ => None,
                }
            }
        };
        let decoded = match next {
            Some(next) if next.file_end == record.file_end => to(next.position, record.position),
            _ => 0,
        };
        Range { alone, bytes: alone.map_or(decoded, |(start, end)| to(end, start)) }
    }
}
