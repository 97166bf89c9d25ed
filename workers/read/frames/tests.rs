//! Sound, odd and damaged archives, all built here, and the outcome of each of their records.

use super::*;
use crate::random::Random;
use crate::read::codec::Codec;
use crate::read::input::Input;
use crate::read::testing::{
    Temporary, arc_page, gzip, member, page, read_all, read_to_end, warc, words,
};
use crate::read::warc::Warc;
use crate::read::{Limits, Options, Split, open, reader};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::Write;

fn read(bytes: &[u8]) -> Vec<String> {
    words(&read_all("x.warc", bytes, &Options::default()).0)
}

fn notes(bytes: &[u8]) -> Vec<&'static str> {
    read_all("x.warc", bytes, &Options::default()).1.iter().map(|(word, _)| word).collect()
}

/// The outcomes of a WARC file, and the bytes that were searched, parsed or moved for them.
fn read_counted(bytes: &[u8]) -> (Vec<String>, u64) {
    let file = Temporary::new("x.warc", bytes);
    let source = Source::open(&file.0, 0, bytes.len() as u64, &Limits::default()).unwrap();
    let mut frames = Frames::new(source, Warc::default(), Limits::default());
    let entries = read_to_end(&mut frames, bytes.len());
    (words(&entries), frames.source.steps() + frames.dialect.searched_bytes())
}

/// The entries and notes of a file when each gzip member is decoded as a stream.
fn read_streamed(name: &str, bytes: &[u8], options: &Options) -> (Vec<Entry>, Notes) {
    let file = Temporary::new(name, bytes);
    let input = Input::open(&file.0, 0, bytes.len() as u64).unwrap();
    let mut reader =
        reader(Source::of(input, 0, &options.limits).unwrap(), &file.split(), options).unwrap();
    (read_to_end(&mut *reader, bytes.len()), reader.notes())
}

/// A page whose header claims another length than it has.
fn claims(url: &str, body: &[u8], length: &str) -> Vec<u8> {
    let record = String::from_utf8(warc("conversion", url, "", body)).unwrap();
    record
        .replacen(
            &format!("Content-Length: {}", body.len()),
            &format!("Content-Length: {length}"),
            1,
        )
        .into_bytes()
}

/// A member may hold one record, several or a part of one, in any codec: the records are the same.
#[test]
fn members_do_not_matter() {
    let records: Vec<Vec<u8>> =
        (0..30).map(|n| page(&format!("http://a/{n}"), &vec![b'x'; 7 * n])).collect();
    let want: Vec<String> = (0..30).map(|n| format!("http://a/{n} html {}", 7 * n)).collect();
    for codec in [Codec::Plain, Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        for count in [1, 7, 30] {
            let file: Vec<u8> =
                records.chunks(count).flat_map(|some| member(codec, &some.concat())).collect();
            assert_eq!(read(&file), want, "{codec:?}, {count} in a member");
        }
        let torn: Vec<u8> =
            records.concat().chunks(300).flat_map(|part| member(codec, part)).collect();
        assert_eq!(read(&torn), want, "{codec:?}, torn");
    }
}

/// The offset is the offset of the member in the file if a member holds one record, otherwise the
/// offset of the record in the stream.
#[test]
fn offsets() {
    let (a, b) = (page("http://a/", b"x"), page("http://b/", b"x"));
    let offsets = |bytes: &[u8]| -> Vec<u64> {
        read_all("x", bytes, &Options::default()).0.iter().map(|entry| entry.offset).collect()
    };
    assert_eq!(offsets(&[gzip(&a), gzip(&b)].concat()), [0, gzip(&a).len() as u64]);
    assert_eq!(offsets(&gzip(&[&a[..], &b].concat())), [0, a.len() as u64]);
    assert_eq!(offsets(&[&a[..], &b].concat()), [0, a.len() as u64]);
}

