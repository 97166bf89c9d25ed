//! The tables of a store that exports read, and lookups in them.

use crate::distinct::distinct;
use crate::error::Result;
use crate::gallop::gallop;
use crate::id::Id;
use crate::store::Store;
use crate::store::manifest::TableState;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::snapshot::Snapshot;
use crate::tables::{
    ClusterRow, ComponentRow, ContentPageRow, ContentRow, GoneRow, LeaderRow, MemberRow, PageRow,
    PairRow, SuccessorRow, UrlRow,
};
use crate::text::hash::BuildSeeded;
use std::collections::{BTreeMap, HashMap};

/// The rows of a table that are held in memory at once, for each of its segments.
pub(crate) const PORTION_ROWS: usize = 1 << 17;

/// The tables that exports read.
pub(crate) struct Tables {
    pub(crate) pages: Table<PageRow>,
    pub(crate) urls: Table<UrlRow>,
    pub(crate) contents: Table<ContentRow>,
    pub(crate) content_pages: Table<ContentPageRow>,
    pub(crate) components: Table<ComponentRow>,
    pub(crate) component_members: Table<MemberRow>,
    pub(crate) leaders: Table<LeaderRow>,
    pub(crate) clusters: Table<ClusterRow>,
    pub(crate) pairs: Table<PairRow>,
    pub(crate) gone: Table<GoneRow>,
    pub(crate) successors: Table<SuccessorRow>,
}

/// The state of a store's tables, by name.
pub(crate) type States = BTreeMap<String, TableState>;

impl Tables {
    pub(crate) fn open(store: &Store, states: &States) -> Result<Tables> {
        let snapshot = Snapshot::new(store.data(), states);
        Ok(Tables {
            pages: snapshot.table()?,
            urls: snapshot.table()?,
            contents: snapshot.table()?,
            content_pages: snapshot.table()?,
            components: snapshot.table()?,
            component_members: snapshot.table()?,
            leaders: snapshot.table()?,
            clusters: snapshot.table()?,
            pairs: snapshot.table()?,
            gone: snapshot.table()?,
            successors: snapshot.table()?,
        })
    }

    /// The clusters of `contents` (ascending).
    pub(crate) fn clusters_of(&self, contents: &[Id]) -> ContentClusters {
        let components = self.components.matching(contents);
        let leaders = self.leaders.matching(contents);
        let (mut component_at, mut leader_at) = (0, 0);
        let key = |content: &Id| {
            let component = find_after(&components, &mut component_at, *content);
            let leader = find_after(&leaders, &mut leader_at, *content);
            ClusterRow::place_of(*content, component, leader)
        };
        let keys: Vec<(Id, Id)> = contents.iter().map(key).collect();
        let clusters =
            self.clusters.matching(&distinct(keys.iter().map(|(component, _)| *component)));
        let found = |(content, key): (&Id, &(Id, Id))| {
            let at = clusters
                .binary_search_by_key(key, ClusterRow::place)
                .ok()
                .filter(|_| !content.is_none())?;
            Some((*content, at))
        };
        let of = contents.iter().zip(&keys).filter_map(found).collect();
        ContentClusters { of, clusters }
    }

    /// Calls `visit` with the pages of `contents` (ascending), in portions.
    pub(crate) fn each_pages(&self, contents: &[Id], mut visit: impl FnMut(&[PageRow])) {
        for contents in by_rows(&self.content_pages, contents) {
            let docs =
                distinct(self.content_pages.matching(contents).into_iter().map(|row| row.doc));
            docs.chunks(PORTION_ROWS).for_each(|docs| visit(&self.pages.matching(docs)));
        }
    }

    /// The URLs of `docs`.
    pub(crate) fn urls(&self, docs: impl Iterator<Item = Id>) -> Urls {
        Urls(self.urls.matching(&distinct(docs)))
    }
}

/// The most bytes of URLs that are looked up at once. Pages of a crawler trap have URLs of
/// kilobytes, and a portion of rows would have gigabytes of them.
const URL_BYTES_MAX: u64 = 1 << 25;

