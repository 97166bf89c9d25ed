//! Looks at the beginning of an input, to say what it is and which fields it has.

use crate::error::Result;
use crate::read::codec::Codec;
use crate::read::companion::Companion;
use crate::read::source::{End, Source};
use crate::read::{Format, Limits, Recognised, json, parquet, recognised};
use serde_json::{Map, Value};
use std::path::Path;

/// The most lines of JSON whose fields are examined.
const LINES_MAX: usize = 100;
/// The most bytes of these lines.
const BYTES_MAX: usize = 8 << 20;
/// The most levels of nested objects whose fields are named.
const LEVELS_MAX: usize = 4;
/// The most fields that are named.
const NAMES_MAX: usize = 1000;

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// A crawl or a corpus, in this format and compression.
    Crawl(Format, Codec),
    /// Something else, with its kind if that is known, and a line that says so.
    Other(Option<Companion>, String),
}

/// What the file of `size` bytes at `path` is. Errors come from the file system.
pub fn look(path: &Path, size: u64) -> Result<Look> {
    let mut source = Source::open(path, 0, size, &Limits::default())?;
    Ok(match recognised(&mut source)? {
        Recognised::Crawl(format) => Look::Crawl(format, source.codec()),
        Recognised::Companion(companion) => Look::Other(Some(companion), companion.line(path)),
        Recognised::Unknown => Look::Other(None, super::unknown(path).to_string()),
    })
}

/// The paths of the fields of the first rows of the file, in the order of the file. Empty for an
/// archive, and for a file that cannot be read.
pub fn names(path: &Path, size: u64) -> Result<Vec<String>> {
    Ok(match look(path, size)? {
        Look::Crawl(Format::Jsonl, _) => names_of_lines(path, size)?,
        Look::Crawl(Format::Parquet, Codec::Plain) => parquet::names(path, size)?,
        _ => Vec::new(),
    })
}

/// The top-level fields that are lists in the first rows. Empty for a file without rows.
pub fn lists(path: &Path, size: u64) -> Result<Vec<String>> {
    if let Look::Crawl(Format::Parquet, Codec::Plain) = look(path, size)? {
        return parquet::lists(path, size);
    }
    let is_list = |(name, value): (String, Value)| value.is_array().then_some(name);
    let mut lists: Vec<String> =
        first_rows(path, size)?.into_iter().flatten().filter_map(is_list).collect();
    lists.sort();
    lists.dedup();
    Ok(lists)
}

fn names_of_lines(path: &Path, size: u64) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for row in first_rows(path, size)? {
        row.into_iter().for_each(|(name, value)| add(&mut names, name, &value, 1));
    }
    Ok(names)
}

/// The objects of the first lines.
fn first_rows(path: &Path, size: u64) -> Result<Vec<Map<String, Value>>> {
    let mut source = Source::open(path, 0, size, &Limits::default())?;
    let mut text = Vec::new();
    loop {
        let bytes = source.fill(BYTES_MAX - text.len())?.to_vec();
        source.consume(bytes.len());
        text.extend(bytes);
        match source.end() {
            Some(End::Member) if text.len() < BYTES_MAX => source.next_member()?,
            _ => break,
        }
    }
    let text = super::jsonl::unmarked(&text);
    let lines = text.split(|byte| *byte == b'\n').take(LINES_MAX);
    Ok(lines.filter_map(json::parsed).collect())
}

fn add(names: &mut Vec<String>, path: String, value: &Value, levels: usize) {
    match value {
        Value::Object(object) if levels < LEVELS_MAX => {
            object
                .iter()
                .for_each(|(name, value)| add(names, format!("{path}.{name}"), value, levels + 1));
        }
        _ if names.len() < NAMES_MAX && !names.contains(&path) => names.push(path),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{Temporary, gzip};

    /// Fields are named by their paths, of lines in any compression; for a file that is no crawl, a
    /// line says so.
    #[test]
    fn fields_and_formats() {
        let lines = b"{\"text\":\"t\",\"m\":{\"url\":1,\"x\":{\"y\":[]}}}\n{\"id\":1,\"text\":null}\n{broken\n";
        for (bytes, codec) in [(lines.to_vec(), Codec::Plain), (gzip(lines), Codec::Gzip)] {
            let file = Temporary::new("x", &bytes);
            let size = bytes.len() as u64;
            assert_eq!(look(&file.0, size).unwrap(), Look::Crawl(Format::Jsonl, codec));
            assert_eq!(names(&file.0, size).unwrap(), ["m.url", "m.x.y", "text", "id"]);
        }
        let other = Temporary::new("x.bin", b"\x01\x02 nothing");
        assert!(
            matches!(look(&other.0, 10).unwrap(), Look::Other(None, line) if line.contains("x.bin"))
        );
    }
}
