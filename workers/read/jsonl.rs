//! Reads JSON lines: one object on each line. The lines themselves are parsed by [`super::json`].
//!
//! A split owns the lines that start in it. A line is held as a whole, so its length is bounded: a
//! longer one is rejected and reading goes on after it. In a compressed file a line may cross the
//! end of a member.

use crate::error::Result;
use crate::page_url::Naming;
use crate::read::codec::{Codec, without_ending};
use crate::read::fields::Wanted;
use crate::read::record::{EMPTY_FILE, Entry, Item, Notes};
use crate::read::source::{End, JUNK, Source};
use crate::read::{Options, Reader, Split, json};
use std::path::Path;

/// The byte order mark that some tools write before UTF-8.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// The beginning of a file without a byte order mark.
pub fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

/// Bytes by which the window grows while the end of a line is searched.
const STEP_BYTES: usize = 64 << 10;

/// The reader of JSON lines.
pub struct Jsonl {
    source: Source,
    options: Options,
    wanted: Wanted,
    notes: Notes,
    start: u64,
    end: u64,
}

/// How a line ended.
enum LineEnd {
    /// After this many bytes; the last is a newline unless the file ended.
    Whole(usize),
    /// The line is over the limit; nothing was consumed.
    Long,
    /// In a damaged member.
    Damaged,
    /// There is no line.
    None,
}

impl Jsonl {
    /// Opens the lines that start in `split`. The last of them may end after it.
    pub fn open(split: &Split, options: &Options) -> Result<Jsonl> {
        // Starts one byte early, to see whether a line starts at the first byte of the split, or at
        // a byte order mark, where the first line may start.
        let before = split.start.saturating_sub(1);
        let from = if split.start <= BOM.len() as u64 { 0 } else { before };
        let mut source = Source::open(&split.path, from, split.end, &options.limits)?;
        source.lift_end();
        if from == 0 && source.fill(BOM.len())?.starts_with(BOM) {
            source.consume(BOM.len());
        } else if split.start > 0 {
            source.consume((before - from) as usize);
            skip_line(&mut source, Some(split.end))?;
        }
        let (options, wanted) = (options.clone(), options.wanted());
        let mut notes = Notes::default();
        if split.end == 0 && has_bytes(&split.path) {
            notes.add(EMPTY_FILE);
        }
        Ok(Jsonl { source, options, wanted, notes, start: split.start, end: split.end })
    }

    /// Whether the next line belongs to another split.
    fn past_end(&self) -> bool {
        self.source.codec() == Codec::Plain && self.source.offset() >= self.end
    }

    fn line(&mut self) -> Result<LineEnd> {
        let line_bytes_max = self.options.limits.line_bytes_max;
        let (mut seen, mut want) = (0, 1);
        loop {
            let window = self.source.fill(want)?;
            let length = window.len();
            if let Some(end) = memchr::memchr(b'\n', &window[seen..]) {
                let line = seen + end;
                return Ok(if line > line_bytes_max {
                    LineEnd::Long
                } else {
                    LineEnd::Whole(line + 1)
                });
            }
            if length > line_bytes_max {
                return Ok(LineEnd::Long);
            }
            seen = length;
            match self.source.end() {
                None => want = length + STEP_BYTES,
                Some(End::Member) => {
                    self.source.next_member()?;
                    want = length + 1;
                }
                // Junk behind the last line of a sound member. The line needs no line end.
                Some(End::Damage { reason: JUNK, .. })
                    if self.source.window().trim_ascii_end().ends_with(b"}") =>
                {
                    return Ok(LineEnd::Whole(length));
                }
                Some(End::Damage { .. }) => return Ok(LineEnd::Damaged),
                Some(End::File) if length == 0 => return Ok(LineEnd::None),
                Some(End::File) => return Ok(LineEnd::Whole(length)),
            }
        }
    }

    fn damaged(&mut self, offset: u64) -> Result<Entry> {
        let member = self.source.member();
        let (reason, detail) = self.source.resync(starts)?;
        Ok(Entry::at(offset, Item::reject(reason, format!("member at {member}: {detail}"))))
    }
}

