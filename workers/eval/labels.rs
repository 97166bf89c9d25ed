//! Reads labels, which say which pages are the same: JSON lines, plain, gzip, zstd or lz4, with one
//! of three forms in a file.
//!
//! ```text
//! {"url": "...", "label": "..."}          equal labels are the same, all others of the file differ
//! {"a": "...", "b": "...", "same": true}  pairs are judged, nothing is known of others
//! {"a": "...", "b": "..."}                pairs are the same, all others of the store differ
//! ```
//!
//! Rows of pairs may also name their `kind`, such as the perturbation that made them, and rows of
//! judged pairs the `contents` of the two texts that were judged. Other fields are ignored. A line
//! of another form, or one that contradicts an earlier line about the same texts, is an error that
//! names file and line, because incomplete labels would give wrong measures.

use crate::error::{Error, Kind, Result};
use crate::eval::scene::Truth;
use crate::id::Id;
use crate::page_url::{Naming, page_url};
use crate::read::jsonl::BOM;
use crate::read::source::{End, Source};
use crate::read::{Limits, is_whole, record};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The most bytes of a line: two URLs and some more fields.
const LINE_BYTES_MAX: usize = 1 << 20;
/// The most rows of a file. Each is held in memory with its URLs.
const ROWS_MAX: usize = 1 << 24;
/// The most kinds of pairs of a file; each is a row of a table.
const KINDS_MAX: usize = 1000;
/// The bytes by which the window grows while a line's end is searched for.
const STEP_BYTES: usize = 64 << 10;

/// A file of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The canonical URLs and their DocIds, in the order of their first occurrence.
    pub urls: Vec<(String, Id)>,
    /// The truth by the labels; a page is an index into [`Labels::urls`].
    pub truth: Truth,
    /// The number of lines that are not blank.
    pub rows: u64,
    /// The kinds of pairs, in the order of their first occurrence.
    pub kinds: Vec<String>,
    /// The pairs that have a kind, the lesser page first, ascending, and the index of their kind.
    pub of_kind: Vec<(u32, u32, u32)>,
    /// The contents of judged pairs that name them, by the pair, the lesser page first.
    pub contents: BTreeMap<(u32, u32), [Id; 2]>,
}

/// The fields of a line.
#[derive(Deserialize)]
struct LabelLine {
    url: Option<Value>,
    /// A row whose label is null or empty says nothing.
    #[serde(default, deserialize_with = "present")]
    label: Option<Value>,
    a: Option<Value>,
    b: Option<Value>,
    #[serde(default, deserialize_with = "yes_or_no")]
    same: Option<bool>,
    kind: Option<Value>,
    contents: Option<Value>,
}

fn present<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Tables often have 1 and 0 for true and false.
fn yes_or_no<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<Option<bool>, D::Error> {
    match Value::deserialize(value)? {
        Value::Null => Ok(None),
        Value::Bool(same) => Ok(Some(same)),
        Value::Number(number) if number.as_f64() == Some(1.0) => Ok(Some(true)),
        Value::Number(number) if number.as_f64() == Some(0.0) => Ok(Some(false)),
        other => Err(D::Error::custom(format!("same is {other}, not true or false"))),
    }
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LabelForm {
    Label,
    Judged,
    Listed,
}

impl LabelForm {
    fn name(self) -> &'static str {
        match self {
            LabelForm::Label => "url and label",
            LabelForm::Judged => "a, b and same",
            LabelForm::Listed => "a and b",
        }
    }
}

/// The result of the lines read so far.
#[derive(Default)]
struct Reading {
    /// The form, and the line that first had it.
    form: Option<(LabelForm, u64)>,
    urls: Vec<(String, Id)>,
    places: BTreeMap<Id, u32>,
    label_numbers: BTreeMap<String, u32>,
    labels: Vec<u32>,
    pairs: BTreeMap<(u32, u32), bool>,
    kinds: Vec<String>,
    kind_numbers: BTreeMap<String, u32>,
    of_kind: BTreeMap<(u32, u32), u32>,
    contents: BTreeMap<(u32, u32), [Id; 2]>,
    rows: u64,
    /// Whether URLs are keys, which are taken as they are.
    naming: Naming,
}

