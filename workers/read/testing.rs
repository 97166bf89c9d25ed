//! Helpers of the readers' tests: archives built record by record, temporary files, and a whole
//! input read at once.

use crate::read::codec::Codec;
use crate::read::record::{Body, Entry, Item, Mirror, Notes, Record};
use crate::read::{Options, Reader, Split, open};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file of these bytes; it is deleted when dropped.
pub struct Temporary(pub PathBuf);

impl Temporary {
    pub fn new(name: &str, bytes: &[u8]) -> Temporary {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pagefold-{}-{n}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Temporary(path)
    }

    /// The whole file as one split.
    pub fn split(&self) -> Split {
        Split { path: self.0.clone(), start: 0, end: self.0.metadata().unwrap().len() }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// All entries and notes of a file of these bytes. Checks that every byte was consumed.
pub fn read_all(name: &str, bytes: &[u8], options: &Options) -> (Vec<Entry>, Notes) {
    let file = Temporary::new(name, bytes);
    let mut reader = open(&file.split(), options).unwrap();
    (read_to_end(&mut *reader, bytes.len()), reader.notes())
}

/// All entries of the reader of a whole file. Checks that every byte was consumed.
pub fn read_to_end(reader: &mut dyn Reader, bytes: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(entry) = reader.next().unwrap() {
        entries.push(entry);
        assert!(entries.len() <= bytes + 1, "more entries than bytes");
    }
    assert_eq!(reader.consumed_bytes(), bytes as u64);
    assert!(reader.next().unwrap().is_none(), "an end is an end");
    entries
}

/// A word for each entry: the URL and the kind of an accepted record, otherwise the reason.
pub fn words(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| word(&entry.item)).collect()
}

pub fn word(item: &Item) -> String {
    match item {
        Item::Skip(reason) => format!("~{reason}"),
        Item::Status { .. } => format!("~{}", Item::STATUS),
        Item::Mirror(Mirror { url, of, .. }) => format!("{url} mirrors {of}"),
        Item::Reject { reason, .. } => format!("!{reason}"),
        Item::Record(Record { url, body, .. }) => match body {
            Body::Text(text) => format!("{url} text {}", text.len()),
            Body::Html { bytes, .. } => format!("{url} html {}", bytes.len()),
            Body::Plain { bytes, .. } => format!("{url} plain {}", bytes.len()),
            Body::Removed => format!("{url} removed"),
            Body::Moved(to) => format!("{url} moved to {to}"),
            Body::Seen => format!("{url} seen"),
        },
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One member of these bytes.
pub fn member(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    match codec {
        Codec::Plain => bytes.to_vec(),
        Codec::Gzip => gzip(bytes),
        Codec::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Codec::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

/// A zip archive that stores these files, and where the central directory starts.
pub fn zip(files: &[(&str, &[u8])]) -> (Vec<u8>, usize) {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let [size, check] = [content.len() as u32, rawzip::crc32(content)].map(u32::to_le_bytes);
        let length = (name.len() as u16).to_le_bytes();
        // Version, flags, method, time and date; then the fields that both headers have.
        let shared =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &check, &size, &size, &length, &[0; 2]].concat();
        let at = (bytes.len() as u32).to_le_bytes();
        directory
            .extend([b"PK\x01\x02\x14\x00", &shared[..], &[0; 10], &at, name.as_bytes()].concat());
        bytes.extend([b"PK\x03\x04", &shared[..], name.as_bytes(), content].concat());
    }
    let count = (files.len() as u16).to_le_bytes();
    let [size, at] = [directory.len() as u32, bytes.len() as u32].map(u32::to_le_bytes);
    let start = bytes.len();
    bytes.extend(
        [&directory[..], b"PK\x05\x06", &[0; 4], &count, &count, &size, &at, &[0; 2]].concat(),
    );
    (bytes, start)
}

/// A WARC record; `fields` are further fields, each with its line end.
pub fn warc(kind: &str, url: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n{fields}\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"\r\n\r\n"].concat()
}

/// A response; `fields` are its header fields, each with its line end.
pub fn response(status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {status}\r\n{fields}\r\n").as_bytes(), body].concat()
}

/// The WARC record of a page.
pub fn page(url: &str, body: &[u8]) -> Vec<u8> {
    warc("response", url, "", &response("200 OK", "Content-Type: text/html\r\n", body))
}

/// The ARC record of a page.
pub fn arc_page(url: &str, body: &[u8]) -> Vec<u8> {
    let body = response("200 OK", "Content-Type: text/html\r\n", body);
    let head = format!("{url} 192.0.2.1 20200101000000 text/html {}\n", body.len());
    [head.as_bytes(), &body, b"\n"].concat()
}
