//! Asks the index what a text would fold with, by the rules of an epoch.
//!
//! The text is normalised, signed, compared and decided by the code that an epoch uses, against the
//! look-ups of [`crate::ask::candidates`]. What an epoch may see otherwise is said, with the
//! reason: the answer is provisional then.

use crate::ask::candidates::proposed;
use crate::ask::tables::{Cluster, Tables, share};
use crate::ask::texts::{Text, Texts};
use crate::confirm::{self, Known, Reason, Repeated, Verdict, decide};
use crate::document::{Id, NO_DATE};
use crate::error::Result;
use crate::graph::keep_rule::{Facts, KeepRule, Rank};
use crate::job::{Job, clusters};
use crate::read::record::{Body, Record};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::open::OpenSegments;
use crate::tables::evidence::{damaged, unpack_text};
use crate::tables::visits::{GATHERED, TOO_SHORT};
use crate::tables::{ContentRow, EvidenceRow, PageRow, PairRow, Visit, pairs};
use crate::text::{simhash, sketch::Sketches};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// The pages with the identical text that an answer names; it counts all.
pub const URLS_MAX: usize = 10;
/// The stored pairs of a text that an answer lists.
pub const STORED_PAIRS_MAX: usize = 1000;
/// The pages with the identical text that are ranked, to see whether a page comes before them.
const RANKED_PAGES_MAX: usize = 100;

/// The notes of texts that fold with identical ones alone, and with none.
const TOO_SHORT_NOTE: &str = "too_short";
const SAYS_LITTLE: &str = "says_little";

/// The tables of a head, ready to be asked.
pub struct Index {
    /// The epoch of the head.
    pub epoch: u64,
    pub(super) tables: Tables,
    pub(super) options: confirm::Options,
    pub(super) rule: KeepRule,
    /// The names of the sources, by number: those of the head, and that of the job, which the next
    /// epoch adds if the head lacks it.
    pub(super) sources: Vec<String>,
    pub(super) job: Job,
    texts: Arc<Texts>,
    /// The epochs that read something, and the next one, which does so.
    pub(super) reading: Vec<u64>,
    /// The time of the head's plan, seconds since 1970.
    pub(super) logical_time: i64,
    /// Seconds until a run can read what is inserted now.
    pub(super) lead_seconds: i64,
}

/// What becomes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It folds with no stored page.
    New,
    /// A stored page has the same text.
    Identical,
    /// Stored pages have a similar text.
    Near,
}

impl Found {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Found::New => "new",
            Found::Identical => "identical",
            Found::Near => "near",
        }
    }
}

/// A stored text that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// The content.
    pub content: String,
    /// The same as a number.
    #[serde(skip)]
    pub id: Id,
    /// A page that has it.
    pub url: String,
    /// The number of its pages.
    pub pages: u64,
    /// The signatures that propose the pair, joined by `+`.
    pub signature: String,
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
    /// The similarity by the rule that decided.
    pub similarity: f64,
    /// Whether the pair is accepted.
    pub accepted: bool,
    /// The rule that decided.
    pub reason: &'static str,
    /// The cluster of its pages.
    pub cluster: String,
    /// The pages of that cluster.
    pub cluster_pages: u32,
    /// The URL of the page that represents it.
    pub representative: String,
    /// The DocId of that page.
    #[serde(skip)]
    pub representative_doc: Id,
}

/// What an index says about a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The URL that the text came with, if any, as the store has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What becomes of the text.
    pub verdict: Found,
    /// The URL of the page that represents the cluster that it belongs to.
    pub representative: Option<String>,
    /// That cluster.
    pub cluster: Option<String>,
    /// The pages of that cluster.
    pub cluster_pages: Option<u32>,
    /// The similarity with the most similar text; 1 if identical.
    pub similarity: Option<f64>,
    /// The rule that accepted that pair.
    pub reason: Option<&'static str>,
    /// Whether the next epoch may see it otherwise.
    pub provisional: bool,
    /// Why: see [`because`].
    pub because: Vec<&'static str>,
    /// The content: the digest of the normalised text; none if it is empty.
    pub content: Option<String>,
    /// The characters of the normalised text.
    pub chars: u32,
    /// What is odd about the text, such as `too_short`.
    pub notes: Vec<String>,
    /// The number of stored pages with the identical text.
    pub pages: u64,
    /// The first of them by DocId.
    pub urls: Vec<String>,
    /// The stored texts with which it is accepted, the most similar first.
    pub matches: Vec<Match>,
    /// Those with which it is refused, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Match>,
    /// The stored fingerprints that are near it.
    #[serde(skip)]
    pub near: BTreeSet<u64>,
    /// Contents whose ranks it moves, by which they are compared or are not.
    #[serde(skip)]
    pub moved: BTreeSet<Id>,
    /// Whether the next epoch removes all pages that it is identical to or near, unless it sees
    /// them.
    #[serde(skip)]
    pub outlives: bool,
}

