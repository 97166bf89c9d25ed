//! Writes `pairs`: the decided pairs of contents with an example page of each content. Refused
//! pairs of low similarity are left out: they may be most of the pairs, and are of no interest.
//! `rows.rs` (`Pair`) has the columns.

use crate::confirm::Reason;
use crate::distinct::distinct;
use crate::error::{Error, Result};
use crate::export::row_type::{ExportRow as _, Hex, SharedText};
use crate::export::rows::Pair;
use crate::export::sink::{Files, Place, Sink};
use crate::export::tables::{PORTION_ROWS, Tables, by_url_bytes, find};
use crate::id::Id;
use crate::keep::{KeepRule, Rank};
use crate::tables::{PageRow, PairRow, pairs};
use crate::text::hash::BuildSeeded;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The most bytes of a URL that a row shows. A page has many pairs, so the export of a crawl with
/// URLs of 64 KiB would be a hundred times as large as the crawl.
const URL_BYTES_SHOWN: usize = 2048;

/// The most bytes of URLs of contents that are kept for later portions. They have room for all
/// contents of 200,000 pages, so that each is looked up once. In a large crawl few contents are
/// needed again.
const KEPT_BYTES_MAX: usize = 1 << 25;

/// Writes the pairs; returns their number.
pub(super) fn write(tables: &Tables, rule: &KeepRule, place: &Place<'_>) -> Result<(u64, Files)> {
    let mut sink = Sink::<Pair>::create(Pair::NAME, place)?;
    let refused_min = place.output.refused_similarity_min;
    let is_listed = |row: &PairRow| row.is_accepted() || row.similarity >= refused_min;
    let (mut kept, mut pairs) = (Contents::default(), 0);
    for mut rows in tables.pairs.portions(PORTION_ROWS) {
        rows.retain(|row| row.content < row.other && is_listed(row));
        if kept.bytes > KEPT_BYTES_MAX / 2 {
            kept = Contents::default();
        }
        let best = best_pages(tables, rule, &kept.missing(&rows));
        let bytes = |content: &Id| best.get(content).map_or(0, |(_, _, bytes)| u64::from(*bytes));
        for rows in by_url_bytes(&rows, |row| bytes(&row.content) + bytes(&row.other)) {
            let missing = if best.is_empty() { Vec::new() } else { kept.missing(rows) };
            let fresh = Contents::look_up(tables, &best, &missing);
            let url = |id: Id| {
                kept.of(id)
                    .or_else(|| fresh.of(id))
                    .ok_or_else(|| Error::internal("a lost content"))
            };
            for rows in rows.chunk_by(|a, b| a.content == b.content) {
                let a_url = url(rows[0].content)?;
                for row in rows {
                    sink.push(Pair {
                        a: Hex(row.content),
                        b: Hex(row.other),
                        a_url: a_url.clone(),
                        b_url: url(row.other)?.clone(),
                        signature: signatures(row.proposals),
                        distance: row.distance.into(),
                        similarity: f64::from(row.similarity) / 10_000.0,
                        accepted: row.is_accepted(),
                        reason: Reason::name(row.reason),
                    })?;
                    pairs += 1;
                }
            }
            if kept.bytes + fresh.bytes <= KEPT_BYTES_MAX {
                kept.extend(fresh);
            }
        }
    }
    Ok((pairs, sink.finish()?))
}

/// The signatures that propose a pair, as text. There are few combinations, but millions of rows
/// that show them.
fn signatures(proposals: u64) -> &'static str {
    static NAMES: [OnceLock<String>; 256] = [const { OnceLock::new() }; 256];
    let bits = (0..8)
        .filter(|number| pairs::proposed_by(proposals, *number) > 0)
        .map(|number| 1 << number);
    NAMES[bits.sum::<usize>()].get_or_init(|| pairs::names(proposals))
}

/// The URLs by which contents are shown. A text made to collide has hundreds of pairs, in all
/// portions, so its rows share the URL.
#[derive(Default)]
struct Contents {
    urls: HashMap<Id, SharedText, BuildSeeded>,
    /// The bytes that the URLs take.
    bytes: usize,
}

