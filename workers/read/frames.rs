//! Finds where each record of an archive ends and the next one starts, for WARC and ARC alike.
//!
//! Each record, and each stretch of bytes that is no record, becomes an entry. The length in a
//! header is only a claim: it is checked against what follows the record, and no memory is
//! allocated because of it.
//!
//! A record is sound if after its body and any line ends the member ends or another record starts.
//! If not, the length is wrong. In a whole member the record then ends with the member; elsewhere
//! it is rejected, and reading goes on at the next line that starts a record.
//!
//! A body over the limit is passed over without being held. If another record seems to start in it,
//! the place where the body should end is examined first: an archive may contain an archive, but a
//! wrong length must not swallow the records behind it.

use crate::error::Result;
use crate::read::codec::Codec;
use crate::read::dialect::{Dialect, blanks, starts_behind_blanks, trim_line_ends};
use crate::read::record::{Body, EMPTY_FILE, Entry, Heading, Item, Notes, Record};
use crate::read::source::{End, Source};
use crate::read::{Limits, Reader};

/// The longest header, in bytes. It has room for a URL over its own limit, so that this URL is what
/// the reject names.
pub const HEADER_BYTES_MAX: usize = 256 << 10;

/// Bytes after a record by which the start of another one is recognised.
pub const LOOKAHEAD_BYTES: usize = 4096;

/// Bytes between a record and the next start that are tolerated when its length is too short.
const SLACK_BYTES_MAX: usize = 16;

/// Bytes of an over-long body by which the record is classified.
const GLANCE_BYTES: usize = 64 << 10;

/// The bytes that may be decoded ahead in a file of any size to see where long records end. Larger
/// files allow as many more as were decoded. Beyond that, a start within a long record ends it.
const AHEAD_BYTES_MIN: u64 = 1 << 30;

/// The reader of an archive in one dialect.
pub struct Frames<D> {
    source: Source,
    dialect: D,
    limits: Limits,
    notes: Notes,
    /// Records that started in the current member.
    records: u64,
    /// The decoded bytes up to which the end of a header was searched. For a record that starts
    /// within a header without an end, the search continues from here, so that many starts do not
    /// each search the whole header.
    sought: u64,
    /// Where the last header that was found ends, in decoded bytes.
    header_end: u64,
    /// Bytes decoded ahead so far.
    ahead_bytes: u64,
    /// Whether it is a plain file without a record so far.
    is_empty: bool,
    keeps_heads: bool,
    /// The head of the last record.
    head: Option<Heading>,
}

/// Where a record started.
#[derive(Clone, Copy)]
struct Place {
    member: u64,
    offset: u64,
    first: bool,
}

/// How the body of a record was delimited. All lengths are in bytes from the start of the header.
enum Extent {
    /// The body ends at `end`, without its last line ends if `trim` is set. The record takes
    /// `whole` bytes.
    Body { end: usize, trim: bool, whole: usize },
    /// The end is unknown, or the body is over the limit. The record takes at least `whole` bytes.
    Bad { whole: usize, reason: &'static str, detail: String },
    /// The body has this length, which is over the limit.
    Long { body: u64 },
    /// The member is damaged before the end of the record.
    Damaged,
}

impl<D: Dialect> Frames<D> {
    /// Reads `source` from its current place on.
    pub fn new(source: Source, dialect: D, limits: Limits) -> Frames<D> {
        Frames {
            is_empty: source.codec() == Codec::Plain && source.offset() == 0,
            source,
            dialect,
            limits,
            notes: Notes::default(),
            records: 0,
            sought: 0,
            header_end: 0,
            ahead_bytes: 0,
            keeps_heads: false,
            head: None,
        }
    }

    /// The entry of the bytes at the start of the window, which is not empty.
    fn record(&mut self) -> Result<Entry> {
        let place = Place {
            member: self.source.member(),
            offset: self.source.offset(),
            first: self.records == 0,
        };
        self.records += 1;
        self.dialect.forget_id();
        self.head = None;
        if !D::starts(self.source.fill(LOOKAHEAD_BYTES)?) {
            let bytes = self.skip_to_start()?;
            return self.bad(place, "junk", format!("{bytes} bytes that start no record"));
        }
        let header = self.header_length()?;
        let torn = header.and_then(|header| self.dialect.torn_at(&self.source.window()[..header]));
        let header = match (header, torn) {
            (Some(header), None) => header,
            (_, torn) => {
                let bytes = match torn {
                    Some(start) => {
                        self.source.consume(start);
                        start as u64
                    }
                    None => self.skip_to_start()?,
                };
                return self.bad(
                    place,
                    "bad_header",
                    format!("{bytes} bytes of a header without an end"),
                );
            }
        };
        match self.extent(header)? {
            Extent::Body { end, trim, whole } => {
                let (head, body) = self.source.window()[..end].split_at(header);
                let body = if trim { trim_line_ends(body) } else { body };
                let item = self.dialect.item(head, body, &self.limits, &mut self.notes);
                if self.keeps_heads && item.is_sound() {
                    self.head = Some(Heading::of(head, body));
                }
                match item.is_sound() {
                    true => self.source.consume_sound(whole),
                    false => self.source.consume(whole),
                }
                self.entry(place, item)
            }
            Extent::Bad { whole, reason, detail } => {
                self.source.consume(whole);
                self.bad(place, reason, detail)
            }
            Extent::Long { body } => self.long(place, header, body),
            Extent::Damaged => self.damaged(place),
        }
    }

