//! Says of each record of an input what became of it.
//!
//! The store keeps rows only for records that hold. A record holds if the row of its page names its
//! input and its position; every other record of that URL lost to it.

use crate::distinct::distinct;
use crate::error::Result;
use crate::export::tables::{ContentClusters, Tables, Urls, find};
use crate::filter::inputs::Original;
use crate::filter::promotions::Promotions;
use crate::id::Id;
use crate::job::Job;
use crate::page_url::{Naming, canonical_url, page_url};
use crate::read::json;
use crate::read::record::{Body, Entry, Heading, Item, Mirror};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::runs::Table;
use crate::tables::pages::{CAUSE_EXPIRED, CAUSE_MISSING};
use crate::tables::snapshot::Snapshot;
use crate::tables::{ClusterRow, GoneRow, PageRow};
use serde::Serialize;

/// What became of a record: `verdict` in tables and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// Its page represents its cluster, or is in none.
    Kept,
    /// Its page folds into another.
    Folded,
    /// Another record of the same URL holds.
    Superseded,
    /// It says only that the page was met.
    Seen,
    /// It removes its page, or its page is gone.
    Removed,
    /// It is sound and no page.
    Skipped,
    /// It is damaged, or over a limit.
    Rejected,
}

impl Became {
    /// All, in the order in which they are reported.
    pub const ALL: [Became; 7] = [
        Became::Kept,
        Became::Folded,
        Became::Superseded,
        Became::Seen,
        Became::Removed,
        Became::Skipped,
        Became::Rejected,
    ];

    /// Its name in tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            Became::Kept => "kept",
            Became::Folded => "folded",
            Became::Superseded => "superseded",
            Became::Seen => "seen",
            Became::Removed => "removed",
            Became::Skipped => "skipped",
            Became::Rejected => "rejected",
        }
    }
}

/// `reason` of a removed record: the record itself removes its page.
pub const REMOVAL: &str = "removal";
/// `reason` of a folded record: it has no text, and says that its page had the bytes of another
/// page.
pub const REVISIT: &str = "revisit";
/// `reason` of a superseded record: its file has the same bytes as another file.
pub const COPY: &str = "copy";
/// `reason` of a kept record: no input has the record because of which it would be left out.
pub const PROMOTED: &str = "promoted";

/// The cluster of a record that holds, or of the page that it mirrors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The ClusterId; for a page in no cluster its own id.
    pub cluster: Id,
    /// The number of its pages.
    pub size: u32,
    /// The URL of the page that represents it.
    pub representative: String,
    /// The date of that page, as `pages` has it.
    pub representative_date: i64,
    /// `identical` or `near`, if the page folds.
    pub relation: Option<&'static str>,
}

/// What a record says, as far as it decides what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Says {
    Page,
    Removal,
    Seen,
    /// Its page had the bytes that the page `of` had at `date`.
    Mirrors {
        of: Id,
        date: i64,
    },
    Skip(&'static str),
    Reject(&'static str),
}

impl Says {
    /// A capture without a date is not known, because a page may have other texts at other times.
    fn of_mirror(mirror: &Mirror) -> Says {
        match mirror.of_date {
            Some(date) => Says::Mirrors { of: canonical_url(&mirror.of).doc, date },
            None => Says::Skip(Mirror::REASON),
        }
    }
}

/// A record of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it starts in the decoded stream; in Parquet the number of its row.
    pub position: u64,
    /// Where its member starts in the file, if it begins one.
    pub member: Option<u64>,
    /// Where its file ends, if the input contains files (WACZ).
    pub file_end: Option<u64>,
    /// The id that it gives itself.
    pub id: Option<String>,
    /// Its head, if the reader kept it.
    pub head: Option<Heading>,
    /// The URL or key, as the record has it.
    pub url: Option<String>,
    /// The DocId of the URL.
    pub doc: Option<Id>,
    /// The number of records: one, or all that are lost with it.
    pub records: u64,
    says: Says,
    /// What became of it.
    pub became: Became,
    /// Why, in a fixed word.
    pub reason: Option<&'static str>,
    /// Its cluster, if it holds or mirrors a page.
    pub membership: Option<Membership>,
}

