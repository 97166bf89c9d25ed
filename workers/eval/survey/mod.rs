//! Estimates precision and recall from answers about a sample of the store's decided pairs.
//!
//! The population is every decided pair of distinct texts, accepted or refused, except those with a
//! text that says too little, because its pages fold with no page. A pair that no signature
//! proposes is in no table, so recall is *of the pairs that were compared*. The pairs are divided
//! into strata ([`strata`]); each stratum has a random order, by a hash of the seed and the pair,
//! and its first pairs are asked about. So within a stratum each pair has the same probability to
//! be in the sample. The estimates of true pairs ([`mod@estimate`]) are unbiased; recall, a ratio
//! of two of them, is nearly so. A later epoch asks about few other pairs. The stratum of the next
//! question depends on the numbers of answers, never on the answers themselves: a survey that stops
//! early has a smaller sample of the same kind.
//!
//! A pair that is skipped is replaced by the next pair of its stratum. This is right if skipped
//! pairs are like the others. A stratum of which all pairs were skipped counts for its neighbour.

pub mod estimate;
mod strata;

use crate::distinct::distinct;
use crate::error::{Error, Kind, Result};
use crate::eval::labels::Labels;
use crate::eval::scene::Truth;
use crate::eval::survey::estimate::{Estimate, Tally, estimate};
use crate::eval::survey::strata::{Cell, Drawn, Stratum, next};
use crate::eval::world;
use crate::id::Id;
use crate::job::clusters;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::runs::Table;
use crate::tables::pairs::proposed_by;
use crate::tables::snapshot::Snapshot;
use crate::tables::{
    ClusterRow, ComponentRow, ContentPageRow, ContentRow, LeaderRow, PairRow, UrlRow,
};
use crate::text::signatures::SignatureKind;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The rows of `pairs` that are read at once.
const PORTION_ROWS: usize = 1 << 16;

/// A pair to ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The URL and the DocId of a page of the lesser content.
    pub a: (String, Id),
    /// The URL and the DocId of a page of the other content.
    pub b: (String, Id),
    /// The two contents.
    pub contents: [Id; 2],
    stratum: usize,
}

/// The answers so far, and what to ask next.
pub struct Survey {
    strata: Vec<Stratum>,
    tallies: Vec<Tally>,
    /// The number of pairs of each stratum that were shown.
    shown: Vec<usize>,
    skipped: u64,
    answers_max: u64,
    content_pages: Table<ContentPageRow>,
    urls: Table<UrlRow>,
}

/// A stratum and its answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfStratum {
    /// Whether the store accepted its pairs.
    pub accepted: bool,
    /// The least similarity of its pairs.
    pub similarity_min: f64,
    /// The greatest similarity of its pairs.
    pub similarity_max: f64,
    /// Its pairs of distinct texts.
    pub pairs: u64,
    /// The answers about them.
    pub answers: u64,
    /// The answers that the two are the same.
    pub same: u64,
}

/// The results of a survey.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// The epoch.
    pub epoch: u64,
    /// The accepted pairs of distinct texts.
    pub accepted: u64,
    /// The refused pairs.
    pub refused: u64,
    /// The answers.
    pub answers: u64,
    /// Pairs that were skipped.
    pub skipped: u64,
    /// The estimates, if there are answers enough.
    #[serde(flatten)]
    pub estimate: Option<Estimate>,
    /// The strata.
    pub strata: Vec<OfStratum>,
}

impl Survey {
    /// A survey of the decided pairs of `head`, whose clusters were made with `options`, with at
    /// most `answers_max` answers.
    ///
    /// # Errors
    ///
    /// `Data` if no pair was decided, `Io` if a table is damaged.
    pub fn new(
        store: &Store,
        head: &Head,
        options: &clusters::Options,
        seed: u64,
        answers_max: u32,
    ) -> Result<Survey> {
        let tables = Snapshot::of(store, head);
        let cells = draw(&tables, options, seed, answers_max as usize)?;
        if cells.is_empty() {
            let line =
                format!("{}: the store has no decided pair to ask about", store.root().display());
            return Err(Error::new(Kind::Data, line));
        }
        let strata = strata::strata(cells, answers_max);
        Ok(Survey {
            tallies: strata
                .iter()
                .map(|of| Tally { accepted: of.accepted, pairs: of.pairs, yes: 0, no: 0 })
                .collect(),
            shown: vec![0; strata.len()],
            strata,
            skipped: 0,
            answers_max: answers_max.into(),
            content_pages: tables.table()?,
            urls: tables.table()?,
        })
    }

