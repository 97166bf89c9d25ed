//! `pagefold lexicon`: makes a frozen file of words or lines from a job's inputs.
//!
//! The file holds document frequencies, for I-Match or as weights of words, stop words, or the
//! lines that hosts repeat. It is written under another name and then renamed. Its header has the
//! version and the options, but no time, so the same texts give the same bytes.

use crate::terminal::bar::Bar;
use crate::terminal::print::{grouped, print_json, show};
use crate::{cli, jobs};
use clap::ValueEnum as _;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use workers::error::{Error, Kind, Result};
use workers::export::ours;
use workers::extract;
use workers::job::Job;
use workers::lexicon::{self, Inputs, furniture};
use workers::progress::Progress;
use workers::store::threads::processors;
use workers::store::{digest, durable};
use workers::text::signatures::lexicon::{Form, Limits, VERSION, write};
use workers::text::{features, normalize};
use workers::visit::counts::Counts;

/// A word in more than one of this many texts is a stop word, unless `--docs-min` is set. I-Match
/// has the same limit.
const STOP_WORD_ONE_IN: u64 = 5;

/// The fewest pages of a host on which a line of furniture occurs, unless `--docs-min` is set.
const FURNITURE_PAGES_MIN: u64 = 8;

/// The least `--docs-min` of lines. Each line of an article is on one page of its host.
const FURNITURE_PAGES_LEAST: u64 = 2;

/// The least number of texts with a word, of `texts` in all, for the word to be in the file.
fn docs_min(arguments: &cli::Lexicon, texts: u64) -> u64 {
    let default = match arguments.kind {
        cli::LexiconKind::IMatch => 3,
        cli::LexiconKind::Idf => 2,
        cli::LexiconKind::StopWords => texts / STOP_WORD_ONE_IN + 1,
        cli::LexiconKind::Furniture => FURNITURE_PAGES_MIN,
    };
    arguments.docs_min.map_or(default, u64::from)
}

