//! A job for files that somebody has: what is in them, and the job file that reads them.
//!
//! A bounded sample is looked at: which formats the files have, where their rows have URL, text and
//! date, what makes a row a page of its own, and which charsets pages are in. The job names only
//! what differs from the defaults, and says why beside it. All its keys stand dotted, a line each,
//! so that `--set` can add lines to it.

use crate::terminal::print::{counted, grouped};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use workers::error::{Error, Kind, Result};
use workers::extract::charset_name;
use workers::plan::listing;
use workers::read::record::{Body, Item};
use workers::read::sample::{Look, look, names};
use workers::read::{Fields, Format, Options, PageKey, Split, first_records, open_or_reject};

/// Files that are looked into, spread over all.
const FILES_MAX: usize = 16;
/// Records of each that are looked at.
const RECORDS_MAX: u64 = 200;

/// Fields that are likely to hold the URL, the text, the HTML or the date, or to identify a row,
/// where a row has none of the default's names. The last part of a path counts as well.
const URLS: [&str; 6] = ["uri", "link", "page_url", "source_url", "warc_url", "warc_target_uri"];
const TEXTS: [&str; 6] = ["body", "markdown", "document", "article", "text_content", "plain_text"];
const PAGES: [&str; 3] = ["raw_html", "html_content", "page"];
const DATES: [&str; 5] = ["crawl_date", "fetched", "fetch_time", "published", "date_published"];
const IDS: [&str; 7] = ["id", "doc_id", "docid", "document_id", "uuid", "warc_record_id", "key"];

/// What the files are, as far as a sample says.
struct Found {
    files: usize,
    looked_into: usize,
    formats: BTreeMap<Format, usize>,
    others: Vec<String>,
    records: u64,
    rows: u64,
    charsets: BTreeMap<&'static str, u64>,
    fields: Fields,
    key: PageKey,
    why: String,
    /// Why a field that looks like an id is not the key.
    no_key: Option<String>,
}

/// The text of a job that reads `inputs`, with store and results beside its file. Each of `sets`
/// is a line of it, in place of what was found.
pub fn text(inputs: &[PathBuf], sets: &[String]) -> Result<String> {
    let found = find(inputs)?;
    let mut text = String::from(
        "# Written by pagefold; `jobs/snapshot.toml` of its source has every key at its default.\n",
    );
    for line in found.lines() {
        writeln!(text, "# {line}").expect("a string");
    }
    let mut lines: Vec<(String, String, String)> = Vec::new();
    let mut set =
        |key: &str, value: String, why: &str| match lines.iter_mut().find(|line| line.0 == key) {
            Some(line) => *line = (key.to_owned(), value, why.to_owned()),
            None => lines.push((key.to_owned(), value, why.to_owned())),
        };
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    set("store", quoted("store"), "what is remembered; a folder beside this file");
    let paths: Vec<String> = inputs
        .iter()
        .map(|input| absolute(input).map(|path| quoted(&path.to_string_lossy())))
        .collect::<Result<_>>()?;
    set("read.inputs", format!("[{}]", paths.join(", ")), "");
    if found.rows > 0 {
        set("read.key", quoted(&found.key.to_string()), &found.why);
        let default = Fields::default();
        if found.key == PageKey::Url && found.fields.url != default.url {
            set("read.fields.url", format!("[{}]", quoted(&found.fields.url.join("/"))), "");
        }
        for (name, named, default) in [
            ("text", &found.fields.text, &default.text),
            ("html", &found.fields.html, &default.html),
            ("date", &found.fields.date, &default.date),
        ] {
            if named != default {
                set(&format!("read.fields.{name}"), quoted(named), "");
            }
        }
    }
    let value_of = |key: &str| {
        sets.iter().filter_map(|line| line.split_once('=')).rfind(|line| line.0.trim() == key)
    };
    let is_row = match value_of("read.key") {
        Some((_, value)) => value.trim().trim_matches(['"', '\'']) == PageKey::Row.to_string(),
        None => found.key == PageKey::Row,
    };
    // With an archive among the files not all pages are rows, and a server inserts pages that no
    // file has.
    if found.rows > 0 && found.rows == found.records && is_row && value_of("serve.inbox").is_none()
    {
        let why = "a changed file has other rows: those that no file has any more go; false, if files are removed once they are read";
        set("read.complete", "true".into(), why);
    }
    set("output.dir", quoted("result"), "the tables, written again by each run");
    for line in sets {
        let wrong = || {
            Error::new(Kind::Usage, format!("--set {line}: not KEY=VALUE, such as `simhash.k=2`"))
        };
        let (key, value) = line.split_once('=').ok_or_else(wrong)?;
        let is_toml = toml::from_str::<toml::Table>(&format!("value = {value}"))
            .is_ok_and(|table| table.len() == 1);
        set(key.trim(), if is_toml { value.trim().to_owned() } else { quoted(value) }, "");
    }
    for (key, value, why) in lines {
        let why = if why.is_empty() { why } else { format!("  # {why}") };
        writeln!(text, "{key} = {value}{why}").expect("a string");
    }
    Ok(text)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::io("find", path, e))
}

