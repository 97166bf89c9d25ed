//! The digests of a segment's batches, by which damage is found where it is read.
//!
//! The blake3 of a whole segment costs as much as reading it, which an epoch that needs a few rows
//! should not. So the footer has an xxh3 of each batch, which is compared when the batch is first
//! read, and one of the first keys of all batches, which is compared when the segment is opened:
//! searches choose a batch by these keys. They find faults of disks, not forgeries.

use crate::store::column::Column;
use crate::store::table::Row;
use xxhash_rust::xxh3::xxh3_64;

/// The name of the digests in the footer.
pub(in crate::store) const BATCH_DIGESTS: &str = "batch_digests";

/// The digests of the batches of a segment, and the first key of each.
pub(in crate::store) struct BatchDigests<R: Row> {
    digests: Vec<u64>,
    firsts: Vec<R::Key>,
}

impl<R: Row> Default for BatchDigests<R> {
    fn default() -> Self {
        BatchDigests { digests: Vec::new(), firsts: Vec::new() }
    }
}

impl<R: Row> BatchDigests<R> {
    /// Adds the next batch.
    pub(in crate::store) fn push(&mut self, digest: u64, first: Option<R::Key>) {
        self.digests.push(digest);
        self.firsts.extend(first);
    }

    /// The first key of each batch.
    pub(in crate::store) fn firsts(&self) -> &[R::Key] {
        &self.firsts
    }

    /// The text in the footer: 16 hex digits for each batch, then those of the first keys.
    pub(in crate::store) fn to_text(&self) -> String {
        let all = self.digests.iter().copied().chain([of_keys(&self.firsts)]);
        all.map(|digest| format!("{digest:016x}")).collect()
    }
}

/// The digests in `text`, and the first keys' at its end. None if it is damaged.
pub(in crate::store) fn parse(text: &str) -> Option<(Vec<u64>, u64)> {
    let (digits, []) = text.as_bytes().as_chunks::<16>() else { return None };
    let number = |digits: &[u8; 16]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let mut digests: Vec<u64> = digits.iter().map(number).collect::<Option<_>>()?;
    let firsts = digests.pop()?;
    Some((digests, firsts))
}

/// The digest of the first keys of all batches.
pub(in crate::store) fn of_keys<K: Column>(keys: &[K]) -> u64 {
    let mut bytes = Vec::new();
    keys.iter().for_each(|key| key.bytes(&mut bytes));
    xxh3_64(&bytes)
}
