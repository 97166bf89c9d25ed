//! Writes the rows `gone` of `redirects`: for pages that are gone, the live page that they lead to.
//!
//! A page that is gone leads to the page that represents the cluster of its last text or, if no
//! page has this text any more, the cluster of the successor of the text. Cluster and
//! representative are those of today, so a link never leads to another page that is gone. A page
//! has no row if nothing of its cluster is left, or if the text says too little to compare pages
//! by.

use crate::document::{Id, sorted};
use crate::error::Result;
use crate::export::rows::Redirect;
use crate::export::sink::Sink;
use crate::export::tables::{Tables, by_url_bytes, find};
use crate::job::clusters::Options;
use crate::tables::successors;

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
        let had = sorted(gone.iter().map(|row| row.content).filter(|content| !content.is_none()));
        let ends = successors::ends(&tables.successors, &had);
        let live = tables.contents.matching(&sorted(ends.values().copied()));
        let live: Vec<Id> =
            live.iter().filter(|row| !row.says_little(options)).map(|row| row.content).collect();
        let clusters = tables.clusters_of(&live);
        // A live text that is in no cluster has one page.
        let alone = live.iter().copied().filter(|content| clusters.of(*content).is_none());
        let pages = tables.content_pages.matching(&sorted(alone));
        let target = |content: &Id| {
            let end = live.binary_search(ends.get(content)?).ok().map(|at| live[at])?;
            clusters.of(end).map(|row| row.representative).or_else(|| Some(find(&pages, end)?.doc))
        };
        let lives_on = gone.into_iter().filter_map(|row| Some((target(&row.content)?, row.url)));
        let lives_on: Vec<(Id, Box<[u8]>)> = lives_on.collect();
        let targets = tables.pages.matching(&sorted(lives_on.iter().map(|(target, _)| *target)));
        let bytes = |target: Id| find(&targets, target).map_or(0, |page| u64::from(page.url_bytes));
        for rows in by_url_bytes(&lives_on, |(target, url)| bytes(*target) + url.len() as u64) {
            let urls = tables.urls(rows.iter().map(|(target, _)| *target));
            for (target, url) in rows {
                let (url, representative) =
                    (String::from_utf8_lossy(url).into_owned().into(), urls.of(*target).into());
                redirects.push(Redirect {
                    url,
                    representative,
                    relation: "gone",
                    reason: "",
                    similarity: None,
                })?;
                count += 1;
            }
        }
    }
    Ok(count)
}
