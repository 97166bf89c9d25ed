//! How well the rules that confirm a pair agree with a truth: `cargo run --release --example confirm_eval -- TRUTH
//! FILES`, FILES of JSON lines, plain or gzip, with a `text`, of which a later line replaces an earlier one of the same
//! `url`, and `op` = `remove` takes it away. TRUTH is
//!
//! ```text
//! label      pairs that share a `label`
//! jaccard    pairs whose 5-grams have a Jaccard similarity of .8 or more
//! indel      pairs with 2 LCS / (sum of lengths) of .9 or more
//! ```
//!
//! or FILES have lines of pairs, `a` and `b`, of which all are compared. Else candidates are all pairs of distinct
//! normalised texts with a Jaccard similarity of .4 or more, of 5-grams, or among texts of fewer than 128 letters of
//! the multisets of 2-grams. Prints for each rule precision and recall over the candidates, and how fast each measure
//! was.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::time::Instant;
use workers::confirm::coverage::{self, Fit, Limits};
use workers::confirm::{Known, Options, Reason, decide};
use workers::text::normalize::{self, normalize};
use workers::text::numerals;
use workers::text::shingles::{SHORT_LETTERS, ShingleKind, Shingles, jaccard};
use workers::text::signatures::{Shinglings, Text};
use workers::text::sketch::{self, Sketches};

/// A distinct text and all that is measured of it.
struct Document {
    text: String,
    characters: Vec<char>,
    labels: BTreeSet<String>,
    long: Vec<u64>,
    short: Vec<u64>,
    letters: usize,
    evidence: Vec<u8>,
}

impl Document {
    fn new(text: String) -> Document {
        let (mut shingles, mut evidence) = (Shingles::default(), Vec::new());
        sketch::write(&mut Text::new(&text, &[], &mut Shinglings::default()), &mut evidence);
        let mut of = |kind: ShingleKind| {
            kind.shingles(&text, &mut shingles);
            shingles.hashes.clone()
        };
        let (long, short) = (of(ShingleKind::Long), of(ShingleKind::Short));
        Document {
            characters: coverage::characters(&text).unwrap_or_default(),
            letters: text.chars().filter(|c| workers::text::characters::is_letter(*c)).count(),
            labels: BTreeSet::new(),
            text,
            long,
            short,
            evidence,
        }
    }

    fn known(&self, with_text: bool) -> Known<'_> {
        Known {
            chars: self.text.chars().count() as u32,
            sketches: Sketches::parse(&self.evidence).expect("just written"),
            text: with_text.then_some(&self.text),
        }
    }
}

fn normal(text: &str) -> String {
    let mut out = String::new();
    normalize(text, &normalize::Options::default(), &mut out);
    out
}

fn lines(path: &str) -> Vec<serde_json::Value> {
    let file = BufReader::new(File::open(path).unwrap_or_else(|e| panic!("{path}: {e}")));
    let plain: Box<dyn Read> =
        if path.ends_with(".gz") { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) };
    let parse = |line: std::io::Result<String>| {
        let line = line.unwrap_or_else(|e| panic!("{path}: {e}"));
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{path}: {e}"))
    };
    BufReader::new(plain).lines().map(parse).collect()
}

/// The documents of some files, and the pairs of them to look at.
fn read(paths: &[String]) -> (Vec<Document>, Vec<(usize, usize)>) {
    let (mut live, mut pairs) = (BTreeMap::new(), Vec::new());
    for (at, line) in paths.iter().flat_map(|path| lines(path)).enumerate() {
        let key = line["url"].as_str().map_or_else(|| format!("{at:09}"), str::to_owned);
        if let (Some(a), Some(b)) = (line["a"].as_str(), line["b"].as_str()) {
            pairs.push((normal(a), normal(b)));
        } else if line["op"] == "remove" {
            live.remove(&key);
        } else {
            live.insert(key, line);
        }
    }
    let (mut documents, mut places) = (Vec::<Document>::new(), HashMap::new());
    let mut place = |text: String| -> usize {
        *places.entry(text).or_insert_with_key(|text| {
            documents.push(Document::new(text.clone()));
            documents.len() - 1
        })
    };
    let pairs: Vec<(usize, usize)> =
        pairs.into_iter().map(|(a, b)| (place(a), place(b))).filter(|(a, b)| a != b).collect();
    let mut labelled = Vec::new();
    for line in live.values() {
        let at = place(normal(line["text"].as_str().unwrap_or_default()));
        labelled.extend(line["label"].as_str().map(|label| (at, label.to_owned())));
    }
    for (at, label) in labelled {
        documents[at].labels.insert(label);
    }
    let pairs = if pairs.is_empty() { candidates(&documents) } else { pairs };
    (documents, pairs)
}

