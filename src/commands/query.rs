//! `pagefold query`: asks what a text would fold with.

use crate::opened::open;
use crate::terminal::paint::plain;
use crate::terminal::print::{Lines, counted, has_reader, print_json, show};
use crate::{cli, file_kind, jobs};
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use workers::ask::answer::{Answer, Because, Match};
use workers::ask::extracted::Extractor;
use workers::ask::index::Index;
use workers::ask::page;
use workers::error::{Error, Kind, Result};
use workers::job::Job;
use workers::read::Format;
use workers::read::codec::{Codec, without_ending};
use workers::read::fields::Wanted;
use workers::read::json;
use workers::read::jsonl::unmarked;
use workers::read::record::{Body, Item, Mirror, Record};
use workers::read::shell;

/// `pagefold query`.
pub fn command(arguments: &cli::Query) -> Result<()> {
    if arguments.text && arguments.url.is_none() {
        return main_texts(arguments);
    }
    let (job, store, head) = open(&arguments.shared)?;
    let mut index = Index::open(&job, &store, &head)?;
    if arguments.all {
        index = index.with_refused();
    }
    if let Some(url) = &arguments.url {
        return stored(arguments, &index, url);
    }
    let mut input = Input::open(cli::named_file(arguments.file.as_ref()))?;
    if input.has_rows(arguments)? {
        return rows(arguments, &job, input, |record| {
            let answer = index.ask_record(record)?;
            if arguments.shared.json { print_json(&answer) } else { show(&short(&answer)) }
        });
    }
    let body = input.body(&job, arguments)?;
    print_answer(arguments, &index.ask(body)?)
}

/// Prints the main text of each record of the file.
fn main_texts(arguments: &cli::Query) -> Result<()> {
    let job = jobs::read(&arguments.shared.job, &arguments.shared.sets)?;
    let mut extractor = Extractor::new(&job)?;
    let mut input = Input::open(cli::named_file(arguments.file.as_ref()))?;
    if input.has_rows(arguments)? {
        return rows(arguments, &job, input, |record| print_json(&extractor.text(record)));
    }
    let body = input.body(&job, arguments)?;
    let found = extractor.text(Record::nameless(body));
    if arguments.shared.json {
        return print_json(&found);
    }
    if !found.notes.is_empty() {
        tracing::warn!(notes = found.notes.join(", "), "what is odd about this text");
    }
    show_text(&found.text.unwrap_or_default())
}

/// Answers for the text of a stored page.
fn stored(arguments: &cli::Query, index: &Index, url: &str) -> Result<()> {
    let found = page::find(index, url)?;
    let answer =
        index.ask_page(found.doc).ok_or_else(|| Error::new(Kind::NoInput, found.gone()))?;
    if !arguments.text {
        return print_answer(arguments, &answer);
    }
    let Some(text) = index.kept_text(found.doc)? else {
        let why = "its text is not kept: it is not compared with others, or is longer than [contents] \
                   text keeps";
        return Err(Error::new(Kind::NoInput, format!("{url}: {why}")));
    };
    match arguments.shared.json {
        true => print_json(&json!({ "url": answer.url, "text": text, "notes": answer.notes })),
        false => show_text(&text),
    }
}

/// Prints a text line by line. No control character of it reaches the terminal.
fn show_text(text: &str) -> Result<()> {
    text.lines().try_for_each(|line| show(&format!("{}\n", plain(line))))
}

/// The bytes that are asked about.
struct Input {
    name: String,
    bytes: Box<dyn BufRead>,
}

impl Input {
    fn open(path: Option<&Path>) -> Result<Input> {
        match path {
            Some(path) => {
                let file = std::fs::File::open(path).map_err(|e| Error::input("read", path, e))?;
                Ok(Input {
                    name: path.display().to_string(),
                    bytes: Box::new(BufReader::new(file)),
                })
            }
            None => Ok(Input { name: "stdin".into(), bytes: Box::new(std::io::stdin().lock()) }),
        }
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::input("read", Path::new(&self.name), error)
    }

    /// Whether it has JSON lines: by its name, or if `--json` is set and it begins with an object
    /// or is empty. A byte order mark before them is consumed.
    ///
    /// # Errors
    ///
    /// `Data` for an array, which is no line.
    fn has_rows(&mut self, arguments: &cli::Query) -> Result<bool> {
        let named = is_of_rows(&self.name);
        let head = match self.bytes.fill_buf() {
            Ok(head) => head,
            Err(error) => return Err(self.failed(error)),
        };
        let text = unmarked(head).trim_ascii_start();
        let may_be_rows = text.is_empty() || file_kind::is_json(text);
        let has_rows = file_kind::crawl(unmarked(head)).is_none()
            && (named || arguments.shared.json && may_be_rows);
        if has_rows && text.starts_with(b"[") {
            let command = piped("jq -c '.[]'", arguments, true);
            let line = format!("{}: a JSON array; {command} asks about its rows", self.name);
            return Err(Error::new(Kind::Data, line));
        }
        if has_rows {
            let mark = head.len() - unmarked(head).len();
            self.bytes.consume(mark);
        }
        Ok(has_rows)
    }

