//! Parquet through `read::open`.
//!
//! Input: two control bytes, then the file. First: the greatest text. Second: which fields make up
//! the URL.
//!
//! The decoder panics on some damage, which the reader turns into rejects behind `workers::panics`;
//! a panic elsewhere is a finding.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::{control, file, let_guarded_panics_pass, options, pick};
use workers::read::record::Entry;
use workers::read::{Options, Split, open};

const TEXT_USED_BYTES_MAX: [usize; 2] = [16 << 20, 8];
const URL_FIELDS: [&[&str]; 2] = [&["url"], &["site", "id"]];

/// The most rows to read: a run of equal or missing values takes no bytes for each row.
const ROWS_MAX: usize = 4096;

fuzz_target!(init: let_guarded_panics_pass(), |input: &[u8]| {
    let Some(([limit, fields], content)) = control(input) else { return };
    let mut options = options(pick(limit, &TEXT_USED_BYTES_MAX));
    options.fields.url = pick(fields, &URL_FIELDS).iter().map(|&field| field.to_owned()).collect();
    let size = content.len() as u64;
    let split = Split { path: file("x.parquet", content), start: 0, end: size };
    assert_eq!(read(&split, &options), read(&split, &options), "read twice");
});

/// The first rows, or the reason why there are none. Never more bytes are consumed than there are,
/// and at the end all.
fn read(split: &Split, options: &Options) -> Result<Vec<Entry>, String> {
    let mut reader = open(split, options).map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    while entries.len() < ROWS_MAX {
        let Some(entry) = reader.next().expect("a file at rest can be read") else {
            assert_eq!(reader.consumed_bytes(), split.end, "bytes consumed at the end");
            break;
        };
        assert!(
            reader.consumed_bytes() <= split.end,
            "{} of {} bytes",
            reader.consumed_bytes(),
            split.end
        );
        entries.push(entry);
    }
    Ok(entries)
}
