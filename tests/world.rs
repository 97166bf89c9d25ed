//! A model of a web, as the oracle of long histories.
//!
//! URLs appear, change, disappear, are only seen, or expire. The command reads them from files; a
//! plain model says which pages are live.

use crate::random::Random;
use crate::texts::text;
use crate::workbench::Bench;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use workers::store::runs::Table;
use workers::tables::ClusterRow;

/// The number of epochs that read without seeing a page, and of days, after which it expires.
pub const RETAIN: (usize, i64) = (4, 30);
const DAY: i64 = 86_400;
/// The start of the setting of the radius.
const RADIUS: &str = "clusters.radius=";
/// The words of these texts are numbered, so the numeral veto is off.
const CONFIRM: &str = "[confirm]\nnumerals = \"off\"\n";

/// For so many days it is remembered that a page is gone.
const GONE_DAYS: i64 = 12;

/// A live page.
#[derive(Clone, Debug)]
struct Page {
    date: Option<i64>,
    text: String,
    /// The reading epoch that saw it last, its time, and its source.
    seen: (usize, i64, &'static str),
}

/// The content of one record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    Page(workers::document::Id, String),
    Removed,
}

/// A record: its URL, its date, and what it says; nothing if it only saw the page.
type Record = (String, Option<i64>, Option<Says>);

/// What is known of a URL.
#[derive(Clone, Default)]
struct Known {
    page: Option<Page>,
    /// The last date that held; older records do not hold.
    newest: Option<i64>,
    /// When it was last said that the page is gone.
    gone: i64,
}

/// The model: all that is known.
#[derive(Clone, Default)]
struct Live {
    known: BTreeMap<String, Known>,
    /// The number of epochs that have read something.
    read: usize,
}

impl Live {
    /// Applies the records of an epoch. `lacks` says of which source pages go that it does not see.
    fn read(&mut self, records: &[Record], source: &'static str, now: i64, lacks: Option<&str>) {
        self.read += 1;
        let seen = (self.read, now, source);
        let mut by_url: BTreeMap<&String, Vec<&Record>> = BTreeMap::new();
        records.iter().for_each(|record| by_url.entry(&record.0).or_default().push(record));
        for (url, records) in by_url {
            let known = self.known.entry(url.clone()).or_default();
            if known.page.is_none() && known.gone < now - GONE_DAYS * DAY {
                known.newest = None;
            }
            let holds = |(_, date, says): &&&Record| says.is_some() && (date.is_none() || *date >= known.newest);
            // The latest date wins, then a removal, then the greater digest; the order of records
            // does not matter.
            let winner = records.iter().filter(holds).max_by_key(|(_, date, says)| (*date, says.clone()));
            match winner {
                Some((_, date, Some(says))) => {
                    known.newest = known.newest.max(*date);
                    match says {
                        Says::Page(_, text) => known.page = Some(Page { date: *date, text: text.clone(), seen }),
                        Says::Removed => (known.page, known.gone) = (None, now),
                    }
                }
                _ => {
                    let is_seen = records.iter().any(|(_, _, says)| says != &Some(Says::Removed));
                    known.page.iter_mut().filter(|_| is_seen).for_each(|page| page.seen = seen);
                }
            }
        }
        self.end(now, |page| Some(page.seen.2) == lacks && page.seen != seen);
        self.expire(now);
    }

    fn expire(&mut self, now: i64) {
        let read = self.read;
        self.end(now, |page| page.seen.0 + RETAIN.0 <= read || page.seen.1 < now - RETAIN.1 * DAY);
    }

    /// Removes the pages that `ends` selects.
    fn end(&mut self, now: i64, ends: impl Fn(&Page) -> bool) {
        for known in self.known.values_mut() {
            if known.page.as_ref().is_some_and(&ends) {
                (known.page, known.gone) = (None, now);
            }
        }
    }

