//! Generates large crawls whose near-duplicates are known.
//!
//! It writes JSON lines {"url", "text", "date"}, and the truth as JSON lines {"url", "label"},
//! where equal labels mean the same original.
//!
//! ```text
//! cargo run --release --example synth -- --docs 1000000 --near 0.2 --files 8 --out crawl/ \
//!     --truth truth.jsonl
//! ```
//!
//! The same arguments write the same bytes (compressed ones for the same compressor). A text is a
//! function of seed and label, so a copy composes its original again instead of keeping it: memory
//! stays below 10 MB for any number of documents. Every copy is an edit of the original, never of
//! another copy.

#[path = "support/composer.rs"]
mod composer;
#[path = "support/random.rs"]
mod random;
#[path = "support/vocabulary.rs"]
mod vocabulary;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::ToSpan;
use jiff::civil::{DateTime, date};

use crate::composer::{Composer, Text};
use crate::random::Random;

/// Documents are dated in 2025, from its first second.
const NEW_YEAR: DateTime = date(2025, 1, 1).at(0, 0, 0, 0);
const YEAR_SECONDS: i64 = 365 * 86_400;

/// Write a large made-up crawl whose near-duplicates are known.
#[derive(Parser)]
#[command(about, long_about = None)]
struct Arguments {
    /// Documents to write
    #[arg(long, default_value_t = 100_000)]
    docs: u64,
    /// Mean size of a text in bytes of UTF-8; sizes are spread evenly from half to one and a half
    /// of it
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..=1 << 24))]
    bytes: u32,
    /// Share of documents that are near-duplicates of an earlier one
    #[arg(long, default_value_t = 0.2, value_parser = share)]
    near: f64,
    /// Share of documents that are identical copies of an earlier text under another URL
    #[arg(long, default_value_t = 0.0, value_parser = share)]
    exact: f64,
    /// Share of a near-duplicate's words that differ: half replaced, a quarter deleted, a quarter
    /// inserted; at least one
    #[arg(long, default_value_t = 0.02, value_parser = share)]
    edit: f64,
    /// Share of texts in English; the others are Chinese
    #[arg(long, default_value_t = 0.1, value_parser = share)]
    english: f64,
    /// Most documents of one original, itself included
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(2..))]
    group_max: u32,
    /// Hosts to spread the documents over, unevenly: h0.example, h1.example ...
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    hosts: u32,
    /// Seed of everything
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Files to spread the documents over, in order
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=99_999))]
    files: u32,
    /// Where to write: NAME.jsonl or NAME.jsonl.gz (numbered where --files is above 1), or else a
    /// directory
    #[arg(long)]
    out: PathBuf,
    /// Compress the files of a directory
    #[arg(long)]
    gzip: bool,
    /// Where to write the truth, one line a document
    #[arg(long)]
    truth: Option<PathBuf>,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to 1".into()),
    }
}

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Original,
    Near,
    Exact,
}

/// Chooses which original a copy copies. Two in five copies are the first of their original; the
/// others follow an earlier copy, so that large groups grow faster (Simon's process: sizes fall
/// like a power near 2.7).
struct Groups {
    size_max: u32,
    /// Originals without a copy; when full, a new one replaces a random one.
    single: Vec<u64>,
    /// Groups that may grow: label and size. When full, a new one replaces the oldest.
    growing: Vec<(u64, u32)>,
    growing_next: usize,
    /// The groups, as indices, of the most recent copies.
    recent: Vec<u32>,
    recent_next: usize,
}

/// Entries of each list of `Groups`.
const REMEMBERED_MAX: usize = 1 << 16;

impl Groups {
    fn new(size_max: u32) -> Groups {
        Groups {
            size_max,
            single: vec![],
            growing: vec![],
            growing_next: 0,
            recent: vec![],
            recent_next: 0,
        }
    }

    fn add_original(&mut self, label: u64, random: &mut Random) {
        if self.single.len() < REMEMBERED_MAX {
            self.single.push(label);
        } else {
            self.single[random.below(REMEMBERED_MAX)] = label;
        }
    }

