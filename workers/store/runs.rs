//! A table as it stands: the segments of all its runs. Rows that one run added and a later one took back cancel here, and nowhere else.

use crate::error::Result;
use crate::store::manifest::TableState;
use crate::store::segment::Segment;
use crate::store::table::{Row, consolidate};
use std::path::Path;

/// A table's segments, mapped.
pub struct Table<R: Row> {
    segments: Vec<Segment<R>>,
}

impl<R: Row> Default for Table<R> {
    fn default() -> Self {
        Table { segments: Vec::new() }
    }
}

impl<R: Row> Table<R> {
    /// Maps the segments that `state` names in the table's `folder`.
    pub fn open(folder: &Path, state: Option<&TableState>) -> Result<Table<R>> {
        let segments = state.into_iter().flat_map(TableState::segments);
        Ok(Table { segments: segments.map(|segment| Segment::open(folder, segment)).collect::<Result<_>>()? })
    }

    /// Adds a segment that was just written.
    pub fn push(&mut self, segment: Segment<R>) {
        self.segments.push(segment);
    }

    /// The mapped segments.
    pub fn segments(&self) -> &[Segment<R>] {
        &self.segments
    }

    /// Rows of all runs, those that cancel counted too.
    pub fn rows(&self) -> usize {
        self.segments.iter().map(Segment::len).sum()
    }

    /// Whether no run has ever written a row.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The live rows with one of `keys`, which ascend. Each segment is galloped through once.
    pub fn matching(&self, keys: &[R::Key]) -> Vec<R> {
        let mut rows = Vec::new();
        for segment in &self.segments {
            let mut position = 0;
            for &key in keys {
                position = segment.seek(key, position);
                if position == segment.len() {
                    break;
                }
                while position < segment.len() && segment.key(position) == key {
                    rows.push(segment.row(position));
                    position += 1;
                }
            }
        }
        consolidate(rows)
    }

    /// The live rows with keys in `[from, to)`; no `to` is the end.
    pub fn range(&self, from: R::Key, to: Option<R::Key>) -> Vec<R> {
        let mut rows = Vec::new();
        for segment in &self.segments {
            let start = segment.seek(from, 0);
            let end = to.map_or(segment.len(), |to| segment.seek(to, start));
            rows.extend((start..end).map(|position| segment.row(position)));
        }
        consolidate(rows)
    }

    /// All live rows, in portions of about `rows` a segment, so that memory does not grow with the table.
    pub fn portions(&self, rows: usize) -> impl Iterator<Item = Vec<R>> {
        let first = self.segments.iter().filter(|segment| !segment.is_empty()).map(|segment| segment.key(0)).min();
        first.into_iter().flat_map(move |first| self.portions_in(first, None, rows))
    }

    /// The live rows with keys in `[from, to)`, likewise.
    pub fn portions_in(&self, from: R::Key, to: Option<R::Key>, rows: usize) -> impl Iterator<Item = Vec<R>> {
        let mut cuts: Vec<R::Key> = Vec::new();
        for segment in &self.segments {
            let start = segment.seek(from, 0);
            let end = to.map_or(segment.len(), |to| segment.seek(to, start));
            cuts.extend((start..end).step_by(rows).map(|position| segment.key(position)));
        }
        cuts.sort_unstable();
        cuts.dedup();
        // Every segment brings its own cuts; one in as many as there are segments keeps the portions at their size.
        let step = self.segments.len().max(1);
        let cuts: Vec<R::Key> = cuts.into_iter().step_by(step).collect();
        (0..cuts.len()).map(move |i| self.range(cuts[i], cuts.get(i + 1).copied().or(to)))
    }
}
