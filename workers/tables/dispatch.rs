//! Finds the row type of a table by the name that a manifest has for it.

use crate::store::table::Row;
use crate::tables::{
    BandRow, ClusterRow, ComponentRow, ContentPageRow, ContentRow, EvidenceRow, GoneRow, GroupRow,
    KeyRow, LeaderRow, MemberRow, PageRow, PairRow, SuccessorRow, UrlRow, is_band_table,
};

/// Work that can be done on any table.
pub trait OnTable {
    /// Its result.
    type Outcome;
    /// Does the work on the table with the rows `R`.
    fn on<R: Row>(self) -> Self::Outcome;
}

/// Does `work` on the table `name`, or returns `None` if this build has no such table.
pub fn on_table<W: OnTable>(name: &str, work: W) -> Option<W::Outcome> {
    Some(match name {
        PageRow::NAME => work.on::<PageRow>(),
        UrlRow::NAME => work.on::<UrlRow>(),
        GoneRow::NAME => work.on::<GoneRow>(),
        ContentPageRow::NAME => work.on::<ContentPageRow>(),
        ContentRow::NAME => work.on::<ContentRow>(),
        GroupRow::NAME => work.on::<GroupRow>(),
        EvidenceRow::NAME => work.on::<EvidenceRow>(),
        KeyRow::NAME => work.on::<KeyRow>(),
        PairRow::NAME => work.on::<PairRow>(),
        ComponentRow::NAME => work.on::<ComponentRow>(),
        MemberRow::NAME => work.on::<MemberRow>(),
        LeaderRow::NAME => work.on::<LeaderRow>(),
        ClusterRow::NAME => work.on::<ClusterRow>(),
        SuccessorRow::NAME => work.on::<SuccessorRow>(),
        _ if is_band_table(name) => work.on::<BandRow>(),
        _ => return None,
    })
}
