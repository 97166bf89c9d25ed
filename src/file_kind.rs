//! What a file is that is no job, by its first bytes.

use workers::read::codec::Codec;

/// The kind of a file that begins with `bytes`, if it is an archive, a table or compressed.
pub fn crawl(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [b'P', b'A', b'R', b'1', ..] => Some("a Parquet file"),
        [b'P', b'K', 3, 4, ..] => Some("a WACZ or another ZIP file"),
        _ if Codec::of(bytes) != Codec::Plain => Some("a compressed file"),
        _ if bytes.starts_with(b"WARC/") => Some("a WARC file"),
        _ if bytes.starts_with(b"filedesc:") => Some("an ARC file"),
        _ => None,
    }
}

/// Whether a file begins with an object of JSON, or with an array that may have some.
pub fn is_json(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    text.starts_with(b"{") || text.starts_with(b"[{") || text.starts_with(b"[\n")
}
