//! Measures the way from a page's text to its fingerprint on one core, stage by stage: MB/s of the
//! demo crawl's texts, and each stage's share.
//!
//! `cargo bench --bench fingerprint`; without `--bench` one short round.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use workers::read::record::{Body, Item};
use workers::read::{self, Split};
use workers::text::characters::is_han;
use workers::text::features::{self, Featurizer};
use workers::text::normalize::{self, normalize};
use workers::text::segment::Segmenter;
use workers::text::simhash::simhash;
use workers::{document::Id, extract};

/// The demo crawl's pages and texts.
fn crawl() -> (Vec<Vec<u8>>, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/demo");
    let (mut pages, mut texts) = (Vec::new(), Vec::new());
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the demo").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    for path in files {
        let end = path.metadata().expect("a file").len();
        let mut reader = read::open(&Split { path, start: 0, end }, &read::Options::default()).expect("opened");
        while let Some(entry) = reader.next().expect("readable") {
            let Item::Record(record) = entry.item else { continue };
            match record.body {
                Body::Html { bytes, charset } => {
                    texts.push(extract::html(&bytes, charset.as_deref(), &extract::Options::default()).text);
                    pages.push(bytes);
                }
                Body::Text(text) => texts.push(text),
                _ => {}
            }
        }
    }
    (pages, texts)
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
    let grams = features::Options { unit: features::Unit::Characters, ..features::Options::default() };
    let mut grams = Featurizer::new(&grams, &options).expect("no files");
    let features: Vec<_> = normal
        .iter()
        .map(|text| {
            let mut out = Vec::new();
            words.features(text, &mut out);
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
        pages.iter().for_each(|page| drop(black_box(extract::html(page, None, &extract::Options::default()))));
    });
    println!("extract    {:8.1} MB/s of HTML", html_bytes as f64 / 1e6 / extract_s);
    let mut out = String::new();
    let mut list = Vec::new();
    // In turns, so that a neighbour of the machine slows both.
    let jieba = jieba_rs::Jieba::new();
    let mut segmenter = Segmenter::default();
    let (mut theirs_s, mut ours_s) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        let runs = || normal.iter().flat_map(|text| text.split(|c| !is_han(c)).filter(|run| !run.is_empty()));
        theirs_s = theirs_s.min(seconds(1, || runs().for_each(|run| _ = black_box(jieba.cut(run, true)))));
        ours_s =
            ours_s.min(seconds(1, || normal.iter().for_each(|text| segmenter.han(text, |piece| _ = black_box(piece)))));
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
            seconds(rounds, || texts.iter().for_each(|text| _ = normalize(text, &options, black_box(&mut out)))),
        ),
        ("digest", seconds(rounds, || normal.iter().for_each(|text| _ = black_box(Id::of(text.as_bytes()))))),
        ("words", seconds(rounds, || normal.iter().for_each(|text| words.features(text, black_box(&mut list))))),
        ("simhash", seconds(rounds, || features.iter().for_each(|features| _ = black_box(simhash(features))))),
    ];
    let whole: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    for (name, seconds) in stages {
        let rate = text_bytes as f64 / 1e6 / seconds;
        println!("{name:10} {rate:8.1} MB/s of text   {:4.1} % of the time", 100.0 * seconds / whole);
    }
    println!("{:10} {:8.1} MB/s of text, text to fingerprint", "whole", text_bytes as f64 / 1e6 / whole);
    let grams_s = seconds(rounds, || normal.iter().for_each(|text| grams.features(text, black_box(&mut list))));
    println!("character 4-grams in place of words: {:.1} times as fast", stages[2].1 / grams_s);
}
