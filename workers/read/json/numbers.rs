//! Numbers that are JSON and that the parser cannot hold.

use serde::de::IgnoredAny;

/// Whether a number that is JSON is beyond what the parser can hold.
pub fn is_vast(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// `text` with a list, which no field can use, in the place of each number that the parser cannot
/// hold. JSON has numbers of any size, and most fields of a row are not looked at.
pub fn without_vast_numbers(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '-' | '0'..='9')) {
        let (before, from) = rest.split_at(at);
        let is_of_number = |c: char| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
        let length = match from.starts_with('"') {
            true => text_bytes(from),
            false => from.find(|c| !is_of_number(c)).unwrap_or(from.len()),
        };
        let (token, after) = from.split_at(length);
        let is_vast = token.parse().is_ok_and(f64::is_infinite)
            && serde_json::from_str::<IgnoredAny>(token).is_ok();
        out.push_str(before);
        match is_vast {
            // As long as the number, so that errors name the bytes of the line.
            true => out.push_str(&format!("{:length$}", "[]")),
            false => out.push_str(token),
        }
        rest = after;
    }
    out + rest
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
