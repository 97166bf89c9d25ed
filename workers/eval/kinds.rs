//! Counts labelled pairs by the kind that their rows name, such as the perturbation that made them.

use crate::confirm::Reason;
use crate::eval::scene::Scale;
use crate::eval::score::{Levels, Measure};
use serde::Serialize;
use std::collections::BTreeMap;

/// A labelled pair of pages of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairOfKind {
    /// The index of its kind.
    pub kind: u32,
    /// A page.
    pub x: u32,
    /// The other.
    pub y: u32,
}

/// The results for the pairs of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfKind {
    /// The kind.
    pub kind: String,
    /// The pairs that are not the same.
    pub differ: u64,
    /// The measures over only its pairs.
    #[serde(flatten)]
    pub levels: Levels,
    /// The wrong pairs by the rule that decided: `identical`, `not_proposed` or a rule.
    pub wrong: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Default)]
struct Sums {
    same: u64,
    differ: u64,
    joined: [u64; 2],
    right: [u64; 2],
    wrong: BTreeMap<&'static str, u64>,
}

/// The measures of `pairs` by kind; `names` are those of the kinds. A kind that no pair of live
/// pages has gets no row.
pub fn of_kinds(scale: &Scale<'_>, names: &[String], pairs: &[PairOfKind]) -> Vec<OfKind> {
    let mut sums = vec![Sums::default(); names.len()];
    for pair in pairs {
        let Some(is_same) = scale.is_same(pair.x, pair.y) else { continue };
        let sums = &mut sums[pair.kind as usize];
        *if is_same { &mut sums.same } else { &mut sums.differ } += 1;
        let (x, y) = (scale.scene.pages[pair.x as usize], scale.scene.pages[pair.y as usize]);
        let (is_joined, rule) = decided(scale, x.text.min(y.text), x.text.max(y.text));
        for (level, is_joined) in [is_joined, x.cluster == y.cluster].into_iter().enumerate() {
            sums.joined[level] += u64::from(is_joined);
            sums.right[level] += u64::from(is_joined && is_same);
        }
        if is_joined != is_same {
            *sums.wrong.entry(rule).or_default() += 1;
        }
    }
    let row = |(kind, sums): (&String, Sums)| {
        let measure = |level: usize| Measure::new(sums.same, sums.joined[level], sums.right[level]);
        let levels = Levels { pair: measure(0), cluster: measure(1) };
        OfKind { kind: kind.clone(), differ: sums.differ, levels, wrong: sums.wrong }
    };
    names.iter().zip(sums).filter(|(_, sums)| sums.same + sums.differ > 0).map(row).collect()
}

/// Whether texts `a` <= `b` are joined, and by which rule they are or are not.
fn decided(scale: &Scale<'_>, a: u32, b: u32) -> (bool, &'static str) {
    if a == b {
        return (true, "identical");
    }
    match scale.scene.pairs.binary_search_by_key(&(a, b), |pair| (pair.a, pair.b)) {
        Ok(at) => (scale.scene.pairs[at].accepted, Reason::name(scale.scene.pairs[at].reason)),
        Err(_) => (false, "not_proposed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::scene::Truth;
    use crate::eval::score::{score, share};
    use crate::eval::testing::scenes;
    use proptest::prelude::*;

    proptest! {
        /// If one kind has every labelled pair, its measures are those of the whole; with two kinds
        /// the counts add up to those of the whole.
        #[test]
        fn kinds_add_up(scene in scenes(), cut in 0usize..30) {
            let Truth::Judged(judged) = &scene.truth else { return Ok(()) };
            let scale = Scale::new(&scene);
            let pairs = |of: &dyn Fn(usize) -> u32| -> Vec<PairOfKind> {
                let pair = |(at, &(x, y, _)): (usize, &(u32, u32, bool))| PairOfKind { kind: of(at), x, y };
                judged.iter().enumerate().map(pair).collect()
            };
            let names = ["first".to_owned(), "second".to_owned()];
            let whole = score(&scale, &[]).all;
            let one = of_kinds(&scale, &names, &pairs(&|_| 1));
            prop_assert_eq!(one.len(), usize::from(!judged.is_empty()));
            for of in &one {
                prop_assert_eq!((of.kind.as_str(), of.levels), ("second", whole));
                let wrong = whole.pair.same + whole.pair.joined - 2 * whole.pair.right;
                prop_assert_eq!(of.wrong.values().sum::<u64>(), wrong);
            }
            let two = of_kinds(&scale, &names, &pairs(&|at| u32::from(at >= cut)));
            let sum = |count: fn(&Levels) -> u64| two.iter().map(|of| count(&of.levels)).sum::<u64>();
            prop_assert_eq!(sum(|of| of.pair.same), whole.pair.same);
            prop_assert_eq!(sum(|of| of.pair.right), whole.pair.right);
            prop_assert_eq!(sum(|of| of.cluster.joined), whole.cluster.joined);
            let differ: u64 = two.iter().map(|of| of.differ).sum();
            prop_assert_eq!(differ + whole.pair.same, judged.len() as u64);
            for of in &two {
                prop_assert_eq!(of.levels.pair.recall, share(of.levels.pair.right, of.levels.pair.same));
            }
        }
    }
}
