//! Why a job fails, and the exit code that says so.
//!
//! An error is one line that names the file, the key or the remedy; its kind tells a scheduler what
//! to do next. A bad *record* is never an `Error`: it is counted as a `Reject`.

use crate::plain::plain;
use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

/// Why a job stopped. The numbers are those of BSD's `sysexits.h`, which cron wrappers and
/// schedulers understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The command line is wrong.
    Usage = 64,
    /// Too many bad records, or a guard stopped the run.
    Data = 65,
    /// An input that the user names is missing.
    NoInput = 66,
    /// A fault of pagefold itself.
    Internal = 70,
    /// The output cannot be written.
    Output = 73,
    /// Reading or writing failed.
    Io = 74,
    /// Nothing is broken; try again: the store is locked, a peer was lost, or the run was stopped.
    TryAgain = 75,
    /// A peer was refused.
    Protocol = 76,
    /// The system denied access.
    Permission = 77,
    /// The job file, the cluster file or the store's format is wrong.
    Config = 78,
}

impl Kind {
    /// All kinds, by exit code.
    pub const ALL: [Kind; 10] = [
        Kind::Usage,
        Kind::Data,
        Kind::NoInput,
        Kind::Internal,
        Kind::Output,
        Kind::Io,
        Kind::TryAgain,
        Kind::Protocol,
        Kind::Permission,
        Kind::Config,
    ];

    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        self as u8
    }

    /// The meaning of the exit code; `--help` and the README use the same words.
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Usage => "the command line is wrong",
            Kind::Data => "the data is not as it should be, or a guard refused the epoch",
            Kind::NoInput => "a named input is missing",
            Kind::Internal => "a fault in pagefold",
            Kind::Output => "the output cannot be written",
            Kind::Io => "reading or writing failed; `verify`: files are damaged",
            Kind::TryAgain => {
                "try again: another run is at work, a process was lost, a signal stopped the run"
            }
            Kind::Protocol => "a process was refused",
            Kind::Permission => "the system denied access",
            Kind::Config => "the job file, the cluster file or the store's format is wrong",
        }
    }
}

/// A path in a message: a name of a file may hold a line break or an escape sequence.
fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}

/// A job's failure: its kind, one line for people, and its cause.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    line: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    guard: Option<&'static str>,
    peer: Option<usize>,
}

impl Error {
    /// A failure that `line` describes.
    pub fn new(kind: Kind, line: impl Into<String>) -> Error {
        Error { kind, line: line.into(), source: None, guard: None, peer: None }
    }

    /// `operation` on `path` failed ("read", "create", "rename to" ...).
    pub fn io(operation: &str, path: &Path, source: std::io::Error) -> Error {
        let kind = match source.kind() {
            std::io::ErrorKind::PermissionDenied => Kind::Permission,
            _ => Kind::Io,
        };
        Error::new(kind, format!("cannot {operation} {}", shown(path))).caused_by(source)
    }

    /// [`Error::io`] for an input that the user names: it is a [`Kind::NoInput`] if it does not
    /// exist.
    pub fn input(operation: &str, path: &Path, source: std::io::Error) -> Error {
        let is_missing = source.kind() == std::io::ErrorKind::NotFound;
        let error = Error::io(operation, path, source);
        if is_missing { error.with_kind(Kind::NoInput) } else { error }
    }

    /// The file at `path` contains something invalid; `why` names the key.
    pub fn config(path: &Path, why: impl fmt::Display) -> Error {
        Error::new(Kind::Config, format!("{}: {why}", shown(path)))
    }

    /// An invariant of pagefold is broken.
    pub fn internal(line: impl Into<String>) -> Error {
        Error::new(Kind::Internal, line)
    }

    /// Adds the cause.
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Error {
        self.source = Some(Box::new(source));
        self
    }

    /// Adds to the line.
    pub fn and(mut self, more: &str) -> Error {
        self.line.push_str(more);
        self
    }

    /// An error of writing results. Damage of the store keeps its own kind, because it ends the
    /// reading thread.
    pub fn as_output(self) -> Error {
        self.with_kind(Kind::Output)
    }

