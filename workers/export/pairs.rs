//! Writes `pairs`: the decided pairs of contents with an example page of each content.

use crate::confirm::Reason;
use crate::document::Id;
use crate::error::Result;
use crate::export::PORTION_ROWS;
use crate::export::exported::Shared;
use crate::export::rows::Pair;
use crate::export::sink::{Files, Place, Sink};
use crate::export::tables::{Tables, by_url_bytes, find, sorted};
use crate::gallop::gallop;
use crate::graph::keep_rule::{KeepRule, Rank};
use crate::tables::{PageRow, PairRow, pairs};
use std::collections::BTreeMap;

/// The bytes of a URL that a row shows. A page has many pairs, so a crawl of URLs of 64 KiB would
/// have an export of a hundred times its size.
const URL_BYTES_SHOWN: usize = 2048;

/// Writes the pairs; returns how many there are.
pub(super) fn write(tables: &Tables, rule: &KeepRule, place: &Place<'_>) -> Result<(u64, Files)> {
    let mut sink = Sink::<Pair>::create(place)?;
    let mut signatures: BTreeMap<u64, Shared> = BTreeMap::new();
    let mut pairs = 0;
    for mut rows in tables.pairs.portions(PORTION_ROWS) {
        rows.retain(|row| row.content < row.other);
        let best = best_pages(tables, rule, &contents_of(&rows));
        let bytes = |content: &Id| best.get(content).map_or(0, |(_, bytes)| u64::from(*bytes));
        for rows in by_url_bytes(&rows, |row| bytes(&row.content) + bytes(&row.other)) {
            let shown = shown(tables, &best, &contents_of(rows));
            let (mut at, mut other_at) = (0, 0);
            for row in rows {
                // Rows are in order of their contents, then of the others.
                if shown.get(at).is_none_or(|content| content.id != row.content) {
                    at = position(&shown, at, row.content);
                    other_at = at;
                }
                other_at = position(&shown, other_at, row.other);
                let (content, other) = (&shown[at], &shown[other_at]);
                let signature = signatures.entry(row.proposals).or_insert_with(|| pairs::names(row.proposals).into());
                sink.push(Pair {
                    a: content.hex.clone(),
                    b: other.hex.clone(),
                    a_url: content.url.clone(),
                    b_url: other.url.clone(),
                    signature: signature.clone(),
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

/// A content as rows of its pairs show it. They share the texts, as a content may have many pairs.
struct Shown {
    id: Id,
    hex: Shared,
    url: Shared,
}

/// How `contents` (ascending) are shown, in their order.
fn shown(tables: &Tables, best: &BTreeMap<Id, (Id, u32)>, contents: &[Id]) -> Vec<Shown> {
    let urls = tables.urls(contents.iter().filter_map(|content| best.get(content)).map(|(doc, _)| *doc));
    let url = |content: &Id| cut(best.get(content).map(|(doc, _)| urls.of(*doc)).unwrap_or_default());
    let shown = |id: &Id| Shown { id: *id, hex: id.to_string().into(), url: url(id).into() };
    contents.iter().map(shown).collect()
}

/// `url`, or its beginning and an ellipsis.
fn cut(mut url: String) -> String {
    if url.len() > URL_BYTES_SHOWN {
        url.truncate(url.floor_char_boundary(URL_BYTES_SHOWN));
        url.push('\u{2026}');
    }
    url
}

/// Where `content`, which is not before `from`, is in `shown`.
fn position(shown: &[Shown], from: usize, content: Id) -> usize {
    gallop(shown.len(), from, |at| shown[at].id < content)
}

/// The contents of pairs, ascending.
fn contents_of(rows: &[PairRow]) -> Vec<Id> {
    sorted(rows.iter().flat_map(|row| [row.content, row.other]))
}

/// The page with the best rank by the keep rule, for each content, and the bytes of its URL.
fn best_pages(tables: &Tables, rule: &KeepRule, contents: &[Id]) -> BTreeMap<Id, (Id, u32)> {
    let facts = tables.contents.matching(contents);
    let mut best: BTreeMap<Id, (Rank, Id, u32)> = BTreeMap::new();
    let looked_up = |page: &PageRow| if rule.reads_urls() { page.url_bytes.into() } else { 0 };
    tables.each_pages(contents, |pages| {
        for pages in by_url_bytes(pages, looked_up) {
            let urls = tables.urls(pages.iter().map(|page| page.doc).filter(|_| rule.reads_urls()));
            for page in pages {
                let chars = find(&facts, page.content).map_or(0, |row| row.chars);
                let rank = (rule.rank(page.facts(chars, &urls.of(page.doc))), page.doc, page.url_bytes);
                best.entry(page.content).and_modify(|least| *least = rank.min(*least)).or_insert(rank);
            }
        }
    });
    best.into_iter().map(|(content, (_, doc, bytes))| (content, (doc, bytes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The URL of an ordinary page is shown whole. A longer one is cut between two characters.
    #[test]
    fn long_urls_are_cut() {
        let ordinary = "u".repeat(URL_BYTES_SHOWN);
        assert_eq!(cut(ordinary.clone()), ordinary);
        assert_eq!(cut(format!("{ordinary}u")), format!("{ordinary}…"));
        assert_eq!(cut("页".repeat(1000)), format!("{}…", "页".repeat(682)));
    }
}
