//! Checks `evidence` against `contents`, and `keys` against `evidence`.
//!
//! Pages are not read again. So evidence is checked only as far as it contradicts its content or
//! itself.

use crate::id::{Id, hex};
use crate::job::Job;
use crate::store::runs::Table;
use crate::tables::evidence::{self, KEY_BYTES, unpack_text};
use crate::tables::mapped::Mapped;
use crate::tables::{ContentRow, EvidenceRow, KeyRow};
use crate::text::signatures::SignatureKind;
use crate::text::sketch::Sketches;
use crate::verify::findings::Check;
use crate::verify::live::{Live, joined, missing, portions};

/// The first thing that is wrong with the evidence of a content.
fn wrong(content: &ContentRow, row: &EvidenceRow) -> Option<&'static str> {
    let (keys, rest) = row.keys.as_chunks::<KEY_BYTES>();
    let number = |key: &[u8; KEY_BYTES]| SignatureKind::of_number(key[0]);
    let pairs: Vec<(u8, u64)> = evidence::keys(&row.keys).collect();
    let text = if row.text.is_empty() { None } else { Some(unpack_text(&row.text)) };
    let is_of = |text: &String| {
        Id::of(text.as_bytes()) == row.content && text.chars().count() == row.chars as usize
    };
    match () {
        () if !row.is_sound() => Some("of another digest"),
        () if row.fingerprint != content.fingerprint => Some("of another fingerprint"),
        () if row.chars != content.chars => Some("of another length"),
        () if Sketches::parse(&row.sketches).is_none() => Some("its sketches cannot be read"),
        () if !rest.is_empty() || keys.iter().any(|key| number(key).is_none()) => {
            Some("its keys cannot be read")
        }
        () if !pairs.is_sorted_by(|a, b| a < b) => Some("its keys are out of order"),
        () if text.as_ref().is_some_and(|text| text.is_none()) => Some("its text cannot be read"),
        () if text.flatten().is_some_and(|text| !is_of(&text)) => {
            Some("the text of another content")
        }
        () => None,
    }
}

/// `evidence` has exactly the comparable contents, or nothing if the job keeps no evidence.
pub fn evidence(tables: &Mapped, texts: &Table<EvidenceRow>, job: &Job) -> Check {
    let mut check = Check::new("evidence");
    let is_kept = |row: &ContentRow| job.contents.evidence && row.is_comparable();
    let comparable = Live::of(&tables.contents).filter(is_kept);
    for sides in joined(comparable, Live::of(texts), |row| row.content, |row| row.content) {
        let (content, what) = match sides {
            (Some(content), Some(row)) => match wrong(&content, &row) {
                Some(what) => (row.content, what),
                None => continue,
            },
            (Some(content), None) => (content.content, "missing, though the content is compared"),
            (None, Some(row)) => (row.content, "of no live content that is compared"),
            (None, None) => continue,
        };
        check.find::<EvidenceRow>(content, what);
    }
    check
}

/// `keys` has exactly the keys that `evidence` has.
pub fn keys(tables: &Mapped, texts: &Table<EvidenceRow>) -> Check {
    let mut check = Check::new("keys");
    let name = |key: u64, kind: u8, content: Id| format!("{} {kind} {content}", hex(key));
    let expected = Live::of(texts).flat_map(|row| {
        let keys: Vec<(u64, u8, Id)> =
            evidence::keys(&row.keys).map(|(kind, key)| (key, kind, row.content)).collect();
        keys
    });
    missing(
        &tables.keys,
        expected,
        |row| (row.key, row.kind, row.content),
        |(key, kind, content)| {
            check.find::<KeyRow>(
                name(key, kind, content),
                "missing, though the content has that key",
            );
        },
    );
    for portion in portions(Live::of(&tables.keys).map(|row| (row.content, row.kind, row.key))) {
        let mut evidence = Live::of(texts);
        for rows in portion.chunk_by(|a, b| a.0 == b.0) {
            let stored = evidence.find(|row| row.content.cmp(&rows[0].0));
            let stored: Vec<(u8, u64)> =
                stored.iter().flat_map(|row| evidence::keys(&row.keys)).collect();
            for &(content, kind, key) in rows {
                if stored.binary_search(&(kind, key)).is_err() {
                    check.find::<KeyRow>(name(key, kind, content), "the content has no such key");
                }
            }
        }
    }
    check
}
