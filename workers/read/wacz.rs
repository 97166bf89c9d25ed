//! Reads WACZ: a zip archive with WARC files in its folder `archive` (WACZ 1.1.1).
//!
//! The files of that folder are stored as they are, so each is read in place, as a file of its own;
//! nothing is unpacked. The other files in the zip (indexes, lists of pages) are not needed. A zip
//! is refused as a whole if one of the WARC files is compressed once more, is encrypted, or
//! overlaps another one, by which a small zip could become a large crawl.

use crate::error::{Error, Kind, Result};
use crate::read::codec::Codec;
use crate::read::companion::Companion;
use crate::read::frames::Frames;
use crate::read::input::open_file;
use crate::read::record::{Entry, Heading, Notes};
use crate::read::source::Source;
use crate::read::warc::Warc;
use crate::read::{Limits, Reader, Split, shell};
use rawzip::{CompressionMethod, ErrorKind, RECOMMENDED_BUFFER_SIZE, ZipLocator};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the zip that has the WARC files.
const FOLDER: &[u8] = b"archive/";

/// The most WARC files of a WACZ.
const ARCHIVES_MAX: usize = 1 << 15;

/// The bits of a position that count bytes of one WARC file. The bits above have the number of the
/// file.
const POSITION_BITS: u32 = 48;

/// The first bytes of a zip archive.
const MAGIC: &[u8] = b"PK\x03\x04";

/// Bytes of a zip archive before the name of its first file.
const NAME_AT: usize = 30;

/// Whether a file with this name and this beginning is a WACZ: a zip archive with the name of a
/// WACZ, or whose first file is one that a WACZ has.
pub fn is_wacz(head: &[u8], path: &Path) -> bool {
    let name = head.get(NAME_AT..).unwrap_or_default();
    let has_name = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wacz"));
    let parts = [FOLDER, b"indexes/", b"pages/", b"datapackage.json"];
    head.starts_with(MAGIC) && (has_name || parts.iter().any(|part| name.starts_with(part)))
}

/// A WARC file in the zip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Archive {
    /// The start of its header in the zip.
    header: u64,
    /// The start of its bytes in the zip.
    start: u64,
    end: u64,
    /// The number of WARC files before it.
    number: u64,
}

/// The reader of the WARC files that start in a part of a WACZ.
pub struct Wacz {
    path: PathBuf,
    limits: Limits,
    keeps_heads: bool,
    /// The WARC files that are not opened yet, the last one first.
    archives: Vec<Archive>,
    open: Option<OpenMember>,
    /// The notes of the files that were read.
    notes: Notes,
    bytes: u64,
    start: u64,
}

struct OpenMember {
    archive: Archive,
    codec: Codec,
    frames: Frames<Warc>,
}

impl Wacz {
    /// Opens the part `split` of a WACZ.
    pub fn open(split: &Split, limits: &Limits) -> Result<Wacz> {
        let mut archives = archives(&split.path, split.end)?;
        archives.retain(|archive| (split.start..split.end).contains(&archive.start));
        archives.reverse();
        Ok(Wacz {
            path: split.path.clone(),
            limits: limits.clone(),
            keeps_heads: false,
            archives,
            open: None,
            notes: Notes::default(),
            bytes: split.end - split.start,
            start: split.start,
        })
    }

    fn open_next(&mut self) -> Result<bool> {
        let Some(archive) = self.archives.pop() else { return Ok(false) };
        let source = Source::open_part(&self.path, archive.start, archive.end, &self.limits)?;
        let codec = source.codec();
        let mut frames = Frames::new(source, Warc::default(), self.limits.clone());
        if self.keeps_heads {
            frames.keep_heads();
        }
        self.open = Some(OpenMember { archive, codec, frames });
        Ok(true)
    }
}

