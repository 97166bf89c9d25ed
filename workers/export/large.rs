//! Describes the clusters that are larger than the job's `[clusters] pages_warn`.
//!
//! The description shows a person whether such a cluster is one text or a chain of many. It is
//! computed from the rows of clusters, contents and pairs; no text is read. It depends on the live
//! pages and the job only. Memory holds 20 bytes for each content of one cluster at a time, and a
//! portion of its pairs.

use crate::confirm::Reason;
use crate::distinct::distinct;
use crate::export::tables::Tables;
use crate::id::Id;
use crate::page_url::host_name;
use crate::tables::ClusterRow;
use crate::tables::pairs::proposed_by;
use crate::text::signatures::SignatureKind;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The greatest number of clusters that are described.
const LISTED_MAX: usize = 20;
/// The greatest number of reasons and of signatures that are named for each cluster.
const REASONS_MAX: usize = 3;
/// The contents whose pairs are held in memory at once. A content has at most 128 pairs in a
/// bucket.
const PORTION_CONTENTS: usize = 1 << 12;
/// The diameter from which a cluster is called a chain.
///
/// For the Jaccard similarity, one minus the similarity is a metric. At the default least
/// similarity of 0.8, two texts that are five pairs apart may have nothing in common.
const DIAMETER_CHAIN: u32 = 5;

/// The large clusters of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeClusters {
    /// A cluster with more pages than this is large; 0 switches the report off.
    pub pages_warn: u32,
    /// The number of large clusters.
    pub found: u64,
    /// The 20 largest, by pages, then by ClusterId.
    pub clusters: Vec<LargeCluster>,
}

/// A large cluster and what its texts share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeCluster {
    /// The ClusterId.
    pub cluster: String,
    /// The URL of the representative.
    pub representative: String,
    /// The number of pages.
    pub pages: u32,
    /// The number of contents.
    pub contents: u32,
    /// The number of hosts.
    pub hosts: u32,
    /// The host, if there is only one. A key that is no URL has none.
    pub host: Option<String>,
    /// The greatest number of accepted pairs on a shortest path between two contents. Above 256
    /// contents this is a lower bound; the true diameter is at most twice as large.
    pub diameter: u32,
    /// The lengths of the texts, in characters.
    pub chars: Spread,
    /// The number of accepted pairs.
    pub pairs: u64,
    /// The similarities of the pairs in 1/10,000, as measured by the rule that decided. `None`
    /// without pairs.
    pub similarity: Option<Spread>,
    /// The rules that accepted most pairs.
    pub reasons: Vec<PairCount>,
    /// The signatures that propose most pairs. Several signatures may propose the same pair.
    pub signatures: Vec<PairCount>,
    /// The setting that would divide the cluster, if it is a chain.
    pub advice: Option<String>,
}

/// The range and the median of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The least.
    pub least: u32,
    /// The median; of two middle numbers the lesser.
    pub median: u32,
    /// The greatest.
    pub greatest: u32,
}

/// The number of pairs with one reason or one signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PairCount {
    /// The name of the reason or the signature.
    pub name: String,
    /// The number of pairs.
    pub pairs: u64,
}

/// Keeps the largest of the large clusters that are added.
pub(super) struct LargestClusters {
    pages_warn: u32,
    found: u64,
    rows: Vec<ClusterRow>,
}

impl LargestClusters {
    pub(super) fn new(pages_warn: u32) -> LargestClusters {
        LargestClusters { pages_warn, found: 0, rows: Vec::new() }
    }

    /// Counts a cluster if it is large.
    pub(super) fn add(&mut self, row: &ClusterRow) {
        if self.pages_warn == 0 || row.pages <= self.pages_warn {
            return;
        }
        self.found += 1;
        self.rows.push(row.clone());
        if self.rows.len() >= 2 * LISTED_MAX {
            self.keep_largest();
        }
    }

    fn keep_largest(&mut self) {
        self.rows.sort_unstable_by_key(|row| (Reverse(row.pages), row.cluster));
        self.rows.truncate(LISTED_MAX);
    }

    /// Describes the largest clusters.
    pub(super) fn finish(mut self, tables: &Tables) -> LargeClusters {
        self.keep_largest();
        let urls = tables.urls(self.rows.iter().map(|row| row.representative));
        let clusters = self
            .rows
            .iter()
            .map(|row| described(tables, row, urls.of(row.representative)))
            .collect();
        LargeClusters { pages_warn: self.pages_warn, found: self.found, clusters }
    }
}

/// The contents of a cluster, ascending.
fn contents_of(tables: &Tables, row: &ClusterRow) -> Vec<Id> {
    let members = tables.component_members.matching(&[row.component]);
    if members.is_empty() {
        return vec![row.component];
    }
    let contents = distinct(members.iter().map(|member| member.content));
    let leaders = tables.leaders.matching(&contents);
    leaders.iter().filter(|led| led.leader == row.leader).map(|led| led.content).collect()
}