/// Zero bytes between and after members and records are padding, not damage, and are counted.
#[test]
fn zero_padding() {
    let (a, b) = (page("http://a/", b"x"), page("http://b/", b"x"));
    let want = ["http://a/ html 1", "http://b/ html 1"];
    for codec in [Codec::Plain, Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        let zeros = vec![0; 200_000];
        let file = [member(codec, &a), zeros.clone(), member(codec, &b), zeros].concat();
        assert_eq!(read(&file), want);
        assert_eq!(notes(&file), ["zero_padding"]);
    }
}

/// A wrong length over the limit costs only its own record. Some MB of sound pages behind such a
/// record were passed over without a message.
#[test]
fn long_lies() {
    let mut options = Options::default();
    options.limits.record_bytes_max = 1000;
    let pages: Vec<u8> =
        (0..20).flat_map(|n| page(&format!("http://a/{n}"), &[b'x'; 90])).collect();
    let want: Vec<String> = (0..20).map(|n| format!("http://a/{n} html 90")).collect();
    for codec in [Codec::Plain, Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        for length in ["1001", "2000", "3000"] {
            let lie = claims("http://lie/", b"abcde", length);
            let file = member(codec, &[&lie[..], &pages, &lie, &pages].concat());
            let found = words(&read_all("x.warc", &file, &options).0);
            assert_eq!(found[..1], ["!bad_length"], "{codec:?} {length}");
            assert_eq!(found[1..21], want, "{codec:?} {length}");
            assert_eq!(found[21..], found[..21], "{codec:?} {length}");
        }
    }
}

/// An archive that is the body of a record is no part of the crawl. It is noted, because a wrong
/// length could lead to the start of a record by chance.
#[test]
fn archives_in_records() {
    let mut options = Options::default();
    options.limits.record_bytes_max = 1000;
    let inner: Vec<u8> = (0..20).flat_map(|n| page(&format!("http://a/{n}"), b"x")).collect();
    let outer = warc("resource", "http://o/", "Content-Type: application/warc\r\n", &inner);
    let behind = page("http://b/", b"x");
    for codec in [Codec::Plain, Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        for file in [
            member(codec, &[&outer[..], &behind].concat()),
            [member(codec, &outer), member(codec, &behind)].concat(),
            [member(codec, &outer[..1500]), member(codec, &outer[1500..]), member(codec, &behind)]
                .concat(),
        ] {
            let (entries, notes) = read_all("x.warc", &file, &options);
            assert_eq!(words(&entries), ["~not_text", "http://b/ html 1"], "{codec:?}");
            assert_eq!(notes.iter().collect::<Vec<_>>(), [("records_inside", 1)], "{codec:?}");
        }
    }
}

/// A file in zstd or lz4 may begin with frames that are skipped. In lz4 it was refused.
#[test]
fn skippable_frames() {
    let skipped = [&b"\x51\x2a\x4d\x18\x04\0\0\0"[..], b"what"].concat();
    for codec in [Codec::Zstd, Codec::Lz4] {
        for count in [1, 3] {
            let file = [skipped.repeat(count), member(codec, &page("http://a/", b"x"))].concat();
            assert_eq!(read(&file), ["http://a/ html 1"], "{codec:?} {count}");
        }
    }
}

