//! `pagefold run --dry-run`: says what a run would read, and leaves nothing behind.
//!
//! New files are read for the digest of their bytes, which a plan needs. A few records of some
//! files are read for the forecast, because both the time and the memory of a run depend on its
//! texts.

use crate::cli;
use crate::commands::estimate::time;
use crate::commands::run::{Workforce, check_absent, clock, with_job};
use crate::forecast::{self, Forecast};
use crate::jobs;
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, grouped, megabytes, print_json, show, size};
use crate::terminal::report::inputs::undivided;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use workers::commit::guards::check_space;
use workers::error::Result;
use workers::job::Job;
use workers::plan::division::divide;
use workers::plan::examine;
use workers::plan::{self, Plan, attempts};
use workers::read::{self, Split};
use workers::store::Store;

/// The most inputs that are named; `--json` names all.
const INPUTS_SHOWN: usize = 10;

/// `pagefold run --dry-run`.
pub fn command(start: &cli::Start) -> Result<()> {
    let (unattended, made) = with_job(start)?;
    let arguments = &unattended.run;
    let job = match made {
        Some(made) => made.job,
        None => jobs::read(&arguments.job, &arguments.sets)?,
    };
    let inputs_max = unattended.inputs_max(&job)?;
    let (clock, topology) = (clock(&unattended)?, Workforce::of(arguments, None)?.topology);
    let identity = job.identity()?;
    let is_there = job.store.join("FORMAT").exists();
    let store = if is_there {
        Store::open(&job.store, Some(&identity))?
    } else {
        Store::to_be_made(&job.store)
    };
    let head = if is_there { store.head()? } else { None };
    let resumed =
        |attempt: &PathBuf| attempts::resumed(attempt, &job, &store, head.as_ref()).transpose();
    let unfinished = attempts::all(store.root())?.iter().find_map(resumed).transpose()?;
    let resumes = unfinished.is_some();
    let plan = match unfinished {
        Some(plan) => Some(plan),
        None => plan::preview(&job, &store, head.as_ref(), clock, inputs_max)?,
    };
    let Some(plan) = plan else {
        return match arguments.json {
            true => {
                print_json(&json!({ "due": false, "inputs": 0, "input_bytes": 0, "splits": 0 }))
            }
            false => {
                show("nothing due: every input is consumed, or gave no record and did not change\n")
            }
        };
    };
    let splits = match plan.splits.is_empty() {
        true => divide(&plan.inputs, topology.peers())?,
        false => plan.splits.clone(),
    };
    let bytes: u64 = plan.inputs.iter().map(|input| input.bytes).sum();
    let forecast = forecast::of_inputs(&job, &plan.inputs, &topology);
    let refused = refused(&job, &plan)?;
    let needed = forecast::disk_bytes(forecast.as_ref(), &plan.inputs);
    // A run does not check again what it resumes.
    let stop = |checked: Result<()>| checked.err().filter(|_| !resumes).map(|e| e.to_string());
    let space = stop(check_space(&job.store, "this epoch", needed, &arguments.allow));
    let absent = stop(check_absent(&plan, &arguments.allow));
    if arguments.json {
        let inputs: Vec<_> = plan
            .inputs
            .iter()
            .map(|input| json!({ "path": input.path, "bytes": input.bytes }))
            .collect();
        return print_json(&json!({
            "due": true,
            "epoch": plan.epoch,
            "resumes": resumes,
            "inputs": plan.inputs.len(),
            "input_bytes": bytes,
            "splits": splits.len(),
            "workers": topology.peers(),
            "same_bytes": plan.same_bytes.len(),
            "renamed": plan.renamed.len(),
            "passed_by": plan.passed,
            "left_out": plan.left_out,
            "refused": refused.iter().map(|(path, why)| json!({ "path": path, "why": why })).collect::<Vec<_>>(),
            "complete": plan.complete,
            "read_again": plan.again,
            "decision_changed": plan.decision_changed,
            "view_changed": plan.view_changed,
            "absent_error": absent,
            "space_error": space,
            "forecast": forecast,
            "files": inputs,
        }));
    }
    let uneven = undivided(&plan.inputs, &splits, topology.peers(), "reads");
    let mut out = text(&plan, bytes, splits.len(), topology.peers(), resumes, &[absent, space]);
    out += &refused_lines(&refused);
    out.extend(uneven.map(|uneven| format!("{:<11}{uneven}\n", "uneven")));
    out.extend(forecast.map(|forecast| costs(&forecast)));
    show(&out)
}

