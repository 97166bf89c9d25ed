//! Parts of the shell commands in messages.
//!
//! People copy the commands as they are, so names are quoted, compressed files are decoded, and a
//! command never writes to the name of an existing file.

use crate::read::codec::{Codec, without_ending};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// `path` as one word of a shell.
pub fn word(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if path.starts_with('-') {
        // Otherwise the name would be an option.
        word(&Path::new(".").join(path))
    } else if !path.is_empty() && path.chars().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// A command line in which `program` reads the decoded bytes of the file at `path` from stdin.
pub fn fed(program: &str, path: &Path) -> String {
    let file = word(path);
    match decoder(codec(path)) {
        Some(decoder) => format!("{decoder} < {file} | {program}"),
        None => format!("{program} < {file}"),
    }
}

/// A command line that writes the output of `command` to a file that no run reads, and gives it the
/// name `to` once it is complete.
pub fn written(command: &str, to: &Path) -> String {
    let begun = word(&hidden(to));
    format!("{command} > {begun} && mv {begun} {}", word(to))
}

/// The program that decodes stdin.
pub fn decoder(codec: Codec) -> Option<&'static str> {
    match codec {
        Codec::Plain => None,
        Codec::Gzip => Some("gzip -dc"),
        Codec::Zstd => Some("zstd -dc"),
        Codec::Lz4 => Some("lz4 -dc"),
    }
}

/// The codec of the file, or the codec by its name if it cannot be read.
pub fn codec(path: &Path) -> Codec {
    let mut head = [0; 4];
    if File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() {
        return Codec::of(&head);
    }
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => Codec::Gzip,
        Some("zst") => Codec::Zstd,
        Some("lz4") => Codec::Lz4,
        _ => Codec::Plain,
    }
}

/// An unused name beside `path`, with this ending, for a file that is made from it.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = without_ending(&name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let names = std::iter::once(String::new()).chain((2..).map(|n| format!("-{n}")));
    let mut names = names.map(|n| path.with_file_name(format!("{stem}{n}.{ending}")));
    names.find(|name| name != path && !name.exists()).unwrap_or_default()
}

/// An unused name for `path` that is not read in a folder.
pub fn hidden(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut marks = (1..).map(|n| "_".repeat(n));
    let mut names = std::iter::from_fn(|| Some(path.with_file_name(marks.next()? + &name)));
    names.find(|name| !name.exists()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name is quoted if the shell would read it as something else.
    #[test]
    fn words_of_a_shell() {
        for (path, expected) in [
            ("in/a.json", "in/a.json"),
            ("a b.json", "'a b.json'"),
            ("in/it's.zip", r"'in/it'\''s.zip'"),
            ("-x.json", "./-x.json"),
            ("$x", "'$x'"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }

    /// A file that is made from another has its name without the endings of compression and form.
    /// It never has the name of an existing file, because the command would overwrite that.
    #[test]
    fn names_that_are_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str| {
            let path = beside(&folder.path().join(name), "jsonl");
            path.file_name().expect("a name").to_string_lossy().into_owned()
        };
        assert_eq!(of("a.json.gz"), "a.jsonl");
        assert_eq!(of("b.jsonl"), "b-2.jsonl");
        assert_eq!(of("table"), "table.jsonl");
        std::fs::write(folder.path().join("a.jsonl"), "").expect("written");
        assert_eq!(of("a.json.gz"), "a-2.jsonl");
    }
}