    /// The next pair; `None` if there are enough answers, or no pairs left.
    pub fn next_question(&mut self) -> Option<Question> {
        if self.answers() >= self.answers_max {
            return None;
        }
        let stratum = next(&self.strata, &self.tallies, &self.shown)?;
        let (_, a, b) = self.strata[stratum].first[self.shown[stratum]];
        self.shown[stratum] += 1;
        Some(Question { a: self.page(a), b: self.page(b), contents: [a, b], stratum })
    }

    /// The URL and the DocId of the first page of `content`.
    fn page(&self, content: Id) -> (String, Id) {
        let doc = self.content_pages.first(content, 1).first().map_or(Id::NONE, |row| row.doc);
        let url = self.urls.matching(&[doc]).into_iter().next();
        (url.map_or_else(String::new, |row| row.text().into_owned()), doc)
    }

    /// Takes the answer to `question`; `None` skips it.
    pub fn answer(&mut self, question: &Question, same: Option<bool>) {
        let tally = &mut self.tallies[question.stratum];
        match same {
            Some(true) => tally.yes += 1,
            Some(false) => tally.no += 1,
            None => self.skipped += 1,
        }
    }

    /// The number of answers.
    pub fn answers(&self) -> u64 {
        self.tallies.iter().map(Tally::answers).sum()
    }

    /// The number of answers that are wanted.
    pub fn wanted(&self) -> u64 {
        self.answers_max.min(self.tallies.iter().map(|of| of.pairs).sum())
    }

    /// The tallies. The pairs of a stratum that has no answer and nothing left to ask about count
    /// as pairs of the nearest stratum that has answers, among the accepted or refused ones.
    fn answered(&self) -> Vec<Tally> {
        let mut tallies = self.tallies.clone();
        for at in 0..tallies.len() {
            let is_over = self.shown[at] == self.strata[at].first.len();
            if !is_over || tallies[at].answers() > 0 {
                continue;
            }
            let is_like = |to: &usize| {
                tallies[*to].accepted == tallies[at].accepted && tallies[*to].answers() > 0
            };
            let nearest = (0..tallies.len()).filter(is_like).min_by_key(|to| to.abs_diff(at));
            if let Some(nearest) = nearest {
                tallies[nearest].pairs += std::mem::take(&mut tallies[at].pairs);
            }
        }
        tallies.retain(|of| of.pairs > 0);
        tallies
    }

    /// The results so far.
    pub fn findings(&self, head: &Head) -> Findings {
        let pairs = |accepted| {
            self.tallies.iter().filter(|of| of.accepted == accepted).map(|of| of.pairs).sum()
        };
        let of = |(stratum, tally): (&Stratum, &Tally)| OfStratum {
            accepted: stratum.accepted,
            similarity_min: f64::from(stratum.similarity.0) / 10_000.0,
            similarity_max: f64::from(stratum.similarity.1) / 10_000.0,
            pairs: tally.pairs,
            answers: tally.answers(),
            same: tally.yes,
        };
        Findings {
            epoch: head.manifest.epoch,
            accepted: pairs(true),
            refused: pairs(false),
            answers: self.answers(),
            skipped: self.skipped,
            estimate: estimate(&self.answered()),
            strata: self.strata.iter().zip(&self.tallies).map(of).collect(),
        }
    }
}

/// Counts the decided pairs by cell, and draws from each cell as many as can be asked about, and as
/// many again to replace skipped pairs. A pair with a text that says too little is left out.
fn draw(
    tables: &Snapshot<'_>,
    options: &clusters::Options,
    seed: u64,
    answers_max: usize,
) -> Result<BTreeMap<Cell, Drawn>> {
    let facts: Table<ContentRow> = tables.table()?;
    let components: Table<ComponentRow> = tables.table()?;
    let (leaders, clusters): (Table<LeaderRow>, Table<ClusterRow>) =
        (tables.table()?, tables.table()?);
    let mut cells: BTreeMap<Cell, Drawn> = BTreeMap::new();
    for rows in tables.table::<PairRow>()?.portions(PORTION_ROWS) {
        let mut contents: Vec<Id> = rows.iter().map(|row| row.content).collect();
        contents.dedup();
        let component: BTreeMap<Id, Id> = components
            .matching(&contents)
            .into_iter()
            .map(|row| (row.content, row.component))
            .collect();
        let leader: BTreeMap<Id, Id> =
            leaders.matching(&contents).into_iter().map(|row| (row.content, row.leader)).collect();
        let named: Vec<Id> =
            component.values().copied().collect::<BTreeSet<Id>>().into_iter().collect();
        let pages: BTreeMap<(Id, Id), u32> = clusters
            .matching(&named)
            .into_iter()
            .map(|row| ((row.component, row.leader), row.pages))
            .collect();
        let pages_of =
            |content: Id| pages.get(&(*component.get(&content)?, *leader.get(&content)?)).copied();
        let pairs = || rows.iter().filter(|row| row.content < row.other);
        let compared = distinct(pairs().flat_map(|row| [row.content, row.other]));
        let little: BTreeSet<Id> = world::rows(&facts, &compared)
            .filter(|row| row.says_little(options))
            .map(|row| row.content)
            .collect();
        let is_little =
            |row: &PairRow| little.contains(&row.content) || little.contains(&row.other);
        for row in pairs().filter(|row| !is_little(row)) {
            let numbers = std::iter::once(0).chain(SignatureKind::ALL.map(|kind| kind.number()));
            let proposers =
                numbers.filter(|number| proposed_by(row.proposals, *number) > 0).count();
            let cell = Cell::of(row, pages_of(row.content).unwrap_or(1), proposers);
            let name = [row.content.to_bytes(), row.other.to_bytes()].concat();
            let rank = xxh3_64_with_seed(&name, seed);
            cells.entry(cell).or_default().add(rank, row, 2 * answers_max);
        }
    }
    Ok(cells)
}

