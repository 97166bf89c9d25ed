//! Decides what happened to clusters between two states, from the number of pages that they share.
//!
//! Follows "MONIC: modeling and monitoring cluster transitions" (Spiliopoulou, Ntoutsi,
//! Theodoridis, Schult, KDD 2006). We count pages instead of weights and use no threshold: two
//! clusters are heirs if each shares more pages with the other than with any third cluster. This is
//! a pure function; it reads no store.

use crate::id::Id;
use crate::tables::ClusterRow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The number of pages that live in both states and are in these clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shared {
    /// The ClusterId before.
    pub(super) before: Id,
    /// The ClusterId after.
    pub(super) after: Id,
    /// The number of pages.
    pub(super) pages: u64,
}

/// A row to be written. A row about a cluster has ClusterIds, a row about a page has its DocId
/// twice. A missing cluster is [`Id::NONE`], which sorts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) before: Id,
    pub(super) after: Id,
    pub(super) change: &'static str,
}

/// The cluster of a page, if it is in one.
pub(super) type PageCluster<'a> = Option<&'a ClusterRow>;

/// The pairs of clusters that share most pages with each other. Among equal shares the least
/// ClusterId wins.
pub(super) fn heirs(shared: &[Shared]) -> BTreeSet<(Id, Id)> {
    let mut of_before: BTreeMap<Id, (u64, Reverse<Id>)> = BTreeMap::new();
    let mut of_after = of_before.clone();
    for &Shared { before, after, pages } in shared {
        let best = of_before.entry(before).or_default();
        *best = (*best).max((pages, Reverse(after)));
        let best = of_after.entry(after).or_default();
        *best = (*best).max((pages, Reverse(before)));
    }
    let mutual = |&(before, after): &(Id, Id)| {
        of_before[&before].1.0 == after && of_after[&after].1.0 == before
    };
    shared.iter().map(|shared| (shared.before, shared.after)).filter(mutual).collect()
}

/// Adds what happened to the clusters `before`, given the clusters `after` and all pages that any
/// two of them share.
pub(super) fn transitions(
    before: &[ClusterRow],
    after: &[ClusterRow],
    shared: &[Shared],
    events: &mut Vec<Event>,
) {
    let mut sharing_before: BTreeMap<Id, u32> = BTreeMap::new();
    let mut sharing_after: BTreeMap<Id, u32> = BTreeMap::new();
    for shared in shared {
        *sharing_before.entry(shared.before).or_default() += 1;
        *sharing_after.entry(shared.after).or_default() += 1;
    }
    let deleted = before.iter().filter(|row| !sharing_before.contains_key(&row.cluster));
    events.extend(deleted.map(|row| Event {
        before: row.cluster,
        after: Id::NONE,
        change: "died",
    }));
    let created = after.iter().filter(|row| !sharing_after.contains_key(&row.cluster));
    events.extend(created.map(|row| Event {
        before: Id::NONE,
        after: row.cluster,
        change: "born",
    }));
    for &Shared { before, after, .. } in shared {
        if sharing_after[&after] > 1 {
            events.push(Event { before, after, change: "merged" });
        }
        if sharing_before[&before] > 1 {
            events.push(Event { before, after, change: "split" });
        }
    }
    let representatives = |rows: &[ClusterRow]| -> BTreeMap<Id, Id> {
        rows.iter().map(|row| (row.cluster, row.representative)).collect()
    };
    let shown = (representatives(before), representatives(after));
    for (before, after) in heirs(shared) {
        if before != after {
            events.push(Event { before, after, change: "renamed" });
        }
        if shown.0.get(&before) != shown.1.get(&after) {
            events.push(Event { before, after, change: "representative" });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(high: u64) -> Id {
        Id { high, low: 0 }
    }

    fn row(cluster: u64, representative: u64) -> ClusterRow {
        let (cluster, representative) = (id(cluster), id(representative));
        let (component, leader) = (cluster, cluster);
        let (pages, contents, hosts, diameter) = (2, 1, 1, 0);
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
    }

    fn events(
        before: &[ClusterRow],
        after: &[ClusterRow],
        shared: &[(u64, u64, u64)],
    ) -> Vec<(u64, u64, &'static str)> {
        let shared = shared.iter().map(|&(before, after, pages)| Shared {
            before: id(before),
            after: id(after),
            pages,
        });
        let mut events = Vec::new();
        transitions(before, after, &shared.collect::<Vec<_>>(), &mut events);
        events.sort_unstable();
        events
            .into_iter()
            .map(|event| (event.before.high, event.after.high, event.change))
            .collect()
    }

    /// Heirs share most pages with each other. Of equal shares the least ClusterId wins, and the
    /// others have no heir.
    #[test]
    fn heirs_share_most() {
        let heirs = |shared: &[(u64, u64, u64)]| -> Vec<(u64, u64)> {
            let shared =
                shared.iter().map(|&(b, a, pages)| Shared { before: id(b), after: id(a), pages });
            heirs(&shared.collect::<Vec<_>>())
                .into_iter()
                .map(|(before, after)| (before.high, after.high))
                .collect()
        };
        assert_eq!(heirs(&[(1, 7, 3)]), [(1, 7)]);
        assert_eq!(heirs(&[(1, 7, 3), (2, 7, 4)]), [(2, 7)]);
        assert_eq!(heirs(&[(2, 7, 3), (1, 7, 3), (1, 6, 3)]), [(1, 6)]);
        // Cluster 2 shares most with 7, but 7 shares more with 1, and 1 shares still more with 6.
        assert_eq!(heirs(&[(1, 6, 9), (1, 7, 5), (2, 7, 4)]), [(1, 6)]);
        assert_eq!(heirs(&[(1, 1, 2), (2, 1, 5), (2, 2, 4)]), [(2, 1)]);
    }

    /// Each transition occurs alone in its example.
    #[test]
    fn each_transition() {
        let none: [(u64, u64, &str); 0] = [];
        assert_eq!(events(&[row(1, 1)], &[row(1, 1)], &[(1, 1, 2)]), none);
        assert_eq!(events(&[row(1, 1)], &[row(1, 1)], &[]), [(0, 1, "born"), (1, 0, "died")]);
        assert_eq!(events(&[row(1, 3)], &[row(1, 4)], &[(1, 1, 2)]), [(1, 1, "representative")]);
        assert_eq!(events(&[row(2, 3)], &[row(1, 3)], &[(2, 1, 2)]), [(2, 1, "renamed")]);
        let both = [(2, 1, "renamed"), (2, 1, "representative")];
        assert_eq!(events(&[row(2, 3)], &[row(1, 1)], &[(2, 1, 2)]), both);
        let merged = [(1, 1, "merged"), (2, 1, "merged")];
        assert_eq!(events(&[row(1, 1), row(2, 2)], &[row(1, 1)], &[(1, 1, 3), (2, 1, 2)]), merged);
        let split = [(1, 1, "split"), (1, 2, "split")];
        assert_eq!(events(&[row(1, 1)], &[row(1, 1), row(2, 2)], &[(1, 1, 3), (1, 2, 2)]), split);
        let larger =
            [(1, 1, "split"), (1, 2, "renamed"), (1, 2, "representative"), (1, 2, "split")];
        assert_eq!(events(&[row(1, 1)], &[row(1, 1), row(2, 2)], &[(1, 1, 2), (1, 2, 3)]), larger);
    }
}
