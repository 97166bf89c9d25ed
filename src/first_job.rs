//! A job for some given files: finds out what is in them, and writes the job file that reads them.
//!
//! A bounded sample is read: which formats the files have, where their rows have URL, text and
//! date, what makes a row a page of its own, which rows are rejected or remove a page, and which
//! charsets pages are in. The job has only keys that differ from the defaults, each with the reason
//! beside it. All its keys are dotted, one on each line, so that `--set` can add lines to it.

pub mod made;
mod sample;

use crate::job_keys::KEYS;
use crate::terminal::print::{counted, grouped};
use sample::File;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use workers::error::{Error, Kind, Result};
use workers::extract::charset_name;
use workers::plain::plain;
use workers::plan::{examine, listing};
use workers::read::likely::{DATES, IDS, PAGES, TEXTS, URLS};
use workers::read::record::{Body, Item};
use workers::read::sample::{Look, lists, look, names};
use workers::read::{Fields, Format, Options, PageKey, documents, joined_text, shell};

/// The properties of the files, by a sample.
#[derive(Default)]
struct SampleProperties {
    looked_into: usize,
    formats: BTreeMap<Format, usize>,
    /// Files of known kinds that are no crawl, a line for each kind; `others` are the other files
    /// that cannot be read.
    passed: Vec<examine::Passed>,
    others: Vec<String>,
    records: u64,
    /// Rows that the key `row` accepts.
    rows: u64,
    /// Records that cannot be read, by reason: how many, and the first.
    rejected: BTreeMap<&'static str, (u64, String)>,
    /// Rows that remove their page.
    removing: u64,
    /// The fields by which rows remove their pages.
    removers: Vec<&'static str>,
    charsets: BTreeMap<&'static str, u64>,
    fields: Fields,
    key: PageKey,
    why: String,
    /// Why a field that looks like an id is not the key.
    no_key: Option<String>,
    /// The advice for rows that have several texts, or a list of them, instead of one text: how to
    /// join them.
    joined: Option<String>,
}

/// The text of a job that reads `inputs`, with store and results beside its file. Each of `sets` is
/// a line of it, and replaces what was found.
pub fn text(inputs: &[PathBuf], sets: &[String]) -> Result<String> {
    let given: Vec<Given> = sets.iter().filter_map(|line| Given::of(line)).collect();
    let found = find(inputs, &given)?;
    let mut text = String::from(
        "# Written by pagefold; `jobs/snapshot.toml` of its source has every key at its default.\n",
    );
    for line in found.lines() {
        // Names of fields and files may have line breaks.
        writeln!(text, "# {}", plain(&line)).expect("a string");
    }
    let mut keys = KeyLines::default();
    keys.set("store", quoted("store"), "what is remembered; a folder beside this file");
    let paths: Vec<String> = inputs
        .iter()
        .map(|input| spelled(input).map(|path| quoted(&path)))
        .collect::<Result<_>>()?;
    keys.set("read.inputs", format!("[{}]", paths.join(", ")), "");
    found.set_keys(&given, &mut keys);
    keys.set("output.dir", quoted("result"), "the tables, written again by each run");
    check_sets(sets, &given)?;
    for given in &given {
        keys.set(&given.key, given.written.clone(), "");
    }
    for line in found.proposals(&given) {
        writeln!(text, "# {line}").expect("a string");
    }
    for (key, value, why) in keys.0 {
        let why = if why.is_empty() { why } else { format!("  # {}", plain(&why)) };
        writeln!(text, "{key} = {value}{why}").expect("a string");
    }
    Ok(text)
}

/// The keys of a job in the order of their lines, each with its value and the reason.
#[derive(Default)]
struct KeyLines(Vec<(String, String, String)>);

impl KeyLines {
    /// Adds a line, or replaces that of the same key.
    fn set(&mut self, key: &str, value: String, why: &str) {
        let line = (key.to_owned(), value, why.to_owned());
        match self.0.iter_mut().find(|line| line.0 == key) {
            Some(before) => *before = line,
            None => self.0.push(line),
        }
    }
}

/// Whether `key` is given.
fn is_given(given: &[Given], key: &str) -> bool {
    given.iter().any(|given| given.key == key)
}

