//! Writes results to stdout, for people and for scripts.

use serde_json::json;
use std::io::Write as _;
use workers::error::{Error, Kind, Result};
pub use workers::figures::{counted, grouped, megabytes, percent, size};

/// Prints the failure as JSON, with the guard if a guard caused it.
pub fn print_failure(error: &Error) {
    let value = json!({ "error": error.to_string(), "exit_code": error.kind().exit_code(), "guard": error.guard() });
    // The exit code and stderr report it as well.
    let _ = print_json(&value);
}

/// Prints `value` as one line of JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string(value)
        .map_err(|e| Error::internal("cannot write JSON").caused_by(e))?;
    show(&format!("{text}\n"))
}

/// Writes to stdout. A reader that has closed the pipe is not an error.
pub fn show(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(Kind::Output, "cannot write to stdout").caused_by(e))
        }
        _ => Ok(()),
    }
}
