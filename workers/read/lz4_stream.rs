//! Decodes lz4 frames as they are read (the LZ4 Frame Format, version 1.6.4).
//!
//! As in [`super::gzip_stream`], the input stays with the caller. The blocks are decoded by
//! `lz4_flex`; its reader of whole frames is not used, because it owns its input, and takes a frame
//! that was cut off between two blocks for a whole one. A frame states the size of its blocks,
//! which is at most 4 MiB, and no more memory than that is allocated.

use lz4_flex::block::{decompress_into, decompress_into_with_dict};
use std::io::{self, BufRead, ErrorKind, Read};
use xxhash_rust::xxh32::{Xxh32, xxh32};

/// The first bytes of a frame.
pub const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// How far back a block may refer to the blocks before it.
const WINDOW_BYTES: usize = 64 << 10;

/// The bit of a block's length that says that the block is stored as it is.
const STORED: u32 = 1 << 31;

/// A decoder of one lz4 frame after the other.
#[derive(Default)]
pub struct Lz4Stream {
    state: State,
    /// The last block as in the file.
    packed: Vec<u8>,
    /// The last block, of which `at..filled` was not yet read.
    block: Vec<u8>,
    at: usize,
    filled: usize,
    /// The end of what was decoded before, if blocks refer to it.
    window: Vec<u8>,
}

#[derive(Default)]
enum State {
    #[default]
    BetweenFrames,
    /// The header of the frame comes next.
    Header,
    Blocks(Frame),
}

/// What the header of a frame says, and what was decoded of it.
struct Frame {
    block_bytes_max: usize,
    are_linked: bool,
    has_block_checksums: bool,
    /// The decoded size that the header states.
    size: Option<u64>,
    checksum: Option<Xxh32>,
    decoded_bytes: u64,
}

impl Lz4Stream {
    /// Starts a frame.
    pub fn start(&mut self) {
        self.state = State::Header;
        (self.at, self.filled) = (0, 0);
        self.window.clear();
    }

    /// Bytes that were read and decoded at once for the last bytes handed out: one block.
    pub fn block_bytes(&self) -> u64 {
        (self.packed.len() + self.filled) as u64
    }

    /// The next decoded bytes; none at the end of the frame, whose checksums are then right.
    pub fn read(&mut self, input: &mut impl BufRead, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() {
            if self.at < self.filled {
                let bytes = into.len().min(self.filled - self.at);
                into[..bytes].copy_from_slice(&self.block[self.at..self.at + bytes]);
                self.at += bytes;
                return Ok(bytes);
            }
            match &self.state {
                State::BetweenFrames => return Ok(0),
                State::Header => self.state = State::Blocks(header(input)?),
                State::Blocks(_) => self.next_block(input)?,
            }
        }
        Ok(0)
    }

    /// Decodes the next block, or checks the end of the frame.
    fn next_block(&mut self, input: &mut impl BufRead) -> io::Result<()> {
        let State::Blocks(frame) = &mut self.state else { return Ok(()) };
        let length = u32::from_le_bytes(exactly(input)?);
        if length == 0 {
            frame.check_end(input)?;
            self.state = State::BetweenFrames;
            return Ok(());
        }
        let bytes = (length & !STORED) as usize;
        if bytes > frame.block_bytes_max {
            return Err(damaged("a block is longer than the frame says"));
        }
        self.packed.clear();
        if input.take(bytes as u64).read_to_end(&mut self.packed)? < bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if frame.has_block_checksums
            && xxh32(&self.packed, 0) != u32::from_le_bytes(exactly(input)?)
        {
            return Err(damaged("the checksum of a block is wrong"));
        }
        if self.block.len() < frame.block_bytes_max {
            self.block.resize(frame.block_bytes_max, 0);
        }
        let room = &mut self.block[..frame.block_bytes_max];
        self.at = 0;
        self.filled = if length & STORED != 0 {
            room[..bytes].copy_from_slice(&self.packed);
            bytes
        } else if frame.are_linked {
            decompress_into_with_dict(&self.packed, room, &self.window).map_err(io::Error::other)?
        } else {
            decompress_into(&self.packed, room).map_err(io::Error::other)?
        };
        let decoded = &self.block[..self.filled];
        frame.decoded_bytes += decoded.len() as u64;
        if let Some(checksum) = &mut frame.checksum {
            checksum.update(decoded);
        }
        if frame.are_linked {
            let new = &decoded[decoded.len().saturating_sub(WINDOW_BYTES)..];
            let stay = self.window.len().min(WINDOW_BYTES - new.len());
            self.window.drain(..self.window.len() - stay);
            self.window.extend_from_slice(new);
        }
        Ok(())
    }
}

