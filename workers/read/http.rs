//! Reads HTTP responses as archives keep them (RFC 9112): a page, its removal, or its unchanged
//! state.
//!
//! [`http_body`](super::http_body) decodes the body. A body that was cut off is counted under
//! `cut_body`.

use crate::page_url::canonical_url;
use crate::read::binary;
use crate::read::headers::{self, Headers, media_type};
use crate::read::html_start::looks_like_html;
use crate::read::http_body::{BodyFlaws, decoded, is_chunked};
use crate::read::record::{Body, HTTP_BYTES_MAX, Item, Notes, url};
use std::borrow::Cow;
use url::Url;

/// Whether a URL has the scheme `http` or `https`.
pub fn is_web(url: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|s| url.get(..s.len()).is_some_and(|head| head.eq_ignore_ascii_case(s)))
}

/// The status of a response; `None` if it is no response.
pub fn status(response: &[u8]) -> Option<u16> {
    parse(response).map(|(status, ..)| status)
}

/// Whether a response is neither a page nor a sign that the page is as it was: its status removes
/// the page or says nothing about it.
pub fn says_no_page(response: &[u8]) -> bool {
    status(response).is_some_and(|status| !matches!(status, 200..=299 | 304 | 500..=599))
}

/// Whether a response says that the page is there, without a new text.
pub fn says_seen(response: &[u8]) -> bool {
    status(response).is_some_and(|status| matches!(status, 204..=206 | 304 | 500..=599))
}

/// Where a redirect leads, as its `Location` has it; `None` if the response is no redirect.
pub fn location(response: &[u8]) -> Option<String> {
    let (status, head, _) = parse(response)?;
    let is_redirect = matches!(status, 301 | 302 | 303 | 307 | 308);
    url(Headers::parse(head).get("Location").filter(|_| is_redirect)?).ok()
}

/// What a response from `at` says: as [`body`], with the URL to which a removed page has moved. A
/// redirect of a page to itself, by which sites set a cookie, does not remove the page. A redirect
/// to the front page of a site says no more than 404.
pub fn visited(
    at: &str,
    response: &[u8],
    media: Option<&[u8]>,
    bytes_max: usize,
    notes: &mut Notes,
) -> Result<Body, Item> {
    let found = body(response, media, bytes_max, notes)?;
    if found != Body::Removed {
        return Ok(found);
    }
    let to = location(response).and_then(|to| Url::parse(at).ok()?.join(&to).ok());
    let is_front = |url: &Url| url.path() == "/" && url.query().is_none();
    Ok(match to {
        Some(to) if canonical_url(to.as_str()).doc == canonical_url(at).doc => Body::Seen,
        Some(to) if is_web(to.as_str()) && !is_front(&to) => Body::Moved(to.into()),
        _ => found,
    })
}

/// The page in a response. `media` is the media type that the archive states, for responses without
/// one; `bytes_max` bounds the decoded body. The error is a skip, a status that says nothing about
/// the page, or a reject: `bad_http`, `too_long`.
///
/// ```
/// use workers::read::http::body;
/// use workers::read::record::{Body, Item, Notes};
///
/// let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>hello";
/// let found = body(page, None, 1000, &mut Notes::default());
/// let charset = Some("utf-8".to_owned());
/// assert_eq!(found, Ok(Body::Html { bytes: b"<p>hello".to_vec(), charset }));
/// let gone = body(b"HTTP/1.1 410 Gone\r\n\r\n", None, 1000, &mut Notes::default());
/// assert_eq!(gone, Ok(Body::Removed));
/// let redirect = body(b"HTTP/1.1 302 Found\r\n\r\n", None, 1000, &mut Notes::default());
/// assert_eq!(redirect, Err(Item::Status { url: None }));
/// ```
pub fn body(
    response: &[u8],
    media: Option<&[u8]>,
    bytes_max: usize,
    notes: &mut Notes,
) -> Result<Body, Item> {
    let Some((status, head, body)) = parse(response) else {
        let head = String::from_utf8_lossy(&response[..response.len().min(60)]).into_owned();
        return Err(Item::reject("bad_http", head));
    };
    let headers = Headers::parse(head);
    match status {
        // An answer without content, a part of a page, or the answer to HEAD shows that the page is
        // there, but not its text.
        204..=206 => return Ok(Body::Seen),
        202 if body.is_empty() => return Ok(Body::Seen),
        200..=299 if body.is_empty() && lacks_body(&headers) => return Ok(Body::Seen),
        200..=299 => {}
        301 | 308 | 404 | 410 => return Ok(Body::Removed),
        304 | 500..=599 => return Ok(Body::Seen),
        _ => return Err(Item::Status { url: None }),
    }
    let (mut kind, charset) = media_type(headers.get("Content-Type").or(media).unwrap_or_default());
    if !says_type(&kind) && is_html(&headers, body, bytes_max) {
        kind = "text/html".into();
    }
    if !is_page(&kind) {
        return Err(Item::Skip("not_text"));
    }
    let mut flaws = BodyFlaws::new(notes);
    let served = body.len();
    let body = decoded(&headers, body, bytes_max, &mut flaws)?;
    let page = page(&kind, charset, body)?;
    if flaws.is_cut || !flaws.is_raw && is_shorter(&headers, served) {
        flaws.notes.add("cut_body");
    }
    Ok(page)
}

