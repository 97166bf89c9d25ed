//! What is live, and the pairs that the definitions give of it.

use crate::candidates::bands::Bands;
use crate::candidates::near;
use crate::fold::pages::PageContent;
use crate::id::Id;
use crate::tables::EvidenceRow;
use crate::tables::evidence::KEY_BYTES;
use crate::tables::visits::{GATHERED, TOO_SHORT};
use std::collections::{BTreeMap, BTreeSet};

/// The id of the page or the content of this number.
pub fn id(n: u64) -> Id {
    Id::of(&n.to_le_bytes())
}

/// The live pages and their contents. For each content its fingerprint, whether it is too short to
/// be compared, and its keys.
#[derive(Clone, Default)]
pub struct Live {
    pub pages: BTreeMap<u64, u64>,
    /// Texts of every this many pages were gathered; 0: of none.
    pub gathered_every: u64,
    pub facts: BTreeMap<u64, (u64, bool)>,
    pub keys: BTreeMap<u64, BTreeSet<(u8, u64)>>,
}

impl Live {
    /// The evidence of all contents that are not too short, live or not.
    pub fn evidence(&self) -> impl Iterator<Item = EvidenceRow> + '_ {
        self.facts.iter().filter(|(_, (_, short))| !short).map(|(n, (fingerprint, _))| {
            let mut keys = Vec::new();
            for (kind, key) in self.keys.get(n).into_iter().flatten() {
                keys.push(*kind);
                keys.extend(key.to_le_bytes());
            }
            assert!(keys.len().is_multiple_of(KEY_BYTES));
            EvidenceRow::new(
                id(*n),
                *fingerprint,
                9,
                keys.into(),
                vec![0; 24].into(),
                Box::default(),
            )
        })
    }

    fn is_gathered(&self, page: u64) -> bool {
        self.gathered_every > 0 && page.is_multiple_of(self.gathered_every)
    }

    pub fn change(&self, page: u64, content: u64, diff: i32) -> PageContent {
        let (fingerprint, short) = if diff > 0 { self.facts[&content] } else { (0, false) };
        let flags =
            if short { TOO_SHORT } else { 0 } | if self.is_gathered(page) { GATHERED } else { 0 };
        let (content, doc, chars, flags) =
            (id(content), id(page), 9 * u32::from(diff > 0), flags.into());
        PageContent { content, doc, fingerprint, chars, letters: chars, flags, diff }
    }

    /// Sets or removes the content of `page`, and adds the changes that follow.
    pub fn set(&mut self, page: u64, content: Option<u64>, changes: &mut Vec<PageContent>) {
        let before = match content {
            Some(content) => self.pages.insert(page, content),
            None => self.pages.remove(&page),
        };
        if before != content {
            changes.extend(before.map(|content| self.change(page, content, -1)));
            changes.extend(content.map(|content| self.change(page, content, 1)));
        }
    }

    /// The changes of one epoch over an empty store that lead to this state.
    pub fn as_one_epoch(&self) -> Vec<PageContent> {
        self.pages.iter().map(|(&page, &content)| self.change(page, content, 1)).collect()
    }

    /// The pairs by definition, with the signatures that propose them and their distance.
    ///
    /// SimHash proposes a pair of fingerprints within k, another signature proposes it once for
    /// each common key. The product of the contents' ranks, among those with their fingerprint or
    /// key, must be small. Of very many near fingerprints the near rule leaves pairs out. A content
    /// that is gathered on all its pages is not compared.
    pub fn proposed(&self, bands: &Bands) -> BTreeMap<(Id, Id), (u64, u32)> {
        let comparable =
            |&(page, content): &(&u64, &u64)| !self.is_gathered(*page) && !self.facts[content].1;
        let contents: BTreeSet<u64> =
            self.pages.iter().filter(comparable).map(|(_, content)| *content).collect();
        let mut groups: BTreeMap<u64, BTreeSet<Id>> = BTreeMap::new();
        let mut buckets: BTreeMap<(u8, u64), BTreeSet<Id>> = BTreeMap::new();
        let mut fingerprints: BTreeMap<Id, u64> = BTreeMap::new();
        for content in contents {
            let fingerprint = self.facts[&content].0;
            fingerprints.insert(id(content), fingerprint);
            groups.entry(fingerprint).or_default().insert(id(content));
            for key in self.keys.get(&content).into_iter().flatten() {
                buckets.entry(*key).or_default().insert(id(content));
            }
        }
        let products = products(bands, &groups.keys().copied().collect::<Vec<_>>());
        let members: Vec<(u64, Id, usize)> = groups
            .iter()
            .flat_map(|(f, group)| (1..).zip(group).map(|(rank, &content)| (*f, content, rank)))
            .collect();
        // Ranks count from 1.
        let together = |a: usize, b: usize| a.min(b) <= 4 || a * b <= 64 * 64;
        let mut pairs: BTreeMap<(Id, Id), (u64, u32)> = BTreeMap::new();
        let mut propose = |a: Id, b: Id, signature: u8| {
            let distance = (fingerprints[&a] ^ fingerprints[&b]).count_ones();
            pairs.entry((a.min(b), a.max(b))).or_insert((0, distance)).0 += 1 << (8 * signature);
        };
        for (i, a) in members.iter().enumerate() {
            for b in &members[i + 1..] {
                let is_near = (a.0 ^ b.0).count_ones() <= bands.k();
                let product = || products.get(&(a.0.min(b.0), a.0.max(b.0))).copied().unwrap_or(64);
                if is_near && if a.0 == b.0 { together(a.2, b.2) } else { a.2 * b.2 <= product() } {
                    propose(a.1, b.1, 0);
                }
            }
        }
        for ((kind, _), bucket) in buckets {
            for (i, a) in (1..).zip(&bucket) {
                let later = (1..).zip(&bucket).skip(i);
                later.filter(|(j, _)| together(i, *j)).for_each(|(_, b)| propose(*a, *b, kind));
            }
        }
        pairs
    }

    /// The pairs that are accepted.
    pub fn pairs(&self, bands: &Bands) -> BTreeSet<(Id, Id)> {
        self.proposed(bands)
            .into_iter()
            .filter(|(_, (_, distance))| *distance <= bands.k())
            .map(|(pair, _)| pair)
            .collect()
    }
}

