//! The tables by name: what a store's manifest calls them, and the rows that they have.

use crate::store::table::Row;
use crate::tables::{
    BandRow, ClusterRow, ComponentRow, ContentPageRow, ContentRow, EvidenceRow, GroupRow, KeyRow, LeaderRow, MemberRow,
    PageRow, PairRow, UrlRow,
};

/// Work on a table, whatever its rows.
pub trait OnTable {
    /// What comes of it.
    type Outcome;
    /// Does it.
    fn on<R: Row>(self) -> Self::Outcome;
}

/// Does `work` on the table `name`; none if this build knows no such table.
pub fn on_table<W: OnTable>(name: &str, work: W) -> Option<W::Outcome> {
    Some(match name {
        "pages" => work.on::<PageRow>(),
        "urls" => work.on::<UrlRow>(),
        "content_pages" => work.on::<ContentPageRow>(),
        "contents" => work.on::<ContentRow>(),
        "fingerprint_contents" => work.on::<GroupRow>(),
        "evidence" => work.on::<EvidenceRow>(),
        "keys" => work.on::<KeyRow>(),
        "pairs" => work.on::<PairRow>(),
        "components" => work.on::<ComponentRow>(),
        "component_members" => work.on::<MemberRow>(),
        "leaders" => work.on::<LeaderRow>(),
        "clusters" => work.on::<ClusterRow>(),
        _ if name.starts_with("band_") => work.on::<BandRow>(),
        _ => return None,
    })
}
