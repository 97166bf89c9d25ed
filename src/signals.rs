//! Ends the process on SIGTERM, SIGINT or SIGHUP, with exit code 75 and one line; and on an error
//! that its other threads must not survive.
//!
//! The first signal stops a command after a short clean-up; another one, half a second later or
//! more, ends it at once. One that comes sooner is not from a person: `timeout` sends a signal to a
//! process and to its group, so that it comes twice. No work is asked to stop or waited for: a
//! thread of its own ends the process. That is safe because kill -9 is: a commit is a single `link`
//! call, finished splits are durable, and an export without its summary is made again by the next
//! run. A signal at the moment of a commit loses nothing. At worst the exit code is 75 although the
//! epoch was committed, and the next run finds nothing due.
//!
//! A signal that is ignored when the process starts (by `nohup`, or for a shell's background jobs)
//! stays ignored. SIGPIPE is not handled here: a write to a closed pipe is an error like others.

use crate::terminal::{logging, print};
use rustix::stdio::dup2_stderr;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
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
use workers::error::{Error, Kind, Result};
use workers::locks::lock;
use workers::mesh;

/// The signals that stop a run.
const SIGNALS: [i32; 3] = [SIGTERM, SIGINT, SIGHUP];
/// How long a worker that got a signal waits for its launcher to end it. A signal to a process
/// group or from a terminal is meant for the launcher.
const LAUNCHER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a worker stays alive, silently, after its launcher has ended, so that no other worker
/// reports it as a lost peer.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// How long the last messages of a process may take.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);

/// The clean-up before the end: after an error or, without an error, after a signal. After a signal
/// it must be short, because a service manager kills the process soon.
type CleanUp = Box<dyn FnOnce(Option<&Error>) + Send>;

static CLEAN_UP: Mutex<Option<CleanUp>> = Mutex::new(None);
/// What [`hold`] registered and nothing waits for yet.
static HELD: Mutex<Option<Registered>> = Mutex::new(None);
static STOPPING: AtomicBool = AtomicBool::new(false);

/// The [`SIGNALS`] that are not ignored according to `status`, the text of `/proc/self/status`.
fn active_signals(status: &str) -> Vec<i32> {
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let is_ignored = |signal: &i32| mask.unwrap_or(0) >> (signal - 1) & 1 == 1;
    SIGNALS.into_iter().filter(|signal| !is_ignored(signal)).collect()
}

/// How long after the first signal another signal does not end the process at once.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// The signals of this process. When the flag is set, one of them ends the process at once.
type Registered = (Signals, Arc<AtomicBool>);

