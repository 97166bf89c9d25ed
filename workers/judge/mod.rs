//! Decides pairs of contents by the evidence of both.
//!
//! Most pairs are decided without their texts. For the other pairs texts are read and prepared, in
//! an order in which pairs that share texts follow each other.

use crate::confirm::prepared::{Prepared, PreparedTexts};
use crate::confirm::{By, Evidence, Options, Verdict, by_fingerprint, decide, decide_unread};
use crate::distinct::distinct;
use crate::error::{Error, Result};
use crate::graph::walk;
use crate::id::Id;
use crate::tables::evidence::{Content, Sketched, StoredEvidence, damaged};
use crate::text::hash::BuildSeeded;
use crate::text::simhash;
use crate::text::sketch::{self, Sketches};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The number of pairs whose contents are looked up at once.
const PAIRS_AT_ONCE: usize = 1 << 13;
/// The most bytes that a worker keeps of contents without their texts. Before there would be more,
/// it forgets all of them.
const SKETCHED_BYTES_MAX: usize = 1 << 26;
/// The most bytes of one of these contents.
const CONTENT_BYTES_MAX: usize =
    size_of::<(Id, Sketched)>() + 24 + (sketch::SHORT_BITS + sketch::LONG_BITS_MAX) / 8;
// The contents that are looked up at once fit.
const _: () = assert!(2 * PAIRS_AT_ONCE * CONTENT_BYTES_MAX <= SKETCHED_BYTES_MAX);

/// The contents that were read without their texts.
#[derive(Default)]
struct SketchedContents {
    of: HashMap<Id, Sketched, BuildSeeded>,
    bytes: usize,
}

impl SketchedContents {
    /// Those of `contents` that were not read, ascending.
    fn without(&self, contents: impl Iterator<Item = Id>) -> Vec<Id> {
        let mut last = Id::NONE;
        let is_next = |content: &Id| std::mem::replace(&mut last, *content) != *content;
        distinct(contents.filter(is_next).filter(|content| !self.of.contains_key(content)))
    }
}

/// A pair that is to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairToDecide {
    /// One content.
    pub a: Id,
    /// The other content.
    pub b: Id,
    /// The number of bits in which their fingerprints differ, if it is known.
    pub distance: Option<u32>,
}

/// Decides pairs by the evidence of both contents. The evidence is opened when it is first needed.
pub struct Judge<'a> {
    options: Options,
    evidence: OnceCell<StoredEvidence>,
    sketched: RefCell<SketchedContents>,
    texts: RefCell<PreparedTexts>,
    open: Box<dyn Fn() -> Result<StoredEvidence> + 'a>,
}

