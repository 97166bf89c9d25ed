//! Runs that did nothing: nothing was due, or another run holds the store.

use crate::terminal::lost::elsewhere;
use crate::terminal::print::{Lines, print_json, show};
use crate::terminal::report::inputs::{Leftovers, barren, left_in_inbox, otherwise};
use crate::{advice, cli};
use serde_json::json;
use workers::error::Result;
use workers::job::Job;
use workers::plan::inputs::{self, Input};
use workers::store::manifest::Head;

/// Reports that nothing was ever due: the inbox of a server has no file that a run reads.
pub fn nothing_yet(arguments: &cli::Run) -> Result<()> {
    idle(arguments, 0, &Leftovers::default(), || {
        "the inbox has no file yet; `pagefold serve` seals one a minute after the first record, \
         and at its end or next start\n"
            .to_owned()
    })
}

/// Reports that nothing is due.
pub fn nothing_due(
    job: &Job,
    head: &Head,
    leftovers: &Leftovers,
    arguments: &cli::Run,
) -> Result<()> {
    idle(arguments, head.manifest.epoch, leftovers, || {
        let mut barren = barren(job, &leftovers.barren).into_iter();
        let listing = inputs::list(&job.read.inputs).ok();
        let mut inputs = match barren.next() {
            None if listing.as_ref().is_some_and(|found| found.files.is_empty()) => {
                "no file is where [read] inputs names them".to_owned()
            }
            None => "every input is consumed".to_owned(),
            Some(first) => first,
        };
        inputs += &left_in_inbox(job).map_or(String::new(), |left| format!("; {left}"));
        let Leftovers { elsewhere: gone, read_otherwise, .. } = leftovers;
        inputs += &gone.map_or(String::new(), |of| format!("; {}", elsewhere(job, of)));
        inputs +=
            &read_otherwise.as_ref().map_or(String::new(), |path| format!("; {}", otherwise(path)));
        let unfollowed = listing.and_then(|found| found.left_out.unfollowed());
        inputs += &unfollowed.map_or(String::new(), |links| format!("; {links}"));
        let alone = job
            .single_signature()
            .map_or(String::new(), |name| format!("; {name} alone proposes pairs"));
        let mut named = Lines::default();
        barren.for_each(|line| named.line("", line));
        let (epoch, named) = (head.manifest.epoch, named.into_text());
        format!("{inputs}; the store is at epoch {epoch}{alone}\n{named}")
    })
}

/// Says that nothing is due and `why`, in the form that the arguments set.
fn idle(
    arguments: &cli::Run,
    epoch: u64,
    leftovers: &Leftovers,
    why: impl FnOnce() -> String,
) -> Result<()> {
    if arguments.json {
        return print_json(&json!({
            "epoch": epoch,
            "due": false,
            "inputs_not_consumed": leftovers.barren.iter().map(Input::shown).collect::<Vec<_>>(),
            "input_read_otherwise": leftovers.read_otherwise,
            "elsewhere": leftovers.elsewhere,
        }));
    }
    if arguments.quiet {
        return Ok(());
    }
    let named = advice::Job::new(&arguments.job, &arguments.sets);
    show(&named.with_commands(&format!("nothing due: {}", why())))
}

/// Reports that another run holds the store and this one does nothing.
pub fn skipped(job: &Job, arguments: &cli::Run) -> Result<()> {
    if arguments.json {
        return print_json(&json!({ "skipped": true }));
    }
    if arguments.quiet {
        return Ok(());
    }
    show(&format!("skipped: another run is at work on {}\n", job.store.display()))
}
