//! The labelled pages with their texts, pairs and clusters, as plain numbers; and the number of
//! page pairs that two texts stand for.
//!
//! All measures are computed from a scene, without a store. Pages are numbered in the order of
//! their URLs, texts in the order of their first pages. A page without text has a text of its own
//! with no characters, which is identical to no other.

use crate::eval::tally::{CLASSES, Cells, HOSTS, Index, OTHER_HOST, SAME_HOST, class};
use std::ops::Range;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The key of its host.
    pub host: u64,
    /// Its text.
    pub text: u32,
    /// The number of its content. Pages whose text says too little may have one content, and each a
    /// text of its own, because they do not fold.
    pub content: u32,
    /// The number of its cluster; only equality matters.
    pub cluster: u32,
}

/// A decided pair of texts, `a` < `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPair {
    /// The lesser text.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// The similarity in 1/10,000.
    pub similarity: u16,
    /// The rule that decided, a [`crate::confirm::Reason`].
    pub reason: u8,
    /// Whether the pair is accepted.
    pub accepted: bool,
    /// The signatures that propose it, see [`crate::tables::pairs::proposed_by`].
    pub proposals: u64,
}

/// The truth about pairs of pages by the labels. A page is its index in the labels or the scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The label of each page. Pages with the same label are the same.
    Labels(Vec<u32>),
    /// Judged pairs of pages, the lesser first, ascending, and whether they are the same. Other
    /// pairs are unknown.
    Judged(Vec<(u32, u32, bool)>),
    /// All pairs of pages that are the same, the lesser first, ascending.
    Listed(Vec<(u32, u32)>),
}

/// Pages, texts, pairs, clusters and labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// The pages.
    pub pages: Vec<Page>,
    /// The characters of each text.
    pub chars: Vec<u32>,
    /// The decided pairs of these texts, ascending.
    pub pairs: Vec<TextPair>,
    /// What is true.
    pub truth: Truth,
}

/// A pair of pages that the labels name, sorted by texts. `a` <= `b`, and `x` is a page of `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelledPair {
    /// The lesser text.
    pub a: u32,
    /// The other text; equal to `a` if the texts are identical.
    pub b: u32,
    /// The page of `a`; the lesser page if the texts are identical.
    pub x: u32,
    /// The page of `b`.
    pub y: u32,
    /// Whether they are the same.
    pub same: bool,
}

/// The number of page pairs, and of page pairs that are the same by the labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// All that the labels judge, by host.
    pub all: [u64; HOSTS],
    /// Those that are the same.
    pub right: [u64; HOSTS],
}

impl Weight {
    /// The number of page pairs of all hosts.
    pub fn found(&self) -> u64 {
        self.all.iter().sum()
    }

    /// The number of page pairs of all hosts that are the same.
    pub fn same(&self) -> u64 {
        self.right.iter().sum()
    }
}

/// The page pairs that something joins, by length and host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// All that the labels judge.
    pub found: Cells,
    /// Those that are the same.
    pub right: Cells,
}

impl Joined {
    /// The sum.
    pub fn plus(self, other: Joined) -> Joined {
        Joined { found: self.found.plus(&other.found), right: self.right.plus(&other.right) }
    }

    /// The difference; `other` is a part of this.
    pub fn minus(self, other: Joined) -> Joined {
        Joined { found: self.found.minus(&other.found), right: self.right.minus(&other.right) }
    }
}

/// A scene with indices to count the page pairs of texts.
pub struct Scale<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// The pages of each text, ascending.
    pages: Index<u32>,
    hosts: Index<u64>,
    labels: Index<u32>,
    labels_hosts: Index<(u32, u64)>,
    labelled_pairs: Vec<LabelledPair>,
}

impl<'a> Scale<'a> {
    /// Builds the indices of `scene`.
    pub fn new(scene: &'a Scene) -> Scale<'a> {
        let texts = scene.chars.len();
        let each = || scene.pages.iter().enumerate();
        let labelled_pair = |x: u32, y: u32, same: bool| {
            let of = |page: u32| (scene.pages[page as usize].text, page);
            let ((a, x), (b, y)) = (of(x).min(of(y)), of(x).max(of(y)));
            LabelledPair { a, b, x, y, same }
        };
        let (labels, mut labelled_pairs): (&[u32], Vec<LabelledPair>) = match &scene.truth {
            Truth::Labels(labels) => (labels, Vec::new()),
            Truth::Judged(pairs) => {
                (&[], pairs.iter().map(|&(x, y, same)| labelled_pair(x, y, same)).collect())
            }
            Truth::Listed(pairs) => {
                (&[], pairs.iter().map(|&(x, y)| labelled_pair(x, y, true)).collect())
            }
        };
        labelled_pairs.sort_unstable();
        let labelled = || scene.pages.iter().zip(labels);
        Scale {
            scene,
            pages: Index::new(texts, each().map(|(at, page)| (page.text, at as u32))),
            hosts: Index::new(texts, each().map(|(_, page)| (page.text, page.host))),
            labels: Index::new(texts, labelled().map(|(page, label)| (page.text, *label))),
            labels_hosts: Index::new(
                texts,
                labelled().map(|(page, label)| (page.text, (*label, page.host))),
            ),
            labelled_pairs,
        }
    }

    /// The pages of `text`, ascending.
    pub fn pages_of(&self, text: u32) -> impl Iterator<Item = u32> + '_ {
        self.pages.of(text).iter().map(|(page, _)| *page)
    }

