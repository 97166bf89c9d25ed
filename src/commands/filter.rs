//! `pagefold filter`: writes the inputs again without the records that fold, lists the result for
//! each record, or restores the inputs.

use crate::cli;
use crate::jobs::read;
use crate::opened::open;
use crate::terminal::bar::Bar;
use crate::terminal::lost::by_field;
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, grouped, percent, print_json, show, size};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workers::error::{Error, Kind, Result};
use workers::filter::{self, Became, Names, Options, Outcome, Saved, Totals};
use workers::job::resolved;
use workers::plan::examine;
use workers::plan::inputs::spelled;
use workers::progress::Progress;
use workers::store::threads::processors;

/// The most hosts that the report names.
const HOSTS_SHOWN: usize = 10;

/// `pagefold filter`.
pub fn command(arguments: &cli::Filter) -> Result<()> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| Error::io("find", path, e));
    let folder = |path: &Option<PathBuf>| path.as_deref().map(absolute).transpose();
    let (to, removed) = (folder(&arguments.to)?, folder(&arguments.removed)?);
    if let (Some(originals), Some(to), Some(removed)) = (folder(&arguments.undo)?, &to, &removed) {
        return undo(arguments, to, removed, &originals);
    }
    let (job, store, head) = open(&arguments.shared)?;
    job.check_decided(store.root(), &head.manifest)?;
    let threads = arguments.threads.map_or_else(processors, usize::from);
    let names = match arguments.names {
        cli::LabelNames::Members => Names::PAGEFOLD,
        cli::LabelNames::Minhash => Names::MINHASH,
    };
    let annotate = arguments.annotate.then_some(names);
    let records = folder(&arguments.records)?;
    let progress: Arc<Progress> = Arc::default();
    let revisits = arguments.revisits;
    let options = Options {
        to,
        removed,
        records,
        annotate,
        revisits,
        prune: arguments.prune,
        threads,
        progress: progress.clone(),
    };
    if options.to.is_none() && options.records.is_none() {
        let line = "--to DIR: the folder to write to; or --records DIR for tables of what became of each record";
        return Err(Error::new(Kind::Usage, line));
    }
    let begin = |bytes| Bar::of_reading("filter", bytes, progress, arguments.quiet);
    let outcome = filter::filter(&job, &store, &head, &options, begin)?;
    if !arguments.quiet {
        match arguments.shared.json {
            true => print_json(&as_json(&outcome))?,
            false => show(&as_text(&outcome, &options))?,
        }
    }
    let annotates = options.annotate.is_some();
    // A table of records has them all, whatever was copied.
    let may_be_whole = arguments.allow_whole || options.to.is_none();
    if may_be_whole { Ok(()) } else { check_whole(&outcome, annotates) }
}

/// Restores the inputs in the folder `originals`, from what was written to the two others.
fn undo(arguments: &cli::Filter, to: &Path, removed: &Path, originals: &Path) -> Result<()> {
    // An undo does not need the job.
    let store = read(&arguments.shared.job, &arguments.shared.sets).map(|job| resolved(&job.store));
    if store.is_ok_and(|store| resolved(originals).starts_with(store)) {
        let line = format!("{}: is in the store; name a folder outside it", originals.display());
        return Err(Error::new(Kind::Usage, line));
    }
    let undone = filter::undo(to, removed, originals)?;
    if arguments.quiet {
        return Ok(());
    }
    if arguments.shared.json {
        return print_json(
            &json!({ "equal": undone.equal, "alike": undone.alike, "bytes": undone.bytes }),
        );
    }
    show(&format!(
        "made {} again in {}, {}: {} byte for byte, {} compressed anew\n",
        counted((undone.equal + undone.alike) as u64, "file"),
        originals.display(),
        size(undone.bytes),
        undone.equal,
        undone.alike
    ))
}

/// Fails if the output has records that fold, because its readers expect no duplicates in it, or
/// rows that lack the fields of their cluster, or files of which nobody knows what they have.
fn check_whole(outcome: &Outcome, annotates: bool) -> Result<()> {
    let stay = outcome.totals.stay;
    let named = |first: &String, others: usize| match others {
        0 => first.clone(),
        more => format!("{first} and {}", counted(more as u64, "other file")),
    };
    let wrong = if let Some(((first, _), others)) = outcome.whole.split_first()
        && stay > 0
    {
        let wrong = match annotates {
            true => "have no fields of their cluster",
            false => "that should be left out stay",
        };
        let named = named(first, others.len());
        format!("{} {wrong}, as {named} could only be copied whole", counted(stay, "record"))
    } else if let Some((first, others)) = outcome.unread.split_first() {
        format!("no record of {} could be read; it was copied whole", named(first, others.len()))
    } else {
        return Ok(());
    };
    let line = format!("{wrong}; mend or take out such inputs, or let it pass: --allow-whole");
    Err(Error::new(Kind::Data, line))
}

fn as_json(outcome: &Outcome) -> serde_json::Value {
    let totals = &outcome.totals;
    let names = |all: &[PathBuf]| -> Vec<String> { all.iter().map(|name| spelled(name)).collect() };
    json!({
        "epoch": outcome.epoch,
        "files": outcome.files,
        "files_before": outcome.files_before,
        "files_whole": outcome.whole.iter().map(|(path, _)| path).collect::<Vec<_>>(),
        "files_left_over": names(&outcome.left_over),
        "files_pruned": names(&outcome.pruned),
        "files_recoded": outcome.recoded,
        "passed_by": outcome.passed,
        "records": totals.verdicts,
        "records_stay": totals.stay,
        "removed": totals.removed,
        "removers": totals.removers,
        "promoted": totals.promoted,
        "revisits": totals.revisits,
        "bytes_in": totals.bytes_in,
        "bytes_kept": totals.bytes_kept,
        "bytes_removed": totals.bytes_removed,
        "sources": totals.sources,
        "hosts": totals.hosts,
        "other_hosts": totals.other_hosts,
        "pages_elsewhere": outcome.pages_elsewhere,
    })
}

