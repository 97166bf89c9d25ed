//! The tables of a head, mapped together.

use crate::candidates::bands::Bands;
use crate::error::Result;
use crate::store::runs::Table;
use crate::tables::snapshot::Snapshot;
use crate::tables::{
    BandRow, ClusterRow, ComponentRow, ContentPageRow, ContentRow, GoneRow, GroupRow, KeyRow,
    LeaderRow, MemberRow, PageRow, PairRow, SuccessorRow, UrlRow,
};

/// All tables but `evidence`, whose large rows some readers stream and others look up.
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
    /// Maps the tables of `snapshot`. A table that no epoch has written is empty.
    pub fn open(snapshot: &Snapshot<'_>, bands: Bands) -> Result<Mapped> {
        Ok(Mapped {
            pages: snapshot.table()?,
            urls: snapshot.table()?,
            gone: snapshot.table()?,
            content_pages: snapshot.table()?,
            contents: snapshot.table()?,
            groups: snapshot.table()?,
            band: (1..bands.count()).map(|band| snapshot.band(band)).collect::<Result<_>>()?,
            keys: snapshot.table()?,
            pairs: snapshot.table()?,
            components: snapshot.table()?,
            members: snapshot.table()?,
            leaders: snapshot.table()?,
            clusters: snapshot.table()?,
            successors: snapshot.table()?,
            bands,
        })
    }
}