    /// Changes the kind, unless access was denied: that has one remedy wherever it happens.
    pub fn with_kind(mut self, kind: Kind) -> Error {
        if self.kind != Kind::Permission {
            self.kind = kind;
        }
        self
    }

    /// Names the guard that stopped the run.
    pub fn with_guard(mut self, name: &'static str) -> Error {
        self.guard = Some(name);
        self
    }

    /// Blames process `peer`.
    pub fn blaming(mut self, peer: usize) -> Error {
        self.peer = Some(peer);
        self
    }

    /// The process to blame, if it is another one.
    pub fn peer(&self) -> Option<usize> {
        self.peer
    }

    /// The guard that stopped the run, if one did.
    pub fn guard(&self) -> Option<&'static str> {
        self.guard
    }

    /// Whether a disk is full, or what the user may have of it.
    pub fn is_full_disk(&self) -> bool {
        self.is_by(is_full_disk)
    }

    /// Whether a disk failed, as an fsync says.
    pub fn is_failed_disk(&self) -> bool {
        self.is_by(|error| error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()))
    }

    /// Whether the system gave such an error as its cause.
    fn is_by(&self, is_such: impl Fn(&std::io::Error) -> bool) -> bool {
        let mut causes = std::iter::successors(self.source(), |cause| (*cause).source());
        causes.any(|cause| cause.downcast_ref().is_some_and(&is_such))
    }

    /// Why the job stopped.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)?;
        let mut cause = self.source.as_deref().map(|s| s as &dyn StdError);
        let mut said = self.line.clone();
        while let Some(error) = cause {
            let what = without_number(&error.to_string());
            // Many errors repeat what caused them.
            if !said.ends_with(&what) {
                write!(f, ": {what}")?;
                said = what;
            }
            cause = error.source();
        }
        Ok(())
    }
}

/// `message` without the number of the system's error, which stands behind its words.
fn without_number(message: &str) -> String {
    let mut rest = message;
    let mut words = String::new();
    while let Some((before, after)) = rest.split_once(" (os error ") {
        words += before;
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    words + rest
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|s| s as &(dyn StdError + 'static))
    }
}

/// A value of the job file that the room which reads it refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongValue {
    /// The key, in the table of the room.
    pub key: &'static str,
    /// What is wrong with it, and which values are allowed.
    pub why: String,
}

impl WrongValue {
    /// The value of `key`, which is wrong because of `why`.
    pub fn new(key: &'static str, why: impl Into<String>) -> WrongValue {
        WrongValue { key, why: why.into() }
    }
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.why)
    }
}

/// The result of a fallible step of a job.
pub type Result<T> = std::result::Result<T, Error>;

/// Whether a write failed because the disk, or the quota on it, is full.
pub fn is_full_disk(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as IoKind;
    matches!(error.kind(), IoKind::StorageFull | IoKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error as IoError, ErrorKind};

    /// The words of the system stand once, without its number.
    #[test]
    fn words_of_the_system() {
        let cause = IoError::from_raw_os_error(2);
        let error = Error::io("read", Path::new("x"), cause);
        assert_eq!(error.to_string(), "cannot read x: No such file or directory");
        let outer = Error::internal("failed").caused_by(IoError::other(error));
        assert_eq!(outer.to_string(), "failed: cannot read x: No such file or directory");
    }

    /// Only a missing input is `NoInput`; a missing file of our own is an I/O error.
    #[test]
    fn kinds_of_io_errors() {
        let kinds = |source: ErrorKind| {
            let path = Path::new("gone");
            [Error::io, Error::input].map(|of| of("read", path, IoError::from(source)).kind())
        };
        assert_eq!(kinds(ErrorKind::NotFound), [Kind::Io, Kind::NoInput]);
        assert_eq!(kinds(ErrorKind::PermissionDenied), [Kind::Permission; 2]);
        let denied =
            Error::io("create", Path::new("out"), IoError::from(ErrorKind::PermissionDenied));
        assert_eq!(denied.with_kind(Kind::Output).kind(), Kind::Permission);
        assert_eq!(kinds(ErrorKind::StorageFull), [Kind::Io; 2]);
    }
}
