//! Locks that do not care about panics.
//!
//! A thread that panics while it holds a lock poisons it. A panic ends the process anyway, and until then the other threads must
//! still be able to say what they know, so a poisoned lock opens like any other.

use std::sync::{Mutex, MutexGuard};

/// Locks `mutex`, poisoned or not.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
