//! Measures what each signature finds.
//!
//! `cargo run --release --example keys_eval -- [--history] FILES`. The files are JSON lines,
//! gzipped if they end in `.gz`, with `text` and either `label` (equal ones are the same article)
//! or `url` with `op` (`remove` removes a page, and a later line replaces an earlier one; with
//! `--history` every state stays). Prints for each signature the share of true pairs that it
//! proposes, its candidates for each true pair, the keys of a text, the largest bucket, and its
//! speed on one core, without the time to make words and shingles. True pairs are those of one
//! label, or all pairs of distinct texts whose character 5-shingles have J >= 0.8, found exactly.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Instant;
use workers::id::Id;
use workers::text::features::{self, Featurizer};
use workers::text::letters::Letters;
use workers::text::normalize::{self, normalize};
use workers::text::shingles::Shingles;
use workers::text::signatures::{
    Key, Options, Shinglings, SignatureKind, Signer, Text, i_match, lexicon, minhash, sentences,
    spotsigs, super_shingles,
};
use workers::text::simhash::simhash;

/// A text and the label of its article, which may be empty.
struct Article {
    normal: String,
    label: String,
}

fn articles(paths: &[String], history: bool) -> Result<Vec<Article>, Box<dyn Error>> {
    let mut live: BTreeMap<String, (String, String)> = BTreeMap::new();
    for path in paths {
        let file = std::fs::File::open(path)?;
        let reader: Box<dyn Read> = if path.ends_with(".gz") {
            Box::new(flate2::read::MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        for (number, line) in BufReader::new(reader).lines().enumerate() {
            let value: serde_json::Value = serde_json::from_str(&line?)?;
            let of = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            let name = if of("url").is_empty() || history {
                format!("{path} {number:08}")
            } else {
                of("url")
            };
            if of("op") == "remove" {
                live.remove(&name);
            } else {
                live.insert(name, (of("text"), of("label")));
            }
        }
    }
    let mut seen = HashSet::new();
    let mut articles = Vec::new();
    for (text, label) in live.into_values() {
        let mut normal = String::new();
        normalize(&text, &normalize::Options::default(), &mut normal);
        if !normal.is_empty() && seen.insert(normal.clone()) {
            articles.push(Article { normal, label });
        }
    }
    Ok(articles)
}

type Pairs = HashSet<(u32, u32)>;

/// All pairs of the lists in `buckets`.
fn pairs_within<'a>(buckets: impl IntoIterator<Item = &'a Vec<u32>>) -> Pairs {
    let mut pairs = Pairs::new();
    for bucket in buckets {
        for (at, &a) in bucket.iter().enumerate() {
            pairs.extend(bucket[..at].iter().filter(|b| **b != a).map(|&b| (a.min(b), a.max(b))));
        }
    }
    pairs
}

/// All pairs of J >= 0.8, exactly: with the rarest shingles first, two such sets share one of their
/// first fifth.
fn alike(articles: &[Article]) -> Pairs {
    let mut shingles = Shingles::default();
    let sets: Vec<Vec<u64>> = articles
        .iter()
        .map(|article| {
            shingles.set(&Letters::of(&article.normal), 5);
            shingles.hashes.clone()
        })
        .collect();
    let mut seen_in: HashMap<u64, u32> = HashMap::new();
    sets.iter().flatten().for_each(|hash| *seen_in.entry(*hash).or_default() += 1);
    let mut lists: HashMap<u64, Vec<u32>> = HashMap::new();
    for (number, set) in (0u32..).zip(&sets) {
        let mut rarest = set.clone();
        rarest.sort_unstable_by_key(|hash| (seen_in[hash], *hash));
        let prefix = set.len() - (set.len() * 4).div_ceil(5) + usize::from(!set.is_empty());
        rarest[..prefix].iter().for_each(|hash| lists.entry(*hash).or_default().push(number));
    }
    let mut pairs = pairs_within(lists.values());
    pairs.retain(|&(a, b)| {
        let (a, b) = (&sets[a as usize], &sets[b as usize]);
        let shared = a.iter().filter(|hash| b.binary_search(hash).is_ok()).count();
        shared * 5 >= (a.len() + b.len() - shared) * 4 && shared > 0
    });
    pairs
}

fn labelled(articles: &[Article]) -> Pairs {
    let mut of_label: HashMap<&str, Vec<u32>> = HashMap::new();
    for (number, article) in (0u32..).zip(articles).filter(|(_, article)| !article.label.is_empty())
    {
        of_label.entry(&article.label).or_default().push(number);
    }
    pairs_within(of_label.values())
}

/// Seconds of the fastest of three rounds of `work`.
fn seconds(mut work: impl FnMut()) -> f64 {
    let mut once = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// The signatures to try, I-Match with the lexicon at `lexicon`.
fn signatures(lexicon: &Path) -> Vec<(String, Options)> {
    let mut list = Vec::new();
    for (bins, bins_per_key) in [(50, 5), (24, 4)] {
        let keys = bins / bins_per_key;
        let options = minhash::Options { bins, bins_per_key };
        list.push((format!("minhash {keys}x{bins_per_key}"), Options::MinHash(options)));
    }
    list.push(("sentences".to_owned(), Options::Sentences(sentences::Options::default())));
    for (unit, shingle) in
        [(features::Unit::Characters, 5), (features::Unit::Words, 3), (features::Unit::Words, 10)]
    {
        let name = format!(
            "super_shingles {shingle} {}",
            if unit == features::Unit::Words { "words" } else { "characters" }
        );
        let options =
            super_shingles::Options { unit, shingle, ..super_shingles::Options::default() };
        list.push((name, Options::SuperShingles(options)));
    }
    for lexicons in [1, 11] {
        let options = i_match::Options { lexicons, ..i_match::Options::new(lexicon.to_owned()) };
        list.push((format!("i_match {lexicons}"), Options::IMatch(options)));
    }
    for (similarity_percent, prefix_max, spots_min) in
        [(50, 4, 2), (50, 4, 1), (50, 8, 2), (50, 32, 2), (80, 4, 2), (80, 32, 2)]
    {
        let options = spotsigs::Options {
            similarity_percent,
            prefix_max,
            spots_min,
            ..spotsigs::Options::default()
        };
        let name = format!("spotsigs {similarity_percent} %, {prefix_max} of {spots_min} or more");
        list.push((name, Options::SpotSigs(options)));
    }
    list
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<String> = std::env::args().skip(1).collect();
    let given = paths.len();
    paths.retain(|path| path != "--history");
    let articles = articles(&paths, paths.len() < given)?;
    let megabytes = articles.iter().map(|article| article.normal.len()).sum::<usize>() as f64 / 1e6;
    let mut truths = vec![("J", alike(&articles)), ("label", labelled(&articles))];
    truths.retain(|(_, pairs)| !pairs.is_empty());
    println!("{} distinct texts, {megabytes:.1} MB", articles.len());
    for (name, pairs) in &truths {
        println!("{} true pairs by {name}", pairs.len());
    }

    let mut featurizer =
        Featurizer::new(&features::Options::default(), &normalize::Options::default())?;
    let (mut counter, mut batch) =
        (lexicon::Counter::new(lexicon::Limits::default()), lexicon::Batch::default());
    for article in &articles {
        if let Some(level) = counter.claim(Id::of(article.normal.as_bytes())) {
            batch.text(level);
            featurizer.each_word(&article.normal, |word| batch.word(word));
        }
    }
    counter.add(&mut batch);
    let file = std::env::temp_dir().join(format!("keys_eval-{}.tsv", std::process::id()));
    let frequencies = counter.words(2);
    lexicon::write(
        lexicon::Form::Frequencies,
        &[],
        counter.texts(),
        &frequencies,
        &mut std::fs::File::create(&file)?,
    )?;
    println!("lexicon: {} words of 2 of {} texts or more", frequencies.len(), counter.texts());

    let (mut words, mut features) = (vec![Vec::new(); articles.len()], Vec::new());
    let segment_s = seconds(|| {
        for (article, words) in articles.iter().zip(&mut words) {
            let letters = Letters::of(&article.normal);
            featurizer.words_and_features(&article.normal, &letters, words, &mut features);
        }
    });
    let mut shingles = Shingles::default();
    let shingle_s = seconds(|| {
        articles.iter().for_each(|article| shingles.set(&Letters::of(&article.normal), 5))
    });
    println!(
        "words and features {:.1} MB/s, character-5 shingles {:.1} MB/s",
        megabytes / segment_s,
        megabytes / shingle_s
    );

    println!(
        "\n| signature | recall, candidates a true pair by each truth | keys | largest bucket | MB/s |\n|---|---|---|---|---|"
    );
    let row = |name: &str, candidates: &Pairs, rest: String| {
        let found = truths.iter().map(|(truth, pairs)| {
            let found = pairs.iter().filter(|pair| candidates.contains(pair)).count();
            let of = pairs.len() as f64;
            format!("{truth} {:.3} {:.2}", found as f64 / of, candidates.len() as f64 / of)
        });
        println!("| {name} | {} | {rest} |", found.collect::<Vec<_>>().join(", "));
    };
    let mut fingerprints = Vec::new();
    for article in &articles {
        featurizer.features(&article.normal, &Letters::of(&article.normal), &mut features);
        fingerprints.push(simhash(&features));
    }
    let mut near = Pairs::new();
    for (a, fingerprint) in (0u32..).zip(&fingerprints) {
        let behind = (a + 1..).zip(&fingerprints[a as usize + 1..]);
        near.extend(
            behind
                .filter(|(_, other)| (fingerprint ^ *other).count_ones() <= 3)
                .map(|(b, _)| (a, b)),
        );
    }
    row("simhash k = 3", &near, "| |".into());

    let mut union: HashMap<SignatureKind, Pairs> = HashMap::new();
    for (name, options) in signatures(&file) {
        let mut signer =
            Signer::new(std::slice::from_ref(&options), &normalize::Options::default())?;
        let (mut shinglings, mut keys) = (Shinglings::default(), Vec::new());
        let mut buckets: HashMap<Key, Vec<u32>> = HashMap::new();
        let mut all = 0;
        for (number, (article, words)) in (0u32..).zip(articles.iter().zip(&words)) {
            keys.clear();
            signer.sign(&mut Text::new(&article.normal, words, &mut shinglings), &mut keys);
            all += keys.len();
            keys.iter().for_each(|key| buckets.entry(*key).or_default().push(number));
        }
        let mut alone_s = f64::INFINITY;
        for _ in 0..3 {
            let mut round_s = 0.0;
            for (article, words) in articles.iter().zip(&words) {
                keys.clear();
                let mut text = Text::new(&article.normal, words, &mut shinglings);
                text.set(5);
                if text.letters.count() < 128 {
                    text.multiset(2);
                }
                let start = Instant::now();
                signer.sign(&mut text, &mut keys);
                round_s += start.elapsed().as_secs_f64();
            }
            alone_s = alone_s.min(round_s);
        }
        let largest = buckets.values().map(Vec::len).max().unwrap_or(0);
        let candidates = pairs_within(buckets.values());
        let per_text = all as f64 / articles.len() as f64;
        let rest = format!("{per_text:.1} | {largest} | {:.0}", megabytes / alone_s);
        row(&name, &candidates, rest);
        if let Some(kind) = options.kind() {
            union.entry(kind).or_insert(candidates);
        }
    }
    let defaults = [SignatureKind::MinHash, SignatureKind::Sentences];
    for kind in defaults {
        near.extend(union.remove(&kind).unwrap_or_default());
        row(&format!("the defaults up to {}", kind.name()), &near, "| |".into());
    }
    std::fs::remove_file(file)?;
    Ok(())
}
