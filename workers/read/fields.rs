//! Names the fields of a row that hold the text, the date and so on, and says what makes the key of
//! its page.
//!
//! A field is named by its path: `metadata.url` is the field `url` in the object `metadata`. A
//! field whose own name has the dot comes first. A field that the job leaves at its default also
//! has the names that well-known corpora give it; the first of them that a row has is read.

use crate::page_url::Naming;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Which fields of a JSON line, or columns of a Parquet file, hold what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fields {
    /// The fields that make up the URL, joined with `/`.
    pub url: Vec<String>,
    /// The page's text.
    pub text: String,
    /// The page's HTML, used where there is no text.
    pub html: String,
    /// The date of the visit.
    pub date: String,
    /// Whether the page is gone: `true` removes it. An empty name means no field.
    pub deleted: String,
    /// What to do: `remove` removes the page. An empty name means no field.
    pub op: String,
    /// A number by which `[keep]` may prefer pages. Default: empty, which means no field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub score: String,
}

impl Default for Fields {
    fn default() -> Fields {
        Fields {
            url: vec!["url".into()],
            text: "text".into(),
            html: "html".into(),
            date: "date".into(),
            deleted: "deleted".into(),
            op: "op".into(),
            score: String::new(),
        }
    }
}

/// What makes the key of a page that is a row. In an archive the key is always the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum PageKey {
    /// The URL. If several rows have one URL, the latest is the page.
    #[default]
    Url,
    /// The row itself: every row is a page.
    Row,
    /// The value of this field, as it is.
    Field(String),
}

impl PageKey {
    /// Whether keys are the job's own, and no URLs in canonical form.
    pub fn is_own(&self) -> bool {
        *self != PageKey::Url
    }

    /// What names a page by this key.
    pub fn naming(&self) -> Naming {
        if self.is_own() { Naming::Key } else { Naming::Url }
    }
}

impl From<String> for PageKey {
    fn from(key: String) -> PageKey {
        match key.as_str() {
            "url" => PageKey::Url,
            "row" => PageKey::Row,
            _ => PageKey::Field(key),
        }
    }
}

impl From<PageKey> for String {
    fn from(key: PageKey) -> String {
        key.to_string()
    }
}

impl fmt::Display for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PageKey::Url => "url",
            PageKey::Row => "row",
            PageKey::Field(name) => name,
        })
    }
}

/// Other names of fields at their default: those of datatrove, dolma, OSCAR, RedPajama and C4. The
/// second text is the note that counts how often the name was taken.
const OTHER_URLS: [(&str, &str); 4] = [
    ("metadata.url", "url_in_metadata.url"),
    ("meta.url", "url_in_meta.url"),
    ("warc_headers.warc-target-uri", "url_in_warc_headers.warc-target-uri"),
    ("meta.warc_headers.warc-target-uri", "url_in_meta.warc_headers.warc-target-uri"),
];
const OTHER_TEXTS: [(&str, &str); 2] =
    [("content", "text_in_content"), ("raw_content", "text_in_raw_content")];
const OTHER_DATES: [(&str, &str); 7] = [
    ("metadata.date", "date_in_metadata.date"),
    ("created", "date_in_created"),
    ("timestamp", "date_in_timestamp"),
    ("metadata.timestamp", "date_in_metadata.timestamp"),
    ("date_download", "date_in_date_download"),
    ("warc_headers.warc-date", "date_in_warc_headers.warc-date"),
    ("meta.warc_headers.warc-date", "date_in_meta.warc_headers.warc-date"),
];

/// What a field is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The part of this number of the page's key.
    Key(usize),
    /// The text.
    Text,
    /// The HTML.
    Html,
    /// The date.
    Date,
    /// Whether the page is gone.
    Deleted,
    /// What to do.
    Op,
    /// The score.
    Score,
}

impl Use {
    /// The note of a row whose column of the default name holds something else.
    pub fn unfit(self) -> &'static str {
        match self {
            Use::Key(_) => "url_unfit",
            Use::Text => "text_unfit",
            Use::Html => "html_unfit",
            Use::Date => "date_unfit",
            Use::Deleted => "deleted_unfit",
            Use::Op => "op_unfit",
            Use::Score => "score_unfit",
        }
    }
}

/// The note of a row that removes its page by the field `deleted`.
pub const REMOVED_BY_DELETED: &str = "removed_by_deleted";
/// The note of a row that removes its page by the field `op`.
pub const REMOVED_BY_OP: &str = "removed_by_op";

/// The fields that removed pages, from the notes `noted`: the job's name of each field, and the
/// number of rows.
pub fn removers<'f>(fields: &'f Fields, noted: &BTreeMap<String, u64>) -> Vec<(&'f str, u64)> {
    let of = [(REMOVED_BY_DELETED, &fields.deleted), (REMOVED_BY_OP, &fields.op)];
    of.iter().filter_map(|(word, name)| Some((name.as_str(), *noted.get(*word)?))).collect()
}

