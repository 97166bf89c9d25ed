//! The rows of exported tables: what `members`, `redirects`, `pairs`, `clusters` and `changes`
//! have. Ids and fingerprints are lower-case hex of fixed width.

use crate::export::row_type::{Hex, Moment, SharedText, export_row};
use crate::id::Id;

export_row! {
    /// A live page and the cluster that it belongs to.
    pub struct Member in "members" {
        url: SharedText,
        doc: Hex<Id>,
        content: Option<Hex<Id>>,
        fingerprint: Option<Hex<u64>>,
        chars: u32,
        cluster: Hex<Id>,
        cluster_size: u32,
        representative: SharedText,
        is_representative: bool,
        date: Option<Moment>,
        source: SharedText,
        first_epoch: u32,
        last_epoch: u32,
    }
}

export_row! {
    /// A page that folds into another, or that is gone and leads to another.
    pub struct Redirect in "redirects" {
        url: SharedText,
        representative: SharedText,
        relation: &'static str,
        reason: &'static str,
        similarity: Option<f64>,
    }
}

export_row! {
    /// Two contents and the verdict on them. A content may have hundreds of pairs, so a row group
    /// has a larger dictionary of texts than in other tables, and rows refer to it.
    pub struct Pair in "pairs", dictionary 8_388_608 {
        a: Hex<Id>,
        b: Hex<Id>,
        a_url: SharedText,
        b_url: SharedText,
        signature: &'static str,
        distance: u32,
        similarity: f64,
        accepted: bool,
        reason: &'static str,
    }
}

export_row! {
    /// A cluster of two pages or more. `diameter` is the greatest number of accepted pairs on a
    /// shortest path between two of its contents. Above 256 contents it is a lower bound; the true
    /// diameter is at most twice as large.
    pub struct Cluster in "clusters" {
        cluster: String,
        pages: u32,
        contents: u32,
        hosts: u32,
        representative: String,
        diameter: u32,
    }
}

export_row! {
    /// What the epochs after `since` up to `epoch` changed about a page or a cluster.
    pub struct Change in "changes" {
        since: u32,
        epoch: u32,
        kind: &'static str,
        change: &'static str,
        url: Option<SharedText>,
        doc: Option<Hex<Id>>,
        cluster_before: Option<Hex<Id>>,
        cluster_after: Option<Hex<Id>>,
        representative_before: Option<SharedText>,
        representative_after: Option<SharedText>,
    }
}
