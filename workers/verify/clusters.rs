//! Checks that `clusters` and `leaders` are what the components, pages and accepted pairs give.
//!
//! Components are computed again by the fold's own function ([`crate::fold::clusters`]), some at a
//! time, each whole. That a page is in at most one cluster follows: a page has one content
//! (`content_pages`), a content has one component (`component_members`) and one leader (`leaders`),
//! and these have one row.
//!
//! If the keep rule reads the former representatives, it gets the stored ones. With these a sound
//! store gives the same representatives again ([`crate::keep`]). So the check of a
//! representative is that it may represent, and that no page is preferred by the criteria before
//! `incumbent`.

use crate::fold::clusters::{ComponentClusters, RankedPage, clusters_of};
use crate::fold::leaders::Led;
use crate::fold::touched::{AcceptedPair, TouchedContent, TouchedPage};
use crate::id::Id;
use crate::job::clusters::Options;
use crate::keep::KeepRule;
use crate::tables::mapped::Mapped;
use crate::tables::{ClusterRow, LeaderRow, UrlRow};
use crate::verify::findings::Check;
use crate::verify::live::{Live, PORTION_ROWS, distinct, joined};
use std::collections::BTreeMap;

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
    let pairs =
        fields(stored).into_iter().zip(fields(anew)).filter(|(stored, anew)| stored != anew);
    let differing: Vec<String> = pairs
        .map(|((name, stored), (_, anew))| format!("{name} {stored}, its pages say {anew}"))
        .collect();
    differing.join("; ")
}

/// Each cluster has the row that its pages give, and each content the leader that the rule gives.
/// No row is missing and none is too many.
pub fn clusters(tables: &Mapped, rule: &KeepRule, options: &Options) -> [Check; 2] {
    let mut checks = Checks { clusters: Check::new("clusters"), leaders: Check::new("leaders") };
    let (mut members, mut stored) = (Live::of(&tables.members), Live::of(&tables.clusters));
    let mut components =
        Components { asked: Vec::new(), rows: Vec::new(), contents: Vec::new(), pages: 0, options };
    let with_members = distinct(Live::of(&tables.members).map(|row| row.component));
    let with_rows = distinct(Live::of(&tables.clusters).map(|row| row.component));
    for sides in joined(with_members, with_rows, |component| *component, |component| *component) {
        let ((Some(component), _) | (_, Some(component))) = sides else { continue };
        if components.contents.len() >= CONTENTS_MAX || components.pages >= PORTION_ROWS {
            components.compare(tables, rule, &mut checks);
        }
        components.asked.push(component);
        let before = components.contents.len();
        members.seek(|member| member.component.cmp(&component));
        while let Some(member) = members.next_if(|member| member.component.cmp(&component)) {
            components.contents.push(TouchedContent { component, content: member.content });
        }
        if components.contents.len() == before {
            components.contents.push(TouchedContent { component, content: component });
        }
        stored.seek(|row| row.component.cmp(&component));
        while let Some(row) = stored.next_if(|row| row.component.cmp(&component)) {
            // The stored number of pages limits what is held in memory. If it is wrong the check
            // still finds it.
            components.pages += row.pages as usize;
            components.rows.push(row);
        }
    }
    components.compare(tables, rule, &mut checks);
    missing(tables, options, &mut checks.clusters);
    led(tables, &mut checks.leaders);
    [checks.clusters, checks.leaders]
}

struct Checks {
    clusters: Check,
    leaders: Check,
}

/// Some whole components and their stored rows.
struct Components<'a> {
    asked: Vec<Id>,
    rows: Vec<ClusterRow>,
    contents: Vec<TouchedContent>,
    pages: usize,
    options: &'a Options,
}

