//! Counts what a filter keeps and removes.

use crate::filter::became::{Became, PROMOTED, REVISIT, Record};
use crate::page_url::host_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most hosts that are named. Other hosts are counted together.
pub const TOP_HOSTS: usize = 1000;
/// The most hosts that are counted one by one. If there are more, some of them are counted with the
/// others before all their records are known.
const COUNTED_HOSTS: usize = 16_000;

/// Records that are left out, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// Records.
    pub records: u64,
    /// Their bytes in the file. If records are compressed together, this is their share of the file
    /// by decoded bytes; in Parquet, by the number of rows.
    pub bytes: u64,
}

/// Sums over the records of one file or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Records by what became of them.
    pub verdicts: BTreeMap<String, u64>,
    /// Records that fold and have no page: a crawler's own revisits of other URLs.
    #[serde(default)]
    pub mirrors: u64,
    /// Records that are kept in place of records that no input has.
    #[serde(default)]
    pub promoted: u64,
    /// Records that would be left out but stay because their file is copied whole.
    #[serde(default)]
    pub stay: u64,
    /// Removed records, by the reason.
    #[serde(default)]
    pub removed: BTreeMap<String, u64>,
    /// Rows that remove their page, by the field that says so.
    #[serde(default)]
    pub removers: BTreeMap<String, u64>,
    /// Revisits that were written.
    pub revisits: u64,
    /// Bytes of the inputs.
    pub bytes_in: u64,
    /// Bytes of the filtered files.
    pub bytes_kept: u64,
    /// Bytes of the files of what was removed.
    pub bytes_removed: u64,
    /// What is left out, by source.
    pub sources: BTreeMap<String, Saved>,
    /// What is left out, by host, for the hosts with most bytes.
    pub hosts: BTreeMap<String, Saved>,
    /// What is left out of other hosts.
    pub other_hosts: Saved,
    /// The source of the records that are counted.
    #[serde(skip)]
    source: String,
}

impl Totals {
    /// Whether there is something that could not be read, and nothing else.
    pub fn is_unread(&self) -> bool {
        let all: u64 = self.verdicts.values().sum();
        all > 0 && all == self.rejected()
    }

    /// Totals for the records of a file that was read for `source`.
    pub fn new(source: &str) -> Totals {
        Totals { source: source.to_owned(), ..Totals::default() }
    }

    /// The records that are rejected.
    pub fn rejected(&self) -> u64 {
        self.verdicts.get(Became::Rejected.name()).copied().unwrap_or_default()
    }

    /// Counts a record of `bytes` bytes. A reject counts as all records that are lost with it, as
    /// in a run.
    pub fn count(&mut self, record: &Record, stays: bool, bytes: u64) {
        *self.verdicts.entry(record.became.name().to_owned()).or_default() += record.records;
        let is_mirror = record.became == Became::Folded && record.reason == Some(REVISIT);
        self.mirrors += u64::from(is_mirror);
        let is_promoted = record.became == Became::Kept && record.reason == Some(PROMOTED);
        self.promoted += u64::from(is_promoted);
        if let (Became::Removed, Some(reason)) = (record.became, record.reason) {
            *self.removed.entry(reason.to_owned()).or_default() += record.records;
        }
        if stays {
            return;
        }
        let more = Saved { records: 1, bytes };
        self.sources.entry(self.source.clone()).or_default().add(more);
        // A key of a corpus has no host.
        let host = record.url.as_deref().and_then(host_name).unwrap_or_default();
        match self.hosts.get_mut(&host) {
            Some(saved) => saved.add(more),
            None => {
                self.hosts.insert(host, more);
                self.cut_if_long();
            }
        }
    }

    /// Converts the bytes of what is left out to a share of the file's `size`. They were counted in
    /// another measure, by which all records of the file sum to `whole`.
    pub fn scale(&mut self, size: u64, whole: u64) {
        let saved = self.sources.values_mut().chain(self.hosts.values_mut());
        for saved in saved.chain([&mut self.other_hosts]) {
            let bytes = u128::from(saved.bytes) * u128::from(size) / u128::from(whole.max(1));
            saved.bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        }
    }

