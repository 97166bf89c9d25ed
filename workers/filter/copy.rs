//! Copies the bytes of an input to the file of what is kept and the file of what is removed, record
//! by record.
//!
//! A record reaches from its first byte to the first byte of the next record, so that every byte
//! goes somewhere and the original can be made again. Bytes are copied as they are in the file
//! wherever possible. Only a member that has both kept and removed records is compressed anew.

use crate::error::{Error, Kind, Result};
use crate::filter::labels::{Labels, Names, labelled};
use crate::filter::order::{Order, Run, Side};
use crate::filter::part::Part;
use crate::read::codec::Codec;
use crate::read::jsonl;
use crate::read::source::{End, JUNK, Source};
use crate::read::{Limits, blanks};
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The level of zstd, its own default.
const ZSTD_LEVEL: i32 = 3;

/// The most bytes before the first record that are written to both files, such as a dictionary.
const HEAD_BYTES_MAX: u64 = 9 << 20;

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Where it starts in the decoded stream; in Parquet the number of its row.
    pub position: u64,
    /// Where its member starts in the file, if it begins one.
    pub member: Option<u64>,
    /// Where it goes.
    pub side: Side,
    /// A record that is written in its place, if it is removed from an archive.
    pub instead: Option<Vec<u8>>,
    /// Its cluster, where rows get labels.
    pub labels: Option<Labels>,
    /// Whether it may be a row that can get labels.
    pub is_row: bool,
    /// Whether the reader gave its member up because it decompresses to more than the limits.
    pub is_bomb: bool,
}

/// The limits of decompression for a file that is copied. Its reader has applied the limits
/// already, by the kind of its records; if the copier applied them again, it could decide
/// otherwise.
pub fn limits() -> Limits {
    Limits { ratio_max: u64::MAX, ..Limits::default() }
}

/// The error for a file whose records are not where they were read. Such a file is copied whole.
fn elsewhere(path: &Path) -> Error {
    let why = "its records do not lie where they were; it is damaged, or was changed";
    Error::new(Kind::Data, format!("{}: {why}", path.display()))
}

/// The error for a file that its reader gave up because of a limit. It may be sound, and is copied
/// whole.
fn beyond_limits(path: &Path) -> Error {
    let why = "it grows beyond [read.limits] ratio_max, so not all of it was read; if it is sound, raise the \
               limit and rebuild the store";
    Error::new(Kind::Data, format!("{}: {why}", path.display()))
}

/// Copies the records of one file.
pub trait Copier {
    /// The next record. It ends where the one after it begins.
    fn push(&mut self, spot: Spot) -> Result<()>;
    /// Copies the rest. The files are whole then.
    fn finish(self: Box<Self>) -> Result<Copied>;
}

/// The files of one input that are whole and do not have their names yet.
pub struct Copied {
    /// What is kept.
    pub kept: Part,
    /// What was removed, if it is written and not empty.
    pub removed: Option<Part>,
    /// The order of both in the original.
    pub order: Option<Part>,
    /// The number of bytes at the beginning of the removed file that also belong to what is kept.
    pub removed_head: u64,
    /// Whether something was compressed anew, so that the original cannot be made again byte for
    /// byte.
    pub is_recoded: bool,
    /// The blake3 of the decoded bytes, if all were decoded.
    pub decoded: Option<String>,
    /// The rows of each row group of the original.
    pub groups: Vec<u64>,
}

/// The files that a copier writes.
pub struct Parts {
    kept: Option<Part>,
    removed_path: Option<PathBuf>,
    removed: Option<Part>,
    order: Option<Order>,
    is_hashed: bool,
    /// The bytes with which the removed file begins.
    head: Vec<u8>,
}

impl Parts {
    /// The file `kept` and, if wanted, the files of what is removed and of the order of both.
    pub fn create(kept: &Path, removed: Option<(&Path, &Path)>) -> Result<Parts> {
        Ok(Parts {
            kept: Some(Part::create(kept)?),
            removed_path: removed.map(|(path, _)| path.to_owned()),
            removed: None,
            order: removed.map(|(_, order)| Order::create(order)).transpose()?,
            is_hashed: false,
            head: Vec::new(),
        })
    }

    /// The same files, hashed while they are written, because the result of an undo would not show
    /// a change in them.
    pub fn hashed(mut self) -> Parts {
        self.kept = self.kept.map(Part::hashed);
        self.is_hashed = true;
        self
    }

    /// Whether there is a file for records of `side`.
    pub fn has(&self, side: Side) -> bool {
        side == Side::Kept || self.removed_path.is_some()
    }

