//! The content of a request: one record, or a batch of records.
//!
//! A row of JSON is read by the same code as in a run, so both see the same record. A single text
//! or page has its URL and date in the query, or has none.

use crate::serve::problem::{Outcome, Problem};
use axum::http::{HeaderMap, StatusCode, header};
use percent_encoding::percent_decode_str;
use workers::extract;
use workers::online::rows::Says;
use workers::page_url::Naming;
use workers::read::date;
use workers::read::jsonl::unmarked;
use workers::read::record::{self, Body, Item};

/// The most rows of a batch.
pub const BATCH_ROWS_MAX: usize = 10_000;

/// The form of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One record.
    Json,
    /// A record on each line.
    Batch,
    /// A text or a page.
    Alone {
        /// Whether it is a page.
        is_html: bool,
        /// The charset that its type states.
        charset: Option<String>,
    },
}

/// The form that `headers` state.
pub fn form(headers: &HeaderMap) -> Outcome<Form> {
    let stated =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = stated.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("charset").then(|| value.trim_matches('"').to_owned())
    });
    match kind.as_str() {
        "application/json" => Ok(Form::Json),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Ok(Form::Batch),
        "text/plain" => Ok(Form::Alone { is_html: false, charset }),
        "text/html" | "application/xhtml+xml" => Ok(Form::Alone { is_html: true, charset }),
        _ => {
            let wanted = "Content-Type: application/json (one record), application/x-ndjson (a record on each line), \
                          text/plain or text/html is wanted";
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, wanted))
        }
    }
}

/// Fails if the body is encoded, because its bytes would be taken for the text.
pub fn check_encoding(headers: &HeaderMap) -> Outcome<()> {
    let stated = headers.get_all(header::CONTENT_ENCODING).iter();
    let mut stated = stated.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let is_plain = |list: &str| {
        let mut names = list.split(',').map(str::trim);
        names.all(|name| name.is_empty() || name.eq_ignore_ascii_case("identity"))
    };
    match stated.find(|list| !is_plain(list)) {
        Some(list) => {
            let detail = format!("Content-Encoding: {list}: bodies are sent uncompressed");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
        }
        None => Ok(()),
    }
}

/// The values of the names of a query.
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The query of a request, which may have only the names `known`.
    pub fn parse(query: Option<&str>, known: &[&str]) -> Outcome<Query> {
        let parts = query.unwrap_or_default().split('&').filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decoded(name)?, decoded(value)?))
        };
        let pairs: Vec<(String, String)> = parts.map(pair).collect::<Outcome<_>>()?;
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) if name == "always" => {
                Err(Problem::bad("`always` is of POST /insert alone: nothing else inserts"))
            }
            Some((name, _)) if known.is_empty() => {
                Err(Problem::bad(format!("{name:?}: nothing is wanted after the ?")))
            }
            Some((name, _)) => {
                Err(Problem::bad(format!("{name:?}: wanted after the ? are {}", known.join(", "))))
            }
            None => Ok(Query(pairs)),
        }
    }

    /// All values of `name`.
    pub fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(of, _)| of == name).map(|(_, value)| value.clone()).collect()
    }

    /// Whether `name` is true; it is false if the query lacks it.
    pub fn switch(&self, name: &str) -> Outcome<bool> {
        match self.one(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Problem::bad(format!("{name}={other}: true or false is wanted"))),
        }
    }

    /// The value of `name`, which may occur once.
    pub fn one(&self, name: &str) -> Outcome<Option<String>> {
        match &self.all(name)[..] {
            [] => Ok(None),
            [value] => Ok(Some(value.clone())),
            _ => Err(Problem::bad(format!("`{name}` stands more than once"))),
        }
    }
}

/// A part of a query without its percent-encoding. Another charset is refused, because a replaced
/// character would make one URL of several.
fn decoded(part: &str) -> Outcome<String> {
    let spaced = part.replace('+', " ");
    let text = percent_decode_str(&spaced).decode_utf8().map(|text| text.into_owned());
    text.map_err(|_| {
        let advice = "a URL that has %E9 itself is written with %25E9";
        Problem::bad(format!("after the ?: {part:?} is not UTF-8; {advice}"))
    })
}

/// The URL and the date of a single text or page.
pub struct Named {
    /// Its URL.
    pub url: Option<String>,
    /// Its date, in seconds since 1970.
    pub date: Option<i64>,
}

impl Named {
    /// The URL and the date in `query`. The URL may be a key that names
    /// the page.
    pub fn of(query: &Query, naming: Naming) -> Outcome<Named> {
        let read = |url: String| match naming {
            Naming::Key if url.trim_ascii().is_empty() => {
                Err(Item::reject("no_key", "it is blank"))
            }
            Naming::Key => record::key(url),
            Naming::Url => record::url(url.as_bytes()),
        };
        let url = query.one("url")?.map(read).transpose().map_err(|item| rejected(&item))?;
        let date = match query.one("date")? {
            Some(text) => {
                let wrong = || {
                    let advice =
                        if text.contains(' ') { "; in a URL `+` is written `%2B`" } else { "" };
                    let wanted = "a date such as 2026-05-01T12:00:00Z is wanted";
                    Problem::bad(format!("date={text}: {wanted}{advice}"))
                };
                Some(date::parse(&text).ok_or_else(wrong)?)
            }
            None => None,
        };
        Ok(Named { url, date })
    }
}

/// A single text or page.
pub struct Alone {
    /// Whether it is a page.
    pub is_html: bool,
    /// The charset that its type states.
    pub charset: Option<String>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Alone {
    /// The body of its record.
    pub fn body(self) -> Body {
        let Alone { is_html, charset, bytes } = self;
        if is_html { Body::Html { bytes, charset } } else { Body::Plain { bytes, charset } }
    }

    /// Its fields, as if a row had them.
    pub fn says(self) -> Says {
        let text = extract::decoded(&self.bytes, self.charset.as_deref());
        if self.is_html { Says::Html(text) } else { Says::Text(text) }
    }
}

/// The reasons of rows that are no JSON. With other reasons a row is JSON, but lacks something.
const NO_JSON: [&str; 5] = ["bad_json", "bad_utf8", "nul", "bad_escape", "duplicate_field"];

/// The problem of a row that is no record.
pub fn rejected(item: &Item) -> Problem {
    let (reason, detail) = reason(item);
    let detail = if detail.is_empty() { reason.to_owned() } else { detail };
    let status = match reason {
        "long_line" => StatusCode::PAYLOAD_TOO_LARGE,
        _ if NO_JSON.contains(&reason) => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    Problem::new(status, detail).with_reason(reason)
}

/// Why a row is no record.
pub fn reason(item: &Item) -> (&'static str, String) {
    match item {
        Item::Reject { reason, detail, .. } => (reason, detail.clone()),
        other => (other.skipped().unwrap_or_default(), String::new()),
    }
}

/// The rows of a batch with their numbers, without blank lines.
pub fn rows(bytes: &[u8]) -> Outcome<Vec<(u64, std::ops::Range<usize>)>> {
    let lines = unmarked(bytes);
    let (mut rows, mut start) = (Vec::new(), bytes.len() - lines.len());
    for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
        let end = start + line.len();
        if !line.trim_ascii().is_empty() {
            rows.push((number as u64 + 1, start..end));
        }
        start = end + 1;
        if rows.len() > BATCH_ROWS_MAX {
            let detail = format!("more than {BATCH_ROWS_MAX} rows; send them in parts");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
    }
    Ok(rows)
}
