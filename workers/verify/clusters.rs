//! Checks that `clusters` and `leaders` are what the components, pages and accepted pairs give.
//!
//! Components are computed again by the fold's own function ([`crate::fold::clusters`]), some at a
//! time, each whole. That a page is in at most one cluster follows: a page has one content
//! (`content_pages`), a content has one component (`component_members`) and one leader (`leaders`),
//! and these have one row.

use crate::document::Id;
use crate::fold::clusters::{AcceptedPair, ComponentClusters, RankedPage, TouchedContent, TouchedPage, clusters_of};
use crate::fold::leaders::Led;
use crate::graph::DIAMETER_CONTENTS_MAX;
use crate::graph::representative::KeepRule;
use crate::tables::{ClusterRow, LeaderRow};
use crate::verify::findings::Check;
use crate::verify::live::{Live, PORTION_ROWS, Tables, distinct, joined};

/// The number of contents whose clusters are computed at once, unless one component has more. Their
/// pairs are held in memory, at most 128 for each content.
const CONTENTS_MAX: usize = PORTION_ROWS / 8;

/// The fields in which a stored row differs from the computed one.
fn differences(stored: &ClusterRow, anew: &ClusterRow) -> String {
    let fields = |row: &ClusterRow| {
        [
            ("cluster", row.cluster.to_string()),
            ("pages", row.pages.to_string()),
            ("contents", row.contents.to_string()),
            ("hosts", row.hosts.to_string()),
            ("diameter", row.diameter.to_string()),
            ("representative", row.representative.to_string()),
        ]
    };
    let pairs = fields(stored).into_iter().zip(fields(anew)).filter(|(stored, anew)| stored != anew);
    let differing: Vec<String> =
        pairs.map(|((name, stored), (_, anew))| format!("{name} {stored}, its pages say {anew}")).collect();
    differing.join("; ")
}

/// Each cluster has the row that its pages give, and each content the leader that the rule gives.
/// No row is missing and none is too many.
pub fn clusters(tables: &Tables, rule: &KeepRule, radius: Option<u8>) -> [Check; 2] {
    let mut checks = Checks { clusters: Check::new("clusters"), leaders: Check::new("leaders") };
    let mut members = Live::of(&tables.members);
    let mut components = Components { rows: Vec::new(), contents: Vec::new(), pages: 0, radius };
    for row in Live::of(&tables.clusters) {
        let component = row.component;
        if components.rows.last().is_none_or(|last| last.component != component) {
            if components.contents.len() >= CONTENTS_MAX || components.pages >= PORTION_ROWS {
                components.compare(tables, rule, &mut checks);
            }
            let before = components.contents.len();
            members.seek(|member| member.component.cmp(&component));
            while let Some(member) = members.next_if(|member| member.component.cmp(&component)) {
                components.contents.push(TouchedContent { component, content: member.content });
            }
            if components.contents.len() == before {
                components.contents.push(TouchedContent { component, content: component });
            }
        }
        // The stored number of pages limits what is held in memory. If it is wrong the check still
        // finds it.
        components.pages += row.pages as usize;
        components.rows.push(row);
    }
    components.compare(tables, rule, &mut checks);
    missing(tables, &mut checks.clusters);
    led(tables, radius, &mut checks.leaders);
    [checks.clusters, checks.leaders]
}

struct Checks {
    clusters: Check,
    leaders: Check,
}

/// Some whole components and their stored rows.
struct Components {
    rows: Vec<ClusterRow>,
    contents: Vec<TouchedContent>,
    pages: usize,
    radius: Option<u8>,
}

impl Components {
    /// Compares the rows with computed ones, then forgets them.
    fn compare(&mut self, tables: &Tables, rule: &KeepRule, checks: &mut Checks) {
        let (pages, pairs) = parts(tables, rule, std::mem::take(&mut self.contents), self.radius);
        let mut all_led: Vec<Led> = Vec::new();
        for stored in self.rows.chunk_by(|a, b| a.component == b.component) {
            let component = stored[0].component;
            let pages = of_component(&pages, component, |page| page.component);
            let pairs = of_component(&pairs, component, |pair| pair.component);
            let ComponentClusters { rows: anew, led } = clusters_of(component, pages, pairs, self.radius);
            all_led.extend(led);
            for sides in joined(stored.iter(), anew.into_iter(), |row| row.leader, |row| row.leader) {
                match sides {
                    (Some(stored), Some(mut anew)) => {
                        if self.radius.is_none() && anew.contents as usize > DIAMETER_CONTENTS_MAX {
                            anew.diameter = stored.diameter;
                        }
                        if anew != *stored {
                            checks.clusters.find::<ClusterRow>(name(stored), differences(stored, &anew));
                        }
                    }
                    (Some(stored), None) => {
                        checks
                            .clusters
                            .find::<ClusterRow>(name(stored), "one too many: fewer than two pages are in it");
                    }
                    (None, Some(anew)) => {
                        checks.clusters.find::<ClusterRow>(name(&anew), "missing, though it has pages")
                    }
                    (None, None) => {}
                }
            }
        }
        all_led.sort_unstable();
        let mut leaders = Live::of(&tables.leaders);
        for Led { content, leader } in all_led {
            // `led` finds the leaders that are missing.
            match leaders.find(|row| row.content.cmp(&content)) {
                Some(row) if row.leader != leader => {
                    checks.leaders.find::<LeaderRow>(content, format_args!("{}, the rule says {leader}", row.leader));
                }
                _ => {}
            }
        }
        self.rows.clear();
        self.pages = 0;
    }
}

