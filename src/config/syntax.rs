//! Says where a file is not TOML, in words that a reader understands who does not know TOML.

use crate::config::Mistake;
use crate::config::written::{At, line_of};

/// The mistake at which the parser stopped, from the line that it stands on.
pub fn mistake(text: &str, error: &toml::de::Error) -> Mistake {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let written = text.lines().nth(line - 1).unwrap_or_default().trim();
    Mistake { at: Some(At::Line(line)), why: why(written, error.message()) }
}

fn why(written: &str, message: &str) -> String {
    if message.contains("duplicate") {
        return format!("`{}` is there twice", written.split('=').next().unwrap_or(written).trim());
    }
    let shown: String = written.chars().take(80).collect();
    let value = written.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    let is_bare = |value: &str| {
        value.starts_with(|c: char| c.is_alphabetic() || "/~.$".contains(c))
            && !value.contains(['"', '\'', '[', '{'])
    };
    match value {
        Some((key, "")) => format!("`{key}` has no value"),
        Some((key, value)) if !key.is_empty() && is_bare(value) => {
            format!("`{shown}`: a text stands in quotes: {key} = \"{value}\"")
        }
        _ if shown.is_empty() => "a quote, a bracket or a brace is not closed above".into(),
        _ => format!("`{shown}` is not TOML: a line is `key = value`, `[table]` or `# comment`"),
    }
}
