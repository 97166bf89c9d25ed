//! Writes texts whose SimHashes are near each other although the texts are not. They have 200
//! words, shuffled, that make the sums of 48 of the 64 bits large and leave 16 near zero, and eight
//! other words that decide these 16.
//!
//! Such texts fill one bucket with tens of thousands of near fingerprints. With `--apart` it writes
//! as many texts of as many words that have nothing in common.
//!
//! ```text
//! cargo run --release --example collide -- --docs 40000 > collide.jsonl
//! ```

#[path = "support/random.rs"]
mod random;

use crate::random::Random;
use clap::Parser;
use std::io::{self, BufWriter, Write};
use workers::text::features::word_hash;

/// The number of bits whose sums the common words make large.
const FIRM_BITS: u32 = 48;
/// The number of words that all texts share.
const SHARED: usize = 200;
/// The number of words that only one text has.
const OWN: usize = 8;
/// The number of words from which the next shared word is chosen.
const TRIED: usize = 400;

/// Write texts made to collide in SimHash.
#[derive(Parser)]
#[command(about, long_about = None)]
struct Arguments {
    /// Documents to write
    #[arg(long, default_value_t = 40_000)]
    docs: u64,
    /// Write texts of random words instead
    #[arg(long)]
    apart: bool,
    /// Seed of everything
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A made-up word of five syllables.
fn word(random: &mut Random) -> String {
    (0..5)
        .flat_map(|_| [b"bdfgklmnprstvz"[random.below(14usize)], b"aeiou"[random.below(5usize)]])
        .map(char::from)
        .collect()
}

/// Adds the word to the sums of SimHash.
fn add(sums: &mut [i64; 64], word: &str) {
    let hash = word_hash(word);
    sums.iter_mut()
        .enumerate()
        .for_each(|(bit, sum)| *sum += if hash >> bit & 1 == 1 { 1 } else { -1 });
}

/// How far the sums are from the goal: large first sums, whose sign the own words of a text cannot
/// change, and other sums near zero.
fn cost(sums: &[i64; 64]) -> i64 {
    let (firm, free) = sums.split_at(FIRM_BITS as usize);
    let lacking = |sum: &i64| (3 * OWN as i64 - sum).max(0).pow(2);
    firm.iter().map(lacking).sum::<i64>() + free.iter().map(|sum| 4 * sum.pow(2)).sum::<i64>()
}

/// Words that together make the first sums large, each the best of some tried ones.
fn shared(random: &mut Random) -> Vec<String> {
    let (mut words, mut sums) = (Vec::new(), [0; 64]);
    while words.len() < SHARED {
        let after = |word: &str| {
            let mut sums = sums;
            add(&mut sums, word);
            cost(&sums)
        };
        let best = (0..TRIED)
            .map(|_| word(random))
            .min_by_key(|word| after(word))
            .expect("some are tried");
        add(&mut sums, &best);
        words.push(best);
    }
    words
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let mut random = Random(arguments.seed);
    let shared = if arguments.apart { Vec::new() } else { shared(&mut random) };
    let mut out = BufWriter::new(io::stdout().lock());
    for doc in 0..arguments.docs {
        let mut words = shared.clone();
        words.extend((words.len()..SHARED + OWN).map(|_| word(&mut random)));
        for last in (1..words.len()).rev() {
            words.swap(last, random.below(last + 1));
        }
        writeln!(out, r#"{{"url":"http://collide.example/{doc}","text":"{}"}}"#, words.join(" "))?;
    }
    out.flush()
}
