//! HTTP responses through `read::http::body`.
//!
//! Input: three control bytes, then a response. First: the archive's description of the body.
//! Second: the greatest decoded body. Third: `0` the response as it is; `1` a body that is encoded
//! and chunked here as its first two bytes say, and must come back unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use support::{Codec, control, pick};
use workers::read::binary;
use workers::read::http::body;
use workers::read::record::{Body, Item, Notes};

const MEDIA: [Option<&[u8]>; 4] =
    [None, Some(b"text/html"), Some(b"text/plain; charset=\"x\""), Some(b"\xff;=;charset=")];
const BODY_BYTES_MAX: [usize; 3] = [1 << 20, 4096, 64];

/// Four content encodings at most and one transfer encoding can each turn out to be false.
const NOTES_MAX: u64 = 5;

fuzz_target!(|input: &[u8]| {
    let Some(([media, limit, form], content)) = control(input) else { return };
    let (media, bytes_max) = (pick(media, &MEDIA), pick(limit, &BODY_BYTES_MAX));
    if pick(form, &[false, true]) {
        encoded(content, bytes_max);
    } else {
        as_it_is(content, media, bytes_max);
    }
});

fn as_it_is(response: &[u8], media: Option<&[u8]>, bytes_max: usize) {
    let say = || {
        let mut notes = Notes::default();
        let said = body(response, media, bytes_max, &mut notes);
        (said, notes)
    };
    let (said, notes) = say();
    assert_eq!((&said, &notes), (&say().0, &say().1), "read twice");
    assert!(notes.iter().map(|(_, count)| count).sum::<u64>() <= NOTES_MAX, "{notes:?}");
    if let Ok(Body::Html { bytes, .. } | Body::Plain { bytes, .. }) = &said {
        let most = bytes_max.max(response.len());
        assert!(
            bytes.len() <= most,
            "{} bytes out of {}, at most {most}",
            bytes.len(),
            response.len()
        );
    }
}

/// A correctly encoded and chunked body comes back byte by byte, or is over the limit.
fn encoded(content: &[u8], bytes_max: usize) {
    let Some(([encodings, chunk], page)) = control(content) else { return };
    let mut coded = page.to_vec();
    let mut names = Vec::new();
    let mut most = page.len();
    for bit in 0..4 {
        let (name, bytes) = match (encodings >> (2 * bit)) & 3 {
            0 => continue,
            1 => ("gzip", Codec::Gzip.member(&coded)),
            2 => ("zstd", Codec::Zstd.member(&coded)),
            _ => ("deflate", zlib(&coded)),
        };
        // The output of an outer encoding is bounded, too.
        most = most.max(if names.is_empty() { 0 } else { coded.len() });
        coded = bytes;
        names.push(name);
    }
    let mut response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {}\r\n",
        names.join(", ")
    );
    let chunked = chunk > 0 && !coded.is_empty();
    response.push_str(if chunked { "Transfer-Encoding: chunked\r\n\r\n" } else { "\r\n" });
    let mut response = response.into_bytes();
    if chunked {
        for part in coded.chunks(usize::from(chunk)) {
            response.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            response.extend_from_slice(part);
            response.extend_from_slice(b"\r\n");
        }
        response.extend_from_slice(b"0\r\n\r\n");
    } else {
        response.extend_from_slice(&coded);
    }
    let mut notes = Notes::default();
    match body(&response, None, bytes_max, &mut notes) {
        Ok(Body::Html { bytes, charset: None }) => assert_eq!(bytes, page, "{names:?}"),
        Err(Item::Reject { reason: "too_long", .. }) => {
            assert!(most > bytes_max, "{most} bytes are within {bytes_max}")
        }
        Err(Item::Skip("binary")) => assert!(binary::is_known(page), "{names:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(notes, Notes::default(), "what is true is not noted");
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("a vector takes all")
}
