//! Who watches a run that nobody looks at: in comes a run's beginning and end, out go pings and the file of metrics. Never fails a run: what
//! cannot be told is a warning. A run that another one kept from beginning says nothing, as that other one will.

use crate::cli;
use crate::signals;
use crate::unattended::metrics;
use crate::unattended::ping::Ping;
use std::path::PathBuf;
use std::time::Instant;
use workers::error::{Kind, Result};
use workers::export;
use workers::job::Job;

/// The job's name: its file's, without the ending.
fn name(unattended: &cli::Unattended) -> String {
    unattended.run.job.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// A run that is watched.
pub struct Watch {
    name: String,
    started: Instant,
    metrics: Option<PathBuf>,
    ping: Option<Ping>,
    job: Option<Job>,
    has_begun: bool,
}

impl Watch {
    /// Of a run that begins.
    pub fn new(unattended: &cli::Unattended) -> Watch {
        Watch {
            name: name(unattended),
            started: Instant::now(),
            metrics: unattended.metrics.clone(),
            ping: unattended.ping.clone().map(Ping::new),
            job: None,
            has_begun: false,
        }
    }

    /// The job file is read, and says whom to tell unless the command line did.
    pub fn read_job(&mut self, job: &Job) {
        self.metrics = self.metrics.take().or_else(|| job.output.metrics.clone());
        self.ping = self.ping.take().or_else(|| job.output.ping.clone().map(Ping::new));
        self.job = Some(job.clone());
    }

    /// The store is this run's.
    pub fn begin(&mut self, job: &Job) {
        self.has_begun = true;
        if let Some(ping) = &mut self.ping {
            ping.start();
        }
        // A stop is told by metrics alone: it is no failure, and a ping could take longer than a service manager waits.
        let (dir, metrics, name, started) =
            (job.output.dir.clone(), self.metrics.clone(), self.name.clone(), self.started);
        signals::set_clean_up(move || {
            export::sweep(&dir);
            if let Some(path) = metrics {
                metrics::update(&path, &metrics::Ended::stopped(&name, started), None);
            }
        });
    }

    /// The run has ended.
    pub fn end(&mut self, outcome: &Result<()>) {
        let kept_from_beginning = |kind: Kind| kind == Kind::TryAgain && !self.has_begun;
        let code = match outcome {
            Ok(()) if !self.has_begun => return,
            Err(error) if kept_from_beginning(error.kind()) => return,
            Ok(()) => 0,
            Err(error) => error.kind().exit_code(),
        };
        // From here on a signal ends the run as it has ended already.
        signals::wait_if_stopping();
        if let Some(path) = &self.metrics {
            let ended = metrics::Ended::with_code(&self.name, self.started, code);
            metrics::update(path, &ended, self.job.as_ref().filter(|_| code == 0));
        }
        match (self.ping.take(), outcome) {
            (Some(ping), Ok(())) => ping.succeeded(),
            (Some(ping), Err(error)) => ping.failed(code, &error.to_string()),
            (None, _) => {}
        }
    }
}