    /// The live pages by URL.
    fn pages(&self) -> impl Iterator<Item = (&String, &Page)> {
        self.known.iter().filter_map(|(url, known)| Some((url, known.page.as_ref()?)))
    }
}

/// The store under test, the model, and the model's history.
pub struct World {
    /// The store under test.
    pub bench: Bench,
    random: Random,
    live: Live,
    now: i64,
    files: u32,
    /// The files of rows that the folder `in` has, by name, with their records.
    delivered: BTreeMap<String, Vec<Record>>,
    /// Settings that stay from one epoch to the next.
    settings: Vec<String>,
    /// The model after each epoch.
    history: BTreeMap<u64, Live>,
}

impl World {
    /// An empty world; the seed decides the first radius.
    pub fn new(seed: u64) -> World {
        println!("seed {seed}");
        let retain = format!("retain_epochs = {}\nretain_days = {}\ngone_days = {GONE_DAYS}", RETAIN.0, RETAIN.1);
        let more = format!("{CONFIRM}[pages]\n{retain}\n");
        let bench = Bench::new(Path::new("in"), &more);
        std::fs::create_dir(bench.at("in")).expect("made");
        std::fs::create_dir(bench.at("site")).expect("made");
        World {
            bench,
            random: Random(seed),
            live: Live::default(),
            now: 1_700_000_000,
            files: 0,
            delivered: BTreeMap::new(),
            settings: (!seed.is_multiple_of(3)).then(|| format!("{RADIUS}{}", seed % 3)).into_iter().collect(),
            history: BTreeMap::new(),
        }
    }

