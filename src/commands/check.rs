//! `pagefold check`: tries everything that a run needs.
//!
//! It starts every worker as a run does, lets each examine the shared folders, and connects all of
//! them over authenticated links. It prints a line for each check and host, and ends with the exit
//! code of the first failure. It leaves no files behind and takes no lock, so it may run at the
//! same time as a run.

use crate::advice;
use crate::cli;
use crate::cluster::cluster_file;
use crate::cluster::control::{Order, kind_of};
use crate::cluster::probe::{self, Finding, INPUTS_EXAMINED_MAX, Probe};
use crate::cluster::supervisor::{End, Supervisor};
use crate::commands::check_store;
use crate::jobs;
use crate::own_process::own_digest;
use crate::signals;
use crate::terminal::paint::plain;
use crate::terminal::print::{counted, print_json, show};
use crate::topology::{Host, Topology};
use crate::unattended::metrics::MARK;
use serde_json::json;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::slice;
use std::thread;
use workers::error::{Error, Kind, Result};
use workers::export::{self, ours};
use workers::fold;
use workers::job::Job;
use workers::plan::examine::{self, Passed};
use workers::plan::inputs::{self, Input, Listing};
use workers::random_bytes::random_hex;
use workers::read::{self, Split};
use workers::store::Store;
use workers::store::threads::processors;

/// A finding and its host.
struct Line {
    host: String,
    finding: Finding,
}

/// `pagefold check`.
pub fn command(arguments: &cli::Check) -> Result<()> {
    let job = jobs::read(&arguments.shared.job, &arguments.shared.sets)?;
    let topology = arguments.cluster.as_deref().map(cluster_file::read).transpose()?;
    let mut lines = Vec::new();
    let mut found = |host: &str, finding: Finding| {
        let finding = Finding { line: advice::of_line(&finding.line), ..finding };
        lines.push(Line { host: host.to_owned(), finding });
    };
    found(
        "launcher",
        Finding::of("job", Ok(format!("{} can be read", arguments.shared.job.display()))),
    );
    let (inputs, finding) = match look_at_inputs(&job) {
        Ok((inputs, line)) => (inputs, Ok(line)),
        Err(error) => (Vec::new(), Err(error)),
    };
    found("launcher", Finding::of("inputs", finding));
    found("launcher", Finding::of("identity", try_identity(&job)));
    let output = export::check_place_of_run(&job)
        .and_then(|()| try_folder(&job.output.dir))
        .map(|_| writable(&job.output.dir));
    found("launcher", Finding::of("output", output));
    if let Some(metrics) = &job.output.metrics {
        found("launcher", Finding::of("metrics", try_metrics(metrics)));
    }
    match try_folder(&job.store) {
        Err(error) => found("launcher", Finding::of("store", Err(error))),
        Ok(place) => {
            found("launcher", Finding::of("store", Ok(writable(&job.store))));
            let linked = probe::try_link(&place.token()).map(|()| "hard links work".to_owned());
            found("launcher", Finding::of("links", linked));
            let locked = probe::try_lock(&place.folder).map(|()| "locks hold".to_owned());
            found("launcher", Finding::of("locks", locked));
            let on = topology.clone().unwrap_or_else(|| Topology::single(processors()));
            let of_store = check_store::findings(&job, &on).into_iter();
            of_store.for_each(|finding| found("launcher", finding));
            if let Some(topology) = &topology {
                for (host, finding) in try_hosts(&job, topology, &place, inputs)? {
                    found(&host, finding);
                }
            }
        }
    }
    print_findings(arguments, &lines)
}

fn writable(folder: &Path) -> String {
    format!("{} can be written", folder.display())
}

/// Prints the findings, and fails with the first bad one.
fn print_findings(arguments: &cli::Check, lines: &[Line]) -> Result<()> {
    let bad = lines.iter().find(|line| line.finding.code != 0);
    if arguments.shared.json {
        let list: Vec<_> = lines
            .iter()
            .map(|Line { host, finding }| {
                json!({ "host": host, "check": finding.check, "ok": finding.code == 0, "line": finding.line, "exit_code": finding.code })
            })
            .collect();
        print_json(&json!({ "ok": bad.is_none(), "checks": list }))?;
    } else {
        let width = lines.iter().map(|line| line.host.chars().count()).max().unwrap_or(0);
        for Line { host, finding } in lines {
            let verdict = if finding.code == 0 { "ok  " } else { "FAIL" };
            show(&format!(
                "{verdict}  {host:<width$}  {:<9} {}\n",
                finding.check,
                plain(&finding.line)
            ))?;
        }
    }
    match bad {
        None => Ok(()),
        Some(Line { host, finding }) => {
            let line = format!("{host}: {}: {}", finding.check, plain(&finding.line));
            Err(Error::new(kind_of(finding.code), line))
        }
    }
}

