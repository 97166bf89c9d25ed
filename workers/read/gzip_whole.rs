//! Decodes short gzip members whole by libdeflate, up to twice as fast as a streaming decoder.
//!
//! libdeflate needs the end of the member in advance, so it is guessed: it is where the next header
//! seems to start, or the end of the file. `decode_guessed` proves the guess by the member's own
//! checksum and size (RFC 1952). A member that is long, damaged or doubtful in any way is left to
//! [`super::gzip_stream`], so that all damage is reported by one decoder. libdeflate accepts a few
//! odd codes that no encoder writes and the other decoder refuses; such a member is accepted, since
//! its checksum and size are right.

use crate::error::Result;
use crate::read::gzip_stream::{FEXTRA, RESERVED};
use crate::read::input::Input;
use libdeflater::Decompressor;
use memchr::memmem;

/// The longest member that is decoded whole, in bytes of the file.
pub const MEMBER_BYTES_MAX: usize = 128 << 10;

/// The longest member that is decoded whole, in decoded bytes.
const DECODED_BYTES_MAX: usize = 1 << 20;

/// No deflate stream grows by more than this factor.
const RATIO_MAX: usize = 1032;

/// The start of a member whose method is deflate.
const MAGIC: &[u8] = &[0x1f, 0x8b, 8];

/// Bytes of a header without optional fields.
const HEADER_BYTES: usize = 10;

/// Bytes of the checksum and the size after the compressed ones.
const TRAILER_BYTES: usize = 8;

/// How many possible ends of a member are tried. A possible end that is too early is rare, and then
/// the next one is usually near.
const ENDS_MAX: usize = 4;

/// Decodes members whole, one at a time, into a buffer that is used again.
pub struct GzipWhole {
    decompressor: Decompressor,
    /// The last member's decoded bytes are `buffer[..decoded]`.
    buffer: Vec<u8>,
    decoded: usize,
    /// Where the last member starts, in bytes of the file.
    at: Option<u64>,
    /// Its length in the file; `None` if it was not decoded.
    length: Option<usize>,
    /// The longest member that is decoded, in bytes of the file.
    member_bytes_max: usize,
    searched_bytes: u64,
}

impl GzipWhole {
    /// A decoder of members of at most `member_bytes_max` bytes in the file, which
    /// [`MEMBER_BYTES_MAX`] bounds.
    pub fn new(member_bytes_max: usize) -> GzipWhole {
        GzipWhole {
            decompressor: Decompressor::new(),
            buffer: Vec::new(),
            decoded: 0,
            at: None,
            length: None,
            member_bytes_max: member_bytes_max.min(MEMBER_BYTES_MAX),
            searched_bytes: 0,
        }
    }

    /// Decodes the member at `input`'s position and returns its length in the file; `None` if it is
    /// not short or not surely sound. A decoded member is in `input`'s buffer, which is not moved.
    /// A second call at the same place decodes nothing again. Errors come from the file system.
    pub fn decode(&mut self, input: &mut Input) -> Result<Option<usize>> {
        let at = input.position();
        if self.at != Some(at) {
            (self.at, self.length, self.decoded) = (Some(at), None, 0);
            self.length = self.decode_anew(input)?;
        }
        // The caller may consume that many bytes, and may have moved the input meanwhile.
        input.peek(self.length.unwrap_or(0))?;
        Ok(self.length)
    }

    /// The decoded bytes of the last member.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.decoded]
    }

    /// Bytes searched so far for the ends of members; a byte searched twice counts twice.
    #[cfg(test)]
    pub fn searched_bytes(&self) -> u64 {
        self.searched_bytes
    }

    fn decode_anew(&mut self, input: &mut Input) -> Result<Option<usize>> {
        let left = input.left();
        // Usually the bytes in the buffer are enough.
        for want in [1, self.member_bytes_max] {
            let bytes = input.peek(want)?;
            let bytes = &bytes[..bytes.len().min(self.member_bytes_max)];
            if let Some(guess) = guess(bytes, bytes.len() as u64 == left, &mut self.searched_bytes)
            {
                return Ok(self.decode_guessed(bytes, &guess).then_some(guess.length));
            }
        }
        Ok(None)
    }

    /// Decodes the member at the start of `bytes`, if it is sound and ends where it was guessed to
    /// end.
    ///
    /// The decompressor verifies checksum and size, and ignores bytes after the member. The member
    /// ends with its size, the guess has the same four bytes at its end, and they appear nowhere
    /// else in it: so both ends are the same.
    fn decode_guessed(&mut self, bytes: &[u8], guess: &Guess) -> bool {
        let member = &bytes[..guess.length];
        let (body, size) = member.split_at(guess.length - 4);
        if memmem::find(&member[guess.header..], size) != Some(body.len() - guess.header) {
            return false;
        }
        if self.buffer.len() < guess.decoded {
            self.buffer.resize(guess.decoded, 0);
        }
        let sound = self.decompressor.gzip_decompress(member, &mut self.buffer[..guess.decoded])
            == Ok(guess.decoded);
        self.decoded = if sound { guess.decoded } else { 0 };
        sound
    }
}

/// A member, if it ended where the next one seems to start. All in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Guess {
    header: usize,
    length: usize,
    decoded: usize,
}

