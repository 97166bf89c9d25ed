//! `pagefold estimate`: says what a first build of a job would cost.

use crate::cli;
use crate::cluster::cluster_file;
use crate::forecast::{self, Forecast, Load, Machines};
use crate::jobs;
use crate::terminal::print::{Lines, counted, print_json, show, size};
use serde_json::json;
use workers::error::Result;
use workers::plan::inputs;
use workers::store::threads::processors;

/// The bytes of a URL, if no page was read.
const URL_BYTES: u64 = 60;

/// `pagefold estimate`.
pub fn command(arguments: &cli::Estimate) -> Result<()> {
    let job = jobs::read(&arguments.shared.job, &arguments.shared.sets)?;
    let load = match (arguments.pages, arguments.bytes) {
        (Some(pages), Some(bytes)) => {
            let text_bytes = pages.saturating_mul(bytes);
            Load { pages, text_bytes, url_bytes: pages * URL_BYTES, input_bytes: text_bytes }
        }
        _ => {
            let found = inputs::find(&job.read.inputs)?;
            if found.is_empty() {
                return Err(inputs::none_found(&job.read.inputs));
            }
            forecast::load(&job, &forecast::inputs(&found)?)?
        }
    };
    let threads = arguments.threads.map_or_else(processors, usize::from) as u64;
    let machines = match &arguments.cluster {
        Some(path) => Machines::of(&cluster_file::read(path)?),
        None => Machines { hosts: arguments.hosts.map_or(1, u64::from), workers: threads },
    };
    let forecast = forecast::forecast(&job, &load, machines);
    if arguments.shared.json {
        return print_json(&json!({ "load": load, "machines": machines, "forecast": forecast }));
    }
    show(&text(&load, machines, &forecast))
}

fn text(load: &Load, machines: Machines, forecast: &Forecast) -> String {
    let mut lines = Lines::default();
    let Machines { hosts, workers } = machines;
    lines.line(
        "load",
        format!("{}, {} of text", counted(load.pages, "page"), size(load.text_bytes)),
    );
    lines.line("on", format!("{} of {}", counted(hosts, "host"), counted(workers, "worker")));
    lines.line(
        "time",
        format!(
            "{}, of which {} one process alone",
            time(forecast.elapsed_ms),
            time(forecast.alone_ms)
        ),
    );
    lines.line(
        "memory",
        format!("{} on the first host, mapped files aside", size(forecast.memory_bytes)),
    );
    lines.line(
        "disk",
        format!(
            "{} of store, {} beside it until the commit, {} of results",
            size(forecast.store_bytes),
            size(forecast.attempt_bytes),
            size(forecast.results_bytes)
        ),
    );
    if hosts > 1 {
        lines.line("network", format!("{} leave each host", size(forecast.sent_bytes)));
    }
    lines.line(
        "",
        "by a linear model of generated documents on one machine: half or twice as much is no surprise",
    );
    lines.into_text()
}

/// A time in the unit that gives up to four digits.
pub fn time(ms: u64) -> String {
    let units = [(3_600_000, "h"), (60_000, "min")];
    match units.into_iter().find(|(unit, _)| ms >= 2 * *unit) {
        Some((unit, name)) => format!("{:.1} {name}", ms as f64 / unit as f64),
        None => format!("{:.1} s", ms as f64 / 1000.0),
    }
}
