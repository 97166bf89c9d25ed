//! Builds the evidence of contents.
//!
//! Evidence is what verdicts are decided from: a content's fingerprint, length, keys, sketches and,
//! where the job keeps it, the compressed text. It is a pure function of the normalised text and
//! the identity configuration, so equal contents have equal evidence in every split, run and
//! worker. It is built once, where the text is read, and then copied from table to table as bytes.

use crate::error::{Error, Result};
use crate::id::Id;
use crate::job::contents;
use crate::tables::EvidenceRow;
use crate::tables::evidence::{CODED, KEY_BYTES, RAW, ZSTD};
use crate::text::letters::Letters;
use crate::text::packed::Packer;
use crate::text::signatures::{Key, Shinglings, Signer, Text};
use crate::text::sketch;

/// Shorter texts are stored uncompressed, because a zstd frame would save little.
const ZSTD_BYTES_MIN: usize = 200;

/// Encodes `keys` as in [`EvidenceRow::keys`].
fn pack_keys(keys: &[Key]) -> Box<[u8]> {
    let bytes = |key: &Key| {
        let mut bytes = [key.kind.number(); KEY_BYTES];
        bytes[1..].copy_from_slice(&key.key.to_le_bytes());
        bytes
    };
    keys.iter().flat_map(bytes).collect()
}

/// How texts are kept in evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// In the shortest form, as a store has them.
    Shortest,
    /// As they are: packing takes time, and a text that is only asked about is never stored.
    AsTheyAre,
}

/// Builds evidence. Each worker has one, and reuses its buffers.
pub struct EvidenceBuilder {
    options: contents::Options,
    packing: Packing,
    signer: Signer,
    shinglings: Shinglings,
    packer: Packer,
    zstd: zstd::bulk::Compressor<'static>,
    packed: Vec<u8>,
    keys: Vec<Key>,
    sketches: Vec<u8>,
}

impl EvidenceBuilder {
    /// A builder that keeps texts by `options` and computes keys with `signer`.
    pub fn new(options: &contents::Options, signer: Signer) -> Result<EvidenceBuilder> {
        let zstd = zstd::bulk::Compressor::new(1)
            .map_err(|e| Error::internal("no compressor").caused_by(e))?;
        Ok(EvidenceBuilder {
            options: options.clone(),
            packing: Packing::Shortest,
            signer,
            shinglings: Shinglings::default(),
            packer: Packer::default(),
            zstd,
            packed: Vec::new(),
            keys: Vec::new(),
            sketches: Vec::new(),
        })
    }

    /// Sets how the next texts are packed.
    pub fn set_packing(&mut self, packing: Packing) {
        self.packing = packing;
    }

    /// Whether [`EvidenceBuilder::evidence`] needs the words of a text.
    pub fn uses_words(&self) -> bool {
        self.signer.uses_words()
    }

    /// The evidence of the normalised text `normal`, which has `chars` characters, these `letters`
    /// and the id `content`. `words` are the hashes of its words in order, or empty if they are not
    /// used.
    pub fn evidence(
        &mut self,
        content: Id,
        fingerprint: u64,
        chars: u32,
        normal: &str,
        letters: &Letters,
        words: &[u64],
    ) -> Result<EvidenceRow> {
        if !self.options.evidence {
            return Ok(EvidenceRow::new(
                content,
                fingerprint,
                chars,
                Box::default(),
                Box::default(),
                Box::default(),
            ));
        }
        let mut text = Text::with(normal, words, letters, &mut self.shinglings);
        sketch::write(&mut text, &mut self.sketches);
        self.keys.clear();
        self.signer.sign(&mut text, &mut self.keys);
        let (keys, sketches) = (pack_keys(&self.keys), self.sketches.as_slice().into());
        let text =
            if self.options.keeps(chars) { self.pack_text(normal, chars)? } else { Box::default() };
        Ok(EvidenceRow::new(content, fingerprint, chars, keys, sketches, text))
    }

