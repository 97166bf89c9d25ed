//! Output for people and scripts: logs, the progress bar, results.

pub mod bar;
pub mod explained;
pub mod logging;
pub mod lost;
pub mod paint;
pub mod print;
pub mod profile;
pub mod progress;
pub mod report;
pub mod trace;
