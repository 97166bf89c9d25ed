//! Parses one JSON line and keeps the values of the configured fields.
//!
//! A name with dots is the path of a nested field, or the name of a field that has dots itself; the
//! field with the fewest levels is taken. A line is one record or none. Half a surrogate pair in a
//! used field, a used field that appears twice, an invalid number and invalid UTF-8 reject the
//! line, because parsers disagree on the meaning of such a line (RFC 8259, sections 4 and 8). A
//! number may have any size. `NaN` and `Infinity`, which JSON does not have but Python writes, are
//! passed over in a field that is not used.

mod mistakes;
mod numbers;
mod object;

pub use crate::read::json::mistakes::{ARRAY, HAS, OF_OBJECTS, PRINTED, SEVERAL, UTF_16, array};

use crate::read::fields::Wanted;
use crate::read::json::mistakes::{fields_of, word, words};
pub use crate::read::json::numbers::readable;
use crate::read::json::numbers::{PYTHON_NUMBER, is_of_python, is_vast};
use crate::read::json::object::{Failed, values};
use crate::read::record::{DETAIL_BYTES_MAX, Item};
use crate::read::row::FieldRow;
use serde::de::{DeserializeOwned, Error, IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Borrow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;

/// The record of a line that is not blank, at `place`. Rejects `nul`, `bad_utf8`, `bad_json`,
/// `bad_escape`, `duplicate_field`, and what [`FieldRow::item`] rejects. Calls `note`
/// with a word for each name that is not the job's, and with `nan` for a line with a number that
/// JSON does not have.
pub fn item(line: &[u8], place: u64, wanted: &Wanted, mut note: impl FnMut(&'static str)) -> Item {
    let reject = |reason, why: &dyn fmt::Display| {
        let head = String::from_utf8_lossy(&line[..line.len().min(DETAIL_BYTES_MAX)]);
        Item::reject(reason, format!("{why}: {head}"))
    };
    if memchr::memchr(0, line).is_some() {
        // In UTF-16 every second byte of most texts is zero.
        let is_utf_16 = line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") || {
            let zeros = line.iter().filter(|byte| **byte == 0).count();
            zeros * 5 >= line.len() * 2
        };
        // Otherwise its letters would be separated by zero bytes.
        return if is_utf_16 { Item::reject("nul", UTF_16) } else { reject("nul", &"a zero byte") };
    }
    // The fast check does not say where it fails.
    let text = match simdutf8::basic::from_utf8(line).or_else(|_| std::str::from_utf8(line)) {
        Ok(text) => text,
        Err(error) => {
            return reject("bad_utf8", &format_args!("no UTF-8 at byte {}", error.valid_up_to()));
        }
    };
    let (without, mut has_python_number) = (OnceCell::new(), false);
    let mut read = values(text, wanted);
    if read.as_ref().is_err_and(|Failed { error, .. }| is_vast(error) || is_of_python(line, error))
    {
        let (readable, has) = readable(text);
        has_python_number = has;
        read = values(without.get_or_init(|| readable), wanted);
    }
    let text = without.get().map_or(text, String::as_str);
    match read {
        Ok(values) => match FieldRow::new(values, wanted).item(place, &mut note) {
            item @ Item::Record(_) if has_python_number => {
                note(PYTHON_NUMBER);
                item
            }
            Item::Reject {
                reason: reason @ ("no_url" | "no_key" | "no_text"),
                detail,
                url,
                ..
            } => {
                let rejected = Item::reject(reason, detail + &fields_of(text));
                url.iter().fold(rejected, |rejected, url| rejected.about(url))
            }
            item => item,
        },
        Err(_) if line.starts_with(b"[") => reject("bad_json", &array(line)),
        Err(_) if line == b"{" => reject("bad_json", &PRINTED),
        Err(Failed { error, duplicate: true }) => reject("duplicate_field", &words(&error)),
        Err(Failed { error, .. }) => reject(word(&error), &words(&error)),
    }
}

/// The value of a `line`. A number that the parser cannot read becomes a list.
pub fn parsed<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(line).ok()?;
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&readable(text).0)).ok()
}

/// If `line` is a JSON object, which of these `names` it has as a field, if any; `None` if it is no
/// object.
pub fn fields_among<'n>(line: &[u8], names: &[&'n str]) -> Option<Option<&'n str>> {
    let fields: BTreeMap<FieldName, IgnoredAny> = parsed(line)?;
    Some(names.iter().find(|name| fields.contains_key(name.as_bytes())).copied())
}

/// The name of a field, which may have half of a surrogate pair.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FieldName(Vec<u8>);

impl Borrow<[u8]> for FieldName {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for FieldName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = FieldName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<FieldName, E> {
                Ok(FieldName(name.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests;