    fn header_length(&mut self) -> Result<Option<usize>> {
        let offset = self.source.offset();
        if self.header_end > offset {
            return Ok(Some((self.header_end - offset) as usize));
        }
        let mut from = self.sought.saturating_sub(offset) as usize;
        let mut want = LOOKAHEAD_BYTES;
        loop {
            let length = self.fill_joined(want)?.len();
            let window = &self.source.window()[..length.min(HEADER_BYTES_MAX)];
            if let Some(header) = self.dialect.header_length(window, from) {
                self.header_end = offset + header as u64;
                return Ok(Some(header));
            }
            from = from.max(window.len());
            if length < want || want >= HEADER_BYTES_MAX {
                self.sought = offset + from as u64;
                return Ok(None);
            }
            want *= 2;
        }
    }

    /// Delimits the record whose header is the first `header` bytes of the window.
    fn extent(&mut self, header: usize) -> Result<Extent> {
        let claimed = self.dialect.body_length(&self.source.window()[..header]);
        let body = match claimed {
            Some(length) if !self.source.could_hold(length)? => {
                return self.extent_without_length(header, true);
            }
            Some(length) if length > self.limits.record_bytes_max as u64 => {
                return Ok(Extent::Long { body: length });
            }
            Some(length) => length as usize,
            None => return self.extent_without_length(header, false),
        };
        let end = header + body;
        if self.fill_joined(end)?.len() < end {
            return self.extent_without_length(header, true);
        }
        self.source.fill(end + LOOKAHEAD_BYTES)?;
        let window = self.source.window();
        let seen = window.len().min(end + LOOKAHEAD_BYTES);
        let behind = &window[end..seen];
        let next = &behind[blanks(behind)..];
        if next.is_empty() {
            return Ok(match self.source.end() {
                Some(End::Damage { .. }) if seen == window.len() => Extent::Damaged,
                _ => Extent::Body { end, trim: false, whole: end },
            });
        }
        if D::starts(next) {
            return Ok(Extent::Body { end, trim: false, whole: end });
        }
        // The length is wrong, or junk follows. With a start inside the claimed body the length is
        // too long.
        let start = self.dialect.find_start(&window[..seen], header);
        if start.is_some_and(|start| start < end) {
            return self.extent_without_length(header, true);
        }
        if start.is_none() && matches!(self.source.end(), Some(End::Damage { .. })) {
            return Ok(Extent::Damaged);
        }
        let next = start.or((seen == window.len() && self.source.end().is_some()).then_some(seen));
        if let Some(next) =
            next.filter(|&next| window[end..next].trim_ascii_end().len() <= SLACK_BYTES_MAX)
        {
            self.notes.add("length_too_short");
            return Ok(Extent::Body { end, trim: false, whole: next });
        }
        if D::separated(behind) {
            return Ok(Extent::Body { end, trim: false, whole: end });
        }
        if self.source.end() == Some(&End::Member) {
            return self.extent_without_length(header, true);
        }
        Ok(Extent::Bad {
            whole: end,
            reason: "bad_length",
            detail: format!("longer than the {body} bytes it claims"),
        })
    }

    /// Delimits a record without a credible length by the next start, or by the end of a whole
    /// member.
    fn extent_without_length(&mut self, header: usize, claimed: bool) -> Result<Extent> {
        let most = header + self.limits.record_bytes_max;
        let mut want = header + GLANCE_BYTES;
        loop {
            self.fill_joined(want)?;
            let (window, end) = (self.source.window(), self.source.end());
            let start = self.dialect.find_start(window, header);
            let whole = start.unwrap_or(window.len());
            if whole > most {
                let detail =
                    format!("more than {} bytes, its length unknown", self.limits.record_bytes_max);
                // The length of the window depends on the split.
                return Ok(Extent::Bad { whole: most, reason: "too_long", detail });
            }
            match (start, end) {
                (_, Some(End::Member)) => {
                    self.notes.add("length_wrong");
                    return Ok(Extent::Body { end: whole, trim: true, whole });
                }
                (None, Some(End::Damage { .. })) => return Ok(Extent::Damaged),
                (None, Some(End::File)) if claimed => {
                    let detail =
                        format!("the file ends after {} bytes of its body", whole - header);
                    return Ok(Extent::Bad { whole, reason: "truncated", detail });
                }
                (None, None) => want = (want * 2).min(most + LOOKAHEAD_BYTES),
                _ => {
                    let detail =
                        format!("{} bytes to the next record, unlike its length", whole - header);
                    return Ok(Extent::Bad { whole, reason: "bad_length", detail });
                }
            }
        }
    }

