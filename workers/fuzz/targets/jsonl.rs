//! JSON lines, whole, in shares and in compressed members: the entries must not depend on how the
//! file is cut.
//!
//! Input: two control bytes, then the lines. First: the longest line. Second: which fields make up
//! the URL. The file is cut at each [`CUT`], which is not part of it: into shares of a plain file,
//! and into members of a gzip and a zstd one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::{CUT, Codec, control, file, options, pick, read_twice};
use workers::read::jsonl::{BOM, Jsonl};
use workers::read::record::Entry;
use workers::read::{Options, Reader, Split};

const LINE_BYTES_MAX: [usize; 3] = [64 << 20, 1000, 20];
const URL_FIELDS: [&[&str]; 2] = [&["url"], &["site", "id"]];

fuzz_target!(|input: &[u8]| {
    let Some(([limit, fields], content)) = control(input) else { return };
    let mut options = options(pick(limit, &LINE_BYTES_MAX));
    options.fields.url = pick(fields, &URL_FIELDS).iter().map(|&field| field.to_owned()).collect();
    let parts: Vec<&[u8]> = content.split(|&b| b == CUT).collect();
    let lines = parts.concat();
    let whole = whole(&lines, &options);
    assert_eq!(shares(&parts, &lines, &options), whole, "in shares");
    // A byte order mark is looked for only in the first member.
    if lines.starts_with(BOM) && parts[0].len() < BOM.len() {
        return;
    }
    for codec in [Codec::Gzip, Codec::Zstd] {
        let file: Vec<u8> = parts.iter().flat_map(|part| codec.member(part)).collect();
        assert_eq!(members(&file, lines.len(), &options), whole, "in members: {codec:?}");
    }
});

fn whole(lines: &[u8], options: &Options) -> Vec<Entry> {
    let size = lines.len() as u64;
    let split = Split { path: file("x.jsonl", lines), start: 0, end: size };
    let mut entries: Vec<Entry> = Vec::new();
    let each = |entry: Entry| {
        assert!(
            entry.offset < size && entries.last().is_none_or(|last| last.offset < entry.offset),
            "offsets"
        );
        entries.push(entry);
    };
    read_twice(|| Ok(Box::new(Jsonl::open(&split, options)?)), size, size, each);
    entries
}

/// The entries of the shares that begin where `parts` do, in a file that holds `lines`.
fn shares(parts: &[&[u8]], lines: &[u8], options: &Options) -> Vec<Entry> {
    let path = file("x.jsonl", lines);
    let mut entries = Vec::new();
    let mut start = 0;
    for part in parts {
        let end = start + part.len() as u64;
        let split = Split { path: path.clone(), start, end };
        let mut reader = Jsonl::open(&split, options).expect("a file at rest can be opened");
        while let Some(entry) = reader.next().expect("a file at rest can be read") {
            assert!(
                (start..end).contains(&entry.offset),
                "{} in the share {start}..{end}",
                entry.offset
            );
            entries.push(entry);
        }
        assert_eq!(
            reader.consumed_bytes(),
            end - start,
            "bytes consumed of the share {start}..{end}"
        );
        start = end;
    }
    entries
}

fn members(bytes: &[u8], lines_bytes: usize, options: &Options) -> Vec<Entry> {
    let split = Split { path: file("x.jsonl.packed", bytes), start: 0, end: bytes.len() as u64 };
    let mut entries = Vec::new();
    let open = || Ok(Box::new(Jsonl::open(&split, options)?) as Box<dyn Reader>);
    read_twice(open, bytes.len() as u64, lines_bytes as u64, |entry| entries.push(entry));
    entries
}
