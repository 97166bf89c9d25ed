//! What `pagefold check` finds out about the store: whether its last epoch is whole, whether a run
//! may write all of it, and whether there is room for what is due.

use crate::cluster::probe::Finding;
use crate::forecast;
use crate::terminal::print::counted;
use crate::topology::Topology;
use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};
use workers::commit::guards;
use workers::error::{Error, Kind, Result};
use workers::job::Job;
use workers::plan::consumed::History;
use workers::plan::inputs::{self, Input};
use workers::store::manifest::Head;
use workers::store::{Store, entries};
use workers::verify;

/// The findings about the store of `job`, which need not exist yet. The work is to be done on
/// `topology`.
pub fn findings(job: &Job, topology: &Topology) -> Vec<Finding> {
    let mut findings = Vec::new();
    if job.store.is_dir() {
        findings.push(Finding::of("files", all_writable(&job.store)));
    }
    if !job.store.join("FORMAT").exists() {
        findings.push(Finding::of("space", room(job, topology, None)));
        return findings;
    }
    match whole_head(job) {
        Ok((store, head, line)) => {
            findings.push(Finding::of("head", Ok(line)));
            findings.push(Finding::of("space", room(job, topology, Some((&store, head.as_ref())))));
        }
        // What is due is not known then.
        Err(error) => findings.push(Finding::of("head", Err(error))),
    }
    findings
}

/// The store and its head, if no file of the head is missing or has another size.
fn whole_head(job: &Job) -> Result<(Store, Option<Head>, String)> {
    let store = Store::open(&job.store, None)?;
    let report = verify::verify(&store, verify::Depth::Sizes)?;
    if let Some(first) = report.findings.first().filter(|_| !report.head_is_whole) {
        let more = match report.findings.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let line = format!(
            "{}: {}{more}; `pagefold verify JOB` says what helps",
            first.path.display(),
            first.what
        );
        return Err(Error::new(Kind::Io, line));
    }
    let line = match &report.head {
        None => "no epoch yet".to_owned(),
        Some(head) => {
            format!("epoch {} has its {}", head.manifest.epoch, counted(report.files, "file"))
        }
    };
    Ok((store, report.head, line))
}

/// Fails if a run may not write a file or a folder of the store at `root`: another user has made
/// it, or the disk is read-only.
fn all_writable(root: &Path) -> Result<String> {
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    folders.extend(["attempt", "data", "exported", "manifest"].map(|name| root.join(name)));
    folders.extend(entries(&root.join("data"))?);
    let folders = folders.into_iter().filter(|folder| folder.is_dir());
    let all = folders.map(|folder| (folder, Access::WRITE_OK | Access::EXEC_OK));
    let lock = Some(root.join("LOCK")).filter(|path| path.exists());
    for (path, wanted) in all.chain(lock.map(|path| (path, Access::WRITE_OK))) {
        access(&path, wanted).map_err(|e| Error::io("write", &path, e.into()))?;
    }
    Ok("all folders of the store can be written".into())
}

/// Fails if the disk of the store has less room than the inputs that are due may need. Which are
/// due is told by their sizes and times.
fn room(job: &Job, topology: &Topology, store: Option<(&Store, Option<&Head>)>) -> Result<String> {
    let mut due: Vec<Input> = inputs::find(&job.read.inputs)?
        .iter()
        // A file that vanishes meanwhile is not read.
        .filter_map(|path| Input::stat(path).ok())
        .collect();
    if let Some((store, head)) = store {
        let history = History::read(job, store, head)?;
        due.retain(|input| !history.is_as_it_was(input));
    }
    let forecast = forecast::of_inputs(job, &due, topology);
    let needed = forecast::disk_bytes(forecast.as_ref(), &due);
    guards::check_space(&job.store, "the next epoch", needed, &[])?;
    Ok(format!("enough for {} that look new", counted(due.len() as u64, "input")))
}