impl Frame {
    /// Checks the bytes behind the last block.
    fn check_end(&self, input: &mut impl BufRead) -> io::Result<()> {
        if self.size.is_some_and(|size| size != self.decoded_bytes) {
            return Err(damaged("the frame has another size than it says"));
        }
        match &self.checksum {
            Some(checksum) if checksum.digest() != u32::from_le_bytes(exactly(input)?) => {
                Err(damaged("the checksum of the frame is wrong"))
            }
            _ => Ok(()),
        }
    }
}

/// Reads the header of a frame.
fn header(input: &mut impl BufRead) -> io::Result<Frame> {
    let magic: [u8; 4] = exactly(input)?;
    let [flags, sizes] = exactly(input)?;
    let mut described = vec![flags, sizes];
    let has = |bit: u8| flags & bit != 0;
    let size = has(0x08).then(|| exactly::<8>(input)).transpose()?;
    described.extend(size.into_iter().flatten());
    if has(0x01) {
        described.extend(exactly::<4>(input)?);
    }
    let [check] = exactly(input)?;
    let is_known = magic == MAGIC && flags & 0xc2 == 0x40 && sizes & 0x8f == 0 && sizes >> 4 >= 4;
    if !is_known || (xxh32(&described, 0) >> 8) as u8 != check {
        return Err(damaged("no header of a frame"));
    }
    if has(0x01) {
        return Err(damaged("the frame needs a dictionary"));
    }
    Ok(Frame {
        block_bytes_max: 1 << (8 + 2 * (sizes >> 4)),
        are_linked: !has(0x20),
        has_block_checksums: has(0x10),
        size: size.map(u64::from_le_bytes),
        checksum: has(0x04).then(|| Xxh32::new(0)),
        decoded_bytes: 0,
    })
}

/// The next `N` bytes.
fn exactly<const N: usize>(input: &mut impl BufRead) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
    use proptest::prelude::*;
    use std::io::Write;

    /// A frame of these bytes. Bit `n` of `form` chooses what its header says.
    fn frame(bytes: &[u8], form: u8) -> Vec<u8> {
        let is = |bit: u8| form >> bit & 1 == 1;
        let sizes = [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB];
        let info = FrameInfo::new()
            .block_mode(if is(0) { BlockMode::Linked } else { BlockMode::Independent })
            .block_checksums(is(1))
            .content_checksum(is(2))
            .content_size(is(3).then_some(bytes.len() as u64))
            .block_size(sizes[usize::from(form >> 4 & 3)]);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(stream: &mut Lz4Stream, input: &mut &[u8]) -> io::Result<Vec<u8>> {
        let (mut found, mut chunk) = (Vec::new(), vec![0; 7000]);
        stream.start();
        loop {
            match stream.read(input, &mut chunk)? {
                0 => return Ok(found),
                bytes => found.extend_from_slice(&chunk[..bytes]),
            }
        }
    }

    proptest! {
        /// Frames of every form decode to what was encoded, one after the other by one decoder, and
        /// the end of each is found. A changed frame is refused or decodes as `lz4_flex` decodes
        /// it. A frame that was cut off is never taken for a whole one.
        #[test]
        fn same_as_lz4_flex(
            sizes in proptest::collection::vec((0usize..400_000, 0u8..64), 1..4),
            change in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
            cut in any::<prop::sample::Index>(),
        ) {
            let texts: Vec<Vec<u8>> = sizes.iter().map(|(n, _)| Random(*n as u64).ascii(*n)).collect();
            let frames: Vec<Vec<u8>> = texts.iter().zip(&sizes).map(|(text, (_, form))| frame(text, *form)).collect();
            let (whole, mut stream) = (frames.concat(), Lz4Stream::default());
            let mut rest = &whole[..];
            for text in &texts {
                prop_assert!(decode(&mut stream, &mut rest).unwrap() == *text);
            }
            prop_assert!(rest.is_empty());
            let first = &frames[0];
            let cut = &first[..cut.index(first.len())];
            prop_assert_eq!(decode(&mut stream, &mut &cut[..]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
            let mut odd = first.clone();
            if let Some((at, byte)) = change {
                let at = at.index(odd.len());
                odd[at] = byte;
            }
            let mut expected = Vec::new();
            let oracle = FrameDecoder::new(&odd[..]).read_to_end(&mut expected);
            if let Ok(found) = decode(&mut stream, &mut &odd[..]) {
                prop_assert!(oracle.is_ok() && found == expected);
            }
        }
    }
}
