//! Writes `members`, the live pages with their clusters, and `redirects`, the pages that fold into
//! another.

use crate::error::Result;
use crate::export::PORTION_ROWS;
use crate::export::little::{self, LittleTexts};
use crate::export::rows::{Member, Redirect};
use crate::export::sink::{Files, Place, Sink};
use crate::export::tables::{Tables, by_url_bytes, find, sorted};
use crate::job::clusters::Options;
use crate::tables::PageRow;

/// How many pages there are and how they fold.
#[derive(Default)]
pub(super) struct Folds {
    pub(super) pages: u64,
    pub(super) kept: u64,
    pub(super) identical: u64,
    pub(super) near: u64,
}

/// Writes all pages with their clusters, and where the folded ones lead to. Returns also the texts
/// that fold no pages.
pub(super) fn write(tables: &Tables, options: &Options, place: &Place<'_>) -> Result<(Folds, LittleTexts, Files)> {
    let mut little = little::Largest::find(tables, options);
    let mut members = Sink::<Member>::create(place)?;
    let mut redirects = Sink::<Redirect>::create(place)?;
    let mut folds = Folds::default();
    for pages in tables.pages.portions(PORTION_ROWS) {
        pages.iter().for_each(|page| little.see(page));
        let contents = sorted(pages.iter().map(|page| page.content).filter(|content| !content.is_none()));
        let content_clusters = tables.clusters_of(&contents);
        let contents = tables.contents.matching(&contents);
        let clustered = pages.iter().filter_map(|page| content_clusters.of(page.content));
        let representatives = sorted(clustered.map(|row| row.representative));
        let shown = tables.pages.matching(&representatives);
        let representative =
            |page: &PageRow| content_clusters.of(page.content).map_or(page.doc, |row| row.representative);
        let bytes = |page: &PageRow| {
            let shown = find(&shown, representative(page)).map_or(0, |shown| shown.url_bytes);
            u64::from(page.url_bytes) + u64::from(shown)
        };
        for pages in by_url_bytes(&pages, bytes) {
            let urls = tables.urls(pages.iter().flat_map(|page| [page.doc, representative(page)]));
            for page in pages {
                let facts = find(&contents, page.content);
                let cluster = content_clusters.of(page.content);
                let representative = representative(page);
                let (url, shown_url) = (urls.of(page.doc), urls.of(representative));
                folds.pages += 1;
                if representative == page.doc {
                    folds.kept += 1;
                } else {
                    let identical = find(&shown, representative).is_some_and(|shown| shown.content == page.content);
                    *(if identical { &mut folds.identical } else { &mut folds.near }) += 1;
                    let relation = if identical { "identical" } else { "near" };
                    redirects.push(Redirect { url: url.clone(), representative: shown_url.clone(), relation })?;
                }
                members.push(Member {
                    url,
                    doc: page.doc.to_string(),
                    content: facts.map(|facts| facts.content.to_string()),
                    fingerprint: facts.map(|facts| format!("{:016x}", facts.fingerprint)),
                    chars: facts.map_or(0, |facts| facts.chars),
                    cluster: cluster.map_or(page.doc, |row| row.cluster).to_string(),
                    cluster_size: cluster.map_or(1, |row| row.pages),
                    representative: shown_url,
                    is_representative: representative == page.doc,
                })?;
            }
        }
    }
    let mut files = members.finish()?;
    files.extend(redirects.finish()?);
    Ok((folds, little.finish(tables), files))
}