/// A skippable frame that is longer than the file, as of a file that is cut within its dictionary,
/// was skipped with all records behind it, and no reject said so. One whose wrong length ends
/// within a record costs no other record. At the start of an lz4 file it made zstd of the file, in
/// which no member was found.
#[test]
fn wrong_skippable_frames() {
    let frame = |magic: u8, length: u32| {
        [&[magic, 0x2a, 0x4d, 0x18][..], &length.to_le_bytes(), b"what"].concat()
    };
    for codec in [Codec::Zstd, Codec::Lz4] {
        let [a, b, c] =
            ["a", "b", "c"].map(|h| member(codec, &page(&format!("http://{h}/"), b"x")));
        let beyond = [&a[..], &frame(0x51, u32::MAX), &b, &c].concat();
        let want = ["http://a/ html 1", "!junk", "http://b/ html 1", "http://c/ html 1"];
        let want = want
            .map(|word| if codec == Codec::Zstd && word == "!junk" { "!truncated" } else { word });
        assert_eq!(read(&beyond), want, "{codec:?}");
        for length in [u32::MAX, b.len() as u32 / 2] {
            let first = [frame(0x51, length), b.clone(), c.clone()].concat();
            let records = &words(&read_all("x.warc", &first, &Options::default()).0)[1..];
            assert_eq!(records, ["http://b/ html 1", "http://c/ html 1"], "{codec:?} {length}");
        }
        let within = [&a[..], &frame(0x51, b.len() as u32 + 9), &b, &c].concat();
        assert_eq!(
            read(&within),
            ["http://a/ html 1", "!junk", "http://b/ html 1", "http://c/ html 1"],
            "{codec:?}"
        );
    }
    let dictionary = frame(0x5d, 5000);
    assert_eq!(read(&dictionary), ["!truncated"]);
    assert_eq!(words(&read_all("x.jsonl", &dictionary, &Options::default()).0), ["!truncated"]);
}

/// An archive or a compressed file of 0 bytes, and an archive of zeros, counted as read, and a
/// complete snapshot removed the pages that it had. A sound file without a record is no such file.
#[test]
fn empty_files() {
    let noted = |name: &str, bytes: &[u8]| {
        let (entries, notes) = read_all(name, bytes, &Options::default());
        assert!(entries.is_empty(), "{name}: {:?}", words(&entries));
        notes.iter().any(|(word, _)| word == EMPTY_FILE)
    };
    for name in
        ["x.warc", "x.warc.gz", "x.arc.gz", "x.warc.zst", "x.jsonl.gz", "x.json.lz4", "x.wacz"]
    {
        assert!(noted(name, b""), "{name}");
    }
    for name in ["x.warc", "x.warc.gz", "x.arc"] {
        assert!(noted(name, &[0; 100_000]), "{name}");
    }
    for name in ["x.jsonl", "x"] {
        assert!(!noted(name, b""), "{name}");
    }
    for codec in [Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        assert!(!noted("x.warc.gz", &member(codec, b"")), "{codec:?}");
    }
    assert!(!notes(&page("http://a/", b"x")).contains(&EMPTY_FILE));
}

/// The detail of a record without a known length that is too long said how many bytes were in the
/// window, so that it depended on where the split begins.
#[test]
fn long_records_do_not_depend_on_the_split() {
    let mut options = Options::default();
    options.limits.record_bytes_max = 1000;
    let lie = claims("http://lie/", &[b'x'; 150_000], "1e3");
    let last = page("http://b/", b"x");
    let detail = |before: usize| {
        let first = page("http://a/", &vec![b'x'; before]);
        let (start, bytes) = (first.len() as u64, [&first[..], &lie, &last].concat());
        let file = Temporary::new("x.warc", &bytes);
        [0, start].map(|start| {
            let split = Split { start, ..file.split() };
            let mut reader = open(&split, &options).unwrap();
            let mut found = None;
            while let Some(entry) = reader.next().unwrap() {
                if let Item::Reject { detail, .. } = entry.item {
                    found = Some(detail);
                }
            }
            found.expect("a reject")
        })
    };
    let details: BTreeSet<String> = [1, 100, 900].into_iter().flat_map(detail).collect();
    assert_eq!(details.len(), 1, "{details:?}");
}

