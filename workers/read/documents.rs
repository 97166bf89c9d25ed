//! Recognises JSON documents: JSON files that do not have one object on each line.

use crate::error::Result;
use crate::read::Limits;
use crate::read::json;
use crate::read::shell;
use crate::read::source::{End, Source};
use serde::de::IgnoredAny;
use std::path::Path;

/// Bytes of a file that are looked at.
const BYTES_MAX: usize = 1 << 20;

/// Why a job reads a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhyRead {
    /// Its inputs name it.
    #[default]
    Named,
    /// It lies in a folder that they name, or fits a pattern.
    Among {
        /// Whether the job reads lines that are written beside it as well.
        reads_lines: bool,
    },
}

/// If the file at `path` is a JSON document: a sentence with the command that converts it to lines.
/// After the command the job must not read the document again. So a document that was found in a
/// folder gets a name that is not read, but only after its lines are complete. Errors come from the
/// file system.
pub fn remedy(path: &Path, why: WhyRead) -> Result<Option<String>> {
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let mut source = Source::open(path, 0, bytes, &Limits::default())?;
    source.fill(BYTES_MAX)?;
    let is_whole = source.end() == Some(&End::File);
    let text = source.window();
    let text = super::jsonl::unmarked(text);
    Ok(filter(text, is_whole).map(|filter| {
        let lines = shell::beside(path, "jsonl");
        let command = shell::fed(&format!("jq -c {filter}"), path);
        let (new, old) = (lines.display(), path.display());
        let command = shell::written(&command, &lines);
        let WhyRead::Among { reads_lines } = why else {
            return format!(
                "Make lines of it: {command}, and have [read] inputs name {new}, not {old}"
            );
        };
        let moved = format!("mv {} {}", shell::word(path), shell::word(&shell::hidden(path)));
        let also = match reads_lines {
            true => String::new(),
            false => format!(". Have [read] inputs name {new}, too"),
        };
        format!("Make lines of it, and give it a name that is not read: {command} && {moved}{also}")
    }))
}

/// The jq filter for a file that begins with `text`; `None` if it has one object a line, or if jq
/// could not read it.
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
    use super::*;
    use crate::read::testing::gzip;

    /// From lists of values jq made lines of single values, which are no rows either. An array of
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

    /// The command reads compressed files, quotes names and overwrites no file.
    #[test]
    fn the_command_fits_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = |name: &str, bytes: &[u8], why: WhyRead| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            let said = remedy(&path, why).expect("readable").expect("a document");
            said.replace(&format!("{}/", folder.path().display()), "")
        };
        assert_eq!(
            said("a.json.gz", &gzip(b"[{},\n{}]\n"), WhyRead::Named),
            "Make lines of it: gzip -dc < a.json.gz | jq -c '.[]' > _a.jsonl && mv _a.jsonl a.jsonl, \
             and have [read] inputs name a.jsonl, not a.json.gz"
        );
        assert_eq!(
            said("b c.jsonl", b"{\n}\n", WhyRead::Named).split(", and").next(),
            Some(
                "Make lines of it: jq -c . < 'b c.jsonl' > '_b c-2.jsonl' && mv '_b c-2.jsonl' \
                 'b c-2.jsonl'"
            ),
        );
        // In a folder the document was read again by the next run, beside its own lines.
        assert_eq!(
            said("d.json", b"[{}]\n", WhyRead::Among { reads_lines: true }),
            "Make lines of it, and give it a name that is not read: jq -c '.[]' < d.json > \
             _d.jsonl && mv _d.jsonl d.jsonl && mv d.json _d.json"
        );
        let unread = said("d.json", b"[{}]\n", WhyRead::Among { reads_lines: false });
        assert!(unread.ends_with("_d.json. Have [read] inputs name d.jsonl, too"), "{unread}");
    }
}
