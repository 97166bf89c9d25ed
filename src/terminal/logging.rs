//! Logs on stderr: lines for people on a terminal, JSON lines elsewhere. `RUST_LOG` overrides the
//! flags: a level, or levels of modules (`warn,workers::mesh=debug`).

use serde_json::json;
use std::io::{IsTerminal, Write};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};
use workers::error::Error;

/// Starts logging. On a terminal only warnings by default, as the progress bar shows the rest.
pub fn start(quiet: bool, verbose: u8) {
    let terminal = std::io::stderr().is_terminal();
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) if terminal => LevelFilter::WARN,
        (false, 0 | 1) => LevelFilter::INFO,
        (false, 2) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let chosen = std::env::var("RUST_LOG").ok().and_then(|levels| levels.parse::<Targets>().ok());
    let filter = chosen.unwrap_or_else(|| Targets::new().with_default(level));
    // A log that cannot be written does not fail the run; reporting that on the same stderr would
    // panic.
    let lines = fmt::layer().with_target(false).log_internal_errors(false);
    let lines = if terminal {
        lines.with_writer(|| OwnLine).without_time().boxed()
    } else {
        lines.with_writer(std::io::stderr).json().flatten_event(true).boxed()
    };
    registry().with(lines.with_filter(filter)).init();
}

/// Writes to a terminal that may show the progress bar: takes its line away first. The bar is drawn
/// again below.
struct OwnLine;

impl Write for OwnLine {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        std::io::stderr().lock().write_all(&[b"\r\x1b[2K", line].concat()).map(|()| line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Prints the error of a failed command: for a program that asked for JSON as a line of the log.
pub fn print_failure(error: &Error, json: bool) {
    if !json || std::io::stderr().is_terminal() {
        return print_error(&error.to_string());
    }
    let code = error.kind().exit_code();
    let line = json!({ "level": "ERROR", "message": error.to_string(), "exit_code": code, "guard": error.guard() });
    forward(&line.to_string());
}

/// Prints the error of a failed command, in one write: a line, or several of equal rank. If stderr
/// is closed or full, the exit code still reports the failure.
pub fn print_error(lines: &str) {
    let lines: String = lines.lines().map(|line| format!("pagefold: {line}\n")).collect();
    let _ = std::io::stderr().lock().write_all(lines.as_bytes());
}

/// Forwards a line that another process wrote to its stderr, in one write.
pub fn forward(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
