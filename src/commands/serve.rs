//! `pagefold serve`: answers questions over HTTP.

use crate::cli;
use crate::jobs;
use crate::serve::{Options, serve};
use crate::terminal::print::{print_json, show};
use serde_json::json;
use std::time::Duration;
use workers::error::Result;
use workers::online::{Inserts, Online};
use workers::store::threads::processors;

/// `pagefold serve`.
pub fn command(arguments: &cli::Serve) -> Result<()> {
    let job = jobs::read(&arguments.shared.job, &arguments.shared.sets)?;
    let options = Options {
        bind: arguments.bind,
        token: arguments.token_file.clone(),
        threads: arguments.threads.map_or_else(processors, usize::from),
        client_rate: arguments.client_rate,
        warms: arguments.warm,
    };
    let inserts = Inserts {
        seal_after: Duration::from_secs(arguments.seal_seconds.into()),
        overlay_bytes_max: (arguments.inbox_mib as usize) << 20,
    };
    let inserts = (!arguments.read_only).then_some(inserts);
    serve(
        &options,
        move || Online::open(job, inserts),
        |at, epoch| match arguments.shared.json {
            true => print_json(&json!({ "listening": at.to_string(), "epoch": epoch })),
            false => show(&format!("listening on http://{at}, epoch {epoch}\n")),
        },
    )
}