/// Why an answer is provisional.
pub mod because {
    /// It moves ranks in large groups, so other contents are compared than now.
    pub const PIVOTS: &str = "pivots";
    /// It would be compared with more contents of a bucket than were read.
    pub const LIMIT: &str = "limit";
    /// It joins several clusters.
    pub const JOINS: &str = "joins";
    /// With a radius clusters are made anew.
    pub const RADIUS: &str = "radius";
    /// The page that it came from would represent the cluster, by the keep rule.
    pub const REPRESENTS: &str = "represents";
    /// The page that it came from would name the cluster.
    pub const NAMES: &str = "names";
    /// Its URL has another text now, which would go.
    pub const REPLACES: &str = "replaces";
    /// A record of its URL that is known has a later date, and holds.
    pub const OUTDATED: &str = "outdated";
    /// Pages expire with the next epoch, unless it sees them, on which the answer depends, see
    /// [`crate::ask::expiry`].
    pub const EXPIRES: &str = "expires";
    /// The text was gathered from whole pages so far and was not compared, and now it will be; or
    /// it was compared and will not be, as no page has it as its main text any more.
    pub const GATHERED: &str = "gathered";
    /// Records that were inserted since the last epoch are like it, or change its cluster.
    pub const INBOX: &str = "inbox";
    /// There is a newer epoch, which cannot be asked.
    pub const BEHIND: &str = "behind";
}

impl Index {
    /// Opens the tables of `head`. No dictionary is loaded before a text needs it.
    ///
    /// # Errors
    ///
    /// `Config` if the head was decided with another configuration than the job's, `Io` if a table
    /// cannot be mapped.
    pub fn open(job: &Job, store: &Store, head: &Head) -> Result<Index> {
        Index::open_with(job, store, head, Arc::new(Texts::new(job)), &OpenSegments::default())
    }

    /// [`Index::open`] with the maker of texts and the segments of other heads.
    pub fn open_with(
        job: &Job,
        store: &Store,
        head: &Head,
        texts: Arc<Texts>,
        open: &OpenSegments,
    ) -> Result<Index> {
        let mut sources: Vec<String> =
            head.manifest.source_names().into_iter().map(str::to_owned).collect();
        if !sources.contains(&job.read.source) {
            sources.push(job.read.source.clone());
        }
        // Before the first commit nothing was decided.
        if head.manifest.version > 0 {
            job.check_decided(store.root(), &head.manifest, true)?;
        }
        Ok(Index {
            epoch: head.manifest.epoch,
            tables: Tables::open(store, head, job, open)?,
            options: job.verdicts()?,
            rule: KeepRule::new(&job.keep, &sources),
            sources,
            job: job.clone(),
            texts,
            reading: head.manifest.reading().chain([head.manifest.epoch + 1]).collect(),
            logical_time: head.manifest.logical_time,
            lead_seconds: 0,
        })
    }

    /// The same for a server that hands to a run so many seconds later what is inserted.
    pub fn with_lead(self, lead_seconds: i64) -> Index {
        Index { lead_seconds, ..self }
    }

    /// Reads and checks what questions may read and has not been read yet, but for kept texts,
    /// until `until`. Returns whether none is left.
    pub fn warm(&self, until: Instant) -> bool {
        self.tables.mapped.warm(until)
    }

