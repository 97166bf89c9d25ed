//! The command that starts a worker process on another host: its words. `process.rs` runs them.
//!
//! The command is run directly, without a shell here. It must not ask questions, and the host's key
//! must be known already: a launcher under cron has nobody to answer. What the worker is to do, and
//! the key of the mesh, travel over its stdin.

use std::path::Path;

const SSH: [&str; 7] = ["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=10"];

/// The command that reaches a host unless the cluster file has an `ssh_command`; the host's name
/// follows it.
pub fn default_command() -> Vec<String> {
    SSH.map(str::to_owned).to_vec()
}

/// The whole command that starts `binary` as a worker on the host `name`, reached by `command`.
pub fn start_worker(command: &[String], name: String, binary: &Path) -> Vec<String> {
    let words = [name, binary.to_string_lossy().into_owned(), "worker".to_owned()];
    command.iter().cloned().chain(words).collect()
}
