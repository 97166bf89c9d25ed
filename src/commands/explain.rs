//! `pagefold explain`: says why pages are together, or are not.

use crate::cli;
use crate::jobs::{committed, open};
use crate::terminal::explained;
use crate::terminal::paint::Paint;
use crate::terminal::print::{print_json, show};
use workers::ask::index::Index;
use workers::ask::{page, pair};
use workers::error::Result;

/// `pagefold explain`.
pub fn command(arguments: &cli::Explain) -> Result<()> {
    let (job, store, head) = open(&arguments.of)?;
    let head = committed(&store, head)?;
    let index = Index::open(&job, &store, &head)?;
    let paint = Paint::stdout(arguments.color);
    let found =
        arguments.urls.iter().map(|url| page::find(&index, url)).collect::<Result<Vec<_>>>()?;
    match &found[..] {
        [a, b] => {
            let pair = pair::explain(&index, [a, b])?;
            if arguments.of.json { print_json(&pair) } else { show(&explained::pair(&pair, paint)) }
        }
        _ => {
            let page = page::explain(&index, &job, &store, &head, &arguments.urls[0], &found[0])?;
            if arguments.of.json { print_json(&page) } else { show(&explained::page(&page, paint)) }
        }
    }
}
