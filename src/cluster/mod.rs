//! The processes of a job: which hosts they run on, how they are started, supervised and retried.

pub mod allocation;
pub mod attempts;
pub mod blame;
pub mod cluster_file;
pub mod control;
pub mod probe;
pub mod process;
pub mod ranks;
pub mod supervisor;
pub mod worker;
