//! Guards: they refuse an epoch that looks like an accident, before it is committed.
//!
//! A refused epoch leaves the store as it was. The next run resumes it, and may allow a guard on
//! the command line.

use crate::commit::origin_folds::OriginFolds;
use crate::commit::rejects::Rejects;
use crate::error::{Error, Kind, Result};
use crate::figures::{counted, grouped, megabytes, percent};
use crate::fold::receipt::OVERWRITTEN_NAMED_MAX;
use crate::job::guards::Options;
use crate::job::{Results, are_too_many};
use crate::plain::plain;
use std::path::Path;

/// A reason to refuse an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Too many bad records.
    Rejects,
    /// Too many rows lose to a row of their key with another text.
    Overwritten,
    /// A store that begins has far fewer pages than the results that it would replace.
    Store,
    /// A complete snapshot lacks too many of the known pages.
    Missing,
    /// Too many pages expire at once.
    Expired,
    /// The share of folded pages changes too much.
    Folds,
    /// Too many pages of a source or a host come into a few clusters at once.
    SourceFolded,
    /// The disk has too little free space.
    Space,
}

impl Guard {
    /// All guards.
    pub const ALL: [Guard; 8] = [
        Guard::Rejects,
        Guard::Overwritten,
        Guard::Store,
        Guard::Missing,
        Guard::Expired,
        Guard::Folds,
        Guard::SourceFolded,
        Guard::Space,
    ];

    /// The name by which the command line allows it.
    pub fn name(self) -> &'static str {
        match self {
            Guard::Rejects => "rejects",
            Guard::Overwritten => "overwritten",
            Guard::Store => "store",
            Guard::Missing => "missing",
            Guard::Expired => "expired",
            Guard::Folds => "folds",
            Guard::SourceFolded => "source_folded",
            Guard::Space => "space",
        }
    }

    fn refuse(self, kind: Kind, what: String, key: &str) -> Error {
        let line = format!("{what}; nothing was committed. {}", self.advice(key));
        Error::new(kind, line).with_guard(self.name())
    }

    fn advice(self, key: &str) -> String {
        let key = if key.is_empty() { String::new() } else { format!(", or raise {key}") };
        format!("To let it pass once: --allow {}{key}", self.name())
    }
}

/// With at most this many pages a share says nothing: the guards `store`, `missing`, `expired` and
/// `folds` do not refuse.
pub const PAGES_MIN: u64 = 1000;
/// At most this many rows may lose to another row of their key with another text, if most others
/// were kept: a corpus may have a document twice, once corrected. If the key is the URL, almost
/// half of all rows may lose, because a crawl meets a page twice.
pub const OVERWRITTEN_MIN: u64 = 20;
/// `source_folded` refuses only if it concerns at least one in this many of all pages. A crawl of
/// many hosts always has a host that answers every request with a login page.
/// `[clusters] pages_warn` warns of such a host.
const CONCERNED_ONE_IN: u64 = 100;

/// The least number of moved pages for which `source_folded` refuses, in a store with `pages`
/// pages.
pub fn source_pages_min(pages: u64) -> u64 {
    PAGES_MIN.max(pages / CONCERNED_ONE_IN)
}

/// The figures of an epoch that guards check.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The greatest share of records that may be rejected, from the job's `[read]`.
    pub rejects_max: f64,
    /// The number of records read.
    pub read: u64,
    /// The rejected records.
    pub rejects: Rejects,
    /// How many of them are of inputs that are read again and give nothing again. They were let
    /// pass when they were first read, and must not stop the inputs that are due after them.
    pub barren_again: u64,
    /// The rows that lost to a row of their key with another text.
    pub overwritten: Overwritten,
    /// The results that a first epoch would replace. The disk of their store may not be mounted:
    /// then this epoch began another store in its place.
    pub replaces: Option<Results>,
    /// The name of the source that was read.
    pub source: String,
    /// The number of known pages of the source if a complete snapshot was read; otherwise 0.
    pub known: u64,
    /// The number of these pages that the snapshot lacks.
    pub missing: u64,
    /// The number of pages that expire.
    pub expired: u64,
    /// The pages before the epoch.
    pub before: Pages,
    /// The pages after it.
    pub after: Pages,
    /// The source or host with too many pages that come into a few clusters.
    pub source_folded: Option<OriginFolds>,
}

/// The pages of a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages {
    /// How many are live.
    pub live: u64,
    /// How many of them fold.
    pub folded: u64,
}

