//! What goes wrong with a job: in comes a cause, out goes one line that names the file, the key or the remedy, and the
//! exit code that tells a scheduler what to do. A bad *record* is never an `Error`; it is a counted `Reject`.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

/// Why a job stopped. The numbers are those of BSD's `sysexits.h`, which cron wrappers and schedulers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The command line cannot be read.
    Usage = 64,
    /// Too many bad records, or a guard spoke.
    Data = 65,
    /// A named input is missing.
    NoInput = 66,
    /// A fault of pagefold itself.
    Internal = 70,
    /// The output cannot be written.
    Output = 73,
    /// Reading or writing failed.
    Io = 74,
    /// Nothing is broken: try again (locked, a lost peer, stopped).
    TryAgain = 75,
    /// A peer was refused.
    Protocol = 76,
    /// The system denied access.
    Permission = 77,
    /// The job file, the cluster file or the store's format is wrong.
    Config = 78,
}

impl Kind {
    /// All of them, by exit code.
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

    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        self as u8
    }

    /// What the exit code means, for a person; `--help` and the README say it in these words.
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Usage => "the command line is wrong",
            Kind::Data => {
                "a guard spoke, or a named file is no crawl: nothing was committed; `status --max-age`: stale"
            }
            Kind::NoInput => "a named input is missing",
            Kind::Internal => "a fault in pagefold",
            Kind::Output => "the output cannot be written",
            Kind::Io => "reading or writing failed",
            Kind::TryAgain => "try again: another run is at work, a process was lost, a signal stopped the run",
            Kind::Protocol => "a process was refused",
            Kind::Permission => "the system denied access",
            Kind::Config => "the job file, the cluster file or the store's format is wrong",
        }
    }
}

/// A job's failure: its kind, one line for a person, and the cause below it.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    line: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    guard: Option<&'static str>,
    peer: Option<usize>,
}

impl Error {
    /// A failure that is told in `line` alone.
    pub fn new(kind: Kind, line: impl Into<String>) -> Error {
        Error { kind, line: line.into(), source: None, guard: None, peer: None }
    }

    /// `operation` on `path` failed ("read", "create", "rename to" ...).
    pub fn io(operation: &str, path: &Path, source: std::io::Error) -> Error {
        let kind = match source.kind() {
            std::io::ErrorKind::PermissionDenied => Kind::Permission,
            _ => Kind::Io,
        };
        Error::new(kind, format!("cannot {operation} {}", path.display())).caused_by(source)
    }

    /// [`Error::io`] for an input that the user names: it is a [`Kind::NoInput`] if it does not exist.
    pub fn input(operation: &str, path: &Path, source: std::io::Error) -> Error {
        let is_missing = source.kind() == std::io::ErrorKind::NotFound;
        let error = Error::io(operation, path, source);
        if is_missing { error.with_kind(Kind::NoInput) } else { error }
    }

    /// The file at `path` says something that cannot be obeyed; `why` names the key.
    pub fn config(path: &Path, why: impl fmt::Display) -> Error {
        Error::new(Kind::Config, format!("{}: {why}", path.display()))
    }

    /// An invariant of pagefold's own broke.
    pub fn internal(line: impl Into<String>) -> Error {
        Error::new(Kind::Internal, line)
    }

    /// The same failure with its cause kept.
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Error {
        self.source = Some(Box::new(source));
        self
    }

    /// The same failure, filed under another kind.
    pub fn with_kind(mut self, kind: Kind) -> Error {
        self.kind = kind;
        self
    }

    /// The same failure, told by the guard of this name.
    pub fn with_guard(mut self, name: &'static str) -> Error {
        self.guard = Some(name);
        self
    }

    /// The same failure, laid at the door of process `peer`.
    pub fn blaming(mut self, peer: usize) -> Error {
        self.peer = Some(peer);
        self
    }

    /// The process whose fault it is in the eyes of the one that tells, if it is another's.
    pub fn peer(&self) -> Option<usize> {
        self.peer
    }

    /// The guard that spoke, if one did.
    pub fn guard(&self) -> Option<&'static str> {
        self.guard
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
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|s| s as &(dyn StdError + 'static))
    }
}

/// What every fallible step of a job returns.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error as IoError, ErrorKind};

    /// Only a missing input is `NoInput`; a missing file of our own is an I/O error.
    #[test]
    fn kinds_of_io_errors() {
        let kinds = |source: ErrorKind| {
            let path = Path::new("gone");
            [Error::io, Error::input].map(|of| of("read", path, IoError::from(source)).kind())
        };
        assert_eq!(kinds(ErrorKind::NotFound), [Kind::Io, Kind::NoInput]);
        assert_eq!(kinds(ErrorKind::PermissionDenied), [Kind::Permission; 2]);
        assert_eq!(kinds(ErrorKind::StorageFull), [Kind::Io; 2]);
    }
}
