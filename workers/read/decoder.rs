//! The decoders of the members of a file, for each codec.
//!
//! A decoder borrows the input for each call and never reads beyond the member, so between members
//! the caller may move the input. It lives as long as the file, because to set up a decoder takes
//! longer than to decode a short page.

use crate::error::Result;
use crate::read::codec::Codec;
use crate::read::gzip_stream::GzipStream;
use crate::read::gzip_whole::GzipWhole;
use crate::read::input::Input;
use crate::read::lz4_stream::Lz4Stream;
use crate::read::zstd_stream::ZstdStream;
use std::io::{self, BufRead, Read};

/// The decoder of the members of one file.
pub enum Decoder {
    /// The file is not compressed: all of it is one member, always open.
    Plain,
    /// The file is in gzip.
    Gzip(Box<Gzip>),
    /// The file is in zstd; a member is one frame.
    Zstd(ZstdStream),
    /// The file is in lz4; a member is one frame.
    Lz4(Box<Lz4Stream>),
}

/// The two decoders of gzip and which of them has the open member.
pub struct Gzip {
    stream: GzipStream,
    whole: GzipWhole,
    open: OpenMember,
}

#[derive(Clone, Copy)]
enum OpenMember {
    None,
    /// Decoded as it is read.
    Streamed,
    /// Decoded ahead of time; the input is already behind the member.
    Whole {
        copied_bytes: usize,
    },
}

impl Decoder {
    /// The decoder of a file in `codec`. A gzip member of more than `whole_bytes_max` bytes in the
    /// file is never decoded ahead of time.
    pub fn new(codec: Codec, whole_bytes_max: usize) -> io::Result<Decoder> {
        Ok(match codec {
            Codec::Plain => Decoder::Plain,
            Codec::Gzip => Decoder::Gzip(Box::new(Gzip {
                stream: GzipStream::default(),
                whole: GzipWhole::new(whole_bytes_max),
                open: OpenMember::None,
            })),
            Codec::Zstd => Decoder::Zstd(ZstdStream::new(&[])?),
            Codec::Lz4 => Decoder::Lz4(Box::default()),
        })
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        match self {
            Decoder::Plain => Codec::Plain,
            Decoder::Gzip(_) => Codec::Gzip,
            Decoder::Zstd(_) => Codec::Zstd,
            Decoder::Lz4(_) => Codec::Lz4,
        }
    }

    /// Whether the next read decodes from the input.
    pub fn is_streaming(&self) -> bool {
        match self {
            Decoder::Plain => false,
            Decoder::Gzip(gzip) => matches!(gzip.open, OpenMember::Streamed),
            Decoder::Zstd(_) | Decoder::Lz4(_) => true,
        }
    }

    /// Closes the open member and decodes the member at the position of `input` ahead of time, if
    /// it is a short gzip member. Does not move the input. Errors come from the file system.
    pub fn decode_whole(&mut self, input: &mut Input) -> Result<Option<WholeMember<'_>>> {
        let Decoder::Gzip(gzip) = self else { return Ok(None) };
        gzip.open = OpenMember::None;
        let Some(length) = gzip.whole.decode(input)? else { return Ok(None) };
        Ok(Some(WholeMember { length, gzip }))
    }

    /// Opens the member at which the input stands, to be decoded as it is read.
    pub fn open_stream(&mut self) -> io::Result<()> {
        match self {
            Decoder::Plain => {}
            Decoder::Gzip(gzip) => {
                gzip.stream.start();
                gzip.open = OpenMember::Streamed;
            }
            Decoder::Zstd(zstd) => zstd.start()?,
            Decoder::Lz4(lz4) => lz4.start(),
        }
        Ok(())
    }

    /// Bytes read so far of the open member, if it was decoded ahead of time.
    pub fn copied_bytes(&self) -> Option<usize> {
        match self {
            Decoder::Gzip(gzip) => match gzip.open {
                OpenMember::Whole { copied_bytes } => Some(copied_bytes),
                _ => None,
            },
            _ => None,
        }
    }

    /// Bytes searched for the ends of members that might be decoded ahead of time.
    #[cfg(test)]
    pub fn searched_bytes(&self) -> u64 {
        match self {
            Decoder::Gzip(gzip) => gzip.whole.searched_bytes(),
            _ => 0,
        }
    }

    /// The bytes that the last read had to decode, if these may be far more than it returned.
    pub fn block_bytes(&self) -> u64 {
        match self {
            Decoder::Lz4(lz4) => lz4.block_bytes(),
            _ => 0,
        }
    }

    /// The next decoded bytes; none at the end of the member, whose checksum is then right.
    pub fn read(&mut self, input: &mut Input, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::Plain => input.read(into),
            Decoder::Gzip(gzip) => match gzip.open {
                OpenMember::None => Ok(0),
                OpenMember::Streamed => gzip.stream.read(input, into),
                OpenMember::Whole { copied_bytes } => {
                    let left = &gzip.whole.bytes()[copied_bytes..];
                    let bytes = left.len().min(into.len());
                    into[..bytes].copy_from_slice(&left[..bytes]);
                    gzip.open = OpenMember::Whole { copied_bytes: copied_bytes + bytes };
                    Ok(bytes)
                }
            },
            Decoder::Zstd(zstd) => zstd.read(input, into),
            Decoder::Lz4(lz4) => lz4.read(input, into),
        }
    }
}

/// A member that was decoded ahead of time.
pub struct WholeMember<'a> {
    length: usize,
    gzip: &'a mut Gzip,
}

impl WholeMember<'_> {
    /// Its decoded bytes.
    pub fn bytes(&self) -> &[u8] {
        self.gzip.whole.bytes()
    }

    /// Opens it and moves `input` from its start past its end.
    pub fn open(self, input: &mut Input) {
        input.consume(self.length);
        self.gzip.open = OpenMember::Whole { copied_bytes: 0 };
    }
}
