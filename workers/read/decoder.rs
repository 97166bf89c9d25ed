//! The codecs. In comes an [`Input`] that stands at a member, out come its decoded bytes; behind the member's last byte
//! the input is handed back, exactly there. Never decodes beyond one member (RFC 1952 gzip, RFC 8878 zstd).

use super::input::Input;
use super::members::Members;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};
use zstd::stream::raw::{self, DParameter, InBuffer, Operation, OutBuffer, WriteBuf};
use zstd::stream::zio;

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
    /// In a gzip member that is decoded as it is read.
    Gzip(Gunzip),
    /// In a gzip member that was decoded ahead of time; the input stands behind it.
    Whole(Whole),
    /// In a zstd frame.
    Zstd(Box<zio::Reader<Input, Unzstd>>),
}

/// The decoders that no open member has.
#[derive(Default)]
pub struct Spare {
    gunzip: Option<Gunzip>,
    members: Option<Box<Members>>,
    unzstd: Option<raw::Decoder<'static>>,
}

impl Spare {
    /// What decodes short gzip members ahead of time.
    pub fn members(&mut self) -> &mut Members {
        self.members.get_or_insert_default()
    }

    /// Digests the dictionary of all zstd frames that follow. One that cannot be digested is as good as none, and is
    /// the error.
    pub fn set_dictionary(&mut self, dictionary: &[u8]) -> io::Result<()> {
        self.unzstd = None;
        self.unzstd = Some(unzstd(dictionary)?);
        Ok(())
    }
}

/// A gzip decoder is used for member after member: to set one up costs more than to decode a short page.
pub type Gunzip = Box<GzDecoder<Slot>>;

/// A member that was decoded ahead of time, of which the first `at` bytes were given out.
pub struct Whole {
    input: Input,
    members: Box<Members>,
    at: usize,
}

impl Whole {
    /// The bytes given out so far.
    pub fn given_bytes(&self) -> usize {
        self.at
    }

    fn read(&mut self, into: &mut [u8]) -> usize {
        let left = &self.members.bytes()[self.at..];
        let bytes = left.len().min(into.len());
        into[..bytes].copy_from_slice(&left[..bytes]);
        self.at += bytes;
        bytes
    }
}

/// A zstd decoder is used for frame after frame too, with the dictionary that it has digested.
pub struct Unzstd(Option<raw::Decoder<'static>>);

impl Unzstd {
    fn decoder(&mut self) -> &mut raw::Decoder<'static> {
        self.0.as_mut().expect(SLOT)
    }
}

impl Operation for Unzstd {
    fn run<C: WriteBuf + ?Sized>(&mut self, from: &mut InBuffer<'_>, to: &mut OutBuffer<'_, C>) -> io::Result<usize> {
        self.decoder().run(from, to)
    }

    fn flush<C: WriteBuf + ?Sized>(&mut self, to: &mut OutBuffer<'_, C>) -> io::Result<usize> {
        self.decoder().flush(to)
    }

    fn reinit(&mut self) -> io::Result<()> {
        self.decoder().reinit()
    }

    fn finish<C: WriteBuf + ?Sized>(&mut self, to: &mut OutBuffer<'_, C>, finished: bool) -> io::Result<usize> {
        self.decoder().finish(to, finished)
    }
}

fn unzstd(dictionary: &[u8]) -> io::Result<raw::Decoder<'static>> {
    let mut decoder = raw::Decoder::with_dictionary(dictionary)?;
    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
    Ok(decoder)
}

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

const SLOT: &str = "an open member has a decoder, and that an input";

impl Decoder {
    /// The input, wherever in the member it stands.
    pub fn input(&self) -> &Input {
        match self {
            Decoder::Between(input) | Decoder::Plain(input) => input,
            Decoder::Gzip(decoder) => decoder.get_ref().0.as_ref().expect(SLOT),
            Decoder::Whole(whole) => &whole.input,
            Decoder::Zstd(decoder) => decoder.reader(),
        }
    }

    /// The same, to be moved while no member is open.
    pub fn input_mut(&mut self) -> &mut Input {
        match self {
            Decoder::Between(input) | Decoder::Plain(input) => input,
            Decoder::Gzip(decoder) => decoder.get_mut().0.as_mut().expect(SLOT),
            Decoder::Whole(whole) => &mut whole.input,
            Decoder::Zstd(decoder) => decoder.reader_mut(),
        }
    }

    /// Opens the gzip member at which `input` stands and which [`Spare::members`] decoded last: `length` bytes.
    pub fn open_whole(mut input: Input, length: usize, spare: &mut Spare) -> Decoder {
        input.consume(length);
        Decoder::Whole(Whole { input, members: spare.members.take().unwrap_or_default(), at: 0 })
    }

    /// Opens the member at which `input` stands.
    pub fn open(codec: Codec, input: Input, spare: &mut Spare) -> std::result::Result<Decoder, (Input, io::Error)> {
        Ok(match codec {
            Codec::Plain => Decoder::Plain(input),
            Codec::Gzip => {
                let mut decoder = spare.gunzip.take().unwrap_or_else(|| Box::new(GzDecoder::new(Slot(None))));
                decoder.reset(Slot(Some(input)));
                Decoder::Gzip(decoder)
            }
            Codec::Zstd => {
                let decoder = spare.unzstd.take().map_or_else(|| unzstd(&[]), Ok);
                match decoder.and_then(|mut decoder| decoder.reinit().map(|()| decoder)) {
                    Ok(decoder) => {
                        let mut reader = zio::Reader::new(input, Unzstd(Some(decoder)));
                        reader.set_single_frame();
                        Decoder::Zstd(Box::new(reader))
                    }
                    Err(error) => return Err((input, error)),
                }
            }
        })
    }

    /// Closes the member, and keeps a decoder that can be used again.
    pub fn close(self, spare: &mut Spare) -> Input {
        match self {
            Decoder::Between(input) | Decoder::Plain(input) => input,
            Decoder::Gzip(mut decoder) => {
                let input = decoder.get_mut().0.take().expect(SLOT);
                spare.gunzip = Some(decoder);
                input
            }
            Decoder::Whole(whole) => {
                spare.members = Some(whole.members);
                whole.input
            }
            Decoder::Zstd(mut decoder) => {
                spare.unzstd = decoder.operation_mut().0.take();
                decoder.into_inner()
            }
        }
    }

    /// The next decoded bytes; none at the end of the member, whose checksum is right then.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::Between(_) => Ok(0),
            Decoder::Plain(input) => input.read(into),
            Decoder::Gzip(decoder) => decoder.read(into),
            Decoder::Whole(whole) => Ok(whole.read(into)),
            Decoder::Zstd(decoder) => decoder.read(into),
        }
    }
}
