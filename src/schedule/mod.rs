//! When a job runs, as cron and systemd say it.

pub mod moments;
pub mod units;
