//! `pagefold init FILES`: looks at files and writes a job that reads them.

use crate::first_job::made::write;
use crate::terminal::print::show;
use crate::{cli, first_job, jobs};
use std::path::Path;
use workers::error::{Error, Kind, Result};
use workers::read::shell;

/// `pagefold init`.
pub fn command(arguments: &cli::Init) -> Result<()> {
    let text = first_job::text(&arguments.files, &[])?;
    let Some(path) = &arguments.to else {
        if let Err(error) = jobs::of_text(Path::new("job.toml"), &text, &[]) {
            tracing::warn!("saved in this folder, the job would be refused: {error}");
        }
        return show(&text);
    };
    if path.exists() && !arguments.force {
        let why = "is there already; --force replaces it";
        return Err(Error::new(Kind::Output, format!("{}: {why}", path.display())));
    }
    jobs::of_text(path, &text, &[])?;
    write(path, &text)?;
    show(&format!("wrote {}; next: pagefold run {}\n", path.display(), shell::word(path)))
}
