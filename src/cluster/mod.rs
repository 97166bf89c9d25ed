//! The processes of a job: on which hosts they run, how they are started, supervised and started
//! again.

pub mod allocation;
pub mod attempts;
pub mod blame;
pub mod cluster_file;
pub mod control;
pub mod launched;
pub mod probe;
pub mod process;
pub mod ranks;
pub mod supervisor;
