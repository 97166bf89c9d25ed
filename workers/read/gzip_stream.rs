//! Decodes gzip members as they are read.
//!
//! flate2's own gzip decoder owns its input. Here a decoder of whole members uses the same input,
//! and the input is moved between members. So it stays with the caller and is borrowed for each
//! call. This module adds the header, checksum and length of RFC 1952 to flate2's inflate. Bytes,
//! errors and positions equal those of flate2's decoder, which is the oracle of the tests.

use flate2::{Crc, Decompress, FlushDecompress, Status};
use std::io::{self, BufRead, ErrorKind};

/// The longest name or comment in a header, in bytes.
const FIELD_BYTES_MAX: usize = 65_535;

/// Flag of RFC 1952: the header ends with two bytes of its checksum.
const FHCRC: u8 = 1 << 1;

/// Flag of RFC 1952: the header has extra fields.
pub const FEXTRA: u8 = 1 << 2;

/// Flag of RFC 1952: the header has the file's name.
const FNAME: u8 = 1 << 3;

/// Flag of RFC 1952: the header has a comment.
const FCOMMENT: u8 = 1 << 4;

/// Flags that RFC 1952 reserves.
pub const RESERVED: u8 = 0xe0;

/// The part of a member that is read next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    Body,
    End,
}

/// A decoder of one gzip member after the other.
pub struct GzipStream {
    inflate: Decompress,
    crc: Crc,
    stage: Stage,
}

impl Default for GzipStream {
    fn default() -> GzipStream {
        GzipStream { inflate: Decompress::new(false), crc: Crc::new(), stage: Stage::End }
    }
}

impl GzipStream {
    /// Starts a member: the next read begins with its header.
    pub fn start(&mut self) {
        self.inflate.reset(false);
        self.crc.reset();
        self.stage = Stage::Header;
    }

    /// The next decoded bytes; none at the end of the member, whose checksum is then right. After
    /// an error the member is lost.
    pub fn read(&mut self, input: &mut impl BufRead, into: &mut [u8]) -> io::Result<usize> {
        if self.stage == Stage::Header {
            skip_header(input)?;
            self.stage = Stage::Body;
        }
        if self.stage == Stage::Body && !into.is_empty() {
            let bytes = self.inflate(input, into)?;
            self.crc.update(&into[..bytes]);
            if bytes > 0 {
                return Ok(bytes);
            }
            self.stage = Stage::End;
            let trailer: [u8; 8] = take(input)?;
            if trailer[..4] != self.crc.sum().to_le_bytes()
                || trailer[4..] != self.crc.amount().to_le_bytes()
            {
                return Err(wrong_checksum());
            }
        }
        Ok(0)
    }

    /// The next inflated bytes; none at the end of the deflate stream.
    fn inflate(&mut self, input: &mut impl BufRead, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = input.fill_buf()?;
            let at_end = bytes.is_empty();
            let (used, inflated) = (self.inflate.total_in(), self.inflate.total_out());
            let flush = if at_end { FlushDecompress::Finish } else { FlushDecompress::None };
            let status = self.inflate.decompress(bytes, into, flush);
            let inflated = (self.inflate.total_out() - inflated) as usize;
            input.consume((self.inflate.total_in() - used) as usize);
            match status {
                Err(_) => {
                    return Err(io::Error::new(ErrorKind::InvalidInput, "corrupt deflate stream"));
                }
                Ok(Status::StreamEnd) => return Ok(inflated),
                Ok(_) if inflated > 0 => return Ok(inflated),
                Ok(_) if at_end => {
                    return Err(io::Error::new(
                        ErrorKind::UnexpectedEof,
                        "incomplete deflate stream",
                    ));
                }
                Ok(_) => {}
            }
        }
    }
}

fn skip_header(input: &mut impl BufRead) -> io::Result<()> {
    let start: [u8; 10] = take(input)?;
    let flags = match start {
        [0x1f, 0x8b, 8, flags, ..] if flags & RESERVED == 0 => flags,
        _ => return Err(io::Error::new(ErrorKind::InvalidInput, "invalid gzip header")),
    };
    let mut crc = Crc::new();
    crc.update(&start);
    if flags & FEXTRA != 0 {
        let length: [u8; 2] = take(input)?;
        crc.update(&length);
        for _ in 0..u16::from_le_bytes(length) {
            crc.update(&take::<1>(input)?);
        }
    }
    for flag in [FNAME, FCOMMENT] {
        if flags & flag != 0 {
            skip_field(input, &mut crc)?;
        }
    }
    if flags & FHCRC != 0 && take(input)? != (crc.sum() as u16).to_le_bytes() {
        return Err(wrong_checksum());
    }
    Ok(())
}

