//! The schema: the row types of all tables of the store, in the order of the stages of an epoch.
//! `CONTRIBUTING.md` has the steps to add one. [`mapped`] and [`snapshot`] open tables for several
//! rooms.
//!
//! ```text
//! table                 key                   refers to          written by
//! pages                 doc                   contents           fold/pages.rs
//! urls                  doc                   pages              fold/pages.rs
//! gone                  doc                   no other table     fold/pages.rs
//! content_pages         content, doc          contents, pages    fold/contents.rs
//! contents              content                                  fold/contents.rs
//! evidence              content               contents           fold/contents.rs
//! fingerprint_contents  key, content          contents           fold/groups.rs
//! band_1, band_2 ...    key                   contents           fold/buckets.rs
//! keys                  key, kind, content    contents           fold/keys.rs
//! pairs                 content, other        contents (both)    fold/pairs.rs
//! components            content               contents           fold/components.rs
//! component_members     component, content    components         fold/components.rs
//! clusters              component, leader     components, pages  fold/clusters.rs
//! leaders               content               contents           fold/leaders.rs
//! successors            content               contents           fold/successors.rs
//! visits (not kept)     doc                                      fold/split_writer.rs
//! ```
//!
//! - A **page** is named by its DocId, the [`Id`] of its canonical URL. A **content** is a distinct
//!   normalised text, named by its digest, the [`Id`] of that text. The digest of a text that was
//!   **cut** ([`visits::CUT`]) also depends on the part that was cut off.
//! - A content is **too short** if it has too few features for a meaningful fingerprint
//!   ([`visits::TOO_SHORT`]). It is **gathered** if extraction found no main text on any page that
//!   has it, and took all text of the page ([`visits::GATHERED`]). Too short, gathered and cut
//!   contents are in `contents` and `content_pages` only, and only pages of the same content fold.
//!   All other contents are **comparable** ([`ContentRow::is_comparable`]).
//! - Rows sort by all columns in the order below and are looked up by the first. The last one is
//!   `diff`: +1 if a run added the row, -1 if it retracted it. A row is changed by retracting it
//!   and adding another.
//! - **History** columns say what became of a page over time. A run from scratch would give other
//!   values, so they are not part of a table's multiset hash. `pages` has some. `gone` and
//!   `successors` are all history: a run from scratch has no such row.
//! - All other columns are a pure function of the live pages and the job's configuration. There is
//!   one exception: the representatives in `clusters`, if the keep rule reads the former ones
//!   ([`crate::keep`]).

pub(crate) mod dispatch;
pub mod evidence;
pub(crate) mod mapped;
pub(crate) mod pages;
pub mod pairs;
pub mod snapshot;
pub(crate) mod successors;
pub(crate) mod visits;

use crate::id::Id;
use crate::job::clusters;
use crate::store::table::{Row, table};
use std::borrow::Cow;

table! {
    /// A live page. `fold/pages.rs` writes it from the visit that wins.
    pub struct PageRow in "pages", columns PageColumns {
        key {
            /// The DocId of the page.
            doc: Id,
        }
        value {
            /// Its content, or [`Id::NONE`] if it has no text.
            content: Id,
            /// Its date as the crawl has it: seconds since 1970, or [`crate::absent::NO_DATE`].
            date: i64,
            /// The hash of its host, see [`crate::page_url::host_key`].
            host: u64,
            /// 1 if its URL is https, else 0.
            https: u8,
            /// The length of its canonical URL in bytes.
            url_bytes: u32,
            /// What is said of its text: the sum of [`pages::PAGE_GATHERED`] and
            /// [`pages::PAGE_CONVERSION`].
            gathered: u8,
            /// The score of the record that decided it, in 1/1,000,000, or
            /// [`crate::absent::NO_SCORE`].
            score: i64,
        }
        history {
            /// The first epoch that saw the page.
            first_epoch: u32,
            /// The last epoch that saw the page.
            last_epoch: u32,
            /// The logical time of the last epoch that saw it, seconds since 1970.
            last_time: i64,
            /// The source that it was last seen in: an index of the manifest's `sources`.
            source: u16,
            /// The date that a dated record must reach to replace it: its own date; if it has none,
            /// or one too far ahead, the date of the record that it replaced, or
            /// [`crate::absent::NO_DATE`].
            as_of: i64,
            /// The input that has the record which decided it: the first 64 bits of the digest of
            /// its bytes, so that no name of a file is stored with a page.
            input: u64,
            /// Where that record starts in the input, see [`crate::read::record::Entry::position`].
            position: u64,
        }
    }
}

