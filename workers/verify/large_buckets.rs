//! Crowds: in come the tables of groups and keys, read through, out go what the pivot rule leaves unexamined in all of them and the largest bucket of
//! each signature: the slow twin of what epochs count, and what a person asks for.

use crate::candidates::bands::Bands;
use crate::candidates::pivots::{BySignature, Unexamined, name, unexamined};
use crate::document::Id;
use crate::error::Result;
use crate::fold::contents::ContentPageRow;
use crate::fold::groups::GroupRow;
use crate::fold::keys::KeyRow;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::pages::UrlRow;
use crate::text::signatures::SignatureKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest bucket of a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Largest {
    /// Its key, SimHash's the fingerprint, in hex.
    pub key: String,
    /// Its contents.
    pub contents: u64,
    /// The URL of a page of its first content.
    pub url: String,
}

/// Rows of a table that are held at once, for each of its segments.
const PORTION_ROWS: usize = 1 << 16;

/// The largest bucket so far: its key, size and first content.
type Found = Option<(u64, usize, Id)>;

/// Reads `groups` and `keys` through: what is unexamined and, of each signature that leaves something, the largest bucket, ties to
/// the one that comes first.
fn scan(groups: &Table<GroupRow>, keys: &Table<KeyRow>) -> (BySignature, BTreeMap<u8, (u64, usize, Id)>) {
    let mut sums = [Unexamined::default(); 1 + SignatureKind::ALL.len()];
    let mut largest: [Found; 1 + SignatureKind::ALL.len()] = Default::default();
    let mut see = |signature: u8, key: u64, contents: usize, first: Id| {
        let (Some(sum), Some(largest)) =
            (sums.get_mut(usize::from(signature)), largest.get_mut(usize::from(signature)))
        else {
            return;
        };
        let Unexamined { buckets, pairs } = unexamined(contents);
        (sum.buckets, sum.pairs) = (sum.buckets + buckets, sum.pairs + pairs);
        if buckets > 0 && largest.is_none_or(|(_, most, _)| contents > most) {
            *largest = Some((key, contents, first));
        }
    };
    for rows in groups.portions(PORTION_ROWS) {
        rows.chunk_by(|a, b| a.key == b.key).for_each(|group| see(0, group[0].key, group.len(), group[0].content));
    }
    for rows in keys.portions(PORTION_ROWS) {
        let buckets = rows.chunk_by(|a, b| (a.key, a.kind) == (b.key, b.kind));
        buckets.for_each(|bucket| see(bucket[0].kind, bucket[0].key, bucket.len(), bucket[0].content));
    }
    let sums = (0u8..).zip(sums).filter(|(_, sum)| *sum != Unexamined::default());
    let sums = sums.map(|(signature, sum)| (name(signature).to_owned(), sum)).collect();
    (sums, (0u8..).zip(largest).filter_map(|(signature, found)| Some((signature, found?))).collect())
}

/// What `groups` and `keys`, read through, leave unexamined.
pub fn counted(groups: &Table<GroupRow>, keys: &Table<KeyRow>) -> BySignature {
    scan(groups, keys).0
}

/// What the tables of `head`, read through, leave unexamined, and the largest bucket of each signature that leaves something.
///
/// # Errors
///
/// `Io` if a segment cannot be mapped.
pub fn report(store: &Store, head: &Head, bands: &Bands) -> Result<(BySignature, BTreeMap<String, Largest>)> {
    fn open<R: Row>(store: &Store, head: &Head) -> Result<Table<R>> {
        Table::open(&store.data().join(R::TABLE), head.manifest.tables.get(R::TABLE))
    }
    let (sums, found) = scan(&open(store, head)?, &open(store, head)?);
    let (pages, urls): (Table<ContentPageRow>, Table<UrlRow>) = (open(store, head)?, open(store, head)?);
    let url = |content: Id| {
        let page = pages.matching(&[content]).into_iter().next();
        let row = page.and_then(|page| urls.matching(&[page.doc]).into_iter().next());
        row.map(|row| String::from_utf8_lossy(&row.url).into_owned()).unwrap_or_default()
    };
    let largest = found.into_iter().map(|(signature, (key, contents, first))| {
        let key = if signature == 0 { bands.unkey(0, key) } else { key };
        (name(signature).to_owned(), Largest { key: format!("{key:016x}"), contents: contents as u64, url: url(first) })
    });
    Ok((sums, largest.collect()))
}
