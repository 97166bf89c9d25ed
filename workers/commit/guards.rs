//! Guards: in come the figures of an epoch that is about to be committed, out goes a refusal if they look like an accident: too many bad
//! records, a snapshot that lacks much of what was known, a share of folded pages that jumps, a disk too small. A refused epoch leaves the
//! store as it was and is taken up again by the next run, at which a person can let the guard pass.

use crate::error::{Error, Kind, Result};
use crate::job::guards::Options;
use std::path::Path;

/// What can stop an epoch before it is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Too many bad records.
    Rejects,
    /// A complete snapshot lacks too many of the known pages.
    Missing,
    /// Too many pages expire at once.
    Expired,
    /// The share of folded pages jumps.
    Folds,
    /// The disk has too little room.
    Space,
}

impl Guard {
    /// All of them.
    pub const ALL: [Guard; 5] = [Guard::Rejects, Guard::Missing, Guard::Expired, Guard::Folds, Guard::Space];

    /// The name by which the command line lets it pass.
    pub fn name(self) -> &'static str {
        match self {
            Guard::Rejects => "rejects",
            Guard::Missing => "missing",
            Guard::Expired => "expired",
            Guard::Folds => "folds",
            Guard::Space => "space",
        }
    }

    fn refuse(self, kind: Kind, what: String, key: &str) -> Error {
        let name = self.name();
        let key = if key.is_empty() { String::new() } else { format!(", or raise {key}") };
        Error::new(kind, format!("{what}; nothing was committed. To let it pass once: --allow {name}{key}"))
            .with_guard(name)
    }
}

/// Pages below which shares say nothing: the guards `missing`, `expired` and `folds` are silent.
pub const PAGES_MIN: u64 = 1000;

/// What the guards look at.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Share of them that may be bad, of the job's `[read]`.
    pub rejects_max: f64,
    /// Records read.
    pub read: u64,
    /// Bad ones by reason, in words.
    pub rejects: String,
    /// The first of them, for a person to look at.
    pub first_reject: String,
    /// Bad ones.
    pub rejected: u64,
    /// The source that was read.
    pub source: String,
    /// Known pages of the source of which a complete snapshot was read; 0 if none was.
    pub known: u64,
    /// Of these, those that it lacks.
    pub missing: u64,
    /// Pages that expire.
    pub expired: u64,
    /// Pages and folded pages before.
    pub before: (u64, u64),
    /// Pages and folded pages after.
    pub after: (u64, u64),
}

/// Refuses an epoch whose figures look like an accident, unless the guard is among the `allowed`.
pub fn check(options: &Options, figures: &Figures, allowed: &[Guard]) -> Result<()> {
    let share = |part: u64, whole: u64| part as f64 / (whole as f64).max(1.0);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    for guard in Guard::ALL.into_iter().filter(|guard| !allowed.contains(guard)) {
        match guard {
            Guard::Rejects if figures.rejected as f64 > figures.rejects_max * figures.read as f64 => {
                let (rejected, read, max) = (figures.rejected, figures.read, figures.rejects_max);
                let (rejects, first) = (&figures.rejects, &figures.first_reject);
                let what = format!("{rejected} of {read} records were rejected ({rejects}; the first: {first})");
                return Err(guard.refuse(Kind::Data, what, &format!("[read] rejects_max = {max}")));
            }
            Guard::Missing if figures.known > PAGES_MIN => {
                let missing = share(figures.missing, figures.known);
                if missing > options.missing_max {
                    let (lacks, known, source) = (figures.missing, figures.known, &figures.source);
                    let what = format!(
                        "the complete snapshot of `{source}` lacks {lacks} of {known} known pages ({})",
                        percent(missing)
                    );
                    return Err(guard.refuse(
                        Kind::Data,
                        what,
                        &format!("[guards] missing_max = {}", options.missing_max),
                    ));
                }
            }
            Guard::Expired if figures.before.0 > PAGES_MIN => {
                let expired = share(figures.expired, figures.before.0);
                let max = options.expired_max;
                if expired > max {
                    let what = format!(
                        "{} of {} pages would expire at once ({})",
                        figures.expired,
                        figures.before.0,
                        percent(expired)
                    );
                    return Err(guard.refuse(Kind::Data, what, &format!("[guards] expired_max = {max}")));
                }
            }
            Guard::Folds if figures.before.0 > PAGES_MIN => {
                let (before, after) =
                    (share(figures.before.1, figures.before.0), share(figures.after.1, figures.after.0));
                let max = options.folded_jump_max;
                if (after - before).abs() > max {
                    let what = format!("the share of folded pages goes from {} to {}", percent(before), percent(after));
                    return Err(guard.refuse(Kind::Data, what, &format!("[guards] folded_jump_max = {max}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Bytes of store that a byte of input may need, by experience at most.
const STORE_PER_INPUT: f64 = 0.5;

/// Refuses to begin an epoch that reads `input_bytes` and for which the disk of the store at `root` has too little room.
pub fn check_space(root: &Path, input_bytes: u64, allowed: &[Guard]) -> Result<()> {
    let needed = (input_bytes as f64 * STORE_PER_INPUT) as u64;
    let disk = rustix::fs::statvfs(root).map_err(|e| Error::io("ask for the free space of", root, e.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= needed || allowed.contains(&Guard::Space) {
        return Ok(());
    }
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let what = format!("{}: {} are free, this epoch may need {}", root.display(), megabytes(free), megabytes(needed));
    Err(Guard::Space.refuse(Kind::Io, what, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoke(figures: &Figures, allowed: &[Guard]) -> Option<&'static str> {
        check(&Options::default(), figures, allowed).err().and_then(|error| error.guard())
    }

    /// Each guard speaks above its share and not at it, names itself, and is silent when allowed or when there are too few pages to say.
    #[test]
    fn guards_speak() {
        let usual = Figures {
            rejects_max: 0.05,
            read: 1000,
            rejected: 50,
            known: 2000,
            missing: 600,
            expired: 600,
            before: (2000, 400),
            after: (2000, 800),
            ..Figures::default()
        };
        assert_eq!(spoke(&usual, &[]), None);
        let rejects = Figures { rejected: 51, ..usual.clone() };
        let missing = Figures { missing: 601, ..usual.clone() };
        let expired = Figures { expired: 601, ..usual.clone() };
        let folds = Figures { after: (2000, 801), ..usual.clone() };
        for (figures, guard) in
            [(rejects, Guard::Rejects), (missing, Guard::Missing), (expired, Guard::Expired), (folds, Guard::Folds)]
        {
            assert_eq!(spoke(&figures, &[]), Some(guard.name()));
            assert_eq!(spoke(&figures, &[guard]), None);
        }
        let few = Figures { known: PAGES_MIN, missing: PAGES_MIN, before: (PAGES_MIN, 0), after: (9, 9), ..usual };
        assert_eq!(spoke(&few, &[]), None);
    }
}
