//! `pagefold status`: prints what the store holds.

use crate::cli;
use crate::clock::now;
use crate::jobs::{committed, open};
use crate::terminal::print::{counted, grouped, print_json, show};
use crate::terminal::report::unexamined;
use serde_json::json;
use std::fmt::Write;
use workers::error::{Error, Kind, Result};
use workers::plan;
use workers::plan::time::AHEAD_SECONDS_MAX;
use workers::verify::large_buckets::{self, Largest};

/// `pagefold status`.
pub fn command(arguments: &cli::Status) -> Result<()> {
    let (job, store, head) = open(&arguments.of)?;
    let head = committed(&store, head)?;
    let whole = head.clone();
    let read = if arguments.pivots { Some(large_buckets::report(&store, &head, &job.bands()?)?) } else { None };
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
    let age = now().saturating_sub(head.logical_time);
    let left = read.unwrap_or_else(|| head.unexamined.clone());
    let attempts = plan::all_attempts(&job.store)?;
    let unfinished = attempts.iter().filter(|attempt| plan::is_resumable(attempt, Some(&whole))).count();
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
                "  {name:22} {:>14} rows {:>10.1} MB {:>9}",
                grouped(table.rows),
                table.bytes() as f64 / 1e6,
                counted(table.runs.len() as u64, "run")
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
        Some(_) if age < -AHEAD_SECONDS_MAX => {
            let line = format!("{}: the last epoch's time is {} s ahead of the clock", job.store.display(), -age);
            Err(Error::new(Kind::Data, line))
        }
        Some(max) if age > max => {
            let line = format!("{}: the last epoch is {age} s old, more than {max} s", job.store.display());
            Err(Error::new(Kind::Data, line))
        }
        _ => Ok(()),
    }
}