/// Whether `media` is a media type that says something (MIME Sniffing Standard, 4.4 and 7).
fn says_type(media: &str) -> bool {
    let is_token = |text: &str| {
        let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
    };
    let is_type = media.split_once('/').is_some_and(|(of, kind)| is_token(of) && is_token(kind));
    is_type && !["*/*", "unknown/unknown", "application/unknown"].contains(&media)
}

/// Whether a body without a type looks like HTML, without its encodings.
fn is_html(headers: &Headers<'_>, body: &[u8], bytes_max: usize) -> bool {
    let mut notes = Notes::default();
    decoded(headers, body, bytes_max, &mut BodyFlaws::new(&mut notes))
        .is_ok_and(|body| looks_like_html(&body))
}

/// Whether a response without a body lacks it, as the answer to HEAD does. The last chunk, and the
/// encoding of nothing, have bytes, too.
fn lacks_body(headers: &Headers<'_>) -> bool {
    let encoding = headers.text("Content-Encoding").unwrap_or_default().to_ascii_lowercase();
    is_shorter(headers, 0)
        || is_chunked(headers)
        || ["gzip", "deflate", "br", "zstd"].iter().any(|name| encoding.contains(name))
}

/// Whether a body of `bytes` bytes is shorter than its header says. The length in the header does
/// not count with a transfer encoding (RFC 9112, 6.3), and says nothing about a body that was
/// already decoded.
fn is_shorter(headers: &Headers<'_>, bytes: usize) -> bool {
    let length = headers.text("Content-Length").and_then(|length| length.parse::<u64>().ok());
    headers.get("Transfer-Encoding").is_none() && length.is_some_and(|n| n > bytes as u64)
}

/// The body of a page of this media type. The error is a skip: the type, or what the bytes are, is
/// neither HTML nor plain text.
pub fn page(media: &str, charset: Option<String>, bytes: Cow<'_, [u8]>) -> Result<Body, Item> {
    if !is_page(media) {
        return Err(Item::Skip("not_text"));
    }
    if binary::is_known(&bytes) {
        return Err(Item::Skip("binary"));
    }
    let bytes = bytes.into_owned();
    Ok(match media {
        "text/plain" => Body::Plain { bytes, charset },
        _ => Body::Html { bytes, charset },
    })
}

fn is_page(media: &str) -> bool {
    ["text/html", "application/xhtml+xml", "text/plain"].contains(&media)
}

/// The status, the header fields and the body of a response. Interim responses, such as `100
/// Continue`, stand before it.
fn parse(response: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let mut found = parse_first(response)?;
    while let (100..=199, _, rest) = found
        && let Some(next) = parse_first(rest)
    {
        found = next;
    }
    Some(found)
}

