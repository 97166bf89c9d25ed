//! `pagefold report`: writes a report of the store as an HTML page.

use crate::cli;
use crate::jobs::{committed, open};
use crate::terminal::print::{print_json, show};
use serde_json::json;
use workers::ask::index::Index;
use workers::ask::report;
use workers::error::{Error, Result};
use workers::store::durable;

/// `pagefold report`.
pub fn command(arguments: &cli::Report) -> Result<()> {
    let (job, store, head) = open(&arguments.of)?;
    let head = committed(&store, head)?;
    let page = report::html(&Index::open(&job, &store, &head)?, &store, &head)?;
    let path = arguments.out.clone().unwrap_or_else(|| job.output.dir.join("report.html"));
    let output = |e: Error| e.with_kind(workers::error::Kind::Output);
    if arguments.out.is_none() {
        durable::create_folder(&job.output.dir).map_err(output)?;
    }
    // A bare name has no folder to be made durable in.
    let whole = std::path::absolute(&path).map_err(|e| output(Error::io("find", &path, e)))?;
    durable::write(&whole, page.as_bytes()).map_err(output)?;
    match arguments.of.json {
        true => {
            print_json(&json!({ "epoch": head.manifest.epoch, "file": path, "bytes": page.len() }))
        }
        false => show(&format!("report of epoch {}: {}\n", head.manifest.epoch, path.display())),
    }
}
