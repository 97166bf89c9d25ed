//! Explains why two pages are together, or are not.
//!
//! A stored verdict is shown as it is. If none is stored, the rules that propose pairs give the
//! reason, and the verdict that the texts would get is shown, too.

use crate::ask::chain::{self, Chain};
use crate::ask::index::Index;
use crate::ask::nearest::Nearest;
use crate::ask::rules::{Decided, Rule, rule};
use crate::ask::tables::BUCKET_CONTENTS_MAX;
use crate::ask::tables::Cluster;
use crate::candidates::near::NearRule;
use crate::candidates::pivots::{PIVOTS, examined_before, examined_between};
use crate::confirm::parts::{Part, parts};
use crate::confirm::{By, Options, decide};
use crate::error::{Error, Kind, Result};
use crate::id::{Id, hex};
use crate::store::cursor::Keys;
use crate::tables::evidence::Content;
use crate::tables::visits::{CUT, TOO_SHORT};
use crate::tables::{PageRow, PairRow, pairs};
use crate::text::signatures::SignatureKind;
use crate::text::simhash;
use serde::Serialize;
use std::collections::BTreeSet;

/// The most characters of a text that are shown if it cannot be aligned with the other.
const HEAD_CHARS: usize = 300;
/// The most parts that an answer lists.
pub const PARTS_MAX: usize = 1000;

/// How two pages belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// They are one page.
    SamePage,
    /// Their texts are identical.
    Identical,
    /// Their texts have an accepted pair.
    Near,
    /// Other texts join their texts by accepted pairs.
    Chain,
    /// They are in different clusters.
    Apart,
}

impl Relation {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Relation::SamePage => "same_page",
            Relation::Identical => "identical",
            Relation::Near => "near",
            Relation::Chain => "chain",
            Relation::Apart => "apart",
        }
    }
}

/// Two pages, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The epoch of the head.
    pub epoch: u64,
    /// The first page.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// Whether they are in one cluster.
    pub together: bool,
    /// How they belong together.
    pub relation: Relation,
    /// The stored verdict; `None` if the two were not compared.
    pub verdict: Option<Rule>,
    /// The signatures that propose the stored pair, joined by `+`.
    pub proposed_by: Option<String>,
    /// Why no verdict is stored; `None` if one is stored, or if none is needed.
    pub not_compared: Option<Why>,
    /// The verdict that they would get, if none is stored.
    pub if_compared: Option<Rule>,
    /// What the fingerprints say; `None` if a text is empty or too short.
    pub simhash: Option<Fingerprints>,
    /// What the other signatures say.
    pub signatures: Vec<Signature>,
    /// The shortest chain of accepted pairs, if they are in one component and have no accepted
    /// pair.
    pub chain: Vec<Link>,
    /// Whether the search for the chain was given up.
    pub chain_is_cut: bool,
    /// What differs between the texts; `None` if they are not kept, or too different to be aligned.
    pub parts: Option<Vec<Part>>,
    /// The number of all parts, of which at most [`PARTS_MAX`] are listed.
    pub parts_all: usize,
}

/// One of two pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Its canonical URL.
    pub url: String,
    /// In what it differs from the URL that was asked for; empty if they are the same.
    pub differs_by: Vec<&'static str>,
    /// Its content; `None` if it has no text.
    pub content: Option<String>,
    /// The characters of its text.
    pub chars: u32,
    /// Whether the text says too little to compare pages by, so that its pages fold with no page.
    pub says_little: bool,
    /// How its text begins, if the texts are kept and cannot be aligned.
    pub begins: Option<String>,
    /// Its cluster.
    pub cluster: Cluster,
}

/// Why a pair has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A text is empty.
    Empty,
    /// A text has too few words, so that it folds only with identical texts.
    TooShort,
    /// A text was gathered from whole pages, so that it folds only with identical texts.
    Gathered,
    /// A text was cut, so that it folds only with identical texts.
    Cut,
    /// The fingerprints are farther apart than k, and no key is equal.
    NotProposed,
    /// The pivot rule leaves the pair out in every large group or bucket that has both.
    PivotRule,
    /// The fingerprints are near, and the pivot rule leaves these two of their texts out.
    NearGroups,
    /// The near rule leaves the two fingerprints out, because very many are near them.
    NearRule,
    /// A rule compares them, but the pair is not stored.
    Lost,
}

/// What two fingerprints say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fingerprints {
    /// The first, in hex.
    pub a: String,
    /// The second.
    pub b: String,
    /// The number of bits in which they differ.
    pub distance: u32,
    /// The most bits with which SimHash proposes a pair.
    pub k: u32,
    /// The bands, from the lowest bits up; the number of bits of each, and whether they are equal.
    pub bands: Vec<(u32, bool)>,
    /// Whether SimHash compares the two.
    pub compared: bool,
    /// The rule that leaves the two out, if they are within k bits.
    pub left_out_by: Option<Why>,
}

