//! Tallies: how many pairs there are within groups, without looking at one. Of n pages that share a key there are
//! n (n - 1) / 2 pairs; where classes of length are asked for, those whose shorter text is of a class are the pairs
//! among its pages and of its pages with those of longer ones. All numbers are of page pairs.

/// The lengths, in characters, at which classes of the shorter text end; the last class has none.
pub const CLASS_ENDS: [u32; CLASSES - 1] = [100, 200, 500, 1000, 3000];
/// Classes of length.
pub const CLASSES: usize = 6;
/// One host, or two.
pub const HOSTS: usize = 2;
/// Both pages are of one host.
pub const SAME_HOST: usize = 0;
/// They are not.
pub const OTHER_HOST: usize = 1;

/// The class of a text of `chars` characters.
pub fn class(chars: u32) -> usize {
    CLASS_ENDS.iter().position(|end| chars < *end).unwrap_or(CLASSES - 1)
}

/// Page pairs by the class of the shorter text, and by host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cells(pub [[u64; HOSTS]; CLASSES]);

impl Cells {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().flatten().sum()
    }

    /// Those of a class.
    pub fn of_class(&self, class: usize) -> u64 {
        self.0[class].iter().sum()
    }

    /// Those of one host, or of two.
    pub fn of_host(&self, host: usize) -> u64 {
        self.0.iter().map(|class| class[host]).sum()
    }

    /// Both together.
    pub fn plus(&self, other: &Cells) -> Cells {
        self.with(other, u64::saturating_add)
    }

    /// What is left without `other`, which is a part of it.
    pub fn minus(&self, other: &Cells) -> Cells {
        self.with(other, u64::saturating_sub)
    }

    fn with(&self, other: &Cells, of: impl Fn(u64, u64) -> u64) -> Cells {
        let mut cells = *self;
        cells.0.iter_mut().flatten().zip(other.0.iter().flatten()).for_each(|(a, b)| *a = of(*a, *b));
        cells
    }
}

/// Pairs of `n` things.
pub fn pairs(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// Of things by class, the pairs whose lesser class is each.
fn by_least(counts: &[u64; CLASSES]) -> [u64; CLASSES] {
    let mut above = 0;
    let mut least = [0; CLASSES];
    for class in (0..CLASSES).rev() {
        least[class] = pairs(counts[class]) + counts[class] * above;
        above += counts[class];
    }
    least
}

/// The pairs of pages that share a key; each page is told as its key, host and class.
pub fn within<K: Ord>(pages: impl Iterator<Item = (K, u64, usize)>) -> Cells {
    let mut pages: Vec<(K, u64, usize)> = pages.collect();
    pages.sort_unstable();
    let counts = |pages: &[(K, u64, usize)]| {
        let mut counts = [0; CLASSES];
        pages.iter().for_each(|(_, _, class)| counts[*class] += 1);
        by_least(&counts)
    };
    let mut cells = Cells::default();
    for group in pages.chunk_by(|a, b| a.0 == b.0) {
        let all = counts(group);
        let mut same = [0; CLASSES];
        for of_host in group.chunk_by(|a, b| a.1 == b.1) {
            same.iter_mut().zip(counts(of_host)).for_each(|(same, more)| *same += more);
        }
        for class in 0..CLASSES {
            cells.0[class][SAME_HOST] += same[class];
            cells.0[class][OTHER_HOST] += all[class] - same[class];
        }
    }
    cells
}

/// How often each text has each key: the keys of a text lie together, ascending.
pub struct Index<K> {
    /// Where the keys of each text start; one more than there are texts.
    starts: Vec<usize>,
    keys: Vec<(K, u64)>,
}

impl<K: Ord + Copy> Index<K> {
    /// The index of `found`: texts, below `texts`, with a key each.
    pub fn new(texts: usize, found: impl Iterator<Item = (u32, K)>) -> Index<K> {
        let mut found: Vec<(u32, K)> = found.collect();
        found.sort_unstable();
        let (mut starts, mut keys) = (Vec::with_capacity(texts + 1), Vec::new());
        for same in found.chunk_by(|a, b| a == b) {
            let (text, key) = same[0];
            while starts.len() <= text as usize {
                starts.push(keys.len());
            }
            keys.push((key, same.len() as u64));
        }
        starts.resize(texts + 1, keys.len());
        Index { starts, keys }
    }

    /// The keys of `text` and how often it has each.
    pub fn of(&self, text: u32) -> &[(K, u64)] {
        &self.keys[self.starts[text as usize]..self.starts[text as usize + 1]]
    }

    /// Of the pairs of a thing of `a` and one of `b`, or of two things of `a` if `b` is `a`, those that share their key.
    pub fn meet(&self, a: u32, b: u32) -> u64 {
        if a == b {
            return self.of(a).iter().map(|(_, n)| pairs(*n)).sum();
        }
        let mut others = self.of(b).iter().peekable();
        let mut sum = 0;
        for (key, n) in self.of(a) {
            while others.next_if(|(other, _)| other < key).is_some() {}
            sum += others.next_if(|(other, _)| other == key).map_or(0, |(_, m)| n * m);
        }
        sum
    }

    /// All those pairs.
    pub fn meet_any(&self, a: u32, b: u32) -> u64 {
        let count = |text: u32| self.of(text).iter().map(|(_, n)| n).sum::<u64>();
        if a == b { pairs(count(a)) } else { count(a) * count(b) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Counting groups gives what looking at every pair gives.
        #[test]
        fn groups_are_pairs(pages in prop::collection::vec((0u8..5, 0u64..3, 0usize..CLASSES), 0..60)) {
            let mut plain = Cells::default();
            for (at, a) in pages.iter().enumerate() {
                for b in &pages[..at] {
                    if a.0 == b.0 {
                        plain.0[a.2.min(b.2)][usize::from(a.1 != b.1)] += 1;
                    }
                }
            }
            prop_assert_eq!(within(pages.iter().copied()), plain);
        }

        /// Texts meet as often as their things do one by one.
        #[test]
        fn texts_meet(found in prop::collection::vec((0u32..5, 0u8..4), 0..60)) {
            let index = Index::new(5, found.iter().copied());
            for a in 0..5 {
                for b in 0..5 {
                    let (mut met, mut any) = (0, 0);
                    for (i, x) in found.iter().enumerate() {
                        for (j, y) in found.iter().enumerate() {
                            if x.0 == a && y.0 == b && (a != b || i < j) {
                                any += 1;
                                met += u64::from(x.1 == y.1);
                            }
                        }
                    }
                    prop_assert_eq!((index.meet(a, b), index.meet_any(a, b)), (met, any));
                }
            }
        }
    }

    /// A length is in the class that it is below, the last one open.
    #[test]
    fn classes() {
        assert_eq!([0, 99, 100, 199, 500, 999, 1000, 2999, 3000, u32::MAX].map(class), [0, 0, 1, 1, 3, 3, 4, 4, 5, 5]);
    }
}