/// Fails if one of `sets` gives no key, or a table.
fn check_sets(sets: &[String], given: &[Given]) -> Result<()> {
    if let Some(line) = sets.iter().find(|line| !line.contains('=')) {
        let wrong = format!("--set {line}: not KEY=VALUE, such as `simhash.k=2`");
        return Err(Error::new(Kind::Usage, wrong));
    }
    if let Some(table) = given.iter().find(|given| given.is_table()) {
        let key = &table.key;
        let line = format!("--set {key}=...: name single keys, --set {key}.KEY=VALUE");
        return Err(Error::new(Kind::Usage, line));
    }
    Ok(())
}

/// The absolute path of an input in the form for a job, which is UTF-8.
fn spelled(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path).map_err(|e| Error::io("find", path, e))?;
    absolute.into_os_string().into_string().map_err(|_| {
        let why = "its name is not UTF-8, and a job can only have names that are: name the folder \
                   that it is in, whose files may have any names, or give it another name";
        Error::new(Kind::NoInput, format!("{}: {why}", path.display()))
    })
}

/// A key that `--set` gives.
struct Given {
    key: String,
    /// Its value in TOML. A value that is not TOML, or is that of a key of texts, is a text.
    written: String,
    /// The texts of its value: those of a list, or one text.
    texts: Vec<String>,
}

impl Given {
    /// The key and the value of `KEY=VALUE`.
    fn of(line: &str) -> Option<Given> {
        let (key, value) = line.split_once('=')?;
        let table = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
        let toml = table.filter(|table| table.len() == 1).and_then(|mut of| of.remove("value"));
        let takes_text = KEYS.iter().any(|known| known.name == key.trim() && known.takes.is_text());
        let written = match &toml {
            None => quoted(value),
            Some(toml::Value::String(_) | toml::Value::Array(_)) => value.trim().to_owned(),
            Some(_) if takes_text => quoted(value.trim()),
            Some(_) => value.trim().to_owned(),
        };
        let texts = match toml {
            Some(toml::Value::Array(list)) => {
                list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
            }
            Some(toml::Value::String(text)) => vec![text],
            _ => vec![value.trim().to_owned()],
        };
        Some(Given { key: key.trim().to_owned(), written, texts })
    }

    /// Whether it gives a table of keys at once, of which a job file may have single ones already.
    fn is_table(&self) -> bool {
        let is_of =
            |name: &str| name.strip_prefix(&self.key).is_some_and(|rest| rest.starts_with('.'));
        self.written.starts_with('{') && KEYS.iter().any(|key| is_of(key.name))
    }

    /// Its first text.
    fn text(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }
}

