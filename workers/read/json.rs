//! Parses one JSON line and keeps the values of the configured fields.
//!
//! A name with dots is the path of a nested field, or the name of one that has the dots itself; the
//! field with the fewest levels is taken. A line is one record or none. Half a surrogate pair, a
//! used field that appears twice, an invalid number and invalid UTF-8 reject the line, since other
//! parsers disagree on what it means (RFC 8259, sections 4 and 8). A number may have any size. `NaN`
//! and `Infinity`, which JSON does not have and Python writes, are read over in a field that is not
//! used. The parser bounds the depth to 128.

use super::fields::Wanted;
use super::record::{DETAIL_BYTES_MAX, Item};
use super::row::FieldRow;
use super::value::Value;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;

/// The record of a line that is not blank, at `place`. Rejects `nul`, `bad_utf8`, `bad_json`,
/// `too_deep`, `bad_escape`, `duplicate_field`, and what [`FieldRow::item`] rejects. Calls `note`
/// with a word for each name that is not the job's, and with `nan` for a line with a number that JSON
/// does not have.
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
        // Its letters would stand apart, with no character between them.
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
    if read.as_ref().is_err_and(|failed| is_vast(&failed.error) || is_of_python(line, failed)) {
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
                let rejected = Item::reject(reason, format!("{detail}; {}", fields_of(text)));
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

/// Why a line could not be read, and whether that is since a used field stands twice.
struct Failed {
    error: serde_json::Error,
    duplicate: bool,
}

/// The values of the wanted fields of `text`.
fn values<'t>(text: &'t str, wanted: &Wanted) -> Result<Vec<Option<Value<'t>>>, Failed> {
    let found = wanted.names.iter().map(|_| None).collect();
    let mut object = Object { wanted, found, path: String::new(), levels: 0, duplicate: false };
    let mut parser = serde_json::Deserializer::from_str(text);
    match (&mut object).deserialize(&mut parser).and_then(|()| parser.end()) {
        Ok(()) => Ok(object.found.into_iter().map(|found| found.map(|(_, value)| value)).collect()),
        Err(error) => Err(Failed { error, duplicate: object.duplicate }),
    }
}

/// Whether a number that is JSON is beyond what the parser can hold.
fn is_vast(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// The note of a line with a number that JSON does not have.
const PYTHON_NUMBER: &str = "nan";
/// Numbers that JSON does not have and that Python's `json` writes by default, as pandas does for
/// what is missing.
const PYTHON_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Whether the parser failed at such a number of `line`. It tells the byte behind the first wrong
/// one, which is in the number or its first.
fn is_of_python(line: &[u8], failed: &Failed) -> bool {
    let at = failed.error.column().saturating_sub(1);
    let rest = |from: usize| line.get(from..).unwrap_or_default();
    let begins =
        |from| PYTHON_NUMBERS.iter().any(|number| rest(from).starts_with(number.as_bytes()));
    begins(at) || begins(at.saturating_sub(1))
}

/// `text` with a list, which no field can use, in the place of each number that the parser cannot
/// read, and whether one of them is no JSON. JSON has numbers of any size, and most fields of a row
/// are not looked at.
fn readable(text: &str) -> (String, bool) {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    let mut has_python_number = false;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '-' | '0'..='9' | 'N' | 'I')) {
        let (before, from) = rest.split_at(at);
        let is_of_number = |c: char| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
        let is_of_word = |c: char| c == '-' || c.is_ascii_alphanumeric();
        let first = |is_in: fn(char) -> bool| from.find(|c| !is_in(c)).unwrap_or(from.len());
        let word = &from[..first(is_of_word)];
        let is_python_number = PYTHON_NUMBERS.contains(&word);
        let length = match from.starts_with('"') {
            true => text_bytes(from),
            false if is_python_number => word.len(),
            // A letter is passed by.
            false => first(is_of_number).max(1),
        };
        let (token, after) = from.split_at(length);
        let is_vast = || {
            token.parse().is_ok_and(f64::is_infinite)
                && serde_json::from_str::<IgnoredAny>(token).is_ok()
        };
        out.push_str(before);
        match is_python_number || is_vast() {
            // As long as the number, so that errors name the bytes of the line.
            true => out.push_str(&format!("{:length$}", "[]")),
            false => out.push_str(token),
        }
        has_python_number |= is_python_number;
        rest = after;
    }
    (out + rest, has_python_number)
}