/// The guess for the member at the start of `bytes`; `None` if no end is in sight, or if its header
/// has fields on which decoders differ. `is_all` means that the file ends with these bytes. Adds
/// the bytes that are searched to `searched_bytes`.
fn guess(bytes: &[u8], is_all: bool, searched_bytes: &mut u64) -> Option<Guess> {
    let header = match *bytes.get(..HEADER_BYTES + 2)? {
        [0x1f, 0x8b, 8, 0, ..] => HEADER_BYTES,
        [0x1f, 0x8b, 8, FEXTRA, .., low, high] => {
            HEADER_BYTES + 2 + usize::from(u16::from_le_bytes([low, high]))
        }
        _ => return None,
    };
    let mut from = header + 1 + TRAILER_BYTES;
    for _ in 0..ENDS_MAX {
        let start = memmem::find(bytes.get(from..)?, MAGIC).map(|at| from + at);
        let length = start.unwrap_or(bytes.len());
        *searched_bytes += (length - from) as u64;
        let is_end =
            bytes.get(length + 3).map_or(is_all && start.is_none(), |flags| flags & RESERVED == 0);
        let decoded = u32::from_le_bytes(*bytes[..length].last_chunk()?) as usize;
        if is_end && (1..=DECODED_BYTES_MAX.min(length * RATIO_MAX)).contains(&decoded) {
            return Some(Guess { header, length, decoded });
        }
        from = length + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::read::testing::{Temporary, gzip};
    use proptest::prelude::*;
    use std::io::{BufRead, Write};

    /// The members that are decoded whole, from the start of the file to the first that is not.
    fn decoded(file: &[u8]) -> Vec<Vec<u8>> {
        let file = Temporary::new("x.gz", file);
        let mut input = Input::open(&file.0, 0, file.0.metadata().unwrap().len()).unwrap();
        let (mut members, mut all) = (GzipWhole::new(MEMBER_BYTES_MAX), Vec::new());
        while let Some(length) = members.decode(&mut input).unwrap() {
            assert_eq!(members.decode(&mut input).unwrap(), Some(length));
            all.push(members.bytes().to_vec());
            input.consume(length);
        }
        all
    }

    fn with_header(header: flate2::GzBuilder, bytes: &[u8]) -> Vec<u8> {
        let mut encoder = header.write(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Short members are decoded whole, one after the other to the file's end, over many buffers;
    /// long ones are not.
    #[test]
    fn short_members() {
        let texts: Vec<Vec<u8>> = (0..400).map(|n| Random(n).ascii(1 + 7 * n as usize)).collect();
        let file: Vec<u8> = texts.iter().flat_map(|text| gzip(text)).collect();
        assert!(file.len() > 400_000);
        assert_eq!(decoded(&file), texts);
        let sl = with_header(flate2::GzBuilder::new().extra("sl\x08\0abcdefgh"), b"text");
        assert_eq!(decoded(&[&sl[..], &sl].concat()), [b"text", b"text"]);
        assert_eq!(decoded(&gzip(&vec![b'x'; DECODED_BYTES_MAX])).len(), 1);
        assert!(decoded(&gzip(&vec![b'x'; DECODED_BYTES_MAX + 1])).is_empty());
        assert!(decoded(&gzip(&Random(1).ascii(2 * MEMBER_BYTES_MAX))).is_empty());
        assert!(decoded(&with_header(flate2::GzBuilder::new().filename("x"), b"text")).is_empty());
        assert!(decoded(&gzip(b"")).is_empty());
    }

    /// Bytes after a member never count as a part of it, even if they repeat the member's last
    /// bytes.
    #[test]
    fn never_beyond_the_end() {
        let member = gzip(b"a text to be decoded");
        let mut empty_and_zeros = gzip(b"");
        empty_and_zeros.extend([0; 40]);
        for junk in [&member[member.len() - 8..], &member[member.len() - 4..], &[0; 8], b"x"] {
            let file = [&member[..], junk, &member].concat();
            assert!(decoded(&file).is_empty(), "{junk:?}");
            assert!(decoded(&[&member[..], junk].concat()).is_empty(), "{junk:?}");
        }
        assert!(decoded(&[&empty_and_zeros[..], &member].concat()).is_empty());
    }

    /// The search for the end of a member stops after a few starts of others: many members that are
    /// not decoded whole are searched in linear time.
    #[test]
    fn linear() {
        let file = gzip(b"").repeat(9000);
        let file_on_disk = Temporary::new("x.gz", &file);
        let mut input = Input::open(&file_on_disk.0, 0, file.len() as u64).unwrap();
        let mut members = GzipWhole::new(MEMBER_BYTES_MAX);
        for _ in 0..9000 {
            assert_eq!(members.decode(&mut input).unwrap(), None);
            input.seek(input.position() + file.len() as u64 / 9000).unwrap();
        }
        assert!(members.searched_bytes() < 2 * ENDS_MAX as u64 * file.len() as u64);
    }

    proptest! {
        /// A member decodes to the bytes of a streaming decoder and ends in the same place, in
        /// damaged files too.
        #[test]
        fn same_as_streamed(
            texts in proptest::collection::vec("[a-d \\x1f\\x8b]{0,300}", 1..6),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut file: Vec<u8> = texts.iter().flat_map(|text| gzip(text.as_bytes())).collect();
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let mut rest = &file[..];
            for bytes in decoded(&file) {
                let mut streamed = Vec::new();
                let mut decoder = flate2::bufread::GzDecoder::new(rest);
                std::io::Read::read_to_end(&mut decoder, &mut streamed).unwrap();
                prop_assert_eq!(bytes, streamed);
                rest = decoder.into_inner();
            }
        }
    }
}