/// The inputs that a reader refuses as a whole, each with the reason. Their first bytes are read,
/// and the columns of Parquet.
fn refused(job: &Job, plan: &Plan) -> Result<Vec<(String, String)>> {
    let mut refused = Vec::new();
    for input in &plan.inputs {
        let split = Split { path: input.file(), start: 0, end: input.bytes };
        let why = read::refusal(&split, &job.read.options(&input.digest))?;
        refused.extend(why.map(|why| (input.shown(), why)));
    }
    Ok(refused)
}

/// The lines about refused inputs; empty if there are none.
fn refused_lines(refused: &[(String, String)]) -> String {
    if refused.is_empty() {
        return String::new();
    }
    let files = counted(refused.len() as u64, "file");
    let mut lines = format!("{:<11}{files} of which nothing can be read:\n", "refused");
    for (path, why) in refused.iter().take(INPUTS_SHOWN) {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{:<11}{}", "", plain(&format!("{path}: {why}")));
    }
    if let more @ 1.. = refused.len().saturating_sub(INPUTS_SHOWN) {
        let _ = writeln!(lines, "{:<11}and {} more", "", grouped(more as u64));
    }
    lines
}

/// The line about what a first build of the inputs costs.
fn costs(forecast: &Forecast) -> String {
    let Forecast { elapsed_ms, memory_bytes, store_bytes, .. } = *forecast;
    let (time, memory, store) = (time(elapsed_ms), size(memory_bytes), size(store_bytes));
    format!(
        "{:<11}about {time}, {memory} of memory, {store} of store, as `pagefold estimate` says\n",
        "costs"
    )
}

fn text(
    plan: &Plan,
    bytes: u64,
    splits: usize,
    workers: usize,
    resumes: bool,
    stops: &[Option<String>],
) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: String| _ = writeln!(out, "{name:<11}{}", plain(&text));
    let what = if resumes { "would take up the unfinished epoch" } else { "would make epoch" };
    line("run", format!("{what} {}", plan.epoch));
    line(
        "read",
        format!(
            "{}, {}, in {} for {}",
            counted(plan.inputs.len() as u64, "file"),
            megabytes(bytes),
            counted(splits as u64, "split"),
            counted(workers as u64, "worker")
        ),
    );
    for input in plan.inputs.iter().take(INPUTS_SHOWN) {
        line("", format!("{} ({})", input.shown(), megabytes(input.bytes)));
    }
    if plan.inputs.len() > INPUTS_SHOWN {
        line("", format!("and {} more", grouped((plan.inputs.len() - INPUTS_SHOWN) as u64)));
    }
    if plan.again {
        line(
            "",
            "nothing of them was accepted; they are read again with other options of reading"
                .into(),
        );
    }
    if plan.complete {
        line(
            "",
            "they are a complete snapshot: stored pages that are not in it are removed".into(),
        );
    }
    let known = (plan.same_bytes.len() + plan.renamed.len()) as u64;
    if known > 0 {
        line("known", format!("{}: the bytes of others, or renamed", counted(known, "file")));
    }
    examine::lines(&plan.passed).into_iter().for_each(|passed| line("passed by", passed));
    plan.left_out.unfollowed().into_iter().for_each(|rest| line("links", rest));
    if plan.decision_changed {
        line("again", "every stored pair: the job decides otherwise than the last epoch".into());
    }
    if plan.view_changed {
        line("again", "every cluster: the job shows otherwise than the last epoch".into());
    }
    for stop in stops.iter().flatten() {
        line("stops", format!("the run would stop: {stop}"));
    }
    out
}
