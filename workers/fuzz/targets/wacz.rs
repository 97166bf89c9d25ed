//! WACZ through `read::open`.
//!
//! Input: one control byte, the greatest record; then the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::{control, file, options, pick, read_twice};
use workers::read::{Split, open};

const RECORD_BYTES_MAX: [usize; 3] = [16 << 20, 4096, 64];

/// More entries than any input of 64 KiB can decode to with the limits of [`options`], each of its
/// files by itself.
const ENTRIES_MAX: u64 = 64 << 20;

fuzz_target!(|input: &[u8]| {
    let Some(([limit], content)) = control(input) else { return };
    let size = content.len() as u64;
    let split = Split { path: file("x.wacz", content), start: 0, end: size };
    let options = options(pick(limit, &RECORD_BYTES_MAX));
    let mut last = None;
    read_twice(
        || open(&split, &options),
        size,
        ENTRIES_MAX,
        |entry| {
            let is_wacz = content.starts_with(b"PK\x03\x04");
            assert!(!is_wacz || last < Some(entry.position), "{last:?} then {}", entry.position);
            last = Some(entry.position);
        },
    );
});
