//! What the tests of upkeep share: pages, a bench that reads them, and runs as of a given time.

mod damage;
mod due;
mod garbage;
mod guards;
mod rebuild;
mod restored;
mod rollback;

use crate::workbench::{Bench, failure};
use std::fmt::Write as _;
use std::path::Path;

const DAY: i64 = 86_400;
const NOW: i64 = 1_700_000_000;

/// Lines of `pages` pages with unrelated texts, from number `from` on.
fn pages(from: u64, pages: u64) -> String {
    let mut lines = String::new();
    for page in from..from + pages {
        let words: Vec<String> =
            (0..20u64).map(|w| format!("w{}", (page * 7919 + w * 104_729) % 1_000_003)).collect();
        writeln!(lines, "{{\"url\":\"http://a.example/{page}\",\"text\":\"{}\"}}", words.join(" "))
            .expect("a string");
    }
    lines
}

/// A bench that reads the folder `in`.
fn bench(more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), more);
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

fn at(now: i64) -> [String; 2] {
    ["--now".to_owned(), now.to_string()]
}

/// Runs as of `now` with more arguments, and returns exit code, stdout and the error.
fn run(bench: &Bench, now: i64, more: &[&str]) -> (Option<i32>, String, String) {
    let now = at(now);
    let arguments: Vec<&str> = now.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let output = bench.run(&arguments);
    (
        output.status.code(),
        String::from_utf8(output.stdout).expect("UTF-8"),
        failure(&output.stderr),
    )
}