impl Reader for Jsonl {
    fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            let offset = self.source.offset();
            if self.past_end() {
                return Ok(None);
            }
            match self.line()? {
                LineEnd::None => return Ok(None),
                LineEnd::Damaged => return self.damaged(offset).map(Some),
                LineEnd::Long => {
                    let line = self.source.window().trim_ascii_start();
                    let what = match line.starts_with(b"[") {
                        true => format!(": {}", json::array(line)),
                        false => String::new(),
                    };
                    let detail =
                        format!("more than {} bytes{what}", self.options.limits.line_bytes_max);
                    skip_line(&mut self.source, None)?;
                    return Ok(Some(Entry::at(offset, Item::reject("long_line", detail))));
                }
                LineEnd::Whole(bytes) => {
                    let line = self.source.window()[..bytes].trim_ascii();
                    let item = (!line.is_empty()).then(|| {
                        json::item(line, offset, &self.wanted, |word| self.notes.add(word))
                    });
                    match &item {
                        Some(item) if item.is_sound() => self.source.consume_sound(bytes),
                        _ => self.source.consume(bytes),
                    }
                    if let Some(item) = item {
                        return Ok(Some(Entry::at(offset, item)));
                    }
                }
            }
        }
    }

    fn consumed_bytes(&self) -> u64 {
        match self.source.codec() {
            Codec::Plain => self.source.offset().clamp(self.start, self.end) - self.start,
            _ => self.source.consumed_bytes(),
        }
    }

    fn notes(&self) -> Notes {
        let mut notes = self.notes.clone();
        if self.source.zero_padding() {
            notes.add("zero_padding");
        }
        notes
    }

    fn naming(&self) -> Naming {
        self.wanted.key.naming()
    }
}

/// Whether a file of this name has bytes even if it has no record.
fn has_bytes(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    without_ending(&name) != name || name.ends_with(".wacz")
}

/// Drops everything up to and including the next newline, or up to `end`, a place in the stream.
fn skip_line(source: &mut Source, end: Option<u64>) -> Result<()> {
    while end.is_none_or(|end| source.offset() < end) {
        let window = source.fill(1)?;
        if let Some(newline) = memchr::memchr(b'\n', window) {
            source.consume(newline + 1);
            return Ok(());
        }
        let all = window.len();
        source.consume(all);
        if all == 0 {
            match source.end() {
                Some(End::Member) => source.next_member()?,
                _ => return Ok(()),
            }
        }
    }
    Ok(())
}

