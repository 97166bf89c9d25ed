//! A file's bytes, decompressed, member by member. In come a file and its codec; out goes a window of decoded bytes
//! that grows on demand and knows the place of each byte and how each member ended. A member is one gzip member, one
//! zstd frame, or the whole of a file that is not compressed. Never sets memory aside because a file says so: the window
//! grows with what was really decoded, up to what the caller asks for.

use super::Limits;
use super::decoder::{Codec, Decoder, Spare};
use super::input::Input;
use crate::error::Result;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Bytes decoded at once; what a damaged member loses before the place of its damage.
const CHUNK_BYTES: usize = 32 << 10;

/// Bytes of the file that are at hand when a chunk is decoded, more than any but an absurd one is decoded from.
const AHEAD_BYTES: usize = 128 << 10;

/// A zstd dictionary ahead of the records is read up to this size in bytes.
const DICTIONARY_BYTES_MAX: u64 = 8 << 20;

/// Bytes of the file that a decoder may have used and not yet given out.
const SLACK_BYTES: u64 = 64 << 10;

/// Decoded bytes of a candidate member that are looked at to tell whether it is one.
const TRIAL_BYTES: usize = 4096;

/// Candidates that are tried whatever the file's size; beyond, one more for each KiB.
const TRIALS_MIN: u64 = 1000;

/// How the bytes of a member came to their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The member is whole and its checksum is right.
    Member,
    /// The file has no more bytes.
    File,
    /// The member is damaged: nothing that follows in it can be trusted.
    Damage {
        /// A fixed word: `truncated`, `bad_member`, `junk`, `bomb`.
        reason: &'static str,
        /// More for a person.
        detail: String,
    },
}

/// Whether decoded bytes look like the start of a record.
pub type Starts = fn(&[u8]) -> bool;

const DECODER: &str = "a decoder is there between calls";

/// A file's decoded bytes, of which a window is at hand.
pub struct Source {
    codec: Codec,
    /// None only within `close` and `open_member`, which cannot fail in between.
    decoder: Option<Decoder>,
    spare: Spare,
    start: u64,
    /// The bytes at hand are `window[at..filled]`; those behind are room.
    window: Vec<u8>,
    at: usize,
    filled: usize,
    /// Decoded bytes up to `window[at]`; in a plain file, bytes of the file.
    offset: u64,
    /// Where the current member starts, in bytes of the file.
    member: u64,
    end: Option<End>,
    decoded: u64,
    trials: u64,
    ratio_max: u64,
    ratio_bytes_min: u64,
    zero_padding: bool,
}

impl Source {
    /// The bytes of `path` from `start` to `end`; the codec is told from the first bytes. Only a plain file may start
    /// elsewhere than at 0. Errors are the file system's, and a file shorter than `end`.
    pub fn open(path: &Path, start: u64, end: u64, limits: &Limits) -> Result<Source> {
        let mut input = Input::open(path, start, end)?;
        let codec = if start == 0 { Codec::of(input.peek(4)?) } else { Codec::Plain };
        let mut source = Source {
            codec,
            decoder: None,
            spare: Spare::default(),
            start,
            window: Vec::new(),
            at: 0,
            filled: 0,
            offset: if codec == Codec::Plain { start } else { 0 },
            member: start,
            end: None,
            decoded: 0,
            trials: 0,
            ratio_max: limits.ratio_max.max(1),
            ratio_bytes_min: limits.ratio_bytes_min,
            zero_padding: false,
        };
        source.decoder = Some(match codec {
            Codec::Plain => Decoder::Plain(input),
            _ => Decoder::Between(input),
        });
        if codec != Codec::Plain {
            source.next_member()?;
        }
        Ok(source)
    }

