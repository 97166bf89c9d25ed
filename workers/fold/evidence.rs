//! Evidence: what the store keeps of a content to decide by. In comes a normalised text, out goes a row: its fingerprint,
//! length, keys, sketches and, where it is kept, the text itself, compressed. A row is a pure function of the text and the
//! identity configuration, so whichever split, run or worker has one has the right one. It is written once, where the text
//! is read, and moves from table to table as bytes; nothing here decides.

use crate::confirm;
use crate::document::{Id, range_start};
use crate::error::{Error, Kind, Result};
use crate::fold::epoch::Epoch;
use crate::job::contents::{self, TEXT_BYTES_MAX};
use crate::store::lookup::{Lookup, Place};
use crate::store::segment::SegmentRef;
use crate::store::table::{Row, table};
use crate::text::signatures::{Key, Shinglings, Signer, Text};
use crate::text::sketch::{self, Sketches};
use std::borrow::Cow;
use std::cell::Cell;

table! {
    /// What is known of a content that is not too short. Rows are large, a few hundred bytes and a text.
    pub struct EvidenceRow in "evidence", columns EvidenceColumns, batch 1024 {
        key { /// The content.
              content: Id }
        value { /// Its fingerprint.
                fingerprint: u64,
                /// Its length in characters.
                chars: u32,
                /// Its keys, ascending: the signature's number and the key, little endian, [`KEY_BYTES`] each.
                keys: Box<[u8]>,
                /// What [`sketch::write`] made of it.
                sketches: Box<[u8]>,
                /// Empty if the text is not kept; else [`RAW`] or [`ZSTD`] and the text.
                text: Box<[u8]> }
        history { }
    }
}

impl EvidenceRow {
    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<EvidenceRow>() + self.keys.len() + self.sketches.len() + self.text.len()
    }
}

/// Bytes of a key in [`EvidenceRow::keys`].
pub const KEY_BYTES: usize = 9;
/// The first byte of a text that is kept as it is.
pub const RAW: u8 = 0;
/// The first byte of a text that is kept as a frame of zstd, level 1.
pub const ZSTD: u8 = 1;
/// Texts of fewer bytes are kept as they are: a frame would save little.
const ZSTD_BYTES_MIN: usize = 200;

/// The signatures' numbers and the keys that `bytes`, as [`EvidenceRow::keys`] has them, stand for. What is no whole key is
/// left out.
pub fn keys(bytes: &[u8]) -> impl Iterator<Item = (u8, u64)> + '_ {
    let (keys, _) = bytes.as_chunks::<KEY_BYTES>();
    keys.iter().map(|&[kind, a, b, c, d, e, f, g, h]| (kind, u64::from_le_bytes([a, b, c, d, e, f, g, h])))
}

/// `keys` as [`EvidenceRow::keys`] has them.
fn pack_keys(keys: &[Key]) -> Box<[u8]> {
    let bytes = |key: &Key| {
        let mut bytes = [key.kind.number(); KEY_BYTES];
        bytes[1..].copy_from_slice(&key.key.to_le_bytes());
        bytes
    };
    keys.iter().flat_map(bytes).collect()
}

/// The text that `bytes`, as [`EvidenceRow::text`] has them and not empty, stand for; none if they are damaged.
pub fn unpack_text(bytes: &[u8]) -> Option<String> {
    let (&form, packed) = bytes.split_first()?;
    let text = match form {
        RAW => packed.to_vec(),
        ZSTD => zstd::bulk::decompress(packed, TEXT_BYTES_MAX).ok()?,
        _ => return None,
    };
    String::from_utf8(text).ok()
}

/// Makes evidence; one for each worker.
pub struct Witness {
    options: contents::Options,
    signer: Signer,
    shinglings: Shinglings,
    zstd: zstd::bulk::Compressor<'static>,
    keys: Vec<Key>,
    sketches: Vec<u8>,
}

