//! Asks the index what a text would fold with, by the rules of an epoch.
//!
//! The text is normalised, signed, compared and decided by the code of an epoch;
//! [`crate::ask::candidates`] finds the contents to compare. If an epoch may decide otherwise, the
//! answer is provisional and gives the reason.

use crate::ask::answer::{Answer, Because, Match, TextVerdict};
use crate::ask::candidates::{Proposed, moved_without, proposed};
use crate::ask::rules::Decided;
use crate::ask::tables::{Tables, share};
use crate::ask::texts::{Text, Texts};
use crate::confirm::{self, Known, Reason, Repeated, decide};
use crate::error::Result;
use crate::fold::wrong_clock::sound;
use crate::id::Id;
use crate::job::{Job, clusters};
use crate::keep::KeepRule;
use crate::page_url::Naming;
use crate::plan::consumed::inputs_of;
use crate::plan::time::{AHEAD_SECONDS_MAX, now};
use crate::read::record::{Body, Record};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::open::OpenSegments;
use crate::tables::evidence::{damaged, unpack_text};
use crate::tables::visits::{GATHERED, TOO_SHORT};
use crate::tables::{ContentRow, EvidenceRow, PageRow, Visit, pairs};
use crate::text::{simhash, sketch::Sketches};
use std::sync::Arc;
use std::time::Instant;

/// The most pages with the identical text that an answer names. It counts all.
pub const URLS_MAX: usize = 10;
/// The most stored pairs of a text that an answer lists.
pub const STORED_PAIRS_MAX: usize = 1000;

/// The notes of texts that fold only with identical texts, and of texts that fold with none.
const TOO_SHORT_NOTE: &str = "too_short";
const SAYS_LITTLE: &str = "says_little";

/// The tables of a head, ready to be asked.
pub struct Index {
    /// The epoch of the head.
    pub epoch: u64,
    pub(super) tables: Tables,
    pub(super) options: confirm::Options,
    pub(super) rule: KeepRule,
    /// The names of the sources, by number: those of the head, and the source of the job, which the
    /// next epoch adds if the head lacks it.
    pub(super) sources: Vec<String>,
    pub(super) job: Job,
    texts: Arc<Texts>,
    /// The epochs that read something, and the next epoch, which will.
    pub(super) reading: Vec<u64>,
    /// The time of the head's plan, seconds since 1970.
    pub(super) logical_time: i64,
    /// The inputs whose records the next epoch replaces, see [`crate::plan::Plan::replaced`].
    replaced: Option<Vec<u64>>,
    /// The next epoch forgets pages that are gone since before this time, seconds since 1970.
    gone_min: i64,
    /// Seconds until a run can read what is inserted now.
    pub(super) lead_seconds: i64,
    /// See [`Index::with_refused`].
    lists_refused: bool,
}

impl Index {
    /// Opens the tables of `head`.
    ///
    /// # Errors
    ///
    /// `Config` if the head was decided with another configuration than the job's, `Io` if a table
    /// cannot be mapped.
    pub fn open(job: &Job, store: &Store, head: &Head) -> Result<Index> {
        Index::open_with(job, store, head, Arc::new(Texts::new(job)), &OpenSegments::default())
    }

