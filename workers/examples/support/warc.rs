//! WARC 1.1 files (ISO 28500:2017): in come records, out come bytes with one gzip member a record, whose headers carry
//! neither time nor name. Never damages anything by itself; that is what `damage` is for.

use std::io::Write;

use flate2::{Compression, GzBuilder};

use crate::calendar::Moment;
use crate::random::Random;

/// One record to write.
pub struct Record<'a> {
    /// WARC-Type.
    pub kind: &'a str,
    /// WARC-Target-URI; none where the record is about the file.
    pub url: Option<&'a str>,
    /// WARC-Date.
    pub moment: Moment,
    /// Content-Type of the block.
    pub content_type: &'a str,
    /// Further header lines.
    pub extra: Vec<(&'a str, String)>,
    /// The block.
    pub block: Vec<u8>,
}

/// A file in the making.
pub struct Warc {
    members: Vec<Vec<u8>>,
    ids: Random,
}

impl Warc {
    /// An empty file whose record ids come from `ids`.
    pub fn new(ids: Random) -> Warc {
        Warc { members: Vec::new(), ids }
    }

    /// Appends a record and returns its WARC-Record-ID.
    pub fn push(&mut self, record: &Record<'_>) -> String {
        // Version 4 and the variant's bits, as RFC 9562 wants them.
        let (high, low) = (self.ids.bits() & !0xf000 | 0x4000, self.ids.bits() >> 2 | 1 << 63);
        let id = format!(
            "<urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}>",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        );
        let mut head = format!("WARC/1.1\r\nWARC-Type: {}\r\nWARC-Record-ID: {id}\r\n", record.kind);
        head += &format!("WARC-Date: {}\r\n", record.moment.iso());
        if let Some(url) = record.url {
            head += &format!("WARC-Target-URI: {url}\r\n");
        }
        for (name, value) in &record.extra {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Type: {}\r\nContent-Length: {}\r\n\r\n", record.content_type, record.block.len());
        self.members.push(gzip(&[head.as_bytes(), &record.block, b"\r\n\r\n"].concat()));
        id
    }

    /// Damages the last record: `cut` loses the second half of its member, else a run of bytes in the middle is wrong.
    pub fn damage(&mut self, cut: bool) {
        if let Some(member) = self.members.last_mut() {
            let middle = member.len() / 2;
            if cut {
                member.truncate(middle);
            } else {
                member[middle..middle + 24].iter_mut().for_each(|byte| *byte ^= 0x5a);
            }
        }
    }

    /// The file's bytes.
    pub fn finish(self) -> Vec<u8> {
        self.members.concat()
    }
}

/// One gzip member (RFC 1952) with modification time 0.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// An HTTP/1.1 message: its first line, its header lines and its body.
pub fn http(first: &str, headers: &[(&str, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{first}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    [head.as_bytes(), body].concat()
}

/// `body` in HTTP's chunked coding (RFC 9112), in chunks of at most `chunk_bytes`.
pub fn chunked(body: &[u8], chunk_bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in body.chunks(chunk_bytes) {
        out.extend(format!("{:x}\r\n", chunk.len()).bytes().chain(chunk.iter().copied()).chain(*b"\r\n"));
    }
    out.extend(*b"0\r\n\r\n");
    out
}