fn described(tables: &Tables, row: &ClusterRow, representative: String) -> LargeCluster {
    let contents = contents_of(tables, row);
    let mut chars: Vec<u32> = Vec::with_capacity(contents.len());
    let (mut similarities, mut reasons) = (BTreeMap::<u32, u64>::new(), BTreeMap::<u8, u64>::new());
    let (mut pairs, mut proposed) = (0, [0u64; 1 + SignatureKind::ALL.len()]);
    for portion in contents.chunks(PORTION_CONTENTS) {
        chars.extend(tables.contents.matching(portion).iter().map(|row| row.chars));
        let rows = tables.pairs.matching(portion);
        let accepted = rows.iter().filter(|pair| pair.is_accepted() && pair.content < pair.other);
        for pair in accepted.filter(|pair| contents.binary_search(&pair.other).is_ok()) {
            pairs += 1;
            *similarities.entry(pair.similarity.into()).or_default() += 1;
            *reasons.entry(pair.reason).or_default() += 1;
            for (signature, proposed) in (0u8..).zip(&mut proposed) {
                *proposed += u64::from(proposed_by(pair.proposals, signature) > 0);
            }
        }
    }
    let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
    chars.iter().for_each(|chars| *lengths.entry(*chars).or_default() += 1);
    let names =
        ["simhash"].into_iter().chain(SignatureKind::ALL.into_iter().map(SignatureKind::name));
    LargeCluster {
        cluster: row.cluster.to_string(),
        host: host_name(&representative).filter(|_| row.hosts == 1),
        representative,
        pages: row.pages,
        contents: row.contents,
        hosts: row.hosts,
        diameter: row.diameter,
        chars: spread(&lengths).unwrap_or_default(),
        pairs,
        similarity: spread(&similarities),
        reasons: commonest(
            reasons.into_iter().map(|(reason, pairs)| (Reason::name(reason), pairs)),
        ),
        signatures: commonest(names.zip(proposed)),
        advice: (row.diameter >= DIAMETER_CHAIN).then(|| "[clusters] radius = 1".to_owned()),
    }
}

/// The range and the median of numbers, each with its frequency. `None` without numbers.
fn spread(numbers: &BTreeMap<u32, u64>) -> Option<Spread> {
    let half = numbers.values().sum::<u64>().div_ceil(2);
    let mut seen = 0;
    let median = numbers.iter().find(|(_, times)| {
        seen += **times;
        seen >= half
    });
    Some(Spread {
        least: *numbers.first_key_value()?.0,
        median: *median?.0,
        greatest: *numbers.last_key_value()?.0,
    })
}

/// The entries with most pairs; among equals in the order of their names.
fn commonest(counts: impl Iterator<Item = (&'static str, u64)>) -> Vec<PairCount> {
    let counts = counts.filter(|(_, pairs)| *pairs > 0);
    let mut counts: Vec<PairCount> =
        counts.map(|(name, pairs)| PairCount { name: name.to_owned(), pairs }).collect();
    counts.sort_by(|a, b| (Reverse(a.pairs), &a.name).cmp(&(Reverse(b.pairs), &b.name)));
    counts.truncate(REASONS_MAX);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The median is the middle number of all, each counted as often as it occurs.
    #[test]
    fn spread_of_numbers() {
        let spread = |numbers: &[(u32, u64)]| spread(&numbers.iter().copied().collect());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[(7, 1)]), Some(Spread { least: 7, median: 7, greatest: 7 }));
        assert_eq!(
            spread(&[(1, 1), (2, 1), (9, 1)]),
            Some(Spread { least: 1, median: 2, greatest: 9 })
        );
        assert_eq!(
            spread(&[(1, 3), (2, 1), (9, 2)]),
            Some(Spread { least: 1, median: 1, greatest: 9 })
        );
        assert_eq!(spread(&[(1, 1), (9, 4)]), Some(Spread { least: 1, median: 9, greatest: 9 }));
    }

    /// All large clusters are counted and the largest are kept, in any order of clusters.
    #[test]
    fn the_largest_are_kept() {
        let row = |n: u64| {
            let id = Id { high: n, low: 0 };
            let (component, leader, cluster, representative) = (id, id, id, id);
            let pages = 10 + (n * 37 % 101) as u32 / 2;
            let (contents, hosts, diameter) = (1, 1, 0);
            ClusterRow {
                component,
                leader,
                cluster,
                pages,
                contents,
                hosts,
                diameter,
                representative,
                diff: 1,
            }
        };
        let mut expected: Vec<ClusterRow> =
            (0..101).map(row).filter(|row| row.pages > 12).collect();
        expected.sort_by_key(|row| (Reverse(row.pages), row.cluster));
        let found = expected.len() as u64;
        expected.truncate(LISTED_MAX);
        for order in [(0..101).collect::<Vec<u64>>(), (0..101).rev().collect()] {
            let mut largest = LargestClusters::new(12);
            order.into_iter().for_each(|n| largest.add(&row(n)));
            largest.keep_largest();
            assert_eq!((largest.found, &largest.rows), (found, &expected));
        }
        let mut never = LargestClusters::new(0);
        never.add(&row(5));
        assert_eq!(never.found, 0);
    }
}
