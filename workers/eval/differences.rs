//! Counts decided pairs by what differs between their texts: which facts refused a pair, and which
//! differences an accepted pair has.
//!
//! Pairs that were refused because they are not alike say nothing about facts and are left out. The
//! texts are aligned again as the verdict aligned them, so the cost is that of a run's verdicts; if
//! there are many pairs, only some are read.

use crate::confirm::details::{Detail, details};
use crate::confirm::kinds::PartKind;
use crate::confirm::{self, By, Reason};
use crate::error::Result;
use crate::eval::places::{Places, stored_evidence};
use crate::eval::scene::{Scale, TextPair};
use crate::eval::world::World;
use crate::job::Job;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::tables::evidence::Content;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most pairs of texts that are read. If there are more, only every second, third and so on is
/// read.
const PAIRS_MAX: usize = 20_000;

/// The decided pairs by what differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differences {
    /// The pairs of texts that are accepted, or refused for a fact, and that the labels judge.
    pub text_pairs: u64,
    /// The pairs that were read.
    pub read: u64,
    /// The read pairs that were not aligned: a text is not kept or too long, or the two are too
    /// different.
    pub not_aligned: u64,
    /// The kinds of differences; a pair is in the row of each kind that it has.
    pub rows: Vec<OfDifference>,
}

/// The read pairs that differ in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OfDifference {
    /// What differs.
    pub difference: &'static str,
    /// Whether the pairs were accepted in spite of it.
    pub accepted: bool,
    /// The number of pairs of texts.
    pub text_pairs: u64,
    /// The number of their page pairs.
    pub page_pairs: u64,
    /// The number of page pairs for which the verdict is right.
    pub right: u64,
}

/// The kind of part that refused a pair, if one did.
fn refused_for(pair: &TextPair) -> Option<PartKind> {
    match Reason::of(pair.reason) {
        Some(Reason::Numerals) => Some(PartKind::Number),
        Some(Reason::Names) => Some(PartKind::Name),
        Some(Reason::Words) => Some(PartKind::Word),
        _ => None,
    }
}

