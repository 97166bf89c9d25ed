//! Writes the small samples that replace real data in the tests, because real data may not be
//! redistributed.
//!
//! - `news.jsonl.gz`: the same articles on three sites, each with its own small changes. Lines
//!   {"site", "label", "text"}; equal labels belong together.
//! - `epochs/e00.jsonl.gz` to `e11.jsonl.gz`: twelve epochs of a site whose pages appear, change,
//!   move, are mirrored, and disappear. Lines {"op", "url", "date", "text"}, where "op" is "add",
//!   "change" or "remove".
//!
//! Running it again writes the same bytes.
//!
//! ```text
//! cargo run --release --example samples -- tests/data
//! ```

#[path = "support/articles.rs"]
mod articles;
#[path = "support/edits.rs"]
mod edits;
#[path = "support/random.rs"]
mod random;
#[path = "support/traditional.rs"]
mod traditional;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use flate2::{Compression, GzBuilder};
use jiff::ToSpan;
use serde_json::json;

use crate::articles::{Article, NEW_YEAR};
use crate::random::Random;
use crate::traditional::Traditional;

const SEED: u64 = 2026;
const EPOCHS: usize = 12;

/// Names and contents of all samples, before compression.
fn make() -> Vec<(String, String)> {
    let epochs = epochs().into_iter().enumerate();
    let epochs = epochs.map(|(number, lines)| (format!("epochs/e{number:02}.jsonl.gz"), lines));
    [("news.jsonl.gz".to_owned(), news())].into_iter().chain(epochs).collect()
}

/// Every article thrice: as it is; with a line in front and another sentence; with its title and
/// its author, in traditional characters where it is Chinese.
fn news() -> String {
    let mut random = Random::of(SEED, 0);
    let traditional = Traditional::new();
    let mut lines = String::new();
    for (number, original) in articles::compose(SEED, 36, 8).iter().enumerate() {
        let mut edited = original.clone();
        edits::headline(&mut edited, &mut random);
        edits::sentence(&mut edited, &mut random);
        let signed = format!("{}\n{}\n{}", original.title, original.author, original.text());
        let signed = if original.english { signed } else { traditional.convert(&signed) };
        let texts = [("one", original.text()), ("two", edited.text()), ("three", signed)];
        for (site, text) in texts {
            let site = format!("{site}.example");
            lines += &format!(
                "{}\n",
                json!({ "site": site, "label": format!("a{number:02}"), "text": text })
            );
        }
    }
    lines
}

/// The lines of each epoch: first thirty pages, then in each epoch some that are new, changed,
/// moved, mirrored or gone.
fn epochs() -> Vec<String> {
    let mut random = Random::of(SEED, 1);
    let mut unpublished = articles::compose(SEED + 1, 56, 12).into_iter();
    let mut live: BTreeMap<String, Article> = BTreeMap::new();
    let mut epochs = Vec::new();
    for number in 0..EPOCHS {
        let date = format!("{}Z", NEW_YEAR + (30 * number as i64).days());
        let mut lines = String::new();
        let mut say = |op: &str, url: &str, article: &Article| {
            let text = format!("{}\n{}", article.written_date(), article.text());
            lines += &format!("{}\n", json!({ "op": op, "url": url, "date": date, "text": text }));
        };
        if number > 0 {
            let mut urls: Vec<String> = live.keys().cloned().collect();
            let mut draw = || urls.swap_remove(random.below(urls.len()));
            let (changed, moved, gone) = ([draw(), draw(), draw()], draw(), [draw(), draw()]);
            let mirrored = [draw(), draw(), draw()];
            for url in &changed {
                let article = live.get_mut(url).expect("a live page");
                if number % 2 == 0 {
                    edits::sentence(article, &mut random);
                } else {
                    edits::figure(article, &mut random);
                }
                say("change", url, article);
            }
            let article = live[&moved].clone();
            let target = format!("{moved}-v{number}");
            say("add", &target, &article);
            live.insert(target, article);
            for url in mirrored {
                let mut article = live[&url].clone();
                edits::headline(&mut article, &mut random);
                let target =
                    url.replacen("https://", &format!("https://mirror{number}.example/"), 1);
                say("add", &target, &article);
                live.insert(target, article);
            }
            for url in gone.iter().chain([&moved]) {
                say("remove", url, &live.remove(url).expect("a live page"));
            }
        }
        for article in unpublished.by_ref().take(if number == 0 { 30 } else { 3 }) {
            let url =
                format!("https://docs.example/{}/{}", article.theme, live.len() + 100 * number);
            say("add", &url, &article);
            live.insert(url, article);
        }
        epochs.push(lines);
    }
    epochs
}

/// One gzip member without a time.
fn gzip(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder =
        GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("epochs"))?;
    for (name, text) in make() {
        let bytes = gzip(&text)?;
        println!("{:>8} bytes  {name}", bytes.len());
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder] = &arguments[..] else {
        eprintln!("usage: samples FOLDER");
        return ExitCode::from(2);
    };
    if let Err(error) = write(Path::new(folder)) {
        eprintln!("samples: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// This program writes the recorded samples, so that anyone can make them again.
    #[test]
    fn the_recorded_samples() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
        for (name, text) in make() {
            let bytes = fs::read(recorded.join(&name)).expect("recorded");
            let mut content = String::new();
            flate2::read::GzDecoder::new(&bytes[..])
                .read_to_string(&mut content)
                .expect("readable");
            assert!(content == text, "{name} differs");
        }
    }
}
