//! Turns the values of the configured fields of one row into a record.
//!
//! JSON lines and Parquet share these rules, so a page means the same in both. `deleted` and `op`
//! come first, then the text, then the HTML.

use crate::read::date;
use crate::read::fields::{PageKey, REMOVED_BY_DELETED, REMOVED_BY_OP, Use, Wanted};
use crate::read::record::{Body, Item, Record, key, url};
use crate::read::score;
use crate::read::value::Value;
/// The values of a row: for each wanted name its value, or `None` if the row does not have it.
pub struct FieldRow<'a> {
    values: Vec<Option<Value<'a>>>,
    wanted: &'a Wanted,
}

impl<'a> FieldRow<'a> {
    /// The row with these values, in the order of the names of `wanted`. For each field, the first
    /// name that the row has is taken, even if it holds nothing.
    pub fn new(mut values: Vec<Option<Value<'a>>>, wanted: &'a Wanted) -> FieldRow<'a> {
        debug_assert_eq!(values.len(), wanted.names.len());
        for names in wanted.uses() {
            if let Some(taken) = names.clone().find(|&at| values[at].is_some()) {
                names.filter(|&at| at != taken).for_each(|at| values[at] = None);
            }
        }
        FieldRow { values, wanted }
    }

    /// The record of the row at `place`. Rejects `no_url`, `no_key`, `long_url`, `no_text`,
    /// `bad_utf8`, and `bad_field` where the type of a value does not fit its field. Calls `note`
    /// with a word for each name that is not the job's, with `bad_score` for a score that is no
    /// number, and with the field by which the row removes its page.
    pub fn item(mut self, place: u64, mut note: impl FnMut(&'static str)) -> Item {
        let taken = self.wanted.names.iter().zip(&self.values).filter(|(_, value)| value.is_some());
        taken.filter_map(|(name, _)| name.note).for_each(&mut note);
        match self.record(place, note) {
            Ok(record) => Item::Record(record),
            Err(item) => item,
        }
    }

    /// Whether the row has a field for `is_for`, whatever it holds.
    fn has(&self, is_for: Use) -> bool {
        let mut names = self.wanted.names.iter().zip(&self.values);
        names.any(|(name, value)| name.is_for == is_for && value.is_some())
    }

    /// The place of the field for `is_for`: of the name that the row has, or else of the job's.
    fn place(&self, is_for: Use) -> Option<usize> {
        let names = || self.wanted.names.iter().zip(0..).filter(|(name, _)| name.is_for == is_for);
        let found = names().find(|(_, at)| self.values[*at].is_some()).or_else(|| names().next());
        found.map(|(_, at)| at)
    }

    /// The value of the field for `is_for`, and its name.
    fn take(&mut self, is_for: Use) -> (Value<'a>, &'a str) {
        let Some(at) = self.place(is_for) else { return (Value::Null, "") };
        (self.values[at].take().unwrap_or_default(), &self.wanted.names[at].path)
    }

    fn record(&mut self, place: u64, mut note: impl FnMut(&'static str)) -> Result<Record, Item> {
        let url = self.key(place)?;
        let (value, _) = self.take(Use::Date);
        let date = match &value {
            Value::Integer(count) => date::number(*count),
            Value::Float(count) if count.abs() < i64::MAX as f64 => {
                date::number(count.floor() as i64)
            }
            Value::Seconds(seconds) => date::seconds(*seconds),
            Value::Text(text) => date::parse(text),
            _ => None,
        };
        let has_date = match &value {
            Value::Null => false,
            Value::Text(text) => !text.trim().is_empty(),
            _ => true,
        };
        let score = score::read(&self.take(Use::Score).0).unwrap_or_else(|_| {
            note("bad_score");
            None
        });
        let texts = [Use::Text, Use::Html];
        let has_text = texts.iter().any(|is_for| self.has(*is_for));
        let places = texts.map(|is_for| self.place(is_for));
        let body = match self.body(&mut note) {
            Ok(Some(body)) => body,
            // Tables write null for an empty text, or leave it empty.
            Ok(None) if has_text => Body::Text(String::new()),
            Ok(None) => {
                let [text, html] = places.map(|at| at.map_or("", |at| &self.wanted.names[at].path));
                let detail = format!("no `{text}` and no `{html}`: {url}");
                return Err(Item::reject("no_text", detail).about(&url));
            }
            Err(item) => return Err(item.about(&url)),
        };
        let bad_date = has_date && date.is_none();
        Ok(Record { url, date, bad_date, score, is_conversion: false, body })
    }

    /// What the row says about its page; `None` if nothing.
    fn body(&mut self, note: &mut impl FnMut(&'static str)) -> Result<Option<Body>, Item> {
        let deleted = match self.take(Use::Deleted) {
            (Value::Null | Value::Bool(false) | Value::Integer(0), _) => false,
            (Value::Bool(true) | Value::Integer(1), _) => true,
            (value, name) => return Err(unfit(&value, name)),
        };
        let removed = match self.take(Use::Op) {
            (Value::Null, _) => false,
            (Value::Text(op), _) => op == "remove",
            (value, name) => return Err(unfit(&value, name)),
        };
        if deleted || removed {
            note(if deleted { REMOVED_BY_DELETED } else { REMOVED_BY_OP });
            return Ok(Some(Body::Removed));
        }
        match self.take(Use::Text) {
            (Value::Null, _) => {}
            // Extractors write an empty text where they found none.
            (Value::Text(text), _) if text.trim().is_empty() => {}
            (Value::Text(text), _) => return Ok(Some(Body::Text(text.into_owned()))),
            (value, name) => return Err(unfit(&value, name)),
        }
        // A charset in the page is the charset of its former bytes, not of this text.
        match self.take(Use::Html) {
            (Value::Null, _) => Ok(None),
            (Value::Text(html), _) if html.is_empty() => Ok(None),
            (Value::Text(html), _) => Ok(Some(Body::Html {
                bytes: html.into_owned().into_bytes(),
                charset: Some("utf-8".into()),
            })),
            (value, name) => Err(unfit(&value, name)),
        }
    }

    /// The key of the row's page: its URL, joined from its parts, unless the job says otherwise.
    fn key(&mut self, place: u64) -> Result<String, Item> {
        let missing = match self.wanted.key {
            PageKey::Row => return Ok(self.wanted.row(place)),
            PageKey::Field(_) => "no_key",
            PageKey::Url => "no_url",
        };
        let mut whole = String::new();
        for n in 0..self.wanted.parts() {
            if n > 0 {
                whole.push('/');
            }
            let is_there = self.has(Use::Key(n));
            match self.take(Use::Key(n)) {
                (Value::Text(text), _) if !text.trim().is_empty() => whole.push_str(&text),
                (Value::Integer(number), _) => whole.push_str(&number.to_string()),
                (Value::Unsigned(number), _) => whole.push_str(&number.to_string()),
                (Value::Float(number), _) if is_whole(number) => {
                    whole.push_str(&(number as i64).to_string())
                }
                (value @ (Value::Null | Value::Text(_)), name) => {
                    let why = match value {
                        Value::Text(_) => format!("`{name}` is empty"),
                        _ if is_there => format!("`{name}` is null"),
                        _ => format!("no `{name}`"),
                    };
                    return Err(Item::reject(missing, why));
                }
                (value @ Value::Bytes, name) => return Err(unfit(&value, name)),
                (_, name) => {
                    let why = format!("`{name}` is no text and no whole number of 64 bits");
                    return Err(Item::reject("bad_field", why));
                }
            }
        }
        if self.wanted.key.is_own() { key(whole) } else { url(whole.as_bytes()) }
    }
}

/// Whether a floating-point number stands for exactly one whole number.
pub fn is_whole(number: f64) -> bool {
    const EXACT_MAX: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    number.fract() == 0.0 && number.abs() < EXACT_MAX
}

/// The reject for a `value` that `field` cannot have.
fn unfit(value: &Value<'_>, field: &str) -> Item {
    match value {
        Value::Bytes => Item::reject("bad_utf8", format!("`{field}` is no UTF-8")),
        _ => Item::reject("bad_field", format!("`{field}` has a value of another type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::fields::Fields;

    /// The key of a row whose field `id` has this value.
    fn key_of(id: Value<'_>) -> Result<String, Item> {
        let wanted = Wanted::new(&Fields::default(), &PageKey::Field("id".into()), "");
        let values = wanted.names.iter().map(|name| match name.is_for {
            Use::Key(_) => Some(id.clone()),
            Use::Text => Some(Value::Text("text".into())),
            _ => None,
        });
        match FieldRow::new(values.collect(), &wanted).item(0, |_| ()) {
            Item::Record(record) => Ok(record.url),
            other => Err(other),
        }
    }

    /// Two ids are two pages. Ids that differ by white space or a control character were one, and a
    /// filter dropped rows of other texts.
    #[test]
    fn a_key_stays_as_it_is() {
        for id in ["a", " a", "a ", "a\tb", "a%09b", "\u{1}", "http://A.example:80/#x"] {
            assert_eq!(key_of(Value::Text(id.into())), Ok(id.to_owned()));
        }
        let reason = |id: String| match key_of(Value::Text(id.into())) {
            Err(Item::Reject { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!([reason(" \t".into()), reason("x".repeat(70_000))], ["no_key", "long_url"]);
    }

    /// The message for a row whose id is null said that the field is missing.
    #[test]
    fn what_a_key_lacks() {
        let wanted = Wanted::new(&Fields::default(), &PageKey::Field("id".into()), "");
        let why = |id: Option<Value<'_>>| {
            let values = wanted.names.iter();
            let values = values.map(|name| id.clone().filter(|_| name.is_for == Use::Key(0)));
            match FieldRow::new(values.collect(), &wanted).item(0, |_| ()) {
                Item::Reject { reason: "no_key", detail, .. } => detail,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(why(None), "no `id`");
        assert_eq!(why(Some(Value::Null)), "`id` is null");
        assert_eq!(why(Some(Value::Text(" ".into()))), "`id` is empty");
    }

    /// A row whose text is null counted as damaged, and a row whose text is empty did not, so a
    /// column with one null in twenty stopped a corpus. Both are empty; only a row without the
    /// field has no text.
    #[test]
    fn a_text_that_is_null_is_empty() {
        let wanted = Wanted::new(&Fields::default(), &PageKey::Row, "");
        let of = |nulls: &[Use]| {
            let names = wanted.names.iter();
            let values = names.map(|name| {
                (nulls.contains(&name.is_for) && name.note.is_none()).then_some(Value::Null)
            });
            match FieldRow::new(values.collect(), &wanted).item(0, |_| ()) {
                Item::Reject { reason: "no_text", detail, .. } => Err(detail),
                Item::Record(record) => Ok(record.body),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of(&[]), Err("no `text` and no `html`: /0".to_owned()));
        for nulls in [&[Use::Text][..], &[Use::Html], &[Use::Text, Use::Html]] {
            assert_eq!(of(nulls), Ok(Body::Text(String::new())), "{nulls:?}");
        }
    }

    /// An empty text hid the HTML of its row.
    #[test]
    fn html_beside_an_empty_text() {
        let wanted = Wanted::new(&Fields::default(), &PageKey::Row, "");
        for (text, html, is_html) in
            [("", "<p>x", true), (" \n", "<p>x", true), ("x", "<p>y", false)]
        {
            let values = wanted.names.iter().map(|name| match (name.note, name.is_for) {
                (None, Use::Text) => Some(Value::Text(text.into())),
                (None, Use::Html) => Some(Value::Text(html.into())),
                _ => None,
            });
            match FieldRow::new(values.collect(), &wanted).item(0, |_| ()) {
                Item::Record(record) => {
                    assert_eq!(matches!(record.body, Body::Html { .. }), is_html, "{text:?}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// A hash of 64 bits is an id, also above the greatest signed number.
    #[test]
    fn keys_of_64_bits() {
        assert_eq!(key_of(Value::Unsigned(u64::MAX)).as_deref(), Ok("18446744073709551615"));
        assert_eq!(key_of(Value::Integer(i64::MIN)).as_deref(), Ok("-9223372036854775808"));
    }

    /// Tools write whole numbers as floating-point numbers if one of them is missing: `7.0` is the
    /// id 7. A number that is not whole, or may stand for several whole numbers, is no id.
    #[test]
    fn keys_that_are_whole() {
        assert_eq!(key_of(Value::Float(7.0)).as_deref(), Ok("7"));
        assert_eq!(
            key_of(Value::Float(-9_007_199_254_740_991.0)).as_deref(),
            Ok("-9007199254740991")
        );
        for number in [7.5, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0] {
            let found = key_of(Value::Float(number));
            assert!(matches!(found, Err(Item::Reject { reason: "bad_field", .. })), "{found:?}");
        }
    }
}