impl Witness {
    /// A witness that obeys `options` and has keys made by `signer`.
    pub fn new(options: &contents::Options, signer: Signer) -> Result<Witness> {
        let zstd = zstd::bulk::Compressor::new(1).map_err(|e| Error::internal("no compressor").caused_by(e))?;
        Ok(Witness {
            options: options.clone(),
            signer,
            shinglings: Shinglings::default(),
            zstd,
            keys: Vec::new(),
            sketches: Vec::new(),
        })
    }

    /// Whether a text must come with its words.
    pub fn uses_words(&self) -> bool {
        self.signer.uses_words()
    }

    /// The evidence of the text `normal`, which is `content` of `chars` characters; `words` are the hashes of its words in
    /// their order, if they are used.
    pub fn evidence(
        &mut self,
        content: Id,
        fingerprint: u64,
        chars: u32,
        normal: &str,
        words: &[u64],
    ) -> Result<EvidenceRow> {
        let mut text = Text::new(normal, words, &mut self.shinglings);
        sketch::write(&mut text, &mut self.sketches);
        self.keys.clear();
        self.signer.sign(&mut text, &mut self.keys);
        let (keys, sketches) = (pack_keys(&self.keys), self.sketches.as_slice().into());
        let text = if self.options.keeps(normal, chars) { self.pack_text(normal)? } else { Box::default() };
        Ok(EvidenceRow { content, fingerprint, chars, keys, sketches, text, diff: 1 })
    }

    fn pack_text(&mut self, normal: &str) -> Result<Box<[u8]>> {
        let raw = normal.as_bytes();
        if raw.len() < ZSTD_BYTES_MIN {
            return Ok([&[RAW], raw].concat().into());
        }
        let packed = self.zstd.compress(raw).map_err(|e| Error::internal("cannot compress a text").caused_by(e))?;
        Ok(if packed.len() < raw.len() { [&[ZSTD], &packed[..]].concat() } else { [&[RAW], raw].concat() }.into())
    }
}

/// Evidence where it lies, of one content.
pub struct Content<'a> {
    /// Its fingerprint.
    pub fingerprint: u64,
    chars: u32,
    sketches: Sketches<'a>,
    packed: &'a [u8],
    /// The text, once it was asked for.
    text: std::cell::OnceCell<Option<String>>,
    damaged: Cell<bool>,
}

impl<'a> Content<'a> {
    /// What `row` of the mapped `columns` says; none if it is damaged.
    pub fn read(columns: &'a EvidenceColumns, row: usize) -> Option<Content<'a>> {
        Some(Content {
            fingerprint: columns.fingerprint.value(row),
            chars: columns.chars.value(row),
            sketches: Sketches::parse(columns.sketches.value(row))?,
            packed: columns.text.value(row),
            text: std::cell::OnceCell::new(),
            damaged: Cell::new(false),
        })
    }

    /// Whether a text that was asked for could not be read: what was decided without it is void.
    pub fn is_damaged(&self) -> bool {
        self.damaged.get()
    }
}

impl confirm::Evidence for Content<'_> {
    fn chars(&self) -> u32 {
        self.chars
    }

    fn sketches(&self) -> Sketches<'_> {
        self.sketches
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        let unpack = || {
            let text = if self.packed.is_empty() { None } else { Some(unpack_text(self.packed)) };
            self.damaged.set(text == Some(None));
            text.flatten()
        };
        self.text.get_or_init(unpack).as_deref().map(Cow::Borrowed)
    }
}

/// The signatures' numbers and keys of row `row` of the mapped `columns`, whose content and diff come first.
pub fn row_keys(columns: &EvidenceColumns, row: usize) -> (Id, i8, impl Iterator<Item = (u8, u64)> + '_) {
    use crate::store::column::Column;
    (Id::value(&columns.content, row), columns.diff.value(row), keys(columns.keys.value(row)))
}

/// Evidence in which contents are looked up. It is damage if one that lives is not there.
pub struct Archive {
    rows: Lookup<EvidenceRow>,
}

impl Archive {
    /// An archive of `rows`. Those that are taken back count as well as others: the same content has the same evidence.
    pub fn new(rows: Lookup<EvidenceRow>) -> Archive {
        Archive { rows }
    }

