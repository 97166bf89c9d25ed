//! The lines of the report on records that are no page of the results.

use crate::terminal::print::{counted, grouped};
use std::collections::BTreeMap;
use workers::fold::counters::Counter;
use workers::fold::splits::Counts;
use workers::job::Job;
use workers::read::fields::{REMOVED_BY_DELETED, REMOVED_BY_OP, removers};

/// What an epoch counted of such records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// URLs or keys that the inputs remove or only see, and that the store did not have.
    unknown: u64,
}

impl Lost {
    /// By the counters of a manifest.
    pub fn of(counters: &BTreeMap<String, u64>) -> Lost {
        let counted = |counter: Counter| counters.get(counter.name()).copied().unwrap_or(0);
        Lost { unknown: counted(Counter::PagesUnknown) }
    }

    /// The rows that remove pages, and which field says so: a corpus may have such a field as data.
    pub fn removals(self, job: &Job, counts: &Counts) -> Option<String> {
        let by = removers(&job.read.fields, &counts.noted);
        if by.is_empty() {
            return None;
        }
        let rows: u64 = by.iter().map(|(_, n)| n).sum();
        let by: Vec<String> =
            by.iter().map(|(name, n)| format!("{} by `{name}`", grouped(*n))).collect();
        let unknown = match self.unknown {
            0 => String::new(),
            n => {
                format!("; not known before: {} that inputs remove or only see", counted(n, "page"))
            }
        };
        Some(format!("{:<8} rows: {}{unknown}", grouped(rows), by.join(", ")))
    }
}

/// What is `noted` of records, without what has a line of its own.
pub fn other_notes(noted: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let has_line = |word: &str| [REMOVED_BY_DELETED, REMOVED_BY_OP].contains(&word);
    noted.iter().filter(|(word, _)| !has_line(word)).map(|(word, n)| (word.clone(), *n)).collect()
}
