//! Reads what the report shows from the tables of a head: pages, contents and clusters once, in
//! their order, and for each page its URL and its cluster by look-ups.
//!
//! Memory grows only with the number of hosts and of pairs of hosts, both of which are bounded.

use crate::ask::history::of_commit;
use crate::ask::index::Index;
use crate::ask::report::bars::Bars;
use crate::ask::report::clusters::Clusters;
use crate::ask::report::hosts::Hosts;
use crate::ask::report::sizes::{LINES, PORTION_ROWS};
use crate::ask::report::views::{Close, Epoch, Groups, Rejects, Report};
use crate::ask::rules::decimal;
use crate::ask::tables::{Tables, time};
use crate::confirm::Reason;
use crate::error::{Error, Result};
use crate::figures::{grouped, percent};
use crate::fold::counters::Counter;
use crate::id::Id;
use crate::store::Store;
use crate::store::manifest::{self, Head, Manifest, Op};
use crate::store::table::Row;
use crate::tables::{ContentRow, PageRow, PairRow};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// The most examples for each reason of rejects.
const EXAMPLES: usize = 3;
/// The most commits that are shown, from the last one back.
const COMMITS: usize = 64;

/// What an epoch did to pages, in the order in which it is shown.
const CHANGES: [(Counter, &str); 8] = [
    (Counter::PagesNew, "new"),
    (Counter::PagesChanged, "with another text"),
    (Counter::PagesSeen, "seen again, the same text"),
    (Counter::PagesRemoved, "removed"),
    (Counter::PagesMissing, "gone from a complete snapshot"),
    (Counter::PagesMissingKept, "missing in a snapshot, but kept"),
    (Counter::PagesExpired, "expired"),
    (Counter::PagesUnknown, "removed or seen, but never stored"),
];

/// The report of a head.
pub(super) fn report(index: &Index, store: &Store, head: &Head) -> Result<Report> {
    let (manifest, tables) = (&head.manifest, &index.tables);
    let pages = rows::<PageRow>(manifest);
    let counted = Hosts::of(tables);
    let clusters = Clusters::of(tables);
    let (close, similarities) = close(index);
    let unexamined: u64 = manifest.unexamined.values().map(|left| left.pairs).sum();
    let (hosts, hosts_more) = counted.hosts();
    let (mirrors, mirrors_more) = counted.mirrors();
    let plots = [
        clusters.sizes.plot("Pages of a cluster"),
        similarities.plot("Similarity of compared texts, in percent"),
        lengths(tables).plot("Characters of a text"),
    ];
    let changed = |(counter, words): &(Counter, &'static str)| {
        let n = manifest.counters.get(counter.name()).copied().filter(|n| *n > 0)?;
        Some((*words, grouped(n)))
    };
    Ok(Report {
        store: store.root().display().to_string(),
        epoch: manifest.epoch,
        time: time(manifest.logical_time).unwrap_or_default(),
        figures: vec![
            ("pages", grouped(pages)),
            ("distinct texts", grouped(rows::<ContentRow>(manifest))),
            ("kept", grouped(pages.saturating_sub(manifest.folded))),
            (
                "folded",
                format!("{} ({})", grouped(manifest.folded), percent(manifest.folded, pages)),
            ),
            ("clusters", grouped(clusters.count)),
            ("pairs that no rule examined", grouped(unexamined)),
        ],
        hosts,
        hosts_more,
        sources: counted.sources(&manifest.sources),
        mirrored: grouped(counted.mirrored),
        mirrored_share: percent(counted.mirrored, pages),
        mirrors,
        mirrors_more,
        plots: plots.into_iter().flatten().collect(),
        clusters: [
            Groups {
                id: "largest",
                title: "The largest clusters",
                groups: clusters.largest(index)?,
            },
            Groups {
                id: "chained",
                title: "The most chained clusters",
                groups: clusters.chained(index)?,
            },
        ]
        .into_iter()
        .filter(|list| !list.groups.is_empty())
        .collect(),
        similarity_min: decimal(index.options.similarity_min),
        close,
        rejects: rejects(store, head)?,
        changes: CHANGES.iter().filter_map(changed).collect(),
        epochs: epochs(store)?,
    })
}

/// The number of rows of a table; 0 if no epoch has written it.
fn rows<R: Row>(manifest: &Manifest) -> u64 {
    manifest.tables.get(R::NAME).map_or(0, |table| table.rows)
}

