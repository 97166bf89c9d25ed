//! What the template shows: numbers as text, shares as whole percents.

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
    pub(super) hosts: Vec<Folded>,
    pub(super) hosts_more: usize,
    pub(super) sources: Vec<Folded>,
    pub(super) mirrors: Vec<Mirror>,
    pub(super) plots: Vec<Plot>,
    /// Lists of clusters with their titles.
    pub(super) clusters: Vec<(&'static str, Vec<Group>)>,
    pub(super) close: Vec<Close>,
    pub(super) rejects: Vec<Rejects>,
    pub(super) changes: Vec<(String, String)>,
    pub(super) epochs: Vec<Epoch>,
}

/// A host or a source.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) name: String,
    pub(super) pages: String,
    pub(super) folded: String,
    pub(super) percent: u64,
}

/// Pages of one host that fold into pages of another.
#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) pages: String,
    pub(super) percent: u64,
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
    pub(super) percent: u64,
}

/// A cluster.
#[derive(Debug)]
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
    pub(super) percent: u64,
}
