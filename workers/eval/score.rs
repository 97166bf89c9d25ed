//! Measures how right a scene is: precision, recall and F1 of pairs and of clusters, by length,
//! host, signature and rule.
//!
//! Two pages are joined at pair level if they have the same text or an accepted pair of their
//! texts, at cluster level if they are in one cluster. Precision is the share of joined pairs that
//! are the same, recall the share of pairs that are the same which are joined, F1 their harmonic
//! mean. Without pairs there is no precision.
//!
//! Page pairs are counted, except for decisions, which count pairs of texts. The counts come from
//! groups, so that the cost is not quadratic in the pages of a label, text or cluster.

use crate::confirm::Reason;
use crate::eval::scene::{Joined, Scale, Scene, Truth};
use crate::eval::tally::{CLASS_ENDS, CLASSES, Cells, OTHER_HOST, SAME_HOST, pairs, within};
use crate::tables::pairs::proposed_by;
use crate::text::signatures::SignatureKind;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Precision and recall, and the page pairs that they are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// The number of pairs that are the same.
    pub same: u64,
    /// The number of joined pairs.
    pub joined: u64,
    /// The number of joined pairs that are the same.
    pub right: u64,
    /// `right / joined`.
    pub precision: Option<f64>,
    /// `right / same`.
    pub recall: Option<f64>,
    /// Their harmonic mean.
    pub f1: Option<f64>,
}

impl Measure {
    /// The measure of these counts.
    pub fn new(same: u64, joined: u64, right: u64) -> Measure {
        let f1 = share(2 * right, same + joined);
        Measure {
            same,
            joined,
            right,
            precision: share(right, joined),
            recall: share(right, same),
            f1,
        }
    }
}

/// `n / of`; `None` if `of` is 0.
pub fn share(n: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| n as f64 / of as f64)
}

/// The measures of both levels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Levels {
    /// By accepted pairs.
    pub pair: Measure,
    /// By clusters.
    pub cluster: Measure,
}

/// The measures of pairs whose shorter text has a length in a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OfLength {
    /// The least length in characters.
    pub chars_min: u32,
    /// The length below which the range ends.
    pub chars_below: Option<u32>,
    /// The measures.
    #[serde(flatten)]
    pub levels: Levels,
}

/// What a signature proposes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfSignature {
    /// The signature's name, or `all`.
    pub signature: String,
    /// The number of pairs of texts that it proposes, which are verified.
    pub verified: u64,
    /// The same for each true pair of texts.
    pub verified_per_true: Option<f64>,
    /// The measure if all proposed pairs were joined, identical texts included.
    pub proposed: Measure,
    /// The measure if only the accepted ones of the proposed pairs were joined, identical texts
    /// included.
    pub confirmed: Measure,
}

/// What a rule decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OfReason {
    /// The rule's name.
    pub reason: &'static str,
    /// Whether it accepted the pairs.
    pub accepted: bool,
    /// The number of pairs of texts.
    pub text_pairs: u64,
    /// The number of their page pairs.
    pub page_pairs: u64,
    /// The number of page pairs for which the rule is right.
    pub right: u64,
}

/// How right a scene is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The number of pages.
    pub pages: u64,
    /// The number of distinct contents. Each empty page counts.
    pub texts: u64,
    /// The number of empty texts.
    pub empty: u64,
    /// The number of pairs of distinct texts that have a pair of pages that is the same. With
    /// labels by page, once for each common label.
    pub true_text_pairs: u64,
    /// All pairs.
    pub all: Levels,
    /// Without pairs of identical texts.
    pub distinct: Levels,
    /// By the length of the shorter text.
    pub by_length: Vec<OfLength>,
    /// Pairs of pages of one host.
    pub same_host: Levels,
    /// Pairs of pages of two hosts.
    pub other_host: Levels,
    /// By signature: SimHash first, all together last.
    pub signatures: Vec<OfSignature>,
    /// By rule.
    pub reasons: Vec<OfReason>,
}

