//! `pagefold status`: prints the state of the store.

use crate::cli;
use crate::opened::open;
use crate::terminal::lost;
use crate::terminal::paint::plain;
use crate::terminal::print::{Lines, counted, grouped, print_json, show, size};
use crate::terminal::report::findings::unexamined;
use crate::terminal::report::inputs::{barren, left_in_inbox};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use workers::ask::elsewhere::{Elsewhere, elsewhere};
use workers::ask::state::{self, Expiry, State};
use workers::candidates::pivots::BySignature;
use workers::error::{Error, Kind, Result};
use workers::plan::consumed::History;
use workers::plan::inputs::Input;
use workers::plan::time::AHEAD_SECONDS_MAX;
use workers::plan::time::now;
use workers::store::Store;
use workers::store::manifest::{Manifest, Op, TableState};
use workers::verify::large_buckets::{self, Largest};

/// `pagefold status`.
pub fn command(arguments: &cli::Status) -> Result<()> {
    let (job, store, head) = open(&arguments.shared)?;
    if let Some(table) = &arguments.files {
        let files = files(&store, &head.manifest, table)?;
        if arguments.shared.json {
            return print_json(&json!({ "table": table, "files": files }));
        }
        return show(&files.iter().map(|path| format!("{path}\n")).collect::<String>());
    }
    let read = if arguments.pivots {
        Some(large_buckets::report(&store, &head, &job.bands()?)?)
    } else {
        None
    };
    let (read, largest) = read.unzip();
    let left = read.unwrap_or_else(|| head.manifest.unexamined.clone());
    let age = now().saturating_sub(head.manifest.logical_time);
    let state = state::state(&job, &store, &head, now())?;
    // If the inputs cannot be listed, `waiting` says so.
    let (mut not_consumed, mut gone) = (Vec::new(), None);
    if let Ok(history) = History::read(&job, &store, Some(&head)) {
        not_consumed = history.barren();
        gone = elsewhere(&job, &store, &head, &history).unwrap_or_default();
    }
    if arguments.shared.json {
        as_json(&state, &head.manifest, age, &left, &largest, &not_consumed, gone)?;
    } else {
        let gone = gone.map(|of| lost::elsewhere(&job, of));
        let mut text =
            as_text(&state, age, left_in_inbox(&job), &barren(&job, &not_consumed), gone);
        if arguments.tables {
            text += &tables(&head.manifest);
        }
        text.extend(unexamined(&left).into_iter().map(|line| line + "\n"));
        text.extend(largest.iter().flatten().map(|(name, Largest { key, contents, url })| {
            format!(
                "{name}: the largest bucket, {key}, has {} texts, as {}\n",
                grouped(*contents),
                plain(url)
            )
        }));
        show(&text)?;
    }
    arguments.max_age.map_or(Ok(()), |max| check_age(&job.store, age, max))
}

/// The paths of the files of a table.
fn files(store: &Store, manifest: &Manifest, name: &str) -> Result<Vec<String>> {
    let table = manifest.tables.get(name).ok_or_else(|| {
        let names: Vec<&str> = manifest.tables.keys().map(String::as_str).collect();
        Error::new(
            Kind::Usage,
            format!("--files {name}: no such table; there are {}", names.join(", ")),
        )
    })?;
    let folder = store.data().join(name);
    Ok(table.segments().map(|segment| segment.path(&folder).display().to_string()).collect())
}

/// Fails if the last epoch is older than `max` seconds, or its time is far ahead of the clock.
fn check_age(store: &Path, age: i64, max: i64) -> Result<()> {
    let why = match age {
        _ if age < -AHEAD_SECONDS_MAX => {
            format!("the last epoch's time is {} s ahead of the clock", -age)
        }
        _ if age > max => format!("the last epoch is {age} s old, more than {max} s"),
        _ => return Ok(()),
    };
    Err(Error::new(Kind::Data, format!("{}: {why}", store.display())))
}

/// The state for programs.
fn as_json(
    state: &State,
    manifest: &Manifest,
    age: i64,
    left: &BySignature,
    largest: &Option<BTreeMap<String, Largest>>,
    not_consumed: &[Input],
    gone: Option<Elsewhere>,
) -> Result<()> {
    let row = |table: &TableState| json!({ "rows": table.rows, "bytes": table.bytes(), "runs": table.runs.len() });
    let tables: serde_json::Map<String, serde_json::Value> =
        manifest.tables.iter().map(|(name, table)| (name.clone(), row(table))).collect();
    print_json(&json!({
        "state": state,
        "epoch": manifest.epoch,
        "version": manifest.version,
        "logical_time": manifest.logical_time,
        "age_s": age,
        "attempts_unfinished": state.attempts.unfinished,
        "tables": tables,
        "inputs_not_consumed": not_consumed.iter().map(Input::shown).collect::<Vec<_>>(),
        "elsewhere": gone,
        "unexamined": left,
        "largest_buckets": largest,
    }))
}

