//! The answer about a text, and why the next epoch may decide otherwise.

use crate::ask::tables::Cluster;
use crate::id::Id;
use crate::job::clusters;
use serde::Serialize;
use std::collections::BTreeSet;

/// What becomes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextVerdict {
    /// It folds with no stored page.
    New,
    /// A stored page has the same text.
    Identical,
    /// Stored pages have a similar text.
    Near,
}

impl TextVerdict {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            TextVerdict::New => "new",
            TextVerdict::Identical => "identical",
            TextVerdict::Near => "near",
        }
    }
}

/// A stored text that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// The content.
    pub content: String,
    /// The content as an id.
    #[serde(skip)]
    pub id: Id,
    /// A page that has it.
    pub url: String,
    /// The number of its pages.
    pub pages: u64,
    /// The signatures that propose the pair, joined by `+`.
    pub signature: String,
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
    /// The similarity by the rule that decided.
    pub similarity: f64,
    /// Whether the pair is accepted.
    pub accepted: bool,
    /// The rule that decided.
    pub reason: &'static str,
    /// The cluster of its pages.
    pub cluster: String,
    /// The pages of that cluster.
    pub cluster_pages: u32,
    /// The URL of the page that represents it.
    pub representative: String,
    /// The DocId of that page.
    #[serde(skip)]
    pub representative_doc: Id,
}

/// What an index says about a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The URL that the text came with, if any, as the store has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What becomes of the text.
    pub verdict: TextVerdict,
    /// The URL of the page that represents the cluster that it belongs to.
    pub representative: Option<String>,
    /// That cluster.
    pub cluster: Option<String>,
    /// The pages of that cluster.
    pub cluster_pages: Option<u32>,
    /// The similarity with the most similar text; 1 if identical.
    pub similarity: Option<f64>,
    /// The rule that accepted that pair.
    pub reason: Option<&'static str>,
    /// Whether the next epoch may decide otherwise.
    pub provisional: bool,
    /// Why.
    pub because: Vec<Because>,
    /// The content: the digest of the normalised text; `None` if it is empty.
    pub content: Option<String>,
    /// The characters of the normalised text.
    pub chars: u32,
    /// What is odd about the text, such as `too_short`.
    pub notes: Vec<String>,
    /// The number of stored pages with the identical text.
    pub pages: u64,
    /// The first of them by DocId.
    pub urls: Vec<String>,
    /// The stored texts with which it is accepted, the most similar first.
    pub matches: Vec<Match>,
    /// The stored texts with which it is refused, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Match>,
    /// The stored fingerprints that are near it.
    #[serde(skip)]
    pub near: BTreeSet<u64>,
    /// Components with contents whose ranks it moves, so that other pairs of them may be compared.
    #[serde(skip)]
    pub moved: BTreeSet<Id>,
    /// Whether it moves ranks in more components than were read.
    #[serde(skip)]
    pub moves_more: bool,
    /// Whether the text would be compared with further contents if others went.
    #[serde(skip)]
    pub leaves_out: bool,
    /// Whether the next epoch removes all pages that it is identical to or near, unless it sees
    /// them.
    #[serde(skip)]
    pub outlives: bool,
}

/// Why an answer is provisional.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The text moves ranks in large groups, so other contents are compared than now.
    Pivots,
    /// The text would be compared with more contents of a bucket than were read.
    Limit,
    /// It joins several clusters.
    Joins,
    /// With a radius the text may change who leads its cluster.
    Radius,
    /// The page that it came from would represent the cluster, by the keep rule.
    Represents,
    /// The page that it came from would name the cluster.
    Names,
    /// Its URL has another text now, which would go.
    Replaces,
    /// A known record of its URL has a later date, and holds.
    Outdated,
    /// The answer depends on pages that expire with the next epoch, unless that epoch sees them.
    /// See [`crate::ask::expiry`].
    Expires,
    /// The text was only gathered from whole pages so far and was not compared, and now it will be;
    /// or it was compared and will not be any more, because no page has it as its main text.
    Gathered,
    /// The text came without a URL, and the job removes lines by host.
    NoHost,
    /// Records that were inserted since the last epoch are like it, or change its cluster.
    Inbox,
    /// There is a newer epoch, which cannot be asked.
    Behind,
}

impl Answer {
    pub(super) fn new(url: Option<String>, content: Id, chars: u32) -> Answer {
        Answer {
            url,
            verdict: TextVerdict::New,
            representative: None,
            cluster: None,
            cluster_pages: None,
            similarity: None,
            reason: None,
            provisional: false,
            because: Vec::new(),
            content: (!content.is_none()).then(|| content.to_string()),
            chars,
            notes: Vec::new(),
            pages: 0,
            urls: Vec::new(),
            matches: Vec::new(),
            refused: Vec::new(),
            near: BTreeSet::new(),
            moved: BTreeSet::new(),
            moves_more: false,
            leaves_out: false,
            outlives: false,
        }
    }

    /// Whether a stored page has its text, or one near it, and stays.
    pub fn is_known(&self) -> bool {
        self.verdict != TextVerdict::New && !self.outlives
    }

    /// The contents by which a known text is known: `content`, which it has, or those near it.
    pub fn like(&self, content: Id) -> Vec<Id> {
        match self.verdict {
            TextVerdict::Identical => vec![content],
            _ => self.matches.iter().map(|found| found.id).collect(),
        }
    }

    /// Decides, from its matches, about a text that no page has.
    pub fn settle(&mut self, clusters: &clusters::Options) {
        self.sort();
        let first = self.matches.first().cloned();
        self.verdict = if first.is_some() { TextVerdict::Near } else { TextVerdict::New };
        self.similarity = first.as_ref().map(|first| first.similarity);
        self.reason = first.as_ref().map(|first| first.reason);
        self.cluster = first.as_ref().map(|first| first.cluster.clone());
        self.cluster_pages = first.as_ref().map(|first| first.cluster_pages);
        self.representative = first.map(|first| first.representative);
        self.because.retain(|why| ![Because::Joins, Because::Radius].contains(why));
        let joined: BTreeSet<&str> = self.matches.iter().map(|one| one.cluster.as_str()).collect();
        let joins = joined.len() > 1;
        self.because.extend(joins.then_some(Because::Joins));
        self.because.extend(
            (clusters.radius > 0 && self.verdict == TextVerdict::Near).then_some(Because::Radius),
        );
    }

    /// Adds a reason why the next epoch may decide otherwise, unless it is there already.
    pub fn add(&mut self, why: Because) {
        if !self.because.contains(&why) {
            self.because.push(why);
        }
        self.provisional = true;
    }

    /// Removes the cluster, because pages of its text fold with no page.
    pub fn stays_apart(&mut self) {
        (self.cluster, self.cluster_pages, self.representative) = (None, None, None);
    }

    pub(super) fn belongs_to(&mut self, cluster: &Cluster) {
        self.cluster = Some(cluster.id.clone());
        self.cluster_pages = Some(cluster.pages);
        self.representative = Some(cluster.representative.clone());
    }

    pub(super) fn push(&mut self, found: Match) {
        if found.accepted { &mut self.matches } else { &mut self.refused }.push(found);
    }

    pub(super) fn sort(&mut self) {
        for list in [&mut self.matches, &mut self.refused] {
            list.sort_by(|a, b| {
                b.similarity.total_cmp(&a.similarity).then_with(|| a.content.cmp(&b.content))
            });
        }
    }
}