/// A value as a text. A corpus may have ids that are numbers, and a run also reads these.
fn named(what: &str, value: Value) -> std::result::Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        // A run, too, reads a whole number that was stored as a float as the number.
        Value::Number(number) => Ok(match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if is_whole(float) => (float as i64).to_string(),
            _ => number.to_string(),
        }),
        _ => Err(format!("a {what} that is neither a text nor a number")),
    }
}

/// The two contents that a row names, if it does.
fn contents(value: &Value) -> Option<[Id; 2]> {
    let id = |value: &Value| {
        let digits = value.as_str().filter(|digits| digits.len() == 32)?;
        Some(Id::from_bytes(u128::from_str_radix(digits, 16).ok()?.to_be_bytes()))
    };
    let [a, b] = value.as_array()?.as_slice() else { return None };
    Some([id(a)?, id(b)?])
}

impl Reading {
    /// The index of the page at `url`.
    fn place(&mut self, url: &str) -> std::result::Result<u32, String> {
        let found = match self.naming {
            Naming::Key => record::key(url.to_owned()),
            Naming::Url => record::url(url.as_bytes()),
        };
        let url = found.map_err(|_| "a URL that is empty or too long".to_owned())?;
        let url = page_url(&url, self.naming);
        let next = self.urls.len() as u32;
        let place = *self.places.entry(url.doc).or_insert(next);
        if place == next {
            self.urls.push((url.canonical, url.doc));
        }
        Ok(place)
    }

    /// The index of a kind of pairs.
    fn kind(&mut self, kind: String) -> std::result::Result<u32, String> {
        if let Some(number) = self.kind_numbers.get(&kind) {
            return Ok(*number);
        }
        if self.kinds.len() == KINDS_MAX {
            return Err(format!("more than {KINDS_MAX} kinds"));
        }
        let number = self.kinds.len() as u32;
        self.kinds.push(kind.clone());
        self.kind_numbers.insert(kind, number);
        Ok(number)
    }

