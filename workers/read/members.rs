//! Walks the members of a file: opens one after the other and finds the next sound one after
//! damage.
//!
//! A member is one gzip member, one frame of zstd or lz4, or the whole of an uncompressed file.
//! Between members there may be padding (zero bytes), skippable frames, or junk.

use crate::error::{Error, Result};
use crate::read::Limits;
use crate::read::codec::Codec;
use crate::read::decoder::Decoder;
use crate::read::gzip_stream::RESERVED;
use crate::read::input::Input;
use crate::read::lz4_stream;
use crate::read::zstd_stream::{DICTIONARY_BYTES_MAX, ZstdStream, read_dictionary};
use std::io::{self, BufRead};
use std::path::Path;

/// Bytes decoded at once. A damaged member loses at most this much before the damage.
pub const CHUNK_BYTES: usize = 32 << 10;

/// Bytes of the file in the buffer when a chunk is decoded. A chunk needs more only in absurd
/// files.
const AHEAD_BYTES: usize = 128 << 10;

/// Decoded bytes by which a candidate is recognised as a member.
const TRIAL_BYTES: usize = 4096;

/// Decoded bytes by which most candidates are dismissed.
const GLANCE_BYTES: usize = 256;

/// The most that trials of candidates may cost in a file of any size, in bytes that they decode.
/// Larger files allow [`TRIAL_COST_RATIO`] more for each of their bytes.
const TRIAL_COST_MIN: u64 = 16 << 20;
const TRIAL_COST_RATIO: u64 = 8;

/// The cost of a candidate that decodes to nothing.
const TRIAL_COST: u64 = 64;

/// One in this many bytes of sound records counts as growth of the file.
///
/// A record costs what its limits allow, so growth must only be bounded where there are no records:
/// in line ends, zeros, and lines that are no records. But records of a few bytes in the file must
/// not cost hours either. Lines that differ only in their URL grow some hundred times.
const SOUND_SHARE: u64 = 64;

/// The reason of the damage of a member that grows beyond the limits. Its bytes may be sound, so
/// only a reader with these limits sees it.
pub const BOMB: &str = "bomb";

/// The reason of bytes that are no member.
pub const JUNK: &str = "junk";

/// How a member ended.
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

impl End {
    fn of(error: &io::Error) -> End {
        let reason =
            if error.kind() == io::ErrorKind::UnexpectedEof { "truncated" } else { "bad_member" };
        End::Damage { reason, detail: error.to_string() }
    }
}

/// Whether decoded bytes look like the start of a record.
pub type Starts = fn(&[u8]) -> bool;

/// The members of one file, of which one is open.
pub struct Members {
    input: Input,
    decoder: Decoder,
    /// Where reading started, in bytes of the file.
    start: u64,
    /// Where the current member starts, in bytes of the file.
    at: u64,
    decoded_bytes: u64,
    /// The decoded bytes that do not count as growth of the file.
    uncounted_bytes: u64,
    /// What the trials behind damage cost so far.
    trial_cost: u64,
    ratio_max: u64,
    ratio_bytes_min: u64,
    zero_padding: bool,
}

/// How the bytes at the position of `input` are compressed. Skippable frames, with which zstd and
/// lz4 files may begin, are passed over, also one with a wrong length, if a member is near.
pub fn codec_of(input: &mut Input) -> Result<Codec> {
    let start = input.position();
    let first = Codec::of(input.peek(4)?);
    let mut codec = first;
    while let Some(length) = skippable_bytes(input.peek(SKIPPABLE_HEADER_BYTES)?) {
        let behind = input.position() + length.min(input.left());
        input.seek(behind)?;
        codec = Codec::of(input.peek(4)?);
    }
    if first == Codec::Zstd && codec == Codec::Plain {
        // A wrong length led into a member or beyond the file. The first member says what it is.
        input.seek(start)?;
        let magics = input.peek(TRIAL_BYTES)?.windows(4).filter(|at| !matches!(at[0], 0x50..=0x5f));
        codec = magics.map(Codec::of).find(|of| *of != Codec::Plain).unwrap_or(first);
    }
    input.seek(start)?;
    Ok(if codec == Codec::Lz4 { codec } else { first })
}

