//! Counts the unexamined pairs and finds the largest bucket of each signature by reading the whole
//! tables.
//!
//! Epochs update the same counts from changes only, so this is their plain form.

use crate::candidates::bands::Bands;
use crate::candidates::near::NearRule;
use crate::candidates::pivots::{BySignature, NEAR, Unexamined, name, unexamined};
use crate::error::Result;
use crate::id::{Id, hex};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::runs::Table;
use crate::tables::snapshot::Snapshot;
use crate::tables::{BandRow, ContentPageRow, GroupRow, KeyRow, UrlRow};
use crate::text::signatures::SignatureKind;
use crate::verify::live::{Live, distinct};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest bucket of a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Largest {
    /// The bucket's key in hex; for SimHash the fingerprint.
    pub key: String,
    /// The number of contents.
    pub contents: u64,
    /// The URL of a page of the first content.
    pub url: String,
}

/// The rows of a table that are held in memory at once, for each of its segments.
const PORTION_ROWS: usize = 1 << 16;

/// The largest bucket so far: its key, size and first content.
type LargestSoFar = Option<(u64, usize, Id)>;

/// The unexamined pairs, and the largest bucket of each signature that has some. Of equal buckets
/// the first is taken.
fn scan(
    groups: &Table<GroupRow>,
    keys: &Table<KeyRow>,
) -> (BySignature, BTreeMap<u8, (u64, usize, Id)>) {
    let mut sums = [Unexamined::default(); 1 + SignatureKind::ALL.len()];
    let mut largest: [LargestSoFar; 1 + SignatureKind::ALL.len()] = Default::default();
    let mut count = |signature: u8, key: u64, contents: usize, first: Id| {
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
        rows.chunk_by(|a, b| a.key == b.key)
            .for_each(|group| count(0, group[0].key, group.len(), group[0].content));
    }
    for rows in keys.portions(PORTION_ROWS) {
        let buckets = rows.chunk_by(|a, b| (a.key, a.kind) == (b.key, b.kind));
        buckets.for_each(|bucket| {
            count(bucket[0].kind, bucket[0].key, bucket.len(), bucket[0].content)
        });
    }
    let sums = (0u8..).zip(sums).filter(|(_, sum)| *sum != Unexamined::default());
    let sums = sums.map(|(signature, sum)| (name(signature).to_owned(), sum)).collect();
    (
        sums,
        (0u8..).zip(largest).filter_map(|(signature, found)| Some((signature, found?))).collect(),
    )
}

/// The unexamined pairs of whole tables. `near` is the near rule over them.
pub fn counted(groups: &Table<GroupRow>, keys: &Table<KeyRow>, near: &NearRule) -> BySignature {
    with_near(scan(groups, keys).0, near)
}

fn with_near(mut sums: BySignature, near: &NearRule) -> BySignature {
    if near.unexamined() != Unexamined::default() {
        sums.insert(name(NEAR).to_owned(), near.unexamined());
    }
    sums
}

/// The near rule over the fingerprints of `groups`, and of `bands`, the tables of the bands from 1
/// on.
pub fn near_rule(of: &Bands, groups: &Table<GroupRow>, bands: &[Table<BandRow>]) -> NearRule {
    let mut rule = NearRule::new(of.clone());
    rule.add_band(0, distinct(Live::of(groups).map(|row| row.key)));
    for (band, table) in (1..).zip(bands) {
        rule.add_band(band, distinct(Live::of(table).map(|row| row.key)));
    }
    rule
}

/// The unexamined pairs in the tables of `head`, and the largest bucket of each signature that has
/// some.
///
/// # Errors
///
/// `Io` if a segment cannot be mapped.
pub fn report(
    store: &Store,
    head: &Head,
    bands: &Bands,
) -> Result<(BySignature, BTreeMap<String, Largest>)> {
    let snapshot = Snapshot::of(store, head);
    let groups = snapshot.table()?;
    let tables: Vec<Table<BandRow>> =
        (1..bands.count()).map(|band| snapshot.band(band)).collect::<Result<_>>()?;
    let (sums, found) = scan(&groups, &snapshot.table()?);
    let sums = with_near(sums, &near_rule(bands, &groups, &tables));
    let (pages, urls): (Table<ContentPageRow>, Table<UrlRow>) =
        (snapshot.table()?, snapshot.table()?);
    let url = |content: Id| {
        let page = pages.matching(&[content]).into_iter().next();
        let row = page.and_then(|page| urls.matching(&[page.doc]).into_iter().next());
        row.map(|row| row.text().into_owned()).unwrap_or_default()
    };
    let largest = found.into_iter().map(|(signature, (key, contents, first))| {
        let key = if signature == 0 { bands.unkey(0, key) } else { key };
        (
            name(signature).to_owned(),
            Largest { key: hex(key).to_string(), contents: contents as u64, url: url(first) },
        )
    });
    Ok((sums, largest.collect()))
}
