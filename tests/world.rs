//! A model of a web, as the oracle of long histories.
//!
//! URLs appear, change, disappear, are only seen, or expire. The command reads them from files; a
//! plain model says which pages are live, and which of them represent the clusters.

use crate::random::Random;
use crate::texts::text;
use crate::workbench::Bench;
use crate::world::live::{COMPLETE, Delivered, Live, Page, Placed, Record, Says, page_line};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use workers::store::runs::Table;
use workers::store::table::Row;
use workers::tables::{ClusterRow, ComponentRow, LeaderRow};

mod live;

/// The number of epochs that read without seeing a page, and of days, after which it expires.
pub const RETAIN: (usize, i64) = (4, 30);
const DAY: i64 = 86_400;
/// The start of the setting of the radius.
const RADIUS: &str = "clusters.radius=";
/// The words of these texts are numbered, so the numeral veto is off.
pub const CONFIRM: &str = "[confirm]\nfacts = \"off\"\n[read.fields]\nscore = \"score\"\n";

/// Rules that name the page that represents a cluster; the first is the default. A rule with
/// `incumbent` does not read what a store from scratch learns from the order of its epochs.
const KEEP: [&[&str]; 8] = [
    &[],
    &["keep.by=[\"incumbent\", \"shortest_url\"]"],
    &["keep.by=[\"score\", \"incumbent\", \"newest\"]", "keep.hosts=[\"h2.example\"]"],
    &["keep.by=[\"sources\", \"score\"]", "keep.sources=[\"feed\", \"site\"]"],
    &["keep.by=[\"first_seen\"]"],
    &["keep.by=[\"score\", \"newest\", \"first_seen\"]"],
    &["keep.by=[\"sources\", \"first_seen\"]", "keep.sources=[\"site\"]"],
    &["keep.by=[\"shortest_url\"]", "keep.hosts=[\"h2.example\", \"*.example\"]"],
];

/// A setting by which no text says enough to fold.
const APART: &str = "clusters.letters_min=4000000000";

/// The texts of a world are the variants of this many others.
pub const FAMILIES: u64 = 12;
/// The number of variants of each.
pub const VARIANTS: u64 = 5;

/// For this many days it is remembered that a page is gone.
pub const GONE_DAYS: i64 = 12;

/// The store under test, the model, and the model's history.
pub struct World {
    /// The store under test.
    pub bench: Bench,
    random: Random,
    live: Live,
    now: i64,
    files: u32,
    /// The files that the folder `in` has, by name.
    delivered: BTreeMap<String, Delivered>,
    /// Whether every file keeps its bytes, so that the store can be rebuilt.
    keeps_files: bool,
    /// Whether a rebuild was tried.
    has_rebuilt: bool,
    /// Settings that stay from one epoch to the next.
    settings: Vec<String>,
    /// The model after each epoch.
    history: BTreeMap<u64, Live>,
    /// The epoch that the last step restored, if it was a rollback.
    pub restored: Option<u64>,
    /// How many times a page represented only because it had done so before.
    pub held: usize,
}

impl World {
    /// An empty world; the seed decides the first radius and keep rule.
    pub fn new(seed: u64) -> World {
        println!("seed {seed}");
        let retain = format!(
            "retain_epochs = {}\nretain_days = {}\ngone_days = {GONE_DAYS}",
            RETAIN.0, RETAIN.1
        );
        let more = format!("{CONFIRM}[pages]\n{retain}\n");
        let bench = Bench::new(Path::new("in"), &more);
        std::fs::create_dir(bench.at("in")).expect("made");
        std::fs::create_dir(bench.at("site")).expect("made");
        let mut settings = vec![format!("{RADIUS}{}", seed % 3)];
        settings.extend(KEEP[seed as usize % KEEP.len()].iter().map(|set| (*set).to_owned()));
        World {
            bench,
            random: Random(seed),
            live: Live::default(),
            now: 1_700_000_000,
            files: 0,
            delivered: BTreeMap::new(),
            keeps_files: seed % 4 != 1,
            has_rebuilt: false,
            settings,
            history: BTreeMap::new(),
            restored: None,
            held: 0,
        }
    }

