//! Finds the hosts and sources whose pages fold, and the hosts that mirror others.

use crate::ask::report::sizes::{LINES, PORTION_ROWS};
use crate::ask::report::views::{FoldedShare, Mirror};
use crate::ask::tables::Tables;
use crate::figures::{grouped, percent};
use crate::page_url::host_name;
use crate::store::manifest::Source;
use std::collections::BTreeMap;

/// The most hosts, and the most pairs of hosts, that are counted by themselves. The pages of all
/// others are counted together.
pub const HOSTS_MAX: usize = 1 << 20;

/// The number of pages, and the number of those that fold.
type Count = (u64, u64);

/// Counts over all pages.
#[derive(Default)]
pub(super) struct Hosts {
    hosts: BTreeMap<String, Count>,
    sources: BTreeMap<u16, Count>,
    /// The folded pages by their host and the host of their representative, if the two differ.
    mirrors: BTreeMap<(String, String), u64>,
    /// The pages that fold into a page of another host.
    pub(super) mirrored: u64,
}

impl Hosts {
    /// Counts the pages, in one pass.
    pub(super) fn of(tables: &Tables) -> Hosts {
        let mut counted = Hosts::default();
        for page in tables.mapped.pages.portions(PORTION_ROWS).flatten() {
            let host = host(&tables.url(page.doc));
            let row = if page.content.is_none() { None } else { tables.cluster_row(page.content) };
            let representative = row.map(|row| row.representative).filter(|doc| *doc != page.doc);
            let folds = u64::from(representative.is_some());
            let is_counted = counted.hosts.len() < HOSTS_MAX || counted.hosts.contains_key(&host);
            let name = if is_counted { host.clone() } else { "other hosts".into() };
            for count in [
                counted.hosts.entry(name).or_default(),
                counted.sources.entry(page.source).or_default(),
            ] {
                *count = (count.0 + 1, count.1 + folds);
            }
            if let Some(doc) = representative {
                counted.folds_into(host, self::host(&tables.url(doc)));
            }
        }
        counted
    }

    fn folds_into(&mut self, from: String, to: String) {
        if from == to {
            return;
        }
        self.mirrored += 1;
        let pair = (from, to);
        if self.mirrors.len() < HOSTS_MAX || self.mirrors.contains_key(&pair) {
            *self.mirrors.entry(pair).or_default() += 1;
        }
    }

    /// The hosts with the most folded pages, and how many more there are.
    pub(super) fn hosts(&self) -> (Vec<FoldedShare>, String) {
        (folded(&self.hosts, String::clone), more(self.hosts.len()))
    }

    /// The sources with the most folded pages.
    pub(super) fn sources(&self, sources: &[Source]) -> Vec<FoldedShare> {
        folded(&self.sources, |source| {
            sources.get(usize::from(*source)).map_or_else(String::new, |source| source.name.clone())
        })
    }

    /// The pairs of hosts with the most pages of the first that fold into pages of the second, and
    /// how many more pairs there are.
    pub(super) fn mirrors(&self) -> (Vec<Mirror>, String) {
        let mut pairs: Vec<(&(String, String), &u64)> = self.mirrors.iter().collect();
        pairs.sort_by_key(|(_, pages)| u64::MAX - **pages);
        let line = |((from, to), pages): &(&(String, String), &u64)| Mirror {
            from: from.clone(),
            to: to.clone(),
            pages: grouped(**pages),
            share: self.hosts.get(from).map_or_else(String::new, |(all, _)| percent(**pages, *all)),
        };
        (pairs.iter().take(LINES).map(line).collect(), more(pairs.len()))
    }
}

/// The host of a URL.
fn host(url: &str) -> String {
    host_name(url).unwrap_or_else(|| "no host".into())
}

/// The lines with the most folded pages.
fn folded<K>(counts: &BTreeMap<K, Count>, name: impl Fn(&K) -> String) -> Vec<FoldedShare> {
    let mut all: Vec<(&K, &Count)> = counts.iter().collect();
    all.sort_by_key(|(_, (pages, folded))| (u64::MAX - folded, u64::MAX - pages));
    let line = |(key, (pages, folded)): &(&K, &Count)| FoldedShare {
        name: name(key),
        pages: grouped(*pages),
        folded: grouped(*folded),
        share: percent(*folded, *pages),
    };
    all.iter().take(LINES).map(line).collect()
}

/// How many of `n` lines are not shown; empty if all are.
fn more(n: usize) -> String {
    if n > LINES { grouped((n - LINES) as u64) } else { String::new() }
}
