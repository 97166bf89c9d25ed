//! Counts, for each source and each host, its pages in clusters that have many of them.
//!
//! The guard `source_folded` looks for a source or a host whose pages end in a few clusters. Two
//! hosts that mirror each other have clusters with one page of each. A cluster that swallowed a
//! host has nearly all of its pages. So a cluster counts for an origin only if it has at least
//! [`PAGES_MANY`] of its pages. Only clusters that the epoch changed are counted here. Their sums
//! are bounds: with them the commit rules out almost every origin before it reads a table.

use crate::id::Id;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A cluster counts for an origin that has this many pages in it. When they fold, at most one page
/// in a hundred is left.
pub const PAGES_MANY: u64 = 100;
/// The greatest number of origins that a worker names: those with most pages.
pub const ORIGINS_MAX: usize = 65_536;

/// Where a page comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Origin {
    /// The source that it was last seen in: an index of the manifest's `sources`.
    Source(u16),
    /// The hash of its host.
    Host(u64),
}

impl Origin {
    /// The origins of a page of `source` and `host`. Keys that are no URLs have no host.
    pub fn of(source: u16, host: u64) -> impl Iterator<Item = Origin> {
        [Some(Origin::Source(source)), (host != 0).then_some(Origin::Host(host))]
            .into_iter()
            .flatten()
    }
}

/// The pages of each origin in clusters that have many of its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginPages(BTreeMap<Origin, u64>);

impl OriginPages {
    /// Adds clusters by the leader, the source and the host of each page. No cluster is added in
    /// two parts.
    pub fn add(&mut self, pages: impl Iterator<Item = (Id, u16, u64)>) {
        let mut counts: BTreeMap<(Id, Origin), u64> = BTreeMap::new();
        for (leader, source, host) in pages {
            Origin::of(source, host)
                .for_each(|origin| *counts.entry((leader, origin)).or_default() += 1);
        }
        let many = counts.into_iter().filter(|(_, pages)| *pages >= PAGES_MANY);
        self.add_counts(many.map(|((_, origin), pages)| (origin, pages)));
    }

    /// Adds `counts` as they are.
    pub fn add_counts(&mut self, counts: impl IntoIterator<Item = (Origin, u64)>) {
        counts.into_iter().for_each(|(origin, pages)| *self.0.entry(origin).or_default() += pages);
    }

    /// The origins with most pages, at most [`ORIGINS_MAX`], by origin.
    pub fn most(self) -> Vec<(Origin, u64)> {
        let mut all: Vec<(Origin, u64)> = self.0.into_iter().collect();
        if all.len() > ORIGINS_MAX {
            all.select_nth_unstable_by_key(ORIGINS_MAX, |(origin, pages)| {
                (u64::MAX - pages, *origin)
            });
            all.truncate(ORIGINS_MAX);
            all.sort_unstable();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster counts for the source and the hosts that have many of its pages, so that two hosts
    /// which mirror each other count for nothing.
    #[test]
    fn few_pages_of_an_origin_do_not_count() {
        let leader = |high| Id { high, low: 0 };
        let mut pages = OriginPages::default();
        pages.add((0..1000).flat_map(|n| [(leader(n), 0, 7), (leader(n), 0, 8)]));
        assert!(pages.clone().most().is_empty());
        let many = (0..PAGES_MANY).map(|_| (leader(1), 1, 7));
        pages.add(many.chain((1..PAGES_MANY).map(|_| (leader(1), 1, 8))));
        pages.add((0..PAGES_MANY).map(|_| (leader(2), 0, 0)));
        let expected = [(Origin::Source(0), 100), (Origin::Source(1), 199), (Origin::Host(7), 100)];
        assert_eq!(pages.most(), expected);
    }
}