/// Bytes of the header of a skippable frame.
const SKIPPABLE_HEADER_BYTES: usize = 8;

/// The length of the skippable frame with these first bytes, including its header; `None` if it is
/// no such frame.
fn skippable_bytes(head: &[u8]) -> Option<u64> {
    match *head {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => {
            Some(SKIPPABLE_HEADER_BYTES as u64 + u64::from(u32::from_le_bytes([a, b, c, d])))
        }
        _ => None,
    }
}

impl Members {
    /// The members of `input`, none of them open. The codec is detected from the first bytes. Only
    /// a plain file may start elsewhere than at 0. For `whole_bytes_max` see [`Decoder::new`].
    pub fn of(mut input: Input, whole_bytes_max: usize, limits: &Limits) -> Result<Members> {
        let codec = if input.position() == 0 { codec_of(&mut input)? } else { Codec::Plain };
        Members::by(codec, input, whole_bytes_max, limits)
    }

    /// The members of `input`, which starts at one of them.
    pub fn by(
        codec: Codec,
        input: Input,
        whole_bytes_max: usize,
        limits: &Limits,
    ) -> Result<Members> {
        let start = input.position();
        let decoder = Decoder::new(codec, whole_bytes_max)
            .map_err(|error| Error::io("decode", input.path(), error))?;
        Ok(Members {
            input,
            decoder,
            start,
            at: start,
            decoded_bytes: 0,
            uncounted_bytes: 0,
            trial_cost: 0,
            ratio_max: limits.ratio_max.max(1),
            ratio_bytes_min: limits.ratio_bytes_min,
            zero_padding: false,
        })
    }