    /// The labels of the pages of `text`, ascending, each once.
    pub fn labels_of(&self, text: u32) -> impl Iterator<Item = u32> + '_ {
        self.labels.of(text).iter().map(|(label, _)| *label)
    }

    /// The pairs of pages that the labels name, in the order of their texts.
    pub fn labelled_pairs(&self) -> &[LabelledPair] {
        &self.labelled_pairs
    }

    /// The pairs that the labels name of texts `a` <= `b`.
    pub fn labelled_pairs_of(&self, a: u32, b: u32) -> &[LabelledPair] {
        let range: Range<usize> =
            self.labelled_pairs.partition_point(|pair| (pair.a, pair.b) < (a, b))
                ..self.labelled_pairs.partition_point(|pair| (pair.a, pair.b) <= (a, b));
        &self.labelled_pairs[range]
    }

    /// Whether the labels judge any pair of pages of texts `a` <= `b`.
    pub fn is_judged(&self, a: u32, b: u32) -> bool {
        !matches!(self.scene.truth, Truth::Judged(_)) || !self.labelled_pairs_of(a, b).is_empty()
    }

    /// Whether two pages are the same by the labels. `None` if the labels do not say.
    pub fn is_same(&self, x: u32, y: u32) -> Option<bool> {
        let pair = (x.min(y), x.max(y));
        match &self.scene.truth {
            Truth::Labels(labels) => Some(labels[x as usize] == labels[y as usize]),
            Truth::Judged(pairs) => {
                pairs.binary_search_by_key(&pair, |p| (p.0, p.1)).ok().map(|at| pairs[at].2)
            }
            Truth::Listed(pairs) => Some(pairs.binary_search(&pair).is_ok()),
        }
    }

    /// The length class of two texts, that of the shorter.
    pub fn class(&self, a: u32, b: u32) -> usize {
        class(self.scene.chars[a as usize].min(self.scene.chars[b as usize]))
    }

    /// The page pairs of texts `a` <= `b`, with a page of each. For one text, the pairs among its
    /// pages.
    pub fn weight(&self, a: u32, b: u32) -> Weight {
        let by_host = |same_host: u64, all: u64| {
            let mut cells = [0; HOSTS];
            cells[SAME_HOST] = same_host;
            cells[OTHER_HOST] = all - same_host;
            cells
        };
        let all = || by_host(self.hosts.meet(a, b), self.hosts.meet_any(a, b));
        match &self.scene.truth {
            Truth::Labels(_) => Weight {
                all: all(),
                right: by_host(self.labels_hosts.meet(a, b), self.labels.meet(a, b)),
            },
            Truth::Judged(_) => self.named(a, b),
            Truth::Listed(_) => Weight { all: all(), right: self.named(a, b).right },
        }
    }

    /// The page pairs of these texts that the labels name one by one.
    fn named(&self, a: u32, b: u32) -> Weight {
        let mut weight = Weight::default();
        for pair in self.labelled_pairs_of(a, b) {
            let host = self.host(pair.x, pair.y);
            weight.all[host] += 1;
            weight.right[host] += u64::from(pair.same);
        }
        weight
    }

    /// [`SAME_HOST`] or [`OTHER_HOST`].
    pub fn host(&self, x: u32, y: u32) -> usize {
        let host = |page: u32| self.scene.pages[page as usize].host;
        if host(x) == host(y) { SAME_HOST } else { OTHER_HOST }
    }

    /// The page pairs that pairs of texts join; each pair of texts occurs once.
    pub fn join(&self, pairs: impl Iterator<Item = (u32, u32)>) -> Joined {
        let mut joined = Joined::default();
        for (a, b) in pairs {
            let (class, weight) = (self.class(a, b), self.weight(a, b));
            debug_assert!(class < CLASSES);
            for host in 0..HOSTS {
                joined.found.0[class][host] += weight.all[host];
                joined.right.0[class][host] += weight.right[host];
            }
        }
        joined
    }

    /// The page pairs that identical texts join.
    pub fn identical(&self) -> Joined {
        self.join((0..self.scene.chars.len() as u32).map(|text| (text, text)))
    }
}
