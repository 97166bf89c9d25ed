//! Writes WARC 1.1 files (ISO 28500:2017), with one gzip member for each record.
//!
//! Headers of members hold neither time nor name, so that the same records give the same bytes.

use std::io::Write;

use flate2::{Compression, GzBuilder};

use crate::random::Random;
use jiff::civil::DateTime;
use sha1::{Digest, Sha1};

/// One record to write.
pub struct Record<'a> {
    /// WARC-Type.
    pub kind: &'a str,
    /// WARC-Target-URI; `None` for a record about the file.
    pub url: Option<&'a str>,
    /// WARC-Date.
    pub moment: DateTime,
    /// Content-Type of the block.
    pub content_type: &'a str,
    /// Further header lines.
    pub extra: Vec<(&'a str, String)>,
    /// The block.
    pub block: Vec<u8>,
}

/// A file that is being written.
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
        let (high, low) = (self.ids.next() & !0xf000 | 0x4000, self.ids.next() >> 2 | 1 << 63);
        let id = format!(
            "<urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}>",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        );
        let mut head =
            format!("WARC/1.1\r\nWARC-Type: {}\r\nWARC-Record-ID: {id}\r\n", record.kind);
        head += &format!("WARC-Date: {}Z\r\n", record.moment);
        if let Some(url) = record.url {
            head += &format!("WARC-Target-URI: {url}\r\n");
        }
        for (name, value) in &record.extra {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!(
            "Content-Type: {}\r\nContent-Length: {}\r\n\r\n",
            record.content_type,
            record.block.len()
        );
        self.members.push(gzip(&[head.as_bytes(), &record.block, b"\r\n\r\n"].concat()));
        id
    }

    /// Damages the last record: `cut` loses the second half of its member, else a run of bytes in
    /// the middle is wrong.
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
    let mut encoder =
        GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// The digest of a payload as `WARC-Payload-Digest` has it: SHA-1 in base 32 (RFC 4648).
pub fn payload_digest(payload: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = Sha1::digest(payload);
    // Five bytes are eight letters of five bits each; the 20 bytes of a digest fill 32 letters.
    let letters = digest.chunks_exact(5).flat_map(|five| {
        let bits = five.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        (0..8).rev().map(move |at| char::from(LETTERS[(bits >> (5 * at) & 31) as usize]))
    });
    "sha1:".chars().chain(letters).collect()
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
        out.extend(
            format!("{:x}\r\n", chunk.len()).bytes().chain(chunk.iter().copied()).chain(*b"\r\n"),
        );
    }
    out.extend(*b"0\r\n\r\n");
    out
}