    /// Does something at random, and names it.
    pub fn step(&mut self) -> &'static str {
        self.restored = None;
        match self.random.below(17) {
            // Without input there is no store.
            _ if self.files == 0 => self.night(),
            0..=4 => self.night(),
            5..=7 => self.snapshot(),
            8 => self.wait(),
            9 => self.decide(),
            10 => self.reach(),
            16 => self.prefer(),
            11..=12 => self.back(),
            13 => self.collect(),
            _ => self.rebuild(),
        }
    }

    fn page(&mut self) -> Says {
        let text = text(self.random.below(FAMILIES), self.random.below(VARIANTS));
        let mut normal = String::new();
        workers::text::normalize::normalize(
            &text,
            &workers::text::normalize::Options::default(),
            &mut normal,
        );
        let score = (self.random.below(3) > 0).then(|| self.random.below(5) as i64 - 2);
        Says::Page(workers::id::Id::of(normal.as_bytes()), text, score)
    }

    fn url(&mut self) -> String {
        format!("http://h{}.example/{}", self.random.below(4), self.random.below(60))
    }

    /// A record of some URL as of `date`, and its line.
    fn record(&mut self, date: Option<i64>) -> (Record, String) {
        let url = self.url();
        let says = if self.random.below(8) == 0 { Says::Removed } else { self.page() };
        let line = match &says {
            Says::Page(_, text, score) => page_line(&url, date, text, *score),
            Says::Removed => {
                let dated = date.map_or(String::new(), |date| format!("\"date\":{date},"));
                format!("{{\"url\":\"{url}\",{dated}\"deleted\":true}}\n")
            }
        };
        ((url, date, Some(says)), line)
    }

    /// Writes a file of `n` records as of about `now`, of which some have no date.
    fn deliver(&mut self, n: usize, now: i64) {
        let (mut records, mut lines) = (Vec::new(), String::new());
        for _ in 0..n {
            let date = (self.random.below(6) > 0).then(|| now - self.random.below(50) as i64);
            let (record, line) = self.record(date);
            records.push(record);
            lines.push_str(&line);
        }
        self.put("jsonl", &lines, records);
    }

    /// Writes the next file of the folder `in`.
    fn put(&mut self, ending: &str, bytes: &str, records: Vec<Record>) {
        self.files += 1;
        let name = format!("in/{:03}.{ending}", self.files);
        std::fs::write(self.bench.at(&name), bytes).expect("written");
        // A copy that is written within one tick of the clock would be taken for the same file.
        let file = std::fs::File::options().write(true).open(self.bench.at(&name)).expect("opened");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(self.files.into())).expect("set");
        self.delivered.insert(name, Delivered { number: self.files, records });
    }

    /// A night: pages, removals, and URLs that have not changed. Perhaps an archive comes late, the
    /// bytes of an earlier file come again, or a file gets another name.
    fn night(&mut self) -> &'static str {
        self.deliver(60, self.now);
        let (mut archive, mut records) = (String::new(), Vec::new());
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
        self.put("warc", &archive, records);
        let earlier: Vec<String> =
            self.delivered.keys().filter(|name| name.ends_with("jsonl")).cloned().collect();
        let name = &earlier[self.random.below(earlier.len() as u64) as usize];
        let kind = match self.random.below(5) {
            0 => {
                let days = 1 + self.random.below(20) as i64;
                self.deliver(20, self.now - days * DAY);
                "a night with a late archive"
            }
            1 => {
                let bytes = std::fs::read_to_string(self.bench.at(name)).expect("readable");
                self.put("jsonl", &bytes, self.delivered[name].records.clone());
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
        self.crawl(source);
        kind
    }

    /// Reads what is due of the folder `in`.
    fn crawl(&mut self, source: &'static str) {
        let is_due = |file: &&Delivered| !self.live.consumed.contains_key(&file.number);
        let due: Vec<Delivered> = self.delivered.values().filter(is_due).cloned().collect();
        if due.is_empty() {
            self.live.expire(self.now);
        } else {
            let records: Vec<Record> =
                due.iter().flat_map(|file| file.records.iter().cloned()).collect();
            self.live.read(&records, source, self.now, None);
        }
        self.run(&[&format!("read.source=\"{source}\"")], &due);
    }

    /// A complete snapshot of the source `site`. Some records are bad: one that names its page
    /// keeps it, and one that does not keeps all pages that the snapshot lacks.
    fn snapshot(&mut self) -> &'static str {
        let (mut records, mut lines) = (Vec::new(), String::new());
        for _ in 0..25 {
            let late = DAY * self.random.below(4) as i64;
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
        // The file keeps its name and gets other bytes, or is the next one.
        self.files += 1;
        let folder =
            if self.keeps_files { format!("site/{:03}", self.files) } else { "site".into() };
        std::fs::create_dir_all(self.bench.at(&folder)).expect("made");
        std::fs::write(self.bench.at(&folder).join("all.jsonl"), lines).expect("written");
        self.live.read(&records, COMPLETE, self.now, (!unreadable).then_some(COMPLETE));
        let inputs = format!("read.inputs=[\"{folder}\"]");
        self.run(
            &["read.source=\"site\"", "read.complete=true", &inputs, "read.rejects_max=1.0"],
            &[],
        );
        if unreadable { "an unreadable snapshot" } else { "a complete snapshot" }
    }

    /// Days without input.
    fn wait(&mut self) -> &'static str {
        self.now += DAY * (1 + self.random.below(20) as i64);
        self.crawl("crawl");
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
        let table = if key.starts_with("keep.") { "keep." } else { key };
        self.settings.retain(|set| !set.starts_with(table));
        // Only fingerprints have a distance.
        let others = match key {
            "confirm.distance_max" => "confirm.by",
            "confirm.by" => "confirm.distance_max",
            _ => table,
        };
        self.settings.retain(|set| !set.starts_with(others));
        if key == "confirm.distance_max" {
            self.settings.push("confirm.by=\"fingerprint\"".into());
        }
        self.settings.push(format!("{key}={value}"));
        self.crawl("crawl");
        "another decision"
    }

    /// Changes which pages represent clusters for all later epochs.
    fn prefer(&mut self) -> &'static str {
        let rule = KEEP[self.random.below(KEEP.len() as u64) as usize];
        self.settings.retain(|set| !set.starts_with("keep."));
        self.settings.extend(rule.iter().map(|set| (*set).to_owned()));
        self.crawl("crawl");
        "another keep rule"
    }

    /// Changes the radius for all later epochs.
    fn reach(&mut self) -> &'static str {
        let others = ["0", "1", "2"]
            .into_iter()
            .filter(|radius| *radius != self.next_radius())
            .collect::<Vec<_>>();
        let radius = others[self.random.below(2) as usize];
        self.settings.retain(|set| !set.starts_with(RADIUS));
        self.settings.push(format!("{RADIUS}{radius}"));
        self.crawl("crawl");
        "another radius"
    }

    /// Rolls back to another epoch. Whatever comes next builds on that.
    fn back(&mut self) -> &'static str {
        let current = self.bench.head().manifest.epoch;
        let others: Vec<u64> =
            self.history.keys().copied().filter(|epoch| *epoch != current).collect();
        if others.is_empty() {
            return self.night();
        }
        let target = others[self.random.below(others.len() as u64) as usize];
        let consumed = std::mem::replace(&mut self.live, self.history[&target].clone()).consumed;
        self.restored = Some(target);
        let epoch = target.to_string();
        let kind = if self.random.below(2) == 0 {
            self.succeed("rollback", &[&epoch, "--forget-inputs"]);
            "a rollback that forgets"
        } else {
            self.succeed("rollback", &[&epoch]);
            // What was undone stays consumed.
            for (file, epoch) in consumed {
                self.live.consumed.entry(file).or_insert(epoch);
            }
            "a rollback"
        };
        assert!(
            self.has_rebuilt || self.live.represented == self.represented(),
            "what represented does again"
        );
        (self.live.represented, self.live.placed) = (self.represented(), self.placed());
        self.note();
        kind
    }

    /// Collects garbage, after which the results can still be exported.
    fn collect(&mut self) -> &'static str {
        let keep = (1 + self.random.below(4)).to_string();
        self.succeed("gc", &["--delete", "--keep-epochs", &keep, "--keep-days", "0"]);
        self.succeed("export", &[]);
        self.note();
        "collected garbage"
    }

    /// Rebuilds the store, whose inputs have got their names in an epoch that read something. Or
    /// stops at the first epoch with a bad record, and what was replayed stays for a later
    /// step.
    fn rebuild(&mut self) -> &'static str {
        self.night();
        if !self.keeps_files {
            return "a night";
        }
        let is_first = !std::mem::replace(&mut self.has_rebuilt, true);
        if (self.random.below(2) == 0 || is_first)
            && self.command("rebuild", &["--set", "read.rejects_max=0"]).status.code() == Some(65)
        {
            return "an interrupted rebuild";
        }
        if !self.bench.at("store.before-rebuild").exists() {
            self.succeed("rebuild", &["--allow", "rejects"]);
        }
        std::fs::remove_dir_all(self.bench.at("store.before-rebuild")).expect("the old store");
        for (epoch, live) in &mut self.history {
            live.consumed = self.live.consumed.clone();
            live.consumed.retain(|_, consumed| *consumed <= *epoch);
            // All epochs were replayed by the settings of today.
            live.settings.clone_from(&self.live.settings);
        }
        (self.live.represented, self.live.placed) = (self.represented(), self.placed());
        self.note();
        "a rebuild"
    }

    fn run(&mut self, sets: &[&str], read: &[Delivered]) {
        let threads = (1 + self.random.below(4)).to_string();
        let now = self.now.to_string();
        let mut arguments = vec!["--threads", &threads, "--now", &now];
        self.live.settings.clone_from(&self.settings);
        arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
        self.succeed("run", &arguments);
        self.now += DAY;
        let epoch = self.bench.head().manifest.epoch;
        self.live.consumed.extend(read.iter().map(|file| (file.number, epoch)));
        self.represent();
        self.note();
    }

    /// The settings of the last epoch that verdicts depend on.
    pub fn verdict_settings(&self) -> Vec<String> {
        let of_verdicts = self.live.settings.iter().filter(|set| set.starts_with("confirm."));
        of_verdicts.cloned().collect()
    }

    /// Runs a command with the settings of the model.
    fn command(&self, name: &str, arguments: &[&str]) -> std::process::Output {
        let settings = self.live.settings.iter().flat_map(|set| ["--set", set]);
        self.bench.pagefold(name, &arguments.iter().copied().chain(settings).collect::<Vec<&str>>())
    }

    /// The same for one that must succeed.
    fn succeed(&self, name: &str, arguments: &[&str]) {
        let output = self.command(name, arguments);
        assert!(
            output.status.success(),
            "{name} {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Notes the model as that of the head, and forgets the epochs that cannot be restored any
    /// more.
    fn note(&mut self) {
        let store = self.bench.at("store");
        self.history.insert(self.bench.head().manifest.epoch, self.live.clone());
        let versions = workers::store::manifest::versions(&store).expect("listed").into_iter();
        let epoch = |version| {
            workers::store::manifest::read(&store, version).expect("readable").manifest.epoch
        };
        let there: BTreeSet<u64> = versions.map(epoch).collect();
        self.history.retain(|epoch, _| there.contains(epoch));
    }

    /// Asserts that each cluster is represented by the page that the keep rule prefers, read
    /// literally, of those whose text leads or has an accepted pair with each other one. Those that
    /// represent now are the incumbents of the next epoch.
    fn represent(&mut self) {
        let text =
            |row: &serde_json::Value, name: &str| row[name].as_str().expect("text").to_owned();
        let (members, mut clusters) =
            (self.bench.lines("members"), BTreeMap::<String, Vec<usize>>::new());
        for (at, row) in members.iter().enumerate() {
            clusters.entry(text(row, "cluster")).or_default().push(at);
        }
        let pairs = self.bench.lines("pairs").into_iter().filter(|pair| pair["accepted"] == true);
        let pairs: BTreeSet<[String; 2]> = pairs
            .flat_map(|pair| {
                [["a", "b"], ["b", "a"]].map(|names| names.map(|name| text(&pair, name)))
            })
            .collect();
        let rows = self.table::<LeaderRow>();
        let led: BTreeMap<String, String> =
            rows.iter().map(|row| (row.content.to_string(), row.leader.to_string())).collect();
        let placed = self.placed();
        let mut held = 0;
        for rows in clusters.values().filter(|rows| rows.len() > 1) {
            let contents: BTreeSet<String> =
                rows.iter().map(|at| text(&members[*at], "content")).collect();
            let may_represent = |content: &String| {
                let leads = led.get(content).is_none_or(|leader| leader == content);
                let mut others = contents.iter().filter(|other| *other != content);
                self.radius() == "0"
                    || leads
                    || others.all(|other| pairs.contains(&[content.clone(), other.clone()]))
            };
            let those = rows
                .iter()
                .map(|at| &members[*at])
                .filter(|row| may_represent(&text(row, "content")));
            let by = self.live.by();
            let first = |by: &[String]| {
                let place = |row: &&serde_json::Value| {
                    (self.live.place(&text(row, "url"), by, &placed), text(row, "doc"))
                };
                those.clone().min_by_key(place).map(|row| text(row, "url"))
            };
            let shown = members[rows[0]]["representative"].as_str();
            assert_eq!(first(&by).as_deref(), shown, "by {by:?}");
            let blind: Vec<String> = by.iter().filter(|one| *one != "incumbent").cloned().collect();
            held += usize::from(first(&blind).as_deref() != shown);
        }
        self.held += held;
        self.live.represented = self.represented();
        self.live.placed = placed;
    }

    /// The text of each page, and the component of each text.
    fn placed(&self) -> Placed {
        let members = self.bench.lines("members").into_iter();
        let of = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap_or("").to_owned();
        let contents = members.map(|row| (of(&row, "url"), of(&row, "content"))).collect();
        let rows = self.table::<ComponentRow>().into_iter();
        let components =
            rows.map(|row| (row.content.to_string(), row.component.to_string())).collect();
        Placed { contents, components }
    }

    /// The pages that represent others or stand alone, and how many pages each represents.
    fn represented(&self) -> BTreeMap<String, u64> {
        let members =
            self.bench.lines("members").into_iter().filter(|row| row["is_representative"] == true);
        let url = |row: &serde_json::Value| row["url"].as_str().expect("a URL").to_owned();
        members.map(|row| (url(&row), row["cluster_size"].as_u64().expect("a number"))).collect()
    }

    /// A store from scratch over one record for each live page, with the current settings. What a
    /// keep rule reads of history is given to it: pages come in the order in which the store has
    /// known them, and then again from the source that saw them last. Where it reads the
    /// incumbents, these come first, in an epoch in which nothing folds.
    pub fn scratch(&self) -> Bench {
        let bench = Bench::new(Path::new("in"), CONFIRM);
        std::fs::create_dir(bench.at("in")).expect("made");
        let by = self.live.by();
        let reads = |criterion: &str| by.iter().any(|one| one == criterion);
        let (by_first, by_source, by_incumbent) =
            (reads("first_seen"), reads("sources"), reads("incumbent"));
        assert!(!by_incumbent || !by_first && !by_source, "one order of epochs gives both");
        let mut epochs: BTreeMap<(usize, &str), String> = BTreeMap::new();
        for (url, Page { date, text, score, first, seen, .. }) in self.live.pages() {
            let line = page_line(url, *date, text, *score);
            let is_new = usize::from(by_incumbent && !self.live.represented.contains_key(url));
            *epochs.entry((if by_first { *first } else { is_new }, "crawl")).or_default() += &line;
            if by_source {
                *epochs.entry((usize::MAX, seen.2)).or_default() += &line;
            }
        }
        if epochs.is_empty() {
            epochs.insert((0, "crawl"), String::new());
        }
        if by_incumbent {
            // The last one has settings of its own, if everything stands alone, too.
            epochs.entry((1, "crawl")).or_default();
        }
        for (number, ((order, source), lines)) in epochs.into_iter().enumerate() {
            std::fs::write(bench.at(&format!("in/{number}.jsonl")), lines).expect("written");
            let source = format!("read.source={source:?}");
            let mut settings = self.live.settings.clone();
            settings.push(source);
            settings.extend((by_incumbent && order == 0).then(|| APART.to_owned()));
            let settings = settings.iter().flat_map(|set| ["--set", set]);
            bench.run_well(&settings.collect::<Vec<&str>>());
        }
        bench
    }

    /// The radius of the head; 0 for none.
    pub fn radius(&self) -> &str {
        self.live.settings.iter().find_map(|set| set.strip_prefix(RADIUS)).unwrap_or_default()
    }

    fn next_radius(&self) -> &str {
        self.settings.iter().find_map(|set| set.strip_prefix(RADIUS)).unwrap_or_default()
    }

    /// The number of components that consist of several clusters.
    pub fn parted(&self) -> usize {
        let rows = self.table::<ClusterRow>();
        rows.chunk_by(|a, b| a.component == b.component).filter(|rows| rows.len() > 1).count()
    }

    /// The rows of a table of the head.
    fn table<R: Row>(&self) -> Vec<R> {
        let (folder, head) =
            (self.bench.at("store/data").join(R::NAME), self.bench.head().manifest);
        let table: Table<R> = Table::open(&folder, head.tables.get(R::NAME)).expect("mapped");
        table.portions(1000).flatten().collect()
    }

    /// Asserts that `verify --deep` finds nothing wrong.
    pub fn assert_sound(&self) {
        let output = self.command("verify", &["--deep"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// The number of live pages.
    pub fn pages(&self) -> usize {
        self.live.pages().count()
    }
}