    /// Adds the sums of other files.
    pub fn add(&mut self, other: &Totals) {
        for (mine, others) in [
            (&mut self.verdicts, &other.verdicts),
            (&mut self.removed, &other.removed),
            (&mut self.removers, &other.removers),
        ] {
            others.iter().for_each(|(name, n)| *mine.entry(name.clone()).or_default() += n);
        }
        self.mirrors += other.mirrors;
        self.promoted += other.promoted;
        self.stay += other.stay;
        self.revisits += other.revisits;
        self.bytes_in += other.bytes_in;
        self.bytes_kept += other.bytes_kept;
        self.bytes_removed += other.bytes_removed;
        other
            .sources
            .iter()
            .for_each(|(name, saved)| self.sources.entry(name.clone()).or_default().add(*saved));
        other
            .hosts
            .iter()
            .for_each(|(name, saved)| self.hosts.entry(name.clone()).or_default().add(*saved));
        self.other_hosts.add(other.other_hosts);
        self.cut_if_long();
    }

    fn cut_if_long(&mut self) {
        if self.hosts.len() > COUNTED_HOSTS {
            self.cut();
        }
    }

    /// The number of records that `became` so.
    pub fn of(&self, became: Became) -> u64 {
        self.verdicts.get(became.name()).copied().unwrap_or(0)
    }

    /// Keeps [`TOP_HOSTS`] hosts, those with most bytes.
    pub fn cut(&mut self) {
        let mut hosts: Vec<(Saved, String)> = std::mem::take(&mut self.hosts)
            .into_iter()
            .map(|(host, saved)| (saved, host))
            .collect();
        hosts.sort_by(|(a, one), (b, other)| {
            (b.bytes, b.records, one).cmp(&(a.bytes, a.records, other))
        });
        hosts
            .split_off(hosts.len().min(TOP_HOSTS))
            .into_iter()
            .for_each(|(saved, _)| self.other_hosts.add(saved));
        self.hosts = hosts.into_iter().map(|(saved, host)| (host, saved)).collect();
    }
}

impl Saved {
    fn add(&mut self, more: Saved) {
        self.records += more.records;
        self.bytes += more.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that is not among the first of any file was not named, though it is the first of all
    /// files together.
    #[test]
    fn hosts_of_several_files() {
        let of_file = |file: u64| {
            let mut totals = Totals::default();
            for n in 0..TOP_HOSTS as u64 {
                let saved = Saved { records: 1, bytes: 376 };
                totals.hosts.insert(format!("h{n}.of{file}.example"), saved);
            }
            totals.hosts.insert("big.example".into(), Saved { records: 1, bytes: 351 });
            totals
        };
        let mut totals = Totals::default();
        (0..2).for_each(|file| totals.add(&of_file(file)));
        totals.cut();
        assert_eq!(totals.hosts.get("big.example"), Some(&Saved { records: 2, bytes: 702 }));
        (0..20).for_each(|file| totals.add(&of_file(file)));
        assert!(totals.hosts.len() <= COUNTED_HOSTS);
    }

    /// However many hosts there are, only those with most bytes are named. The others are still
    /// counted.
    #[test]
    fn hosts_are_few() {
        let mut totals = Totals::default();
        for n in 0..3 * TOP_HOSTS as u64 {
            totals.hosts.insert(format!("h{n}.example"), Saved { records: 1, bytes: n });
        }
        totals.cut();
        assert_eq!(totals.hosts.len(), TOP_HOSTS);
        assert!(totals.hosts.values().all(|saved| saved.bytes >= 2 * TOP_HOSTS as u64));
        assert_eq!(totals.other_hosts.records, 2 * TOP_HOSTS as u64);
    }
}