/// A look whether a record goes on in the next member counted as a search behind damage, so that in
/// an lz4 file nothing behind the first damage was searched. The detail says which bytes are not
/// searched.
#[test]
fn sound_members_cost_no_search() {
    let [small, large] =
        [vec![b'x'], vec![b'x'; 3 << 20]].map(|body| member(Codec::Lz4, &page("http://a/", &body)));
    let mut damaged = small.clone();
    let at = damaged.len() - 1;
    damaged[at] ^= 1;
    let file = [[&small[..], &large].concat().repeat(8), damaged.clone(), large, small.clone()];
    let found = read(&file.concat());
    assert_eq!(found.len(), 19);
    assert_eq!(found[16..], ["!bad_member", "http://a/ html 3145728", "http://a/ html 1"]);
    let other = member(Codec::Lz4, &b"x".repeat(3 << 20)).repeat(8);
    let (entries, _) = read_all("x.warc", &[damaged, other, small].concat(), &Options::default());
    let [Entry { item: Item::Reject { detail, .. }, .. }] = &entries[..] else {
        panic!("{:?}", words(&entries))
    };
    assert!(detail.ends_with("bytes, was not searched"), "{detail}");
}

/// In a whole member the record ends with the member, with any claimed length.
#[test]
fn lengths_in_members() {
    let after = page("http://b/", b"x");
    for length in [
        "4",
        "6",
        "9",
        "10",
        "999",
        "-1",
        "5x",
        "",
        "18446744073709551615",
        "99999999999999999999",
        "1e3",
    ] {
        let file = [gzip(&claims("http://a/", b"abcde", length)), gzip(&after)].concat();
        let found = read(&file);
        assert_eq!(found.len(), 2, "{length}: {found:?}");
        assert!(
            ["4", "5", "6", "9"].iter().any(|n| found[0] == format!("http://a/ text {n}")),
            "{length}: {found:?}"
        );
        assert_eq!(found[1], "http://b/ html 1");
    }
    let long = gzip(&claims("http://a/", &[b'x'; 100], "5"));
    assert_eq!(read(&long), ["http://a/ text 100"]);
    assert_eq!(notes(&long), ["length_wrong"]);
}

/// Without whole members a wrong length costs its own record and no other.
#[test]
fn lengths_in_streams() {
    let (before, after) = (page("http://b/", b"x"), page("http://c/", b"x"));
    for length in ["50", "150", "250", "9999", "-1", "x", "", "18446744073709551615"] {
        let bad = claims("http://a/", &[b'x'; 100], length);
        let file = [&before[..], &bad, &after, &after].concat();
        for file in [file.clone(), gzip(&file)] {
            let found = read(&file);
            assert_eq!(found[0], "http://b/ html 1", "{length}");
            assert_eq!(found[2..], ["http://c/ html 1", "http://c/ html 1"], "{length}: {found:?}");
        }
        assert!(read(&file)[1].starts_with("!bad_length"), "{length}");
    }
    for length in ["99", "101"] {
        let file = [&before[..], &claims("http://a/", &[b'x'; 100], length), &after].concat();
        assert_eq!(
            read(&file)[1..],
            [format!("http://a/ text {length}"), "http://c/ html 1".into()]
        );
    }
}

/// Small records that claim to be long cost their own size: bytes moved and searched are linear.
#[test]
fn lying_lengths_are_cheap() {
    // Each length ends in the middle of a body, a thousand records further on.
    let bytes = claims("http://a/", &[b'x'; 1000], "1234567").len();
    let records =
        claims("http://a/", &[b'x'; 1000], &(1000 * bytes + 300).to_string()).repeat(2500);
    for file in [records.clone(), gzip(&records)] {
        let (found, steps) = read_counted(&file);
        assert_eq!(found.len(), 2500);
        assert!(steps < 8 * records.len() as u64, "{steps}");
    }
}

/// A page may mention WARC: a true length wins over a line that looks like a record.
#[test]
fn records_in_pages() {
    let inner = page("http://evil/", b"x");
    let outer = [page("http://a/", &inner), page("http://b/", b"x")];
    let want = [format!("http://a/ html {}", inner.len()), "http://b/ html 1".into()];
    assert_eq!(read(&outer.concat()), want);
    assert_eq!(read(&gzip(&outer.concat())), want);
    assert_eq!(read(&outer.map(|record| gzip(&record)).concat()), want);
}

