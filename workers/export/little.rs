//! Describes the texts of several pages that say too little to compare pages by, so that their
//! pages do not fold.
//!
//! Such a text is a headline alone, an error page, a login or consent wall
//! ([`crate::text::little`]). The description shows a person what a site serves in place of its
//! pages. It depends on the live pages and the job only. No text is read.

use crate::export::tables::{PORTION_ROWS, Tables};
use crate::id::Id;
use crate::job::clusters::Options;
use crate::tables::visits::NOTICE;
use crate::tables::{ContentRow, PageRow};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The greatest number of texts that are described.
const LISTED_MAX: usize = 20;

/// The texts of several pages that say too little.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LittleTexts {
    /// The job's `[clusters] letters_min`; 0 switches the rule off.
    pub letters_min: u32,
    /// The number of such texts.
    pub texts: u64,
    /// The number of their pages, none of which folds.
    pub pages: u64,
    /// The 20 texts with most pages.
    pub largest: Vec<LittleText>,
}

/// A text of several pages that says too little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LittleText {
    /// The content.
    pub content: String,
    /// The URL of its page with the least DocId.
    pub url: String,
    /// The number of its pages.
    pub pages: u64,
    /// Its length in letters: Chinese characters, and two for each word of another script.
    pub letters: u32,
    /// Whether it is an error page, a login or consent wall, or the like.
    pub notice: bool,
}

/// The largest such texts of a state, without URLs.
pub(super) struct Largest {
    rows: Vec<(Reverse<u64>, Id, ContentRow)>,
    docs: Vec<Option<Id>>,
    found: LittleTexts,
}

impl Largest {
    /// Finds the texts. Memory holds a portion of the contents.
    pub(super) fn find(tables: &Tables, options: &Options) -> Largest {
        let found = LittleTexts { letters_min: options.letters_min, ..LittleTexts::default() };
        let mut largest = Largest { rows: Vec::new(), docs: Vec::new(), found };
        if options.letters_min == 0 {
            return largest;
        }
        for rows in tables.contents.portions(PORTION_ROWS) {
            let rows: Vec<ContentRow> =
                rows.into_iter().filter(|row| row.says_little(options)).collect();
            let pages = tables
                .content_pages
                .counts(&rows.iter().map(|row| row.content).collect::<Vec<_>>());
            for (row, pages) in rows.into_iter().zip(pages).filter(|(_, pages)| *pages > 1) {
                largest.add(row, pages);
            }
        }
        largest.keep_largest();
        largest.rows.sort_unstable_by_key(|row| row.1);
        largest.docs = vec![None; largest.rows.len()];
        largest
    }

    fn add(&mut self, row: ContentRow, pages: u64) {
        self.found.texts += 1;
        self.found.pages += pages;
        self.rows.push((Reverse(pages), row.content, row));
        if self.rows.len() >= 2 * LISTED_MAX {
            self.keep_largest();
        }
    }

    fn keep_largest(&mut self) {
        self.rows.sort_unstable();
        self.rows.truncate(LISTED_MAX);
    }

    /// Takes note of a page. Pages come in the order of their DocIds.
    pub(super) fn see(&mut self, page: &PageRow) {
        if let Ok(at) = self.rows.binary_search_by_key(&page.content, |row| row.1) {
            self.docs[at].get_or_insert(page.doc);
        }
    }

    /// The description, after all pages were seen.
    pub(super) fn finish(self, tables: &Tables) -> LittleTexts {
        let urls = tables.urls(self.docs.iter().flatten().copied());
        let mut listed: Vec<_> = self.rows.into_iter().zip(self.docs).collect();
        listed.sort_unstable();
        let text = |((Reverse(pages), content, row), doc): (
            (Reverse<u64>, Id, ContentRow),
            Option<Id>,
        )| LittleText {
            content: content.to_string(),
            url: doc.map(|doc| urls.of(doc)).unwrap_or_default(),
            pages,
            letters: row.letters,
            notice: row.flags & NOTICE != 0,
        };
        LittleTexts { largest: listed.into_iter().map(text).collect(), ..self.found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All such texts are counted, and those with most pages are kept, in any order of contents.
    #[test]
    fn the_largest_are_kept() {
        let row = |n: u64| ContentRow {
            content: Id { high: n, low: 0 },
            fingerprint: 0,
            chars: 3,
            letters: 3,
            gathered_pages: 0,
            flags: 0,
            diff: 1,
        };
        let pages = |n: u64| 2 + n * 37 % 101 / 2;
        let mut expected: Vec<(Reverse<u64>, u64)> =
            (0..101).map(|n| (Reverse(pages(n)), n)).collect();
        expected.sort_unstable();
        expected.truncate(LISTED_MAX);
        for order in [(0..101).collect::<Vec<u64>>(), (0..101).rev().collect()] {
            let mut largest =
                Largest { rows: Vec::new(), docs: Vec::new(), found: LittleTexts::default() };
            order.into_iter().for_each(|n| largest.add(row(n), pages(n)));
            largest.keep_largest();
            assert_eq!(
                (largest.found.texts, largest.found.pages),
                (101, (0..101).map(pages).sum())
            );
            assert_eq!(
                largest.rows.iter().map(|row| (row.0, row.1.high)).collect::<Vec<_>>(),
                expected
            );
        }
    }
}
