//! What a person or a script reads: logs, the progress bar, results.

pub mod bar;
pub mod logging;
pub mod print;
pub mod report;
