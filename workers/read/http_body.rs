//! Decodes the body of a response: its chunks (RFC 9112, 7.1) and its content encodings.
//!
//! Archives keep bodies that were already decoded, while the headers still name the encoding. So
//! each encoding is tried. If it does not fit, the body is kept as it is and counted under
//! `raw_body`. A body that was cut off is decoded as far as it goes. A decoded body keeps to the
//! caller's limit; a body without an encoding was bounded by the caller as part of its record.

use crate::read::headers::Headers;
use crate::read::record::{Item, Notes};
use crate::read::zstd_stream::WINDOW_LOG_MAX;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// More content encodings around one body are an attack.
const ENCODINGS_MAX: usize = 4;

/// What was found to be wrong with a body while it was decoded.
pub struct BodyFlaws<'a> {
    /// Where flaws are counted.
    pub notes: &'a mut Notes,
    /// An encoding is not complete: the bytes behind the cut or the damage are lost.
    pub is_cut: bool,
    /// The body does not have an encoding that its header names.
    pub is_raw: bool,
}

impl<'a> BodyFlaws<'a> {
    /// None so far; they are counted in `notes`.
    pub fn new(notes: &'a mut Notes) -> BodyFlaws<'a> {
        BodyFlaws { notes, is_cut: false, is_raw: false }
    }

    fn raw(&mut self) {
        self.is_raw = true;
        self.notes.add("raw_body");
    }
}

/// The body of a response with these headers, decoded to at most `bytes_max` bytes. The error is a
/// reject: `bad_http`, `too_long`.
pub fn decoded<'a>(
    headers: &Headers<'_>,
    body: &'a [u8],
    bytes_max: usize,
    flaws: &mut BodyFlaws<'_>,
) -> Result<Cow<'a, [u8]>, Item> {
    let body = unchunked(headers, body, flaws);
    without_encodings(headers, body, bytes_max, flaws)
}

/// Whether the headers say that the body comes in chunks.
pub fn is_chunked(headers: &Headers<'_>) -> bool {
    let encoding = headers.text("Transfer-Encoding");
    encoding.is_some_and(|encoding| encoding.to_ascii_lowercase().contains("chunked"))
}

fn unchunked<'a>(
    headers: &Headers<'_>,
    body: &'a [u8],
    flaws: &mut BodyFlaws<'_>,
) -> Cow<'a, [u8]> {
    if !is_chunked(headers) || body.is_empty() {
        return body.into();
    }
    match chunks(body) {
        Some((joined, is_cut)) => {
            flaws.is_cut |= is_cut;
            joined.into()
        }
        None => {
            flaws.raw();
            body.into()
        }
    }
}

/// Joins the chunks of `body`; `None` if it is not chunked. A body that ends before its last, empty
/// chunk is joined as far as it goes, and counts as cut.
fn chunks(mut body: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut joined = Vec::with_capacity(body.len());
    let mut is_cut = true;
    while !body.is_empty() {
        let line = body.split(|&b| b == b'\n').next()?;
        let size = line.split(|&b| b == b';').next()?.trim_ascii();
        let zeros = size.iter().take_while(|&&b| b == b'0').count();
        let digits = std::str::from_utf8(&size[zeros..]).ok()?;
        if size.is_empty() || digits.starts_with('+') || digits.len() > 15 {
            return None;
        }
        let size = if digits.is_empty() { 0 } else { usize::from_str_radix(digits, 16).ok()? };
        body = body.get(line.len() + 1..).unwrap_or_default();
        if size == 0 {
            is_cut = false;
            break;
        }
        let (chunk, rest) = body.split_at(size.min(body.len()));
        joined.extend_from_slice(chunk);
        body = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(rest);
        if body.len() == rest.len() && !rest.is_empty() && rest != b"\r" {
            return None;
        }
    }
    Some((joined, is_cut))
}