/// The score of a scene where SimHash and `kinds` propose pairs.
pub fn score(scale: &Scale<'_>, kinds: &[SignatureKind]) -> Score {
    let scene = scale.scene;
    let truth = same(scale);
    let identical = scale.identical();
    let accepted =
        scale.join(scene.pairs.iter().filter(|pair| pair.accepted).map(|pair| (pair.a, pair.b)));
    let (pair, cluster) = (identical.plus(accepted), clustered(scale));
    let levels = |of: &dyn Fn(&Cells) -> u64| {
        let measure =
            |joined: &Joined| Measure::new(of(&truth), of(&joined.found), of(&joined.right));
        Levels { pair: measure(&pair), cluster: measure(&cluster) }
    };
    let differing = truth.minus(&same_content(scale)).total();
    let distinct = |joined: Joined| {
        let joined = joined.minus(identical);
        Measure::new(differing, joined.found.total(), joined.right.total())
    };
    let by_length = (0..CLASSES).map(|class| OfLength {
        chars_min: class.checked_sub(1).map_or(0, |before| CLASS_ENDS[before]),
        chars_below: CLASS_ENDS.get(class).copied(),
        levels: levels(&|cells| cells.of_class(class)),
    });
    let true_text_pairs = true_text_pairs(scale);
    Score {
        pages: scene.pages.len() as u64,
        texts: scene.pages.iter().map(|page| page.content).collect::<BTreeSet<_>>().len() as u64,
        empty: scene.chars.iter().filter(|chars| **chars == 0).count() as u64,
        true_text_pairs,
        all: levels(&Cells::total),
        distinct: Levels { pair: distinct(pair), cluster: distinct(cluster) },
        by_length: by_length.collect(),
        same_host: levels(&|cells| cells.of_host(SAME_HOST)),
        other_host: levels(&|cells| cells.of_host(OTHER_HOST)),
        signatures: signatures(scale, kinds, truth.total(), identical, true_text_pairs),
        reasons: reasons(scale),
    }
}

/// The pairs of pages with the same key, see [`within`].
fn keyed<K: Ord>(scene: &Scene, key: impl Fn(usize) -> K) -> Cells {
    let class = |text: u32| crate::eval::tally::class(scene.chars[text as usize]);
    within(scene.pages.iter().enumerate().map(|(at, page)| (key(at), page.host, class(page.text))))
}

/// The pairs named by the labels for which `which` is true, by class and host.
fn named(scale: &Scale<'_>, which: impl Fn(u32, u32, bool) -> bool) -> Cells {
    let mut cells = Cells::default();
    for pair in scale.labelled_pairs().iter().filter(|pair| which(pair.x, pair.y, pair.same)) {
        cells.0[scale.class(pair.a, pair.b)][scale.host(pair.x, pair.y)] += 1;
    }
    cells
}

/// The page pairs that are the same.
pub fn same(scale: &Scale<'_>) -> Cells {
    match &scale.scene.truth {
        Truth::Labels(labels) => keyed(scale.scene, |page| labels[page]),
        Truth::Judged(_) | Truth::Listed(_) => named(scale, |_, _, same| same),
    }
}

/// The page pairs that are the same and have one content, whether it folds or says too little.
fn same_content(scale: &Scale<'_>) -> Cells {
    let content = |page: usize| scale.scene.pages[page].content;
    match &scale.scene.truth {
        Truth::Labels(labels) => keyed(scale.scene, |page| (content(page), labels[page])),
        Truth::Judged(_) | Truth::Listed(_) => {
            named(scale, |x, y, same| same && content(x as usize) == content(y as usize))
        }
    }
}

/// The page pairs that clusters join.
fn clustered(scale: &Scale<'_>) -> Joined {
    let scene = scale.scene;
    let cluster = |page: usize| scene.pages[page].cluster;
    let together = |x: u32, y: u32| cluster(x as usize) == cluster(y as usize);
    match &scene.truth {
        Truth::Labels(labels) => Joined {
            found: keyed(scene, cluster),
            right: keyed(scene, |page| (cluster(page), labels[page])),
        },
        Truth::Judged(_) => Joined {
            found: named(scale, |x, y, _| together(x, y)),
            right: named(scale, |x, y, same| same && together(x, y)),
        },
        Truth::Listed(_) => {
            Joined { found: keyed(scene, cluster), right: named(scale, |x, y, _| together(x, y)) }
        }
    }
}

