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
use crate::terminal::print::{Lines, counted, grouped, megabytes, print_json, show, size};
use crate::terminal::report::inputs::undivided;
use crate::topology::Topology;
use serde_json::json;
use std::path::PathBuf;
use workers::commit::guards::{Guard, check_space};
use workers::error::Result;
use workers::job::Job;
use workers::plan::division::{PlannedSplit, divide};
use workers::plan::examine;
use workers::plan::inputs::Input;
use workers::plan::time::Clock;
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
    let plan = next_plan(&job, clock, inputs_max)?;
    let preview =
        plan.map(|plan| Preview::of(&job, plan, &topology, &arguments.allow)).transpose()?;
    match (preview, arguments.json) {
        (None, true) => {
            print_json(&json!({ "due": false, "inputs": 0, "input_bytes": 0, "splits": 0 }))
        }
        (None, false) => {
            show("nothing due: every input is consumed, or gave no record and did not change\n")
        }
        (Some(preview), true) => print_json(&preview.as_json()),
        (Some(preview), false) => show(&preview.as_text()),
    }
}

/// What a run would do.
struct Preview {
    plan: Plan,
    /// Whether an earlier run froze the plan, and did not finish it.
    resumes: bool,
    splits: Vec<PlannedSplit>,
    workers: usize,
    input_bytes: u64,
    forecast: Option<Forecast>,
    /// The inputs that a reader refuses as a whole, each with the reason.
    refused: Vec<(String, String)>,
    /// Why the run would stop: inputs that are named and not there, or too little space.
    absent: Option<String>,
    space: Option<String>,
}

impl Preview {
    /// What a run of `job` by this plan would do, which an earlier run left if it `resumes`.
    fn of(
        job: &Job,
        (plan, resumes): (Plan, bool),
        topology: &Topology,
        allowed: &[Guard],
    ) -> Result<Preview> {
        let splits = match plan.splits.is_empty() {
            true => divide(&plan.inputs, topology.peers())?,
            false => plan.splits.clone(),
        };
        let forecast = forecast::of_inputs(job, &plan.inputs, topology);
        let refused = refused(job, &plan)?;
        let needed = forecast::disk_bytes(forecast.as_ref(), &plan.inputs);
        // A run does not check again what it resumes.
        let stop = |checked: Result<()>| checked.err().filter(|_| !resumes).map(|e| e.to_string());
        let space = stop(check_space(&job.store, "this epoch", needed, allowed));
        let absent = stop(check_absent(&plan, allowed));
        let (workers, input_bytes) =
            (topology.peers(), plan.inputs.iter().map(|input| input.bytes).sum());
        Ok(Preview {
            plan,
            resumes,
            splits,
            workers,
            input_bytes,
            forecast,
            refused,
            absent,
            space,
        })
    }

    fn as_json(&self) -> serde_json::Value {
        let Preview { plan, .. } = self;
        let refused = |(path, why): &(String, String)| json!({ "path": path, "why": why });
        let file = |input: &Input| json!({ "path": input.path, "bytes": input.bytes });
        json!({
            "due": true,
            "epoch": plan.epoch,
            "resumes": self.resumes,
            "inputs": plan.inputs.len(),
            "input_bytes": self.input_bytes,
            "splits": self.splits.len(),
            "workers": self.workers,
            "same_bytes": plan.same_bytes.len(),
            "renamed": plan.renamed.len(),
            "passed_by": plan.passed,
            "left_out": plan.left_out,
            "refused": self.refused.iter().map(refused).collect::<Vec<_>>(),
            "complete": plan.complete,
            "read_again": plan.reads_otherwise,
            "decision_changed": plan.decision_changed,
            "view_changed": plan.view_changed,
            "absent_error": self.absent,
            "space_error": self.space,
            "forecast": self.forecast,
            "files": plan.inputs.iter().map(file).collect::<Vec<_>>(),
        })
    }

