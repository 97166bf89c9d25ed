//! Reads what the report shows from the tables of a head, in one pass over each.
//!
//! Memory grows with the number of hosts and of pairs of hosts, both bounded, and with nothing else.

use crate::ask::index::Index;
use crate::ask::report::views::{Bar, Close, Epoch, Folded, Group, Mirror, Plot, Rejects, Report};
use crate::ask::tables::{Tables, time};
use crate::confirm::parts::parts;
use crate::confirm::{Evidence as _, Reason};
use crate::document::{Id, host_name};
use crate::error::{Error, Result};
use crate::figures::{counted, grouped};
use crate::store::Store;
use crate::store::manifest::{self, Head, Op};
use crate::store::table::Row;
use crate::tables::{ClusterRow, ContentRow, PageRow, PairRow};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// The hosts, and the pairs of hosts, that are counted apart. The pages of others are counted as
/// those of one.
pub const HOSTS_MAX: usize = 1 << 20;

/// Rows of a table that are held at once, for each of its segments.
const PORTION_ROWS: usize = 1 << 14;
/// The lines of each table of the page.
const LINES: usize = 20;
/// The clusters whose texts are shown.
const GROUPS: usize = 10;
/// The differences that are shown of two texts.
const PARTS: usize = 8;
/// The characters of a text that are shown.
const TEXT_CHARS: usize = 280;
/// The examples of each reason of rejects.
const EXAMPLES: usize = 3;
/// The last kept commits that are shown.
const COMMITS: usize = 64;
/// The contents of a cluster of which the last is compared with the representative's.
const MEMBERS: usize = 64;

/// The report of a head.
pub(super) fn report(index: &Index, store: &Store, head: &Head) -> Result<Report> {
    let (manifest, tables) = (&head.manifest, &index.tables);
    let pages = manifest.tables.get(PageRow::NAME).map_or(0, |table| table.rows);
    let contents = manifest.tables.get(ContentRow::NAME).map_or(0, |table| table.rows);
    let counted = Counted::of(tables);
    let clusters = Clusters::of(tables);
    let unexamined: u64 = manifest.unexamined.values().map(|left| left.pairs).sum();
    let mut report = Report {
        store: store.root().display().to_string(),
        epoch: manifest.epoch,
        time: time(manifest.logical_time).unwrap_or_default(),
        figures: vec![
            ("pages", grouped(pages)),
            ("distinct texts", grouped(contents)),
            ("kept", grouped(pages.saturating_sub(manifest.folded))),
            ("folded", format!("{} ({} %)", grouped(manifest.folded), percent(manifest.folded, pages))),
            ("clusters", grouped(clusters.count)),
            ("pairs that no rule examined", grouped(unexamined)),
        ],
        hosts_more: counted.hosts.len().saturating_sub(LINES),
        ..Report::default()
    };
    report.hosts = folded(counted.hosts, |name| name.clone());
    report.sources = folded(counted.sources, |source| {
        manifest.sources.get(usize::from(*source)).map_or_else(String::new, |source| source.name.clone())
    });
    report.mirrors = mirrors(counted.mirrors, manifest.folded);
    report.plots.push(plot("Pages of a cluster", clusters.sizes));
    let (close, similarities) = close(index);
    report.plots.push(plot("Similarity of compared texts, in percent", similarities));
    report.plots.push(plot("Characters of a text", lengths(tables)));
    report.close = close;
    report.clusters.push(("The largest clusters", groups(index, &clusters.largest)?));
    report.clusters.push(("The most chained clusters", groups(index, &clusters.chained)?));
    report.rejects = rejects(store, head)?;
    let changed = manifest.counters.iter().filter(|(name, n)| name.starts_with("pages_") && **n > 0);
    report.changes = changed.map(|(name, n)| (name.replace('_', " "), grouped(*n))).collect();
    report.epochs = epochs(store)?;
    Ok(report)
}

/// Pages, and those of them that fold.
type Count = (u64, u64);

/// Counts over all pages.
#[derive(Default)]
struct Counted {
    hosts: BTreeMap<String, Count>,
    sources: BTreeMap<u16, Count>,
    /// The folded pages by their host and that of the page that represents them.
    mirrors: BTreeMap<(String, String), u64>,
}