/// Reads past a name or a comment, which a zero byte ends.
fn skip_field(input: &mut impl BufRead, crc: &mut Crc) -> io::Result<()> {
    for _ in 0..=FIELD_BYTES_MAX {
        let byte: [u8; 1] = take(input)?;
        crc.update(&byte);
        if byte == [0] {
            return Ok(());
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "gzip header field too long"))
}

fn take<const BYTES: usize>(input: &mut impl BufRead) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    match input.read_exact(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(ErrorKind::UnexpectedEof.into())
        }
        read => read.map(|()| bytes),
    }
}

fn wrong_checksum() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "corrupt gzip stream does not have a matching checksum")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use flate2::bufread::GzDecoder;
    use proptest::prelude::*;
    use std::io::{Read, Write};

    /// The chunks that `read` decodes and the error that ends them.
    fn chunks(
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> (Vec<Vec<u8>>, Option<String>) {
        let (mut chunks, mut chunk) = (Vec::new(), [0; 700]);
        loop {
            match read(&mut chunk) {
                Ok(0) => return (chunks, None),
                Ok(bytes) => {
                    chunks.push(chunk[..bytes].to_vec());
                    assert_eq!(read(&mut []).unwrap(), 0, "no room, no bytes");
                }
                Err(error) => return (chunks, Some(format!("{:?} {error}", error.kind()))),
            }
        }
    }

    /// Holds this decoder against flate2's, on members that follow one another.
    fn assert_same(mut file: &[u8]) {
        let mut stream = GzipStream::default();
        loop {
            let mut oracle = GzDecoder::new(file);
            let expected = chunks(|into| oracle.read(into));
            let before = file.len();
            stream.start();
            assert_eq!(chunks(|into| stream.read(&mut file, into)), expected);
            assert_eq!(file.len(), oracle.get_ref().len(), "bytes left");
            if expected.1.is_some() || file.is_empty() || file.len() == before {
                return;
            }
        }
    }

    fn member(header: flate2::GzBuilder, text: &[u8]) -> Vec<u8> {
        let mut encoder = header.write(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// A header of every field, with its checksum.
    fn checked_header(text: &[u8]) -> Vec<u8> {
        let mut bytes =
            member(flate2::GzBuilder::new().extra("ab\x01\0c").filename("name").comment("x"), text);
        let header = 10 + 2 + 5 + 5 + 2;
        bytes[3] |= FHCRC;
        let mut crc = Crc::new();
        crc.update(&bytes[..header]);
        bytes.splice(header..header, (crc.sum() as u16).to_le_bytes());
        bytes
    }

    /// Headers with each optional field, whole and cut at each byte, decode as flate2 decodes them.
    /// A name over the limit is refused.
    #[test]
    fn headers() {
        let new = flate2::GzBuilder::new;
        let text = Random(1).ascii(3000);
        for file in [
            member(new(), &text),
            member(new(), b""),
            member(new().extra("ab\x02\0xy"), &text),
            member(new().filename("a name").comment("a comment"), &text),
            checked_header(b"text"),
            [checked_header(&text), member(new(), &text)].concat(),
        ] {
            assert_same(&file);
            (0..file.len().min(80)).for_each(|length| assert_same(&file[..length]));
            (1..12).for_each(|missing| assert_same(&file[..file.len() - missing]));
        }
        for length in [65_534, 65_535, 65_536] {
            assert_same(&member(new().filename("x".repeat(length)), &text));
        }
        let mut stream = GzipStream::default();
        stream.start();
        let (_, error) = chunks(|into| stream.read(&mut &checked_header(b"text")[..8], into));
        assert_eq!(error.unwrap(), "UnexpectedEof unexpected end of file");
    }

    proptest! {
        /// Damage anywhere has the same outcome as in flate2's decoder: the same bytes, the same
        /// error, the same place in the file.
        #[test]
        fn same_as_flate2(
            seeds in proptest::collection::vec((any::<u16>(), 0usize..4000), 1..4),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            flags in proptest::option::of(any::<u8>()),
            cut in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            let texts = seeds.iter().map(|&(seed, bytes)| Random(seed.into()).ascii(bytes));
            let mut file: Vec<u8> = texts.flat_map(|text| member(flate2::GzBuilder::new(), &text)).collect();
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Some(flags) = flags {
                file[3] = flags;
            }
            if let Some(cut) = cut {
                file.truncate(cut.index(file.len()));
            }
            assert_same(&file);
        }
    }
}
