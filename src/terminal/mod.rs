//! What people and scripts read: logs, the progress bar, results.

pub mod bar;
pub mod logging;
pub mod print;
pub mod report;
