//! Random bytes of the system, for names and keys that nobody can guess.

use crate::error::{Error, Result};

/// `N` random bytes.
///
/// # Errors
///
/// `Internal` if the system has no random numbers.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Error::internal(format!("no random bytes: {e}")))?;
    Ok(bytes)
}

/// 16 random bytes, in hex.
pub fn random_hex() -> Result<String> {
    Ok(format!("{:032x}", u128::from_be_bytes(random_bytes()?)))
}
