//! The tables of a head, opened once, and look-ups in them by key.
//!
//! Nothing here reads a whole table. A look-up reads at most as many rows as a constant here says,
//! or the rows of one key.

use crate::absent::NO_DATE;
use crate::error::Result;
use crate::id::Id;
use crate::job::Job;
use crate::read::date;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::open::OpenSegments;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::evidence::{self, Content, StoredEvidence};
use crate::tables::mapped::Mapped;
use crate::tables::snapshot::Snapshot;
use crate::tables::{ClusterRow, ContentRow, EvidenceRow, GoneRow, PageRow, PairRow, successors};
use serde::Serialize;
use std::sync::Arc;

/// The most contents of a group or bucket that are read. Only the first
/// [`crate::candidates::pivots::PIVOTS_LEAST`] contents by digest are compared with more.
pub const BUCKET_CONTENTS_MAX: usize = 4096;

/// Mapped tables.
pub struct Tables {
    pub(super) mapped: Mapped,
    /// `None` if the store keeps no evidence.
    evidence: Option<StoredEvidence>,
}

/// A cluster as answers name it. A page in no cluster counts as a cluster of one page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// The ClusterId: the least DocId of its pages.
    pub id: String,
    /// Its pages.
    pub pages: u32,
    /// Its distinct texts.
    pub contents: u32,
    /// Its hosts.
    pub hosts: u32,
    /// The greatest distance of two of its texts, in accepted pairs.
    pub diameter: u32,
    /// The URL of the page that represents it.
    pub representative: String,
    /// The DocId of that page.
    #[serde(skip)]
    pub representative_doc: Id,
}

impl Tables {
    /// Maps the tables of `head`, the store of `job`; `open` shares segments with other heads. A
    /// table that no epoch has written is empty.
    pub fn open(store: &Store, head: &Head, job: &Job, open: &OpenSegments) -> Result<Tables> {
        let snapshot = Snapshot::of(store, head);
        let evidence = match job.contents.evidence {
            true => {
                Some(StoredEvidence::new(snapshot.lookup::<EvidenceRow>(open, Arc::default())?))
            }
            false => None,
        };
        Ok(Tables { mapped: Mapped::open(&snapshot, job.bands()?, open)?, evidence })
    }

    /// The live page of `doc`.
    pub(super) fn page(&self, doc: Id) -> Option<PageRow> {
        one(&self.mapped.pages, doc)
    }

    /// What is remembered of a page that is gone.
    pub(super) fn gone(&self, doc: Id) -> Option<GoneRow> {
        one(&self.mapped.gone, doc)
    }

    /// The live content at the end of the chain of successors of `content`, or `content` itself if
    /// it is live.
    pub(super) fn lives_on(&self, content: Id) -> Option<ContentRow> {
        self.content(*successors::ends(&self.mapped.successors, &[content]).get(&content)?)
    }

    /// The canonical URL of a live page.
    pub(super) fn url(&self, doc: Id) -> String {
        one(&self.mapped.urls, doc).map(|row| row.text().into_owned()).unwrap_or_default()
    }

    /// The live content.
    pub(super) fn content(&self, content: Id) -> Option<ContentRow> {
        one(&self.mapped.contents, content)
    }

    /// The number of pages of a content.
    pub(super) fn pages_of(&self, content: Id) -> u64 {
        self.mapped.content_pages.counts(&[content]).first().copied().unwrap_or(0)
    }

    /// The first pages of a content by DocId.
    pub(super) fn first_pages(&self, content: Id, pages_max: usize) -> Vec<Id> {
        self.mapped.content_pages.first(content, pages_max).into_iter().map(|row| row.doc).collect()
    }

    /// The URL of the first page of a content by DocId.
    pub(super) fn first_url(&self, content: Id) -> String {
        self.first_pages(content, 1).first().map(|doc| self.url(*doc)).unwrap_or_default()
    }

    /// The first contents of a fingerprint, ascending.
    pub(super) fn group(&self, fingerprint: u64, contents_max: usize) -> Vec<Id> {
        let rows = self.mapped.groups.first(self.mapped.bands.key(0, fingerprint), contents_max);
        rows.into_iter().map(|row| row.content).collect()
    }

    /// The first contents that have `key` from the signature with the number `kind`, ascending.
    pub(super) fn bucket(&self, kind: u8, key: u64) -> Vec<Id> {
        let rows = self.mapped.keys.first(key, BUCKET_CONTENTS_MAX);
        rows.into_iter().filter(|row| row.kind == kind).map(|row| row.content).collect()
    }