/// Records over the limit are skipped without being kept; a page is rejected, a record that would
/// be skipped is skipped.
#[test]
fn long_records() {
    let mut options = Options::default();
    options.limits.record_bytes_max = 100_000;
    let body = vec![b'x'; 300_000];
    let records = [
        page("http://a/", &body),
        warc("request", "http://a/", "", &body),
        page("http://b/", b"x"),
    ];
    let want = ["!too_long", "~request", "http://b/ html 1"];
    let each: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    let torn: Vec<u8> = records.concat().chunks(70_000).flat_map(gzip).collect();
    for file in [records.concat(), gzip(&records.concat()), each, torn] {
        assert_eq!(words(&read_all("x", &file, &options).0), want);
    }
    let unmeasured = [&claims("http://a/", &body, "x")[..], &page("http://b/", b"x")].concat();
    assert_eq!(words(&read_all("x", &unmeasured, &options).0), ["!too_long", "http://b/ html 1"]);
}

/// A member that grows beyond the limit is given up, and what follows it is read.
#[test]
fn bombs() {
    let mut options = Options::default();
    options.limits.ratio_bytes_min = 1 << 20;
    let page = gzip(&page("http://a/", &Random(1).ascii(20_000)));
    let huge = warc("response", "http://b/", "", &vec![0; 8 << 20]);
    for bomb in [gzip(&huge), gzip(&vec![b'\n'; 8 << 20])] {
        let file = [&page[..], &bomb, &page, &page].concat();
        let found = words(&read_all("x.warc.gz", &file, &options).0);
        assert_eq!(
            found,
            ["http://a/ html 20000", "!bomb", "http://a/ html 20000", "http://a/ html 20000"]
        );
    }
}

/// One worker had to read a plain archive alone. Cut anywhere, an archive gives the entries of the
/// uncut one, whether it is whole, damaged, or has archives in the bodies of its records.
#[test]
fn cuts_change_no_entry() {
    let inner = |n: u64| page(&format!("http://inner/{n}"), b"a body");
    let records: Vec<Vec<u8>> = (0..60)
        .map(|n| match n % 3 {
            0 => page(&format!("http://a/{n}"), &Random(n).ascii(900)),
            1 => warc(
                "resource",
                &format!("http://a/{n}"),
                "",
                &[inner(n), b"\r\n\r\n".to_vec(), inner(n)].concat(),
            ),
            _ => [page(&format!("http://a/{n}"), b"x"), vec![0; n as usize % 7]].concat(),
        })
        .collect();
    let sound = records.concat();
    let mut parts = 0;
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut bytes = sound.clone();
        if seed > 3 {
            let at = random.below(bytes.len() as u64) as usize;
            match seed % 3 {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => _ = bytes.drain(at..(at + 20).min(sound.len())),
                _ => bytes.truncate(at),
            }
        }
        let file = Temporary::new("x.warc", &bytes);
        let whole = read_all("x.warc", &bytes, &Options::default());
        let share = 200 + random.below(4000);
        let mut entries = Vec::new();
        let mut notes = Notes::default();
        for split in crate::read::splits(&file.0, bytes.len() as u64, share).unwrap() {
            let mut reader = crate::read::open(&split, &Options::default()).unwrap();
            entries.extend(read_to_end(&mut *reader, (split.end - split.start) as usize));
            notes = notes.merged(&reader.notes());
            parts += 1;
        }
        assert_eq!((entries, notes), whole, "seed {seed}, share {share}");
    }
    assert!(parts > 400, "{parts} parts");
}

