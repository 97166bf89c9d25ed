//! Labels of documents, for `pagefold eval`:
//! `cargo run --release --example labels -- --out LABELS.jsonl [OPTIONS]
//! INPUTS`. An input is a file of JSON lines, gzipped if it ends in `.gz`, or a folder, of which
//! every file is a page `url` with its `html`; `BASE=INPUT` replaces everything before a URL's last
//! `/` by BASE.
//!
//! ```text
//! --by jaccard|coverage|indel   all pairs of texts that are that alike, found exactly, as rows
//!                               of a and b ...
//! --min 0.8                     ... or more, to four digits
//! --identity FIELD              or rows of url and label: the field's value; `url` is what stands
//!                               behind its last `/`
//! --url FIELD,FIELD             fields that make the URL, joined with `/`, as [read.fields] url
//!                               has them; else `url`
//! --text FIELD                  the field of the text; else `text`
//! --last-state                  a later row of a URL replaces an earlier one; `deleted` or `op` =
//!                               `remove` takes it away
//! --documents FILE              write the documents that are left, as a job may read them: url,
//!                               text or html
//! ```
//!
//! Texts are normalised as pagefold does. `jaccard` is computed from the sets of 5-grams of letters
//! and digits, for texts of any length, as for `[confirm] similarity_min` and in `keys_eval`.
//! `coverage` is LCS / longer, `indel` 2 LCS / sum of lengths, both of characters without white
//! space. A text without 5-grams or characters is like no other; all pairs of identical texts are
//! pairs.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use workers::confirm::align::lcs;
use workers::page_url::canonical_url;
use workers::text::letters::Letters;
use workers::text::normalize::{self, normalize};
use workers::text::shingles::{Shingles, shared};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A measure of likeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Jaccard,
    Coverage,
    Indel,
}

/// A text in the form that its measure needs.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// Its characters, if their order counts.
    characters: Vec<char>,
    /// Its tokens, distinct and ascending: 5-grams, or characters, each with the number of its
    /// occurrence.
    tokens: Vec<u64>,
}

impl By {
    fn of(self, normal: &str) -> Measured {
        if self == By::Jaccard {
            let mut shingles = Shingles::default();
            shingles.set(&Letters::of(normal), 5);
            return Measured { characters: Vec::new(), tokens: shingles.hashes };
        }
        let characters = normal.chars().filter(|c| !c.is_whitespace()).collect::<Vec<char>>();
        let mut seen: HashMap<char, u64> = HashMap::new();
        let token = |c: &char| {
            let n = seen.entry(*c).or_default();
            *n += 1;
            u64::from(u32::from(*c)) << 32 | (*n - 1)
        };
        let mut tokens: Vec<u64> = characters.iter().map(token).collect();
        tokens.sort_unstable();
        Measured { characters, tokens }
    }

    /// The fewest tokens that texts of `x` and of `y` tokens share if they are as alike as `min`,
    /// in 1/10,000; exact, because the LCS of two texts is at most the number of characters that
    /// they share, each as often as both have it:
    ///
    /// ```text
    /// jaccard   o / (x + y - o) >= m    <=>  o >= m (x + y) / (1 + m)
    /// coverage  L / max(x, y) >= m       =>  o >= L >= m max(x, y)
    /// indel     2 L / (x + y) >= m       =>  o >= L >= m (x + y) / 2
    /// ```
    fn least(self, x: usize, y: usize, min: usize) -> usize {
        match self {
            By::Jaccard => (min * (x + y)).div_ceil(10_000 + min),
            By::Coverage => (min * x.max(y)).div_ceil(10_000),
            By::Indel => (min * (x + y)).div_ceil(20_000),
        }
    }

    /// The fewest tokens that a text of `x` tokens shares with any text that is as alike as `min`.
    /// `least` grows with `y`, and o <= y, so the shortest y decides. With y = o the bounds above
    /// become
    ///
    /// ```text
    /// jaccard   o >= m x       coverage  o >= m x       indel  o >= m x / (2 - m)
    /// ```
    fn least_of(self, x: usize, min: usize) -> usize {
        match self {
            By::Jaccard | By::Coverage => (min * x).div_ceil(10_000),
            By::Indel => (min * x).div_ceil(20_000 - min),
        }
    }

    /// Whether two texts that share `o` tokens are that alike.
    fn holds(self, a: &Measured, b: &Measured, o: usize, min: usize) -> bool {
        let least = self.least(a.tokens.len(), b.tokens.len(), min);
        o >= least && (self == By::Jaccard || lcs::length(&a.characters, &b.characters) >= least)
    }
}

