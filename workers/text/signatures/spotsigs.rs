//! SpotSigs: keys that two texts share if their spots, words near stop words, are similar enough.
//!
//! A spot is a stop word and some of the content words that follow it. A text's spots are a
//! multiset. Running text has many spots, and menus and lists have few (Theobald, Siddharth,
//! Paepcke: "SpotSigs: robust and efficient near duplicate detection in large web collections",
//! SIGIR 2008).
//!
//! Two multisets of sizes m <= n have a Jaccard similarity of at most m/n. Therefore sizes are cut
//! into partitions, such that two texts of the threshold similarity lie in the same partition or in
//! adjacent ones (the paper's optimal partitioning), and a text has keys for its own partition and
//! for the next larger one. Within a partition the first spots in a fixed order suffice as keys: as
//! many as must include a shared one (prefix filtering: Chaudhuri, Ganti, Kaushik: "A primitive
//! operator for similarity joins in data cleaning", ICDE 2006).
//!
//! We differ in the matching. The paper is exact: it keeps an inverted list of every spot for each
//! partition, reads the lists from the rarest spot on, and stops by bounds on sizes. Here equal
//! keys propose candidates, as for all signatures, and the evidence decides them by another
//! similarity. Spots are ordered by hash, not by rarity, because the order must never change. A
//! frequent spot among the first makes a large bucket, which the pivot rule bounds.
//!
//! No pair is missed while the prefix that the threshold requires has at most `prefix_max` spots,
//! as in texts with few spots. Of a longer prefix only the first `prefix_max` spots are taken. They
//! are a sample of the union, so a pair of similarity J is missed with probability (1-J)^prefix_max
//! at most. On the texts generated in the tests all pairs of J >= 0.5 are found without that limit,
//! and 787 of 792 with the default limit of 4. In buckets of more than 64 contents, pairs without a
//! pivot are not proposed by that key.

use crate::text::features::word_hash;
use crate::text::hash::{BuildAsIs, chain};
use crate::text::signatures::partitions::Partitions;
use crate::text::signatures::text::{KEYS_MAX, Text};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The version of these rules and of the words below; part of a store's identity.
pub const VERSION: u32 = 1;

/// The stop words that begin a spot.
const ANCHORS: &str = "的 了 在 是 和 有 与 为 也 就 都 及 对 将 从 到 被 把 以 于 \
    the a an is are was were be been to of in and for on that this with as at by it has have said there do did";

/// The stop words that begin no spot. Spots skip these and the anchors.
const PASSED_OVER: &str = "而 或 这 那 一个 我 你 他 我们 你们 他们 它 她 不 会 可以 要 中 上 下 等 并 但 但是 如果 因为 所以 则 该 其 之 地 得 着 过 \
    还 又 很 更 最 时 后 前 来 去 说 人 年 月 日 使用 这个 进行 可 能 需要 没有 通过 个 一 之后 以及 由 让 给 向 \
    or but not we you i he she they his her their its our your which who will would can could if from than then so no";

/// A `spotsigs` entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Content words in a spot, 1 to 16. Default: 2.
    pub chain: usize,
    /// Steps between the content words of a spot, in content words, 1 to 16. Default: 1.
    pub distance: usize,
    /// The Jaccard similarity of spots at which two texts share a key, in percent, 10 to 95.
    /// Default: 50.
    pub similarity_percent: u64,
    /// The most spots in a prefix, 1 to 32. With more spots fewer pairs near the threshold are
    /// missed, and more wrong pairs are proposed. Default: 4, with which at most 6 % of the pairs
    /// of similarity 0.5 are missed, and 0.2 % of those of 0.8.
    pub prefix_max: usize,
    /// A text with fewer spots has no key. Default: 2.
    pub spots_min: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { chain: 2, distance: 1, similarity_percent: 50, prefix_max: 4, spots_min: 2 }
    }
}

impl Options {
    /// Checks the values; the error names the key.
    pub fn check(&self) -> Result<(), String> {
        let bounds = [
            ("chain", self.chain, 1, 16),
            ("distance", self.distance, 1, 16),
            (
                "similarity_percent",
                usize::try_from(self.similarity_percent).unwrap_or(usize::MAX),
                10,
                95,
            ),
            // A text has keys for two partitions.
            ("prefix_max", self.prefix_max, 1, KEYS_MAX / 2),
            ("spots_min", self.spots_min, 1, usize::MAX),
        ];
        match bounds.into_iter().find(|(_, value, least, most)| !(least..=most).contains(&value)) {
            Some((key, value, least, most)) => {
                Err(format!("{key}: {value} is not within {least} to {most}"))
            }
            None => Ok(()),
        }
    }
}