/// Bytes that look like the start of a member, thousands of them in a damaged stretch, cost the
/// sound record behind it: the search for it was given up.
#[test]
fn false_starts_hide_no_record() {
    let pages: Vec<Vec<u8>> =
        (0..3).map(|n| gzip(&page(&format!("http://a/{n}"), &Random(n).ascii(900)))).collect();
    for magic in [&[0x1f, 0x8b, 8, 0][..], &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c, 4]] {
        let junk = magic.repeat(40_000);
        let file = [&pages[0][..], &pages[1][..200], &junk, &pages[2]].concat();
        let found = read(&file);
        assert_eq!(
            (found.first(), found.last()),
            (Some(&"http://a/0 html 900".into()), Some(&"http://a/2 html 900".into()))
        );
    }
}

/// A member cut off keeps the records before its last. The last is rejected even if only the
/// checksum is missing.
#[test]
fn truncated() {
    let records: Vec<Vec<u8>> =
        (0..20).map(|n| page(&format!("http://a/{n}"), &Random(n).ascii(9000))).collect();
    let whole = gzip(&records.concat());
    let found = read(&whole[..whole.len() - 8]);
    assert_eq!(
        (found.len(), found[18].as_str(), found[19].as_str()),
        (20, "http://a/18 html 9000", "!truncated")
    );
    let found = read(&whole[..whole.len() / 2]);
    assert!((8..=11).contains(&found.len()), "{found:?}");
    assert_eq!(found.last().unwrap(), "!truncated");
    let each: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    let found = read(&each[..each.len() - 1]);
    assert_eq!(
        (found.len(), found[18].as_str(), found[19].as_str()),
        (20, "http://a/18 html 9000", "!truncated")
    );
    let plain = records.concat();
    assert_eq!(read(&plain[..plain.len() - 100]).last().unwrap(), "!truncated");
}

