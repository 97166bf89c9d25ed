//! Commands that look at a store and fold nothing: `export`, `status`, `verify`.

use crate::cli;
use crate::clock::now;
use crate::jobs;
use crate::print::{grouped, print_json, show};
use crate::report::unexamined;
use serde_json::json;
use std::fmt::Write;
use workers::crowds::{self, Largest};
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
    let head = committed(&store, head)?;
    let read = if arguments.pivots { Some(crowds::report(&store, &head, &job.bands()?)?) } else { None };
    let (read, largest) = read.unzip();
    let head = head.manifest;
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
    let left = read.unwrap_or_else(|| head.unexamined.clone());
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
            "unexamined": left,
            "largest_buckets": largest,
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
        for left in unexamined(&left) {
            let _ = writeln!(text, "{left}");
        }
        for (name, Largest { key, contents, url }) in largest.iter().flatten() {
            let _ = writeln!(text, "{name}: the largest bucket, {key}, has {} texts, as {url}", grouped(*contents));
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
    // Whatever the job says, the store's files are looked at as they are; its rows are looked at with the job that made them.
    let identity = if arguments.deep { Some(job.identity()?) } else { None };
    let store = Store::open(&job.store, identity.as_ref())?;
    let full = arguments.full || arguments.deep;
    let report = checks::verify(&store, full)?;
    let deep = match &report.head {
        Some(head) if arguments.deep && report.findings.is_empty() => {
            Some(checks::deep(&store, head, &job, arguments.sample as usize)?)
        }
        _ => None,
    };
    if arguments.of.json {
        print_json(&as_json(&report, deep.as_ref()))?;
    } else {
        let mut text = String::new();
        for finding in &report.findings {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}: {}", finding.path.display(), finding.what);
        }
        let read = if full { format!(", {:.1} MB read", report.bytes as f64 / 1e6) } else { String::new() };
        let _ = writeln!(text, "{} files{read}: {} wrong", report.files, report.findings.len());
        match &deep {
            Some(deep) => text.push_str(&as_text(deep)),
            None if !arguments.deep => {}
            None if report.findings.is_empty() => text.push_str("deep: nothing to look at, there is no epoch yet\n"),
            None => text.push_str("deep: not begun, as files are damaged\n"),
        }
        show(&text)?;
    }
    if !report.findings.is_empty() {
        let line = format!("{}: {} files are damaged", job.store.display(), report.findings.len());
        return Err(Error::new(Kind::Io, line));
    }
    match deep.map_or(0, |deep| deep.found()) {
        0 => Ok(()),
        found => {
            let line = format!("{}: {} rows are wrong or missing", job.store.display(), grouped(found));
            Err(Error::new(Kind::Io, line))
        }
    }
}

fn as_json(report: &checks::Report, deep: Option<&checks::Deep>) -> serde_json::Value {
    let findings: Vec<serde_json::Value> =
        report.findings.iter().map(|finding| json!({ "path": finding.path, "what": finding.what })).collect();
    let row = |row: &checks::RowFinding| json!({ "table": row.table, "key": row.key, "what": row.what });
    let check = |check: &checks::Check| {
        let findings: Vec<serde_json::Value> = check.findings.iter().map(row).collect();
        json!({ "check": check.name, "found": check.found, "findings": findings })
    };
    let recall = |recall: checks::Recall| {
        json!({
            "sampled": recall.sampled,
            "fingerprints": recall.fingerprints,
            "near_pairs": recall.near_pairs,
            "stored": recall.stored,
        })
    };
    json!({
        "files": report.files,
        "bytes": report.bytes,
        "findings": findings,
        "checks": deep.map(|deep| deep.checks.iter().map(check).collect::<Vec<_>>()),
        "recall": deep.and_then(|deep| deep.recall).map(recall),
    })
}

fn as_text(deep: &checks::Deep) -> String {
    let mut text = String::new();
    for check in &deep.checks {
        for row in &check.findings {
            let _ = writeln!(text, "{}: {} {}: {}", check.name, row.table, row.key, row.what);
        }
        let more = check.found - check.findings.len() as u64;
        if more > 0 {
            let _ = writeln!(text, "{}: {} more", check.name, grouped(more));
        }
    }
    let _ = writeln!(text, "{} checks: {} rows wrong or missing", deep.checks.len(), grouped(deep.found()));
    match deep.recall {
        Some(recall) => {
            let _ = writeln!(
                text,
                "recall: {} of {} fingerprints against all: {} near pairs by brute force, {} stored",
                grouped(recall.sampled),
                grouped(recall.fingerprints),
                grouped(recall.near_pairs),
                grouped(recall.stored)
            );
        }
        None => text.push_str("the other checks were not made: tables whose rows do not add up cannot be compared\n"),
    }
    text
}
