//! Finds where an archived redirect leads, for the labels of `eval --canonical`.
//!
//! `http.rs` (`visited`) says what a redirect does to its page: the readers skip it, or count it as
//! a removal or as a visit.

use crate::read::dialect::Dialect;
use crate::read::headers::Headers;
use crate::read::record::{Capture, Heading};
use crate::read::warc::{self, Warc};
use crate::read::{arc, http};
use url::Url;

/// A response that leads from one URL to another (301, 302, 303, 307 or 308).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// When and where it was fetched.
    pub capture: Capture,
    /// Where the response leads.
    pub target: String,
}

impl Redirect {
    /// The redirect with this head; `None` if it is another record. A revisit of a redirect counts
    /// as a redirect.
    ///
    /// ```
    /// use workers::read::record::Heading;
    /// use workers::read::redirect_target::Redirect;
    ///
    /// let header = b"WARC/1.1\r\nWARC-Type: response\r\n\
    ///     WARC-Target-URI: https://a.example/old/\r\n\r\n";
    /// let found = b"HTTP/1.1 302 Found\r\nLocation: ../new\r\n\r\n";
    /// let redirect = Redirect::of(&Heading::of(header, found)).expect("a redirect");
    /// assert_eq!(redirect.target, "https://a.example/new");
    /// ```
    pub fn of(head: &Heading) -> Option<Redirect> {
        let location = http::location(head.http())?;
        let capture =
            if Warc::starts(head.header()) { of_warc(head) } else { arc::capture(head.header()) }?;
        let target: String = Url::parse(&capture.url).ok()?.join(&location).ok()?.into();
        http::is_web(&target).then_some(Redirect { capture, target })
    }
}

fn of_warc(head: &Heading) -> Option<Capture> {
    let fields = Headers::parse(head.header());
    let kind = fields.text("WARC-Type")?;
    let is_response = ["response", "revisit"].iter().any(|of| kind.eq_ignore_ascii_case(of));
    warc::capture(&fields).ok().filter(|_| is_response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::first_records;
    use crate::read::testing::{Temporary, response, warc, zip};
    use crate::read::{Options, Reader, open};

    /// The sources and targets of the redirects of a file. All have a date.
    fn redirects(bytes: &[u8]) -> Vec<String> {
        let file = Temporary::new("x", bytes);
        of_reader(&mut *open(&file.split(), &Options::default()).unwrap())
    }

    fn of_reader(reader: &mut dyn Reader) -> Vec<String> {
        reader.keep_heads();
        let mut found = Vec::new();
        while reader.next().unwrap().is_some() {
            found.extend(reader.take_head().and_then(|head| Redirect::of(&head)));
        }
        assert!(found.iter().all(|found| found.capture.date == Some(1_577_836_800)), "{found:?}");
        found.into_iter().map(|found| format!("{} {}", found.capture.url, found.target)).collect()
    }

    fn of(kind: &str, status: &str, http: &str) -> Vec<String> {
        redirects(&warc(kind, "http://a.example/b/c", "", &response(status, http, b"<p>")))
    }

    /// Each status that leads elsewhere is a redirect, whatever the readers make of it; its target
    /// is resolved against the URL of the record. Other records are no redirects.
    #[test]
    fn statuses() {
        for status in ["301 Moved", "302 Found", "303 See", "307", "308 Moved"] {
            for kind in ["response", "revisit", "Response"] {
                let found = of(kind, status, "Content-Type: text/html\r\nlocation: ../d?e\r\n");
                assert_eq!(found, ["http://a.example/b/c http://a.example/d?e"], "{kind} {status}");
            }
        }
        let found = of("response", "302", "Location: https://b.example/ü\r\n");
        assert_eq!(found, ["http://a.example/b/c https://b.example/%C3%BC"]);
        for (kind, status, http) in [
            ("response", "302", ""),
            ("response", "302", "Location: mailto:me@a.example\r\n"),
            ("response", "302", "Location: http://[\r\n"),
            ("response", "200 OK", "Location: /d\r\n"),
            ("response", "304", "Location: /d\r\n"),
            ("response", "404", "Location: /d\r\n"),
            ("metadata", "302", "Location: /d\r\n"),
        ] {
            assert_eq!(of(kind, status, http), [""; 0], "{kind} {status} {http}");
        }
    }

    /// ARC has redirects, too.
    #[test]
    fn of_arc() {
        let body = response("302 Found", "Location: /d\r\n", b"");
        let line =
            format!("http://a.example/b c 192.0.2.1 20200101000000 text/html {}\n", body.len());
        let found = redirects(&[line.as_bytes(), &body, b"\n"].concat());
        assert_eq!(found, ["http://a.example/b c http://a.example/d"]);
    }

    /// Records of archives in a WACZ, and of samples, have heads, too. Their canonical links in
    /// HTTP were not found.
    #[test]
    fn heads_come_through() {
        let record =
            warc("response", "http://a.example/", "", &response("302", "Location: /d\r\n", b""));
        let want = ["http://a.example/ http://a.example/d"];
        let (wacz, _) = zip(&[("archive/a.warc", &record), ("archive/b.warc", &record)]);
        assert_eq!(redirects(&wacz), [want[0]; 2]);
        let file = Temporary::new("x", &record);
        let split = file.split();
        let mut sample =
            first_records::open(&split, &Options::default(), open, 1, split.end).unwrap();
        assert_eq!(of_reader(&mut *sample), want);
    }
}