impl OpenMember {
    /// `entry` with its place in the zip.
    fn placed(&self, entry: Entry, path: &Path) -> Result<Entry> {
        let Entry { mut offset, position, mut member, item } = entry;
        if position >> POSITION_BITS > 0 {
            let why = "one of its WARC files is too large when it is decoded: unpack it and read it by itself";
            return Err(Error::new(Kind::Data, format!("{}: {why}", path.display())));
        }
        if self.codec == Codec::Plain {
            // Each record begins at a position in the zip, as members do.
            offset += self.archive.start;
            member = Some(self.archive.start + position);
        }
        Ok(Entry {
            offset,
            position: self.archive.number << POSITION_BITS | position,
            member,
            item,
        })
    }
}

impl Reader for Wacz {
    fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            if let Some(open) = &mut self.open
                && let Some(entry) = open.frames.next()?
            {
                return open.placed(entry, &self.path).map(Some);
            }
            if let Some(open) = self.open.take() {
                self.notes = std::mem::take(&mut self.notes).merged(&open.frames.notes());
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    fn consumed_bytes(&self) -> u64 {
        match &self.open {
            Some(open) => {
                (open.archive.start + open.frames.consumed_bytes() - self.start).min(self.bytes)
            }
            None if self.archives.is_empty() => self.bytes,
            None => 0,
        }
    }

    fn notes(&self) -> Notes {
        let open = self.open.as_ref().map(|open| open.frames.notes()).unwrap_or_default();
        self.notes.clone().merged(&open)
    }

    fn record_id(&self) -> Option<&str> {
        self.open.as_ref().and_then(|open| open.frames.record_id())
    }

    fn keep_heads(&mut self) {
        self.keeps_heads = true;
    }

    fn take_head(&mut self) -> Option<Heading> {
        self.open.as_mut().and_then(|open| open.frames.take_head())
    }

    fn file_end(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.archive.end)
    }
}

/// The WARC files of the zip of `size` bytes at `path`, in the order of their places.
fn archives(path: &Path, size: u64) -> Result<Vec<Archive>> {
    let (file, _) = open_file(path, size)?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let damaged = |error: rawzip::Error| {
        let why = format!("is a damaged WACZ: {error}");
        match error.into_kind() {
            ErrorKind::IO(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Error::io("read", path, error)
            }
            _ => refused(path, why),
        }
    };
    let zip =
        ZipLocator::new().locate_in_file(file, &mut buffer).map_err(|(_, error)| damaged(error))?;
    let directory = zip.directory_offset();
    let mut archives = Vec::new();
    let mut entries = zip.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        let file_path = entry.file_path();
        let name = file_path.as_bytes();
        if !name.starts_with(FOLDER) || entry.is_dir() {
            continue;
        }
        let unfit = |why: &str| {
            refused(path, format!("is a WACZ whose {} {why}", String::from_utf8_lossy(name)))
        };
        if entry.flags().is_encrypted() {
            return Err(unfit("is encrypted"));
        }
        if entry.compression_method() != CompressionMethod::STORE {
            return Err(unfit("is compressed by the zip itself"));
        }
        if archives.len() == ARCHIVES_MAX {
            return Err(unfit(&format!("is one WARC file more than {ARCHIVES_MAX}")));
        }
        let (start, end) =
            zip.get_entry(entry.wayfinder()).map_err(damaged)?.compressed_data_range();
        if end > directory {
            return Err(unfit("ends behind the files of the zip"));
        }
        archives.push(Archive { header: entry.local_header_offset(), start, end, number: 0 });
    }
    if archives.is_empty() {
        return Err(refused(
            path,
            "is a WACZ without a WARC file in its folder `archive`".to_owned(),
        ));
    }
    archives.sort_unstable();
    if archives.windows(2).any(|two| two[0].end > two[1].header) {
        return Err(refused(
            path,
            "is a damaged WACZ: two of its files lie over one another".to_owned(),
        ));
    }
    (0..).zip(&mut archives).for_each(|(number, archive)| archive.number = number);
    Ok(archives)
}

