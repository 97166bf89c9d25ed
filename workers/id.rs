//! Ids of pages and texts: the first 128 bits of a blake3 hash.

use std::fmt;

/// 128 bits of blake3: the `DocId` of a canonical URL or the `Digest` of a normalised text. Ids are
/// ordered as their big-endian bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, bytemuck::Pod, bytemuck::Zeroable,
)]
#[repr(C)]
pub struct Id {
    /// The first eight bytes, which decide routing and sorting.
    pub high: u64,
    /// The last eight bytes.
    pub low: u64,
}

impl Id {
    /// No id: the content of a page without text.
    pub const NONE: Id = Id { high: 0, low: 0 };
    /// The greatest id, the end of every range.
    pub const MAX: Id = Id { high: u64::MAX, low: u64::MAX };

    /// The least id with these first eight bytes.
    pub fn least(high: u64) -> Id {
        Id { high, low: 0 }
    }

    /// The id of `bytes`: the first 128 bits of their blake3 hash.
    pub fn of(bytes: &[u8]) -> Id {
        let hash = blake3::hash(bytes);
        let (head, _) = hash.as_bytes().split_first_chunk::<16>().expect("blake3 has 32 bytes");
        Id::from_bytes(*head)
    }

    /// The id whose big-endian bytes are `bytes`.
    pub fn from_bytes(bytes: [u8; 16]) -> Id {
        let n = u128::from_be_bytes(bytes);
        Id { high: (n >> 64) as u64, low: n as u64 }
    }

    /// Its big-endian bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_be_bytes()
    }

    /// Its digits.
    pub fn hex(self) -> HexDigits<32> {
        HexDigits(std::array::from_fn(|at| match at.checked_sub(16) {
            None => digit(self.high, at),
            Some(at) => digit(self.low, at),
        }))
    }

    /// Whether this is [`Id::NONE`].
    pub fn is_none(self) -> bool {
        self == Id::NONE
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hex().as_str())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `N` lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HexDigits<const N: usize>([u8; N]);

impl<const N: usize> HexDigits<N> {
    /// The digits.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Display for HexDigits<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The 16 digits of `n`. An export writes millions of ids and fingerprints, and formatting by
/// `{:016x}` takes several times as long.
pub fn hex(n: u64) -> HexDigits<16> {
    HexDigits(std::array::from_fn(|at| digit(n, at)))
}

/// The digit of `n` at the place `at`, from 0 for the highest to 15.
fn digit(n: u64, at: usize) -> u8 {
    b"0123456789abcdef"[(n >> (60 - 4 * at)) as usize & 15]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids are ordered and printed as their big-endian bytes.
    #[test]
    fn ids_are_big_endian() {
        let id = Id::of(b"pagefold");
        assert_eq!(Id::from_bytes(id.to_bytes()), id);
        assert_eq!(id.to_string(), blake3::hash(b"pagefold").to_hex()[..32]);
        assert!(Id { high: 1, low: 0 } > Id { high: 0, low: u64::MAX });
    }
}