table! {
    /// The URL of a live page. It is not a column of `pages`, so that all columns of `pages` have
    /// fixed widths.
    pub struct UrlRow in "urls", columns UrlColumns {
        key {
            /// The DocId of the page.
            doc: Id,
        }
        value {
            /// The canonical URL.
            url: Box<[u8]>,
        }
        history {}
    }
}

impl UrlRow {
    /// The URL as text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.url)
    }
}

table! {
    /// A URL that is no page any more, or that was reported as removed before it was known.
    /// `fold/pages.rs` writes it, so that an older record does not bring the page back, and
    /// retracts it after the job's `[pages] gone_days`.
    pub struct GoneRow in "gone", columns GoneColumns {
        key {
            /// The DocId of the URL.
            doc: Id,
        }
        value {}
        history {
            /// The canonical URL.
            url: Box<[u8]>,
            /// The content that the page last had; [`Id::NONE`] if it had no text or was not known.
            content: Id,
            /// The DocId of the URL to which a redirect in the crawl leads, or [`Id::NONE`].
            moved_to: Id,
            /// The date of the removal as the crawl has it, or [`crate::absent::NO_DATE`].
            date: i64,
            /// The date that a dated record must reach to bring the page back, as in `pages`.
            as_of: i64,
            /// Why it is gone: [`pages::CAUSE_REMOVED`], [`pages::CAUSE_MISSING`] or
            /// [`pages::CAUSE_EXPIRED`].
            cause: u8,
            /// The epoch in which it went.
            epoch: u32,
            /// The logical time of the last epoch that said that it is gone, seconds since 1970.
            last_time: i64,
        }
    }
}

table! {
    /// A live page under its content: the pages with text, by content. `fold/contents.rs` writes
    /// it.
    pub struct ContentPageRow in "content_pages", columns ContentPageColumns {
        key {
            /// The content.
            content: Id,
            /// The DocId of the page.
            doc: Id,
        }
        value {}
        history {}
    }
}

table! {
    /// A live content: one that at least one live page has. `fold/contents.rs` writes it when the
    /// first page appears, and retracts it with the last one.
    pub struct ContentRow in "contents", columns ContentColumns {
        key {
            /// The digest of the text.
            content: Id,
        }
        value {
            /// Its SimHash fingerprint.
            fingerprint: u64,
            /// Its length in characters.
            chars: u32,
            /// Its length in letters, see [`crate::text::letters::weight`].
            letters: u32,
            /// The number of its pages on which the text was gathered.
            gathered_pages: u32,
            /// Bits: [`visits::TOO_SHORT`], [`visits::REPLACED`], [`visits::NOTICE`],
            /// [`visits::GATHERED`], [`visits::CUT`].
            flags: u8,
        }
        history {}
    }
}

impl ContentRow {
    /// Whether the content is compared with others: it is neither too short, gathered nor cut.
    pub fn is_comparable(&self) -> bool {
        self.flags & (visits::TOO_SHORT | visits::GATHERED | visits::CUT) == 0
    }

    /// Whether its pages fold with no page, by `clusters`, because its text says too little to
    /// compare pages by.
    pub fn says_little(&self, clusters: &clusters::Options) -> bool {
        clusters.says_little(self.letters, self.flags & visits::NOTICE != 0)
    }

    /// The contents of those of `rows` that do not say too little, in the order of `rows`.
    pub fn telling(rows: &[ContentRow], clusters: &clusters::Options) -> Vec<Id> {
        rows.iter().filter(|row| !row.says_little(clusters)).map(|row| row.content).collect()
    }
}

