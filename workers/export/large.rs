//! Large clusters: in come the tables of a state, out goes what clusters above a set size have in common, so that a person sees whether it is
//! one text or a chain of many. Counted from rows of clusters, contents and pairs; no text is read. A function of the live pages and the
//! job alone. Held are 16 bytes for each content of one cluster at a time, 4 for its length, and a portion of its pairs.

use super::{Tables, sorted};
use crate::confirm::Reason;
use crate::document::Id;
use crate::fold::clusters::ClusterRow;
use crate::fold::pairs::proposed_by;
use crate::text::signatures::SignatureKind;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Clusters that are described.
const LISTED_MAX: usize = 20;
/// Reasons that are named of each.
const REASONS_MAX: usize = 3;
/// Contents whose pairs are held at once, at most 128 a content and bucket.
const PORTION_CONTENTS: usize = 1 << 12;
/// The diameter from which on a cluster is a chain. One less similarity is a metric (Jaccard's is), so that at the default of 0.8 and
/// more a pair, two texts which are five pairs apart need have nothing in common.
const DIAMETER_CHAIN: u32 = 5;

/// What is said of large clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeClusters {
    /// Pages above which a cluster is large; 0: none is.
    pub pages_warn: u32,
    /// Large clusters.
    pub found: u64,
    /// The largest 20 of them, by pages, ties by ClusterId.
    pub clusters: Vec<LargeCluster>,
}

/// A large cluster and what its texts share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeCluster {
    /// Its ClusterId.
    pub cluster: String,
    /// URL of the page that represents it.
    pub representative: String,
    /// Pages.
    pub pages: u32,
    /// Contents.
    pub contents: u32,
    /// Hosts.
    pub hosts: u32,
    /// The host, if there is but one.
    pub host: Option<String>,
    /// Greatest number of accepted pairs between two of its contents; above 256 contents a lower bound, of which the true one is at
    /// most twice.
    pub diameter: u32,
    /// Characters of its texts.
    pub chars: Spread,
    /// Accepted pairs of its contents.
    pub pairs: u64,
    /// Their similarities, in 1/10,000, each by the rule that decided; none without pairs.
    pub similarity: Option<Spread>,
    /// The rules that most of them were accepted by.
    pub reasons: Vec<Share>,
    /// Signatures that propose them; several may propose one.
    pub signatures: Vec<Share>,
    /// What would part it, if it is a chain.
    pub advice: Option<String>,
}

/// Numbers in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The least.
    pub least: u32,
    /// The middle one, of two the lesser.
    pub median: u32,
    /// The greatest.
    pub greatest: u32,
}

/// Pairs that have something in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Share {
    /// What.
    pub name: String,
    /// Pairs.
    pub pairs: u64,
}

/// Gathers large clusters as rows pass by.
pub(super) struct Gathering {
    pages_warn: u32,
    found: u64,
    rows: Vec<ClusterRow>,
}

impl Gathering {
    pub(super) fn new(pages_warn: u32) -> Gathering {
        Gathering { pages_warn, found: 0, rows: Vec::new() }
    }

