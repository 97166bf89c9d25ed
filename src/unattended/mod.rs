//! The tasks of an unattended run besides its work: waiting for the lock, metrics, pings.

pub mod metrics;
pub mod ping;
#[cfg(feature = "ping")]
mod ping_request;
#[cfg(not(feature = "ping"))]
#[path = "ping_left_out.rs"]
mod ping_request;
pub mod queue;
pub mod watch;