    /// The label of the next copy; `None` if nothing may be copied.
    fn add_copy(&mut self, random: &mut Random) -> Option<u64> {
        let tries = if self.single.is_empty() { 8 } else { u32::from(random.chance(0.6)) };
        for _ in 0..tries.min(self.recent.len() as u32) {
            let group = self.recent[random.below(self.recent.len())];
            let (label, size) = &mut self.growing[group as usize];
            if *size < self.size_max {
                *size += 1;
                let label = *label;
                self.remember(group);
                return Some(label);
            }
        }
        if self.single.is_empty() {
            return None;
        }
        let label = self.single.swap_remove(random.below(self.single.len()));
        let group = self.growing_next;
        self.growing_next = (group + 1) % REMEMBERED_MAX;
        replace_or_push(&mut self.growing, group, (label, 2));
        self.remember(group as u32);
        Some(label)
    }

    fn remember(&mut self, group: u32) {
        replace_or_push(&mut self.recent, self.recent_next, group);
        self.recent_next = (self.recent_next + 1) % REMEMBERED_MAX;
    }
}

fn replace_or_push<T>(ring: &mut Vec<T>, index: usize, item: T) {
    match ring.get_mut(index) {
        Some(place) => *place = item,
        None => ring.push(item),
    }
}

/// Documents written, by kind, and bytes before compression.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    original: u64,
    near: u64,
    exact: u64,
    bytes: u64,
}

/// Writes `arguments.docs` lines to the writers that `open` makes for each file number, and the
/// truth to `truth`.
fn generate<W: Write>(
    arguments: &Arguments,
    mut open: impl FnMut(u32) -> io::Result<W>,
    mut close: impl FnMut(W) -> io::Result<()>,
    truth: &mut impl Write,
) -> io::Result<Counts> {
    let composer = Composer::new(arguments.bytes, arguments.english, arguments.edit);
    let mut groups = Groups::new(arguments.group_max);
    let mut choices = Random::of(arguments.seed, u64::MAX);
    let (mut text, mut edited) = (Text::default(), Vec::new());
    let (mut line, mut url) = (Vec::new(), Vec::new());
    let mut counts = Counts::default();
    for file in 0..arguments.files {
        let mut writer = open(file)?;
        let first = |file: u32| {
            (u128::from(arguments.docs) * u128::from(file) / u128::from(arguments.files)) as u64
        };
        for doc in first(file)..first(file + 1) {
            let (kind, label) = choose(arguments, &mut groups, &mut choices, doc);
            composer.compose(&mut Random::of(arguments.seed, 2 * label), &mut text);
            // The document's own stream: odd, so that it is never an original's.
            let mut own = Random::of(arguments.seed, 2 * doc + 1);
            match kind {
                Kind::Original => counts.original += 1,
                Kind::Exact => counts.exact += 1,
                Kind::Near => {
                    counts.near += 1;
                    composer.edit(&mut own, &mut text, &mut edited);
                }
            }
            let host_bound = own.below(arguments.hosts as usize) + 1;
            let host = own.below(host_bound);
            let date = format!("{}Z", NEW_YEAR + own.below(YEAR_SECONDS).seconds());
            url.clear();
            write!(url, "https://h{host}.example/{}/{doc}.html", &date[..7])?;
            line.clear();
            line.extend_from_slice(b"{\"url\":\"");
            line.extend_from_slice(&url);
            line.extend_from_slice(b"\",\"date\":\"");
            line.extend_from_slice(date.as_bytes());
            line.extend_from_slice(b"\",\"text\":\"");
            composer.render(&text, &mut line);
            line.extend_from_slice(b"\"}\n");
            writer.write_all(&line)?;
            counts.bytes += line.len() as u64;
            truth.write_all(b"{\"url\":\"")?;
            truth.write_all(&url)?;
            writeln!(truth, "\",\"label\":\"{label}\"}}")?;
        }
        close(writer)?;
    }
    Ok(counts)
}

fn choose(
    arguments: &Arguments,
    groups: &mut Groups,
    random: &mut Random,
    doc: u64,
) -> (Kind, u64) {
    let share = random.share();
    let kind = match share {
        s if s < arguments.near => Kind::Near,
        s if s < arguments.near + arguments.exact => Kind::Exact,
        _ => Kind::Original,
    };
    if kind != Kind::Original
        && let Some(label) = groups.add_copy(random)
    {
        return (kind, label);
    }
    groups.add_original(doc, random);
    (Kind::Original, doc)
}

