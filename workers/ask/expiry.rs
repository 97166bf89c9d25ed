//! Says which answers the next epoch may contradict because pages expire.
//!
//! The next epoch removes pages that were not seen for long, unless it sees them. An answer that
//! names a cluster does not depend only on its representative. The page with the least DocId names
//! the cluster. A text whose last page goes takes its pairs with it, so that a component may fall
//! apart, and other texts may lead and represent its parts. A text that is only left on pages that
//! gathered it is not compared any more. So an answer is provisional if any page of its component
//! expires. The number of pages that are read is bounded: answers about larger components are
//! always provisional. The exception is an identical text that has no pair: there only the pages
//! that represent and name the cluster matter, and whether a page is left.
//!
//! In a group or bucket that is so large that not all pairs are compared, contents that expire move
//! the ranks of others, and other pairs are compared. Answers about texts of such groups are
//! provisional.

use crate::ask::answer::{Answer, Because, TextVerdict};
use crate::ask::index::Index;
use crate::id::Id;
use crate::job::pages;
use crate::plan::time::now;
use crate::store::consumed::Retention;
use crate::store::damage::end_reading;
use crate::tables::pages::has_expired;
use std::collections::BTreeSet;

/// The most pages of a text that are searched for one that stays. A text with more pages counts as
/// one that stays.
pub const STAYING_PAGES_MAX: usize = 1024;
/// The most pages of components that are searched for one that expires.
pub const LAPSING_PAGES_MAX: usize = 256;
/// The most texts whose groups are searched. An answer about more is always provisional.
const CROWDED_CONTENTS_MAX: usize = 16;

impl Index {
    /// Says whether pages that `answer` depends on expire with the next epoch. `contents` are the
    /// texts that it is about.
    pub(super) fn lapse(&self, contents: &[Id], answer: &mut Answer) {
        let Some(retention) = self.retention() else { return };
        // Contents of large groups that expire move the ranks of others.
        if contents.is_empty() {
            answer.because.extend(answer.leaves_out.then_some(Because::Expires));
            return;
        }
        let none = BTreeSet::new();
        answer.outlives = contents.iter().all(|content| self.expires(*content, &none));
        let is_alone = |content: &Id| self.tables.component(*content).is_none();
        let may_change = match (answer.verdict, contents) {
            // The answer names no cluster.
            (TextVerdict::Identical, _) if answer.cluster.is_none() => false,
            (TextVerdict::Identical, [content])
                if is_alone(content) && !self.is_crowded(*content) =>
            {
                let represents = self.tables.cluster_of(*content).representative_doc;
                let names = self.tables.first_pages(*content, 1);
                names.into_iter().chain([represents]).any(|doc| self.goes(doc, retention))
            }
            _ => {
                answer.leaves_out
                    || self.may_lapse(contents, retention)
                    || contents.len() > CROWDED_CONTENTS_MAX
                    || contents.iter().any(|content| self.is_crowded(*content))
            }
        };
        answer.because.extend((answer.outlives || may_change).then_some(Because::Expires));
    }

    /// Whether a content is in a group or bucket so large that not all pairs are compared. Others
    /// of its pairs are compared if contents of that group expire.
    fn is_crowded(&self, content: Id) -> bool {
        let without = self.without(content).unwrap_or_else(|error| end_reading(error));
        without.is_cut || !without.moved.is_empty()
    }

    /// Whether all pages of a content, without those in `gone`, expire with the next epoch. False
    /// if there are very many pages.
    pub fn expires(&self, content: Id, gone: &BTreeSet<Id>) -> bool {
        self.retention().is_some_and(|retention| self.all_go(content, gone, retention))
    }

    /// Whether all pages of a content, without those in `gone`, are old as [`Index::is_old`] says.
    /// False if there are very many pages.
    pub fn are_old(&self, content: Id, gone: &BTreeSet<Id>) -> bool {
        let half = self.retention_by(pages::Options::half_retention);
        half.is_some_and(|half| self.all_go(content, gone, half))
    }

    /// Whether a page was not seen for half of the time after which it expires, or is not there. If
    /// it is sent again, it is worth a row of the inbox: nobody knows when epochs run, and a page
    /// that the next one keeps may expire with the one after it.
    pub fn is_old(&self, doc: Id) -> bool {
        let half = self.retention_by(pages::Options::half_retention);
        half.is_some_and(|half| self.goes(doc, half))
    }

    fn all_go(&self, content: Id, gone: &BTreeSet<Id>, retention: Retention) -> bool {
        let docs_max = gone.len() + STAYING_PAGES_MAX;
        let docs = self.tables.first_pages(content, docs_max + 1);
        let is_whole = docs.len() <= docs_max;
        let mut stay = docs.into_iter().filter(|doc| !gone.contains(doc));
        is_whole && stay.all(|doc| self.goes(doc, retention))
    }

    /// Whether a page of the components of `contents` expires, or they have more pages than are
    /// searched.
    fn may_lapse(&self, contents: &[Id], retention: Retention) -> bool {
        let components: BTreeSet<Id> = contents.iter().map(|id| self.component(*id)).collect();
        let mut pages_max = LAPSING_PAGES_MAX;
        for component in components {
            let members = self.tables.mapped.members.first(component, pages_max + 1);
            let mut contents: Vec<Id> = members.into_iter().map(|row| row.content).collect();
            if contents.is_empty() {
                // A text without an accepted pair is a component of its own.
                contents.push(component);
            }
            for content in contents {
                let docs = self.tables.first_pages(content, pages_max + 1);
                if docs.len() > pages_max || docs.iter().any(|doc| self.goes(*doc, retention)) {
                    return true;
                }
                pages_max -= docs.len();
            }
        }
        false
    }

    /// Which pages the next epoch keeps, if it runs as soon as it can read what is inserted now;
    /// `None` if it keeps all.
    fn retention(&self) -> Option<Retention> {
        self.retention_by(pages::Options::retention)
    }

    fn retention_by(
        &self,
        rule: impl FnOnce(&pages::Options, &[u64], i64) -> Retention,
    ) -> Option<Retention> {
        let pages = &self.job.pages;
        let time = now().saturating_add(self.lead_seconds).max(self.logical_time);
        let keeps_all = pages.retain_days.is_none() && pages.retain_epochs.is_none();
        (!keeps_all).then(|| rule(pages, &self.reading, time))
    }

    /// Whether a page expires, or is not there.
    fn goes(&self, doc: Id, retention: Retention) -> bool {
        self.tables.page(doc).is_none_or(|page| has_expired(&page, retention))
    }
}
