//! What bytes are that a server calls HTML or text, and that are an image, a sound, a film, a font,
//! an archive or a document of an office program.
//!
//! WHATWG's MIME Sniffing Standard (<https://mimesniff.spec.whatwg.org>) has most of the patterns,
//! in its sections 6 and 7.1. It does not look for them where HTTP says `text/html`: a browser
//! shows what it gets, and a person sees that it is no page. Here such bytes would be a page of
//! random words, and all files of one program look alike. So they are looked for under each type,
//! and are distinguished from pages that only begin alike by a byte that no text has.

/// What a text never has, in any charset of the web but UTF-16 and UTF-32: the standard's binary
/// data bytes.
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// How many bytes are looked at for one that is binary: the standard's resource header.
const HEADER_BYTES: usize = 1445;

/// Patterns that say enough alone.
const CERTAIN: [&[u8]; 2] = [b"%PDF-", b"%!PS-Adobe-"];

/// Patterns with which a text could begin: the bytes, and where they stand. Those of the standard
/// that are shorter than three bytes (BMP), or hold any length between (MP3 without a tag), are
/// left out.
const PATTERNS: [(usize, &[u8]); 29] = [
    (0, b"\x89PNG\r\n\x1a\n"),
    (0, b"\xff\xd8\xff"),
    (0, b"GIF87a"),
    (0, b"GIF89a"),
    (0, b"\x00\x00\x01\x00"),
    (0, b"\x00\x00\x02\x00"),
    (8, b"WEBPVP"),
    (8, b"WAVE"),
    (8, b"AVI "),
    (8, b"AIFF"),
    (0, b"ID3"),
    (0, b"OggS\x00"),
    (0, b"MThd\x00\x00\x00\x06"),
    (4, b"ftyp"),
    (0, b"\x1a\x45\xdf\xa3"),
    (0, b"wOFF"),
    (0, b"wOF2"),
    (0, b"OTTO"),
    (0, b"ttcf"),
    (0, b"\x00\x01\x00\x00"),
    (0, b"\x1f\x8b\x08"),
    (0, b"PK\x03\x04"),
    (0, b"Rar!\x1a\x07"),
    // These are not of the standard: 7-Zip, XZ, Zstandard, bzip2, Word and Excel before 2007,
    // Flash.
    (0, b"7z\xbc\xaf\x27\x1c"),
    (0, b"\xfd7zXZ\x00"),
    (0, b"\x28\xb5\x2f\xfd"),
    (0, b"BZh"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    (0, b"CWS"),
];

/// Whether `bytes` are no page and no text, whatever their type says.
///
/// ```
/// use workers::read::binary::is_known;
///
/// assert!(is_known(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj"));
/// assert!(is_known(b"GIF89a\x01\x00\x01\x00\x80"));
/// assert!(!is_known(b"GIF89a is the format of pictures that move"));
/// ```
pub fn is_known(bytes: &[u8]) -> bool {
    let stands = |&(at, pattern): &(usize, &[u8])| {
        bytes.get(at..).is_some_and(|rest| rest.starts_with(pattern))
    };
    let header = &bytes[..bytes.len().min(HEADER_BYTES)];
    CERTAIN.iter().any(|pattern| bytes.starts_with(pattern))
        || PATTERNS.iter().any(stands) && header.iter().any(|byte| is_binary(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pattern is known with a byte behind it that no text has, and not in a text alone.
    #[test]
    fn patterns() {
        for (at, pattern) in PATTERNS {
            let begun = [&vec![b'x'; at][..], pattern, b" and more words of a text"].concat();
            assert!(is_known(&[&begun[..], b"\0"].concat()), "{pattern:?}");
            if !pattern.iter().any(|byte| is_binary(*byte)) {
                assert!(!is_known(&begun), "{pattern:?}");
                let late = [&begun[..], &[b' '; HEADER_BYTES], b"\0"].concat();
                assert!(!is_known(&late), "{pattern:?}");
            }
        }
        assert!(CERTAIN.iter().all(|pattern| is_known(pattern)));
    }

    /// Pages stay pages: with odd bytes in them, in UTF-16, and what is about files of these kinds.
    #[test]
    fn pages() {
        for page in [
            &b""[..],
            b"\0",
            b"<html>\0\x01 broken",
            b"\xff\xfe<\0h\0t\0m\0l\0>\0",
            b"\xfe\xff\0<\0h\0t\0m\0l\0>",
            b"\xef\xbb\xbf<!DOCTYPE html>\x0c",
            b"\x1b$B%F%9%H\x1b(B",
            b"PK is short for Phil Katz",
            b"<p>%PDF-1.7",
            b" %PDF-1.7",
        ] {
            assert!(!is_known(page), "{page:?}");
        }
    }
}
