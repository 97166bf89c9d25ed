//! Decodes zstd frames as they are read (RFC 8878).
//!
//! As in [`super::gzip_stream`], the input stays with the caller. The decoder is used for frame
//! after frame, with the dictionary that it has digested.

use crate::error::{Error, Result};
use crate::read::codec::Codec;
use crate::read::input::Input;
use std::io::{self, BufRead, ErrorKind, Read};
use zstd::stream::raw::{self, DParameter, InBuffer, Operation, OutBuffer};

/// The largest window that a frame may ask for, as a power of two: 128 MiB.
pub const WINDOW_LOG_MAX: u32 = 27;

/// The largest dictionary that is read, in bytes.
pub const DICTIONARY_BYTES_MAX: u64 = 8 << 20;

/// A decoder of one zstd frame after the other.
pub struct ZstdStream {
    decoder: raw::Decoder<'static>,
    in_frame: bool,
}

impl ZstdStream {
    /// A decoder with a dictionary, which may be empty. Fails if the dictionary cannot be digested.
    pub fn new(dictionary: &[u8]) -> io::Result<ZstdStream> {
        let mut decoder = raw::Decoder::with_dictionary(dictionary)?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(ZstdStream { decoder, in_frame: false })
    }

    /// Starts a frame.
    pub fn start(&mut self) -> io::Result<()> {
        self.decoder.reinit()?;
        self.in_frame = true;
        Ok(())
    }

    /// The next decoded bytes; none at the end of the frame, whose checksum is then right.
    pub fn read(&mut self, input: &mut impl BufRead, into: &mut [u8]) -> io::Result<usize> {
        if !self.in_frame || into.is_empty() {
            return Ok(0);
        }
        // The decoder may still hold output that did not fit the last time.
        let (_, mut decoded) = self.run(&[], into)?;
        while decoded == 0 && self.in_frame {
            let bytes = input.fill_buf()?;
            if bytes.is_empty() {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "incomplete frame"));
            }
            let used;
            (used, decoded) = self.run(bytes, into)?;
            input.consume(used);
        }
        Ok(decoded)
    }

    /// Decodes once: the numbers of bytes used and decoded.
    fn run(&mut self, bytes: &[u8], into: &mut [u8]) -> io::Result<(usize, usize)> {
        let (mut from, mut to) = (InBuffer::around(bytes), OutBuffer::around(into));
        let expected_bytes = self.decoder.run(&mut from, &mut to)?;
        self.in_frame = expected_bytes > 0;
        Ok((from.pos(), to.pos()))
    }
}

/// Reads the dictionary in a skippable frame of `length` bytes, which may itself be compressed.
/// Empty if it cannot be decoded.
pub fn read_dictionary(input: &mut Input, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Err(error) = input.take(length).read_to_end(&mut bytes) {
        return Err(input.take_failure().unwrap_or_else(|| Error::io("read", input.path(), error)));
    }
    if Codec::of(&bytes) != Codec::Zstd {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let decoded = zstd::stream::read::Decoder::new(&bytes[..])
        .and_then(|decoder| decoder.take(DICTIONARY_BYTES_MAX).read_to_end(&mut plain));
    Ok(if decoded.is_ok() { plain } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::read::testing::member;
    use proptest::prelude::*;
    use zstd::stream::zio;

    proptest! {
        /// Frames decode as the zstd crate's own reader decodes them, damaged or not: the same
        /// bytes, the same error, the same place in the file.
        #[test]
        fn same_as_zstd(
            bytes in 0usize..300_000,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            let mut file = [member(Codec::Zstd, &Random(bytes as u64).ascii(bytes)), b"behind".to_vec()].concat();
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Some(cut) = cut {
                file.truncate(cut.index(file.len()));
            }
            let mut decoder = raw::Decoder::new().unwrap();
            decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).unwrap();
            let mut oracle = zio::Reader::new(&file[..], decoder);
            oracle.set_single_frame();
            let mut stream = ZstdStream::new(&[]).unwrap();
            stream.start().unwrap();
            let (mut rest, mut chunk, mut expected) = (&file[..], vec![0; 32 << 10], vec![0; 32 << 10]);
            loop {
                let (found, wanted) = (stream.read(&mut rest, &mut chunk), oracle.read(&mut expected));
                let (found, wanted) = (found.map_err(|e| e.to_string()), wanted.map_err(|e| e.to_string()));
                prop_assert_eq!(&found, &wanted);
                prop_assert_eq!(rest.len(), oracle.reader().len());
                let Ok(bytes @ 1..) = found else { break };
                prop_assert!(chunk[..bytes] == expected[..bytes]);
            }
        }
    }
}
