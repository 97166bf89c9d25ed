//! The job file that `run FILES --to DIR` makes in the folder.

use crate::first_job::text;
use crate::{cli, jobs};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use workers::error::{Error, Kind, Result};
use workers::job::Job;
use workers::read::shell;
use workers::store::durable;

/// The job that `run FILES --to DIR` uses, which is not written yet.
pub struct MadeJob {
    /// Its path.
    pub path: PathBuf,
    /// What it says.
    pub job: Job,
    text: String,
    is_there: bool,
}

impl MadeJob {
    /// The job that reads `files`, in `folder`. A job file that exists with another text is not
    /// replaced.
    pub fn new(folder: &Path, files: &[PathBuf], sets: &[String]) -> Result<MadeJob> {
        if let Some(job) =
            files.iter().find(|file| file.extension().is_some_and(|ending| ending == "toml"))
        {
            let job = shell::word(job);
            let why = format!("a job has its own places; without --to: pagefold run {job}");
            return Err(Error::new(Kind::Usage, format!("--to {}: {why}", folder.display())));
        }
        let path = folder.join(cli::JOB_IN_FOLDER);
        let text = text(files, sets)?;
        // With `sets` once more, a mistake in one names the option, not a line of this text.
        jobs::of_text(&path, &text, sets)?;
        let job = jobs::of_text(&path, &text, &[])?;
        let there = match std::fs::read(&path) {
            Ok(there) => Some(there),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io("read", &path, e).as_output()),
        };
        if there.as_ref().is_some_and(|there| there != text.as_bytes()) {
            let job = shell::word(&path);
            let why = format!(
                "another job is there already: run it (pagefold run {job}), or name another folder"
            );
            return Err(Error::new(Kind::Output, format!("{}: {why}", path.display())));
        }
        Ok(MadeJob { path, job, text, is_there: there.is_some() })
    }

    /// Writes it if it is not there.
    pub fn write(&self) -> Result<()> {
        if self.is_there { Ok(()) } else { write(&self.path, &self.text) }
    }
}

/// Writes a job with this text to `path`.
pub fn write(path: &Path, text: &str) -> Result<()> {
    durable::create_folder(durable::folder_of(path)).map_err(Error::as_output)?;
    durable::write(path, text.as_bytes()).map_err(Error::as_output)
}
