//! Logs on stderr, errors included: lines for people on a terminal, JSON lines elsewhere.
//! `RUST_LOG` overrides the flags: a level, or levels of modules (`warn,workers::mesh=debug`).

use crate::advice;
use crate::terminal::paint;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};
use workers::error::Error;

/// Starts logging. On a terminal only warnings are logged by default, because the progress bar
/// shows the rest. Warnings are logged even if `quiet`, because cron jobs and units are quiet and
/// leave nothing but their log.
pub fn start(quiet: bool, verbose: u8) {
    let terminal = std::io::stderr().is_terminal();
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::WARN,
        (false, 0) if terminal => LevelFilter::WARN,
        (false, 0 | 1) => LevelFilter::INFO,
        (false, 2) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // An empty value is no filter, which would silence warnings.
    let chosen = std::env::var("RUST_LOG").ok().filter(|levels| !levels.is_empty());
    let chosen = chosen.and_then(|levels| levels.parse::<Targets>().ok());
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

/// Writes to a terminal that may show the progress bar: removes the bar's line first. The bar is
/// drawn again below.
struct OwnLine;

impl Write for OwnLine {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        std::io::stderr().lock().write_all(&[b"\r\x1b[2K", line].concat()).map(|()| line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The error of a failed command as a line of the log; only such a line has an exit code.
#[derive(Serialize)]
struct Failure {
    timestamp: String,
    level: &'static str,
    message: String,
    exit_code: u8,
    guard: Option<&'static str>,
}

/// Prints the error of a failed command, whatever the level of the log. If stderr is closed or
/// full, the exit code still reports the failure. Its advice names the job of the command line.
pub fn print_failure(error: &Error) {
    let message = advice::message(error);
    if std::io::stderr().is_terminal() {
        return print_plain(&message);
    }
    let (exit_code, guard) = (error.kind().exit_code(), error.guard());
    write(&json_line(&Failure {
        timestamp: timestamp(),
        level: "ERROR",
        message,
        exit_code,
        guard,
    }));
}

/// Prints an error as plain text even if stderr is no terminal: one line, or several of equal rank.
pub fn print_plain(lines: &str) {
    write(&plain(lines));
}

/// The lines without control characters. Tabs, which quoted lines of job files may have, become
/// spaces.
fn plain(lines: &str) -> String {
    let of = |line: &str| format!("pagefold: {}\n", paint::plain(&line.replace('\t', " ")));
    lines.lines().map(of).collect()
}

/// The time in the form of the log's other lines.
fn timestamp() -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

fn json_line(line: &impl Serialize) -> String {
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

/// Writes to stderr, all at once, so that lines of several threads do not mix.
fn write(lines: &str) {
    let _ = std::io::stderr().lock().write_all(lines.as_bytes());
}

/// Forwards a line that another process wrote to its stderr, in the form of this log. Returns the
/// part of it that may explain how that process ended: an error, or a line that is not from a log.
pub fn forward(line: &str) -> Option<String> {
    let terminal = std::io::stderr().is_terminal();
    let (shown, explains) = forwarded(line, terminal);
    if terminal && !shown.is_empty() {
        // The bar may be shown.
        let _ = OwnLine.write(shown.as_bytes());
    } else {
        write(&shown);
    }
    explains
}

/// A line of a log that is JSON.
#[derive(Deserialize)]
struct LogLine {
    level: String,
    #[serde(default)]
    message: String,
    exit_code: Option<u8>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// The form in which [`forward`] shows `line`, and the part that explains an end. Workers log in
/// JSON, because their stderr is a pipe; ssh and shells write text. The exit code of a worker's
/// error is removed, because the command has its own.
fn forwarded(line: &str, terminal: bool) -> (String, Option<String>) {
    let text = line.trim();
    let as_json = |level: &str, message: &str| {
        json_line(&json!({ "timestamp": timestamp(), "level": level, "message": message }))
    };
    match serde_json::from_str::<LogLine>(text) {
        Ok(log) if terminal => (on_terminal(&log), log.exit_code.map(|_| log.message)),
        Ok(LogLine { message, exit_code: Some(_), .. }) => {
            (as_json("ERROR", &message), Some(message))
        }
        Ok(_) => (format!("{text}\n"), None),
        Err(_) if text.is_empty() => (String::new(), None),
        Err(_) if terminal => (format!("{}\n", paint::plain(text)), Some(text.to_owned())),
        Err(_) => (as_json("WARN", text), Some(text.to_owned())),
    }
}

/// A line of a worker's log as a terminal shows it.
fn on_terminal(log: &LogLine) -> String {
    if log.exit_code.is_some() {
        return plain(&log.message);
    }
    let more = log.more.iter().filter(|(name, _)| *name != "timestamp");
    let more: String = more.map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{:>5} {}\n", log.level, paint::plain(&format!("{}{more}", log.message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of workers, of ssh and of shells are all lines of one log: JSON in a pipe, and plain
    /// on a terminal, which once showed a worker's JSON raw. Only an error and text explain an end.
    #[test]
    fn lines_of_other_processes() {
        let warning = r#"{"timestamp":"2025-01-01T00:00:00.000000Z","level":"WARN","message":"refused","total":2,"why":"a \"key\""}"#;
        assert_eq!(forwarded(warning, false), (format!("{warning}\n"), None));
        assert_eq!(
            forwarded(warning, true),
            (" WARN refused total=2 why=\"a \\\"key\\\"\"\n".into(), None)
        );
        let failure = r#"{"timestamp":"2025-01-01T00:00:00.000000Z","level":"ERROR","message":"one\ntwo","exit_code":70,"guard":null}"#;
        let explains = Some("one\ntwo".to_owned());
        assert_eq!(
            forwarded(failure, true),
            ("pagefold: one\npagefold: two\n".into(), explains.clone())
        );
        let read = |shown: &str| serde_json::from_str::<LogLine>(shown).expect("a line of the log");
        let (shown, explanation) = forwarded(failure, false);
        let log = read(&shown);
        assert_eq!((log.level.as_str(), log.exit_code, explanation), ("ERROR", None, explains));
        assert_eq!(log.message, "one\ntwo");
        for text in ["no \"route\" to it\r", "{no JSON", "7"] {
            let expected = Some(text.trim().to_owned());
            assert_eq!(forwarded(text, true), (format!("{}\n", text.trim()), expected.clone()));
            let (shown, explains) = forwarded(text, false);
            assert_eq!(explains, expected);
            let log = read(&shown);
            assert_eq!((log.level.as_str(), Some(log.message)), ("WARN", expected));
            assert!(log.more.contains_key("timestamp") && shown.ends_with("}\n"), "{shown}");
        }
        for terminal in [true, false] {
            assert_eq!(forwarded(" \r", terminal), (String::new(), None));
        }
    }

    /// The text of a page in an error, or in a line of a worker, could contain escape sequences,
    /// which the terminal obeyed.
    #[test]
    fn hostile_lines_are_plain() {
        let hostile = "a\u{1b}[2J\u{7}\u{9b}31m\u{202e}b";
        assert_eq!(plain(&format!("{hostile}\n\tc")).lines().count(), 2);
        let line = json!({ "level": "WARN", "message": hostile, "why": hostile }).to_string();
        for shown in [plain(hostile), forwarded(&line, true).0, forwarded(hostile, true).0] {
            let text = shown.trim_end_matches('\n');
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown:?}");
        }
    }
}
