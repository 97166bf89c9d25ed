//! The decoded bytes of a file, through a window that grows on demand.
//!
//! The window stays within one member until the caller opens the next. The place of its bytes in
//! the file is known, and also how the member ended. Memory is never allocated because a file
//! states a length: the window grows with the bytes that were really decoded, up to the number that
//! the caller asks for.

use crate::error::Result;
use crate::read::Limits;
use crate::read::codec::Codec;
use crate::read::gzip_whole::MEMBER_BYTES_MAX;
use crate::read::input::Input;
pub use crate::read::members::{BOMB, End, JUNK, Starts};
use crate::read::members::{CHUNK_BYTES, Members, codec_of};
use std::path::Path;

/// Bytes of the file that a decoder may have used without output so far.
const SLACK_BYTES: u64 = 64 << 10;

/// The decoded bytes of a file, of which a window is in memory.
pub struct Source {
    members: Members,
    /// The window is `window[at..filled]`; the rest is room.
    window: Vec<u8>,
    at: usize,
    filled: usize,
    /// Decoded bytes before `window[at]`; in a plain file, bytes of the file.
    offset: u64,
    /// Decoded bytes before the current member.
    member_offset: u64,
    /// How the member ended, once all of it that can be decoded is in the window.
    end: Option<End>,
    moved_bytes: u64,
}

impl Source {
    /// The bytes of `path` from `start` to `end`. The codec is detected from the first bytes. Only
    /// a plain file may start elsewhere than at 0. Fails on errors of the file system, and if the
    /// file is shorter than `end`.
    pub fn open(path: &Path, start: u64, end: u64, limits: &Limits) -> Result<Source> {
        Source::of(Input::open(path, start, end)?, MEMBER_BYTES_MAX, limits)
    }

    /// The bytes of `input`. Gzip members of more than `whole_bytes_max` bytes are never decoded
    /// ahead of time.
    pub fn of(input: Input, whole_bytes_max: usize, limits: &Limits) -> Result<Source> {
        let start = input.position();
        let mut members = Members::of(input, whole_bytes_max, limits)?;
        let (offset, end) = match members.codec() {
            Codec::Plain => (start, None),
            _ => (0, members.next()?),
        };
        Ok(Source::at(offset, members, end))
    }

    /// The bytes of `path` from its member at `start` on, compressed by `codec`. Its first decoded
    /// byte has the offset 0.
    pub fn open_member(
        path: &Path,
        start: u64,
        end: u64,
        codec: Codec,
        limits: &Limits,
    ) -> Result<Source> {
        let mut members =
            Members::by(codec, Input::open(path, start, end)?, MEMBER_BYTES_MAX, limits)?;
        let end = members.next()?;
        Ok(Source::at(0, members, end))
    }

    /// The bytes of `path` from `start` to `end`, read as if they were a file of their own: offsets
    /// count from `start`, and the codec is detected there.
    pub fn open_part(path: &Path, start: u64, end: u64, limits: &Limits) -> Result<Source> {
        let mut input = Input::open(path, start, end)?;
        let codec = codec_of(&mut input)?;
        let mut members = Members::by(codec, input, MEMBER_BYTES_MAX, limits)?;
        let end = if codec == Codec::Plain { None } else { members.next()? };
        Ok(Source::at(0, members, end))
    }

    /// The bytes of the open member of `members`, of which the first has this offset.
    fn at(offset: u64, members: Members, end: Option<End>) -> Source {
        Source {
            members,
            window: Vec::new(),
            at: 0,
            filled: 0,
            offset,
            member_offset: offset,
            end,
            moved_bytes: 0,
        }
    }

    /// Another source of the same bytes, and the number of its bytes before `offset`, which is
    /// behind the start of the current member. A plain file is opened at `offset`, another file at
    /// the start of the member.
    pub fn again(&self, offset: u64, limits: &Limits) -> Result<(Source, u64)> {
        let (codec, ahead) = (self.codec(), offset - self.member_offset);
        let is_plain = codec == Codec::Plain;
        let start = self.member() + if is_plain { ahead } else { 0 };
        let source = Source::open_member(self.path(), start, self.members.end(), codec, limits)?;
        Ok((source, if is_plain { 0 } else { ahead }))
    }

    /// How the file is compressed.
    pub fn codec(&self) -> Codec {
        self.members.codec()
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.members.path()
    }

    /// Lets a plain file go on to its end, because a record that starts before the end of a split
    /// may end after it.
    pub fn lift_end(&mut self) {
        if self.codec() == Codec::Plain {
            self.members.lift_end();
        }
    }