    /// How the file is compressed.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.input().path()
    }

    /// Lets a plain file's bytes go on to the file's end: what starts before a share's end may end behind it.
    pub fn lift_end(&mut self) {
        if self.codec == Codec::Plain {
            self.input_mut().lift_end();
        }
    }

    /// Bytes of the file that were used so far, from `start` on.
    pub fn consumed_bytes(&self) -> u64 {
        self.input().position() - self.start - if self.codec == Codec::Plain { self.window().len() as u64 } else { 0 }
    }

    /// Where the current member starts, in bytes of the file.
    pub fn member(&self) -> u64 {
        self.member
    }

    /// Decoded bytes ahead of the window; in a plain file this is the place in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The decoded bytes at hand.
    pub fn window(&self) -> &[u8] {
        &self.window[self.at..self.filled]
    }

    /// How the member came to its end, once all of it that can be decoded is in the window.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether zero bytes were found between or behind the members.
    pub fn zero_padding(&self) -> bool {
        self.zero_padding
    }

    /// Whether the window and the rest of the file could decode to `bytes` more bytes: a length beyond that is a lie.
    /// Errors are the file system's.
    pub fn could_hold(&mut self, bytes: u64) -> Result<bool> {
        let left = self.input().left();
        let whole = left + self.input().position() - self.member;
        if self.end.is_none() && !self.holds(bytes, left) && self.holds(bytes, whole) {
            // It depends on how much of the member a stream would have used by now.
            self.stream_anew()?;
        }
        Ok(self.holds(bytes, self.input().left()))
    }

    /// Whether the window and `left` bytes of the file could decode to `bytes` bytes.
    fn holds(&self, bytes: u64, left: u64) -> bool {
        let ahead = left.saturating_add(SLACK_BYTES).saturating_mul(self.codec.ratio_max());
        let ahead = if self.codec == Codec::Plain { left } else { ahead };
        bytes <= ahead.saturating_add(self.window().len() as u64)
    }

    /// The window, grown to `want` bytes or to the end of the member.
    pub fn fill(&mut self, want: usize) -> Result<&[u8]> {
        while self.filled - self.at < want && self.end.is_none() {
            self.decode_chunk()?;
        }
        Ok(&self.window[self.at..self.filled])
    }

    /// Drops the first `bytes` of the window.
    pub fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.filled - self.at);
        self.at += bytes;
        self.offset += bytes as u64;
    }

    /// Drops up to `bytes` of the member, in the window or not; gives the number dropped.
    pub fn skip(&mut self, bytes: u64) -> Result<u64> {
        let mut skipped = 0;
        while skipped < bytes {
            let n = (self.fill(1)?.len() as u64).min(bytes - skipped);
            if n == 0 {
                break;
            }
            self.consume(n as usize);
            skipped += n;
        }
        Ok(skipped)
    }

    /// After [`End::Member`]: opens the next member behind what is still in the window. What is no member is
    /// [`End::Damage`] with the reason `junk`; zero bytes are passed over; no more bytes is [`End::File`].
    pub fn next_member(&mut self) -> Result<()> {
        let (codec, start) = (self.codec, self.start);
        self.close();
        loop {
            let input = self.input_mut();
            let head = input.peek(8)?;
            if head.first() == Some(&0) {
                let zeros = head.iter().take_while(|&&b| b == 0).count();
                input.consume(zeros);
                self.zero_padding = true;
            } else if let [magic @ 0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] = *head
                && codec == Codec::Zstd
            {
                let length = u64::from(u32::from_le_bytes([a, b, c, d]));
                let at = input.position();
                input.consume(8);
                if magic == 0x5d && at == start && length <= DICTIONARY_BYTES_MAX {
                    let dictionary = dictionary(input, length)?;
                    // Frames that need one which is broken are bad members, each for itself.
                    let _ = self.spare.set_dictionary(&dictionary);
                } else {
                    let behind = at + 8 + length.min(input.left());
                    input.seek(behind)?;
                }
            } else {
                break;
            }
        }
        let input = self.input_mut();
        let (at, head) = (input.position(), input.peek(4)?);
        let (empty, found) = (head.is_empty(), Codec::of(head));
        self.member = at;
        self.end = if empty {
            Some(End::File)
        } else if found != codec {
            Some(End::Damage { reason: "junk", detail: format!("no member at byte {at}") })
        } else {
            self.open_member()?.err().map(|error| damage(&error))
        };
        Ok(())
    }

    /// Whether a sound member follows that does not start with a record, so that it goes on with the one before.
    pub fn next_continues(&mut self, starts: Starts) -> Result<bool> {
        let at = self.input().position();
        let continues = |head: &[u8]| !head.is_empty() && !starts(head);
        if self.decode_whole()?.is_some() {
            let member = self.spare.members().bytes();
            return Ok(continues(&member[..member.len().min(TRIAL_BYTES)]));
        }
        let continues = self.trial(at, continues)?;
        self.input_mut().seek(at)?;
        Ok(continues)
    }

    /// After [`End::Damage`]: drops the window and goes to the next member that decodes to the start of a record, or to
    /// the end of the file. It is looked for from the damaged member's own start on, since a damaged member may seem to
    /// end too late as well as too early.
    pub fn resync(&mut self, starts: Starts) -> Result<()> {
        self.offset += self.window().len() as u64;
        (self.at, self.filled) = (0, 0);
        self.close();
        let mut from = self.member + 1;
        let trials_max = TRIALS_MIN + (self.input().left() + self.input().position()) / 1024;
        while let Some(at) = self.find_magic(from)? {
            self.trials += 1;
            if self.trials > trials_max {
                let left = self.input().left();
                let end = self.input().position() + left;
                self.input_mut().seek(end)?;
                break;
            }
            if self.trial(at, starts)? {
                self.input_mut().seek(at)?;
                break;
            }
            from = at + 1;
        }
        // A bomb used up what the file may grow by, and overdrew: what follows answers for its own growth alone.
        let position = self.input().position() - self.start;
        self.decoded = self.decoded.min(position.saturating_mul(self.ratio_max));
        self.end = Some(End::Member);
        self.next_member()
    }

    fn input(&self) -> &Input {
        self.decoder.as_ref().expect(DECODER).input()
    }

    fn input_mut(&mut self) -> &mut Input {
        self.decoder.as_mut().expect(DECODER).input_mut()
    }

    /// Leaves the member, wherever in it the input stands.
    fn close(&mut self) {
        let decoder = self.decoder.take();
        self.decoder = decoder.map(|decoder| Decoder::Between(decoder.close(&mut self.spare)));
    }

    /// Decodes the member at which the input stands ahead of time, if it is a short one; gives its length in bytes of
    /// the file. Only between members.
    fn decode_whole(&mut self) -> Result<Option<usize>> {
        if self.codec != Codec::Gzip {
            return Ok(None);
        }
        self.close();
        let input = self.decoder.as_mut().expect(DECODER).input_mut();
        self.spare.members().decode(input)
    }

    /// Enters the member at which the input stands: decoded whole if that can be and it cannot be a bomb.
    fn open_member(&mut self) -> Result<io::Result<()>> {
        let Some(length) = self.decode_whole()? else {
            return Ok(self.open_stream());
        };
        let decoded = self.decoded + self.spare.members().bytes().len() as u64;
        if decoded > self.ratio_bytes_min && decoded / self.ratio_max > self.input().position() - self.start {
            return Ok(self.open_stream());
        }
        let input = self.decoder.take().expect(DECODER).close(&mut self.spare);
        self.decoder = Some(Decoder::open_whole(input, length, &mut self.spare));
        Ok(Ok(()))
    }

    /// If the member was decoded whole: enters it again to the same place, to be decoded as it is read.
    fn stream_anew(&mut self) -> Result<()> {
        let Some(Decoder::Whole(whole)) = &self.decoder else { return Ok(()) };
        let (mut left, member) = (whole.given_bytes(), self.member);
        self.close();
        self.input_mut().seek(member)?;
        let mut opened = self.open_stream();
        let mut chunk = vec![0; CHUNK_BYTES];
        while left > 0 && opened.is_ok() {
            let decoder = self.decoder.as_mut().expect(DECODER);
            opened = decoder.read(&mut chunk[..left.min(CHUNK_BYTES)]).map(|bytes| left -= bytes.clamp(1, left));
        }
        opened.or_else(|error| self.fail(&error))
    }

    /// The file system's error, if it was that by which the member ended; else the member is damaged.
    fn fail(&mut self, error: &io::Error) -> Result<()> {
        self.end = Some(damage(error));
        self.input_mut().take_failure().map_or(Ok(()), Err)
    }

    /// Enters the member at which the input stands, to be decoded as it is read.
    fn open_stream(&mut self) -> io::Result<()> {
        let input = self.decoder.take().expect(DECODER).close(&mut self.spare);
        let (decoder, opened) = match Decoder::open(self.codec, input, &mut self.spare) {
            Ok(decoder) => (decoder, Ok(())),
            Err((input, error)) => (Decoder::Between(input), Err(error)),
        };
        self.decoder = Some(decoder);
        opened
    }

    fn decode_chunk(&mut self) -> Result<()> {
        if self.window.len() < self.filled + CHUNK_BYTES {
            // As much is moved as was used, or less: a record may make the window long and then turn out to be short.
            let left = self.filled - self.at;
            if left == 0 || self.at >= left.max(CHUNK_BYTES) {
                #[cfg(test)]
                super::testing::look(left);
                self.window.copy_within(self.at..self.filled, 0);
                (self.at, self.filled) = (0, self.filled - self.at);
            }
            let length = (self.filled + CHUNK_BYTES).max(self.window.len());
            self.window.resize(length, 0);
        }
        let decoder = self.decoder.as_mut().expect(DECODER);
        if matches!(decoder, Decoder::Gzip(_) | Decoder::Zstd(_)) {
            // A chunk is cut short where the input's buffer ends. Where that is must not matter.
            decoder.input_mut().peek(AHEAD_BYTES)?;
        }
        let read = decoder.read(&mut self.window[self.filled..][..CHUNK_BYTES]);
        let length = *read.as_ref().unwrap_or(&0);
        self.filled += length;
        self.decoded += length as u64;
        match read {
            Ok(0) if self.codec == Codec::Plain => self.end = Some(End::File),
            Ok(0) => self.end = Some(End::Member),
            Ok(_) => {
                let position = self.input().position() - self.start;
                if self.codec != Codec::Plain
                    && self.decoded > self.ratio_bytes_min
                    && self.decoded / self.ratio_max > position
                {
                    let detail = format!("{position} bytes grew to {}", self.decoded);
                    self.end = Some(End::Damage { reason: "bomb", detail });
                }
            }
            Err(error) => self.fail(&error)?,
        }
        Ok(())
    }

    /// The next place from `from` on where a member may start; the file's end when there is none.
    fn find_magic(&mut self, from: u64) -> Result<Option<u64>> {
        let codec = self.codec;
        let input = self.input_mut();
        input.seek(from)?;
        loop {
            let bytes = input.peek(TRIAL_BYTES)?;
            if bytes.len() < 4 {
                let rest = bytes.len();
                input.consume(rest);
                return Ok(None);
            }
            let first = if codec == Codec::Gzip { 0x1f } else { 0x28 };
            let last = bytes.len() - 3;
            let found = memchr::memchr_iter(first, &bytes[..last]).find(|&at| match codec {
                Codec::Gzip => bytes[at + 1] == 0x8b && bytes[at + 2] == 8 && bytes[at + 3] & 0xe0 == 0,
                _ => Codec::of(&bytes[at..]) == codec,
            });
            input.consume(found.unwrap_or(last));
            if found.is_some() {
                return Ok(Some(input.position()));
            }
        }
    }

    /// Whether the member at `at` decodes to bytes of which `accepts` says yes; of a long one it sees the first
    /// [`TRIAL_BYTES`]. Only between members; the position in the file is lost.
    fn trial(&mut self, at: u64, accepts: impl Fn(&[u8]) -> bool) -> Result<bool> {
        self.close();
        self.input_mut().seek(at)?;
        if self.open_stream().is_err() {
            return Ok(false);
        }
        let decoder = self.decoder.as_mut().expect(DECODER);
        let mut head = [0; TRIAL_BYTES];
        let mut length = 0;
        let whole = loop {
            match decoder.read(&mut head[length..]) {
                Ok(0) => break true,
                Ok(n) => length += n,
                Err(_) => break false,
            }
        };
        self.close();
        match self.input_mut().take_failure() {
            Some(failure) => Err(failure),
            None => Ok(whole && accepts(&head[..length])),
        }
    }
}

/// The dictionary in a skippable frame of `length` bytes at the start of a `.warc.zst`, itself compressed or not.
fn dictionary(input: &mut Input, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Err(error) = input.take(length).read_to_end(&mut bytes) {
        return Err(input.take_failure().unwrap_or_else(|| crate::error::Error::io("read", input.path(), error)));
    }
    if Codec::of(&bytes) == Codec::Zstd {
        let mut plain = Vec::new();
        let decoded = zstd::stream::read::Decoder::new(&bytes[..])
            .and_then(|decoder| decoder.take(DICTIONARY_BYTES_MAX).read_to_end(&mut plain));
        return Ok(if decoded.is_ok() { plain } else { Vec::new() });
    }
    Ok(bytes)
}

fn damage(error: &io::Error) -> End {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => End::Damage { reason: "truncated", detail: error.to_string() },
        _ => End::Damage { reason: "bad_member", detail: error.to_string() },
    }
}