impl Found {
    /// What was found, a line each.
    fn lines(&self) -> Vec<String> {
        let list = |counts: Vec<(&str, u64)>| {
            counts
                .iter()
                .map(|(name, n)| format!("{} {name}", grouped(*n)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let of = |(format, n): (&Format, &usize)| {
            format!("{} of {}", counted(*n as u64, "file"), format.name())
        };
        let formats = self.formats.iter().map(of).collect::<Vec<_>>().join(", ");
        let mut lines = vec![format!(
            "{formats}; looked at {} of {}, at most {} of each.",
            counted(self.records, "record"),
            counted(self.looked_into as u64, "file"),
            grouped(RECORDS_MAX),
        )];
        lines.extend(self.no_key.clone());
        if !self.charsets.is_empty() {
            let charsets = self.charsets.iter().map(|(name, n)| (*name, *n)).collect();
            lines.push(format!("Charsets of their pages: {}.", list(charsets)));
        }
        if !self.others.is_empty() {
            let left = self.files - self.formats.values().sum::<usize>();
            lines.push(format!(
                "Not read: {}, such as {}",
                counted(left as u64, "file"),
                self.others[0]
            ));
        }
        lines
    }
}

/// Looks into `inputs`.
fn find(inputs: &[PathBuf]) -> Result<Found> {
    let files = listing::find(inputs)?;
    let mut found = Found {
        files: files.len(),
        looked_into: 0,
        formats: BTreeMap::new(),
        others: Vec::new(),
        records: 0,
        rows: 0,
        charsets: BTreeMap::new(),
        fields: Fields::default(),
        key: PageKey::Url,
        why: String::new(),
        no_key: None,
    };
    let mut crawls = Vec::new();
    for path in &files {
        let size = path.metadata().map_err(|e| Error::input("read", path, e))?.len();
        match look(path, size)? {
            Look::Crawl(format, _) => {
                *found.formats.entry(format).or_default() += 1;
                crawls.push((path.clone(), size, format));
            }
            Look::Other(line) => found.others.push(line),
        }
    }
    if crawls.is_empty() {
        return Err(match found.others.first() {
            Some(line) => Error::new(Kind::Data, line.clone()),
            None => listing::none_found(inputs),
        });
    }
    let step = crawls.len().div_ceil(FILES_MAX);
    let sample: Vec<(PathBuf, u64, Format)> = crawls.into_iter().step_by(step).collect();
    found.looked_into = sample.len();
    let mut fields: Vec<String> = Vec::new();
    for (path, size, _) in sample.iter().filter(|file| file.2.has_rows()) {
        let more = names(path, *size)?;
        fields.extend(more.into_iter().filter(|name| !fields.contains(name)).collect::<Vec<_>>());
    }
    found.name_fields(&fields);
    found.choose_key(&sample, &fields)?;
    found.count(&sample)?;
    Ok(found)
}

/// The first of `names` that is one of `likely`, as a whole or by its last part.
fn likely<'n>(names: &'n [String], likely: &[&str]) -> Option<&'n String> {
    let whole = likely.iter().find_map(|likely| names.iter().find(|name| name == likely));
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    whole.or_else(|| {
        likely.iter().find_map(|likely| names.iter().find(|name| last(name) == *likely))
    })
}

/// The records of `sample`, each as `each` has it; rows alone if `rows`.
fn read(
    sample: &[(PathBuf, u64, Format)],
    options: &Options,
    rows: bool,
    mut each: impl FnMut(Format, Item),
) -> Result<()> {
    for (number, (path, size, format)) in sample.iter().enumerate() {
        if rows && !format.has_rows() {
            continue;
        }
        let split = Split { path: path.clone(), start: 0, end: *size };
        // The file's number stands for its digest, so that rows of two files differ.
        let options = Options { file: number.to_string(), ..options.clone() };
        let mut reader = first_records::open(&split, &options, open_or_reject, RECORDS_MAX, *size)?;
        while let Some(entry) = reader.next()? {
            each(*format, entry.item);
        }
    }
    Ok(())
}

impl Found {
    /// Names the fields of rows that have other names than the default.
    fn name_fields(&mut self, names: &[String]) {
        let has = |field: &str| workers::read::fields::has(names, field);
        if let Some(url) = likely(names, &URLS).filter(|_| !has("url")) {
            self.fields.url = vec![url.clone()];
        }
        if !has("text") && !has("html") {
            match (likely(names, &TEXTS), likely(names, &PAGES)) {
                (Some(text), _) => self.fields.text = text.clone(),
                (None, Some(html)) => self.fields.html = html.clone(),
                (None, None) => {}
            }
        }
        if let Some(date) = likely(names, &DATES).filter(|_| !has("date")) {
            self.fields.date = date.clone();
        }
    }