    /// Bytes of the file used so far, counted from `start`.
    pub fn consumed_bytes(&self) -> u64 {
        self.members.used_bytes()
            - if self.codec() == Codec::Plain { self.window().len() as u64 } else { 0 }
    }

    /// Where the current member starts, in bytes of the file.
    pub fn member(&self) -> u64 {
        self.members.at()
    }

    /// Decoded bytes before the window; in a plain file this is the place in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The window.
    pub fn window(&self) -> &[u8] {
        &self.window[self.at..self.filled]
    }

    /// How the member came to its end, once all of it that can be decoded is in the window.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether zero bytes were found between or after the members.
    pub fn zero_padding(&self) -> bool {
        self.members.zero_padding()
    }

    /// Work on top of decoding: bytes moved and searched, each counted as often as it was. Linear
    /// in the size of the file.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        self.moved_bytes + self.members.searched_bytes()
    }

    /// Whether the window and the rest of the file could decode to `bytes` more bytes; a greater
    /// length is a lie. Errors come from the file system.
    pub fn could_hold(&mut self, bytes: u64) -> Result<bool> {
        if self.end.is_none()
            && !self.holds(bytes, self.members.left_bytes())
            && self.holds(bytes, self.members.left_bytes_with_member())
        {
            // The answer depends on how much of the member a stream would have used by now.
            self.end = self.members.reopen_as_stream()?;
        }
        Ok(self.holds(bytes, self.members.left_bytes()))
    }

    /// Whether the window and `left` bytes of the file could decode to `bytes` bytes.
    fn holds(&self, bytes: u64, left: u64) -> bool {
        let ahead = left.saturating_add(SLACK_BYTES).saturating_mul(self.codec().ratio_max());
        let ahead = if self.codec() == Codec::Plain { left } else { ahead };
        bytes <= ahead.saturating_add(self.window().len() as u64)
    }

    /// The window, grown to `want` bytes or to the end of the member.
    pub fn fill(&mut self, want: usize) -> Result<&[u8]> {
        while self.filled - self.at < want && self.end.is_none() {
            self.make_room();
            let (bytes, end) = self.members.read(&mut self.window[self.filled..][..CHUNK_BYTES])?;
            self.filled += bytes;
            self.end = end;
        }
        Ok(&self.window[self.at..self.filled])
    }

    /// Makes room for a chunk after the window.
    fn make_room(&mut self) {
        if self.window.len() >= self.filled + CHUNK_BYTES {
            return;
        }
        // Moves at most as many bytes as were used, because a record may make the window long and
        // then turn out to be short.
        let left = self.filled - self.at;
        if left == 0 || self.at >= left.max(CHUNK_BYTES) {
            self.window.copy_within(self.at..self.filled, 0);
            (self.at, self.filled) = (0, left);
            self.moved_bytes += left as u64;
        }
        let length = (self.filled + CHUNK_BYTES).max(self.window.len());
        if self.window.is_empty() {
            // The system gives new memory zeroed.
            self.window = vec![0; length];
        } else {
            self.window.resize(length, 0);
        }
    }

    /// Drops the first `bytes` of the window.
    pub fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.filled - self.at);
        self.at += bytes;
        self.offset += bytes as u64;
    }

    /// Drops the first `bytes` of the window, which are a sound record.
    pub fn consume_sound(&mut self, bytes: usize) {
        self.members.sound(bytes as u64);
        self.consume(bytes);
    }

    /// Drops up to `bytes` of the member, in the window or not; returns their number.
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

    /// After [`End::Member`]: opens the next member; its bytes follow those in the window.
    pub fn next_member(&mut self) -> Result<()> {
        self.member_offset = self.offset + self.window().len() as u64;
        self.end = self.members.next()?;
        Ok(())
    }

    /// Whether a sound member follows that does not start with a record: it continues the one
    /// before.
    pub fn next_continues(&mut self, starts: Starts) -> Result<bool> {
        self.members.next_continues(starts)
    }

    /// After [`End::Damage`]: drops the window and goes to the next member that decodes to the
    /// start of a record, or to the end of the file. Returns the damage: its reason and its detail.
    pub fn resync(&mut self, starts: Starts) -> Result<(&'static str, String)> {
        let (reason, mut detail) = match self.end.take() {
            Some(End::Damage { reason, detail }) => (reason, detail),
            _ => ("bad_member", String::new()),
        };
        self.offset += self.window().len() as u64;
        (self.at, self.filled) = (0, 0);
        let unsearched = self.members.skip_damage(starts)?;
        if unsearched > 0 {
            detail += &format!("; the rest of the file, {unsearched} bytes, was not searched");
        }
        self.next_member()?;
        Ok((reason, detail))
    }
}