table! {
    /// The evidence by which the pairs of a content are decided. A row has a few hundred bytes and
    /// a text. Ingest makes it (`visit/evidence.rs`); `fold/contents.rs` copies it to the store
    /// when the content becomes comparable. Other contents have none.
    pub struct EvidenceRow in "evidence", columns EvidenceColumns, batch 1024 {
        key {
            /// The content.
            content: Id,
        }
        value {
            /// Its fingerprint, as in `contents`.
            fingerprint: u64,
            /// Its length in characters, as in `contents`.
            chars: u32,
            /// Its keys, ascending, [`evidence::KEY_BYTES`] each: the signature's number (1 byte)
            /// and the key (8 bytes, little endian).
            keys: Box<[u8]>,
            /// Its sketches, as [`crate::text::sketch::write`] encodes them.
            sketches: Box<[u8]>,
            /// Its text: empty if the job does not keep it, else its form and its bytes:
            /// [`evidence::RAW`], [`evidence::ZSTD`] (a frame) or [`evidence::CODED`]
            /// ([`crate::text::packed`]).
            text: Box<[u8]>,
            /// The digest of the other values, as [`EvidenceRow::new`] computes it. It is needed
            /// because single rows are read, without the rest of their batch.
            digest: u64,
        }
        history {}
    }
}

table! {
    /// A comparable content under its fingerprint. The table also serves as the table of band 0,
    /// because each distinct key is a fingerprint. `fold/groups.rs` writes it.
    pub struct GroupRow in "fingerprint_contents", columns GroupColumns {
        key {
            /// The fingerprint as the sort key of band 0, see
            /// [`crate::candidates::bands::Bands::key`].
            key: u64,
            /// The content.
            content: Id,
        }
        value {}
        history {}
    }
}

table! {
    /// A distinct fingerprint of comparable contents. Each band above 0 has a table of such rows,
    /// see [`band_table`]. `fold/buckets.rs` writes them.
    pub struct BandRow in "band", columns BandColumns {
        key {
            /// The fingerprint as the sort key of the band.
            key: u64,
        }
        value {}
        history {}
    }
}

/// The name of the table of `band`, from 1 on.
pub fn band_table(band: usize) -> String {
    format!("{}_{band}", BandRow::NAME)
}

/// Whether `name` is that of the table of a band.
pub fn is_band_table(name: &str) -> bool {
    let number = name.strip_prefix(BandRow::NAME).and_then(|rest| rest.strip_prefix('_'));
    number.and_then(|number| number.parse().ok()).is_some_and(|band| band_table(band) == name)
}

table! {
    /// A live content under a key of one of its signatures: the keys of `evidence`, by key.
    /// `fold/keys.rs` writes it.
    pub struct KeyRow in "keys", columns KeyColumns, filter 10 {
        key {
            /// The key.
            key: u64,
            /// The number of the signature, see [`crate::text::signatures::SignatureKind`].
            kind: u8,
            /// The content.
            content: Id,
        }
        value {}
        history {}
    }
}

table! {
    /// A decided pair of live contents, under one of them; each pair has two rows. A pair stays
    /// while some signature proposes it. `fold/pairs.rs` decides it once and writes both rows.
    pub struct PairRow in "pairs", columns PairColumns {
        key {
            /// The content.
            content: Id,
            /// The other content.
            other: Id,
        }
        value {
            /// The number of bits in which their fingerprints differ.
            distance: u8,
            /// The similarity of their texts, in 1/10,000.
            similarity: u16,
            /// The rule that decided, a [`crate::confirm::Reason`].
            reason: u8,
            /// 1 if the pair is accepted, else 0. Accepted pairs make the components.
            accepted: u8,
            /// Which signatures propose the pair. The lowest byte is 1 if SimHash does; byte n is
            /// the number of keys by which signature n does. See [`pairs::proposed_by`].
            proposals: u64,
        }
        history {}
    }
}

impl PairRow {
    /// Whether the pair is accepted.
    pub fn is_accepted(&self) -> bool {
        self.accepted == 1
    }
}

table! {
    /// The component of a content: the contents that accepted pairs connect, directly or through
    /// other contents. Contents without an accepted pair have no row. `fold/components.rs` writes
    /// it.
    pub struct ComponentRow in "components", columns ComponentColumns {
        key {
            /// The content.
            content: Id,
        }
        value {
            /// The component, named by its least content.
            component: Id,
        }
        history {}
    }
}

table! {
    /// A content under its component: the reverse of `components`. `fold/components.rs` writes it.
    pub struct MemberRow in "component_members", columns MemberColumns {
        key {
            /// The component.
            component: Id,
            /// The content.
            content: Id,
        }
        value {}
        history {}
    }
}

table! {
    /// The leader of a content of a component. `fold/leaders.rs` writes it.
    pub struct LeaderRow in "leaders", columns LeaderColumns {
        key {
            /// The content.
            content: Id,
        }
        value {
            /// The content that leads its cluster, perhaps itself.
            leader: Id,
        }
        history {}
    }
}