fn refused(path: &Path, why: String) -> Error {
    let remedy = Companion::Zip.remedy(path).unwrap_or_default();
    // With its old name, each later run would find and reject it again.
    let (old, new) = (shell::word(path), shell::word(&shell::hidden(path)));
    let line = format!(
        "{} {why}; if it can be unpacked, run {remedy} && mv {old} {new}, a name that is not read",
        path.display()
    );
    Error::new(Kind::Data, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{Temporary, gzip, member, page, read_all, read_to_end, words, zip};
    use crate::read::{Options, open, open_or_reject, splits};
    use proptest::prelude::*;

    /// The position of the flags and the method of the first file in the central directory.
    const FLAGS_AT: usize = 8;
    const METHOD_AT: usize = 10;
    /// The position of the sizes and the place of the first file in the central directory.
    const SIZES_AT: usize = 20;
    const PLACE_AT: usize = 42;

    fn pages(host: &str, n: usize) -> Vec<Vec<u8>> {
        (0..n).map(|n| page(&format!("http://{host}/{n}"), &vec![b'x'; 40 * n])).collect()
    }

    fn members(codec: Codec, pages: &[Vec<u8>]) -> Vec<u8> {
        pages.iter().flat_map(|page| member(codec, page)).collect()
    }

    /// A WACZ of three WARC files in three forms, one of them in a folder of its own, among other
    /// files of a WACZ.
    fn crawl() -> (Vec<u8>, usize) {
        zip(&[
            ("datapackage.json", b"{}"),
            ("pages/pages.jsonl", b"{\"url\":\"http://a/0\",\"text\":\"t\"}"),
            ("archive/", b""),
            ("archive/a.warc.gz", &members(Codec::Gzip, &pages("a", 30))),
            ("archive/deep/b.warc", &pages("b", 20).concat()),
            ("indexes/index.cdx.gz", &gzip(b"example,a)/ 20240101000000 {}")),
            ("archive/c.warc.gz", &gzip(&pages("c", 10).concat())),
        ])
    }

    /// A WACZ has the records of its WARC files and no other, however it is divided. Each record
    /// has a position of its own. A record that has bytes of its own begins in the zip where its
    /// entry says.
    #[test]
    fn records_of_all_files() {
        let (bytes, _) = crawl();
        let want: Vec<String> = [("a", 30), ("b", 20), ("c", 10)]
            .into_iter()
            .flat_map(|(host, n)| (0..n).map(move |n| format!("http://{host}/{n} html {}", 40 * n)))
            .collect();
        let (entries, _) = read_all("x.zip", &bytes, &Options::default());
        assert_eq!(words(&entries), want);
        assert!(entries.windows(2).all(|two| two[0].position < two[1].position));
        let alone = entries.iter().filter_map(|entry| entry.member);
        let begins = |at: u64| {
            [&b"\x1f\x8b"[..], b"WARC/"].iter().any(|head| bytes[at as usize..].starts_with(head))
        };
        assert_eq!(alone.clone().filter(|at| begins(*at)).count(), 51);
        assert_eq!(alone.count(), 51);
        let file = Temporary::new("x.wacz", &bytes);
        for split_bytes in [100, 200, 2000, 1 << 20] {
            let mut found = Vec::new();
            for split in splits(&file.0, bytes.len() as u64, split_bytes).unwrap() {
                let mut reader = open(&split, &Options::default()).unwrap();
                found.extend(read_to_end(&mut *reader, (split.end - split.start) as usize));
            }
            assert_eq!(found, entries, "{split_bytes}");
        }
    }

    /// Damage in one WARC file costs its own records, and a bomb is recognised by the growth of the
    /// file that has it.
    #[test]
    fn damage_stays_in_its_file() {
        let (mut bytes, _) = crawl();
        let at = bytes.windows(9).position(|part| part == b"a.warc.gz").unwrap() + 300;
        bytes[at..at + 40].fill(0);
        let (entries, _) = read_all("x.wacz", &bytes, &Options::default());
        let found = words(&entries);
        assert!(found.iter().any(|word| word == "!bad_member" || word == "!junk"), "{found:?}");
        assert_eq!(
            found.iter().filter(|word| word.contains("/b/") || word.contains("/c/")).count(),
            30
        );
        let mut options = Options::default();
        (options.limits.ratio_max, options.limits.ratio_bytes_min) = (100, 1 << 20);
        let bomb = gzip(&page("http://z/", &vec![b'x'; 8 << 20]));
        let (bytes, _) =
            zip(&[("archive/z.warc.gz", &bomb), ("archive/a.warc", &pages("a", 3).concat())]);
        let found = words(&read_all("x.wacz", &bytes, &options).0);
        assert_eq!((&*found[0], found.len()), ("!bomb", 4));
    }

    /// A zip that hides, doubles or loses its files is refused as a whole with a command that may
    /// help; in a folder it is one bad file.
    #[test]
    fn unfit_archives() {
        let (sound, directory) = zip(&[
            ("archive/a.warc", &pages("a", 5).concat()),
            ("archive/b.warc", &pages("b", 5).concat()),
        ]);
        let changed = |changes: &[(usize, &[u8])]| {
            let mut bytes = sound.clone();
            changes.iter().for_each(|(at, new)| bytes[*at..*at + new.len()].copy_from_slice(new));
            bytes
        };
        let second = directory + 46 + "archive/a.warc".len();
        let first_size: [u8; 4] = sound[directory + SIZES_AT..][..4].try_into().unwrap();
        let longer = (u32::from_le_bytes(first_size) + 10).to_le_bytes();
        for (bytes, why) in [
            (changed(&[(directory + FLAGS_AT, &[1])]), "is encrypted"),
            (changed(&[(directory + METHOD_AT, &[8])]), "is compressed by the zip itself"),
            (changed(&[(second + PLACE_AT, &[0; 4])]), "lie over one another"),
            (changed(&[(directory + SIZES_AT, &longer)]), "lie over one another"),
            (
                changed(&[(directory + SIZES_AT, &[0xf0, 0xff, 0xff, 0x7f])]),
                "ends behind the files",
            ),
            (changed(&[(second + PLACE_AT, &[9, 9, 0, 0])]), "is a damaged WACZ"),
            (changed(&[(directory, b"XX")]), "is a damaged WACZ"),
            (sound[..sound.len() - 30].to_vec(), "is a damaged WACZ"),
            (sound[..40].to_vec(), "is a damaged WACZ"),
            (zip(&[("archive/", b""), ("pages/pages.jsonl", b"{}")]).0, "without a WARC file"),
        ] {
            let file = Temporary::new("x.wacz", &bytes);
            let error = open(&file.split(), &Options::default())
                .err()
                .unwrap_or_else(|| panic!("{why}: read"));
            assert_eq!(error.kind(), Kind::Data);
            let line = error.to_string();
            assert!(line.contains(why) && line.contains("run unzip /"), "{line}");
            let mut reader = open_or_reject(&file.split(), &Options::default()).unwrap();
            assert_eq!(words(&read_to_end(&mut *reader, bytes.len())), ["!bad_file"], "{why}");
            assert!(!splits(&file.0, bytes.len() as u64, 100).unwrap().is_empty());
        }
    }

    proptest! {
        /// No bytes make the reader panic, loop or lose count.
        #[test]
        fn any_bytes(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9)) {
            let (mut bytes, directory) = crawl();
            for (n, (at, byte)) in changes.into_iter().enumerate() {
                // Half of the changes are to the directory.
                let from = if n % 2 == 0 { directory } else { 0 };
                let at = from + at.index(bytes.len() - from);
                bytes[at] = byte;
            }
            let file = Temporary::new("x.wacz", &bytes);
            if let Ok(mut reader) = open(&file.split(), &Options::default()) {
                read_to_end(&mut *reader, bytes.len());
            }
        }
    }
}