    /// Adds line `number`; the error says what is wrong with it.
    fn line(&mut self, number: u64, line: &[u8]) -> std::result::Result<(), String> {
        let row: LabelLine =
            serde_json::from_slice(line).map_err(|e| format!("no row of labels: {e}"))?;
        let form = match (&row.url, &row.label, &row.a, &row.b, row.same) {
            (Some(_), Some(_), None, None, None) => LabelForm::Label,
            (None, None, Some(_), Some(_), Some(_)) => LabelForm::Judged,
            (None, None, Some(_), Some(_), None) => LabelForm::Listed,
            _ => return Err("neither url and label, nor a and b, nor a, b and same".into()),
        };
        match self.form {
            Some((first, _)) if first == form => {}
            Some((first, at)) => {
                return Err(format!(
                    "says {} where line {at} says {}: one form a file",
                    form.name(),
                    first.name()
                ));
            }
            None => self.form = Some((form, number)),
        }
        self.rows += 1;
        if self.rows > ROWS_MAX as u64 {
            return Err(format!("more than {ROWS_MAX} rows"));
        }
        if let (Some(url), Some(label)) = (row.url, row.label) {
            if label.is_null() || label == "" {
                return Ok(());
            }
            let (url, label) = (named("URL", url)?, named("label", label)?);
            let next = self.label_numbers.len() as u32;
            let label = *self.label_numbers.entry(label).or_insert(next);
            let place = self.place(&url)? as usize;
            match self.labels.get(place) {
                None => self.labels.push(label),
                Some(before) if *before == label => {}
                Some(_) => return Err(format!("another label for {url}")),
            }
        } else if let (Some(a), Some(b)) = (row.a, row.b) {
            let (a, b) = (named("URL", a)?, named("URL", b)?);
            let (x, y) = (self.place(&a)?, self.place(&b)?);
            if x == y {
                return Err(format!("a page and itself: {a}"));
            }
            let (pair, same) = ((x.min(y), x.max(y)), row.same.unwrap_or(true));
            let mut contents = row.contents.as_ref().and_then(contents);
            if x > y {
                contents.iter_mut().for_each(|contents| contents.reverse());
            }
            // A later answer about other texts takes the place of an earlier one.
            let replaces =
                contents.is_some_and(|own| self.contents.get(&pair).is_some_and(|of| *of != own));
            if self.pairs.insert(pair, same).is_some_and(|before| before != same && !replaces) {
                return Err(format!("the opposite of an earlier line, for {a} and {b}"));
            }
            match contents.filter(|_| row.same.is_some()) {
                Some(contents) => _ = self.contents.insert(pair, contents),
                None => _ = self.contents.remove(&pair),
            }
            if let Some(kind) = row.kind {
                let kind = self.kind(named("kind", kind)?)?;
                if self.of_kind.insert(pair, kind).is_some_and(|before| before != kind) {
                    return Err(format!("another kind than an earlier line, for {a} and {b}"));
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> std::result::Result<Labels, String> {
        let truth = match self.form {
            None => return Err("says nothing: no rows".into()),
            Some((LabelForm::Label, _)) if self.urls.is_empty() => {
                return Err("says nothing: no row has a label".into());
            }
            Some((LabelForm::Label, _)) => Truth::Labels(self.labels),
            Some((LabelForm::Judged, _)) => {
                Truth::Judged(self.pairs.into_iter().map(|((a, b), same)| (a, b, same)).collect())
            }
            Some((LabelForm::Listed, _)) => Truth::Listed(self.pairs.into_keys().collect()),
        };
        let of_kind = self.of_kind.into_iter().map(|((x, y), kind)| (x, y, kind)).collect();
        let contents = self.contents;
        Ok(Labels { urls: self.urls, truth, rows: self.rows, kinds: self.kinds, of_kind, contents })
    }
}

/// Reads the labels at `path`. Pages are named by `naming`.
///
/// # Errors
///
/// `NoInput` if the file does not exist, `Data` if a line is wrong, naming file and line.
pub fn read(path: &Path, naming: Naming) -> Result<Labels> {
    let size = std::fs::metadata(path).map_err(|e| Error::input("read", path, e))?.len();
    let mut source = Source::open(path, 0, size, &Limits::default())?;
    let data = |why: String| Error::new(Kind::Data, format!("{}: {why}", path.display()));
    let (mut reading, mut number) = (Reading { naming, ..Reading::default() }, 0);
    if source.fill(BOM.len())?.starts_with(BOM) {
        source.consume(BOM.len());
    }
    loop {
        let bytes = match line(&mut source)? {
            Ok(0) => break,
            Ok(bytes) => bytes,
            Err(why) => return Err(data(format!("line {}: {why}", number + 1))),
        };
        number += 1;
        let line = source.window()[..bytes].trim_ascii();
        if !line.is_empty() {
            reading.line(number, line).map_err(|why| data(format!("line {number}: {why}")))?;
        }
        source.consume(bytes);
    }
    reading.finish().map_err(data)
}

/// The length of the next line including its newline, 0 at the end. The inner error says why the
/// line cannot be read.
fn line(source: &mut Source) -> Result<std::result::Result<usize, String>> {
    let (mut seen, mut want) = (0, 1);
    loop {
        let window = source.fill(want)?;
        let length = window.len();
        if let Some(end) = memchr::memchr(b'\n', &window[seen..]) {
            return Ok(Ok(seen + end + 1));
        }
        if length > LINE_BYTES_MAX {
            return Ok(Err(format!("more than {LINE_BYTES_MAX} bytes")));
        }
        seen = length;
        match source.end() {
            None => want = length + STEP_BYTES,
            Some(End::Member) => {
                source.next_member()?;
                want = length + 1;
            }
            Some(End::Damage { reason, detail }) => return Ok(Err(format!("{reason}: {detail}"))),
            Some(End::File) => return Ok(Ok(length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn of(bytes: &[u8]) -> Result<Labels> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("labels.jsonl");
        std::fs::write(&path, bytes).expect("written");
        read(&path, Naming::Url)
    }

    const ROWS: &str = "{\"url\":\"HTTP://a.example:80\",\"label\":\"x\"}\n\n{\"url\":\"b\",\"label\":7,\"more\":[]}\r\n\
                        {\"url\":\"http://a.example/#top\",\"label\":\"x\"}";

    /// Spellings of a URL give the store's URL. Compression, line ends and a byte order mark change
    /// nothing.
    #[test]
    fn spelling_and_compression_do_not_matter() {
        let plain = of(ROWS.as_bytes()).expect("sound");
        let urls: Vec<&str> = plain.urls.iter().map(|(url, _)| url.as_str()).collect();
        assert_eq!(urls, ["http://a.example/", "b"]);
        assert_eq!((&plain.truth, plain.rows), (&Truth::Labels(vec![0, 1]), 3));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(ROWS.as_bytes()).expect("written");
        let zstd = zstd::bulk::compress(ROWS.as_bytes(), 1).expect("compressed");
        for bytes in [gzip.finish().expect("written"), zstd, [BOM, ROWS.as_bytes()].concat()] {
            assert_eq!(of(&bytes).expect("sound"), plain);
        }
    }

    /// Ids that are numbers were refused in labels, although a run accepts them.
    #[test]
    fn ids_that_are_numbers() {
        let rows =
            |id: &str| format!("{{\"url\":{id},\"label\":1}}\n{{\"url\":\"x\",\"label\":1}}");
        for id in ["7", "-7", "18446744073709551615"] {
            let labels = of(rows(id).as_bytes()).expect("sound");
            assert_eq!(labels, of(rows(&format!("\"{id}\"")).as_bytes()).expect("sound"), "{id}");
        }
        let pair = of(b"{\"a\":7,\"b\":8}").expect("sound");
        assert_eq!(pair.truth, Truth::Listed(vec![(0, 1)]));
        assert!(of(rows("[]").as_bytes()).is_err());
    }

    /// Rows as tables are written: a page without a label counted as having one, and a whole number
    /// stored as a float as another id.
    #[test]
    fn labels_from_tables() {
        let rows = "{\"url\":7.0,\"label\":1}\n{\"url\":\"x\",\"label\":null}\n\
                    {\"url\":\"y\",\"label\":\"\"}\n{\"url\":\"z\",\"label\":\"\"}";
        let labels = of(rows.as_bytes()).expect("sound");
        assert_eq!(labels, Labels { rows: 4, ..of(b"{\"url\":7,\"label\":1}").expect("sound") });
        let judged = of(b"{\"a\":1,\"b\":2,\"same\":1}\n{\"a\":1,\"b\":3,\"same\":0.0}");
        let expected = Truth::Judged(vec![(0, 1, true), (0, 2, false)]);
        assert_eq!(judged.expect("sound").truth, expected);
    }

    /// A pair is the same in either order and counts once.
    #[test]
    fn pairs_are_unordered() {
        let listed =
            of(b"{\"a\":\"p\",\"b\":\"q\"}\n{\"a\":\"q\",\"b\":\"p\"}\n{\"a\":\"r\",\"b\":\"p\"}")
                .expect("sound");
        assert_eq!(listed.truth, Truth::Listed(vec![(0, 1), (0, 2)]));
        let judged = of(
            b"{\"a\":\"q\",\"b\":\"p\",\"same\":true}\n{\"a\":\"r\",\"b\":\"p\",\"same\":false}",
        )
        .expect("sound");
        assert_eq!(judged.truth, Truth::Judged(vec![(0, 1, true), (1, 2, false)]));
    }

    /// An answer about the texts that two pages have now contradicted the one about the texts that
    /// they had before. A row about other contents takes the place of the earlier one, in either
    /// order of the pages.
    #[test]
    fn rows_about_other_texts_replace() {
        let row = |a: &str, b: &str, same: bool, contents: [u64; 2]| {
            let contents = contents.map(|n| Id { high: n, low: n }.to_string());
            serde_json::json!({ "a": a, "b": b, "same": same, "contents": contents }).to_string()
        };
        let first = row("p", "q", true, [1, 2]);
        let labels = of([&*first, &row("q", "p", false, [3, 1])].join("\n").as_bytes());
        let labels = labels.expect("sound");
        assert_eq!(labels.truth, Truth::Judged(vec![(0, 1, false)]));
        let [one, three] = [1, 3].map(|n| Id { high: n, low: n });
        assert_eq!(labels.contents, BTreeMap::from([((0, 1), [one, three])]));
        let error = of([&*first, &row("q", "p", false, [2, 1])].join("\n").as_bytes());
        assert!(error.expect_err("the same texts").to_string().contains("line 2: the opposite"));
        let other =
            of(b"{\"a\":\"p\",\"b\":\"q\",\"same\":true,\"contents\":\"two\"}").expect("sound");
        assert!(other.contents.is_empty());
    }

    /// The kind of a pair is that of any of its rows, and kinds are in the order of the file.
    #[test]
    fn kinds_of_pairs() {
        let labels = of(b"{\"a\":\"q\",\"b\":\"p\",\"kind\":\"z\"}\n{\"a\":\"p\",\"b\":\"q\"}\n\
                          {\"a\":\"p\",\"b\":\"r\",\"kind\":\"y\"}\n{\"a\":\"q\",\"b\":\"r\",\"kind\":\"z\"}")
        .expect("sound");
        assert_eq!(labels.kinds, ["z", "y"]);
        assert_eq!(labels.of_kind, [(0, 1, 0), (0, 2, 0), (1, 2, 1)]);
    }

    /// A kind that is a number was refused, also in rows that have no kind.
    #[test]
    fn kinds_that_are_numbers() {
        let labels = of(b"{\"url\":\"p\",\"label\":1,\"kind\":[3]}").expect("sound");
        assert!(labels.kinds.is_empty());
        assert_eq!(of(b"{\"a\":\"p\",\"b\":\"q\",\"kind\":3}").expect("sound").kinds, ["3"]);
    }

    /// A line of no form, or a line that contradicts another, is an error of data that names the
    /// line.
    #[test]
    fn wrong_lines_are_named() {
        let good = "{\"a\":\"p\",\"b\":\"q\",\"same\":true,\"kind\":\"k\"}\n";
        for (line, expected) in [
            ("{\"a\":\"p\"", "line 2: no row of labels"),
            ("[1]", "line 2: no row of labels"),
            ("{\"a\":\"p\"}", "line 2: neither"),
            ("{\"a\":\"p\",\"b\":\"q\"}", "line 2: says a and b where line 1 says a, b and same"),
            (
                "{\"url\":\"p\",\"label\":\"q\"}",
                "line 2: says url and label where line 1 says a, b and same",
            ),
            ("{\"a\":\"p\",\"b\":\" p \",\"same\":true}", "line 2: a page and itself"),
            ("{\"a\":\"q\",\"b\":\"p\",\"same\":false}", "line 2: the opposite"),
            ("{\"a\":\"\",\"b\":\"p\",\"same\":false}", "line 2: a URL"),
            ("{\"a\":\"q\",\"b\":\"p\",\"same\":true,\"kind\":\"l\"}", "line 2: another kind"),
            ("{\"a\":\"p\",\"b\":\"q\",\"same\":\"yes\"}", "line 2: no row of labels"),
        ] {
            let error = of(format!("{good}{line}\n").as_bytes()).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.kind(), Kind::Data);
        }
        let twice = "{\"url\":\"p\",\"label\":\"q\"}\n{\"url\":\"p\",\"label\":\"r\"}\n";
        assert!(
            of(twice.as_bytes())
                .expect_err("two labels")
                .to_string()
                .contains("line 2: another label for p")
        );
        let long = format!("{}\"", "x".repeat(LINE_BYTES_MAX + STEP_BYTES));
        assert!(of(long.as_bytes()).expect_err("long").to_string().contains("line 1: more than"));
        assert!(of(b"\n \n").expect_err("nothing").to_string().contains("no rows"));
        let no_labels = of(b"{\"url\":\"p\",\"label\":null}").expect_err("nothing").to_string();
        assert!(no_labels.contains("no row has a label"), "{no_labels}");
        assert_eq!(
            read(Path::new("gone.jsonl"), Naming::Url).expect_err("gone").kind(),
            Kind::NoInput
        );
    }

    proptest::proptest! {
        /// Any bytes give labels or an error.
        #[test]
        fn hostile_bytes(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            if let Err(error) = of(&bytes) {
                proptest::prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