/// All pairs of texts, by number, the lesser first, that are as alike as `min`, in 1/10,000 and
/// above 0.
///
/// Two texts that share o tokens, o >= p of the one and o >= q of the other, share one of the first
/// x - p + 1 tokens of the one and of the first y - q + 1 of the other, for any order of tokens
/// that is the same in all texts (Chaudhuri, Ganti, Kaushik 2006: prefix filtering). Proof: let t
/// be the first token in this order that they share. The other o - 1 >= p - 1 shared tokens follow
/// t in both texts, so t is among the first x - (p - 1) tokens of the one, and likewise of the
/// other. Rare tokens come first, so that the lists of texts by token, which have only these first
/// tokens, are short. The shared tokens of texts in one list are counted, and if order matters, the
/// texts are aligned. A text without tokens is in no list.
fn alike(by: By, texts: &[Measured], min: usize) -> Vec<(u32, u32)> {
    let mut seen_in: HashMap<u64, u32> = HashMap::new();
    texts
        .iter()
        .flat_map(|text| &text.tokens)
        .for_each(|token| *seen_in.entry(*token).or_default() += 1);
    let mut lists: HashMap<u64, Vec<u32>> = HashMap::new();
    let (mut met, mut met_by) = (Vec::new(), vec![u32::MAX; texts.len()]);
    let mut pairs = Vec::new();
    for (number, text) in (0u32..).zip(texts) {
        let mut rarest: Vec<(u32, u64)> =
            text.tokens.iter().map(|token| (seen_in[token], *token)).collect();
        rarest.sort_unstable();
        // x - p + 1, p being 1 or more.
        let first = (rarest.len() + 1).saturating_sub(by.least_of(rarest.len(), min).max(1));
        met.clear();
        for (_, token) in rarest.iter().take(first) {
            let list = lists.entry(*token).or_default();
            for other in &*list {
                if std::mem::replace(&mut met_by[*other as usize], number) != number {
                    met.push(*other);
                }
            }
            list.push(number);
        }
        for other in &met {
            let (a, b) = (&texts[*other as usize], text);
            let (x, y) = (a.tokens.len(), b.tokens.len());
            if x.min(y) >= by.least(x, y, min) && by.holds(a, b, shared(&a.tokens, &b.tokens), min)
            {
                pairs.push((*other, number));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The options of the command line.
#[derive(Default)]
struct Asked {
    by: Option<By>,
    min: Option<usize>,
    identity: Option<String>,
    url: Vec<String>,
    text: String,
    last_state: bool,
    documents: Option<String>,
    out: Option<String>,
    inputs: Vec<String>,
}

fn asked(mut arguments: impl Iterator<Item = String>) -> Outcome<Asked> {
    let mut asked = Asked { url: vec!["url".into()], text: "text".into(), ..Asked::default() };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--by" => {
                asked.by = Some(match value()?.as_str() {
                    "jaccard" => By::Jaccard,
                    "coverage" => By::Coverage,
                    "indel" => By::Indel,
                    other => return Err(format!("--by {other}: jaccard, coverage or indel").into()),
                });
            }
            "--min" => {
                let min: f64 = value()?.parse()?;
                let whole = (min * 10_000.0).round();
                if !(1.0..=10_000.0).contains(&whole) {
                    return Err(format!("--min {min}: not above 0 and up to 1").into());
                }
                asked.min = Some(whole as usize);
            }
            "--identity" => asked.identity = Some(value()?),
            "--url" => asked.url = value()?.split(',').map(str::to_owned).collect(),
            "--text" => asked.text = value()?,
            "--last-state" => asked.last_state = true,
            "--documents" => asked.documents = Some(value()?),
            "--out" => asked.out = Some(value()?),
            other if other.starts_with("--") => {
                return Err(format!("unknown option {other}").into());
            }
            _ => asked.inputs.push(argument),
        }
    }
    if asked.inputs.is_empty()
        || asked.by.is_some() == asked.identity.is_some()
        || asked.by.is_some() != asked.min.is_some()
    {
        return Err("wants inputs, and either --by with --min or --identity".into());
    }
    Ok(asked)
}

/// A document: its row, its text and its HTML.
struct Document {
    row: serde_json::Value,
    text: Option<String>,
    html: Option<String>,
}

/// The documents of all inputs by URL.
fn documents(asked: &Asked) -> Outcome<BTreeMap<String, Document>> {
    let mut live = BTreeMap::new();
    for input in &asked.inputs {
        let (base, path) = input
            .rsplit_once('=')
            .map_or((None, input.as_str()), |(base, path)| (Some(base), path));
        let mut take = |row: serde_json::Value| -> Outcome<()> {
            let parts: Vec<&str> =
                asked.url.iter().map(|field| row[field].as_str().unwrap_or_default()).collect();
            let url = parts.join("/");
            let name = url.rsplit('/').next().unwrap_or_default();
            let url =
                canonical_url(&base.map_or(url.clone(), |base| format!("{base}{name}"))).canonical;
            if url.is_empty() {
                return Err(format!("{path}: a row without URL").into());
            }
            if asked.last_state && (row["deleted"] == true || row["op"] == "remove") {
                live.remove(&url);
                return Ok(());
            }
            let field = |field: &str| row[field].as_str().map(str::to_owned);
            let (text, html) = (field(&asked.text), field("html"));
            if live.insert(url.clone(), Document { row, text, html }).is_some() && !asked.last_state
            {
                return Err(
                    format!("{path}: {url} is there twice; --last-state takes the last").into()
                );
            }
            Ok(())
        };
        if Path::new(path).is_dir() {
            for entry in std::fs::read_dir(path)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let html = String::from_utf8(std::fs::read(entry.path())?)
                    .map_err(|_| format!("{path}/{name}: no UTF-8"))?;
                take(serde_json::json!({ &asked.url[0]: name, "html": html }))?;
            }
            continue;
        }
        let file = std::fs::File::open(path).map_err(|e| format!("{path}: {e}"))?;
        let plain: Box<dyn Read> = if path.ends_with(".gz") {
            Box::new(flate2::read::MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        for (number, line) in (1..).zip(BufReader::new(plain).lines()) {
            take(serde_json::from_str(&line?).map_err(|e| format!("{path}: line {number}: {e}"))?)?;
        }
    }
    Ok(live)
}

/// Rows of `a` and `b`: all pairs of documents whose texts are as alike as `min`.
fn pairs(documents: &BTreeMap<String, Document>, by: By, min: usize) -> Vec<(&str, &str)> {
    let mut urls: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (url, document) in documents {
        let mut normal = String::new();
        normalize(
            document.text.as_deref().unwrap_or_default(),
            &normalize::Options::default(),
            &mut normal,
        );
        if !normal.is_empty() {
            urls.entry(normal).or_default().push(url);
        }
    }
    let texts: Vec<Measured> = urls.keys().map(|normal| by.of(normal)).collect();
    let urls: Vec<Vec<&str>> = urls.into_values().collect();
    let mut rows = Vec::new();
    for of_text in &urls {
        for (at, x) in of_text.iter().enumerate() {
            rows.extend(of_text[..at].iter().map(|y| (*y.min(x), *y.max(x))));
        }
    }
    for (a, b) in alike(by, &texts, min) {
        for x in &urls[a as usize] {
            rows.extend(urls[b as usize].iter().map(|y| (*x.min(y), *x.max(y))));
        }
    }
    rows.sort_unstable();
    rows
}

fn main() -> Outcome<()> {
    let asked = asked(std::env::args().skip(1))?;
    let documents = documents(&asked)?;
    if let Some(path) = &asked.documents {
        let mut out = BufWriter::new(std::fs::File::create(path)?);
        for (url, document) in &documents {
            let mut row = serde_json::json!({ "url": url });
            match (&document.text, &document.html) {
                (Some(text), _) => row["text"] = text.as_str().into(),
                (None, Some(html)) => row["html"] = html.as_str().into(),
                (None, None) => {}
            }
            writeln!(out, "{row}")?;
        }
        out.flush()?;
    }
    let Some(path) = &asked.out else { return Ok(()) };
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    let mut rows = 0u64;
    if let (Some(by), Some(min)) = (asked.by, asked.min) {
        for (a, b) in pairs(&documents, by, min) {
            writeln!(out, "{}", serde_json::json!({ "a": a, "b": b }))?;
            rows += 1;
        }
    } else if let Some(field) = &asked.identity {
        for (url, document) in &documents {
            let label = match field.as_str() {
                "url" => url.rsplit('/').next().unwrap_or_default().into(),
                field => document.row[field].clone(),
            };
            if !label.is_null() {
                writeln!(out, "{}", serde_json::json!({ "url": url, "label": label }))?;
                rows += 1;
            }
        }
    }
    out.flush()?;
    println!("{} documents, {rows} rows of labels", documents.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether a pair of texts is alike by definition, in whole numbers.
    fn plain(by: By, a: &Measured, b: &Measured, min: usize) -> bool {
        let o = shared(&a.tokens, &b.tokens);
        let (x, y) = (a.tokens.len(), b.tokens.len());
        let lcs = lcs::length(&a.characters, &b.characters);
        x > 0
            && y > 0
            && match by {
                By::Jaccard => o * 10_000 >= min * (x + y - o),
                By::Coverage => lcs * 10_000 >= min * x.max(y),
                By::Indel => lcs * 20_000 >= min * (x + y),
            }
    }

    proptest! {
        /// Lists by token lose no pair and invent none: all pairs one by one give the same.
        #[test]
        fn found_are_those_of_all_pairs(
            texts in prop::collection::vec("[a-c一 ]{0,14}", 0..30),
            edits in prop::collection::vec((0usize..30, 0usize..14, "[a-d]{0,2}"), 0..30),
            min in prop_oneof![Just(10_000usize), Just(9000), Just(8000), 1usize..=10_000],
        ) {
            let mut texts = texts;
            for (of, at, put) in edits {
                if let Some(text) = texts.get(of) {
                    let mut edited: Vec<char> = text.chars().collect();
                    edited.splice(at.min(edited.len())..(at + 1).min(edited.len()), put.chars());
                    texts.push(edited.into_iter().collect());
                }
            }
            for by in [By::Jaccard, By::Coverage, By::Indel] {
                let measured: Vec<Measured> = texts.iter().map(|text| by.of(text)).collect();
                let mut expected = Vec::new();
                for (b, y) in (0u32..).zip(&measured) {
                    expected.extend((0..b).filter(|a| plain(by, &measured[*a as usize], y, min)).map(|a| (a, b)));
                }
                expected.sort_unstable();
                prop_assert_eq!(alike(by, &measured, min), expected, "{:?}", by);
            }
        }
    }
}
