//! Writes the demo crawl: about 400 made-up pages on ten hosts in six files, with known
//! near-duplicates and the damage that real crawls have.
//!
//! The argument is a folder for the files. `<folder>_truth.jsonl` gets lines {"url", "label"},
//! where equal labels belong together. Running it again writes the same bytes.
//!
//! ```text
//! cargo run --release --example demo_crawl -- tests/data/demo
//! ```

#[path = "support/articles.rs"]
mod articles;
#[path = "support/capture.rs"]
mod capture;
#[path = "support/edits.rs"]
mod edits;
#[path = "support/plan.rs"]
mod plan;
#[path = "support/random.rs"]
mod random;
#[path = "support/site.rs"]
mod site;
#[path = "support/traditional.rs"]
mod traditional;
#[path = "support/warc.rs"]
mod warc;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

const SEED: u64 = 2025;
const ARTICLES_ZH: usize = 96;
const ARTICLES_EN: usize = 12;

fn make() -> capture::Demo {
    let articles = articles::compose(SEED, ARTICLES_ZH, ARTICLES_EN);
    capture::demo(&articles, &plan::pages(&articles, SEED), SEED)
}

fn write(folder: &Path, demo: &capture::Demo) -> io::Result<()> {
    let failed = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, bytes) in &demo.files {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| failed(&path, error))?;
    }
    let mut name = folder.file_name().unwrap_or_default().to_os_string();
    name.push("_truth.jsonl");
    let path = folder.with_file_name(name);
    fs::write(&path, truth(demo)).map_err(|error| failed(&path, error))
}

/// The truth as lines.
fn truth(demo: &capture::Demo) -> String {
    demo.truth
        .iter()
        .map(|(url, label)| format!("{{\"url\":\"{url}\",\"label\":\"{label}\"}}\n"))
        .collect()
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder] = &arguments[..] else {
        eprintln!("usage: demo_crawl FOLDER");
        return ExitCode::from(2);
    };
    let demo = make();
    if let Err(error) = write(Path::new(folder), &demo) {
        eprintln!("demo_crawl: {error}");
        return ExitCode::from(2);
    }
    for (name, bytes) in &demo.files {
        println!("{:>8} bytes  {name}", bytes.len());
    }
    for (kind, count) in &demo.counts {
        println!("{count:>8} {kind}");
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This program writes the recorded demo: the bytes depend only on its source, not on a clock
    /// or the order of a hash map.
    #[test]
    fn the_recorded_bytes() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
        let demo = make();
        for (name, bytes) in &demo.files {
            assert!(
                fs::read(recorded.join("demo").join(name)).expect("recorded") == *bytes,
                "{name} differs"
            );
        }
        assert_eq!(
            fs::read_dir(recorded.join("demo")).expect("recorded").count(),
            demo.files.len()
        );
        assert!(
            fs::read_to_string(recorded.join("demo_truth.jsonl")).expect("recorded")
                == truth(&demo)
        );
    }

    /// The demo is the same every time.
    #[test]
    fn the_same_bytes_every_time() {
        let (one, two) = (make(), make());
        assert_eq!(one.files, two.files);
        assert_eq!(one.truth, two.truth);
    }
}
