//! Reads no more than the first records of an input, for a sample.

use crate::error::Result;
use crate::page_url::Naming;
use crate::read::record::{Entry, Heading, Notes};
use crate::read::{Options, Reader, Split};

/// Opens a reader of splits, such as [`super::open`].
type Opener = fn(&Split, &Options) -> Result<Box<dyn Reader>>;

/// A reader that ends after some records. Skipped records do not count, because a sample of an
/// archive should have pages, not requests.
struct FirstRecords {
    reader: Option<Box<dyn Reader>>,
    left: u64,
    bytes: u64,
    notes: Notes,
}

/// Opens with `open` the first `records_max` records of the file of `bytes` bytes that `split` is a
/// part of. All of them belong to its first part, so they do not depend on how the file is cut.
pub fn open(
    split: &Split,
    options: &Options,
    open: Opener,
    records_max: u64,
    bytes: u64,
) -> Result<Box<dyn Reader>> {
    let whole = Split { path: split.path.clone(), start: 0, end: bytes.max(split.end) };
    let reader = if split.start == 0 { Some(open(&whole, options)?) } else { None };
    Ok(Box::new(FirstRecords {
        reader,
        left: records_max,
        bytes: split.end - split.start,
        notes: Notes::default(),
    }))
}

impl Reader for FirstRecords {
    fn next(&mut self) -> Result<Option<Entry>> {
        let Some(reader) = self.reader.as_mut() else { return Ok(None) };
        let entry = if self.left > 0 { reader.next()? } else { None };
        match &entry {
            Some(entry) => self.left -= u64::from(entry.item.skipped().is_none()),
            None => {
                self.notes = reader.notes();
                self.reader = None;
            }
        }
        Ok(entry)
    }

    fn consumed_bytes(&self) -> u64 {
        self.reader.as_ref().map_or(self.bytes, |reader| reader.consumed_bytes().min(self.bytes))
    }

    fn notes(&self) -> Notes {
        self.reader.as_ref().map_or_else(|| self.notes.clone(), |reader| reader.notes())
    }

    fn record_id(&self) -> Option<&str> {
        self.reader.as_ref().and_then(|reader| reader.record_id())
    }

    fn keep_heads(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.keep_heads();
        }
    }

    fn take_head(&mut self) -> Option<Heading> {
        self.reader.as_mut().and_then(|reader| reader.take_head())
    }

    fn naming(&self) -> Naming {
        self.reader.as_ref().map_or(Naming::Url, |reader| reader.naming())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::splits;
    use crate::read::testing::{Temporary, gzip, page, read_to_end, warc, words};

    /// A sample is the first records of a file, however it is cut and compressed; what is skipped
    /// does not count.
    #[test]
    fn the_first_records() {
        let lines: String =
            (0..100).map(|n| format!("{{\"url\":\"{n}\",\"text\":\"t\"}}\n")).collect();
        let archive = [
            warc("request", "http://a/", "", b""),
            page("http://a/", b"x"),
            page("http://b/", b"x"),
        ]
        .concat();
        for (bytes, want) in [
            (lines.as_bytes().to_vec(), vec!["0 text 1", "1 text 1"]),
            (gzip(lines.as_bytes()), vec!["0 text 1", "1 text 1"]),
            (archive, vec!["~request", "http://a/ html 1", "http://b/ html 1"]),
            (b"{}\n{}\n{}\n".to_vec(), vec!["!no_url", "!no_url"]),
        ] {
            let file = Temporary::new("x", &bytes);
            let size = bytes.len() as u64;
            for split_bytes in [1, 50, 1 << 20] {
                let mut found = Vec::new();
                for split in splits(&file.0, size, split_bytes).unwrap() {
                    let mut reader =
                        open(&split, &Options::default(), super::super::open, 2, size).unwrap();
                    found.extend(words(&read_to_end(
                        &mut *reader,
                        (split.end - split.start) as usize,
                    )));
                }
                assert_eq!(found, want, "{split_bytes}");
            }
        }
    }
}