/// What an equality signature says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// Its name.
    pub signature: &'static str,
    /// The number of keys of each text.
    pub keys: [usize; 2],
    /// The keys that both have, in hex.
    pub shared: Vec<String>,
    /// Whether the pivot rule compares the two in one of these buckets.
    pub compared: bool,
}

/// A step of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// A page of the text before it.
    pub from: String,
    /// A page of the text after it.
    pub to: String,
    /// The verdict.
    #[serde(flatten)]
    pub rule: Rule,
}

/// Explains two live pages.
///
/// # Errors
///
/// `NoInput` if one is not live.
pub fn explain(index: &Index, found: [&Nearest; 2]) -> Result<Pair> {
    let page = |found: &Nearest| {
        index.tables.page(found.doc).ok_or_else(|| Error::new(Kind::NoInput, found.gone()))
    };
    let (a, b) = (page(found[0])?, page(found[1])?);
    let mut pair = Pair {
        epoch: index.epoch,
        a: side(index, &a, found[0]),
        b: side(index, &b, found[1]),
        together: false,
        relation: Relation::Apart,
        verdict: None,
        proposed_by: None,
        not_compared: None,
        if_compared: None,
        simhash: None,
        signatures: Vec::new(),
        chain: Vec::new(),
        chain_is_cut: false,
        parts: None,
        parts_all: 0,
    };
    pair.together = pair.a.cluster.id == pair.b.cluster.id;
    let (x, y) = (a.content, b.content);
    if a.doc == b.doc {
        pair.relation = Relation::SamePage;
    } else if x.is_none() || y.is_none() {
        pair.not_compared = Some(Why::Empty);
    } else if x == y {
        pair.relation = Relation::Identical;
    } else {
        pair.compare(index, x, y)?;
    }
    Ok(pair)
}

/// How the text of a live page begins; `None` if texts are not kept, or the page is not compared.
pub fn begins(index: &Index, page: &Nearest) -> Result<Option<String>> {
    Ok(index.kept_text(page.doc)?.map(|text| text.chars().take(HEAD_CHARS).collect()))
}

fn side(index: &Index, page: &PageRow, found: &Nearest) -> Side {
    let row = index.tables.content(page.content);
    Side {
        url: found.url.clone(),
        differs_by: found.differs_by.clone(),
        content: (!page.content.is_none()).then(|| page.content.to_string()),
        chars: row.as_ref().map_or(0, |row| row.chars),
        says_little: row.is_some_and(|row| row.says_little(index.clusters())),
        begins: None,
        cluster: index.tables.cluster(page.content, page.doc),
    }
}

impl Pair {
    fn compare(&mut self, index: &Index, x: Id, y: Id) -> Result<()> {
        let (Some(a), Some(b)) = (index.tables.evidence(x)?, index.tables.evidence(y)?) else {
            let flags = |content| index.tables.content(content).map_or(0, |row| row.flags);
            self.not_compared = Some(match flags(x) | flags(y) {
                flags if flags & TOO_SHORT != 0 => Why::TooShort,
                flags if flags & CUT != 0 => Why::Cut,
                _ => Why::Gathered,
            });
            return Ok(());
        };
        let stored = index.tables.pair(x, y);
        self.signatures(index, [(x, a.fingerprint), (y, b.fingerprint)])?;
        if let Some(row) = &stored {
            self.verdict = Some(rule(row.into(), &index.options));
            self.proposed_by = Some(pairs::names(row.proposals));
        } else {
            self.not_compared = Some(self.why_not());
            let distance = simhash::distance(a.fingerprint, b.fingerprint);
            let verdict = decide(&a, &b, distance, &index.options);
            self.if_compared = Some(rule(Decided::by(verdict, distance), &index.options));
        }
        if stored.is_some_and(|row| row.is_accepted()) {
            self.relation = Relation::Near;
        } else if index
            .tables
            .component(x)
            .is_some_and(|one| index.tables.component(y) == Some(one))
        {
            self.link(index, x, y);
        }
        self.differ(index, (x, &a), (y, &b))
    }

    /// Finds the chain that joins the two texts.
    fn link(&mut self, index: &Index, x: Id, y: Id) {
        match chain::chain(&index.tables, index.clusters(), x, y) {
            Chain::Found(rows) => {
                if self.together {
                    self.relation = Relation::Chain;
                }
                let url = |content: Id| index.tables.first_url(content);
                let link = |row: &PairRow| Link {
                    from: url(row.content),
                    to: url(row.other),
                    rule: rule(row.into(), &index.options),
                };
                self.chain = rows.iter().map(link).collect();
            }
            Chain::None => {}
            Chain::TooFar => {
                self.chain_is_cut = true;
                if self.together {
                    self.relation = Relation::Chain;
                }
            }
        }
    }