/// Makes keys as the options say. Clones share the stop words.
///
/// ```
/// use workers::text::features::word_hash;
/// use workers::text::signatures::spotsigs::{Options, SpotSigs};
/// use workers::text::signatures::{Shinglings, Text};
///
/// let mut maker = SpotSigs::new(&Options::default());
/// let mut keys = |text: &str| {
///     let words: Vec<u64> = text.split(' ').map(word_hash).collect();
///     let (mut shinglings, mut keys) = (Shinglings::default(), Vec::new());
///     maker.keys(&Text::new(text, &words, &mut shinglings), &mut keys);
///     keys
/// };
/// let (menu, article) = ("home products login", "at a rally to kick off a weeklong campaign");
/// assert!(!keys(article).is_empty());
/// assert_eq!(keys(article), keys(&format!("{menu} {article}")));
/// assert!(keys(menu).is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct SpotSigs {
    options: Options,
    /// The stop words by hash, and whether each begins a spot.
    stop_words: Arc<HashMap<u64, bool, BuildAsIs>>,
    partitions: Arc<Partitions>,
    content: Vec<u64>,
    anchors: Vec<(u64, usize)>,
    spots: Vec<u64>,
}

impl SpotSigs {
    /// A maker of keys by checked `options`.
    pub fn new(options: &Options) -> SpotSigs {
        let words = |list: &'static str, begins: bool| {
            list.split_whitespace().map(move |word| (word_hash(word), begins))
        };
        SpotSigs {
            options: options.clone(),
            stop_words: Arc::new(words(ANCHORS, true).chain(words(PASSED_OVER, false)).collect()),
            partitions: Arc::new(Partitions::new(options.similarity_percent)),
            content: Vec::new(),
            anchors: Vec::new(),
            spots: Vec::new(),
        }
    }

    /// Appends the keys of `text`, if it has enough spots.
    pub fn keys(&mut self, text: &Text<'_>, out: &mut Vec<u64>) {
        self.find_spots(text.words);
        number_repetitions(&mut self.spots);
        if self.spots.len() >= self.options.spots_min {
            self.partitions.keys(&self.spots, self.options.prefix_max, out);
        }
    }

    /// Writes the hash of every spot of `words` to `self.spots`.
    ///
    /// A spot is a stop word and `chain` content words, each `distance` content words after the
    /// last.
    fn find_spots(&mut self, words: &[u64]) {
        self.content.clear();
        self.anchors.clear();
        for &word in words {
            match self.stop_words.get(&word) {
                None => self.content.push(word),
                Some(true) => self.anchors.push((word, self.content.len())),
                Some(false) => {}
            }
        }
        let Options { chain: length, distance, .. } = self.options;
        self.spots.clear();
        self.spots.extend(self.anchors.iter().filter_map(|&(anchor, behind)| {
            let content = self.content[behind..].get(..length * distance)?;
            Some(chain(anchor, content.iter().skip(distance - 1).step_by(distance).copied()))
        }));
    }
}

/// Turns a multiset into a sorted set: the n-th of equal spots gets a hash of its own.
fn number_repetitions(spots: &mut [u64]) {
    spots.sort_unstable();
    for equal in spots.chunk_by_mut(|a, b| a == b) {
        for (number, spot) in (0..).zip(equal) {
            *spot = chain(*spot, [number]);
        }
    }
    spots.sort_unstable();
}

