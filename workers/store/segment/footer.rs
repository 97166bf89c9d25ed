//! What the footer of a segment says of its batches: their digests and their first keys.
//!
//! To check the blake3 of a segment means to read all of it, which costs too much for an epoch that
//! needs a few rows. So the footer has an xxh3 of each batch, which is compared when the batch is
//! first read. Searches choose a batch by its first key. All first keys are in the footer, so that
//! opening a segment reads nothing else. They have an xxh3 of their own, which is compared at
//! opening. The digests find faults of disks, not forgeries.

use crate::store::column::Key;
use crate::store::table::Row;
use std::fmt::Write;
use xxhash_rust::xxh3::xxh3_64;

/// The name of the digests in the footer.
pub(in crate::store) const BATCH_DIGESTS: &str = "batch_digests";
/// The name of the first keys in the footer.
pub(in crate::store) const FIRST_KEYS: &str = "first_keys";

/// What the footer says of the batches of a segment.
pub(in crate::store) struct Batches<R: Row> {
    digests: Vec<u64>,
    firsts: Vec<R::Key>,
}

impl<R: Row> Default for Batches<R> {
    fn default() -> Self {
        Batches { digests: Vec::new(), firsts: Vec::new() }
    }
}

impl<R: Row> Batches<R> {
    /// Adds the next batch.
    pub(in crate::store) fn push(&mut self, digest: u64, first: Option<R::Key>) {
        self.digests.push(digest);
        self.firsts.extend(first);
    }

    /// The first key of each batch.
    pub(in crate::store) fn firsts(&self) -> &[R::Key] {
        &self.firsts
    }

    /// The two entries of the footer. One has 16 hex digits for each batch and 16 for the first
    /// keys; the other has the canonical bytes of the first keys in hex.
    pub(in crate::store) fn to_texts(&self) -> [(&'static str, String); 2] {
        let all = self.digests.iter().copied().chain([of_keys(&self.firsts)]);
        let digests = all.map(|digest| format!("{digest:016x}")).collect();
        let mut firsts = String::new();
        for byte in canonical(&self.firsts) {
            let _ = write!(firsts, "{byte:02x}");
        }
        [(BATCH_DIGESTS, digests), (FIRST_KEYS, firsts)]
    }
}

/// The digests of the batches in `text`, and the digest of the first keys at its end. `None` if it
/// is damaged.
pub(in crate::store) fn parse_digests(text: &str) -> Option<(Vec<u64>, u64)> {
    let (digits, []) = text.as_bytes().as_chunks::<16>() else { return None };
    let number =
        |digits: &[u8; 16]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let mut digests: Vec<u64> = digits.iter().map(number).collect::<Option<_>>()?;
    let firsts = digests.pop()?;
    Some((digests, firsts))
}

/// The first keys in `text`. `None` if it is damaged.
pub(in crate::store) fn parse_firsts<K: Key>(text: &str) -> Option<Vec<K>> {
    let (digits, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let byte = |digits: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    K::parse_all(&digits.iter().map(byte).collect::<Option<Vec<u8>>>()?)
}

/// The digest of the first keys of all batches.
pub(in crate::store) fn of_keys<K: Key>(keys: &[K]) -> u64 {
    xxh3_64(&canonical(keys))
}

/// The canonical bytes of `keys`, one after the other.
fn canonical<K: Key>(keys: &[K]) -> Vec<u8> {
    let mut bytes = Vec::new();
    keys.iter().for_each(|key| key.bytes(&mut bytes));
    bytes
}