impl Record {
    /// The record of `entry`, not looked up yet.
    pub fn of(entry: Entry, id: Option<&str>, naming: Naming) -> Record {
        let records = entry.item.records();
        let (says, url) = match entry.item {
            Item::Record(record) => match record.body {
                Body::Removed | Body::Moved(_) => (Says::Removal, Some(record.url)),
                Body::Seen => (Says::Seen, Some(record.url)),
                Body::Text(_) | Body::Plain { .. } | Body::Html { .. } => {
                    (Says::Page, Some(record.url))
                }
            },
            Item::Skip(reason) => (Says::Skip(reason), None),
            Item::Status { .. } => (Says::Skip(Item::STATUS), None),
            Item::Mirror(mirror) => (Says::of_mirror(&mirror), Some(mirror.url)),
            Item::Reject { reason, url, .. } => (Says::Reject(reason), url),
        };
        Record {
            position: entry.position,
            member: entry.member,
            file_end: None,
            head: None,
            id: id.map(str::to_owned),
            doc: url.as_deref().map(|url| page_url(url, naming).doc),
            url,
            records,
            says,
            became: Became::Rejected,
            reason: None,
            membership: None,
        }
    }

    /// Whether the line of this record may be a JSON object. A damaged line is none, and a line
    /// that is too long is not examined.
    pub fn may_be_object(&self) -> bool {
        match self.says {
            Says::Reject(reason) => json::OF_OBJECTS.contains(&reason),
            _ => true,
        }
    }

    /// The number of bytes of its texts and its head.
    pub fn bytes(&self) -> usize {
        let head = self.head.as_ref().map_or(0, Heading::bytes);
        self.url.as_ref().map_or(0, String::len) + self.id.as_ref().map_or(0, String::len) + head
    }
}

/// The tables of a head that say what became of records.
pub struct Lookup {
    tables: Tables,
    gone: Table<GoneRow>,
    promotions: Promotions,
}

impl Lookup {
    /// A lookup of the records of `originals`, which `head` has read and which are in the order of
    /// their paths.
    pub fn new(
        job: &Job,
        store: &Store,
        head: &Head,
        originals: &[Original],
        threads: usize,
    ) -> Result<Lookup> {
        let tables = Tables::open(store, &head.manifest.tables)?;
        let promotions = Promotions::find(job, head, &tables, originals, threads)?;
        Ok(Lookup { tables, gone: Snapshot::of(store, head).table()?, promotions })
    }

    /// The records that are kept in place of records that no input has.
    pub fn promotions(&self) -> &Promotions {
        &self.promotions
    }

    /// Sets what became of `records`, which are in `original`.
    pub fn look_up(&self, original: &Original, records: &mut [Record]) {
        let docs = distinct(records.iter().flat_map(|record| {
            match record.says {
                Says::Page => [record.doc, record.doc.and_then(|doc| self.promotions.twin(doc))],
                Says::Mirrors { of, .. } => [record.doc, Some(of)],
                _ => [None, None],
            }
            .into_iter()
            .flatten()
        }));
        let known = KnownRows {
            promotions: &self.promotions,
            original,
            pages: self.tables.pages.matching(&docs),
            gone: self.gone.matching(&docs),
        };
        let of_records: Vec<Option<&PageRow>> =
            records.iter().map(|record| known.page_of(record)).collect();
        let clusters = self.clusters(of_records.iter().copied().flatten());
        for (record, page) in records.iter_mut().zip(&of_records) {
            let (became, reason, membership) = known.became(record, *page, &clusters);
            (record.became, record.reason, record.membership) = (became, reason, membership);
        }
    }

    /// The clusters of `pages`.
    fn clusters<'p>(&self, pages: impl Iterator<Item = &'p PageRow> + Clone) -> Clusters<'_> {
        let promotions = &self.promotions;
        let contents = distinct(pages.clone().map(|page| page.content).filter(|id| !id.is_none()));
        let of_contents = self.tables.clusters_of(&contents);
        let shown = |page: &PageRow| {
            of_contents.of(page.content).map(|of| promotions.shown(of.representative))
        };
        let representatives = pages.clone().filter_map(shown);
        let representatives = self.tables.pages.matching(&distinct(representatives));
        let urls = self.tables.urls(pages.map(|page| shown(page).unwrap_or(page.doc)));
        Clusters { promotions, of_contents, representatives, urls }
    }
}

/// What the tables say of some records of an input.
struct KnownRows<'a> {
    promotions: &'a Promotions,
    original: &'a Original,
    pages: Vec<PageRow>,
    gone: Vec<GoneRow>,
}

