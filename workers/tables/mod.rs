//! The schema: every table of the store and its rows, in the order of the road.

pub mod dispatch;
pub mod evidence;
pub mod pages;
pub mod pairs;
pub mod snapshot;
pub mod visits;

use crate::document::Id;
use crate::store::table::table;

table! {
    /// A live URL.
    pub struct PageRow in "pages", columns PageColumns {
        key { /// Its DocId.
              doc: Id }
        value { /// Digest of its text; none if that is empty.
                content: Id,
                /// The crawl's date, raw.
                date: i64,
                /// Key of its host.
                host: u64,
                /// 1 if https.
                https: u8,
                /// Length of the canonical URL in bytes.
                url_bytes: u32 }
        history { /// Epoch that first saw it.
                  first_epoch: u32,
                  /// Epoch that last saw it.
                  last_epoch: u32,
                  /// That epoch's logical time, seconds since 1970.
                  last_time: i64,
                  /// Number of the source that saw it then.
                  source: u16 }
    }
}

table! {
    /// The canonical URL of a live page; apart from `pages`, whose columns have fixed widths.
    pub struct UrlRow in "urls", columns UrlColumns {
        key { /// Its DocId.
              doc: Id }
        value { /// Its bytes.
                url: Box<[u8]> }
        history { }
    }
}

table! {
    /// A page of a content.
    pub struct ContentPageRow in "content_pages", columns ContentPageColumns {
        key { /// The content.
              content: Id,
              /// The page.
              doc: Id }
        value { }
        history { }
    }
}

table! {
    /// A distinct normalised text.
    pub struct ContentRow in "contents", columns ContentColumns {
        key { /// Its digest.
              content: Id }
        value { /// Its fingerprint.
                fingerprint: u64,
                /// Its length in characters.
                chars: u32,
                /// Flags as [`crate::tables::Visit`] has them.
                flags: u8 }
        history { }
    }
}

table! {
    /// What is known of a content that is not too short. Rows are large, a few hundred bytes and a text.
    pub struct EvidenceRow in "evidence", columns EvidenceColumns, batch 1024 {
        key { /// The content.
              content: Id }
        value { /// Its fingerprint.
                fingerprint: u64,
                /// Its length in characters.
                chars: u32,
                /// Its keys, ascending: the signature's number and the key, little endian, [`evidence::KEY_BYTES`] each.
                keys: Box<[u8]>,
                /// What [`crate::text::sketch::write`] made of it.
                sketches: Box<[u8]>,
                /// Empty if the text is not kept; else [`evidence::RAW`] or [`evidence::ZSTD`] and the text.
                text: Box<[u8]> }
        history { }
    }
}

table! {
    /// A content under its fingerprint; band 0 of the bands too, so the key is that band's.
    pub struct GroupRow in "fingerprint_contents", columns GroupColumns {
        key { /// The fingerprint as band 0's sort key.
              key: u64,
              /// The content.
              content: Id }
        value { }
        history { }
    }
}

table! {
    /// A distinct live fingerprint in a band above 0.
    pub struct BandRow in "band", columns BandColumns {
        key { /// The fingerprint as the band's sort key.
              key: u64 }
        value { }
        history { }
    }
}

/// The name of the table of `band`, 1 and up.
pub fn band_table(band: usize) -> String {
    format!("band_{band}")
}

table! {
    /// A content under a key of one of its signatures.
    pub struct KeyRow in "keys", columns KeyColumns {
        key { /// The key.
              key: u64,
              /// The signature's number.
              kind: u8,
              /// The content.
              content: Id }
        value { }
        history { }
    }
}

table! {
    /// A decided pair, as one of its contents sees it.
    pub struct PairRow in "pairs", columns PairColumns {
        key { /// The content.
              content: Id,
              /// The other.
              other: Id }
        value { /// Bits in which the fingerprints differ.
                distance: u8,
                /// How alike the texts are, in 1/10,000.
                similarity: u16,
                /// The rule that decided, a [`crate::confirm::Reason`].
                reason: u8,
                /// 1 if the pair joins its contents.
                accepted: u8,
                /// Who proposes the pair: byte 0, the lowest, is 1 if SimHash does; byte n is the number of keys by which the
                /// signature of that number does, see [`pairs::proposed_by`].
                proposals: u64 }
        history { }
    }
}

table! {
    /// The component of a content that has one.
    pub struct ComponentRow in "components", columns ComponentColumns {
        key { /// The content.
              content: Id }
        value { /// Its component.
                component: Id }
        history { }
    }
}

table! {
    /// A content of a component.
    pub struct MemberRow in "component_members", columns MemberColumns {
        key { /// The component.
              component: Id,
              /// The content.
              content: Id }
        value { }
        history { }
    }
}

table! {
    /// The leader of a content that is in a component; there are rows only while a radius is set.
    pub struct LeaderRow in "leaders", columns LeaderColumns {
        key { /// The content.
              content: Id }
        value { /// The content that leads its cluster.
                leader: Id }
        history { }
    }
}

table! {
    /// A cluster of two pages or more.
    pub struct ClusterRow in "clusters", columns ClusterColumns {
        key { /// Its component, or its only content.
              component: Id,
              /// The content that leads it; without a radius the component's least.
              leader: Id }
        value { /// Its ClusterId: the least DocId of its pages.
                cluster: Id,
                /// Pages.
                pages: u32,
                /// Contents.
                contents: u32,
                /// Hosts.
                hosts: u32,
                /// Greatest number of accepted pairs on a shortest chain, within the cluster, between two of its contents; above
                /// [`crate::graph::DIAMETER_CONTENTS_MAX`] contents a lower bound, of which the true one is at most twice.
                diameter: u32,
                /// DocId of the page that represents it.
                representative: Id }
        history { }
    }
}

table! {
    /// What one record says about one URL. The order of columns is the order in which visits of one URL win.
    pub struct Visit in "visits", columns VisitColumns {
        key { /// The URL's DocId.
              doc: Id,
              /// Seconds since 1970 as the crawl said, or [`crate::document::NO_DATE`].
              date: i64,
              /// [`visits::SEEN`], [`visits::PAGE`] or [`visits::REMOVED`].
              kind: u8,
              /// Digest of the normalised text, or none.
              content: Id }
        value { /// Its fingerprint.
                fingerprint: u64,
                /// Its length in characters.
                chars: u32,
                /// [`visits::TOO_SHORT`], [`visits::REPLACED`].
                flags: u8,
                /// Key of the URL's host.
                host: u64,
                /// 1 if the URL is https.
                https: u8,
                /// The canonical URL.
                url: Box<[u8]> }
        history { }
    }
}