/// `text` in quotes, as in a job.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl SampleProperties {
    /// Sets the keys for which the files need other values than the defaults.
    fn set_keys(&self, given: &[Given], keys: &mut KeyLines) {
        if self.formats.keys().any(|format| format.has_rows()) {
            keys.set("read.key", quoted(&self.key.to_string()), &self.why);
            let default = Fields::default();
            if self.key == PageKey::Url && self.fields.url != default.url {
                keys.set(
                    "read.fields.url",
                    format!("[{}]", quoted(&self.fields.url.join("/"))),
                    "",
                );
            }
            for (name, named, default) in [
                ("text", &self.fields.text, &default.text),
                ("html", &self.fields.html, &default.html),
                ("date", &self.fields.date, &default.date),
            ] {
                if named != default {
                    keys.set(&format!("read.fields.{name}"), quoted(named), "");
                }
            }
        }
        // With an archive among the files not all pages are rows, and a server inserts pages that
        // no file has.
        let has_only_rows = self.rows > 0 && self.rows == self.records;
        if has_only_rows && self.key == PageKey::Row && !is_given(given, "serve.inbox") {
            let why = "a row that is in no file any more is removed; set false if you delete files after they are read";
            keys.set("read.complete", "true".into(), why);
        }
        if has_only_rows && self.key != PageKey::Url {
            let why = "a line such as `12 comments` is text";
            keys.set("extract.site_lines", "false".into(), why);
        }
    }

    /// Keys that the user may want, which are left to the user, each with the reason.
    fn proposals(&self, given: &[Given]) -> Vec<String> {
        let mut lines = Vec::new();
        let rejected: u64 = self.rejected.values().map(|(n, _)| n).sum();
        if rejected > 0
            && self.rows > 0
            && self.rows + rejected == self.records
            && self.key == PageKey::Row
            && !is_given(given, "serve.inbox")
            && !is_given(given, "read.complete")
        {
            lines.push(format!(
                "read.complete = true  # left out, as {} of {} {} rejected: of a changed file, rows that it lacks stay",
                grouped(rejected),
                counted(self.records, "record"),
                if rejected == 1 { "is" } else { "are" }
            ));
        }
        let has_corpus = self.key.is_own() && self.rows > 0;
        if has_corpus && !is_given(given, "clusters.letters_min") {
            let why = "folds equal texts of fewer than 10 letters, too";
            lines.push(format!("clusters.letters_min = 0  # {why}"));
        }
        lines
    }

    /// The lines about what was found.
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
            "{formats}; looked at {} in all parts of {}.",
            counted(self.records, "record"),
            counted(self.looked_into as u64, "file"),
        )];
        lines.extend(self.no_key.clone());
        lines.extend(self.rejects());
        if self.removing > 0 {
            let names: Vec<String> = self.removers.iter().map(|name| format!("`{name}`")).collect();
            let off: Vec<String> =
                self.removers.iter().map(|name| format!("read.fields.{name} = \"\"")).collect();
            lines.push(format!(
                "{} of {} {} removed by {}: such a row says that its page is gone. If that is data: {}",
                grouped(self.removing),
                counted(self.records, "row"),
                if self.removing == 1 { "is" } else { "are" },
                names.join(" or "),
                off.join(", ")
            ));
        }
        if !self.charsets.is_empty() {
            let charsets = self.charsets.iter().map(|(name, n)| (*name, *n)).collect();
            lines.push(format!("Charsets of their pages: {}.", list(charsets)));
        }
        lines.extend(examine::lines(&self.passed).iter().map(|line| format!("Not read: {line}")));
        if let Some(first) = self.others.first() {
            let n = counted(self.others.len() as u64, "file");
            lines.push(format!("Not read: {n}, such as {first}"));
        }
        lines
    }

    /// The records that cannot be read, a line for each reason.
    fn rejects(&self) -> Vec<String> {
        let of = counted(self.records, "record");
        let line = |(reason, (n, first)): (&&str, &(u64, String))| {
            let were = if *n == 1 { "is" } else { "are" };
            format!("{} of {of} {were} rejected, {reason}: such as {first}", grouped(*n))
        };
        self.rejected.iter().map(line).collect()
    }

    /// Refuses files of rows of which none can be read: a job for them would read nothing.
    fn check(&self, inputs: &[PathBuf], remedy: Option<String>) -> Result<()> {
        let rejected: u64 = self.rejected.values().map(|(n, _)| n).sum();
        if rejected == 0 || rejected < self.records {
            return Ok(());
        }
        let names: Vec<String> = inputs.iter().map(|input| shell::word(input)).collect();
        let remedy = remedy.or(self.joined.clone()).or_else(|| {
            let lacks_text = self.rejected.contains_key("no_text")
                || self.rejected.values().any(|(_, first)| first.contains("[read.fields] text"));
            let names = names.join(" ");
            lacks_text.then(|| {
                format!(
                    "Name the field of the text, FIELD: pagefold run {names} --to DIR --set \
                     read.fields.text=FIELD"
                )
            })
        });
        let remedy = remedy.map_or(String::new(), |remedy| format!(". {remedy}"));
        Err(Error::new(Kind::Data, format!("{}{remedy}", self.rejects().join("; "))))
    }
}

/// Reads a sample of `inputs`. Keys that are `given` are not guessed.
fn find(inputs: &[PathBuf], given: &[Given]) -> Result<SampleProperties> {
    let mut found = SampleProperties::default();
    let sample = found.choose_files(inputs)?;
    let mut fields: Vec<String> = Vec::new();
    for File { path, size, .. } in sample.iter().filter(|file| file.format.has_rows()) {
        let more = names(path, *size)?;
        fields.extend(more.into_iter().filter(|name| !fields.contains(name)).collect::<Vec<_>>());
    }
    found.name_fields(&fields);
    let key = found.take_given(given);
    found.choose_key(&sample, &fields, key)?;
    let remedy = found.count(inputs, &sample, &fields)?;
    if found.rows == 0
        && let Some(file) = sample.iter().find(|file| file.format.has_rows())
    {
        let lists = lists(&file.path, file.size)?;
        found.joined = joined_text::remedy(&file.path, file.format, &fields, &lists);
    }
    found.check(inputs, remedy)?;
    Ok(found)
}

