//! Estimates precision and recall, with intervals, from the answers about each stratum.
//!
//! The share of a side (accepted, refused) that is the same is the stratified estimate: the shares
//! of the strata, weighted by their pairs (Cochran 1977, chapter 5). Its interval is Wilson's
//! (1927) for the number of answers that a simple random sample of the same variance would have, as
//! in Korn and Graubard (1998). We differ from them in the variance: each stratum counts as if it
//! had one more answer of either kind, so that a stratum with few answers that agree has some
//! variance. Strata of which every pair was asked about add nothing to the variance.
//!
//! With A accepted and M refused pairs that are the same, recall is A / (A + M). The two are
//! independent, and the interval of M / A comes from their intervals (Donner and Zou 2012,
//! "MOVER-R").

use serde::Serialize;

/// The answers about a stratum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Whether the store accepted its pairs.
    pub accepted: bool,
    /// Its pairs.
    pub pairs: u64,
    /// Answers that the two are the same.
    pub yes: u64,
    /// Answers that they are not.
    pub no: u64,
}

impl Tally {
    /// The number of answers.
    pub fn answers(&self) -> u64 {
        self.yes + self.no
    }
}

/// A value, and an interval that contains the true value in 95 of 100 samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// Precision and recall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The share of accepted pairs that are the same. `None` if no pair is accepted.
    pub precision: Option<Interval>,
    /// Of the decided pairs that are the same, the share that is accepted. `None` if the answers
    /// have no pair that is the same, or before each stratum of refused pairs has an answer.
    pub recall: Option<Interval>,
}

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_985;

/// Estimates precision and recall. `None` before each stratum of accepted pairs has an answer, and,
/// if no pair is accepted, each of refused ones.
pub fn estimate(tallies: &[Tally]) -> Option<Estimate> {
    let side = |accepted: bool| tallies.iter().filter(move |of| of.accepted == accepted).copied();
    let (accepted, refused): (Vec<Tally>, Vec<Tally>) =
        (side(true).collect(), side(false).collect());
    let pairs = |side: &[Tally]| side.iter().map(|of| of.pairs).sum::<u64>() as f64;
    let none = Interval { value: 0.0, low: 0.0, high: 0.0 };
    let [a, m] =
        [&accepted, &refused].map(|side| if side.is_empty() { Some(none) } else { share(side) });
    let a = a?;
    let scaled =
        |of: Interval, n: f64| Interval { value: of.value * n, low: of.low * n, high: of.high * n };
    let precision = (!accepted.is_empty()).then_some(a);
    let of_refused = |m| recall(scaled(a, pairs(&accepted)), scaled(m, pairs(&refused)));
    (precision.is_some() || m.is_some())
        .then(|| Estimate { precision, recall: m.and_then(of_refused) })
}

/// The share of the pairs of `strata` that are the same.
fn share(strata: &[Tally]) -> Option<Interval> {
    let all = strata.iter().map(|of| of.pairs).sum::<u64>() as f64;
    let (mut value, mut likely, mut variance) = (0.0, 0.0, 0.0);
    let (mut yes, mut no) = (0.0, 0.0);
    for of in strata {
        let (pairs, n) = (of.pairs as f64, of.answers() as f64);
        if of.answers() == 0 {
            return None;
        }
        let weight = pairs / all;
        // If every pair of a stratum was asked about, nothing is left to estimate.
        let left = 1.0 - n / pairs;
        let share = of.yes as f64 / n;
        let smooth = if left > 0.0 { (of.yes as f64 + 1.0) / (n + 2.0) } else { share };
        value += weight * share;
        likely += weight * smooth;
        variance += weight * weight * left * smooth * (1.0 - smooth) / n;
        yes += of.yes as f64;
        no += of.no as f64;
    }
    if variance <= 0.0 {
        return Some(Interval { value, low: value, high: value });
    }
    let Interval { low, high, .. } = wilson(value, likely * (1.0 - likely) / variance);
    // The interval cannot contradict the answers.
    Some(Interval { value, low: low.max(yes / all), high: high.min(1.0 - no / all) })
}

