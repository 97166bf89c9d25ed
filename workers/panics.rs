//! A guard around decoders of others that panic on damaged bytes where they should say so: a panic inside becomes its words, and the process's
//! panic hook keeps quiet about it. For damaged files alone; a panic of our own is a fault and ends the process.

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

/// What `decode` gives, or the words with which it panicked. What it worked on must not be used again after a panic.
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    let outer = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(outer);
    outcome.map_err(|panic| format!("the decoder gave up: {}", message(panic.as_ref()).unwrap_or("no reason given")))
}

/// The message of a panic, if it is a text.
pub fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic inside becomes an error with its words; outside no guard is left standing.
    #[test]
    fn panics_become_words() {
        assert_eq!(guarded(is_guarded), Ok(true));
        let why = guarded::<()>(|| panic!("at {}", 7)).expect_err("a panic");
        assert!(why.ends_with("at 7"), "{why}");
        assert!(!is_guarded());
    }
}
