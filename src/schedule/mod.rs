//! The times at which a job runs, in the terms of cron and systemd.

pub mod moments;
pub mod units;