    /// Looks at a cluster.
    pub(super) fn see(&mut self, row: &ClusterRow) {
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

    /// Describes the largest.
    pub(super) fn finish(mut self, tables: &Tables) -> LargeClusters {
        self.keep_largest();
        let urls = tables.urls(self.rows.iter().map(|row| row.representative));
        let clusters = self.rows.iter().map(|row| described(tables, row, urls.of(row.representative))).collect();
        LargeClusters { pages_warn: self.pages_warn, found: self.found, clusters }
    }
}

/// The contents of a cluster, ascending.
fn contents_of(tables: &Tables, row: &ClusterRow) -> Vec<Id> {
    let members = tables.component_members.matching(&[row.component]);
    if members.is_empty() {
        return vec![row.component];
    }
    let contents = sorted(members.iter().map(|member| member.content));
    let leaders = tables.leaders.matching(&contents);
    if leaders.is_empty() {
        return contents;
    }
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
        let accepted = rows.iter().filter(|pair| pair.accepted == 1 && pair.content < pair.other);
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
    let names = ["simhash"].into_iter().chain(SignatureKind::ALL.into_iter().map(SignatureKind::name));
    LargeCluster {
        cluster: row.cluster.to_string(),
        host: (row.hosts == 1).then(|| host(&representative).to_owned()),
        representative,
        pages: row.pages,
        contents: row.contents,
        hosts: row.hosts,
        diameter: row.diameter,
        chars: spread(&lengths).unwrap_or_default(),
        pairs,
        similarity: spread(&similarities),
        reasons: commonest(reasons.into_iter().map(|(reason, pairs)| (Reason::name(reason), pairs))),
        signatures: commonest(names.zip(proposed)),
        advice: (row.diameter >= DIAMETER_CHAIN).then(|| "[clusters] radius = 1".to_owned()),
    }
}

/// The host of a canonical URL.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Numbers in short of which each comes so many times; none of none.
fn spread(numbers: &BTreeMap<u32, u64>) -> Option<Spread> {
    let half = numbers.values().sum::<u64>().div_ceil(2);
    let mut seen = 0;
    let median = numbers.iter().find(|(_, times)| {
        seen += **times;
        seen >= half
    });
    Some(Spread { least: *numbers.first_key_value()?.0, median: *median?.0, greatest: *numbers.last_key_value()?.0 })
}

/// Those that most pairs have, ties by name.
fn commonest(shares: impl Iterator<Item = (&'static str, u64)>) -> Vec<Share> {
    let shares = shares.filter(|(_, pairs)| *pairs > 0);
    let mut shares: Vec<Share> = shares.map(|(name, pairs)| Share { name: name.to_owned(), pairs }).collect();
    shares.sort_by(|a, b| (Reverse(a.pairs), &a.name).cmp(&(Reverse(b.pairs), &b.name)));
    shares.truncate(REASONS_MAX);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The median is the middle one of all, each counted as often as it comes.
    #[test]
    fn numbers_in_short() {
        let spread = |numbers: &[(u32, u64)]| spread(&numbers.iter().copied().collect());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[(7, 1)]), Some(Spread { least: 7, median: 7, greatest: 7 }));
        assert_eq!(spread(&[(1, 1), (2, 1), (9, 1)]), Some(Spread { least: 1, median: 2, greatest: 9 }));
        assert_eq!(spread(&[(1, 3), (2, 1), (9, 2)]), Some(Spread { least: 1, median: 1, greatest: 9 }));
        assert_eq!(spread(&[(1, 1), (9, 4)]), Some(Spread { least: 1, median: 9, greatest: 9 }));
    }

    /// Whatever the number of large clusters, all are counted and the largest are kept, in whatever order they come.
    #[test]
    fn the_largest_are_kept() {
        let row = |n: u64| {
            let id = Id { high: n, low: 0 };
            let (component, leader, cluster, representative) = (id, id, id, id);
            let pages = 10 + (n * 37 % 101) as u32 / 2;
            let (contents, hosts, diameter) = (1, 1, 0);
            ClusterRow { component, leader, cluster, pages, contents, hosts, diameter, representative, diff: 1 }
        };
        let mut expected: Vec<ClusterRow> = (0..101).map(row).filter(|row| row.pages > 12).collect();
        expected.sort_by_key(|row| (Reverse(row.pages), row.cluster));
        let found = expected.len() as u64;
        expected.truncate(LISTED_MAX);
        for order in [(0..101).collect::<Vec<u64>>(), (0..101).rev().collect()] {
            let mut gathering = Gathering::new(12);
            order.into_iter().for_each(|n| gathering.see(&row(n)));
            gathering.keep_largest();
            assert_eq!((gathering.found, &gathering.rows), (found, &expected));
        }
        let mut never = Gathering::new(0);
        never.see(&row(5));
        assert_eq!(never.found, 0);
    }

    /// The host is what stands between the scheme and the path, with its port.
    #[test]
    fn hosts_of_urls() {
        let hosts = ["https://a.example/x/y", "http://b.example:8080", "http://c.example?q", "odd"].map(host);
        assert_eq!(hosts, ["a.example", "b.example:8080", "c.example", "odd"]);
    }
}