/// The value of a `line`; a number that the parser cannot read is a list.
pub fn parsed<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(line).ok()?;
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&readable(text).0)).ok()
}

/// The length of the text in quotes with which `json` begins.
fn text_bytes(json: &str) -> usize {
    let mut at = 1;
    while let Some(found) =
        json.as_bytes().get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        match json.as_bytes()[at + found] {
            b'"' => return at + found + 1,
            _ => at += found + 2,
        }
    }
    json.len()
}

/// Whether `line` is an object of JSON, and whether it has a field of one of these `names`, if so
/// which.
pub fn fields_among<'n>(line: &[u8], names: &[&'n str]) -> Option<Option<&'n str>> {
    let fields: BTreeMap<String, IgnoredAny> = parsed(line)?;
    Some(names.iter().find(|name| fields.contains_key(**name)).copied())
}

/// The reasons for which a line may be rejected that is an object of JSON.
pub const OF_OBJECTS: [&str; 8] = [
    "no_url",
    "no_key",
    "long_url",
    "no_text",
    "bad_field",
    "duplicate_field",
    "bad_escape",
    "too_deep",
];

/// What a line is that has another charset, and what writes it again.
pub const UTF_16: &str = "UTF-16, not UTF-8 (iconv -f utf-16 -t utf-8)";
/// What a line is that begins an array, and what makes lines of it.
pub const ARRAY: &str = "a JSON array; one object a line is wanted (jq -c '.[]')";
/// What a line is that begins an array of something else: values without names make no rows.
const VALUES: &str = "a JSON array of values; one object with names a line is wanted";

/// What a line is that begins with `[`.
pub fn array(line: &[u8]) -> &'static str {
    match line[1..].trim_ascii_start().first() {
        None | Some(b'{') => ARRAY,
        Some(_) => VALUES,
    }
}

/// What a line is that begins an object of several lines, and what makes a line of it.
pub const PRINTED: &str = "an object over several lines; one object a line is wanted (jq -c .)";

/// What a line is that goes on behind its object.
pub const SEVERAL: &str = "more behind the first object; one object a line is wanted";

/// What is wrong, in words that need no knowledge of the parser, and at which byte of the line.
fn words(error: &serde_json::Error) -> String {
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

/// The names of the fields that a line has: one of them may be what the job means.
fn fields_of(text: &str) -> String {
    let object: BTreeMap<String, IgnoredAny> = serde_json::from_str(text).unwrap_or_default();
    let names: Vec<&str> = object.keys().map(String::as_str).collect();
    format!("it has {}", if names.is_empty() { "nothing".into() } else { names.join(", ") })
}

/// The reason for a parser's error, by its message, since the parser has no codes for it.
fn word(error: &serde_json::Error) -> &'static str {
    let message = error.to_string();
    if message.starts_with("recursion limit") {
        "too_deep"
    } else if message.contains("hex escape") {
        "bad_escape"
    } else {
        "bad_json"
    }
}