fn look_at_inputs(job: &Job) -> Result<(Vec<(PathBuf, u64)>, String)> {
    let listing = inputs::list(&job.read.inputs)?;
    let warnings = inputs::absent(job, &listing);
    warnings.iter().for_each(|line| tracing::warn!("{line}"));
    // A run of a complete snapshot would remove the pages of what is absent, and is refused; so is
    // the first run.
    if let (true, Some(first)) = (job.read.complete, warnings.first()) {
        return Err(Error::new(Kind::NoInput, format!("{first}; the snapshot is not complete")));
    }
    let warned: String = warnings.iter().map(|line| format!("; WARNING: {line}")).collect();
    let Listing { files: found, left_out, .. } = listing;
    if found.is_empty() && !job.store.exists() {
        return Err(inputs::none_found(&job.read.inputs));
    }
    let (mut looked_at, mut passed) = (Vec::new(), Vec::new());
    let mut refused = String::new();
    for path in found.iter().take(INPUTS_EXAMINED_MAX) {
        std::fs::File::open(path).map_err(|e| Error::input("read", path, e))?;
        let bytes = Input::stat(path)?.bytes;
        looked_at.push((path.clone(), bytes));
        let split = Split { path: path.clone(), start: 0, end: bytes };
        let companion = read::companion(path, bytes)?;
        if let Some(what) = companion {
            passed.push(Passed { path: path.to_string_lossy().into_owned(), what });
        } else if refused.is_empty()
            && let Some(why) = read::refusal(&split, &job.read.options(""))?
        {
            refused = format!("; nothing can be read of {}: {why}", path.display());
        }
    }
    let left_out =
        if left_out.is_nothing() { String::new() } else { format!("; left out: {left_out}") };
    let passed: String =
        examine::lines(&passed).iter().map(|line| format!("; passed by: {line}")).collect();
    let files = counted(found.len() as u64, "file");
    let line = format!("{files}{left_out}{passed}{refused}{warned}");
    Ok((looked_at, line))
}

/// Whether the job's own files can be read, and the store, if there is one, belongs to this job.
fn try_identity(job: &Job) -> Result<String> {
    let identity = job.identity()?;
    fold::check_files(job)?;
    if !job.store.join("FORMAT").exists() {
        return Ok("there is no store yet".into());
    }
    Store::open(&job.store, Some(&identity))?;
    Ok("the store is of this job".into())
}

/// Whether runs can write their metrics at `path`. A run makes no folder for them, and does not
/// fail without them.
fn try_metrics(path: &Path) -> Result<String> {
    ours::check(path, MARK, "or name another file as [output] metrics")?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let why = format!(
            "{}: no such folder, which [output] metrics names; make it, or name another file there",
            folder.display()
        );
        return Err(Error::new(Kind::Output, why));
    }
    try_folder(folder).map_err(Error::as_output)?;
    Ok(format!("{} can be written", path.display()))
}

/// A folder with the launcher's token. Dropping it removes the folder.
struct ProbeFolder {
    folder: PathBuf,
    _locked: File,
    secret: String,
}

impl ProbeFolder {
    fn token(&self) -> PathBuf {
        self.folder.join("launcher")
    }
}

impl Drop for ProbeFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, folder = %self.folder.display(), "cannot clear away what was tried");
        }
    }
}

