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

/// What a file counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Words of texts.
    Words,
    /// Lines of the pages of a host.
    Lines,
}

impl Counted {
    fn of(arguments: &cli::Lexicon) -> Counted {
        match arguments.kind {
            cli::LexiconKind::Furniture => Counted::Lines,
            _ => Counted::Words,
        }
    }

    /// The name of what is counted.
    fn name(self) -> &'static str {
        match self {
            Counted::Words => "words",
            Counted::Lines => "lines",
        }
    }

    /// The name of the places in which it is counted.
    fn places(self) -> &'static str {
        match self {
            Counted::Words => "texts",
            Counted::Lines => "pages",
        }
    }

    /// The name of those places that are distinct.
    fn distinct(self) -> &'static str {
        match self {
            Counted::Words => "distinct texts",
            Counted::Lines => "pages of different articles",
        }
    }
}

/// The content of a file: its lines after the head, and how much was counted.
struct Content {
    /// The kind of the file, for its first line.
    what: &'static str,
    counted: Counted,
    lines: Vec<u8>,
    /// How many words, or how many lines of hosts, it has.
    found: usize,
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
    let Content { what, counted, found, docs_min, .. } = content;
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
            "of {} {}, {sample}: {found} {} of {docs_min} {} or more",
            content.texts,
            counted.distinct(),
            counted.name(),
            counted.places()
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
    let (texts, one_in, counted) = (counter.texts(), counter.one_in(), Counted::Words);
    Ok(Content { what, counted, lines, found: words.len(), texts, one_in, docs_min, records })
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
        counted: Counted::Lines,
        lines: lines.into_bytes(),
        found: found.len(),
        texts: counter.contexts(),
        one_in: counter.one_in(),
        docs_min,
        records,
    })
}

/// The beginning of each lexicon.
const MARK: &str = "# pagefold lexicon";

/// Fails if no lexicon of `job` can be made as `arguments` say.
fn check(arguments: &cli::Lexicon, job: &Job) -> Result<()> {
    if arguments.out.is_dir() {
        let line = format!("--out {}: is a folder; name a file", arguments.out.display());
        return Err(Error::new(Kind::Usage, line));
    }
    let is_of_lines = Counted::of(arguments) == Counted::Lines;
    if is_of_lines && docs_min(arguments, 0) < FURNITURE_PAGES_LEAST {
        let line = format!(
            "--docs-min 1: each line of an article is on one page; with --kind furniture the least \
             is {FURNITURE_PAGES_LEAST}"
        );
        return Err(Error::new(Kind::Usage, line));
    }
    if is_of_lines && job.read.key.is_own() {
        let line = "--kind furniture: rows by [read] key have no host, so their lines are those of no \
                    site; with URLs: --set read.key=url";
        return Err(Error::new(Kind::Usage, line));
    }
    ours::check_named("--out", &arguments.out, MARK, job)
}

/// Why there is no lexicon, if nothing was found.
fn nothing_found(arguments: &cli::Lexicon, content: &Content) -> Error {
    let Content { counted, texts, docs_min, .. } = content;
    let line = match (texts, counted) {
        (0, _) => {
            format!(
                "{}: the inputs have no text; nothing was written",
                arguments.shared.job.display()
            )
        }
        (_, Counted::Lines) => format!(
            "no line stands on at least {docs_min} pages of one host and on half of them all; \
             {texts} {} were read, where pages with the same three longest lines count \
             once: name more inputs, or lower --docs-min, but not below \
             {FURNITURE_PAGES_LEAST}; nothing was written",
            counted.distinct()
        ),
        (_, Counted::Words) => format!(
            "no word is in {docs_min} of {texts} texts or more: lower --docs-min; nothing was written"
        ),
    };
    Error::new(Kind::Data, line)
}

/// `pagefold lexicon`.
pub fn command(arguments: &cli::Lexicon) -> Result<()> {
    let job = jobs::read(&arguments.shared.job, &arguments.shared.sets)?;
    let out =
        std::path::absolute(&arguments.out).map_err(|e| Error::io("write", &arguments.out, e))?;
    check(arguments, &job)?;
    let inputs = Inputs::of(&job)?;
    // If the file cannot be written, this fails before everything is read.
    durable::create_folder(out.parent().unwrap_or(Path::new("/"))).map_err(Error::as_output)?;
    let threads = arguments.threads.map_or_else(processors, usize::from);
    let progress: Arc<Progress> = Arc::default();
    let bar = Bar::of_reading("lexicon", inputs.bytes(), progress.clone(), false);
    let content = match Counted::of(arguments) {
        Counted::Lines => lines(arguments, &job, &inputs, threads, &progress),
        Counted::Words => words(arguments, &job, &inputs, threads, &progress),
    };
    drop(bar);
    let content = content?;
    if content.found == 0 {
        return Err(nothing_found(arguments, &content));
    }
    let mut bytes: Vec<u8> =
        head(&job, &content)?.iter().flat_map(|line| format!("# {line}\n").into_bytes()).collect();
    bytes.extend(&content.lines);
    durable::write(&out, &bytes).map_err(Error::as_output)?;
    let Content { counted, found, texts, docs_min, .. } = content;
    if arguments.shared.json {
        return print_json(&json!({
            "out": arguments.out,
            "kind": arguments.kind.to_possible_value().map(|kind| kind.get_name().to_owned()),
            "version": VERSION,
            "digest": digest::of_bytes(&bytes),
            "bytes": bytes.len(),
            "records": content.records,
            "texts": texts,
            "one_in": u64::try_from(content.one_in).unwrap_or(u64::MAX),
            "docs_min": docs_min,
            "words": found,
        }));
    }
    show(&format!(
        "{}: {} {} of {docs_min} {} or more, out of {} {} of {} records\n",
        arguments.out.display(),
        grouped(found as u64),
        counted.name(),
        counted.places(),
        grouped(texts),
        counted.distinct(),
        grouped(content.records.read)
    ))
}