/// Wilson's interval for the share `p` of `n` answers.
fn wilson(p: f64, n: f64) -> Interval {
    let square = Z * Z / n;
    let centre = (p + square / 2.0) / (1.0 + square);
    let half = (p * (1.0 - p) / n + square / n / 4.0).max(0.0).sqrt() * Z / (1.0 + square);
    Interval { value: p, low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

/// `a / (a + m)`.
fn recall(a: Interval, m: Interval) -> Option<Interval> {
    if a.value + m.value <= 0.0 {
        return None;
    }
    let of = |ratio: f64| 1.0 / (1.0 + ratio);
    let product = a.value * m.value;
    // The limits of m / a: the roots of one quadratic equation each.
    let limit = |m_end: f64, a_end: f64, sign: f64| {
        let (of_m, of_a) = (m_end * (2.0 * m.value - m_end), a_end * (2.0 * a.value - a_end));
        let root = (product * product - of_m * of_a).max(0.0).sqrt();
        (of_a > 0.0).then(|| (product + sign * root) / of_a)
    };
    let value = if a.value > 0.0 { of(m.value / a.value) } else { 0.0 };
    if a.low == a.high && m.low == m.high {
        return Some(Interval { value, low: value, high: value });
    }
    // If there is no root, the ends themselves bound the ratio.
    let least =
        limit(m.low, a.high, -1.0).unwrap_or(if a.high > 0.0 { m.low / a.high } else { 0.0 });
    let low = limit(m.high, a.low, 1.0).map_or(0.0, of);
    Some(Interval { value, low: low.min(value), high: of(least.max(0.0)).max(value) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    fn tally(accepted: bool, pairs: u64, yes: u64, no: u64) -> Tally {
        Tally { accepted, pairs, yes, no }
    }

    /// Wilson's interval has the values of textbooks: 0 of 10 and 50 of 100.
    #[test]
    fn wilson_of_textbooks() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 5e-4, "{a} {b}");
        let of = wilson(0.0, 10.0);
        close(of.low, 0.0);
        close(of.high, 0.2775);
        let of = wilson(0.5, 100.0);
        close(of.low, 0.4038);
        close(of.high, 0.5962);
    }

    /// Answers about every pair give the true values, with an interval of width 0.
    #[test]
    fn a_census_is_exact() {
        let all = [tally(true, 10, 8, 2), tally(true, 5, 5, 0), tally(false, 20, 2, 18)];
        let of = estimate(&all).expect("answers of each stratum");
        let exact = |of: Option<Interval>, value: f64| {
            let of = of.expect("a value");
            assert!(
                [of.value, of.low, of.high].iter().all(|x| (x - value).abs() < 1e-12),
                "{of:?} {value}"
            );
        };
        exact(of.precision, 13.0 / 15.0);
        exact(of.recall, 13.0 / 15.0);
        assert_eq!(estimate(&[tally(true, 10, 0, 0)]), None);
        assert_eq!(estimate(&[tally(false, 10, 0, 3)]).expect("answers").precision, None);
    }

    /// The precision was not said if all refused pairs were skipped, though it needs none of them.
    #[test]
    fn precision_without_answers_about_refused_pairs() {
        let accepted = [tally(true, 10, 8, 2), tally(true, 5, 5, 0)];
        let of = estimate(&[accepted[0], accepted[1], tally(false, 1, 0, 0)]).expect("answers");
        let census = estimate(&accepted).expect("answers");
        assert_eq!((of.precision, of.recall), (census.precision, None));
        assert_eq!(estimate(&[accepted[0], tally(true, 5, 0, 0), tally(false, 1, 0, 1)]), None);
        assert_eq!(estimate(&[tally(false, 1, 0, 0)]), None);
    }

    /// If all answers agree, only one end of the interval differs from the value.
    #[test]
    fn agreement_is_not_certainty() {
        let of = estimate(&[tally(true, 1000, 50, 0), tally(false, 1000, 0, 50)]).expect("answers");
        let (precision, recall) = (of.precision.expect("accepted"), of.recall.expect("same pairs"));
        assert_eq!(
            (precision.value, precision.high, recall.value, recall.high),
            (1.0, 1.0, 1.0, 1.0)
        );
        assert!(precision.low > 0.9 && precision.low < 0.96, "{precision:?}");
        assert!(recall.low > 0.9 && recall.low < 0.96, "{recall:?}");
    }

    /// The intervals contain the true values in at least 95 of 100 samples, over populations whose
    /// strata differ a lot in size and in the share of pairs that are the same.
    #[test]
    fn intervals_have_the_true_values() {
        let seed = 20_260_101;
        println!("PAGEFOLD_SEED={seed}");
        let mut drawn = 0u64;
        let mut below = |bound: u64| {
            drawn += 1;
            xxh3_64_with_seed(&drawn.to_le_bytes(), seed) % bound
        };
        let populations: [[(bool, u64, f64); 4]; 4] = [
            [(true, 900, 0.99), (true, 90, 0.7), (false, 300, 0.3), (false, 2000, 0.01)],
            [(true, 50_000, 1.0), (true, 500, 0.9), (false, 5_000, 0.1), (false, 100_000, 0.001)],
            [(true, 300, 0.5), (true, 300, 0.5), (false, 300, 0.5), (false, 300, 0.5)],
            [(true, 5_000, 0.97), (true, 5_000, 0.9), (false, 40, 0.6), (false, 10_000, 0.0)],
        ];
        for population in populations {
            let strata = population
                .map(|(accepted, pairs, share)| (accepted, pairs, (share * pairs as f64) as u64));
            let same = |side: bool| {
                strata.iter().filter(|of| of.0 == side).map(|of| of.2).sum::<u64>() as f64
            };
            let pairs = strata.iter().filter(|of| of.0).map(|of| of.1).sum::<u64>() as f64;
            let (precision, recall) = (same(true) / pairs, same(true) / (same(true) + same(false)));
            let mut inside = [0, 0];
            for _ in 0..400 {
                let tallies = strata.map(|(accepted, pairs, same)| {
                    let (mut yes, mut left) = (0, same);
                    let answers = pairs.min(50);
                    for asked in 0..answers {
                        if below(pairs - asked) < left {
                            (yes, left) = (yes + 1, left - 1);
                        }
                    }
                    Tally { accepted, pairs, yes, no: answers - yes }
                });
                let of = estimate(&tallies).expect("answers");
                for (inside, (of, truth)) in
                    inside.iter_mut().zip([(of.precision, precision), (of.recall, recall)])
                {
                    *inside += i32::from(
                        of.is_some_and(|of| of.low - 1e-9 <= truth && truth <= of.high + 1e-9),
                    );
                }
            }
            assert!(
                inside.iter().all(|inside| *inside >= 374),
                "{population:?}: {inside:?} of 400"
            );
        }
    }
}
