//! Knows JSON documents: files of JSON whose objects do not stand one on a line.

use super::Limits;
use super::json;
use super::shell;
use super::source::{End, Source};
use crate::error::Result;
use serde::de::IgnoredAny;
use std::path::Path;

/// Bytes of a file that are looked at.
const BYTES_MAX: usize = 1 << 20;

/// The file at `path`, if it is a JSON document, as a sentence with the command that makes lines of
/// it. The error is one of the file system.
pub fn remedy(path: &Path) -> Result<Option<String>> {
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let mut source = Source::open(path, 0, bytes, &Limits::default())?;
    source.fill(BYTES_MAX)?;
    let is_whole = source.end() == Some(&End::File);
    let text = source.window();
    let text = text.strip_prefix(super::jsonl::BOM).unwrap_or(text);
    Ok(filter(text, is_whole).map(|filter| {
        let lines = shell::beside(path, "jsonl");
        let command = shell::fed(&format!("jq -c {filter}"), path);
        let (new, old) = (lines.display(), path.display());
        let to = shell::word(&lines);
        format!("Make lines of it: {command} > {to}, and have [read] inputs name {new}, not {old}")
    }))
}

/// What jq has to take of a file that begins with `text`; none if it has one object a line, or if
/// jq could not read it.
fn filter(text: &[u8], is_whole: bool) -> Option<&'static str> {
    let text = text.trim_ascii_start();
    let is_array = match text.first()? {
        b'[' => true,
        b'{' => false,
        _ => return None,
    };
    if is_array && json::array(text) != json::ARRAY {
        return None;
    }
    let filter = if is_array { "'.[]'" } else { "." };
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let is_document = match values.next()? {
        Err(error) => error.is_eof() && !is_whole,
        Ok(_) => {
            let (first, rest) = text.split_at(values.byte_offset());
            let next = rest.trim_ascii_start();
            if is_array {
                next.is_empty() || next.starts_with(b"[")
            } else {
                // An object of several lines, or several objects on one.
                first.contains(&b'\n')
                    || next.starts_with(b"{") && !rest[..rest.len() - next.len()].contains(&b'\n')
            }
        }
    };
    is_document.then_some(filter)
}

#[cfg(test)]
mod tests {
    use super::super::testing::gzip;
    use super::*;

    /// Of lists of values jq made lines of single values, which are no rows either. An array of
    /// objects, objects of several lines and several objects on one are documents; an array among
    /// lines of objects is a bad line.
    #[test]
    fn what_is_a_document() {
        for (text, expected) in [
            ("[{\"a\":1}]\n", Some("'.[]'")),
            ("[\n {\"a\":1},\n {}\n]\n", Some("'.[]'")),
            ("[{}]\n[{}]\n", Some("'.[]'")),
            ("[1]\n[2]\n", None),
            ("[[{}]]\n", None),
            ("[1]\n{\"a\":1}\n{}\n", None),
            ("[1]\n{broken\n", None),
            ("{\n \"a\": 1\n}\n", Some(".")),
            ("{\"a\":1}{\"b\":1}\n", Some(".")),
            ("{\"a\":1}\n{\"b\":1}\n[1]\n", None),
            ("{broken\n", None),
            ("", None),
        ] {
            assert_eq!(filter(text.as_bytes(), true), expected, "{text}");
        }
        assert_eq!(filter(b"[{\"a\": 1},", false), Some("'.[]'"));
        assert_eq!(filter(b"[{\"a\": 1},", true), None);
    }

    /// The command reads compressed files, quotes names and writes over no file.
    #[test]
    fn the_command_fits_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            let said = remedy(&path).expect("readable").expect("a document");
            said.replace(&format!("{}/", folder.path().display()), "")
        };
        assert_eq!(
            said("a.json.gz", &gzip(b"[{},\n{}]\n")),
            "Make lines of it: gzip -dc < a.json.gz | jq -c '.[]' > a.jsonl, \
             and have [read] inputs name a.jsonl, not a.json.gz"
        );
        assert_eq!(
            said("b c.jsonl", b"{\n}\n").split(", and").next(),
            Some("Make lines of it: jq -c . < 'b c.jsonl' > 'b c-2.jsonl'"),
        );
    }
}
