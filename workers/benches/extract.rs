//! Measures the extractor on hostile pages: seconds and MB/s of each shape, and how much longer a
//! page of twice the size takes (about 2 if the work is linear).
//!
//! `cargo bench --bench extract`; without `--bench` sizes are a hundredth. `extract/tests/mod.rs`
//! asserts counts of steps.

use std::hint::black_box;
use std::time::Instant;
use workers::extract::{Options, html};

fn seconds(page: &str, options: &Options) -> f64 {
    let once = || {
        let start = Instant::now();
        black_box(html(page.as_bytes(), None, options));
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let scale = if std::env::args().any(|argument| argument == "--bench") { 100 } else { 1 };
    let options = Options { html_bytes_max: 1 << 30, ..Options::default() };
    let many = |times: usize, part: &str| part.repeat(times * scale);
    let attributes = |times: usize| {
        let list: String = (0..times * scale).map(|n| format!(" a{n}=\"{n}\"")).collect();
        format!("<div{list}>text</div>")
    };
    type Shape<'a> = (&'a str, Box<dyn Fn(usize) -> String + 'a>);
    let shapes: Vec<Shape<'_>> = vec![
        ("100,000 nested div", Box::new(|n| format!("{}text", many(1000 * n, "<div>")))),
        ("1,000,000 attributes", Box::new(|n| attributes(10_000 * n))),
        (
            "10 MB of script",
            Box::new(|n| format!("<script>{}</script><p>text</p>", many(10_000 * n, "var a=1;//"))),
        ),
        ("50,000 open <a><div>", Box::new(|n| many(500 * n, "<a href=x><div>link"))),
        ("100,000 <svg></x>", Box::new(|n| many(1000 * n, "<svg></x>"))),
        ("1,000,000 <", Box::new(|n| many(10_000 * n, "<"))),
        ("an open comment", Box::new(|n| format!("<!--{}", many(10_000 * n, "a comment ")))),
        (
            "100,000 table cells",
            Box::new(|n| format!("<table>{}</table>", many(1000 * n, "<tr><td>cell"))),
        ),
        ("1,000,000 entities", Box::new(|n| format!("<p>{}</p>", many(10_000 * n, "&amp;")))),
    ];
    for (name, shape) in shapes {
        let (one, two) = (shape(1), shape(2));
        let (once, twice) = (seconds(&one, &options), seconds(&two, &options));
        let rate = one.len() as f64 / 1e6 / once;
        println!(
            "{name:22} {:8.2} ms {rate:7.0} MB/s; twice the page {:.1} times as long",
            once * 1e3,
            twice / once
        );
    }
}