/// The number of pairs of distinct contents that have a pair of pages which is the same.
pub fn true_text_pairs(scale: &Scale<'_>) -> u64 {
    let pages = &scale.scene.pages;
    match &scale.scene.truth {
        Truth::Labels(labels) => {
            let contents = pages.iter().map(|page| page.content);
            let of_labels: BTreeSet<(u32, u32)> = labels.iter().copied().zip(contents).collect();
            let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
            of_labels.iter().for_each(|(label, _)| *counts.entry(*label).or_default() += 1);
            counts.values().map(|n| pairs(*n)).sum()
        }
        Truth::Judged(_) | Truth::Listed(_) => {
            let same = scale.labelled_pairs().iter().filter(|pair| pair.same);
            let contents =
                same.map(|pair| [pair.x, pair.y].map(|page| pages[page as usize].content));
            let differing = contents.filter(|[a, b]| a != b).map(|[a, b]| (a.min(b), a.max(b)));
            differing.collect::<BTreeSet<_>>().len() as u64
        }
    }
}

fn signatures(
    scale: &Scale<'_>,
    kinds: &[SignatureKind],
    same: u64,
    identical: Joined,
    true_text_pairs: u64,
) -> Vec<OfSignature> {
    let pairs: Vec<_> =
        scale.scene.pairs.iter().filter(|pair| scale.is_judged(pair.a, pair.b)).collect();
    let of = |name: &str, proposes: &dyn Fn(u64) -> bool| {
        let proposed = || pairs.iter().filter(|pair| proposes(pair.proposals));
        let measure = |accepted_alone: bool| {
            let chosen = proposed().filter(|pair| pair.accepted || !accepted_alone);
            let joined = scale.join(chosen.map(|pair| (pair.a, pair.b))).plus(identical);
            Measure::new(same, joined.found.total(), joined.right.total())
        };
        let verified = proposed().count() as u64;
        OfSignature {
            signature: name.to_owned(),
            verified,
            verified_per_true: share(verified, true_text_pairs),
            proposed: measure(false),
            confirmed: measure(true),
        }
    };
    let by = |number: u8| move |proposals: u64| proposed_by(proposals, number) > 0;
    let mut signatures = vec![of("simhash", &by(0))];
    signatures.extend(kinds.iter().map(|kind| of(kind.name(), &by(kind.number()))));
    signatures.push(of("all", &|_| true));
    signatures
}

