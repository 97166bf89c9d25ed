//! A text as its signatures and its sketch see it: the normal form, the words in their order, and the shingles, which
//! are made when first asked for and only once however many ask.

use crate::text::shingles::Shingles;

/// How a text is shingled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recipe {
    Set(usize),
    Multiset(usize),
}

/// Shingles of one text after the other, in memory that is reused. As many are kept as there are recipes: a few.
#[derive(Clone, Debug, Default)]
pub struct Shinglings {
    made: Vec<(Recipe, Shingles)>,
    /// How many of `made` are of the present text; those behind them are memory to reuse.
    fresh: usize,
}

/// One text.
pub struct Text<'a> {
    /// The normal form.
    pub normal: &'a str,
    /// The hashes of its words in their order; empty where no signature asks for them.
    pub words: &'a [u64],
    shinglings: &'a mut Shinglings,
}

impl<'a> Text<'a> {
    /// The text of `normal`, whose words are `words`. What `shinglings` held of another text is forgotten.
    pub fn new(normal: &'a str, words: &'a [u64], shinglings: &'a mut Shinglings) -> Text<'a> {
        shinglings.fresh = 0;
        Text { normal, words, shinglings }
    }

    /// The distinct q-grams, hashed, ascending.
    pub fn set(&mut self, q: usize) -> &[u64] {
        self.shingled(Recipe::Set(q))
    }

    /// The q-grams with their repetitions, hashed, ascending.
    pub fn multiset(&mut self, q: usize) -> &[u64] {
        self.shingled(Recipe::Multiset(q))
    }

    /// How many letters and digits the text has, at most `max`.
    pub fn characters(&self, max: usize) -> usize {
        self.normal.chars().filter(|c| c.is_alphanumeric()).take(max).count()
    }

    fn shingled(&mut self, recipe: Recipe) -> &[u64] {
        let Shinglings { made, fresh } = &mut *self.shinglings;
        let at = match made[..*fresh].iter().position(|(made, _)| *made == recipe) {
            Some(at) => at,
            None => {
                if made.len() == *fresh {
                    made.push((recipe, Shingles::default()));
                }
                let (made, shingles) = &mut made[*fresh];
                *made = recipe;
                match recipe {
                    Recipe::Set(q) => shingles.set(self.normal, q),
                    Recipe::Multiset(q) => shingles.multiset(self.normal, q),
                }
                *fresh += 1;
                *fresh - 1
            }
        };
        &made[at].1.hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is remembered of a text is what shingling it afresh gives, and nothing of the text before it.
    #[test]
    fn remembered_is_fresh() {
        let mut shinglings = Shinglings::default();
        for normal in ["one, two, three, two", "two three", "", "春眠不觉晓 处处闻啼鸟"] {
            let mut text = Text::new(normal, &[], &mut shinglings);
            let mut fresh = Shingles::default();
            for q in [5, 2, 5, 3, 2] {
                fresh.set(normal, q);
                assert_eq!(text.set(q), fresh.hashes);
                fresh.multiset(normal, q);
                assert_eq!(text.multiset(q), fresh.hashes);
            }
        }
        assert_eq!(shinglings.made.len(), 6);
    }

    /// Letters and digits count, up to the limit.
    #[test]
    fn characters() {
        let mut shinglings = Shinglings::default();
        let text = Text::new("ab, 春眠 1!", &[], &mut shinglings);
        assert_eq!([text.characters(100), text.characters(3), text.characters(0)], [5, 3, 0]);
    }
}