    /// The file for records of `side`; `None` if they are not written.
    fn of(&mut self, side: Side) -> Result<Option<&mut Part>> {
        match (side, &self.removed_path) {
            (Side::Kept, _) => Ok(self.kept.as_mut()),
            (Side::Removed, None) => Ok(None),
            (Side::Removed, Some(path)) => {
                if self.removed.is_none() {
                    let part = Part::create(path)?;
                    let mut part = if self.is_hashed { part.hashed() } else { part };
                    part.write_all(&self.head).map_err(|e| part.failed(e))?;
                    self.removed = Some(part);
                }
                Ok(self.removed.as_mut())
            }
        }
    }

    /// Takes the file for records of `side` out, for a writer that owns it.
    pub fn take(&mut self, side: Side) -> Result<Part> {
        self.of(side)?;
        let part = if side == Side::Removed { self.removed.take() } else { self.kept.take() };
        part.ok_or_else(|| Error::internal("a file of a filter is not there"))
    }

    /// Makes what is kept one empty member if nothing is kept: `gzip -t` and `zstd -t` report an
    /// empty file as damaged.
    fn fill_if_empty(&mut self, codec: Codec) -> Result<()> {
        let is_empty = self.kept.as_ref().is_some_and(|part| part.bytes() == 0);
        if is_empty { self.add(codec, b"") } else { Ok(()) }
    }

    /// Writes a record that the original does not have to what is kept, as a member of its own.
    fn add(&mut self, codec: Codec, record: &[u8]) -> Result<()> {
        let Some(part) = &mut self.kept else { return Ok(()) };
        let before = part.bytes();
        let written = Encoder::new(codec, &mut *part).and_then(|mut encoder| {
            encoder.write_all(record)?;
            encoder.finish().map(drop)
        });
        written.map_err(|e| Error::new(Kind::Output, "cannot write a revisit").caused_by(e))?;
        let bytes = part.bytes() - before;
        self.note(Run::Added, bytes)
    }

    /// Notes the order of a run.
    pub fn note(&mut self, run: Run, length: u64) -> Result<()> {
        self.order.as_mut().map_or(Ok(()), |order| order.push(run, length))
    }

    /// Finishes the files. Files that were taken out are handed back in.
    pub fn finish(
        mut self,
        kept: Option<Part>,
        removed: Option<Part>,
        is_recoded: bool,
    ) -> Result<Copied> {
        let kept = kept
            .or(self.kept.take())
            .ok_or_else(|| Error::internal("a file of a filter is not there"))?;
        let order = self.order.map(Order::finish).transpose()?;
        Ok(Copied {
            kept,
            removed: removed.or(self.removed),
            order,
            removed_head: self.head.len() as u64,
            is_recoded,
            decoded: None,
            groups: Vec::new(),
        })
    }
}

/// A file whose bytes are copied as they are.
struct Raw {
    file: File,
    path: PathBuf,
    size: u64,
}

impl Raw {
    fn open(path: &Path, size: u64) -> Result<Raw> {
        let file = File::open(path).map_err(|e| Error::input("open", path, e))?;
        Ok(Raw { file, path: path.to_owned(), size })
    }

    /// The bytes before `to`; empty if there are too many.
    fn head(&mut self, to: u64) -> Result<Vec<u8>> {
        let mut head = vec![0; if to > HEAD_BYTES_MAX { 0 } else { to as usize }];
        let read = self.file.rewind().and_then(|()| self.file.read_exact(&mut head));
        read.map_err(|e| Error::io("read", &self.path, e))?;
        Ok(head)
    }

    /// Copies `[from, to)` to the file for `side`.
    fn copy(&mut self, from: u64, to: u64, side: Side, parts: &mut Parts) -> Result<()> {
        parts.note(Run::Of(side), to - from)?;
        let Some(part) = parts.of(side)? else { return Ok(()) };
        let failed = |e| Error::io("read", &self.path, e);
        self.file.seek(SeekFrom::Start(from)).map_err(failed)?;
        part.copy(&mut self.file, to - from, &self.path)
    }
}

/// Copies an uncompressed file.
pub struct Plain {
    raw: Raw,
    parts: Parts,
    /// The open run: its first byte and where it goes.
    run: (u64, Side),
}

impl Plain {
    /// For the file of `size` bytes at `path`.
    pub fn open(path: &Path, size: u64, parts: Parts) -> Result<Plain> {
        Ok(Plain { raw: Raw::open(path, size)?, parts, run: (0, Side::Kept) })
    }

