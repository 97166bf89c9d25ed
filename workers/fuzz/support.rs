//! Functions that the targets share.
//!
//! It holds the control bytes at the head of an input, files that a reader can open, compressed
//! members, two readers of one file that must agree, and the hook that lets guarded panics pass. A
//! broken promise is a panic.

use std::io::Write;
use std::panic::{set_hook, take_hook};
use std::path::PathBuf;
use workers::error::Result;
use workers::panics::is_guarded;
use workers::read::record::{Body, DETAIL_BYTES_MAX, Entry, Item, URL_BYTES_MAX};
use workers::read::{Limits, Options, Reader};

/// Ends a member or a share in the inputs of targets that cut them: ASCII's record separator.
pub const CUT: u8 = 0x1e;

/// Bytes to which an input is repeated if a target checks that the work is linear in the input.
pub const GROWN_BYTES: usize = 1 << 20;

/// The `N` control bytes at the head of `input`, and the rest; `None` if it is shorter. A control
/// byte is read modulo the number of its meanings, so that the digits `0`, `1`, ... name them in
/// inputs made by hand.
pub fn control<const N: usize>(input: &[u8]) -> Option<([u8; N], &[u8])> {
    input.split_first_chunk::<N>().map(|(control, rest)| (*control, rest))
}

/// The meaning that a control byte names.
pub fn pick<T: Copy>(control: u8, meanings: &[T]) -> T {
    meanings[usize::from(control.wrapping_sub(b'0')) % meanings.len()]
}

/// Writes `bytes` as `name` into a folder of this process under the system's folder of temporary
/// files. A name holds the last bytes written under it.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path =
        std::env::temp_dir().join(format!("pagefold-fuzz-{}", std::process::id())).join(name);
    std::fs::create_dir_all(path.parent().expect("a name lies in a folder"))
        .expect("a folder for temporary files");
    std::fs::write(&path, bytes).expect("room for a temporary file");
    path
}

/// `bytes` repeated to [`GROWN_BYTES`].
pub fn grown(bytes: &[u8]) -> Vec<u8> {
    bytes.repeat((GROWN_BYTES / bytes.len().max(1)).max(1))
}

/// How a target compresses the input of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    None,
    /// Each part is a gzip member.
    Gzip,
    /// Each part is a zstd frame.
    Zstd,
    /// Each part is an lz4 frame.
    Lz4,
}

impl Codec {
    /// `part` as one member.
    pub fn member(self, part: &[u8]) -> Vec<u8> {
        match self {
            Codec::None => part.to_vec(),
            Codec::Gzip => {
                let mut encoder =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(part).and_then(|()| encoder.finish()).expect("a vector takes all")
            }
            Codec::Zstd => zstd::encode_all(part, 1).expect("a vector takes all"),
            Codec::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                encoder.write_all(part).expect("a vector takes all");
                encoder.finish().expect("a vector takes all")
            }
        }
    }
}

/// Lets the panics pass that `workers::panics` turns into errors: libFuzzer's hook would end the
/// process at any of them, and still does at every other panic. For a target's `init`.
pub fn let_guarded_panics_pass() {
    let end = take_hook();
    set_hook(Box::new(move |panic| {
        if !is_guarded() {
            end(panic);
        }
    }));
}

/// Limits that inputs of a few KiB reach: a record and a line have at most `bytes_max` bytes, and a
/// file that grows by more than a factor of 16 and over 1 MiB is a bomb.
pub fn options(bytes_max: usize) -> Options {
    let limits = Limits {
        record_bytes_max: bytes_max,
        line_bytes_max: bytes_max,
        ratio_max: 16,
        ratio_bytes_min: 1 << 20,
    };
    Options { limits, ..Options::default() }
}

/// Reads `size` bytes by two readers that `open` opens, and passes every entry to `each`.
///
/// Both must return the same entries and notes, at most `entries_max` of them; no read of an
/// unchanging file may fail; never more bytes may be consumed than there are, and at the end all of
/// them; after the end there must be no more entries.
pub fn read_twice(
    open: impl Fn() -> Result<Box<dyn Reader>>,
    size: u64,
    entries_max: u64,
    mut each: impl FnMut(Entry),
) {
    let (mut first, mut second) = match (open(), open()) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(first), Err(second)) => return assert_eq!(first.to_string(), second.to_string()),
        _ => panic!("a file that opens once opens twice"),
    };
    let mut entries = 0;
    while let Some(entry) = first.next().expect("a file at rest can be read") {
        let again = second.next().expect("a file at rest can be read");
        assert_eq!(Some(&entry), again.as_ref(), "entry {entries} read twice");
        entries += 1;
        assert!(entries <= entries_max, "more than {entries_max} entries");
        assert!(
            first.consumed_bytes() <= size,
            "{} of {size} bytes consumed",
            first.consumed_bytes()
        );
        check(&entry);
        each(entry);
    }
    assert_eq!(second.next().expect("a file at rest can be read"), None);
    assert_eq!(first.consumed_bytes(), size, "bytes consumed at the end");
    assert_eq!(first.next().expect("a file at rest can be read"), None, "an end is an end");
    assert_eq!(first.notes(), second.notes());
}

/// Checks the promises of every entry: a URL is one line of bounded length, a reason is a word, a
/// detail is short.
fn check(entry: &Entry) {
    match &entry.item {
        Item::Record(record) => {
            let url = &record.url;
            assert!(
                !url.is_empty() && url.len() <= 3 * URL_BYTES_MAX,
                "{} bytes of URL",
                url.len()
            );
            assert!(!url.contains(|c: char| c.is_control()), "{url:?}");
            if let Body::Html { charset: Some(charset), .. }
            | Body::Plain { charset: Some(charset), .. } = &record.body
            {
                assert!(!charset.is_empty());
            }
        }
        Item::Skip(reason) => check_word(reason),
        Item::Status { url } => assert!(url.is_some(), "a record of an archive has a URL"),
        Item::Mirror(mirror) => assert!(!mirror.url.is_empty() && !mirror.of.is_empty()),
        Item::Reject { reason, detail, .. } => {
            check_word(reason);
            assert!(detail.len() <= DETAIL_BYTES_MAX, "{} bytes of detail", detail.len());
        }
    }
}

fn check_word(reason: &str) {
    assert!(
        !reason.is_empty() && reason.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')),
        "{reason:?}"
    );
}