    /// The command that decompresses `bytes` and asks about the content; `None` if they are not
    /// compressed.
    fn decoded(&self, bytes: &[u8], arguments: &cli::Query) -> Option<String> {
        let decoder = shell::decoder(Codec::of(bytes))?;
        if let Some(Format::Warc | Format::Arc) = Format::by_name(Path::new(&self.name)) {
            return None;
        }
        // For stdin there is no name that could say that there are rows.
        let has_rows = arguments.shared.json || is_of_rows(without_ending(&self.name));
        let command = piped(decoder, arguments, has_rows);
        Some(format!("{command} asks about what is in it"))
    }

    /// One text or HTML page.
    fn body(mut self, job: &Job, arguments: &cli::Query) -> Result<Body> {
        let max = job.read.limits.record_bytes_max;
        let mut bytes = Vec::new();
        let read = (&mut self.bytes).take(max as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(error))?;
        if bytes.len() > max {
            let line =
                format!("{}: more than {max} bytes, [read.limits] record_bytes_max", self.name);
            return Err(Error::new(Kind::Data, line));
        }
        if let Some(what) = file_kind::crawl(&bytes) {
            let wanted =
                "query takes a text, an HTML page or JSON lines; `pagefold run` reads crawls";
            let wanted = self.decoded(&bytes, arguments).unwrap_or_else(|| wanted.to_owned());
            return Err(Error::new(Kind::Data, format!("{}: {what}; {wanted}", self.name)));
        }
        let name = self.name.to_ascii_lowercase();
        if [".html", ".htm", ".xhtml"].iter().any(|ending| name.ends_with(ending))
            || is_html(&bytes)
        {
            return Ok(Body::Html { bytes, charset: None });
        }
        Ok(match String::from_utf8(bytes) {
            Ok(text) => Body::Text(text.trim_start_matches('\u{feff}').to_owned()),
            Err(error) => Body::Plain { bytes: error.into_bytes(), charset: None },
        })
    }

    /// Reads the line with this number into `line`; false at the end. A longer line is an error.
    fn read_line(&mut self, line: &mut Vec<u8>, number: u64, bytes_max: usize) -> Result<bool> {
        line.clear();
        // One byte more than the longest line and its end.
        let read = (&mut self.bytes).take(bytes_max as u64 + 2).read_until(b'\n', line);
        if read.map_err(|error| self.failed(error))? == 0 {
            return Ok(false);
        }
        if line.strip_suffix(b"\n").unwrap_or(line).len() > bytes_max {
            let what = format!("more than {bytes_max} bytes, [read.limits] line_bytes_max");
            return Err(Error::new(Kind::Data, format!("{}:{number}: {what}", self.name)));
        }
        Ok(true)
    }
}

/// The command that asks about what `filter` makes of the file.
fn piped(filter: &str, arguments: &cli::Query, has_rows: bool) -> String {
    let file = cli::named_file(arguments.file.as_ref()).map_or("FILE".to_owned(), shell::word);
    let json = if has_rows { " --json" } else { "" };
    format!("`{filter} < {file} | pagefold query JOB{json}`")
}

/// Whether a file of this name has JSON lines.
fn is_of_rows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".jsonl", ".ndjson", ".json"].iter().any(|ending| name.ends_with(ending))
}

/// Whether bytes begin like an HTML page.
fn is_html(bytes: &[u8]) -> bool {
    let head = bytes.trim_ascii_start();
    let head = head[..head.len().min(64)].to_ascii_lowercase();
    [&b"<!doctype html"[..], b"<html", b"<head", b"<body"].iter().any(|tag| head.starts_with(tag))
}

/// Calls `answer` for the records of JSON lines one by one, in their order.
fn rows(
    arguments: &cli::Query,
    job: &Job,
    mut input: Input,
    mut answer: impl FnMut(Record) -> Result<()>,
) -> Result<()> {
    let (mut line, mut number, mut wrong) = (Vec::new(), 0u64, 0u64);
    let line_bytes_max = job.read.limits.line_bytes_max;
    let wanted = Wanted::new(&job.read.fields, &job.read.key, "");
    loop {
        if !has_reader() {
            return Ok(());
        }
        number += 1;
        if !input.read_line(&mut line, number, line_bytes_max)? {
            break;
        }
        let row = line.trim_ascii();
        if row.is_empty() {
            continue;
        }
        match with_text(json::item(row, number, &wanted, |_| ())) {
            Ok(record) => answer(record)?,
            Err((reason, detail)) => {
                wrong += 1;
                print_rejected(arguments, number, reason, &detail)?;
            }
        }
    }
    match wrong {
        0 => Ok(()),
        _ => Err(Error::new(
            Kind::Data,
            format!("{}: {} rejected", input.name, counted(wrong, "row")),
        )),
    }
}