fn without_encodings<'a>(
    headers: &Headers<'_>,
    mut body: Cow<'a, [u8]>,
    bytes_max: usize,
    flaws: &mut BodyFlaws<'_>,
) -> Result<Cow<'a, [u8]>, Item> {
    let mut names = headers.list("Content-Encoding");
    // A transfer coding is outside of them.
    let transfer = headers.list("Transfer-Encoding").into_iter();
    names.extend(transfer.filter(|name| name != "chunked"));
    if names.len() > ENCODINGS_MAX {
        return Err(Item::reject("bad_http", format!("{} content encodings", names.len())));
    }
    for name in names.into_iter().rev() {
        let bytes = body.as_ref();
        let inner = match &*name {
            _ if bytes.is_empty() => continue,
            "gzip" | "x-gzip" => bounded(bytes, Members(GzDecoder::new(bytes)), bytes_max)?,
            "deflate" => match bounded(bytes, ZlibDecoder::new(bytes), bytes_max)? {
                None => bounded(bytes, DeflateDecoder::new(bytes), bytes_max)?,
                inner => inner,
            },
            // A window of up to 1 GiB, which brotli in HTTP (RFC 7932) does not have.
            "br" if bytes[0] & 0x7f == 0x11 => None,
            "br" => bounded(bytes, brotli_decompressor::Decompressor::new(bytes, 4096), bytes_max)?,
            "zstd" => match zstd_decoder(bytes) {
                Ok(decoder) => bounded(bytes, decoder, bytes_max)?,
                Err(_) => None,
            },
            _ => continue,
        };
        match inner {
            Some((inner, is_cut)) => {
                flaws.is_cut |= is_cut;
                body = inner.into();
            }
            None => flaws.raw(),
        }
    }
    Ok(body)
}

fn zstd_decoder(bytes: &[u8]) -> io::Result<zstd::stream::read::Decoder<'static, &[u8]>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    Ok(decoder)
}

/// The members of a gzip body. Bytes behind them that are no member are passed by: they are not
/// part of the page, and do not mean that something is missing.
struct Members<'a>(GzDecoder<&'a [u8]>);

impl Read for Members<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.0.read(into)?;
            let rest: &[u8] = self.0.get_ref();
            if bytes > 0 || into.is_empty() || !rest.starts_with(b"\x1f\x8b") {
                return Ok(bytes);
            }
            self.0 = GzDecoder::new(rest);
        }
    }
}

/// What a body decodes to, and whether its encoding is cut; `None` if it does not have the
/// encoding.
type Decoded = Result<Option<(Vec<u8>, bool)>, Item>;

/// Everything that `decoder` decodes, up to `bytes_max`.
///
/// If it fails before its end, the bytes decoded so far are kept, unless `encoded` is text: such a
/// body was already decoded and may look like its encoding by chance.
fn bounded(encoded: &[u8], decoder: impl Read, bytes_max: usize) -> Decoded {
    let mut decoder = io::BufReader::with_capacity(32 << 10, decoder);
    let mut all = Vec::new();
    loop {
        match decoder.fill_buf() {
            Ok([]) => return Ok(Some((all, false))),
            Ok(more) if all.len() + more.len() > bytes_max => {
                return Err(Item::reject(
                    "too_long",
                    format!("the body decodes to more than {bytes_max} bytes"),
                ));
            }
            Ok(more) => {
                all.extend_from_slice(more);
                let used = more.len();
                decoder.consume(used);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) if all.is_empty() || looks_like_text(encoded) => return Ok(None),
            Err(_) => return Ok(Some((all, true))),
        }
    }
}

fn looks_like_text(bytes: &[u8]) -> bool {
    bytes.iter().take(256).all(|&b| b >= b' ' || b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Chunks of any sizes are joined to the original body.
        #[test]
        fn chunks_of_any_size(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..50), 0..9)) {
            let mut body = Vec::new();
            for part in &parts {
                body.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                body.extend_from_slice(part);
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(chunks(&body), Some((parts.concat(), false)));
        }
    }
}
