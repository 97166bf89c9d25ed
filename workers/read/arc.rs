//! Reads ARC records, the format before WARC, versions 1 and 2
//! (<https://archive.org/web/researcher/ArcFileFormat.php>).
//!
//! The URL in a header line may hold spaces, so the line is parsed from its end. The `filedesc:`
//! record at the start of a file is skipped as `warcinfo`.

use crate::read::dialect::Dialect;
use crate::read::record::{Capture, Item, Notes, Record, url};
use crate::read::{Limits, date, http};

/// The dialect of ARC.
#[derive(Debug)]
pub struct Arc;

/// The fields of a header line that are used.
#[derive(Debug, PartialEq, Eq)]
struct HeaderLine<'a> {
    url: &'a [u8],
    date: &'a [u8],
    media: &'a [u8],
    length: &'a [u8],
}

impl<'a> HeaderLine<'a> {
    /// Version 1 is `URL IP date type length`; version 2 adds `result checksum location offset
    /// file` before the length. The version is the one in which the date is a date and the address
    /// looks like one. Version 2 comes first, if the result is a number: in the places of version 1
    /// the offset may look like a date, and the location like an address.
    fn parse(line: &'a [u8]) -> Option<HeaderLine<'a>> {
        let line = line.trim_ascii_end();
        let is_result = |part: &[u8]| part == b"-" || part.iter().all(u8::is_ascii_digit);
        [(10, true), (5, false), (10, false)].into_iter().find_map(|(fields, has_result)| {
            let mut parts: Vec<&[u8]> = line.rsplitn(fields, |&b| b == b' ').collect();
            parts.reverse();
            if has_result && !(parts.len() == fields && is_result(parts[4])) {
                return None;
            }
            let [url, address, date, media, .., length] = parts[..] else { return None };
            let dated = date == b"-"
                || (8..=18).contains(&date.len()) && date.iter().all(u8::is_ascii_digit);
            let placed = address == b"-" || address.iter().any(|b| matches!(b, b'.' | b':'));
            (has_scheme(url) && dated && placed && !length.is_empty()).then_some(HeaderLine {
                url,
                date,
                media,
                length,
            })
        })
    }

    /// When and where it was fetched, or why it is no page.
    fn capture(&self) -> Result<Capture, Item> {
        let url = url(self.url)?;
        if !http::is_web(&url) {
            return Err(Item::Skip("scheme"));
        }
        let date = std::str::from_utf8(self.date).ok().and_then(date::parse);
        Ok(Capture { url, date, bad_date: date.is_none() })
    }
}

fn has_scheme(bytes: &[u8]) -> bool {
    let scheme = bytes
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        .count();
    // The rest of a scheme, behind a body that lost a few bytes, is none.
    let is_cut = [&b"https"[..], b"http", b"dns"]
        .iter()
        .any(|whole| scheme < whole.len() && whole.ends_with(&bytes[..scheme]));
    scheme > 1 && !is_cut && bytes[0].is_ascii_alphabetic() && bytes.get(scheme) == Some(&b':')
}

impl Dialect for Arc {
    fn starts(bytes: &[u8]) -> bool {
        match memchr::memchr(b'\n', bytes) {
            Some(end) => {
                bytes.starts_with(b"filedesc:") || HeaderLine::parse(&bytes[..end]).is_some()
            }
            None => has_scheme(bytes),
        }
    }

    /// After a torn record the next one may start within a line, but only at an `http` URL.
    fn find_start(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        let first = memchr::memrchr(b'\n', bytes.get(..from)?).map_or(0, |end| end + 1);
        let ends = memchr::memchr_iter(b'\n', &bytes[first..]).map(|end| first + end);
        let mut line = first;
        for end in ends.chain([bytes.len()]) {
            if line >= from && Arc::starts(&bytes[line..]) {
                return Some(line);
            }
            let torn = memchr::memmem::rfind(&bytes[line..end], b"http").map(|at| line + at);
            if let Some(at) =
                torn.filter(|&at| at >= from && HeaderLine::parse(&bytes[at..end]).is_some())
            {
                return Some(at);
            }
            line = end + 1;
        }
        None
    }

    fn header_length(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        memchr::memchr(b'\n', bytes.get(from..)?).map(|end| from + end + 1)
    }

    /// A header is one line, and the URL in it may hold anything.
    fn torn_at(&mut self, _: &[u8]) -> Option<usize> {
        None
    }

    fn body_length(&mut self, header: &[u8]) -> Option<u64> {
        let length = header.trim_ascii_end().rsplit(|&b| b == b' ').next()?;
        std::str::from_utf8(length).ok()?.parse().ok()
    }

    fn separated(behind: &[u8]) -> bool {
        behind.starts_with(b"\n") || behind.starts_with(b"\r\n")
    }

