//! Finds every value of the job that is refused.

use crate::confirm::By;
use crate::error::WrongValue;
use crate::job::contents::Keep;
use crate::job::read::SOURCE_BYTES_MAX;
use crate::job::{Job, check_ping, places};
use crate::keep::Criterion;
use crate::text::features::{self, Unit};
use crate::text::signatures;

/// A value of the job that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The dotted name of the key, or of its table.
    pub key: String,
    /// One line that names the key and says which values are allowed.
    pub why: String,
}

impl Wrong {
    /// The value of `key`, or one in this table; `why` is the whole line.
    pub(super) fn new(key: impl Into<String>, why: impl Into<String>) -> Wrong {
        Wrong { key: key.into(), why: why.into() }
    }

    /// A value of the key of `table` that the room of the table refuses.
    fn of(table: &str, value: &WrongValue) -> Wrong {
        Wrong::new(format!("{table}.{}", value.key), format!("[{table}] {value}"))
    }
}

impl Job {
    /// Everything that is wrong with the values.
    pub fn wrongs(&self) -> Vec<Wrong> {
        let mut wrongs = Vec::new();
        if self.read.inputs.is_empty() {
            wrongs.push(Wrong::new("read.inputs", "[read] inputs: names no input"));
        }
        wrongs.extend(self.wrong_shares());
        if self.read.source.is_empty() || self.read.source.len() > SOURCE_BYTES_MAX {
            let why = format!("[read] source: not of 1 to {SOURCE_BYTES_MAX} bytes");
            wrongs.push(Wrong::new("read.source", why));
        }
        wrongs.extend(self.wrong_distance());
        wrongs.extend(self.wrong_evidence());
        wrongs.extend(self.wrong_tables());
        if self.keep.by.contains(&Criterion::Score) && self.read.fields.score.is_empty() {
            let why =
                "[keep] by: \"score\" needs [read.fields] score, the name of a field with a number";
            wrongs.push(Wrong::new("keep.by", why));
        }
        if let Err((name, why)) = signatures::check(&self.signatures) {
            wrongs.push(Wrong::new(format!("signatures.{name}"), why));
        }
        let read = self.read.options("").check();
        wrongs.extend(read.err().map(|value| Wrong::of("read", &value)));
        wrongs.extend(self.wrong_characters());
        if self.output.formats.as_ref().is_some_and(Vec::is_empty) {
            let why = "[output] formats: names none of jsonl, parquet";
            wrongs.push(Wrong::new("output.formats", why));
        }
        if let Some(Err(why)) = self.output.ping.as_deref().map(check_ping) {
            wrongs.push(Wrong::new("output.ping", format!("[output] ping: {why}")));
        }
        if let Err(why) = self.try_bands() {
            let key = if self.simhash.bands.is_some() { "simhash.bands" } else { "simhash.k" };
            wrongs.push(Wrong::new(key, why));
        }
        if let Err(why) = self.serve.check(&self.read) {
            wrongs.push(Wrong::new("serve.inbox", format!("[serve] inbox: {why}")));
        }
        wrongs.extend(places::wrongs(self));
        wrongs
    }

    /// The shares that are none.
    fn wrong_shares(&self) -> impl Iterator<Item = Wrong> {
        [
            ("read", "rejects_max", self.read.rejects_max),
            ("guards", "overwritten_max", self.guards.overwritten_max),
            ("guards", "missing_max", self.guards.missing_max),
            ("guards", "expired_max", self.guards.expired_max),
            ("guards", "folded_jump_max", self.guards.folded_jump_max),
            ("guards", "source_folded_max", self.guards.source_folded_max),
        ]
        .into_iter()
        .filter(|(.., share)| !(0.0..=1.0).contains(share))
        .map(|(table, key, share)| {
            let value = WrongValue::new(key, format!("{share} is not between 0 and 1"));
            Wrong::of(table, &value)
        })
    }

    /// A distance that no pair of candidates has, or that nothing reads.
    fn wrong_distance(&self) -> Option<Wrong> {
        let k = self.simhash.k;
        let max = self.confirm.distance_max?;
        let why = if max > k {
            format!("[confirm] distance_max: more than [simhash] k = {k}")
        } else if self.confirm.by != By::Fingerprint && max < k {
            "[confirm] distance_max: it has no effect without by = \"fingerprint\"".into()
        } else {
            return None;
        };
        Some(Wrong::new("confirm.distance_max", why))
    }

    /// No evidence, in a job that decides by it.
    fn wrong_evidence(&self) -> Option<Wrong> {
        let needs_evidence = self.confirm.by != By::Fingerprint
            || self.contents.text != Keep::None
            || !self.signatures.is_empty();
        let why = "[contents] evidence = false: only where fingerprints decide; add `minhash = false` and \
                   `sentences = false` above the first table, no [[signatures]], [contents] text = \"none\", \
                   [confirm] by = \"fingerprint\"; or take the key away";
        let is_wrong = !self.contents.evidence && needs_evidence;
        is_wrong.then(|| Wrong::new("contents.evidence", why))
    }

    /// For each table, the first value that its room refuses.
    fn wrong_tables(&self) -> impl Iterator<Item = Wrong> {
        let of = |table, checked: Result<(), WrongValue>| {
            checked.err().map(|value| Wrong::of(table, &value))
        };
        let checked = [
            of("pages", self.pages.check()),
            of("confirm", self.confirm.check()),
            of("keep", self.keep.check()),
            of("clusters", self.clusters.check()),
        ];
        checked.into_iter().flatten()
    }

    /// A length of n-grams that is out of range, or that nothing reads.
    fn wrong_characters(&self) -> Option<Wrong> {
        let features::Options { characters, unit, .. } = self.features;
        let why = if !(1..=64).contains(&characters) {
            format!("[features] characters: {characters} is not within 1 to 64")
        } else if unit == Unit::Words && characters != features::Options::default().characters {
            "[features] characters: it has no effect without unit = \"characters\"".into()
        } else {
            return None;
        };
        Some(Wrong::new("features.characters", why))
    }
}