    /// Aligns the texts, if both are kept.
    fn differ(
        &mut self,
        index: &Index,
        (x, a): (Id, &Content<'_>),
        (y, b): (Id, &Content<'_>),
    ) -> Result<()> {
        let Some((a, b)) = a.kept_text(x)?.zip(b.kept_text(y)?) else { return Ok(()) };
        self.parts = parts(&a, &b, &index.options);
        match &mut self.parts {
            Some(parts) => {
                self.parts_all = parts.len();
                parts.truncate(PARTS_MAX);
            }
            None => {
                self.a.begins = Some(a.chars().take(HEAD_CHARS).collect());
                self.b.begins = Some(b.chars().take(HEAD_CHARS).collect());
            }
        }
        let Options { by, facts_chars_max, .. } = index.options;
        let unread = by == By::Text && self.a.chars.max(self.b.chars) > facts_chars_max;
        let differ = self.parts.iter().flatten().any(|part| part.kind.is_fact());
        if let Some(rule) = self.verdict.as_mut().or(self.if_compared.as_mut())
            && (rule.accepted && unread && differ)
        {
            rule.says +=
                &format!("; longer than facts_chars_max = {facts_chars_max}, no fact refuses");
        }
        Ok(())
    }

    /// Says what each signature says.
    fn signatures(&mut self, index: &Index, of: [(Id, u64); 2]) -> Result<()> {
        let bands = &index.tables.mapped.bands;
        let difference = of[0].1 ^ of[1].1;
        let (compared, left_out_by) = match simhash_leaves_out(index, of) {
            None => (true, None),
            Some(why) => (false, Some(why).filter(|why| *why != Why::NotProposed)),
        };
        self.simhash = Some(Fingerprints {
            a: hex(of[0].1).to_string(),
            b: hex(of[1].1).to_string(),
            distance: difference.count_ones(),
            k: bands.k(),
            bands: bands
                .masks()
                .into_iter()
                .map(|mask| (mask.count_ones(), difference & mask == 0))
                .collect(),
            compared,
            left_out_by,
        });
        let keys = |content: Id| -> Result<BTreeSet<(u8, u64)>> {
            Ok(index.tables.keys(content)?.into_iter().collect())
        };
        let (a, b) = (keys(of[0].0)?, keys(of[1].0)?);
        for kind in SignatureKind::ALL {
            let number = kind.number();
            let count =
                |keys: &BTreeSet<(u8, u64)>| keys.iter().filter(|(of, _)| *of == number).count();
            let shared: Vec<u64> =
                a.intersection(&b).filter(|(of, _)| *of == number).map(|(_, key)| *key).collect();
            let compared = shared
                .iter()
                .any(|key| compares_within(&index.tables.bucket(number, *key), of[0].0, of[1].0));
            if count(&a) + count(&b) > 0 {
                let shared = shared.into_iter().map(|key| hex(key).to_string()).collect();
                self.signatures.push(Signature {
                    signature: kind.name(),
                    keys: [count(&a), count(&b)],
                    shared,
                    compared,
                });
            }
        }
        Ok(())
    }

    fn why_not(&self) -> Why {
        let Some(simhash) = &self.simhash else { return Why::NotProposed };
        let shares = self.signatures.iter().any(|signature| !signature.shared.is_empty());
        if simhash.compared || self.signatures.iter().any(|signature| signature.compared) {
            Why::Lost
        } else if shares {
            Why::PivotRule
        } else {
            simhash.left_out_by.unwrap_or(Why::NotProposed)
        }
    }
}

/// Whether the pivot rule compares two contents of a group or bucket with these first contents. A
/// content that is not among them has a greater rank.
fn compares_within(first: &[Id], a: Id, b: Id) -> bool {
    let rank = |content: Id| first.binary_search(&content).unwrap_or(first.len());
    let (lesser, greater) = (rank(a).min(rank(b)), rank(a).max(rank(b)));
    lesser < examined_before(greater)
}

/// Why SimHash does not compare two contents with these fingerprints; `None` if it does.
fn simhash_leaves_out(index: &Index, [(x, f), (y, g)]: [(Id, u64); 2]) -> Option<Why> {
    let (tables, bands) = (&index.tables, &index.tables.mapped.bands);
    if f == g {
        let compared = compares_within(&tables.group(f, BUCKET_CONTENTS_MAX), x, y);
        return (!compared).then_some(Why::PivotRule);
    }
    if simhash::distance(f, g) > bands.k() {
        return Some(Why::NotProposed);
    }
    // The lowest band on which both agree owns the pair.
    let band = bands.masks().iter().position(|mask| (f ^ g) & mask == 0)?;
    let (key, fixed) = (bands.key(band, f), bands.key_fixed(band));
    let (range, mut bucket) = (key & fixed..=key | !fixed, Vec::new());
    match band {
        0 => Keys::new(&tables.mapped.groups).live(range, &mut bucket),
        _ => Keys::new(&tables.mapped.band[band - 1]).live(range, &mut bucket),
    }
    let mut rule = NearRule::new(bands.clone());
    rule.add_band(band, bucket.into_iter());
    let rank = |fingerprint: u64, content: Id| {
        tables.group(fingerprint, PIVOTS).binary_search(&content).unwrap_or(PIVOTS)
    };
    match rule.product_max(f, g) {
        0 => Some(Why::NearRule),
        product_max => {
            (!examined_between(rank(f, x), rank(g, y), product_max)).then_some(Why::NearGroups)
        }
    }
}