/// The first of `names` that is one of `likely`, as a whole or by its last part.
fn likely<'n>(names: &'n [String], likely: &[&str]) -> Option<&'n String> {
    let whole = likely.iter().find_map(|likely| names.iter().find(|name| name == likely));
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    whole.or_else(|| {
        likely.iter().find_map(|likely| names.iter().find(|name| last(name) == *likely))
    })
}

/// Why a field is not the key: of `rows`, some repeat its value and some lack it.
fn no_key(field: &str, rows: u64, repeated: u64, lacking: u64) -> String {
    let would = match (repeated, lacking) {
        (_, 0) => "keep one row of each",
        (0, _) => "reject those that lack it",
        _ => "keep one row of each and reject those that lack it",
    };
    format!(
        "`{field}` is not the key: of {} looked at, {} repeat that of another and {} lack it; read.key = {field:?} would {would}.",
        counted(rows, "row"),
        grouped(repeated),
        grouped(lacking)
    )
}

/// Why each row is a page, if some share a URL and some have none.
fn shared_urls(rows: u64, shared: u64, lacking: u64) -> String {
    let verb = |n: u64| if n == 1 { ["shares", "has"] } else { ["share", "have"] };
    format!(
        "each row is a page: {shared} of {} {} a URL with another, {lacking} {} none; for a crawl: \"url\"",
        counted(rows, "row"),
        verb(shared)[0],
        verb(lacking)[1]
    )
}

impl SampleProperties {
    /// Counts the files of `inputs` by their formats, and returns those that are looked into.
    fn choose_files(&mut self, inputs: &[PathBuf]) -> Result<Vec<File>> {
        let mut crawls = Vec::new();
        let mut first_other = None;
        for path in listing::find(inputs)? {
            let size = path.metadata().map_err(|e| Error::input("read", &path, e))?.len();
            match look(&path, size)? {
                Look::Crawl(format, _) => {
                    *self.formats.entry(format).or_default() += 1;
                    crawls.push(File { path, size, format });
                }
                Look::Other(companion, line) => {
                    match companion {
                        Some(what) => {
                            let path = path.display().to_string();
                            self.passed.push(examine::Passed { path, what });
                        }
                        None => self.others.push(line.clone()),
                    }
                    first_other.get_or_insert(line);
                }
            }
        }
        if crawls.is_empty() {
            return Err(match first_other {
                Some(line) => Error::new(Kind::Data, line),
                None => listing::none_found(inputs),
            });
        }
        let step = crawls.len().div_ceil(sample::FILES_MAX);
        let sample: Vec<File> = crawls.into_iter().step_by(step).collect();
        self.looked_into = sample.len();
        Ok(sample)
    }

    /// Takes the fields that are `given`, and returns the key if it is.
    fn take_given(&mut self, given: &[Given]) -> Option<PageKey> {
        let mut key = None;
        for given in given {
            let text = || given.text().to_owned();
            match given.key.as_str() {
                "read.key" => key = Some(PageKey::from(text())),
                "read.fields.url" => self.fields.url = given.texts.clone(),
                "read.fields.text" => self.fields.text = text(),
                "read.fields.html" => self.fields.html = text(),
                "read.fields.date" => self.fields.date = text(),
                "read.fields.deleted" => self.fields.deleted = text(),
                "read.fields.op" => self.fields.op = text(),
                _ => {}
            }
        }
        key
    }

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

    /// Of the rows of a sample: how many have this key, how many different ones there are, and why
    /// a row was rejected.
    fn distinct(&self, sample: &[File], key: &PageKey) -> Result<(u64, u64, Option<String>)> {
        let (mut accepted, mut seen, mut why) = (0, HashSet::new(), None);
        let options =
            Options { fields: self.fields.clone(), key: key.clone(), ..Options::default() };
        sample::read(sample, &options, true, |_, entry| match entry.item {
            Item::Record(record) => {
                accepted += 1;
                seen.insert(record.url);
            }
            Item::Reject { detail, .. } => why = why.take().or(Some(detail)),
            Item::Skip(_) | Item::Status { .. } | Item::Mirror(_) => {}
        })?;
        Ok((accepted, seen.len() as u64, why))
    }

