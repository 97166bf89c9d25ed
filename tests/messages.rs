//! Shared by the tests of messages: how a command is run, what it must say, and words that no
//! message may have. A file below for each place where a mistake is made.

mod access;
mod commands;
mod jobs;
mod records;
mod reports;

use crate::workbench::{failure, pagefold};
use std::path::Path;
use std::process::{Command, Output};

/// Words of the program's language, of its parsers and of their error messages.
const STRANGE: [&str; 22] = [
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "f64",
    "ident",
    "sequence",
    "map",
    "serde",
    "invalid type",
    "expected one of",
    "unknown variant",
    "unknown field",
    "missing field",
    "os error",
    "invalid digit",
    "is not in",
    "invalid socket",
    "relative URL",
    "trailing characters",
    "EOF while parsing",
];

/// Runs `pagefold` with `words` in `folder`.
fn run(folder: &Path, words: &[&str]) -> Output {
    Command::new(pagefold())
        .args(words)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .output()
        .expect("started")
}

/// Runs `pagefold` with `words`; asserts the exit code, and that the error has each of `expected`
/// and no strange word. Returns the error.
fn says(folder: &Path, words: &[&str], code: i32, expected: &[&str]) -> String {
    let output = run(folder, words);
    let said = failure(&output.stderr);
    println!("{} -> {code}\n{said}", words.join(" "));
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    for what in expected {
        assert!(said.contains(what), "{words:?} does not say {what:?}:\n{said}");
    }
    let strange = said
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .find(|word| STRANGE.contains(word));
    let phrase = STRANGE.into_iter().find(|phrase| phrase.contains(' ') && said.contains(phrase));
    assert_eq!((strange, phrase), (None, None), "{words:?}:\n{said}");
    said
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

const GOOD: &str = "{\"url\":\"http://a.example/1\",\"text\":\"some words that say nothing of note to anyone at all\"}\n";

/// A folder with a sound input `in.jsonl` and a job that reads `inputs`.
fn scene(inputs: &str, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "in.jsonl", GOOD);
    let job =
        format!("store = \"store\"\n[read]\ninputs = {inputs}\n[output]\ndir = \"out\"\n{more}");
    write(folder.path(), "job.toml", &job);
    folder
}
