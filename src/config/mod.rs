//! Files that people write in TOML: each mistake in them is reported with its line, in words of the
//! file.
//!
//! A parser that fills the fields of a program stops at the first mistake and names the program's
//! types. So a file is read as a tree whose values have their lines, and the tree is checked by a
//! list of keys that says in words what each takes.

pub mod check;
mod mistake;
pub mod nearest;
pub mod paths;
pub mod syntax;
pub mod takes;
pub mod tree;
pub mod written;

pub use crate::config::mistake::Mistake;
use crate::config::takes::Key;
use crate::config::tree::Table;
use crate::config::written::At;
use std::path::Path;
use workers::error::{Error, Kind, Result};

/// The most mistakes that one error lists.
const LISTED_MAX: usize = 20;

/// The text of the file at `path`, as a tree.
pub fn parse(path: &Path, text: &str) -> Result<Table> {
    tree::parse(text).map_err(|mistake| error(path, &[], vec![mistake]))
}

/// `table` as values for the fields of a program, with each mistake by the list `keys`.
pub fn checked(table: &Table, keys: &[Key]) -> (toml::Table, Vec<Mistake>) {
    check::checked(table, keys)
}

/// The error that lists `mistakes` in the file at `path` and in `sets`, one on each line, by line.
pub fn error(path: &Path, sets: &[String], mut mistakes: Vec<Mistake>) -> Error {
    mistakes.sort_by_key(|mistake| mistake.at);
    let left = mistakes.len().saturating_sub(LISTED_MAX);
    mistakes.truncate(LISTED_MAX);
    let mut lines: Vec<String> = mistakes
        .iter()
        .map(|Mistake { at, why }| match at {
            Some(At::Line(line)) => format!("{}:{line}: {why}", path.display()),
            Some(At::Set(set)) => {
                format!("--set {}: {why}", sets.get(*set).map_or("", String::as_str))
            }
            None => format!("{}: {why}", path.display()),
        })
        .collect();
    if left > 0 {
        lines.push(format!("{}: {left} more mistakes", path.display()));
    }
    Error::new(Kind::Config, lines.join("\n"))
}
