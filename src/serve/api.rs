//! Defines what answers look like. The description of the interface is made from these types.

use serde::Serialize;
use utoipa::ToSchema;
use workers::ask::answer::{Because, TextVerdict};
use workers::online::decision::{Decision, Removal};

/// What becomes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It folds with no page.
    New,
    /// A page has the same text.
    Identical,
    /// Pages have a similar text.
    Near,
}

/// The answer about one record.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answer {
    /// The URL, or the key, that the record came with, as the store has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What becomes of its text.
    pub verdict: Verdict,
    /// The URL of the page that represents the cluster that the text belongs to.
    pub representative: Option<String>,
    /// The id of that cluster.
    pub cluster: Option<String>,
    /// The similarity with the most similar text, 0 to 1; 1 if identical.
    pub similarity: Option<f64>,
    /// The rule that accepted that pair.
    pub reason: Option<&'static str>,
    /// Whether the next epoch may see it otherwise.
    pub provisional: bool,
    /// Why: the words are in the page about `query`.
    #[schema(value_type = Vec<String>)]
    pub because: Vec<Because>,
    /// Whether the record was inserted: the next epoch takes it, and it is durable.
    pub inserted: bool,
    /// The content: the digest of the normalised text; none if it is empty.
    pub content: Option<String>,
    /// What is odd about the record, such as `too_short` or `bad_date`.
    pub notes: Vec<String>,
}

impl From<Decision> for Answer {
    fn from(Decision { answer, inserted, .. }: Decision) -> Answer {
        Answer {
            url: answer.url,
            verdict: match answer.verdict {
                TextVerdict::New => Verdict::New,
                TextVerdict::Identical => Verdict::Identical,
                TextVerdict::Near => Verdict::Near,
            },
            representative: answer.representative,
            cluster: answer.cluster,
            similarity: answer.similarity,
            reason: answer.reason,
            provisional: answer.provisional,
            because: answer.because,
            inserted,
            content: answer.content,
            notes: answer.notes,
        }
    }
}

/// The answer about a page that is to be removed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Removed {
    /// The URL, or the key, of the page, as the store has it.
    pub url: String,
    /// Whether the removal takes away a page: there is one, and no record of it has a later date.
    pub removed: bool,
    /// Whether the next epoch may see it otherwise.
    pub provisional: bool,
    /// Why, such as `outdated`: the words are in the page about `query`.
    #[schema(value_type = Vec<String>)]
    pub because: Vec<Because>,
    /// Whether the removal was inserted: it is durable, and the next epoch reads it. It is inserted
    /// even if there is no such page, so that an older record does not bring the page back.
    pub inserted: bool,
}

impl From<Removal> for Removed {
    fn from(Removal { url, removed, because, inserted, .. }: Removal) -> Removed {
        Removed { url, removed, provisional: !because.is_empty(), because, inserted }
    }
}

/// The answer about a row of a batch that was not taken.
#[derive(Debug, Serialize, ToSchema)]
pub struct Rejected {
    /// The line of the batch, from 1.
    pub line: u64,
    /// Always `rejected`.
    pub verdict: &'static str,
    /// A fixed word such as `bad_json`, or `inbox_full`: send it again after an epoch.
    pub reason: &'static str,
    /// More for a person.
    pub detail: String,
}

/// One line of the answer to a batch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Line {
    /// Of a record.
    Answer(Answer),
    /// Of a removal.
    Removed(Removed),
    /// Of a row that is no record.
    Rejected(Rejected),
}

/// Whether the server answers questions.
#[derive(Debug, Serialize, ToSchema)]
pub struct Ready {
    /// The epoch that is asked.
    pub epoch: u64,
}