    /// As [`Index::open`], with the maker of texts and the open segments of other heads.
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
            job.check_decided(store.root(), &head.manifest)?;
        }
        let source = sources.iter().position(|name| *name == job.read.source).unwrap_or_default();
        let replaced = if job.read.complete {
            inputs_of(store, Some(head), source)?
        } else {
            Some(Vec::new())
        };
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
            replaced,
            // No epoch has an earlier time than the clock has now.
            gone_min: job.pages.gone_min(now()),
            lead_seconds: 0,
            lists_refused: false,
        })
    }

    /// The index for a server: a run can read what is inserted after `lead_seconds`.
    pub fn with_lead(self, lead_seconds: i64) -> Index {
        Index { lead_seconds, ..self }
    }

    /// The index whose answers list refused candidates and the stored pairs of a known text, too.
    pub fn with_refused(self) -> Index {
        Index { lists_refused: true, ..self }
    }

    /// Reads and checks, until `until`, the parts of tables that were not read yet, except kept
    /// texts. Returns whether none is left.
    pub fn warm(&self, until: Instant) -> bool {
        self.tables.mapped.warm(until)
    }

    /// What becomes of `body`, which has no URL.
    pub fn ask(&self, body: Body) -> Result<Answer> {
        self.answer(&self.texts.nameless(body, |content| self.has(content))?, true)
    }

    /// What becomes of `record`, as a run reads it.
    pub fn ask_record(&self, record: Record) -> Result<Answer> {
        self.answer(&self.texts.asked(record, |content| self.has(content))?, true)
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

    /// The date that a record of `doc` must reach to hold: of its live page, or of its removal. A
    /// removal that the next epoch forgets does not count, nor does a record of an earlier snapshot
    /// of the job's source if the job reads complete ones.
    pub fn as_of(&self, doc: Id) -> Option<i64> {
        let replaced = self.replaced.as_deref();
        let is_replaced = |page: &PageRow| {
            replaced.is_none_or(|inputs| inputs.binary_search(&page.input).is_ok())
        };
        let page = self.tables.page(doc);
        if page.as_ref().is_some_and(is_replaced) {
            return None;
        }
        let page = page.map(|page| page.as_of);
        let gone = || self.tables.gone(doc).filter(|gone| gone.last_time >= self.gone_min);
        let as_of = page.or_else(|| gone().map(|gone| gone.as_of))?;
        // The next epoch has the time of this one, unless the clock was wrong.
        let time = self.logical_time.clamp(now(), now().saturating_add(AHEAD_SECONDS_MAX));
        Some(sound(as_of, time))
    }

    /// The text of the live page of `doc`, normalised, as the store keeps it for comparisons;
    /// `None` if the text is not compared with others, or not kept.
    pub fn kept_text(&self, doc: Id) -> Result<Option<String>> {
        let Some(page) = self.tables.page(doc) else { return Ok(None) };
        match self.tables.evidence(page.content)? {
            Some(evidence) => Ok(evidence.kept_text(page.content)?.map(Into::into)),
            None => Ok(None),
        }
    }

    /// The number of live pages of a content.
    pub fn pages_of(&self, content: Id) -> u64 {
        self.tables.pages_of(content)
    }

    /// The component of a content, or the content itself if it is in none.
    pub fn component(&self, content: Id) -> Id {
        self.tables.component(content).unwrap_or(content)
    }

    /// What becomes of `text`. If `identical`, a text that live pages have is answered as
    /// identical. Otherwise it is compared with other texts even if live pages have it.
    pub fn answer(&self, text: &Text, identical: bool) -> Result<Answer> {
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
            answer.because.extend(changes.then_some(Because::Gathered));
            self.lapse(&[visit.content], &mut answer);
            if self.lists_refused {
                self.stored_pairs(visit.content, &mut answer);
            }
        } else if let Some(evidence) = evidence.as_ref().filter(|_| !says_little) {
            self.compare(evidence, &mut answer)?;
        }
        if *says_little && !visit.content.is_none() {
            // Its page would fold with no page, whatever texts are near it.
            answer.notes.push(SAYS_LITTLE.to_owned());
        }
        if url.is_some() {
            self.replace(visit, *says_little, &mut answer);
        } else if self.job.extract.furniture.is_some() {
            answer.because.push(Because::NoHost);
        }
        answer.provisional = !answer.because.is_empty();
        Ok(answer)
    }

    /// What becomes of the text of the live page `doc`: the pages that share it, and its decided
    /// pairs. `None` if there is no such page.
    pub fn ask_page(&self, doc: Id) -> Option<Answer> {
        let page = self.tables.page(doc)?;
        let row = self.tables.content(page.content);
        let chars = row.as_ref().map_or(0, |row| row.chars);
        let says_little = row.is_some_and(|row| row.says_little(self.clusters()));
        let mut answer = Answer::new(Some(self.tables.url(doc)), page.content, chars);
        if !page.content.is_none() {
            self.identical(page.content, &mut answer);
            if says_little {
                answer.stays_apart();
                answer.notes.push(SAYS_LITTLE.to_owned());
            }
            self.lapse(&[page.content], &mut answer);
            answer.provisional = !answer.because.is_empty();
            self.stored_pairs(page.content, &mut answer);
            if !self.lists_refused {
                answer.refused.clear();
            }
        }
        Some(answer)
    }

    /// What names a page of the job.
    pub fn naming(&self) -> Naming {
        self.job.read.key.naming()
    }

    pub(super) fn clusters(&self) -> &clusters::Options {
        &self.job.clusters
    }

    /// Whether the page of `visit` is the only one that has the text of `row` as its main text.
    fn is_last_main(&self, visit: &Visit, row: &ContentRow) -> bool {
        let is_main = self
            .tables
            .page(visit.doc)
            .is_some_and(|page| page.content == visit.content && !page.is_gathered());
        is_main && u64::from(row.gathered_pages) + 1 >= self.tables.pages_of(visit.content)
    }

    fn identical(&self, content: Id, answer: &mut Answer) {
        let docs = self.tables.first_pages(content, URLS_MAX);
        let cluster = self.tables.cluster(content, docs.first().copied().unwrap_or(Id::NONE));
        answer.verdict = TextVerdict::Identical;
        answer.similarity = Some(1.0);
        answer.pages = self.tables.pages_of(content);
        answer.urls = docs.iter().map(|doc| self.tables.url(*doc)).collect();
        answer.belongs_to(&cluster);
    }

    fn stored_pairs(&self, content: Id, answer: &mut Answer) {
        for row in self.tables.mapped.pairs.first(content, STORED_PAIRS_MAX) {
            answer.push(self.matched(row.other, row.proposals, Decided::from(&row)));
        }
        answer.sort();
    }

    /// Compares a text that no stored page has with the texts with which an epoch would compare it.
    fn compare(&self, evidence: &EvidenceRow, answer: &mut Answer) -> Result<()> {
        let own_keys = crate::tables::evidence::keys(&evidence.keys);
        let proposed = proposed(&self.tables, evidence.content, evidence.fingerprint, own_keys);
        let text = if evidence.text.is_empty() { None } else { unpack_text(&evidence.text) };
        let sketches = Sketches::parse(&evidence.sketches)
            .ok_or_else(|| damaged(evidence.content, "is damaged"))?;
        let known = Known { chars: evidence.chars, sketches, text: text.as_deref() };
        let asked = Repeated::new(known);
        let contents: Vec<Id> = proposed.contents.keys().copied().collect();
        let others = self.tables.evidence_of(&contents)?;
        for ((content, proposals), other) in
            proposed.contents.iter().map(|(id, of)| (*id, *of)).zip(others)
        {
            let distance = simhash::distance(other.fingerprint, evidence.fingerprint);
            let verdict = decide(&asked, &other, distance, &self.options);
            if other.is_damaged() {
                return Err(damaged(content, "is damaged"));
            }
            // The pages of a text that says too little fold with no page.
            let accepted = verdict.accepted
                && !self
                    .tables
                    .content(content)
                    .is_some_and(|row| row.says_little(self.clusters()));
            if accepted || self.lists_refused {
                let decided = Decided { accepted, ..Decided::by(verdict, distance) };
                answer.push(self.matched(content, proposals, decided));
            }
        }
        let mut because = |holds: bool, why| answer.because.extend(holds.then_some(why));
        because(!proposed.moved.is_empty(), Because::Pivots);
        because(proposed.is_cut, Because::Limit);
        self.move_ranks(&proposed, answer);
        (answer.near, answer.leaves_out) = (proposed.near, proposed.leaves_out);
        answer.settle(&self.job.clusters);
        let contents: Vec<Id> = answer.matches.iter().map(|one| one.id).collect();
        self.lapse(&contents, answer);
        Ok(())
    }

    /// Adds to `answer`, which is about a record of the page `doc` with `content`, the components
    /// that may change because the page loses the text that it has now.
    pub fn lose(&self, doc: Id, content: Id, answer: &mut Answer) -> Result<()> {
        let Some(page) = self.tables.page(doc).filter(|page| page.content != content) else {
            return Ok(());
        };
        self.move_ranks(&self.without(page.content)?, answer);
        Ok(())
    }

    /// The contents of which other pairs may be compared if `content` goes.
    pub(super) fn without(&self, content: Id) -> Result<Proposed> {
        let Some(row) = self.tables.content(content).filter(|row| row.is_comparable()) else {
            return Ok(Proposed::default());
        };
        let keys = self.tables.keys(content)?;
        Ok(moved_without(&self.tables, content, row.fingerprint, keys.into_iter()))
    }

    fn move_ranks(&self, proposed: &Proposed, answer: &mut Answer) {
        answer.moved.extend(proposed.moved.iter().map(|content| self.component(*content)));
        answer.moves_more |= proposed.is_cut;
    }

    fn matched(&self, content: Id, proposals: u64, decided: Decided) -> Match {
        let Decided { accepted, reason, similarity, distance } = decided;
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
