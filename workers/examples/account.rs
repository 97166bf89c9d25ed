//! Prints the result for every record of some files (accepted, skipped or rejected), as a Markdown
//! table.
//!
//! `cargo run --release --example account -- FILES`. Each file is read alone and to its end; a file
//! of no known format is listed with the reason.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use workers::error::Result;
use workers::read::record::Item;
use workers::read::{self, Options, Split};

/// Counts of one file, by reason.
#[derive(Default)]
struct Account {
    accepted: u64,
    skipped: BTreeMap<&'static str, u64>,
    rejected: BTreeMap<&'static str, u64>,
    noted: BTreeMap<&'static str, u64>,
    unread_bytes: u64,
}

fn account(path: &Path) -> Result<Account> {
    let end = path.metadata().map_or(0, |metadata| metadata.len());
    let mut reader =
        read::open(&Split { path: path.to_owned(), start: 0, end }, &Options::default())?;
    let mut account = Account::default();
    while let Some(entry) = reader.next()? {
        match (entry.item.skipped(), entry.item) {
            (Some(reason), _) => *account.skipped.entry(reason).or_default() += 1,
            (None, Item::Reject { reason, records, .. }) => {
                *account.rejected.entry(reason).or_default() += records
            }
            (None, _) => account.accepted += 1,
        }
    }
    account.noted = reader.notes().iter().collect();
    account.unread_bytes = end - reader.consumed_bytes();
    Ok(account)
}

fn list(reasons: &BTreeMap<&'static str, u64>) -> String {
    let mut out = String::new();
    for (reason, n) in reasons {
        let comma = if out.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(out, "{comma}{reason} {n}");
    }
    out
}

fn main() {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    paths.sort();
    println!(
        "| file | accepted | skipped | rejected | noted | bytes unread |\n|---|---|---|---|---|---|"
    );
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match account(&path) {
            Ok(Account { accepted, skipped, rejected, noted, unread_bytes }) => {
                let [skipped, rejected, noted] =
                    [skipped, rejected, noted].map(|reasons| list(&reasons));
                println!(
                    "| {name} | {accepted} | {skipped} | {rejected} | {noted} | {unread_bytes} |"
                );
            }
            Err(error) => {
                let error = error.to_string();
                let why =
                    error.rsplit('/').next().unwrap_or_default().trim_start_matches(&*name).trim();
                println!("| {name} | | | | whole file refused: {why} | |");
            }
        }
    }
}