/// The record of a row that has a text to ask for, or why it has none: a word and the details.
fn with_text(item: Item) -> std::result::Result<Record, (&'static str, String)> {
    match item {
        Item::Record(record)
            if matches!(record.body, Body::Removed | Body::Moved(_) | Body::Seen) =>
        {
            Err(("no_text", "it removes a page, and has no text to ask for".to_owned()))
        }
        Item::Record(record) => Ok(record),
        Item::Skip(reason) => Err((reason, String::new())),
        Item::Status { .. } => Err((Item::STATUS, String::new())),
        Item::Mirror(_) => Err((Mirror::REASON, String::new())),
        Item::Reject { reason, detail, .. } => Err((reason, detail)),
    }
}

fn print_rejected(arguments: &cli::Query, line: u64, reason: &str, detail: &str) -> Result<()> {
    match arguments.shared.json {
        true => print_json(
            &json!({ "line": line, "verdict": "rejected", "reason": reason, "detail": detail }),
        ),
        false => show(&format!("rejected   line {line}: {reason}: {}\n", plain(detail))),
    }
}

fn print_answer(arguments: &cli::Query, answer: &Answer) -> Result<()> {
    if arguments.shared.json { print_json(answer) } else { show(&long(answer)) }
}

/// An answer in one line.
fn short(answer: &Answer) -> String {
    let url = plain(answer.url.as_deref().unwrap_or("-"));
    let provisional = if answer.provisional { " (provisional)" } else { "" };
    let with =
        answer.representative.as_ref().map_or(String::new(), |with| format!(" -> {}", plain(with)));
    let similarity = answer.similarity.map_or("-".into(), |similarity| format!("{similarity:.4}"));
    format!("{:<10} {similarity:>6}  {url}{with}{provisional}\n", answer.verdict.name())
}

/// An answer for people.
fn long(answer: &Answer) -> String {
    let mut lines = Lines::default();
    let notes = if answer.notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", answer.notes.join(", "))
    };
    lines.line(
        answer.verdict.name(),
        format!("{}{notes}", counted(answer.chars.into(), "character")),
    );
    if answer.pages > 0 {
        let such_as = if answer.pages > answer.urls.len() as u64 { ", such as" } else { ":" };
        lines.line("", format!("{} the same text{such_as}", has(answer.pages)));
    }
    answer.urls.iter().for_each(|url| lines.line("", format!("  {url}")));
    if let (Some(representative), Some(pages)) = (&answer.representative, answer.cluster_pages) {
        lines.line(
            "cluster",
            format!("{}, represented by {representative}", counted(pages.into(), "page")),
        );
    }
    for (name, list) in [("accepted", &answer.matches), ("refused", &answer.refused)] {
        let found = |found: &Match| {
            let Match { similarity, reason, signature, url, .. } = found;
            format!("{similarity:.4} {reason} (by {signature}) {url}")
        };
        lines.list(name, list.iter().map(found));
    }
    lines.list("provisional", answer.because.iter().map(|why| provisional(*why)));
    lines.into_text()
}

fn has(pages: u64) -> String {
    if pages == 1 { "1 page has".into() } else { format!("{} have", counted(pages, "page")) }
}

/// Why the next epoch may answer differently.
fn provisional(why: Because) -> &'static str {
    match why {
        Because::Pivots => {
            "it moves ranks in a large group, so that other texts are compared than now"
        }
        Because::Limit => "a run would compare it with more texts of a large group",
        Because::Joins => "it joins several clusters",
        Because::Radius => "with [clusters] radius a run makes the cluster anew",
        Because::Represents => "its page would represent the cluster",
        Because::Names => "its page would name the cluster",
        Because::Replaces => "its URL has another text now",
        Because::Outdated => "a known record of its URL has a later date",
        Because::Expires => {
            "pages that it depends on expire with the next run, unless it sees them"
        }
        Because::NoHost => {
            "without a URL the lines of its host stay ([extract] furniture): ask by a row with url"
        }
        Because::Gathered => "a page now has it as its main text, or no page has any more",
        Because::Inbox | Because::Behind => "the next run may see it otherwise",
    }
}
