//! Which run comes first: in comes a store that another run may be at work on, out goes its lock, at once, after a while, or not at all. Never
//! breaks a lock: the kernel releases it with the process that holds it, however that ends.

use crate::cli;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use workers::error::{Error, Kind, Result};
use workers::store::{Lock, Store};

/// How often a run that waits looks again.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The lock of the store at `root`; none if another run holds it and `--skip-if-running` says to leave it alone.
///
/// # Errors
///
/// `TryAgain` if another run holds it still when `--wait` is over, or at once without it.
pub fn lock(root: &Path, unattended: &cli::Unattended) -> Result<Option<Lock>> {
    let Some(wait) = unattended.wait else {
        return if unattended.skip_if_running { Store::try_lock(root) } else { Store::lock(root).map(Some) };
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
            None => LOOK_EVERY,
        };
        if left.is_zero() {
            let line = format!("{}: another run is still at work after {} s", root.display(), waited.as_secs());
            return Err(Error::new(Kind::TryAgain, line));
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}
