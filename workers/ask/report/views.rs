//! What the template shows: numbers and shares as text.

use crate::confirm::parts::Part;
use askama::Template;

/// The page.
#[derive(Debug, Default, Template)]
#[template(path = "report.html")]
pub(super) struct Report {
    pub(super) store: String,
    pub(super) epoch: u64,
    pub(super) time: String,
    /// The first figures: a name and a value.
    pub(super) figures: Vec<(&'static str, String)>,
    pub(super) hosts: Vec<FoldedShare>,
    /// How many more hosts, and mirrors, there are; empty if all are shown.
    pub(super) hosts_more: String,
    pub(super) sources: Vec<FoldedShare>,
    /// The pages that fold into a page of another host, and their share of all pages.
    pub(super) mirrored: String,
    pub(super) mirrored_share: String,
    pub(super) mirrors: Vec<Mirror>,
    pub(super) mirrors_more: String,
    pub(super) plots: Vec<Plot>,
    pub(super) clusters: Vec<Groups>,
    pub(super) similarity_min: String,
    pub(super) close: Vec<Close>,
    pub(super) rejects: Vec<Rejects>,
    pub(super) changes: Vec<(&'static str, String)>,
    pub(super) epochs: Vec<Epoch>,
}

/// A host or a source.
#[derive(Debug)]
pub(super) struct FoldedShare {
    pub(super) name: String,
    pub(super) pages: String,
    pub(super) folded: String,
    pub(super) share: String,
}

/// Pages of one host that fold into pages of another.
#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) pages: String,
    /// The share of all pages of the first host.
    pub(super) share: String,
}

/// A bar chart.
#[derive(Debug)]
pub(super) struct Plot {
    pub(super) title: &'static str,
    pub(super) bars: Vec<Bar>,
}

#[derive(Debug)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) count: String,
    /// In thousandths of the longest bar.
    pub(super) width: u32,
}

/// A list of clusters.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) groups: Vec<Group>,
}

/// A cluster.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) representative: String,
    pub(super) facts: String,
    pub(super) begins: String,
    pub(super) other: String,
    pub(super) parts: Vec<Part>,
    pub(super) note: &'static str,
}

/// A pair close to the threshold.
#[derive(Debug)]
pub(super) struct Close {
    pub(super) similarity: String,
    pub(super) verdict: &'static str,
    pub(super) reason: &'static str,
    pub(super) a: String,
    pub(super) b: String,
}

/// Rejected records of one reason.
#[derive(Debug)]
pub(super) struct Rejects {
    pub(super) reason: String,
    pub(super) records: String,
    pub(super) examples: Vec<String>,
}

/// An epoch.
#[derive(Debug)]
pub(super) struct Epoch {
    pub(super) epoch: u64,
    pub(super) what: &'static str,
    pub(super) time: String,
    pub(super) read: String,
    pub(super) pages: String,
    pub(super) folded: String,
    pub(super) share: String,
}