impl Partitions {
    /// Appends the keys of a set of ascending `spots`: for its own partition and for the next.
    fn keys(&self, spots: &[u64], prefix_max: usize, out: &mut Vec<u64>) {
        let size = spots.len() as u64;
        for (partition, least) in self.of(size).into_iter().flatten() {
            // A partner of `least` spots or more shares at least this many.
            let shared = (u128::from(self.percent) * (u128::from(size) + u128::from(least)))
                .div_ceil(100 + u128::from(self.percent));
            if let Ok(shared) = usize::try_from(shared)
                && shared <= spots.len()
            {
                let prefix = (spots.len() - shared + 1).min(prefix_max);
                out.extend(spots[..prefix].iter().map(|spot| chain(partition as u64, [*spot])));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::text::signatures::tests::keys_of;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn words(text: &str) -> Vec<u64> {
        text.split(' ').map(word_hash).collect()
    }

    fn spots(options: Options, text: &str) -> Vec<u64> {
        let mut maker = SpotSigs::new(&options);
        maker.find_spots(&words(text));
        maker.spots
    }

    /// A spot is a stop word and the content words after it. Stop words between them are skipped,
    /// and a stop word without enough words after it begins no spot.
    #[test]
    fn chains_after_stop_words() {
        let spot = |text: &str| chain(words(text)[0], words(text)[1..].iter().copied());
        let text = "at rally to kick off a weeklong campaign for the south";
        let found = spots(Options::default(), text);
        assert_eq!(found, ["at rally kick", "to kick off", "a weeklong campaign"].map(spot));
        let found = spots(Options { distance: 2, ..Options::default() }, text);
        assert_eq!(found, ["at kick weeklong", "to off campaign"].map(spot));
        let found = spots(Options::default(), "今天 的 会议 在 北京 举行");
        assert_eq!(found, ["的 会议 北京", "在 北京 举行"].map(spot));
        assert!(spots(Options::default(), &"the ".repeat(1000)).is_empty());
    }

    /// Menus have no spots, hence no keys.
    #[test]
    fn menus_have_no_keys() {
        let menu = words("home products about contact login search 首页 新闻 体育");
        let mut maker = SpotSigs::new(&Options::default());
        assert!(keys_of("", &menu, |text, out| maker.keys(text, out)).is_empty());
        let article = words(
            "the minister said in a speech to the house that the budget is to grow by half in spring",
        );
        let with_menu = [menu, article.clone()].concat();
        let mut sign = |words: &[u64]| keys_of("", words, |text, out| maker.keys(text, out));
        assert_eq!(sign(&article), sign(&with_menu));
        assert!(!sign(&article).is_empty());
    }

    fn set(multiset: &[u64]) -> Vec<u64> {
        let mut set = multiset.to_vec();
        number_repetitions(&mut set);
        set
    }

    /// Whether shared * 100 >= percent * union, for multisets, by the definition.
    fn alike(a: &[u64], b: &[u64], percent: u64) -> bool {
        let mut rest = b.to_vec();
        let shared = a
            .iter()
            .filter(|spot| {
                rest.iter()
                    .position(|other| other == *spot)
                    .map(|at| rest.swap_remove(at))
                    .is_some()
            })
            .count();
        shared as u64 * 100 >= percent * (a.len() + b.len() - shared) as u64
    }

    fn share(partitions: &Partitions, a: &[u64], b: &[u64], prefix_max: usize) -> bool {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        partitions.keys(&set(a), prefix_max, &mut left);
        partitions.keys(&set(b), prefix_max, &mut right);
        left.iter().any(|key| right.contains(key))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Two multisets at or above the threshold always share a key. `b` is `a` with some spots
        /// removed and some added, as near the threshold as the numbers allow.
        #[test]
        fn none_of_the_threshold_is_missed(
            percent in 10u64..=95, a in prop::collection::vec(0u64..60, 1..70), removed in 0usize..40,
            added in prop::collection::vec(0u64..80, 0..40)
        ) {
            let mut b = a[removed.min(a.len() - 1)..].to_vec();
            let partitions = Partitions::new(percent);
            for spot in added {
                if alike(&a, &b, percent) {
                    prop_assert!(share(&partitions, &a, &b, usize::MAX), "{percent}: {a:?} {b:?}");
                    prop_assert!(share(&partitions, &b, &a, usize::MAX));
                }
                b.push(spot);
            }
        }

        /// Any text has at most `KEYS_MAX` keys, all distinct.
        #[test]
        fn keys_are_few(percent in 10u64..=95, size in 0u64..5000, seed in any::<u64>()) {
            let mut random = Random(seed);
            let spots: BTreeSet<u64> = (0..size).map(|_| random.next()).collect();
            let mut keys = Vec::new();
            Partitions::new(percent).keys(&spots.into_iter().collect::<Vec<_>>(), KEYS_MAX / 2, &mut keys);
            prop_assert!(keys.len() <= KEYS_MAX);
            prop_assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        }
    }

    /// Among 300 multisets the keys find every pair at the threshold that brute force finds.
    #[test]
    fn brute_force_finds_no_more() {
        let mut random = Random(11);
        let mut multisets: Vec<Vec<u64>> = Vec::new();
        for _ in 0..300 {
            let mut next = match multisets.last() {
                Some(last) if random.below(4) > 0 => last.clone(),
                _ => (0..1 + random.below(60)).map(|_| random.below(40)).collect(),
            };
            for _ in 0..random.below(6) {
                let at = random.below(next.len() as u64) as usize;
                next[at] = random.below(40);
            }
            next.extend((0..random.below(4)).map(|_| random.below(40)));
            multisets.push(next);
        }
        for percent in [30, 50, 80] {
            let partitions = Partitions::new(percent);
            let mut pairs = 0;
            for (at, a) in multisets.iter().enumerate() {
                for b in &multisets[..at] {
                    if alike(a, b, percent) {
                        pairs += 1;
                        assert!(share(&partitions, a, b, usize::MAX), "{percent}: {a:?} {b:?}");
                    }
                }
            }
            assert!(pairs > 200, "{pairs} pairs of {percent} % are too few for a test");
        }
    }

    /// With a cut prefix no more pairs are missed than the bound says: 1/16 of 2,000 pairs at J =
    /// 1/2 and four spots.
    #[test]
    fn cut_prefixes_miss_few() {
        let mut random = Random(2);
        let partitions = Partitions::new(50);
        let missed = (0..2000).filter(|_| {
            let shared: Vec<u64> = (0..200).map(|_| random.next()).collect();
            let mut own = || {
                shared.iter().copied().chain((0..100).map(|_| random.next())).collect::<Vec<_>>()
            };
            let (a, b) = (own(), own());
            !share(&partitions, &a, &b, 4)
        });
        let missed = missed.count();
        assert!((1..150).contains(&missed), "{missed} of 2000");
    }

    /// Articles of stop words and content words, Chinese or English, and copies with some words
    /// replaced, each after a menu.
    fn corpus(seed: u64) -> Vec<Vec<u64>> {
        let mut random = Random(seed);
        let anchors: Vec<Vec<u64>> =
            [&ANCHORS[..ANCHORS.find("the").expect("English words")], ANCHORS]
                .map(|list| list.split_whitespace().map(word_hash).collect())
                .to_vec();
        let mut texts: Vec<Vec<u64>> = Vec::new();
        for article in 0..150 {
            let anchors = &anchors[article % 2];
            let word = |random: &mut Random| match random.below(3) {
                0 => anchors[random.below(anchors.len() as u64) as usize],
                _ => random.below(3000),
            };
            let length = 20 + random.below(400);
            let original: Vec<u64> = (0..length).map(|_| word(&mut random)).collect();
            for copy in 0..4 {
                let edits = length * copy * random.below(12) / 100;
                let mut text = original.clone();
                for _ in 0..edits {
                    let at = random.below(text.len() as u64) as usize;
                    text[at] = word(&mut random);
                }
                let menu = (0..random.below(20)).map(|_| 5000 + random.below(500));
                texts.push(menu.chain(text).collect());
            }
        }
        texts
    }

    /// With uncut prefixes, all pairs of a generated corpus whose multisets of spots have a
    /// similarity of at least 0.5 share a key. With cut prefixes no more are missed than by the
    /// bound and five standard deviations.
    #[test]
    fn recall_against_exact_jaccard() {
        for seed in [1, 2] {
            let mut maker = SpotSigs::new(&Options::default());
            let sets: Vec<Vec<u64>> = corpus(seed)
                .into_iter()
                .map(|words| {
                    maker.find_spots(&words);
                    set(&maker.spots)
                })
                .collect();
            let mut alike: Vec<(usize, usize, f64)> = Vec::new();
            for (at, a) in sets.iter().enumerate() {
                for (before, b) in sets[..at].iter().enumerate() {
                    let shared = a.iter().filter(|spot| b.binary_search(spot).is_ok()).count();
                    let jaccard = shared as f64 / (a.len() + b.len() - shared).max(1) as f64;
                    if jaccard >= 0.5 {
                        alike.push((at, before, jaccard));
                    }
                }
            }
            assert!(alike.len() > 300, "{} pairs are too few for a test", alike.len());
            for prefix_max in [usize::MAX, 32, 4] {
                let keys_of = |set: &Vec<u64>| {
                    let mut keys = Vec::new();
                    maker.partitions.keys(set, prefix_max, &mut keys);
                    keys
                };
                let keys: Vec<Vec<u64>> = sets.iter().map(keys_of).collect();
                let (mut missed, mut missed_most) = (0u32, 0.0);
                for (a, b, jaccard) in &alike {
                    missed += u32::from(!keys[*a].iter().any(|key| keys[*b].contains(key)));
                    missed_most += (1.0 - jaccard).powi(prefix_max.min(1000) as i32);
                }
                println!(
                    "seed {seed}, prefixes up to {prefix_max}: {missed} of {} missed, at most \
                     {missed_most:.1} by the bound",
                    alike.len()
                );
                let missed = f64::from(missed);
                assert!(missed <= missed_most + 5.0 * missed_most.sqrt(), "{missed} missed");
                assert!(prefix_max != usize::MAX || missed == 0.0);
            }
        }
    }
}
