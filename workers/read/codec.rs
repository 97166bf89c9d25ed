//! The compression of a file, as its first bytes tell.

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Plain,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// The codec of a file with these first bytes.
    pub fn of(head: &[u8]) -> Codec {
        match head {
            [0x1f, 0x8b, ..] => Codec::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Codec::Zstd,
            _ => Codec::Plain,
        }
    }

    /// No member grows by more than about this factor.
    pub fn ratio_max(self) -> u64 {
        match self {
            Codec::Plain => 1,
            Codec::Gzip => 1_100,
            Codec::Zstd => 100_000,
        }
    }
}
