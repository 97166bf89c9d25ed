//! Explains one page: its text, its cluster, why its representative was chosen, what became of the
//! page over the kept epochs and, if it is gone, when, why, and which cluster has its text now.

use crate::ask::history::{self, Step};
use crate::ask::index::Index;
use crate::ask::keep::{Kept, kept};
use crate::ask::nearest::{Nearest, has_spellings, nearest};
use crate::ask::tables::{Cluster, time};
use crate::error::{Error, Kind, Result};
use crate::id::{Id, hex};
use crate::job::Job;
use crate::keep;
use crate::page_url::{Naming, page_url};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::tables::pages::{CAUSE_EXPIRED, CAUSE_MISSING, CAUSE_REMOVED, REDIRECTS_MAX};
use crate::tables::visits::{CUT, GATHERED, TOO_SHORT};
use crate::tables::{ContentRow, GoneRow, PageRow};
use serde::Serialize;

/// The most other pages with the same text that are named.
pub const SAME_TEXT_MAX: usize = 10;

/// A page, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// The epoch of the head.
    pub epoch: u64,
    /// The canonical URL, or the key, that was asked for.
    pub asked: String,
    /// The canonical URL, or the key, of the page that is explained.
    pub url: String,
    /// In what the two differ; empty if they are the same.
    pub differs_by: Vec<&'static str>,
    /// Whether the page is live.
    pub is_live: bool,
    /// The DocId.
    pub doc: String,
    /// The text.
    pub text: Option<Text>,
    /// The date of the record, as the crawl has it.
    pub date: Option<String>,
    /// The source that it was last seen in.
    pub source: Option<String>,
    /// The first epoch that saw it.
    pub first_epoch: Option<u32>,
    /// The last epoch that saw it.
    pub last_epoch: Option<u32>,
    /// The time of the last epoch that saw it.
    pub last_seen: Option<String>,
    /// Its cluster. For a page that is gone, the cluster that has its text, or the successor of its
    /// text, if there is one.
    pub cluster: Option<Cluster>,
    /// Why the representative was chosen; `None` if the page is in no cluster.
    pub kept: Option<Kept>,
    /// Since when and why it is gone.
    pub gone: Option<Gone>,
    /// What the kept epochs changed about it.
    pub history: Vec<Step>,
}

/// The text of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text {
    /// The content.
    pub content: String,
    /// Its characters; `None` if no live page has it any more.
    pub chars: Option<u32>,
    /// Its fingerprint in hex.
    pub fingerprint: Option<String>,
    /// Whether it has too few words to be compared, so that it folds only with identical texts.
    pub too_short: bool,
    /// Whether it was gathered from whole pages, because extraction found no main text on any, so
    /// that it folds only with identical texts.
    pub gathered: bool,
    /// Whether it was cut, because it is longer than what is compared, so that it folds only with
    /// identical texts.
    pub cut: bool,
    /// Whether it says too little to compare pages by, so that its pages fold with no page.
    pub says_little: bool,
    /// The live pages that have it.
    pub pages: u64,
    /// The first of the other pages with this text, by DocId.
    pub same_text: Vec<String>,
}

/// Why a page is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gone {
    /// `removed` by a record, `missing` in a complete snapshot, or `expired`.
    pub cause: &'static str,
    /// The epoch in which it went.
    pub epoch: u32,
    /// The time of the last epoch that said that it is gone.
    pub time: Option<String>,
    /// The date of the removal, as the crawl has it.
    pub date: Option<String>,
    /// The live page to which redirects in the crawl lead, if no live page has its text.
    pub moved_to: Option<String>,
}

/// What the store has of `url` or of its nearest other spelling. For a key of the job's own, what
/// it has of exactly that key.
///
/// # Errors
///
/// `NoInput` if the store has none of them.
pub fn find(index: &Index, url: &str) -> Result<Nearest> {
    nearest(&index.tables, url, index.naming()).ok_or_else(|| {
        let asked = asked(index, url);
        let tried = if index.naming() == Naming::Key {
            "; a key is looked up as it is"
        } else if has_spellings(&asked) {
            "; http and https, with and without www., a slash at the end and the query were tried"
        } else {
            "; other spellings are tried only for URLs with a scheme and a host alone"
        };
        Error::new(Kind::NoInput, format!("{asked}: the store has no such page{tried}"))
    })
}

