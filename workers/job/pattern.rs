//! The inputs of a job file: paths, and patterns in which the job's folder is literal.
//!
//! A job's folder may have `[` or `*` in its name, and these are not pattern characters there. So
//! an input is kept as a pattern in which such characters of a path are in brackets:
//! `crawl[[]1[]]/*.jsonl`.

use glob::Pattern;
use std::path::{Path, PathBuf};

/// Characters that make a text a pattern.
const MARKS: [char; 3] = ['*', '?', '['];

/// The pattern that matches `path` and nothing else. A path that is not UTF-8 is returned as it is.
pub fn literally(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| PathBuf::from(Pattern::escape(text)))
}

/// The path that `pattern` matches, if it can match no other.
///
/// ```
/// use std::path::Path;
/// use workers::job::pattern::{literal, literally};
///
/// let path = Path::new("crawl[1]/a?");
/// assert_eq!(literal(&literally(path)).as_deref(), Some(path));
/// assert_eq!(literal(Path::new("in/*.jsonl")), None);
/// ```
pub fn literal(pattern: &Path) -> Option<PathBuf> {
    let Some(mut rest) = pattern.to_str() else { return Some(pattern.to_owned()) };
    let mut path = String::new();
    while let Some(c) = rest.chars().next() {
        let inner = rest[c.len_utf8()..].chars().next();
        match inner {
            Some(mark) if c == '[' && "*?[]".contains(mark) && rest[2..].starts_with(']') => {
                path.push(mark);
                rest = &rest[3..];
            }
            _ if MARKS.contains(&c) => return None,
            _ => {
                path.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    Some(PathBuf::from(path))
}

/// `pattern` for people: relative to the working folder if it lies there, and a path as it is.
pub fn shown(pattern: &Path) -> String {
    let path = literal(pattern).unwrap_or_else(|| pattern.to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(below) if below.as_os_str().is_empty() => ".".into(),
        Ok(below) if here.parent().is_some() => below.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// The pattern for `input`, as a job file in `folder` names it. An input that exists is taken
/// literally; `tidy` makes a path easier to read.
pub fn below(folder: &Path, input: &Path, tidy: impl Fn(&Path) -> PathBuf) -> PathBuf {
    let has_marks = |path: &Path| path.to_string_lossy().contains(MARKS);
    let whole = tidy(&folder.join(input));
    if !has_marks(input) || whole.exists() {
        return literally(&whole);
    }
    let (mut base, mut rest) = (folder.to_owned(), PathBuf::new());
    for part in input.components() {
        match rest.as_os_str().is_empty() && !has_marks(part.as_ref()) {
            true => base.push(part),
            false => rest.push(part),
        }
    }
    literally(&tidy(&base)).join(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern in a job whose folder has glob characters never matched anything, and the exit
    /// code was 0. The folder is taken literally, and so is a path that exists.
    #[test]
    fn the_folder_is_no_pattern() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("crawl[1]");
        std::fs::create_dir_all(folder.join("in")).expect("made");
        std::fs::write(folder.join("in/a[2].jsonl"), "").expect("written");
        let below = |input: &str| below(&folder, Path::new(input), Path::to_owned);
        assert_eq!(literal(&below("in")), Some(folder.join("in")));
        assert_eq!(literal(&below("in/gone")), Some(folder.join("in/gone")));
        assert_eq!(literal(&below("in/a[2].jsonl")), Some(folder.join("in/a[2].jsonl")));
        assert_eq!(literal(&below("in/*.jsonl")), None);
        assert!(below("in/*.jsonl").ends_with("crawl[[]1[]]/in/*.jsonl"));
        assert!(below("/else[/*").starts_with("/"));
    }
}