    /// What becomes of `body`, which has no URL. With `all` refused candidates are listed.
    pub fn ask(&self, body: Body, all: bool) -> Result<Answer> {
        self.answer(&self.texts.nameless(body, |content| self.has(content))?, true, all)
    }

    /// What becomes of `record`, as a run reads it.
    pub fn ask_record(&self, record: Record, all: bool) -> Result<Answer> {
        self.answer(&self.texts.text(record, |content| self.has(content))?, true, all)
    }

    /// The maker of texts.
    pub fn texts(&self) -> &Arc<Texts> {
        &self.texts
    }

    /// Whether live pages have this content.
    pub fn has(&self, content: Id) -> bool {
        self.tables.content(content).is_some()
    }

    /// The live page of `doc`.
    pub fn page(&self, doc: Id) -> Option<PageRow> {
        self.tables.page(doc)
    }

    /// The date that a record of `doc` must reach to hold: of its live page, or of its removal.
    pub fn as_of(&self, doc: Id) -> Option<i64> {
        let page = self.tables.page(doc).map(|page| page.as_of);
        page.or_else(|| self.tables.gone(doc).map(|gone| gone.as_of))
    }

    /// The number of live pages of a content.
    pub fn pages_of(&self, content: Id) -> u64 {
        self.tables.pages_of(content)
    }

    /// The URL of the best page of a content besides those in `gone`. Of very many pages some are
    /// looked at.
    pub fn best_page(&self, content: Id, gone: &BTreeSet<Id>) -> Option<String> {
        let chars = self.tables.content(content)?.chars;
        let docs = self.tables.first_pages(content, gone.len() + RANKED_PAGES_MAX);
        let stay = docs.into_iter().filter(|doc| !gone.contains(doc));
        let pages = stay.filter_map(|doc| self.tables.page(doc));
        let best = pages.map(|page| (self.rank(&page, chars), page.doc)).min()?;
        Some(self.tables.url(best.1))
    }

    /// What accepted pairs join a content to: its component, or itself.
    pub fn component(&self, content: Id) -> Id {
        self.tables.component(content).unwrap_or(content)
    }

    /// What becomes of `text`. If `identical`, a text that live pages have is answered as
    /// identical. Otherwise it is compared with others even then.
    pub fn answer(&self, text: &Text, identical: bool, all: bool) -> Result<Answer> {
        let Text { url, visit, evidence, says_little, notes } = text;
        let mut answer =
            Answer { notes: notes.clone(), ..Answer::new(url.clone(), visit.content, visit.chars) };
        if let Some(row) = self.tables.content(visit.content).filter(|_| identical) {
            if row.flags & TOO_SHORT != 0 && !answer.notes.iter().any(|note| note == TOO_SHORT_NOTE)
            {
                answer.notes.push(TOO_SHORT_NOTE.to_owned());
            }
            self.identical(visit.content, &mut answer);
            if *says_little {
                answer.stays_apart();
            }
            let changes = match [row.flags, visit.flags].map(|flags| flags & GATHERED != 0) {
                [true, false] => true,
                [false, true] => self.is_last_main(visit, &row),
                _ => false,
            };
            answer.because.extend(changes.then_some(because::GATHERED));
            self.lapse(&[visit.content], &mut answer);
            if all {
                self.stored_pairs(visit.content, &mut answer);
            }
        } else if let Some(evidence) = evidence.as_ref().filter(|_| !says_little) {
            self.compare(evidence, all, &mut answer)?;
        }
        if *says_little && !visit.content.is_none() {
            // Its page would fold with none, whatever is near it.
            answer.notes.push(SAYS_LITTLE.to_owned());
        }
        if url.is_some() {
            self.replace(visit, *says_little, &mut answer);
        }
        answer.provisional = !answer.because.is_empty();
        Ok(answer)
    }

    /// What becomes of the text of the live page `doc`: the pages that share it, and its decided
    /// pairs. None if there is no such page.
    pub fn ask_page(&self, doc: Id, all: bool) -> Option<Answer> {
        let page = self.tables.page(doc)?;
        let chars = self.tables.content(page.content).map_or(0, |row| row.chars);
        let mut answer = Answer::new(Some(self.tables.url(doc)), page.content, chars);
        if !page.content.is_none() {
            self.identical(page.content, &mut answer);
            self.lapse(&[page.content], &mut answer);
            answer.provisional = !answer.because.is_empty();
            self.stored_pairs(page.content, &mut answer);
            if !all {
                answer.refused.clear();
            }
        }
        Some(answer)
    }