/// Cuts `rows` into parts whose URLs, of `bytes` for each row, fit in memory.
pub(crate) fn by_url_bytes<T>(
    mut rows: &[T],
    bytes: impl Fn(&T) -> u64,
) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut sum = 0;
        let mut fits = |row: &T| {
            sum += bytes(row);
            sum <= URL_BYTES_MAX
        };
        let count = rows.iter().take_while(|row| fits(row)).count().max(1).min(rows.len());
        let (some, rest) = rows.split_at(count);
        rows = rest;
        (!some.is_empty()).then_some(some)
    })
}

/// Cuts `keys`, which ascend, into parts with a limited number of rows in `table`. A key with very
/// many rows is a part of its own, because the rows of one key are held in memory together.
pub(crate) fn by_rows<'k, R: Row<Key = Id>>(table: &Table<R>, keys: &'k [Id]) -> Vec<&'k [Id]> {
    let counts = table.counts(keys);
    let (mut portions, mut start, mut rows) = (Vec::new(), 0, 0);
    for (end, count) in (1..).zip(counts) {
        rows += count;
        if rows >= PORTION_ROWS as u64 || end == keys.len() {
            portions.push(&keys[start..end]);
            (start, rows) = (end, 0);
        }
    }
    portions
}

/// Some URLs, sorted by DocId.
pub(crate) struct Urls(Vec<UrlRow>);

impl Urls {
    pub(crate) fn of(&self, doc: Id) -> String {
        find(&self.0, doc).map(|row| row.text().into_owned()).unwrap_or_default()
    }

    /// The URL of `doc`, for pages that ascend from call to call; see [`find_after`].
    pub(crate) fn after(&self, at: &mut usize, doc: Id) -> String {
        find_after(&self.0, at, doc).map(|row| row.text().into_owned()).unwrap_or_default()
    }
}

/// The clusters of some contents.
pub(crate) struct ContentClusters {
    /// For each content in a cluster, the place of the cluster in `clusters`. It is looked up
    /// several times for each page.
    of: HashMap<Id, usize, BuildSeeded>,
    /// All clusters of the contents' components.
    pub(crate) clusters: Vec<ClusterRow>,
}

impl ContentClusters {
    /// The cluster that contains the pages of `content`. `None` for a page without text, and for a
    /// content with one page and no accepted pair.
    pub(crate) fn of(&self, content: Id) -> Option<&ClusterRow> {
        self.of.get(&content).map(|at| &self.clusters[*at])
    }
}

/// The cluster of component and leader `wanted` in `rows`, which are sorted by them.
pub(crate) fn find_cluster(rows: &[ClusterRow], wanted: (Id, Id)) -> Option<&ClusterRow> {
    rows.binary_search_by_key(&wanted, ClusterRow::place).ok().map(|at| &rows[at])
}

/// The row of `key` in `rows`, which are sorted by key and have each key once.
pub(crate) fn find<R: Row>(rows: &[R], key: R::Key) -> Option<&R> {
    rows.binary_search_by(|row| row.key().cmp(&key)).ok().map(|at| &rows[at])
}

/// As [`find`], for keys that ascend from call to call: the search begins `at` the place of the
/// last key.
pub(crate) fn find_after<'r, R: Row>(rows: &'r [R], at: &mut usize, key: R::Key) -> Option<&'r R> {
    *at = gallop(rows.len(), *at, |at| rows[at].key() < key);
    rows.get(*at).filter(|row| row.key() == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A portion of rows with long URLs filled the memory. Rows are cut where their URLs reach a
    /// fixed number of bytes. None is lost, and a row with more bytes is a part of its own.
    #[test]
    fn rows_are_cut_by_the_bytes_of_urls() {
        let cut =
            |rows: &[u64]| by_url_bytes(rows, |bytes| *bytes).map(<[u64]>::len).collect::<Vec<_>>();
        let third = URL_BYTES_MAX / 3;
        assert_eq!(cut(&[third; 7]), [3, 3, 1]);
        assert_eq!(cut(&[1, 2 * URL_BYTES_MAX, 1, 1]), [1, 1, 2]);
        assert_eq!(cut(&[2 * URL_BYTES_MAX]), [1]);
        assert_eq!(cut(&[0; 5]), [5]);
        assert_eq!(cut(&[]), [0; 0]);
    }
}
