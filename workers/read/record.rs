//! The entries that all readers produce: one for each record of an input, in any format.
//!
//! A leaf, except for the parser of headers: the readers and the extractor depend on it, and it
//! does not depend on them.

use crate::read::headers;
use std::collections::BTreeMap;

/// A longer URL is not the address of a page; in bytes as found.
pub const URL_BYTES_MAX: usize = 64 << 10;

/// The longest HTTP header that a [`Heading`] has.
pub(super) const HTTP_BYTES_MAX: usize = 256 << 10;

/// The note of a file without a record that is no empty file by its format: an archive or a
/// compressed file of 0 bytes, or an archive of zero bytes. Its pages may be lost.
pub const EMPTY_FILE: &str = "empty_file";

/// The detail of a reject is cut to this many bytes.
pub const DETAIL_BYTES_MAX: usize = 200;

/// What a crawl recorded at one URL, before its text is extracted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The URL as found, not yet in canonical form. Control characters and invalid UTF-8 are
    /// percent-escaped. For a row whose key is another field, the value of that field as it is.
    pub url: String,
    /// Seconds since 1970 in UTC; `None` if the crawl recorded no valid date.
    pub date: Option<i64>,
    /// Whether the crawl recorded a date that is not understood.
    pub bad_date: bool,
    /// The number by which the keep rule may prefer the page, in 1/1,000,000; `None` if the record
    /// has no valid one.
    pub score: Option<i64>,
    /// Whether it is a text that the crawl made of its record of the page, such as in WET.
    pub is_conversion: bool,
    /// What was found there.
    pub body: Body,
}

impl Record {
    /// A record that says nothing but its body.
    pub fn nameless(body: Body) -> Record {
        let (url, date, bad_date, score) = (String::new(), None, false, None);
        Record { url, date, bad_date, score, is_conversion: false, body }
    }
}

/// When and where a crawl fetched what a record is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// [`Record::url`].
    pub url: String,
    /// [`Record::date`].
    pub date: Option<i64>,
    /// [`Record::bad_date`].
    pub bad_date: bool,
}

/// What a crawl found at a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Text that needs no extraction (WET, the `text` field of a JSON line).
    Text(String),
    /// A page as served: the bytes after HTTP's transfer and content encodings, and HTTP's charset
    /// if it named one.
    Html {
        /// The page's bytes.
        bytes: Vec<u8>,
        /// The `charset` parameter of HTTP's Content-Type.
        charset: Option<String>,
    },
    /// Plain text as served: its charset must be decoded, but there is no markup.
    Plain {
        /// The text's bytes.
        bytes: Vec<u8>,
        /// The `charset` parameter of HTTP's Content-Type.
        charset: Option<String>,
    },
    /// The page is gone: 404, 410, 301, 308, or a row that removes it.
    Removed,
    /// The page is gone, and a 301 or 308 says at which URL it is now.
    Moved(String),
    /// The page was visited without a new text: a revisit of its own URL, 304, 5xx.
    Seen,
}

/// The head of a record in an archive: its own header and, behind it, the HTTP header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    bytes: Vec<u8>,
    /// The length of the record's own header.
    header: usize,
}

impl Heading {
    /// The head of the record with this header and body.
    pub fn of(header: &[u8], body: &[u8]) -> Heading {
        let http = if body.starts_with(b"HTTP/") {
            headers::length(&body[..body.len().min(HTTP_BYTES_MAX)])
        } else {
            None
        };
        Heading { bytes: [header, &body[..http.unwrap_or(0)]].concat(), header: header.len() }
    }

    /// The record's own header.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..self.header]
    }

    /// The HTTP header, with the empty line that ends it; empty if there is none.
    pub fn http(&self) -> &[u8] {
        &self.bytes[self.header..]
    }

    /// The number of bytes of both.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// The place of a record in its input, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the record starts: bytes into the file, or into the decompressed stream where one
    /// stream holds all records; in Parquet the row's number.
    pub offset: u64,
    /// Where the record starts in the decoded stream; in Parquet the row's number. It differs from
    /// `offset` only in compressed archives. No two records of an input share it.
    pub position: u64,
    /// Where its member starts in the file, if it is the first record of a compressed member.
    pub member: Option<u64>,
    /// The outcome.
    pub item: Item,
}

impl Entry {
    /// The entry of a record at `position` that is not the first record of a member.
    pub fn at(position: u64, item: Item) -> Entry {
        Entry { offset: position, position, member: None, item }
    }
}

/// The outcome of a record: accepted, skipped or rejected. No record is dropped without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Accepted.
    Record(Record),
    /// Sound, but not a page. The reason is a fixed word such as `request`.
    Skip(&'static str),
    /// Sound, and a response whose status says nothing about its page, such as 403. A run skips it
    /// ([`Item::STATUS`]); a complete snapshot that has it does not lack the page.
    Status {
        /// The URL that the record is about, if that is known.
        url: Option<String>,
    },
    /// Sound, and a page without a text of its own: an archive's revisit of another URL. A run
    /// skips it ([`Mirror::REASON`]); a filter says what it mirrors.
    Mirror(Mirror),
    /// Damaged or over a limit.
    Reject {
        /// A fixed word such as `bad_json`.
        reason: &'static str,
        /// More for a person, at most 200 bytes.
        detail: String,
        /// The URL that the record is about, if that is known.
        url: Option<String>,
        /// The records that are lost: one, or all that cannot be read any more.
        records: u64,
    },
}

impl Item {
    /// The word under which a run skips [`Item::Status`].
    pub const STATUS: &str = "status";