/// Whether a member that starts with these bytes may hold JSON lines, or the rest of one.
pub fn starts(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b >= b' ' || b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::read::open;
    use crate::read::testing::{Temporary, gzip, read_all, words};
    use proptest::prelude::*;

    fn lines(bytes: &[u8], line_bytes_max: usize) -> Vec<String> {
        let mut options = Options::default();
        options.limits.line_bytes_max = line_bytes_max;
        words(&read_all("x.jsonl", bytes, &options).0)
    }

    /// Line ends, blank lines, a byte order mark and a missing last newline do not change what is
    /// read.
    #[test]
    fn line_ends() {
        let want = ["a text 1", "b text 2"];
        for (start, end, last) in
            [("", "\n", "\n"), ("\u{feff}", "\r\n", ""), ("\n \n", "\n\n\r\n", "\n\n")]
        {
            let file = format!(
                "{start}{{\"url\":\"a\",\"text\":\"1\"}}{end}{{\"url\":\"b\",\"text\":\"22\"}}{last}"
            );
            assert_eq!(lines(file.as_bytes(), 100), want);
            assert_eq!(lines(&gzip(file.as_bytes()), 100), want);
        }
    }

    /// A line over the limit is rejected and the next one is read, in plain and in compressed
    /// files.
    #[test]
    fn long_lines() {
        let line = "{\"url\":\"a\",\"text\":\"1\"}\n";
        let file = format!("{line}{}\n{line}{}", "x".repeat(300_000), "y".repeat(101));
        for bytes in [file.as_bytes().to_vec(), gzip(file.as_bytes())] {
            assert_eq!(lines(&bytes, 100), ["a text 1", "!long_line", "a text 1", "!long_line"]);
        }
        assert_eq!(lines(line.as_bytes(), line.len() - 1), ["a text 1"]);
        assert_eq!(lines(line.as_bytes(), line.len() - 2), ["!long_line"]);
    }

    /// A line may go on in the next member, and a damaged member costs no line of the others.
    #[test]
    fn members() {
        let mut random = Random(1);
        let line = |n: usize, random: &mut Random| {
            let text: String =
                (0..400).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
            format!("{{\"url\":\"{n}\",\"text\":\"{text}\"}}\n")
        };
        let text: String = (0..20).map(|n| line(n, &mut random)).collect();
        let torn: Vec<u8> = text.as_bytes().chunks(333).flat_map(gzip).collect();
        assert_eq!(lines(&torn, 1000), lines(text.as_bytes(), 1000));
        let mut members: Vec<Vec<u8>> =
            text.split_inclusive('\n').map(|line| gzip(line.as_bytes())).collect();
        members[7][100] ^= 1;
        members[11].truncate(100);
        members[15].extend_from_slice(b"junk");
        let kept = lines(&members.concat(), 1000);
        for n in (0..20).filter(|n| ![7, 11].contains(n)) {
            assert!(kept.contains(&format!("{n} text 400")), "{n} in {kept:?}");
        }
        assert_eq!(kept.iter().filter(|word| word.starts_with('!')).count(), 3);
    }

    /// The last line of a member is read even if junk follows the member. It was lost if it had no
    /// line end. The beginning of a line in a damaged member is no line.
    #[test]
    fn junk_behind_the_last_line() {
        let line = b"{\"url\":\"a\",\"text\":\"1\"}";
        for line in [&line[..], &[line, &b"\n"[..]].concat()] {
            let file = [gzip(line), b"junk".to_vec()].concat();
            assert_eq!(lines(&file, 100), ["a text 1", "!junk"]);
        }
        assert_eq!(lines(&[gzip(&line[..20]), b"junk".to_vec()].concat(), 100), ["!junk"]);
    }

    /// A compressed file that grows beyond the limits is given up, not decompressed.
    #[test]
    fn bombs() {
        let mut options = Options::default();
        options.limits.ratio_bytes_min = 1 << 20;
        let line = "{\"url\":\"a\",\"text\":\"1\"}\n";
        let bomb = gzip(&b"\n".repeat(8 << 20));
        let file = [gzip(line.as_bytes()), bomb].concat();
        assert_eq!(words(&read_all("x.jsonl.gz", &file, &options).0), ["a text 1", "!bomb"]);
    }

    /// Sound lines are read however well they compress. All but the first 64 MiB of a crawl of one
    /// page at many URLs were given up as a bomb. Lines that are no records still count as a bomb.
    #[test]
    fn lines_of_one_page_are_no_bomb() {
        let mut options = Options::default();
        (options.limits.ratio_max, options.limits.ratio_bytes_min) = (16, 1 << 20);
        let text = "The page that you look for is not here. ".repeat(100);
        let lines = |count: usize, field: &str| -> Vec<u8> {
            (0..count)
                .flat_map(|n| {
                    format!("{{\"url\":\"http://a/{n}\",\"{field}\":\"{text}\"}}\n").into_bytes()
                })
                .collect()
        };
        let good = gzip(&lines(2000, "text"));
        assert!(good.len() < (8 << 20) / 16, "{} bytes", good.len());
        let (entries, _) = read_all("x.jsonl.gz", &good, &options);
        assert_eq!(entries.iter().filter(|entry| entry.item.is_sound()).count(), 2000);
        assert_eq!(entries.len(), 2000);
        let (entries, _) = read_all("x.jsonl.gz", &gzip(&lines(2000, "other")), &options);
        assert_eq!(words(&entries).last().map(String::as_str), Some("!bomb"));
        assert!(entries.len() < 1000, "{} lines", entries.len());
    }

    proptest! {
        /// However a file is cut, each of its lines is read once, by the split in which it starts.
        /// The first line was lost where a split ended right after a byte order mark.
        #[test]
        fn shares(
            lengths in proptest::collection::vec(0usize..60, 0..40),
            split_bytes in prop_oneof![1u64..6, 1u64..200],
            newline: bool,
            mark: bool,
        ) {
            let mut text: String = lengths.iter().enumerate()
                .map(|(n, &length)| match length {
                    0..5 => "\n".repeat(length),
                    _ => format!("{{\"url\":\"{n}\",\"text\":\"{}\"}}\n", "x".repeat(length)),
                })
                .collect();
            if !newline {
                text.pop();
            }
            if mark {
                text.insert(0, '\u{feff}');
            }
            let file = Temporary::new("x.jsonl", text.as_bytes());
            let (whole, _) = read_all("x.jsonl", text.as_bytes(), &Options::default());
            let mut cut = Vec::new();
            for split in super::super::splits(&file.0, text.len() as u64, split_bytes).unwrap() {
                let mut reader = open(&split, &Options::default()).unwrap();
                while let Some(entry) = reader.next().unwrap() {
                    prop_assert!((split.start..split.end).contains(&entry.offset));
                    cut.push(entry);
                }
                prop_assert_eq!(reader.consumed_bytes(), split.end - split.start);
            }
            prop_assert_eq!(cut, whole);
        }
    }
}