    /// Skips a body that is over the limit. A page of that length is rejected; a record that would
    /// be skipped anyway is skipped.
    fn long(&mut self, place: Place, header: usize, body: u64) -> Result<Entry> {
        let glance = self.source.fill(header + GLANCE_BYTES)?;
        let (head, part) = glance.split_at(header);
        let part = &part[..part.len().min(GLANCE_BYTES)];
        let item = self.dialect.item(head, part, &self.limits, &mut Notes::default());
        self.source.consume(header);
        let start = self.source.offset();
        let end = start.saturating_add(body);
        if self.skip_to_start_before(0, end)? {
            if !self.ends_at(end)? {
                let bytes = self.source.offset() - start;
                let detail = format!("{bytes} bytes to the next record, not {body}");
                return self.bad(place, "bad_length", detail);
            }
            self.notes.add("records_inside");
            skip_joined::<D>(&mut self.source, end)?;
        }
        match item {
            Item::Record(Record {
                url,
                body: Body::Text(_) | Body::Html { .. } | Body::Plain { .. },
                ..
            })
            | Item::Reject { url: Some(url), .. } => {
                let entry = self.bad(place, "too_long", format!("{body} bytes"))?;
                Ok(Entry { item: entry.item.about(&url), ..entry })
            }
            Item::Reject { .. } => self.bad(place, "too_long", format!("{body} bytes")),
            item => self.entry(place, item),
        }
    }

    /// Whether the record whose body should end at `end`, in decoded bytes, ends there: with its
    /// member, or before another record. False if finding out might cost too much.
    fn ends_at(&mut self, end: u64) -> Result<bool> {
        let (mut ahead, distance) = self.source.again(end, &self.limits)?;
        self.ahead_bytes += distance + GLANCE_BYTES as u64;
        if self.ahead_bytes > AHEAD_BYTES_MIN.saturating_add(self.source.offset()) {
            return Ok(false);
        }
        let end = ahead.offset() + distance;
        skip_joined::<D>(&mut ahead, end)?;
        if ahead.offset() < end {
            return Ok(false);
        }
        let behind = ahead.fill(LOOKAHEAD_BYTES)?;
        let next = &behind[blanks(behind)..];
        let is_end = next.is_empty();
        let is_start = D::starts(next);
        Ok(is_start || is_end && !matches!(ahead.end(), Some(End::Damage { .. })))
    }

    /// The entry of a bad record, whose known bytes have been consumed. It extends to the next
    /// start.
    fn bad(&mut self, place: Place, reason: &'static str, mut detail: String) -> Result<Entry> {
        self.skip_blank()?;
        if !self.source.window().is_empty() && !D::starts(self.source.fill(LOOKAHEAD_BYTES)?) {
            detail = format!("{detail}; {} bytes to the next record", self.skip_to_start()?);
        }
        if self.source.window().is_empty() && matches!(self.source.end(), Some(End::Damage { .. }))
        {
            return self.damaged(place);
        }
        self.entry(place, Item::reject(reason, detail))
    }

    /// Drops the rest of a damaged member and everything up to the next sound one.
    fn damaged(&mut self, place: Place) -> Result<Entry> {
        let (reason, detail) = self.source.resync(starts_behind_blanks::<D>)?;
        self.records = 0;
        let offset = if place.first { place.member } else { place.offset };
        Ok(self.place(place, offset, Item::reject(reason, detail)))
    }

    fn entry(&mut self, place: Place, item: Item) -> Result<Entry> {
        self.skip_blank()?;
        let alone = place.first
            && place.member == self.source.member()
            && self.source.window().is_empty()
            && self.source.end() == Some(&End::Member);
        Ok(self.place(place, if alone { place.member } else { place.offset }, item))
    }

    fn place(&self, place: Place, offset: u64, item: Item) -> Entry {
        let is_compressed = self.source.codec() != Codec::Plain;
        let member = (place.first && is_compressed).then_some(place.member);
        Entry { offset, position: place.offset, member, item }
    }

