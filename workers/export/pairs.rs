//! Writes `pairs`: the decided pairs of contents with an example page of each content.

use crate::confirm::Reason;
use crate::document::Id;
use crate::error::Result;
use crate::export::PORTION_ROWS;
use crate::export::rows::Pair;
use crate::export::sink::{Files, Place, Sink};
use crate::export::tables::{Tables, by_url_bytes, find, sorted};
use crate::graph::representative::{KeepRule, Rank};
use crate::tables::pairs;
use std::collections::BTreeMap;

/// Writes the pairs; returns how many there are.
pub(super) fn write(tables: &Tables, rule: &KeepRule, place: &Place<'_>) -> Result<(u64, Files)> {
    let mut sink = Sink::<Pair>::create(place)?;
    let mut pairs = 0;
    for mut rows in tables.pairs.portions(PORTION_ROWS) {
        rows.retain(|row| row.content < row.other);
        let best = best_pages(tables, rule, &sorted(rows.iter().flat_map(|row| [row.content, row.other])));
        let bytes = |content: &Id| best.get(content).map_or(0, |(_, bytes)| u64::from(*bytes));
        for rows in by_url_bytes(&rows, |row| bytes(&row.content) + bytes(&row.other)) {
            let shown = rows.iter().flat_map(|row| [row.content, row.other]);
            let urls = tables.urls(shown.filter_map(|content| best.get(&content)).map(|(doc, _)| *doc));
            let url = |content: &Id| best.get(content).map(|(doc, _)| urls.of(*doc)).unwrap_or_default();
            for row in rows {
                sink.push(Pair {
                    a: row.content.to_string(),
                    b: row.other.to_string(),
                    a_url: url(&row.content),
                    b_url: url(&row.other),
                    signature: pairs::names(row.proposals),
                    distance: row.distance.into(),
                    similarity: f64::from(row.similarity) / 10_000.0,
                    accepted: row.accepted == 1,
                    reason: Reason::name(row.reason),
                })?;
                pairs += 1;
            }
        }
    }
    Ok((pairs, sink.finish()?))
}

/// The page with the best rank by the keep rule, for each content, and the bytes of its URL.
fn best_pages(tables: &Tables, rule: &KeepRule, contents: &[Id]) -> BTreeMap<Id, (Id, u32)> {
    let facts = tables.contents.matching(contents);
    let docs = sorted(tables.content_pages.matching(contents).into_iter().map(|row| row.doc));
    let mut best: BTreeMap<Id, (Rank, Id, u32)> = BTreeMap::new();
    for page in tables.pages.matching(&docs) {
        let chars = find(&facts, page.content).map_or(0, |row| row.chars);
        let rank = (rule.rank(page.facts(chars)), page.doc, page.url_bytes);
        best.entry(page.content).and_modify(|least| *least = rank.min(*least)).or_insert(rank);
    }
    best.into_iter().map(|(content, (_, doc, bytes))| (content, (doc, bytes))).collect()
}
