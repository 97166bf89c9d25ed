//! Reads the inputs: detects a file's format and opens its reader.
//!
//! Every record of an input becomes one [`record::Entry`], so what was read is the sum of what was
//! accepted, skipped and rejected. The format is detected from the content; the name decides only
//! if the content does not. Files are never mapped, and no length that a file states is trusted.

mod arc;
pub mod binary;
pub mod codec;
pub(crate) mod companion;
mod cuts;
pub mod date;
mod decoder;
mod dialect;
pub mod documents;
pub mod fields;
pub mod first_records;
mod frames;
mod gzip_stream;
mod gzip_whole;
pub mod headers;
mod html_start;
pub mod http;
mod http_body;
mod input;
pub mod joined_text;
pub mod json;
pub mod jsonl;
pub mod likely;
mod limits;
mod lz4_stream;
mod members;
pub(crate) mod parquet;
pub mod record;
pub mod redirect_target;
mod row;
pub mod sample;
mod score;
pub mod shell;
pub(crate) mod source;
#[cfg(test)]
mod testing;
mod value;
mod wacz;
pub(crate) mod warc;
mod zstd_stream;

use crate::error::{Error, Kind, Result, WrongValue};
use crate::page_url::Naming;
use crate::read::codec::Codec;
use crate::read::companion::Companion;
use crate::read::dialect::Dialect;
pub use crate::read::dialect::blanks;
use crate::read::fields::Wanted;
pub use crate::read::fields::{Fields, PageKey};
use crate::read::frames::Frames;
pub use crate::read::limits::Limits;
use crate::read::record::{Entry, Heading, Item, Notes};
pub use crate::read::row::is_whole;
use crate::read::source::Source;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Decoded bytes from which a format is detected.
const SNIFF_BYTES: usize = 4096;

/// The part of an input file that one worker reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The file.
    pub path: PathBuf,
    /// The first byte of the part.
    pub start: u64,
    /// The byte after the part; for a whole file, its size when it was planned.
    pub end: u64,
}

/// The job file's `[read]` table: how the inputs are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The names of the fields.
    pub fields: Fields,
    /// What makes the key of a page that is a row.
    pub key: PageKey,
    /// The limits.
    pub limits: Limits,
    /// The digest of the file that is read: part of the keys of rows.
    #[serde(skip)]
    pub file: String,
}

impl Options {
    /// Checks the values: there is a URL field, no field is used twice, no limit is 0.
    pub fn check(&self) -> std::result::Result<(), WrongValue> {
        let wrong = |key, why: &str| Err(WrongValue::new(key, why));
        let Fields { url, text, html, date, deleted, op, score } = &self.fields;
        if url.is_empty() {
            return wrong("fields.url", "names no field");
        }
        let key = match &self.key {
            PageKey::Url => url.iter().collect(),
            PageKey::Row => Vec::new(),
            PageKey::Field(name) if name.is_empty() => {
                return wrong("key", "it names nothing; wanted is \"url\", \"row\" or a field");
            }
            PageKey::Field(name) => vec![name],
        };
        let named = [("fields.text", text), ("fields.html", html), ("fields.date", date)];
        let urls = if self.key == PageKey::Url { &url[..] } else { &[] };
        let mut named = urls.iter().map(|name| ("fields.url", name)).chain(named);
        if let Some((of, _)) = named.find(|(_, name)| name.is_empty()) {
            return wrong(of, "is empty; only deleted, op and score may be \"\"");
        }
        let mut names: Vec<&String> = key.into_iter().chain([text, html, date]).collect();
        names.extend([deleted, op, score].into_iter().filter(|name| !name.is_empty()));
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong("fields", &format!("`{}` is there twice", twice[0]));
        }
        let Limits { record_bytes_max, line_bytes_max, ratio_max, .. } = self.limits;
        if record_bytes_max == 0 || line_bytes_max == 0 || ratio_max == 0 {
            return wrong("limits", "one of 0 leaves nothing to read");
        }
        Ok(())
    }

    /// What is looked for in rows.
    fn wanted(&self) -> Wanted {
        Wanted::new(&self.fields, &self.key, &self.file)
    }
}

