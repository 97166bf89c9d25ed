//! Writes the rows `gone` of `redirects`: for pages that are gone, the live page that they lead to.
//!
//! A page that is gone leads to the page that represents the cluster of its last text or, if no
//! page has this text any more, the cluster of the successor of the text. If that is none, or says
//! too little to compare pages by, it leads to where a redirect in the crawl leads. Cluster and
//! representative are those of today, so a link never leads to another page that is gone. A page
//! has no row if neither is there.

use crate::distinct::distinct;
use crate::error::Result;
use crate::export::rows::Redirect;
use crate::export::sink::Sink;
use crate::export::tables::{Tables, by_url_bytes, find};
use crate::id::Id;
use crate::job::clusters::Options;
use crate::tables::pages::REDIRECTS_MAX;
use crate::tables::{ContentRow, GoneRow, PageRow, successors};
use crate::text::hash::BuildSeeded;
use std::collections::HashMap;

/// The rows of `gone` that are held in memory at once, for each of its segments, with their URLs.
const PORTION_ROWS: usize = 1 << 13;

/// Adds a row for each page that is gone and leads to a live page, and returns the number of rows.
pub(super) fn write(
    tables: &Tables,
    options: &Options,
    redirects: &mut Sink<Redirect>,
) -> Result<u64> {
    let mut count = 0;
    for gone in tables.gone.portions(PORTION_ROWS) {
        let had = distinct(gone.iter().map(|row| row.content).filter(|content| !content.is_none()));
        let ends = successors::ends(&tables.successors, &had);
        let live = tables.contents.matching(&distinct(ends.values().copied()));
        let live = ContentRow::telling(&live, options);
        let clusters = tables.clusters_of(&live);
        // A live text that is in no cluster has one page.
        let alone = live.iter().copied().filter(|content| clusters.of(*content).is_none());
        let pages = tables.content_pages.matching(&distinct(alone));
        let by_text = |content: &Id| {
            let end = live.binary_search(ends.get(content)?).ok().map(|at| live[at])?;
            clusters.of(end).map(|row| row.representative).or_else(|| Some(find(&pages, end)?.doc))
        };
        let texts: Vec<Option<Id>> = gone.iter().map(|row| by_text(&row.content)).collect();
        let without = gone.iter().zip(&texts).filter(|(_, text)| text.is_none());
        let moved = by_redirects(tables, without.map(|(row, _)| row));
        let lives_on = gone.into_iter().zip(texts).filter_map(|(row, text)| {
            let by_redirect = || Some((*moved.get(&row.doc)?, "redirect"));
            let (target, reason) = text.map(|target| (target, "")).or_else(by_redirect)?;
            Some((target, reason, row.url))
        });
        let lives_on: Vec<(Id, &'static str, Box<[u8]>)> = lives_on.collect();
        let targets = tables.pages.matching(&distinct(lives_on.iter().map(|(target, ..)| *target)));
        let bytes = |target: Id| find(&targets, target).map_or(0, |page| u64::from(page.url_bytes));
        for rows in by_url_bytes(&lives_on, |(target, _, url)| bytes(*target) + url.len() as u64) {
            let urls = tables.urls(rows.iter().map(|(target, ..)| *target));
            for (target, reason, url) in rows {
                let (url, representative) =
                    (String::from_utf8_lossy(url).into_owned().into(), urls.of(*target).into());
                redirects.push(Redirect {
                    url,
                    representative,
                    relation: "gone",
                    reason,
                    similarity: None,
                })?;
                count += 1;
            }
        }
    }
    Ok(count)
}

/// Where redirects in the crawl lead from the rows of `gone`, by their DocIds: the page that
/// represents the cluster of the live page at their end. Only pages that had a text count: a crawl
/// meets redirects from many URLs that never were pages.
fn by_redirects<'g>(
    tables: &Tables,
    gone: impl Iterator<Item = &'g GoneRow>,
) -> HashMap<Id, Id, BuildSeeded> {
    let had_text = gone.filter(|row| !row.content.is_none() && !row.moved_to.is_none());
    // For each page, where its redirects lead so far.
    let mut at: Vec<(Id, Id)> = had_text.map(|row| (row.doc, row.moved_to)).collect();
    let mut found: Vec<(Id, PageRow)> = Vec::new();
    for _ in 0..REDIRECTS_MAX {
        if at.is_empty() {
            break;
        }
        let ends = distinct(at.iter().map(|(_, end)| *end));
        let (live, gone) = (tables.pages.matching(&ends), tables.gone.matching(&ends));
        found.extend(at.iter().filter_map(|(doc, end)| Some((*doc, find(&live, *end)?.clone()))));
        let next = |(doc, end): (Id, Id)| {
            let row = find(&gone, end)?;
            (!row.moved_to.is_none()).then_some((doc, row.moved_to))
        };
        at = at.into_iter().filter_map(next).collect();
    }
    let contents = distinct(found.iter().map(|(_, page)| page.content));
    let clusters = tables.clusters_of(&contents);
    let shown =
        |page: &PageRow| clusters.of(page.content).map_or(page.doc, |row| row.representative);
    found.iter().map(|(doc, page)| (*doc, shown(page))).collect()
}