fn reasons(scale: &Scale<'_>) -> Vec<OfReason> {
    let mut of: BTreeMap<(bool, u8), [u64; 3]> = BTreeMap::new();
    for pair in scale.scene.pairs.iter().filter(|pair| scale.is_judged(pair.a, pair.b)) {
        let weight = scale.weight(pair.a, pair.b);
        let right = if pair.accepted { weight.same() } else { weight.found() - weight.same() };
        let sums = of.entry((!pair.accepted, pair.reason)).or_default();
        sums.iter_mut().zip([1, weight.found(), right]).for_each(|(sum, more)| *sum += more);
    }
    let named =
        |(&(refused, reason), &[text_pairs, page_pairs, right]): (&(bool, u8), &[u64; 3])| {
            OfReason {
                reason: Reason::name(reason),
                accepted: !refused,
                text_pairs,
                page_pairs,
                right,
            }
        };
    of.iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::testing::{judge, scenes};
    use proptest::prelude::*;

    /// The plain form: all pairs of pages one by one, whether they are the same and whether they
    /// are joined.
    fn plain(
        scene: &Scene,
        counts: impl Fn(usize, usize) -> bool,
        joins: impl Fn(usize, usize) -> bool,
    ) -> Measure {
        let (mut same, mut joined, mut right) = (0, 0, 0);
        for y in 0..scene.pages.len() {
            for x in (0..y).filter(|x| counts(*x, y)) {
                let Some(is_same) = judge(&scene.truth, x as u32, y as u32) else { continue };
                let is_joined = joins(x, y);
                same += u64::from(is_same);
                joined += u64::from(is_joined);
                right += u64::from(is_same && is_joined);
            }
        }
        Measure::new(same, joined, right)
    }

    proptest! {
        /// Every number equals that of all pairs of pages one by one, for every form of labels.
        #[test]
        fn counts_are_those_of_all_pairs(scene in scenes()) {
            let score = score(&Scale::new(&scene), &[SignatureKind::MinHash, SignatureKind::SpotSigs]);
            let page = |x: usize| scene.pages[x];
            let chars = |x: usize| scene.chars[page(x).text as usize];
            let pair = |x: usize, y: usize| {
                let (a, b) = (page(x).text.min(page(y).text), page(x).text.max(page(y).text));
                scene.pairs.iter().find(|pair| (pair.a, pair.b) == (a, b))
            };
            let identical = |x: usize, y: usize| page(x).text == page(y).text;
            let differ = |x: usize, y: usize| page(x).content != page(y).content;
            let joins = |x: usize, y: usize| identical(x, y) || pair(x, y).is_some_and(|pair| pair.accepted);
            let together = |x: usize, y: usize| page(x).cluster == page(y).cluster;
            let levels = |counts: &dyn Fn(usize, usize) -> bool| {
                Levels { pair: plain(&scene, counts, joins), cluster: plain(&scene, counts, together) }
            };
            prop_assert_eq!(score.all, levels(&|_, _| true));
            prop_assert_eq!(score.same_host, levels(&|x, y| page(x).host == page(y).host));
            prop_assert_eq!(score.other_host, levels(&|x, y| page(x).host != page(y).host));
            prop_assert_eq!(score.distinct, levels(&differ));
            let (mut contents, mut same) = (BTreeSet::new(), BTreeSet::new());
            for x in 0..scene.pages.len() {
                contents.insert(page(x).content);
                for y in (0..x).filter(|y| differ(x, *y)) {
                    let of = (page(x).content.min(page(y).content), page(x).content.max(page(y).content));
                    let label = if let Truth::Labels(labels) = &scene.truth { labels[x] } else { 0 };
                    if judge(&scene.truth, x as u32, y as u32) == Some(true) {
                        same.insert((label, of));
                    }
                }
            }
            prop_assert_eq!((score.texts, score.true_text_pairs), (contents.len() as u64, same.len() as u64));
            for class in &score.by_length {
                let range = class.chars_min..class.chars_below.unwrap_or(u32::MAX);
                prop_assert_eq!(class.levels, levels(&|x, y| range.contains(&chars(x).min(chars(y)))));
            }
            for (of, number) in score.signatures.iter().zip([Some(0), Some(1), Some(4), None]) {
                let by = |x, y| pair(x, y).filter(|pair| number.is_none_or(|n| proposed_by(pair.proposals, n) > 0));
                let proposed = plain(&scene, |_, _| true, |x, y| identical(x, y) || by(x, y).is_some());
                let accepts = |x, y| by(x, y).is_some_and(|pair| pair.accepted);
                let confirmed = plain(&scene, |_, _| true, |x, y| identical(x, y) || accepts(x, y));
                prop_assert_eq!((of.proposed, of.confirmed), (proposed, confirmed));
            }
            for of in &score.reasons {
                let by = |x, y| pair(x, y).is_some_and(|p| Reason::name(p.reason) == of.reason && p.accepted == of.accepted);
                let plain = plain(&scene, |_, _| true, by);
                let right = if of.accepted { plain.right } else { plain.joined - plain.right };
                prop_assert_eq!((of.page_pairs, of.right), (plain.joined, right));
            }
            let verified = score.signatures.last().map(|all| all.verified);
            prop_assert_eq!(verified, Some(score.reasons.iter().map(|of| of.text_pairs).sum()));
        }
    }

    /// Without pairs there is no precision and no recall.
    #[test]
    fn no_pairs_give_no_measure() {
        let empty =
            Scene { pages: vec![], chars: vec![], pairs: vec![], truth: Truth::Labels(vec![]) };
        let score = score(&Scale::new(&empty), &[]);
        assert_eq!(score.all.pair, Measure::new(0, 0, 0));
        assert_eq!(
            (score.all.pair.precision, score.all.cluster.recall, score.all.pair.f1),
            (None, None, None)
        );
    }
}