impl Counted {
    fn of(tables: &Tables) -> Counted {
        let mut counted = Counted::default();
        for page in tables.mapped.pages.portions(PORTION_ROWS).flatten() {
            let host = host(&tables.url(page.doc));
            let row = if page.content.is_none() { None } else { tables.cluster_row(page.content) };
            let representative = row.map(|row| row.representative).filter(|doc| *doc != page.doc);
            let folds = u64::from(representative.is_some());
            let is_counted = counted.hosts.len() < HOSTS_MAX || counted.hosts.contains_key(&host);
            let name = if is_counted { host.clone() } else { "other hosts".into() };
            for count in [counted.hosts.entry(name).or_default(), counted.sources.entry(page.source).or_default()] {
                *count = (count.0 + 1, count.1 + folds);
            }
            if let Some(doc) = representative {
                let pair = (host, self::host(&tables.url(doc)));
                if pair.0 != pair.1 && (counted.mirrors.len() < HOSTS_MAX || counted.mirrors.contains_key(&pair)) {
                    *counted.mirrors.entry(pair).or_default() += 1;
                }
            }
        }
        counted
    }
}

/// The host of a URL.
fn host(url: &str) -> String {
    host_name(url).unwrap_or_else(|| "no host".into())
}

/// The lines with the most folded pages.
fn folded<K>(counts: BTreeMap<K, Count>, name: impl Fn(&K) -> String) -> Vec<Folded> {
    let mut all: Vec<(K, Count)> = counts.into_iter().collect();
    all.sort_by_key(|(_, (pages, folded))| (u64::MAX - folded, u64::MAX - pages));
    let line = |(key, (pages, folded)): &(K, Count)| Folded {
        name: name(key),
        pages: grouped(*pages),
        folded: grouped(*folded),
        percent: percent(*folded, *pages),
    };
    all.iter().take(LINES).map(line).collect()
}

fn mirrors(counts: BTreeMap<(String, String), u64>, all: u64) -> Vec<Mirror> {
    let mut pairs: Vec<((String, String), u64)> = counts.into_iter().collect();
    pairs.sort_by_key(|(_, pages)| u64::MAX - pages);
    let line = |((from, to), pages): ((String, String), u64)| Mirror {
        from,
        to,
        pages: grouped(pages),
        percent: percent(pages, all),
    };
    pairs.into_iter().take(LINES).map(line).collect()
}

/// Bars by their lower bound and label.
type Bars = BTreeMap<u64, (String, u64)>;

fn add(bars: &mut Bars, from: u64, label: impl Fn() -> String) {
    bars.entry(from).or_insert_with(|| (label(), 0)).1 += 1;
}

/// Adds `n` to the bar of the powers of two around it.
fn add_power(bars: &mut Bars, n: u64) {
    let from = 1 << n.max(1).ilog2();
    add(bars, from, || if from == 1 { "1".into() } else { format!("{} to {}", grouped(from), grouped(2 * from - 1)) });
}

fn plot(title: &'static str, bars: Bars) -> Plot {
    let most = bars.values().map(|(_, count)| *count).max().unwrap_or(0);
    let bar = |(label, count): (String, u64)| Bar { label, count: grouped(count), percent: percent(count, most) };
    Plot { title, bars: bars.into_values().map(bar).collect() }
}

/// What one pass over the clusters finds.
#[derive(Default)]
struct Clusters {
    count: u64,
    sizes: Bars,
    largest: Vec<ClusterRow>,
    chained: Vec<ClusterRow>,
}

impl Clusters {
    fn of(tables: &Tables) -> Clusters {
        let mut found = Clusters::default();
        for rows in tables.mapped.clusters.portions(PORTION_ROWS) {
            for row in &rows {
                found.count += 1;
                add_power(&mut found.sizes, row.pages.into());
            }
            let first = |list: &mut Vec<ClusterRow>, key: fn(&ClusterRow) -> (u32, u32)| {
                list.extend(rows.iter().filter(|row| key(row).0 > 1).cloned());
                list.sort_by_key(|row| (u32::MAX - key(row).0, u32::MAX - key(row).1, row.cluster));
                list.truncate(GROUPS);
            };
            first(&mut found.largest, |row| (row.pages, row.contents));
            first(&mut found.chained, |row| (row.diameter, row.pages));
        }
        found
    }
}

/// Some clusters with how their texts begin and differ.
fn groups(index: &Index, rows: &[ClusterRow]) -> Result<Vec<Group>> {
    rows.iter().map(|row| group(index, row)).collect()
}