impl Pages {
    fn folded_share(self) -> f64 {
        share(self.folded, self.live)
    }
}

/// The rows of an epoch that lost to a row of the same key with another text.
#[derive(Clone, Debug, Default)]
pub struct Overwritten {
    /// The field that is their key; `None` if the URL is the key.
    pub field: Option<String>,
    /// How many had the same date or none.
    pub rows: u64,
    /// Some of their keys.
    pub keys: Vec<String>,
    /// Whether the job has an inbox, which needs keys.
    pub has_inbox: bool,
    /// How many rows and removals had no date and lost to another input without dates.
    pub undated_elsewhere: u64,
    /// Whether the inputs are a complete snapshot, which one epoch reads.
    pub is_complete: bool,
    /// How many had an earlier date, and are in another input, but not in the inbox.
    pub replaced: u64,
    /// Some of their keys.
    pub replaced_keys: Vec<String>,
}

impl Overwritten {
    /// What would be lost, and what helps. Another key needs another store; a store with epochs
    /// gets it by a rebuild.
    fn refusal(&self, accepted: u64, has_pages: bool, allow: &str) -> String {
        let Overwritten { field, rows, keys, has_inbox, replaced, replaced_keys, .. } = self;
        let key = field.as_ref().map_or_else(|| "URL".to_owned(), |name| format!("`{name}`"));
        let has_dates = *replaced > 0 && self.has_many_versions(accepted);
        let keys =
            if has_dates { keys.iter().chain(replaced_keys) } else { keys.iter().chain(&[]) };
        let keys: Vec<String> =
            keys.take(OVERWRITTEN_NAMED_MAX).map(|key| format!("{:?}", plain(key))).collect();
        let rebuild = if has_pages { ", then `pagefold rebuild`" } else { "" };
        let (lost, date, stays) = match has_dates {
            true => (rows + replaced, "the same or a later date", "the latest row"),
            false => (*rows, "the same date or none", "any one row"),
        };
        let keeps = match has_inbox {
            true => "[read] key keeps all of them if it names a field with a value for each",
            false => {
                "[read] key = \"row\" keeps all of them, and so does a field with a value for each"
            }
        };
        // Any other remedy would keep the older row of half of the keys.
        let in_turn = match self.undated_elsewhere > 0 && !self.is_complete {
            true => {
                "If each input is a later delta: `pagefold run JOB --max-inputs 1` reads one a run. "
            }
            false => "",
        };
        format!(
            "{} of {} would be lost: another row has the same {key}, {date}, and another text (such \
             as {}); nothing was committed. {in_turn}If these are different documents, \
             {keeps}{rebuild}. If {stays} of each {key} shall stay: {allow}",
            grouped(lost),
            counted(accepted, "row"),
            keys.join(", ")
        )
    }

    /// Whether half of the rows, keyed by a field, lose to rows of other inputs, whatever their
    /// dates. This happens if the ids of each file begin anew. Versions of documents look the same,
    /// but one epoch rarely has so many of them.
    fn has_many_versions(&self, accepted: u64) -> bool {
        let lost = self.rows + self.replaced;
        self.field.is_some() && lost > OVERWRITTEN_MIN && lost * 2 >= accepted
    }
}

impl Figures {
    fn has_too_many_overwritten(&self, max: f64) -> bool {
        let Overwritten { field, rows, replaced, .. } = &self.overwritten;
        let (rows, accepted) = (*rows, self.rejects.accepted);
        if *replaced > 0 && self.overwritten.has_many_versions(accepted) {
            return (rows + replaced) as f64 > max * accepted as f64;
        }
        if field.is_none() && (rows <= OVERWRITTEN_MIN || rows * 2 < accepted) {
            return false;
        }
        let are_few = rows <= OVERWRITTEN_MIN && rows * 2 <= accepted && max > 0.0;
        rows as f64 > max * accepted as f64 && !are_few
    }

    fn has_too_many_rejects(&self) -> bool {
        let Rejects { rejected, accepted, .. } = self.rejects;
        // A JSON document is one bad record, whatever it holds.
        let accepted = if self.rejects.are_of_document() { 0 } else { accepted };
        let [rejected, read] = [rejected, self.read].map(|n| n.saturating_sub(self.barren_again));
        are_too_many(rejected, accepted, read, self.rejects_max)
    }
}

