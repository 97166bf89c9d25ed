//! Catches the panics of third-party decoders on damaged bytes.
//!
//! Some decoders panic where they should return an error. [`guarded`] turns such a panic into a
//! text, and the process's panic hook stays silent. It is for damaged files only: a panic of our
//! own code is a fault and ends the process.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside [`guarded`].
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs `decode`; a panic becomes its message. The values that `decode` worked on must not be used
/// after a panic.
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    let outer = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(outer);
    outcome.map_err(|panic| {
        format!("the decoder gave up: {}", message(panic.as_ref()).unwrap_or("no reason given"))
    })
}

/// The message of a panic, if it is a text.
pub fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic becomes an error with its message, and the guard ends with the call.
    #[test]
    fn panics_become_words() {
        assert_eq!(guarded(is_guarded), Ok(true));
        let why = guarded::<()>(|| panic!("at {}", 7)).expect_err("a panic");
        assert!(why.ends_with("at 7"), "{why}");
        assert!(!is_guarded());
    }
}
