//! The tables of a head, mapped together.

use crate::candidates::bands::Bands;
use crate::error::Result;
use crate::store::column::KeyRange;
use crate::store::open::OpenSegments;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::snapshot::Snapshot;
use crate::tables::{
    BandRow, ClusterRow, ComponentRow, ContentPageRow, ContentRow, GoneRow, GroupRow, KeyRow,
    LeaderRow, MemberRow, PageRow, PairRow, SuccessorRow, UrlRow, band_table,
};
use std::time::Instant;

/// All tables except `evidence`, whose large rows some readers stream and others look up.
pub struct Mapped {
    /// The bands of the job.
    pub bands: Bands,
    /// `pages`.
    pub pages: Table<PageRow>,
    /// `urls`.
    pub urls: Table<UrlRow>,
    /// `gone`.
    pub gone: Table<GoneRow>,
    /// `content_pages`.
    pub content_pages: Table<ContentPageRow>,
    /// `contents`.
    pub contents: Table<ContentRow>,
    /// `fingerprint_contents`.
    pub groups: Table<GroupRow>,
    /// `band_1` and up, in order.
    pub band: Vec<Table<BandRow>>,
    /// `keys`.
    pub keys: Table<KeyRow>,
    /// `pairs`.
    pub pairs: Table<PairRow>,
    /// `components`.
    pub components: Table<ComponentRow>,
    /// `component_members`.
    pub members: Table<MemberRow>,
    /// `leaders`.
    pub leaders: Table<LeaderRow>,
    /// `clusters`.
    pub clusters: Table<ClusterRow>,
    /// `successors`.
    pub successors: Table<SuccessorRow>,
}

impl Mapped {
    /// Maps the tables of `snapshot`; `open` shares segments with other heads. A table that no
    /// epoch has written is empty.
    pub fn open(snapshot: &Snapshot<'_>, bands: Bands, open: &OpenSegments) -> Result<Mapped> {
        let band = |band| snapshot.shared(open, &band_table(band), KeyRange::ALL);
        Ok(Mapped {
            pages: whole(snapshot, open)?,
            urls: whole(snapshot, open)?,
            gone: whole(snapshot, open)?,
            content_pages: whole(snapshot, open)?,
            contents: whole(snapshot, open)?,
            groups: whole(snapshot, open)?,
            band: (1..bands.count()).map(band).collect::<Result<_>>()?,
            keys: whole(snapshot, open)?,
            pairs: whole(snapshot, open)?,
            components: whole(snapshot, open)?,
            members: whole(snapshot, open)?,
            leaders: whole(snapshot, open)?,
            clusters: whole(snapshot, open)?,
            successors: whole(snapshot, open)?,
            bands,
        })
    }

    /// Reads and checks batches that were not read yet, until `until`, beginning with the tables
    /// that every question reads. Returns whether none is left.
    pub fn warm(&self, until: Instant) -> bool {
        self.groups.warm(until)
            && self.band.iter().all(|band| band.warm(until))
            && self.keys.warm(until)
            && self.contents.warm(until)
            && self.content_pages.warm(until)
            && self.pairs.warm(until)
            && self.components.warm(until)
            && self.members.warm(until)
            && self.leaders.warm(until)
            && self.clusters.warm(until)
            && self.urls.warm(until)
            && self.pages.warm(until)
            && self.gone.warm(until)
            && self.successors.warm(until)
    }
}

fn whole<R: Row>(snapshot: &Snapshot<'_>, open: &OpenSegments) -> Result<Table<R>> {
    snapshot.shared(open, R::NAME, KeyRange::ALL)
}