/// Why records are removed: how many have a field that says so, which field it is, and why the
/// pages of the others are gone.
fn removed(totals: &Totals) -> String {
    let by = by_field(totals.removers.iter().map(|(name, n)| (name.as_str(), *n)));
    let by = if by.is_empty() { by } else { format!(" ({by})") };
    let words = [
        ("removal", "remove their page"),
        ("removed", "of removed pages"),
        ("missing", "of pages that a snapshot lacked"),
        ("expired", "of expired pages"),
        ("gone", "of pages that are gone"),
    ];
    let found = words.iter().filter_map(|(reason, what)| {
        let n = totals.removed.get(*reason)?;
        let by = if *reason == "removal" { by.as_str() } else { "" };
        Some(format!("{} {what}{by}", grouped(*n)))
    });
    found.collect::<Vec<_>>().join(", ")
}

fn as_text(outcome: &Outcome, options: &Options) -> String {
    let totals = &outcome.totals;
    let before = match outcome.files_before {
        0 => String::new(),
        n => format!(", {} finished before", grouped(n as u64)),
    };
    let mut text = format!(
        "epoch      {}\nfiles      {}{before}\n",
        outcome.epoch,
        grouped(outcome.files as u64)
    );
    say_verdicts(&mut text, totals);
    if options.to.is_some() {
        let _ = writeln!(
            text,
            "bytes      {} of {}, {}",
            size(totals.bytes_kept),
            size(totals.bytes_in),
            percent(totals.bytes_kept, totals.bytes_in)
        );
    }
    say_left_out(&mut text, totals, if options.to.is_some() { "" } else { "with --to: " });
    say_files(&mut text, outcome);
    if outcome.pages_elsewhere > 0 {
        let pages = counted(outcome.pages_elsewhere, "page");
        let _ = writeln!(text, "elsewhere  {pages} whose records are in no input as it is now");
    }
    text
}

/// What became of the records.
fn say_verdicts(text: &mut String, totals: &Totals) {
    for became in Became::ALL {
        if let n @ 1.. = totals.of(became) {
            let why = if became == Became::Removed { removed(totals) } else { String::new() };
            let line = format!("{:<10} {:<8} {why}", became.name(), grouped(n));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    if totals.promoted > 0 {
        let promoted = grouped(totals.promoted);
        let _ = writeln!(
            text,
            "promoted   {promoted} of the kept, in place of records that no input has now"
        );
    }
    if totals.revisits > 0 {
        let _ =
            writeln!(text, "revisits   {} in place of records that fold", grouped(totals.revisits));
    }
}

/// What is left out of each source and of some hosts, on a condition.
fn say_left_out(text: &mut String, totals: &Totals, condition: &str) {
    let left_out =
        |saved: Saved| format!("{}, {}", counted(saved.records, "record"), size(saved.bytes));
    for (name, saved) in totals.sources.iter().filter(|(_, saved)| saved.records > 0) {
        let _ = writeln!(text, "left out   {condition}{} of source {name}", left_out(*saved));
    }
    let mut hosts: Vec<(&String, &Saved)> =
        totals.hosts.iter().filter(|(host, _)| !host.is_empty()).collect();
    hosts.sort_by(|(a, one), (b, other)| {
        (other.bytes, other.records, a).cmp(&(one.bytes, one.records, b))
    });
    for (host, saved) in hosts.into_iter().take(HOSTS_SHOWN) {
        let _ = writeln!(text, "           {} of {}", left_out(*saved), plain(host));
    }
}

/// The files that are not those of their inputs with less in them, or are of no input.
fn say_files(text: &mut String, outcome: &Outcome) {
    if outcome.recoded > 0 {
        let files = counted(outcome.recoded as u64, "file");
        let _ = writeln!(
            text,
            "anew       {files} compressed anew, as records share a stream or a row group"
        );
    }
    for (path, why) in &outcome.whole {
        let why = if why.is_empty() { "damaged, or of no known format" } else { why };
        let _ =
            writeln!(text, "whole      {} stays with all that folds: {}", plain(path), plain(why));
    }
    for line in examine::lines(&outcome.passed) {
        let _ = writeln!(text, "passed by  {}", plain(&line));
    }
    if outcome.totals.stay > 0 {
        let _ = writeln!(
            text,
            "stay       {} of those above that should be left out, in files copied whole",
            grouped(outcome.totals.stay)
        );
    }
    let named = |names: &[PathBuf]| {
        let first = names.first().map_or("".into(), |first| first.to_string_lossy());
        let and_others = if names.len() > 1 { " and others" } else { "" };
        format!("{}{and_others}", plain(&first))
    };
    if !outcome.left_over.is_empty() {
        let files = counted(outcome.left_over.len() as u64, "file");
        let _ = writeln!(
            text,
            "left over  {files} of earlier filters, whose inputs are gone or have another name \
             now: {}; a reader of the folder still reads them; --prune deletes them",
            named(&outcome.left_over)
        );
    }
    if !outcome.pruned.is_empty() {
        let inputs = counted(outcome.pruned.len() as u64, "input");
        let _ = writeln!(
            text,
            "pruned     the files of {inputs} that are gone: {}",
            named(&outcome.pruned)
        );
    }
}
