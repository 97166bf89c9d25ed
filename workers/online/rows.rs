//! The rows of the inbox: JSON lines as a run reads them.
//!
//! A row that a client sends is kept byte for byte, but on one line. A row without a date gets the
//! date of its arrival, because an epoch could not tell which of two undated records of one URL
//! came last.

use crate::job;
use crate::read::date::iso_text;
use crate::read::fields::{Fields, Use, Wanted};
use crate::read::json;
use crate::read::record::{Item, Record};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A row, and the record that a run reads from it.
pub struct InboxRow {
    json: Vec<u8>,
    /// The record. It has no date if the row has none.
    pub record: Record,
}

/// Makes rows for a job.
pub struct Rows {
    wanted: Wanted,
    fields: Fields,
    line_bytes_max: usize,
}

/// What a row that the server makes says of its page.
pub enum Says {
    /// Its text.
    Text(String),
    /// Its HTML.
    Html(String),
    /// That it is gone.
    Removed,
}

impl Rows {
    /// A maker of rows for a job with these options of reading.
    pub fn new(read: &job::Read) -> Rows {
        Rows {
            wanted: Wanted::new(&read.fields, &read.key, ""),
            fields: read.fields.clone(),
            line_bytes_max: read.limits.line_bytes_max,
        }
    }

    /// The row that a client sent as JSON.
    pub fn parse(&self, json: &[u8]) -> Result<InboxRow, Item> {
        let record = self.record(json)?;
        Ok(InboxRow { json: json.trim_ascii().to_vec(), record })
    }

