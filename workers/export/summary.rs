//! `summary.json`: the counts of an export and the digests of its files.

use crate::candidates::pivots;
use crate::export::clusters::Largest;
use crate::export::large::LargeClusters;
use crate::export::little::LittleTexts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `summary.json`: counts, and the digests of the other files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The epoch.
    pub epoch: u64,
    /// The epoch from which `changes` leads to this one.
    #[serde(default)]
    pub since: u32,
    /// The digest of the view configuration that was used.
    pub view: String,
    /// The number of live pages.
    pub pages: u64,
    /// The number of distinct texts.
    pub contents: u64,
    /// The number of clusters; each has at least two pages.
    pub clusters: u64,
    /// The number of pages that remain if every cluster is folded to its representative.
    pub kept: u64,
    /// The number of pages that fold into a page with the identical text.
    pub folded_identical: u64,
    /// The number of pages that fold into a page with a similar text.
    pub folded_near: u64,
    /// The number of pages that are gone and lead to a live page; left out if it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dead_links: u64,
    /// The number of rows of `pairs`.
    pub pairs: u64,
    /// The buckets with more contents than pivots.
    pub unexamined: pivots::BySignature,
    /// The clusters with more pages than the job's `[clusters] pages_warn`.
    pub large: LargeClusters,
    /// The texts of several pages that say too little, so that their pages do not fold.
    pub little: LittleTexts,
    /// What happened to the last epoch's records, and what its stages counted.
    pub counters: BTreeMap<String, u64>,
    /// The blake3 digests of the exported files in hex, by file name.
    pub files: BTreeMap<String, String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The result of an export.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The summary.
    pub summary: Summary,
    /// The largest clusters: pages, contents, hosts and the representative's URL.
    pub largest: Largest,
}