/// All pairs of documents with a Jaccard similarity of .4 or more.
fn candidates(documents: &[Document]) -> Vec<(usize, usize)> {
    let alike = |a: &[u64], b: &[u64]| a.len().min(b.len()) * 10 >= a.len().max(b.len()) * 4 && jaccard(a, b) >= 4000;
    let mut pairs = Vec::new();
    for (i, a) in documents.iter().enumerate() {
        for (j, b) in documents.iter().enumerate().skip(i + 1) {
            let short = a.letters.max(b.letters) < SHORT_LETTERS;
            if alike(&a.long, &b.long) || short && alike(&a.short, &b.short) {
                pairs.push((i, j));
            }
        }
    }
    pairs
}

/// What each rule says of a pair, and what is true.
struct Looked {
    truth: bool,
    letters: usize,
    reason: Reason,
    conflict: bool,
    accepts: Vec<bool>,
}

/// Pairs whose measures are timed.
const TIMED_PAIRS: usize = 500;

/// Coverage as the default rule wants it.
const LIMITS: Limits = Limits { coverage_min: 9200, leading_tokens_max: 60 };

const RULES: [&str; 9] = [
    "J >= .8",
    "J >= .8, numerals",
    "sketch >= .8, short .67",
    "coverage >= .92",
    "coverage or insertion",
    "coverage or insertion, numerals",
    "J, coverage or insertion, numerals",
    "default, no text",
    "default",
];

fn look(truth: &str, a: &Document, b: &Document) -> Looked {
    let (x, y) = (a.known(true), b.known(true));
    let shared = coverage::lcs(&a.characters, &b.characters, 0).unwrap_or(0);
    let fit = coverage::fit(&a.text, &b.text, &LIMITS);
    let jaccard = jaccard(&a.long, &b.long);
    let decided = decide(&x, &y, 0, &Options::default());
    let blind = decide(&a.known(false), &b.known(false), 0, &Options::default());
    let conflict = numerals::conflict(x.sketches.numerals, y.sketches.numerals);
    let (whole, covered) = (matches!(fit, Fit::Whole { .. }), matches!(fit, Fit::Whole { .. } | Fit::Rest { .. }));
    let estimated = match (x.sketches.short.zip(y.sketches.short), x.sketches.long.zip(y.sketches.long)) {
        (Some((a, b)), _) => sketch::compare(a, b).similarity >= 6700,
        (_, Some((a, b))) => sketch::compare(a, b).similarity >= 8000,
        _ => false,
    };
    Looked {
        truth: match truth {
            "label" => !a.labels.is_disjoint(&b.labels),
            "jaccard" => jaccard >= 8000,
            _ => 20 * shared >= 9 * (a.characters.len() + b.characters.len()),
        },
        letters: a.letters.max(b.letters),
        reason: decided.reason,
        conflict,
        accepts: vec![
            jaccard >= 8000,
            jaccard >= 8000 && !conflict,
            estimated,
            whole,
            covered,
            covered && !conflict,
            (jaccard >= 8000 || covered) && !conflict,
            blind.accepted,
            decided.accepted,
        ],
    }
}