/// Makes a folder in `folder` or, if that does not exist yet, in its nearest existing parent. Its
/// path is relative if that of `folder` is, because a host takes a relative path in its own folder.
fn try_folder(folder: &Path) -> Result<ProbeFolder> {
    let top = Path::new(if folder.is_absolute() { "/" } else { "." });
    let is_there = |above: &&Path| !above.as_os_str().is_empty() && above.exists();
    let existing = folder.ancestors().find(is_there).unwrap_or(top);
    let secret = random_hex()?;
    // This name is not that of a table, a manifest or an input.
    let folder = existing.join(format!(".pagefold-check-{}", random_hex()?));
    let made = folder.clone();
    // If it is gone by then, there is nothing to remove.
    signals::set_clean_up(move |_| drop(std::fs::remove_dir_all(made)));
    std::fs::create_dir(&folder).map_err(|e| Error::io("create folder", &folder, e))?;
    let _locked = probe::hold(&folder)?;
    let place = ProbeFolder { folder, secret, _locked };
    let token = place.token();
    std::fs::write(&token, &place.secret).map_err(|e| Error::io("write", &token, e))?;
    Ok(place)
}

/// Runs the checks on every host separately; if all pass, starts the workers together and connects
/// them.
fn try_hosts(
    job: &Job,
    topology: &Topology,
    place: &ProbeFolder,
    inputs: Vec<(PathBuf, u64)>,
) -> Result<Vec<(String, Finding)>> {
    let files = job.files().cloned().collect();
    let probe = Probe { folder: place.folder.clone(), token: place.secret.clone(), inputs, files };
    let digest = own_digest()?;
    let mut findings = Vec::new();
    let (shared_probe, shared_digest) = (&probe, digest.as_str());
    let alone = thread::scope(|scope| {
        let tried =
            |host| scope.spawn(move || try_alone(topology, host, shared_probe, shared_digest));
        let tried: Vec<_> = topology.hosts.iter().map(tried).collect();
        tried
            .into_iter()
            .map(|host| host.join().map_err(|_| Error::internal("a check panicked")))
            .collect::<Vec<_>>()
    });
    for (host, found) in topology.hosts.iter().zip(alone) {
        findings.extend(found?.into_iter().map(|finding| (host.name.clone(), finding)));
    }
    if topology.hosts.len() == 1 || findings.iter().any(|(_, finding)| finding.code != 0) {
        return Ok(findings);
    }
    let order = |assignment| Order::Probe(Box::new((assignment, probe.clone())));
    match Supervisor::work(topology, &topology.hosts, &[], &digest, &order) {
        Err(failure) => {
            let host =
                failure.blamed.map_or("launcher", |process| topology.hosts[process].name.as_str());
            findings.push((host.to_owned(), Finding::of("peers", Err(failure.error))));
        }
        Ok(ends) => {
            for (end, host) in ends.into_iter().zip(&topology.hosts) {
                let met = end.findings()?.into_iter().filter(|finding| finding.check == "peers");
                findings.extend(met.map(|finding| (host.name.clone(), finding)));
            }
        }
    }
    Ok(findings)
}

/// Runs the checks on one `host`, in a subfolder of its own.
fn try_alone(topology: &Topology, host: &Host, probe: &Probe, digest: &str) -> Vec<Finding> {
    let own = probe.folder.join(&host.name);
    let made = std::fs::create_dir(&own)
        .and_then(|()| std::fs::write(own.join("launcher"), &probe.token))
        .map_err(|e| Error::io("write", &own, e))
        .and_then(|()| probe::hold(&own));
    let _locked = match made {
        Ok(locked) => locked,
        Err(error) => return vec![Finding::of("start", Err(error))],
    };
    let probe = Probe { folder: own, ..probe.clone() };
    let order = |assignment| Order::Probe(Box::new((assignment, probe.clone())));
    let found = Supervisor::work(topology, slice::from_ref(host), &[], digest, &order)
        .map_err(|failure| failure.error)
        .and_then(|ends| ends.into_iter().map(End::findings).collect::<Result<Vec<_>>>());
    let found = match found {
        Ok(found) => found.concat(),
        Err(error) => return vec![Finding::of("start", Err(error))],
    };
    let line = "started by the launcher, the same binary, its port open".to_owned();
    let mut findings = vec![Finding::of("start", Ok(line))];
    findings.extend(found.into_iter().filter(|finding| finding.check != "peers"));
    let back =
        probe::wait_for(&probe::answer_path(&probe.folder, 0), &probe::answer(&probe.token, 0));
    findings.push(Finding::of(
        "shared",
        back.map(|()| "the launcher reads what was written there".to_owned()),
    ));
    findings
}