impl Contents {
    /// The URLs of `contents`, which ascend, by their `best` pages.
    fn look_up(tables: &Tables, best: &BestPages, contents: &[Id]) -> Contents {
        let urls = tables
            .urls(contents.iter().filter_map(|content| best.get(content)).map(|(_, doc, _)| *doc));
        let mut looked_up = Contents::default();
        for content in contents {
            let url = cut(best.get(content).map(|(_, doc, _)| urls.of(*doc)).unwrap_or_default());
            looked_up.bytes += size_of::<(Id, SharedText)>() + url.len();
            looked_up.urls.insert(*content, url.into());
        }
        looked_up
    }

    fn of(&self, content: Id) -> Option<&SharedText> {
        self.urls.get(&content)
    }

    /// The contents of pairs that are not here, ascending.
    fn missing(&self, rows: &[PairRow]) -> Vec<Id> {
        let contents = rows.chunk_by(|a, b| a.content == b.content).map(|rows| rows[0].content);
        let contents = contents.chain(rows.iter().map(|row| row.other));
        distinct(contents.filter(|content| !self.urls.contains_key(content)))
    }

    fn extend(&mut self, more: Contents) {
        self.urls.extend(more.urls);
        self.bytes += more.bytes;
    }
}

/// `url`, or its beginning and an ellipsis.
fn cut(mut url: String) -> String {
    if url.len() > URL_BYTES_SHOWN {
        url.truncate(url.floor_char_boundary(URL_BYTES_SHOWN));
        url.push('\u{2026}');
    }
    url
}

/// By content: the rank of its best page by the keep rule, that page, and the bytes of its URL.
type BestPages = HashMap<Id, (Rank, Id, u32), BuildSeeded>;

/// The best pages of `contents`, ascending.
fn best_pages(tables: &Tables, rule: &KeepRule, contents: &[Id]) -> BestPages {
    let facts = tables.contents.matching(contents);
    let mut best = BestPages::default();
    let looked_up = |page: &PageRow| if rule.reads_urls() { page.url_bytes.into() } else { 0 };
    tables.each_pages(contents, |pages| {
        for pages in by_url_bytes(pages, looked_up) {
            let urls = tables.urls(pages.iter().map(|page| page.doc).filter(|_| rule.reads_urls()));
            for page in pages {
                let chars = find(&facts, page.content).map_or(0, |row| row.chars);
                let rank =
                    (rule.rank(page.facts(chars, &urls.of(page.doc))), page.doc, page.url_bytes);
                best.entry(page.content)
                    .and_modify(|least| *least = rank.min(*least))
                    .or_insert(rank);
            }
        }
    });
    best
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

    /// Each combination of signatures has its names.
    #[test]
    fn signatures_are_named() {
        for proposals in
            [0x0001, 0x0601, 0x0101, 0x0000_0001_0200_4000, 0x0100_0000_0001, 0, 0x0901]
        {
            assert_eq!(signatures(proposals), pairs::names(proposals));
        }
    }

    /// Contents that earlier portions looked up are not missing, and neither content of a pair is
    /// forgotten.
    #[test]
    fn contents_are_missing_until_they_are_kept() {
        let id = |low| Id { high: 7, low };
        let row = |a, b| PairRow {
            content: id(a),
            other: id(b),
            distance: 1,
            similarity: 9000,
            reason: 3,
            accepted: 1,
            proposals: 1,
            diff: 1,
        };
        let rows = [row(1, 2), row(1, 9), row(2, 3), row(5, 9)];
        let mut kept = Contents::default();
        assert_eq!(kept.missing(&rows), [1, 2, 3, 5, 9].map(id));
        kept.extend(Contents {
            urls: [1, 9].map(|n| (id(n), String::new().into())).into_iter().collect(),
            bytes: 64,
        });
        assert_eq!((kept.missing(&rows), kept.bytes), ([2, 3, 5].map(id).into(), 64));
        assert!(kept.of(id(9)).is_some() && kept.of(id(2)).is_none());
    }
}
