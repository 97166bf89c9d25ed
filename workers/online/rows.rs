//! The rows of the inbox: JSON lines as a run reads them.
//!
//! What a client sends is kept as it is, all fields and their order aside, on one line. A row
//! without a date gets that of its arrival: of two undated records of one URL an epoch could not
//! tell which came last.

use crate::job;
use crate::read::fields::{Fields, Use, Wanted};
use crate::read::json;
use crate::read::record::{Item, Record};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// A row, and the record that a run reads from it.
pub struct InboxRow {
    fields: BTreeMap<String, Box<RawValue>>,
    /// The record; its date is none if the row has none.
    pub record: Record,
}

/// Makes rows for a job.
pub struct Rows {
    wanted: Wanted,
    fields: Fields,
    line_bytes_max: usize,
}

/// What a row that is made says of its page.
pub enum Says {
    /// Its text.
    Text(String),
    /// Its HTML.
    Html(String),
    /// That it is gone.
    Removed,
}

impl Rows {
    /// For a job that reads so.
    pub fn new(read: &job::Read) -> Rows {
        Rows {
            wanted: Wanted::new(&read.fields, &read.key, ""),
            fields: read.fields.clone(),
            line_bytes_max: read.limits.line_bytes_max,
        }
    }

    /// The row that a client sent as JSON.
    pub fn parse(&self, json: &[u8]) -> Result<InboxRow, Item> {
        self.checked(self.record(json)?, json)
    }

    /// The row that a client sent as JSON, which says that its page is gone.
    pub fn parse_removal(&self, json: &[u8]) -> Result<InboxRow, Item> {
        // What is no JSON, or says nothing of a page, is told by the reader of rows.
        let Ok(mut fields) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(json) else {
            return Err(self
                .record(json)
                .err()
                .unwrap_or_else(|| Item::reject("bad_json", "no object")));
        };
        fields.insert(self.fields.deleted.clone(), raw(&true));
        let json = bytes(&fields);
        self.checked(self.record(&json)?, &json)
    }

    /// The row of a page at `url`, with its date, if it has one, in seconds since 1970.
    pub fn made(&self, url: &str, date: Option<i64>, says: Says) -> Result<InboxRow, Item> {
        let names: Vec<&str> = self
            .wanted
            .names
            .iter()
            .filter(|name| name.note.is_none())
            .filter_map(|name| match name.is_for {
                Use::Key(_) => Some(name.path.as_str()),
                _ => None,
            })
            .collect();
        let [name] = names[..] else {
            let why = format!("[read] fields.url has {} fields; send a row of JSON", names.len());
            return Err(Item::reject("no_url", why));
        };
        let (field, value) = match says {
            Says::Text(text) => (&self.fields.text, raw(&text)),
            Says::Html(html) => (&self.fields.html, raw(&html)),
            Says::Removed => (&self.fields.deleted, raw(&true)),
        };
        let mut fields = BTreeMap::from([(name.to_owned(), raw(&url)), (field.clone(), value)]);
        fields.extend(date.map(|date| (self.fields.date.clone(), raw(&date))));
        let json = bytes(&fields);
        self.checked(self.record(&json)?, &json)
    }

    /// The line of `row`, with this date if it has none. It ends with a newline.
    ///
    /// # Errors
    ///
    /// A reject if a run would not read it.
    pub fn line(&self, row: &InboxRow, date: i64) -> Result<Vec<u8>, Item> {
        let mut line = match row.record.date {
            Some(_) => bytes(&row.fields),
            None => {
                let mut fields = row.fields.clone();
                fields.insert(self.fields.date.clone(), raw(&date));
                bytes(&fields)
            }
        };
        // Between tokens a line may end, within them it may not.
        line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        if line.len() > self.line_bytes_max {
            let why =
                format!("more than {} bytes, [read.limits] line_bytes_max", self.line_bytes_max);
            return Err(Item::reject("long_line", why));
        }
        line.push(b'\n');
        Ok(line)
    }

