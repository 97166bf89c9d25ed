//! `pagefold eval --canonical`: writes labels of what sites say of their own pages.

use crate::terminal::print::{counted, grouped, print_json, show};
use crate::{cli, jobs};
use serde_json::json;
use workers::error::{Error, Kind, Result};
use workers::eval::canonical::{GROUP_PAGES_MAX, Hints, hints};
use workers::store::durable;

/// `pagefold eval --canonical`.
pub fn command(arguments: &cli::Eval) -> Result<()> {
    let path = &arguments.labels;
    // Answers of a person may stand in it.
    if path.exists() {
        let line =
            format!("--labels {}: is there already; name another file, or leave out --canonical", path.display());
        return Err(Error::new(Kind::Usage, line));
    }
    let (job, store, head) = jobs::open(&arguments.of)?;
    let found = hints(&job, &store, &jobs::committed(&store, head)?)?;
    if found.pairs.is_empty() {
        let line = format!("{}; nothing was written", told(&found));
        return Err(Error::new(Kind::NoInput, line));
    }
    let row = |(a, b): &(String, String)| format!("{}\n", json!({ "a": a, "b": b, "same": true, "by": "canonical" }));
    let rows: String = found.pairs.iter().map(row).collect();
    let output = |e: Error| e.with_kind(Kind::Output);
    let whole = std::path::absolute(path).map_err(|e| output(Error::io("find", path, e)))?;
    durable::write(&whole, rows.as_bytes()).map_err(output)?;
    if arguments.of.json {
        return print_json(&json!({ "file": path, "rows": found.pairs.len(), "hints": found }));
    }
    show(&format!("{}: {}: {}\n", path.display(), counted(found.pairs.len() as u64, "row"), told(&found)))
}

fn told(found: &Hints) -> String {
    let left_out = match found.left_out {
        0 => String::new(),
        n => format!("; left out: {} of more than {GROUP_PAGES_MAX} pages", counted(n, "group")),
    };
    format!(
        "{} of {} name another address; {} of pages of the store share one{left_out}",
        grouped(found.linked),
        counted(found.html_pages, "HTML page"),
        counted(found.groups, "group")
    )
}