    /// Whether the pages have keys of the job's own, which are no URLs in canonical form.
    pub fn has_keys(&self) -> bool {
        self.job.read.key.is_own()
    }

    pub(super) fn clusters(&self) -> &clusters::Options {
        &self.job.clusters
    }

    /// Whether the page of `visit` is the only one that has the text of `row` as its main text.
    fn is_last_main(&self, visit: &Visit, row: &ContentRow) -> bool {
        let is_main = self
            .tables
            .page(visit.doc)
            .is_some_and(|page| page.content == visit.content && page.gathered == 0);
        is_main && u64::from(row.gathered_pages) + 1 >= self.tables.pages_of(visit.content)
    }

    fn identical(&self, content: Id, answer: &mut Answer) {
        let docs = self.tables.first_pages(content, URLS_MAX);
        let cluster = self.tables.cluster(content, docs.first().copied().unwrap_or(Id::NONE));
        answer.verdict = Found::Identical;
        answer.similarity = Some(1.0);
        answer.pages = self.tables.pages_of(content);
        answer.urls = docs.iter().map(|doc| self.tables.url(*doc)).collect();
        answer.belongs_to(&cluster);
    }

    fn stored_pairs(&self, content: Id, answer: &mut Answer) {
        for row in self.tables.mapped.pairs.first(content, STORED_PAIRS_MAX) {
            let PairRow { other, distance, similarity, reason, accepted, proposals, .. } = row;
            let found = self.matched(
                other,
                proposals,
                distance.into(),
                (similarity, reason, accepted == 1),
            );
            answer.push(found);
        }
        answer.sort();
    }

    /// Compares a text that no stored page has with those that an epoch would compare it with.
    fn compare(&self, evidence: &EvidenceRow, all: bool, answer: &mut Answer) -> Result<()> {
        let own_keys = crate::tables::evidence::keys(&evidence.keys);
        let proposed = proposed(&self.tables, evidence.content, evidence.fingerprint, own_keys);
        let text = if evidence.text.is_empty() { None } else { unpack_text(&evidence.text) };
        let sketches = Sketches::parse(&evidence.sketches)
            .ok_or_else(|| damaged(evidence.content, "is damaged"))?;
        let known = Known { chars: evidence.chars, sketches, text: text.as_deref() };
        let asked = Repeated::new(known);
        let contents: Vec<Id> = proposed.contents.keys().copied().collect();
        let others = self.tables.evidence_of(&contents)?;
        for ((content, proposals), other) in proposed.contents.into_iter().zip(others) {
            let distance = simhash::distance(other.fingerprint, evidence.fingerprint);
            let Verdict { accepted, similarity, reason } =
                decide(&asked, &other, distance, &self.options);
            if other.is_damaged() {
                return Err(damaged(content, "is damaged"));
            }
            // The pages of a text that says too little fold with none.
            let accepted = accepted
                && !self
                    .tables
                    .content(content)
                    .is_some_and(|row| row.says_little(self.clusters()));
            if accepted || all {
                answer.push(self.matched(
                    content,
                    proposals,
                    distance,
                    (similarity, reason as u8, accepted),
                ));
            }
        }
        let mut because = |holds: bool, why| answer.because.extend(holds.then_some(why));
        because(!proposed.moved.is_empty(), because::PIVOTS);
        because(proposed.is_cut, because::LIMIT);
        (answer.near, answer.moved) = (proposed.near, proposed.moved);
        answer.settle(&self.job.clusters);
        let contents: Vec<Id> = answer.matches.iter().map(|one| one.id).collect();
        self.lapse(&contents, answer);
        Ok(())
    }