    /// Drops line ends and padding up to the next other byte, or to the end of the member.
    fn skip_blank(&mut self) -> Result<()> {
        let mut has_zero = false;
        loop {
            let window = self.source.fill(1)?;
            let (blank, all) = (blanks(window), window.len());
            has_zero |= window[..blank].contains(&0);
            self.source.consume(blank);
            if blank < all || all == 0 {
                // Once, however many windows the padding fills: their borders depend on the split.
                if has_zero {
                    self.notes.add("zero_padding");
                }
                return Ok(());
            }
        }
    }

    /// Drops at least one byte and everything up to the next start, or to the end of the member;
    /// returns the number of bytes.
    fn skip_to_start(&mut self) -> Result<u64> {
        let from = self.source.offset();
        self.skip_in_member(1, u64::MAX)?;
        Ok(self.source.offset() - from)
    }

    /// Drops everything up to the next start before `end`, in decoded bytes, or up to `end` or the
    /// end of the members that continue this one; returns whether there is such a start.
    fn skip_to_start_before(&mut self, mut from: usize, end: u64) -> Result<bool> {
        loop {
            if self.skip_in_member(from, end)? {
                return Ok(true);
            }
            if !goes_on::<D>(&mut self.source, end)? {
                return Ok(false);
            }
            from = 0;
        }
    }

    /// Drops everything up to the next start that is at least `from` bytes ahead and before `end`,
    /// or up to `end` or the end of the member; returns whether there is such a start.
    fn skip_in_member(&mut self, mut from: usize, end: u64) -> Result<bool> {
        loop {
            let left = end - self.source.offset();
            let window = self.source.fill(GLANCE_BYTES)?;
            let length = window.len();
            let start = self.dialect.find_start(window, from);
            // A start too close to the end of the window is judged again with more bytes after it.
            let is_all = self.source.end().is_some();
            let sure = if is_all { length } else { length - LOOKAHEAD_BYTES };
            if let Some(start) = start.filter(|&start| start <= sure && (start as u64) < left) {
                self.source.consume(start);
                return Ok(true);
            }
            // The last bytes stay. The next round looks for a start from the second byte of these
            // on.
            let drop = (sure as u64).min(left);
            self.source.consume(drop as usize);
            if is_all || drop == left {
                return Ok(false);
            }
            from = 1;
        }
    }

    /// The window, grown to `want` bytes, across the ends of members if the next one continues the
    /// record.
    fn fill_joined(&mut self, want: usize) -> Result<&[u8]> {
        while self.source.fill(want)?.len() < want
            && self.source.end() == Some(&End::Member)
            && self.source.next_continues(starts_behind_blanks::<D>)?
        {
            self.source.next_member()?;
        }
        Ok(self.source.window())
    }
}

/// Opens the next member, if the last one ended before `end`, in decoded bytes, and the next one
/// continues it. Returns whether it does.
fn goes_on<D: Dialect>(source: &mut Source, end: u64) -> Result<bool> {
    let goes_on = source.offset() < end
        && source.end() == Some(&End::Member)
        && source.next_continues(starts_behind_blanks::<D>)?;
    if goes_on {
        source.next_member()?;
    }
    Ok(goes_on)
}

/// Drops everything up to `end`, in decoded bytes, or to the end of the members that continue the
/// current one.
fn skip_joined<D: Dialect>(source: &mut Source, end: u64) -> Result<()> {
    loop {
        source.skip(end - source.offset())?;
        if !goes_on::<D>(source, end)? {
            return Ok(());
        }
    }
}

impl<D: Dialect> Reader for Frames<D> {
    fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            self.skip_blank()?;
            if !self.source.window().is_empty() {
                self.is_empty = false;
                return self.record().map(Some);
            }
            match self.source.end() {
                Some(End::Member) => {
                    self.source.next_member()?;
                    self.records = 0;
                }
                Some(End::Damage { .. }) => {
                    let (member, offset) = (self.source.member(), self.source.offset());
                    return self
                        .damaged(Place { member, offset, first: self.records == 0 })
                        .map(Some);
                }
                Some(End::File) | None => return Ok(None),
            }
        }
    }

    fn consumed_bytes(&self) -> u64 {
        self.source.consumed_bytes()
    }

    fn record_id(&self) -> Option<&str> {
        self.dialect.id()
    }

    fn keep_heads(&mut self) {
        self.keeps_heads = true;
    }

    fn take_head(&mut self) -> Option<Heading> {
        self.head.take()
    }

    fn notes(&self) -> Notes {
        let mut notes = self.notes.clone();
        if self.source.zero_padding() {
            notes.add("zero_padding");
        }
        if self.is_empty && self.source.end() == Some(&End::File) {
            notes.add(EMPTY_FILE);
        }
        notes
    }
}

#[cfg(test)]
mod tests;
