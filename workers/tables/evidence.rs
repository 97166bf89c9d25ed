//! Reads evidence: the facts about a content by which its pairs are decided.
//!
//! A row is a pure function of the text and the identity configuration. So all rows of one content,
//! from any split or epoch, are equal, and any of them may be read. [`crate::visit::evidence`]
//! makes the rows.

use crate::confirm;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::column::Column;
use crate::store::damage::in_bytes;
use crate::store::lookup::{Lookup, Place};
use crate::store::table::Row;
use crate::tables::{EvidenceColumns, EvidenceRow};
use crate::text::normalize::TEXT_USED_BYTES_MAX;
use crate::text::packed;
use crate::text::sketch::Sketches;
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use zstd::bulk::Decompressor;

/// What a row of evidence says about its content, besides the content itself.
struct Facts<'a> {
    fingerprint: u64,
    chars: u32,
    keys: &'a [u8],
    sketches: &'a [u8],
    text: &'a [u8],
}

impl Facts<'_> {
    fn digest(&self, content: Id) -> u64 {
        let mut fixed = [0; 28];
        fixed[..16].copy_from_slice(&content.to_bytes());
        fixed[16..24].copy_from_slice(&self.fingerprint.to_le_bytes());
        fixed[24..].copy_from_slice(&self.chars.to_le_bytes());
        let parts = [self.keys, self.sketches, self.text];
        parts.iter().fold(xxh3_64(&fixed), |digest, part| xxh3_64_with_seed(part, digest))
    }
}

impl EvidenceRow {
    /// A row with its digest and diff +1.
    pub fn new(
        content: Id,
        fingerprint: u64,
        chars: u32,
        keys: Box<[u8]>,
        sketches: Box<[u8]>,
        text: Box<[u8]>,
    ) -> EvidenceRow {
        let digest = Facts { fingerprint, chars, keys: &keys, sketches: &sketches, text: &text }
            .digest(content);
        EvidenceRow { content, fingerprint, chars, keys, sketches, text, digest, diff: 1 }
    }

    /// Whether its digest equals the digest of its values.
    pub fn is_sound(&self) -> bool {
        let EvidenceRow { fingerprint, chars, keys, sketches, text, .. } = self;
        let facts = Facts { fingerprint: *fingerprint, chars: *chars, keys, sketches, text };
        facts.digest(self.content) == self.digest
    }

    /// Its approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<EvidenceRow>() + self.keys.len() + self.sketches.len() + self.text.len()
    }
}

/// The size of a key in [`EvidenceRow::keys`].
pub const KEY_BYTES: usize = 9;
/// The first byte of an uncompressed text.
pub const RAW: u8 = 0;
/// The first byte of a text that is a zstd frame of level 1.
pub const ZSTD: u8 = 1;
/// The first byte of a text in the codes of [`packed`].
pub const CODED: u8 = 2;

/// Decodes the keys of [`EvidenceRow::keys`], each with the number of its signature. A trailing
/// part of a key is ignored.
pub fn keys(bytes: &[u8]) -> impl Iterator<Item = (u8, u64)> + '_ {
    let (keys, _) = bytes.as_chunks::<KEY_BYTES>();
    keys.iter()
        .map(|&[kind, a, b, c, d, e, f, g, h]| (kind, u64::from_le_bytes([a, b, c, d, e, f, g, h])))
}

thread_local! {
    /// Kept, because to make one takes as long as to unpack a text of 1,000 characters.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decodes the text of [`EvidenceRow::text`], or returns `None` if it is empty or damaged.
pub fn unpack_text(bytes: &[u8]) -> Option<String> {
    let (&form, rest) = bytes.split_first()?;
    let unpacked;
    let text = match form {
        RAW => rest,
        ZSTD => {
            unpacked = DECOMPRESSOR.with_borrow_mut(|decompressor| {
                let decompressor = match decompressor {
                    Some(decompressor) => decompressor,
                    None => decompressor.insert(Decompressor::new().ok()?),
                };
                decompressor.decompress(rest, TEXT_USED_BYTES_MAX).ok()
            })?;
            &unpacked
        }
        CODED => {
            unpacked = packed::unpack(rest, TEXT_USED_BYTES_MAX)?;
            &unpacked
        }
        _ => return None,
    };
    // This check and a copy take less time than `String::from_utf8`.
    simdutf8::basic::from_utf8(text).ok().map(str::to_owned)
}

/// The evidence of one content, read from the mapped columns.
pub struct Content<'a> {
    /// Its fingerprint.
    pub fingerprint: u64,
    chars: u32,
    sketches: Sketches<'a>,
    sketch_bytes: &'a [u8],
    packed: &'a [u8],
    /// The text, after its first use.
    text: OnceCell<Option<String>>,
    damaged: Cell<bool>,
}