    fn as_text(&self) -> String {
        let mut lines = self.lines();
        for stop in [&self.absent, &self.space].into_iter().flatten() {
            lines.line("stops", format!("the run would stop: {stop}"));
        }
        lines.list("refused", refused_lines(&self.refused));
        lines.list("uneven", undivided(&self.plan.inputs, &self.splits, self.workers, "reads"));
        lines.list("costs", self.forecast.as_ref().map(costs));
        lines.into_text()
    }

    /// What would be read, and why.
    fn lines(&self) -> Lines {
        let Preview { plan, resumes, .. } = self;
        let mut lines = Lines::default();
        let what = if *resumes { "would take up the unfinished epoch" } else { "would make epoch" };
        lines.line("run", format!("{what} {}", plan.epoch));
        lines.line(
            "read",
            format!(
                "{}, {}, in {} for {}",
                counted(plan.inputs.len() as u64, "file"),
                megabytes(self.input_bytes),
                counted(self.splits.len() as u64, "split"),
                counted(self.workers as u64, "worker")
            ),
        );
        for input in plan.inputs.iter().take(INPUTS_SHOWN) {
            lines.line("", format!("{} ({})", input.shown(), megabytes(input.bytes)));
        }
        if plan.inputs.len() > INPUTS_SHOWN {
            lines.line(
                "",
                format!("and {} more", grouped((plan.inputs.len() - INPUTS_SHOWN) as u64)),
            );
        }
        if plan.reads_otherwise {
            lines.line(
                "",
                "nothing of them was accepted; they are read again with other options of reading",
            );
        }
        if plan.complete {
            lines.line(
                "",
                "they are a complete snapshot: stored pages that are not in it are removed",
            );
        }
        let known = (plan.same_bytes.len() + plan.renamed.len()) as u64;
        if known > 0 {
            lines.line(
                "known",
                format!("{}: the bytes of others, or renamed", counted(known, "file")),
            );
        }
        examine::lines(&plan.passed).iter().for_each(|passed| lines.line("passed by", passed));
        lines.list("links", plan.left_out.unfollowed());
        if plan.decision_changed {
            lines.line("again", "every stored pair: the job decides otherwise than the last epoch");
        }
        if plan.view_changed {
            lines.line("again", "every cluster: the job shows otherwise than the last epoch");
        }
        lines
    }
}

/// The plan that a run would carry out, and whether an earlier run left it unfinished; `None` if
/// nothing is due.
fn next_plan(job: &Job, clock: Clock, inputs_max: usize) -> Result<Option<(Plan, bool)>> {
    let identity = job.identity()?;
    let is_there = job.store.join("FORMAT").exists();
    let store = if is_there {
        Store::open(&job.store, Some(&identity))?
    } else {
        Store::to_be_made(&job.store)
    };
    let head = if is_there { store.head()? } else { None };
    let resumed =
        |attempt: &PathBuf| attempts::resumed(attempt, job, &store, head.as_ref()).transpose();
    if let Some(plan) = attempts::all(store.root())?.iter().find_map(resumed).transpose()? {
        return Ok(Some((plan, true)));
    }
    let plan = plan::preview(job, &store, head.as_ref(), clock, inputs_max)?;
    Ok(plan.map(|plan| (plan, false)))
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
fn refused_lines(refused: &[(String, String)]) -> Vec<String> {
    if refused.is_empty() {
        return Vec::new();
    }
    let files = counted(refused.len() as u64, "file");
    let mut lines = vec![format!("{files} of which nothing can be read:")];
    lines.extend(refused.iter().take(INPUTS_SHOWN).map(|(path, why)| format!("{path}: {why}")));
    if let more @ 1.. = refused.len().saturating_sub(INPUTS_SHOWN) {
        lines.push(format!("and {} more", grouped(more as u64)));
    }
    lines
}

/// What a first build of the inputs costs.
fn costs(forecast: &Forecast) -> String {
    let Forecast { elapsed_ms, memory_bytes, store_bytes, .. } = *forecast;
    let (time, memory, store) = (time(elapsed_ms), size(memory_bytes), size(store_bytes));
    format!("about {time}, {memory} of memory, {store} of store, as `pagefold estimate` says")
}
