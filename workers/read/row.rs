//! Turns the values of the configured fields of one row into a record.
//!
//! JSON lines and Parquet share these rules, so a page means the same in both. `deleted` and `op`
//! come first, then the text, then the HTML.

use super::record::{Body, Item, Record, url};
use super::{Fields, date};
use crate::document::part_of_text;
use std::borrow::Cow;

/// The value of a field, as far as any field can use it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// Null, or the field is missing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A date, in seconds since 1970.
    Seconds(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// Nothing that a field can use: a list, an object, bytes that are not text.
    Other,
}

/// The places of the fields after those of the URL.
const TEXT: usize = 0;
const HTML: usize = 1;
const DATE: usize = 2;
const DELETED: usize = 3;
const OP: usize = 4;

/// The names of the fields in the order in which [`item`] takes their values: the URL's first.
pub fn names(fields: &Fields) -> impl Iterator<Item = &str> {
    let Fields { url, text, html, date, deleted, op } = fields;
    url.iter().chain([text, html, date, deleted, op]).map(String::as_str)
}

/// The record of the row with these values. Rejects `no_url`, `long_url`, `no_text`, and
/// `bad_field` where the type of a value does not fit its field.
pub fn item(mut values: Vec<Value<'_>>, fields: &Fields) -> Item {
    match record(&mut values, fields) {
        Ok(record) => Item::Record(record),
        Err(item) => item,
    }
}

fn record(values: &mut [Value<'_>], fields: &Fields) -> Result<Record, Item> {
    debug_assert_eq!(values.len(), fields.url.len() + OP + 1);
    let (parts, rest) = values.split_at_mut(fields.url.len());
    let url = joined(parts, &fields.url)?;
    let date = match &rest[DATE] {
        Value::Integer(count) => date::since_1970(*count),
        Value::Float(count) if count.abs() < i64::MAX as f64 => date::since_1970(count.floor() as i64),
        Value::Seconds(seconds) => date::seconds(*seconds),
        Value::Text(text) => date::parse(text),
        _ => None,
    };
    let has_date = match &rest[DATE] {
        Value::Null => false,
        Value::Text(text) => !text.trim().is_empty(),
        _ => true,
    };
    match body(rest, fields) {
        Ok(Some(body)) => Ok(Record { url, date, bad_date: has_date && date.is_none(), body }),
        Ok(None) => Err(Item::reject("no_text", &*url).about(&url)),
        Err(item) => Err(item.about(&url)),
    }
}

/// What the row says about its page; none if nothing.
fn body(rest: &mut [Value<'_>], fields: &Fields) -> Result<Option<Body>, Item> {
    let deleted = match &rest[DELETED] {
        Value::Null | Value::Bool(false) | Value::Integer(0) => false,
        Value::Bool(true) | Value::Integer(1) => true,
        _ => return Err(bad_field(&fields.deleted)),
    };
    let removed = match &rest[OP] {
        Value::Null => false,
        Value::Text(op) => op == "remove",
        _ => return Err(bad_field(&fields.op)),
    };
    if deleted || removed {
        return Ok(Some(Body::Removed));
    }
    match std::mem::take(&mut rest[TEXT]) {
        Value::Null => {}
        Value::Text(text) => return Ok(Some(Body::Text(part_of_text(&text).to_owned()))),
        _ => return Err(bad_field(&fields.text)),
    }
    // A charset that the page names is that of its former bytes, not of this text.
    match std::mem::take(&mut rest[HTML]) {
        Value::Null => Ok(None),
        Value::Text(html) => {
            Ok(Some(Body::Html { bytes: html.into_owned().into_bytes(), charset: Some("utf-8".into()) }))
        }
        _ => Err(bad_field(&fields.html)),
    }
}

fn joined(parts: &[Value<'_>], names: &[String]) -> Result<String, Item> {
    let mut whole = String::new();
    for (n, (part, name)) in parts.iter().zip(names).enumerate() {
        if n > 0 {
            whole.push('/');
        }
        match part {
            Value::Text(text) if !text.trim().is_empty() => whole.push_str(text),
            Value::Integer(number) => whole.push_str(&number.to_string()),
            Value::Null | Value::Text(_) => return Err(Item::reject("no_url", format!("no `{name}`"))),
            _ => return Err(bad_field(name)),
        }
    }
    url(whole.as_bytes())
}

fn bad_field(field: &str) -> Item {
    Item::reject("bad_field", format!("`{field}` has a value of another type"))
}