    fn matched(
        &self,
        content: Id,
        proposals: u64,
        distance: u32,
        (similarity, reason, accepted): (u16, u8, bool),
    ) -> Match {
        let doc = self.tables.first_pages(content, 1).first().copied().unwrap_or(Id::NONE);
        let cluster = self.tables.cluster(content, doc);
        Match {
            content: content.to_string(),
            id: content,
            url: self.tables.url(doc),
            pages: self.tables.pages_of(content),
            signature: pairs::names(proposals),
            distance,
            similarity: share(similarity),
            accepted,
            reason: Reason::name(reason),
            cluster: cluster.id,
            cluster_pages: cluster.pages,
            representative: cluster.representative,
            representative_doc: cluster.representative_doc,
        }
    }

    /// The number of pages that a stored page represents: what the keep rule of the next epoch
    /// reads as the past. 0 if it folds, or if the rule does not read it.
    fn represents(&self, page: &PageRow) -> u64 {
        if self.rule.incumbent_slot().is_none() || page.content.is_none() {
            return 0;
        }
        let cluster = self.tables.cluster(page.content, page.doc);
        if cluster.representative_doc == page.doc { cluster.pages.into() } else { 0 }
    }

    /// The rank of a stored page, whose text has `chars` characters, whatever it represents.
    pub(super) fn rank(&self, page: &PageRow, chars: u32) -> Rank {
        let url = if self.rule.reads_urls() { self.tables.url(page.doc) } else { String::new() };
        self.rule.rank(page.facts(chars, &url))
    }

    /// What the URL of a text changes: it may have another text now, and its page may come first in
    /// its cluster.
    fn replace(&self, visit: &Visit, says_little: bool, answer: &mut Answer) {
        let stored = self.tables.page(visit.doc);
        let replaces = stored.as_ref().is_some_and(|page| page.content != visit.content);
        let is_outdated =
            visit.date != NO_DATE && self.as_of(visit.doc).is_some_and(|as_of| visit.date < as_of);
        let mut because = |holds: bool, why| answer.because.extend(holds.then_some(why));
        because(replaces, because::REPLACES);
        because(is_outdated, because::OUTDATED);
        if answer.verdict != Found::New && !says_little {
            self.come_first(visit, stored.as_ref(), answer);
        }
    }

    /// Says whether the page of `visit`, which is `stored` or new, would lead, represent or name
    /// its cluster.
    fn come_first(&self, visit: &Visit, stored: Option<&PageRow>, answer: &mut Answer) {
        let own_rank = self.own_rank(visit, stored);
        let is_as_it_was = |page: &PageRow| {
            page.content == visit.content && self.rank(page, visit.chars) == own_rank
        };
        if stored.is_some_and(is_as_it_was) {
            return;
        }
        let is_identical = answer.verdict == Found::Identical;
        let leads = is_identical && self.leads_otherwise(visit, own_rank);
        let docs = answer.matches.iter().map(|one| one.representative_doc);
        let own = is_identical.then(|| self.tables.cluster_of(visit.content).representative_doc);
        let rank = |doc: Id| {
            let page = self.tables.page(doc)?;
            let chars = self.tables.content(page.content)?.chars;
            Some((self.rule.with_represented(self.rank(&page, chars), self.represents(&page)), doc))
        };
        let first = own.into_iter().chain(docs).filter_map(rank).min();
        // The page itself may be the first, and its rank is another one now.
        let own_pages = stored.map_or(0, |page| self.represents(page));
        let own = (self.rule.with_represented(own_rank, own_pages), visit.doc);
        let represents = first.is_some_and(|first| first.1 == visit.doc || own < first);
        let names = answer.cluster.as_ref().is_some_and(|cluster| visit.doc.to_string() < *cluster);
        let mut because = |holds: bool, why| answer.because.extend(holds.then_some(why));
        because(leads, because::RADIUS);
        because(represents, because::REPRESENTS);
        because(names, because::NAMES);
    }

    /// The rank of the page of `visit`, as the next epoch of this job would see it.
    fn own_rank(&self, visit: &Visit, stored: Option<&PageRow>) -> Rank {
        let source = self.sources.iter().position(|name| *name == self.job.read.source);
        self.rule.rank(Facts {
            host: visit.host,
            url: &String::from_utf8_lossy(&visit.url),
            https: visit.https == 1,
            url_bytes: u32::try_from(visit.url.len()).unwrap_or(u32::MAX),
            date: visit.date,
            score: visit.score,
            first_epoch: stored.map_or(u32::MAX, |page| page.first_epoch),
            source: source.and_then(|at| u16::try_from(at).ok()).unwrap_or(u16::MAX),
            chars: visit.chars,
        })
    }

