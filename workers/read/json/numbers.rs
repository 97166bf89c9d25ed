//! Handles numbers that the parser cannot read: numbers that are too large for it, and `NaN` and
//! `Infinity`, which are no JSON.

use serde::de::IgnoredAny;

/// Whether a number that is JSON is beyond what the parser can hold.
pub fn is_vast(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// The note of a line with a number that JSON does not have.
pub const PYTHON_NUMBER: &str = "nan";
/// Numbers that JSON does not have but Python's `json` writes by default, and pandas for missing
/// values.
pub const PYTHON_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Whether the parser failed at such a number of `line`. The parser reports the byte behind the
/// first wrong byte, which is the first of the number or within it.
pub fn is_of_python(line: &[u8], error: &serde_json::Error) -> bool {
    let at = error.column().saturating_sub(1);
    let rest = |from: usize| line.get(from..).unwrap_or_default();
    let begins =
        |from| PYTHON_NUMBERS.iter().any(|number| rest(from).starts_with(number.as_bytes()));
    begins(at) || begins(at.saturating_sub(1))
}

/// `text` with a list in place of each number that the parser cannot read, and whether one of them
/// is no JSON. No field can use a list. This is needed because JSON has numbers of any size, and
/// most fields of a row are not used.
pub fn readable(text: &str) -> (String, bool) {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    let mut has_python_number = false;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '-' | '0'..='9' | 'N' | 'I')) {
        let (before, from) = rest.split_at(at);
        let is_of_number = |c: char| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
        let is_of_word = |c: char| c == '-' || c.is_ascii_alphanumeric();
        // The word is not searched to its end: that would take quadratic time for a long one.
        let is_word = |number: &&&str| {
            from.strip_prefix(**number).is_some_and(|rest| !rest.starts_with(is_of_word))
        };
        let python_number = PYTHON_NUMBERS.iter().find(is_word);
        let is_python_number = python_number.is_some();
        let length = match (from.starts_with('"'), python_number) {
            (true, _) => text_bytes(from),
            (false, Some(number)) => number.len(),
            // A letter is passed over.
            (false, None) => from.find(|c| !is_of_number(c)).unwrap_or(from.len()).max(1),
        };
        let (token, after) = from.split_at(length);
        let is_vast = || {
            token.parse().is_ok_and(f64::is_infinite)
                && serde_json::from_str::<IgnoredAny>(token).is_ok()
        };
        out.push_str(before);
        match is_python_number || is_vast() {
            // As long as the number, so that errors name the right bytes of the line.
            true => {
                out.push_str("[]");
                out.extend(std::iter::repeat_n(' ', length - "[]".len()));
            }
            false => out.push_str(token),
        }
        has_python_number |= is_python_number;
        rest = after;
    }
    (out + rest, has_python_number)
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