/// The rows of `component` among `rows`, which ascend by component.
fn of_component<T>(rows: &[T], component: Id, of: impl Fn(&T) -> Id) -> &[T] {
    let start = rows.partition_point(|row| of(row) < component);
    let end = rows.partition_point(|row| of(row) <= component);
    &rows[start..end]
}

fn name(row: &ClusterRow) -> String {
    format!("{} {}", row.component, row.leader)
}

/// The ranked pages and the accepted pairs of the contents `asked`, both sorted.
fn parts(
    tables: &Tables,
    rule: &KeepRule,
    mut asked: Vec<TouchedContent>,
    radius: Option<u8>,
) -> (Vec<RankedPage>, Vec<AcceptedPair>) {
    let sizes: Vec<(Id, usize)> =
        asked.chunk_by(|a, b| a.component == b.component).map(|of| (of[0].component, of.len())).collect();
    let size = |component: Id| sizes.binary_search_by_key(&component, |size| size.0).map_or(0, |at| sizes[at].1);
    asked.sort_unstable_by_key(|asked| asked.content);
    let mut pages: Vec<TouchedPage> = Vec::new();
    let mut accepted: Vec<AcceptedPair> = Vec::new();
    let (mut contents, mut components) = (Live::of(&tables.contents), Live::of(&tables.components));
    let (mut content_pages, mut pairs) = (Live::of(&tables.content_pages), Live::of(&tables.pairs));
    for of in asked.chunk_by(|a, b| a.content == b.content) {
        let content = of[0].content;
        // A content that is in another component is no cluster of its own.
        let component = components.find(|row| row.content.cmp(&content)).map_or(content, |row| row.component);
        if of.iter().all(|asked| asked.component != component) {
            continue;
        }
        let chars = contents.find(|row| row.content.cmp(&content)).map_or(0, |row| u64::from(row.chars));
        content_pages.seek(|row| row.content.cmp(&content));
        while let Some(row) = content_pages.next_if(|row| row.content.cmp(&content)) {
            pages.push(TouchedPage { doc: row.doc, component, content, chars });
        }
        // Without a radius, pairs only determine the diameter.
        if radius.is_none() && size(component) > DIAMETER_CONTENTS_MAX {
            continue;
        }
        pairs.seek(|row| row.content.cmp(&content));
        while let Some(row) = pairs.next_if(|row| row.content.cmp(&content)) {
            if row.accepted == 1 && content < row.other {
                accepted.push(AcceptedPair { component, a: content, b: row.other });
            }
        }
    }
    pages.sort_unstable_by_key(|page| page.doc);
    let mut live = Live::of(&tables.pages);
    let mut ranked: Vec<RankedPage> = Vec::new();
    for TouchedPage { doc, component, content, chars } in pages {
        // Another check finds pages that do not live; they do not count here.
        if let Some(page) = live.find(|page| page.doc.cmp(&doc)) {
            let rank = rule.rank(page.facts(chars as u32));
            ranked.push(RankedPage { component, content, doc, host: page.host, rank });
        }
    }
    ranked.sort_unstable();
    accepted.sort_unstable();
    (ranked, accepted)
}

/// Finds components, and contents with several pages and no accepted pair, that have no row.
fn missing(tables: &Tables, check: &mut Check) {
    let components = distinct(Live::of(&tables.members).map(|row| row.component));
    let clusters = distinct(Live::of(&tables.clusters).map(|row| row.component));
    for sides in joined(components, clusters, |component| *component, |component| *component) {
        if let (Some(component), None) = sides {
            check.find::<ClusterRow>(component, "missing, though there is such a component");
        }
    }
    let (mut joined, mut clusters) = (Live::of(&tables.components), Live::of(&tables.clusters));
    let mut last = (Id::NONE, 0u64);
    for row in Live::of(&tables.content_pages) {
        last = (row.content, if row.content == last.0 { last.1 + 1 } else { 1 });
        // The second page makes the content a cluster. This is true once for each content.
        let (content, 2) = last else { continue };
        if joined.find(|row| row.content.cmp(&content)).is_none()
            && clusters.find(|row| row.component.cmp(&content)).is_none()
        {
            check.find::<ClusterRow>(content, "missing, though the content has several pages");
        }
    }
}

/// Finds contents of components that have no leader though a radius is set, and leaders of other
/// contents or without a radius.
fn led(tables: &Tables, radius: Option<u8>, check: &mut Check) {
    let (components, leaders) = (Live::of(&tables.components), Live::of(&tables.leaders));
    for sides in joined(components, leaders, |row| row.content, |row| row.content) {
        match sides {
            (Some(row), None) if radius.is_some() => {
                check.find::<LeaderRow>(row.content, "missing, though the content is in a component");
            }
            (None, Some(row)) => check.find::<LeaderRow>(row.content, "of a content in no component"),
            (Some(_), Some(row)) if radius.is_none() => check.find::<LeaderRow>(row.content, "though no radius is set"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the fields that differ are named.
    #[test]
    fn fields_that_differ() {
        let id = |high| Id { high, low: 0 };
        let page = |n| RankedPage { component: id(1), content: id(1), doc: id(n), host: 0, rank: Default::default() };
        let anew = clusters_of(id(1), &[page(4), page(5)], &[], None).rows.remove(0);
        assert_eq!(differences(&anew, &anew), "");
        let stored = ClusterRow { pages: 7, ..anew.clone() };
        assert_eq!(differences(&stored, &anew), "pages 7, its pages say 2");
    }
}
