//! Says in plain words what is wrong with a line that is no record.

use crate::read::record::DETAIL_BYTES_MAX;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use std::fmt::{self, Formatter};

/// The reasons for which a line that is a JSON object may be rejected.
pub const OF_OBJECTS: [&str; 7] =
    ["no_url", "no_key", "long_url", "no_text", "bad_field", "duplicate_field", "bad_escape"];

/// The message for a line in another charset, with the command that converts it.
pub const UTF_16: &str = "UTF-16, not UTF-8 (iconv -f utf-16 -t utf-8)";
/// The message for a line that begins an array, with the command that makes lines of it.
pub const ARRAY: &str = "a JSON array; one object a line is wanted (jq -c '.[]')";
/// The message for a line that begins an array of other values. Values without names make no rows.
const VALUES: &str = "a JSON array of values; one object with names a line is wanted";

/// The message for a line that begins with `[`.
pub fn array(line: &[u8]) -> &'static str {
    match line[1..].trim_ascii_start().first() {
        None | Some(b'{') => ARRAY,
        Some(_) => VALUES,
    }
}

/// The message for a line that begins an object of several lines, with the command that makes a
/// line of it.
pub const PRINTED: &str = "an object over several lines; one object a line is wanted (jq -c .)";

/// The message for a line that goes on behind its object.
pub const SEVERAL: &str = "more behind the first object; one object a line is wanted";

/// What is wrong, without terms of the parser, and at which byte of the line.
pub fn words(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let what = match message {
        "trailing characters" => return SEVERAL.into(),
        _ if error.is_eof() => return "the line ends within its object".into(),
        _ if message.starts_with("invalid type") => return "no JSON object".into(),
        _ if error.is_data() => return message.into(),
        "recursion limit exceeded" => "more than 128 levels in one another",
        "key must be a string" => "a name without quotes",
        "trailing comma" => "a comma with nothing behind it",
        "invalid escape" => "no such escape",
        "invalid number" => "no number",
        _ if message.starts_with("control character") => "a control character in a text",
        _ if message.contains("hex escape") => "half of a surrogate pair, or no hexadecimal digit",
        _ => match message.strip_prefix("expected ").filter(|what| what.starts_with('`')) {
            Some(wanted) => return format!("{wanted} is wanted at byte {}", error.column()),
            None => "no JSON",
        },
    };
    format!("{what} at byte {}", error.column())
}

/// The names of the first fields of an object, as many as a detail may have.
#[derive(Default)]
struct Names(String);

impl<'de> Visitor<'de> for &mut Names {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while self.0.len() < DETAIL_BYTES_MAX
            && let Some(name) = object.next_key::<String>()?
        {
            if !self.0.is_empty() {
                self.0.push_str(", ");
            }
            self.0.push_str(&name);
            object.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// What stands in a detail before the names of the fields that a line has.
pub const HAS: &str = "; it has ";

/// The end of a detail: the names of the fields that a line has. One of them may be what the job
/// means.
pub fn fields_of(text: &str) -> String {
    let mut names = Names::default();
    // Reading ends when there are enough names, which the parser calls an error.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut names);
    format!("{HAS}{}", if names.0.is_empty() { "nothing" } else { &names.0 })
}

/// The reject word for a parser's error, by its message, because the parser has no error codes.
pub fn word(error: &serde_json::Error) -> &'static str {
    let message = error.to_string();
    if message.contains("hex escape") { "bad_escape" } else { "bad_json" }
}