    fn end_run(&mut self, to: u64) -> Result<()> {
        let (from, side) = self.run;
        self.raw.copy(from, to, side, &mut self.parts)
    }
}

impl Copier for Plain {
    fn push(&mut self, spot: Spot) -> Result<()> {
        if spot.side != self.run.1 || spot.instead.is_some() {
            self.end_run(spot.position)?;
            self.run = (spot.position, spot.side);
        }
        spot.instead.map_or(Ok(()), |record| self.parts.add(Codec::Plain, &record))
    }

    fn finish(mut self: Box<Self>) -> Result<Copied> {
        self.end_run(self.raw.size)?;
        self.parts.finish(None, None, false)
    }
}

/// An lz4 encoder with a fixed block size. By default it takes the size from the first write, so
/// the bytes would depend on the sizes of writes.
fn lz4<W: Write>(part: W) -> FrameEncoder<W> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).content_checksum(true);
    FrameEncoder::with_frame_info(info, part)
}

/// Compresses bytes into `W`.
enum Encoder<W: Write> {
    Plain(W),
    Gzip(Box<flate2::write::GzEncoder<W>>),
    Zstd(Box<zstd::stream::write::Encoder<'static, W>>),
    Lz4(Box<FrameEncoder<W>>),
}

impl<W: Write> Encoder<W> {
    fn new(codec: Codec, into: W) -> std::io::Result<Encoder<W>> {
        Ok(match codec {
            Codec::Plain => Encoder::Plain(into),
            Codec::Gzip => Encoder::Gzip(Box::new(flate2::write::GzEncoder::new(
                into,
                flate2::Compression::default(),
            ))),
            Codec::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(into, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Encoder::Zstd(Box::new(encoder))
            }
            Codec::Lz4 => Encoder::Lz4(Box::new(lz4(into))),
        })
    }

