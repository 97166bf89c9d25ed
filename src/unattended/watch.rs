//! Reports the start and the end of an unattended run by pings and by the metrics file.
//!
//! A failed report is a warning, never an error of the run. A run that could not start because
//! another one holds the store reports nothing, because the other run will report.

use crate::advice;
use crate::cli;
use crate::signals;
use crate::unattended::metrics;
use crate::unattended::ping::Ping;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use workers::error::{Kind, Result};
use workers::export::{self, ours};
use workers::job::Job;
use workers::locks::lock;

/// The job's name: the name of its file, without the ending.
fn name(unattended: &cli::Unattended) -> String {
    unattended.run.job.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The reports of one run.
pub struct Watch {
    name: String,
    started: Instant,
    metrics: Option<PathBuf>,
    /// The thread that ends the run takes it.
    ping: Arc<Mutex<Option<Ping>>>,
    job: Option<Job>,
    has_begun: bool,
}

impl Watch {
    /// The reports of a run that starts now.
    pub fn new(unattended: &cli::Unattended) -> Watch {
        Watch {
            name: name(unattended),
            started: Instant::now(),
            metrics: unattended.metrics.clone(),
            ping: Arc::new(Mutex::new(unattended.ping.clone().map(Ping::new))),
            job: None,
            has_begun: false,
        }
    }

    /// Takes the metrics file and the URL from the job file, unless the command line sets them.
    ///
    /// # Errors
    ///
    /// `Usage` or `Output` if the metrics would replace a file of another program, or be read as a
    /// crawl. Then they are not written.
    pub fn read_job(&mut self, job: &Job) -> Result<()> {
        self.metrics = self.metrics.take().or_else(|| job.output.metrics.clone());
        let mut ping = lock(&self.ping);
        *ping = ping.take().or_else(|| job.output.ping.clone().map(Ping::new));
        drop(ping);
        self.job = Some(job.clone());
        let Some(path) = &self.metrics else { return Ok(()) };
        let checked = match job.output.metrics.as_ref() == Some(path) {
            true => ours::check(path, metrics::MARK, "or name another file as [output] metrics"),
            false => ours::check_named("--metrics", path, metrics::MARK, job),
        };
        checked.inspect_err(|_| self.metrics = None)
    }

    /// The run holds the store's lock.
    pub fn begin(&mut self, job: &Job) {
        self.has_begun = true;
        if let Some(ping) = &mut *lock(&self.ping) {
            ping.start();
        }
        let (dir, metrics, name, started) =
            (job.output.dir.clone(), self.metrics.clone(), self.name.clone(), self.started);
        let ping = self.ping.clone();
        signals::set_clean_up(move |error| {
            export::sweep(&dir);
            let code = error.map(|error| error.kind().exit_code());
            if let Some(path) = metrics {
                let ended = match code {
                    Some(code) => metrics::Ended::with_code(&name, started, code),
                    None => metrics::Ended::stopped(&name, started),
                };
                metrics::update(&path, &ended, None);
            }
            // A stop by a signal is reported only by metrics: it is not a failure, and a ping could
            // take longer than a service manager waits.
            if let (Some(error), Some(code), Some(ping)) = (error, code, lock(&ping).take()) {
                ping.failed(code, &error.to_string());
            }
        });
    }

    /// Reports the end of the run.
    pub fn end(&mut self, outcome: &Result<()>) {
        let kept_from_beginning = |kind: Kind| kind == Kind::TryAgain && !self.has_begun;
        let code = match outcome {
            Ok(()) if !self.has_begun => return,
            Err(error) if kept_from_beginning(error.kind()) => return,
            Ok(()) => 0,
            Err(error) => error.kind().exit_code(),
        };
        // The run has ended; a later signal must not change its outcome.
        signals::wait_if_stopping();
        if let Some(path) = &self.metrics {
            let ended = metrics::Ended::with_code(&self.name, self.started, code);
            metrics::update(path, &ended, self.job.as_ref().filter(|_| code == 0));
        }
        let ping = lock(&self.ping).take();
        match (ping, outcome) {
            (Some(ping), Ok(())) => ping.succeeded(),
            (Some(ping), Err(error)) => ping.failed(code, &advice::message(error)),
            (None, _) => {}
        }
    }
}
