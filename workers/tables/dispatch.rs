//! Finds the row type of a table by the name that a manifest has for it.

use crate::store::table::Row;
use crate::tables::{
    BandRow, ClusterRow, ComponentRow, ContentPageRow, ContentRow, EvidenceRow, GroupRow, KeyRow, LeaderRow, MemberRow,
    PageRow, PairRow, UrlRow,
};

/// Work that can be done on any table.
pub trait OnTable {
    /// Its result.
    type Outcome;
    /// Does the work on the table with the rows `R`.
    fn on<R: Row>(self) -> Self::Outcome;
}

/// Does `work` on the table `name`, or returns none if this build has no such table.
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
