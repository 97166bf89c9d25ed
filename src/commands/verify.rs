//! `pagefold verify`: checks the store for damage.

use crate::advice;
use crate::cli;
use crate::jobs;
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, grouped, megabytes, print_json, show};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use workers::error::{Error, Kind, Result};
use workers::store::Store;
use workers::upkeep::rollback;
use workers::verify::{self, Depth};

/// `pagefold verify`.
pub fn command(arguments: &cli::Verify) -> Result<()> {
    let job = jobs::read(&arguments.shared.job, &arguments.shared.sets)?;
    // The files are checked for any job; the rows are checked only with the job that made them.
    let identity = if arguments.deep { Some(job.identity()?) } else { None };
    let store = Store::open(&job.store, identity.as_ref())?;
    let is_full = arguments.full || arguments.deep;
    let depth = if is_full { Depth::Bytes } else { Depth::Sizes };
    let report = verify::verify(&store, depth)?;
    let deep = match &report.head {
        Some(head) if arguments.deep && report.findings.is_empty() => {
            Some(verify::deep(&store, head, &job, arguments.sample as usize)?)
        }
        _ => None,
    };
    // A file that this user may not read is not known to be damaged.
    let (denied, damaged): (Vec<_>, Vec<_>) = report.findings.iter().partition(|finding| {
        std::fs::File::open(&finding.path)
            .is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
    });
    // The head, if it is damaged, and the newest epoch that it could be rolled back to.
    let damaged_head =
        report.head.as_ref().filter(|_| !report.head_is_whole && !damaged.is_empty());
    let whole = match damaged_head {
        Some(head) => rollback::newest_whole(&store, head)?,
        None => None,
    };
    if arguments.shared.json {
        print_json(&as_json(&report, deep.as_ref(), whole))?;
    } else {
        let mut text = files_as_text(&report, damaged.len(), is_full);
        if report.head.is_some() && !damaged.is_empty() {
            let lists = store.data().join("consumed");
            let lacks_inputs = damaged.iter().any(|finding| finding.path.starts_with(&lists));
            text.push_str(&remedies(damaged_head.is_some(), lacks_inputs, whole));
        }
        match &deep {
            Some(deep) => text.push_str(&as_text(deep)),
            None if report.findings.is_empty() && report.head.is_none() => {
                text.push_str("no epoch yet: `pagefold run JOB` commits the first\n");
            }
            None if !arguments.deep => {}
            None => text.push_str("deep: not begun, as files are damaged\n"),
        }
        show(
            &advice::Job::new(&arguments.shared.job, &arguments.shared.sets).with_commands(&text),
        )?;
    }
    check_files(&job.store, damaged.len(), denied.len())?;
    match deep.map_or(0, |deep| deep.found()) {
        0 => Ok(()),
        found => {
            let rows = counted(found, "row");
            let line = format!("{}: {rows} wrong or missing", job.store.display());
            Err(Error::new(Kind::Io, line))
        }
    }
}

/// What is wrong with files, and how many there are; and how many bytes were read if all were.
fn files_as_text(report: &verify::Report, damaged: usize, is_full: bool) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}", finding.path.display(), plain(&finding.what));
    }
    let read = if is_full { format!(", {} read", megabytes(report.bytes)) } else { String::new() };
    let _ = writeln!(text, "{}{read}: {damaged} wrong", counted(report.files, "file"));
    text
}

/// Fails if files are damaged, or may not be read.
fn check_files(store: &Path, damaged: usize, denied: usize) -> Result<()> {
    let (kind, line) = match (damaged, denied) {
        (0, 0) => return Ok(()),
        (0, n) => (Kind::Permission, format!("{} may not be read", counted(n as u64, "file"))),
        (n, 0) => (Kind::Io, counted(n as u64, "damaged file")),
        (n, m) => {
            let damaged = counted(n as u64, "damaged file");
            (Kind::Io, format!("{damaged}, and {m} that may not be read"))
        }
    };
    Err(Error::new(kind, format!("{}: {line}", store.display())))
}

/// The line about what to do with damaged or missing files. Runs need only those of the head. A
/// rebuild needs the lists of inputs.
fn remedies(head_is_damaged: bool, lacks_inputs: bool, whole: Option<u64>) -> String {
    if !head_is_damaged {
        return "the head does not need these files, and runs go on; earlier epochs that need them \
                cannot be restored\n"
            .into();
    }
    let back = match whole {
        Some(epoch) => format!(
            "; or `pagefold rollback JOB {epoch} --forget-inputs`: epoch {epoch} is whole, and the next run reads what came after it again"
        ),
        None => String::new(),
    };
    let anew = match (lacks_inputs, &whole) {
        (false, _) => "; or `pagefold rebuild JOB` makes the store again from its inputs",
        (true, Some(_)) => "",
        (true, None) => {
            "; without the list of inputs no rebuild is possible: move the store away, and a run \
             with `--allow store` makes another from all inputs that are there"
        }
    };
    format!("put the files back from a copy{anew}{back}\n")
}

fn as_json(
    report: &verify::Report,
    deep: Option<&verify::Deep>,
    whole: Option<u64>,
) -> serde_json::Value {
    let findings: Vec<serde_json::Value> = report
        .findings
        .iter()
        .map(|finding| json!({ "path": finding.path, "what": finding.what }))
        .collect();
    let row =
        |row: &verify::RowFinding| json!({ "table": row.table, "key": row.key, "what": row.what });
    let check = |check: &verify::Check| {
        let findings: Vec<serde_json::Value> = check.findings.iter().map(row).collect();
        json!({ "check": check.name, "found": check.found, "findings": findings })
    };
    let recall = |recall: verify::Recall| {
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
        "whole_epoch": whole,
        "checks": deep.map(|deep| deep.checks.iter().map(check).collect::<Vec<_>>()),
        "recall": deep.and_then(|deep| deep.recall).map(recall),
    })
}

fn as_text(deep: &verify::Deep) -> String {
    let mut text = String::new();
    for check in &deep.checks {
        for row in &check.findings {
            let _ = writeln!(
                text,
                "{}: {} {}: {}",
                check.name,
                row.table,
                plain(&row.key),
                plain(&row.what)
            );
        }
        let more = check.found - check.findings.len() as u64;
        if more > 0 {
            let _ = writeln!(text, "{}: {} more", check.name, grouped(more));
        }
    }
    let _ = writeln!(
        text,
        "{} checks: {} wrong or missing",
        deep.checks.len(),
        counted(deep.found(), "row")
    );
    match deep.recall {
        Some(recall) => {
            let _ = writeln!(
                text,
                "recall: {} of {} fingerprints against all: {} near pairs that the rules compare, \
                 {} stored",
                grouped(recall.sampled),
                grouped(recall.fingerprints),
                grouped(recall.near_pairs),
                grouped(recall.stored)
            );
        }
        None => text.push_str(
            "the other checks were not made: tables whose rows do not add up cannot be compared\n",
        ),
    }
    text
}