    /// How the file is compressed.
    pub fn codec(&self) -> Codec {
        self.decoder.codec()
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Moves the end to the end of the file.
    pub fn lift_end(&mut self) {
        self.input.lift_end();
    }

    /// Where the current member starts, in bytes of the file.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Bytes of the file used so far.
    pub fn used_bytes(&self) -> u64 {
        self.input.position() - self.start
    }

    /// The end of the bytes to be read, in bytes of the file.
    pub fn end(&self) -> u64 {
        self.input.position() + self.input.left()
    }

    /// Bytes of the file that are left.
    pub fn left_bytes(&self) -> u64 {
        self.input.left()
    }

    /// Bytes of the file from the start of the current member to the end.
    pub fn left_bytes_with_member(&self) -> u64 {
        self.input.left() + self.input.position() - self.at
    }

    /// Whether zero bytes were found between or after the members.
    pub fn zero_padding(&self) -> bool {
        self.zero_padding
    }

    /// Bytes searched for the ends of members; a byte searched twice counts twice.
    #[cfg(test)]
    pub fn searched_bytes(&self) -> u64 {
        self.decoder.searched_bytes()
    }

    /// Opens the next member; returns its end if it has one at once.
    ///
    /// Bytes that are not a member are [`End::Damage`] with the reason `junk`. Zero bytes are
    /// passed over. At the end of the file the end is [`End::File`].
    pub fn next(&mut self) -> Result<Option<End>> {
        self.skip_padding()?;
        let (at, head) = (self.input.position(), self.input.peek(4)?);
        let (empty, found) = (head.is_empty(), Codec::of(head));
        if !empty && found != self.codec() {
            return Ok(Some(End::Damage {
                reason: JUNK,
                detail: format!("no member at byte {at}"),
            }));
        }
        self.at = at;
        if empty {
            return Ok(Some(End::File));
        }
        let (used, grown) = (self.used_bytes(), self.decoded_bytes - self.uncounted_bytes);
        if let Some(member) = self.decoder.decode_whole(&mut self.input)? {
            let grown = grown + member.bytes().len() as u64;
            if !(grown > self.ratio_bytes_min && grown / self.ratio_max > used) {
                member.open(&mut self.input);
                return Ok(None);
            }
        }
        Ok(self.decoder.open_stream().err().map(|error| End::of(&error)))
    }

    /// Reads past zero bytes and skippable frames. A frame at the start of the file may hold a
    /// dictionary, which the decoder takes over. A frame that is longer than the rest of the file
    /// is no padding but damage.
    ///
    /// If junk follows, the damage begins at the last frame: a wrong length may have swallowed
    /// members.
    fn skip_padding(&mut self) -> Result<()> {
        self.at = self.input.position();
        loop {
            let (codec, left) = (self.codec(), self.input.left());
            let head = self.input.peek(SKIPPABLE_HEADER_BYTES)?;
            if head.first() == Some(&0) {
                let zeros = head.iter().take_while(|&&b| b == 0).count();
                self.input.consume(zeros);
                self.zero_padding = true;
                self.at = self.input.position();
            } else if let Some(whole) = skippable_bytes(head)
                && matches!(codec, Codec::Zstd | Codec::Lz4)
                && whole <= left
            {
                let is_dictionary = head[0] == 0x5d;
                let length = whole - SKIPPABLE_HEADER_BYTES as u64;
                let at = self.input.position();
                self.at = at;
                self.input.consume(SKIPPABLE_HEADER_BYTES);
                if let Decoder::Zstd(decoder) = &mut self.decoder
                    && is_dictionary
                    && at == self.start
                    && length <= DICTIONARY_BYTES_MAX
                {
                    let dictionary = read_dictionary(&mut self.input, length)?;
                    // With a broken dictionary, each frame that needs it is a bad member by itself.
                    if let Ok(with_dictionary) = ZstdStream::new(&dictionary) {
                        *decoder = with_dictionary;
                    }
                    self.at = self.input.position();
                } else {
                    self.input.seek(at + whole)?;
                }
            } else {
                return Ok(());
            }
        }
    }

    /// The next decoded bytes of the open member, and its end, if it ended.
    pub fn read(&mut self, into: &mut [u8]) -> Result<(usize, Option<End>)> {
        if self.decoder.is_streaming() {
            // A chunk is cut short where the input's buffer ends. The outcome must not depend on
            // that place.
            self.input.peek(AHEAD_BYTES)?;
        }
        let bytes = match self.decoder.read(&mut self.input, into) {
            Ok(bytes) => bytes,
            Err(error) => return Ok((0, Some(self.damage(&error)?))),
        };
        self.decoded_bytes += bytes as u64;
        let end = match (bytes, self.codec()) {
            (0, Codec::Plain) => Some(End::File),
            (0, _) => Some(End::Member),
            (_, Codec::Plain) => None,
            _ => self.is_bomb().then(|| {
                let detail = format!("{} bytes grew to {}", self.used_bytes(), self.decoded_bytes);
                End::Damage { reason: BOMB, detail }
            }),
        };
        Ok((bytes, end))
    }

    /// Notes that `bytes` of what was decoded are a sound record.
    pub fn sound(&mut self, bytes: u64) {
        self.uncounted_bytes =
            (self.uncounted_bytes + bytes - bytes.div_ceil(SOUND_SHARE)).min(self.decoded_bytes);
    }

    fn is_bomb(&self) -> bool {
        let grown = self.decoded_bytes - self.uncounted_bytes;
        grown > self.ratio_bytes_min && grown / self.ratio_max > self.used_bytes()
    }

    /// Opens a member that was decoded ahead of time again, as a stream, at the same place.
    pub fn reopen_as_stream(&mut self) -> Result<Option<End>> {
        let Some(mut left) = self.decoder.copied_bytes() else { return Ok(None) };
        self.input.seek(self.at)?;
        let mut opened = self.decoder.open_stream();
        let mut chunk = vec![0; CHUNK_BYTES];
        while left > 0 && opened.is_ok() {
            let read = self.decoder.read(&mut self.input, &mut chunk[..left.min(CHUNK_BYTES)]);
            opened = read.map(|bytes| left -= bytes.clamp(1, left));
        }
        opened.err().map(|error| self.damage(&error)).transpose()
    }

    /// The damage of the member, or the error of the file system if that caused it.
    fn damage(&mut self, error: &io::Error) -> Result<End> {
        self.input.take_failure().map_or(Ok(End::of(error)), Err)
    }

    /// Whether a sound member follows that does not start with a record: it continues the one
    /// before.
    pub fn next_continues(&mut self, starts: Starts) -> Result<bool> {
        let at = self.input.position();
        let continues = |head: &[u8]| !head.is_empty() && !starts(head);
        if let Some(member) = self.decoder.decode_whole(&mut self.input)? {
            let bytes = member.bytes();
            return Ok(continues(&bytes[..bytes.len().min(TRIAL_BYTES)]));
        }
        let (continues, _) = self.trial(at, continues)?;
        self.input.seek(at)?;
        Ok(continues)
    }

    /// After [`End::Damage`]: goes to the next member that decodes to the start of a record, or to
    /// the end of the file, and opens none.
    ///
    /// The search begins at the damaged member's own start, because a damaged member may seem to
    /// end too late as well as too early. Returns how many bytes at the end of the file were not
    /// searched because this would cost too much.
    pub fn skip_damage(&mut self, starts: Starts) -> Result<u64> {
        let mut from = self.at + 1;
        let mut unsearched = 0;
        // What was decoded in vain. Members that do not overlap cost the file once altogether.
        self.trial_cost += self.input.position().saturating_sub(self.at);
        let size = self.end();
        let cost_max = TRIAL_COST_MIN.saturating_add(size.saturating_mul(TRIAL_COST_RATIO));
        while let Some(at) = self.find_magic(from)? {
            if self.trial_cost > cost_max {
                unsearched = size - at;
                self.input.seek(size)?;
                break;
            }
            let (is_start, cost) = self.trial(at, starts)?;
            self.trial_cost += cost;
            if is_start {
                self.input.seek(at)?;
                break;
            }
            from = at + 1;
        }
        // A bomb used up more than the growth that the file may have. The members that follow are
        // measured by their own growth alone.
        let allowed = self.used_bytes().saturating_mul(self.ratio_max);
        self.uncounted_bytes = self.uncounted_bytes.max(self.decoded_bytes.saturating_sub(allowed));
        Ok(unsearched)
    }

    /// The next place from `from` on where a member may start; `None` at the end of the file.
    fn find_magic(&mut self, from: u64) -> Result<Option<u64>> {
        let codec = self.codec();
        self.input.seek(from)?;
        loop {
            let bytes = self.input.peek(TRIAL_BYTES)?;
            if bytes.len() < 4 {
                let rest = bytes.len();
                self.input.consume(rest);
                return Ok(None);
            }
            let first = match codec {
                Codec::Gzip => 0x1f,
                Codec::Lz4 => lz4_stream::MAGIC[0],
                Codec::Zstd | Codec::Plain => 0x28,
            };
            let last = bytes.len() - 3;
            let found = memchr::memchr_iter(first, &bytes[..last]).find(|&at| match codec {
                Codec::Gzip => {
                    bytes[at + 1] == 0x8b && bytes[at + 2] == 8 && bytes[at + 3] & RESERVED == 0
                }
                _ => Codec::of(&bytes[at..]) == codec,
            });
            self.input.consume(found.unwrap_or(last));
            if found.is_some() {
                return Ok(Some(self.input.position()));
            }
        }
    }

    /// Whether the member at `at` decodes to bytes that `accepts` accepts. At most the first
    /// [`TRIAL_BYTES`] are decoded, and fewer if the first line is refused. To be called only
    /// between members; the input is moved. Also returns the cost.
    fn trial(&mut self, at: u64, accepts: impl Fn(&[u8]) -> bool) -> Result<(bool, u64)> {
        self.input.seek(at)?;
        if self.decoder.open_stream().is_err() {
            return Ok((false, TRIAL_COST));
        }
        let mut head = [0; TRIAL_BYTES];
        let mut length = 0;
        let whole = loop {
            let want = if length < GLANCE_BYTES { GLANCE_BYTES } else { TRIAL_BYTES };
            match self.decoder.read(&mut self.input, &mut head[length..want]) {
                Ok(0) => break true,
                Ok(n) => length += n,
                Err(_) => break false,
            }
            let has_line = || head[..length].trim_ascii_start().contains(&b'\n');
            if length == GLANCE_BYTES && has_line() && !accepts(&head[..length]) {
                break false;
            }
        };
        let cost = TRIAL_COST + (length as u64).max(self.decoder.block_bytes());
        match self.input.take_failure() {
            Some(failure) => Err(failure),
            None => Ok((whole && accepts(&head[..length]), cost)),
        }
    }
}
