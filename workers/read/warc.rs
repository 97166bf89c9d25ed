//! Reads WARC records (ISO 28500, versions 0.17 to 1.1); WET and WAT are WARC too.
//!
//! Only pages, and records that say something new of pages, are accepted. Every other type of
//! record is skipped under its name. Segmented records are never joined. A `revisit` says that the
//! page of its URL was seen, or that it is a mirror of another URL's page.

use crate::page_url::canonical_url;
use crate::read::dialect::Dialect;
use crate::read::headers::{self, Headers, media_type};
use crate::read::record::{Body, Capture, Item, Mirror, Notes, Record, url};
use crate::read::{Limits, date, http};

/// The line of a version ends within this many bytes after `WARC/`.
const VERSION_BYTES_MAX: usize = 32;

/// The fields that confirm a start within a line are searched in this many bytes.
const TORN_BYTES_MAX: usize = 16 << 10;

/// The dialect of WARC.
#[derive(Debug, Default)]
pub struct Warc {
    searched_bytes: u64,
    /// The last record's id.
    id: String,
}

impl Warc {
    /// Bytes of records searched and parsed, each counted as often as it was. Linear in the size of
    /// the file.
    #[cfg(test)]
    pub fn searched_bytes(&self) -> u64 {
        self.searched_bytes
    }

    fn parse<'a>(&mut self, fields: &'a [u8]) -> Headers<'a> {
        self.searched_bytes += fields.len() as u64;
        Headers::parse(fields)
    }
}

impl Dialect for Warc {
    fn starts(bytes: &[u8]) -> bool {
        let name = &b"WARC/"[..bytes.len().min(5)];
        !bytes.is_empty()
            && bytes[..name.len()].eq_ignore_ascii_case(name)
            && bytes.get(5).is_none_or(u8::is_ascii_digit)
    }

    /// After a torn record the next one may start within a line. There it needs a whole version
    /// line with a field after it, since pages mention `WARC/1.0` too.
    fn find_start(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        let start = memchr::memmem::find_iter(bytes.get(from..)?, b"WARC/")
            .map(|at| from + at)
            .find(|&at| {
                let line = at == 0 || bytes[at - 1] == b'\n';
                line && Warc::starts(&bytes[at..])
                    || !line && is_version_and_field(&bytes[at + 5..])
            });
        self.searched_bytes += (start.unwrap_or(bytes.len()) - from) as u64;
        start
    }

    fn header_length(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        headers::length_from(bytes, from, &mut self.searched_bytes)
    }

    /// A start within a line tears a header only if all fields of a page follow before the next
    /// start: a URL may end in `WARC/1.0`, but then no fields follow. So each byte is parsed once,
    /// with any number of starts.
    fn torn_at(&mut self, header: &[u8]) -> Option<usize> {
        let mut start = self.find_start(header, 1);
        while let Some(at) = start {
            if header[at - 1] == b'\n' {
                return Some(at);
            }
            start = self.find_start(header, at + 1);
            let end = start.unwrap_or(header.len()).min(at + TORN_BYTES_MAX);
            let inner = self.parse(&header[at..end]);
            if ["WARC-Type", "WARC-Target-URI", "Content-Length"]
                .iter()
                .all(|name| inner.get(name).is_some())
            {
                return Some(at);
            }
        }
        None
    }

    fn body_length(&mut self, header: &[u8]) -> Option<u64> {
        self.parse(header).text("Content-Length")?.parse().ok()
    }

    fn separated(behind: &[u8]) -> bool {
        behind.starts_with(b"\r\n\r\n") || behind.starts_with(b"\n\n")
    }

    fn item(&mut self, header: &[u8], body: &[u8], limits: &Limits, notes: &mut Notes) -> Item {
        if header.first_chunk().is_some_and(|start| start == b"WARC/0.") {
            notes.add("warc_0");
        }
        if !header.contains(&b'\r') {
            notes.add("lf_header");
        }
        let headers = self.parse(header);
        self.id.push_str(headers.text("WARC-Record-ID").unwrap_or_default());
        item(&headers, body, limits, notes)
    }

