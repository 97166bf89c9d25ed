//! Names damage, and ends the reading of damaged rows.
//!
//! Functions that read rows return rows and no `Result`, because they are called in tight loops,
//! and no caller can mend a file. So when a batch is damaged, [`end_reading`] unwinds with the
//! error up to [`caught`]. Every stage of an epoch and every command runs its work inside
//! [`caught`]. This is not a panic: no hook runs and nothing is printed.

use crate::error::{Error, Kind, Result};
use crate::store::table::Row;
use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What to do about rows that contradict other rows.
pub(crate) const DEEP_HELPS: &str = "`pagefold verify JOB --deep` says what helps";

/// The error for rows of a table that contradict others.
pub(crate) fn in_rows<R: Row>(what: impl Display) -> Error {
    Error::new(Kind::Io, format!("table {}: {what}; {DEEP_HELPS}", R::NAME))
}

/// The error for bytes at `place`, a file or a table, that are not as they were written.
pub(crate) fn in_bytes(place: impl Display, what: impl Display) -> Error {
    let line = format!("{place}: {what}; `pagefold verify JOB --full` says what helps");
    Error::new(Kind::Io, line)
}

/// Unwinds to [`caught`] with `error`.
pub fn end_reading(error: Error) -> ! {
    resume_unwind(Box::new(error))
}

/// Runs `work`; an [`end_reading`] in it becomes its error. Panics go on.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let ended = |payload: Box<dyn Any + Send>| match payload.downcast::<Error>() {
        Ok(error) => Err(*error),
        Err(panic) => resume_unwind(panic),
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(ended)
}

/// Runs `work` like [`caught`]. A panic in it becomes an error, too, which says that `what`
/// panicked. The panic hook has printed the panic before.
pub fn caught_all<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(of_thread(payload, what)))
}

/// The error with which a thread ended early: the one of [`end_reading`], or one that says that
/// `what` panicked.
pub fn of_thread(payload: Box<dyn Any + Send>, what: &str) -> Error {
    payload
        .downcast::<Error>()
        .map_or_else(|_| Error::internal(format!("{what} panicked")), |error| *error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error that ended the reading is returned, and an ordinary result is unchanged.
    #[test]
    fn errors_are_caught() {
        let damaged = || Error::new(Kind::Io, "damaged");
        let error = caught::<()>(|| end_reading(damaged())).expect_err("damaged");
        assert_eq!((error.kind(), error.to_string()), (Kind::Io, damaged().to_string()));
        assert_eq!(caught(|| Ok(7)).expect("a result"), 7);
        assert!(caught::<()>(|| Err(damaged())).is_err());
        let thread = std::thread::spawn(move || end_reading(damaged()));
        assert_eq!(of_thread(thread.join().expect_err("ended"), "a thread").kind(), Kind::Io);
    }

    /// A panic ended the command with an exit code that no page names, and no monitor was told.
    #[test]
    fn a_panic_is_an_error() {
        let error = caught_all::<()>("the run", || panic!("a fault")).expect_err("an error");
        assert_eq!((error.kind(), error.to_string()), (Kind::Internal, "the run panicked".into()));
        let error = caught_all::<()>("the run", || end_reading(Error::new(Kind::Io, "damaged")));
        assert_eq!(error.expect_err("an error").kind(), Kind::Io);
    }

    /// A panic is a fault of ours and is not taken for damage.
    #[test]
    #[should_panic(expected = "a fault")]
    fn panics_go_on() {
        let _ = caught::<()>(|| panic!("a fault"));
    }
}