fn parse_first(response: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let line_end = memchr::memchr(b'\n', response).map_or(response.len(), |end| end + 1);
    let (line, rest) = response.split_at(line_end);
    let mut words = line
        .strip_prefix(b"HTTP/")?
        .split(|b| b.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let status = std::str::from_utf8(words.nth(1)?)
        .ok()?
        .parse()
        .ok()
        .filter(|status| (100..1000).contains(status))?;
    let within = &rest[..rest.len().min(HTTP_BYTES_MAX)];
    let is_short = within.len() == rest.len();
    let length = headers::length(within).or(is_short.then_some(rest.len()))?;
    let (head, body) = rest.split_at(length);
    Some((status, head, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{gzip, response};
    use proptest::prelude::*;
    use std::io::Write;

    const HTML: &str = "Content-Type: text/html; charset=GBK\r\n";

    fn of(response: &[u8]) -> (Result<Body, Item>, u64) {
        let mut notes = Notes::default();
        let body = body(response, None, 1000, &mut notes);
        (body, notes.iter().map(|(_, count)| count).sum())
    }

    fn noted(response: &[u8]) -> Vec<&'static str> {
        let mut notes = Notes::default();
        let _ = body(response, None, 1000, &mut notes);
        notes.iter().map(|(word, _)| word).collect()
    }

    fn html(bytes: &[u8]) -> Result<Body, Item> {
        Ok(Body::Html { bytes: bytes.to_vec(), charset: Some("GBK".into()) })
    }

    /// A response whose first 16 MiB looked like a header took half a gigabyte.
    #[test]
    fn a_header_has_a_limit() {
        let fields =
            |bytes: usize| [b"HTTP/1.1 200 OK\n", b":\n".repeat(bytes / 2).as_slice()].concat();
        assert_eq!(parse(&fields(1000)).map(|(.., body)| body.len()), Some(0));
        assert!(parse(&fields(HTTP_BYTES_MAX + 2)).is_none());
        let ended = [fields(1000).as_slice(), b"\n<p>text"].concat();
        assert_eq!(parse(&ended).map(|(.., body)| body), Some(&b"<p>text"[..]));
    }

    /// A page was skipped if its type lacks the semicolon before the charset, or says nothing.
    #[test]
    fn types_that_say_nothing() {
        for kind in ["text/html charset=GBK", "text/html:charset=GBK", "*/*", "unknown/unknown", ""]
        {
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n<html><p>x");
            let Ok(Body::Html { .. }) = of(answer.as_bytes()).0 else { panic!("{kind}") };
        }
        let image = b"HTTP/1.1 200 OK\r\nContent-Type: image/gif\r\n\r\n<html><p>x";
        assert_eq!(of(image).0, Err(Item::Skip("not_text")));
    }

    /// A redirect of a page to itself, by which sites set a cookie, removed the page.
    #[test]
    fn redirects_to_the_page_itself() {
        let at = "https://a.example/caf%C3%A9?x=1";
        for (location, expected) in [
            ("https://a.example/caf%c3%a9?x=1", Body::Seen),
            ("https://a.example:443/caf%C3%A9?x=1#top", Body::Seen),
            ("?x=1", Body::Seen),
            ("/caf%C3%A9?x=1", Body::Seen),
            (
                "http://a.example/caf%C3%A9?x=1",
                Body::Moved("http://a.example/caf%C3%A9?x=1".into()),
            ),
            ("/caf%C3%A9", Body::Moved("https://a.example/caf%C3%A9".into())),
            ("//b.example/", Body::Removed),
            ("/?x=1", Body::Moved("https://a.example/?x=1".into())),
            ("ftp://a.example/x", Body::Removed),
            ("", Body::Removed),
        ] {
            for status in [301, 308] {
                let answer = format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\n\r\n");
                let found = visited(at, answer.as_bytes(), None, 1000, &mut Notes::default());
                assert_eq!(found, Ok(expected.clone()), "{status} {location}");
            }
        }
        let bare = visited(at, b"HTTP/1.1 301 Moved\r\n\r\n", None, 1000, &mut Notes::default());
        assert_eq!(bare, Ok(Body::Removed));
    }

    /// A part of a page, or the answer to a HEAD request, replaced the page by less text.
    #[test]
    fn answers_without_the_page() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n";
        assert_eq!(of(head).0, Ok(Body::Seen));
        let part = b"HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\n\r\nxyz";
        assert_eq!(of(part).0, Ok(Body::Seen));
        for status in ["202 Accepted", "204 No Content", "205 Reset Content"] {
            let empty = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            assert_eq!(of(empty.as_bytes()).0, Ok(Body::Seen), "{status}");
        }
    }

    /// The status decides whether the page is there, gone or unchanged. With an interim response in
    /// front of it the page was skipped.
    #[test]
    fn statuses() {
        for (status, want) in [
            ("200 OK", html(b"x")),
            ("203", html(b"x")),
            ("301 Moved", Ok(Body::Removed)),
            ("308", Ok(Body::Removed)),
            ("404", Ok(Body::Removed)),
            ("410 Gone", Ok(Body::Removed)),
            ("304", Ok(Body::Seen)),
            ("500", Ok(Body::Seen)),
            ("599", Ok(Body::Seen)),
            ("302", Err(Item::Status { url: None })),
            ("403", Err(Item::Status { url: None })),
            ("999", Err(Item::Status { url: None })),
        ] {
            let whole = response(status, HTML, b"x");
            let interim =
                [&b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nLink: x\r\n\r\n"[..], &whole];
            assert_eq!(of(&whole).0, want, "{status}");
            assert_eq!(of(&interim.concat()).0, want, "{status}, behind interim responses");
        }
        for bad in ["", "HTTP/1.1", "HTTP/1.1 OK", "HTTP/1.1 20", "ICY 200 OK\r\n\r\n", "<html>"] {
            assert!(
                matches!(of(bad.as_bytes()).0, Err(Item::Reject { reason: "bad_http", .. })),
                "{bad}"
            );
        }
    }

    /// The media type decides whether a body is a page. Without one in HTTP, that of the archive
    /// and the start of the body decide.
    #[test]
    fn media() {
        let kind = |fields: &str, media: Option<&[u8]>, bytes: &[u8]| match body(
            &response("200 OK", fields, bytes),
            media,
            1000,
            &mut Notes::default(),
        ) {
            Ok(Body::Html { .. }) => "html",
            Ok(Body::Plain { .. }) => "plain",
            Err(Item::Skip(reason)) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind("content-type: TEXT/HTML\n", None, b"x"), "html");
        assert_eq!(kind("Content-Type: application/xhtml+xml\r\n", None, b"x"), "html");
        assert_eq!(kind("Content-Type: text/plain\r\n", None, b"<html>"), "plain");
        assert_eq!(kind("Content-Type: image/png\r\n", Some(b"text/html"), b"<html>"), "not_text");
        assert_eq!(kind("", Some(b"text/html"), b"x"), "html");
        assert_eq!(kind("", None, b"\n<!DOCTYPE HTML>"), "html");
        assert_eq!(kind("", None, b"x"), "not_text");
        for page in [
            &b"\xef\xbb\xbf<html lang=en>"[..],
            b"<?xml version=\"1.0\"?>\n<!DOCTYPE html>",
            b"<!-- saved from url -->",
            b"<div class=x>",
            b"<P>",
        ] {
            assert_eq!(kind("", None, page), "html", "{}", String::from_utf8_lossy(page));
        }
        for other in [&b"<?xml version=\"1.0\"?><rss>"[..], b"<pre", b"<data>", b"<"] {
            assert_eq!(kind("", None, other), "not_text", "{}", String::from_utf8_lossy(other));
        }
    }

    /// Bytes of a PDF or a picture that a server calls HTML or text were pages of random words, and
    /// those of one program folded. They are none, in each encoding, also where the archive names
    /// the type.
    #[test]
    fn binary_bodies() {
        let skip = Err(Item::Skip("binary"));
        let picture = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
        for fields in [HTML, "Content-Type: text/plain\r\n"] {
            assert_eq!(of(&response("200 OK", fields, b"%PDF-1.4\n")), (skip.clone(), 0));
            assert_eq!(of(&response("200 OK", fields, picture)), (skip.clone(), 0));
            let coded = format!("{fields}Content-Encoding: gzip\r\n");
            assert_eq!(of(&response("200 OK", &coded, &gzip(picture))), (skip.clone(), 0));
        }
        let of_archive = |media: &[u8]| {
            let answer = response("200 OK", "", picture);
            body(&answer, Some(media), 1000, &mut Notes::default())
        };
        assert_eq!(of_archive(b"text/html"), skip);
        assert_eq!(of_archive(b"image/png"), Err(Item::Skip("not_text")));
        // One that is no page leaves the page as it is, unless its status says more.
        assert_eq!(of(&response("404", HTML, picture)).0, Ok(Body::Removed));
    }

    /// A chunked body is joined, with padded sizes and when it is cut off.
    #[test]
    fn chunked() {
        let fields = format!("{HTML}Transfer-Encoding: chunked\r\n");
        for (body, want) in [
            ("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"),
            ("0003;x=y\r\nabc\r\n2  \r\nde\r\n0000000000000000000\r\nTrailer: 1\r\n\r\n", "abcde"),
            ("3\nabc\n2\nde\n0\n\n", "abcde"),
            ("0\r\n\r\n", ""),
        ] {
            assert_eq!(
                of(&response("200 OK", &fields, body.as_bytes())),
                (html(want.as_bytes()), 0),
                "{body:?}"
            );
        }
        for (body, want) in [("3\r\nabc\r\nff\r\nde", "abcde"), ("3\r\nabc\r\n", "abc")] {
            let cut = response("200 OK", &fields, body.as_bytes());
            assert_eq!(of(&cut).0, html(want.as_bytes()), "{body:?}");
            assert_eq!(noted(&cut), ["cut_body"], "{body:?}");
        }
    }

    /// A body that was decoded before it was archived is kept as it is, and counted.
    #[test]
    fn lying_headers() {
        for fields in
            ["Transfer-Encoding: chunked", "Content-Encoding: gzip", "Content-Encoding: deflate"]
        {
            for body in ["<p>decoded</p>", "fffffffffffffffffffff\r\nx", "-1\r\nx", "3\r\nabcdef"] {
                let fields = format!("{HTML}{fields}\r\n");
                assert_eq!(
                    of(&response("200 OK", &fields, body.as_bytes())),
                    (html(body.as_bytes()), 1),
                    "{fields} {body}"
                );
            }
        }
        let fields = format!("{HTML}Content-Encoding: br\r\n");
        assert_eq!(
            of(&response("200 OK", &fields, b"<p>decoded</p>")),
            (html(b"<p>decoded</p>"), 1)
        );
    }

    /// Every encoding is undone, several of them in turn, also if each has a field of its own.
    #[test]
    fn encodings() {
        let text = b"<p>The same text, the same text, the same text.</p>";
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(text).unwrap();
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        raw.write_all(text).unwrap();
        // An uncompressed meta-block of four bytes and the empty last one, written by hand.
        let brotli = b"\x8b\x01\x80web!\x03".to_vec();
        let zstandard = zstd::encode_all(&text[..], 1).unwrap();
        for (name, body, want) in [
            ("gzip", gzip(text), &text[..]),
            ("X-GZIP", gzip(text), text),
            ("deflate", zlib.finish().unwrap(), text),
            ("deflate", raw.finish().unwrap(), text),
            ("zstd", zstandard.clone(), text),
            ("zstd\r\ncontent-encoding: gzip", gzip(&zstandard), text),
            ("zstd, gzip", gzip(&zstandard), text),
            ("identity", text.to_vec(), text),
            ("utf-8", text.to_vec(), text),
            ("br", brotli, b"web!"),
        ] {
            let fields = format!("{HTML}Content-Encoding: {name}\r\n");
            assert_eq!(of(&response("200 OK", &fields, &body)), (html(want), 0), "{name}");
        }
        let chunk = gzip(text);
        let body = [format!("{:x}\r\n", chunk.len()).as_bytes(), &chunk, b"\r\n0\r\n\r\n"].concat();
        let fields = format!("{HTML}Transfer-Encoding: gzip, chunked\r\n");
        assert_eq!(of(&response("200 OK", &fields, &body)), (html(text), 0), "a transfer coding");
    }

    /// A body that was cut off was taken for a whole one, without a note. It is still read as far
    /// as it goes, in every encoding, and is counted. A whole body is not counted, whatever follows
    /// it and whatever its header says about a body that was already decoded.
    #[test]
    fn cut_bodies_are_noted() {
        let text: Vec<u8> =
            (0..400u32).flat_map(|n| format!("{} ", n * n * 31).into_bytes()).collect();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&text).unwrap();
        let zlib = zlib.finish().unwrap();
        let zstandard = zstd::encode_all(&text[..], 1).unwrap();
        // Uncompressed meta-blocks of four bytes, the empty last one cut off.
        let brotli = b"\x8b\x01\x80web!".to_vec();
        let raw = zlib[2..zlib.len() - 4].to_vec();
        let of_max = |name: &str, more: &str, body: &[u8]| {
            let mut notes = Notes::default();
            let fields = format!("{HTML}Content-Encoding: {name}\r\n{more}");
            let found = super::body(&response("200 OK", &fields, body), None, 10_000, &mut notes);
            let bytes = match found {
                Ok(Body::Html { bytes, .. }) => bytes,
                // Nothing was decoded: what is left is no page.
                Err(Item::Skip("binary")) => Vec::new(),
                _ => panic!("{name}: {found:?}"),
            };
            (bytes, notes.iter().map(|(word, _)| word).collect::<Vec<_>>())
        };
        for (name, whole) in
            [("gzip", gzip(&text)), ("deflate", zlib), ("deflate", raw), ("zstd", zstandard)]
        {
            assert_eq!(of_max(name, "", &whole), (text.clone(), vec![]), "{name}");
            for less in [1, 9, whole.len() / 2] {
                let (bytes, notes) = of_max(name, "", &whole[..whole.len() - less]);
                if name == "zstd" {
                    // A small frame has one block, and of a part of it nothing is decoded.
                    assert_eq!((bytes, notes), (vec![], vec!["raw_body"]), "{less}");
                } else {
                    assert!(!bytes.is_empty() && text.starts_with(&bytes), "{name} {less}");
                    assert_eq!(notes, ["cut_body"], "{name} {less}");
                }
            }
        }
        assert_eq!(of_max("br", "", &brotli), (b"web!".to_vec(), vec!["cut_body"]));
        let two = [gzip(&text), gzip(&text)].concat();
        assert_eq!(of_max("gzip", "", &two), (text.repeat(2), vec![]));
        assert_eq!(of_max("gzip", "", &two[..two.len() - 20]).1, ["cut_body"]);
        for junk in [&b"\r\n"[..], b"\0\0\0\0\0\0\0\0\0\0\0\0"] {
            let whole = [&gzip(&text)[..], junk].concat();
            assert_eq!(of_max("gzip", "", &whole), (text.clone(), vec![]), "{junk:?}");
        }
        assert_eq!(of_max("identity", "Content-Length: 5\r\n", b"abcd").1, ["cut_body"]);
        assert_eq!(of_max("identity", "Content-Length: 4\r\n", b"abcd").1, Vec::<&str>::new());
        assert_eq!(of_max("gzip", "Content-Length: 99\r\n", b"<p>decoded").1, ["raw_body"]);
    }

    /// A small body that decodes to a huge one is rejected at the limit, and the number of
    /// encodings is limited.
    #[test]
    fn bombs() {
        let fields = format!("{HTML}Content-Encoding: gzip\r\n");
        let reason = |fields: &str, body: &[u8]| match of(&response("200 OK", fields, body)).0 {
            Err(Item::Reject { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(&fields, &gzip(&[0; 10_000_000])), "too_long");
        assert_eq!(reason(&fields, &gzip(&[b'x'; 1001])), "too_long");
        assert_eq!(of(&response("200 OK", &fields, &gzip(&[b'x'; 1000]))).0, html(&[b'x'; 1000]));
        assert_eq!(
            reason(&format!("{HTML}Content-Encoding: {}\r\n", "gzip,".repeat(5)), b"x"),
            "bad_http"
        );
    }

    proptest! {
        /// No bytes make the parser panic, under any encoding.
        #[test]
        fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..200), encoding in 0usize..5) {
            let name = ["gzip", "deflate", "br", "zstd", "x"][encoding];
            let fields = format!("{HTML}Transfer-Encoding: chunked\r\nContent-Encoding: {name}\r\n");
            let _ = of(&response("200 OK", &fields, &body));
            let _ = of(&body);
        }
    }
}
