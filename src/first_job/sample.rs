//! Reads records from all parts of files with the readers of a run.
//!
//! The first rows of a file do not show ids that repeat further down, or a second data set behind
//! the first. So several parts are read of a file of rows that is not compressed, and all rows of
//! small files. The last part is read first, and the other parts get the bytes that it leaves.

use std::path::PathBuf;
use workers::error::Result;
use workers::read::record::{Body, Entry, Item};
use workers::read::{Format, Options, Reader, Split, first_records, open_or_reject, splits};

/// The most files that are read, spread over all.
pub const FILES_MAX: usize = 16;
/// The most records of an archive that are read.
const RECORDS_MAX: u64 = 200;
/// The most bytes of rows that are read, in all files together.
const BYTES_MAX: u64 = 48 << 20;
/// Parts of a file of rows.
const PARTS: u64 = 8;
/// Bytes that a row counts for in addition to its text.
const ROW_BYTES: u64 = 256;

/// A file that is read.
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
    /// Its format.
    pub format: Format,
}

/// Calls `each` with the records of `sample` that are read; only with rows if `rows`.
pub fn read(
    sample: &[File],
    options: &Options,
    rows: bool,
    mut each: impl FnMut(&File, Entry),
) -> Result<()> {
    let bytes_max = BYTES_MAX / sample.len().max(1) as u64;
    for (number, file) in sample.iter().enumerate().filter(|(_, f)| !rows || f.format.has_rows()) {
        // The file's number stands for its digest, so that rows of two files differ.
        let options = Options { file: number.to_string(), ..options.clone() };
        let whole = Split { path: file.path.clone(), start: 0, end: file.size };
        if !file.format.has_rows() {
            let open = open_or_reject;
            let mut reader = first_records::open(&whole, &options, open, RECORDS_MAX, file.size)?;
            while let Some(entry) = reader.next()? {
                each(file, entry);
            }
            continue;
        }
        let mut left = bytes_max;
        let parts = match file.size > left {
            true => splits(&file.path, file.size, file.size.div_ceil(PARTS))?,
            false => vec![whole],
        };
        for (before, part) in parts.iter().enumerate().rev() {
            let reader = open_or_reject(part, &options)?;
            left -= read_part(reader, left / (before as u64 + 1), |entry| each(file, entry))?;
        }
    }
    Ok(())
}

/// Reads at most about `bytes_max` bytes of rows, and returns how many it read, at most this many.
fn read_part(
    mut reader: Box<dyn Reader>,
    bytes_max: u64,
    mut each: impl FnMut(Entry),
) -> Result<u64> {
    let mut bytes = 0;
    while bytes < bytes_max
        && let Some(entry) = reader.next()?
    {
        bytes += ROW_BYTES + text_bytes(&entry.item);
        each(entry);
    }
    Ok(bytes.min(bytes_max))
}

fn text_bytes(item: &Item) -> u64 {
    let Item::Record(record) = item else { return 0 };
    match &record.body {
        Body::Text(text) => text.len() as u64,
        Body::Html { bytes, .. } | Body::Plain { bytes, .. } => bytes.len() as u64,
        Body::Removed | Body::Moved(_) | Body::Seen => 0,
    }
}
