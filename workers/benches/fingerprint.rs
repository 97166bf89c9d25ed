//! Measures the way from a page's text to its fingerprint on one core, stage by stage: MB/s of the
//! demo crawl's texts, and each stage's share.
//!
//! `cargo bench --bench fingerprint`; without `--bench` one short round.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use unicode_segmentation::UnicodeSegmentation;
use workers::read::record::{Body, Item};
use workers::read::{self, Split};
use workers::text::characters::is_han;
use workers::text::features::{self, Featurizer, word_hash};
use workers::text::letters::Letters;
use workers::text::normalize::{self, normalize};
use workers::text::segment::Segmenter;
use workers::text::shingles::Shingles;
use workers::text::simhash::simhash;
use workers::text::tally::Buffers;
use workers::{extract, id::Id};

/// The demo crawl's pages and texts.
fn crawl() -> (Vec<Vec<u8>>, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/demo");
    let (mut pages, mut texts) = (Vec::new(), Vec::new());
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the demo").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    for path in files {
        let end = path.metadata().expect("a file").len();
        let mut reader =
            read::open(&Split { path, start: 0, end }, &read::Options::default()).expect("opened");
        while let Some(entry) = reader.next().expect("readable") {
            let Item::Record(record) = entry.item else { continue };
            match record.body {
                Body::Html { bytes, charset } => {
                    texts.push(
                        extract::html(&bytes, charset.as_deref(), &extract::Options::default())
                            .text,
                    );
                    pages.push(bytes);
                }
                Body::Text(text) => texts.push(text),
                _ => {}
            }
        }
    }
    (pages, texts)
}

/// The fingerprint of a normal form by its definition: words by jieba-rs, counts by sorting, sums
/// bit by bit.
fn plainly(normal: &str, jieba: &jieba_rs::Jieba, hashes: &mut Vec<u64>) -> u64 {
    hashes.clear();
    let mut rest = normal;
    while !rest.is_empty() {
        let (other, run) = rest.split_at(rest.find(is_han).unwrap_or(rest.len()));
        hashes.extend(other.unicode_words().map(word_hash));
        let (run, after) = run.split_at(run.find(|c| !is_han(c)).unwrap_or(run.len()));
        hashes.extend(jieba.cut(run, true).into_iter().map(|token| word_hash(token.word)));
        rest = after;
    }
    hashes.sort_unstable();
    let mut sums = [0i64; 64];
    for equal in hashes.chunk_by(|a, b| a == b) {
        let weight = ((equal.len() as u64) << 16).isqrt() as i64;
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if equal[0] >> bit & 1 == 1 { weight } else { -weight };
        }
    }
    (0..64).filter(|bit| sums[*bit] > 0).fold(0, |fingerprint, bit| fingerprint | 1 << bit)
}