    /// The record of a line of the inbox.
    pub fn record(&self, line: &[u8]) -> Result<Record, Item> {
        match json::item(line.trim_ascii(), 0, &self.wanted, |_| ()) {
            Item::Record(record) => Ok(record),
            item => Err(item),
        }
    }

    fn checked(&self, record: Record, json: &[u8]) -> Result<InboxRow, Item> {
        let fields =
            serde_json::from_slice(json).map_err(|e| Item::reject("bad_json", e.to_string()))?;
        Ok(InboxRow { fields, record })
    }
}

fn raw(value: &impl serde::Serialize) -> Box<RawValue> {
    // Texts, numbers and switches are always JSON.
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn bytes(fields: &BTreeMap<String, Box<RawValue>>) -> Vec<u8> {
    serde_json::to_vec(fields).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::record::Body;

    fn rows(more: &str) -> Rows {
        let job: job::Read =
            serde_json::from_str(&format!("{{\"inputs\": [] {more}}}")).expect("a table");
        Rows::new(&job)
    }

    /// A row goes to the inbox on one line, with all its fields and their bytes, and with the date
    /// of its arrival if it has none; a run reads from it the record that was sent.
    #[test]
    fn a_row_is_kept() {
        let rows = rows("");
        let sent = "{ \"url\": \"http://a/\",\n\"text\": \"x \\u00e9\", \r\n\"big\": 12345678901234567890123, \"in\": {\n\"a\": [1.10]} }";
        let row = rows.parse(sent.as_bytes()).expect("a row");
        let line = rows.line(&row, 1_700_000_000).expect("a line");
        let text = String::from_utf8(line).expect("UTF-8");
        assert_eq!(text.matches('\n').count(), 1);
        for part in ["12345678901234567890123", "[1.10]", "\\u00e9", "\"date\":1700000000"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let read = rows.record(text.as_bytes()).expect("a record");
        assert_eq!(read, Record { date: Some(1_700_000_000), ..row.record.clone() });
        let dated = rows
            .parse(b"{\"url\":\"http://a/\",\"text\":\"x\",\"date\":\"2026-05-01\"}")
            .expect("a row");
        let line = rows.line(&dated, 5).expect("a line");
        assert_eq!(rows.record(&line).expect("a record").date, dated.record.date);
        for none in ["null", "\"soon\"", "\"\""] {
            let sent = format!("{{\"url\":\"http://a/\",\"text\":\"x\",\"date\":{none}}}");
            let row = rows.parse(sent.as_bytes()).expect("a row");
            let line = rows.line(&row, 1_700_000_000).expect("a line");
            assert_eq!(rows.record(&line).expect("a record").date, Some(1_700_000_000), "{none}");
        }
    }

    /// Rows that are made have the fields that the job names.
    #[test]
    fn rows_are_made_for_the_job() {
        let named = rows(
            ", \"key\": \"meta.id\", \"fields\": {\"text\": \"body.text\", \"date\": \"when\", \"deleted\": \"gone\"}",
        );
        let row = named.made("7", None, Says::Text("x".into())).expect("a row");
        assert_eq!((row.record.url.as_str(), &row.record.body), ("7", &Body::Text("x".into())));
        let line = named.line(&row, 1_700_000_000).expect("a line");
        assert_eq!(named.record(&line).expect("a record").date, Some(1_700_000_000));
        let gone = named.made("7", None, Says::Removed).expect("a row");
        assert_eq!(gone.record.body, Body::Removed);
        let gone =
            named.parse_removal(b"{\"meta\":{\"id\":7},\"body\":{\"text\":\"x\"}}").expect("a row");
        assert_eq!((gone.record.url.as_str(), &gone.record.body), ("7", &Body::Removed));
        assert!(
            named.parse_removal(b"{\"meta\":{}}").is_err() && named.parse_removal(b"[").is_err()
        );
        let parts = rows(", \"fields\": {\"url\": [\"host\", \"path\"]}");
        assert!(parts.made("http://a/", None, Says::Removed).is_err());
    }
}