/// Takes the values of the wanted fields out of an object and those in it.
struct Object<'w, 'de> {
    wanted: &'w Wanted,
    /// The values by name, and at how many levels each was found.
    found: Vec<Option<(usize, Value<'de>)>>,
    /// The path of the object that is read, with a dot behind; empty for the line itself.
    path: String,
    levels: usize,
    duplicate: bool,
}

/// What the member of an object is.
struct Member {
    /// The place of its name.
    place: Option<usize>,
    /// Whether fields in it may be wanted.
    is_path: bool,
}

impl<'de> Object<'_, 'de> {
    fn members<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let length = self.path.len();
        while let Some(Member { place, is_path }) = map.next_key_seed(Key(self))? {
            let value = if is_path {
                self.path.push('.');
                self.levels += 1;
                let value = map.next_value_seed(Picked(Some(self)))?;
                self.levels -= 1;
                value
            } else if place.is_some() {
                map.next_value_seed(Picked(None))?
            } else {
                map.next_value_seed(Skipped)?;
                Value::Null
            };
            self.path.truncate(length);
            if let Some(place) = place {
                self.find::<A::Error>(place, value)?;
            }
        }
        Ok(())
    }

    /// Takes `value` unless a field of fewer levels was found.
    fn find<E: Error>(&mut self, place: usize, value: Value<'de>) -> Result<(), E> {
        match &self.found[place] {
            Some((levels, _)) if *levels == self.levels => {
                self.duplicate = true;
                let name = &self.wanted.names[place].path;
                Err(E::custom(format_args!("the field `{name}` stands twice")))
            }
            Some((levels, _)) if *levels < self.levels => Ok(()),
            _ => {
                self.found[place] = Some((self.levels, value));
                Ok(())
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Object<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Object<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.members(map)
    }
}

/// What a key of the object means. If fields in it may be wanted, it is added to the path.
struct Key<'o, 'w, 'de>(&'o mut Object<'w, 'de>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_, 'de> {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_, '_> {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let Object { wanted, path, .. } = self.0;
        let mut member = Member { place: None, is_path: false };
        for (place, name) in wanted.names.iter().enumerate() {
            // Most names are out by their first byte.
            let first = name.path.as_bytes().get(path.len());
            if first != key.as_bytes().first() && !key.is_empty() {
                continue;
            }
            let Some(rest) =
                name.path.strip_prefix(path.as_str()).and_then(|rest| rest.strip_prefix(key))
            else {
                continue;
            };
            if rest.is_empty() {
                member.place = Some(place);
            } else if rest.starts_with('.') {
                member.is_path = true;
            }
        }
        if member.is_path {
            path.push_str(key);
        }
        Ok(member)
    }
}

/// A value that is kept. If it is an object, its members are looked through for this one.
struct Picked<'o, 'w, 'de>(Option<&'o mut Object<'w, 'de>>);

/// A value that is not kept. Its escapes and its depth are checked like those of a kept one.
struct Skipped;

impl<'de> DeserializeSeed<'de> for Picked<'_, '_, 'de> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> DeserializeSeed<'de> for Skipped {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(Picked(None)).map(drop)
    }
}

