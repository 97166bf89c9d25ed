//! Checks that `pages`, `urls`, `gone`, `content_pages`, `contents` and `successors` agree.
//!
//! Tables of the same order are merged. If the orders differ, the keys of one table are looked up
//! in the other in sorted portions.

use crate::id::Id;
use crate::page_url::canonical_url;
use crate::tables::mapped::Mapped;
use crate::tables::visits::GATHERED;
use crate::tables::{ContentPageRow, ContentRow, GoneRow, PageRow, SuccessorRow, UrlRow};
use crate::verify::findings::Check;
use crate::verify::live::{Live, distinct, joined, look_up, missing, portions};

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
    let differs =
        again.canonical == text && (again.host, u8::from(again.https)) != (page.host, page.https);
    differs.then_some("host or https are not those of its URL")
}

/// `pages` and `urls` have the same DocIds, each the digest of its URL.
pub fn urls(tables: &Mapped) -> Check {
    let mut check = Check::new("urls");
    for sides in
        joined(Live::of(&tables.pages), Live::of(&tables.urls), |page| page.doc, |url| url.doc)
    {
        match sides {
            (Some(page), Some(url)) => {
                if let Some(what) = misfit(&page, &url.url) {
                    check.find::<PageRow>(page.doc, what);
                }
            }
            (Some(page), None) => {
                check.find::<UrlRow>(page.doc, "missing, though there is such a page")
            }
            (None, Some(url)) => check.find::<UrlRow>(url.doc, "of no live page"),
            (None, None) => {}
        }
    }
    check
}

/// No URL of `gone` is a live page, and its DocId is the digest of its URL.
pub fn gone(tables: &Mapped) -> Check {
    let mut check = Check::new("gone");
    for sides in
        joined(Live::of(&tables.pages), Live::of(&tables.gone), |page| page.doc, |gone| gone.doc)
    {
        match sides {
            (Some(_), Some(gone)) => check.find::<GoneRow>(gone.doc, "of a live page"),
            (None, Some(gone)) if Id::of(&gone.url) != gone.doc => {
                check.find::<GoneRow>(gone.doc, "its DocId is not the digest of its URL");
            }
            _ => {}
        }
    }
    check
}

/// Of the contents in `successors` exactly the live ones name themselves. Each other successor
/// lives or died in a later epoch, so that each chain of them ends.
pub fn successors(tables: &Mapped) -> Check {
    let mut check = Check::new("successors");
    for sides in joined(
        Live::of(&tables.contents),
        Live::of(&tables.successors),
        |row| row.content,
        |row| row.content,
    ) {
        match sides {
            (Some(_), Some(row)) if !row.is_live() => {
                check.find::<SuccessorRow>(row.content, "of a live content");
            }
            (None, Some(row)) if row.is_live() => {
                check.find::<SuccessorRow>(row.content, "names itself, and is not live");
            }
            _ => {}
        }
    }
    let steps = Live::of(&tables.successors).filter(|row| !row.is_live());
    look_up(
        &tables.successors,
        steps.map(|row| (row.successor, (row.content, row.epoch))),
        |row| row.content,
        |_, (content, epoch), next| {
            if next.is_some_and(|row| row.epoch < epoch || row.epoch == epoch && !row.is_live()) {
                check.find::<SuccessorRow>(content, "its successor did not outlive it");
            }
        },
    );
    check
}

/// `content_pages` has exactly the pages with a content.
pub fn content_pages(tables: &Mapped) -> Check {
    let mut check = Check::new("content_pages");
    let with_content = Live::of(&tables.pages).filter(|page| !page.content.is_none());
    let expected = with_content.map(|page| (page.content, page.doc));
    missing(
        &tables.content_pages,
        expected,
        |row| (row.content, row.doc),
        |(content, doc)| {
            check.find::<ContentPageRow>(
                format_args!("{content} {doc}"),
                "missing, though the page has that content",
            );
        },
    );
    let stored = Live::of(&tables.content_pages).map(|row| (row.doc, row.content));
    look_up(
        &tables.pages,
        stored,
        |page| page.doc,
        |doc, content, page| {
            let what = match page {
                None => "of no live page",
                Some(page) if page.content != content || content.is_none() => {
                    "its page has another content"
                }
                Some(_) => return,
            };
            check.find::<ContentPageRow>(format_args!("{content} {doc}"), what);
        },
    );
    check
}

/// `contents` has exactly the contents of `content_pages`, with the number of pages on which each
/// was gathered.
pub fn contents(tables: &Mapped) -> Check {
    let mut check = Check::new("contents");
    let with_pages = distinct(Live::of(&tables.content_pages).map(|row| row.content));
    for sides in
        joined(Live::of(&tables.contents), with_pages, |row| row.content, |content| *content)
    {
        match sides {
            (Some(row), None) => check.find::<ContentRow>(row.content, "of no page"),
            (None, Some(content)) => {
                check.find::<ContentRow>(content, "missing, though it has a page")
            }
            _ => {}
        }
    }
    gathered(tables, &mut check);
    check
}

/// The contents of gathered pages have their number, and others have none. All pages of a content
/// with the flag are gathered.
fn gathered(tables: &Mapped, check: &mut Check) {
    let pages =
        || Live::of(&tables.pages).filter(|page| page.is_gathered() && !page.content.is_none());
    let mut counted = 0u64;
    for portion in portions(pages().map(|page| (page.content, page.doc))) {
        let mut contents = Live::of(&tables.contents);
        for pages in portion.chunk_by(|a, b| a.0 == b.0) {
            counted += pages.len() as u64;
            let row = contents.find(|row| row.content.cmp(&pages[0].0));
            if row.is_some_and(|row| u64::from(row.gathered_pages) < pages.len() as u64) {
                check.find::<ContentRow>(pages[0].0, "more of its pages are gathered than it says");
            }
        }
    }
    let (mut said, mut content_pages) = (0u64, Live::of(&tables.content_pages));
    for row in Live::of(&tables.contents) {
        said += u64::from(row.gathered_pages);
        if row.gathered_pages == 0 && row.flags & GATHERED == 0 {
            continue;
        }
        content_pages.seek(|page| page.content.cmp(&row.content));
        let mut all = 0;
        while content_pages.next_if(|page| page.content.cmp(&row.content)).is_some() {
            all += 1;
        }
        if (row.gathered_pages == all) != (row.flags & GATHERED != 0) {
            check.find::<ContentRow>(
                row.content,
                "gathered on all its pages, or not, against its flag",
            );
        }
    }
    if said != counted {
        check.find::<ContentRow>(
            "all",
            format_args!("{said} gathered pages by contents, {counted} by pages"),
        );
    }
}
