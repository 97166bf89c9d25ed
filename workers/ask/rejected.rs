//! Finds a record among those that the last epoch rejected, by a key in its detail.

use crate::error::{Error, Result};
use crate::fold::splits::RejectLine;
use crate::store::Store;
use crate::store::manifest::Head;
use std::io::BufRead;

/// The first rejected record of `head` whose detail names `key`; `None` if no detail does. Not
/// every bad record has a key.
pub fn rejected(store: &Store, head: &Head, key: &str) -> Result<Option<RejectLine>> {
    let Some(file) = head.manifest.rejects.as_ref().filter(|_| !key.is_empty()) else {
        return Ok(None);
    };
    for line in store.open_lines("rejects", file)?.split(b'\n') {
        let line = line.map_err(|e| Error::io("read", &store.lines_path("rejects", file), e))?;
        if let Ok(line) = serde_json::from_slice::<RejectLine>(&line)
            && names(&line.detail, key)
        {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Whether `detail` contains `key` as a word.
fn names(detail: &str, key: &str) -> bool {
    let ends =
        |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || [';', ':', ','].contains(&c));
    detail.match_indices(key).any(|(at, _)| {
        ends(detail[..at].chars().next_back()) && ends(detail[at + key.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key is found as a whole, and not within another key.
    #[test]
    fn keys_are_words() {
        let detail = "no `text` and no `html`: doc-17; it has id, title";
        assert!(names(detail, "doc-17") && names(detail, "id"));
        assert!(!names(detail, "doc-1") && !names(detail, "oc-17") && !names(detail, "7"));
    }
}