impl<'a> Judge<'a> {
    /// A judge that decides by `options`, in which every default is filled in, from the evidence
    /// that `open` opens.
    pub fn new(options: Options, open: impl Fn() -> Result<StoredEvidence> + 'a) -> Judge<'a> {
        let (evidence, sketched, texts) = (OnceCell::new(), RefCell::default(), RefCell::default());
        Judge { options, evidence, sketched, texts, open: Box::new(open) }
    }

    fn evidence(&self) -> Result<&StoredEvidence> {
        match self.evidence.get() {
            Some(evidence) => Ok(evidence),
            None => {
                let evidence = (self.open)()?;
                Ok(self.evidence.get_or_init(|| evidence))
            }
        }
    }

    /// Calls `found` with the position, the distance and the verdict of each of `pairs`, in any
    /// order. If only fingerprints decide and the distance is known, no evidence is read.
    pub fn verdicts(
        &self,
        pairs: &[PairToDecide],
        mut found: impl FnMut(usize, u32, Verdict) -> Result<()>,
    ) -> Result<()> {
        let mut open = Vec::new();
        for (start, pairs) in (0..).step_by(PAIRS_AT_ONCE).zip(pairs.chunks(PAIRS_AT_ONCE)) {
            self.by_sketches(start, pairs, &mut open, &mut found)?;
        }
        self.by_texts(pairs, &open, found)
    }

    /// Decides pairs, of which the first has the position `start`, by what is known without their
    /// texts, and adds the positions of the other pairs to `open`. Most pairs of texts made to
    /// collide end here.
    fn by_sketches(
        &self,
        start: usize,
        pairs: &[PairToDecide],
        open: &mut Vec<usize>,
        found: &mut impl FnMut(usize, u32, Verdict) -> Result<()>,
    ) -> Result<()> {
        let by_distance =
            |pair: &PairToDecide| pair.distance.filter(|_| self.options.by == By::Fingerprint);
        let looked_up = pairs.iter().filter(|pair| by_distance(pair).is_none());
        let mut known = self.sketched.borrow_mut();
        self.sketch(
            &mut known,
            looked_up.clone().map(|pair| pair.a).chain(looked_up.map(|pair| pair.b)),
        )?;
        let of = |content: &Id| {
            let lost = || Error::internal("a pair of a content without evidence");
            known.of.get(content).ok_or_else(lost)
        };
        // Pairs are in the order of their first contents.
        let mut first = None;
        for (at, pair) in (start..).zip(pairs) {
            if let Some(distance) = by_distance(pair) {
                found(at, distance, by_fingerprint(distance, &self.options))?;
                continue;
            }
            let a = match first {
                Some((content, sketched)) if content == pair.a => sketched,
                _ => of(&pair.a)?,
            };
            first = Some((pair.a, a));
            let b = of(&pair.b)?;
            let distance = simhash::distance(a.fingerprint, b.fingerprint);
            match decide_unread(a, b, distance, &self.options) {
                Some(verdict) => found(at, distance, verdict)?,
                None => open.push(at),
            }
        }
        Ok(())
    }

    /// Reads `contents` without their texts. A content of many pairs is read once for all of them.
    fn sketch(
        &self,
        known: &mut SketchedContents,
        contents: impl Iterator<Item = Id> + Clone,
    ) -> Result<()> {
        let mut missing = known.without(contents.clone());
        if known.bytes + missing.len() * CONTENT_BYTES_MAX > SKETCHED_BYTES_MAX {
            *known = SketchedContents::default();
            missing = known.without(contents);
        }
        if missing.is_empty() {
            return Ok(());
        }
        let evidence = self.evidence()?;
        for (content, place) in missing.iter().zip(evidence.places(&missing)?) {
            let sketched = evidence.read(*content, place)?.sketched();
            known.bytes += size_of::<(Id, Sketched)>() + sketched.sketches.len();
            known.of.insert(*content, sketched);
        }
        Ok(())
    }

    /// Decides, by their texts, those of `pairs` whose positions are in `open`.
    fn by_texts(
        &self,
        pairs: &[PairToDecide],
        open: &[usize],
        mut found: impl FnMut(usize, u32, Verdict) -> Result<()>,
    ) -> Result<()> {
        if open.is_empty() {
            return Ok(());
        }
        let contents = distinct(open.iter().flat_map(|at| [pairs[*at].a, pairs[*at].b]));
        let evidence = self.evidence()?;
        let places = evidence.places(&contents)?;
        let is_read = vec![Cell::new(false); contents.len()];
        let read = |number: u32| -> Result<Content<'_>> {
            let at = number as usize;
            match is_read[at].replace(true) {
                true => evidence.read_again(contents[at], places[at]),
                false => evidence.read(contents[at], places[at]),
            }
        };
        let number = |content: &Id| contents.binary_search(content).unwrap_or_default() as u32;
        let edges: Vec<(u32, u32)> =
            open.iter().map(|at| (number(&pairs[*at].a), number(&pairs[*at].b))).collect();
        // Pairs of texts that are alike follow each other, so that few texts have to be prepared
        // again. Pairs with the same later text are neighbours.
        let mut later: Option<Compared<'_>> = None;
        for edge in walk::order(contents.len(), &edges) {
            let (at, (one, other)) = (open[edge.at], edge.nodes);
            let (a, b) = (contents[one as usize], contents[other as usize]);
            if later.as_ref().is_none_or(|known| known.id != b) {
                later = Some(Compared { id: b, content: read(other)?, texts: &self.texts });
            }
            let Some(other) = &later else { continue };
            let one = Compared { id: a, content: read(one)?, texts: &self.texts };
            let distance = simhash::distance(one.content.fingerprint, other.content.fingerprint);
            let verdict = decide(&one, other, distance, &self.options);
            for known in [&one, other] {
                if known.content.is_damaged() {
                    return Err(damaged(known.id, "is damaged"));
                }
            }
            found(at, distance, verdict)?;
        }
        Ok(())
    }
}

/// The evidence of a content whose text stays prepared for other pairs.
struct Compared<'a> {
    id: Id,
    content: Content<'a>,
    texts: &'a RefCell<PreparedTexts>,
}

impl Evidence for Compared<'_> {
    fn chars(&self) -> u32 {
        self.content.chars()
    }

    fn sketches(&self) -> Sketches<'_> {
        self.content.sketches()
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.content.text()
    }

    fn prepared(&self) -> Option<Rc<Prepared>> {
        self.texts.borrow_mut().get(self.id, || self.content.text().map(Cow::into_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::lookup::Lookup;
    use crate::store::segment;
    use crate::tables::EvidenceRow;

    /// More was kept than the limit says, because what was about to be read did not count. Contents
    /// that were known are read again if they are needed.
    #[test]
    fn what_is_kept_has_a_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let ids = [1, 2, 3].map(|high| Id { high, low: 0 });
        let none = Box::<[u8]>::default;
        let row = |id| EvidenceRow::new(id, 7, 9, none(), none(), none());
        let rows = ids.map(row).to_vec();
        let written = segment::write(folder.path(), "test", rows).expect("written").expect("rows");
        let judge = Judge::new(Options::default(), || {
            let mut lookup = Lookup::default();
            lookup.push(folder.path(), &written)?;
            Ok(StoredEvidence::new(lookup))
        });
        let mut known = judge.sketched.borrow_mut();
        known.bytes = SKETCHED_BYTES_MAX - CONTENT_BYTES_MAX;
        judge.sketch(&mut known, ids.into_iter().take(1)).expect("read");
        assert!(known.of.len() == 1 && known.bytes > SKETCHED_BYTES_MAX - CONTENT_BYTES_MAX);
        judge.sketch(&mut known, ids.into_iter()).expect("read");
        assert_eq!((known.of.len(), known.bytes), (3, 3 * size_of::<(Id, Sketched)>()));
    }
}
