//! Archives of any kind through `read::open`, which distinguishes WARC, ARC and JSON lines and
//! decodes gzip, zstd and lz4. The targets `parquet` and `wacz` cover these two.
//!
//! Input: three control bytes, then the file. First: `0` the file as it is; `1` and `2` in gzip or
//! zstd members that end at each [`CUT`]; `3` repeated to 1 MiB; `4` in lz4 members. Second: the
//! file's name. Third: the greatest record.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::{CUT, Codec, control, file, grown, options, pick, read_twice};
use workers::read::{Split, open};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    AsItIs,
    Members(Codec),
    Grown,
}

const FORMS: [Form; 5] = [
    Form::AsItIs,
    Form::Members(Codec::Gzip),
    Form::Members(Codec::Zstd),
    Form::Grown,
    Form::Members(Codec::Lz4),
];
const NAMES: [&str; 5] = ["x", "x.warc", "x.arc", "x.jsonl", "x.warc.gz"];
const RECORD_BYTES_MAX: [usize; 3] = [16 << 20, 4096, 64];

/// More entries than any input of 64 KiB can decode to with the limits of [`options`]: 17 MiB, or
/// 64 times as much of records, before the guard against bombs acts, and 32 KiB for each of about a
/// thousand members that are tried after damage.
const ENTRIES_MAX: u64 = 64 << 20;

fuzz_target!(|input: &[u8]| {
    let Some(([form, name, limit], content)) = control(input) else { return };
    let form = pick(form, &FORMS);
    let bytes = match form {
        Form::AsItIs => content.to_vec(),
        Form::Members(codec) => {
            content.split(|&b| b == CUT).flat_map(|part| codec.member(part)).collect()
        }
        Form::Grown => grown(content),
    };
    if [&b"PAR"[..], b"PK"].iter().any(|magic| bytes.starts_with(magic)) {
        return;
    }
    let path = file(pick(name, &NAMES), &bytes);
    let size = bytes.len() as u64;
    let split = Split { path, start: 0, end: size };
    let options = options(pick(limit, &RECORD_BYTES_MAX));
    let plain = !matches!(
        bytes[..],
        [0x1f, 0x8b, ..]
            | [0x28, 0xb5, 0x2f, 0xfd, ..]
            | [0x04, 0x22, 0x4d, 0x18, ..]
            | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    );
    let entries_max = match form {
        Form::Members(_) => content.len() as u64 + 1,
        _ if plain => size + 1,
        _ => ENTRIES_MAX,
    };
    let mut last = None;
    read_twice(
        || open(&split, &options),
        size,
        entries_max,
        |entry| {
            if plain {
                assert!(
                    entry.offset < size && last < Some(entry.offset),
                    "{last:?} then {} of {size}",
                    entry.offset
                );
                last = Some(entry.offset);
            }
        },
    );
});
