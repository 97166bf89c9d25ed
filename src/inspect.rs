//! Commands that look at a store and fold nothing: `export`, `status`, `verify`.

use crate::cli;
use crate::jobs;
use crate::launch::now;
use crate::report::{grouped, print_json, show};
use serde_json::json;
use std::fmt::Write;
use workers::error::{Error, Kind, Result};
use workers::job::Job;
use workers::store::Store;
use workers::store::manifest::Head;
use workers::{export as exports, verify as checks};

/// The job, its store and the store's head.
pub fn open(of: &cli::OfJob) -> Result<(Job, Store, Option<Head>)> {
    let job = jobs::read(&of.job, &of.sets)?;
    let store = Store::open(&job.store, Some(&job.identity()?))?;
    let head = store.head()?;
    Ok((job, store, head))
}

/// The head, of which there must be one.
pub fn committed(store: &Store, head: Option<Head>) -> Result<Head> {
    let nothing = || Error::new(Kind::NoInput, format!("{}: no epoch yet; run the job first", store.root().display()));
    head.ok_or_else(nothing)
}

/// `pagefold export`.
pub fn export(of: &cli::OfJob) -> Result<()> {
    let (job, store, head) = open(of)?;
    let _lock = Store::lock(&job.store)?;
    let exported = exports::export(&job, &store, &committed(&store, head)?)?;
    if of.json {
        return print_json(&exported.summary);
    }
    let summary = exported.summary;
    show(&format!(
        "exported epoch {} to {}: {} pages\n",
        summary.epoch,
        job.output.dir.display(),
        grouped(summary.pages)
    ))
}

/// `pagefold status`.
pub fn status(arguments: &cli::Status) -> Result<()> {
    let (job, store, head) = open(&arguments.of)?;
    let head = committed(&store, head)?.manifest;
    if let Some(name) = &arguments.files {
        let table = head.tables.get(name).ok_or_else(|| {
            let names: Vec<&str> = head.tables.keys().map(String::as_str).collect();
            Error::new(Kind::Usage, format!("--files {name}: no such table; there are {}", names.join(", ")))
        })?;
        let folder = store.data().join(name);
        let lines: String = table.segments().map(|segment| format!("{}\n", segment.path(&folder).display())).collect();
        return show(&lines);
    }
    let age = now() - head.logical_time;
    let unfinished = std::fs::read_dir(job.store.join("attempt")).map_or(0, Iterator::count);
    if arguments.of.json {
        let tables: serde_json::Map<String, serde_json::Value> = head
            .tables
            .iter()
            .map(|(name, table)| {
                (name.clone(), json!({ "rows": table.rows, "bytes": table.bytes(), "runs": table.runs.len() }))
            })
            .collect();
        print_json(&json!({
            "epoch": head.epoch,
            "version": head.version,
            "logical_time": head.logical_time,
            "age_s": age,
            "attempts_unfinished": unfinished,
            "tables": tables,
        }))?;
    } else {
        let mut text =
            format!("epoch {}, version {}, {} s old\n", head.epoch, head.version, grouped(age.max(0) as u64));
        if unfinished > 0 {
            text.push_str("an epoch is unfinished: the next run takes it up\n");
        }
        for (name, table) in &head.tables {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "  {name:22} {:>14} rows {:>10.1} MB {:>4} runs",
                grouped(table.rows),
                table.bytes() as f64 / 1e6,
                table.runs.len()
            );
        }
        show(&text)?;
    }
    match arguments.max_age {
        Some(max) if age > max => {
            let line = format!("{}: the last epoch is {age} s old, more than {max} s", job.store.display());
            Err(Error::new(Kind::Data, line))
        }
        _ => Ok(()),
    }
}

/// `pagefold verify`.
pub fn verify(arguments: &cli::Verify) -> Result<()> {
    let job = jobs::read(&arguments.of.job, &arguments.of.sets)?;
    // Whatever the job says, the store is looked at as it is.
    let store = Store::open(&job.store, None)?;
    let report = checks::verify(&store, arguments.full)?;
    if arguments.of.json {
        let findings: Vec<serde_json::Value> =
            report.findings.iter().map(|finding| json!({ "path": finding.path, "what": finding.what })).collect();
        print_json(&json!({ "files": report.files, "bytes": report.bytes, "findings": findings }))?;
    } else {
        let mut text = String::new();
        for finding in &report.findings {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}: {}", finding.path.display(), finding.what);
        }
        let read = if arguments.full { format!(", {:.1} MB read", report.bytes as f64 / 1e6) } else { String::new() };
        let _ = writeln!(text, "{} files{read}: {} wrong", report.files, report.findings.len());
        show(&text)?;
    }
    if report.findings.is_empty() {
        return Ok(());
    }
    Err(Error::new(Kind::Io, format!("{}: {} files are damaged", job.store.display(), report.findings.len())))
}