impl<'de> Visitor<'de> for Picked<'_, '_, 'de> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(i64::try_from(value).map_or(Value::Unsigned(value), Value::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value<'de>, A::Error> {
        while list.next_element_seed(Skipped)?.is_some() {}
        Ok(Value::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        if let Some(object) = self.0 {
            return object.members(map).map(|()| Value::Other);
        }
        while map.next_key_seed(Skipped)?.is_some() {
            map.next_value_seed(Skipped)?;
        }
        Ok(Value::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::{Fields, PageKey};
    use super::super::record::{Body, Record};
    use super::super::testing::word;
    use super::*;
    use proptest::prelude::*;

    fn item(line: &[u8], fields: &Fields) -> Item {
        super::item(line, 0, &Wanted::new(fields, &PageKey::Url, ""), |_| ())
    }

    fn outcome(line: &str) -> String {
        word(&item(line.as_bytes(), &Fields::default()))
    }

    /// The configured fields are found in any order among others, and the first of deleted, op,
    /// text and html counts.
    #[test]
    fn fields() {
        assert_eq!(
            outcome(r#"{"x":[1,{"url":"no"}],"text":"tt","url":"http://a","y":null}"#),
            "http://a text 2"
        );
        assert_eq!(outcome(r#"{"url":"a","html":"<p>","text":null}"#), "a html 3");
        assert_eq!(outcome(r#"{"url":"a","html":"<p>","text":"t"}"#), "a text 1");
        assert_eq!(outcome(r#"{"url":"a","text":""}"#), "a text 0");
        assert_eq!(outcome(r#"{"url":"a","text":null,"html":null}"#), "a text 0");
        assert_eq!(outcome(r#"{"url":"a","deleted":true,"text":"t"}"#), "a removed");
        assert_eq!(outcome(r#"{"url":"a","op":"remove"}"#), "a removed");
        assert_eq!(outcome(r#"{"url":"a","op":"add","deleted":false,"text":"t"}"#), "a text 1");
        assert_eq!(outcome(r#"{"url":"a\u0001b","text":"t"}"#), "a%01b text 1");
    }

    /// A URL may consist of several fields, which may be numbers.
    #[test]
    fn joined_url() {
        let fields = Fields { url: vec!["site".into(), "id".into()], ..Fields::default() };
        let outcome = |line: &str| word(&item(line.as_bytes(), &fields));
        assert_eq!(outcome(r#"{"id":7,"site":"s","text":""}"#), "s/7 text 0");
        assert_eq!(outcome(r#"{"site":"s","text":""}"#), "!no_url");
    }

    /// A bad line is told what is wrong with it in plain words: the parser's named its own types.
    #[test]
    fn in_plain_words() {
        let wanted = Wanted::new(&Fields::default(), &PageKey::Url, "");
        for (line, expected) in [
            ("\"abc\"", "no JSON object"),
            ("7", "no JSON object"),
            ("none", "no JSON at byte 2"),
            ("{\"x\":-NaN}", "no number at byte 7"),
            ("{\"x\":NaN1}", "no JSON at byte 6"),
            ("{\"url\":\"a\"}{\"url\":\"b\"}", SEVERAL),
            ("{\"url\":\"a\",", "the line ends within its object"),
            ("{url:1}", "a name without quotes at byte 2"),
            ("{\"url\" 1}", "`:` is wanted at byte 8"),
            ("{\"url\":1 2}", "`,` or `}` is wanted at byte 10"),
            ("{\"url\":\"\\q\"}", "no such escape at byte 10"),
            ("{\"url\":01}", "no number at byte 9"),
            ("{\"url\":\"a\",\"url\":\"b\"}", "the field `url` stands twice"),
            ("{\"url\":\"\\ud800\"}", "half of a surrogate pair"),
        ] {
            let item = super::item(line.as_bytes(), 0, &wanted, |_| ());
            let Item::Reject { detail, .. } = item else { panic!("{line} is taken") };
            assert!(detail.starts_with(expected), "{line}: {detail}");
        }
    }

    /// The lines that datatrove, dolma, OSCAR and RedPajama write are read with no field named, and
    /// it is noted which names were taken. A name at its default goes before all others, even if it
    /// holds nothing.
    #[test]
    fn corpora() {
        for (line, want, noted) in [
            (
                r#"{"text":"t","id":"7","metadata":{"url":"http://a/","date":"2020-01-01"}}"#,
                "http://a/ text 1",
                "url_in_metadata.url date_in_metadata.date",
            ),
            (
                r#"{"id":"7","text":"t","source":"cc","created":"2020-01-01","metadata":{"x":{"url":"no"},"url":"http://a/"}}"#,
                "http://a/ text 1",
                "url_in_metadata.url date_in_created",
            ),
            (
                r#"{"content":"t","warc_headers":{"warc-target-uri":"http://a/","warc-date":"2020-01-01"},"metadata":{"language":"en"}}"#,
                "http://a/ text 1",
                "url_in_warc_headers.warc-target-uri text_in_content date_in_warc_headers.warc-date",
            ),
            (
                r#"{"raw_content":"t","meta":{"url":"http://a/"}}"#,
                "http://a/ text 1",
                "url_in_meta.url text_in_raw_content",
            ),
            (
                r#"{"url":"http://a/","text":"t","metadata":{"url":"http://b/"},"content":"other"}"#,
                "http://a/ text 1",
                "",
            ),
            (r#"{"metadata":{"url":"http://b/"},"url":null,"text":"t"}"#, "!no_url", ""),
            (
                r#"{"url":"http://a/","text":null,"html":"<p>","content":"other"}"#,
                "http://a/ html 3",
                "",
            ),
            (r#"{"metadata":"none","text":"t"}"#, "!no_url", ""),
        ] {
            let mut notes = Vec::new();
            let wanted = Wanted::new(&Fields::default(), &PageKey::Url, "");
            let found = super::item(line.as_bytes(), 0, &wanted, |note| notes.push(note));
            assert_eq!((word(&found).as_str(), notes.join(" ").as_str()), (want, noted), "{line}");
        }
    }

    /// A path finds a field at any depth; a field whose own name has the dot goes before it,
    /// wherever it stands. A field that stands twice is rejected, also deep in the line.
    #[test]
    fn paths() {
        let fields = Fields { url: vec!["a.b.c".into()], text: "a.t".into(), ..Fields::default() };
        let outcome = |line: &str| word(&item(line.as_bytes(), &fields));
        assert_eq!(outcome(r#"{"a":{"b":{"c":"u","d":[{"c":1}]},"t":"12"}}"#), "u text 2");
        assert_eq!(outcome(r#"{"a":{"t":"12","b":{"c":"deep"}},"a.b.c":"flat"}"#), "flat text 2");
        assert_eq!(outcome(r#"{"a.b.c":"flat","a":{"t":"12","b":{"c":"deep"}}}"#), "flat text 2");
        assert_eq!(outcome(r#"{"a":{"t":"12","b.c":"half","b":{"c":"deep"}}}"#), "half text 2");
        assert_eq!(outcome(r#"{"a":{"t":"12","b":[{"c":"in a list"}]}}"#), "!no_url");
        assert_eq!(outcome(r#"{"a":{"t":"12","b":{"c":{"d":1}}}}"#), "!bad_field");
        assert_eq!(outcome(r#"{"a":{"t":"1","b":{"c":"1"},"b":{"c":"2"}}}"#), "!duplicate_field");
    }

    /// With the row as key every line is a page, whether it has a URL or not; with a field, its
    /// value is the key.
    #[test]
    fn keys() {
        let of = |key: &PageKey, line: &str| {
            word(&super::item(
                line.as_bytes(),
                40,
                &Wanted::new(&Fields::default(), key, &"ab".repeat(32)),
                |_| (),
            ))
        };
        let row = format!("{}/40 text 1", "ab".repeat(16));
        assert_eq!(of(&PageKey::Row, r#"{"text":"t"}"#), row);
        assert_eq!(of(&PageKey::Row, r#"{"url":null,"text":"t"}"#), row);
        let id = PageKey::Field("meta.id".into());
        assert_eq!(of(&id, r#"{"text":"t","url":"http://a/","meta":{"id":7}}"#), "7 text 1");
        assert_eq!(of(&id, r#"{"text":"t","url":"http://a/","meta":{}}"#), "!no_key");
    }

    /// Dates are texts or numbers; one that is not understood leaves the record without a date and
    /// is marked, as it was silently none before. No date is no bad date.
    #[test]
    fn dates() {
        for (date, want) in [
            ("1600000000", Some(1_600_000_000)),
            ("1600000000123", Some(1_600_000_000)),
            ("\"1600000000123\"", Some(1_600_000_000)),
            ("1600000000123456.0", Some(1_600_000_000)),
            ("\"18.05.2024\"", None),
            ("\" \"", None),
            ("1600000000.9", Some(1_600_000_000)),
            ("\"2020-09-13T12:26:40Z\"", Some(1_600_000_000)),
            ("\"soon\"", None),
            ("1e99", None),
            ("null", None),
            ("[]", None),
        ] {
            let line = format!("{{\"url\":\"a\",\"text\":\"\",\"date\":{date}}}");
            let Item::Record(record) = item(line.as_bytes(), &Fields::default()) else { panic!() };
            assert_eq!((record.date, record.body), (want, Body::Text(String::new())), "{line}");
            assert_eq!(
                record.bad_date,
                want.is_none() && !["null", "\" \""].contains(&date),
                "{line}"
            );
        }
    }

    /// A reject says what would help: the fields that a line has where one is missing, and the
    /// command that makes lines of a document.
    #[test]
    fn details_help() {
        let detail = |line: &str| match item(line.as_bytes(), &Fields::default()) {
            Item::Reject { reason, detail, .. } => format!("{reason}: {detail}"),
            item => panic!("{item:?}"),
        };
        assert_eq!(
            detail(r#"{"text":"t","id":7,"metadata":{}}"#),
            "no_url: no `url`; it has id, metadata, text"
        );
        assert_eq!(
            detail(r#"{"url":"a","body":"t"}"#),
            "no_text: no `text` and no `html`: a; it has body, url"
        );
        assert!(detail(r#"[{"url":"a","text":"t"}]"#).starts_with("bad_json: a JSON array; "));
        assert!(detail("[").contains("jq -c '.[]'") && detail("{").contains("jq -c ."));
    }

    /// Each kind of bad line is rejected under its own reason.
    #[test]
    fn bad_lines() {
        let deep = format!(
            r#"{{"url":"a","text":"","x":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        for (line, reason) in [
            ("", "bad_json"),
            ("[]", "bad_json"),
            (r#"{"url":"a","text":"t"} x"#, "bad_json"),
            (r#"{"url":"a","text":"t""#, "bad_json"),
            (r#"{"url":"a","text":"t","x":nan}"#, "bad_json"),
            (r#"{"url":"a","text":"\ud800"}"#, "bad_escape"),
            (r#"{"url":"a","text":"\udc00x"}"#, "bad_escape"),
            (r#"{"url":"a","text":"","x":"\ud800\u0020"}"#, "bad_escape"),
            (r#"{"url":"a","text":"1","url":"b"}"#, "duplicate_field"),
            ("{\"url\":\"a\",\"text\":\"\0\"}", "nul"),
            (r#"{"url":"","text":"t"}"#, "no_url"),
            (r#"{"url":null,"text":"t"}"#, "no_url"),
            (r#"{"text":"t"}"#, "no_url"),
            (r#"{"url":"a"}"#, "no_text"),
            (r#"{"url":"a","text":7}"#, "bad_field"),
            (r#"{"url":["a"],"text":""}"#, "bad_field"),
            (r#"{"url":"a","text":"","deleted":"no"}"#, "bad_field"),
            (&deep, "too_deep"),
        ] {
            assert_eq!(outcome(line), format!("!{reason}"), "{}", &line[..line.len().min(80)]);
        }
        assert_eq!(word(&item(b"{\"url\":\"\xff\"}", &Fields::default())), "!bad_utf8");
        assert_eq!(
            outcome(&format!(r#"{{"url":"{}","text":""}}"#, "a".repeat(70_000))),
            "!long_url"
        );
    }

    /// JSON has numbers of any size, and most fields of a line are not looked at: one with a number
    /// that the parser cannot hold was rejected. A field that is used has a value of another type.
    #[test]
    fn vast_numbers() {
        let digits = "9".repeat(400);
        for number in
            ["1e999", "-1E+400", "0.1e4000000000", "123456789012345678901234567890", &digits]
        {
            for line in [
                format!(r#"{{"url":"a","x":{number},"text":"t"}}"#),
                format!(
                    r#"{{"x\"":[1,{{"y":{number}}},{number}],"z":"\"{number}\\","url":"a","text":"t"}}"#
                ),
            ] {
                assert_eq!(outcome(&line), "a text 1", "{line}");
            }
            assert_eq!(outcome(&format!(r#"{{"url":"a","text":{number}}}"#)), "!bad_field");
            assert_eq!(outcome(&format!(r#"{{"url":{number},"text":"t"}}"#)), "!bad_field");
            let dated = format!(r#"{{"url":"a","text":"t","date":{number}}}"#);
            let Item::Record(record) = item(dated.as_bytes(), &Fields::default()) else { panic!() };
            assert!(record.bad_date && record.date.is_none(), "{dated}");
        }
        let removed = r#"{"url":"a","text":"t","deleted":1e999}"#;
        assert_eq!(outcome(removed), "!bad_field");
        for number in ["01e999", "1.e999", "1e999x", "1e999.", "-e999", "1e999 2", "\"1e999"] {
            let line = format!(r#"{{"url":"a","text":"t","x":{number}}}"#);
            assert_eq!(outcome(&line), "!bad_json", "{line}");
        }
        let detail = |line: &str| match item(line.as_bytes(), &Fields::default()) {
            Item::Reject { detail, .. } => detail,
            item => panic!("{item:?}"),
        };
        assert!(detail(r#"{"x":1e999,"url" 1}"#).starts_with("`:` is wanted at byte 18"));
        assert_eq!(detail(r#"{"x":1e999,"text":"t"}"#), "no `url`; it has text, x");
    }

    /// Python writes `NaN` for what is missing, and so each row with such a score was rejected. A
    /// line is read over it in a field that is not used, and that is noted. Of one that is used it
    /// is no value: no score, no date, and no text or key.
    #[test]
    fn numbers_of_python() {
        for number in PYTHON_NUMBERS {
            let mut notes = Vec::new();
            let wanted = Wanted::new(&Fields::default(), &PageKey::Url, "");
            let line = format!(
                r#"{{"x":[{number},{{"y": {number} }}],"z":"NaN {number}","u":1e999,"url":"a","text":"Infinity"}}"#
            );
            let found = super::item(line.as_bytes(), 0, &wanted, |note| notes.push(note));
            assert_eq!((word(&found).as_str(), &notes[..]), ("a text 8", &["nan"][..]), "{line}");
            assert_eq!(fields_among(line.as_bytes(), &["cluster", "z"]), Some(Some("z")));
            for line in [r#"{"url":"a","text":N}"#, r#"{"url":N,"text":"t"}"#] {
                assert_eq!(outcome(&line.replace('N', number)), "!bad_field", "{line}");
            }
            let dated = format!(r#"{{"url":"a","text":"t","date":{number}}}"#);
            let Item::Record(record) = item(dated.as_bytes(), &Fields::default()) else { panic!() };
            assert!(record.bad_date && record.date.is_none(), "{dated}");
            let keyless = format!(r#"{{"x":{number},"text":"t"}}"#);
            let Item::Reject { detail, .. } = item(keyless.as_bytes(), &Fields::default()) else {
                panic!("{keyless} is taken")
            };
            assert_eq!(detail, "no `url`; it has text, x");
        }
        assert_eq!(fields_among(br#"{"x":Nan}"#, &["x"]), None);
    }

    proptest! {
        /// Any line is one item, and its fields are those that a general parser finds.
        #[test]
        fn twin(url in "[a-z\\\\\"é漢]{1,9}", text in "\\PC{0,30}", noise in "\\PC{0,9}", cut in 0usize..200) {
            let value = serde_json::json!({ "noise": [noise.clone(), { "text": noise }], "text": text, "url": url });
            let line = value.to_string();
            let want = Record { url, date: None, bad_date: false, score: None, body: Body::Text(text) };
            prop_assert_eq!(item(line.as_bytes(), &Fields::default()), Item::Record(want));
            let cut = line.floor_char_boundary(cut);
            if cut < line.len() {
                let rejected = matches!(item(&line.as_bytes()[..cut], &Fields::default()), Item::Reject { .. });
                prop_assert!(rejected);
            }
        }
    }
}
