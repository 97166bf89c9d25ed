//! Commands for the shell of a user: `completions` and `man`.

use clap::Args;
use clap_complete::Shell;

/// `pagefold completions`.
#[derive(Args)]
pub struct Completions {
    /// The shell.
    pub shell: Shell,
}

/// `pagefold man`.
#[derive(Args)]
pub struct Man {
    /// A command, such as `run` [default: pagefold itself].
    pub command: Option<String>,
}