    /// Where the evidence of `contents`, which ascend, lies.
    pub fn places(&self, contents: &[Id]) -> Result<Vec<Place>> {
        let places = self.rows.places(contents).into_iter().zip(contents);
        places.map(|(place, content)| place.ok_or_else(|| damaged(*content, "is missing"))).collect()
    }

    /// The evidence of `content` at `place`.
    pub fn read(&self, content: Id, place: Place) -> Result<Content<'_>> {
        let (columns, row) = self.rows.row(place)?;
        Content::read(columns, row).ok_or_else(|| damaged(content, "is damaged"))
    }

    /// Which of `contents`, which ascend, it can say something of.
    pub fn known(&self, contents: &[Id]) -> Vec<bool> {
        let known = |(place, content): (Option<Place>, &Id)| place.is_some_and(|at| self.read(*content, at).is_ok());
        self.rows.places(contents).into_iter().zip(contents).map(known).collect()
    }

    /// The row at `place`, as if it was added.
    pub fn row(&self, place: Place) -> Result<EvidenceRow> {
        let (columns, row) = self.rows.row(place)?;
        Ok(EvidenceRow { diff: 1, ..EvidenceRow::row(columns, row) })
    }
}

/// What is said where evidence is not as it must be.
pub fn damaged(content: Id, what: &str) -> Error {
    Error::new(
        Kind::Io,
        format!("table evidence: what is known of content {content} {what}; run `pagefold verify --full`"),
    )
}

/// A worker's fresh segment of evidence, told to another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Told {
    /// The leading bits of the first key that the told worker owns.
    pub to: u64,
    bytes: u64,
    rows: u64,
    live: i64,
    multiset: [u64; 2],
    digest: [u64; 4],
}

impl Told {
    fn new(to: u64, segment: &SegmentRef) -> Result<Told> {
        let digest = blake3::Hash::from_hex(&segment.digest)
            .map_err(|e| Error::internal(format!("digest {:?}", segment.digest)).caused_by(e))?;
        let multiset = u128::from_str_radix(&segment.multiset, 16)
            .map_err(|e| Error::internal(format!("multiset {:?}", segment.multiset)).caused_by(e))?;
        Ok(Told {
            to,
            bytes: segment.bytes,
            rows: segment.rows,
            live: segment.live,
            multiset: [(multiset >> 64) as u64, multiset as u64],
            digest: bytemuck::cast(*digest.as_bytes()),
        })
    }

    fn segment(&self) -> SegmentRef {
        let digest: [u8; 32] = bytemuck::cast(self.digest);
        let multiset = u128::from(self.multiset[0]) << 64 | u128::from(self.multiset[1]);
        SegmentRef {
            digest: blake3::Hash::from(digest).to_hex().to_string(),
            bytes: self.bytes,
            rows: self.rows,
            live: self.live,
            multiset: format!("{multiset:032x}"),
        }
    }
}

/// Tells every worker what this one wrote of the table in this epoch: a verdict needs the evidence of contents of other
/// owners.
pub fn tell(epoch: &Epoch, give: &mut dyn FnMut(Told)) -> Result<()> {
    let Some(segment) = epoch.written("evidence") else { return Ok(()) };
    for worker in 0..epoch.peers {
        give(Told::new(range_start(worker, epoch.peers), &segment)?);
    }
    Ok(())
}

/// Remembers what all workers wrote.
pub fn hear(epoch: &Epoch, told: &[Told]) -> Result<()> {
    epoch.hear(told.iter().map(Told::segment).collect());
    Ok(())
}

