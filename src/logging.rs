//! Logs go to stderr: lines for a person on a terminal, JSON lines elsewhere. `RUST_LOG` overrules the flags.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging. On a terminal only warnings by default, as a progress bar says the rest.
pub fn start(quiet: bool, verbose: u8) {
    let terminal = std::io::stderr().is_terminal();
    let level = match (quiet, verbose) {
        (true, _) => "error",
        (false, 0) if terminal => "warn",
        (false, 0) => "info",
        (false, 1) => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    if terminal {
        builder.without_time().init();
    } else {
        builder.json().flatten_event(true).init();
    }
}
