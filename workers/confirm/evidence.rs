//! What is known of a content when a pair is decided.

use crate::confirm::prepared::Prepared;
use crate::text::sketch::Sketches;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

/// The evidence of a content.
pub trait Evidence {
    /// The length of the normalised text in characters.
    fn chars(&self) -> u32;
    /// The sketches that [`crate::text::sketch::write`] made of the text.
    fn sketches(&self) -> Sketches<'_>;
    /// The normalised text, where it is kept. Called at most once for a pair, and for few pairs.
    fn text(&self) -> Option<Cow<'_, str>>;
    /// What is computed from the text alone, where the text is kept. Called at most once for a
    /// pair. An implementation for many pairs of one content keeps the result.
    fn prepared(&self) -> Option<Rc<Prepared>> {
        self.text().map(|text| Rc::new(Prepared::of(text.into_owned())))
    }
}

/// Evidence in memory.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The length of the normalised text in characters.
    pub chars: u32,
    /// Its sketches.
    pub sketches: Sketches<'a>,
    /// The text, where it is kept.
    pub text: Option<&'a str>,
}

impl Evidence for Known<'_> {
    fn chars(&self) -> u32 {
        self.chars
    }

    fn sketches(&self) -> Sketches<'_> {
        self.sketches
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.text.map(Cow::Borrowed)
    }
}

/// Evidence in memory of a text that is compared with several others: what is computed from the
/// text is kept.
pub struct Repeated<'a> {
    known: Known<'a>,
    prepared: OnceCell<Option<Rc<Prepared>>>,
}

impl<'a> Repeated<'a> {
    /// Nothing is computed before a pair needs it.
    pub fn new(known: Known<'a>) -> Repeated<'a> {
        Repeated { known, prepared: OnceCell::new() }
    }
}

impl Evidence for Repeated<'_> {
    fn chars(&self) -> u32 {
        self.known.chars()
    }

    fn sketches(&self) -> Sketches<'_> {
        self.known.sketches()
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.known.text()
    }

    fn prepared(&self) -> Option<Rc<Prepared>> {
        self.prepared.get_or_init(|| self.known.prepared()).clone()
    }
}
