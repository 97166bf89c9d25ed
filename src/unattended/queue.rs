//! Waits for a store that another run holds.
//!
//! A lock is never broken: the kernel releases it when its process ends in any way.

use crate::cli;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use workers::error::{Error, Kind, Result};
use workers::store::{Lock, Store};

/// How often a waiting run tries again.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Locks the store at `root`; `None` if another run holds it and `--skip-if-running` is set.
///
/// # Errors
///
/// `TryAgain` if another run still holds it when `--wait` is over, or at once without `--wait`.
pub fn lock(root: &Path, unattended: &cli::Unattended) -> Result<Option<Lock>> {
    let Some(wait) = unattended.wait else {
        return if unattended.skip_if_running {
            Store::try_lock(root)
        } else {
            Store::lock(root).map(Some)
        };
    };
    let started = Instant::now();
    let mut is_logged = false;
    loop {
        if let Some(lock) = Store::try_lock(root)? {
            return Ok(Some(lock));
        }
        if !is_logged {
            tracing::info!(store = %root.display(), "waiting for another run");
            is_logged = true;
        }
        let waited = started.elapsed();
        let left = match wait {
            Some(seconds) => Duration::from_secs(seconds.into()).saturating_sub(waited),
            None => POLL_INTERVAL,
        };
        if left.is_zero() {
            let line = format!(
                "{}: another run is still at work after {} s",
                root.display(),
                waited.as_secs()
            );
            return Err(Error::new(Kind::TryAgain, line));
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
}
