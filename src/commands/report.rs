//! `pagefold report`: writes a report of the store as an HTML page.

use crate::cli;
use crate::opened::open;
use crate::terminal::print::{print_json, show};
use serde_json::json;
use workers::ask::index::Index;
use workers::ask::report;
use workers::error::{Error, Result};
use workers::export::ours;
use workers::store::durable;

/// A mark that each report has in its head.
const MARK: &str = "<title>pagefold: epoch";

/// `pagefold report`.
pub fn command(arguments: &cli::Report) -> Result<()> {
    let (job, store, head) = open(&arguments.shared)?;
    let path = arguments.out.clone().unwrap_or_else(|| job.output.dir.join("report.html"));
    match &arguments.out {
        Some(out) => ours::check_named("--out", out, MARK, &job)?,
        None => ours::check(&path, MARK, "or name another folder as [output] dir")?,
    }
    durable::create_folder(durable::folder_of(&path)).map_err(Error::as_output)?;
    let page = report::html(&Index::open(&job, &store, &head)?, &store, &head)?;
    durable::write(&path, page.as_bytes()).map_err(Error::as_output)?;
    match arguments.shared.json {
        true => {
            print_json(&json!({ "epoch": head.manifest.epoch, "file": path, "bytes": page.len() }))
        }
        false => show(&format!("report of epoch {}: {}\n", head.manifest.epoch, path.display())),
    }
}