/// The greatest product of ranks that the near rule allows for pairs of near `fingerprints`, by its
/// definition, the lesser first; pairs with the product 64 are left out. A band owns the pairs that
/// agree on it and on no lower band. The product is 64, and is halved when the band has 4, 8, 16,
/// 32 and 64 fingerprints that are near a fingerprint and earlier in the band's order. With n >= 64
/// of these, only the first 64 * 64 / (n + 1) are examined, at least 4, and the others have the
/// product 0.
fn products(bands: &Bands, fingerprints: &[u64]) -> BTreeMap<(u64, u64), usize> {
    let masks = bands.masks();
    let owner = |a: u64, b: u64| masks.iter().position(|mask| (a ^ b) & mask == 0);
    let mut products = BTreeMap::new();
    for &later in fingerprints {
        let mut earlier: Vec<Vec<(u64, u64)>> = vec![Vec::new(); bands.count()];
        for &one in fingerprints
            .iter()
            .filter(|&&one| one != later && (one ^ later).count_ones() <= bands.k())
        {
            let band = owner(one, later).expect("near");
            let place = |fingerprint| near::order(bands.key(band, fingerprint));
            if place(one) < place(later) {
                earlier[band].push((place(one), one));
            }
        }
        for mut earlier in earlier {
            earlier.sort_unstable();
            let first = if earlier.len() < 64 {
                earlier.len()
            } else {
                (64 * 64 / (earlier.len() + 1)).max(4)
            };
            let product =
                64 >> [4, 8, 16, 32, 64].iter().filter(|from| earlier.len() >= **from).count();
            let of = |at: usize| if at < first { product } else { 0 };
            let pairs = earlier.iter().enumerate().filter(|(at, _)| of(*at) < 64);
            products
                .extend(pairs.map(|(at, &(_, one))| ((one.min(later), one.max(later)), of(at))));
        }
    }
    products
}
