//! The compression of a file, recognised by its first bytes.

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Plain,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// lz4, in frames.
    Lz4,
}

/// `name` without the ending of a compression.
pub fn without_ending(name: &str) -> &str {
    [".gz", ".zst", ".lz4"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

impl Codec {
    /// The codec of a file with these first bytes.
    pub fn of(head: &[u8]) -> Codec {
        match head {
            [0x1f, 0x8b, ..] => Codec::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] => Codec::Lz4,
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
            Codec::Lz4 => 255,
        }
    }
}