    fn finish(self) -> std::io::Result<W> {
        match self {
            Encoder::Plain(into) => Ok(into),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
            Encoder::Lz4(encoder) => Ok(encoder.finish()?),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Encoder::Plain(into) => into.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
            Encoder::Lz4(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads the decoded bytes of `source` up to the position `to`, or to the end, and passes them on.
/// Returns their number. It is an error if there are fewer.
pub fn decode(
    source: &mut Source,
    to: Option<u64>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let mut copied = 0;
    while to.is_none_or(|to| source.offset() < to) {
        let window = source.fill(1)?;
        if window.is_empty() {
            match source.end() {
                Some(End::Member) => source.next_member()?,
                Some(End::Damage { .. }) => {
                    let line = format!("{}: a damaged member", source.path().display());
                    return Err(Error::new(Kind::Data, line));
                }
                Some(End::File) | None => break,
            }
            continue;
        }
        let offset = source.offset();
        let window = source.window();
        let take =
            to.map_or(window.len() as u64, |to| (to - offset).min(window.len() as u64)) as usize;
        each(&window[..take])?;
        source.consume(take);
        copied += take as u64;
    }
    match to {
        Some(to) if source.offset() != to => Err(elsewhere(source.path())),
        _ => Ok(copied),
    }
}

/// Whether `source` is at bytes that are no member, and no member with lines follows.
fn only_junk_follows(source: &mut Source) -> Result<bool> {
    if !source.window().is_empty()
        || !matches!(source.end(), Some(End::Damage { reason: JUNK, .. }))
    {
        return Ok(false);
    }
    source.resync(jsonl::starts)?;
    Ok(source.window().is_empty() && source.end() == Some(&End::File))
}

/// The member, or members, that one or more records fill.
enum Unit {
    /// All records so far go to one place. `more` has the positions of all but the first.
    Whole { start: u64, position: u64, side: Side, more: Vec<u64> },
    /// It has kept and removed records, and is decoded. The last record goes to `side`.
    Decoded { source: Box<Source>, base: u64, side: Side },
}

/// Copies a compressed archive. A member whose records all go to one place is copied as it is. Each
/// record of other members becomes a member of its own.
pub struct Members {
    raw: Raw,
    codec: Codec,
    parts: Parts,
    unit: Unit,
    has_record: bool,
    is_recoded: bool,
}

impl Members {
    /// For the file of `size` bytes at `path`.
    pub fn open(path: &Path, size: u64, codec: Codec, parts: Parts) -> Result<Members> {
        let unit = Unit::Whole { start: 0, position: 0, side: Side::Kept, more: Vec::new() };
        let parts = parts.hashed();
        let raw = Raw::open(path, size)?;
        Ok(Members { raw, codec, parts, unit, has_record: false, is_recoded: false })
    }

    /// Decodes the last record of the unit up to `to`, and makes it a member.
    fn end_record(&mut self, to: Option<u64>) -> Result<()> {
        let Unit::Decoded { source, base, side } = &mut self.unit else { return Ok(()) };
        let (to, side) = (to.map(|to| to.saturating_sub(*base)), *side);
        let Some(part) = self.parts.of(side)? else {
            return decode(source, to, |_| Ok(())).map(drop);
        };
        let before = part.bytes();
        let path = self.raw.path.display();
        let failed = |e: std::io::Error| {
            Error::new(Kind::Output, format!("cannot write a record of {path}")).caused_by(e)
        };
        let mut encoder = Encoder::new(self.codec, part).map_err(failed)?;
        let bytes = decode(source, to, |bytes| encoder.write_all(bytes).map_err(failed))?;
        encoder.finish().map_err(failed)?;
        debug_assert!(to.is_none() || bytes > 0, "a record has bytes");
        let written = self.parts.of(side)?.map_or(0, |part| part.bytes()) - before;
        self.parts.note(Run::Of(side), written)
    }

    /// Ends the unit, which ends at `end` of the file. The record that begins the next member is at
    /// `position` of the decoded stream.
    fn end_unit(&mut self, end: u64, position: Option<u64>) -> Result<()> {
        if let Unit::Whole { start, side, .. } = self.unit {
            return self.raw.copy(start, end, side, &mut self.parts);
        }
        let to = match position {
            // The blanks are copied with their member.
            Some(position) => Some(position.saturating_sub(self.member_and_blanks(end)?.1)),
            None => None,
        };
        self.end_record(to)?;
        self.check_end(end)
    }

    /// The decoded bytes of the file from its member at `start` on.
    fn member(&self, start: u64) -> Result<Source> {
        Source::open_member(&self.raw.path, start, self.raw.size, self.codec, &limits())
    }

    /// The decoded bytes from the member at `start` on, and the number of blanks with which they
    /// begin: these stand before its first record, and may be the end of the record before.
    fn member_and_blanks(&self, start: u64) -> Result<(Source, u64)> {
        let mut source = self.member(start)?;
        loop {
            let window = source.fill(1)?;
            let blanks = blanks(window);
            if window.is_empty() || blanks < window.len() {
                let all = source.offset() + blanks as u64;
                // Blanks that filled a window were dropped from it.
                let source = if source.offset() == 0 { source } else { self.member(start)? };
                return Ok((source, all));
            }
            source.consume(blanks);
        }
    }

    /// Fails if the decoded unit, which ends at `end` of the file, has more than its records: bytes
    /// behind damage belong to no record.
    fn check_end(&mut self, end: u64) -> Result<()> {
        let Unit::Decoded { source, .. } = &mut self.unit else { return Ok(()) };
        while source.member() < end {
            let is_empty = source.fill(1)?.is_empty();
            match source.end() {
                Some(End::Member) if is_empty => source.next_member()?,
                _ => return Err(elsewhere(&self.raw.path)),
            }
        }
        Ok(())
    }
}

impl Copier for Members {
    fn push(&mut self, spot: Spot) -> Result<()> {
        if let Some(start) = spot.member {
            if !std::mem::replace(&mut self.has_record, true) {
                // Members that were compressed with a dictionary cannot be read without it.
                self.parts.head = self.raw.head(start)?;
            }
            self.end_unit(start, Some(spot.position))?;
            let (position, side) = (spot.position, spot.side);
            self.unit = Unit::Whole { start, position, side, more: Vec::new() };
        } else {
            match &mut self.unit {
                Unit::Whole { side, more, .. } if *side == spot.side => more.push(spot.position),
                Unit::Whole { start, position, side, more } => {
                    let (start, position, side) = (*start, *position, *side);
                    let more = std::mem::take(more);
                    let (source, blanks) = self.member_and_blanks(start)?;
                    let base = position.saturating_sub(blanks);
                    self.unit = Unit::Decoded { source: Box::new(source), base, side };
                    self.is_recoded = true;
                    for to in more.into_iter().chain([spot.position]) {
                        self.end_record(Some(to))?;
                    }
                }
                Unit::Decoded { .. } => self.end_record(Some(spot.position))?,
            }
            if let Unit::Decoded { side, .. } = &mut self.unit {
                *side = spot.side;
                if spot.is_bomb {
                    return Err(beyond_limits(&self.raw.path));
                }
            }
        }
        spot.instead.map_or(Ok(()), |record| self.parts.add(self.codec, &record))
    }

    fn finish(mut self: Box<Self>) -> Result<Copied> {
        self.end_unit(self.raw.size, None)?;
        self.parts.fill_if_empty(self.codec)?;
        let is_recoded = self.is_recoded;
        self.parts.finish(None, None, is_recoded)
    }
}

/// Copies compressed lines, as one stream for kept lines and one for removed lines, or lines whose
/// objects get more fields.
pub struct Lines {
    source: Source,
    codec: Codec,
    kept: Stream,
    removed: Option<Stream>,
    parts: Parts,
    digest: blake3::Hasher,
    /// The names of labels, if lines get some.
    names: Option<Names>,
    /// The open record: where it goes, and its labels if it gets any.
    open: (Side, Option<Option<Labels>>),
}

/// A stream that is compressed into a part.
pub struct Stream(Encoder<Part>);

impl Stream {
    /// A stream into `part`.
    pub fn new(codec: Codec, part: Part) -> Result<Stream> {
        let encoder = Encoder::new(codec, part)
            .map_err(|e| Error::internal("cannot compress").caused_by(e))?;
        Ok(Stream(encoder))
    }

    /// Adds `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.0.write_all(bytes);
        written.map_err(|e| Error::new(Kind::Output, "cannot write lines").caused_by(e))
    }

    /// Ends the stream.
    pub fn finish(self) -> Result<Part> {
        self.0.finish().map_err(|e| Error::new(Kind::Output, "cannot write lines").caused_by(e))
    }
}

impl Lines {
    /// For the lines of the file of `size` bytes at `path`.
    pub fn open(path: &Path, size: u64, names: Option<Names>, mut parts: Parts) -> Result<Lines> {
        let source = Source::open(path, 0, size, &limits())?;
        let codec = source.codec();
        let removed = match parts.has(Side::Removed) {
            true => Some(Stream::new(codec, parts.take(Side::Removed)?)?),
            false => None,
        };
        let kept = Stream::new(codec, parts.take(Side::Kept)?)?;
        let digest = blake3::Hasher::new();
        Ok(Lines { source, codec, kept, removed, parts, digest, names, open: (Side::Kept, None) })
    }

    /// Copies the open record, which ends at `to`.
    fn end_record(&mut self, to: Option<u64>) -> Result<()> {
        let Lines { source, kept, removed, parts, digest, names, open, .. } = self;
        let (side, labels) = std::mem::replace(open, (Side::Kept, None));
        let mut held = labels.is_some().then(Vec::new);
        // The rest of a torn line has no line end, so the next line would be joined to it. So
        // damage is an error, and the file is copied whole.
        let each = |bytes: &[u8]| {
            digest.update(bytes);
            parts.note(Run::Of(side), bytes.len() as u64)?;
            match (&mut held, side, removed.as_mut()) {
                (Some(held), ..) => {
                    held.extend_from_slice(bytes);
                    Ok(())
                }
                (None, Side::Removed, Some(removed)) => removed.write(bytes),
                (None, Side::Removed, None) => Ok(()),
                (None, Side::Kept, _) => kept.write(bytes),
            }
        };
        match decode(source, to, each) {
            Err(error) if to.is_some() || !only_junk_follows(source)? => return Err(error),
            _ => {}
        }
        match (held, labels, *names) {
            (Some(line), Some(labels), Some(names)) => {
                kept.write(&labelled(source.path(), line, names, labels.as_ref())?)
            }
            _ => Ok(()),
        }
    }
}

impl Copier for Lines {
    fn push(&mut self, spot: Spot) -> Result<()> {
        self.end_record(Some(spot.position))?;
        if spot.is_bomb {
            return Err(beyond_limits(self.source.path()));
        }
        self.open = (spot.side, self.names.filter(|_| spot.is_row).map(|_| spot.labels));
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Copied> {
        self.end_record(None)?;
        let is_recoded = self.codec != Codec::Plain;
        let removed = self.removed.map(Stream::finish).transpose()?;
        let copied = self.parts.finish(Some(self.kept.finish()?), removed, is_recoded)?;
        Ok(Copied { decoded: Some(self.digest.finalize().to_hex().to_string()), ..copied })
    }
}

/// Copies a file as it is, without regard to its records.
pub struct Whole(Plain);

impl Whole {
    /// For the file of `size` bytes at `path`.
    pub fn open(path: &Path, size: u64, parts: Parts) -> Result<Whole> {
        Plain::open(path, size, parts).map(Whole)
    }
}

impl Copier for Whole {
    fn push(&mut self, _: Spot) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Copied> {
        Box::new(self.0).finish()
    }
}
