use crate::workbench::Bench;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A small linear congruential generator; its seed is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// The text of article `n` as edition `edition` has it: editions differ in a word or two, so that they are near.
fn text(n: u64, edition: u64) -> String {
    let mut words: Vec<String> = (0..60).map(|w| format!("w{}", (n * 131 + w * 17) % 4093)).collect();
    for change in 0..edition {
        let at = (n + change * 7) as usize % words.len();
        words[at] = format!("edition{change}");
    }
    words.join(" ")
}

/// What lives, by URL: date and text.
type Live = BTreeMap<String, (u64, String)>;

fn line(url: &str, date: u64, text: &str) -> String {
    format!("{{\"url\":\"{url}\",\"date\":{date},\"text\":\"{text}\"}}\n")
}

/// One night's records, and what they leave alive.
fn night(random: &mut Random, live: &mut Live, night: u64) -> String {
    let mut lines = String::new();
    for _ in 0..60 {
        let url = format!("http://h{}.example/{}", random.below(4), random.below(60));
        let date = night * 100 + random.below(50);
        match random.below(8) {
            0 | 1 => {
                writeln!(lines, "{{\"url\":\"{url}\",\"date\":{},\"deleted\":true}}", night * 100 + 90)
                    .expect("a string");
                // The latest date of a night wins, whatever the order of its lines.
                live.remove(&url);
                live.insert(url, (u64::MAX, String::new()));
            }
            _ => {
                let text = text(random.below(12), random.below(5));
                lines.push_str(&line(&url, date, &text));
                let last = live.get(&url).filter(|(last, _)| *last >= night * 100);
                let wins = last
                    .is_none_or(|(last, known)| *last != u64::MAX && (date, digest(&text)) > (*last, digest(known)));
                if wins {
                    live.insert(url, (date, text));
                }
            }
        }
    }
    live.retain(|_, (date, _)| *date != u64::MAX);
    lines
}

/// Ties of date go to the greater digest of the normal form.
fn digest(text: &str) -> workers::document::Id {
    let mut normal = String::new();
    workers::normalize::normalize(text, &workers::normalize::Options::default(), &mut normal);
    workers::document::Id::of(normal.as_bytes())
}

/// A run from scratch over one record for each live page.
fn scratch(live: &Live, arguments: &[&str]) -> Bench {
    let bench = Bench::new(std::path::Path::new("in.jsonl"), "");
    let lines: String = live.iter().map(|(url, (date, text))| line(url, *date, text)).collect();
    std::fs::write(bench.at("in.jsonl"), lines).expect("written");
    bench.run_well(arguments);
    bench
}

/// After any history of epochs, by any number of workers, the exports are byte for byte those of a run from scratch over one record for each
/// live page, and every table is the same multiset of rows.
#[test]
fn histories_equal_scratch() {
    for seed in 1..=4u64 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let bench = Bench::new(std::path::Path::new("in"), "");
        std::fs::create_dir(bench.at("in")).expect("made");
        let mut live = Live::new();
        for epoch in 1..=6 {
            let lines = night(&mut random, &mut live, epoch);
            std::fs::write(bench.at(&format!("in/{epoch:02}.jsonl")), lines).expect("written");
            let threads = (1 + random.below(4)).to_string();
            bench.run_well(&["--threads", &threads]);
            let scratch = scratch(&live, &[]);
            assert!(bench.tables() == scratch.tables(), "seed {seed}, epoch {epoch}: exports differ");
            assert_eq!(bench.multisets(), scratch.multisets(), "seed {seed}, epoch {epoch}");
        }
    }
}

/// Another keep rule makes every cluster anew from the store, with or without new input, and equals a scratch run under that rule.
#[test]
fn another_view() {
    let mut random = Random(9);
    let bench = Bench::new(std::path::Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let mut live = Live::new();
    for (epoch, rule) in
        [(1, ""), (2, "keep.hosts=[\"h3.example\"]"), (3, "keep.by=[\"oldest\"]"), (4, "keep.by=[\"newest\"]")]
    {
        if epoch != 3 {
            let lines = night(&mut random, &mut live, epoch);
            std::fs::write(bench.at(&format!("in/{epoch:02}.jsonl")), lines).expect("written");
        }
        let rule = if rule.is_empty() { vec![] } else { vec!["--set", rule] };
        bench.run_well(&rule);
        let scratch = scratch(&live, &rule);
        assert!(bench.tables() == scratch.tables(), "epoch {epoch}: exports differ");
        assert_eq!(bench.multisets(), scratch.multisets(), "epoch {epoch}");
    }
}
