//! The lines of the report about records that became no page of the results.

use crate::terminal::print::{counted, grouped};
use std::collections::BTreeMap;
use workers::ask::elsewhere::Elsewhere;
use workers::commit::guards::OVERWRITTEN_MIN;
use workers::fold::counters::Counter;
use workers::job::Job;
use workers::read::PageKey;
use workers::read::fields::{REMOVED_BY_DELETED, REMOVED_BY_OP, removers};
use workers::visit::counts::Counts;

/// An epoch's counts of such records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// URLs or keys that the inputs remove or only see, and that the store did not have.
    unknown: u64,
    /// Records that lost to a record of the same epoch with another text.
    replaced: u64,
    /// Pages with another text than before.
    changed: u64,
    /// The changed pages whose former record is in another input that still exists.
    changed_here: u64,
    /// Records without a date that lost to another input without dates.
    undated: u64,
}

impl Lost {
    /// Of an epoch that `counted` this many of each kind.
    pub fn of(counted: impl Fn(Counter) -> u64, changed_here: u64) -> Lost {
        Lost {
            unknown: counted(Counter::PagesUnknown),
            replaced: counted(Counter::VisitsOverwritten) + counted(Counter::VisitsReplaced),
            changed: counted(Counter::PagesChanged),
            changed_here,
            undated: counted(Counter::VisitsUndatedElsewhere),
        }
    }

    /// The sentence about records without a date of several inputs of `epoch`, if there are so many
    /// that the inputs may be deltas that should have been read in turn.
    pub fn undated(self, job: &Job, epoch: u32) -> Option<String> {
        if self.undated <= OVERWRITTEN_MIN || job.read.complete {
            return None;
        }
        let repair = match epoch.checked_sub(1).filter(|before| *before > 0) {
            Some(before) => {
                format!("; to repair, `pagefold rollback JOB {before} --forget-inputs` first")
            }
            None => String::new(),
        };
        Some(format!(
            "{} records without a date lost to another input, which may be the older one: if each input is a \
             later delta, `pagefold run JOB --max-inputs 1` reads one a run{repair}",
            grouped(self.undated)
        ))
    }

    /// How many of the superseded records had another text.
    pub fn with_another_text(self) -> String {
        match self.replaced {
            0 => String::new(),
            records => format!(", {} with another text", grouped(records)),
        }
    }

    /// The line about pages that have another text now. For a corpus it says how many rows that
    /// still exist lost their pages: this happens with ids that start again in each file, and with
    /// newer versions.
    pub fn changed(self, job: &Job) -> Option<String> {
        let PageKey::Field(key) = &job.read.key else {
            return (self.changed > 0).then(|| self.changed_pages());
        };
        match self.changed_here {
            _ if self.changed == 0 => None,
            0 => Some(self.changed_pages()),
            here => Some(format!(
                "{}; the former rows of {} are in inputs that are still there: if `{key}` is not one \
                 document's alone, [read] key = \"row\" keeps all",
                self.changed_pages(),
                grouped(here)
            )),
        }
    }

    fn changed_pages(self) -> String {
        let have = if self.changed == 1 { "page has" } else { "pages have" };
        format!("{:<8} {have} another text now", grouped(self.changed))
    }

    /// The line about rows that remove pages, and the field that says so, because a corpus may have
    /// a field of this name as data.
    pub fn removals(self, job: &Job, counts: &Counts) -> Option<String> {
        let by = removers(&job.read.fields, &counts.noted);
        if by.is_empty() {
            return None;
        }
        let rows: u64 = by.iter().map(|(_, n)| n).sum();
        let unknown = match self.unknown {
            0 => String::new(),
            // If the removed pages never existed, the field is probably data.
            n => format!(
                "; not known before: {} that inputs remove or only see; if that is data: deleted = \"\" \
                 and op = \"\" under [read.fields]",
                counted(n, "page")
            ),
        };
        Some(format!("{:<8} rows: {}{unknown}", grouped(rows), by_field(by)))
    }
}

/// How many rows remove pages by each field.
pub fn by_field<'a>(rows: impl IntoIterator<Item = (&'a str, u64)>) -> String {
    let each = rows.into_iter().map(|(name, n)| format!("{} by `{name}`", grouped(n)));
    each.collect::<Vec<String>>().join(", ")
}

/// The pages of inputs that are gone, and what removes them.
pub fn elsewhere(job: &Job, elsewhere: Elsewhere) -> String {
    let Elsewhere { inputs, pages } = elsewhere;
    let are = |n: u64| if n == 1 { "is" } else { "are" };
    let remedy = if job.pages.retain_days.is_some() || job.pages.retain_epochs.is_some() {
        "they stay until they expire"
    } else if job.read.complete {
        "the next snapshot removes them"
    } else {
        "[read] complete = true lets a run remove them"
    };
    format!(
        "{} {} of {} that {} gone or changed; {remedy}",
        counted(pages, "page"),
        are(pages),
        counted(inputs, "consumed input"),
        are(inputs)
    )
}

/// The notes on records, without notes that have a line of their own.
pub fn other_notes(noted: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let has_line = |word: &str| [REMOVED_BY_DELETED, REMOVED_BY_OP].contains(&word);
    noted.iter().filter(|(word, _)| !has_line(word)).map(|(word, n)| (word.clone(), *n)).collect()
}