/// A zstd file may have a dictionary, compressed or not, in a skippable frame before its records;
/// other skippable frames are passed over.
#[test]
fn dictionaries() {
    let page = page("http://a/", &Random(3).ascii(3000));
    let skippable = |magic: u8, bytes: &[u8]| {
        [&[magic, 0x2a, 0x4d, 0x18][..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
    };
    let mut encoder = zstd::stream::write::Encoder::with_dictionary(Vec::new(), 1, &page).unwrap();
    std::io::Write::write_all(&mut encoder, &page).unwrap();
    let record = encoder.finish().unwrap();
    assert!(record.len() < 300);
    for dictionary in [page.clone(), member(Codec::Zstd, &page)] {
        let file =
            [skippable(0x5d, &dictionary), record.clone(), skippable(0x50, b"xyz"), record.clone()]
                .concat();
        assert_eq!(read(&file), ["http://a/ html 3000"; 2]);
    }
    assert!(
        read(&[&record[..], &member(Codec::Zstd, &page)].concat())
            .contains(&"http://a/ html 3000".into())
    );
}

/// A header without an end, or one that grows without bound, ends at the next record.
#[test]
fn bad_headers() {
    let after = page("http://b/", b"x");
    for bad in [
        "WARC/1.0\r\nWARC-Type: response\r\n".to_string(),
        format!("WARC/1.0\r\n{}\r\n", "x: y\r\n".repeat(99_999)),
    ] {
        let file = [bad.as_bytes(), &after].concat();
        assert_eq!(read(&file), ["!bad_header", "http://b/ html 1"]);
        assert_eq!(read(&gzip(&file)), ["!bad_header", "http://b/ html 1"]);
        assert_eq!(
            read(&[gzip(bad.as_bytes()), gzip(&after)].concat()),
            ["!bad_header", "http://b/ html 1"]
        );
    }
}

/// Headers with many starts are searched and parsed in linear time, with or without an end, and the
/// record after them is found.
#[test]
fn starts_in_headers() {
    let whole = "\nWARC-Type: response\nWARC-Target-URI: http://c/\nContent-Length: 1\n\nx\n\n";
    let cr = format!("\n{}\n", "\r".repeat(50_000));
    for (start, end) in [
        ("WARC/1.0\nA: b\n", ""),
        ("WARC/1.0\nA: b\n", "A: b\n\n"),
        ("WARC/1.0\nA: b\n", &cr),
        ("WARC/1.0\n", ""),
        ("WARC/1.0\n", whole.trim_start()),
        ("WARC/1.0\nWARC-A:b\nx", ""),
        ("WARC/1.0\nWARC-A:b\nx", whole),
        ("WARC/1.0\nWARC-A:b\nx", &format!("WARC/1.0{whole}")),
        ("WARC/1.0\nWARC-Type:a\nWARC-Target-URI:b\nContent-Length:1\nx", whole),
        ("WARC/1.WARC/", whole),
    ] {
        for bytes in [20_000, 200_000, 800_000] {
            let file = [
                start.repeat(bytes / start.len()).as_bytes(),
                end.as_bytes(),
                &page("http://b/", b"x"),
            ]
            .concat();
            let (found, steps) = read_counted(&file);
            assert!(
                steps < 8 * file.len() as u64 + 20_000,
                "{start:?}, {end:.20?}, {bytes}: {steps}"
            );
            assert_eq!(found.last().unwrap(), "http://b/ html 1", "{start:?}, {end:.20?}, {bytes}");
        }
    }
}

/// A header torn within a line costs its own record, even with a false start between it and the
/// next.
#[test]
fn torn_in_mid_line() {
    let after = page("http://b/", b"x");
    for torn in
        ["WARC/1.0\r\nWARC-Ty", "WARC/1.0\r\nWARC-Target-URI: http://a/WARC/1.0\r\nWARC-Date: 20"]
    {
        assert_eq!(read(&[torn.as_bytes(), &after].concat()), ["!bad_header", "http://b/ html 1"]);
    }
}

/// The pages of a file with damage in or after every tenth record, and those that must survive it.
fn damaged(
    codec: Codec,
    arc: bool,
    kind: usize,
    random: &mut Random,
) -> (Vec<u8>, BTreeSet<String>) {
    let (mut file, mut intact) = (Vec::new(), BTreeSet::new());
    for n in 0..200 {
        let length = 100 + random.below(2000);
        let (url, text) = (format!("http://a/{n}"), random.ascii(length));
        let mut bytes = member(codec, &if arc { arc_page(&url, &text) } else { page(&url, &text) });
        let at = random.below(bytes.len());
        match kind {
            _ if n % 10 != 5 => {}
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, (0..at % 50 + 1).map(|n| n as u8))),
            3 => bytes[at..].iter_mut().take(64).for_each(|byte| *byte = 0),
            _ => bytes.extend((0..at).map(|_| random.below(256) as u8)),
        }
        if n % 10 != 5 || kind == 4 {
            intact.insert(format!("{url} html {length}"));
        }
        file.extend_from_slice(&bytes);
    }
    (file, intact)
}

/// Bit flips, cuts, insertions, zeroed blocks and junk cost the records that they hit. At least 99
/// % of the other records are kept, and in compressed files no damaged record is.
#[test]
fn damage() {
    for (arc, codec) in [false, true]
        .into_iter()
        .flat_map(|arc| [Codec::Plain, Codec::Gzip, Codec::Zstd, Codec::Lz4].map(|c| (arc, c)))
    {
        for kind in 0..5 {
            let (mut kept, mut total, mut others) = (0, 0, 0);
            for seed in 0..5 {
                let (file, intact) = damaged(codec, arc, kind, &mut Random(seed));
                let found: BTreeSet<String> =
                    read(&file).into_iter().filter(|w| w.starts_with("http")).collect();
                kept += found.intersection(&intact).count();
                total += intact.len();
                others += found.difference(&intact).count();
            }
            let what =
                format!("{codec:?} arc {arc} kind {kind}: {kept} of {total}, {others} others");
            assert!(kept * 100 >= total * 99, "{what}");
            // A flip in the time of a gzip header does no harm.
            assert!(codec == Codec::Plain || others <= 10, "{what}");
        }
    }
}

