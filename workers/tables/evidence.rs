//! Reads evidence: what the store keeps of a content to decide by.
//!
//! A row is a pure function of the text and the identity configuration, so the rows that several splits or epochs have of one
//! content are equal, and any of them may be read. [`crate::fold::evidence`] makes the rows.

use crate::confirm;
use crate::document::Id;
use crate::error::{Error, Kind, Result};
use crate::job::contents::TEXT_BYTES_MAX;
use crate::store::column::Column;
use crate::store::lookup::{Lookup, Place};
use crate::store::table::Row;
use crate::tables::{EvidenceColumns, EvidenceRow};
use crate::text::sketch::Sketches;
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

impl EvidenceRow {
    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<EvidenceRow>() + self.keys.len() + self.sketches.len() + self.text.len()
    }
}

/// Bytes of a key in [`EvidenceRow::keys`].
pub const KEY_BYTES: usize = 9;
/// The first byte of a text that is kept as it is.
pub const RAW: u8 = 0;
/// The first byte of a text that is kept as a frame of zstd, level 1.
pub const ZSTD: u8 = 1;
/// The signatures' numbers and the keys that `bytes`, as [`EvidenceRow::keys`] has them, stand for. What is no whole key is
/// left out.
pub fn keys(bytes: &[u8]) -> impl Iterator<Item = (u8, u64)> + '_ {
    let (keys, _) = bytes.as_chunks::<KEY_BYTES>();
    keys.iter().map(|&[kind, a, b, c, d, e, f, g, h]| (kind, u64::from_le_bytes([a, b, c, d, e, f, g, h])))
}

/// The text that `bytes`, as [`EvidenceRow::text`] has them and not empty, stand for; none if they are damaged.
pub fn unpack_text(bytes: &[u8]) -> Option<String> {
    let (&form, packed) = bytes.split_first()?;
    let text = match form {
        RAW => packed.to_vec(),
        ZSTD => zstd::bulk::decompress(packed, TEXT_BYTES_MAX).ok()?,
        _ => return None,
    };
    String::from_utf8(text).ok()
}

/// Evidence where it lies, of one content.
pub struct Content<'a> {
    /// Its fingerprint.
    pub fingerprint: u64,
    chars: u32,
    sketches: Sketches<'a>,
    packed: &'a [u8],
    /// The text, once it was asked for.
    text: OnceCell<Option<String>>,
    damaged: Cell<bool>,
}

impl<'a> Content<'a> {
    /// What `row` of the mapped `columns` says; none if it is damaged.
    pub fn read(columns: &'a EvidenceColumns, row: usize) -> Option<Content<'a>> {
        Some(Content {
            fingerprint: columns.fingerprint.value(row),
            chars: columns.chars.value(row),
            sketches: Sketches::parse(columns.sketches.value(row))?,
            packed: columns.text.value(row),
            text: OnceCell::new(),
            damaged: Cell::new(false),
        })
    }

    /// Whether a text that was asked for could not be read: what was decided without it is void.
    pub fn is_damaged(&self) -> bool {
        self.damaged.get()
    }
}

impl confirm::Evidence for Content<'_> {
    fn chars(&self) -> u32 {
        self.chars
    }

    fn sketches(&self) -> Sketches<'_> {
        self.sketches
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        let unpack = || {
            let text = if self.packed.is_empty() { None } else { Some(unpack_text(self.packed)) };
            self.damaged.set(text == Some(None));
            text.flatten()
        };
        self.text.get_or_init(unpack).as_deref().map(Cow::Borrowed)
    }
}

/// The signatures' numbers and keys of row `row` of the mapped `columns`, whose content and diff come first.
pub fn row_keys(columns: &EvidenceColumns, row: usize) -> (Id, i8, impl Iterator<Item = (u8, u64)> + '_) {
    (Id::value(&columns.content, row), columns.diff.value(row), keys(columns.keys.value(row)))
}

/// Evidence in which contents are looked up. It is damage if one that lives is not there.
pub struct Archive {
    rows: Lookup<EvidenceRow>,
}

impl Archive {
    /// An archive of `rows`. Those that are taken back count as well as others: the same content has the same evidence.
    pub fn new(rows: Lookup<EvidenceRow>) -> Archive {
        Archive { rows }
    }

    /// Where the evidence of `contents`, which ascend, lies.
    pub fn places(&self, contents: &[Id]) -> Result<Vec<Place>> {
        let places = self.rows.places(contents).into_iter().zip(contents);
        places.map(|(place, content)| place.ok_or_else(|| damaged(*content, "is missing"))).collect()
    }

    /// The evidence of `content` at `place`.
    pub fn read(&self, content: Id, place: Place) -> Result<Content<'_>> {
        let (columns, row) = self.rows.row(place)?;
        Content::read(columns, row).ok_or_else(|| damaged(content, "is damaged"))
    }

    /// Which of `contents`, which ascend, it can say something of.
    pub fn known(&self, contents: &[Id]) -> Vec<bool> {
        let known = |(place, content): (Option<Place>, &Id)| place.is_some_and(|at| self.read(*content, at).is_ok());
        self.rows.places(contents).into_iter().zip(contents).map(known).collect()
    }

    /// The row at `place`, as if it was added.
    pub fn row(&self, place: Place) -> Result<EvidenceRow> {
        let (columns, row) = self.rows.row(place)?;
        Ok(EvidenceRow { diff: 1, ..EvidenceRow::row(columns, row) })
    }
}

/// What is said where evidence is not as it must be.
pub fn damaged(content: Id, what: &str) -> Error {
    Error::new(
        Kind::Io,
        format!("table evidence: what is known of content {content} {what}; run `pagefold verify --full`"),
    )
}
