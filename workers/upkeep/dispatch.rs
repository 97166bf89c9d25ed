//! The tables by name: what a store's manifest calls them, and the rows that they have.

use crate::fold::buckets::BandRow;
use crate::fold::clusters::ClusterRow;
use crate::fold::components::{ComponentRow, MemberRow};
use crate::fold::contents::{ContentPageRow, ContentRow};
use crate::fold::evidence::EvidenceRow;
use crate::fold::groups::GroupRow;
use crate::fold::keys::KeyRow;
use crate::fold::leaders::LeaderRow;
use crate::fold::pairs::PairRow;
use crate::store::table::Row;
use crate::tables::pages::{PageRow, UrlRow};

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