table! {
    /// A cluster of at least two pages. Its contents are the part of a component that one content
    /// leads, or one content in no component. `fold/clusters.rs` writes it.
    pub struct ClusterRow in "clusters", columns ClusterColumns {
        key {
            /// Its component, or its only content if that is in no component.
            component: Id,
            /// Its leader, or its only content.
            leader: Id,
        }
        value {
            /// The ClusterId: the least DocId of its pages.
            cluster: Id,
            /// The number of pages.
            pages: u32,
            /// The number of contents.
            contents: u32,
            /// The number of hosts.
            hosts: u32,
            /// The greatest distance of two of its contents, in accepted pairs of the cluster.
            /// Above [`crate::graph::DIAMETER_CONTENTS_MAX`] contents it is a lower bound, at least
            /// half of the exact number.
            diameter: u32,
            /// The DocId of the page that represents it.
            representative: Id,
        }
        history {}
    }
}

impl ClusterRow {
    /// The place of the cluster of `content` in the table, given its rows of `components` and
    /// `leaders`: its component and its leader. For a content in no component, both are the content
    /// itself.
    pub fn place_of(
        content: Id,
        component: Option<&ComponentRow>,
        leader: Option<&LeaderRow>,
    ) -> (Id, Id) {
        let component = component.map_or(content, |row| row.component);
        (component, leader.map_or(component, |row| row.leader))
    }

    /// Its place in the table. Two states of a cluster have the same place unless its component or
    /// its leader changes.
    pub fn place(&self) -> (Id, Id) {
        (self.component, self.leader)
    }
}

table! {
    /// A content that dead links lead to, and its successor, which is the content itself while it
    /// is live. `fold/successors.rs` writes the row when a page with the content goes or when the
    /// content becomes a successor, and forgets it after the job's `[pages] gone_days`.
    pub struct SuccessorRow in "successors", columns SuccessorColumns {
        key {
            /// The content.
            content: Id,
        }
        value {}
        history {
            /// Its successor, which was live after the epoch and may have a successor itself by
            /// now, or [`Id::NONE`].
            successor: Id,
            /// The epoch in which the content died or came back or, while it is live, the last one
            /// in which dead links began to lead to it. Steps never lead to an earlier epoch.
            epoch: u32,
            /// The logical time when the last page went whose link leads to the content, seconds
            /// since 1970. The row is forgotten by it.
            last_time: i64,
        }
    }
}

impl SuccessorRow {
    /// Whether the content is live, and names itself.
    pub fn is_live(&self) -> bool {
        self.successor == self.content
    }
}

table! {
    /// What one record says about one URL. Rows are in the attempt's folder, not in the store:
    /// `fold/split_writer.rs` writes them and `fold/pages.rs` reads them. Of several visits of one
    /// URL the greatest wins, so the order of the columns is the rule.
    pub struct Visit in "visits", columns VisitColumns {
        key {
            /// The DocId of the URL.
            doc: Id,
            /// The date as the crawl has it: seconds since 1970, or [`crate::absent::NO_DATE`].
            date: i64,
            /// [`visits::SEEN`], [`visits::PAGE`] or [`visits::REMOVED`].
            kind: u8,
            /// The digest of the text, or [`Id::NONE`] if there is none.
            content: Id,
        }
        value {
            /// The DocId of the URL to which a removed page has moved, or [`Id::NONE`].
            moved_to: Id,
            /// The SimHash fingerprint of the text.
            fingerprint: u64,
            /// The length of the text in characters.
            chars: u32,
            /// Its length in letters, see [`crate::text::letters::weight`].
            letters: u32,
            /// Bits: [`visits::TOO_SHORT`], [`visits::REPLACED`], [`visits::NOTICE`],
            /// [`visits::GATHERED`], [`visits::CUT`].
            flags: u8,
            /// The hash of the host, see [`crate::page_url::host_key`].
            host: u64,
            /// 1 if the URL is https, else 0.
            https: u8,
            /// The canonical URL.
            url: Box<[u8]>,
            /// The score in 1/1,000,000, or [`crate::absent::NO_SCORE`].
            score: i64,
        }
        history {
            /// The input that has the record, as in `pages`. The place of a record decides only
            /// between records that say the same.
            input: u64,
            /// Where the record starts in it, as in `pages`.
            position: u64,
        }
    }
}
