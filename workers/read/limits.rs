//! How much a file may hold and decode to. These limits bound memory while reading.
//!
//! `frames.rs`, `members.rs`, `jsonl.rs`, `http_body.rs` and `parquet/mod.rs` enforce them;
//! `LIMITS.md` has the limits that no job sets, and how many rows a stage holds in memory.
//! `text/normalize.rs` says how much of a text is used, `job/contents.rs` how much of it is kept.

use serde::{Deserialize, Serialize};

/// The limits of the readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// A record's body, and a page once decoded, in bytes.
    pub record_bytes_max: usize,
    /// A JSON line, in bytes.
    pub line_bytes_max: usize,
    /// A compressed file may grow by at most this factor, once it has grown to `ratio_bytes_min`.
    /// Of the bytes of sound records only a part counts.
    pub ratio_max: u64,
    /// Below this many decoded bytes growth is not limited.
    pub ratio_bytes_min: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            record_bytes_max: 16 << 20,
            line_bytes_max: 64 << 20,
            ratio_max: 256,
            ratio_bytes_min: 64 << 20,
        }
    }
}