/// The records of one input, one after the other.
pub trait Reader {
    /// The next entry; `None` at the end. An error comes from the file or the system and ends the
    /// split.
    fn next(&mut self) -> Result<Option<Entry>>;
    /// Bytes of the split in the file that were consumed so far; at the end all of them.
    fn consumed_bytes(&self) -> u64;
    /// Oddities that were accepted so far.
    fn notes(&self) -> Notes;
    /// The id that the last record gives itself, if its format has such ids.
    fn record_id(&self) -> Option<&str> {
        None
    }
    /// If the input contains files (WACZ): where the file with the last record ends in the input.
    fn file_end(&self) -> Option<u64> {
        None
    }
    /// Lets the reader keep the head of each sound record in an archive.
    fn keep_heads(&mut self) {}
    /// The head of the last record, if it is a sound one in an archive and heads are kept.
    fn take_head(&mut self) -> Option<Heading> {
        None
    }
    /// What the URLs of its records are.
    fn naming(&self) -> Naming {
        Naming::Url
    }
}

/// What a file is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its format.
    pub format: Format,
    /// Its compression.
    pub codec: Codec,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// WARC, WET or WAT.
    Warc,
    /// ARC.
    Arc,
    /// WARC files in a zip archive.
    Wacz,
    /// One JSON object on each line.
    Jsonl,
    /// One page in each row.
    Parquet,
}

