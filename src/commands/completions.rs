//! `pagefold completions`: prints what a shell reads to complete the command line.

use crate::cli;
use crate::terminal::print::show;
use workers::error::{Error, Result};

/// `pagefold completions`.
pub fn command(arguments: &cli::Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut cli::visible(), "pagefold", &mut script);
    let text = String::from_utf8(script)
        .map_err(|e| Error::internal("cannot write completions").caused_by(e))?;
    show(&text)
}
