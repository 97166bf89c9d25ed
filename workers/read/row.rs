//! What the configured fields of one row say of a page, be the row a JSON line or a line of a table. In come the
//! fields' values, out goes one item. `deleted` and `op` come first, then the text, then the HTML.

use super::record::{Body, Item, Record, url};
use super::{Fields, date};
use std::borrow::Cow;

/// A field's value, as far as any field has a use for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// None, or no such field.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// What no field has a use for: a list, an object, bytes that are no text.
    Other,
}

/// The places of the fields behind those of the URL.
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

/// What the row with these values says. Rejects `no_url`, `long_url`, `no_text`, and `bad_field` where a value has a
/// type that its field cannot have.
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
        Value::Integer(seconds) => date::seconds(*seconds),
        Value::Float(seconds) if seconds.is_finite() => date::seconds(seconds.floor() as i64),
        Value::Text(text) => date::parse(text),
        _ => None,
    };
    let deleted = match &rest[DELETED] {
        Value::Null | Value::Bool(false) | Value::Integer(0) => false,
        Value::Bool(true) | Value::Integer(1) => true,
        _ => return Err(wrong(&fields.deleted)),
    };
    let removed = match &rest[OP] {
        Value::Null => false,
        Value::Text(op) => op == "remove",
        _ => return Err(wrong(&fields.op)),
    };
    let body = if deleted || removed {
        Body::Removed
    } else if let Some(text) = text(&mut rest[TEXT], &fields.text)? {
        Body::Text(text)
    } else if let Some(html) = text(&mut rest[HTML], &fields.html)? {
        // The charset that the page itself names is that of the bytes it once was, not of this text.
        Body::Html { bytes: html.into_bytes(), charset: Some("utf-8".into()) }
    } else {
        return Err(Item::reject("no_text", url));
    };
    Ok(Record { url, date, body })
}

fn text(value: &mut Value<'_>, field: &str) -> Result<Option<String>, Item> {
    match std::mem::take(value) {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text.into_owned())),
        _ => Err(wrong(field)),
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
            _ => return Err(wrong(name)),
        }
    }
    url(whole.as_bytes())
}

fn wrong(field: &str) -> Item {
    Item::reject("bad_field", format!("`{field}` has a value of another type"))
}
