//! `pagefold man`: prints the manual page of a command.

use crate::cli;
use crate::terminal::print::show;
use workers::error::{Error, Kind, Result};

/// `pagefold man`.
pub fn command(arguments: &cli::Man) -> Result<()> {
    let mut all = cli::visible();
    all.build();
    let page = match &arguments.command {
        None => all,
        Some(name) => {
            let names: Vec<String> =
                all.get_subcommands().map(|of| of.get_name().to_owned()).collect();
            // The name in the page is `pagefold-run`, like the names of git's pages.
            all.find_subcommand(name).cloned().ok_or_else(|| {
                Error::new(
                    Kind::Usage,
                    format!("{name}: no such command; there are {}", names.join(", ")),
                )
            })?
        }
    };
    let mut roff = Vec::new();
    let failed = |e| Error::internal("cannot write a manual page").caused_by(e);
    clap_mangen::Man::new(page).render(&mut roff).map_err(failed)?;
    let text = String::from_utf8(roff)
        .map_err(|e| Error::internal("cannot write a manual page").caused_by(e))?;
    show(&text)
}