/// Seconds of the fastest of some rounds of `work`.
fn seconds(rounds: usize, mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..rounds).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--bench") { 30 } else { 1 };
    let (pages, texts) = crawl();
    let options = normalize::Options::default();
    let normal: Vec<String> = texts
        .iter()
        .map(|text| {
            let mut out = String::new();
            normalize(text, &options, &mut out);
            out
        })
        .collect();
    let mut words = Featurizer::new(&features::Options::default(), &options).expect("no files");
    let grams =
        features::Options { unit: features::Unit::Characters, ..features::Options::default() };
    let mut grams = Featurizer::new(&grams, &options).expect("no files");
    let letters: Vec<Letters> = normal.iter().map(|text| Letters::of(text)).collect();
    let features: Vec<_> = normal
        .iter()
        .zip(&letters)
        .map(|(text, letters)| {
            let mut out = Vec::new();
            words.features(text, letters, &mut out);
            out
        })
        .collect();
    let html_bytes: usize = pages.iter().map(Vec::len).sum();
    let text_bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "{} pages, {} kB of HTML; {} texts, {} kB",
        pages.len(),
        html_bytes / 1000,
        texts.len(),
        text_bytes / 1000
    );
    let extract_s = seconds(rounds, || {
        pages.iter().for_each(|page| {
            drop(black_box(extract::html(page, None, &extract::Options::default())))
        });
    });
    println!("extract    {:8.1} MB/s of HTML", html_bytes as f64 / 1e6 / extract_s);
    let mut out = String::new();
    let mut list = Vec::new();
    // In turns, so that other load on the machine slows both.
    let jieba = jieba_rs::Jieba::new();
    let mut segmenter = Segmenter::default();
    let (mut theirs_s, mut ours_s) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        let runs = || {
            normal.iter().flat_map(|text| text.split(|c| !is_han(c)).filter(|run| !run.is_empty()))
        };
        theirs_s =
            theirs_s.min(seconds(1, || runs().for_each(|run| _ = black_box(jieba.cut(run, true)))));
        ours_s = ours_s.min(seconds(1, || {
            normal.iter().for_each(|text| segmenter.han(text, |piece| _ = black_box(piece)))
        }));
    }
    let han = normal.iter().flat_map(|text| text.chars()).filter(|c| is_han(*c)).count() as f64;
    println!(
        "segment    {:8.1} ns a Chinese character, jieba-rs {:.1}: {:.2} times as fast",
        ours_s * 1e9 / han,
        theirs_s * 1e9 / han,
        theirs_s / ours_s
    );
    let stages = [
        (
            "normalise",
            seconds(rounds, || {
                texts.iter().for_each(|text| _ = normalize(text, &options, black_box(&mut out)))
            }),
        ),
        (
            "digest",
            seconds(rounds, || {
                normal.iter().for_each(|text| _ = black_box(Id::of(text.as_bytes())))
            }),
        ),
        (
            "words",
            seconds(rounds, || {
                normal
                    .iter()
                    .zip(&letters)
                    .for_each(|(text, letters)| words.features(text, letters, black_box(&mut list)))
            }),
        ),
        (
            "simhash",
            seconds(rounds, || {
                features.iter().for_each(|features| _ = black_box(simhash(features)))
            }),
        ),
    ];
    let whole: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    for (name, seconds) in stages {
        let rate = text_bytes as f64 / 1e6 / seconds;
        println!(
            "{name:10} {rate:8.1} MB/s of text   {:4.1} % of the time",
            100.0 * seconds / whole
        );
    }
    println!(
        "{:10} {:8.1} MB/s of text, text to fingerprint",
        "whole",
        text_bytes as f64 / 1e6 / whole
    );
    // In turns again: normal form to fingerprint by the definition, and sorted and unsorted
    // 5-grams.
    let (mut plain_s, mut fast_s, mut sorted_s, mut unordered_s) =
        (f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let (mut hashes, mut buffers, mut shingles) =
        (Vec::new(), Buffers::default(), Shingles::default());
    for _ in 0..rounds {
        let (mut plain, mut fast) = (0, 0);
        plain_s = plain_s.min(seconds(1, || {
            normal.iter().for_each(|text| plain ^= plainly(text, &jieba, &mut hashes))
        }));
        fast_s = fast_s.min(seconds(1, || {
            normal.iter().zip(&letters).for_each(|(text, letters)| {
                words.features(text, letters, &mut list);
                fast ^= simhash(&list);
            });
        }));
        assert_eq!(plain, fast, "the definition gives other fingerprints");
        sorted_s =
            sorted_s.min(seconds(1, || letters.iter().for_each(|text| shingles.set(text, 5))));
        unordered_s = unordered_s.min(seconds(1, || {
            letters.iter().for_each(|text| shingles.unordered_set(text, 5, &mut buffers))
        }));
    }
    println!("words and simhash: {:.2} times as fast as by the definition", plain_s / fast_s);
    println!(
        "5-grams of a text: {:.2} times as fast in no order as sorted",
        sorted_s / unordered_s
    );
    let mut read = Letters::default();
    let grams_s = seconds(rounds, || {
        normal.iter().for_each(|text| {
            read.read(text);
            grams.features(text, &read, black_box(&mut list));
        })
    });
    println!("character 4-grams in place of words: {:.1} times as fast", stages[2].1 / grams_s);
}
