//! A model of a web, as the oracle of long histories.
//!
//! URLs appear, change, disappear, are only seen, or expire. The command reads them from files; a
//! plain model says which pages are live.

use crate::random::Random;
use crate::texts::text;
use crate::workbench::Bench;
use std::collections::{BTreeMap, BTreeSet};
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

/// A live page.
#[derive(Clone, Debug)]
struct Page {
    date: u64,
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

/// The live pages of the model.
#[derive(Clone, Default)]
struct Live {
    pages: BTreeMap<String, Page>,
    /// The number of epochs that have read something.
    read: usize,
}

/// The store under test, the model, and the model's history.
pub struct World {
    /// The store under test.
    pub bench: Bench,
    random: Random,
    live: Live,
    now: i64,
    files: u32,
    /// Settings that stay from one epoch to the next.
    settings: Vec<String>,
    /// The model after each epoch.
    history: BTreeMap<u64, Live>,
}

impl World {
    /// An empty world; the seed decides the first radius.
    pub fn new(seed: u64) -> World {
        println!("seed {seed}");
        let more = format!("{CONFIRM}[pages]\nretain_epochs = {}\nretain_days = {}\n", RETAIN.0, RETAIN.1);
        let bench = Bench::new(Path::new("in"), &more);
        std::fs::create_dir(bench.at("in")).expect("made");
        std::fs::create_dir(bench.at("site")).expect("made");
        World {
            bench,
            random: Random(seed),
            live: Live::default(),
            now: 1_700_000_000,
            files: 0,
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

    /// A night of the source `crawl`: pages, removals, and URLs that have not changed.
    fn night(&mut self) -> &'static str {
        let (mut lines, mut archive) = (String::new(), String::new());
        let mut told: BTreeMap<String, (u64, Says)> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for _ in 0..60 {
            let (url, date) = (self.url(), self.now as u64 - self.random.below(50));
            let says = match self.random.below(8) {
                0 => Says::Removed,
                1 => {
                    let http = "HTTP/1.1 304 Not Modified\r\n\r\n";
                    write!(
                        archive,
                        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nContent-Type: \
                         application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
                        http.len()
                    )
                    .expect("a string");
                    seen.insert(url);
                    continue;
                }
                _ => self.page(),
            };
            match &says {
                Says::Page(_, text) => {
                    writeln!(lines, "{{\"url\":\"{url}\",\"date\":{date},\"text\":\"{text}\"}}").expect("a string");
                }
                Says::Removed => {
                    writeln!(lines, "{{\"url\":\"{url}\",\"date\":{date},\"deleted\":true}}").expect("a string");
                }
            }
            let says = (date, says);
            // The latest date wins, then a removal, then the greater digest; the order of lines
            // does not matter.
            told.entry(url).and_modify(|last| *last = says.clone().max(last.clone())).or_insert(says);
        }
        self.files += 1;
        std::fs::write(self.bench.at(&format!("in/{:03}.jsonl", self.files)), lines).expect("written");
        std::fs::write(self.bench.at(&format!("in/{:03}.warc", self.files)), archive).expect("written");
        self.live.read += 1;
        let now = (self.live.read, self.now, "crawl");
        for (url, (date, says)) in told {
            seen.remove(&url);
            match says {
                Says::Removed => drop(self.live.pages.remove(&url)),
                Says::Page(_, text) => drop(self.live.pages.insert(url, Page { date, text, seen: now })),
            }
        }
        for url in seen {
            self.live.pages.entry(url).and_modify(|page| page.seen = now);
        }
        self.expire();
        self.run(&[]);
        "a night"
    }

    /// A complete snapshot of the source `site`.
    fn snapshot(&mut self) -> &'static str {
        let mut lines = String::new();
        self.live.read += 1;
        let now = (self.live.read, self.now, "site");
        for _ in 0..25 {
            let (url, date) = (self.url(), self.now as u64);
            if self.live.pages.get(&url).is_some_and(|page| page.seen == now) {
                continue;
            }
            let Says::Page(_, text) = self.page() else { continue };
            writeln!(lines, "{{\"url\":\"{url}\",\"date\":{date},\"text\":\"{text}\"}}").expect("a string");
            self.live.pages.insert(url, Page { date, text, seen: now });
        }
        // The file keeps its name and gets other bytes.
        std::fs::write(self.bench.at("site/all.jsonl"), lines).expect("written");
        self.live.pages.retain(|_, page| page.seen.2 != "site" || page.seen == now);
        self.expire();
        self.run(&["read.source=\"site\"", "read.complete=true", "read.inputs=[\"site\"]"]);
        "a complete snapshot"
    }

    /// Days without input.
    fn wait(&mut self) -> &'static str {
        self.now += DAY * (1 + self.random.below(20) as i64);
        self.expire();
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
        self.expire();
        self.run(&[]);
        "another decision"
    }

    /// Changes the radius for all later epochs.
    fn reach(&mut self) -> &'static str {
        let others = ["", "1", "2"].into_iter().filter(|radius| *radius != self.radius()).collect::<Vec<_>>();
        let radius = others[self.random.below(2) as usize];
        self.settings.retain(|set| !set.starts_with(RADIUS));
        self.settings.extend((!radius.is_empty()).then(|| format!("{RADIUS}{radius}")));
        self.expire();
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
        self.expire();
        self.run(&[]);
        "a rollback"
    }

    fn expire(&mut self) {
        let Live { pages, read } = &mut self.live;
        pages.retain(|_, page| page.seen.0 + RETAIN.0 > *read && page.seen.1 >= self.now - RETAIN.1 * DAY);
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
        for (url, Page { date, text, .. }) in &self.live.pages {
            writeln!(lines, "{{\"url\":\"{url}\",\"date\":{date},\"text\":\"{text}\"}}").expect("a string");
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
        self.live.pages.len()
    }
}