    fn id(&self) -> Option<&str> {
        Some(self.id.as_str()).filter(|id| !id.is_empty())
    }

    fn forget_id(&mut self) {
        self.id.clear();
    }
}

/// The item of a record with these header fields and this body.
fn item(headers: &Headers<'_>, body: &[u8], limits: &Limits, notes: &mut Notes) -> Item {
    let Some(named) = headers.text("WARC-Type") else {
        return Item::reject("bad_header", "no WARC-Type");
    };
    let record_type = match named.to_ascii_lowercase().as_str() {
        "request" => return Item::Skip("request"),
        "metadata" => return Item::Skip("metadata"),
        "warcinfo" => return Item::Skip("warcinfo"),
        "continuation" => return Item::Skip("segment"),
        "response" => RecordType::Response,
        "resource" => RecordType::Resource,
        "conversion" => RecordType::Conversion,
        "revisit" => RecordType::Revisit,
        _ => return Item::Skip("type"),
    };
    if headers.text("WARC-Segment-Number").is_some_and(|number| number.parse::<u64>().is_ok()) {
        return Item::Skip("segment");
    }
    let Capture { url: page_url, date, bad_date } = match capture(headers) {
        Ok(capture) => capture,
        Err(item) => return item,
    };
    let found = match record_type {
        // The status of an answer whose body was not kept again says the same as with the body.
        RecordType::Revisit if is_http(headers, body) && http::says_no_page(body) => {
            http::visited(&page_url, body, None, limits.record_bytes_max, notes)
        }
        // Error pages have the same bytes, so it may refer to that of another URL.
        RecordType::Revisit if is_http(headers, body) && http::says_seen(body) => Ok(Body::Seen),
        RecordType::Revisit => match headers.get("WARC-Refers-To-Target-URI").map(bare) {
            Some(other) if other != target(headers) => referring(&page_url, other, headers),
            _ => Ok(Body::Seen),
        },
        RecordType::Conversion => conversion(headers.get("Content-Type"), body),
        RecordType::Response if is_http(headers, body) => http::visited(
            &page_url,
            body,
            headers.get("WARC-Identified-Payload-Type"),
            limits.record_bytes_max,
            notes,
        ),
        RecordType::Response | RecordType::Resource => page(headers.get("Content-Type"), body),
    };
    if headers.get("WARC-Truncated").is_some() {
        notes.add("warc_truncated");
    }
    match found {
        Ok(body) => {
            let is_conversion = record_type == RecordType::Conversion;
            Item::Record(Record { url: page_url, date, bad_date, score: None, is_conversion, body })
        }
        Err(item) => item.about(&page_url),
    }
}

/// When and where it was fetched, or why it is no page.
pub fn capture(headers: &Headers<'_>) -> Result<Capture, Item> {
    let url = url(target(headers))?;
    if !http::is_web(&url) {
        return Err(Item::Skip("scheme"));
    }
    let written = headers.text("WARC-Date");
    let date = written.and_then(date::parse);
    Ok(Capture { url, date, bad_date: written.is_some() && date.is_none() })
}

fn target<'a>(headers: &'a Headers<'_>) -> &'a [u8] {
    bare(headers.get("WARC-Target-URI").unwrap_or_default())
}

/// The revisit that says of `page` that it had the bytes of a capture of `other`, which may be
/// another spelling of the same URL.
fn referring(page: &str, other: &[u8], headers: &Headers<'_>) -> Result<Body, Item> {
    let of = url(other).map_err(|_| Item::Skip(Mirror::REASON))?;
    if canonical_url(&of).doc == canonical_url(page).doc {
        return Ok(Body::Seen);
    }
    let of_date = headers.text("WARC-Refers-To-Date").and_then(date::parse);
    Err(Item::Mirror(Mirror { url: page.to_owned(), of, of_date }))
}

/// Whether a version line ends here and a field of WARC follows.
fn is_version_and_field(bytes: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(VERSION_BYTES_MAX)]);
    let Some(([b'0'..=b'9', b'.', minor @ ..], field)) = end.map(|end| bytes.split_at(end)) else {
        return false;
    };
    minor.trim_ascii_end().iter().all(u8::is_ascii_digit)
        && [&b"\nWARC-"[..], b"\nContent-"].iter().any(|name| field.starts_with(name))
}

