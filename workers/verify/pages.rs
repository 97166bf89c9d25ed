//! Checks that `pages`, `urls`, `content_pages` and `contents` agree.
//!
//! Tables of the same order are merged. If the orders differ, the keys of one table are looked up
//! in the other in sorted portions.

use crate::document::{Id, canonical_url};
use crate::tables::{ContentPageRow, PageRow};
use crate::verify::findings::Check;
use crate::verify::live::{Live, Tables, distinct, joined, portions};

/// What is wrong between a page and its URL.
fn misfit(page: &PageRow, url: &[u8]) -> Option<&'static str> {
    if Id::of(url) != page.doc {
        return Some("its DocId is not the digest of its URL");
    }
    if url.len() as u64 != u64::from(page.url_bytes) {
        return Some("url_bytes is not the length of its URL");
    }
    let Ok(text) = std::str::from_utf8(url) else { return Some("its URL is no UTF-8") };
    let again = canonical_url(text);
    // The host can only be checked if the stored form is canonical.
    let differs = again.canonical == text && (again.host, u8::from(again.https)) != (page.host, page.https);
    differs.then_some("host or https are not those of its URL")
}

/// `pages` and `urls` have the same DocIds, each the digest of its URL.
pub fn urls(tables: &Tables) -> Check {
    let mut check = Check::new("urls");
    for sides in joined(Live::of(&tables.pages), Live::of(&tables.urls), |page| page.doc, |url| url.doc) {
        match sides {
            (Some(page), Some(url)) => {
                if let Some(what) = misfit(&page, &url.url) {
                    check.find("pages", page.doc, what);
                }
            }
            (Some(page), None) => check.find("urls", page.doc, "missing, though there is such a page"),
            (None, Some(url)) => check.find("urls", url.doc, "of no live page"),
            (None, None) => {}
        }
    }
    check
}

/// `content_pages` has exactly the pages with a content.
pub fn content_pages(tables: &Tables) -> Check {
    let mut check = Check::new("content_pages");
    let with_content = Live::of(&tables.pages).filter(|page| !page.content.is_none());
    for portion in portions(with_content.map(|page| (page.content, page.doc))) {
        let mut rows = Live::of(&tables.content_pages);
        for (content, doc) in portion {
            if rows.find(|row| (row.content, row.doc).cmp(&(content, doc))).is_none() {
                check.find(
                    "content_pages",
                    format_args!("{content} {doc}"),
                    "missing, though the page has that content",
                );
            }
        }
    }
    let docs = Live::of(&tables.content_pages).map(|ContentPageRow { content, doc, .. }| (doc, content));
    for portion in portions(docs) {
        let mut pages = Live::of(&tables.pages);
        for docs in portion.chunk_by(|a, b| a.0 == b.0) {
            let page = pages.find(|page| page.doc.cmp(&docs[0].0));
            for (doc, content) in docs {
                let what = match &page {
                    None => "of no live page",
                    Some(page) if page.content != *content || content.is_none() => "its page has another content",
                    Some(_) => continue,
                };
                check.find("content_pages", format_args!("{content} {doc}"), what);
            }
        }
    }
    check
}

/// `contents` has exactly the contents of `content_pages`.
pub fn contents(tables: &Tables) -> Check {
    let mut check = Check::new("contents");
    let with_pages = distinct(Live::of(&tables.content_pages).map(|row| row.content));
    for sides in joined(Live::of(&tables.contents), with_pages, |row| row.content, |content| *content) {
        match sides {
            (Some(row), None) => check.find("contents", row.content, "of no page"),
            (None, Some(content)) => check.find("contents", content, "missing, though it has a page"),
            _ => {}
        }
    }
    check
}
