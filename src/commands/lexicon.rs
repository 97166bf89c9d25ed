//! `pagefold lexicon`: makes a frozen file of words from a job's inputs.
//!
//! The file holds document frequencies, for I-Match or as weights of words, or stop words. It is
//! written under another name and then renamed. Its header says what made it and contains no time,
//! so the same texts give the same bytes.

use crate::terminal::bar::{Bar, ObservedProcess};
use crate::terminal::print::{grouped, print_json, show};
use crate::{cli, jobs};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use workers::error::{Error, Kind, Result};
use workers::extract;
use workers::job::Job;
use workers::lexicon::{self, Inputs};
use workers::store::{digest, durable};
use workers::text::signatures::lexicon::{Counter, Form, Limits, VERSION, write};
use workers::text::{features, normalize};

/// A word in more than one of this many texts is a stop word, unless `--docs-min` is set. I-Match
/// has the same limit.
const STOP_WORD_ONE_IN: u64 = 5;

/// The least number of texts with a word, of `texts` in all, for the word to be in the file.
fn docs_min(arguments: &cli::Lexicon, texts: u64) -> u64 {
    let default = match arguments.kind {
        cli::LexiconKind::IMatch => 3,
        cli::LexiconKind::Idf => 2,
        cli::LexiconKind::StopWords => texts / STOP_WORD_ONE_IN + 1,
    };
    arguments.docs_min.map_or(default, u64::from)
}

/// The header lines: what made the file.
fn head(arguments: &cli::Lexicon, job: &Job, counter: &Counter, docs_min: u64, words: usize) -> Result<Vec<String>> {
    let what = match arguments.kind {
        cli::LexiconKind::StopWords => "words of many texts",
        _ => "in how many distinct texts each word is",
    };
    let options = serde_json::to_string(&json!({ "extract": job.extract, "normalize": job.normalize }))
        .map_err(|e| Error::internal("cannot write JSON").caused_by(e))?;
    let sample = match counter.one_in() {
        1 => "all there were".to_owned(),
        n => format!("one in {n} by digest"),
    };
    Ok(vec![
        format!("pagefold lexicon {VERSION}: {what}"),
        format!(
            "made by pagefold {}, extract {}, normalize {}, words {}, {options}",
            env!("CARGO_PKG_VERSION"),
            extract::VERSION,
            normalize::VERSION,
            features::VERSION
        ),
        format!("of {} distinct texts, {sample}: {words} words of {docs_min} texts or more", counter.texts()),
    ])
}

/// `pagefold lexicon`.
pub fn command(arguments: &cli::Lexicon) -> Result<()> {
    let job = jobs::read(&arguments.of.job, &arguments.of.sets)?;
    let out = std::path::absolute(&arguments.out).map_err(|e| Error::io("write", &arguments.out, e))?;
    if out.is_dir() {
        let line = format!("--out {}: is a folder; name a file", arguments.out.display());
        return Err(Error::new(Kind::Usage, line));
    }
    let inputs = Inputs::of(&job)?;
    let output = |e: Error| e.with_kind(Kind::Output);
    // Find out that the file cannot be written before everything is read.
    durable::create_folder(out.parent().unwrap_or(Path::new("/"))).map_err(output)?;
    let limits = Limits::default();
    let limits = Limits { texts_max: arguments.sample.map_or(limits.texts_max, |sample| sample as usize), ..limits };
    let threads = arguments.threads.map_or_else(|| thread::available_parallelism().map_or(1, Into::into), usize::from);
    let observed = Arc::new(ObservedProcess::new("this process"));
    let bar = Bar::start(inputs.bytes(), false, 0);
    bar.follow(vec![observed.clone()]);
    let counted = lexicon::count(&job, &inputs, threads, limits, &observed.progress);
    bar.finish();
    let (counter, counts) = counted?;
    let docs_min = docs_min(arguments, counter.texts());
    let words = counter.words(docs_min);
    if words.is_empty() {
        let line = match counter.texts() {
            0 => format!("{}: the inputs have no text; nothing was written", arguments.of.job.display()),
            n => format!("no word is in {docs_min} of {n} texts or more: lower --docs-min; nothing was written"),
        };
        return Err(Error::new(Kind::NoInput, line));
    }
    let form = if arguments.kind == cli::LexiconKind::StopWords { Form::Words } else { Form::Frequencies };
    let head = head(arguments, &job, &counter, docs_min, words.len())?;
    let mut bytes = Vec::new();
    write(form, &head, counter.texts(), &words, &mut bytes)
        .map_err(|e| Error::io("write", &out, e).with_kind(Kind::Output))?;
    durable::write(&out, &bytes).map_err(output)?;
    if arguments.of.json {
        return print_json(&json!({
            "out": arguments.out,
            "kind": arguments.kind.name(),
            "version": VERSION,
            "digest": digest::of_bytes(&bytes),
            "bytes": bytes.len(),
            "records": counts,
            "texts": counter.texts(),
            "one_in": u64::try_from(counter.one_in()).unwrap_or(u64::MAX),
            "docs_min": docs_min,
            "words": words.len(),
        }));
    }
    show(&format!(
        "{}: {} words of {docs_min} texts or more, out of {} distinct texts of {} records\n",
        arguments.out.display(),
        grouped(words.len() as u64),
        grouped(counter.texts()),
        grouped(counts.read)
    ))
}