    /// Chooses what makes a row a page: the key that is `given`; or an id that differs in every
    /// row; or a URL that differs in every row; or the row itself.
    fn choose_key(
        &mut self,
        sample: &[File],
        names: &[String],
        given: Option<PageKey>,
    ) -> Result<()> {
        let mut keys: Vec<PageKey> = Vec::new();
        keys.extend(likely(names, &IDS).map(|name| PageKey::Field(name.clone())));
        keys.push(PageKey::Url);
        let (rows, ..) = self.distinct(sample, &PageKey::Row)?;
        self.rows = rows;
        if let Some(given) = given {
            self.key = given;
            return Ok(());
        }
        let mut why =
            "each row is a page; its key is made of its file's digest and its place".to_owned();
        for key in keys.into_iter().filter(|_| rows > 0) {
            let (accepted, different, rejected) = self.distinct(sample, &key)?;
            let name = match &key {
                PageKey::Field(name) => format!("`{name}`"),
                _ => "URL".into(),
            };
            if (accepted, different) == (rows, rows) {
                self.why = format!(
                    "each of {} looked at has its own {name}; \"row\" takes each as a page",
                    counted(rows, "row")
                );
                self.key = key;
                return Ok(());
            }
            let (repeated, lacking) = (accepted - different, rows.saturating_sub(accepted));
            match &key {
                PageKey::Field(field) => {
                    self.no_key = Some(match rejected.filter(|_| accepted == 0) {
                        Some(why) => format!("{name} is not the key: {}", plain(&why)),
                        None => no_key(field, rows, repeated, lacking),
                    });
                }
                PageKey::Url if accepted > 0 => why = shared_urls(rows, repeated, lacking),
                PageKey::Url | PageKey::Row => {}
            }
        }
        (self.key, self.why) = (PageKey::Row, why);
        Ok(())
    }

    /// Counts the records, those that are rejected or remove a page, and the charsets of pages.
    /// Returns the command that makes lines of the first file that is a JSON document.
    fn count(
        &mut self,
        inputs: &[PathBuf],
        sample: &[File],
        names: &[String],
    ) -> Result<Option<String>> {
        let options =
            Options { fields: self.fields.clone(), key: self.key.clone(), ..Options::default() };
        let (mut records, mut charsets) = (0, BTreeMap::new());
        let (mut removing, mut document) = (0, None);
        let mut rejected: BTreeMap<&'static str, (u64, String)> = BTreeMap::new();
        sample::read(sample, &options, false, |file, entry| {
            records += entry.item.records();
            match entry.item {
                Item::Record(record) if file.format.has_rows() => {
                    removing += u64::from(record.body == Body::Removed);
                }
                Item::Record(record) => {
                    if let Body::Html { bytes, charset } | Body::Plain { bytes, charset } =
                        record.body
                    {
                        *charsets.entry(charset_name(&bytes, charset.as_deref())).or_default() += 1;
                    }
                }
                Item::Reject { reason, detail, records, .. } => {
                    if ["bad_json", "long_line"].contains(&reason) {
                        document.get_or_insert(file.path.clone());
                    }
                    let first = || {
                        let at = format!("{} at {}", file.path.display(), entry.offset);
                        let detail = if detail.is_empty() { detail } else { format!(", {detail}") };
                        (0, plain(&format!("{at}{detail}")).to_string())
                    };
                    rejected.entry(reason).or_insert_with(first).0 += records;
                }
                Item::Skip(_) | Item::Status { .. } | Item::Mirror(_) => {}
            }
        })?;
        (self.records, self.charsets, self.rejected) = (records, charsets, rejected);
        let removers = [("deleted", &self.fields.deleted), ("op", &self.fields.op)];
        let removers = removers.into_iter().filter(|(_, field)| names.contains(field));
        (self.removing, self.removers) = (removing, removers.map(|(name, _)| name).collect());
        document.map_or(Ok(None), |path| {
            let why = match inputs.contains(&path) {
                true => documents::WhyRead::Named,
                false => documents::WhyRead::Among {
                    reads_lines: inputs.iter().any(|input| input.is_dir()),
                },
            };
            documents::remedy(&path, why)
        })
    }
}