fn group(index: &Index, row: &ClusterRow) -> Result<Group> {
    let tables = &index.tables;
    let (pages, texts, hosts) =
        (counted(row.pages.into(), "page"), counted(row.contents.into(), "text"), counted(row.hosts.into(), "host"));
    let facts = format!("{pages}, {texts}, {hosts}; diameter {}", row.diameter);
    let mut group = Group {
        representative: tables.url(row.representative),
        facts,
        begins: String::new(),
        other: String::new(),
        parts: Vec::new(),
        note: "",
    };
    let content = tables.page(row.representative).map_or(Id::NONE, |page| page.content);
    let Some(own) = tables.evidence(content)? else { return Ok(group) };
    let Some(text) = own.text() else { return Ok(group) };
    group.begins = beginning(&text);
    let mut members = tables.mapped.members.first(row.component, MEMBERS).into_iter().map(|member| member.content);
    let is_other = |other: &Id| *other != content && tables.leader(*other) == tables.leader(content);
    let Some(other) = members.rfind(is_other) else { return Ok(group) };
    let Some(evidence) = tables.evidence(other)? else { return Ok(group) };
    group.other = tables.first_url(other);
    match evidence.text().map(|other| parts(&text, &other, &index.options)) {
        None => group.note = "its text is not kept",
        Some(None) => group.note = "too different from the first to be aligned",
        Some(Some(mut all)) => {
            if all.len() > PARTS {
                group.note = "and more";
            }
            // Facts first.
            all.sort_by_key(|part| part.kind);
            all.truncate(PARTS);
            group.parts = all;
        }
    }
    Ok(group)
}

/// How a text begins.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
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
    let (mut bars, mut nearest): (Bars, BTreeSet<(u16, Id, Id)>) = (Bars::new(), BTreeSet::new());
    let mut rows: BTreeMap<(Id, Id), PairRow> = BTreeMap::new();
    for row in index.tables.mapped.pairs.portions(PORTION_ROWS).flatten().filter(|row| row.content < row.other) {
        let from = u64::from(row.similarity / 500) * 5;
        add(&mut bars, from, || if from < 100 { format!("{from} to {}", from + 4) } else { "100".into() });
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
            similarity: format!("{:.4}", f64::from(row.similarity) / 10_000.0),
            verdict: if row.accepted == 1 { "accepted" } else { "refused" },
            reason: Reason::name(row.reason),
            a: index.tables.first_url(*a),
            b: index.tables.first_url(*b),
        })
    };
    (nearest.iter().filter_map(line).collect(), bars)
}

fn lengths(tables: &Tables) -> Bars {
    let mut bars = Bars::new();
    tables.mapped.contents.portions(PORTION_ROWS).flatten().for_each(|row| add_power(&mut bars, row.chars.into()));
    bars
}

/// A line of the list of rejects, as far as it is shown.
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
        let manifest = manifest::read(store.root(), *version)?.manifest;
        let what = match manifest.op {
            Op::Merge => continue,
            Op::Epoch => "",
            Op::Rollback => "rollback",
        };
        let pages = manifest.tables.get(PageRow::NAME).map_or(0, |table| table.rows);
        epochs.push(Epoch {
            epoch: manifest.epoch,
            what,
            time: time(manifest.logical_time).unwrap_or_default(),
            read: grouped(manifest.counters.get("read").copied().unwrap_or(0)),
            pages: grouped(pages),
            folded: grouped(manifest.folded),
            percent: percent(manifest.folded, pages),
        });
    }
    Ok(epochs)
}

/// `part` of `whole` in whole percents.
fn percent(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))).min(100) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::parts::{Part, PartKind};
    use askama::Template as _;

    /// Whatever a crawl says stands in the page as text: no tag, no attribute and no entity of it is
    /// one of the page.
    #[test]
    fn hostile_texts_are_text() {
        let hostile = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;{{ 7 * 7 }}{% raw %}";
        let text = || hostile.to_owned();
        let part = Part { kind: PartKind::Edit, before: text(), a: text(), b: text(), after: text() };
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
            hosts: vec![Folded { name: text(), pages: text(), folded: text(), percent: 3 }],
            sources: vec![Folded { name: text(), pages: text(), folded: text(), percent: 3 }],
            mirrors: vec![Mirror { from: text(), to: text(), pages: text(), percent: 3 }],
            clusters: vec![("clusters", vec![group])],
            close: vec![Close { similarity: text(), verdict: "refused", reason: "names", a: text(), b: text() }],
            rejects: vec![Rejects { reason: text(), records: text(), examples: vec![text()] }],
            ..Report::default()
        };
        let page = report.render().expect("a page");
        for bad in ["<script", "<img", "onerror=alert(2)>", "\"'>", "&lt;{{"] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert_eq!(page.matches("alert(1)").count(), 24, "each of them is shown");
        assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("<link"), "no request");
    }

    /// Bars are those of the powers of two, in order.
    #[test]
    fn bars_of_powers() {
        let mut bars = Bars::new();
        [0, 1, 2, 3, 4, 1500].into_iter().for_each(|n| add_power(&mut bars, n));
        let plot = plot("characters", bars);
        let shown: Vec<(&str, &str)> = plot.bars.iter().map(|bar| (bar.label.as_str(), bar.count.as_str())).collect();
        assert_eq!(shown, [("1", "2"), ("2 to 3", "2"), ("4 to 7", "1"), ("1,024 to 2,047", "1")]);
    }
}
