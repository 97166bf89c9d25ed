//! `pagefold init FILES`: looks at files and writes a job that reads them.

use crate::terminal::print::show;
use crate::{cli, first_job};
use std::path::{Path, PathBuf};
use workers::error::{Error, Kind, Result};
use workers::read::shell;
use workers::store::durable;

/// `pagefold init`.
pub fn command(arguments: &cli::Init) -> Result<()> {
    let text = first_job::text(&arguments.files, &[])?;
    let Some(path) = &arguments.to else { return show(&text) };
    if path.exists() && !arguments.force {
        let why = "is there already; --force replaces it";
        return Err(Error::new(Kind::Output, format!("{}: {why}", path.display())));
    }
    write(path, &text)?;
    show(&format!("wrote {}; next: pagefold run {}\n", path.display(), shell::word(path)))
}

/// Writes the job that `run FILES --to DIR` uses, and returns its path. A job file that exists with
/// another text is not replaced.
pub fn job_in(folder: &Path, files: &[PathBuf], sets: &[String]) -> Result<PathBuf> {
    if let Some(job) =
        files.iter().find(|file| file.extension().is_some_and(|ending| ending == "toml"))
    {
        let job = shell::word(job);
        let why = format!("a job has its own places; without --to: pagefold run {job}");
        return Err(Error::new(Kind::Usage, format!("--to {}: {why}", folder.display())));
    }
    let path = folder.join(cli::JOB_IN_FOLDER);
    let text = first_job::text(files, sets)?;
    match std::fs::read_to_string(&path) {
        Ok(there) if there == text => {}
        Ok(_) => {
            let job = shell::word(&path);
            let why = format!(
                "another job is there already: run it (pagefold run {job}), or name another folder"
            );
            return Err(Error::new(Kind::Output, format!("{}: {why}", path.display())));
        }
        Err(_) => write(&path, &text)?,
    }
    Ok(path)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let output = |error: Error| error.with_kind(Kind::Output);
    durable::create_folder(durable::folder_of(path)).map_err(output)?;
    durable::write(path, text.as_bytes()).map_err(output)
}
