//! Writes results to stdout, for people and for scripts.

use crate::advice;
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use workers::error::{Error, Kind, Result};
pub use workers::figures::{counted, grouped, megabytes, percent, size};
use workers::plain::{is_obeyed, plain};

/// Prints the failure as JSON, with the guard if a guard caused it. Its advice names the job of the
/// command line, as on stderr.
pub fn print_failure(error: &Error) {
    let value = json!({ "error": advice::message(error), "exit_code": error.kind().exit_code(), "guard": error.guard() });
    // The exit code and stderr report it as well.
    let _ = print_json(&value);
}

/// Prints `value` as one line of JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string(value)
        .map_err(|e| Error::internal("cannot write JSON").caused_by(e))?;
    show(&format!("{}\n", escaped(&text)))
}

/// `json` with escapes for the control characters that JSON allows raw, DEL and C1, and for marks
/// that change the direction of text, because the output may go to a terminal. They occur only in
/// strings, so the JSON means the same.
pub fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(is_obeyed) {
        return json.into();
    }
    let escape = |c: char| match is_obeyed(c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    json.chars().map(escape).collect()
}

/// Whether nobody has closed the pipe behind stdout yet.
static HAS_READER: AtomicBool = AtomicBool::new(true);

/// Whether somebody may still read what [`show`] writes. A command that writes much need not go on
/// without a reader.
pub fn has_reader() -> bool {
    HAS_READER.load(Ordering::Relaxed)
}

/// Writes to stdout. A reader that has closed the pipe is not an error.
pub fn show(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {
            HAS_READER.store(false, Ordering::Relaxed);
            Ok(())
        }
        written => {
            written.map_err(|e| Error::new(Kind::Output, "cannot write to stdout").caused_by(e))
        }
    }
}

/// The lines of a text for people, each with a heading of up to ten characters.
#[derive(Default)]
pub struct Lines(String);

impl Lines {
    /// A line. Without a heading it continues the line before. Names of files and URLs may contain
    /// any characters, so the text is made [`plain`].
    pub fn line(&mut self, head: &str, text: impl AsRef<str>) {
        self.painted(head, plain(text.as_ref()));
    }

    /// A line whose text has colours, and is [`plain`] without them.
    pub fn painted(&mut self, head: &str, text: impl AsRef<str>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{head:<10} {}", text.as_ref());
    }

    /// A line for each of the texts; the first has the heading.
    pub fn list<T: AsRef<str>>(&mut self, head: &str, texts: impl IntoIterator<Item = T>) {
        for (at, text) in texts.into_iter().enumerate() {
            self.line(if at == 0 { head } else { "" }, text);
        }
    }

    /// All lines.
    pub fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commas separate the thousands.
    #[test]
    fn thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    /// In some reports a line break in a text made a line of its own. A text stays one line, and of
    /// a list the first has the heading.
    #[test]
    fn lines_have_headings() {
        let mut lines = Lines::default();
        lines.list("due", ["a\nb", "c"]);
        lines.line("provisional", "d");
        let wanted = "due        a\u{fffd}b\n           c\nprovisional d\n";
        assert_eq!(lines.into_text(), wanted);
    }

    /// JSON allows C1, DEL and marks of direction raw in a string, so they reached the terminal.
    /// With escapes it is the same JSON.
    #[test]
    fn json_has_no_control_characters() {
        let hostile = "\u{1b}]0;x\u{7}\u{9b}31m\n\u{202e}\u{7f}漢";
        let raw = serde_json::to_string(hostile).expect("JSON");
        let shown = escaped(&raw);
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown:?}");
        assert_eq!(serde_json::from_str::<String>(&shown).expect("JSON"), hostile);
        assert_eq!(escaped("{\"a\":1}"), "{\"a\":1}");
    }
}