#[derive(PartialEq, Eq)]
enum RecordType {
    Response,
    Resource,
    Conversion,
    Revisit,
}

/// `target` without the angle brackets that WARC 1.0's grammar demanded and wget wrote.
fn bare(target: &[u8]) -> &[u8] {
    let target = target.trim_ascii();
    target.strip_prefix(b"<").and_then(|inner| inner.strip_suffix(b">")).unwrap_or(target)
}

/// Whether the record holds an HTTP message. A response does, unless its Content-Type names
/// something else.
fn is_http(headers: &Headers<'_>, body: &[u8]) -> bool {
    body.starts_with(b"HTTP/")
        || headers.get("Content-Type").is_none_or(|t| media_type(t).0 == "application/http")
}

/// The text of a WET record: UTF-8, or bytes whose charset is to be detected.
fn conversion(content_type: Option<&[u8]>, body: &[u8]) -> Result<Body, Item> {
    match media_type(content_type.unwrap_or(b"text/plain")) {
        (media, charset) if media == "text/plain" => Ok(match std::str::from_utf8(body) {
            Ok(text) => Body::Text(text.to_owned()),
            Err(_) => Body::Plain { bytes: body.to_owned(), charset },
        }),
        _ => page(content_type, body),
    }
}

/// The page in a record without HTTP around it.
fn page(content_type: Option<&[u8]>, body: &[u8]) -> Result<Body, Item> {
    let (media, charset) = media_type(content_type.unwrap_or_default());
    http::page(&media, charset, body.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Options;
    use crate::read::testing::{page, read_all, response, warc, words};

    fn outcome(record: &[u8]) -> String {
        let (entries, _) = read_all("x.warc", record, &Options::default());
        assert_eq!(entries.len(), 1, "{entries:?}");
        words(&entries).remove(0)
    }

    /// Every type of record is read, or skipped under its name.
    #[test]
    fn types() {
        let html = response("200 OK", "Content-Type: text/html\r\n", b"<p>");
        for (kind, fields, body, want) in [
            ("response", "", &html[..], "http://a/ html 3"),
            (
                "RESPONSE",
                "Content-Type: application/http; msgtype=response\r\n",
                &html,
                "http://a/ html 3",
            ),
            ("response", "Content-Type: text/html\r\n", b"<p>", "http://a/ html 3"),
            ("response", "", &response("404", "", b""), "http://a/ removed"),
            ("response", "WARC-Segment-Number: 1\r\n", &html, "~segment"),
            ("resource", "Content-Type: text/html\r\n", b"<p>", "http://a/ html 3"),
            ("resource", "Content-Type: text/plain\r\n", b"abc", "http://a/ plain 3"),
            ("resource", "Content-Type: image/png\r\n", b"abc", "~not_text"),
            ("resource", "Content-Type: text/html\r\n", b"%PDF-1.7", "~binary"),
            ("conversion", "Content-Type: text/plain\r\n", b"abc", "http://a/ text 3"),
            ("conversion", "", b"abc", "http://a/ text 3"),
            ("conversion", "", b"ab\xff", "http://a/ plain 3"),
            ("conversion", "Content-Type: application/json\r\n", b"{}", "~not_text"),
            ("revisit", "", b"", "http://a/ seen"),
            ("revisit", "WARC-Refers-To-Target-URI: <http://a/>\r\n", b"", "http://a/ seen"),
            (
                "revisit",
                "WARC-Refers-To-Target-URI: http://b/\r\n",
                b"",
                "http://a/ mirrors http://b/",
            ),
            ("revisit", "WARC-Refers-To-Target-URI: <>\r\n", b"", "~revisit_other"),
            // Other spellings of its own URL.
            ("revisit", "WARC-Refers-To-Target-URI: HTTP://A:80\r\n", b"", "http://a/ seen"),
            ("revisit", "WARC-Refers-To-Target-URI: http://a/#x\r\n", b"", "http://a/ seen"),
            ("request", "", b"GET", "~request"),
            ("metadata", "", b"", "~metadata"),
            ("warcinfo", "", b"", "~warcinfo"),
            ("continuation", "", b"", "~segment"),
            ("monkeys", "", b"", "~type"),
            ("", "", b"", "!bad_header"),
        ] {
            assert_eq!(outcome(&warc(kind, "http://a/", fields, body)), want, "{kind} {fields}");
        }
    }

    /// Only `http` and `https` URLs are pages. Angle brackets are not part of a URL, and odd bytes
    /// are escaped.
    #[test]
    fn urls() {
        assert_eq!(outcome(&page("<http://a/b>", b"x")), "http://a/b html 1");
        assert_eq!(outcome(&page("HTTPS://a/b c\t", b"x")), "HTTPS://a/b c html 1");
        assert_eq!(outcome(&page("http://a/\u{1}", b"x")), "http://a/%01 html 1");
        assert_eq!(outcome(&page("http://a/WARC/1.0", b"x")), "http://a/WARC/1.0 html 1");
        for url in ["dns:a", "metadata://x/y", "file:///x", "ftp://a/", "http:/"] {
            assert_eq!(outcome(&page(url, b"x")), "~scheme");
        }
        assert_eq!(outcome(&page("", b"x")), "!no_url");
        assert_eq!(outcome(&page(&format!("http://a/{}", "x".repeat(70_000)), b"x")), "!long_url");
    }

    /// A revisit of an answer that said that a page is gone counted as a visit of the live page, so
    /// that the page stayed for ever. Its status says the same as with a body.
    #[test]
    fn revisits_by_status() {
        let other = "WARC-Refers-To-Target-URI: http://a/other\r\n";
        for (http, fields, expected) in [
            ("404 Not Found\r\n", "", "http://a/ removed"),
            ("404 Not Found\r\n", other, "http://a/ removed"),
            ("301 Moved\r\nLocation: /new\r\n", other, "http://a/ moved to http://a/new"),
            ("403 Forbidden\r\n", "", "~status"),
            ("200 OK\r\n", "", "http://a/ seen"),
            ("304 Not Modified\r\n", "", "http://a/ seen"),
            ("503 Unavailable\r\n", "", "http://a/ seen"),
            // Error pages of two pages have the same bytes, and no page has that text.
            ("503 Unavailable\r\n", other, "http://a/ seen"),
        ] {
            let fields = format!("Content-Type: application/http; msgtype=response\r\n{fields}");
            let record =
                warc("revisit", "http://a/", &fields, format!("HTTP/1.1 {http}\r\n").as_bytes());
            assert_eq!(outcome(&record), expected, "{http}");
        }
    }

    /// A header means the same in every version and with any line ends, case and folding; the date
    /// comes from it.
    #[test]
    fn headers() {
        for head in [
            "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a/\r\nWARC-Date: 1970-01-02\r\n\
             Content-Length: 3\r\n\r\n",
            "WARC/1.1\nwarc-type:conversion\nWARC-TARGET-URI:\n http://a/\nwarc-date:19700102000000\n\
             content-length:\n\t3\n\n",
            "warc/0.18\r\r\nWARC-Type: conversion\r\r\nJunk\r\r\nWARC-Target-URI: http://a/\r\r\n\
             WARC-Date: 1970-01-02T00:00:00Z\r\r\nContent-Length: 03\r\r\n\r\r\n",
        ] {
            let (entries, _) =
                read_all("x.warc", format!("{head}abc\n\n").as_bytes(), &Options::default());
            let record = Record {
                url: "http://a/".into(),
                date: Some(86_400),
                bad_date: false,
                score: None,
                is_conversion: true,
                body: Body::Text("abc".into()),
            };
            assert_eq!(entries[0].item, Item::Record(record), "{head}");
        }
    }

    /// A record that its crawler cut off is accepted and counted.
    #[test]
    fn truncated_by_the_crawler() {
        let record = warc("conversion", "http://a/", "WARC-Truncated: length\r\n", b"abc");
        let (_, notes) = read_all("x.warc", &record, &Options::default());
        assert_eq!(notes.iter().collect::<Vec<_>>(), [("warc_truncated", 1)]);
    }
}