/// A name that a reader looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its path.
    pub path: String,
    /// What it is for. Names for the same use follow one another, the preferred first.
    pub is_for: Use,
    /// The note of a name that is not the job's.
    pub note: Option<&'static str>,
    /// Whether the job leaves the field at its default. Then a column with this name may hold
    /// anything.
    pub is_default: bool,
}

/// All names that a reader looks for, and what makes a page's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The names.
    pub names: Vec<Name>,
    /// What makes the key.
    pub key: PageKey,
    /// With [`PageKey::Row`], the part of the key before the place of the row.
    pub file: String,
}

impl Wanted {
    /// The names that `fields` and `key` look for in the file whose digest is `file`.
    pub fn new(fields: &Fields, key: &PageKey, file: &str) -> Wanted {
        let default = Fields::default();
        let Fields { url, text, html, date, deleted, op, score } = fields;
        let mut names = Vec::new();
        let mut add = |path: &str, is_for, is_default: bool, others: &[(&str, &'static str)]| {
            names.push(Name { path: path.to_owned(), is_for, note: None, is_default });
            let others = others.iter().filter(|_| is_default);
            names.extend(others.map(|&(path, note)| Name {
                path: path.to_owned(),
                is_for,
                note: Some(note),
                is_default,
            }));
        };
        match key {
            PageKey::Url => {
                let is_default = *url == default.url;
                url.iter()
                    .enumerate()
                    .for_each(|(n, part)| add(part, Use::Key(n), is_default, &OTHER_URLS));
            }
            PageKey::Row => {}
            PageKey::Field(path) => add(path, Use::Key(0), false, &[]),
        }
        add(text, Use::Text, *text == default.text, &OTHER_TEXTS);
        add(html, Use::Html, *html == default.html, &[]);
        add(date, Use::Date, *date == default.date, &OTHER_DATES);
        // A column that may say that pages are gone is not passed by, nor one that the job names as
        // the score.
        for (name, is_for) in [(deleted, Use::Deleted), (op, Use::Op), (score, Use::Score)] {
            if !name.is_empty() {
                add(name, is_for, false, &[]);
            }
        }
        // A field that the job names has only one use.
        let own: Vec<String> =
            names.iter().filter(|name| name.note.is_none()).map(|name| name.path.clone()).collect();
        names.retain(|name| name.note.is_none() || !own.contains(&name.path));
        Wanted { names, key: key.clone(), file: file.chars().take(FILE_DIGITS).collect() }
    }

    /// The key of the row at `place`, if each row is a page.
    pub fn row(&self, place: u64) -> String {
        format!("{}/{place}", self.file)
    }

    /// How many fields make up a page's key.
    pub fn parts(&self) -> usize {
        let parts = self.names.iter().filter_map(|name| match name.is_for {
            Use::Key(n) => Some(n + 1),
            _ => None,
        });
        parts.max().unwrap_or(0)
    }

    /// The ranges of names with the same use.
    pub fn uses(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let mut start = 0;
        self.names.chunk_by(|a, b| a.is_for == b.is_for).map(move |names| {
            let range = start..start + names.len();
            start = range.end;
            range
        })
    }
}

/// Whether `names` has the field `field` (`url`, `text`, `html`, `date`) under one of its default
/// names.
pub fn has(names: &[String], field: &str) -> bool {
    let wanted = Wanted::new(&Fields::default(), &PageKey::Url, "");
    let is_for = wanted.names.iter().find(|name| name.path == field).map(|name| name.is_for);
    wanted
        .names
        .iter()
        .filter(|name| Some(name.is_for) == is_for)
        .any(|name| names.contains(&name.path))
}

/// Digits of a file's digest in the keys of its rows.
const FILE_DIGITS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that the job names has only this name. At its default it has others, but none that
    /// the job uses for something else.
    #[test]
    fn names_of_a_field() {
        let paths = |fields: &Fields, key: &PageKey, wanted: Use| -> Vec<String> {
            let names = Wanted::new(fields, key, "").names.into_iter();
            names.filter(|name| name.is_for == wanted).map(|name| name.path).collect()
        };
        let default = Fields::default();
        assert_eq!(paths(&default, &PageKey::Url, Use::Text), ["text", "content", "raw_content"]);
        assert_eq!(paths(&default, &PageKey::Url, Use::Key(0))[..2], ["url", "metadata.url"]);
        assert_eq!(paths(&default, &PageKey::Row, Use::Key(0)), [""; 0]);
        assert_eq!(paths(&default, &PageKey::Field("id".into()), Use::Key(0)), ["id"]);
        let named = Fields { html: "content".into(), date: "created".into(), ..Fields::default() };
        assert_eq!(paths(&named, &PageKey::Url, Use::Text), ["text", "raw_content"]);
        assert_eq!(paths(&named, &PageKey::Url, Use::Date), ["created"]);
        for key in [PageKey::Url, PageKey::Row, PageKey::Field("metadata.id".into())] {
            assert_eq!(PageKey::from(String::from(key.clone())), key);
        }
    }
}
