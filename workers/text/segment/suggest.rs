//! Adds words to the dictionary, with the frequencies that jieba suggests where none are given.

use crate::text::segment::Segmenter;
use crate::text::segment::user::UserWords;

/// The words of `list`, each with its frequency: of 1 to [`WORD_CHARS_MAX`] characters, from 1 to
/// [`FREQUENCY_MAX`]. If a word occurs again, the last frequency counts. A word without a frequency
/// gets the least frequency with which it is found, given the words before it.
///
/// ```
/// use workers::text::segment::suggest::user_words;
///
/// let words = user_words([("创新办", Some(3)), ("云计算", None)]);
/// assert_eq!((words.frequency("创新办"), words.frequency("云计算")), (Some(3), Some(1)));
/// ```
///
/// [`WORD_CHARS_MAX`]: super::user::WORD_CHARS_MAX
/// [`FREQUENCY_MAX`]: super::user::FREQUENCY_MAX
pub fn user_words<'w>(list: impl IntoIterator<Item = (&'w str, Option<u64>)>) -> UserWords {
    let (mut words, mut segmenter) = (UserWords::none(), Segmenter::default());
    for (word, frequency) in list {
        let frequency = frequency.unwrap_or_else(|| suggested(&words, word, &mut segmenter));
        words.set(word, frequency);
    }
    words
}

/// One more than the joint frequency of the words into which `word` is cut now, but not less than
/// its present frequency: a word with punctuation is never found, whatever its frequency.
///
/// jieba-rs (`suggest_freq`) adds logarithms, and its result may be less by one. We multiply
/// integers, so that all machines get the same result.
fn suggested(words: &UserWords, word: &str, segmenter: &mut Segmenter) -> u64 {
    const FRACTION_BITS: u32 = 32;
    let total = u128::from(words.total());
    let mut together = total << FRACTION_BITS;
    segmenter.cut_by(Some(words), word, false, |part| {
        together = together * u128::from(words.frequency(part).unwrap_or(1)) / total;
    });
    ((together >> FRACTION_BITS) as u64 + 1).max(words.frequency(word).unwrap_or(1))
}