    /// Chooses what makes a row a page: an id that every row has for itself, else a URL that every
    /// row has for itself, else the row.
    fn choose_key(&mut self, sample: &[(PathBuf, u64, Format)], names: &[String]) -> Result<()> {
        let mut keys: Vec<PageKey> = Vec::new();
        keys.extend(likely(names, &IDS).map(|name| PageKey::Field(name.clone())));
        keys.push(PageKey::Url);
        let distinct = |key: &PageKey| -> Result<(u64, u64)> {
            let (mut accepted, mut seen) = (0, BTreeSet::new());
            let options =
                Options { fields: self.fields.clone(), key: key.clone(), ..Options::default() };
            read(sample, &options, true, |_, item| {
                if let Item::Record(record) = item {
                    accepted += 1;
                    seen.insert(record.url);
                }
            })?;
            Ok((accepted, seen.len() as u64))
        };
        let (rows, _) = distinct(&PageKey::Row)?;
        self.rows = rows;
        let mut why =
            "each row is a page; its key is made of its file's digest and its place".to_owned();
        for key in keys {
            let (accepted, different) = distinct(&key)?;
            let name = match &key {
                PageKey::Field(name) => format!("`{name}`"),
                _ => "URL".into(),
            };
            if rows > 0 && (accepted, different) == (rows, rows) {
                self.why = format!(
                    "each of {} looked at has its own {name}; \"row\" takes each as a page",
                    counted(rows, "row")
                );
                self.key = key;
                return Ok(());
            }
            if let PageKey::Field(field) = &key
                && accepted > 0
            {
                let repeats = accepted - different;
                let lacking = rows.saturating_sub(accepted);
                self.no_key = Some(format!(
                    "{name} is not the key: of {} looked at, {} repeat that of another and {} lack it; read.key = {field:?} would keep one row of each.",
                    counted(rows, "row"),
                    grouped(repeats),
                    grouped(lacking)
                ));
            }
            if accepted > 0 && key == PageKey::Url {
                let shared = accepted - different;
                let lacking = rows.saturating_sub(accepted);
                why = format!(
                    "each row is a page: {shared} of {} share a URL, {lacking} have none; for a crawl: \"url\"",
                    counted(rows, "row")
                );
            }
        }
        (self.key, self.why) = (PageKey::Row, why);
        Ok(())
    }

    /// Counts the records, and the charsets of pages.
    fn count(&mut self, sample: &[(PathBuf, u64, Format)]) -> Result<()> {
        let options =
            Options { fields: self.fields.clone(), key: self.key.clone(), ..Options::default() };
        let (mut records, mut charsets) = (0, BTreeMap::new());
        read(sample, &options, false, |format, item| {
            records += 1;
            if let (Item::Record(record), false) = (item, format.has_rows())
                && let Body::Html { bytes, charset } | Body::Plain { bytes, charset } = record.body
            {
                *charsets.entry(charset_name(&bytes, charset.as_deref())).or_default() += 1;
            }
        })?;
        (self.records, self.charsets) = (records, charsets);
        Ok(())
    }
}
