//! Measures which changed copies fold: `cargo run --release --example verdicts -- FILES`.
//!
//! FILES are JSON lines with a `text`, plain or gzipped; each is a kind of text in the first table.
//!
//! The first table has the share of texts that fold with a copy that is changed in one way: a
//! signature of the default job proposes the pair, and the verdict accepts it. No other text is
//! similar. The second has, for pages of one template with other facts, the share of pairs that the
//! verdict accepts, which should be none. `--verdict` leaves the signatures out of the first table.
//! `--seed N` draws other places, words and figures. `--show NAME` prints the texts of a row that
//! went wrong.
//!
//! `--out FOLDER` writes the pairs instead of deciding them: `documents.jsonl` for a job, and
//! `labels.jsonl`, whose rows name the perturbation or the template of each pair. `pagefold run`
//! and `pagefold eval --labels` then make the table, with all stages of a job
//! (`workers/confirm/README.md`).

use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write as _};
use std::path::Path;
use workers::confirm::{Known, Options, Reason, Verdict, decide};
use workers::text::features::{self, Featurizer};
use workers::text::letters::Letters;
use workers::text::normalize::{self, normalize};
use workers::text::signatures::{Key, Shinglings, Signer, Text, default_list};
use workers::text::simhash::{self, simhash};
use workers::text::sketch::{Sketches, write};

#[path = "support/labelled.rs"]
mod labelled;
#[path = "support/perturb.rs"]
mod perturb;
#[path = "support/random.rs"]
mod random;
#[path = "support/templates.rs"]
mod templates;
#[path = "support/traditional.rs"]
mod traditional;

use labelled::Labelled;
use random::Random;

/// The most texts of a kind that are tried.
const TEXTS: usize = 200;
/// The number of pages of a template.
const PAGES: usize = 60;

/// Makes documents with the options of the default job.
struct Maker {
    featurizer: Featurizer,
    signer: Signer,
    shinglings: Shinglings,
}

impl Maker {
    fn new() -> Result<Maker, Box<dyn Error>> {
        let normal = normalize::Options::default();
        Ok(Maker {
            featurizer: Featurizer::new(&features::Options::default(), &normal)?,
            signer: Signer::new(&default_list(), &normal)?,
            shinglings: Shinglings::default(),
        })
    }

    fn document(&mut self, text: &str) -> Document {
        let mut document = Document::default();
        normalize(text, &normalize::Options::default(), &mut document.normal);
        let mut text = Text::new(&document.normal, &[], &mut self.shinglings);
        write(&mut text, &mut document.sketches);
        self.signer.sign(&mut text, &mut document.keys);
        let mut features = Vec::new();
        let letters = Letters::of(&document.normal);
        self.featurizer.features(&document.normal, &letters, &mut features);
        document.fingerprint = simhash(&features);
        document
    }
}

/// A text with its evidence.
#[derive(Default)]
struct Document {
    normal: String,
    sketches: Vec<u8>,
    fingerprint: u64,
    keys: Vec<Key>,
}

impl Document {
    fn known(&self) -> Known<'_> {
        Known {
            chars: self.normal.chars().count() as u32,
            sketches: Sketches::parse(&self.sketches).expect("just written"),
            text: Some(&self.normal),
        }
    }

    /// The verdict on two texts; `None` if they are identical.
    fn verdict(&self, other: &Document) -> Option<Verdict> {
        (self.normal != other.normal)
            .then(|| decide(&self.known(), &other.known(), 0, &Options::default()))
    }

    /// Whether a signature proposes the two as a pair.
    fn meets(&self, other: &Document) -> bool {
        (self.fingerprint ^ other.fingerprint).count_ones() <= simhash::Options::default().k
            || self.keys.iter().any(|key| other.keys.contains(key))
    }
}

/// Up to [`TEXTS`] texts of `path`, drawn at random.
fn texts(path: &str, random: &mut Random) -> Result<Vec<String>, Box<dyn Error>> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let reader: Box<dyn Read> =
        if path.ends_with(".gz") { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut texts = Vec::new();
    for line in BufReader::new(reader).lines() {
        let row: serde_json::Value = serde_json::from_str(&line?)?;
        texts.extend(
            row["text"].as_str().filter(|text| text.chars().count() >= 20).map(str::to_owned),
        );
    }
    for at in (1..texts.len()).rev() {
        texts.swap(at, random.below(at + 1));
    }
    texts.truncate(TEXTS);
    Ok(texts)
}