impl Format {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Warc => "WARC",
            Format::Arc => "ARC",
            Format::Wacz => "WACZ",
            Format::Jsonl => "JSON lines",
            Format::Parquet => "Parquet",
        }
    }

    /// Whether a record is a row, whose fields the job names.
    pub fn has_rows(self) -> bool {
        matches!(self, Format::Jsonl | Format::Parquet)
    }

    /// The format of a file by its first decoded bytes.
    fn by_content(head: &[u8]) -> Option<Format> {
        let text = jsonl::unmarked(head).trim_ascii_start();
        if head.starts_with(parquet::MAGIC) || head.starts_with(parquet::MAGIC_ENCRYPTED) {
            Some(Format::Parquet)
        } else if text.len() > 5 && warc::Warc::starts(text) {
            Some(Format::Warc)
        } else if text.starts_with(b"{") {
            Some(Format::Jsonl)
        } else if text.starts_with(b"filedesc:") || arc::opens(text) {
            Some(Format::Arc)
        } else {
            None
        }
    }

    /// The format of a file by its name without the ending of its compression.
    pub fn by_name(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let name = codec::without_ending(&name);
        match name.rsplit_once('.')?.1 {
            "warc" | "wet" | "wat" => Some(Format::Warc),
            "arc" => Some(Format::Arc),
            "jsonl" | "ndjson" | "json" => Some(Format::Jsonl),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

/// What a file is, by its content or, if that says nothing, by its name.
enum Recognised {
    Crawl(Format),
    Companion(Companion),
    Unknown,
}

fn recognised(source: &mut Source) -> Result<Recognised> {
    source.fill(SNIFF_BYTES)?;
    // A member without a byte says nothing: parts were joined, and the first of them is empty.
    while source.window().is_empty() && source.end() == Some(&source::End::Member) {
        source.next_member()?;
        source.fill(SNIFF_BYTES)?;
    }
    let (head, path) = (source.window(), source.path());
    // An empty file counts as JSON lines without a line.
    let is_empty = head.is_empty() && source.end() == Some(&source::End::File);
    if source.codec() == Codec::Plain && wacz::is_wacz(head, path) {
        return Ok(Recognised::Crawl(Format::Wacz));
    }
    if let Some(format) = Format::by_content(head) {
        let companion = Companion::in_json(head, path).filter(|_| format == Format::Jsonl);
        return Ok(companion.map_or(Recognised::Crawl(format), Recognised::Companion));
    }
    if let Some(companion) = Companion::by_content(head, source.codec()) {
        return Ok(Recognised::Companion(companion));
    }
    if let Some(format) = Format::by_name(path).or(is_empty.then_some(Format::Jsonl)) {
        return Ok(Recognised::Crawl(format));
    }
    Ok(Companion::by_name(path).map_or(Recognised::Unknown, Recognised::Companion))
}

/// The kind of the file of `size` bytes at `path`, if it is a known kind that is no crawl. Errors
/// come from the file system.
pub fn companion(path: &Path, size: u64) -> Result<Option<Companion>> {
    Ok(match recognised(&mut Source::open(path, 0, size, &Limits::default())?)? {
        Recognised::Companion(companion) => Some(companion),
        Recognised::Crawl(_) | Recognised::Unknown => None,
    })
}

/// Opens the reader of a split. Fails if the file cannot be read, is shorter than planned, or has
/// no known format.
pub fn open(split: &Split, options: &Options) -> Result<Box<dyn Reader>> {
    options.check().map_err(|why| Error::config(&split.path, why))?;
    reader(Source::open(&split.path, 0, split.end, &options.limits)?, split, options)
}

/// A clone of a repository without Git LFS has files that begin so, in place of large ones.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The reader of a split; `source` holds the first bytes of its file.
fn reader(mut source: Source, split: &Split, options: &Options) -> Result<Box<dyn Reader>> {
    let limits = options.limits.clone();
    let format = format(&mut source)?;
    if source.window().starts_with(LFS_POINTER) {
        let line = "a pointer of Git LFS instead of the file, which `git lfs pull` fetches";
        return Err(Error::new(Kind::Data, format!("{}: {line}", split.path.display())));
    }
    match format {
        Format::Parquet if source.codec() == Codec::Plain => {
            Ok(Box::new(parquet::Parquet::open(split, options)?))
        }
        Format::Parquet => Err(packed(&split.path)),
        Format::Warc if split.start > 0 => {
            let source = Source::open(&split.path, split.start, split.end, &limits)?;
            Ok(Box::new(Frames::new(source, warc::Warc::default(), limits)))
        }
        Format::Warc => Ok(Box::new(Frames::new(source, warc::Warc::default(), limits))),
        Format::Wacz => Ok(Box::new(wacz::Wacz::open(split, &limits)?)),
        Format::Arc => Ok(Box::new(Frames::new(source, arc::Arc, limits))),
        Format::Jsonl => Ok(Box::new(jsonl::Jsonl::open(split, options)?)),
    }
}

/// The reader of a file that cannot be read: one reject in its first split, nothing in the others.
struct Refused {
    bytes: u64,
    entry: Option<Entry>,
}

impl Reader for Refused {
    fn next(&mut self) -> Result<Option<Entry>> {
        Ok(self.entry.take())
    }

    fn consumed_bytes(&self) -> u64 {
        self.bytes
    }

    fn notes(&self) -> Notes {
        Notes::default()
    }
}

/// `reason` of the one record of a file that a reader refuses.
pub const BAD_FILE: &str = "bad_file";

/// What is wrong with the file of `split`, without the path.
fn why(split: &Split, error: &Error) -> String {
    let line = error.to_string();
    let rest = line.strip_prefix(&*split.path.to_string_lossy());
    let rest = rest.and_then(|rest| rest.strip_prefix(": ").or_else(|| rest.strip_prefix(' ')));
    rest.map_or(line.clone(), str::to_owned)
}

/// The message of the reader for a file that it refuses as a whole; `None` if it reads the file.
/// Errors come from the file system.
pub fn refusal(split: &Split, options: &Options) -> Result<Option<String>> {
    match open(split, options) {
        Ok(_) => Ok(None),
        Err(error) if error.kind() == Kind::Data => Ok(Some(why(split, &error))),
        Err(error) => Err(error),
    }
}

/// As [`open`], but a file of unknown format, or one that is damaged as a whole, becomes one
/// reject, `bad_file`. For files that the job does not name one by one. A file whose columns do not
/// fit counts as all of its rows, so that `[read] rejects_max` sees how much is lost.
pub fn open_or_reject(split: &Split, options: &Options) -> Result<Box<dyn Reader>> {
    match open(split, options) {
        Err(error) if error.kind() == Kind::Data => {
            let records = parquet::unfit_rows(split, options).unwrap_or(1).max(1);
            let item = Item::reject(BAD_FILE, why(split, &error)).of_records(records);
            let entry = Entry::at(0, item);
            Ok(Box::new(Refused {
                bytes: split.end - split.start,
                entry: (split.start == 0).then_some(entry),
            }))
        }
        opened => opened,
    }
}

/// Cuts a file of `size` bytes into splits of about `split_bytes`.
///
/// Only uncompressed files can be cut. A split owns the lines of JSON, the row groups of Parquet or
/// the WARC files of a WACZ that start in it; WARC is cut between records. A file of unknown format
/// is one split. Errors come from the file system.
pub fn splits(path: &Path, size: u64, split_bytes: u64) -> Result<Vec<Split>> {
    let plain = shape(path, size)?.filter(|shape| shape.codec == Codec::Plain);
    let format = plain.map(|shape| shape.format);
    let shares = size.div_ceil(split_bytes.max(1)).max(1);
    let mut ends = match format {
        Some(Format::Jsonl | Format::Parquet | Format::Wacz) => (1..shares)
            .map(|share| (u128::from(size) * u128::from(share) / u128::from(shares)) as u64)
            .collect(),
        Some(Format::Warc) if shares > 1 => cuts::cuts::<warc::Warc>(path, size, split_bytes)?,
        _ => Vec::new(),
    };
    ends.push(size);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    Ok(starts.zip(&ends).map(|(start, &end)| Split { path: path.to_owned(), start, end }).collect())
}

/// The form of the file of `size` bytes at `path`; `None` if it has no known format. Errors come
/// from the file system.
pub fn shape(path: &Path, size: u64) -> Result<Option<Shape>> {
    let mut source = Source::open(path, 0, size, &Limits::default())?;
    match format(&mut source) {
        Ok(format) => Ok(Some(Shape { format, codec: source.codec() })),
        Err(error) if error.kind() == Kind::Data => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the file has rows, whose fields the options name: JSON lines or Parquet. A file of
/// unknown format has none. Errors come from the file system.
pub fn has_rows(path: &Path) -> Result<bool> {
    let bytes = path.metadata().map_err(|e| Error::input("read", path, e))?.len();
    Ok(shape(path, bytes)?.is_some_and(|shape| shape.format.has_rows()))
}

/// The format of the file that `source` reads.
fn format(source: &mut Source) -> Result<Format> {
    match recognised(source)? {
        Recognised::Crawl(format) => Ok(format),
        Recognised::Companion(companion) => {
            Err(Error::new(Kind::Data, companion.line(source.path())))
        }
        Recognised::Unknown => Err(unknown(source.path())),
    }
}

fn unknown(path: &Path) -> Error {
    let why = "is neither WARC nor WACZ nor ARC nor JSON lines, plain or in gzip, zstd or lz4, nor Parquet";
    Error::new(Kind::Data, format!("{} {why}", path.display()))
}

fn packed(path: &Path) -> Error {
    let why =
        "is Parquet inside gzip, zstd or lz4, which can only be read from its end: unpack it first";
    Error::new(Kind::Data, format!("{} {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{Temporary, gzip, page, read_all, words};

    /// The format is detected from the content under any name, and from the name where the content
    /// does not decide.
    #[test]
    fn content_before_name() {
        let page = page("http://a/", b"x");
        for name in ["x.warc.gz", "x.jsonl", "x"] {
            assert_eq!(words(&read_all(name, &page, &Options::default()).0), ["http://a/ html 1"]);
            assert_eq!(
                words(&read_all(name, &gzip(&page), &Options::default()).0),
                ["http://a/ html 1"]
            );
        }
        for name in ["x.warc", "X.WET.GZ", "x.arc.zst"] {
            assert_eq!(words(&read_all(name, b"\x01\x02", &Options::default()).0), ["!junk"]);
        }
        assert_eq!(words(&read_all("x.ndjson", b"oops", &Options::default()).0), ["!bad_json"]);
        assert!(words(&read_all("x", b"", &Options::default()).0).is_empty());
        assert!(words(&read_all("x.warc.gz", &gzip(b""), &Options::default()).0).is_empty());
    }

    /// A record has the same position however its file is compressed: where it starts in the
    /// decoded stream. It begins a member if nothing of the member comes before it.
    #[test]
    fn positions() {
        let pages: Vec<Vec<u8>> =
            (1..9).map(|n| page("http://a/", &b"x".repeat(n * 1000))).collect();
        let starts: Vec<u64> = (0..8).map(|n| pages[..n].concat().len() as u64).collect();
        let members: Vec<u8> = pages.iter().flat_map(|page| gzip(page)).collect();
        let pairs: Vec<u8> = pages.chunks(2).flat_map(|pair| gzip(&pair.concat())).collect();
        for (bytes, begin) in
            [(pages.concat(), 0), (gzip(&pages.concat()), 1), (pairs, 4), (members, 8)]
        {
            let (entries, _) = read_all("x", &bytes, &Options::default());
            assert_eq!(entries.iter().map(|entry| entry.position).collect::<Vec<_>>(), starts);
            assert_eq!(entries.iter().filter(|entry| entry.member.is_some()).count(), begin);
            let begun = |entry: &&Entry| {
                entry.member.is_some_and(|at| bytes[at as usize..].starts_with(b"\x1f\x8b"))
            };
            assert_eq!(entries.iter().filter(begun).count(), begin);
        }
    }

    /// A file that cannot be read is an error that names it: unknown format, missing file,
    /// directory, file shorter than planned.
    #[test]
    fn unreadable() {
        let file = Temporary::new("x.bin", b"what is this");
        let split = |end| Split { path: file.0.clone(), start: 0, end };
        let fails = |split: &Split| open(split, &Options::default()).err().unwrap();
        assert_eq!(fails(&split(12)).kind(), Kind::Data);
        assert_eq!(fails(&split(13)).kind(), Kind::Io);
        let missing = Split { path: "/nowhere/x.warc".into(), ..split(0) };
        assert_eq!(fails(&missing).kind(), Kind::NoInput);
        let directory = Split { path: std::env::temp_dir(), ..split(0) };
        assert_eq!(fails(&directory).kind(), Kind::NoInput);
        assert!(fails(&split(12)).to_string().contains("x.bin"));
    }

    /// Only uncompressed files are cut, and the splits meet. An archive is cut between records.
    #[test]
    fn cuts() {
        let lines = b"{}\n".repeat(100);
        let file = Temporary::new("x.jsonl", &lines);
        let shares = splits(&file.0, 300, 70).unwrap();
        assert_eq!(shares.len(), 5);
        assert_eq!((shares[0].start, shares[4].end), (0, 300));
        assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
        for bytes in [gzip(&lines), gzip(&page("http://a/", &lines)), page("http://a/", &lines)] {
            let file = Temporary::new("x", &bytes);
            let size = bytes.len() as u64;
            assert_eq!(
                splits(&file.0, size, 10).unwrap(),
                [Split { path: file.0.clone(), start: 0, end: size }]
            );
        }
    }

    /// Wrong options are refused before a byte is read.
    #[test]
    fn options_are_checked() {
        assert_eq!(Options::default().check(), Ok(()));
        let wrong = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().is_err()
        };
        assert!(wrong(|o| o.fields.url.clear()));
        assert!(wrong(|o| o.fields.text = "url".into()));
        assert!(wrong(|o| o.limits.line_bytes_max = 0));
    }
}
