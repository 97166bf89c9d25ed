//! What a run does where nobody looks on: waiting for its turn, metrics, pings.

pub mod metrics;
pub mod ping;
pub mod queue;
pub mod watch;