/// Refuses an epoch by the first guard that its figures violate and that is not `allowed`.
pub fn check(options: &Options, figures: &Figures, allowed: &[Guard]) -> Result<()> {
    let refusal = |guard: Guard| match guard {
        Guard::Rejects => figures.refuse_rejects(),
        Guard::Overwritten => figures.refuse_overwritten(options.overwritten_max),
        Guard::Store => figures.refuse_store(options.missing_max),
        Guard::Missing => figures.refuse_missing(options.missing_max),
        Guard::Expired => figures.refuse_expired(options.expired_max),
        Guard::Folds => figures.refuse_folds(options.folded_jump_max),
        Guard::SourceFolded => figures.refuse_source_folded(options.source_folded_max),
        // The disk is looked at before the epoch begins.
        Guard::Space => None,
    };
    let mut asked = Guard::ALL.into_iter().filter(|guard| !allowed.contains(guard));
    asked.find_map(refusal).map_or(Ok(()), Err)
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / (whole as f64).max(1.0)
}

/// Each returns the error by which its guard refuses the epoch, if it does.
impl Figures {
    fn refuse_rejects(&self) -> Option<Error> {
        let guard = Guard::Rejects;
        self.has_too_many_rejects().then(|| {
            let allow = guard.advice(&format!("[read] rejects_max = {}", self.rejects_max));
            let line = self.rejects.refusal(self.read, &allow);
            Error::new(Kind::Data, line).with_guard(guard.name())
        })
    }

    fn refuse_overwritten(&self, max: f64) -> Option<Error> {
        let guard = Guard::Overwritten;
        self.has_too_many_overwritten(max).then(|| {
            let allow =
                format!("--allow {}, or raise [guards] overwritten_max = {max}", guard.name());
            let (accepted, has_pages) = (self.rejects.accepted, self.before.live > 0);
            let line = self.overwritten.refusal(accepted, has_pages, &allow);
            Error::new(Kind::Data, line).with_guard(guard.name())
        })
    }

    fn refuse_store(&self, missing_max: f64) -> Option<Error> {
        let Results { summary, epoch, pages } = self.replaces.as_ref()?;
        let is_other = *pages > PAGES_MIN && share(self.after.live, *pages) < 1.0 - missing_max;
        is_other.then(|| {
            let what = format!(
                "{} has {} pages of epoch {epoch}, and this new store has {}: if the disk of the \
                 former store is not mounted, mount it",
                summary.display(),
                grouped(*pages),
                grouped(self.after.live)
            );
            Guard::Store.refuse(Kind::Data, what, "")
        })
    }

    fn refuse_missing(&self, max: f64) -> Option<Error> {
        let is_much = self.known > PAGES_MIN && share(self.missing, self.known) > max;
        is_much.then(|| {
            let what = format!(
                "the complete snapshot of `{}` lacks {} of {} known pages ({})",
                self.source,
                grouped(self.missing),
                grouped(self.known),
                percent(self.missing, self.known)
            );
            Guard::Missing.refuse(Kind::Data, what, &format!("[guards] missing_max = {max}"))
        })
    }

    fn refuse_expired(&self, max: f64) -> Option<Error> {
        let pages = self.before.live;
        let is_much = pages > PAGES_MIN && share(self.expired, pages) > max;
        is_much.then(|| {
            let what = format!(
                "{} of {} pages would expire at once ({})",
                grouped(self.expired),
                grouped(pages),
                percent(self.expired, pages)
            );
            Guard::Expired.refuse(Kind::Data, what, &format!("[guards] expired_max = {max}"))
        })
    }

    fn refuse_folds(&self, max: f64) -> Option<Error> {
        let Figures { before, after, .. } = self;
        let jump = (after.folded_share() - before.folded_share()).abs();
        (before.live > PAGES_MIN && jump > max).then(|| {
            let what = format!(
                "the share of folded pages goes from {} to {}",
                percent(before.folded, before.live),
                percent(after.folded, after.live)
            );
            Guard::Folds.refuse(Kind::Data, what, &format!("[guards] folded_jump_max = {max}"))
        })
    }

    fn refuse_source_folded(&self, max: f64) -> Option<Error> {
        let what = source_folded(self.source_folded.as_ref()?);
        let key = format!("[guards] source_folded_max = {max}");
        Some(Guard::SourceFolded.refuse(Kind::Data, what, &key))
    }
}

