//! What an unattended run does besides its work: waiting for the lock, metrics, pings.

pub mod metrics;
pub mod ping;
pub mod queue;
pub mod watch;