    /// A row that a client sent as JSON and that says that its page is gone.
    pub fn parse_removal(&self, json: &[u8]) -> Result<InboxRow, Item> {
        let (name, value) = self.removal()?;
        match with(json.trim_ascii(), name, &value.to_string()) {
            Some(removal) => self.parse(&removal),
            // The reader of rows says what is wrong with the row.
            None => Err(self.record(json).err().unwrap_or_else(no_object)),
        }
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
            Says::Text(text) => (self.fields.text.as_str(), json!(text)),
            Says::Html(html) => (self.fields.html.as_str(), json!(html)),
            Says::Removed => self.removal()?,
        };
        let mut fields = BTreeMap::from([(name, json!(url)), (field, value)]);
        // A number of few digits would be read as a day: 20200918 is a day in 2020, and also a
        // second in 1970.
        fields.extend(date.map(|date| (self.fields.date.as_str(), json!(iso_text(date)))));
        self.parse(&serde_json::to_vec(&fields).unwrap_or_default())
    }

    /// The field, and its value, by which a row says that its page is gone. A job may read only one
    /// of two such fields, or none.
    fn removal(&self) -> Result<(&str, Value), Item> {
        match (self.fields.deleted.as_str(), self.fields.op.as_str()) {
            ("", "") => {
                let why = "the job reads no removals: [read.fields] deleted and op are empty";
                Err(Item::reject("bad_field", why))
            }
            ("", op) => Ok((op, json!("remove"))),
            (deleted, _) => Ok((deleted, json!(true))),
        }
    }

    /// The line of `row`, with this date if it has none. It ends with a newline.
    ///
    /// # Errors
    ///
    /// A reject if a run would reject it.
    pub fn line(&self, row: &InboxRow, date: i64) -> Result<Vec<u8>, Item> {
        let dated = match row.record.date {
            Some(_) => Some(row.json.clone()),
            None => with(&row.json, &self.fields.date, &date.to_string()),
        };
        let mut line = dated.ok_or_else(no_object)?;
        // JSON may have line ends between tokens but not within them.
        line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        if line.len() > self.line_bytes_max {
            let most = self.line_bytes_max;
            let why = format!("more than {most} bytes with its date, [read.limits] line_bytes_max");
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
}

fn no_object() -> Item {
    Item::reject("bad_json", "no object")
}

/// The object `json` with this value in its field `name`, and otherwise unchanged byte for byte;
/// `None` if `json` is no object.
fn with(json: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let text = str::from_utf8(json).ok()?;
    let readable;
    let (parsed, fields): (&str, BTreeMap<String, &RawValue>) = match serde_json::from_str(text) {
        Ok(fields) => (text, fields),
        Err(_) => {
            // It has something as long in place of numbers that the parser cannot read.
            readable = json::readable(text).0;
            (&readable, serde_json::from_str(&readable).ok()?)
        }
    };
    let changed = match fields.get(name) {
        Some(old) => {
            // A raw value is a part of the text that it was read from.
            let start = old.get().as_ptr().addr() - parsed.as_ptr().addr();
            [&text[..start], value, &text[start + old.get().len()..]].concat()
        }
        None => {
            let (rest, end) = text.split_at(text.rfind('}')?);
            let comma = if fields.is_empty() { "" } else { "," };
            format!("{rest}{comma}{}:{value}{end}", Value::from(name))
        }
    };
    Some(changed.into_bytes())
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

    /// A row goes to the inbox on one line, byte for byte, with the date of its arrival if it has
    /// none; a run reads from it the record that was sent. Once, fields were sorted, of two fields
    /// of one name the first was dropped, and names lost their escapes.
    #[test]
    fn a_row_is_kept() {
        let rows = rows("");
        let line = |sent: &str| {
            let row = rows.parse(sent.as_bytes()).expect("a row");
            let line = rows.line(&row, 1_700_000_000).expect("a line");
            let date = row.record.date.or(Some(1_700_000_000));
            let read = rows.record(&line).expect("a record");
            assert_eq!(read, Record { date, bad_date: false, ..row.record }, "{sent}");
            String::from_utf8(line).expect("UTF-8")
        };
        let page = r#""url":"http:\/\/a/","text":"x \u00e9""#;
        let all = format!(
            r#"{{ "z\u0041" : 1.0, {page}, "big":12345678901234567890123, "b":[1.10,1e2 ], "b" : 2"#
        );
        assert_eq!(line(&format!("{all} }} ")), format!("{all} ,\"date\":1700000000}}\n"));
        let dated = format!(r#"{all},"date":"2026-05-01"}}"#);
        assert_eq!(line(&dated), format!("{dated}\n"));
        assert_eq!(line(&dated.replace(", ", ",\r\n ")), dated.replace(", ", ",   ") + "\n");
        // An invalid date counts as no date, and the field may occur only once.
        for none in ["null", "\"soon\"", "\"\""] {
            let undated = dated.replace("\"2026-05-01\"", none);
            assert_eq!(line(&undated), format!("{all},\"date\":1700000000}}\n"));
        }
        // Python's numbers are passed over, as a run does.
        let of_python = format!(r#"{all},"n":[NaN,-Infinity,1e999]"#);
        assert_eq!(line(&format!("{of_python}}}")), format!("{of_python},\"date\":1700000000}}\n"));
        let removal = rows.parse_removal(format!("{all}}}").as_bytes()).expect("a row");
        let line = rows.line(&removal, 1_700_000_000).expect("a line");
        let expected = format!("{all},\"deleted\":true,\"date\":1700000000}}\n");
        assert_eq!(String::from_utf8(line).expect("UTF-8"), expected);
    }

    /// A line that a run would not read is refused, by the limit of the run.
    #[test]
    fn lines_have_the_limit_of_a_run() {
        let sent = br#"{"url":"http://a/","text":"x"}"#;
        let dated = sent.len() + r#","date":1700000000"#.len();
        for (most, is_taken) in [(dated, true), (dated - 1, false)] {
            let rows = rows(&format!(", \"limits\": {{\"line_bytes_max\": {most}}}"));
            let row = rows.parse(sent).expect("a row");
            assert_eq!(rows.line(&row, 1_700_000_000).is_ok(), is_taken, "{most}");
        }
    }

    /// The date of a row that is made was a bare number, and a run read 20200918 as a day in 2020.
    #[test]
    fn dates_are_read_as_they_were() {
        let rows = rows("");
        let read = |date| {
            let made = rows.made("http://a/", Some(date), Says::Removed).expect("a row");
            let line = rows.line(&made, 1_700_000_000).expect("a line");
            rows.record(&line).expect("a record").date
        };
        for date in [0, -1, 1980, 202_009, 20_200_918, 1_700_000_000] {
            assert_eq!(read(date), Some(date));
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
        // The removal of a job without the field `deleted` was a new text.
        let by_op = rows(", \"fields\": {\"deleted\": \"\"}");
        for gone in [
            by_op.parse_removal(br#"{"url":"http://a/","text":"x"}"#),
            by_op.made("http://a/", None, Says::Removed),
        ] {
            assert_eq!(gone.expect("a row").record.body, Body::Removed);
        }
        let none = rows(", \"fields\": {\"deleted\": \"\", \"op\": \"\"}");
        assert!(none.parse_removal(br#"{"url":"http://a/"}"#).is_err());
        assert!(none.made("http://a/", None, Says::Removed).is_err());
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
