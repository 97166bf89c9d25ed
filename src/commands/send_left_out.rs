//! A build without the feature `serve`: the command says so.

use crate::cli;
use workers::error::{Error, Kind, Result};

/// `pagefold send`.
pub fn command(_arguments: &cli::Send) -> Result<()> {
    Err(Error::new(
        Kind::Usage,
        "this pagefold was built without its server and client (feature `serve`)",
    ))
}