    fn item(&mut self, header: &[u8], body: &[u8], limits: &Limits, notes: &mut Notes) -> Item {
        if header.starts_with(b"filedesc:") {
            return Item::Skip("warcinfo");
        }
        let Some(line) = HeaderLine::parse(header) else {
            return Item::reject("bad_header", String::from_utf8_lossy(header));
        };
        let Capture { url, date, bad_date } = match line.capture() {
            Ok(capture) => capture,
            Err(item) => return item,
        };
        match http::visited(&url, body, Some(line.media), limits.record_bytes_max, notes) {
            Ok(body) => Item::Record(Record {
                url,
                date,
                bad_date,
                score: None,
                is_conversion: false,
                body,
            }),
            Err(item) => item.about(&url),
        }
    }
}

/// When and where the record with this header was fetched; `None` if it is no page.
pub fn capture(header: &[u8]) -> Option<Capture> {
    HeaderLine::parse(header)?.capture().ok()
}

/// Whether a file that starts with these bytes is ARC without a `filedesc:` record.
pub fn opens(bytes: &[u8]) -> bool {
    memchr::memchr(b'\n', bytes).is_some_and(|end| HeaderLine::parse(&bytes[..end]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Options;
    use crate::read::testing::{arc_page, gzip, read_all, response, words};

    const FILEDESC: &str =
        "filedesc://x.arc 0.0.0.0 20200101000000 text/plain 14\n1 0 Somebody\n\n\n";

    /// A file is read record by record with and without `filedesc:`, plain, in one member and with
    /// a member for each record.
    #[test]
    fn files() {
        let records = [
            FILEDESC.as_bytes().to_vec(),
            arc_page("http://a/", b"x"),
            arc_page("https://b/", b"yy"),
        ];
        let want = ["~warcinfo", "http://a/ html 1", "https://b/ html 2"];
        let each: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
        for file in [records.concat(), gzip(&records.concat()), each] {
            assert_eq!(words(&read_all("x", &file, &Options::default()).0), want);
        }
        assert_eq!(words(&read_all("x", &records[1..].concat(), &Options::default()).0), want[1..]);
    }

    /// A header line is parsed in both versions, with spaces in the URL, and with an empty or
    /// missing type.
    #[test]
    fn lines() {
        let body = response("200 OK", "Content-Type: text/plain\r\n", b"abc");
        for (line, want) in [
            ("http://a/ 192.0.2.1 20200101000000 text/html", "http://a/ plain 3"),
            ("http://a/b c d 192.0.2.1 20200101000000 text/html", "http://a/b c d plain 3"),
            ("http://a/ ::1 20200101000000 no-type", "http://a/ plain 3"),
            ("http://a/ 192.0.2.1 20200101000000 ", "http://a/ plain 3"),
            ("http://a/ - - -", "http://a/ plain 3"),
            ("http://a/ 192.0.2.1 20200101000000 text/html 200 sum - 0 x.arc", "http://a/ plain 3"),
            (
                "http://a/ 192.0.2.1 20200101000000 text/html 200 sum - 12345678 x.arc",
                "http://a/ plain 3",
            ),
            ("dns:a 192.0.2.1 20200101000000 text/dns", "~scheme"),
        ] {
            let record = [format!("{line} {}\n", body.len()).as_bytes(), &body, b"\n"].concat();
            assert_eq!(words(&read_all("x.arc", &record, &Options::default()).0), [want], "{line}");
        }
        let (entries, _) = read_all("x.arc", &arc_page("http://a/", b"x"), &Options::default());
        assert!(matches!(&entries[0].item, Item::Record(Record { date: Some(1_577_836_800), .. })));
    }

    /// Behind a body that lost two to four bytes the next, undamaged record was skipped as one of
    /// another scheme: `ps` of `https`. The damaged record is rejected, and the next one is read.
    #[test]
    fn a_body_that_lost_bytes_costs_no_other_record() {
        for next in ["http://b/", "https://b/"] {
            for lost in 1..=6 {
                let mut torn = arc_page("http://a/", b"abcdefgh");
                let end = torn.len() - 2;
                torn.drain(end - lost..end);
                let file = [torn, arc_page(next, b"x"), arc_page("http://c/", b"x")].concat();
                let found = words(&read_all("x.arc", &file, &Options::default()).0);
                assert_eq!(found[1..], [format!("{next} html 1"), "http://c/ html 1".into()]);
                assert!(found[0] == "!bad_length" || lost == 1, "{found:?}");
            }
        }
    }

    /// A bad header line and a bad length cost no other record.
    #[test]
    fn bad_lines() {
        for bad in [
            "http://a/ nowhere soon text/html 5\nabcde\n",
            "http://a/ 192.0.2.1 20200101000000 text/html -1\n\n",
        ] {
            let file = [&arc_page("http://a/", b"x"), bad.as_bytes(), &arc_page("http://b/", b"x")]
                .concat();
            let found = words(&read_all("x.arc", &file, &Options::default()).0);
            assert_eq!((&found[0][..], &found[2][..]), ("http://a/ html 1", "http://b/ html 1"));
            assert!(found[1].starts_with('!'), "{found:?}");
        }
    }
}