    /// The text in the shortest of the forms that are tried, or as it is.
    fn pack_text(&mut self, normal: &str, chars: u32) -> Result<Box<[u8]>> {
        let raw = normal.as_bytes();
        let form = |form: u8, bytes: &[u8]| Ok([&[form], bytes].concat().into());
        if self.packing == Packing::AsTheyAre {
            return form(RAW, raw);
        }
        self.packed.clear();
        // Most characters of a Chinese text have three bytes.
        if raw.len() >= 2 * chars as usize {
            self.packer.pack(normal, &mut self.packed);
            if 2 * self.packed.len() <= raw.len() {
                return form(CODED, &self.packed);
            }
        }
        let coded = self.packed.len();
        if raw.len() >= ZSTD_BYTES_MIN {
            self.packed.resize(coded + zstd::zstd_safe::compress_bound(raw.len()), 0);
            let bytes = self
                .zstd
                .compress_to_buffer(raw, &mut self.packed[coded..])
                .map_err(|e| Error::internal("cannot compress a text").caused_by(e))?;
            self.packed.truncate(coded + bytes);
        }
        let (coded, zstd) = self.packed.split_at(coded);
        let forms = [(RAW, raw), (CODED, coded), (ZSTD, zstd)];
        let tried = forms.into_iter().filter(|(_, bytes)| !bytes.is_empty());
        let (number, bytes) = tried.min_by_key(|(_, bytes)| bytes.len()).unwrap_or((RAW, raw));
        form(number, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::Evidence as _;
    use crate::job::contents::{Keep, Options};
    use crate::store::lookup::Lookup;
    use crate::store::segment;
    use crate::tables::evidence::{StoredEvidence, keys, unpack_text};
    use crate::text::normalize;
    use crate::text::normalize::TEXT_USED_BYTES_MAX;
    use crate::text::signatures::default_list;
    use crate::text::sketch::Sketches;
    use proptest::prelude::*;

    fn builder(text: Keep) -> EvidenceBuilder {
        let signer =
            Signer::new(&default_list(), &normalize::Options::default()).expect("a signer");
        EvidenceBuilder::new(&Options { text, ..Options::default() }, signer).expect("a builder")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Evidence that is stored and read again says what was computed from the text, and does
        /// not depend on the texts before it. The text itself is there exactly if it should be
        /// kept.
        #[test]
        fn stored_evidence_is_read_unchanged(texts in prop::collection::btree_set("[a-c一-三 0-9]{1,400}", 1..12)) {
            let folder = tempfile::tempdir().expect("a folder");
            for keep in [Keep::All, Keep::Short, Keep::None] {
                let mut shared = builder(keep);
                let of = |builder: &mut EvidenceBuilder, text: &str| {
                    builder.evidence(Id::of(text.as_bytes()), 7, text.chars().count() as u32, text, &Letters::of(text), &[]).expect("made")
                };
                let mut rows: Vec<EvidenceRow> = texts.iter().map(|text| of(&mut shared, text)).collect();
                for (row, text) in rows.iter().zip(&texts) {
                    prop_assert_eq!(row, &of(&mut builder(keep), text));
                }
                rows.sort_unstable();
                let written = segment::write(folder.path(), "test", rows).expect("written").expect("rows");
                let mut lookup = Lookup::default();
                lookup.push(folder.path(), &written).expect("opened");
                let evidence = StoredEvidence::new(lookup);
                for text in &texts {
                    let id = Id::of(text.as_bytes());
                    let place = evidence.places(&[id]).expect("there")[0];
                    let content = evidence.read(id, place).expect("sound");
                    let chars = text.chars().count() as u32;
                    let kept = keep == Keep::All || keep == Keep::Short && chars < 160;
                    let stored = content.text();
                    prop_assert_eq!(stored.as_deref(), kept.then_some(text.as_str()));
                    prop_assert_eq!((content.fingerprint, content.chars(), content.is_damaged()), (7, chars, false));
                    let (mut shinglings, mut sketches) = (Shinglings::default(), Vec::new());
                    sketch::write(&mut Text::new(text, &[], &mut shinglings), &mut sketches);
                    prop_assert_eq!(Some(content.sketches()), Sketches::parse(&sketches));
                    let mut signed = Vec::new();
                    let mut signer = Signer::new(&default_list(), &normalize::Options::default()).expect("a signer");
                    signer.sign(&mut Text::new(text, &[], &mut shinglings), &mut signed);
                    let signed: Vec<(u8, u64)> = signed.iter().map(|key| (key.kind.number(), key.key)).collect();
                    prop_assert_eq!(keys(&evidence.row(place).expect("sound").keys).collect::<Vec<_>>(), signed);
                }
                prop_assert!(evidence.places(&[Id::NONE]).is_err());
            }
        }

        /// Arbitrary bytes decode to no text or to one within the size limit.
        #[test]
        fn arbitrary_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(unpack_text(&bytes).is_none_or(|text| text.len() <= TEXT_USED_BYTES_MAX));
            keys(&bytes).for_each(drop);
        }
    }

    /// A Chinese text is coded, and a long text of another script is compressed. A text that
    /// neither makes shorter is kept as it is. The longest text that is used is kept.
    #[test]
    fn texts_are_packed() {
        let mut builder = builder(Keep::All);
        let mut packed = |text: &str| {
            let (chars, letters) = (text.chars().count() as u32, Letters::of(text));
            let row = builder.evidence(Id::MAX, 1, chars, text, &letters, &[]).expect("made");
            assert_eq!(unpack_text(&row.text).as_deref(), Some(text));
            (row.text[0], row.text.len())
        };
        for (text, form, most) in [
            ("会议今天在北京举行, ", CODED, 15),
            ("rain on monday, then sun. ", RAW, 27),
            (&"rain on monday, then sun. ".repeat(1000), ZSTD, 2600),
            (&"비가 오는 월요일. ".repeat(100), ZSTD, 250),
            ("䶮䶮", RAW, 7),
        ] {
            let (found, bytes) = packed(text);
            assert!(found == form && bytes <= most, "{text}: form {found}, {bytes} bytes");
        }
        // One that was not kept was compared by sketches, and joined random texts of four letters.
        let long = "rain on monday, then sun. ".repeat(TEXT_USED_BYTES_MAX / 26);
        packed(&long);
    }
}