/// The tables, one a line.
fn tables(manifest: &Manifest) -> String {
    let line = |(name, table): (&String, &TableState)| {
        let (rows, runs) = (grouped(table.rows), counted(table.runs.len() as u64, "run"));
        let unit = if table.rows == 1 { "row" } else { "rows" };
        format!("  {name:22} {rows:>14} {unit:4} {:>10} {runs:>9}\n", size(table.bytes()))
    };
    manifest.tables.iter().map(line).collect()
}

/// The state for people.
fn as_text(
    state: &State,
    age: i64,
    left: Option<String>,
    not_consumed: &[String],
    gone: Option<String>,
) -> String {
    let mut lines = Lines::default();
    let kept = state.pages.saturating_sub(state.folded);
    lines.line(
        "pages",
        format!("{}, {}", grouped(state.pages), counted(state.contents, "distinct text")),
    );
    lines.line("kept", grouped(kept));
    lines.line(
        "folded",
        format!("{} in {}", grouped(state.folded), counted(state.clusters, "cluster")),
    );
    last_epoch(&mut lines, state, age);
    if state.attempts.unfinished > 0 {
        lines.line("", "an epoch is unfinished: the next run takes it up");
    }
    if state.attempts.refused > 0 {
        lines.line("", "a guard refused a later epoch: the next run plans it again");
    }
    waiting(&mut lines, state);
    lines.list("", left);
    lines.list("due", not_consumed);
    lines.list("elsewhere", gone);
    let free = state.gc_bytes.filter(|bytes| *bytes > 0);
    let free =
        free.map_or(String::new(), |bytes| format!("; gc --delete would free {}", size(bytes)));
    lines.line("disk", size(state.disk_bytes) + &free);
    if let Some(expiry) = state.expiry {
        expires(&mut lines, expiry);
    }
    lines.into_text()
}

/// The last epoch, and what it read.
fn last_epoch(lines: &mut Lines, state: &State, age: i64) {
    let last = &state.last;
    let how = match last.op {
        Op::Epoch | Op::Merge => "committed",
        Op::Rollback => "a rollback to an earlier one",
    };
    let ago = if age < 0 {
        format!("{} ahead of the clock", period(-age))
    } else {
        format!("{} ago", period(age))
    };
    // The time of a rollback is the time of the epoch that it restores.
    let planned = if last.op == Op::Rollback { "which was planned" } else { "planned" };
    lines.line("last", format!("epoch {}, {how}, {planned} {ago}", last.epoch));
    // A rollback reads nothing and finds no page.
    if last.op != Op::Rollback {
        lines.line(
            "",
            format!(
                "{} read, {} accepted, {} rejected",
                counted(last.read, "record"),
                grouped(last.accepted),
                grouped(last.rejected)
            ),
        );
        lines.line(
            "",
            format!(
                "{} new, {} changed, {} gone",
                counted(last.pages_new, "page"),
                grouped(last.pages_changed),
                grouped(last.pages_gone)
            ),
        );
    }
}

/// The inputs that the next run would read.
fn waiting(lines: &mut Lines, state: &State) {
    match (&state.inputs, &state.inputs_error) {
        (Some(inputs), _) => {
            let bytes = if inputs.waiting > 0 {
                format!(" ({})", size(inputs.waiting_bytes))
            } else {
                String::new()
            };
            lines.line(
                "waiting",
                format!("{} of {}{bytes}", grouped(inputs.waiting), counted(inputs.files, "input")),
            );
        }
        (None, why) => {
            lines.line("waiting", format!("not known: {}", why.as_deref().unwrap_or_default()))
        }
    }
}

fn expires(lines: &mut Lines, expiry: Expiry) {
    if let Some(next) = expiry.next {
        let when = match next - now() {
            over @ ..=0 => format!("{} ago; the next run removes them", period(-over)),
            left => format!("in {}", period(left)),
        };
        lines.line(
            "expiry",
            format!("of {} {when}, unless seen before", counted(expiry.next_pages, "page")),
        );
    }
    if expiry.next_reading_pages > 0 {
        let pages = counted(expiry.next_reading_pages, "page");
        lines.line("expiry", format!("of {pages} at the next run that reads, unless it sees them"));
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
