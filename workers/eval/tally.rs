//! Counts the pairs within groups without enumerating them.
//!
//! Among n pages that share a key there are n (n - 1) / 2 pairs. The pairs whose shorter text is in
//! a length class are the pairs among the pages of that class, and the pairs of these pages with
//! pages of longer texts. All numbers count page pairs.

/// The lengths in characters at which the classes of the shorter text end. The last class has no
/// end.
pub const CLASS_ENDS: [u32; CLASSES - 1] = [100, 200, 500, 1000, 3000];
/// The number of length classes.
pub const CLASSES: usize = 6;
/// The number of host classes: same host and other host.
pub const HOSTS: usize = 2;
/// Both pages have the same host.
pub const SAME_HOST: usize = 0;
/// The pages have different hosts.
pub const OTHER_HOST: usize = 1;

/// The class of a text of `chars` characters.
pub fn class(chars: u32) -> usize {
    CLASS_ENDS.iter().position(|end| chars < *end).unwrap_or(CLASSES - 1)
}

/// Page pairs by the class of the shorter text, and by host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cells(pub [[u64; HOSTS]; CLASSES]);

impl Cells {
    /// The sum of all.
    pub fn total(&self) -> u64 {
        self.0.iter().flatten().sum()
    }

    /// The sum of a class.
    pub fn of_class(&self, class: usize) -> u64 {
        self.0[class].iter().sum()
    }

    /// The sum of one host class.
    pub fn of_host(&self, host: usize) -> u64 {
        self.0.iter().map(|class| class[host]).sum()
    }

    /// The sum, cell by cell.
    pub fn plus(&self, other: &Cells) -> Cells {
        self.with(other, u64::saturating_add)
    }

    /// The difference, cell by cell; `other` is a part of this.
    pub fn minus(&self, other: &Cells) -> Cells {
        self.with(other, u64::saturating_sub)
    }

    fn with(&self, other: &Cells, of: impl Fn(u64, u64) -> u64) -> Cells {
        let mut cells = *self;
        cells
            .0
            .iter_mut()
            .flatten()
            .zip(other.0.iter().flatten())
            .for_each(|(a, b)| *a = of(*a, *b));
        cells
    }
}

/// The number of pairs of `n` things.
pub fn pairs(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// The number of pairs by their lesser class, from the number of things in each class.
fn by_least(counts: &[u64; CLASSES]) -> [u64; CLASSES] {
    let mut above = 0;
    let mut least = [0; CLASSES];
    for class in (0..CLASSES).rev() {
        least[class] = pairs(counts[class]) + counts[class] * above;
        above += counts[class];
    }
    least
}

/// The pairs of pages that share a key. Each page is given as key, host and class.
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

/// The keys of each text with their frequencies. The keys of a text are adjacent and ascend.
pub struct Index<K> {
    /// Where the keys of each text start, and the end of the last.
    starts: Vec<usize>,
    keys: Vec<(K, u64)>,
}

impl<K: Ord + Copy> Index<K> {
    /// The index of `found`, which are texts (below `texts`) with a key each.
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

    /// The keys of `text` with their frequencies.
    pub fn of(&self, text: u32) -> &[(K, u64)] {
        &self.keys[self.starts[text as usize]..self.starts[text as usize + 1]]
    }

    /// The number of pairs with the same key: one thing of `a` and one of `b`, or two things of `a`
    /// if `b` is `a`.
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

    /// The number of all such pairs, with any keys.
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
        /// Counting groups equals enumerating pairs.
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

        /// Counting by texts equals enumerating pairs.
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

    /// A class ends before its limit, and the last class has none.
    #[test]
    fn classes() {
        assert_eq!(
            [0, 99, 100, 199, 500, 999, 1000, 2999, 3000, u32::MAX].map(class),
            [0, 0, 1, 1, 3, 3, 4, 4, 5, 5]
        );
    }
}
