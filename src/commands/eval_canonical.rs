//! `pagefold eval --canonical`: writes labels from a crawl's hints that two addresses are the same.

use crate::terminal::print::{counted, grouped, print_json, show};
use crate::{cli, opened};
use serde_json::json;
use workers::error::{Error, Kind, Result};
use workers::eval::canonical::{By, Counts, GROUP_PAGES_MAX, Hints, Pair, hints};
use workers::export::ours;
use workers::store::durable;

/// `pagefold eval --canonical`.
pub fn command(arguments: &cli::Eval) -> Result<()> {
    let path = &arguments.labels;
    // The file may have answers of a person.
    if path.exists() {
        let line = format!(
            "--labels {}: is there already; name another file, or leave out --canonical",
            path.display()
        );
        return Err(Error::new(Kind::Usage, line));
    }
    let (job, store, head) = opened::open(&arguments.shared)?;
    ours::check_apart("--labels", path, &job)?;
    durable::create_folder(durable::folder_of(path)).map_err(Error::as_output)?;
    let found = hints(&job, &store, &head)?;
    if found.pairs.is_empty() {
        let line = format!("{}; nothing was written", summary(&found));
        return Err(Error::new(Kind::Data, line));
    }
    let row = |Pair { a, b, by }: &Pair| {
        format!("{}\n", json!({ "a": a, "b": b, "same": true, "by": by }))
    };
    let rows: String = found.pairs.iter().map(row).collect();
    let whole = std::path::absolute(path).map_err(|e| Error::io("find", path, e).as_output())?;
    durable::write(&whole, rows.as_bytes()).map_err(Error::as_output)?;
    if arguments.shared.json {
        return print_json(&json!({ "file": path, "rows": found.pairs.len(), "hints": found }));
    }
    show(&format!(
        "{}: {}: {}\n",
        path.display(),
        counted(found.pairs.len() as u64, "row"),
        summary(&found)
    ))
}

fn summary(found: &Hints) -> String {
    let kinds = By::ALL.into_iter().zip(&found.counts).map(|(by, counts)| {
        let (kind, what) = match by {
            By::Canonical => {
                let pages = counted(found.html_pages, "HTML page");
                ("canonical", format!("{} of {pages} name another address", grouped(counts.named)))
            }
            By::Redirect => {
                ("redirect", format!("{} lead to another", counted(counts.named, "URL")))
            }
            By::Revisit => {
                ("revisit", format!("{} had the bytes of another", counted(counts.named, "URL")))
            }
        };
        format!("{} by {kind} ({what}{})", grouped(counts.pairs), left_out(counts))
    });
    kinds.collect::<Vec<_>>().join(", ")
}

fn left_out(counts: &Counts) -> String {
    match counts.left_out {
        0 => String::new(),
        n => format!("; left out: {} that more than {GROUP_PAGES_MAX} share", counted(n, "URL")),
    }
}
