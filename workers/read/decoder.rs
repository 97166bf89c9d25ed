//! The codecs. In comes an [`Input`] that stands at a member, out come its decoded bytes; behind the member's last byte
//! the input is handed back, exactly there. Never decodes beyond one member (RFC 1952 gzip, RFC 8878 zstd).

use super::input::Input;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};

/// The largest window that a zstd frame may ask for, as a power of two: 128 MiB.
pub const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Plain,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// The codec that a file with these first bytes has.
    pub fn of(head: &[u8]) -> Codec {
        match head {
            [0x1f, 0x8b, ..] => Codec::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Codec::Zstd,
            _ => Codec::Plain,
        }
    }

    /// No member of the codec grows by more than about this factor.
    pub fn ratio_max(self) -> u64 {
        match self {
            Codec::Plain => 1,
            Codec::Gzip => 1_100,
            Codec::Zstd => 100_000,
        }
    }
}

/// What decodes a member, with the input it reads from.
pub enum Decoder {
    /// No member is open.
    Between(Input),
    /// In a file that is not compressed.
    Plain(Input),
    /// In a gzip member.
    Gzip(Gunzip),
    /// In a zstd frame.
    Zstd(Box<zstd::stream::read::Decoder<'static, Input>>),
}

/// A gzip decoder is used for member after member: to set one up costs more than to decode a short page.
pub type Gunzip = Box<GzDecoder<Slot>>;

/// The input that a decoder reads from, while it has one.
pub struct Slot(Option<Input>);

impl Read for Slot {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |input| input.read(into))
    }
}

impl BufRead for Slot {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.as_mut().map_or(Ok(&[]), BufRead::fill_buf)
    }

    fn consume(&mut self, amount: usize) {
        self.0.iter_mut().for_each(|input| input.consume(amount));
    }
}

const SLOT: &str = "the decoder of an open member has an input";

impl Decoder {
    /// The input, wherever in the member it stands.
    pub fn input(&self) -> &Input {
        match self {
            Decoder::Between(input) | Decoder::Plain(input) => input,
            Decoder::Gzip(decoder) => decoder.get_ref().0.as_ref().expect(SLOT),
            Decoder::Zstd(decoder) => decoder.get_ref(),
        }
    }

    /// The same, to be moved while no member is open.
    pub fn input_mut(&mut self) -> &mut Input {
        match self {
            Decoder::Between(input) | Decoder::Plain(input) => input,
            Decoder::Gzip(decoder) => decoder.get_mut().0.as_mut().expect(SLOT),
            Decoder::Zstd(decoder) => decoder.get_mut(),
        }
    }

    /// Opens the member at which `input` stands.
    pub fn open(
        codec: Codec,
        input: Input,
        dictionary: &[u8],
        spare: &mut Option<Gunzip>,
    ) -> std::result::Result<Decoder, (Input, io::Error)> {
        Ok(match codec {
            Codec::Plain => Decoder::Plain(input),
            Codec::Gzip => {
                let mut decoder = spare.take().unwrap_or_else(|| Box::new(GzDecoder::new(Slot(None))));
                decoder.reset(Slot(Some(input)));
                Decoder::Gzip(decoder)
            }
            Codec::Zstd => {
                let decoder = zstd::stream::read::Decoder::try_with_dictionary(input, dictionary)?;
                let mut decoder = decoder.single_frame();
                match decoder.window_log_max(ZSTD_WINDOW_LOG_MAX) {
                    Ok(()) => Decoder::Zstd(Box::new(decoder)),
                    Err(error) => return Err((decoder.finish(), error)),
                }
            }
        })
    }

    /// Closes the member, and keeps a decoder that can be used again.
    pub fn close(self, spare: &mut Option<Gunzip>) -> Input {
        match self {
            Decoder::Between(input) | Decoder::Plain(input) => input,
            Decoder::Gzip(mut decoder) => {
                let input = decoder.get_mut().0.take().expect(SLOT);
                *spare = Some(decoder);
                input
            }
            Decoder::Zstd(decoder) => decoder.finish(),
        }
    }

    /// The next decoded bytes; none at the end of the member, whose checksum is right then.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::Between(_) => Ok(0),
            Decoder::Plain(input) => input.read(into),
            Decoder::Gzip(decoder) => decoder.read(into),
            Decoder::Zstd(decoder) => decoder.read(into),
        }
    }
}
