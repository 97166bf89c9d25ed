//! Ranks pages by the keep rule: finds the best page of a text, and whether the page of a text that
//! is asked about would lead, represent or name its cluster.

use crate::absent::NO_DATE;
use crate::ask::answer::{Answer, Because, TextVerdict};
use crate::ask::index::Index;
use crate::id::Id;
use crate::keep::{Facts, Rank};
use crate::tables::{PageRow, Visit};
use std::collections::BTreeSet;

/// The most pages with the identical text that are ranked, to see whether a page comes before them.
const RANKED_PAGES_MAX: usize = 100;

impl Index {
    /// The URL of the best page of a content, without the pages in `gone`. If there are very many
    /// pages, only some are ranked.
    pub fn best_page(&self, content: Id, gone: &BTreeSet<Id>) -> Option<String> {
        let chars = self.tables.content(content)?.chars;
        let docs = self.tables.first_pages(content, gone.len() + RANKED_PAGES_MAX);
        let stay = docs.into_iter().filter(|doc| !gone.contains(doc));
        let pages = stay.filter_map(|doc| self.tables.page(doc));
        let best = pages.map(|page| (self.rank(&page, chars), page.doc)).min()?;
        Some(self.tables.url(best.1))
    }

    /// The number of pages that a stored page represents now, which the keep rule of the next epoch
    /// reads (`incumbent`). 0 if the page folds, or if the rule does not read it.
    fn represents(&self, page: &PageRow) -> u64 {
        if self.rule.incumbent_slot().is_none() || page.content.is_none() {
            return 0;
        }
        let cluster = self.tables.cluster(page.content, page.doc);
        if cluster.representative_doc == page.doc { cluster.pages.into() } else { 0 }
    }

    /// As [`Index::represents`], for a stored page that gets the text of `visit`. It takes the
    /// pages of its cluster along if that text is in the same component as another one of theirs.
    fn takes_along(&self, page: &PageRow, visit: &Visit, answer: &Answer) -> u64 {
        let pages = self.represents(page);
        let component = |content: Id| self.tables.component(content).unwrap_or(content);
        let stays =
            |text: &Id| *text != page.content || self.tables.first_pages(page.content, 2).len() > 1;
        let is_theirs = |text: Id| stays(&text) && component(text) == component(page.content);
        let mut texts = answer.matches.iter().map(|one| one.id).chain([visit.content]);
        let is_with_them = page.content == visit.content || texts.any(is_theirs);
        if is_with_them { pages } else { pages.min(1) }
    }

    /// The rank of a stored page, whose text has `chars` characters, without regard to what it
    /// represents.
    pub(super) fn rank(&self, page: &PageRow, chars: u32) -> Rank {
        let url = if self.rule.reads_urls() { self.tables.url(page.doc) } else { String::new() };
        self.rule.rank(page.facts(chars, &url))
    }

    /// Adds to the answer what the URL of the text changes: the URL may have another text now, and
    /// its page may come first in its cluster.
    pub(super) fn replace(&self, visit: &Visit, says_little: bool, answer: &mut Answer) {
        let stored = self.tables.page(visit.doc);
        let replaces = stored.as_ref().is_some_and(|page| page.content != visit.content);
        let is_outdated =
            visit.date != NO_DATE && self.as_of(visit.doc).is_some_and(|as_of| visit.date < as_of);
        let mut because = |holds: bool, why| answer.because.extend(holds.then_some(why));
        because(replaces, Because::Replaces);
        because(is_outdated, Because::Outdated);
        if answer.verdict != TextVerdict::New && !says_little {
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
        let is_identical = answer.verdict == TextVerdict::Identical;
        let leads = is_identical && self.leads_otherwise(visit, own_rank);
        let docs = answer.matches.iter().map(|one| one.representative_doc);
        let own = is_identical.then(|| self.tables.cluster_of(visit.content).representative_doc);
        let rank = |doc: Id| {
            let page = self.tables.page(doc)?;
            let chars = self.tables.content(page.content)?.chars;
            Some((self.rule.with_represented(self.rank(&page, chars), self.represents(&page)), doc))
        };
        let first = own.into_iter().chain(docs).filter_map(rank).min();
        // The page itself may be the first one; its rank has changed.
        let own_pages = stored.map_or(0, |page| self.takes_along(page, visit, answer));
        let own = (self.rule.with_represented(own_rank, own_pages), visit.doc);
        let represents = first.is_some_and(|first| first.1 == visit.doc || own < first);
        let names = answer.cluster.as_ref().is_some_and(|cluster| visit.doc.to_string() < *cluster);
        let mut because = |holds: bool, why| answer.because.extend(holds.then_some(why));
        because(leads, Because::Radius);
        because(represents, Because::Represents);
        because(names, Because::Names);
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

    /// Whether the best page of a stored text changes when the page of `visit` has this rank. With
    /// a radius, the order of the best pages of near texts decides which text leads.
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
