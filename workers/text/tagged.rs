//! Chinese words with jieba's tags of what they are.
//!
//! Tags of the dictionary's words lie in a file beside it. jieba-rs guesses the tags of words that
//! no dictionary has. For the few of them that it would cut further, its own dictionary is loaded,
//! which takes a tenth of a second. Words and tags are those of `Jieba::tag`: tests compare them.

use crate::text::dictionary::UserDictionary;
use crate::text::segment::{self, Segmenter};
use jieba_rs::Jieba;
use std::cell::RefCell;
use std::sync::OnceLock;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'t> {
    /// jieba's tag, such as `nr` for the name of a person. The tag of a word that no dictionary has
    /// is guessed from its characters.
    pub name: &'t str,
    /// Whether a dictionary has the word.
    pub known: bool,
}

/// The words of a text, whose tags are looked up when they are asked for.
///
/// ```
/// use workers::text::tagged::{Tag, TaggedWords};
///
/// let words = TaggedWords::of("我来自北京", None);
/// assert_eq!(words.words(), ["我", "来自", "北京"]);
/// assert_eq!(words.tag(2), Tag { name: "ns", known: true });
/// ```
pub struct TaggedWords<'t> {
    text: &'t str,
    words: Vec<&'t str>,
    /// The words of a user.
    user: Option<&'t UserDictionary>,
}

/// jieba with its dictionary.
fn whole() -> &'static Jieba {
    static WHOLE: OnceLock<Jieba> = OnceLock::new();
    WHOLE.get_or_init(Jieba::new)
}

/// jieba with an empty dictionary.
fn empty() -> &'static Jieba {
    static EMPTY: OnceLock<Jieba> = OnceLock::new();
    EMPTY.get_or_init(Jieba::empty)
}

impl<'t> TaggedWords<'t> {
    /// The words of any text, including the words of a user.
    pub fn of(text: &'t str, user: Option<&'t UserDictionary>) -> TaggedWords<'t> {
        thread_local! {
            static SEGMENTER: RefCell<Segmenter> = RefCell::default();
        }
        let (own, mut words) = (user.map(UserDictionary::words), Vec::new());
        SEGMENTER.with_borrow_mut(|segmenter| {
            segmenter.cut_by(own.as_deref(), text, true, |word| words.push(word));
        });
        TaggedWords { text, words, user }
    }

    /// The words, marks and spaces, in order: together they are the text.
    pub fn words(&self) -> &[&'t str] {
        &self.words
    }

    /// The tag of the word at this place, and whether a dictionary has the word.
    pub fn tag(&self, at: usize) -> Tag<'_> {
        let word = self.words[at];
        // A word that both have keeps jieba's tag.
        match segment::tag(word).or_else(|| self.user?.tag(word)) {
            Some(name) => Tag { name, known: true },
            None => Tag { name: self.guess(at), known: false },
        }
    }

    /// The tag of a word that no dictionary has.
    fn guess(&self, at: usize) -> &str {
        let word = self.words[at];
        let mut alphanumeric = word.bytes().filter(u8::is_ascii_alphanumeric).peekable();
        if alphanumeric.peek().is_some() {
            return if alphanumeric.all(|byte| byte.is_ascii_digit()) { "m" } else { "eng" };
        }
        // The guess depends on the word alone. But jieba may cut a word that stands alone; then
        // only the whole dictionary gives the guess.
        match empty().tag(word, true)[..] {
            [ref alone] => alone.tag,
            _ => match self.user {
                Some(user) => user.tagger().tag(self.text, true)[at].tag,
                None => whole().tag(self.text, true)[at].tag,
            },
        }
    }
}
