//! Stopping: in comes SIGTERM, SIGINT or SIGHUP, out goes the process, with exit code 75 and one line. The first signal stops a launcher in an orderly
//! manner, a second one ends it wherever it is. Nothing that works is asked to stop or waited for: a thread of its own ends the process in the
//! middle of whatever it does. That is sound because kill -9 is: a commit is one `link`, which has happened or has not, finished splits
//! are durable, and an export that lacks its summary is made again by the next run. So a signal that comes in the instant of a commit loses
//! no commit; at worst the exit code says 75 of an epoch that is there, and the next run finds nothing due.
//!
//! A signal that is ignored when the process starts (`nohup`, a shell's background jobs) stays ignored. SIGPIPE is none of these: writing to
//! a reader who has left is an error like others.

use crate::terminal::{logging, print};
use rustix::stdio::dup2_stderr;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use workers::error::{Error, Kind};
use workers::locks::lock;

/// The signals that stop.
const SIGNALS: [i32; 3] = [SIGTERM, SIGINT, SIGHUP];
/// For which a worker that got a signal waits for its launcher to end: who signals a process group or a terminal means the launcher.
const LAUNCHER_TIMEOUT: Duration = Duration::from_secs(5);
/// For which a worker outlives its launcher in silence, so that no other worker has something to say of a lost peer.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// What is done between the signal and the end. Short, as the service manager's patience is.
type CleanUp = Box<dyn FnOnce() + Send>;

static CLEAN_UP: Mutex<Option<CleanUp>> = Mutex::new(None);
static STOPPING: AtomicBool = AtomicBool::new(false);

/// The signals among [`SIGNALS`] that `status`, the text of `/proc/self/status`, does not say to be ignored.
fn active_signals(status: &str) -> Vec<i32> {
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let is_ignored = |signal: &i32| mask.unwrap_or(0) >> (signal - 1) & 1 == 1;
    SIGNALS.into_iter().filter(|signal| !is_ignored(signal)).collect()
}

/// The signals of this process, to be waited for; a second one is the end, if `ends` says so.
fn signals(ends_at_second: bool) -> std::io::Result<Signals> {
    let active = active_signals(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    // First, so that no signal arms without being heard.
    let signals = Signals::new(&active)?;
    if ends_at_second {
        let armed = Arc::new(AtomicBool::new(false));
        for signal in &active {
            // In this order: the signal that arms is not the one that ends.
            flag::register_conditional_shutdown(*signal, Kind::TryAgain.exit_code().into(), armed.clone())?;
            flag::register(*signal, armed.clone())?;
        }
    }
    Ok(signals)
}

/// Does `then` at the first signal, in a thread of its own.
fn on_first_signal(ends_at_second: bool, then: impl FnOnce() + Send + 'static) {
    let waiting = signals(ends_at_second).and_then(|mut signals| {
        let wait = move || {
            if signals.forever().next().is_some() {
                then();
            }
        };
        thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
    });
    if let Err(error) = waiting {
        // They end the process all the same, only with less grace.
        tracing::warn!(%error, "cannot wait for signals");
    }
}

/// From now on a signal stops this process, which is a launcher; `json` tells scripts so, too.
pub fn on_signal(json: bool) {
    on_first_signal(true, move || end(&stopped(), json));
}

/// What is to be done before a signal ends the process.
pub fn set_clean_up(clean_up: impl FnOnce() + Send + 'static) {
    *lock(&CLEAN_UP) = Some(Box::new(clean_up));
}

/// Waits for the end if a signal has come: what the launcher has to say after that is but an echo. Otherwise from here on no signal cleans up.
pub fn wait_if_stopping() {
    let unused = lock(&CLEAN_UP).take();
    drop(unused);
    while STOPPING.load(Ordering::SeqCst) {
        thread::park();
    }
}

/// The failure that a signal is.
pub fn stopped() -> Error {
    Error::new(Kind::TryAgain, "stopped; run again to go on")
}

/// Ends this process, which is a launcher, in the middle of whatever it does, because of `error`; `json` tells scripts so, too.
pub fn end(error: &Error, json: bool) {
    STOPPING.store(true, Ordering::SeqCst);
    let clean_up = lock(&CLEAN_UP).take();
    if let Some(clean_up) = clean_up {
        // Whatever befalls it, the process ends: the launcher waits for that.
        let _ = catch_unwind(AssertUnwindSafe(clean_up));
    }
    if json {
        print::print_failure(error);
    }
    if std::io::stderr().is_terminal() {
        // The line of the progress bar.
        let _ = std::io::stderr().write_all(b"\r\x1b[2K");
    }
    logging::print_error(&error.to_string());
    // Workers end as their stdin closes.
    exit(error.kind().exit_code().into())
}

/// From now on this process, which is a worker, outlives a signal for as long as its launcher may take to end.
pub fn outlive_launcher() {
    on_first_signal(false, || {
        thread::sleep(LAUNCHER_TIMEOUT);
        logging::print_error(&stopped().to_string());
        exit(Kind::TryAgain.exit_code().into())
    });
}

/// Ends this worker, whose launcher has ended, without a word: the launcher said what there was to say.
pub fn end_after_launcher() -> ! {
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        // Where that fails some words too many are said.
        let _ = dup2_stderr(&nowhere);
    }
    thread::sleep(QUIET_TIME);
    exit(Kind::TryAgain.exit_code().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was ignored at the start stays ignored, as `nohup` wants it; without `/proc` all are heeded.
    #[test]
    fn ignored_signals() {
        assert_eq!(active_signals("Name:\tx\nSigIgn:\t0000000000001000\n"), SIGNALS);
        assert_eq!(active_signals("SigIgn:\t0000000000000001\n"), [SIGTERM, SIGINT]);
        assert_eq!(active_signals("SigIgn:\t0000000000004003\n"), [0; 0]);
        assert_eq!(active_signals(""), SIGNALS);
    }
}