/// `precision/recall (false accepts, false refusals)` of one rule.
fn score(looked: &[&Looked], rule: usize) -> String {
    let count = |accepted: bool, truth: bool| {
        looked.iter().filter(|pair| pair.accepts[rule] == accepted && pair.truth == truth).count()
    };
    let (right, wrong, missed) = (count(true, true), count(true, false), count(false, true));
    let share = |n: usize, of: usize| if of == 0 { 1.0 } else { n as f64 / of as f64 };
    format!("{:.4}/{:.4} ({wrong}, {missed})", share(right, right + wrong), share(right, right + missed))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let truth = arguments.first().map_or("", String::as_str);
    if !["label", "jaccard", "indel"].contains(&truth) || arguments.len() < 2 {
        eprintln!("usage: confirm_eval label|jaccard|indel FILES");
        std::process::exit(2);
    }
    let (documents, pairs) = read(&arguments[1..]);
    let pairs: Vec<(&Document, &Document)> = pairs.iter().map(|(i, j)| (&documents[*i], &documents[*j])).collect();
    let looked: Vec<Looked> = pairs.iter().map(|(a, b)| look(truth, a, b)).collect();
    let classes =
        [("all", 0..usize::MAX), ("< 128 letters", 0..128), ("< 1000", 128..1000), ("longer", 1000..usize::MAX)];
    let of = |class: &std::ops::Range<usize>| -> Vec<&Looked> {
        looked.iter().filter(|pair| class.contains(&pair.letters)).collect()
    };
    println!("{} texts, precision/recall against {truth} (false accepts, false refusals)\n", documents.len());
    print!("| rule |");
    classes.iter().for_each(|(name, class)| {
        let pairs = of(class);
        print!(" {name}: {} of {} |", pairs.iter().filter(|pair| pair.truth).count(), pairs.len());
    });
    println!("\n|---|---|---|---|---|");
    for (rule, name) in RULES.iter().enumerate() {
        print!("| {name} |");
        classes.iter().for_each(|(_, class)| print!(" {} |", score(&of(class), rule)));
        println!();
    }
    let mut reasons: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for pair in &looked {
        reasons.entry(Reason::name(pair.reason as u8)).or_default()[usize::from(pair.truth)] += 1;
    }
    println!("\ndefault, by reason (false, true): {reasons:?}");
    let conflicts = |truth| looked.iter().filter(|pair| pair.truth == truth && pair.conflict).count();
    println!("numbers conflict in {} false pairs and {} true ones", conflicts(false), conflicts(true));
    speeds(&documents, &pairs);
}

/// Seconds of the fastest of some rounds of `work`.
fn seconds(mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

/// Prints how fast each measure is, on one core, pairs by the first [`TIMED_PAIRS`].
fn speeds(documents: &[Document], pairs: &[(&Document, &Document)]) {
    let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    let (mut shingles, mut evidence) = (Shingles::default(), Vec::new());
    let mut texts = |work: &mut dyn FnMut(&str, &mut Shingles)| {
        bytes as f64 / 1e6 / seconds(|| documents.iter().for_each(|document| work(&document.text, &mut shingles)))
    };
    let set = texts(&mut |text, shingles| shingles.set(text, 5));
    let multiset = texts(&mut |text, shingles| shingles.multiset(text, 2));
    let mut shinglings = Shinglings::default();
    let write = texts(&mut |text, _| sketch::write(&mut Text::new(text, &[], &mut shinglings), &mut evidence));
    println!("5-gram sets {set:.0} MB/s, 2-gram multisets {multiset:.0} MB/s, all evidence {write:.0} MB/s of text");
    let pairs = &pairs[..pairs.len().min(TIMED_PAIRS)];
    let each = |work: &mut dyn FnMut(&Document, &Document)| {
        seconds(|| pairs.iter().for_each(|(a, b)| work(a, b))) * 1e6 / pairs.len() as f64
    };
    let compared = each(&mut |a, b| {
        let (a, b) = (a.known(false).sketches, b.known(false).sketches);
        black_box(a.long.zip(b.long).or(a.short.zip(b.short)).map(|(a, b)| sketch::compare(a, b)));
    }) - each(&mut |a, b| {
        black_box((a.known(false), b.known(false)));
    });
    let sets = each(&mut |a, b| _ = black_box(jaccard(&a.long, &b.long)));
    let lcs = each(&mut |a, b| _ = black_box(coverage::lcs(&a.characters, &b.characters, 0)));
    let fit = each(&mut |a, b| _ = black_box(coverage::fit(&a.text, &b.text, &LIMITS)));
    let decided = each(&mut |a, b| _ = black_box(decide(&a.known(true), &b.known(true), 0, &Options::default())));
    println!(
        "a pair: sketches {compared:.3} us, sets {sets:.2} us, LCS {lcs:.1} us, fit {fit:.1} us, decide {decided:.2} us"
    );
}
