//! The clusters that are worth a look, and how the texts of each differ.

use crate::ask::index::Index;
use crate::ask::report::bars::Bars;
use crate::ask::report::sizes::PORTION_ROWS;
use crate::ask::report::views::Group;
use crate::ask::tables::Tables;
use crate::confirm::parts::parts;
use crate::error::Result;
use crate::figures::counted;
use crate::id::Id;
use crate::tables::ClusterRow;

/// The most clusters of each list.
const GROUPS: usize = 10;
/// The most texts of a cluster that are searched for the one least like the text of the
/// representative.
const MEMBERS: usize = 64;
/// The most differences of two texts that are shown.
const PARTS: usize = 8;
/// The most characters of a text that are shown.
const TEXT_CHARS: usize = 280;

/// What one pass over the clusters finds.
pub(super) struct Clusters {
    pub(super) count: u64,
    /// The clusters by their number of pages.
    pub(super) sizes: Bars,
    largest: Vec<ClusterRow>,
    chained: Vec<ClusterRow>,
}

impl Clusters {
    pub(super) fn of(tables: &Tables) -> Clusters {
        let mut found = Clusters {
            count: 0,
            sizes: Bars::of_powers(),
            largest: Vec::new(),
            chained: Vec::new(),
        };
        for rows in tables.mapped.clusters.portions(PORTION_ROWS) {
            for row in &rows {
                found.count += 1;
                found.sizes.add_power(row.pages);
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

    /// The clusters with the most pages.
    pub(super) fn largest(&self, index: &Index) -> Result<Vec<Group>> {
        self.largest.iter().map(|row| group(index, row)).collect()
    }

    /// The clusters with the greatest diameter. If one is also among the largest, it is only named.
    pub(super) fn chained(&self, index: &Index) -> Result<Vec<Group>> {
        let is_shown =
            |row: &ClusterRow| self.largest.iter().any(|other| other.cluster == row.cluster);
        let one = |row: &ClusterRow| match is_shown(row) {
            true => Ok(Group { note: "shown above", ..named(index, row) }),
            false => group(index, row),
        };
        self.chained.iter().map(one).collect()
    }
}

/// A cluster without its texts.
fn named(index: &Index, row: &ClusterRow) -> Group {
    let counts = [(row.pages, "page"), (row.contents, "text"), (row.hosts, "host")];
    let counts = counts.map(|(n, one)| counted(n.into(), one)).join(", ");
    let facts = format!("{counts}; diameter {}", row.diameter);
    Group { representative: index.tables.url(row.representative), facts, ..Group::default() }
}

/// A cluster with how its texts begin and differ.
fn group(index: &Index, row: &ClusterRow) -> Result<Group> {
    let tables = &index.tables;
    let mut group = named(index, row);
    let content = tables.page(row.representative).map_or(Id::NONE, |page| page.content);
    let Some(own) = tables.evidence(content)? else { return Ok(group) };
    let Some(text) = own.kept_text(content)? else { return Ok(group) };
    group.begins = beginning(&text);
    let Some(other) = least_like(tables, row, content) else { return Ok(group) };
    let Some(evidence) = tables.evidence(other)? else { return Ok(group) };
    group.other = tables.first_url(other);
    match evidence.kept_text(other)?.map(|other| parts(&text, &other, &index.options)) {
        None => group.note = "its text is not kept",
        Some(None) => group.note = "too different to be aligned",
        Some(Some(mut all)) => {
            if all.len() > PARTS {
                group.note = "the first differences, facts before others";
            }
            all.sort_by_key(|part| part.kind);
            all.truncate(PARTS);
            group.parts = all;
        }
    }
    Ok(group)
}

/// Of the first texts of a cluster, the one that is least like `content`: a text that has no
/// accepted pair with it, or else the text with the least similarity. `None` if the cluster has no
/// other text.
fn least_like(tables: &Tables, row: &ClusterRow, content: Id) -> Option<Id> {
    let members = tables
        .mapped
        .members
        .first(row.component, MEMBERS)
        .into_iter()
        .map(|member| member.content);
    let others = members
        .filter(|other| *other != content && tables.leader(*other) == tables.leader(content));
    let accepted = |other: Id| tables.pair(content, other).filter(|pair| pair.is_accepted());
    others.min_by_key(|other| accepted(*other).map_or(0, |pair| u32::from(pair.similarity) + 1))
}

/// How a text begins.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