    /// A reject whose detail is cut to [`DETAIL_BYTES_MAX`].
    pub fn reject(reason: &'static str, detail: impl Into<String>) -> Item {
        let mut detail = detail.into();
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
        Item::Reject { reason, detail, url: None, records: 1 }
    }

    /// The word under which a run skips the record; `None` if it is accepted or rejected.
    pub fn skipped(&self) -> Option<&'static str> {
        match self {
            Item::Skip(reason) => Some(reason),
            Item::Status { .. } => Some(Item::STATUS),
            Item::Mirror(_) => Some(Mirror::REASON),
            Item::Record(_) | Item::Reject { .. } => None,
        }
    }

    /// Whether the record is as it should be, a page or not.
    pub fn is_sound(&self) -> bool {
        !matches!(self, Item::Reject { .. })
    }

    /// The same; a reject, or a status that says nothing, is about `page`.
    pub fn about(self, page: &str) -> Item {
        match self {
            Item::Status { .. } => Item::Status { url: Some(page.to_owned()) },
            Item::Reject { reason, detail, records, .. } => {
                Item::Reject { reason, detail, url: Some(page.to_owned()), records }
            }
            other => other,
        }
    }

    /// The number of records that it stands for.
    pub fn records(&self) -> u64 {
        match self {
            Item::Reject { records, .. } => *records,
            Item::Record(_) | Item::Skip(_) | Item::Status { .. } | Item::Mirror(_) => 1,
        }
    }

    /// The same item; a reject stands for this many records.
    pub fn of_records(self, records: u64) -> Item {
        match self {
            Item::Reject { reason, detail, url, .. } => {
                Item::Reject { reason, detail, url, records }
            }
            other => other,
        }
    }
}

/// A page whose bytes were those of a capture of another URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The URL as found.
    pub url: String,
    /// The URL of the capture.
    pub of: String,
    /// The time of the capture, seconds since 1970; `None` if the record does not say.
    pub of_date: Option<i64>,
}

impl Mirror {
    /// The word under which a run skips it.
    pub const REASON: &str = "revisit_other";
}

/// How often an input was odd but accepted, by a fixed word such as `zero_padding`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(BTreeMap<&'static str, u64>);

impl Notes {
    /// Counts one more of `word`.
    pub fn add(&mut self, word: &'static str) {
        *self.0.entry(word).or_default() += 1;
    }

    /// The words and their counts, ordered by word.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(&word, &count)| (word, count))
    }

    /// The sum of both notes.
    pub fn merged(mut self, other: &Notes) -> Notes {
        other.iter().for_each(|(word, count)| *self.0.entry(word).or_default() += count);
        self
    }
}

/// The URL in `found` as one line of text: trimmed, with control characters and invalid UTF-8
/// percent-escaped. Rejects an empty one as `no_url` and one over [`URL_BYTES_MAX`] as `long_url`.
///
/// ```
/// use workers::read::record::url;
///
/// assert_eq!(url(b" https://a.example/b c\n").unwrap(), "https://a.example/b c");
/// assert_eq!(url(b"http://a.example/\xff").unwrap(), "http://a.example/%FF");
/// assert!(url(b"").is_err());
/// ```
pub fn url(found: &[u8]) -> Result<String, Item> {
    let found = found.trim_ascii();
    if found.is_empty() {
        return Err(Item::reject("no_url", ""));
    }
    if found.len() > URL_BYTES_MAX {
        return Err(long(found));
    }
    let mut url = String::with_capacity(found.len());
    for chunk in found.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c.is_control() {
                true => escape(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut url),
                false => url.push(c),
            }
        }
        escape(chunk.invalid(), &mut url);
    }
    Ok(url)
}

/// The key of a page that is no URL, as it is. Rejects one over [`URL_BYTES_MAX`] as `long_url`.
pub fn key(found: String) -> Result<String, Item> {
    if found.len() > URL_BYTES_MAX { Err(long(found.as_bytes())) } else { Ok(found) }
}

fn long(found: &[u8]) -> Item {
    let head = String::from_utf8_lossy(&found[..DETAIL_BYTES_MAX]);
    Item::reject("long_url", format!("{} bytes: {head}", found.len()))
}

fn escape(bytes: &[u8], into: &mut String) {
    for byte in bytes {
        into.push_str(&format!("%{byte:02X}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any bytes become one line of UTF-8, and an ordinary URL stays as it is.
    #[test]
    fn urls_become_one_line() {
        assert_eq!(url(b" https://a.example/b c?d=%20 ").unwrap(), "https://a.example/b c?d=%20");
        assert_eq!(url(b"http://a/\x01\n\x7fb").unwrap(), "http://a/%01%0A%7Fb");
        assert_eq!(url("http://a/é\u{85}漢".as_bytes()).unwrap(), "http://a/é%C2%85漢");
        assert_eq!(url(b"http://a/\xff\xe6\xbc").unwrap(), "http://a/%FF%E6%BC");
    }

    /// An empty URL and one over the limit are rejected, each under its own reason.
    #[test]
    fn urls_have_bounds() {
        assert_eq!(url(b" \t"), Err(Item::reject("no_url", "")));
        assert!(url(&[b'a'; URL_BYTES_MAX]).is_ok());
        assert!(matches!(
            url(&[b'a'; URL_BYTES_MAX + 1]),
            Err(Item::Reject { reason: "long_url", .. })
        ));
    }

    /// A detail keeps to its limit and is never cut inside a character.
    #[test]
    fn details_are_short() {
        let Item::Reject { detail, .. } = Item::reject("x", "漢".repeat(100)) else { panic!() };
        assert_eq!(detail.len(), 198);
    }
}
