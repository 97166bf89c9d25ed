//! Parses the named fields of WARC and HTTP: `Name: value` lines up to an empty line.
//!
//! Names compare without case. Lines end in LF, CRLF or worse (`\r\r\n`), and a line that starts
//! with white space continues the one before. Nothing fails: a line that is not a field is passed
//! over.

use std::borrow::Cow;

/// The fields, in their order in the text.
#[derive(Debug, Default)]
pub struct Headers<'a>(Vec<(&'a [u8], Cow<'a, [u8]>)>);

impl<'a> Headers<'a> {
    /// The fields of `bytes`, whose length the caller has bounded.
    pub fn parse(bytes: &'a [u8]) -> Headers<'a> {
        let mut fields: Vec<(&[u8], Cow<'_, [u8]>)> = Vec::new();
        for line in bytes.split(|&b| b == b'\n') {
            if line.first().is_some_and(|b| matches!(b, b' ' | b'\t')) {
                if let Some((_, value)) = fields.last_mut() {
                    let more = line.trim_ascii();
                    if !value.is_empty() && !more.is_empty() {
                        value.to_mut().push(b' ');
                    }
                    value.to_mut().extend_from_slice(more);
                }
            } else if let Some(colon) = line.iter().position(|&b| b == b':') {
                fields.push((
                    line[..colon].trim_ascii(),
                    Cow::Borrowed(line[colon + 1..].trim_ascii()),
                ));
            }
        }
        Headers(fields)
    }

    /// The first field of this name that is not empty.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let named = self.0.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, value)| value.as_ref()).find(|value| !value.is_empty())
    }

    /// The first field of this name that is not empty, if that is UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The items of all fields of this name, in lower case: a list may be spread over several
    /// fields (RFC 9110, 5.3).
    pub fn list(&self, name: &str) -> Vec<String> {
        let named = self.0.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()));
        let values = named.filter_map(|(_, value)| std::str::from_utf8(value).ok());
        let items = values.flat_map(|value| value.split(',')).map(str::trim);
        items.filter(|item| !item.is_empty()).map(str::to_ascii_lowercase).collect()
    }
}

/// The length of the fields at the start of `bytes`, including the empty line that ends them; none
/// without an empty line.
pub fn length(bytes: &[u8]) -> Option<usize> {
    length_from(bytes, 0, &mut 0)
}

/// As [`length`], where no empty line ends within the first `from` bytes, which are not searched
/// again. Adds the bytes that are searched to `searched_bytes`.
pub fn length_from(bytes: &[u8], from: usize, searched_bytes: &mut u64) -> Option<usize> {
    let ends = memchr::memchr_iter(b'\n', bytes.get(from..)?).map(|end| from + end);
    let length = ends.map(|end| end + 1).find(|&end| {
        let returns = bytes[..end - 1].iter().rev().take_while(|&&b| b == b'\r').count();
        *searched_bytes += returns as u64;
        returns == end - 1 || bytes[end - 2 - returns] == b'\n'
    });
    *searched_bytes += (length.unwrap_or(bytes.len()) - from) as u64;
    length
}

/// A media type such as `text/html` in lower case, and its `charset` parameter without quotes. Old
/// servers put a blank in place of the semicolon.
///
/// ```
/// use workers::read::headers::media_type;
///
/// let (media, charset) = media_type(b"Text/HTML; charset=\"GBK\"");
/// assert_eq!((media.as_str(), charset.as_deref()), ("text/html", Some("GBK")));
/// ```
pub fn media_type(value: &[u8]) -> (String, Option<String>) {
    let value = String::from_utf8_lossy(value);
    let mut parts = value.trim().split([';', ' ', '\t']);
    let first = parts.next().unwrap_or_default();
    let media = first.split(',').next().unwrap_or_default();
    let media = media.trim_matches('"').to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, charset) = part.split_once('=')?;
        let charset = charset.trim().trim_matches(['"', '\'']).trim();
        (name.trim().eq_ignore_ascii_case("charset") && !charset.is_empty())
            .then(|| charset.to_owned())
    });
    (media, charset)
}

/// The target of the first link of this relation in the value of a field `Link` (RFC 8288).
///
/// ```
/// use workers::read::headers::link;
///
/// let value =
///     "<https://a.example/2>; rel=next, <https://a.example/>; title=\"a\"; rel=\"canonical\"";
/// assert_eq!(link(value, "canonical"), Some("https://a.example/"));
/// assert_eq!(link(value, "up"), None);
/// ```
pub fn link<'a>(value: &'a str, relation: &str) -> Option<&'a str> {
    let mut links = value;
    loop {
        let (target, rest) = links.split_once('<')?.1.split_once('>')?;
        let (parameters, others) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        let is_relation = |(name, value): (&str, &str)| {
            let relations = value.trim_matches([' ', '\t', ',', '"', '\'']);
            name.trim().eq_ignore_ascii_case("rel")
                && relations
                    .split_ascii_whitespace()
                    .any(|word| word.eq_ignore_ascii_case(relation))
        };
        if parameters.split(';').filter_map(|parameter| parameter.split_once('=')).any(is_relation)
        {
            return Some(target.trim());
        }
        links = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line ends, case, folding and white space do not change a field's value.
    #[test]
    fn one_meaning() {
        for text in [
            "A: x\r\nLong-Name: one two\r\n\r\nrest",
            "A:x\nLONG-NAME:one\n two\n\nrest",
            "a :  x\r\r\nlong-name:\r\r\n\tone\r\r\n\ttwo \r\r\n\r\r\nrest",
        ] {
            let end = length(text.as_bytes()).unwrap();
            assert_eq!(&text[end..], "rest");
            assert!((0..end).all(|from| length_from(text.as_bytes(), from, &mut 0) == Some(end)));
            assert_eq!(length_from(text.as_bytes(), end, &mut 0), None);
            let headers = Headers::parse(&text.as_bytes()[..end]);
            assert_eq!(headers.text("a"), Some("x"));
            assert_eq!(headers.text("Long-name"), Some("one two"));
            assert_eq!(headers.get("rest"), None);
        }
    }

    /// An empty field counts as missing, and the first of several wins.
    #[test]
    fn empty_and_many() {
        let headers = Headers::parse(b"A:\r\nA: 1\r\nA: 2\r\nno field\r\nB:\r\n");
        assert_eq!(headers.text("A"), Some("1"));
        assert_eq!(headers.get("B"), None);
        assert_eq!(length(b"A: 1\r\nB: 2\r\n"), None);
    }

    /// A media type is found despite quotes, case and parameters.
    #[test]
    fn media_types() {
        assert_eq!(media_type(b"text/html"), ("text/html".into(), None));
        assert_eq!(
            media_type(b"Text/HTML; x=y; Charset=\"GBK\""),
            ("text/html".into(), Some("GBK".into()))
        );
        assert_eq!(media_type(b"text/html, text/html;charset="), ("text/html".into(), None));
        for value in ["text/html charset=gb2312", "\"text/html\"\tcharset=gb2312"] {
            let expected = ("text/html".into(), Some("gb2312".into()));
            assert_eq!(media_type(value.as_bytes()), expected, "{value}");
        }
        assert_eq!(media_type(b"\xff"), ("\u{fffd}".into(), None));
    }
}