impl KnownRows<'_> {
    /// Whether `record` stands in for the one that holds, and then, whether it has that text.
    fn stand_in(&self, record: &Record) -> Option<bool> {
        let doc = record.doc.filter(|_| record.says == Says::Page && !self.original.is_copy)?;
        self.promotions.stand_in(doc, self.original.input.key(), record.position)
    }

    /// The page that `record` holds or mirrors, or whose text it has.
    fn page_of(&self, record: &Record) -> Option<&PageRow> {
        let other = || self.mirrored(record).or_else(|| self.twin(record));
        self.held(record).or_else(other)
    }

    /// The page here whose text `record` has, if it stands in with another text than its page.
    fn twin(&self, record: &Record) -> Option<&PageRow> {
        let doc = record.doc.filter(|_| self.stand_in(record) == Some(false))?;
        find(&self.pages, self.promotions.twin(doc)?)
    }

    fn held(&self, record: &Record) -> Option<&PageRow> {
        let is_page = record.says == Says::Page && !self.original.is_copy;
        let page = find(&self.pages, record.doc.filter(|_| is_page)?)?;
        let place = (self.original.input.key(), record.position);
        let is_own = (page.input, page.position) == place;
        (is_own || self.stand_in(record) == Some(true)).then_some(page)
    }

    /// A page that has a record of its own mirrors none.
    fn mirrored(&self, record: &Record) -> Option<&PageRow> {
        let Says::Mirrors { of, date } = record.says else { return None };
        let is_meant = |page: &&PageRow| page.date == date && !page.content.is_none();
        let page = find(&self.pages, of).filter(is_meant)?;
        find(&self.pages, record.doc?).is_none().then_some(page)
    }

    /// What became of `record`, why, and the cluster of its `page`: see [`KnownRows::page_of`].
    fn became(
        &self,
        record: &Record,
        page: Option<&PageRow>,
        clusters: &Clusters<'_>,
    ) -> (Became, Option<&'static str>, Option<Membership>) {
        match (&record.says, page) {
            (Says::Skip(word), _) => (Became::Skipped, Some(*word), None),
            (Says::Reject(word), _) => (Became::Rejected, Some(*word), None),
            (Says::Seen, _) => (Became::Seen, None, None),
            (Says::Removal, _) => (Became::Removed, Some(REMOVAL), None),
            (Says::Mirrors { .. }, Some(page)) => {
                (Became::Folded, Some(REVISIT), Some(clusters.membership(page, record.doc)))
            }
            (Says::Mirrors { .. }, None) => (Became::Skipped, Some(Mirror::REASON), None),
            (Says::Page, Some(page)) => {
                let membership = clusters.membership(page, record.doc);
                let (became, reason) = match membership.relation {
                    Some(_) => (Became::Folded, None),
                    None if clusters.is_promoted(page) || self.stand_in(record).is_some() => {
                        (Became::Kept, Some(PROMOTED))
                    }
                    None => (Became::Kept, None),
                };
                (became, reason, Some(membership))
            }
            // Its text is that of no page here.
            (Says::Page, None) if self.stand_in(record).is_some() => {
                (Became::Kept, Some(PROMOTED), None)
            }
            (Says::Page, None) if self.original.is_copy => (Became::Superseded, Some(COPY), None),
            (Says::Page, None) => match record.doc.and_then(|doc| find(&self.pages, doc)) {
                Some(_) => (Became::Superseded, None, None),
                None => {
                    let gone = record.doc.and_then(|doc| find(&self.gone, doc));
                    (Became::Removed, Some(cause(gone)), None)
                }
            },
        }
    }
}

/// The clusters of some pages.
struct Clusters<'a> {
    promotions: &'a Promotions,
    of_contents: ContentClusters,
    /// The pages that are shown for them.
    representatives: Vec<PageRow>,
    urls: Urls,
}

impl Clusters<'_> {
    /// The page that is shown for a cluster.
    fn shown(&self, of: &ClusterRow) -> Id {
        self.promotions.shown(of.representative)
    }

    /// Whether another page than the store's represents the cluster of `page`.
    fn is_promoted(&self, page: &PageRow) -> bool {
        let cluster = self.of_contents.of(page.content);
        cluster.is_some_and(|of| self.shown(of) != of.representative)
    }

    /// The cluster of `page`, and whether the record of `doc` folds in it.
    fn membership(&self, page: &PageRow, doc: Option<Id>) -> Membership {
        let cluster = self.of_contents.of(page.content);
        let representative = cluster.map_or(page.doc, |of| self.shown(of));
        let other = find(&self.representatives, representative);
        let is_identical =
            other.map_or(representative == page.doc, |other| other.content == page.content);
        let relation = if is_identical { "identical" } else { "near" };
        Membership {
            cluster: cluster.map_or(page.doc, |cluster| cluster.cluster),
            size: cluster.map_or(1, |cluster| cluster.pages),
            representative: self.urls.of(representative),
            representative_date: other.map_or(page.date, |other| other.date),
            relation: (doc != Some(representative)).then_some(relation),
        }
    }
}

/// Why a page is gone; `gone` if the reason is forgotten.
fn cause(gone: Option<&GoneRow>) -> &'static str {
    match gone.map(|gone| gone.cause) {
        Some(CAUSE_MISSING) => "missing",
        Some(CAUSE_EXPIRED) => "expired",
        Some(_) => "removed",
        None => "gone",
    }
}
