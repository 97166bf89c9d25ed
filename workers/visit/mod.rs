//! Turns a record into a visit and the evidence of its text.
//!
//! The steps are extraction of the main text, normalisation, features, SimHash and evidence. The
//! result depends on the record and the job only, not on the split, the worker or the epoch.

pub mod counts;
pub mod evidence;
mod open;

use crate::absent::{NO_DATE, NO_SCORE};
use crate::error::Result;
use crate::extract::{self, Extracted};
use crate::id::Id;
use crate::job::Job;
use crate::page_url::{Naming, canonical_url, page_url};
use crate::read::record::{Body, Record};
use crate::tables::visits::{
    CONVERSION, CUT, GATHERED, NOTICE, PAGE, REMOVED, REPLACED, SEEN, TOO_SHORT,
};
use crate::tables::{EvidenceRow, Visit};
use crate::text::features::{Feature, Featurizer};
use crate::text::furniture::Furniture;
use crate::text::letters::Letters;
use crate::text::signatures::Signer;
use crate::text::simhash::simhash;
use crate::text::site_lines::SiteLines;
use crate::text::{little, normalize};
use crate::visit::evidence::{EvidenceBuilder, Packing};
pub use crate::visit::open::{complaint, open};

/// The text of a record's body; `None` if the record says that the page was removed or only seen.
pub fn text_of(body: Body, options: &extract::Options) -> Option<Extracted> {
    match body {
        Body::Removed | Body::Moved(_) | Body::Seen => None,
        Body::Text(text) => Some(Extracted { text, ..Extracted::default() }),
        Body::Plain { bytes, charset } => Some(extract::plain(&bytes, charset.as_deref())),
        Body::Html { bytes, charset } => Some(extract::html(&bytes, charset.as_deref(), options)),
    }
}

/// The furniture lines that `job` removes from pages, if it names a file of them.
pub fn furniture(job: &Job) -> Result<Option<Furniture>> {
    job.extract.furniture.as_deref().map(|path| Furniture::read(path, &job.normalize)).transpose()
}

/// A visit that only says that `url` was seen.
fn blank(url: &str, naming: Naming, date: i64) -> Visit {
    let url = page_url(url, naming);
    Visit {
        doc: url.doc,
        date,
        kind: SEEN,
        content: Id::NONE,
        moved_to: Id::NONE,
        fingerprint: 0,
        chars: 0,
        letters: 0,
        flags: 0,
        host: url.host,
        https: u8::from(url.https),
        url: url.canonical.into_bytes().into(),
        score: NO_SCORE,
        input: 0,
        position: 0,
        diff: 1,
    }
}

/// Finds the text of records, without the lines that are furniture.
#[derive(Clone)]
pub struct BodyReader {
    extract: extract::Options,
    furniture: Option<Furniture>,
    site_lines: Option<SiteLines>,
}

impl BodyReader {
    /// A reader of the records of `job`, which removes the lines of `furniture`.
    pub fn new(job: &Job, furniture: Option<Furniture>) -> BodyReader {
        let site_lines = job.extract.site_lines.then(|| SiteLines::new(&job.normalize));
        BodyReader { extract: job.extract.clone(), furniture, site_lines }
    }

    /// The text of `body`, which belongs to a page of `host`; `None` if the record says that the
    /// page was removed or only seen. Calls `note` with a word for each thing that is odd about it.
    pub fn text(
        &mut self,
        body: Body,
        host: u64,
        note: &mut impl FnMut(&str),
    ) -> Option<Extracted> {
        let mut extracted = text_of(body, &self.extract)?;
        if extracted.is_gathered {
            note("extracted_by_fallback");
        }
        if extracted.is_cut {
            note("page_cut");
        }
        if let Some(furniture) = &mut self.furniture
            && furniture.take_off(host, &mut extracted.text) > 0
        {
            note("furniture");
        }
        if let Some(site_lines) = &mut self.site_lines
            && site_lines.take_off(&mut extracted.text) > 0
        {
            note("site_lines");
        }
        Some(extracted)
    }
}

/// Finds the normalised text of records, and so their contents. No text is cut into words.
pub struct TextReader {
    bodies: BodyReader,
    normalize: normalize::Options,
    normal: String,
    /// What the digest of the text is made from, besides `normal`, if the text was cut.
    whole: Option<[u8; 32]>,
}

impl TextReader {
    /// A reader of the records of `job`, which removes the lines of `furniture`.
    pub fn new(job: &Job, furniture: Option<Furniture>) -> TextReader {
        TextReader {
            bodies: BodyReader::new(job, furniture),
            normalize: job.normalize.clone(),
            normal: String::new(),
            whole: None,
        }
    }

    /// The content of `body`, which belongs to a page of `host`; [`Id::NONE`] if it has no text.
    pub fn content(&mut self, body: Body, host: u64) -> Id {
        match self.read(body, host, &mut |_| {}) {
            Some(_) => self.found(),
            None => Id::NONE,
        }
    }

    /// The content that was read last; [`Id::NONE`] if there is no text.
    fn found(&self) -> Id {
        match self.whole {
            _ if self.normal.is_empty() => Id::NONE,
            None => Id::of(self.normal.as_bytes()),
            // No normal form has this byte, so no text that was not cut has such a digest.
            Some(whole) => Id::of(&[self.normal.as_bytes(), &[0xff], &whole].concat()),
        }
    }

