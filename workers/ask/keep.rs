//! Says why a page represents its cluster: which step of the keep rule decided, and against whom.

use crate::absent::NO_SCORE;
use crate::ask::index::Index;
use crate::ask::tables::time;
use crate::id::Id;
use crate::keep::{Criterion, Options, Rank};
use crate::tables::PageRow;
use serde::Serialize;

/// The most pages of a cluster that are ranked to find the best one after the representative.
pub const PAGES_MAX: usize = 16_384;

/// Why one page represents a cluster and another page does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The page that represents.
    pub representative: String,
    /// The page that it was compared with: the one that was asked for, or the next best.
    pub against: String,
    /// The step that decided: `near_all` if the other page is near a part of the cluster only;
    /// `leads` if this page is, too, but its text leads the cluster; `hosts`; a criterion of
    /// `[keep] by`; or `doc` if all are equal. `incumbent` is named only if the rest of the rule
    /// prefers the other page. The store does not say which pages represented others before its
    /// last epoch, and a page that is preferred anyway would represent without `incumbent`.
    pub by: &'static str,
    /// What that step compares, for the page that represents.
    pub value: String,
    /// The same for the other page.
    pub other: String,
    /// Whether every page of the cluster was looked at to find the next best.
    pub is_whole: bool,
}

/// Why `representative` comes before `doc` or, if both are the same page, before the next best page
/// of its cluster. `None` if the page is in no cluster.
pub(super) fn kept(index: &Index, options: &Options, representative: Id, doc: Id) -> Option<Kept> {
    let first = ranked(index, representative)?;
    let (second, is_whole) = match doc == representative {
        true => next_best(index, &first.page, representative)?,
        false => (ranked(index, doc)?, true),
    };
    let key = |one: &Ranked| (one.rank, one.page.doc);
    if key(&second) < key(&first) {
        let is_held = |slot: usize| {
            first.rank[..slot] == second.rank[..slot] && may_represent(index, &second.page)
        };
        let (by, value, other) = if index.rule.incumbent_slot().is_some_and(is_held) {
            (Criterion::Incumbent.name(), "most of these pages", "fewer or none")
        } else if is_near_all(index, &first.page) {
            ("near_all", "near every text of the cluster", "near a part of it")
        } else {
            ("leads", "leads the cluster", "near a part of it")
        };
        return Some(Kept {
            representative: index.tables.url(representative),
            against: index.tables.url(second.page.doc),
            by,
            value: value.into(),
            other: other.into(),
            is_whole,
        });
    }
    let slot = (0..first.rank.len()).find(|slot| first.rank[*slot] != second.rank[*slot]);
    let value = |page: &Ranked| match slot {
        None => page.page.doc.to_string(),
        Some(0) => match page.rank[0] as usize {
            at if at < options.hosts.len() => format!("number {} of the list", at + 1),
            _ => "not in the list".into(),
        },
        Some(slot) => match options.by[slot - 1] {
            Criterion::Https => if page.page.https == 1 { "https" } else { "http" }.into(),
            Criterion::ShortestUrl => format!("{} bytes", page.page.url_bytes),
            Criterion::Newest | Criterion::Oldest => {
                time(page.page.date).unwrap_or_else(|| "no date".into())
            }
            Criterion::LongestText => format!("{} characters", page.chars),
            Criterion::FirstSeen => format!("epoch {}", page.page.first_epoch),
            Criterion::Sources => source(index, options, page.page.source),
            Criterion::Score => score(page.page.score),
            // Ranks of stored pages are equal in this slot.
            Criterion::Incumbent => String::new(),
        },
    };
    let by = match slot {
        None => "doc",
        Some(0) => "hosts",
        Some(slot) => options.by[slot - 1].name(),
    };
    Some(Kept {
        representative: index.tables.url(representative),
        against: index.tables.url(second.page.doc),
        by,
        value: value(&first),
        other: value(&second),
        is_whole,
    })
}

/// Whether a page may represent its cluster: it is of the leader, or its text is near all of the
/// cluster, or clusters have no radius.
fn may_represent(index: &Index, page: &PageRow) -> bool {
    let leads = index.tables.leader(page.content).is_none_or(|leader| leader == page.content);
    index.clusters().radius == 0 || leads || is_near_all(index, page)
}

/// Whether the text of a page has an accepted pair with each other text of its cluster.
fn is_near_all(index: &Index, page: &PageRow) -> bool {
    let (tables, content) = (&index.tables, page.content);
    let leader = tables.leader(content);
    let pairs = tables.mapped.pairs.matching(&[content]);
    let near = pairs
        .iter()
        .filter(|pair| pair.is_accepted() && tables.leader(pair.other) == leader)
        .count();
    near + 1 == tables.cluster(content, page.doc).contents as usize
}

/// The name of a source, and its place in the order of sources.
fn source(index: &Index, options: &Options, number: u16) -> String {
    let name = index.sources.get(usize::from(number)).map_or("", String::as_str);
    match options.sources.iter().position(|source| source == name) {
        Some(at) => format!("{name}, number {} of the order", at + 1),
        None => format!("{name}, not in the order"),
    }
}

/// A score in 1/1,000,000 as a decimal fraction.
fn score(score: i64) -> String {
    if score == NO_SCORE {
        return "no score".into();
    }
    let (sign, number) = (if score < 0 { "-" } else { "" }, score.unsigned_abs());
    let decimal = format!("{sign}{}.{:06}", number / 1_000_000, number % 1_000_000);
    decimal.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A page and its rank.
struct Ranked {
    page: PageRow,
    chars: u32,
    rank: Rank,
}

fn ranked(index: &Index, doc: Id) -> Option<Ranked> {
    let page = index.tables.page(doc)?;
    let chars = index.tables.content(page.content).map_or(0, |row| row.chars);
    Some(Ranked { rank: index.rank(&page, chars), page, chars })
}

/// The best page of the cluster except `representative`, and whether all pages were ranked.
fn next_best(index: &Index, page: &PageRow, representative: Id) -> Option<(Ranked, bool)> {
    let tables = &index.tables;
    let leader = tables.leader(page.content);
    let contents: Vec<Id> = match tables.component(page.content) {
        Some(component) => {
            let members = tables
                .mapped
                .members
                .first(component, PAGES_MAX)
                .into_iter()
                .map(|row| row.content);
            members
                .filter(|content| leader.is_none() || tables.leader(*content) == leader)
                .collect()
        }
        None => vec![page.content],
    };
    let (mut best, mut seen): (Option<Ranked>, usize) = (None, 0);
    let is_whole_list = contents.len() < PAGES_MAX;
    for content in contents {
        for doc in tables.first_pages(content, PAGES_MAX - seen) {
            seen += 1;
            let Some(other) = (doc != representative).then(|| ranked(index, doc)).flatten() else {
                continue;
            };
            let key = |one: &Ranked| (one.rank, one.page.doc);
            if best.as_ref().is_none_or(|best| key(&other) < key(best)) {
                best = Some(other);
            }
        }
        if seen >= PAGES_MAX {
            break;
        }
    }
    best.map(|best| (best, is_whole_list && seen < PAGES_MAX))
}