/// How often each rule decided, most often first.
fn listed(reasons: BTreeMap<&str, usize>) -> String {
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    reasons.iter().map(|(name, count)| format!(" {name} {count}")).collect()
}

fn perturbations(
    maker: &mut Maker,
    kinds: &[(String, Vec<String>)],
    seed: u64,
    show: Option<&str>,
    alone: bool,
) {
    print!("{:34}", "folds with its copy");
    kinds.iter().for_each(|(name, _)| print!(" {name:>10.10}"));
    println!("  why not");
    for perturbation in &perturb::ALL {
        let mut reasons = BTreeMap::new();
        let mut row = format!("{:34}", perturbation.name);
        for (_, texts) in kinds {
            let mut folded = 0;
            for (index, text) in texts.iter().enumerate() {
                let (a, b) = (perturbation.pair)(text, &mut Random::of(seed, index as u64));
                let (a, b) = (maker.document(&a), maker.document(&b));
                let why = match a.verdict(&b) {
                    Some(verdict) if !verdict.accepted => Reason::name(verdict.reason as u8),
                    Some(_) if !alone && !a.meets(&b) => "not proposed",
                    _ => {
                        folded += 1;
                        continue;
                    }
                };
                *reasons.entry(why).or_default() += 1;
                if show == Some(perturbation.name) {
                    println!("{why}\n  {}\n  {}", a.normal, b.normal);
                }
            }
            row.push_str(&format!(" {:>10.2}", folded as f64 / texts.len().max(1) as f64));
        }
        println!("{row} {}", listed(reasons));
    }
}

fn controls(maker: &mut Maker, seed: u64, show: Option<&str>) {
    println!("{:34} {:>10}  why", "pages of one template", "fold");
    let (mut all_folded, mut all_pairs) = (0, 0);
    for template in &templates::ALL {
        let mut random = Random(seed);
        let pages: Vec<Document> =
            (0..PAGES).map(|_| maker.document(&template.page(&mut random))).collect();
        let (mut folded, mut pairs, mut reasons) = (0, 0, BTreeMap::new());
        for (at, a) in pages.iter().enumerate() {
            for b in &pages[..at] {
                let Some(verdict) = a.verdict(b) else { continue };
                pairs += 1;
                if verdict.accepted {
                    folded += 1;
                    *reasons.entry(Reason::name(verdict.reason as u8)).or_default() += 1;
                    if show == Some(template.name) {
                        println!("{verdict:?}\n  {}\n  {}", a.normal, b.normal);
                    }
                }
            }
        }
        println!("{:34} {:>10.4} {}", template.name, folded as f64 / pairs as f64, listed(reasons));
        (all_folded, all_pairs) = (all_folded + folded, all_pairs + pairs);
    }
    println!("{:34} {:>10.4}", "all pairs", all_folded as f64 / all_pairs as f64);
}

fn write_pairs(
    folder: &str,
    kinds: &[(String, Vec<String>)],
    seed: u64,
) -> Result<(), Box<dyn Error>> {
    let mut pairs = Labelled::default();
    for (name, texts) in kinds {
        pairs.perturb((kinds.len() > 1).then_some(name), texts, seed);
    }
    pairs.templates(PAGES, seed);
    std::fs::create_dir_all(folder)?;
    for (name, rows) in [("documents.jsonl", &pairs.documents), ("labels.jsonl", &pairs.labels)] {
        let mut out = BufWriter::new(File::create(Path::new(folder).join(name))?);
        rows.iter().try_for_each(|row| writeln!(out, "{row}"))?;
        out.flush()?;
    }
    println!("{folder}: {} documents, {} pairs", pairs.documents.len(), pairs.labels.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seed, mut show, mut out, mut alone, mut files) = (1, None, None, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--seed" => seed = arguments.next().ok_or("--seed needs a number")?.parse()?,
            "--verdict" => alone = true,
            "--show" => show = Some(arguments.next().ok_or("--show needs the name of a row")?),
            "--out" => out = Some(arguments.next().ok_or("--out needs the name of a folder")?),
            _ => files.push(argument),
        }
    }
    println!("seed {seed}");
    let mut kinds = Vec::new();
    for path in &files {
        let name = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or(path);
        kinds.push((name.to_owned(), texts(path, &mut Random(seed))?));
    }
    if let Some(folder) = out {
        return write_pairs(&folder, &kinds, seed);
    }
    let mut maker = Maker::new()?;
    if !kinds.is_empty() {
        perturbations(&mut maker, &kinds, seed, show.as_deref(), alone);
        println!();
    }
    controls(&mut maker, seed, show.as_deref());
    Ok(())
}