/// Registers the signals of this process.
fn register() -> std::io::Result<Registered> {
    let active = active_signals(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    // Register this first, so that no signal is lost.
    let signals = Signals::new(&active)?;
    let (armed, code) = (Arc::new(AtomicBool::new(false)), Kind::TryAgain.exit_code());
    for signal in &active {
        flag::register_conditional_shutdown(*signal, code.into(), armed.clone())?;
    }
    Ok((signals, armed))
}

/// Sets the flag when another signal cannot be the second copy of the first one any more.
fn arm_later(armed: Arc<AtomicBool>) {
    let later = armed.clone();
    let work = move || {
        thread::sleep(SAME_SIGNAL);
        later.store(true, Ordering::SeqCst);
    };
    if thread::Builder::new().name("second signal".into()).spawn(work).is_err() {
        armed.store(true, Ordering::SeqCst);
    }
}

/// From now on a signal is kept until a command says what it does. A signal that comes while the
/// command line is parsed then ends the process with the exit code of any other. Only one that
/// comes in the microseconds in which a handler is put in place is lost (`signal-hook-registry` has
/// no remedy); the next one is not.
pub fn hold() {
    // What cannot be registered now is tried again, and told, when it is waited for.
    *lock(&HELD) = register().ok();
}

/// Calls `then` at the first signal, in a thread of its own. If `ends_at_second`, another one ends
/// the process at once.
fn on_first_signal(ends_at_second: bool, then: impl FnOnce() + Send + 'static) {
    let held = lock(&HELD).take();
    let waiting = held.map_or_else(register, Ok).and_then(|(mut signals, armed)| {
        let unwaited = armed.clone();
        let wait = move || {
            if signals.forever().next().is_some() {
                if ends_at_second {
                    arm_later(armed);
                }
                then();
            }
        };
        let spawned = thread::Builder::new().name("signals".into()).spawn(wait);
        spawned.map(drop).inspect_err(|_| unwaited.store(true, Ordering::SeqCst))
    });
    if let Err(error) = waiting {
        // Signals still end the process, but without the clean-up.
        tracing::warn!(%error, "cannot wait for signals");
    }
}

/// From now on a file that grows beyond a limit (`ulimit -f`) is an error of the write, like a full
/// disk. By default the system ends the process without a message.
pub fn survive_file_limit() {
    // If it cannot be registered, that default stays.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// From now on a signal stops this process. With `json`, the failure is also printed as JSON.
pub fn on_signal(json: bool) {
    on_first_signal(true, move || conclude(None, json));
}

/// Does the `work` of this process, which is a launcher. A panic in a worker's thread stops it.
/// With `json`, each failure is also printed as JSON.
pub fn launch(json: bool, work: impl FnOnce() -> Result<()>) -> Result<()> {
    mesh::exit_on_panic(move |error| end(error, json));
    let outcome = work();
    wait_if_stopping();
    if let (Err(error), true) = (&outcome, json) {
        print::print_failure(error);
    }
    outcome
}

/// From now on a signal calls `stop`, and a second signal ends the process.
#[cfg(feature = "serve")]
pub fn on_stop(stop: impl FnOnce() + Send + 'static) {
    on_first_signal(true, stop);
}

/// Sets what to do before a signal, or an error in another thread, ends the process.
pub fn set_clean_up(clean_up: impl FnOnce(Option<&Error>) + Send + 'static) {
    *lock(&CLEAN_UP) = Some(Box::new(clean_up));
}

/// If the process is ending, waits for the end: anything that the launcher would report now is a
/// consequence of the same cause. Otherwise later signals run no clean-up.
pub fn wait_if_stopping() {
    let unused = lock(&CLEAN_UP).take();
    drop(unused);
    if STOPPING.load(Ordering::SeqCst) {
        park();
    }
}

/// Waits for the end of the process.
fn park() -> ! {
    loop {
        thread::park();
    }
}

/// The error of a run that a signal stopped.
pub fn stopped() -> Error {
    Error::new(Kind::TryAgain, "stopped; run again to go on")
}

/// Ends this process, which is a launcher, because of `error`. With `json`, the failure is also
/// printed as JSON.
pub fn end(error: &Error, json: bool) -> ! {
    conclude(Some(error), json)
}

/// Ends this process because of an error, or of a signal.
fn conclude(error: Option<&Error>, json: bool) -> ! {
    if STOPPING.swap(true, Ordering::SeqCst) {
        // Several threads lose the same peer. The first of them reports it.
        park();
    }
    let clean_up = lock(&CLEAN_UP).take();
    if let Some(clean_up) = clean_up {
        // The process ends even if the clean-up panics.
        let _ = catch_unwind(AssertUnwindSafe(|| clean_up(error)));
    }
    let stopped = stopped();
    let error = error.unwrap_or(&stopped);
    let code = i32::from(error.kind().exit_code());
    // The reader of stdout or stderr may have stopped. Then a thread waits in a write and holds the
    // lock.
    let last = move || {
        thread::sleep(LAST_WORDS_TIMEOUT);
        exit(code)
    };
    let _ = thread::Builder::new().name("last words".into()).spawn(last);
    if json {
        print::print_failure(error);
    }
    if std::io::stderr().is_terminal() {
        // Clear the line of the progress bar.
        let _ = std::io::stderr().write_all(b"\r\x1b[2K");
    }
    logging::print_failure(error);
    // The worker processes end because their stdin closes.
    exit(code)
}

/// From now on this process, which is a worker, survives a signal for as long as its launcher may
/// need to end it.
pub fn outlive_launcher() {
    on_first_signal(false, || {
        thread::sleep(LAUNCHER_TIMEOUT);
        logging::print_failure(&stopped());
        exit(Kind::TryAgain.exit_code().into())
    });
}

/// Ends this worker after its launcher has ended. It prints nothing, because the launcher has
/// reported the cause.
pub fn end_after_launcher() -> ! {
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        // If that fails, a few lines too many are printed.
        let _ = dup2_stderr(&nowhere);
    }
    thread::sleep(QUIET_TIME);
    exit(Kind::TryAgain.exit_code().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signals that were ignored at the start stay ignored, as `nohup` needs it. Without `/proc`
    /// none count as ignored.
    #[test]
    fn ignored_signals() {
        assert_eq!(active_signals("Name:\tx\nSigIgn:\t0000000000001000\n"), SIGNALS);
        assert_eq!(active_signals("SigIgn:\t0000000000000001\n"), [SIGTERM, SIGINT]);
        assert_eq!(active_signals("SigIgn:\t0000000000004003\n"), [0; 0]);
        assert_eq!(active_signals(""), SIGNALS);
    }
}