impl<'a> Content<'a> {
    /// The evidence in row `row` of `columns`, or `None` if it is damaged.
    pub fn read(columns: &'a EvidenceColumns, row: usize) -> Option<Content<'a>> {
        let facts = Facts {
            fingerprint: columns.fingerprint.value(row),
            chars: columns.chars.value(row),
            keys: columns.keys.value(row),
            sketches: columns.sketches.value(row),
            text: columns.text.value(row),
        };
        let digest = facts.digest(Id::value(&columns.content, row));
        Content::read_again(columns, row).filter(|_| digest == columns.digest.value(row))
    }

    /// As [`Content::read`], for a row that was read before and was not damaged.
    pub fn read_again(columns: &'a EvidenceColumns, row: usize) -> Option<Content<'a>> {
        Some(Content {
            fingerprint: columns.fingerprint.value(row),
            chars: columns.chars.value(row),
            sketches: Sketches::parse(columns.sketches.value(row))?,
            sketch_bytes: columns.sketches.value(row),
            packed: columns.text.value(row),
            text: OnceCell::new(),
            damaged: Cell::new(false),
        })
    }

    /// A content whose evidence is not kept, with what is known of it nevertheless.
    pub fn bare(fingerprint: u64, chars: u32) -> Content<'a> {
        let (text, damaged) = (OnceCell::new(), Cell::new(false));
        Content {
            fingerprint,
            chars,
            sketches: Sketches::default(),
            sketch_bytes: &[],
            packed: &[],
            text,
            damaged,
        }
    }

    /// The same without the text.
    pub fn sketched(&self) -> Sketched {
        Sketched {
            fingerprint: self.fingerprint,
            chars: self.chars,
            sketches: self.sketch_bytes.into(),
        }
    }

    /// Whether a text that was needed could not be read. A decision without it is not valid.
    pub fn is_damaged(&self) -> bool {
        self.damaged.get()
    }

    /// The text of this content, whose digest is `id`; `None` if it is not kept.
    ///
    /// # Errors
    ///
    /// `Io` if the text is kept and cannot be read.
    pub fn kept_text(&self, id: Id) -> Result<Option<Cow<'_, str>>> {
        let text = confirm::Evidence::text(self);
        if self.is_damaged() { Err(damaged(id, "is damaged")) } else { Ok(text) }
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

/// What is known of a content without its text, copied into one place in memory, because a row in a
/// segment is spread over columns.
pub struct Sketched {
    /// Its fingerprint.
    pub fingerprint: u64,
    chars: u32,
    /// The sketches, as in [`EvidenceRow`].
    pub sketches: Box<[u8]>,
}

impl confirm::Evidence for Sketched {
    fn chars(&self) -> u32 {
        self.chars
    }

    fn sketches(&self) -> Sketches<'_> {
        Sketches::parse(&self.sketches).unwrap_or_default()
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        None
    }
}

/// The content, the diff and the keys, each with the number of its signature, in row `row` of
/// `columns`.
pub fn row_keys(
    columns: &EvidenceColumns,
    row: usize,
) -> (Id, i8, impl Iterator<Item = (u8, u64)> + '_) {
    (Id::value(&columns.content, row), columns.diff.value(row), keys(columns.keys.value(row)))
}

/// Evidence by content. A live content whose evidence is missing is damage.
pub struct StoredEvidence {
    rows: Lookup<EvidenceRow>,
}

impl StoredEvidence {
    /// The evidence in `rows`. Retracted rows serve as well as others, because all rows of a
    /// content say the same.
    pub fn new(rows: Lookup<EvidenceRow>) -> StoredEvidence {
        StoredEvidence { rows }
    }

    /// The positions of the evidence of the ascending `contents`.
    pub fn places(&self, contents: &[Id]) -> Result<Vec<Place>> {
        let places = self.rows.places(contents).into_iter().zip(contents);
        places
            .map(|(place, content)| place.ok_or_else(|| damaged(*content, "is missing")))
            .collect()
    }

    /// The evidence of `content` at `place`.
    pub fn read(&self, content: Id, place: Place) -> Result<Content<'_>> {
        let (columns, row) = self.rows.row(place)?;
        Content::read(columns, row).ok_or_else(|| damaged(content, "is damaged"))
    }

    /// As [`StoredEvidence::read`], for evidence that was read before. Its digest is not compared
    /// again, which would take as long as to refuse a pair by its sketches.
    pub fn read_again(&self, content: Id, place: Place) -> Result<Content<'_>> {
        let (columns, row) = self.rows.row(place)?;
        Content::read_again(columns, row).ok_or_else(|| damaged(content, "is damaged"))
    }

    /// Whether the evidence of each of the ascending `contents` can be read.
    pub fn readable(&self, contents: &[Id]) -> Vec<bool> {
        let is_readable = |(place, content): (Option<Place>, &Id)| {
            place.is_some_and(|at| self.read(*content, at).is_ok())
        };
        self.rows.places(contents).into_iter().zip(contents).map(is_readable).collect()
    }

    /// The row at `place`, with diff +1.
    pub fn row(&self, place: Place) -> Result<EvidenceRow> {
        let (columns, row) = self.rows.row(place)?;
        let row = EvidenceRow { diff: 1, ..EvidenceRow::row(columns, row) };
        if row.is_sound() { Ok(row) } else { Err(damaged(row.content, "is damaged")) }
    }
}

/// The error for evidence that is missing or damaged.
pub fn damaged(content: Id, what: &str) -> Error {
    in_bytes("table evidence", format_args!("what is known of content {content} {what}"))
}