/// The URL that was asked for, as the store would have it.
fn asked(index: &Index, url: &str) -> String {
    page_url(url, index.naming()).canonical
}

/// Explains `found`, which was asked for as `url`.
pub fn explain(
    index: &Index,
    job: &Job,
    store: &Store,
    head: &Head,
    url: &str,
    found: &Nearest,
) -> Result<Page> {
    let mut page = Page {
        epoch: index.epoch,
        asked: asked(index, url),
        url: found.url.clone(),
        differs_by: found.differs_by.clone(),
        is_live: found.is_live,
        doc: found.doc.to_string(),
        text: None,
        date: None,
        source: None,
        first_epoch: None,
        last_epoch: None,
        last_seen: None,
        cluster: None,
        kept: None,
        gone: None,
        history: history::history(store, found.doc)?,
    };
    if let Some(row) = index.tables.page(found.doc) {
        page.text = text(index, row.content, found.doc);
        page.date = time(row.date);
        page.source =
            head.manifest.sources.get(usize::from(row.source)).map(|source| source.name.clone());
        (page.first_epoch, page.last_epoch) = (Some(row.first_epoch), Some(row.last_epoch));
        page.last_seen = time(row.last_time);
        page.settle(index, &job.keep, row.content, found.doc);
    } else if let Some(row) = index.tables.gone(found.doc) {
        page.text = text(index, row.content, found.doc);
        let cause = match row.cause {
            CAUSE_REMOVED => "removed",
            CAUSE_MISSING => "missing",
            CAUSE_EXPIRED => "expired",
            _ => "unknown",
        };
        let text =
            index.tables.lives_on(row.content).filter(|text| !text.says_little(index.clusters()));
        page.cluster = text.and_then(|ContentRow { content, .. }| {
            let first = *index.tables.first_pages(content, 1).first()?;
            Some(index.tables.cluster(content, first))
        });
        let moved = if page.cluster.is_none() { moved(index, &row) } else { None };
        page.gone = Some(Gone {
            cause,
            epoch: row.epoch,
            time: time(row.last_time),
            date: time(row.date),
            moved_to: moved.as_ref().map(|to| index.tables.url(to.doc)),
        });
        page.cluster = page.cluster.or(moved.map(|to| index.tables.cluster(to.content, to.doc)));
    }
    Ok(page)
}

impl Page {
    fn settle(&mut self, index: &Index, options: &keep::Options, content: Id, doc: Id) {
        let cluster = index.tables.cluster(content, doc);
        self.kept = (cluster.pages > 1)
            .then(|| kept(index, options, cluster.representative_doc, doc))
            .flatten();
        self.cluster = Some(cluster);
    }
}

/// The live page at the end of the redirects that begin with `gone`, as in `redirects`.
fn moved(index: &Index, gone: &GoneRow) -> Option<PageRow> {
    let mut to = Some(gone.moved_to).filter(|_| !gone.content.is_none())?;
    for _ in 0..REDIRECTS_MAX {
        if let Some(page) = index.tables.page(to) {
            return Some(page);
        }
        to = index.tables.gone(to)?.moved_to;
    }
    None
}

/// What is known of the text of the page `doc`; `None` if it has no text.
fn text(index: &Index, content: Id, doc: Id) -> Option<Text> {
    if content.is_none() {
        return None;
    }
    let row = index.tables.content(content);
    let has = |flag| row.as_ref().is_some_and(|row| row.flags & flag != 0);
    let others = index
        .tables
        .first_pages(content, SAME_TEXT_MAX + 1)
        .into_iter()
        .filter(|other| *other != doc);
    Some(Text {
        content: content.to_string(),
        chars: row.as_ref().map(|row| row.chars),
        fingerprint: row.as_ref().map(|row| hex(row.fingerprint).to_string()),
        too_short: has(TOO_SHORT),
        gathered: has(GATHERED),
        cut: has(CUT),
        says_little: row.as_ref().is_some_and(|row| row.says_little(index.clusters())),
        pages: index.tables.pages_of(content),
        same_text: others.take(SAME_TEXT_MAX).map(|other| index.tables.url(other)).collect(),
    })
}