/// What happens to a source or a host, and where to look.
fn source_folded(folds: &OriginFolds) -> String {
    let OriginFolds { origin, pages, moved, clusters, largest, texts, representative } = folds;
    let share = percent(*moved, *pages);
    let (moved, pages, largest) = (grouped(*moved), grouped(*pages), grouped(*largest));
    let few = if *clusters == 1 {
        "1 cluster".to_owned()
    } else {
        format!("{} clusters", grouped(*clusters))
    };
    let (texts, remedy) = match texts {
        1 => (
            "one text".to_owned(),
            "if it is an error or login page, leave such records out of the inputs",
        ),
        _ => (
            format!("{} texts", grouped(*texts)),
            "if they are not one text, raise [confirm] similarity_min",
        ),
    };
    format!(
        "{moved} of {pages} pages of {origin} ({share}) come into {few} at once; the largest has {largest} \
         pages of it with {texts} and is represented by {representative}: {remedy}"
    )
}

/// Refuses to begin `what`, which may need `needed` bytes, if the disk of the folder `root` has
/// less free space. A folder that does not exist yet will be on the disk of the folder above it.
pub fn check_space(root: &Path, what: &str, needed: u64, allowed: &[Guard]) -> Result<()> {
    let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let root = absolute.ancestors().find(|above| above.exists()).unwrap_or(root);
    let disk = rustix::fs::statvfs(root)
        .map_err(|e| Error::io("ask for the free space of", root, e.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= needed || allowed.contains(&Guard::Space) {
        return Ok(());
    }
    let what = format!(
        "{}: {} are free, {what} may need {}: make room there, as `pagefold gc JOB --delete` may",
        root.display(),
        megabytes(free),
        megabytes(needed)
    );
    Err(Guard::Space.refuse(Kind::Io, what, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::splits::RejectLine;
    use crate::read::json;

    fn refusal(figures: &Figures, allowed: &[Guard]) -> Option<&'static str> {
        check(&Options::default(), figures, allowed).err().and_then(|error| error.guard())
    }

    /// One truncated record was too great a share of a small delivery: that run and every later one
    /// failed. A few bad records pass if at least as many were good, unless the job allows none.
    #[test]
    fn few_rejects_pass() {
        let of = |rejected, accepted, read, rejects_max| {
            let rejects = Rejects { rejected, accepted, ..Rejects::default() };
            refusal(&Figures { rejects_max, read, rejects, ..Figures::default() }, &[]).is_none()
        };
        assert!(of(1, 1, 4, 0.05));
        assert!(of(20, 20, 40, 0.05));
        assert!(!of(21, 100, 121, 0.05), "more are no accident of one file");
        assert!(!of(1, 0, 4, 0.05), "hardly any was good");
        assert!(!of(3, 2, 5, 0.05), "hardly any was good");
        assert!(!of(1, 99, 100, 0.0), "none is allowed");
        assert!(of(21, 400, 421, 0.05), "a small share");
        let line = |detail: &str| RejectLine {
            file: "a.json".into(),
            offset: 0,
            reason: "bad_json".into(),
            detail: detail.into(),
        };
        let again = |rejected, accepted| Figures {
            rejects_max: 0.05,
            read: rejected + accepted,
            rejects: Rejects { rejected, accepted, ..Rejects::default() },
            barren_again: 30,
            ..Figures::default()
        };
        assert_eq!(refusal(&again(30, 0), &[]), None, "they passed when they were first read");
        assert_eq!(refusal(&again(90, 50), &[]), Some("rejects"), "others did not");
        let rejects = Rejects {
            rejected: 1,
            accepted: 9,
            example: Some(line(json::ARRAY)),
            ..Rejects::default()
        };
        let document = Figures { rejects_max: 0.05, read: 10, rejects, ..Figures::default() };
        assert_eq!(refusal(&document, &[]), Some("rejects"), "all records of a document");
    }

    /// Two data sets that number their rows from 0 lost half of their rows without a message. Rows
    /// that lose to another text of their key stop the epoch. A few pass if most others are kept,
    /// unless the job allows none. A job that wants one row of each key allows all.
    #[test]
    fn few_overwritten_rows_pass() {
        let by = |field: Option<String>, rows, accepted, overwritten_max| {
            let options = Options { overwritten_max, ..Options::default() };
            let figures = Figures {
                overwritten: Overwritten {
                    field,
                    rows,
                    keys: vec!["0".into()],
                    ..Overwritten::default()
                },
                rejects: Rejects { accepted, ..Rejects::default() },
                ..Figures::default()
            };
            check(&options, &figures, &[]).err().map(|error| error.to_string())
        };
        let of = |rows, accepted, max| by(Some("id".into()), rows, accepted, max);
        assert_eq!(of(20, 40, 0.01), None);
        assert_eq!(of(30, 3000, 0.01), None, "a small share");
        assert_eq!(of(500, 1000, 1.0), None, "all are allowed");
        assert!(of(21, 40, 0.01).is_some(), "more are no accident");
        assert!(of(3, 5, 0.01).is_some(), "most rows are lost");
        assert!(of(1, 1000, 0.0).is_some(), "none is allowed");
        assert_eq!(by(None, 499, 1000, 0.01), None, "a crawl meets a URL twice");
        assert!(by(None, 500, 1000, 0.01).is_some(), "two whole deltas, or a few URLs");
        assert_eq!(by(None, 2, 3, 0.0), None);
        let said = of(500, 1000, 0.01).expect("refused");
        for part in [
            "500 of 1,000 rows",
            "same `id`",
            "such as \"0\"",
            "key = \"row\"",
            "--allow overwritten",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }

    /// The remedies that were named for two nightly deltas without dates made every version a page,
    /// or kept a random one. Deltas are read one by one, unless they are a complete snapshot.
    #[test]
    fn deltas_without_dates_are_read_in_turn() {
        for (undated_elsewhere, is_complete, is_named) in
            [(500, false, true), (500, true, false), (0, false, false)]
        {
            let overwritten =
                Overwritten { undated_elsewhere, is_complete, ..Overwritten::default() };
            let said = overwritten.refusal(1000, false, "--allow overwritten");
            let at = said.find("run JOB --max-inputs 1").zip(said.find("different documents"));
            assert_eq!(at.is_some_and(|(deltas, others)| deltas < others), is_named, "{said}");
        }
    }

    /// If rows have dates, rows of different files with the same id counted as versions of one
    /// document, and two thirds of them were lost without a message. Half of all rows stop the
    /// epoch. Fewer may be versions, like rows of one URL.
    #[test]
    fn many_versions_stop() {
        let by = |field: Option<&str>, replaced, max| {
            let overwritten = Overwritten {
                field: field.map(str::to_owned),
                replaced,
                replaced_keys: vec!["7".into()],
                ..Overwritten::default()
            };
            let rejects = Rejects { accepted: 1000, ..Rejects::default() };
            let figures = Figures { overwritten, rejects, ..Figures::default() };
            let options = Options { overwritten_max: max, ..Options::default() };
            check(&options, &figures, &[]).err().map(|error| error.to_string())
        };
        let said = by(Some("id"), 500, 0.01).expect("refused");
        for part in ["500 of 1,000 rows", "or a later date", "such as \"7\"", "the latest row"] {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert_eq!(by(Some("id"), 499, 0.01), None);
        assert_eq!(by(Some("id"), 500, 0.5), None, "this number is allowed");
        assert_eq!(by(None, 900, 0.01), None, "a crawl");
    }

    /// Each guard refuses above its limit and not at it, and is named by the error. It does not
    /// refuse if it is allowed, or if there are few pages.
    #[test]
    fn guards_refuse_above_their_limits() {
        let usual = Figures {
            rejects_max: 0.05,
            read: 1000,
            rejects: Rejects { rejected: 50, ..Rejects::default() },
            known: 2000,
            missing: 600,
            expired: 600,
            before: Pages { live: 2000, folded: 400 },
            after: Pages { live: 2000, folded: 800 },
            ..Figures::default()
        };
        assert_eq!(refusal(&usual, &[]), None);
        let rejects = Rejects { rejected: 51, ..Rejects::default() };
        let rejects = Figures { rejects, ..usual.clone() };
        let missing = Figures { missing: 601, ..usual.clone() };
        let expired = Figures { expired: 601, ..usual.clone() };
        let folds = Figures { after: Pages { live: 2000, folded: 801 }, ..usual.clone() };
        let folded = Figures { source_folded: Some(OriginFolds::default()), ..usual.clone() };
        for (figures, guard) in [
            (rejects, Guard::Rejects),
            (missing, Guard::Missing),
            (expired, Guard::Expired),
            (folds, Guard::Folds),
            (folded, Guard::SourceFolded),
        ] {
            assert_eq!(refusal(&figures, &[]), Some(guard.name()));
            assert_eq!(refusal(&figures, &[guard]), None);
        }
        let few = Figures {
            known: PAGES_MIN,
            missing: PAGES_MIN,
            before: Pages { live: PAGES_MIN, folded: 0 },
            after: Pages { live: 9, folded: 9 },
            ..usual
        };
        assert_eq!(refusal(&few, &[]), None);
    }
}