    /// The component of a content; `None` if it has no accepted pair.
    pub(super) fn component(&self, content: Id) -> Option<Id> {
        one(&self.mapped.components, content).map(|row| row.component)
    }

    /// The leader of a content; `None` if it has no accepted pair.
    pub(super) fn leader(&self, content: Id) -> Option<Id> {
        one(&self.mapped.leaders, content).map(|row| row.leader)
    }

    /// The row of the cluster of a content; `None` if it is on a single page and has no accepted
    /// pair.
    pub(super) fn cluster_row(&self, content: Id) -> Option<ClusterRow> {
        let component = one(&self.mapped.components, content);
        let leader = one(&self.mapped.leaders, content);
        let place = ClusterRow::place_of(content, component.as_ref(), leader.as_ref());
        let rows = self.mapped.clusters.matching(&[place.0]);
        rows.into_iter().find(|row| row.place() == place)
    }

    /// The cluster of the page `doc`, which has `content`.
    pub(super) fn cluster(&self, content: Id, doc: Id) -> Cluster {
        let row = if content.is_none() { None } else { self.cluster_row(content) };
        match row {
            Some(row) => Cluster {
                id: row.cluster.to_string(),
                pages: row.pages,
                contents: row.contents,
                hosts: row.hosts,
                diameter: row.diameter,
                representative: self.url(row.representative),
                representative_doc: row.representative,
            },
            None => Cluster {
                id: doc.to_string(),
                pages: 1,
                contents: u32::from(!content.is_none()),
                hosts: 1,
                diameter: 0,
                representative: self.url(doc),
                representative_doc: doc,
            },
        }
    }

    /// The cluster of the pages of a live content.
    pub(super) fn cluster_of(&self, content: Id) -> Cluster {
        let doc = self.first_pages(content, 1).first().copied().unwrap_or(Id::NONE);
        self.cluster(content, doc)
    }

    /// The stored pair of two contents. It is looked up under the content that has fewer pairs.
    pub(super) fn pair(&self, a: Id, b: Id) -> Option<PairRow> {
        let mut both = [a, b];
        both.sort_unstable();
        let counts = self.mapped.pairs.counts(&both);
        let (content, other) =
            if counts[0] <= counts[1] { (both[0], both[1]) } else { (both[1], both[0]) };
        self.mapped.pairs.matching(&[content]).into_iter().find(|row| row.other == other)
    }

    /// The evidence of a content; `None` if it is not compared with others.
    pub(super) fn evidence(&self, content: Id) -> Result<Option<Content<'_>>> {
        match self.content(content).is_some_and(|row| row.is_comparable()) {
            true => Ok(self.evidence_of(&[content])?.pop()),
            false => Ok(None),
        }
    }

    /// The evidence of each of the ascending `contents`, all of which are compared with others.
    pub(super) fn evidence_of(&self, contents: &[Id]) -> Result<Vec<Content<'_>>> {
        let Some(stored) = &self.evidence else {
            let bare = |content: &Id| {
                let row = self
                    .content(*content)
                    .ok_or_else(|| evidence::damaged(*content, "is missing"))?;
                Ok(Content::bare(row.fingerprint, row.chars))
            };
            return contents.iter().map(bare).collect();
        };
        let places = stored.places(contents)?;
        contents.iter().zip(places).map(|(content, place)| stored.read(*content, place)).collect()
    }

    /// The keys of a content that is compared with others, each with the number of its signature.
    pub(super) fn keys(&self, content: Id) -> Result<Vec<(u8, u64)>> {
        let Some(stored) = &self.evidence else { return Ok(Vec::new()) };
        let places = stored.places(&[content])?;
        Ok(evidence::keys(&stored.row(places[0])?.keys).collect())
    }
}

/// The only live row of a key.
fn one<R: Row>(table: &Table<R>, key: R::Key) -> Option<R> {
    table.matching(&[key]).into_iter().next()
}

/// A time in UTC, for people.
pub(super) fn time(seconds: i64) -> Option<String> {
    (seconds != NO_DATE).then(|| date::iso_text(seconds))
}

/// A similarity in 1/10,000 as a fraction, as in exports.
pub fn share(similarity: u16) -> f64 {
    f64::from(similarity) / 10_000.0
}