/// Which records of a damaged member are kept does not depend on its place in the file.
#[test]
fn places_do_not_matter() {
    let pages: Vec<u8> =
        (0..300).flat_map(|n| page(&format!("http://a/{n}"), &Random(n).ascii(1000))).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&pages).unwrap();
    encoder.flush().unwrap();
    // No block has this type.
    let damaged = [&encoder.get_ref()[..], &[0x07; 20]].concat();
    let alone = read(&damaged);
    assert!((200..300).contains(&alone.len()), "{}", alone.len());
    assert_eq!(alone.last().unwrap(), "!bad_member");
    for bytes in (1..330_000).step_by(7001) {
        let before = gzip(&warc("warcinfo", "", "", &Random(1).ascii(bytes)));
        assert_eq!(read(&[before, damaged.clone()].concat())[1..], alone, "behind {bytes} bytes");
    }
}

/// Short gzip members decode to the same entries, offsets, details and notes whole and as streams,
/// in sound and in damaged files, under any limits.
#[test]
fn whole_or_streamed() {
    let mut tight = Options::default();
    (tight.limits.record_bytes_max, tight.limits.ratio_max, tight.limits.ratio_bytes_min) =
        (900, 4, 20_000);
    let lengths = ["0", "9", "1500", "40000", "10000000", "75000000", "x"];
    for seed in 0..60 {
        let random = &mut Random(seed);
        let mut files = vec![damaged(Codec::Gzip, seed % 2 == 0, seed as usize % 6, random).0];
        // Members of several records or of parts of one, long and short, some with wrong lengths.
        let mut made = Vec::new();
        for n in 0..30 {
            let text = match random.below(10) {
                0 => vec![b'x'; random.below(200_000)],
                size => random.ascii(size * 200),
            };
            let record = match random.below(3) {
                0 => claims("http://a/", &text, lengths[random.below(lengths.len())]),
                _ => page(&format!("http://a/{n}"), &text),
            };
            let parts = [1, 1, 1, 3][random.below(4)];
            made.extend(record.chunks(record.len() / parts + 1).flat_map(gzip));
        }
        // A length that may or may not fit the rest of the file, depending on how much of this
        // member is still unread.
        made.extend(gzip(&claims(
            "http://b/",
            &random.ascii(90_000),
            &(70_000_000 + seed * 2_000_000).to_string(),
        )));
        files.push(made.clone());
        for _ in 0..3 {
            let at = random.below(made.len());
            made[at] ^= 1 << random.below(8);
        }
        files.push(made);
        for file in files {
            for options in [&Options::default(), &tight] {
                let streamed = read_streamed("x.warc.gz", &file, options);
                assert!(read_all("x.warc.gz", &file, options) == streamed, "seed {seed}");
            }
        }
    }
}

proptest! {
    /// No bytes make the reader panic, loop or lose count, and a record after them is found.
    #[test]
    fn any_bytes(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        lines in "([A-Z/0-9:. -]{0,20}\r?\n){0,9}",
        codec in 0usize..4,
    ) {
        let codec = [Codec::Plain, Codec::Gzip, Codec::Zstd, Codec::Lz4][codec];
        let after = page("http://b/", b"x");
        let file = [&page("http://a/", b"x")[..], b"WARC/1.0\r\n", lines.as_bytes(), &bytes, b"\n", &after].concat();
        let found = read(&member(codec, &file));
        prop_assert_eq!(&found[0], "http://a/ html 1");
        prop_assert_eq!(found.last().unwrap(), "http://b/ html 1");
        let mut raw = member(codec, &after);
        raw.extend_from_slice(&bytes);
        let _ = read(&raw);
    }
}