/// All evidence after the epoch, of whatever owner: mapped, and read where it is asked for.
pub fn archive(epoch: &Epoch) -> Result<Archive> {
    let mut rows = epoch.lookup::<EvidenceRow>("evidence")?;
    for segment in epoch.heard().iter() {
        rows.push(&epoch.data.join("evidence"), segment)?;
    }
    Ok(Archive::new(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::Evidence as _;
    use crate::job::contents::{Keep, Options};
    use crate::store::segment;
    use crate::text::normalize;
    use crate::text::signatures::default_list;
    use proptest::prelude::*;

    fn witness(text: Keep) -> Witness {
        let signer = Signer::new(&default_list(), &normalize::Options::default()).expect("a signer");
        Witness::new(&Options { text }, signer).expect("a witness")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// What a text's evidence says after it was stored and mapped is what was known of the text, whatever texts came
        /// before it, and the text is there exactly where it is to be kept.
        #[test]
        fn evidence_comes_back(texts in prop::collection::btree_set("[a-c一-三 0-9]{1,400}", 1..12)) {
            let folder = tempfile::tempdir().expect("a folder");
            for keep in [Keep::All, Keep::Short, Keep::None] {
                let mut shared = witness(keep);
                let of = |witness: &mut Witness, text: &str| {
                    witness.evidence(Id::of(text.as_bytes()), 7, text.chars().count() as u32, text, &[]).expect("made")
                };
                let mut rows: Vec<EvidenceRow> = texts.iter().map(|text| of(&mut shared, text)).collect();
                for (row, text) in rows.iter().zip(&texts) {
                    prop_assert_eq!(row, &of(&mut witness(keep), text));
                }
                rows.sort_unstable();
                let written = segment::write(folder.path(), "test", rows).expect("written").expect("rows");
                let mut lookup = Lookup::default();
                lookup.push(folder.path(), &written).expect("opened");
                let archive = Archive::new(lookup);
                for text in &texts {
                    let id = Id::of(text.as_bytes());
                    let place = archive.places(&[id]).expect("there")[0];
                    let content = archive.read(id, place).expect("sound");
                    let chars = text.chars().count() as u32;
                    let kept = keep == Keep::All || keep == Keep::Short && chars < 160;
                    let told = content.text();
                    prop_assert_eq!(told.as_deref(), kept.then_some(text.as_str()));
                    prop_assert_eq!((content.fingerprint, content.chars(), content.is_damaged()), (7, chars, false));
                    let (mut shinglings, mut sketches) = (Shinglings::default(), Vec::new());
                    sketch::write(&mut Text::new(text, &[], &mut shinglings), &mut sketches);
                    prop_assert_eq!(Some(content.sketches()), Sketches::parse(&sketches));
                    let mut signed = Vec::new();
                    let mut signer = Signer::new(&default_list(), &normalize::Options::default()).expect("a signer");
                    signer.sign(&mut Text::new(text, &[], &mut shinglings), &mut signed);
                    let signed: Vec<(u8, u64)> = signed.iter().map(|key| (key.kind.number(), key.key)).collect();
                    prop_assert_eq!(keys(&archive.row(place).expect("sound").keys).collect::<Vec<_>>(), signed);
                }
                prop_assert!(archive.places(&[Id::NONE]).is_err());
            }
        }

        /// Any bytes are a text or none, and never more than a text may have.
        #[test]
        fn hostile_text(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(unpack_text(&bytes).is_none_or(|text| text.len() <= TEXT_BYTES_MAX));
            keys(&bytes).for_each(drop);
        }
    }

    /// A long text is kept smaller than it is, a longer one than is kept not at all.
    #[test]
    fn large_texts() {
        let mut witness = witness(Keep::All);
        let text = "会议今天在北京举行, ".repeat(1000);
        let row = witness.evidence(Id::MAX, 1, 9, &text, &[]).expect("made");
        assert!(row.text[0] == ZSTD && row.text.len() * 10 < text.len());
        let row = witness.evidence(Id::MAX, 1, 9, &"a".repeat(TEXT_BYTES_MAX + 1), &[]).expect("made");
        assert!(row.text.is_empty());
    }

    /// A segment that is told is the segment that is heard of.
    #[test]
    fn told_is_heard() {
        let digest = blake3::hash(b"x").to_hex().to_string();
        let multiset = format!("{:032x}", 5u128 << 90 | 3);
        let segment = SegmentRef { digest, bytes: 9, rows: 8, live: -7, multiset };
        assert_eq!(Told::new(1, &segment).expect("sound").segment(), segment);
    }
}