    /// Sets `normal` to the text of `body`, which belongs to a page of `host`. Returns the flags
    /// that extraction gives a visit; `None` if the record says that the page was removed or only
    /// seen.
    fn read(&mut self, body: Body, host: u64, note: &mut impl FnMut(&str)) -> Option<u8> {
        let extracted = self.bodies.text(body, host, note)?;
        let mut flags = if extracted.is_gathered { GATHERED } else { 0 };
        self.whole = None;
        if normalize::normalize(&extracted.text, &self.normalize, &mut self.normal) {
            note("text_cut");
            flags |= CUT;
            self.whole = Some(*blake3::hash(extracted.text.as_bytes()).as_bytes());
        }
        Some(flags)
    }
}

/// Makes visits. Each worker has one, and reuses its buffers.
pub struct VisitMaker {
    text: TextReader,
    featurizer: Featurizer,
    evidence: EvidenceBuilder,
    letters: Letters,
    features: Vec<Feature>,
    words: Vec<u64>,
}

impl VisitMaker {
    /// A maker for the records of `job`.
    pub fn new(
        job: &Job,
        furniture: Option<Furniture>,
        featurizer: Featurizer,
        signer: Signer,
    ) -> Result<VisitMaker> {
        Ok(VisitMaker {
            text: TextReader::new(job, furniture),
            featurizer,
            evidence: EvidenceBuilder::new(&job.contents, signer)?,
            letters: Letters::default(),
            features: Vec::new(),
            words: Vec::new(),
        })
    }

    /// Sets how the next texts are packed in evidence.
    pub fn set_packing(&mut self, packing: Packing) {
        self.evidence.set_packing(packing);
    }

    /// The visit that only says that the crawl met `url`.
    pub fn seen(&self, url: &str, naming: Naming) -> Visit {
        blank(url, naming, NO_DATE)
    }

    /// The visit of `record`, and the evidence of its text.
    ///
    /// There is no evidence if the text is too short to be compared, if it was gathered from the
    /// whole page, if it was cut, or if `has_evidence` says that its evidence is known already.
    /// Calls `note` with a word for each note about the record.
    pub fn visit(
        &mut self,
        record: Record,
        naming: Naming,
        has_evidence: impl FnOnce(Id) -> bool,
        mut note: impl FnMut(&str),
    ) -> Result<(Visit, Option<EvidenceRow>)> {
        let mut visit = self.read(record, naming, &mut note);
        if visit.content.is_none() {
            return Ok((visit, None));
        }
        let evidence = self.sign(&mut visit, has_evidence, &mut note)?;
        Ok((visit, evidence))
    }

    /// The first part of [`VisitMaker::visit`]: finds the text of the record. The text is not cut
    /// into words.
    pub fn read(&mut self, record: Record, naming: Naming, mut note: impl FnMut(&str)) -> Visit {
        let mut visit = blank(&record.url, naming, record.date.unwrap_or(NO_DATE));
        visit.kind = PAGE;
        visit.score = record.score.unwrap_or(NO_SCORE);
        let without_text = if record.body == Body::Seen { SEEN } else { REMOVED };
        if let Body::Moved(to) = &record.body {
            visit.moved_to = canonical_url(to).doc;
        }
        let Some(flags) = self.text.read(record.body, visit.host, &mut note) else {
            (visit.kind, visit.score) = (without_text, NO_SCORE);
            return visit;
        };
        visit.flags |= flags | if record.is_conversion { CONVERSION } else { 0 };
        if self.text.normal.is_empty() {
            note("empty");
            return visit;
        }
        visit.content = self.text.found();
        visit.chars = u32::try_from(self.text.normal.chars().count()).unwrap_or(u32::MAX);
        self.letters.read(&self.text.normal);
        visit.letters = self.letters.weight();
        if little::is_notice(&self.text.normal, visit.letters) {
            visit.flags |= NOTICE;
        }
        // Counted in the normalised text, so that all pages with this content get the same flag.
        let replaced =
            memchr::memmem::find_iter(self.text.normal.as_bytes(), "\u{FFFD}").count() as u64;
        if replaced * 10 > u64::from(visit.chars) {
            visit.flags |= REPLACED;
            note("replaced_characters");
        }
        visit
    }

    /// The second part: the fingerprint and the evidence of the text of the last visit that
    /// [`VisitMaker::read`] returned.
    pub fn sign(
        &mut self,
        visit: &mut Visit,
        has_evidence: impl FnOnce(Id) -> bool,
        mut note: impl FnMut(&str),
    ) -> Result<Option<EvidenceRow>> {
        if self.evidence.uses_words() {
            self.featurizer.words_and_features(
                &self.text.normal,
                &self.letters,
                &mut self.words,
                &mut self.features,
            );
        } else {
            self.featurizer.features(&self.text.normal, &self.letters, &mut self.features);
        }
        visit.fingerprint = simhash(&self.features);
        if self.featurizer.is_too_short(&self.features) {
            visit.flags |= TOO_SHORT;
            note("too_short");
            return Ok(None);
        }
        if visit.flags & (GATHERED | CUT) != 0 || has_evidence(visit.content) {
            return Ok(None);
        }
        let (content, fingerprint, chars) = (visit.content, visit.fingerprint, visit.chars);
        let (normal, letters, words) = (&self.text.normal, &self.letters, &self.words);
        self.evidence.evidence(content, fingerprint, chars, normal, letters, words).map(Some)
    }
}