/// Counts the pairs of a world. `None` if the job does not decide by texts, or keeps no evidence.
///
/// # Errors
///
/// `Io` if evidence cannot be mapped or is damaged.
pub fn differences(
    store: &Store,
    head: &Head,
    job: &Job,
    world: &World,
    scale: &Scale<'_>,
) -> Result<Option<Differences>> {
    let options = job.verdicts()?;
    if options.by != By::Text || !job.contents.evidence {
        return Ok(None);
    }
    let stored = stored_evidence(store, head)?;
    let places = Places::of(world, &stored)?;
    // Pairs with the same first text are adjacent, so its evidence is unpacked once.
    let mut first: Option<(u32, Content<'_>)> = None;
    let count = count(scale, PAIRS_MAX, |pair| {
        if first.as_ref().is_none_or(|(text, _)| *text != pair.a) {
            first = Some((pair.a, places.read(pair.a)?));
        }
        let Some((_, a)) = &first else { return Ok(None) };
        let b = places.read(pair.b)?;
        let content = |text: u32| world.texts[text as usize].content;
        let texts = (a.kept_text(content(pair.a))?, b.kept_text(content(pair.b))?);
        let (Some(x), Some(y)) = texts else { return Ok(None) };
        Ok(differing(&x, &y, pair, &options))
    })?;
    Ok(Some(count))
}

/// What differs between the texts of `pair`; if it is refused, only what refused it.
fn differing(
    x: &str,
    y: &str,
    pair: &TextPair,
    options: &confirm::Options,
) -> Option<BTreeSet<Detail>> {
    let mut found = details(x, y, options)?;
    if let Some(fact) = refused_for(pair) {
        found.retain(|detail| detail.part() == fact);
    }
    Some(found)
}

/// Counts by what `differing` says of at most `pairs_max` pairs, which are evenly spread.
fn count(
    scale: &Scale<'_>,
    pairs_max: usize,
    mut differing: impl FnMut(&TextPair) -> Result<Option<BTreeSet<Detail>>>,
) -> Result<Differences> {
    let is_counted = |pair: &&TextPair| {
        (pair.accepted || refused_for(pair).is_some()) && scale.is_judged(pair.a, pair.b)
    };
    let pairs: Vec<&TextPair> = scale.scene.pairs.iter().filter(is_counted).collect();
    let (mut read, mut not_aligned) = (0, 0);
    let mut sums: BTreeMap<(bool, Detail), [u64; 3]> = BTreeMap::new();
    for pair in pairs.iter().step_by(pairs.len().div_ceil(pairs_max).max(1)) {
        read += 1;
        let Some(found) = differing(pair)? else {
            not_aligned += 1;
            continue;
        };
        let weight = scale.weight(pair.a, pair.b);
        let right = if pair.accepted { weight.same() } else { weight.found() - weight.same() };
        for detail in found {
            let sums = sums.entry((pair.accepted, detail)).or_default();
            sums.iter_mut().zip([1, weight.found(), right]).for_each(|(sum, more)| *sum += more);
        }
    }
    let row =
        |(&(accepted, detail), &[text_pairs, page_pairs, right]): (&(bool, Detail), &[u64; 3])| {
            OfDifference { difference: detail.name(), accepted, text_pairs, page_pairs, right }
        };
    Ok(Differences {
        text_pairs: pairs.len() as u64,
        read,
        not_aligned,
        rows: sums.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::scene::{Page, Scene, Truth};

    /// Pages 0 to 3 have a text each and page 4 that of page 3; 0 and 1, and 2, 3 and 4, are the
    /// same.
    fn scene() -> Scene {
        let page = |text: u32| Page { host: 0, text, content: text, cluster: text };
        let pair = |a: u32, b: u32, reason: Reason, accepted: bool| TextPair {
            a,
            b,
            similarity: 9000,
            reason: reason as u8,
            accepted,
            proposals: 1,
        };
        Scene {
            pages: [0, 1, 2, 3, 3].map(page).to_vec(),
            chars: vec![50; 4],
            pairs: vec![
                pair(0, 1, Reason::Coverage, true),
                pair(0, 2, Reason::Numerals, false),
                pair(0, 3, Reason::CoverageRefused, false),
                pair(1, 3, Reason::Names, false),
                pair(2, 3, Reason::Numerals, false),
            ],
            truth: Truth::Labels(vec![7, 7, 8, 8, 8]),
        }
    }

    /// The counts are those made by hand: a pair is in the row of each of its kinds, weighs as many
    /// page pairs as it stands for, and is right if the labels say so. Pairs that are not alike are
    /// in no row.
    #[test]
    fn counted_by_hand() {
        let scene = scene();
        let scale = Scale::new(&scene);
        let found = count(&scale, 100, |pair| {
            Ok(match (pair.a, pair.b) {
                (0, 1) => Some(BTreeSet::from([Detail::Counter, Detail::Edit])),
                (0, 2) => Some(BTreeSet::from([Detail::Ordinal])),
                (1, 3) => None,
                (2, 3) => Some(BTreeSet::from([Detail::Ordinal, Detail::Date])),
                other => panic!("{other:?} says nothing of facts"),
            })
        });
        let found = found.expect("counted");
        let row = |difference, accepted, text_pairs, page_pairs, right| OfDifference {
            difference,
            accepted,
            text_pairs,
            page_pairs,
            right,
        };
        let rows = vec![
            row("date", false, 1, 2, 0),
            row("ordinal", false, 2, 3, 1),
            row("counter", true, 1, 1, 1),
            row("edit", true, 1, 1, 1),
        ];
        assert_eq!(found, Differences { text_pairs: 4, read: 4, not_aligned: 1, rows });
    }

    /// If there are more pairs than are read, some are read, evenly spread, and the count of all is
    /// reported.
    #[test]
    fn many_pairs_are_sampled() {
        let scene = scene();
        let mut read = Vec::new();
        let found = count(&Scale::new(&scene), 2, |pair| {
            read.push((pair.a, pair.b));
            Ok(None)
        });
        let found = found.expect("counted");
        assert_eq!((found.text_pairs, found.read, read), (4, 2, vec![(0, 1), (1, 3)]));
    }

    /// Of a refused pair only what refused it counts, although an advertisement differs, too.
    #[test]
    fn only_what_refused() {
        let pair = TextPair {
            a: 0,
            b: 1,
            similarity: 9000,
            reason: Reason::Numerals as u8,
            accepted: false,
            proposals: 1,
        };
        let (x, y) = ("第三次会议在北京开幕 阅读 12", "第五次会议在北京开幕 阅读 907");
        let of =
            |pair: &TextPair| differing(x, y, pair, &confirm::Options::default()).expect("aligned");
        assert!(of(&pair).into_iter().eq([Detail::Ordinal]));
        let accepted = TextPair { reason: Reason::Coverage as u8, accepted: true, ..pair };
        assert!(of(&accepted).into_iter().eq([Detail::Ordinal, Detail::Counter]));
    }
}