    /// Does something at random, and names it.
    pub fn step(&mut self) -> &'static str {
        match self.random.below(11) {
            // Without input there is no store.
            _ if self.files == 0 => self.night(),
            0..=4 => self.night(),
            5..=6 => self.snapshot(),
            7 => self.wait(),
            8 => self.decide(),
            9 => self.reach(),
            _ => self.back(),
        }
    }

    fn page(&mut self) -> Says {
        let text = text(self.random.below(12), self.random.below(5));
        let mut normal = String::new();
        workers::text::normalize::normalize(&text, &workers::text::normalize::Options::default(), &mut normal);
        Says::Page(workers::document::Id::of(normal.as_bytes()), text)
    }

    fn url(&mut self) -> String {
        format!("http://h{}.example/{}", self.random.below(4), self.random.below(60))
    }

    /// A record of some URL as of `date`, and its line.
    fn record(&mut self, date: Option<i64>) -> (Record, String) {
        let url = self.url();
        let dated = date.map_or(String::new(), |date| format!("\"date\":{date},"));
        let says = if self.random.below(8) == 0 { Says::Removed } else { self.page() };
        let line = match &says {
            Says::Page(_, text) => format!("{{\"url\":\"{url}\",{dated}\"text\":\"{text}\"}}\n"),
            Says::Removed => format!("{{\"url\":\"{url}\",{dated}\"deleted\":true}}\n"),
        };
        ((url, date, Some(says)), line)
    }

    /// Writes a file of `n` records as of about `now`, of which some have no date.
    fn deliver(&mut self, n: usize, now: i64) -> Vec<Record> {
        let (mut records, mut lines) = (Vec::new(), String::new());
        for _ in 0..n {
            let date = (self.random.below(6) > 0).then(|| now - self.random.below(50) as i64);
            let (record, line) = self.record(date);
            records.push(record);
            lines.push_str(&line);
        }
        let name = format!("in/{:03}.jsonl", self.files);
        std::fs::write(self.bench.at(&name), lines).expect("written");
        self.delivered.insert(name, records.clone());
        records
    }

    /// A night: pages, removals, and URLs that have not changed. Perhaps an archive comes late, the
    /// bytes of an earlier file come again, or a file gets another name.
    fn night(&mut self) -> &'static str {
        self.files += 1;
        let mut records = self.deliver(60, self.now);
        let mut archive = String::new();
        for _ in 0..6 {
            let url = self.url();
            let http = "HTTP/1.1 304 Not Modified\r\n\r\n";
            write!(
                archive,
                "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nContent-Type: \
                 application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
                http.len()
            )
            .expect("a string");
            records.push((url, None, None));
        }
        std::fs::write(self.bench.at(&format!("in/{:03}.warc", self.files)), archive).expect("written");
        let earlier: Vec<String> = self.delivered.keys().cloned().collect();
        let name = &earlier[self.random.below(earlier.len() as u64) as usize];
        let kind = match self.random.below(5) {
            0 => {
                self.files += 1;
                let days = 1 + self.random.below(20) as i64;
                records.extend(self.deliver(20, self.now - days * DAY));
                "a night with a late archive"
            }
            1 => {
                self.files += 1;
                let again = format!("in/{:03}.jsonl", self.files);
                std::fs::copy(self.bench.at(name), self.bench.at(&again)).expect("copied");
                self.delivered.insert(again, self.delivered[name].clone());
                records.extend(self.delivered[name].clone());
                "a night with repeated bytes"
            }
            // A new file may be renamed, too: it is read under its last name.
            2 => {
                self.files += 1;
                let renamed = format!("in/{:03}.jsonl", self.files);
                std::fs::rename(self.bench.at(name), self.bench.at(&renamed)).expect("renamed");
                let moved = self.delivered.remove(name).expect("delivered");
                self.delivered.insert(renamed, moved);
                "a night with another name"
            }
            _ => "a night",
        };
        let source = ["crawl", "crawl", "feed"][self.random.below(3) as usize];
        self.live.read(&records, source, self.now, None);
        self.run(&[&format!("read.source=\"{source}\"")]);
        kind
    }

    /// A complete snapshot of the source `site`. Some records are bad: one that names its page keeps
    /// it, and one that does not keeps all pages that the snapshot lacks.
    fn snapshot(&mut self) -> &'static str {
        let (mut records, mut lines) = (Vec::new(), String::new());
        for _ in 0..25 {
            let late = DAY * (self.random.below(4) / 3) as i64;
            let (record, line) = match self.random.below(8) {
                0 => {
                    let url = self.url();
                    let line = format!("{{\"url\":\"{url}\",\"text\":7}}\n");
                    ((url, None, None), line)
                }
                _ => self.record(Some(self.now - late)),
            };
            records.push(record);
            lines.push_str(&line);
        }
        let unreadable = self.random.below(3) == 0;
        if unreadable {
            lines.push_str("what is this\n");
        }
        // The file keeps its name and gets other bytes.
        std::fs::write(self.bench.at("site/all.jsonl"), lines).expect("written");
        self.live.read(&records, "site", self.now, (!unreadable).then_some("site"));
        self.run(&["read.source=\"site\"", "read.complete=true", "read.inputs=[\"site\"]", "read.rejects_max=1.0"]);
        if unreadable { "an unreadable snapshot" } else { "a complete snapshot" }
    }

    /// Days without input.
    fn wait(&mut self) -> &'static str {
        self.now += DAY * (1 + self.random.below(20) as i64);
        self.live.expire(self.now);
        self.run(&[]);
        "days without input"
    }

    /// Changes a decision or a view for all later epochs.
    fn decide(&mut self) -> &'static str {
        let (key, values) = match self.random.below(4) {
            0 => ("confirm.distance_max", ["0", "1", "3"]),
            1 => ("confirm.by", ["\"fingerprint\"", "\"text\"", "\"text\""]),
            2 => ("confirm.similarity_min", ["6000", "8000", "9500"]),
            _ => ("keep.by", ["[\"oldest\"]", "[\"newest\", \"https\"]", "[\"shortest_url\"]"]),
        };
        let value = values[self.random.below(3) as usize];
        self.settings.retain(|set| !set.starts_with(key));
        self.settings.push(format!("{key}={value}"));
        self.live.expire(self.now);
        self.run(&[]);
        "another decision"
    }

    /// Changes the radius for all later epochs.
    fn reach(&mut self) -> &'static str {
        let others = ["", "1", "2"].into_iter().filter(|radius| *radius != self.radius()).collect::<Vec<_>>();
        let radius = others[self.random.below(2) as usize];
        self.settings.retain(|set| !set.starts_with(RADIUS));
        self.settings.extend((!radius.is_empty()).then(|| format!("{RADIUS}{radius}")));
        self.live.expire(self.now);
        self.run(&[]);
        "another radius"
    }

    /// Rolls back to an earlier epoch, and sometimes collects garbage.
    fn back(&mut self) -> &'static str {
        let epochs: Vec<u64> = self.history.keys().copied().collect();
        let Some(earlier) = epochs.len().checked_sub(2) else { return self.night() };
        let target = epochs[earlier - self.random.below(3.min(earlier as u64 + 1)) as usize];
        let output = self.bench.pagefold("rollback", &[&target.to_string()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.live = self.history[&target].clone();
        if self.random.below(2) == 0 {
            let output = self.bench.pagefold("gc", &["--delete", "--keep-epochs", "4", "--keep-days", "0"]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        // Decision and view are the job's, not those of the old epoch.
        self.live.expire(self.now);
        self.run(&[]);
        "a rollback"
    }

    fn run(&mut self, sets: &[&str]) {
        let threads = (1 + self.random.below(4)).to_string();
        let now = self.now.to_string();
        let mut arguments = vec!["--threads", &threads, "--now", &now];
        let settings = self.settings.iter().map(String::as_str).chain(sets.iter().copied());
        arguments.extend(settings.flat_map(|set| ["--set", set]));
        self.bench.run_well(&arguments);
        self.now += DAY;
        let head = self.bench.head().manifest;
        self.history.insert(head.epoch, self.live.clone());
        self.history.retain(|epoch, _| epoch + 3 > head.epoch);
    }

    /// A run from scratch over one record for each live page, with the current settings.
    pub fn scratch(&self) -> Bench {
        let bench = Bench::new(Path::new("in.jsonl"), CONFIRM);
        let mut lines = String::new();
        for (url, Page { date, text, .. }) in self.live.pages() {
            let dated = date.map_or(String::new(), |date| format!("\"date\":{date},"));
            writeln!(lines, "{{\"url\":\"{url}\",{dated}\"text\":\"{text}\"}}").expect("a string");
        }
        std::fs::write(bench.at("in.jsonl"), lines).expect("written");
        let arguments: Vec<&str> = self.settings.iter().flat_map(|set| ["--set", set]).collect();
        bench.run_well(&arguments);
        bench
    }

    /// The current radius; empty for none.
    pub fn radius(&self) -> &str {
        self.settings.iter().find_map(|set| set.strip_prefix(RADIUS)).unwrap_or_default()
    }

    /// The number of components that consist of several clusters.
    pub fn parted(&self) -> usize {
        let (folder, head) = (self.bench.at("store/data/clusters"), self.bench.head().manifest);
        let clusters: Table<ClusterRow> = Table::open(&folder, head.tables.get("clusters")).expect("mapped");
        let rows: Vec<ClusterRow> = clusters.portions(1000).flatten().collect();
        rows.chunk_by(|a, b| a.component == b.component).filter(|rows| rows.len() > 1).count()
    }

    /// Asserts that `verify --deep` finds nothing wrong.
    pub fn assert_sound(&self) {
        let sets = self.settings.iter().flat_map(|set| ["--set", set]);
        let output = self.bench.pagefold("verify", &["--deep"].into_iter().chain(sets).collect::<Vec<&str>>());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// The number of live pages.
    pub fn pages(&self) -> usize {
        self.live.pages().count()
    }
}