/// The pairs closest to the threshold of similarity, and all similarities.
fn close(index: &Index) -> (Vec<Close>, Bars) {
    let min = index.options.similarity_min;
    let by_threshold = [
        Reason::Coverage,
        Reason::CoverageRefused,
        Reason::Shingles,
        Reason::ShinglesRefused,
        Reason::LeadingInsertion,
    ];
    let (mut bars, mut nearest) = (Bars::of_similarities(), BTreeSet::<(u16, Id, Id)>::new());
    let mut rows: BTreeMap<(Id, Id), PairRow> = BTreeMap::new();
    for row in index
        .tables
        .mapped
        .pairs
        .portions(PORTION_ROWS)
        .flatten()
        .filter(|row| row.content < row.other)
    {
        bars.add_similarity(row.similarity);
        if by_threshold.iter().any(|reason| *reason as u8 == row.reason) {
            nearest.insert((row.similarity.abs_diff(min), row.content, row.other));
            rows.insert((row.content, row.other), row);
            if nearest.len() > LINES
                && let Some((_, a, b)) = nearest.pop_last()
            {
                rows.remove(&(a, b));
            }
        }
    }
    let line = |(_, a, b): &(u16, Id, Id)| {
        let row = rows.get(&(*a, *b))?;
        Some(Close {
            similarity: decimal(row.similarity),
            verdict: if row.is_accepted() { "accepted" } else { "refused" },
            reason: Reason::name(row.reason),
            a: index.tables.first_url(*a),
            b: index.tables.first_url(*b),
        })
    };
    (nearest.iter().filter_map(line).collect(), bars)
}

fn lengths(tables: &Tables) -> Bars {
    let mut bars = Bars::of_powers();
    tables
        .mapped
        .contents
        .portions(PORTION_ROWS)
        .flatten()
        .for_each(|row| bars.add_power(row.chars));
    bars
}

/// The parts of a line of the list of rejects that are shown.
#[derive(Deserialize)]
struct Reject {
    #[serde(default)]
    file: String,
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    detail: String,
}

fn rejects(store: &Store, head: &Head) -> Result<Vec<Rejects>> {
    let Some(file) = &head.manifest.rejects else { return Ok(Vec::new()) };
    let mut by_reason: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for line in store.open_lines("rejects", file)?.split(b'\n') {
        let line = line.map_err(|e| Error::io("read", &store.lines_path("rejects", file), e))?;
        let Ok(reject) = serde_json::from_slice::<Reject>(&line) else { continue };
        let (count, examples) = by_reason.entry(reject.reason).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(format!("{} at {}: {}", reject.file, reject.offset, reject.detail));
        }
    }
    let line = |(reason, (count, examples))| Rejects { reason, records: grouped(count), examples };
    Ok(by_reason.into_iter().map(line).collect())
}

fn epochs(store: &Store) -> Result<Vec<Epoch>> {
    let versions = manifest::versions(store.root())?;
    let mut epochs = Vec::new();
    for version in &versions[versions.len().saturating_sub(COMMITS)..] {
        let Some(manifest) = of_commit(store.root(), *version, Ok)? else { continue };
        let what = match manifest.op {
            Op::Merge => continue,
            Op::Epoch => "",
            Op::Rollback => "rollback",
        };
        let pages = rows::<PageRow>(&manifest);
        let time = time(manifest.logical_time).unwrap_or_default();
        epochs.push(Epoch {
            epoch: manifest.epoch,
            what,
            // To the minute.
            time: time.get(..16).unwrap_or(&time).replace('T', " "),
            read: grouped(manifest.counters.get("read").copied().unwrap_or(0)),
            pages: grouped(pages),
            folded: grouped(manifest.folded),
            share: percent(manifest.folded, pages),
        });
    }
    Ok(epochs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::report::views::{FoldedShare, Group, Mirror};
    use crate::confirm::kinds::PartKind;
    use crate::confirm::parts::Part;
    use askama::Template as _;

    /// Everything from a crawl is text on the page: none of its tags, attributes or entities
    /// becomes one of the page.
    #[test]
    fn hostile_texts_are_text() {
        let hostile = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;{{ 7 * 7 }}{% raw %}";
        let text = || hostile.to_owned();
        let part =
            Part { kind: PartKind::Edit, before: text(), a: text(), b: text(), after: text() };
        let group = Group {
            representative: text(),
            facts: text(),
            begins: text(),
            other: text(),
            parts: vec![part],
            note: "and more",
        };
        let report = Report {
            store: text(),
            hosts: vec![FoldedShare { name: text(), pages: text(), folded: text(), share: text() }],
            sources: vec![FoldedShare {
                name: text(),
                pages: text(),
                folded: text(),
                share: text(),
            }],
            mirrors: vec![Mirror { from: text(), to: text(), pages: text(), share: text() }],
            clusters: vec![Groups { id: "largest", title: "clusters", groups: vec![group] }],
            close: vec![Close {
                similarity: text(),
                verdict: "refused",
                reason: "names",
                a: text(),
                b: text(),
            }],
            rejects: vec![Rejects { reason: text(), records: text(), examples: vec![text()] }],
            ..Report::default()
        };
        let page = report.render().expect("a page");
        for bad in ["<script", "<img", "onerror=alert(2)>", "\"'>", "&lt;{{"] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert_eq!(page.matches("alert(1)").count(), 27, "each of them is shown");
        assert!(
            !page.contains("http:") && !page.contains("https:") && !page.contains("<link"),
            "no request"
        );
    }
}