fn ascending([a, b]: [Id; 2]) -> [Id; 2] {
    [a.min(b), a.max(b)]
}

/// The answers in a file of labels.
pub struct KnownAnswers {
    places: BTreeMap<Id, u32>,
    truth: Truth,
    contents: BTreeMap<(u32, u32), [Id; 2]>,
    /// The answers about two texts, the lesser first: other pages may have them by now.
    of_texts: BTreeMap<[Id; 2], bool>,
}

impl KnownAnswers {
    /// The answers that `labels` have.
    pub fn new(labels: Labels) -> KnownAnswers {
        let places = (0..).zip(&labels.urls).map(|(at, (_, doc))| (*doc, at)).collect();
        let Labels { truth, contents, .. } = labels;
        let judged: &[_] = if let Truth::Judged(judged) = &truth { judged } else { &[] };
        let of_texts = judged
            .iter()
            .filter_map(|(a, b, same)| Some((ascending(*contents.get(&(*a, *b))?), *same)))
            .collect();
        KnownAnswers { places, truth, contents, of_texts }
    }

    /// Whether the pages of `question` are the same; `None` if the labels do not say it, or say it
    /// of texts that the pages had before.
    pub fn answer(&self, question: &Question) -> Option<bool> {
        if let Some(same) = self.of_texts.get(&ascending(question.contents)) {
            return Some(*same);
        }
        let places = [question.a.1, question.b.1].map(|doc| self.places.get(&doc).copied());
        match (&self.truth, places) {
            (Truth::Labels(labels), [Some(a), Some(b)]) => {
                Some(labels[a as usize] == labels[b as usize])
            }
            (Truth::Judged(pairs), [Some(a), Some(b)]) => {
                let pair = (a.min(b), a.max(b));
                let at = pairs.binary_search_by_key(&pair, |(a, b, _)| (*a, *b)).ok()?;
                let [of_a, of_b] = question.contents;
                let contents = if a < b { [of_a, of_b] } else { [of_b, of_a] };
                let is_of_these = self.contents.get(&pair).is_none_or(|of| *of == contents);
                is_of_these.then_some(pairs[at].2)
            }
            // All others of the store differ.
            (Truth::Listed(pairs), [Some(a), Some(b)]) => {
                Some(pairs.binary_search(&(a.min(b), a.max(b))).is_ok())
            }
            (Truth::Listed(_), _) => Some(false),
            _ => None,
        }
    }

    /// Whether answers can be added to the file: it has judged pairs.
    pub fn is_judged(&self) -> bool {
        matches!(self.truth, Truth::Judged(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer was asked for again as soon as another page with one of the two texts came first.
    /// An answer about other texts of the same pages is none.
    #[test]
    fn answers_are_about_texts() {
        let id = |n: u64| Id { high: n, low: n };
        let known = KnownAnswers::new(Labels {
            urls: vec![("p".into(), id(10)), ("q".into(), id(20))],
            truth: Truth::Judged(vec![(0, 1, true)]),
            rows: 1,
            kinds: vec![],
            of_kind: vec![],
            contents: BTreeMap::from([((0, 1), [id(2), id(1)])]),
        });
        let answer = |docs: [u64; 2], contents: [u64; 2]| {
            let [a, b] = docs.map(|doc| (String::new(), id(doc)));
            known.answer(&Question { a, b, contents: contents.map(id), stratum: 0 })
        };
        assert_eq!(answer([20, 10], [1, 2]), Some(true));
        assert_eq!(answer([20, 5], [1, 2]), Some(true));
        assert_eq!(answer([20, 10], [1, 3]), None);
    }
}
