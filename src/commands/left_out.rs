//! `pagefold send` and `pagefold serve` in a build without the feature `serve`: they say so.

use workers::error::{Error, Kind, Result};

/// Either command.
pub fn command<A>(_arguments: &A) -> Result<()> {
    let line = "this pagefold was built without its server and its client (feature `serve`)";
    Err(Error::new(Kind::Usage, line))
}
