//! Counts the pages that a job folds wrongly, among families of pages that are easily folded
//! wrongly.
//!
//! ```text
//! cargo run --release --example over_merge -- write --pages 1200 --out crawl/families.jsonl
//! cargo run --release --example over_merge -- count out/members.jsonl
//! ```
//!
//! `write` writes JSON lines {"url", "text"}: for each family a number of pages on a host of its
//! own; every tenth page has a copy with a line of furniture. The path of a URL is the truth: `/17`
//! and `/17?copy` are the same, all others differ. `count` reads the members that a run exported
//! and prints a row of a table for each family. Other hosts, such as those of `synth`, which make
//! the crawl large, are left out.

#[path = "support/families.rs"]
mod families;
#[path = "support/random.rs"]
mod random;

use clap::{Parser, Subcommand};
use random::Random;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Families that provoke over-merging.
#[derive(Parser)]
#[command(about, long_about = None)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write pages.
    Write {
        /// Pages of each family, without copies.
        #[arg(long, default_value_t = 1200)]
        pages: u64,
        /// Seed of everything.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The file to write.
        #[arg(long)]
        out: PathBuf,
    },
    /// Count what became of them.
    Count {
        /// The `members.jsonl` of a run.
        members: PathBuf,
    },
}

/// One page in this many has a copy.
const COPY_ONE_IN: u64 = 10;

fn write(pages: u64, seed: u64, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(path)?);
    for (number, family) in (0..).zip(&families::ALL) {
        for page in 0..pages {
            let mut random = Random::of(seed, number * pages + page);
            let text = (family.page)(&mut random);
            let url = format!("http://{}.family.example/{page}", family.name);
            if page % COPY_ONE_IN == 0 {
                let text = format!("{text}\nCopyright 2025 {}. All rights reserved.", family.name);
                writeln!(out, "{}", json!({ "url": format!("{url}?copy"), "text": text }))?;
            }
            writeln!(out, "{}", json!({ "url": url, "text": text }))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The family and the truth of a page of a family.
fn truth(url: &str) -> Option<(&str, &str)> {
    let (family, path) = url.strip_prefix("http://")?.split_once(".family.example/")?;
    Some((family, path.split('?').next().unwrap_or(path)))
}

/// The results for a family.
#[derive(Default)]
struct Row {
    pages: u64,
    wrong: u64,
    largest: u64,
    copies: u64,
    folded_copies: u64,
}

fn count(members: &Path) -> Result<(), Box<dyn Error>> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    // The clusters of each truth that has a copy.
    let mut twins: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for line in BufReader::new(File::open(members)?).lines() {
        let page: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| page[key].as_str().unwrap_or_default();
        let Some((family, label)) = truth(text("url")) else { continue };
        let row = rows.entry(family.to_owned()).or_default();
        row.pages += 1;
        row.wrong += u64::from(truth(text("representative")) != Some((family, label)));
        row.largest = row.largest.max(page["cluster_size"].as_u64().unwrap_or(0));
        if label.parse::<u64>()? % COPY_ONE_IN == 0 {
            row.copies += u64::from(text("url").ends_with("?copy"));
            let clusters = twins.entry((family.to_owned(), label.to_owned())).or_default();
            // The second page of the two that is in the same cluster.
            row.folded_copies += u64::from(!clusters.insert(text("cluster").to_owned()));
        }
    }
    println!(
        "| family | pages | folded wrongly | largest cluster | copies that fold |\n|---|---|---|---|---|"
    );
    for (family, row) in rows {
        let Row { pages, wrong, largest, copies, folded_copies } = row;
        println!("| {family} | {pages} | {wrong} | {largest} | {folded_copies} of {copies} |");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match Arguments::parse().what {
        What::Write { pages, seed, out } => write(pages, seed, &out),
        What::Count { members } => count(&members),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same seed writes the same pages, no two pages of a family are the same text, and they
    /// share many of their words: otherwise they would test nothing.
    #[test]
    fn pages_of_a_family_share_many_words_and_are_not_the_same() {
        for family in &families::ALL {
            let page = |n| (family.page)(&mut Random::of(1, n));
            assert_eq!(page(7), page(7), "{}", family.name);
            let pages: BTreeSet<String> = (0..300).map(page).collect();
            assert_eq!(pages.len(), 300, "{}", family.name);
            let words =
                |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
            let (a, b) = (words(&page(1)), words(&page(2)));
            let shared = a.intersection(&b).count();
            assert!(
                shared * 10 >= a.len().max(b.len()) * 4,
                "{}: {shared} of {}",
                family.name,
                a.len()
            );
        }
    }
}