    /// Whether the best page of a stored text is another one once the page of `visit` has this
    /// rank. Texts that are near each other are led by the order of their best pages, if there is a
    /// radius.
    fn leads_otherwise(&self, visit: &Visit, own_rank: Rank) -> bool {
        if self.job.clusters.radius == 0 || self.tables.component(visit.content).is_none() {
            return false;
        }
        let docs = self.tables.first_pages(visit.content, RANKED_PAGES_MAX + 1);
        let pages = docs.iter().take(RANKED_PAGES_MAX).filter_map(|doc| self.tables.page(*doc));
        let ranks: Vec<(Rank, Id)> =
            pages.map(|page| (self.rank(&page, visit.chars), page.doc)).collect();
        let others = ranks.iter().filter(|(_, doc)| *doc != visit.doc);
        let best = others.copied().chain([(own_rank, visit.doc)]).min();
        docs.len() > RANKED_PAGES_MAX || best != ranks.iter().min().copied()
    }
}

impl Answer {
    fn new(url: Option<String>, content: Id, chars: u32) -> Answer {
        Answer {
            url,
            verdict: Found::New,
            representative: None,
            cluster: None,
            cluster_pages: None,
            similarity: None,
            reason: None,
            provisional: false,
            because: Vec::new(),
            content: (!content.is_none()).then(|| content.to_string()),
            chars,
            notes: Vec::new(),
            pages: 0,
            urls: Vec::new(),
            matches: Vec::new(),
            refused: Vec::new(),
            near: BTreeSet::new(),
            moved: BTreeSet::new(),
            outlives: false,
        }
    }

    /// Whether a stored page has its text, or one near it, and stays.
    pub fn is_known(&self) -> bool {
        self.verdict != Found::New && !self.outlives
    }

    /// Says of a text that no page has what its matches make of it.
    pub fn settle(&mut self, clusters: &clusters::Options) {
        self.sort();
        let first = self.matches.first().cloned();
        self.verdict = if first.is_some() { Found::Near } else { Found::New };
        self.similarity = first.as_ref().map(|first| first.similarity);
        self.reason = first.as_ref().map(|first| first.reason);
        self.cluster = first.as_ref().map(|first| first.cluster.clone());
        self.cluster_pages = first.as_ref().map(|first| first.cluster_pages);
        self.representative = first.map(|first| first.representative);
        self.because.retain(|why| ![because::JOINS, because::RADIUS].contains(why));
        let joined: BTreeSet<&str> = self.matches.iter().map(|one| one.cluster.as_str()).collect();
        let joins = joined.len() > 1;
        self.because.extend(joins.then_some(because::JOINS));
        self.because.extend(
            (clusters.radius > 0 && self.verdict == Found::Near).then_some(because::RADIUS),
        );
    }

    /// Adds a reason for which the next epoch may see it otherwise, once.
    pub fn add(&mut self, why: &'static str) {
        if !self.because.contains(&why) {
            self.because.push(why);
        }
        self.provisional = true;
    }

    /// The pages of its text fold with none, so it is in no cluster of theirs.
    pub fn stays_apart(&mut self) {
        (self.cluster, self.cluster_pages, self.representative) = (None, None, None);
    }

    fn belongs_to(&mut self, cluster: &Cluster) {
        self.cluster = Some(cluster.id.clone());
        self.cluster_pages = Some(cluster.pages);
        self.representative = Some(cluster.representative.clone());
    }

    fn push(&mut self, found: Match) {
        if found.accepted { &mut self.matches } else { &mut self.refused }.push(found);
    }

    fn sort(&mut self) {
        for list in [&mut self.matches, &mut self.refused] {
            list.sort_by(|a, b| {
                b.similarity.total_cmp(&a.similarity).then_with(|| a.content.cmp(&b.content))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of a server ask one index at once.
    #[test]
    fn an_index_is_shared() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Index>();
    }
}