impl Components<'_> {
    /// Compares the rows with computed ones, then forgets them.
    fn compare(&mut self, tables: &Mapped, rule: &KeepRule, checks: &mut Checks) {
        let incumbents =
            self.rows.iter().map(|row| (row.representative, row.pages.into())).collect();
        let (pages, pairs) =
            parts(tables, (rule, &incumbents), std::mem::take(&mut self.contents), self.options);
        let mut all_led: Vec<Led> = Vec::new();
        for component in self.asked.drain(..) {
            let stored = of_component(&self.rows, component, |row| row.component);
            let pages = of_component(&pages, component, |page| page.component);
            let pairs = of_component(&pairs, component, |pair| pair.component);
            let ComponentClusters { rows: anew, led } =
                clusters_of(component, pages, pairs, self.options.radius, rule);
            all_led.extend(led);
            for sides in joined(stored.iter(), anew.into_iter(), |row| row.leader, |row| row.leader)
            {
                match sides {
                    (Some(stored), Some(anew)) => {
                        if anew != *stored {
                            checks
                                .clusters
                                .find::<ClusterRow>(name(stored), differences(stored, &anew));
                        }
                    }
                    (Some(stored), None) => {
                        checks.clusters.find::<ClusterRow>(
                            name(stored),
                            "one too many: fewer than two pages are in it",
                        );
                    }
                    (None, Some(anew)) => checks
                        .clusters
                        .find::<ClusterRow>(name(&anew), "missing, though it has pages"),
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
                    checks.leaders.find::<LeaderRow>(
                        content,
                        format_args!("{}, the rule says {leader}", row.leader),
                    );
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

/// The ranked pages of the contents `asked`, without contents that say too little, and the accepted
/// pairs of all, both sorted. `incumbents` are the pages that represent others, and how many.
fn parts(
    tables: &Mapped,
    (rule, incumbents): (&KeepRule, &BTreeMap<Id, u64>),
    mut asked: Vec<TouchedContent>,
    options: &Options,
) -> (Vec<RankedPage>, Vec<AcceptedPair>) {
    asked.sort_unstable_by_key(|asked| asked.content);
    let mut pages: Vec<TouchedPage> = Vec::new();
    let mut accepted: Vec<AcceptedPair> = Vec::new();
    let (mut contents, mut components) = (Live::of(&tables.contents), Live::of(&tables.components));
    let (mut content_pages, mut pairs) = (Live::of(&tables.content_pages), Live::of(&tables.pairs));
    for of in asked.chunk_by(|a, b| a.content == b.content) {
        let content = of[0].content;
        // A content that is in another component is no cluster of its own.
        let component =
            components.find(|row| row.content.cmp(&content)).map_or(content, |row| row.component);
        if of.iter().all(|asked| asked.component != component) {
            continue;
        }
        let row = contents.find(|row| row.content.cmp(&content));
        if row.as_ref().is_none_or(|row| !row.says_little(options)) {
            let chars = row.map_or(0, |row| u64::from(row.chars));
            content_pages.seek(|row| row.content.cmp(&content));
            while let Some(row) = content_pages.next_if(|row| row.content.cmp(&content)) {
                pages.push(TouchedPage { doc: row.doc, component, content, chars });
            }
        }
        pairs.seek(|row| row.content.cmp(&content));
        while let Some(row) = pairs.next_if(|row| row.content.cmp(&content)) {
            if row.is_accepted() && content < row.other {
                let similarity = row.similarity.into();
                accepted.push(AcceptedPair { component, a: content, b: row.other, similarity });
            }
        }
    }
    pages.sort_unstable_by_key(|page| page.doc);
    let (mut live, mut urls) = (Live::of(&tables.pages), Live::of(&tables.urls));
    let mut ranked: Vec<RankedPage> = Vec::new();
    for TouchedPage { doc, component, content, chars } in pages {
        // Another check finds pages that do not live; they do not count here.
        if let Some(page) = live.find(|page| page.doc.cmp(&doc)) {
            let url = if rule.reads_urls() { urls.find(|row| row.doc.cmp(&doc)) } else { None };
            let url = url.as_ref().map_or_else(Default::default, UrlRow::text);
            let rank = rule.rank(page.facts(chars as u32, &url));
            let (host, source) = (page.host, page.source.into());
            let represented = incumbents.get(&doc).copied().unwrap_or(0);
            ranked.push(RankedPage { component, content, doc, host, source, rank, represented });
        }
    }
    ranked.sort_unstable();
    accepted.sort_unstable();
    (ranked, accepted)
}

/// Finds contents with several pages and no accepted pair that have no row.
fn missing(tables: &Mapped, options: &Options, check: &mut Check) {
    let (mut joined, mut clusters) = (Live::of(&tables.components), Live::of(&tables.clusters));
    let mut contents = Live::of(&tables.contents);
    let mut last = (Id::NONE, 0u64);
    for row in Live::of(&tables.content_pages) {
        last = (row.content, if row.content == last.0 { last.1 + 1 } else { 1 });
        // The second page makes the content a cluster. This is true once for each content.
        let (content, 2) = last else { continue };
        if joined.find(|row| row.content.cmp(&content)).is_none()
            && clusters.find(|row| row.component.cmp(&content)).is_none()
            && contents
                .find(|row| row.content.cmp(&content))
                .is_some_and(|row| !row.says_little(options))
        {
            check.find::<ClusterRow>(content, "missing, though the content has several pages");
        }
    }
}

/// Finds contents of components that have no leader, and leaders of other contents.
fn led(tables: &Mapped, check: &mut Check) {
    let (components, leaders) = (Live::of(&tables.components), Live::of(&tables.leaders));
    for sides in joined(components, leaders, |row| row.content, |row| row.content) {
        match sides {
            (Some(row), None) => {
                check.find::<LeaderRow>(
                    row.content,
                    "missing, though the content is in a component",
                );
            }
            (None, Some(row)) => {
                check.find::<LeaderRow>(row.content, "of a content in no component")
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keep;

    /// Only the fields that differ are named.
    #[test]
    fn fields_that_differ() {
        let id = |high| Id { high, low: 0 };
        let (host, source, rank) = (0, 0, Default::default());
        let represented = 0;
        let page = |n| RankedPage {
            component: id(1),
            content: id(1),
            doc: id(n),
            host,
            source,
            rank,
            represented,
        };
        let rule = KeepRule::new(&keep::Options::default(), &[""; 0]);
        let anew = clusters_of(id(1), &[page(4), page(5)], &[], 1, &rule).rows.remove(0);
        assert_eq!(differences(&anew, &anew), "");
        let stored = ClusterRow { pages: 7, ..anew.clone() };
        assert_eq!(differences(&stored, &anew), "pages 7, its pages say 2");
    }
}
