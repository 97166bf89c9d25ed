//! `pagefold explain`: says why pages are folded together, or not.

use crate::advice;
use crate::cli;
use crate::opened::open;
use crate::terminal::explained;
use crate::terminal::paint::Paint;
use crate::terminal::print::{print_json, show};
use workers::ask::index::Index;
use workers::ask::rejected::rejected;
use workers::ask::{page, pair};
use workers::error::Result;
use workers::fold::splits::RejectLine;

/// `pagefold explain`.
pub fn command(arguments: &cli::Explain) -> Result<()> {
    let (job, store, head) = open(&arguments.shared)?;
    let index = Index::open(&job, &store, &head)?;
    let paint = Paint::stdout(arguments.color);
    let find = |url: &String| {
        page::find(&index, url).or_else(|error| match rejected(&store, &head, url)? {
            Some(RejectLine { file, offset, reason, .. }) => {
                let epoch = head.manifest.epoch;
                let why = format!(
                    "; epoch {epoch} rejected a record of it, {reason}: {file} at {offset}"
                );
                Err(error.and(&why))
            }
            None => Err(error),
        })
    };
    let found = arguments.urls.iter().map(find).collect::<Result<Vec<_>>>()?;
    match &found[..] {
        [a, b] => {
            let pair = pair::explain(&index, [a, b])?;
            if arguments.shared.json {
                return print_json(&pair);
            }
            let named = advice::Job::new(&arguments.shared.job, &arguments.shared.sets);
            show(&named.with_commands(&explained::pair(&pair, paint)))
        }
        _ => {
            let page = page::explain(&index, &job, &store, &head, &arguments.urls[0], &found[0])?;
            if arguments.shared.json {
                print_json(&page)
            } else {
                show(&explained::page(&page, paint))
            }
        }
    }
}