/// An output file, compressed if its name says so.
enum Output {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Output {
    fn create(path: &Path) -> io::Result<Output> {
        let file =
            BufWriter::with_capacity(1 << 20, File::create(path).map_err(|error| at(path, error))?);
        // The encoder's header carries no name and no time, so equal input gives equal bytes.
        Ok(match path.extension() {
            Some(extension) if extension == "gz" => {
                Output::Gzip(Box::new(GzEncoder::new(file, Compression::fast())))
            }
            _ => Output::Plain(file),
        })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Output::Plain(mut file) => file.flush(),
            Output::Gzip(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(file) => file.write(bytes),
            Output::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(file) => file.flush(),
            Output::Gzip(encoder) => encoder.flush(),
        }
    }
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The path of file number `file`.
fn file_path(arguments: &Arguments, file: u32) -> PathBuf {
    let name = arguments.out.to_string_lossy();
    for ending in [".jsonl", ".jsonl.gz"] {
        match name.strip_suffix(ending) {
            Some(_) if arguments.files == 1 => return arguments.out.clone(),
            Some(stem) => return PathBuf::from(format!("{stem}-{file:05}{ending}")),
            None => {}
        }
    }
    arguments.out.join(format!("part-{file:05}.jsonl{}", if arguments.gzip { ".gz" } else { "" }))
}

fn run(arguments: &Arguments) -> io::Result<Counts> {
    if arguments.near + arguments.exact > 1.0 {
        return Err(io::Error::other("--near and --exact are together above 1"));
    }
    if let Some(folder) = file_path(arguments, 0).parent() {
        fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
    }
    let open = |file| Output::create(&file_path(arguments, file));
    match &arguments.truth {
        None => generate(arguments, open, Output::finish, &mut io::sink()),
        Some(path) => {
            let mut truth = Output::create(path)?;
            let counts = generate(arguments, open, Output::finish, &mut truth)?;
            truth.finish()?;
            Ok(counts)
        }
    }
}

fn main() -> ExitCode {
    // clap itself exits with 2 if the arguments cannot be read.
    match run(&Arguments::parse()) {
        Ok(counts) => {
            eprintln!("{counts:?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("synth: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn small(extra: &[&str]) -> (Vec<u8>, Vec<u8>, Counts) {
        let fixed = ["synth", "--docs", "3000", "--bytes", "200", "--out", "unused"];
        let arguments = Arguments::parse_from(fixed.iter().chain(extra));
        let (mut crawl, mut truth) = (Vec::new(), Vec::new());
        let close = |part: Vec<u8>| {
            crawl.extend(part);
            Ok(())
        };
        let counts = generate(&arguments, |_| Ok(Vec::new()), close, &mut truth)
            .expect("memory takes everything");
        (crawl, truth, counts)
    }

    /// A crawl is a function of its arguments, and the number of files only decides where it is
    /// cut.
    #[test]
    fn the_same_arguments_write_the_same_bytes() {
        let one = small(&["--near", "0.3", "--exact", "0.1"]);
        assert_eq!(one, small(&["--near", "0.3", "--exact", "0.1", "--files", "7"]));
        assert_ne!(one.0, small(&["--near", "0.3", "--exact", "0.1", "--seed", "2"]).0);
    }

    /// There are as many copies as asked for, and no group exceeds its bound, even if most pages
    /// are copies.
    #[test]
    fn shares_are_kept_and_groups_are_bounded() {
        for (near, size_max) in [("0.2", 1000), ("0.8", 9)] {
            let (_, truth, counts) = small(&["--near", near, "--group-max", &size_max.to_string()]);
            let expected: f64 = near.parse::<f64>().expect("a share") * 3000.0;
            assert!((counts.near as f64 - expected).abs() < 150.0, "{counts:?}");
            let mut sizes = HashMap::new();
            for line in String::from_utf8(truth).expect("URLs are text").lines() {
                *sizes.entry(line.rsplit(':').next().map(String::from)).or_insert(0) += 1;
            }
            assert_eq!(sizes.len() as u64, counts.original);
            assert!(sizes.values().all(|size| *size <= size_max));
        }
    }
}
