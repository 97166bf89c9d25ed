//! Measures how well main text is found: `cargo run --release --example extract_eval -- PAGES
//! GOLD.jsonl`.
//!
//! PAGES is a folder of HTML files. GOLD has lines of `url`, whose last part is a file's name, and
//! `main`, the text of the article. Prints the mean token F1 (multisets of words, each Chinese
//! character one), the share of pages whose text equals the gold's exactly, and MB/s of HTML.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;
use workers::extract::{self, Options};
use workers::text::characters::is_han;
use workers::text::normalize::{self, normalize};

fn normal(text: &str) -> String {
    let mut out = String::new();
    normalize(text, &normalize::Options::default(), &mut out);
    out
}

/// The tokens of a text with their counts.
fn tokens(text: &str) -> HashMap<String, u64> {
    let mut counts = HashMap::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() && !is_han(c) {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            *counts.entry(std::mem::take(&mut word)).or_default() += 1;
        }
        if is_han(c) {
            *counts.entry(c.to_string()).or_default() += 1;
        }
    }
    counts
}

fn f1(found: &str, gold: &str) -> f64 {
    let (found, gold) = (tokens(found), tokens(gold));
    let shared: u64 = found.iter().map(|(token, n)| *n.min(gold.get(token).unwrap_or(&0))).sum();
    let (found, gold): (u64, u64) = (found.values().sum(), gold.values().sum());
    if found + gold == 0 { 1.0 } else { 2.0 * shared as f64 / (found + gold) as f64 }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, pages, gold] = &arguments[..] else {
        eprintln!("usage: extract_eval PAGES GOLD.jsonl");
        std::process::exit(2);
    };
    let gold = std::fs::read_to_string(gold).unwrap_or_else(|e| panic!("{gold}: {e}"));
    let (mut f1s, mut same, mut bytes, mut seconds) = (Vec::new(), 0, 0, 0.0);
    for line in gold.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a JSON line");
        let (Some(url), Some(main)) = (line["url"].as_str(), line["main"].as_str()) else {
            continue;
        };
        let name = url.rsplit('/').next().unwrap_or_default();
        let Ok(page) = std::fs::read(Path::new(pages).join(name)) else {
            eprintln!("{name}: no such page");
            continue;
        };
        let start = Instant::now();
        let text = extract::html(&page, None, &Options::default()).text;
        seconds += start.elapsed().as_secs_f64();
        bytes += page.len();
        let (text, main) = (normal(&text), normal(main));
        same += u64::from(text == main);
        f1s.push(f1(&text, &main));
    }
    let n = f1s.len().max(1) as f64;
    let mean = f1s.iter().sum::<f64>() / n;
    println!(
        "{} pages: F1 {mean:.4}, identical {:.3}, {:.0} MB/s",
        f1s.len(),
        same as f64 / n,
        bytes as f64 / 1e6 / seconds
    );
}
