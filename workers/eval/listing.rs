//! Lists wrong pairs for a person to read: false accepts and misses.
//!
//! Each pair of texts, or text that different pages share, is listed once with an example of its
//! pages, in the order of texts, which is that of their first pages' URLs.

use crate::confirm::Reason;
use crate::distinct::distinct;
use crate::eval::scene::{Scale, TextPair, Truth};
use std::collections::BTreeMap;

/// Two texts with wrong page pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The first page of the lesser text that is in a wrong pair.
    pub x: u32,
    /// The first page of the other text that makes a wrong pair with `x`.
    pub y: u32,
    /// The number of wrong page pairs of these texts.
    pub page_pairs: u64,
    /// The similarity in 1/10,000, if the pair was decided.
    pub similarity: Option<u16>,
    /// The rule that decided; `identical` or `not_proposed`.
    pub reason: &'static str,
}

impl Wrong {
    fn new(
        (x, y): (u32, u32),
        page_pairs: u64,
        pair: Option<&TextPair>,
        otherwise: &'static str,
    ) -> Wrong {
        let reason = pair.map_or(otherwise, |pair| Reason::name(pair.reason));
        Wrong { x, y, page_pairs, similarity: pair.map(|pair| pair.similarity), reason }
    }
}

/// The first `most` pairs of texts that are joined and have pages that are not the same.
pub fn false_accepts(scale: &Scale<'_>, most: usize) -> Vec<Wrong> {
    let mut joined = scale.scene.pairs.iter().filter(|pair| pair.accepted).peekable();
    let mut wrong = Vec::new();
    for text in 0..scale.scene.chars.len() as u32 {
        // A text's own pages come first, then its pairs: this is ascending.
        let own = std::iter::once((text, text, None));
        let pairs = std::iter::from_fn(|| {
            joined.next_if(|pair| pair.a == text).map(|pair| (pair.a, pair.b, Some(pair)))
        });
        for (a, b, pair) in own.chain(pairs) {
            let weight = scale.weight(a, b);
            let page_pairs = weight.found() - weight.same();
            if page_pairs > 0
                && wrong.len() < most
                && let Some(example) = example(scale, a, b, false)
            {
                wrong.push(Wrong::new(example, page_pairs, pair, "identical"));
            }
        }
        if wrong.len() == most {
            break;
        }
    }
    wrong
}

/// The first `most` pairs of texts that are not joined and have pages that are the same.
pub fn misses(scale: &Scale<'_>, most: usize) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut miss = |a: u32, b: u32| {
        let at = scale.scene.pairs.binary_search_by_key(&(a, b), |pair| (pair.a, pair.b));
        let pair = at.ok().map(|at| &scale.scene.pairs[at]);
        if wrong.len() < most
            && !pair.is_some_and(|pair| pair.accepted)
            && let Some(example) = example(scale, a, b, true)
        {
            wrong.push(Wrong::new(example, scale.weight(a, b).same(), pair, "not_proposed"));
        }
        wrong.len() < most
    };
    match &scale.scene.truth {
        Truth::Labels(_) => {
            let texts = scale.scene.chars.len() as u32;
            let mut of_label: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for text in 0..texts {
                scale
                    .labels_of(text)
                    .for_each(|label| of_label.entry(label).or_default().push(text));
            }
            for a in 0..texts {
                let behind = |label: u32| {
                    let texts = &of_label[&label];
                    texts[texts.partition_point(|text| *text <= a)..].iter().copied()
                };
                let others: Vec<u32> = distinct(scale.labels_of(a).flat_map(behind));
                if !others.into_iter().all(|b| miss(a, b)) {
                    break;
                }
            }
        }
        Truth::Judged(_) | Truth::Listed(_) => {
            let mut of_texts = scale.labelled_pairs().chunk_by(|x, y| (x.a, x.b) == (y.a, y.b));
            of_texts.all(|pairs| {
                let (a, b) = (pairs[0].a, pairs[0].b);
                a == b || !pairs.iter().any(|pair| pair.same) || miss(a, b)
            });
        }
    }
    wrong
}

/// The first pages of texts `a` <= `b` whose label is `same`.
fn example(scale: &Scale<'_>, a: u32, b: u32, same: bool) -> Option<(u32, u32)> {
    // If the labels name pairs one by one, only those of these texts are searched.
    let named = || {
        scale
            .labelled_pairs_of(a, b)
            .iter()
            .find(|pair| pair.same == same)
            .map(|pair| (pair.x, pair.y))
    };
    match (&scale.scene.truth, same) {
        (Truth::Judged(_), _) | (Truth::Listed(_), true) => return named(),
        _ => {}
    }
    let mut tried: Option<u32> = None;
    for x in scale.pages_of(a) {
        // A page with the same label as the last page finds nothing either.
        if let Truth::Labels(labels) = &scale.scene.truth
            && tried.replace(labels[x as usize]) == Some(labels[x as usize])
        {
            continue;
        }
        let mut others = scale.pages_of(b).filter(|y| a != b || x < *y);
        if let Some(y) = others.find(|y| scale.is_same(x, *y) == Some(same)) {
            return Some((x, y));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::scene::Scene;
    use crate::eval::testing::{judge, scenes};
    use proptest::prelude::*;

    /// The plain form: all pairs of texts, and for each all pairs of pages.
    fn plain(scene: &Scene, same: bool) -> Vec<Wrong> {
        let texts = scene.chars.len() as u32;
        let pages = |text: u32| {
            (0..scene.pages.len() as u32)
                .filter(move |page| scene.pages[*page as usize].text == text)
        };
        let mut wrong = Vec::new();
        for a in 0..texts {
            for b in a..texts {
                let pair = scene.pairs.iter().find(|pair| (pair.a, pair.b) == (a, b));
                if (a == b || pair.is_some_and(|pair| pair.accepted)) == same {
                    continue;
                }
                let of = pages(a)
                    .flat_map(|x| pages(b).map(move |y| (x, y)))
                    .filter(|(x, y)| a != b || x < y);
                let such: Vec<(u32, u32)> =
                    of.filter(|(x, y)| judge(&scene.truth, *x, *y) == Some(same)).collect();
                if let Some(first) = such.first() {
                    let otherwise = if a == b { "identical" } else { "not_proposed" };
                    wrong.push(Wrong::new(*first, such.len() as u64, pair, otherwise));
                }
            }
        }
        wrong
    }

    proptest! {
        /// The list is the same as by a test of all pairs one by one, cut to the requested length.
        #[test]
        fn listed_are_those_of_all_pairs(scene in scenes(), most in 0usize..5) {
            let scale = Scale::new(&scene);
            for (same, found) in [(false, false_accepts as fn(&Scale<'_>, usize) -> Vec<Wrong>), (true, misses)] {
                let all = plain(&scene, same);
                prop_assert_eq!(&found(&scale, usize::MAX), &all);
                prop_assert_eq!(found(&scale, most), &all[..most.min(all.len())]);
            }
        }
    }
}
