//! `pagefold status`: prints what the store holds.

use crate::cli;
use crate::clock::now;
use crate::jobs::{committed, open};
use crate::terminal::print::{counted, grouped, megabytes, print_json, show};
use crate::terminal::report::unexamined;
use serde_json::json;
use std::fmt::Write;
use workers::ask::state::{self, Expiry, State};
use workers::error::{Error, Kind, Result};
use workers::plan::time::AHEAD_SECONDS_MAX;
use workers::store::manifest::Op;
use workers::verify::large_buckets::{self, Largest};

/// `pagefold status`.
pub fn command(arguments: &cli::Status) -> Result<()> {
    let (job, store, head) = open(&arguments.of)?;
    let head = committed(&store, head)?;
    let read = if arguments.pivots { Some(large_buckets::report(&store, &head, &job.bands()?)?) } else { None };
    let (read, largest) = read.unzip();
    let manifest = &head.manifest;
    if let Some(name) = &arguments.files {
        let table = manifest.tables.get(name).ok_or_else(|| {
            let names: Vec<&str> = manifest.tables.keys().map(String::as_str).collect();
            Error::new(Kind::Usage, format!("--files {name}: no such table; there are {}", names.join(", ")))
        })?;
        let folder = store.data().join(name);
        let lines: String = table.segments().map(|segment| format!("{}\n", segment.path(&folder).display())).collect();
        return show(&lines);
    }
    let age = now().saturating_sub(manifest.logical_time);
    let left = read.unwrap_or_else(|| manifest.unexamined.clone());
    let state = state::state(&job, &store, &head, now())?;
    if arguments.of.json {
        let tables: serde_json::Map<String, serde_json::Value> = manifest
            .tables
            .iter()
            .map(|(name, table)| {
                (name.clone(), json!({ "rows": table.rows, "bytes": table.bytes(), "runs": table.runs.len() }))
            })
            .collect();
        print_json(&json!({
            "state": state,
            "epoch": manifest.epoch,
            "version": manifest.version,
            "logical_time": manifest.logical_time,
            "age_s": age,
            "attempts_unfinished": state.attempts.unfinished,
            "tables": tables,
            "unexamined": left,
            "largest_buckets": largest,
        }))?;
    } else {
        let mut text = as_text(&state, age);
        if arguments.tables {
            for (name, table) in &manifest.tables {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "  {name:22} {:>14} rows {:>10.1} MB {:>9}",
                    grouped(table.rows),
                    table.bytes() as f64 / 1e6,
                    counted(table.runs.len() as u64, "run")
                );
            }
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

/// The state for people.
fn as_text(state: &State, age: i64) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: String| _ = writeln!(out, "{name:<11}{text}");
    let kept = state.pages.saturating_sub(state.folded);
    line("pages", format!("{}, {}", grouped(state.pages), counted(state.contents, "distinct text")));
    line("kept", grouped(kept));
    line("folded", format!("{} in {}", grouped(state.folded), counted(state.clusters, "cluster")));
    let last = &state.last;
    let how = match last.op {
        Op::Epoch | Op::Merge => "committed",
        Op::Rollback => "rolled back to",
    };
    let ago = if age < 0 { format!("{} ahead of the clock", period(-age)) } else { format!("{} ago", period(age)) };
    line("last", format!("epoch {}, {how}, planned {ago}", last.epoch));
    line(
        "",
        format!(
            "{} read, {} accepted, {} rejected",
            counted(last.read, "record"),
            grouped(last.accepted),
            grouped(last.rejected)
        ),
    );
    line(
        "",
        format!(
            "{} new, {} changed, {} gone",
            counted(last.pages_new, "page"),
            grouped(last.pages_changed),
            grouped(last.pages_gone)
        ),
    );
    if state.attempts.unfinished > 0 {
        line("", "an epoch is unfinished: the next run takes it up".into());
    }
    if state.attempts.refused > 0 {
        line("", "a guard refused a later epoch: the next run plans it again".into());
    }
    match (&state.inputs, &state.inputs_error) {
        (Some(inputs), _) => line(
            "waiting",
            format!(
                "{} of {} ({})",
                grouped(inputs.waiting),
                counted(inputs.files, "input"),
                megabytes(inputs.waiting_bytes)
            ),
        ),
        (None, why) => line("waiting", format!("not known: {}", why.as_deref().unwrap_or_default())),
    }
    let free = state.gc_bytes.map_or(String::new(), |bytes| format!("; gc --delete would free {}", megabytes(bytes)));
    line("disk", megabytes(state.disk_bytes) + &free);
    if let Some(expiry) = state.expiry {
        expires(&mut line, expiry);
    }
    out
}

fn expires(line: &mut impl FnMut(&str, String), expiry: Expiry) {
    if let Some(next) = expiry.next {
        let when = match next - now() {
            over @ ..=0 => format!("{} ago; the next run removes them", period(-over)),
            left => format!("in {}", period(left)),
        };
        line("expiry", format!("of {} {when}, unless seen before", counted(expiry.next_pages, "page")));
    }
    if expiry.next_reading_pages > 0 {
        let pages = counted(expiry.next_reading_pages, "page");
        line("expiry", format!("of {pages} at the next run that reads, unless it sees them"));
    }
}

/// A length of time in its two largest units.
fn period(seconds: i64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{} d {hours} h", grouped(days as u64)),
    }
}