/// The content of a file: its lines after the head, and how much was counted.
struct Content {
    /// The kind of the file, for its first line.
    what: &'static str,
    /// The words of its head: the things that are counted, the places in which they are counted,
    /// and the distinct ones of these.
    of_what: [&'static str; 3],
    lines: Vec<u8>,
    words: usize,
    texts: u64,
    one_in: u128,
    docs_min: u64,
    records: Counts,
}

/// The header lines: what made the file.
fn head(job: &Job, content: &Content) -> Result<Vec<String>> {
    let extract::Options { main_text, html_bytes_max, site_lines, .. } = &job.extract;
    let extract = json!({
        "main_text": main_text, "html_bytes_max": html_bytes_max, "site_lines": site_lines
    });
    let options = serde_json::to_string(&json!({ "extract": extract, "normalize": job.normalize }))
        .map_err(|e| Error::internal("cannot write JSON").caused_by(e))?;
    let sample = match content.one_in {
        1 => "all there were".to_owned(),
        n => format!("one in {n} by digest"),
    };
    let Content { what, of_what: [words, texts, distinct], words: n, docs_min, .. } = content;
    Ok(vec![
        format!("pagefold lexicon {VERSION}: {what}"),
        format!(
            "made by pagefold {}, extract {}, normalize {}, words {}, {options}",
            env!("CARGO_PKG_VERSION"),
            extract::VERSION,
            normalize::VERSION,
            features::VERSION
        ),
        format!(
            "of {} {distinct}, {sample}: {n} {words} of {docs_min} {texts} or more",
            content.texts
        ),
    ])
}

/// Counts the words of the inputs.
fn words(
    arguments: &cli::Lexicon,
    job: &Job,
    inputs: &Inputs,
    threads: usize,
    progress: &Progress,
) -> Result<Content> {
    let limits = Limits::default();
    let limits = Limits {
        texts_max: arguments.sample.map_or(limits.texts_max, |sample| sample as usize),
        ..limits
    };
    let (counter, records) = lexicon::count(job, inputs, threads, limits, progress)?;
    let docs_min = docs_min(arguments, counter.texts());
    let words = counter.words(docs_min);
    let (form, what) = match arguments.kind {
        cli::LexiconKind::StopWords => (Form::Words, "words of many texts"),
        _ => (Form::Frequencies, "in how many distinct texts each word is"),
    };
    let mut lines = Vec::new();
    write(form, &[], counter.texts(), &words, &mut lines)
        .map_err(|e| Error::io("write", &arguments.out, e))?;
    let (texts, one_in, of_what) =
        (counter.texts(), counter.one_in(), ["words", "texts", "distinct texts"]);
    Ok(Content { what, of_what, lines, words: words.len(), texts, one_in, docs_min, records })
}

/// Counts the lines that hosts repeat.
fn lines(
    arguments: &cli::Lexicon,
    job: &Job,
    inputs: &Inputs,
    threads: usize,
    progress: &Progress,
) -> Result<Content> {
    let limits = furniture::Limits::default();
    let contexts_max = arguments.sample.map_or(limits.contexts_max, |sample| sample as usize);
    let (limits, docs_min) = (furniture::Limits { contexts_max, ..limits }, docs_min(arguments, 0));
    let (counter, records) =
        lexicon::furniture(job, inputs, threads, (limits, docs_min), progress)?;
    let found = counter.found();
    let lines: String = found
        .iter()
        .map(|line| format!("{}\t{}\t{}\n", line.host, line.pages, line.line))
        .collect();
    Ok(Content {
        what: "lines that stand on most pages of their host",
        of_what: ["lines", "pages", "pages of different articles"],
        lines: lines.into_bytes(),
        words: found.len(),
        texts: counter.contexts(),
        one_in: counter.one_in(),
        docs_min,
        records,
    })
}

/// The beginning of each lexicon.
const MARK: &str = "# pagefold lexicon";

/// `pagefold lexicon`.
pub fn command(arguments: &cli::Lexicon) -> Result<()> {
    let job = jobs::read(&arguments.of.job, &arguments.of.sets)?;
    let out =
        std::path::absolute(&arguments.out).map_err(|e| Error::io("write", &arguments.out, e))?;
    if out.is_dir() {
        let line = format!("--out {}: is a folder; name a file", arguments.out.display());
        return Err(Error::new(Kind::Usage, line));
    }
    let is_furniture = matches!(arguments.kind, cli::LexiconKind::Furniture);
    if is_furniture && docs_min(arguments, 0) < FURNITURE_PAGES_LEAST {
        let line = format!(
            "--docs-min 1: each line of an article is on one page; with --kind furniture the least \
             is {FURNITURE_PAGES_LEAST}"
        );
        return Err(Error::new(Kind::Usage, line));
    }
    if is_furniture && job.read.key.is_own() {
        let line = "--kind furniture: rows by [read] key have no host, so their lines are those of no \
                    site; with URLs: --set read.key=url";
        return Err(Error::new(Kind::Usage, line));
    }
    ours::check_named("--out", &arguments.out, MARK, &job)?;
    let inputs = Inputs::of(&job)?;
    // If the file cannot be written, this fails before everything is read.
    durable::create_folder(out.parent().unwrap_or(Path::new("/"))).map_err(Error::as_output)?;
    let threads = arguments.threads.map_or_else(processors, usize::from);
    let progress: Arc<Progress> = Arc::default();
    let bar = Bar::of_reading("lexicon", inputs.bytes(), progress.clone(), false);
    let counted = match is_furniture {
        true => lines(arguments, &job, &inputs, threads, &progress),
        false => words(arguments, &job, &inputs, threads, &progress),
    };
    drop(bar);
    let content = counted?;
    let Content { of_what: [words, texts, distinct], words: n, texts: all, docs_min, .. } = content;
    if n == 0 {
        let line = match all {
            0 => format!(
                "{}: the inputs have no text; nothing was written",
                arguments.of.job.display()
            ),
            all if is_furniture => format!(
                "no line stands on at least {docs_min} pages of one host and on half of them all; \
                 {all} {distinct} were read, where pages with the same three longest lines count \
                 once: name more inputs, or lower --docs-min, but not below \
                 {FURNITURE_PAGES_LEAST}; nothing was written"
            ),
            all => format!(
                "no {} is in {docs_min} of {all} {texts} or more: lower --docs-min; nothing was written",
                &words[..words.len() - 1]
            ),
        };
        return Err(Error::new(Kind::Data, line));
    }
    let mut bytes: Vec<u8> =
        head(&job, &content)?.iter().flat_map(|line| format!("# {line}\n").into_bytes()).collect();
    bytes.extend(&content.lines);
    durable::write(&out, &bytes).map_err(Error::as_output)?;
    if arguments.of.json {
        return print_json(&json!({
            "out": arguments.out,
            "kind": arguments.kind.to_possible_value().map(|kind| kind.get_name().to_owned()),
            "version": VERSION,
            "digest": digest::of_bytes(&bytes),
            "bytes": bytes.len(),
            "records": content.records,
            "texts": all,
            "one_in": u64::try_from(content.one_in).unwrap_or(u64::MAX),
            "docs_min": docs_min,
            "words": n,
        }));
    }
    show(&format!(
        "{}: {} {words} of {docs_min} {texts} or more, out of {} {distinct} of {} records\n",
        arguments.out.display(),
        grouped(n as u64),
        grouped(all),
        grouped(content.records.read)
    ))
}
